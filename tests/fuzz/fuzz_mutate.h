/*
 * Shared by mutators that know a format: random numbers, and a change of one slice by libFuzzer's own mutator.
 * A mutator changes one part and corrects the lengths around it, so that the result can still be parsed.
 */
#ifndef SONDE_TESTS_FUZZ_MUTATE_H
#define SONDE_TESTS_FUZZ_MUTATE_H

#include "base/str.h"

#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

struct fuzz_chance {
	uint64_t state;
};

/* A number below `limit`, which is not 0. */
static inline uint64_t fuzz_below(struct fuzz_chance *c, uint64_t limit)
{
	c->state = c->state * 6364136223846793005u + 1442695040888963407u;
	return (c->state >> 33) % limit;
}

/* Appends `s`, changed and up to 64 bytes longer. */
static inline void fuzz_changed(struct sonde_buf *out, struct sonde_str s)
{
	static const char room[64];
	size_t at = out->n, n;

	sonde_buf_str(out, s);
	sonde_buf_add(out, room, sizeof(room));
	if (out->failed)
		return;
	n = LLVMFuzzerMutate((uint8_t *)out->p + at, s.n, s.n + sizeof(room));
	out->n = at + n;
}

/* Replaces the input by the new bytes, if they fit. */
static inline size_t fuzz_take(
	struct sonde_buf *made, uint8_t *data, size_t size, size_t max_size)
{
	if (!made->failed && made->n && made->n <= max_size) {
		memcpy(data, made->p, made->n);
		size = made->n;
	} else {
		size = LLVMFuzzerMutate(data, size, max_size);
	}
	sonde_buf_release(made);
	return size;
}

#endif
