/*
 * A set of byte strings, each with a small number: the index of its first
 * insertion (0, 1, 2, …). Used to intern labels and names and to look up
 * anything that can be written as a key of bytes.
 *
 * Keys are borrowed: they must outlive the map, unless `sonde_map_keep` copies them. Start with
 * `= {0}`.
 */
#ifndef SONDE_BASE_MAP_H
#define SONDE_BASE_MAP_H

#include "base/arena.h"

#define SONDE_NONE UINT32_MAX

struct sonde_map {
	struct sonde_str *keys; /* nr of them, by number */
	uint64_t *hashes;	/* likewise */
	uint32_t *slots;	/* open addressing, SONDE_NONE = free */
	size_t nr, cap, nr_slots;
};

/* The number of `key`, or SONDE_NONE. */
uint32_t sonde_map_find(const struct sonde_map *m, struct sonde_str key);

/*
 * The number of `key`, inserting it when new (`*is_new`, may be NULL, says so).
 * SONDE_NONE when memory is short.
 */
uint32_t sonde_map_add(struct sonde_map *m, struct sonde_str key, bool *is_new);

/* The same for keys that do not last: a new one is copied to `to`. */
uint32_t sonde_map_keep(
	struct sonde_map *m, struct sonde_arena *to, struct sonde_str key, bool *is_new);

/*
 * The same two for a map that belongs to an arena: it is not released, and when memory is short the arena
 * remembers it. A map is filled by these two, or by the two above.
 */
uint32_t sonde_intern(struct sonde_arena *a, struct sonde_map *m, struct sonde_str key, bool *is_new);
uint32_t sonde_intern_copy(struct sonde_arena *a, struct sonde_map *m, struct sonde_str key, bool *is_new);

/*
 * The element of a vector that belongs to key number `n`, pushed when it is the next one. NULL when
 * memory is short, or was for `n`.
 */
#define sonde_map_slot(v, n)                                                                       \
	((n) == SONDE_NONE ? NULL : (n) < (v)->nr ? (void *)&(v)->at[n] : sonde_vec_push(v))

/* The same without NULL, as sonde_push has none. */
#define sonde_slot(a, v, n) ((n) < (v)->nr ? (void *)&(v)->at[n] : sonde_push(a, v))

void sonde_map_release(struct sonde_map *m);

/* A good 64-bit hash of any bytes (XXH3); the same on every machine. */
uint64_t sonde_hash(const void *p, size_t n);

#endif
