/*
 * A set of byte strings, which are numbered in order of insertion (0, 1, 2, …).
 * Used to intern labels and names, and to look up anything that can be written as
 * a key of bytes.
 *
 * Keys are borrowed: they must outlive the map, unless `sonde_map_keep` copies them. Start with
 * `= {0}`.
 */
#ifndef SONDE_BASE_MAP_H
#define SONDE_BASE_MAP_H

#include "base/arena.h"

#define SONDE_NONE UINT32_MAX

struct sonde_map {
	struct sonde_str *keys; /* the key of each number; `nr` of them */
	uint64_t *hashes;	/* the hash of each number's key */
	uint32_t *slots;	/* the hash table: numbers, SONDE_NONE = free */
	size_t nr, cap, nr_slots;
};

/* The number of `key`, or SONDE_NONE. */
uint32_t sonde_map_find(const struct sonde_map *m, struct sonde_str key);

/*
 * The number of `key`, which is inserted when it is not there yet: `*is_new` (`is_new` may be
 * NULL) is then true. SONDE_NONE when memory is short.
 */
uint32_t sonde_map_add(struct sonde_map *m, struct sonde_str key, bool *is_new);

/* The same for a key that does not outlive the map: a new key is copied to `to`. */
uint32_t sonde_map_keep(
	struct sonde_map *m, struct sonde_arena *to, struct sonde_str key, bool *is_new);

/*
 * The same two functions for a map that belongs to an arena: do not release such a map. When memory is short the arena
 * remembers that. Fill a map with these two functions or with the two above, never with both.
 */
uint32_t sonde_intern(struct sonde_arena *a, struct sonde_map *m, struct sonde_str key, bool *is_new);
uint32_t sonde_intern_copy(struct sonde_arena *a, struct sonde_map *m, struct sonde_str key, bool *is_new);

/*
 * The element of vector `v` that belongs to key number `n`; a new element is pushed when `n` is the next number.
 * NULL when memory is short, or when `n` is SONDE_NONE because memory was short.
 */
#define sonde_map_slot(v, n)                                                                       \
	((n) == SONDE_NONE ? NULL : (n) < (v)->nr ? (void *)&(v)->at[n] : sonde_vec_push(v))

/* The same for a vector that an arena owns: never NULL, as sonde_push. */
#define sonde_slot(a, v, n) ((n) < (v)->nr ? (void *)&(v)->at[n] : sonde_push(a, v))

void sonde_map_release(struct sonde_map *m);

/* A good 64-bit hash of any bytes (XXH3), the same on every machine. */
uint64_t sonde_hash(const void *p, size_t n);

#endif
