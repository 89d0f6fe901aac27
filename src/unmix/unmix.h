/*
 * Unmixing: splits the counts of a device's counters among the kernels that caused them.
 *
 * A sampler reads the counters of a device at a fixed interval; a trace knows
 * when each launch ran. If a sample over [s, e] covers a fraction `a` of a launch
 * of class k, it counts a·x for this launch. So with one unknown x for each class
 *
 *     samples ≈ A · x + background,   x ≥ 0
 *
 * which is solved here by sparse non-negative least squares, all counters with
 * one matrix. A class is whatever the caller distinguishes: a kernel in a place, a
 * copy, a memset. This room works on plain arrays of one device and does not know
 * regions, names or captures.
 *
 * **Unknowns** are as fine as the data allows. Usually an unknown is one class. If the
 * classes of a group cannot be distinguished, the unknown is an entry of the group with
 * all its launches. If a class is seen too seldom, all classes of its name are one unknown.
 * Classes with equal columns (they always run side by side) are merged.
 * `sonde_unmixed_class` returns which of these happened to a class. Work is not spread evenly
 * over a kernel, so a long class has a few time bins, which are summed at the end. If the
 * launches of a class differ in length, each counter also has a trend: how much more a
 * longer launch counts. The trend sums to zero over all launches, so totals do not need it.
 *
 * **Errors** are one standard error; the 95 % interval is ±1.96 of it. They come from the
 * residuals, clustered in time; from the uncertainty of timestamps, as work is not done exactly
 * between the stamps of its launch; and, for a part of an unknown that several classes share,
 * from not knowing how it is split. Errors of sums use the covariances:
 * ask for the sum of a region, never add up the errors of its classes.
 *
 * **Determinism.** There are no random numbers, and sums have a fixed order: the same input gives
 * the same bits on every machine. Large inputs are divided among threads by column or by counter,
 * which does not change the bits. The threads end before the solve returns.
 */
#ifndef SONDE_UNMIX_UNMIX_H
#define SONDE_UNMIX_UNMIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SONDE_UNMIX_NONE UINT32_MAX

struct sonde_unmix_class {
	uint32_t name; /* classes of one name may be pooled; SONDE_UNMIX_NONE = a name of its own */
	uint32_t group; /* its region, whose classes may become one unknown; SONDE_UNMIX_NONE = no region */
};

struct sonde_unmix_launch {
	int64_t start_ns, end_ns; /* on the clock of the samples */
	uint32_t class;
	uint32_t entry; /* the entry of its group that it ran in, SONDE_UNMIX_NONE = not known */
};

/* The samples and launches of one device. All pointers are borrowed, during the solve only. */
struct sonde_unmix_input {
	const struct sonde_unmix_class *classes;
	uint32_t nr_classes;
	const struct sonde_unmix_launch *launches; /* in any order */
	size_t nr_launches;
	const int64_t *start_ns, *end_ns; /* of each sample, in order of time; gaps are allowed */
	const double *values;		  /* nr_samples × nr_counters, sample by sample */
	size_t nr_samples;
	uint32_t nr_counters;
	const double
		*limits_per_ns; /* by counter: the most it can count, 0 = no limit; NULL = no counter has one */
};

struct sonde_unmix_options {
	int64_t offset_ns;	/* added to the times of launches: the clocks' fixed difference */
	bool is_by_name; /* all classes of a name are one unknown, never split: for samples that are too long for finer unknowns */
	double most_work; /* the most multiplications; if a solve needs more, unknowns become coarser. 0 = 2e11, which takes
			   * minutes */
};

/* The outcome for a class. */
enum sonde_unmix_fate {
	SONDE_UNMIX_OWN,    /* an unknown of its own */
	SONDE_UNMIX_MERGED, /* always runs side by side with other classes: shares an unknown with them */
	SONDE_UNMIX_ENTRY,  /* part of the entries of its group: the whole group is one unknown */
	SONDE_UNMIX_POOLED, /* shares an unknown with other classes of its name, in proportion to time */
	SONDE_UNMIX_UNSEEN, /* no sample covers any part of it: it has no figures */
};

struct sonde_unmix_class_result {
	enum sonde_unmix_fate fate;
	uint32_t unknown;     /* classes with the same number share it; SONDE_UNMIX_NONE = unseen */
	uint64_t nr_launches; /* figures are totals over all of these */
	uint64_t nr_seen;     /* launches that ran, at least in part, inside samples */
};

/* The result for one counter. */
struct sonde_unmix_counter_result {
	const char *refused; /* why the counter has no figures, as a sentence; NULL = it has figures */
	double misfit;	     /* root of (squared residuals ÷ squared values): 0 = everything is explained */
	double deviation;    /* the same for a single launch in a sample: how much it differs from its class */
	uint64_t nr_lost;    /* samples left out because part of this counter is missing in them */
};

struct sonde_unmix_quality {
	uint64_t nr_samples;  /* samples used */
	uint64_t nr_dropped;  /* not used: first after a start, long idle time, not a number, above a limit */
	uint64_t nr_no_count; /* the dropped samples with a value that is not a number, or below zero */
	uint64_t nr_outside;  /* not used: far from any launch */
	uint64_t nr_gaps;     /* number of gaps between samples */
	double seen_time;     /* share of the launches' time inside samples */
	uint32_t nr_unknowns; /* without the background */
	uint32_t nr_columns;  /* with time bins, trends and background */
	uint32_t nr_merged, nr_entry, nr_pooled; /* classes by fate */
	double condition; /* an estimate for the scaled normal equations: 1 = best */
};

struct sonde_unmix_figure {
	double value; /* NaN = none */
	double error; /* one standard error */
};

struct sonde_unmixed;

/*
 * Returns 0 with the result in `*out`, which the caller frees, or a negative code with
 * `*out` NULL: SONDE_ERR_USAGE for input that contradicts itself, SONDE_ERR_LIMIT if
 * even the coarsest unknowns need too much memory or work. `opt` may be NULL.
 */
int sonde_unmix_solve(struct sonde_unmixed **out, const struct sonde_unmix_input *in,
	const struct sonde_unmix_options *opt, struct sonde_err *err);
void sonde_unmixed_free(struct sonde_unmixed *u);

/* The total of one counter over all launches of `class`, seen or not. */
struct sonde_unmix_figure sonde_unmixed_figure(
	const struct sonde_unmixed *u, uint32_t class, uint32_t counter);
/* The same over a list of classes, each listed once. Unseen classes are left out of the sum. */
struct sonde_unmix_figure sonde_unmixed_sum(
	const struct sonde_unmixed *u, const uint32_t *classes, size_t nr, uint32_t counter);

/*
 * The counts of one launch of a class, as the fit predicts them: `fixed` + `per_ns` × its length, as longer launches
 * of a class may count more. Zeros if there is no figure, and in results that were read back from a file.
 */
struct sonde_unmix_line {
	double fixed, per_ns;
};
struct sonde_unmix_line sonde_unmixed_line(
	const struct sonde_unmixed *u, uint32_t class, uint32_t counter);

const struct sonde_unmix_class_result *sonde_unmixed_class(
	const struct sonde_unmixed *u, uint32_t class);
const struct sonde_unmix_counter_result *sonde_unmixed_counter(
	const struct sonde_unmixed *u, uint32_t counter);
const struct sonde_unmix_quality *sonde_unmixed_quality(const struct sonde_unmixed *u);

/*
 * The numbers from which figures are computed, so that a result can be kept in a file and read back:
 * a result made by `sonde_unmixed_new`, with all these numbers filled in, gives the same figures.
 * The 64 deviations of one counter and unknown are multiples of one power of two, at
 * most 2^16 times it. The texts in `refused` are borrowed.
 */
#define SONDE_UNMIX_DEVIATIONS 64
struct sonde_unmix_state {
	uint32_t nr_classes, nr_counters, nr_unknowns;
	struct sonde_unmix_class_result *classes;    /* only `fate` and `unknown` are needed */
	double *weight, *time;			     /* by class: its part of its unknown's weight; ns of its launches */
	struct sonde_unmix_counter_result *counters; /* only `refused` is needed */
	double *limits;				     /* by counter */
	enum sonde_unmix_fate *fate;		     /* by unknown */
	double *unknown_weight;			     /* by unknown: the sum over its classes */
	double *x;				     /* [unknown · nr_counters + counter] */
	float *deviations; /* SONDE_UNMIX_DEVIATIONS numbers from [(unknown · nr_counters + counter) · SONDE_UNMIX_DEVIATIONS] on */
};
struct sonde_unmix_state sonde_unmixed_state(struct sonde_unmixed *u);
/* A result with all numbers zero. NULL: no memory. */
struct sonde_unmixed *sonde_unmixed_new(
	uint32_t nr_classes, uint32_t nr_counters, uint32_t nr_unknowns);

/*
 * Joins results of several stretches of time to one, with the sums of their figures. `class_of[i]` maps each
 * class of `from[i]` to one of `nr_classes`, SONDE_UNMIX_NONE = none. Class 2k of the result is the part of k that
 * samples saw, class 2k + 1 the unseen part, of which only `time` is known. A counter that any of the results refuses
 * is refused. All results must have the same counters. NULL: no memory.
 */
struct sonde_unmixed *sonde_unmixed_join(
	const struct sonde_unmixed *const *from, const uint32_t *const *class_of, size_t nr, uint32_t nr_classes);

#endif
