/*
 * The checksum of a block: XXH3, compiled in. Include it in one .c file of a
 * room, it is large.
 */
#ifndef SONDE_FORMAT_CHECK_H
#define SONDE_FORMAT_CHECK_H

#include "format/capture.h"

#include <stddef.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t sonde_capture_check(const struct sonde_capture_head *h)
{
	return XXH3_64bits(h, offsetof(struct sonde_capture_head, check));
}

static inline uint64_t sonde_block_check(const struct sonde_block_head *h, const void *payload)
{
	uint64_t seed = XXH3_64bits(h, offsetof(struct sonde_block_head, check));

	return XXH3_64bits_withSeed(payload, h->nr_bytes, seed);
}

#endif
