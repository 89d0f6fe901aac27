/*
 * Defaults lists: the primary config and the overrides make a tree of configs, and
 * the tree makes the flat list of configs with the package that each is merged into.
 *
 * Siblings are processed last to first, and the first to register an override
 * of a group wins: the command line before everything else, then the primary config,
 * then configs later in a list before earlier ones. Room-private.
 */
#ifndef HYDRA_DEFAULTS_H
#define HYDRA_DEFAULTS_H

#include "hydra/override.h"
#include "hydra/search.h"

enum hydra_item_kind { HYDRA_ITEM_ROOT, HYDRA_ITEM_SELF, HYDRA_ITEM_CONFIG, HYDRA_ITEM_GROUP };

/* One entry of a defaults list, and a node of the tree. */
struct hydra_item {
	enum hydra_item_kind kind;
	struct sonde_str path;	   /* config path as written, or the group */
	struct hydra_datum *value; /* the options of a group: string, null or list of strings */
	struct sonde_str package;  /* the package behind @, valid if has_package */
	struct sonde_str header;   /* the package in the header of the config's file, valid if has_header */
	bool has_package, has_header;
	bool optional, override, external, deleted, primary;
	struct sonde_str base_dir, parent_package;
	struct sonde_str file; /* the file that has this entry; empty for the command line */
	uint32_t line;
	struct hydra_item **children; /* NULL for a leaf */
	uint32_t nr_children;
	struct hydra_item *parent;
};

/* An entry of the final list. */
struct hydra_default {
	struct sonde_str config_path, package;
	struct sonde_str parent;       /* config path of the parent, "<root>", or empty = no parent */
	struct sonde_str override_key; /* the key by which overrides name a group; empty for a config */
	bool is_self, primary;
};

struct hydra_group_choice {
	struct sonde_str key;	   /* override key of the group */
	struct hydra_datum *value; /* the options that were chosen */
	struct sonde_str config;   /* the config that chose them; empty = the command line */
	bool external, used;	   /* external: from the command line; used: the group is in some defaults list */
};

struct hydra_deletion {
	struct sonde_str key, name;
	bool has_name, used;
};

struct hydra_defaults {
	struct hydra_ctx *cx;
	struct hydra_search *search;
	bool skip_missing; /* leave out `group: ???` instead of complaining */
	unsigned depth;
	SONDE_VEC(struct hydra_group_choice) choices;
	SONDE_VEC(struct hydra_deletion) deletions;
	SONDE_VEC(struct hydra_item *) append;
	struct hydra_datum *known;    /* map: override key → option, in processing order */
	struct hydra_datum *by_group; /* map: group path → sorted list of override keys */
	SONDE_VEC(const struct hydra_override *) config_overrides;
	SONDE_VEC(struct hydra_default) list;
	struct hydra_item *root;
};

/*
 * Builds the tree and the list. `with_hydra` puts hydra/config first. Release them with
 * hydra_defaults__release, also after a failure.
 */
int hydra_defaults__build(struct hydra_defaults *d, struct sonde_str primary,
	const struct hydra_override *overrides, size_t nr, bool with_hydra);
void hydra_defaults__release(struct hydra_defaults *d);

/* The tree as text, two blanks per level. */
void hydra_defaults__print(struct hydra_defaults *d, struct sonde_buf *b);

/* Items (item.c). A list is parsed into `nr` items; the others compute the paths and packages of one item. */
int hydra_item__parse_list(struct hydra_item ***out, uint32_t *nr, struct hydra_ctx *cx,
	const struct hydra_loaded *loaded, struct sonde_str config_path);
struct hydra_item *hydra_item__config(struct hydra_ctx *cx, struct sonde_str path);
void hydra_item__set_parent(struct hydra_ctx *cx, struct hydra_item *it, struct hydra_item *parent);
struct sonde_str hydra_item__group_path(struct hydra_ctx *cx, const struct hydra_item *it);
struct sonde_str hydra_item__config_path(struct hydra_ctx *cx, const struct hydra_item *it);
struct sonde_str hydra_item__final_package(struct hydra_ctx *cx, const struct hydra_item *it);
struct sonde_str hydra_item__override_key(struct hydra_ctx *cx, const struct hydra_item *it);
bool hydra_item__is_missing(struct hydra_ctx *cx, const struct hydra_item *it); /* ??? */
/* The option of a group or the last part of a config path; "None" for null. */
struct sonde_str hydra_item__name(const struct hydra_item *it);

#endif
