/*
 * Depth-first order of a forest whose members know their parents.
 *
 * Members are numbers from 0; the parent of number i is the uint32_t at `parents` + i * `stride`, so
 * that it may be a member of a struct, and SONDE_NONE of a root.
 */
#ifndef SONDE_BASE_DEPTH_FIRST_H
#define SONDE_BASE_DEPTH_FIRST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Fills `out` with all `nr` numbers, parents before their children. `order` has each number once,
 * siblings as they are to follow each other; NULL = by number. False when memory is short.
 */
bool sonde_depth_first(uint32_t *out, const uint32_t *order, size_t nr, const uint32_t *parents, size_t stride);

#endif
