/*
 * Inside the reading room: a pickle as values, and nothing but values.
 *
 * Python's pickle is a program for a small machine, and some of its opcodes import and call anything. This machine
 * knows those that make None, booleans, numbers, texts, lists, tuples and dicts; every other one ends the reading with
 * an error that names it. No code is run, nothing is imported, nothing is resolved.
 *
 * The machine does not recurse, and each byte of the pickle costs a bounded number of bytes here. Values may be
 * shared, and a list may hold itself: whoever walks them takes care.
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
	SONDE_PICKLE_NONE, /* also what no reader needs: numbers of more than 64 bits */
	SONDE_PICKLE_BOOL,
	SONDE_PICKLE_INT,
	SONDE_PICKLE_FLOAT,
	SONDE_PICKLE_TEXT, /* bytes, too */
	SONDE_PICKLE_LIST, /* tuples, too */
	SONDE_PICKLE_DICT, /* its items are keys and values by turns */
};

struct sonde_pickle_value {
	uint8_t type;
	uint32_t mark; /* of whoever walks the values; 0 at first */
	union {
		int64_t number;
		double real;
		struct sonde_str text; /* points into the file */
		struct {
			uint32_t first, last; /* chunks; SONDE_NONE = it is empty */
		} items;
	};
};

/* Items that were added by one opcode. */
struct sonde_pickle_chunk {
	uint32_t first, nr; /* in `items` */
	uint32_t next;	    /* of the same list; SONDE_NONE = none */
};

struct sonde_pickle {
	SONDE_VEC(struct sonde_pickle_value) values;
	SONDE_VEC(struct sonde_pickle_chunk) chunks;
	SONDE_VEC(uint32_t) items; /* numbers of values */
	uint32_t root;
};

/* Reads the source's file; everything lives in its work arena. On error SONDE_ERR_FORMAT with file, byte and opcode. */
int sonde_pickle__read(struct sonde_pickle *out, struct sonde_source *src, struct sonde_err *err);

/* A walk over the items of a list, or over the keys and values of a dict. */
struct sonde_pickle_walk {
	uint32_t chunk, at;
};
struct sonde_pickle_walk sonde_pickle__walk(const struct sonde_pickle *p, uint32_t value);
/* The next one's number, SONDE_NONE at the end. */
uint32_t sonde_pickle__next(const struct sonde_pickle *p, struct sonde_pickle_walk *w);

#define SONDE_PICKLE_KEYS 64 /* of a dict that are looked at: PyTorch's have ten */
/* The value of a key: its last one, as in Python. SONDE_NONE where `dict` is none, or has no such key of that type. */
uint32_t sonde_pickle__get(const struct sonde_pickle *p, uint32_t dict, const char *key, enum sonde_pickle_type type);

#endif
