#include "lib/pipeline.h"

const char *sonde_texts__z(struct sonde_texts *t, struct sonde_str text)
{
	uint32_t n = sonde_map_find(&t->map, text);
	struct sonde_str copy;

	if (n == SONDE_NONE) {
		copy = sonde_arena_dup(&t->arena, text);
		n = copy.p ? sonde_map_add(&t->map, copy, NULL) : SONDE_NONE;
	}
	return n == SONDE_NONE ? NULL : t->map.keys[n].p;
}

void sonde_texts__release(struct sonde_texts *t)
{
	sonde_map_release(&t->map);
	sonde_arena_release(&t->arena);
}
