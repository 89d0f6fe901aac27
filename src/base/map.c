/*
 * A hash table with open addressing, whose slots hold numbers. Keys and hashes are arrays in order of insertion,
 * indexed by number: iterating over a map is iterating over an array, and growing it compares no keys.
 */
#include "base/map.h"

#include "base/vec.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t sonde_hash(const void *p, size_t n)
{
	return XXH3_64bits(p, n);
}

static uint32_t *probe(const struct sonde_map *m, struct sonde_str key, uint64_t hash)
{
	size_t mask = m->nr_slots - 1, i = hash & mask;

	for (;; i = (i + 1) & mask) {
		uint32_t n = m->slots[i];

		if (n == SONDE_NONE || (m->hashes[n] == hash && sonde_str_eq(m->keys[n], key)))
			return &m->slots[i];
	}
}

uint32_t sonde_map_find(const struct sonde_map *m, struct sonde_str key)
{
	return m->nr ? *probe(m, key, sonde_hash(key.p, key.n)) : SONDE_NONE;
}

static bool rehash(struct sonde_arena *owner, struct sonde_map *m, size_t nr_slots)
{
	uint32_t *slots = sonde_vec_resize(owner, NULL, nr_slots * sizeof(*slots));
	size_t n, i;

	if (!slots)
		return false;
	memset(slots, 0xff, nr_slots * sizeof(*slots));
	for (n = 0; n < m->nr; n++) {
		for (i = m->hashes[n] & (nr_slots - 1); slots[i] != SONDE_NONE;)
			i = (i + 1) & (nr_slots - 1);
		slots[i] = (uint32_t)n;
	}
	sonde_vec_drop(m->slots);
	m->slots = slots;
	m->nr_slots = nr_slots;
	return true;
}

static bool grow(struct sonde_arena *owner, struct sonde_map *m)
{
	size_t cap = m->cap ? m->cap * 2 : 16;
	void *p;

	if (m->nr < m->cap)
		return true;
	p = cap < SONDE_NONE ? sonde_vec_resize(owner, m->keys, cap * sizeof(*m->keys)) : NULL;
	m->keys = p ? p : m->keys;
	p = p ? sonde_vec_resize(owner, m->hashes, cap * sizeof(*m->hashes)) : NULL;
	m->hashes = p ? p : m->hashes;
	if (!p || !rehash(owner, m, cap * 2))
		return false;
	m->cap = cap;
	return true;
}

/* New keys are copied to `to`, unless it is NULL. The map's own memory belongs to the arena `owner`, unless it is NULL. */
static uint32_t add_key(struct sonde_arena *owner, struct sonde_arena *to, struct sonde_map *m,
	struct sonde_str key, bool *is_new)
{
	uint64_t hash = sonde_hash(key.p, key.n);
	uint32_t *slot;

	if (is_new)
		*is_new = false;
	if (m->nr) {
		slot = probe(m, key, hash);
		if (*slot != SONDE_NONE)
			return *slot;
	}
	if (to)
		key = sonde_arena_dup(to, key);
	if ((to && !key.p) || !grow(owner, m)) {
		if (owner)
			owner->failed = true;
		return SONDE_NONE;
	}
	slot = probe(m, key, hash);
	*slot = (uint32_t)m->nr;
	m->keys[m->nr] = key;
	m->hashes[m->nr] = hash;
	if (is_new)
		*is_new = true;
	return (uint32_t)m->nr++;
}

uint32_t sonde_map_add(struct sonde_map *m, struct sonde_str key, bool *is_new)
{
	return add_key(NULL, NULL, m, key, is_new);
}

uint32_t sonde_map_keep(
	struct sonde_map *m, struct sonde_arena *to, struct sonde_str key, bool *is_new)
{
	return add_key(NULL, to, m, key, is_new);
}

uint32_t sonde_intern(struct sonde_arena *a, struct sonde_map *m, struct sonde_str key, bool *is_new)
{
	return add_key(a, NULL, m, key, is_new);
}

uint32_t sonde_intern_copy(struct sonde_arena *a, struct sonde_map *m, struct sonde_str key, bool *is_new)
{
	return add_key(a, a, m, key, is_new);
}

void sonde_map_release(struct sonde_map *m)
{
	sonde_vec_drop(m->keys);
	sonde_vec_drop(m->hashes);
	sonde_vec_drop(m->slots);
	*m = (struct sonde_map){0};
}
