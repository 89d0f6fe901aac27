/*
 * The value tree: null, bool, int, float, string, list and map. Every value knows
 * where it was written.
 *
 * Maps keep the order of insertion; a key keeps its place when its value is
 * replaced. Keys compare as in Python: 1, 1.0 and true are the same key. Ints
 * have any size: an int that does not fit into 64 bits is kept as decimal text. The
 * parser of overrides adds four kinds that are never part of a tree: choice, range,
 * interval and glob sweeps.
 *
 * Nodes live in the context's arena. A node has one parent: to use a value
 * twice, copy it. Room-private.
 */
#ifndef HYDRA_DATUM_H
#define HYDRA_DATUM_H

#include "hydra/ctx.h"

enum hydra_kind {
	HYDRA_NULL,
	HYDRA_BOOL,
	HYDRA_INT,
	HYDRA_FLOAT,
	HYDRA_STRING,
	HYDRA_LIST,
	HYDRA_MAP,
	HYDRA_CHOICE,	/* seq = the values */
	HYDRA_RANGE,	/* seq = start, stop, step */
	HYDRA_INTERVAL, /* seq = start, end */
	HYDRA_GLOB,	/* seq = list of includes, list of excludes */
};

/* The origin of values: one per file, one per override. */
struct hydra_from {
	struct sonde_str name; /* the file's path, or the override as it was typed */
	bool is_override;
	bool adds; /* the override has + or ++ in front */
};

/* Which values a place of the built-in hydra node accepts. All other places are HYDRA_SLOT_ANY. */
enum hydra_slot {
	HYDRA_SLOT_ANY,
	HYDRA_SLOT_STR,
	HYDRA_SLOT_OPT_STR,
	HYDRA_SLOT_INT,
	HYDRA_SLOT_OPT_BOOL,
	HYDRA_SLOT_MODE,
};

struct hydra_datum {
	uint8_t kind;
	uint8_t slot;  /* enum hydra_slot */
	char quote;    /* ' or " of an override's quoted string, else 0 */
	bool missing;  /* the string ??? */
	bool interp;   /* a string that contains ${ */
	bool simple;   /* a choice sweep written as a,b */
	bool shuffle;  /* a sweep in random order */
	bool raw;      /* a list or map that is a plain value made while an interpolation was resolved */
	bool from_env; /* the value contains that of an environment variable */
	uint32_t line; /* line in from->name, 0 = unknown */
	const struct hydra_from *from;
	struct hydra_datum *parent;
	struct hydra_datum *key;  /* the key of this child of a map; NULL for other values */
	struct hydra_datum *tags; /* the tags of a sweep, a list or NULL */
	const char *klass;	  /* class name of a map of the hydra node whose keys are fixed, else NULL */
	struct sonde_str s;	  /* the string; of an int beyond 64 bits the decimal digits */
	union {
		bool b;
		int64_t i;
		double f;
		struct {
			struct hydra_datum **at;
			uint32_t nr, cap;
			uint32_t *slots; /* hash index of a large map; NULL while the map is small or the index stale */
			uint32_t nr_slots;
		} seq;
	};
};

struct hydra_datum *hydra_datum__new(struct hydra_ctx *cx, enum hydra_kind kind);
struct hydra_datum *hydra_datum__bool(struct hydra_ctx *cx, bool b);
struct hydra_datum *hydra_datum__int(struct hydra_ctx *cx, int64_t i);
struct hydra_datum *hydra_datum__float(struct hydra_ctx *cx, double f);
/* The text is borrowed: it must live as long as the arena. */
struct hydra_datum *hydra_datum__string(struct hydra_ctx *cx, struct sonde_str s);
struct hydra_datum *hydra_datum__text(struct hydra_ctx *cx, const char *z); /* copies */

bool hydra_datum__is_container(const struct hydra_datum *n); /* list or map; false for NULL */
bool hydra_datum__is_scalar(const struct hydra_datum *n);
bool hydra_datum__is_number(const struct hydra_datum *n);   /* a bool is one, as in Python */
double hydra_datum__to_double(const struct hydra_datum *n); /* `n` must be a number */
bool hydra_datum__is_sweep(const struct hydra_datum *n);

/* Python's ==: 1, 1.0 and true are equal; lists and maps are compared deeply. */
bool hydra_datum__equal(const struct hydra_datum *a, const struct hydra_datum *b);

/* The child of a map, or NULL. */
struct hydra_datum *hydra_datum__find(struct hydra_datum *map, const struct hydra_datum *key);
struct hydra_datum *hydra_datum__get(struct hydra_datum *map, struct sonde_str key);
struct hydra_datum *hydra_datum__getz(struct hydra_datum *map, const char *key);
/* The value at a dotted path of maps, or NULL. */
struct hydra_datum *hydra_datum__path_get(struct hydra_datum *map, const char *path);

/*
 * Sets `*out` to item number `step` of a list, NULL when there is none. False when `step` is not a number as Python
 * reads it.
 */
bool hydra_datum__item(struct hydra_ctx *cx, const struct hydra_datum *list, struct sonde_str step,
	struct hydra_datum **out);

/* Adds a key or replaces its value; `value` becomes a child of the map. */
int hydra_datum__set(struct hydra_ctx *cx, struct hydra_datum *map, struct hydra_datum *key,
	struct hydra_datum *value);
int hydra_datum__setz(
	struct hydra_ctx *cx, struct hydra_datum *map, const char *key, struct hydra_datum *value);
int hydra_datum__push(struct hydra_ctx *cx, struct hydra_datum *list, struct hydra_datum *value);
/* Adds `value` to a map under `key`, or to the end of a list or sweep: for code that copies any of them. */
int hydra_datum__put(struct hydra_ctx *cx, struct hydra_datum *seq, struct hydra_datum *key,
	struct hydra_datum *value);
/* Inserts a text at its place in a sorted list of strings, unless it is there already. */
int hydra_datum__push_sorted(
	struct hydra_ctx *cx, struct hydra_datum *list, struct hydra_datum *text);
void hydra_datum__drop(struct hydra_datum *child);	      /* removes it from its parent; NULL is fine */
uint32_t hydra_datum__index(const struct hydra_datum *child); /* its index in its parent, or SONDE_NONE */
/* Puts `now` in the place of `old` in its parent. */
void hydra_datum__replace(struct hydra_datum *old, struct hydra_datum *now);

/* A deep copy without a parent; origins are kept. */
struct hydra_datum *hydra_datum__copy(struct hydra_ctx *cx, const struct hydra_datum *n);
/* The same for a copy that will be `depth` levels deep in a tree. */
struct hydra_datum *hydra_datum__copy_below(
	struct hydra_ctx *cx, const struct hydra_datum *n, unsigned depth);

/* "a.b[0].c", empty for a root. */
struct sonde_str hydra_datum__path(struct hydra_ctx *cx, const struct hydra_datum *n);
/* The same for a child that does not exist yet. */
struct sonde_str hydra_datum__path_to(
	struct hydra_ctx *cx, const struct hydra_datum *parent, const struct hydra_datum *key);

/*
 * Records a failure about one value: `msg`, then its full key and the type of its container,
 * as OmegaConf prints them. `parent` is the container, `path` the full key.
 */
int hydra_datum__fail(struct hydra_ctx *cx, const char *type, const struct hydra_datum *parent,
	struct sonde_str path, struct sonde_str msg);

/* The name of a value's type in Python: "NoneType", "int", "str", … */
const char *hydra_datum__type_name(const struct hydra_datum *n);

#endif
