/*
 * Folding the oldest files of a native capture in several files (capture.rotate): a reduced file with their sums
 * replaces the capture's first file. See docs/capture-format.md, struct sonde_rolled.
 *
 *     options.reduced = &file;                       reading then writes to `file` what must stay of the files
 *     sonde_capture_complete(&file, counts, …);      adds the counts and the cells of the folded files
 */
#ifndef SONDE_READ_ROLLED_H
#define SONDE_READ_ROLLED_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

#define SONDE_MAX_ROLLED_COUNTS 32

/* The number of the first further file that still exists, the last one folded; 0 = none was folded, or this is not a capture. */
uint32_t sonde_capture_next(const char *path);
/* When a file of a capture began, in nanoseconds since the epoch; 0 = it does not exist, or does not say. */
uint64_t sonde_capture_began(const char *path);
/* When the oldest file that a capture still has began; UINT64_MAX = the capture has one file only. */
uint64_t sonde_capture_oldest(const char *path);
/* Puts the counts (`counts` of struct sonde_records) and a partial report into a reduced file. */
int sonde_capture_complete(struct sonde_buf *file, const uint64_t *counts, size_t nr,
	struct sonde_str cells, struct sonde_err *err);

#endif
