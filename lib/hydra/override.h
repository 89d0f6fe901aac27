/*
 * Command-line overrides: `key=value`, `+key=value`, `++key=value`, `~key`,
 * `group=option`, `group@package=option`, with the whole value grammar (quotes,
 * lists, dicts, casts, sweeps). Room-private.
 */
#ifndef HYDRA_OVERRIDE_H
#define HYDRA_OVERRIDE_H

#include "hydra/datum.h"

enum hydra_override_kind {
	HYDRA_OVERRIDE_CHANGE,
	HYDRA_OVERRIDE_ADD,
	HYDRA_OVERRIDE_FORCE_ADD,
	HYDRA_OVERRIDE_DEL,
};

struct hydra_override {
	enum hydra_override_kind kind;
	struct sonde_str line; /* as typed */
	struct sonde_str key;
	struct sonde_str package;
	bool has_package;
	struct hydra_datum *value; /* NULL: `~key` without a value */
	const struct hydra_from *from;
};

/* `line` is copied. Everything lives in the arena. */
int hydra_override__parse(struct hydra_override *out, struct hydra_ctx *cx, struct sonde_str line);

/* Prefix (+, ++ or ~), key and @package: overrides with the same key element are about the same key. */
struct sonde_str hydra_override__key_element(struct hydra_ctx *cx, const struct hydra_override *o);
/* Whether the override is about the hydra node: its key starts with "hydra." or "hydra/". */
bool hydra_override__is_hydra(const struct hydra_override *o);

/* The canonical text of a value, which the override lines of sweep jobs contain. */
void hydra_override__value_text(struct sonde_buf *b, const struct hydra_datum *value);

/* Calls a function of the override grammar. `args` is a list, `kwargs` a map, `source` the text of the call. */
struct hydra_datum *hydra_override__call(struct hydra_ctx *cx, struct sonde_str name,
	struct hydra_datum *args, struct hydra_datum *kwargs, struct sonde_str source);

/* The values of a choice or range sweep as a list of nodes. */
struct hydra_datum *hydra_override__expand(struct hydra_ctx *cx, const struct hydra_datum *sweep);

/* Whether an option matches a glob sweep. */
bool hydra_override__glob_matches(const struct hydra_datum *glob, struct sonde_str option);

#endif
