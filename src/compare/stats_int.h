/* Private to the statistics of comparisons: what stats.c and sides.c share. */
#ifndef SONDE_COMPARE_STATS_INT_H
#define SONDE_COMPARE_STATS_INT_H

#include "compare/stats.h"

/* A value, and its position before sorting. */
struct sonde_stats__ranked {
	double v;
	size_t index;
};
/* Sorts the smallest first, equal values by index. */
void sonde_stats__sort(struct sonde_stats__ranked *at, size_t nr);

/*
 * The ranks, from 1, of a and b together: those of a come first, and equal values share the middle of their ranks. NULL
 * when memory is short; free with sonde_free.
 */
double *sonde_stats__rank(const double *a, size_t nr_a, const double *b, size_t nr_b);

/* The state of a random generator that gives the same numbers on every machine. */
struct sonde_random {
	uint64_t state;
};
size_t sonde_random__below(struct sonde_random *r, size_t n);

/* A side prepared for resampling: its values sorted, and the place of each entry among them. */
struct sonde_resample {
	const struct sonde_side *side;
	double *sorted;
	uint32_t *place; /* by entry: its place in `sorted` */
	uint32_t *count; /* by place: how often it was drawn in this resample */
	size_t block;	 /* number of neighbours that are drawn together, because they resemble each other */
};
/* False when memory is short. Release it in any case. */
bool sonde_resample__init(struct sonde_resample *s, const struct sonde_side *side);
void sonde_resample__release(struct sonde_resample *s);
/* The median of one resample: runs first, then blocks of entries within each. */
double sonde_resample__median(struct sonde_resample *s, struct sonde_random *r);
/* The median of the `nr` entries that `count` says were drawn. */
double sonde_resample__drawn(const struct sonde_resample *s, size_t nr);

static inline double sonde_stats__sum(const double *v, size_t nr)
{
	double s = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		s += v[i];
	return s;
}

static inline double sonde_stats__covariance(const double *v, size_t nr, double mean, size_t lag)
{
	double s = 0;
	size_t i;

	for (i = 0; i + lag < nr; i++)
		s += (v[i] - mean) * (v[i + lag] - mean);
	return s / (double)nr;
}

#endif
