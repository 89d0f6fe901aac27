/* FIPS 180-4, byte by byte: only the scripts and styles of a page are hashed, which are small. */
#include "base/sha256.h"

#include <string.h>

static const uint32_t constants[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b,
	0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6,
	0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d,
	0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585,
	0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa,
	0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void expand(uint32_t w[64], const unsigned char block[64])
{
	size_t i;

	for (i = 0; i < 16; i++)
		w[i] = (uint32_t)block[i * 4] << 24 | (uint32_t)block[i * 4 + 1] << 16 |
		       (uint32_t)block[i * 4 + 2] << 8 | block[i * 4 + 3];
	for (; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
}

static void compress(struct sonde_sha256 *h)
{
	uint32_t w[64], s[8];
	size_t i;

	expand(w, h->block);
	memcpy(s, h->state, sizeof(s));
	for (i = 0; i < 64; i++) {
		uint32_t one = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
			       ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];
		uint32_t two = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
			       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += one;
		s[0] = one + two;
	}
	for (i = 0; i < 8; i++)
		h->state[i] += s[i];
}

void sonde_sha256_init(struct sonde_sha256 *h)
{
	*h = (struct sonde_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sonde_sha256_add(struct sonde_sha256 *h, struct sonde_str bytes)
{
	size_t i;

	for (i = 0; i < bytes.n; i++) {
		h->block[h->nr_bytes++ % 64] = (unsigned char)bytes.p[i];
		if (h->nr_bytes % 64 == 0)
			compress(h);
	}
}

void sonde_sha256_end(struct sonde_sha256 *h, unsigned char out[SONDE_SHA256_BYTES])
{
	uint64_t bits = h->nr_bytes * 8;
	char length[8];
	size_t i;

	for (i = 0; i < 8; i++)
		length[i] = (char)(bits >> (56 - 8 * i));
	sonde_sha256_add(h, SONDE_STR("\x80"));
	while (h->nr_bytes % 64 != 56)
		sonde_sha256_add(h, SONDE_STR("\0"));
	sonde_sha256_add(h, (struct sonde_str){length, sizeof(length)});
	for (i = 0; i < SONDE_SHA256_BYTES; i++)
		out[i] = (unsigned char)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sonde_base64(struct sonde_buf *out, const unsigned char *p, size_t n)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t i;

	for (i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < n ? p[i + 2] : 0);

		sonde_buf_putc(out, letters[v >> 18]);
		sonde_buf_putc(out, letters[v >> 12 & 63]);
		sonde_buf_putc(out, i + 1 < n ? letters[v >> 6 & 63] : '=');
		sonde_buf_putc(out, i + 2 < n ? letters[v & 63] : '=');
	}
}
