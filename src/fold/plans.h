/*
 * Plans: which metrics are accumulated, how, and with which weights.
 *
 * Each kit is planned from its own metrics alone, so that a scope's figures are
 * the same whatever other inputs a report has. A metric that two kits weigh
 * differently has a slot for each: weights of different kinds never mix.
 *
 * Plans are made twice, by the same rules: while folding, to know what to
 * accumulate; and over united cells, to compute figures from them.
 */
#ifndef SONDE_FOLD_PLANS_H
#define SONDE_FOLD_PLANS_H

#include "fold/cells.h"

/* One slot of a kit, and the index of its accumulator in the kit's cells. */
struct sonde_planned_slot {
	uint32_t slot, at;
};

struct sonde_planned {
	uint32_t *slots; /* by metric number: its slot in this kit, SONDE_NONE = not planned */
	SONDE_VEC(struct sonde_planned_slot) list;
};

struct sonde_plans {
	const struct sonde_cells *cells;
	SONDE_VEC(struct sonde_rollup) plans; /* one per slot */
	uint32_t *slot_of;	    /* by metric number: its first slot, SONDE_NONE = not planned */
	struct sonde_planned *kits; /* one per kit of the cells */
	struct sonde_arena arena;
};

/*
 * These functions return false: no memory. The cells are borrowed. While folding, kits have no `at` yet: then any
 * metric that the kit's inputs have can be planned, until sonde_plans_lay_out.
 */
bool sonde_plans_init(struct sonde_plans *p, const struct sonde_cells *c);
/* Plans a metric for every kit that has it, unless it is planned already. */
bool sonde_plans_add(struct sonde_plans *p, uint32_t metric);
/* Plans the metrics that the planned ones need: constituents of throughputs, `.avg` for bounds. */
bool sonde_plans_complete(struct sonde_plans *p);
/* Makes `at` of all kits: the planned metrics get accumulators in the order of metric numbers, because partial reports
 * have only one bit for each metric to say that it is kept. */
bool sonde_plans_lay_out(struct sonde_plans *p, struct sonde_cells *c);
void sonde_plans_release(struct sonde_plans *p);

#endif
