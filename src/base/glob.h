/*
 * Globs: `*` is any text, `?` one character (a whole UTF-8 one; a byte that is no UTF-8 counts
 * as one). The whole text must match. Never more than n × m steps, no allocation: the library
 * inside the user's process uses it too.
 */
#ifndef SONDE_BASE_GLOB_H
#define SONDE_BASE_GLOB_H

#include "base/str.h"

/* A glob in which `*` and `?` may also be plain text is a row of bytes and of these two. */
#define SONDE_GLOB_ONE 256 /* ? */
#define SONDE_GLOB_ANY 257 /* * */

bool sonde_glob_takes(const uint16_t *glob, size_t nr, struct sonde_str text);

/* The same of a pattern as it is written. */
bool sonde_str_glob(struct sonde_str text, struct sonde_str pattern);

#endif
