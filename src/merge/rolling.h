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
 * The captures of one directory. Samples are of a device, so they are split among what all processes ran there: whoever folds
 * one capture looks at the others too. Where there are no samples the captures are not opened.
 */
struct sonde_beside {
	const char *const *paths; /* borrowed */
	size_t nr_paths, nr_samples;
	struct sonde_records **records; /* by path; NULL = not opened */
};
/* `paths` are the captures of one directory. One that cannot be read is left out, and so is `except`. */
int sonde_beside_open(struct sonde_beside *b, const char *const *paths, size_t nr, const char *except, struct sonde_err *err);
void sonde_beside_release(struct sonde_beside *b);
/* Reads one of them with its samples, and folds it. */
int sonde_beside_fold(struct sonde_cells **out, const struct sonde_beside *b, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err);
/*
 * Cuts off the samples that no capture needs any more: those of files before the oldest that a capture still has. Captures that
 * never went on in a second file need none: what they launched earlier has no counters.
 */
int sonde_beside_trim(const struct sonde_beside *b, struct sonde_err *err);

/*
 * Folds the `nr` oldest of the files `path`, `path`.1, … that were not folded, and the one behind them, and removes
 * as many; the next two must be there, complete. Many at once cost little more than one, but memory for all of them.
 * The first time fixes what is selected and accumulated. Whoever reads `path` meanwhile, or after this was stopped in the
 * middle, finds everything once. `b` has its directory, without the capture itself.
 */
int sonde_roll(const struct sonde_beside *b, const char *path, uint32_t nr, const struct sonde_fold_request *request,
	struct sonde_err *err);

/* The cells of one capture, with those of its files that were folded, if any (`rolled` of the records). */
int sonde_rolled_fold(struct sonde_cells **out, const struct sonde_records *records,
	const struct sonde_fold_request *request, struct sonde_err *err);

#endif
