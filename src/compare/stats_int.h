/*
 * Inside the comparing room: what the tests (stats.c) and the comparison of two sides (change.c)
 * share.
 */
#ifndef SONDE_COMPARE_STATS_INT_H
#define SONDE_COMPARE_STATS_INT_H

#include "compare/stats.h"

struct sonde_ranked {
	double v;
	size_t index;
};
int sonde_ranked__by_value(const void *a, const void *b); /* for qsort; equal ones by index */

double sonde_stats__sum(const double *v, size_t nr);
double sonde_stats__covariance(const double *v, size_t nr, double mean, size_t lag);

/*
 * Middle ranks, from 1, of a and b together, a first. NULL when memory is short; free with
 * sonde_free.
 */
double *sonde_stats__rank_together(const double *a, size_t nr_a, const double *b, size_t nr_b);

/* The state of a generator that is the same everywhere. */
struct sonde_random {
	uint64_t state;
};

/* A side prepared for resampling: its values sorted, and where each entry stands among them. */
struct sonde_resample {
	const struct sonde_side *side;
	double *sorted;
	uint32_t *place; /* by entry */
	uint32_t *count; /* by place: how often it was drawn this time */
	size_t block;	 /* entries drawn together: neighbours resemble each other */
};
/* False when memory is short. Release it in any case. */
bool sonde_resample__init(struct sonde_resample *s, const struct sonde_side *side);
void sonde_resample__release(struct sonde_resample *s);
/* The median of one resample: runs first, then blocks of entries within each. */
double sonde_resample__median(struct sonde_resample *s, struct sonde_random *r);

#endif
