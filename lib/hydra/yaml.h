/*
 * YAML in and out, as PyYAML and OmegaConf read and write it.
 *
 * Reading: tokens (yaml_token.h) are parsed into a document of tagged nodes
 * (yaml_parse.c), which become values (yaml_in.c). Aliases are copied; the
 * arena's limit bounds what an alias bomb can make of that. Room-private.
 */
#ifndef HYDRA_YAML_H
#define HYDRA_YAML_H

#include "hydra/datum.h"

enum hydra_yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING };

struct hydra_yaml {
	enum hydra_yaml_kind kind;
	bool plain, busy; /* busy: being turned into a value right now */
	uint32_t line;
	struct sonde_str tag; /* "" = none, "!" = non-specific, else the full tag */
	struct sonde_str value;
	struct hydra_yaml **items; /* of a mapping: key, value, key, value, … */
	uint32_t nr, cap;
};

/* Parses one document; `*out` is NULL for an empty stream. */
int hydra_yaml__parse(struct hydra_yaml **out, struct hydra_ctx *cx, struct sonde_str file,
	struct sonde_str data);

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
};

/* By the rules of the YAML 1.1 type repository. */
enum hydra_yaml_tag hydra_yaml__resolve(struct sonde_str s);
/* By those of OmegaConf's loader: more floats, no timestamps. */
enum hydra_yaml_tag hydra_yaml__resolve_loose(struct sonde_str s);

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
