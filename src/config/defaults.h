/*
 * Defaults lists: from the primary config and the overrides to a tree of
 * configs, and from the tree to the flat list of what is merged where.
 *
 * Siblings are processed last to first, and the first to register an override
 * of a group wins: the command line before everything, then the primary config,
 * then configs later in a list before earlier ones. Room-private.
 */
#ifndef SONDE_CONFIG_DEFAULTS_H
#define SONDE_CONFIG_DEFAULTS_H

#include "config/override.h"
#include "config/search.h"

enum sonde_item_kind { SONDE_ITEM_ROOT, SONDE_ITEM_SELF, SONDE_ITEM_CONFIG, SONDE_ITEM_GROUP };

/* One entry of a defaults list, and a node of the tree. */
struct sonde_item {
	enum sonde_item_kind kind;
	struct sonde_str path;	   /* config path as written, or the group */
	struct sonde_datum *value; /* of a group: string, null or list of strings */
	struct sonde_str package;  /* @package, valid if has_package */
	struct sonde_str header;   /* of the config's file, valid if has_header */
	bool has_package, has_header;
	bool optional, override, external, deleted, primary;
	struct sonde_str base_dir, parent_package;
	struct sonde_str file; /* where it is written; empty for the command line */
	uint32_t line;
	struct sonde_item **children; /* NULL for a leaf */
	uint32_t nr_children;
	struct sonde_item *parent;
};

/* An entry of the final list. */
struct sonde_default {
	struct sonde_str config_path, package;
	struct sonde_str parent;       /* config path of the parent, "<root>", or empty for none */
	struct sonde_str override_key; /* of a group, else empty */
	bool is_self, primary;
};

struct sonde_group_choice {
	struct sonde_str key;	   /* override key */
	struct sonde_datum *value; /* what was asked for */
	struct sonde_str config;   /* which config asked; empty = the command line */
	bool external, used;
};

struct sonde_deletion {
	struct sonde_str key, name;
	bool has_name, used;
};

struct sonde_defaults {
	struct sonde_ctx *cx;
	struct sonde_search *search;
	bool skip_missing; /* leave out `group: ???` instead of complaining */
	unsigned depth;
	SONDE_VEC(struct sonde_group_choice) choices;
	SONDE_VEC(struct sonde_deletion) deletions;
	SONDE_VEC(struct sonde_item *) append;
	struct sonde_datum *known;    /* map: override key → option, in processing order */
	struct sonde_datum *by_group; /* map: group path → list of override keys */
	SONDE_VEC(const struct sonde_override *) config_overrides;
	SONDE_VEC(struct sonde_default) list;
	struct sonde_item *root;
};

/*
 * Builds tree and list. `with_hydra` puts hydra/config first. Release with
 * sonde_defaults__release, also after a failure.
 */
int sonde_defaults__build(struct sonde_defaults *d, struct sonde_str primary,
	const struct sonde_override *overrides, size_t nr, bool with_hydra);
void sonde_defaults__release(struct sonde_defaults *d);

/* The tree as text, two blanks per level. */
void sonde_defaults__print(struct sonde_defaults *d, struct sonde_buf *b);

/* Items (item.c). */
int sonde_item__parse_list(struct sonde_item ***out, uint32_t *nr, struct sonde_ctx *cx,
	const struct sonde_loaded *loaded, struct sonde_str config_path);
struct sonde_item *sonde_item__config(struct sonde_ctx *cx, struct sonde_str path);
void sonde_item__set_parent(struct sonde_ctx *cx, struct sonde_item *it, struct sonde_item *parent);
struct sonde_str sonde_item__group_path(struct sonde_ctx *cx, const struct sonde_item *it);
struct sonde_str sonde_item__config_path(struct sonde_ctx *cx, const struct sonde_item *it);
struct sonde_str sonde_item__final_package(struct sonde_ctx *cx, const struct sonde_item *it);
struct sonde_str sonde_item__override_key(struct sonde_ctx *cx, const struct sonde_item *it);
bool sonde_item__is_missing(struct sonde_ctx *cx, const struct sonde_item *it); /* ??? */
/* The option of a group or the last part of a config path; "None" for null. */
struct sonde_str sonde_item__name(const struct sonde_item *it);

#endif
