#include "lib/pipeline.h"

const char *sonde_texts__z(struct sonde_texts *t, struct sonde_str text)
{
	uint32_t n = sonde_map_keep(&t->map, &t->arena, text, NULL);

	return n == SONDE_NONE ? NULL : t->map.keys[n].p;
}

void sonde_texts__release(struct sonde_texts *t)
{
	sonde_map_release(&t->map);
	sonde_arena_release(&t->arena);
}
