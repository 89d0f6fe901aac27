/*
 * Folding the oldest files of a native capture while it is written (capture.rotate, capture.keep): their
 * cells are kept in the capture's first file, and they are removed.
 *
 * Cells are only ever added up. The reader knows what was counted before and what is counted later (enum
 * sonde_when), so what is folded of some files has everything that belongs to them, once.
 */
#ifndef SONDE_MERGE_ROLLING_H
#define SONDE_MERGE_ROLLING_H

#include "merge/merging.h"
#include "read/records.h"

/*
 * Folds the `nr` oldest of the files `path`, `path`.1, … that were not folded, and the one behind them, and removes
 * as many; the next two must be there, complete. Many at once cost little more than one, but memory for all of them.
 * The first time fixes what is selected and accumulated. Whoever reads `path` meanwhile, or after this was stopped in the
 * middle, finds everything once.
 */
int sonde_roll(const char *path, uint32_t nr, const struct sonde_fold_request *request, struct sonde_err *err);

/* The cells of one capture, with those of its files that were folded, if any (`rolled` of the records). */
int sonde_rolled_fold(struct sonde_cells **out, const struct sonde_records *records,
	const struct sonde_fold_request *request, struct sonde_err *err);

#endif
