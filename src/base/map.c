/*
 * Open addressing over numbers. Keys and hashes are arrays by number, in order of insertion:
 * walking a map is walking an array, and growing it compares no keys.
 */
#include "base/map.h"

#include "base/alloc.h"

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

static bool rehash(struct sonde_map *m, size_t nr_slots)
{
	uint32_t *slots = sonde_malloc(nr_slots * sizeof(*slots));
	size_t n, i;

	if (!slots)
		return false;
	memset(slots, 0xff, nr_slots * sizeof(*slots));
	for (n = 0; n < m->nr; n++) {
		for (i = m->hashes[n] & (nr_slots - 1); slots[i] != SONDE_NONE;)
			i = (i + 1) & (nr_slots - 1);
		slots[i] = (uint32_t)n;
	}
	sonde_free(m->slots);
	m->slots = slots;
	m->nr_slots = nr_slots;
	return true;
}

static bool grow(struct sonde_map *m)
{
	size_t cap = m->cap ? m->cap * 2 : 16;
	struct sonde_str *keys;
	uint64_t *hashes;

	if (m->nr < m->cap)
		return true;
	if (cap >= SONDE_NONE)
		return false;
	keys = sonde_realloc(m->keys, cap * sizeof(*keys));
	if (!keys)
		return false;
	m->keys = keys;
	hashes = sonde_realloc(m->hashes, cap * sizeof(*hashes));
	if (!hashes)
		return false;
	m->hashes = hashes;
	if (!rehash(m, cap * 2))
		return false;
	m->cap = cap;
	return true;
}

uint32_t sonde_map_keep(
	struct sonde_map *m, struct sonde_arena *to, struct sonde_str key, bool *is_new)
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
	if ((to && !key.p) || !grow(m))
		return SONDE_NONE;
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
	return sonde_map_keep(m, NULL, key, is_new);
}

void sonde_map_release(struct sonde_map *m)
{
	sonde_free(m->keys);
	sonde_free(m->hashes);
	sonde_free(m->slots);
	*m = (struct sonde_map){0};
}
