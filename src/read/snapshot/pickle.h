/*
 * Inside the reading room: reads a pickle as plain values.
 *
 * Python's pickle is a program for a small machine, and some of its opcodes import and call anything. This machine
 * knows only the opcodes that make None, booleans, numbers, texts, lists, tuples and dicts; any other one ends reading
 * with an error that names it. No code is run, nothing is imported, nothing is resolved.
 *
 * The machine does not recurse, and each byte of the pickle takes a bounded number of bytes here. Values may be
 * shared, and a list may contain itself: code that walks them must take care of that.
 */
#ifndef SONDE_READ_PICKLE_H
#define SONDE_READ_PICKLE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

struct sonde_source;
struct sonde_err;

enum sonde_pickle_type {
	SONDE_PICKLE_NONE, /* also for values that no reader needs: numbers of more than 64 bits */
	SONDE_PICKLE_BOOL,
	SONDE_PICKLE_INT,
	SONDE_PICKLE_FLOAT,
	SONDE_PICKLE_TEXT, /* also bytes */
	SONDE_PICKLE_LIST, /* also tuples */
	SONDE_PICKLE_DICT, /* its items are key, value, key, value … */
};

struct sonde_pickle_value {
	uint8_t type;
	uint32_t mark; /* free for the code that walks the values; 0 at first */
	union {
		int64_t number;
		double real;
		struct sonde_str text; /* points into the file */
		struct {
			uint32_t first, last; /* numbers of chunks; SONDE_NONE = no items */
		} items;
	};
};

/* The items that one opcode added to a list or dict. */
struct sonde_pickle_chunk {
	uint32_t first, nr; /* slice of `items` */
	uint32_t next;	    /* next chunk of the same list; SONDE_NONE = none */
};

struct sonde_pickle {
	SONDE_VEC(struct sonde_pickle_value) values;
	SONDE_VEC(struct sonde_pickle_chunk) chunks;
	SONDE_VEC(uint32_t) items; /* numbers in `values` */
	uint32_t root;
};

/* Reads the source's file; all memory is from its work arena. Error: SONDE_ERR_FORMAT with file, byte and opcode. */
int sonde_pickle__read(struct sonde_pickle *out, struct sonde_source *src, struct sonde_err *err);

/* A walk over the items of a list, or over the keys and values of a dict. */
struct sonde_pickle_walk {
	uint32_t chunk, at;
};
struct sonde_pickle_walk sonde_pickle__walk(const struct sonde_pickle *p, uint32_t value);
/* The number of the next value, SONDE_NONE at the end. */
uint32_t sonde_pickle__next(const struct sonde_pickle *p, struct sonde_pickle_walk *w);

#define SONDE_PICKLE_KEYS 64 /* keys of a dict that are searched: PyTorch's have ten */
/*
 * The value of a key, the last one as in Python. SONDE_NONE if `dict` is not a dict, or has no such key with a value
 * of that type.
 */
uint32_t sonde_pickle__get(const struct sonde_pickle *p, uint32_t dict, const char *key, enum sonde_pickle_type type);

#endif
