/*
 * Native captures made by hand: blocks with good checksums around any events.
 *
 *     struct capture c;
 *     capture_begin(&c);
 *     capture_string(&c, 1, SONDE_STRING_LABEL, 0, "A");
 *     event_base(&c, 1000, 0, 0);            events go into the current chunk
 *     event(&c, SONDE_EVENT_PUSH, 2, 10, 1); the type, how many numbers, and the numbers
 *     capture_chunk(&c, 0, 0, 77);           stream, chunk, thread id
 *     … c.file contains the bytes
 */
#ifndef SONDE_TESTS_CAPTURE_MAKE_H
#define SONDE_TESTS_CAPTURE_MAKE_H

#include "base/str.h"
#include "format/checksum.h"
#include "format/event.h"
#include "format/varint.h"

#include <stdarg.h>
#include <string.h>

struct capture {
	struct sonde_buf file, events;
	uint32_t seq;
};

static inline void capture_begin(struct capture *c)
{
	struct sonde_capture_head h = {.magic = SONDE_CAPTURE_MAGIC,
		.version = SONDE_CAPTURE_VERSION,
		.nr_bytes = sizeof(h),
		.pid = 4711,
		.start_ns = 1700000000000000000u,
		.tick_hz = 1000000000u};

	*c = (struct capture){0};
	h.check = sonde_capture_check(&h);
	sonde_buf_add(&c->file, &h, sizeof(h));
}

static inline void capture_block(struct capture *c, unsigned type, const void *p, size_t n)
{
	struct sonde_block_head h = {.magic = SONDE_BLOCK_MAGIC,
		.type = (uint16_t)type,
		.nr_bytes = (uint32_t)n,
		.seq = c->seq++};

	h.check = sonde_block_check(&h, n ? p : "");
	sonde_buf_add(&c->file, &h, sizeof(h));
	sonde_buf_add(&c->file, p, n);
}

static inline void capture_numbers(struct sonde_buf *b, const uint64_t *v, size_t nr)
{
	uint8_t bytes[SONDE_VARINT_MAX];
	size_t i;

	for (i = 0; i < nr; i++)
		sonde_buf_add(b, bytes, (size_t)(sonde_varint_put(bytes, v[i]) - bytes));
}

static inline void capture_string(
	struct capture *c, uint64_t number, unsigned kind, unsigned domain, const char *text)
{
	struct sonde_buf b = {0};

	capture_numbers(&b, (uint64_t[]){number, kind, domain, strlen(text)}, 4);
	sonde_buf_puts(&b, text);
	capture_block(c, SONDE_BLOCK_STRINGS, b.p, b.n);
	sonde_buf_release(&b);
}

/* Ticks are nanoseconds here, and real time is a million seconds ahead. */
static inline void capture_clock(struct capture *c, uint64_t ticks)
{
	struct sonde_clock k = {ticks, ticks, ticks + 1000000000000000u};

	capture_block(c, SONDE_BLOCK_CLOCK, &k, sizeof(k));
}

static inline void event_base(struct capture *c, uint64_t ticks, uint64_t cpu_ns, uint64_t lost)
{
	sonde_buf_putc(&c->events, SONDE_EVENT_BASE);
	sonde_buf_add(&c->events, &ticks, 8);
	sonde_buf_add(&c->events, &cpu_ns, 8);
	capture_numbers(&c->events, (uint64_t[]){lost, 0}, 2);
}

/* `nr` numbers of type int follow: the ticks since the last event, then the numbers of the event. */
static inline void event(struct capture *c, unsigned type, unsigned nr, ...)
{
	va_list ap;
	uint64_t v;

	sonde_buf_putc(&c->events, (char)type);
	va_start(ap, nr);
	while (nr--) {
		v = (uint64_t)va_arg(ap, int);
		capture_numbers(&c->events, &v, 1);
	}
	va_end(ap);
}

/* Writes a piece of a chunk that begins `offset` bytes behind the start of the chunk. */
static inline void capture_piece(
	struct capture *c, uint32_t stream, uint32_t chunk, uint32_t offset, uint64_t tid)
{
	struct sonde_events e = {.tid = tid,
		.stream = stream,
		.chunk = chunk,
		.offset = offset,
		.nr_bytes = (uint32_t)c->events.n};
	struct sonde_buf b = {0};

	sonde_buf_add(&b, &e, sizeof(e));
	sonde_buf_str(&b, sonde_buf_view(&c->events));
	capture_block(c, SONDE_BLOCK_EVENTS, b.p, b.n);
	sonde_buf_clear(&c->events);
	sonde_buf_release(&b);
}

static inline void capture_chunk(struct capture *c, uint32_t stream, uint32_t chunk, uint64_t tid)
{
	capture_piece(c, stream, chunk, 0, tid);
}

static inline void capture_release(struct capture *c)
{
	sonde_buf_release(&c->file);
	sonde_buf_release(&c->events);
}

#endif
