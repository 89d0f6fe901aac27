/*
 * One path as inputs: a file, what a gzip file or an archive holds, or the
 * captures of a directory.
 */
#ifndef SONDE_READ_UNPACK_H
#define SONDE_READ_UNPACK_H

#include "read/records.h"

/* Appends everything in `path`. Damage is a note where something was before it. */
int sonde_records__read(struct sonde_records *r, const char *path, struct sonde_err *err);
/* Whether the beginning of a JSON file, plain or compressed, looks like one that can be read. */
bool sonde_is_trace(const char *path);

#endif
