/*
 * Roll-ups: which metrics are accumulated, how, and with which weights.
 *
 * Each kit is planned from its own metrics alone, so that a scope's figures are
 * the same whatever other inputs a report has. A metric that two kits weigh
 * differently has a slot for each: weights of different kinds never mix.
 *
 * Roll-ups are chosen twice, by the same rules: while folding, to know what to
 * accumulate; and over united cells, to compute figures from them.
 */
#ifndef SONDE_FOLD_ROLLUPS_H
#define SONDE_FOLD_ROLLUPS_H

#include "fold/cells.h"

/* One slot of a kit, and the index of its accumulator in the kit's cells. */
struct sonde_kit_slot {
	uint32_t slot, at;
};

struct sonde_kit_slots {
	uint32_t *slots; /* by metric number: its slot in this kit, SONDE_NONE = not planned */
	SONDE_VEC(struct sonde_kit_slot) list;
};

struct sonde_rollups {
	const struct sonde_cells *cells;
	SONDE_VEC(struct sonde_rollup) list; /* one per slot */
	uint32_t *slot_of;	    /* by metric number: its first slot, SONDE_NONE = not planned */
	struct sonde_kit_slots *kits; /* one per kit of the cells */
	struct sonde_arena arena;
};

/*
 * These functions return false: no memory. The cells are borrowed. While folding, kits have no `at` yet: then any
 * metric that the kit's inputs have can be planned, until sonde_rollups_lay_out.
 */
bool sonde_rollups_init(struct sonde_rollups *p, const struct sonde_cells *c);
/* Plans a metric for every kit that has it, unless it is planned already. */
bool sonde_rollups_add(struct sonde_rollups *p, uint32_t metric);
/* Plans the metrics that the planned ones need: constituents of throughputs, `.avg` for bounds. */
bool sonde_rollups_complete(struct sonde_rollups *p);
/* Makes `at` of all kits: the planned metrics get accumulators in the order of metric numbers, because partial reports
 * have only one bit for each metric to say that it is kept. */
bool sonde_rollups_lay_out(struct sonde_rollups *p, struct sonde_cells *c);
void sonde_rollups_release(struct sonde_rollups *p);

#endif
