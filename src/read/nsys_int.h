/*
 * Inside the reader of Nsight Systems exports.
 *
 *   nsys_sqlite.c   tables → ranges and launches
 *   nsys_open.c     which ranges were open at each launch
 */
#ifndef SONDE_READ_NSYS_INT_H
#define SONDE_READ_NSYS_INT_H

#include "read/source_int.h"

/* A kernel with the API call that launched it. */
struct nsys_launch {
	uint64_t pid, tid, call_ns; /* call_ns 0: the call is not in the trace */
	uint64_t start_ns, end_ns, stream;
	uint32_t device, context, name, full_name;
	uint32_t open; /* set number */
};

/* A range as the trace has it. */
struct nsys_range {
	uint64_t pid, tid, begin_ns, end_ns; /* end UINT64_MAX: never closed */
	uint32_t label, domain;		     /* string numbers */
	uint32_t number;		     /* in the records */
	uint8_t kind;
};

struct nsys {
	struct sonde_source *src;
	struct sonde_records *r;
	SONDE_VEC(struct nsys_launch) launches;
	SONDE_VEC(struct nsys_range) ranges;
};

/* Sorts the ranges, nests them, appends them to the records. */
int sonde_nsys__nest(struct nsys *n, struct sonde_err *err);
/* Fills in `open` of every launch; sorts them by process and time. */
int sonde_nsys__open(struct nsys *n, struct sonde_err *err);

#endif
