/*
 * Putting values over values: whole configs, and single keys from overrides.
 * Room-private.
 */
#ifndef HYDRA_MERGE_H
#define HYDRA_MERGE_H

#include "hydra/interp.h"
#include "hydra/override.h"

/*
 * Merges map `src` into map `dest`: maps recurse, lists are replaced, `???`
 * never overwrites. `strict`: keys that `dest` lacks are errors. `src` is not
 * changed.
 */
int hydra_merge__into(struct hydra_lookup *sc, struct hydra_datum *dest,
	const struct hydra_datum *src, bool strict);

/* What the slot accepts of `value` (converted), or NULL with a failure. */
struct hydra_datum *hydra_merge__fit(
	struct hydra_ctx *cx, const struct hydra_datum *slot_of, struct hydra_datum *value);

/* A key that may not be added to `map`. */
int hydra_merge__unknown_key(
	struct hydra_ctx *cx, const char *type, struct hydra_datum *map, struct hydra_datum *key);

/* Gives the hydra node its fixed keys and typed slots. */
void hydra_merge__type_hydra(struct hydra_datum *root);

/* Applies `key=value`, `+key=value`, `++key=value` or `~key` to a composed config. */
int hydra_apply__override(
	struct hydra_lookup *sc, struct hydra_datum *root, const struct hydra_override *o);

#endif
