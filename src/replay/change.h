/*
 * Changes: what a what-if can do to a program. One table has them all, as they are written; docs/sonde-whatif.md says
 * what each means.
 *
 *     graph:REGION  fuse:REGION  nosync:REGION  async-copy:REGION  gather:REGION  noalloc:REGION
 *     ahead:REGION  overlap-comm:REGION  remove:REGION  kernel:NAME=0.5x  kernel:NAME=roofline  level-ranks
 */
#ifndef SONDE_REPLAY_CHANGE_H
#define SONDE_REPLAY_CHANGE_H

#include "base/err.h"
#include "base/str.h"

enum sonde_change_kind {
	SONDE_CHANGE_GRAPH,
	SONDE_CHANGE_FUSE,
	SONDE_CHANGE_NOSYNC,
	SONDE_CHANGE_ASYNC_COPY,
	SONDE_CHANGE_GATHER,
	SONDE_CHANGE_NOALLOC,
	SONDE_CHANGE_AHEAD,
	SONDE_CHANGE_KERNEL,
	SONDE_CHANGE_OVERLAP_COMM,
	SONDE_CHANGE_LEVEL_RANKS,
	SONDE_CHANGE_REMOVE,
	SONDE_NR_CHANGES,
};

struct sonde_change_row {
	const char *word;     /* `graph` */
	const char *argument; /* `REGION`; NULL = no argument */
};
extern const struct sonde_change_row sonde_changes[SONDE_NR_CHANGES];

/* A change as the user wrote it. `name` points into the text that was read. */
struct sonde_change {
	enum sonde_change_kind kind;
	struct sonde_str name; /* glob for the region or kernel; empty = no argument */
	double factor; /* multiplies a kernel's time; NaN = as fast as its roofline allows */
};

/* Reads a text such as `graph:forward`. SONDE_ERR_USAGE: the error says what is wrong and lists all changes. */
int sonde_change_read(struct sonde_change *out, const char *text, struct sonde_err *err);

#endif
