/*
 * Private to the room: the stages of a solve and what they hand on.
 *
 *     sample_windows  the samples that count, with their clusters in time
 *     plan     class → unknown, unknown → columns (time bins)
 *     overlaps the matrix A, row by row: which share of which column a sample holds
 *     gram     AᵀA, scaled, with what the edges of launches do to it
 *     envelope its Cholesky factor, in an order that keeps it narrow
 *     nonneg   the solution of one right-hand side
 *     fit      some counters at a time: right-hand sides, and what each column counts
 *     losses   the same without samples that lack something
 *     spread   how far that fit may be off
 *
 * Everything of one round lives in the round's arena. Times are nanoseconds since
 * `origin_ns` as doubles: exact for a hundred days.
 */
#ifndef SONDE_UNMIX_INT_H
#define SONDE_UNMIX_INT_H

#include "base/arena.h"
#include "base/vec.h"
#include "unmix/lanes.h"
#include "unmix/unmix.h"

/* Deviations kept per unknown and counter: half of them of residuals, the other half of each
 * unknown's timing and, the last one, of the clock. */
#define RESIDUAL_SUMS 32
#define TIMING_SUMS   (RESIDUAL_SUMS - 1)
#define SPREAD_WIDTH  (2 * RESIDUAL_SUMS)
_Static_assert(SPREAD_WIDTH == SONDE_UNMIX_DEVIATIONS, "both say how many there are");
#define MOST_DEVIATION 1e30f

/* Stamps are good to about a microsecond: time bins much shorter have no meaning. */
#define BIN_NS	  1333.0
#define LONG_BINS 5 /* of a class of long kernels: the first and the last are that short */

struct sonde_unmix__windows {
	size_t nr;
	double *start, *end; /* increasing, never overlapping */
	size_t *sample;	     /* number in the input */
	uint32_t *cluster;   /* neighbours in time whose residuals belong together */
	bool *follows;	     /* no gap between it and the one before */
	uint32_t nr_clusters;
	int64_t origin_ns;
	double length; /* of the median sample */
};

/*
 * A launch that counts for an unknown. Where entries of a group are the unknown, it is a part of
 * one: the first launches do the first part of the work, and nothing is done in between.
 */
struct sonde_unmix__interval {
	double start, end;
	double whole;  /* how long all launches of its entry ran; its own length if it is no part */
	double from;   /* the share of that which ran before it */
	double weight; /* of the whole: 1 for a class by itself, else in proportion to time */
	uint32_t unknown;
	uint32_t entry; /* that it is part of, SONDE_UNMIX_NONE = none */
};

struct sonde_unmix__unknown {
	enum sonde_unmix_fate fate;
	bool is_smooth;		  /* as its first class is */
	uint32_t column, nr_bins; /* first column, columns */
	bool has_trend;		  /* one more column behind the bins: how much more a longer one counts */
	double weight;		  /* sum over its intervals: its total is x · weight */
	double length, spread;	  /* of its intervals: mean and standard deviation */
	uint64_t nr_intervals;	  /* an entry is one */
	uint64_t nr_seen; /* of these, inside samples, in part at least */
};

struct sonde_unmix__plan {
	uint32_t *leader;	     /* by class: the class that represents its unknown */
	enum sonde_unmix_fate *fate; /* by class */
	uint32_t *unknown;	     /* by class, SONDE_UNMIX_NONE = no launches */
	bool *is_smooth;	     /* by class: short bins at its edges add nothing */
	double *weight;		     /* by class: its share in unknown's weight */
	struct sonde_unmix__unknown *unknowns;
	uint32_t nr_unknowns;
	bool without_bins;			 /* there would be too many columns with them */
	struct sonde_unmix__interval *intervals; /* by start */
	size_t nr_intervals;
};

struct sonde_unmix__matrix { /* A, row by row */
	size_t nr_rows;
	uint32_t nr_columns, nr_background; /* the last columns are the background, by segment */
	bool *is_trend;			    /* by column: its x may be negative */
	size_t *row;			    /* where each row begins; row[nr_rows] = entries */
	uint32_t *column;
	double *value; /* share of the column's interval inside the sample */
	double *slope; /* … and how that changes, per ns, when the interval moves */
};

struct sonde_unmix__meeting { /* of two columns */
	uint32_t column;
	double value; /* AᵀA with unit diagonal, bins tied loosely to their neighbours */
	double slope; /* Aᵀ · slopes, rows scaled the same way */
};

struct sonde_unmix__gram {
	uint32_t nr;
	size_t *row;				   /* where each row begins in `at` */
	SONDE_VEC(struct sonde_unmix__meeting) at; /* not in the arena: release it */
	double *scale; /* root of AᵀA's diagonal, 0 = an empty column */
};

struct sonde_unmix__envelope {
	uint32_t nr, nr_background; /* the last ones are the background */
	uint32_t *order, *place;    /* order[place] = column */
	uint32_t *first;	    /* by place: first column in the row */
	size_t *row;		    /* by place: where the row begins in a factor */
	size_t nr_values;
	double work; /* multiplications of a factorisation */
};

/*
 * The fit of some counters at a time, LANES of them: the matrix is walked through once for
 * all. The value of a column and a lane is at [column · LANES + lane].
 */
struct sonde_unmix__set {
	uint32_t counter[LANES]; /* which ones */
	uint32_t nr;		 /* how many */
	bool is_row;		 /* all lanes, one behind the other: as in the input */
	double *x;
	double *rhs;   /* scaled as the gram is */
	uint8_t *lost; /* by row: a bit for each lane whose counter lacks something there */
	uint64_t nr_lost[LANES];
	double usual[LANES]; /* deviation of a sample, for what its launches count */
	double misfit[LANES];
	double noise_rate[LANES]; /* residuals ÷ what the launches count, both squared */
};

/* The scratch of a worker, which fits one set after the other. */
struct sonde_unmix__fit {
	struct sonde_unmix__set *set; /* at hand */
	double values[LANES];	      /* of a sample, for a set that is no row; unused lanes are 0 */
	/* For the solver: right-hand sides, x scaled as the gram is, factors without fixed
	 * columns and which ones these are without. */
	double *rhs, *scaled, *scratch, *factors;
	uint8_t *fixed, *factored; /* by column: a bit for each lane */
	bool has_factors;
	double *sums;	       /* of the spread: one half of them, by sum, column and lane */
	double *steps;	       /* … variances of the steps at both edges, by unknown and lane */
	bool *has_edges;       /* by unknown: some counter of those fitted has such a step */
	double *some;	       /* of the survey: deviations of some samples, by lane */
	uint16_t *nr_complete; /* by row: counters that lack nothing there */
};

/* One sample as a fit sees it, by lane. */
struct sonde_unmix__look {
	double expected[LANES], launches[LANES]; /* … of it from launches */
	double noise[LANES]; /* what the launches in it count, squared and summed */
	double residual[LANES];
};

/* A walk along the samples: what is said about one and about its neighbours. */
struct sonde_unmix__walk {
	struct sonde_unmix__look at[3];
	size_t row[3]; /* that each of them is about, plus one; 0 = none yet */
	const struct sonde_unmix__look *here, *before, *behind; /* NULL = there is a gap */
};

/* One round: a plan and what was built from it. */
struct sonde_unmix__round {
	struct sonde_arena arena;
	const struct sonde_unmix_input *in;
	const struct sonde_unmix__windows *windows;
	const struct sonde_unmix__plan *plan;
	struct sonde_unmix__matrix matrix;
	struct sonde_unmix__gram gram;
	struct sonde_unmix__envelope envelope;
	double *factor;	      /* of the whole matrix */
	double *leverage;     /* by row */
	uint32_t *unknown_of; /* by column, SONDE_UNMIX_NONE = background */
	double *few_factor;   /* by unknown: how much wider its error is for being seen seldom */
	bool *has_edges;      /* by unknown, after the fit: its short bins are unlike those beside */
	double condition;
	double most_work;
};

/* Samples above one of `limits` (per ns, 0 = none) are dropped. */
int sonde_unmix__windows_make(struct sonde_unmix__windows *w, struct sonde_unmix_quality *q,
	struct sonde_arena *arena, const struct sonde_unmix_input *in, const double *limits,
	int64_t offset_ns);
/* How much of [start, end] is inside windows. */
double sonde_unmix__windows_cover(const struct sonde_unmix__windows *w, double start, double end);

struct sonde_unmixed {
	struct sonde_arena arena;
	uint32_t nr_classes, nr_counters, nr_unknowns;
	struct sonde_unmix_class_result *classes;
	struct sonde_unmix_counter_result *counters;
	double *limits;		     /* by counter, per ns; 0 = none */
	double *weight;		     /* by class: part of its unknown's weight */
	double *time;		     /* by class: ns of its launches */
	double *unknown_weight;	     /* by unknown */
	enum sonde_unmix_fate *fate; /* by unknown */
	double *x;		     /* unknown · nr_counters + counter; not in the arena */
	double *trend;		     /* the same way, and by unknown, how long it is; NULL: put back */
	double *length;
	float *deviations; /* (unknown · nr_counters + counter) · SPREAD_WIDTH; not in the arena */
	struct sonde_unmix_quality quality;
};

int sonde_unmix__plan_init(struct sonde_unmix__plan *plan, struct sonde_arena *arena,
	const struct sonde_unmix_input *in);
/* Puts two classes into one unknown. Returns false when they were in one already. */
bool sonde_unmix__plan_join(
	struct sonde_unmix__plan *plan, uint32_t a, uint32_t b, enum sonde_unmix_fate fate);
/* The class that represents the unknown of `class`: the one with the lowest number. */
uint32_t sonde_unmix__plan_leader(struct sonde_unmix__plan *plan, uint32_t class);
/* Numbers the unknowns and lists their intervals. */
int sonde_unmix__plan_lay(struct sonde_unmix__plan *plan, struct sonde_arena *arena,
	const struct sonde_unmix_input *in, const struct sonde_unmix__windows *w,
	int64_t offset_ns);

/* Unknowns whose short bins added nothing have none when laid again: others are known better. */
void sonde_unmix__plan_smooth(struct sonde_unmix__plan *plan, const struct sonde_unmix_input *in,
	const bool *has_edges);

static inline uint32_t sonde_unmix__nr_columns(const struct sonde_unmix__unknown *x)
{
	return x->nr_bins + x->has_trend;
}

/* Where bin `b` of an interval of `length` begins, from its start; bin nr_bins is its end. */
double sonde_unmix__bin_begin(double length, uint32_t nr_bins, uint32_t b);
/* How long bin `b` of an unknown is, in the mean. */
double sonde_unmix__bin_length(const struct sonde_unmix__unknown *x, uint32_t b);
int sonde_unmix__matrix_build(struct sonde_unmix__matrix *m, struct sonde_arena *arena,
	const struct sonde_unmix__plan *plan, const struct sonde_unmix__windows *w);

int sonde_unmix__gram_build(struct sonde_unmix__gram *g, struct sonde_arena *arena,
	const struct sonde_unmix__matrix *m, const struct sonde_unmix__plan *plan);

int sonde_unmix__envelope_build(struct sonde_unmix__envelope *e, struct sonde_arena *arena,
	const struct sonde_unmix__gram *g, uint32_t nr_background);
/*
 * Factorises and returns the smallest pivot. A column of which those before it explain
 * all but DEPENDENT of its square stays out of it: its x is 0. `watch` gets what explains it.
 */
#define DEPENDENT 1e-6
struct sonde_unmix__watch {
	void (*found)(struct sonde_unmix__watch *watch, uint32_t column);
	const struct sonde_unmix__envelope *envelope;
	struct sonde_unmix__plan *plan;
	double *coefficients; /* by place, up to the column's own */
	uint32_t *class_of;   /* by column, SONDE_UNMIX_NONE = background */
	const bool *is_trend; /* by column */
	uint32_t nr_joined;
};
double sonde_unmix__envelope_factor(double *factor, const struct sonde_unmix__envelope *e,
	const struct sonde_unmix__gram *g, struct sonde_unmix__watch *watch);
/* A factor for each lane, in which columns with the lane's bit in `fixed` stay out, too. */
void sonde_unmix__envelope_factor_lanes(double *factors, const struct sonde_unmix__envelope *e,
	const struct sonde_unmix__gram *g, const uint8_t *fixed);
/*
 * In place: right-hand sides by column in, solutions by column out, LANES of them side by
 * side, all with one factor or each with its own. `scratch` holds LANES · nr values.
 */
void sonde_unmix__envelope_solve(
	double *x, const struct sonde_unmix__envelope *e, const double *factor, double *scratch);
void sonde_unmix__envelope_solve_own(
	double *x, const struct sonde_unmix__envelope *e, const double *factors, double *scratch);

/* Finds x ≥ 0 for the right-hand sides of the lanes in `lanes`. With `has_guess`, columns that are
 * 0 in x are taken to stay so at first. */
void sonde_unmix__solve_nonneg(struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r,
	uint32_t lanes, bool has_guess);

int sonde_unmix__fit_start(struct sonde_unmix__fit *fit, struct sonde_unmix__round *r);
/* The survey of all counters comes first: it finds out which samples are complete. */
void sonde_unmix__fit_survey(struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r);
void sonde_unmix__fit_counters(struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r);
void sonde_unmix__fit_look(struct sonde_unmix__look *look, struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r, size_t row);
/* To a sample, from the one before it or from anywhere; `w` is zeroed at first. */
void sonde_unmix__fit_step(struct sonde_unmix__walk *w, struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r, size_t row);
/*
 * The residual, or its sum with that of a neighbour where that is smaller: what lies
 * at the edge of two samples is missing in one and too much in the other.
 */
double sonde_unmix__fit_lasting(const struct sonde_unmix__walk *w, uint32_t lane);
/* Whether so much less than expected looks like a loss, if it is unusual. */
bool sonde_unmix__fit_is_low(const struct sonde_unmix__walk *w, uint32_t lane, double lasting);

/* Sums over the samples that count, by lane, and what they say about the fit. */
struct sonde_unmix__tally {
	double squares[LANES], residuals[LANES], noise[LANES];
};
void sonde_unmix__fit_tally(
	struct sonde_unmix__tally *t, const struct sonde_unmix__look *look, uint8_t lost);
void sonde_unmix__fit_judge(struct sonde_unmix__set *set, const struct sonde_unmix__tally *t);

/* Fills deviations[unknown · stride + counter · SPREAD_WIDTH + 0 … SPREAD_WIDTH-1]. */
void sonde_unmix__spread(float *deviations, size_t stride, struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r);

/* Fits all counters and their deviations into `u`. */
int sonde_unmix__fit_all(struct sonde_unmixed *u, struct sonde_unmix__round *r);

/* Joins all classes of a name from the beginning, without time bins and trends. */
int sonde_unmix__merge_names(
	struct sonde_unmix__plan *plan, struct sonde_arena *arena, const struct sonde_unmix_input *in);
/* Joins all classes of a name; `*nr_joined` = 0 when there is nothing left to join. */
int sonde_unmix__pool_names(uint32_t *nr_joined, struct sonde_unmix__plan *plan,
	struct sonde_arena *arena, const struct sonde_unmix_input *in);
/* Joins what came out too weak in `u`. */
int sonde_unmix__coarsen(uint32_t *nr_joined, struct sonde_unmix__plan *plan,
	struct sonde_arena *arena, const struct sonde_unmix_input *in,
	const struct sonde_unmixed *u);

/* Builds everything for `plan`, which may be joined further on the way. SONDE_ERR_LIMIT: too large.
 */
int sonde_unmix__round_build(
	struct sonde_unmix__round *r, struct sonde_unmix__plan *plan, int64_t offset_ns);
void sonde_unmix__round_release(struct sonde_unmix__round *r);

/*
 * The error of not knowing how an unknown is split among its classes. Pooled
 * kernels are alike; of merged ones a part may be anything from 0 to all, and the
 * error is such that an interval of two of them reaches both ends.
 */
double sonde_unmix__split_error(const struct sonde_unmixed *u, uint32_t unknown, double weight, double x);
/* Rounds the deviations of an unknown and counter, so that they can be kept in two bytes each. */
void sonde_unmix__round_row(float *row);
/* Spreads numbers: splitmix64. */
uint64_t sonde_unmix__hash(uint64_t n);

#endif
