/*
 * The inventory: the ranges a program really has, one row per region.
 *
 * `sonde regions` prints it: how often, on how many threads and for how long
 * each region was entered, how many launches it holds, and the expression that
 * selects it in Nsight Compute. It is built from the launches alone, without any
 * metric. Rows borrow from the launches; expressions belong to the inventory.
 */
#ifndef SONDE_FOLD_INVENTORY_H
#define SONDE_FOLD_INVENTORY_H

#include "attribute/regions.h"

struct sonde_launches;

struct sonde_inventory_row {
	const struct sonde_region *region;
	struct sonde_str label, domain, parent_id; /* domain, parent_id: p NULL = none */
	uint64_t threads;	/* number of threads that entered it; equal thread ids in two processes are two threads */
	uint64_t instances;	/* number of entries */
	uint64_t launches;	/* selected launches of threads that have it open, regions inside it included, each once */
	double host_ns, cpu_ns; /* summed over entries; NaN if the source has no times */
	const char *expression; /* NULL: ncu's grammar has none (for example for an empty label) */
};

struct sonde_inventory {
	SONDE_VEC(struct sonde_inventory_row) rows; /* depth-first, in order of first entry */
	/* Outside: launches outside all ranges. Adopted: launches that count in another thread's ranges, and in no row here. */
	uint64_t nr_launches, nr_outside, nr_adopted;
	struct sonde_notes notes;	  /* notes from reading, and why the list is short */
	struct sonde_arena arena;
};

/* `l` should be built with `stack_only`, because ncu sees the real stack. ncu does not take adopted launches. */
int sonde_inventory_build(
	struct sonde_inventory *out, const struct sonde_launches *l, struct sonde_err *err);
void sonde_inventory_release(struct sonde_inventory *v);

#endif
