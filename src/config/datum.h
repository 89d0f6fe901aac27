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
#ifndef SONDE_CONFIG_DATUM_H
#define SONDE_CONFIG_DATUM_H

#include "config/ctx.h"

enum sonde_kind {
	SONDE_NULL,
	SONDE_BOOL,
	SONDE_INT,
	SONDE_FLOAT,
	SONDE_STRING,
	SONDE_LIST,
	SONDE_MAP,
	SONDE_CHOICE,	/* seq = the values */
	SONDE_RANGE,	/* seq = start, stop, step */
	SONDE_INTERVAL, /* seq = start, end */
	SONDE_GLOB,	/* seq = list of includes, list of excludes */
};

/* Where values come from: one per file, one per override. */
struct sonde_from {
	struct sonde_str name; /* the file's path, or the override as it was typed */
	bool is_override;
	bool adds; /* an override with + or ++ */
};

/* What a slot of the built-in hydra node accepts; everything else is SLOT_ANY. */
enum sonde_slot {
	SONDE_SLOT_ANY,
	SONDE_SLOT_STR,
	SONDE_SLOT_OPT_STR,
	SONDE_SLOT_INT,
	SONDE_SLOT_OPT_BOOL,
	SONDE_SLOT_MODE,
};

struct sonde_datum {
	uint8_t kind;
	uint8_t slot;  /* enum sonde_slot */
	char quote;    /* ' or " of an override's quoted string, else 0 */
	bool missing;  /* the string ??? */
	bool interp;   /* a string with ${ in it */
	bool simple;   /* choice written as a,b */
	bool shuffle;  /* sweep in random order */
	bool raw;      /* a list or map that a resolver returned as a plain value */
	uint32_t line; /* in from->name, 0 = unknown */
	const struct sonde_from *from;
	struct sonde_datum *parent;
	struct sonde_datum *key;  /* of a child of a map */
	struct sonde_datum *tags; /* of a sweep, list or NULL */
	const char *klass;	  /* a map of the hydra node with fixed keys */
	struct sonde_str s;	  /* string; int beyond 64 bits in decimal */
	union {
		bool b;
		int64_t i;
		double f;
		struct {
			struct sonde_datum **at;
			uint32_t nr, cap;
			uint32_t *slots; /* hash index of a large map, NULL while small or stale */
			uint32_t nr_slots;
		} seq;
	};
};

struct sonde_datum *sonde_datum__new(struct sonde_ctx *cx, enum sonde_kind kind);
struct sonde_datum *sonde_datum__bool(struct sonde_ctx *cx, bool b);
struct sonde_datum *sonde_datum__int(struct sonde_ctx *cx, int64_t i);
struct sonde_datum *sonde_datum__float(struct sonde_ctx *cx, double f);
/* The text is borrowed: it must live as long as the arena. */
struct sonde_datum *sonde_datum__string(struct sonde_ctx *cx, struct sonde_str s);
struct sonde_datum *sonde_datum__text(struct sonde_ctx *cx, const char *z); /* copies */

bool sonde_datum__is_container(const struct sonde_datum *n); /* list or map; NULL is none */
bool sonde_datum__is_scalar(const struct sonde_datum *n);
bool sonde_datum__is_sweep(const struct sonde_datum *n);

/* Python's ==: 1 = 1.0 = true, lists and maps deeply. */
bool sonde_datum__equal(const struct sonde_datum *a, const struct sonde_datum *b);

/* The child of a map, or NULL. */
struct sonde_datum *sonde_datum__find(struct sonde_datum *map, const struct sonde_datum *key);
struct sonde_datum *sonde_datum__get(struct sonde_datum *map, struct sonde_str key);
struct sonde_datum *sonde_datum__getz(struct sonde_datum *map, const char *key);
/* Along a dotted path of maps. */
struct sonde_datum *sonde_datum__path_get(struct sonde_datum *map, const char *path);

/* Sets or replaces; `value` becomes the map's. */
int sonde_datum__set(struct sonde_ctx *cx, struct sonde_datum *map, struct sonde_datum *key,
	struct sonde_datum *value);
int sonde_datum__setz(
	struct sonde_ctx *cx, struct sonde_datum *map, const char *key, struct sonde_datum *value);
int sonde_datum__push(struct sonde_ctx *cx, struct sonde_datum *list, struct sonde_datum *value);
/* Removes child number `i`. */
void sonde_datum__remove(struct sonde_datum *seq, uint32_t i);
uint32_t sonde_datum__index(const struct sonde_datum *child); /* within its parent */
/* Puts `now` where `old` is in its parent. */
void sonde_datum__replace(struct sonde_datum *old, struct sonde_datum *now);

/* A deep copy without a parent; origins are kept. */
struct sonde_datum *sonde_datum__copy(struct sonde_ctx *cx, const struct sonde_datum *n);

/* "a.b[0].c", empty for a root. */
struct sonde_str sonde_datum__path(struct sonde_ctx *cx, const struct sonde_datum *n);
/* The same for a child that does not exist yet. */
struct sonde_str sonde_datum__path_to(
	struct sonde_ctx *cx, const struct sonde_datum *parent, const struct sonde_datum *key);
const char *sonde_datum__object_type(const struct sonde_datum *n); /* "dict", "list", a class */

/*
 * A failure about one value: MSG, then its full key and its container's type, as
 * the reference prints them. `parent` is the container, `path` the full key.
 */
int sonde_datum__fail(struct sonde_ctx *cx, const char *type, const struct sonde_datum *parent,
	struct sonde_str path, const char *msg);

/* The name Python's type() gives a value: "NoneType", "int", "str", … */
const char *sonde_datum__type_name(const struct sonde_datum *n);

#endif
