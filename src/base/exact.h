/*
 * Exact sums of doubles: the same bits in whatever order, and however grouped, they
 * are added. What was added can be taken away again without a trace.
 *
 * A sum is kept as doubles that do not overlap (Shewchuk 1997), rarely more than
 * three, and rounded once, when it is read. Start with `= {0}`; memory is the arena's.
 */
#ifndef SONDE_BASE_EXACT_H
#define SONDE_BASE_EXACT_H

#include "base/arena.h"

struct sonde_exact {
	double *at;
	uint32_t nr, cap;
	double odd; /* the sum of infinities and NaNs; 0 without */
};

bool sonde_exact_add(struct sonde_exact *s, struct sonde_arena *arena, double v); /* false: no memory */
double sonde_exact_value(const struct sonde_exact *s);				   /* the nearest double */

#endif
