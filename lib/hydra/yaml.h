/*
 * YAML in and out, as PyYAML and OmegaConf read and write it.
 *
 * Reading: characters become tokens (yaml_token.h), and tokens become values
 * (yaml_parse.c); scalars get their type from yaml_type.c and yaml_in.c. Aliases are
 * copied; the limit of the arena stops an alias bomb. Room-private.
 */
#ifndef HYDRA_YAML_H
#define HYDRA_YAML_H

#include "hydra/datum.h"

/* The type of a scalar. */
enum hydra_yaml_tag {
	YAML_TAG_STR,
	YAML_TAG_NULL,
	YAML_TAG_BOOL,
	YAML_TAG_INT,
	YAML_TAG_FLOAT,
	YAML_TAG_TIMESTAMP,
	YAML_TAG_MERGE,
	YAML_TAG_VALUE,
	YAML_TAG_UNKNOWN, /* its tag is none of the above */
};

/* The type of a plain scalar, by the rules of the YAML 1.1 type repository. */
enum hydra_yaml_tag hydra_yaml__resolve(struct sonde_str s);
/* The same by the rules of OmegaConf's loader: more floats, no timestamps. */
enum hydra_yaml_tag hydra_yaml__resolve_loose(struct sonde_str s);

/* The type of any scalar: by its tag (with the !; empty = no tag); without a tag by its text if it is plain, else a string. */
enum hydra_yaml_tag hydra_yaml__type_of(struct sonde_str text, bool plain, struct sonde_str tag);
/* The value of a scalar of that type; NULL with a failure. */
struct hydra_datum *hydra_yaml__scalar(struct hydra_ctx *cx, const struct hydra_from *from,
	uint32_t line, struct sonde_str text, enum hydra_yaml_tag type);
void hydra_yaml__refuse_tag(
	struct hydra_ctx *cx, const struct hydra_from *from, uint32_t line, struct sonde_str tag);

/*
 * A map to which pairs are being added. The keys of maps under `<<` come before the map's own keys, but its own
 * values win. `own` starts as an empty map with its file and line; `merged` starts as NULL.
 */
struct hydra_yaml_pairs {
	struct hydra_datum *own, *merged;
	const struct hydra_datum *merge_key; /* the node that the parser uses as the key for `<<` */
};
int hydra_yaml__add_pair(struct hydra_ctx *cx, struct hydra_yaml_pairs *m, struct hydra_datum *key,
	struct hydra_datum *value);
struct hydra_datum *hydra_yaml__close_map(struct hydra_ctx *cx, struct hydra_yaml_pairs *m);

/* Parses one document; `*out` is NULL for an empty stream. */
int hydra_yaml__parse(struct hydra_datum **out, struct hydra_ctx *cx, const struct hydra_from *from,
	struct sonde_str data);

/*
 * Reads a document into `*out`; an empty document gives a HYDRA_NULL node. `from`
 * becomes the origin of every value. The syntax of interpolations is checked.
 */
int hydra_yaml__load(struct hydra_datum **out, struct hydra_ctx *cx, const struct hydra_from *from,
	struct sonde_str data);

/*
 * Reads a whole config file: an empty file becomes {}, a bare string {string: null}; any
 * other scalar is an error.
 */
int hydra_yaml__load_config(struct hydra_datum **out, struct hydra_ctx *cx,
	const struct hydra_from *from, struct sonde_str data);

/* Writes a value in block style. */
void hydra_yaml__dump(struct sonde_buf *out, const struct hydra_datum *n);

#endif
