/*
 * The value tree: null, bool, int, float, string, list, map, each knowing where
 * it was written.
 *
 * Maps keep the order of insertion; a key keeps its place when its value is
 * replaced. Keys compare as Python's do: 1, 1.0 and true are the same key. Ints
 * have any size: what does not fit 64 bits is kept as decimal text. The parser
 * of overrides adds four kinds that never enter a tree: choice, range, interval
 * and glob sweeps.
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

/* Where values come from: one per file, one per override. */
struct hydra_from {
	struct sonde_str name; /* the file's path, or the override as it was typed */
	bool is_override;
	bool adds; /* an override with + or ++ */
};

/* What a slot of the built-in hydra node accepts; everything else is SLOT_ANY. */
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
	bool interp;   /* a string with ${ in it */
	bool simple;   /* choice written as a,b */
	bool shuffle;  /* sweep in random order */
	bool raw;      /* a list or map that a resolver returned as a plain value */
	bool from_env; /* an environment variable went into it */
	uint32_t line; /* in from->name, 0 = unknown */
	const struct hydra_from *from;
	struct hydra_datum *parent;
	struct hydra_datum *key;  /* of a child of a map */
	struct hydra_datum *tags; /* of a sweep, list or NULL */
	const char *klass;	  /* a map of the hydra node with fixed keys */
	struct sonde_str s;	  /* string; int beyond 64 bits in decimal */
	union {
		bool b;
		int64_t i;
		double f;
		struct {
			struct hydra_datum **at;
			uint32_t nr, cap;
			uint32_t *slots; /* hash index of a large map, NULL while small or stale */
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

bool hydra_datum__is_container(const struct hydra_datum *n); /* list or map; NULL is none */
bool hydra_datum__is_scalar(const struct hydra_datum *n);
bool hydra_datum__is_number(const struct hydra_datum *n);   /* a bool is one, as in Python */
double hydra_datum__to_double(const struct hydra_datum *n); /* of a number */
bool hydra_datum__is_sweep(const struct hydra_datum *n);

/* Python's ==: 1 = 1.0 = true, lists and maps deeply. */
bool hydra_datum__equal(const struct hydra_datum *a, const struct hydra_datum *b);

/* The child of a map, or NULL. */
struct hydra_datum *hydra_datum__find(struct hydra_datum *map, const struct hydra_datum *key);
struct hydra_datum *hydra_datum__get(struct hydra_datum *map, struct sonde_str key);
struct hydra_datum *hydra_datum__getz(struct hydra_datum *map, const char *key);
/* Along a dotted path of maps. */
struct hydra_datum *hydra_datum__path_get(struct hydra_datum *map, const char *path);

/* Item number `step` of a list as Python reads numbers; NULL: none. False: `step` is no number. */
bool hydra_datum__item(struct hydra_ctx *cx, const struct hydra_datum *list, struct sonde_str step,
	struct hydra_datum **out);

/* Sets or replaces; `value` becomes the map's. */
int hydra_datum__set(struct hydra_ctx *cx, struct hydra_datum *map, struct hydra_datum *key,
	struct hydra_datum *value);
int hydra_datum__setz(
	struct hydra_ctx *cx, struct hydra_datum *map, const char *key, struct hydra_datum *value);
int hydra_datum__push(struct hydra_ctx *cx, struct hydra_datum *list, struct hydra_datum *value);
/* Into a map under `key`, into anything else behind the last: for copies of either. */
int hydra_datum__put(struct hydra_ctx *cx, struct hydra_datum *seq, struct hydra_datum *key,
	struct hydra_datum *value);
/* Into its place in a list of sorted strings, unless the text is there already. */
int hydra_datum__push_sorted(
	struct hydra_ctx *cx, struct hydra_datum *list, struct hydra_datum *text);
void hydra_datum__drop(struct hydra_datum *child);	      /* out of its parent; NULL is fine */
uint32_t hydra_datum__index(const struct hydra_datum *child); /* within its parent */
/* Puts `now` where `old` is in its parent. */
void hydra_datum__replace(struct hydra_datum *old, struct hydra_datum *now);

/* A deep copy without a parent; origins are kept. */
struct hydra_datum *hydra_datum__copy(struct hydra_ctx *cx, const struct hydra_datum *n);
/* The same for a place that is `depth` levels down already. */
struct hydra_datum *hydra_datum__copy_below(
	struct hydra_ctx *cx, const struct hydra_datum *n, unsigned depth);

/* "a.b[0].c", empty for a root. */
struct sonde_str hydra_datum__path(struct hydra_ctx *cx, const struct hydra_datum *n);
/* The same for a child that does not exist yet. */
struct sonde_str hydra_datum__path_to(
	struct hydra_ctx *cx, const struct hydra_datum *parent, const struct hydra_datum *key);

/*
 * A failure about one value: MSG, then its full key and its container's type, as
 * the reference prints them. `parent` is the container, `path` the full key.
 */
int hydra_datum__fail(struct hydra_ctx *cx, const char *type, const struct hydra_datum *parent,
	struct sonde_str path, struct sonde_str msg);

/* The name Python's type() gives a value: "NoneType", "int", "str", … */
const char *hydra_datum__type_name(const struct hydra_datum *n);

#endif
