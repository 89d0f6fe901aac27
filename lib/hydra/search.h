/*
 * The search path: where config files come from. For one config path the first
 * source that has the file wins; a group is a directory in any of them.
 * Room-private.
 */
#ifndef HYDRA_SEARCH_H
#define HYDRA_SEARCH_H

#include "base/map.h"
#include "base/vec.h"
#include "hydra/datum.h"

struct stat;

#define HYDRA_DUMMY_CONFIG "_dummy_empty_config_" /* stands for "no primary config" */

enum hydra_conf_source_kind { HYDRA_SOURCE_BUILTIN, HYDRA_SOURCE_DIR, HYDRA_SOURCE_SCHEMA };

struct hydra_conf_source {
	enum hydra_conf_source_kind kind;
	struct sonde_str provider; /* "main", "command-line", … */
	struct sonde_str dir;	   /* absolute or relative to the working directory */
	bool (*is_allowed)(const struct stat *st, const char *path, char *why, size_t size); /* hydra.h */
};

/* A config file, read once. */
struct hydra_loaded {
	struct hydra_datum *config;   /* map or list, without `defaults`; copy before changing */
	struct hydra_datum *defaults; /* the value of `defaults`, NULL when absent */
	struct sonde_str header;      /* normalised `# @package`, valid if has_header */
	bool has_header;
	bool found;
	const struct hydra_from *from;
};

struct hydra_search {
	struct hydra_ctx *cx;
	SONDE_VEC(struct hydra_conf_source) sources;
	struct sonde_map paths; /* number = index into files */
	SONDE_VEC(struct hydra_loaded *) files;
};

int hydra_search__add(struct hydra_search *s, enum hydra_conf_source_kind kind,
	const char *provider, struct sonde_str dir);
void hydra_search__release(struct hydra_search *s);

/* NULL without a failure when no source has it. */
const struct hydra_loaded *hydra_search__load(struct hydra_search *s, struct sonde_str path);
bool hydra_search__has_group(struct hydra_search *s, struct sonde_str group);
/* Sorted union of the options of a group over all sources: a list of strings. */
struct hydra_datum *hydra_search__options(struct hydra_search *s, struct sonde_str group);
bool hydra_search__is_available(const struct hydra_conf_source *src);

/* "\tprovider=main, path=file:///abs" lines, for not-found messages. */
void hydra_search__describe(struct hydra_search *s, struct sonde_buf *b);
/* The location as the reference writes it: pkg://…, file://…, structured:// */
void hydra_search__location(const struct hydra_conf_source *src, struct sonde_buf *b);

/* Built-in configs (builtin.c): the text of one, its index, or NULL. */
const char *hydra_builtin__text(struct sonde_str path);
const char *hydra_builtin__path(size_t i); /* NULL behind the last */

#endif
