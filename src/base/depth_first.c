/*
 * Each member links to its first child and its next sibling, and the walk returns upwards through the parents.
 * It needs no recursion and no stack, since a hostile file may nest as deeply as it likes.
 */
#include "base/depth_first.h"

#include "base/alloc.h"
#include "base/map.h"

static uint32_t parent_of(const uint32_t *parents, size_t stride, uint32_t i)
{
	return *(const uint32_t *)(const void *)((const char *)parents + i * stride);
}

bool sonde_depth_first(uint32_t *out, const uint32_t *order, size_t nr, const uint32_t *parents, size_t stride)
{
	uint32_t *first = sonde_malloc((2 * nr + 1) * sizeof(*first)), *next, at, parent;
	uint32_t root = SONDE_NONE;
	size_t i, n = 0;

	if (!first)
		return false;
	next = first + nr;
	for (i = 0; i < nr; i++)
		first[i] = SONDE_NONE;
	for (i = nr; i-- > 0;) { /* backwards: each member is put in front of its later siblings */
		at = order ? order[i] : (uint32_t)i;
		parent = parent_of(parents, stride, at);
		next[at] = parent == SONDE_NONE ? root : first[parent];
		*(parent == SONDE_NONE ? &root : &first[parent]) = at;
	}
	for (at = root; at != SONDE_NONE && n < nr;) {
		out[n++] = at;
		if (first[at] != SONDE_NONE) {
			at = first[at];
			continue;
		}
		while (at != SONDE_NONE && next[at] == SONDE_NONE)
			at = parent_of(parents, stride, at);
		at = at == SONDE_NONE ? SONDE_NONE : next[at];
	}
	sonde_free(first);
	return true;
}
