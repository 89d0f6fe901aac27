/*
 * Inside the folding room: the rest, which is all scopes that a report has no room
 * for (report.scopes.keep), added up.
 *
 * A part is added and may be freed; memory follows what is distinct, not how many
 * parts there are. Sums are exact (base/exact.h), names get their order when all are
 * there, and of entries those with the smallest hashes are kept: so the rest is the
 * same in whatever order its parts came. A part that was added can be taken out
 * again. Extremes stay, which is right as long as the part counts in the report.
 *
 * What differs in kind is not added up: each kind (metrics, device, source,
 * selection) is a rest of its own. When all parts are there each becomes a part
 * with one scope, which says how many there are in it.
 */
#ifndef SONDE_FOLD_REST_INT_H
#define SONDE_FOLD_REST_INT_H

#include "base/exact.h"
#include "fold/partial_int.h"

#define SONDE_REST_ENTRIES 2048 /* kept of a region; of more a sample by hash */

struct sonde_rest_acc {
	uint64_t nr, nr_weighed, other;
	struct sonde_exact a, w, b, t;
	double low, high;
	SONDE_VEC(struct sonde_mode) modes; /* sorted */
};

struct sonde_rest_cell {
	uint32_t place, kernel;
	uint64_t launches, copies, adopted;
	struct sonde_exact time_ns, copy_ns, copy_bytes;
	struct sonde_rest_acc *acc;
};

struct sonde_rest_entry {
	uint64_t hash;
	uint32_t part;
	struct sonde_entry entry;
};

/* One region: which part had it first, and what all knew of it. */
struct sonde_rest_region {
	struct sonde_region region;
	struct sonde_str first_path; /* of the first part by path … */
	uint32_t first_number;	     /* … and its number there: what orders regions */
	uint64_t nr_visits, nr_present, nr_open, instances, first_instances, nr_queued, nr_streams;
	uint64_t nr_known[SONDE_NR_VISIT_TIMES];
	struct sonde_exact times[SONDE_NR_VISIT_TIMES];
	double peak;
	uint64_t nr_entries; /* kept or not */
	SONDE_VEC(struct sonde_rest_entry) entries;
};

/* How long one scope took in one region. */
struct sonde_rest_time {
	uint32_t part, scope, region; /* scope: its number in the part */
	double time_ns, work_ns;
};

/* One scope, and one collective of it. */
struct sonde_rest_scope {
	uint32_t part, scope;
	uint64_t id; /* of its part: orders scopes that are otherwise alike */
	struct sonde_folded_scope it;
};

struct sonde_rest_collective {
	uint32_t part, scope;
	struct sonde_collective it; /* place and group are numbers of the rest */
};

/* Parts of one kind. */
struct sonde_rest {
	struct sonde_cells *c; /* what they have in common, and counts */
	struct sonde_map region_keys, place_keys, cell_keys, strings, texts;
	uint8_t *methods; /* by accumulator … */
	uint32_t nr_acc;  /* … of a cell */
	uint64_t nr_scopes, nr_inputs, nr_launches;
	struct sonde_exact time_ns;
	SONDE_VEC(struct sonde_rest_region) regions;
	SONDE_VEC(struct sonde_rest_cell) cells;
	SONDE_VEC(struct sonde_place) places;
	SONDE_VEC(uint32_t) homes;
	SONDE_VEC(struct sonde_rest_time) times;
	SONDE_VEC(struct sonde_rest_scope) scopes;
	SONDE_VEC(struct sonde_rest_collective) collectives;
	struct sonde_arena arena;
};

/* A part to add, and the number it is known by. */
struct sonde_rest_part {
	const struct sonde_cells *c;
	uint32_t number;
	uint64_t id; /* what it is: orders its entries among others */
};

/* Whether it may be in a rest: one input of kernels on devices alike, without samples. */
bool sonde_rest__may_take(const struct sonde_cells *part);
/* What parts must have in common to be in one rest. False: no memory. */
bool sonde_rest__describe(struct sonde_buf *key, const struct sonde_cells *part);
struct sonde_rest *sonde_rest__new(const struct sonde_cells *first); /* empty; NULL: no memory */
bool sonde_rest__add(struct sonde_rest *r, const struct sonde_rest_part *p);
bool sonde_rest__take_out(struct sonde_rest *r, const struct sonde_rest_part *p);
/* What ranks are compared by (rest_ranks.c): adds the scopes and collectives of a part, … */
struct sonde_rest_moving;
bool sonde_rest__add_ranks(struct sonde_rest_moving *m);
/* … forgets those of a part with its times, and puts them into what the rest comes to. */
struct sonde_rest_numbers { /* of the rest → of what it comes to */
	uint32_t *string_of, *text_of, *region_of, *place_of;
};
void sonde_rest__drop_ranks(struct sonde_rest *r, uint32_t part);
bool sonde_rest__finish_ranks(
	struct sonde_rest *r, struct sonde_cells *c, const struct sonde_rest_numbers *n);
/* Cuts the entries of a region down to those that are kept. */
void sonde_rest__sample(struct sonde_rest_region *r);
/* The part it comes to. NULL: no memory. */
struct sonde_cells *sonde_rest__finish(struct sonde_rest *r);
void sonde_rest__free(struct sonde_rest *r);

/* A part on its way in (sign 1) or out (-1). */
struct sonde_rest_moving {
	struct sonde_rest *r;
	const struct sonde_cells *c;
	const struct sonde_rest_part *part;
	int sign;
	uint32_t *string_of, *text_of, *region_of, *place_of;
	double *time_of, *work_of; /* by region of the rest: of one scope; without communication */
	uint32_t *met;	 /* by region of the rest: the place that counted there last */
	struct sonde_arena arena;
};

static inline bool sonde_rest__sum(const struct sonde_rest_moving *m, struct sonde_exact *to, double v)
{
	return sonde_exact_add(to, m->sign * v);
}

static inline void sonde_rest__count(const struct sonde_rest_moving *m, uint64_t *to, uint64_t n)
{
	sonde_count__add(to, n, m->sign);
}

/* Each false when memory is short. */
bool sonde_rest__add_cell(struct sonde_rest_moving *m, const struct sonde_cell *from);
bool sonde_rest__add_visit(struct sonde_rest_moving *m, struct sonde_visit v);
bool sonde_rest__add_times(struct sonde_rest_moving *m); /* of each scope */

#endif
