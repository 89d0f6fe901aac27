/*
 * Numbers that were looked up just now. Programs enter the same few ranges again
 * and again, and comparing five words is several times quicker than asking a map.
 */
#ifndef SONDE_ATTRIBUTE_RECENT_INT_H
#define SONDE_ATTRIBUTE_RECENT_INT_H

#include <stdint.h>
#include <string.h>

#define SONDE_RECENT_WORDS 5

/* All zero to begin with. */
struct sonde_recent {
	struct {
		uint32_t key[SONDE_RECENT_WORDS];
		uint32_t number; /* plus one; 0 = not known */
	} at[256];
};

/* Where the number of a key is kept, plus one; 0 there: it is for the caller to find out. */
static inline uint32_t *sonde_recent__of(struct sonde_recent *r, const uint32_t *key)
{
	uint32_t hash = 0, i;

	for (i = 0; i < SONDE_RECENT_WORDS; i++)
		hash = (hash ^ key[i]) * 0x9e3779b1u;
	i = hash >> 24;
	if (memcmp(r->at[i].key, key, sizeof(r->at[i].key)) != 0) {
		memcpy(r->at[i].key, key, sizeof(r->at[i].key));
		r->at[i].number = 0;
	}
	return &r->at[i].number;
}

#endif
