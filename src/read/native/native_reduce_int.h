/* Inside native_reduce*.c: what must stay of files that were folded, found and written. */
#ifndef SONDE_READ_NATIVE_REDUCE_INT_H
#define SONDE_READ_NATIVE_REDUCE_INT_H

#include "read/native/native_int.h"

struct reducing {
	struct native *n;
	struct sonde_buf *out;
	uint32_t seq;
	struct sonde_keyed *by_place; /* pieces, by where they are */
	SONDE_VEC(struct sonde_keyed) moments; /* whose clocks are to be kept */
	uint32_t *ends; /* by number of n->memory: the next operation at that address; SONDE_NONE = none so far */
	bool no_memory;
};

/* Whether the piece with the event at this offset is kept; with its chunk, once all are chosen. */
bool *sonde_reducing__kept(const struct reducing *x, uint64_t at);
/* Writes the file, without its cells. */
void sonde_reducing__write(struct reducing *x);

#endif
