/*
 * The search path: where config files come from. For one config path the first
 * source that has the file wins; a group is a directory in any of them.
 * Room-private.
 */
#ifndef SONDE_CONFIG_SEARCH_H
#define SONDE_CONFIG_SEARCH_H

#include "base/map.h"
#include "base/vec.h"
#include "config/datum.h"

#define SONDE_DUMMY_CONFIG "_dummy_empty_config_" /* stands for "no primary config" */

enum sonde_conf_source_kind { SONDE_SOURCE_BUILTIN, SONDE_SOURCE_DIR, SONDE_SOURCE_SCHEMA };

struct sonde_conf_source {
	enum sonde_conf_source_kind kind;
	struct sonde_str provider; /* "main", "command-line", … */
	struct sonde_str dir;	   /* absolute or relative to the working directory */
};

/* A config file, read once. */
struct sonde_loaded {
	struct sonde_datum *config;   /* map or list, without `defaults`; copy before changing */
	struct sonde_datum *defaults; /* the value of `defaults`, NULL when absent */
	struct sonde_str header;      /* normalised `# @package`, valid if has_header */
	bool has_header;
	bool found;
	const struct sonde_from *from;
};

struct sonde_search {
	struct sonde_ctx *cx;
	SONDE_VEC(struct sonde_conf_source) sources;
	struct sonde_map paths; /* number = index into files */
	SONDE_VEC(struct sonde_loaded *) files;
};

int sonde_search__add(struct sonde_search *s, enum sonde_conf_source_kind kind,
	const char *provider, struct sonde_str dir);
void sonde_search__release(struct sonde_search *s);

/* NULL without a failure when no source has it. */
const struct sonde_loaded *sonde_search__load(struct sonde_search *s, struct sonde_str path);
bool sonde_search__has_group(struct sonde_search *s, struct sonde_str group);
/* Sorted union of the options of a group over all sources: a list of strings. */
struct sonde_datum *sonde_search__options(struct sonde_search *s, struct sonde_str group);
bool sonde_search__is_available(const struct sonde_conf_source *src);

/* "\tprovider=main, path=file:///abs" lines, for not-found messages. */
void sonde_search__describe(struct sonde_search *s, struct sonde_buf *b);
/* The location as the reference writes it: pkg://…, file://…, structured:// */
void sonde_search__location(const struct sonde_conf_source *src, struct sonde_buf *b);

/* Built-in configs (builtin.c): the text of one, its index, or NULL. */
const char *sonde_builtin__text(struct sonde_str path);
const char *sonde_builtin__path(size_t i); /* NULL behind the last */

#endif
