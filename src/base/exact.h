/*
 * Exact sums of doubles: the result has the same bits for any order and any grouping of
 * the additions. Adding -v after v leaves no trace.
 *
 * A sum is kept as doubles that do not overlap (Shewchuk 1997), rarely more than
 * three, and is rounded once, when it is read. Start with `= {0}`; the arena owns the memory.
 */
#ifndef SONDE_BASE_EXACT_H
#define SONDE_BASE_EXACT_H

#include "base/arena.h"

struct sonde_exact {
	double *at;
	uint32_t nr, cap;
	double odd; /* the sum of all infinities and NaNs that were added; 0 = there were none */
};

bool sonde_exact_add(struct sonde_exact *s, struct sonde_arena *arena, double v); /* false: no memory */
double sonde_exact_value(const struct sonde_exact *s);				   /* the nearest double */

#endif
