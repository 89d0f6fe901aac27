/*
 * Folding the oldest file of a native capture while it is written (capture.rotate, capture.keep): its
 * cells are kept in the capture's first file, and it is removed.
 */
#ifndef SONDE_MERGE_ROLLING_H
#define SONDE_MERGE_ROLLING_H

#include "merge/merging.h"

/*
 * Folds the `nr` oldest of the files `path`, `path`.1, …; the one behind them must be complete. Many at once
 * cost little more than one, but memory for all of them. The first time fixes what is selected and
 * accumulated. Whoever reads `path` meanwhile, or after this was stopped in the middle, finds everything once.
 */
int sonde_roll(const char *path, uint32_t nr, const struct sonde_fold_request *request, struct sonde_err *err);

/* The cells of a capture whose oldest files were folded (sonde_capture_next). */
int sonde_rolled_fold(struct sonde_cells **out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err);

#endif
