/*
 * Inside the aggregation room: cells and their accumulators.
 *
 * A cell is all selected launches of one kernel in one place of one scope. Each
 * launch is decoded once and added to exactly one cell; every number of every
 * report is then a merge of cells. All accumulators merge: that is what makes
 * inclusive = exclusive + children hold by construction.
 */
#ifndef SONDE_AGGREGATE_STORE_H
#define SONDE_AGGREGATE_STORE_H

#include "aggregate/rule.h"

#define SONDE_MAX_MODES 64 /* distinct values kept of a launch fact; the rest only count */

/* How often each value occurred. */
struct sonde_modes {
	uint32_t nr, cap;
	uint64_t other; /* occurrences of values beyond the cap */
	struct sonde_mode {
		double v; /* a number, or the number of a text in the store */
		uint64_t count;
		bool is_text;
	} * at;
};

/* One accumulator; which members count depends on the plan's method. */
struct sonde_acc {
	uint64_t nr;	     /* launches that had the metric */
	uint64_t nr_weighed; /* MEAN: of those, launches that had the weight */
	double a; /* SUM, UPPER, LOWER: Σ v · MEAN: Σ w·v · MAX: max · MODE: smallest */
	double w; /* MEAN: Σ w */
	double b; /* MEAN: Σ t·v · UPPER: largest v · MODE: largest */
	double t; /* MEAN: Σ t */
	union {
		struct sonde_modes *modes; /* MODE, SAME; NULL until the first value */
		double top;		   /* MEAN: largest v; no weighted mean can exceed it */
	};
};

struct sonde_cell {
	uint32_t scope, place, kernel;
	uint64_t launches, copies; /* copies: of the launches */
	double time_ns, copy_ns, copy_bytes;
	struct sonde_acc *acc; /* one per slot */
};

/*
 * Inputs that captured the same metrics, so that the same weights are there for each of them. A
 * metric that two kits weigh differently has a slot for each: weights of different kinds never mix.
 */
struct sonde_kit {
	struct sonde_capture capture; /* the first of these inputs */
	struct sonde_str *breakdowns; /* by metric number: its constituents, p NULL = not told */
	uint32_t *slots;	      /* by metric number, SONDE_NONE = not accumulated */
	SONDE_VEC(uint32_t) list;     /* the same slots in order */
};

struct sonde_store {
	const struct sonde_launches *launches;
	const struct sonde_records *records;
	SONDE_VEC(struct sonde_plan) plans; /* one per slot: what is accumulated */
	uint32_t *slot_of; /* by metric number: its first slot, SONDE_NONE = not accumulated */
	SONDE_VEC(struct sonde_kit) kits;
	uint32_t *kit_of;		    /* by input */
	uint32_t time_metric;		    /* SONDE_NONE: the capture has no times */
	uint32_t bytes_metric;		    /* of copies; SONDE_NONE: not captured */
	SONDE_VEC(struct sonde_cell) cells; /* in order of first launch */
	struct sonde_map cell_keys, texts;
	uint32_t last_cell; /* the number last looked up, SONDE_NONE = it was new */
	/* Per scope: all launches whatever the selection, and the weight of its device in
	 * aggregates. */
	struct sonde_scope_sum {
		uint64_t launches;
		double time_ns;
		double capacity;
	} * scopes;
	bool is_mixed;	     /* devices of different kinds: capacities differ */
	uint64_t nr_damaged; /* records whose metrics could not be decoded in full */
	uint64_t nr_untimed; /* records without a time although others have one */
	struct sonde_notes notes;
	struct sonde_arena arena;
};

/* Groups the inputs into kits: comes first. */
int sonde_store_init(struct sonde_store *s, struct sonde_err *err);
/* Plans a metric, unless it is planned already; false on no memory. */
bool sonde_store_add(struct sonde_store *s, uint32_t metric);
/* Plans what the metrics so far need: constituents, `.avg` for bounds. */
int sonde_store_complete(struct sonde_store *s, struct sonde_err *err);
/* Decodes every launch once. */
int sonde_store_fill(struct sonde_store *s, struct sonde_err *err);
void sonde_store_free(struct sonde_store *s);

/* A cell to merge into: its own memory, reusable. NULL when memory is short. */
struct sonde_cell *sonde_cell_scratch(const struct sonde_store *s);
void sonde_cell_clear(const struct sonde_store *s, struct sonde_cell *scratch);
/* `scale` weighs percentages across devices of different size; 1 inside one scope. */
void sonde_cell_merge(const struct sonde_store *s, struct sonde_cell *to,
	const struct sonde_cell *from, double scale);
/* What the accumulators of `metric` come to. */
void sonde_cell_figure(const struct sonde_store *s, const struct sonde_cell *cell, uint32_t metric,
	struct sonde_figure *out);
/* The kit of the input a scope comes from. */
const struct sonde_kit *sonde_store_kit(const struct sonde_store *s, uint32_t scope);

#endif
