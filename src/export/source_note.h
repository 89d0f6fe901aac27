/*
 * What source files were when they were captured: a note beside the capture, by which a later report knows whether it may
 * still show their lines. A line for each file, its hash (MD5) and its path.
 */
#ifndef SONDE_EXPORT_SOURCE_NOTE_H
#define SONDE_EXPORT_SOURCE_NOTE_H

#include "fold/cells.h"

#define SONDE_SOURCE_NOTES "sources.txt"

/* Writes to `path` what the files are that lines of PC samples name; nothing where there is none. */
int sonde_source_note(const struct sonde_cells *c, const char *path, struct sonde_err *err);

#endif
