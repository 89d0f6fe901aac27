/*
 * The inventory: the ranges a program really has, one row per region.
 *
 * The list of `sonde regions`: how often, on how many threads and for how long
 * each region was entered, how many launches it holds, and the expression that
 * selects it in Nsight Compute. Built from launches alone, without looking at a
 * metric; valid as long as they are, and the expressions as long as the
 * inventory itself.
 */
#ifndef SONDE_FOLD_INVENTORY_H
#define SONDE_FOLD_INVENTORY_H

#include "attribute/regions.h"

struct sonde_launches;

struct sonde_inventory_row {
	const struct sonde_region *region;
	struct sonde_str label, domain, parent_id; /* domain, parent_id: p NULL = none */
	uint64_t threads;	/* that entered it; equal ids in two processes are two threads */
	uint64_t instances;	/* entries */
	uint64_t launches;	/* inclusive; each selected launch once */
	double host_ns, cpu_ns; /* summed over entries; NaN when the source has no times */
	const char *expression; /* NULL: ncu's grammar has none (an empty label, say) */
};

struct sonde_inventory {
	SONDE_VEC(struct sonde_inventory_row) rows; /* depth-first, in order of first entry */
	uint64_t nr_launches, nr_outside; /* outside: of all ranges */
	struct sonde_notes notes;	  /* of reading, and why there is little */
	struct sonde_arena arena;
};

/* `l` should be built with `stack_only`: ncu sees the real stack. */
int sonde_inventory_build(
	struct sonde_inventory *out, const struct sonde_launches *l, struct sonde_err *err);
void sonde_inventory_release(struct sonde_inventory *v);

#endif
