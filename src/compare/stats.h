/*
 * The statistics of a comparison: whether one side is slower than the other, by how much, and how sure that is.
 *
 * A side is a list of entry times, run after run, and in order of time within a run. The entries of one run are not
 * independent: neighbours resemble each other (serial correlation), and whole runs are fast or slow. Both effects are
 * measured and taken into account. The number of independent entries that a side is worth is its effective number of
 * entries.
 *
 * Every function here is a pure function of its arguments: the same input gives the same bytes on every machine, and
 * seeds come from the caller.
 */
#ifndef SONDE_COMPARE_STATS_H
#define SONDE_COMPARE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The two-sided probability of a value of at least |t|, in Student's distribution with `df` degrees of freedom. */
double sonde_stats_student(double t, double df);
/* The value that |t| exceeds with probability `p`. */
double sonde_stats_student_limit(double p, double df);

/*
 * Benjamini and Hochberg: q[i] is the smallest false discovery rate at which p[i] counts as a discovery, among all p
 * that are not NaN. Both may be members of structs, `stride` bytes apart. False when memory is short.
 */
bool sonde_stats_adjust(double *q, const double *p, size_t nr, size_t stride);

/*
 * The integrated autocorrelation time of a series: how many neighbouring values are worth one independent value. At
 * least 1 (all are independent), at most nr / 2.
 */
double sonde_stats_correlation_time(const double *values, size_t nr);

/* One side of a comparison. */
struct sonde_side {
	const double *values; /* > 0; run after run */
	size_t nr;
	const size_t *runs; /* number of values of each run; NULL = one run, or each value is a run */
	size_t nr_runs;
};

struct sonde_side_change {
	double base_median, new_median;
	double ratio;	  /* new median ÷ base median */
	double low, high; /* 95 % interval of the ratio, by bootstrap */
	double lasting;	  /* the part of the interval's half width, in logarithms, that more entries would not reduce */
	double p;	  /* two-sided */
};

/*
 * Compares two sides. With one run per side, entries are compared one by one in the order of the run, so that drift and
 * warm-up cancel if both sides have them. Otherwise whole runs are compared, against how much the runs of a side differ.
 * With fewer than two values on a side, or when the noise cannot be estimated, the interval is (0, infinity) and p is 1.
 * False when memory is short.
 */
bool sonde_stats_compare(struct sonde_side_change *out, const struct sonde_side *base,
	const struct sonde_side *new_side, uint64_t seed);

#endif
