/*
 * Folds the oldest files of a native capture while it is written (capture.rotate, capture.keep): their
 * cells are added to the capture's first file, and the files are removed.
 *
 * Cells are only ever added up. The reader knows what was counted before and what will be counted later (enum
 * sonde_when), so the cells folded from some files have everything that belongs to these files exactly once.
 */
#ifndef SONDE_MERGE_ROLLING_H
#define SONDE_MERGE_ROLLING_H

#include "merge/merging.h"
#include "read/records.h"

/*
 * The captures of one directory. Samples count the work of all processes on a device, so folding one capture needs the
 * launches of the others too. Without samples the captures are not opened.
 */
struct sonde_beside {
	const char *const *paths; /* borrowed */
	size_t nr_paths, nr_samples;
	struct sonde_records **records; /* by path; NULL = not opened */
};
/* `paths` are the captures of one directory. A capture that cannot be read is left out, and so is `except` (may be NULL). */
int sonde_beside_open(struct sonde_beside *b, const char *const *paths, size_t nr, const char *except, struct sonde_err *err);
void sonde_beside_release(struct sonde_beside *b);
/* Reads the capture `path` with the samples of the directory, and folds it. */
int sonde_beside_fold(struct sonde_cells **out, const struct sonde_beside *b, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err);
/*
 * Removes the files of samples that no capture needs any more: those from before the oldest file that a capture still has.
 * Captures with only one file do not count for this: their earlier launches lose their counters.
 */
int sonde_beside_trim(const struct sonde_beside *b, struct sonde_err *err);

/*
 * Folds the `nr` oldest files of `path`, `path`.1, … that are still whole, and the file after them. Removes these `nr`
 * files; the file after them stays whole. The two files after the `nr` oldest must exist and be complete. Folding many
 * files at once costs little more time than one, but memory for all of them. The first call fixes the selection and the
 * metrics. A reader of `path` finds everything exactly once, also during this call, or after it was stopped half-way.
 * `b` has the other captures of the directory, without this one.
 */
int sonde_roll(const struct sonde_beside *b, const char *path, uint32_t nr, const struct sonde_fold_request *request,
	struct sonde_err *err);

/* Folds one capture, and adds the cells of its folded files, if there are any (`rolled` of the records). */
int sonde_rolled_fold(struct sonde_cells **out, const struct sonde_records *records,
	const struct sonde_fold_request *request, struct sonde_err *err);

#endif
