/*
 * Private to merge/: sums of parts.
 *
 * Two kinds of parts are added up: scopes that a report does not keep (scopes_rest.h), and files of a
 * capture that were removed (rolling.h). A part may be freed after it was added, and it may be taken out
 * again. Memory grows with the number of distinct cells and visits, not with the number of parts. Sums are
 * exact (base/exact.h), so the order of the parts does not matter, and a part that is taken out leaves no
 * trace. Only its extremes (smallest, largest) stay, which is right as long as the report has the part elsewhere.
 */
#ifndef SONDE_MERGE_PARTS_SUM_H
#define SONDE_MERGE_PARTS_SUM_H

#include "base/exact.h"
#include "fold/cell_tables.h"
#include "merge/merging.h"

struct sonde_sum_acc {
	uint64_t nr, nr_weighed, other;
	struct sonde_exact a, w, b, t;
	double low, high;
	SONDE_VEC(struct sonde_mode) modes; /* sorted */
};

struct sonde_sum_cell {
	uint32_t scope, place, kernel;
	uint64_t launches, copies, adopted;
	struct sonde_exact time_ns, copy_ns, copy_bytes;
	struct sonde_exact exact_stalls;
	struct sonde_sum_acc *acc;
};

/* PC samples of a cell at one instruction for one reason. */
struct sonde_sum_stall {
	uint32_t cell; /* cell number in the sum */
	struct sonde_stall stall; /* without its samples, which are in the next members */
	struct sonde_exact samples, not_issued;
};

/* The sum of the visits of all parts to one region in one scope. */
struct sonde_sum_visit {
	uint32_t scope, region;
	uint64_t nr, nr_present, nr_open; /* number of parts with the visit, with is_present, with is_open */
	uint64_t instances, first_instances, nr_queued;
	uint64_t nr_known[SONDE_NR_TIMES]; /* by time: number of parts that know it */
	struct sonde_exact exact[SONDE_NR_TIMES]; /* by time: the sum, for times that are added */
	struct sonde_times times; /* times that are not added; the span only for files of one capture */
	uint64_t first_ns;	  /* start of the first launch, likewise */
};

struct sonde_sum_scope {
	uint32_t device; /* SONDE_NONE: no device was used */
	uint64_t nr;	 /* number of scopes in it */
	uint64_t launches, collectives;
	struct sonde_exact time_ns;
};

struct sonde_sum {
	struct sonde_cells *c; /* the result: for now only the tables that all parts have in common, and counts */
	/* The parts are files of one capture: each device has a scope, and names keep the order in which they came. */
	bool is_of_files;
	struct sonde_map region_keys, place_keys, cell_keys, visit_keys, strings, texts;
	uint8_t *methods; /* by accumulator of a cell: the method of its rule */
	uint32_t nr_acc;  /* number of accumulators of a cell */
	SONDE_VEC(struct sonde_region) regions;
	SONDE_VEC(struct sonde_place) places;
	SONDE_VEC(uint32_t) homes;
	SONDE_VEC(struct sonde_sum_scope) scopes; /* a single one, unless is_of_files */
	SONDE_VEC(struct sonde_sum_cell) cells;
	SONDE_VEC(struct sonde_sum_visit) visits;
	/* PC samples. Symbols, reasons and lines are rows of `c`, but their strings are numbers in `strings` of the sum. */
	struct sonde_stall_keys stall_keys;
	struct sonde_map stall_rows;
	SONDE_VEC(struct sonde_sum_stall) stalls;
	size_t max_stalls; /* the most rows of `stalls`: SONDE_MAX_STALLS */
	bool forgets_pcs;  /* there were more, so stalls are kept without instructions */
	struct sonde_stall_source stall_source;
	uint64_t nr_stall_sources;
	struct sonde_arena arena;
};

/* A part that is added (sign 1) or taken out (-1). The caller releases its arena in any case. */
struct sonde_sum_part {
	struct sonde_sum *sum;
	const struct sonde_cells *c;
	int sign;
	struct sonde_numbers of; /* numbers of the part → of the sum */
	uint32_t *acc_of; /* accumulator of the sum → of the part, SONDE_NONE = the part does not have it */
	struct sonde_stall_numbers stalls;
	struct sonde_arena arena;
};

/* These functions return false: no memory. */
/* Begins a sum with the selection, the metrics and the label rules of `as`, and with one input and its process. */
bool sonde_sum__init(struct sonde_sum *s, const struct sonde_cells *as, const struct sonde_input *in,
	const struct sonde_process *process);
bool sonde_sum__enter(struct sonde_sum_part *p); /* adds the names of the part to the sum, and fills in p->of */
bool sonde_sum__move(struct sonde_sum_part *p);	 /* adds or takes out everything else */
void sonde_sum__release(struct sonde_sum *s);

/*
 * PC samples (stalls_sum.c): enters names, adds the stalls of a cell, makes the stalls of the result. `cell_of` maps cells
 * of the sum to cells of the result, SONDE_NONE = the cell was taken out.
 */
bool sonde_sum__enter_stalls(struct sonde_sum_part *p);
bool sonde_sum__add_stalls(const struct sonde_sum_part *p, const struct sonde_cell *from, struct sonde_sum_cell *to);
bool sonde_sum__finish_stalls(struct sonde_sum *s, const uint32_t *string_of, const uint32_t *cell_of);

/* Returns the numbers 0 … nr-1 in the order of `compare`, or in ascending order if that is NULL. Returns NULL: no memory. */
uint32_t *sonde_sum__sort(struct sonde_arena *arena, size_t nr,
	int (*compare)(const void *, const void *, void *), void *of);

/*
 * Makes a part from the sum, without entries, streams and names of scopes. The caller frees it. `regions` is
 * the order of regions, and then names, places and cells are sorted too; NULL: everything is in the order in which it
 * came. Fills in `n`: numbers of the sum → of the part, valid as long as the sum. Returns NULL: no memory.
 */
struct sonde_cells *sonde_sum__finish(
	struct sonde_sum *s, const uint32_t *regions, struct sonde_numbers *n);

static inline bool sonde_sum__add(const struct sonde_sum_part *p, struct sonde_exact *to, double v)
{
	return sonde_exact_add(to, &p->sum->arena, p->sign * v);
}

static inline void sonde_sum__count(const struct sonde_sum_part *p, uint64_t *to, uint64_t n)
{
	sonde_count_add(to, n, p->sign);
}

#endif
