/* Small captures that contain very many of one thing, to find work that grows faster than the file. For tests. */
#ifndef SONDE_TESTS_NATIVE_HOSTILE_H
#define SONDE_TESTS_NATIVE_HOSTILE_H

#include "capture_make.h"

static inline void capture_finish(struct capture *c, struct sonde_buf *file)
{
	capture_chunk(c, 0, 0, 77);
	*file = c->file;
	sonde_buf_release(&c->events);
}

/* Heads of large blocks, one inside the other, without any valid block. */
static void many_false_blocks(struct sonde_buf *file, uint32_t n)
{
	struct sonde_block_head h = {.magic = SONDE_BLOCK_MAGIC};
	struct capture c;

	capture_begin(&c);
	n *= 10;
	h.nr_bytes = n * 12 < SONDE_BLOCK_LIMIT ? n * 12 : SONDE_BLOCK_LIMIT;
	for (; n; n--)
		sonde_buf_add(&c.file, &h, offsetof(struct sonde_block_head, check));
	*file = c.file;
}

/* A stack as deep as there are pushes. */
static void many_open(struct sonde_buf *file, uint32_t n)
{
	struct capture c;

	capture_begin(&c);
	capture_string(&c, 1, SONDE_STRING_LABEL, 0, "x");
	event_base(&c, 1000, 0, 0);
	for (; n; n--)
		event(&c, SONDE_EVENT_PUSH, 2, 1, 1);
	capture_finish(&c, file);
}

/* Numbers of start/end ranges that collide if a hash only multiplies them. */
static void many_like_numbers(struct sonde_buf *file, uint32_t n)
{
	static uint32_t ids[20000];
	struct capture c;
	uint32_t group, nr = 0, i;

	for (group = 0; nr + 8 <= n; group++) {
		uint64_t key = 1u << 29 | group; /* of eight ids of stream 0 */

		for (i = 0; i < 8 && !(key * 0x9e3779b97f4a7c15u >> 24 & 0x3fff); i++)
			ids[nr++] = group << 3 | i;
	}
	capture_begin(&c);
	capture_string(&c, 1, SONDE_STRING_LABEL, 0, "x");
	event_base(&c, 1000, 0, 0);
	for (i = 0; i < nr; i++)
		event(&c, SONDE_EVENT_START, 3, 1, 1, ids[i]);
	for (i = nr; i--;)
		event(&c, SONDE_EVENT_STOP, 3, 1, 1, ids[i]);
	capture_finish(&c, file);
}

/* Start/end ranges that are all open at the same time, then a launch, then they end, the last one first. */
static void many_ended(struct sonde_buf *file, uint32_t n)
{
	struct capture c;
	uint32_t i;

	capture_begin(&c);
	capture_string(&c, 1, SONDE_STRING_LABEL, 0, "x");
	event_base(&c, 1000, 0, 0);
	n *= 4;
	for (i = 1; i <= n; i++)
		event(&c, SONDE_EVENT_START, 3, 1, 1, i);
	event(&c, SONDE_EVENT_LAUNCH, 2, 1, 2 * 5);
	for (i = n; i; i--)
		event(&c, SONDE_EVENT_STOP, 3, 1, 1, i);
	event(&c, SONDE_EVENT_LAUNCH, 2, 1, 2 * 1);
	capture_finish(&c, file);
}

static const struct {
	const char *name;
	void (*make)(struct sonde_buf *file, uint32_t n);
} native_hostile[] = {
	{"false blocks", many_false_blocks},
	{"open ranges", many_open},
	{"numbers alike", many_like_numbers},
	{"ends of start/end ranges", many_ended},
};
#define NR_NATIVE_HOSTILE (sizeof(native_hostile) / sizeof(native_hostile[0]))

#endif
