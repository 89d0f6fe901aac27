/* The first thing to fix, in a sentence or two, for every format. */
#ifndef SONDE_TREE_FIRST_H
#define SONDE_TREE_FIRST_H

#include "tree/tree.h"

/*
 * Idle time comes before slow kernels: the region where most of it is, why, and what
 * helps. Where the GPU is busy all the time, the region with the most GPU time of its own, its
 * largest kernel and what limits that. Nothing where there are no times.
 */
int sonde_first_say(struct sonde_buf *line, const struct sonde_tree *t,
	const struct sonde_report *r, struct sonde_err *err);

#endif
