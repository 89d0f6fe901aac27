/*
 * Inside merge/: files of one rotated capture, added up (parts_sum.h). The cells of the whole capture are
 *
 *     S + F(c, m … n) - F(c, m)
 *
 * S: everything up to the end of file m; c: what was left of the files before it; F: what is folded of
 * the files that are there. Whatever c makes the reader see is in both F and goes out. Folding file m
 * too is the same: S' = S + F(c, m, m+1) - F(c, m).
 */
#ifndef SONDE_MERGE_ROLLED_SUMS_H
#define SONDE_MERGE_ROLLED_SUMS_H

#include "merge/merging.h"

/*
 * Adds `plus` to `*sums`, takes `minus` out, and puts what that comes to in the place of `*sums`. Notes,
 * what was open at the end, and single entries and events are those of `plus`, of what began since
 * `since_ns`: sums have none. SONDE_ERR_USAGE when they cannot be added up.
 */
int sonde_rolled__add(struct sonde_cells **sums, struct sonde_cells *plus, const struct sonde_cells *minus,
	uint64_t since_ns, struct sonde_err *err);
/* Forgets what sums cannot have: what was open at the end, single entries and collectives. */
void sonde_rolled__forget(struct sonde_cells *c);

#endif
