/*
 * Merging: values of one config replace those of another, and overrides replace single keys.
 * Room-private.
 */
#ifndef HYDRA_MERGE_H
#define HYDRA_MERGE_H

#include "hydra/interp.h"
#include "hydra/override.h"

/*
 * Merges map `src` into map `dest`: maps are merged key by key, lists are replaced,
 * `???` never replaces a value. `strict`: a key that `dest` lacks is an error. `src`
 * is not changed.
 */
int hydra_merge__into(struct hydra_lookup *sc, struct hydra_datum *dest,
	const struct hydra_datum *src, bool strict);

/* Converts `value` to the type that the slot of `slot_of` accepts; NULL with a failure when it cannot. */
struct hydra_datum *hydra_merge__fit(
	struct hydra_ctx *cx, const struct hydra_datum *slot_of, struct hydra_datum *value);

/* Records the failure that `key` may not be added to `map`. */
int hydra_merge__unknown_key(
	struct hydra_ctx *cx, const char *type, struct hydra_datum *map, struct hydra_datum *key);

/* Marks the maps of the hydra node whose keys are fixed, and the slots that accept one type only. */
void hydra_merge__type_hydra(struct hydra_datum *root);

/* Applies `key=value`, `+key=value`, `++key=value` or `~key` to a composed config. */
int hydra_apply__override(
	struct hydra_lookup *sc, struct hydra_datum *root, const struct hydra_override *o);

#endif
