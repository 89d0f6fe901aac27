/*
 * Writing the capture file. Only the flusher does; the first failure switches
 * the library off and everything after it does nothing.
 */
#ifndef SONDE_INJECT_OUTFILE_INT_H
#define SONDE_INJECT_OUTFILE_INT_H

#include "inject/inject_int.h"

/* Makes the file and writes what it starts with. False when that failed. */
bool sonde_outfile__open(void);
bool sonde_outfile__failed(void);
/* Whether the file at hand is as long, or as old, as one may be (rotate_bytes, rotate_ms). */
bool sonde_outfile__is_due(void);
/* Goes on in the next file, when everything is drained; false: it cannot be made, nothing changed. */
bool sonde_outfile__next(void);
/* Adds one block made of two parts; written by the next drain, or when much has gathered. */
void sonde_outfile__put_block(unsigned type, const void *a, size_t nr_a, const void *b, size_t nr_b);
/* Adds a clock block, if `always` or the last one is old. */
void sonde_outfile__put_clock(bool always);
/* Adds the block that says what the file is of; `part`: which file of the capture. */
void sonde_outfile__put_meta(uint32_t part);
void sonde_outfile__drain(void);

#endif
