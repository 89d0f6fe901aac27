/*
 * The checksums of captures: XXH3, compiled in. The code is large: include this
 * header in one .c file of a room only. sonde_rolled_next is here because it
 * checks blocks.
 */
#ifndef SONDE_FORMAT_CHECKSUM_H
#define SONDE_FORMAT_CHECKSUM_H

#include "format/capture.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
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

/* Whether the `n` bytes at `p` begin with a whole, undamaged block; fills in its head. */
static inline bool sonde_block_is_at(const uint8_t *p, size_t n, struct sonde_block_head *h)
{
	if (n < sizeof(*h))
		return false;
	memcpy(h, p, sizeof(*h));
	return h->magic == SONDE_BLOCK_MAGIC && !h->reserved0 && !h->reserved1 && h->nr_bytes <= SONDE_BLOCK_LIMIT &&
	       h->nr_bytes <= n - sizeof(*h) && sonde_block_check(h, p + sizeof(*h)) == h->check;
}

/*
 * The number of the first further file that still exists after folding, read from the `n` bytes of the capture's first
 * file; 0 = no file was folded.
 */
static inline uint32_t sonde_rolled_next(const char *data, size_t n)
{
	const uint8_t *p = (const uint8_t *)data, *end = p + n;
	struct sonde_capture_head head;
	struct sonde_block_head h;
	struct sonde_rolled rolled = {0};
	unsigned i;

	if (n < sizeof(head))
		return 0;
	memcpy(&head, p, sizeof(head));
	p += head.nr_bytes < n ? head.nr_bytes : n;
	for (i = 0; i < 2 && sonde_block_is_at(p, (size_t)(end - p), &h); i++, p += sizeof(h) + h.nr_bytes)
		if (h.type == SONDE_BLOCK_ROLLED && h.nr_bytes >= sizeof(rolled.next))
			memcpy(&rolled.next, p + sizeof(h), sizeof(rolled.next));
	return rolled.next;
}

#endif
