/*
 * Native captures for fuzzing, as blocks (type, two bytes of length, payload) that get right
 * checksums. The mutator changes, drops, repeats or moves one block and corrects its lengths. The first
 * byte of an input does not belong to the blocks.
 */
#ifndef SONDE_TESTS_FUZZ_NATIVE_H
#define SONDE_TESTS_FUZZ_NATIVE_H

#include "../unit/capture_make.h"
#include "fuzz_mutate.h"

/* Makes a capture from the input. The caller releases it. */
static inline void fuzz_native_capture(struct capture *c, const uint8_t *data, size_t size)
{
	size_t i, n;

	capture_begin(c);
	for (i = 1; i + 3 <= size; i += 3 + n) {
		n = (size_t)data[i + 1] | (size_t)data[i + 2] << 8;
		if (n > size - i - 3)
			n = size - i - 3;
		capture_block(c, data[i], data + i + 3, n);
	}
}

/* Takes the next block off the input; false at its end. */
static inline bool fuzz_cut_block(struct sonde_str *rest, uint8_t *type, struct sonde_str *payload)
{
	const uint8_t *p = (const uint8_t *)rest->p;
	size_t n;

	if (rest->n < 3)
		return false;
	n = (size_t)p[1] | (size_t)p[2] << 8;
	n = n < rest->n - 3 ? n : rest->n - 3;
	*type = p[0];
	*payload = (struct sonde_str){rest->p + 3, n};
	*rest = (struct sonde_str){rest->p + 3 + n, rest->n - 3 - n};
	return true;
}

static inline void fuzz_put_block(struct sonde_buf *out, uint8_t type, struct sonde_str payload)
{
	const uint8_t head[3] = {type, (uint8_t)payload.n, (uint8_t)(payload.n >> 8)};

	if (payload.n > UINT16_MAX)
		return;
	sonde_buf_add(out, head, sizeof(head));
	sonde_buf_str(out, payload);
}

/* Appends a changed block. Of a block of events, the head stays, with the new number of bytes. */
static inline void fuzz_put_changed(struct sonde_buf *out, uint8_t type, struct sonde_str payload,
	struct fuzz_chance *c)
{
	struct sonde_buf made = {0};
	struct sonde_events e;

	if (type == SONDE_BLOCK_EVENTS && payload.n > sizeof(e) && fuzz_below(c, 8)) {
		memcpy(&e, payload.p, sizeof(e));
		sonde_buf_add(&made, &e, sizeof(e));
		fuzz_changed(&made, (struct sonde_str){payload.p + sizeof(e), payload.n - sizeof(e)});
		e.nr_bytes = (uint32_t)(made.n - sizeof(e));
		if (!made.failed)
			memcpy(made.p, &e, sizeof(e));
	} else {
		fuzz_changed(&made, payload);
	}
	fuzz_put_block(out, type, sonde_buf_view(&made));
	sonde_buf_release(&made);
}

static inline size_t fuzz_native_mutate(
	uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	struct fuzz_chance c = {seed};
	struct sonde_str rest = {(const char *)data + 1, size - 1}, payload;
	struct sonde_buf out = {0}, last = {0};
	size_t nr = 0, i;
	uint64_t chosen, what;
	uint8_t type;

	fuzz_below(&c, 2);
	if (size < 4 || data[0] == 'F' || fuzz_below(&c, 10) == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	while (fuzz_cut_block(&rest, &type, &payload))
		nr++;
	chosen = fuzz_below(&c, nr);
	what = fuzz_below(&c, 16);
	sonde_buf_add(&out, data, 1);
	rest = (struct sonde_str){(const char *)data + 1, size - 1};
	for (i = 0; fuzz_cut_block(&rest, &type, &payload); i++) {
		if (i == chosen && what > 2)
			fuzz_put_changed(&out, type, payload, &c);
		else if (i != chosen || what == 1)
			fuzz_put_block(&out, type, payload);
		if (i == chosen && what && what < 3) /* repeated, or moved to the end */
			fuzz_put_block(&last, type, payload);
	}
	sonde_buf_str(&out, sonde_buf_view(&last));
	sonde_buf_release(&last);
	return fuzz_take(&out, data, size, max_size);
}

#endif
