/*
 * A note beside the capture about its source files, by which a later report knows whether it may still show their
 * lines. The note has a line for each file: its hash (MD5) and its path.
 */
#ifndef SONDE_EXPORT_SOURCE_NOTE_H
#define SONDE_EXPORT_SOURCE_NOTE_H

#include "fold/cells.h"

#define SONDE_SOURCE_NOTES "sources.txt"

/* Writes to `path` the hashes of the source files that PC samples are in; writes no file if there are none. */
int sonde_source_note(const struct sonde_cells *c, const char *path, struct sonde_err *err);

#endif
