/*
 * Unmixing: which kernel did what the counters of the device counted?
 *
 * A sampler reads the counters of a device at a fixed interval; a trace knows
 * when each launch ran. A sample over [s, e] that holds a fraction `a` of a launch
 * of class k counts a·x for it, so with one unknown x for each class
 *
 *     samples ≈ A · x + background,   x ≥ 0
 *
 * which is solved here by sparse non-negative least squares, all counters with
 * one matrix. A class is whatever the caller distinguishes: a kernel in a place, a
 * copy, a memset. This room knows plain arrays of one device and nothing of
 * regions, names or captures.
 *
 * **Unknowns.** The finest that the data can bear: a class by itself; where the
 * classes of a group cannot be distinguished, the entries of the group, all launches of one
 * together; where a class is seen too seldom, all classes of its name together.
 * Classes whose columns are the same (they always run side by side) are merged.
 * `sonde_unmixed_class` says what became of each class. Work is not spread evenly
 * over a kernel, so a long class has a few time bins, summed at the end. Launches of a
 * class are not alike: where their lengths differ, each counter has a trend besides, how much
 * more a longer launch counts. Over all launches it adds up to nothing, so totals do without it.
 *
 * **Errors** are one standard error, 95 % is within ±1.96 of it. They come from the
 * residuals, clustered in time; from how well the stamps of launches say when
 * the work was done; and, for a part of an unknown that several classes share,
 * from not knowing how it is split. Errors of sums use the covariances:
 * ask for the sum of a region, never add up the errors of its classes.
 *
 * **Determinism.** No random numbers, fixed order of sums: the same input gives the
 * same bits on every machine. Large inputs are worked on by some threads, each with columns or
 * counters of its own; they are gone when the solve returns, and the bits stay the same.
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
	uint32_t group; /* its region: may become one unknown; SONDE_UNMIX_NONE = in none */
};

struct sonde_unmix_launch {
	int64_t start_ns, end_ns; /* on the clock of the samples */
	uint32_t class;
	uint32_t entry; /* which entry of its group it ran in, SONDE_UNMIX_NONE = not known */
};

/* The samples and launches of one device. Everything is borrowed during the solve only. */
struct sonde_unmix_input {
	const struct sonde_unmix_class *classes;
	uint32_t nr_classes;
	const struct sonde_unmix_launch *launches; /* in any order */
	size_t nr_launches;
	const int64_t *start_ns, *end_ns; /* of the samples, in order of time; gaps are fine */
	const double *values;		  /* nr_samples × nr_counters, sample by sample */
	size_t nr_samples;
	uint32_t nr_counters;
	const double
		*limits_per_ns; /* what each can count at most, 0 = no limit; NULL = none has one */
};

struct sonde_unmix_options {
	int64_t offset_ns;	/* added to the times of launches: the clocks' fixed difference */
	bool is_by_name; /* samples are too long for more: classes of a name are one unknown, never split */
	double most_work; /* multiplications allowed; more makes unknowns coarser. 0 = 2e11, minutes
			   */
};

/* The outcome for a class. */
enum sonde_unmix_fate {
	SONDE_UNMIX_OWN,    /* an unknown of its own */
	SONDE_UNMIX_MERGED, /* always side by side with others: one unknown with them */
	SONDE_UNMIX_ENTRY,  /* part of its group's entries, which are one unknown */
	SONDE_UNMIX_POOLED, /* one unknown with other classes of its name, in proportion to time */
	SONDE_UNMIX_UNSEEN, /* no sample holds any of it: there are no figures */
};

struct sonde_unmix_class_result {
	enum sonde_unmix_fate fate;
	uint32_t unknown;     /* classes with the same number share it; SONDE_UNMIX_NONE = unseen */
	uint64_t nr_launches; /* figures are totals of all of these … */
	uint64_t nr_seen;     /* … of which so many ran, in part at least, inside samples */
};

/* How one counter came out. */
struct sonde_unmix_counter_result {
	const char *refused; /* why there are no figures, as a sentence; NULL = there are */
	double misfit;	     /* root of (squared residuals ÷ squared values): 0 = all explained */
	double deviation;    /* the same for a single launch in a sample: how unlike its class it is */
	uint64_t nr_lost;    /* samples left out because part of this counter is missing in them */
};

struct sonde_unmix_quality {
	uint64_t nr_samples;  /* used */
	uint64_t nr_dropped;  /* not used: first after a start, idle for long, no numbers, above a limit */
	uint64_t nr_no_count; /* … of them those with a value that is no number, or below zero */
	uint64_t nr_outside;  /* not used: far from any launch */
	uint64_t nr_gaps;     /* times samples are missing between two others */
	double seen_time;     /* share of the launches' time inside samples */
	uint32_t nr_unknowns; /* besides the background */
	uint32_t nr_columns;  /* time bins and background counted */
	uint32_t nr_merged, nr_entry, nr_pooled; /* classes by fate */
	double condition; /* of the scaled normal equations, an estimate: 1 = best */
};

struct sonde_unmix_figure {
	double value; /* NaN where there is none */
	double error; /* one standard error of it */
};

struct sonde_unmixed;

/*
 * Returns 0 with the result in `*out`, yours to free, or a negative code with
 * `*out` NULL: SONDE_ERR_USAGE for input that contradicts itself, SONDE_ERR_LIMIT
 * when even the coarsest unknowns would need too much memory. `opt` may be NULL.
 */
int sonde_unmix_solve(struct sonde_unmixed **out, const struct sonde_unmix_input *in,
	const struct sonde_unmix_options *opt, struct sonde_err *err);
void sonde_unmixed_free(struct sonde_unmixed *u);

/* The total of one counter over all launches of `class`, seen or not. */
struct sonde_unmix_figure sonde_unmixed_figure(
	const struct sonde_unmixed *u, uint32_t class, uint32_t counter);
/* The same over a list of classes, each named once. Unseen ones have no part in it. */
struct sonde_unmix_figure sonde_unmixed_sum(
	const struct sonde_unmixed *u, const uint32_t *classes, size_t nr, uint32_t counter);

/*
 * The counts of one launch of a class by the fit, `fixed` and `per_ns` of its length: longer launches of
 * a class may count more. Zeros where there is no figure. Only a solve knows it, not a result put back.
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
 * The numbers that figures are made of, so that a result can be kept in a file and put back: a
 * result made by `sonde_unmixed_new`, with everything filled in, gives the same figures.
 * The 64 deviations of a counter and unknown are multiples of a power of two, at
 * most 2^16 of it. Names of refusals are borrowed.
 */
#define SONDE_UNMIX_DEVIATIONS 64
struct sonde_unmix_state {
	uint32_t nr_classes, nr_counters, nr_unknowns;
	struct sonde_unmix_class_result *classes;    /* `fate` and `unknown` count */
	double *weight, *time;			     /* by class: of its unknown's weight, ns */
	struct sonde_unmix_counter_result *counters; /* `refused` counts */
	double *limits;				     /* by counter */
	enum sonde_unmix_fate *fate;		     /* by unknown */
	double *unknown_weight;			     /* by unknown: the sum over its classes */
	double *x;				     /* unknown · nr_counters + counter */
	float *deviations; /* (unknown · nr_counters + counter) · SONDE_UNMIX_DEVIATIONS */
};
struct sonde_unmix_state sonde_unmixed_state(struct sonde_unmixed *u);
/* All zeros; NULL: no memory. */
struct sonde_unmixed *sonde_unmixed_new(
	uint32_t nr_classes, uint32_t nr_counters, uint32_t nr_unknowns);

/*
 * Results of several stretches of time as one, which has the sums of their figures. `class_of[i]` says for each
 * class of `from[i]` which one of `nr_classes` it is, SONDE_UNMIX_NONE = none. Class 2k of the result is what samples
 * saw of k, and class 2k + 1 what they did not: `time` has how long that was. A counter that one result refuses is
 * refused. All have the same counters. NULL: no memory.
 */
struct sonde_unmixed *sonde_unmixed_join(
	const struct sonde_unmixed *const *from, const uint32_t *const *class_of, size_t nr, uint32_t nr_classes);

#endif
