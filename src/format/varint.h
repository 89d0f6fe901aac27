/*
 * Numbers in few bytes: seven bits a byte, lowest first, the high bit says
 * "more follows". Signed differences go through zigzag first.
 *
 * The writer needs SONDE_VARINT_MAX bytes of room; the reader stops at `end`
 * and returns NULL for a number that is cut off or longer than 64 bits.
 */
#ifndef SONDE_FORMAT_VARINT_H
#define SONDE_FORMAT_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_VARINT_MAX 10

static inline uint8_t *sonde_varint_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

static inline uint64_t sonde_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t sonde_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static inline const uint8_t *sonde_varint_get(const uint8_t *p, const uint8_t *end, uint64_t *out)
{
	uint64_t v = 0;
	unsigned shift;

	if (p < end && *p < 0x80) { /* most numbers are small */
		*out = *p;
		return p + 1;
	}
	for (shift = 0; p < end && shift < 64; shift += 7) {
		uint8_t byte = *p++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*out = v;
			return p;
		}
	}
	return NULL;
}

#endif
