/*
 * Inside the folding room: the rest, which is all scopes that a report has no room for
 * (report.scopes.keep), added up (sum_int.h).
 *
 * Beyond their sum it has what comparing ranks needs of each scope, and entries: of many those with the
 * smallest hashes, so that it is the same in whatever order its parts came.
 *
 * What differs in kind is not added up: each kind (metrics, device, source, selection) is a rest of its
 * own. When all parts are there each becomes a part with one scope, which says how many there are in it.
 *
 *   rest.c          kinds; parts in and out; the end
 *   rest_entries.c  … entries, and how long each scope took in each region
 *   rest_ranks.c    … what ranks are compared by
 */
#ifndef SONDE_MERGE_REST_INT_H
#define SONDE_MERGE_REST_INT_H

#include "merge/sum_int.h"

#define SONDE_REST_ENTRIES 2048 /* kept of a region; of more a sample by hash */

struct sonde_rest_entry {
	uint64_t hash;
	uint32_t part;
	struct sonde_entry entry;
};

/* One region, beside its sum. */
struct sonde_rest_region {
	struct sonde_str first_path; /* of the first part by path that has it … */
	uint32_t first_number;	     /* … and its number there: what orders regions */
	uint64_t nr_streams;
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
	struct sonde_collective it; /* place and group are numbers of the sum */
};

/* Parts of one kind. */
struct sonde_rest {
	struct sonde_sum sum;
	uint64_t nr_inputs;
	SONDE_VEC(struct sonde_rest_region) regions; /* as those of the sum */
	SONDE_VEC(struct sonde_rest_time) times;
	SONDE_VEC(struct sonde_rest_scope) scopes;
	SONDE_VEC(struct sonde_rest_collective) collectives;
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
/* The part it comes to. NULL: no memory. */
struct sonde_cells *sonde_rest__finish(struct sonde_rest *r);
void sonde_rest__free(struct sonde_rest *r);

/* A part on its way in or out. */
struct sonde_rest_moving {
	struct sonde_rest *r;
	const struct sonde_rest_part *part;
	struct sonde_sum_part m;
};

/* Each false when memory is short. */
bool sonde_rest__add_entries(struct sonde_rest_moving *m); /* those that go out are counted only: see drop */
bool sonde_rest__add_times(struct sonde_rest_moving *m);   /* how long each scope took in each region */
bool sonde_rest__add_ranks(struct sonde_rest_moving *m);   /* what scopes are compared by */
/* Forgets what was kept of a part, row by row, as these are no sums. */
void sonde_rest__drop_entries(struct sonde_rest *r, uint32_t part);
void sonde_rest__drop_ranks(struct sonde_rest *r, uint32_t part); /* with times */
/* Puts them into what the rest comes to; `order` is that of the sum's regions. */
bool sonde_rest__finish_entries(struct sonde_rest *r, struct sonde_cells *c, const uint32_t *order);
bool sonde_rest__finish_ranks(
	struct sonde_rest *r, struct sonde_cells *c, const struct sonde_numbers *n);

#endif
