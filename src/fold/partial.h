/*
 * Partial reports: cells as a file (docs/cells-format.md).
 *
 * What is written is what was folded, input by input, so that reading and uniting
 * gives what folding the captures would have given. Every byte of a file is
 * hostile: one that is cut off, damaged or of another version is an error, and
 * what is read holds every invariant of cells.
 */
#ifndef SONDE_FOLD_PARTIAL_H
#define SONDE_FOLD_PARTIAL_H

#include "base/sink.h"
#include "fold/fold.h"

/* Whether these are the first bytes of one. */
bool sonde_partial_knows(struct sonde_str bytes);
/* Appends its parts; nothing is borrowed. `path` is for messages. */
int sonde_partial_read(struct sonde_parts *out, struct sonde_str bytes, const char *path,
	struct sonde_err *err);
/* Parts of different selections are SONDE_ERR_USAGE. Sorts them: order does not matter. */
int sonde_partial_write(struct sonde_parts *parts, struct sonde_sink *to, struct sonde_err *err);

#endif
