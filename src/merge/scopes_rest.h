/*
 * Private to merge/: the rest, which is the sum (parts_sum.h) of all scopes that a report does not
 * keep (report.scopes.keep).
 *
 * Beside the sum, a rest has for each scope the figures by which ranks are compared, and a sample of the entries:
 * those with the smallest hashes, so that the order of the parts does not matter.
 *
 * Only parts of one kind (metrics, device, source, selection) are added up: each kind has a rest of its
 * own. At the end each rest becomes a part with one scope, which has the number of scopes in it.
 */
#ifndef SONDE_MERGE_SCOPES_REST_H
#define SONDE_MERGE_SCOPES_REST_H

#include "merge/merging.h"

struct sonde_rest;

/* A part to add or take out. */
struct sonde_rest_part {
	const struct sonde_cells *c;
	uint32_t number; /* identifies the part in the rest */
	uint64_t id; /* hash of its identity: goes into the hashes of its entries */
};

/*
 * Whether a part may be in a rest: it has one input, devices that are alike, only kernels, and no samples or damaged
 * launches.
 */
bool sonde_rest__may_take(const struct sonde_cells *part);
/* Writes the key of a part's kind: parts with the same key go to the same rest. False: no memory. */
bool sonde_rest__describe(struct sonde_buf *key, const struct sonde_cells *part);
struct sonde_rest *sonde_rest__new(const struct sonde_cells *first); /* empty; NULL: no memory */
bool sonde_rest__add(struct sonde_rest *r, const struct sonde_rest_part *p);
bool sonde_rest__take_out(struct sonde_rest *r, const struct sonde_rest_part *p);
/* The number of parts in it. */
uint64_t sonde_rest__nr_inputs(const struct sonde_rest *r);
/* Makes the part that represents the rest in the report. NULL: no memory. */
struct sonde_cells *sonde_rest__finish(struct sonde_rest *r);
void sonde_rest__free(struct sonde_rest *r);

#endif
