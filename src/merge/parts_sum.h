/*
 * Inside merge/: parts added up.
 *
 * Two kinds of parts are added up: scopes that a report has no room for (scopes_rest.h), and files of a
 * capture that were removed (rolling.h). A part is put in and may be freed; a scope may be taken out again:
 * memory follows what is distinct, not how many parts there are. Sums are exact (base/exact.h), so the
 * order of the parts does not matter, and a part that is taken out leaves no trace. Only extremes stay:
 * that is right as long as the part counts in the report.
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
	uint32_t cell; /* of the sum */
	struct sonde_stall stall; /* but for its samples: */
	struct sonde_exact samples, not_issued;
};

/* One region in one scope: what all parts knew of it. */
struct sonde_sum_visit {
	uint32_t scope, region;
	uint64_t nr, nr_present, nr_open; /* parts that have it */
	uint64_t instances, first_instances, nr_queued;
	uint64_t nr_known[SONDE_NR_TIMES];
	struct sonde_exact exact[SONDE_NR_TIMES];
	struct sonde_times times; /* those that are no sums; the span is that of files … */
	uint64_t first_ns;	  /* … and when the first launch began */
};

struct sonde_sum_scope {
	uint32_t device; /* SONDE_NONE: it used none */
	uint64_t nr;	 /* scopes in it */
	uint64_t launches, collectives;
	struct sonde_exact time_ns;
};

struct sonde_sum {
	struct sonde_cells *c; /* what it comes to: so far what parts have in common, and counts */
	/* The parts are files of one capture: scopes stay apart, and names keep the order in which they came. */
	bool is_of_files;
	struct sonde_map region_keys, place_keys, cell_keys, visit_keys, strings, texts;
	uint8_t *methods; /* by accumulator … */
	uint32_t nr_acc;  /* … of a cell */
	SONDE_VEC(struct sonde_region) regions;
	SONDE_VEC(struct sonde_place) places;
	SONDE_VEC(uint32_t) homes;
	SONDE_VEC(struct sonde_sum_scope) scopes; /* one and only, unless of files */
	SONDE_VEC(struct sonde_sum_cell) cells;
	SONDE_VEC(struct sonde_sum_visit) visits;
	/* PC samples; symbols, reasons and lines are those of `c`, and their strings the sum's. */
	struct sonde_stall_keys stall_keys;
	struct sonde_map stall_rows;
	SONDE_VEC(struct sonde_sum_stall) stalls;
	size_t max_stalls; /* rows: SONDE_MAX_STALLS … */
	bool forgets_pcs;  /* … there were more: instructions are not told apart */
	struct sonde_stall_source stall_source;
	uint64_t nr_stall_sources;
	struct sonde_arena arena;
};

/* A part on its way in (sign 1) or out (-1). Release its arena in any case. */
struct sonde_sum_part {
	struct sonde_sum *sum;
	const struct sonde_cells *c;
	int sign;
	struct sonde_numbers of; /* its numbers → the sum's */
	uint32_t *acc_of; /* by accumulator of the sum: its own, SONDE_NONE = it has none */
	struct sonde_stall_numbers stalls;
	struct sonde_arena arena;
};

/* Each false when memory is short. */
/* Begins with the selection, the metrics and the rules of `as`, an input and its process. */
bool sonde_sum__init(struct sonde_sum *s, const struct sonde_cells *as, const struct sonde_input *in,
	const struct sonde_process *process);
bool sonde_sum__enter(struct sonde_sum_part *p); /* its names: fills in the numbers */
bool sonde_sum__move(struct sonde_sum_part *p);	 /* all else */
bool sonde_sum__add_cell(const struct sonde_sum_part *p, const struct sonde_cell *from);
bool sonde_sum__add_visit(const struct sonde_sum_part *p, struct sonde_visit v);
void sonde_sum__release(struct sonde_sum *s);

/* PC samples (stalls_sum.c): names, rows of a cell, and what they come to; `cell_of` by cell of the sum, SONDE_NONE = gone. */
bool sonde_sum__enter_stalls(struct sonde_sum_part *p);
bool sonde_sum__add_stalls(const struct sonde_sum_part *p, const struct sonde_cell *from, struct sonde_sum_cell *to);
bool sonde_sum__finish_stalls(struct sonde_sum *s, const uint32_t *string_of, const uint32_t *cell_of);

/* The numbers 0 … nr-1 in the order of `compare`, or as they are without one. NULL: no memory. */
uint32_t *sonde_sum__sort(struct sonde_arena *arena, size_t nr,
	int (*compare)(const void *, const void *, void *), void *of);

/*
 * The part it comes to, yours to free: without entries, streams and names of scopes. `regions` is their
 * order, and names get one of their own; NULL: all is in the order in which it came. `n` is filled in:
 * numbers of the sum → of the part, as long as the sum is there. NULL: no memory.
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
