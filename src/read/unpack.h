/*
 * Reads one path as inputs: a file, the contents of a gzip file or an archive, or
 * the captures of a directory.
 */
#ifndef SONDE_READ_UNPACK_H
#define SONDE_READ_UNPACK_H

#include "read/records.h"

/* Appends everything in `path`. Damage becomes a note if something could be read before it. */
int sonde_records__read(struct sonde_records *r, const char *path, struct sonde_err *err);
/* Whether a JSON file, plain or compressed, begins like a trace that can be read. */
bool sonde_is_trace(const char *path);

#endif
