/*
 * Globs: `*` matches any text, `?` one UTF-8 character (a byte that is not UTF-8 counts as one
 * character). The whole text must match. Matching takes at most n × m steps and allocates nothing: the
 * library inside the user's process uses it too.
 */
#ifndef SONDE_BASE_GLOB_H
#define SONDE_BASE_GLOB_H

#include "base/str.h"

/* A pattern in which `*` and `?` may also be plain text is an array of bytes and of these two. */
#define SONDE_GLOB_ONE 256 /* ? */
#define SONDE_GLOB_ANY 257 /* * */

bool sonde_glob_takes(const uint16_t *glob, size_t nr, struct sonde_str text);

/* The same for a pattern as the user writes it. */
bool sonde_str_glob(struct sonde_str text, struct sonde_str pattern);

#endif
