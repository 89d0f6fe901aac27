/*
 * Private to the room: the stages of a solve, and the data they pass on.
 *
 *     sample_windows  the samples that are used, with their clusters in time
 *     plan     class → unknown, unknown → columns (time bins)  (unknowns.c)
 *     overlaps the matrix A, row by row: the share of each column that is inside a sample
 *     gram     AᵀA, scaled, and its change when launches move in time
 *     envelope its Cholesky factor, in an order that keeps it narrow
 *     nonneg   the solution for some right-hand sides
 *     fit      some counters at a time: right-hand sides, and the count of each column
 *     losses   the same without samples that lack something
 *     spread   the errors of the fit  (deviations.c)
 *
 * Memory of one round is in the round's arena. Times are nanoseconds since
 * `origin_ns` as doubles: exact for a hundred days.
 */
#ifndef SONDE_UNMIX_INT_H
#define SONDE_UNMIX_INT_H

#include "base/arena.h"
#include "base/vec.h"
#include "unmix/lanes.h"
#include "unmix/unmix.h"

/* Deviations kept per unknown and counter: half of them from residuals, the other half from the
 * timing of each unknown; the last one is from the offset of the clocks. */
#define RESIDUAL_SUMS 32
#define TIMING_SUMS   (RESIDUAL_SUMS - 1)
#define SPREAD_WIDTH  (2 * RESIDUAL_SUMS)
_Static_assert(SPREAD_WIDTH == SONDE_UNMIX_DEVIATIONS, "both say how many there are");
#define MOST_DEVIATION 1e30f

/* Timestamps are exact to about a microsecond, so much shorter time bins would have no meaning. */
#define BIN_NS	  1333.0
#define LONG_BINS 5 /* time bins of a class of long kernels: the first and the last are BIN_NS long */

struct sonde_unmix__windows {
	size_t nr;
	double *start, *end; /* increasing, never overlapping */
	size_t *sample;	     /* sample number in the input */
	uint32_t *cluster;   /* number of its cluster: neighbours in time with dependent residuals */
	bool *follows;	     /* there is no gap between this sample and the previous one */
	uint32_t nr_clusters;
	int64_t origin_ns;
	double length; /* length of the median sample */
};

/*
 * A launch that counts for an unknown. If the entries of a group are the unknown, the launch is a part of an entry:
 * the work of an entry is done in the order of its launches, and no work is done between them.
 */
struct sonde_unmix__interval {
	double start, end;
	double whole;  /* time of all launches of its entry; its own length if it is not part of an entry */
	double from;   /* the share of `whole` that ran before it */
	double weight; /* weight of the launch or entry: 1 for a class by itself, else in proportion to time */
	uint32_t unknown;
	uint32_t entry; /* the entry it is part of, SONDE_UNMIX_NONE = none */
};

struct sonde_unmix__unknown {
	enum sonde_unmix_fate fate;
	bool is_smooth;		  /* that of its first class */
	uint32_t column, nr_bins; /* first column, number of columns without the trend */
	bool has_trend;		  /* there is one more column after the bins: how much more a longer launch counts */
	double weight;		  /* number of its launches or entries: the total of a counter is x · weight */
	double length, spread;	  /* mean and standard deviation of the length of its launches or entries */
	uint64_t nr_intervals;	  /* number of its launches; if entries are the unknown, number of entries */
	uint64_t nr_seen; /* those at least partly inside samples */
};

struct sonde_unmix__plan {
	uint32_t *leader;	     /* by class: the class that represents its unknown */
	enum sonde_unmix_fate *fate; /* by class */
	uint32_t *unknown;	     /* by class, SONDE_UNMIX_NONE = no launches */
	bool *is_smooth;	     /* by class: short bins at its edges add nothing */
	double *weight;		     /* by class: its part of its unknown's weight */
	struct sonde_unmix__unknown *unknowns;
	uint32_t nr_unknowns;
	bool without_bins;			 /* no time bins and trends: too many columns, or options.is_by_name */
	struct sonde_unmix__interval *intervals; /* by start */
	size_t nr_intervals;
};

struct sonde_unmix__matrix { /* A, row by row */
	size_t nr_rows;
	uint32_t nr_columns, nr_background; /* the last columns are the background, by segment */
	bool *is_trend;			    /* by column: its x may be negative */
	size_t *row;			    /* where each row begins; row[nr_rows] = entries */
	uint32_t *column;
	double *value; /* the share of the column's interval that is inside the sample, times its weight */
	double *slope; /* change of `value` per ns when the interval moves to later times */
};

struct sonde_unmix__meeting { /* an element of AᵀA: two columns that meet in at least one sample */
	uint32_t column;
	double value; /* of AᵀA with unit diagonal, bins tied loosely to their neighbours */
	double slope; /* of Aᵀ · slopes, rows scaled the same way */
};

struct sonde_unmix__gram {
	uint32_t nr;
	size_t *row;				   /* where each row begins in `at` */
	SONDE_VEC(struct sonde_unmix__meeting) at; /* not in the arena: release it */
	double *scale; /* by column: root of AᵀA's diagonal, 0 = an empty column */
};

struct sonde_unmix__envelope {
	uint32_t nr, nr_background; /* number of columns; the last nr_background are the background */
	uint32_t *order, *place;    /* order[place] = column */
	uint32_t *first;	    /* by place: first column in the row */
	size_t *row;		    /* by place: where the row begins in a factor */
	size_t nr_values;
	double work; /* number of multiplications of a factorisation */
};

/*
 * The fit of up to LANES counters side by side, so that one pass over the matrix serves all of
 * them. The value of a column and a lane is at [column · LANES + lane].
 */
struct sonde_unmix__set {
	uint32_t counter[LANES]; /* by lane: counter number */
	uint32_t nr;		 /* number of counters */
	bool is_row;		 /* all lanes are used, by counters that follow each other in the input */
	double *x;
	double *rhs;   /* scaled like the gram */
	uint8_t *lost; /* by row: a bit for each lane whose counter lacks something in this sample */
	uint64_t nr_lost[LANES];
	double usual[LANES]; /* usual deviation of a sample, relative to the root of its `noise` */
	double misfit[LANES];
	double noise_rate[LANES]; /* squared residuals ÷ `noise`, both summed over the samples */
};

/* The scratch memory of a worker, which fits one set after the other. */
struct sonde_unmix__fit {
	struct sonde_unmix__set *set; /* the current set */
	double values[LANES];	      /* values of a sample, for a set with is_row false; unused lanes are 0 */
	/* For the solver: right-hand sides, x scaled like the gram, and factors without the fixed columns. */
	double *rhs, *scaled, *scratch, *factors;
	uint8_t *fixed, *factored; /* by column, a bit for each lane: fixed now; fixed when `factors` was made */
	bool has_factors;
	double *sums;	       /* for the spread: one half of the sums, by sum, column and lane */
	double *steps;	       /* for the spread: variances of the steps at both edges, by unknown and lane */
	bool *has_edges;       /* by unknown: some fitted counter has a notable step at an edge (struct step) */
	double *some;	       /* for the survey: deviations of some samples, by lane */
	uint16_t *nr_complete; /* by row: number of counters that lack nothing in this sample */
};

/* One sample as the fit predicts it, by lane. */
struct sonde_unmix__look {
	double expected[LANES], launches[LANES]; /* expected value, and the part of it from launches */
	double noise[LANES]; /* sum of the squares of the counts expected for each column */
	double residual[LANES];
};

/* A walk along the samples: the current sample and its neighbours. */
struct sonde_unmix__walk {
	struct sonde_unmix__look at[3];
	size_t row[3]; /* the row of each of `at`, plus one; 0 = none yet */
	const struct sonde_unmix__look *here, *previous, *next; /* the current, previous and next sample; NULL = a gap */
};

/* One round: a plan and the data built from it. */
struct sonde_unmix__round {
	struct sonde_arena arena;
	const struct sonde_unmix_input *in;
	const struct sonde_unmix__windows *windows;
	const struct sonde_unmix__plan *plan;
	struct sonde_unmix__matrix matrix;
	struct sonde_unmix__gram gram;
	struct sonde_unmix__envelope envelope;
	double *factor;	      /* factor of the whole matrix */
	double *leverage;     /* by row */
	uint32_t *unknown_of; /* by column, SONDE_UNMIX_NONE = background */
	double *error_growth;   /* by unknown: factor by which its error grows if few clusters have it */
	bool *has_edges;      /* by unknown, after the fit: its short bins differ from those beside them */
	double condition;
	double most_work;
};

/* Chooses the samples to use. Samples above one of `limits` (per ns, 0 = none) are dropped. */
int sonde_unmix__windows_make(struct sonde_unmix__windows *w, struct sonde_unmix_quality *q,
	struct sonde_arena *arena, const struct sonde_unmix_input *in, const double *limits,
	int64_t offset_ns);
/* How much of [start, end] is inside windows. */
double sonde_unmix__windows_cover(const struct sonde_unmix__windows *w, double start, double end);

struct sonde_unmixed {
	struct sonde_arena arena;
	struct sonde_unmix_state state; /* `x` and `deviations` are not in the arena */
	double *trend;			/* [unknown · nr_counters + counter]; NULL: the result was read back from a file */
	double *length;			/* by unknown: mean length of a launch or entry; NULL likewise */
	struct sonde_unmix_quality quality;
};

int sonde_unmix__plan_init(struct sonde_unmix__plan *plan, struct sonde_arena *arena,
	const struct sonde_unmix_input *in);
/* Puts two classes into one unknown. Returns false if they already were in one. */
bool sonde_unmix__plan_join(
	struct sonde_unmix__plan *plan, uint32_t a, uint32_t b, enum sonde_unmix_fate fate);
/* The class that represents the unknown of `class`: the one with the lowest number. */
uint32_t sonde_unmix__plan_leader(struct sonde_unmix__plan *plan, uint32_t class);
/* Numbers the unknowns and lists their intervals. */
int sonde_unmix__plan_lay(struct sonde_unmix__plan *plan, struct sonde_arena *arena,
	const struct sonde_unmix_input *in, const struct sonde_unmix__windows *w,
	int64_t offset_ns);

/* Marks unknowns whose short bins added nothing: the next plan gives them none, so that other columns are known better. */
void sonde_unmix__plan_smooth(struct sonde_unmix__plan *plan, const struct sonde_unmix_input *in,
	const bool *has_edges);

static inline uint32_t sonde_unmix__nr_columns(const struct sonde_unmix__unknown *x)
{
	return x->nr_bins + x->has_trend;
}

/*
 * The beginning of bin `b`, counted from the start of an interval of this length. For b = nr_bins it is the end of the
 * interval.
 */
double sonde_unmix__bin_begin(double length, uint32_t nr_bins, uint32_t b);
/* The mean length of bin `b` of an unknown. */
double sonde_unmix__bin_length(const struct sonde_unmix__unknown *x, uint32_t b);
int sonde_unmix__matrix_build(struct sonde_unmix__matrix *m, struct sonde_arena *arena,
	const struct sonde_unmix__plan *plan, const struct sonde_unmix__windows *w);

int sonde_unmix__gram_build(struct sonde_unmix__gram *g, struct sonde_arena *arena,
	const struct sonde_unmix__matrix *m, const struct sonde_unmix__plan *plan);

int sonde_unmix__envelope_build(struct sonde_unmix__envelope *e, struct sonde_arena *arena,
	const struct sonde_unmix__gram *g, uint32_t nr_background);
/*
 * Factorises, and returns the smallest pivot. A column is left out, and its x is 0, if earlier columns explain all of its
 * square but DEPENDENT. Then `watch->found` is called, with the coefficients of the columns that explain it.
 */
#define DEPENDENT 1e-6
struct sonde_unmix__watch {
	void (*found)(struct sonde_unmix__watch *watch, uint32_t column);
	const struct sonde_unmix__envelope *envelope;
	struct sonde_unmix__plan *plan;
	double *coefficients; /* by place, up to the place of the column */
	uint32_t *class_of;   /* by column, SONDE_UNMIX_NONE = background */
	const bool *is_trend; /* by column */
	uint32_t nr_joined;
};
double sonde_unmix__envelope_factor(double *factor, const struct sonde_unmix__envelope *e,
	const struct sonde_unmix__gram *g, struct sonde_unmix__watch *watch);
/* Makes a factor for each lane. It also leaves out the columns that have the lane's bit in `fixed`. */
void sonde_unmix__envelope_factor_lanes(double *factors, const struct sonde_unmix__envelope *e,
	const struct sonde_unmix__gram *g, const uint8_t *fixed);
/*
 * Solve in place: `x` holds LANES right-hand sides by column, and then their solutions. The first
 * function has one factor for all lanes, the second a factor for each. `scratch` holds LANES · nr values.
 */
void sonde_unmix__envelope_solve(
	double *x, const struct sonde_unmix__envelope *e, const double *factor, double *scratch);
void sonde_unmix__envelope_solve_own(
	double *x, const struct sonde_unmix__envelope *e, const double *factors, double *scratch);

/* Finds x ≥ 0 for the right-hand sides of the lanes in `lanes`. With `has_guess`, columns that are
 * 0 in x are held at 0 at first. */
void sonde_unmix__solve_nonneg(struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r,
	uint32_t lanes, bool has_guess);

int sonde_unmix__fit_start(struct sonde_unmix__fit *fit, struct sonde_unmix__round *r);
/* Runs for all counters before fit_counters: it finds the samples that are complete. */
void sonde_unmix__fit_survey(struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r);
void sonde_unmix__fit_counters(struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r);
void sonde_unmix__fit_look(struct sonde_unmix__look *look, struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r, size_t row);
/* Moves to a sample, from the previous one or from any other. `w` must be zeroed at first. */
void sonde_unmix__fit_step(struct sonde_unmix__walk *w, struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r, size_t row);
/*
 * The residual, or its sum with that of a neighbour if that is smaller: counts at the edge
 * between two samples may be missing in one and too much in the other.
 */
double sonde_unmix__fit_lasting(const struct sonde_unmix__walk *w, uint32_t lane);
/* Whether a residual is so far below zero that it may be a loss. */
bool sonde_unmix__fit_is_low(const struct sonde_unmix__walk *w, uint32_t lane, double lasting);

/* Sums over the samples that are used, by lane; fit_judge computes the quality of the fit from them. */
struct sonde_unmix__tally {
	double squares[LANES], residuals[LANES], noise[LANES];
};
void sonde_unmix__fit_tally(
	struct sonde_unmix__tally *t, const struct sonde_unmix__look *look, uint8_t lost);
void sonde_unmix__fit_judge(struct sonde_unmix__set *set, const struct sonde_unmix__tally *t);

/* Fills deviations[unknown · stride + counter · SPREAD_WIDTH + 0 … SPREAD_WIDTH - 1]. */
void sonde_unmix__spread(float *deviations, size_t stride, struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r);

/* Fits all counters and their deviations into `u`. */
int sonde_unmix__fit_all(struct sonde_unmixed *u, struct sonde_unmix__round *r);

/* For options.is_by_name: joins all classes of a name before the first round, without time bins and trends. */
int sonde_unmix__merge_names(
	struct sonde_unmix__plan *plan, struct sonde_arena *arena, const struct sonde_unmix_input *in);
/* Joins all classes of a name. `*nr_joined` = 0: there is nothing left to join. */
int sonde_unmix__pool_names(uint32_t *nr_joined, struct sonde_unmix__plan *plan,
	struct sonde_arena *arena, const struct sonde_unmix_input *in);
/* Joins classes whose figures in `u` have too large errors. */
int sonde_unmix__coarsen(uint32_t *nr_joined, struct sonde_unmix__plan *plan,
	struct sonde_arena *arena, const struct sonde_unmix_input *in,
	const struct sonde_unmixed *u);

/*
 * Builds the matrix and its factor for `plan`, and joins further classes in the plan if necessary. SONDE_ERR_LIMIT:
 * too large.
 */
int sonde_unmix__round_build(
	struct sonde_unmix__round *r, struct sonde_unmix__plan *plan, int64_t offset_ns);
void sonde_unmix__round_release(struct sonde_unmix__round *r);

/*
 * The error from not knowing how an unknown is split among its classes. Pooled
 * kernels are alike. A part of a merged unknown may be anything from 0 to all; the
 * error is such that ±2 errors reach both ends.
 */
double sonde_unmix__split_error(const struct sonde_unmixed *u, uint32_t unknown, double weight, double x);
/* Rounds the deviations of an unknown and counter, so that they can be kept in two bytes each. */
void sonde_unmix__round_row(float *row);
/* A hash: splitmix64. */
uint64_t sonde_unmix__hash(uint64_t n);

#endif
