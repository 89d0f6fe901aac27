/*
 * Private to the room: the stages of a solve and what they hand on.
 *
 *     windows  the samples that count, with their clusters in time
 *     plan     class → unknown, unknown → columns (time bins)
 *     overlaps the matrix A, row by row: which share of which column a sample holds
 *     gram     AᵀA, scaled, with what the edges of launches do to it
 *     envelope its Cholesky factor, in an order that keeps it narrow
 *     nonneg   the fit of one counter
 *     spread   how far that fit may be off
 *
 * Everything of one round lives in the round's arena. Times are nanoseconds since
 * `origin_ns` as doubles: exact for a hundred days.
 */
#ifndef SONDE_UNMIX_INT_H
#define SONDE_UNMIX_INT_H

#include "base/arena.h"
#include "base/vec.h"
#include "unmix/unmix.h"

/* Deviations kept per unknown and counter: of residuals, of each unknown's timing, of the clock. */
#define RESIDUAL_SUMS 32
#define TIMING_SUMS   31
#define CLOCK_SUM     (RESIDUAL_SUMS + TIMING_SUMS)
#define SPREAD_WIDTH  (CLOCK_SUM + 1)
_Static_assert(SPREAD_WIDTH == SONDE_UNMIX_DEVIATIONS, "both say how many there are");
#define MOST_DEVIATION 1e30f
#define SOLVE_LANES   16 /* right-hand sides solved at a time; divides SPREAD_WIDTH */

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

/* A launch, or an entry of a group, that counts for an unknown with a weight. */
struct sonde_unmix__interval {
	double start, end;
	double weight; /* 1 for a class by itself, else in proportion to time */
	uint32_t unknown;
	uint32_t entry; /* of its group, SONDE_UNMIX_NONE = it is a launch */
};

struct sonde_unmix__unknown {
	enum sonde_unmix_fate fate;
	uint32_t column, nr_bins; /* first column, columns */
	double weight;		  /* sum over its intervals: its total is x · weight */
	double length;		  /* of its mean interval */
	uint64_t nr_intervals;
	uint64_t nr_seen; /* of these, lie in samples, in part at least */
};

struct sonde_unmix__plan {
	uint32_t *leader;	     /* by class: the class that stands for its unknown */
	enum sonde_unmix_fate *fate; /* by class */
	uint32_t *unknown;	     /* by class, SONDE_UNMIX_NONE = no launches */
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
	uint32_t nr;
	uint32_t *order, *place; /* order[place] = column */
	uint32_t *first;	 /* by place: first column in the row */
	size_t *row;		 /* by place: where the row begins in a factor */
	size_t nr_values;
	double work; /* multiplications of a factorisation */
};

struct sonde_unmix__fit {	     /* of one counter after the other */
	double *x;		     /* by column */
	double *values;		     /* by row, and so are the next five */
	double *expected, *launches; /* what the fit says; what of it comes from launches */
	double *residual;	     /* 0 where the sample was left out */
	double *noise;		     /* what the launches in it count, squared and summed */
	double *filled;		     /* values, or what is expected where they were left out */
	bool *lost;		     /* by row: left out */
	uint64_t nr_lost;
	double misfit, background;
	/* Scratch by column, the factor without fixed columns, x of each counter from the survey.
	 */
	double *rhs, *scaled, *scratch, *own_factor, *surveyed;
	bool *is_fixed, any_fixed;
	/* Of the spread: a score by column for each of SPREAD_WIDTH, and sums of residuals. */
	double *scores, *sums;
	uint16_t *nr_complete; /* by row: counters in which nothing is missing */
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
	double condition;
	double offset_error_ns, most_work;
};

/* Samples above one of `limits` (per ns, 0 = none) are dropped. */
int sonde_unmix__windows_make(struct sonde_unmix__windows *w, struct sonde_unmix_quality *q,
	struct sonde_arena *arena, const struct sonde_unmix_input *in, const double *limits,
	int64_t offset_ns);
/* How much of [start, end] lies inside windows. */
double sonde_unmix__windows_cover(const struct sonde_unmix__windows *w, double start, double end);

#define LIMIT_SLACK 1.05 /* clocks differ a little from their nominal rate */

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
	float *deviations; /* (unknown · nr_counters + counter) · SPREAD_WIDTH; not in the arena */
	struct sonde_unmix_quality quality;
};

int sonde_unmix__plan_init(struct sonde_unmix__plan *plan, struct sonde_arena *arena,
	const struct sonde_unmix_input *in);
/* Puts two classes into one unknown. Returns false when they were in one already. */
bool sonde_unmix__plan_join(
	struct sonde_unmix__plan *plan, uint32_t a, uint32_t b, enum sonde_unmix_fate fate);
/* The class that stands for the unknown of `class`: the one with the lowest number. */
uint32_t sonde_unmix__plan_leader(struct sonde_unmix__plan *plan, uint32_t class);
/* Numbers the unknowns and lists their intervals. */
int sonde_unmix__plan_lay(struct sonde_unmix__plan *plan, struct sonde_arena *arena,
	const struct sonde_unmix_input *in, const struct sonde_unmix__windows *w,
	int64_t offset_ns);

int sonde_unmix__matrix_build(struct sonde_unmix__matrix *m, struct sonde_arena *arena,
	const struct sonde_unmix__plan *plan, const struct sonde_unmix__windows *w);
/* out = Aᵀ·v */
void sonde_unmix__matrix_collect(double *out, const struct sonde_unmix__matrix *m, const double *v);

int sonde_unmix__gram_build(struct sonde_unmix__gram *g, struct sonde_arena *arena,
	const struct sonde_unmix__matrix *m, const struct sonde_unmix__plan *plan);

int sonde_unmix__envelope_build(struct sonde_unmix__envelope *e, struct sonde_arena *arena,
	const struct sonde_unmix__gram *g, uint32_t nr_background);
/*
 * Factorises and returns the smallest pivot. Columns with `fixed` (NULL = none) stay out
 * of it: their x is 0. So does a column of which those before it explain all but
 * DEPENDENT of its square; `watch` (may be NULL) is told what explains it.
 */
#define DEPENDENT 1e-6
struct sonde_unmix__watch {
	void (*found)(struct sonde_unmix__watch *watch, uint32_t column);
	const struct sonde_unmix__envelope *envelope;
	struct sonde_unmix__plan *plan;
	double *coefficients; /* by place, up to the column's own */
	uint32_t *class_of;   /* by column, SONDE_UNMIX_NONE = background */
	uint32_t nr_joined;
};
double sonde_unmix__envelope_factor(double *factor, const struct sonde_unmix__envelope *e,
	const struct sonde_unmix__gram *g, const bool *fixed, struct sonde_unmix__watch *watch);
/* In place: right-hand side by column in, solution by column out. `scratch` holds nr values. */
void sonde_unmix__envelope_solve(
	double *x, const struct sonde_unmix__envelope *e, const double *factor, double *scratch);
void sonde_unmix__envelope_solve_lanes(
	double *x, const struct sonde_unmix__envelope *e, const double *factor, double *scratch);

int sonde_unmix__fit_start(struct sonde_unmix__fit *fit, struct sonde_unmix__round *r);
/* The survey of all counters comes first: it finds out which samples are complete. */
void sonde_unmix__fit_survey(
	struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r, uint32_t counter);
void sonde_unmix__fit_counter(
	struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r, uint32_t counter);

/* Fills deviations[unknown · stride + 0 … SPREAD_WIDTH-1]. */
void sonde_unmix__spread(float *deviations, size_t stride, struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r);

/* Fits all counters and their deviations into `u`. */
int sonde_unmix__fit_all(struct sonde_unmixed *u, struct sonde_unmix__round *r);

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

#endif
