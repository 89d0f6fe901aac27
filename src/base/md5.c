/* RFC 1321. Its table of sines is computed on the fly: only short names are hashed. */
#include "base/md5.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

static void add_block(uint32_t state[4], const uint8_t *block)
{
	static const uint8_t shifts[4][4] = {
		{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3], words[16];
	unsigned i;

	for (i = 0; i < 16; i++)
		words[i] = (uint32_t)block[4 * i] | (uint32_t)block[4 * i + 1] << 8 |
			   (uint32_t)block[4 * i + 2] << 16 | (uint32_t)block[4 * i + 3] << 24;
	for (i = 0; i < 64; i++) {
		const unsigned round = i / 16;
		const uint32_t mix[4] = {
			(b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d, c ^ (b | ~d)};
		const unsigned from[4] = {i, (5 * i + 1) % 16, (3 * i + 5) % 16, 7 * i % 16};
		uint32_t sum = a + mix[round] + words[from[round]] +
			       (uint32_t)(fabs(sin((double)i + 1)) * 4294967296.0);

		a = d;
		d = c;
		c = b;
		b += rotate(sum, shifts[round][i % 4]);
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
}

void sonde_md5(char out[33], struct sonde_str text)
{
	uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
	uint8_t tail[128] = {0};
	size_t whole = text.n / 64 * 64, rest = text.n - whole, i, n;

	for (i = 0; i < whole; i += 64)
		add_block(state, (const uint8_t *)text.p + i);
	if (rest)
		memcpy(tail, text.p + whole, rest);
	tail[rest] = 0x80;
	n = rest < 56 ? 64 : 128;
	for (i = 0; i < 8; i++)
		tail[n - 8 + i] = (uint8_t)((uint64_t)text.n * 8 >> (8 * i));
	for (i = 0; i < n; i += 64)
		add_block(state, tail + i);
	for (i = 0; i < 16; i++)
		snprintf(out + 2 * i, 3, "%02x", (state[i / 4] >> (8 * (i % 4))) & 0xff);
}
