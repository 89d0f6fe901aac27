/*
 * SHA-256 (FIPS 180-4), for formats that require it by name. For our own
 * purposes use sonde_hash (map.h), which is a hundred times faster.
 */
#ifndef SONDE_BASE_SHA256_H
#define SONDE_BASE_SHA256_H

#include "base/str.h"

#define SONDE_SHA256_BYTES 32

struct sonde_sha256 {
	uint32_t state[8];
	uint64_t nr_bytes;
	unsigned char block[64];
};

void sonde_sha256_init(struct sonde_sha256 *h);
void sonde_sha256_add(struct sonde_sha256 *h, struct sonde_str bytes);
void sonde_sha256_end(struct sonde_sha256 *h, unsigned char out[SONDE_SHA256_BYTES]);

/* Appends bytes as base64 with padding. */
void sonde_base64(struct sonde_buf *out, const unsigned char *p, size_t n);

#endif
