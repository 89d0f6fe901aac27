/* Reads captures that were made by hand. For tests. */
#ifndef SONDE_TESTS_NATIVE_OPEN_H
#define SONDE_TESTS_NATIVE_OPEN_H

#include "capture_make.h"
#include "read/native/native_int.h"
#include "unit.h"

#include "read_bytes.h"

#define EPOCH 1000000000000000u /* what capture_clock adds */

/* Opens the first `n` bytes of a capture as a file. NULL when they cannot be read. */
static inline struct sonde_records *open_bytes(const char *p, size_t n)
{
	struct sonde_records *r;
	struct sonde_err err;

	if (read_bytes(&r, p, n, &err))
		assert_true(r == NULL && err.code < 0 && err.msg[0]);
	return r;
}

static inline struct sonde_records *open_capture(struct capture *c)
{
	struct sonde_records *r;

	capture_block(c, SONDE_BLOCK_END, NULL, 0);
	r = open_bytes(c->file.p, c->file.n);
	capture_release(c);
	assert_non_null(r);
	return r;
}

static inline bool is(const struct sonde_records *r, uint32_t string, const char *text)
{
	return sonde_str_is(sonde_records_str(r, string), text);
}

static inline void labels(struct capture *c)
{
	capture_begin(c);
	capture_string(c, 1, SONDE_STRING_LABEL, 0, "A");
	capture_string(c, 2, SONDE_STRING_LABEL, 0, "B");
	capture_string(c, 3, SONDE_STRING_LABEL, 5, "in D");
	capture_string(c, 4, SONDE_STRING_KERNEL, 0, "_Z9gemm_tileILi2EEvPKfS1_Pfi");
	capture_string(c, 9, SONDE_STRING_DOMAIN, 5, "D");
	capture_clock(c, 0);
	capture_clock(c, 1000000000);
}

/* Two launches on one thread, a start/end range of another thread around the second. */
static inline void kernels(struct capture *c)
{
	labels(c);
	event_base(c, 1000, 0, 0);
	event(c, SONDE_EVENT_PUSH, 2, 10, 1);
	event(c, SONDE_EVENT_LAUNCH, 2, 10, 2 * 7); /* at 1020: correlation 7 */
	event(c, SONDE_EVENT_PUSH, 2, 10, 3);
	event(c, SONDE_EVENT_LAUNCH, 2, 70, 2 * 2); /* at 1100: correlation 9 */
	event(c, SONDE_EVENT_POP, 1, 10);
	capture_chunk(c, 0, 0, 77);
	event_base(c, 1000, 0, 0);
	event(c, SONDE_EVENT_START, 3, 50, 2, 1);
	event(c, SONDE_EVENT_STOP, 3, 100, 2, 1); /* stream 1 + 1, its number 1 */
	event(c, SONDE_EVENT_GPU_CLOCK, 2, 0, 501150);
	capture_chunk(c, 1, 0, 78);
	event_base(c, 1000, 0, 0);
	/* start, duration, correlation, device, context, stream; name, grid, block, registers,
	   shared memory, graph node */
	event(c, SONDE_EVENT_KERNEL, 17, 2 * 503000, 40, 9, 0, 1, 7, 4, 8, 4, 1, 16, 16, 1, 32, 64,
		128, 0);
	event(c, SONDE_EVENT_KERNEL, 17, 2 * 1000 - 1, 30, 7, 0, 1, 7, 4, 8, 1, 1, 16, 1, 1, 32, 0,
		0, 0);
	event(c, SONDE_EVENT_MEMCPY, 9, 2 * 5000, 5, 0, 0, 1, 7, 1, 4096, 0);
	capture_chunk(c, 2, 0, 79);
}

#endif
