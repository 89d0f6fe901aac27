/*
 * Inside merge/: the rest, which is all scopes that a report has no room for
 * (report.scopes.keep), added up (parts_sum.h).
 *
 * Beside their sum it keeps what comparing ranks needs of each scope, and a sample of the entries: those with
 * the smallest hashes, so that the order of the parts does not matter.
 *
 * Only parts of one kind (metrics, device, source, selection) are added up: each kind is a rest of its
 * own. At the end each becomes a part with one scope, which says how many scopes are in it.
 */
#ifndef SONDE_MERGE_SCOPES_REST_H
#define SONDE_MERGE_SCOPES_REST_H

#include "merge/merging.h"

struct sonde_rest;

/* A part to add, and the number it is known by. */
struct sonde_rest_part {
	const struct sonde_cells *c;
	uint32_t number;
	uint64_t id; /* what it is: orders its entries among others */
};

/* Whether a part may be in a rest: it is one input, its devices are alike, and it has no samples. */
bool sonde_rest__may_take(const struct sonde_cells *part);
/* Describes a kind: parts with the same key go to the same rest. False: no memory. */
bool sonde_rest__describe(struct sonde_buf *key, const struct sonde_cells *part);
struct sonde_rest *sonde_rest__new(const struct sonde_cells *first); /* empty; NULL: no memory */
bool sonde_rest__add(struct sonde_rest *r, const struct sonde_rest_part *p);
bool sonde_rest__take_out(struct sonde_rest *r, const struct sonde_rest_part *p);
/* How many parts are in it. */
uint64_t sonde_rest__nr_inputs(const struct sonde_rest *r);
/* The part it comes to. NULL: no memory. */
struct sonde_cells *sonde_rest__finish(struct sonde_rest *r);
void sonde_rest__free(struct sonde_rest *r);

#endif
