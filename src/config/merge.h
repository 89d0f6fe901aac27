/*
 * Putting values over values: whole configs, and single keys from overrides.
 * Room-private.
 */
#ifndef SONDE_CONFIG_MERGE_H
#define SONDE_CONFIG_MERGE_H

#include "config/interp.h"
#include "config/override.h"

/*
 * Merges map `src` into map `dest`: maps recurse, lists are replaced, `???`
 * never overwrites. `strict`: keys that `dest` lacks are errors. `src` is not
 * changed.
 */
int sonde_merge__into(struct sonde_lookup *sc, struct sonde_datum *dest,
	const struct sonde_datum *src, bool strict);

/* What the slot accepts of `value` (converted), or NULL with a failure. */
struct sonde_datum *sonde_merge__fit(
	struct sonde_ctx *cx, const struct sonde_datum *slot_of, struct sonde_datum *value);

/* A key that may not be added to `map`. */
int sonde_merge__unknown_key(
	struct sonde_ctx *cx, const char *type, struct sonde_datum *map, struct sonde_datum *key);

/* Gives the hydra node its fixed keys and typed slots. */
void sonde_merge__type_hydra(struct sonde_datum *root);

/* Applies `key=value`, `+key=value`, `++key=value` or `~key` to a composed config. */
int sonde_apply__override(
	struct sonde_lookup *sc, struct sonde_datum *root, const struct sonde_override *o);

#endif
