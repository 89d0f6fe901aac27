/*
 * Depth-first order of a forest whose members know their parents.
 *
 * Members are numbered from 0. The parent of member i is the uint32_t at `parents` + i * `stride` bytes, so
 * that it may be a member of a struct; a root has SONDE_NONE there.
 */
#ifndef SONDE_BASE_DEPTH_FIRST_H
#define SONDE_BASE_DEPTH_FIRST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Fills `out` with all `nr` numbers, parents before their children. `order` has each number once, with
 * siblings in the order in which they follow each other in `out`; NULL = by number. False when memory is short.
 */
bool sonde_depth_first(uint32_t *out, const uint32_t *order, size_t nr, const uint32_t *parents, size_t stride);

#endif
