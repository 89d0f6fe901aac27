/*
 * Inside the folding room: files of one capture, added up (sum_int.h). What a capture comes to is
 *
 *     S + F(c, m … n) - F(c, m)
 *
 * S: everything up to the end of file m; c: what was left of the files before it; F: what is folded of
 * the files that are there. Whatever c makes the reader see is in both F and goes out. Folding file m
 * too is the same: S' = S + F(c, m, m+1) - F(c, m).
 */
#ifndef SONDE_MERGE_ROLLED_INT_H
#define SONDE_MERGE_ROLLED_INT_H

#include "merge/sum_int.h"

/* S, F(c, m … n) and F(c, m), in this order. */
enum { SONDE_ROLLED_SUMS, SONDE_ROLLED_PLUS, SONDE_ROLLED_MINUS, SONDE_NR_ROLLED };

/*
 * Adds `plus` to `*sums`, takes `minus` out, and puts what that comes to in the place of `*sums`. Notes,
 * what was open at the end, and single entries and events are those of `plus`, of what began since
 * `since_ns`: sums have none. SONDE_ERR_USAGE when they cannot be added up.
 */
int sonde_rolled__add(struct sonde_cells **sums, struct sonde_cells *plus, const struct sonde_cells *minus,
	uint64_t since_ns, struct sonde_err *err);
/* Forgets what sums cannot have: what was open at the end, single entries and collectives. */
void sonde_rolled__forget(struct sonde_cells *c);
/* The cells of a capture whose oldest files were folded (sonde_capture_next). */
int sonde_rolled__fold(struct sonde_cells **out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err);

/* Each false when memory is short. `parts` have the numbers of `c`, whose visits are in order. */
/* The streams of visits (rolled_streams.c), … */
bool sonde_rolled__add_streams(struct sonde_cells *c, const struct sonde_sum_part *parts);
/* … and what the last files say (rolled_last.c). */
bool sonde_rolled__take_last(struct sonde_cells *c, const struct sonde_sum_part *parts,
	struct sonde_cells *plus, uint64_t since_ns);

#endif
