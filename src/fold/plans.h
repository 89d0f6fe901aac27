/*
 * Plans: what is accumulated of which metric, and with which weights.
 *
 * Each kit is planned from its own metrics alone, so that a scope's figures are
 * the same whatever other inputs are given beside it. A metric that two kits
 * weigh differently has a slot for each: weights of different kinds never mix.
 *
 * Made twice, by the same rules: while folding, to know what to accumulate; and
 * over united cells, to read figures off them.
 */
#ifndef SONDE_FOLD_PLANS_H
#define SONDE_FOLD_PLANS_H

#include "fold/cells.h"

/* One slot of a kit, and which accumulator of its cells that is. */
struct sonde_planned_slot {
	uint32_t slot, at;
};

struct sonde_planned {
	uint32_t *slots; /* by metric number, SONDE_NONE = not planned */
	SONDE_VEC(struct sonde_planned_slot) list;
};

struct sonde_plans {
	const struct sonde_cells *cells;
	SONDE_VEC(struct sonde_rollup) plans; /* one per slot */
	uint32_t *slot_of;	    /* by metric number: its first slot, SONDE_NONE = not planned */
	struct sonde_planned *kits; /* as the kits of the cells */
	struct sonde_arena arena;
};

/*
 * Each is false when memory is short. The cells are borrowed; a kit of theirs without `at` may keep whatever
 * its inputs have: so it is while folding, until that is settled.
 */
bool sonde_plans_init(struct sonde_plans *p, const struct sonde_cells *c);
/* Plans a metric for every kit that keeps it, unless that is done. */
bool sonde_plans_add(struct sonde_plans *p, uint32_t metric);
/* Plans what the metrics so far need: constituents, `.avg` for bounds. */
bool sonde_plans_complete(struct sonde_plans *p);
/* Lays out the accumulators of kits without `at`: what was planned, in order of metrics, as partial reports
 * say by a bit for each metric which are kept. */
bool sonde_plans_settle(struct sonde_plans *p, struct sonde_cells *c);
void sonde_plans_release(struct sonde_plans *p);

#endif
