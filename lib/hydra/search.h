/*
 * The search path: the sources of config files. The first source that has a file
 * wins; a group is a directory in any of the sources.
 * Room-private.
 */
#ifndef HYDRA_SEARCH_H
#define HYDRA_SEARCH_H

#include "base/map.h"
#include "base/vec.h"
#include "hydra/datum.h"

struct stat;

#define HYDRA_DUMMY_CONFIG "_dummy_empty_config_" /* the name that means "no primary config" */

enum hydra_conf_source_kind { HYDRA_SOURCE_BUILTIN, HYDRA_SOURCE_DIR, HYDRA_SOURCE_SCHEMA };

struct hydra_conf_source {
	enum hydra_conf_source_kind kind;
	struct sonde_str provider; /* "main", "command-line", … */
	struct sonde_str dir;	   /* absolute or relative to the working directory */
	bool (*is_allowed)(const struct stat *st, const char *path, char *why, size_t size); /* hydra.h */
};

/* A config file, read once. */
struct hydra_loaded {
	struct hydra_datum *config;   /* map or list, without `defaults`; copy it before you change it */
	struct hydra_datum *defaults; /* the value of `defaults`, NULL when absent */
	struct sonde_str header;      /* the package of its `# @package` line, made absolute; valid if has_header */
	bool has_header;
	bool found;
	const struct hydra_from *from;
};

struct hydra_search {
	struct hydra_ctx *cx;
	SONDE_VEC(struct hydra_conf_source) sources;
	struct sonde_map paths; /* config paths; the number of a path is its index in `files` */
	SONDE_VEC(struct hydra_loaded *) files;
};

int hydra_search__add(struct hydra_search *s, enum hydra_conf_source_kind kind,
	const char *provider, struct sonde_str dir);
void hydra_search__release(struct hydra_search *s);

/* Loads a config; NULL without a failure when no source has it. */
const struct hydra_loaded *hydra_search__load(struct hydra_search *s, struct sonde_str path);
bool hydra_search__has_group(struct hydra_search *s, struct sonde_str group);
/* The options of a group in all sources together: a sorted list of strings. */
struct hydra_datum *hydra_search__options(struct hydra_search *s, struct sonde_str group);
bool hydra_search__is_available(const struct hydra_conf_source *src);

/* Appends a line "\tprovider=main, path=file:///abs" per source, for messages about configs that were not found. */
void hydra_search__describe(struct hydra_search *s, struct sonde_buf *b);
/* Appends the location as Hydra writes it: pkg://…, file://…, structured:// */
void hydra_search__location(const struct hydra_conf_source *src, struct sonde_buf *b);

/* Built-in configs (builtin.c): the text of the one at `path`, or NULL; the path of number `i`, NULL behind the last. */
const char *hydra_builtin__text(struct sonde_str path);
const char *hydra_builtin__path(size_t i);

#endif
