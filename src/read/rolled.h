/*
 * Folding the oldest file of a native capture that goes on in several (capture.rotate): the reduced file
 * replaces the capture's first file. docs/capture-format.md, struct sonde_rolled.
 *
 *     options.reduced = &file;                       reads, and says what must stay
 *     sonde_capture_complete(&file, counts, …);      adds what the folded files come to
 */
#ifndef SONDE_READ_ROLLED_H
#define SONDE_READ_ROLLED_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

#define SONDE_MAX_ROLLED_COUNTS 32

/* The first of a capture's further files that was not folded; 0 = none was, or it is no capture. */
uint32_t sonde_capture_next(const char *path);
/* When a file of a capture began, in nanoseconds since the epoch; 0 = it is not there, or does not say. */
uint64_t sonde_capture_began(const char *path);
/* When the oldest file that a capture still has began; UINT64_MAX = it has one file only. */
uint64_t sonde_capture_oldest(const char *path);
/* Puts the counts (`counts` of struct sonde_records) and a partial report into a reduced file. */
int sonde_capture_complete(struct sonde_buf *file, const uint64_t *counts, size_t nr,
	struct sonde_str cells, struct sonde_err *err);

#endif
