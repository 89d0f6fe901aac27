/*
 * YAML in and out, as PyYAML and OmegaConf read and write it.
 *
 * Reading: characters become tokens (yaml_token.h), tokens values (yaml_parse.c),
 * scalars by their type (yaml_type.c, yaml_in.c). Aliases are copied; the arena's
 * limit bounds what an alias bomb can make of that. Room-private.
 */
#ifndef HYDRA_YAML_H
#define HYDRA_YAML_H

#include "hydra/datum.h"

/* What a plain scalar is. */
enum hydra_yaml_tag {
	YAML_TAG_STR,
	YAML_TAG_NULL,
	YAML_TAG_BOOL,
	YAML_TAG_INT,
	YAML_TAG_FLOAT,
	YAML_TAG_TIMESTAMP,
	YAML_TAG_MERGE,
	YAML_TAG_VALUE,
	YAML_TAG_UNKNOWN, /* none of the above, by its tag */
};

/* By the rules of the YAML 1.1 type repository. */
enum hydra_yaml_tag hydra_yaml__resolve(struct sonde_str s);
/* By those of OmegaConf's loader: more floats, no timestamps. */
enum hydra_yaml_tag hydra_yaml__resolve_loose(struct sonde_str s);

/* By its tag (with the !; empty = none), else by what it looks like, unless it is quoted. */
enum hydra_yaml_tag hydra_yaml__type_of(struct sonde_str text, bool plain, struct sonde_str tag);
/* The value of a scalar of that type; NULL with a failure. */
struct hydra_datum *hydra_yaml__scalar(struct hydra_ctx *cx, const struct hydra_from *from,
	uint32_t line, struct sonde_str text, enum hydra_yaml_tag type);
void hydra_yaml__refuse_tag(
	struct hydra_ctx *cx, const struct hydra_from *from, uint32_t line, struct sonde_str tag);

/*
 * A map while its pairs come in. The keys of maps under `<<` come before its own, which win.
 * `own` is an empty map with its place; `merged` starts as NULL.
 */
struct hydra_yaml_pairs {
	struct hydra_datum *own, *merged;
	const struct hydra_datum *merge_key; /* this key is `<<` */
};
int hydra_yaml__add_pair(struct hydra_ctx *cx, struct hydra_yaml_pairs *m, struct hydra_datum *key,
	struct hydra_datum *value);
struct hydra_datum *hydra_yaml__close_map(struct hydra_ctx *cx, struct hydra_yaml_pairs *m);

/* Parses one document; `*out` is NULL for an empty stream. */
int hydra_yaml__parse(struct hydra_datum **out, struct hydra_ctx *cx, const struct hydra_from *from,
	struct sonde_str data);

/*
 * Reads a document into `*out`: the value, NULL node for an empty one. `from`
 * becomes the origin of every value. Interpolations are checked for syntax.
 */
int hydra_yaml__load(struct hydra_datum **out, struct hydra_ctx *cx, const struct hydra_from *from,
	struct sonde_str data);

/*
 * A whole config file: empty becomes {}, a bare string {string: null}, any
 * other scalar is an error.
 */
int hydra_yaml__load_config(struct hydra_datum **out, struct hydra_ctx *cx,
	const struct hydra_from *from, struct sonde_str data);

/* Writes a value in block style. */
void hydra_yaml__dump(struct sonde_buf *out, const struct hydra_datum *n);

#endif
