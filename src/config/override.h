/*
 * Command-line overrides: `key=value`, `+key=value`, `++key=value`, `~key`,
 * `group=option`, `group@package=option`, with the whole value grammar (quotes,
 * lists, dicts, casts, sweeps). Room-private.
 */
#ifndef SONDE_CONFIG_OVERRIDE_H
#define SONDE_CONFIG_OVERRIDE_H

#include "config/datum.h"

enum sonde_override_kind {
	SONDE_OVERRIDE_CHANGE,
	SONDE_OVERRIDE_ADD,
	SONDE_OVERRIDE_FORCE_ADD,
	SONDE_OVERRIDE_DEL,
};

struct sonde_override {
	enum sonde_override_kind kind;
	struct sonde_str line; /* as typed */
	struct sonde_str key;
	struct sonde_str package;
	bool has_package;
	struct sonde_datum *value; /* NULL: `~key` without a value */
	const struct sonde_from *from;
};

/* `line` is copied. Everything lives in the arena. */
int sonde_override__parse(struct sonde_override *out, struct sonde_ctx *cx, struct sonde_str line);

/* Prefix + key + @package: the identity of an override in a sweep. */
struct sonde_str sonde_override__key_element(struct sonde_ctx *cx, const struct sonde_override *o);
/* Belongs to the hydra node: key starts with "hydra." or "hydra/". */
bool sonde_override__is_hydra(const struct sonde_override *o);

/* The value's canonical text, as sweep jobs repeat it. */
void sonde_override__value_text(struct sonde_buf *b, const struct sonde_datum *value);

/* Calls a function of the grammar. `args` is a list, `kwargs` a map; `source` its text. */
struct sonde_datum *sonde_override__call(struct sonde_ctx *cx, struct sonde_str name,
	struct sonde_datum *args, struct sonde_datum *kwargs, struct sonde_str source);

/* The values of a choice or range sweep as a list of nodes. */
struct sonde_datum *sonde_override__expand(struct sonde_ctx *cx, const struct sonde_datum *sweep);

/* Whether an option matches a glob sweep. */
bool sonde_override__glob_matches(const struct sonde_datum *glob, struct sonde_str option);

#endif
