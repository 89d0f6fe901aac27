/*
 * The statistics of a comparison: is one side slower than the other, by how
 * much, and how sure is that.
 *
 * A side is a list of entry times, run after run, in order of time within a
 * run. Entries of one run are not independent: neighbours resemble each other
 * (serial correlation) and whole runs are fast or slow together. Both are
 * measured and taken into account; what is left of a side is its effective
 * number of entries.
 *
 * Everything here is a pure function of its arguments: the same input gives the
 * same bytes on every machine, and seeds come from the caller.
 */
#ifndef SONDE_COMPARE_STATS_H
#define SONDE_COMPARE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two-sided probability of |t| or more, Student's distribution with `df` degrees of freedom. */
double sonde_stats_student(double t, double df);
/* The value that |t| exceeds with probability `p`. */
double sonde_stats_student_limit(double p, double df);

/*
 * Benjamini and Hochberg: q[i] is the smallest false discovery rate at which p[i] is called, over
 * all p that are not NaN. Both may be members of structs, `stride` bytes apart. False when memory
 * is short.
 */
bool sonde_stats_adjust(double *q, const double *p, size_t nr, size_t stride);

/*
 * How many neighbours say the same: the integrated autocorrelation time of a
 * series, at least 1 (independent), at most nr / 2.
 */
double sonde_stats_correlation_time(const double *values, size_t nr);

/* One side of a comparison. */
struct sonde_side {
	const double *values; /* > 0; run after run */
	size_t nr;
	const size_t *runs; /* how many values each run has; NULL = one run, or one value of each */
	size_t nr_runs;
};

struct sonde_side_change {
	double base_median, new_median;
	double ratio;	  /* new ÷ base of the medians */
	double low, high; /* 95 % interval of the ratio, by bootstrap */
	double lasting;	  /* part of its half width that more entries do not take away, in logarithms */
	double p;	  /* two-sided */
};

/*
 * Compares two sides. One run a side: entry by entry, in the order of the run, so that drift and warm-up
 * which both sides have cancel. Otherwise: whole runs, against how far the runs of a side differ. With fewer than two values on a side, or with nothing to
 * tell the noise from, the interval is (0, infinity) and p is 1. False when
 * memory is short.
 */
bool sonde_stats_compare(struct sonde_side_change *out, const struct sonde_side *base,
	const struct sonde_side *new_side, uint64_t seed);

#endif
