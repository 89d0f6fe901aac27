/*
 * Makes captures of many ranks from a real one:
 *
 *     capture_many IN.sonde DIR N [EVENTS]
 *
 * Writes N captures DIR/rank00000.sonde … with at most EVENTS events each (5000): later events
 * are left out. Each has another rank, host (eight ranks per host), process and device, begins
 * slightly later, and its kernels are a few percent faster or slower than those of IN.
 */
#include "base/file.h"
#include "base/vec.h"
#include "format/checksum.h"
#include "format/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct block {
	struct sonde_block_head head;
	const uint8_t *payload;
};

/* How far the chunk of a stream has been read from IN and written. */
struct chunk {
	uint32_t stream, chunk, offset;
	struct sonde_event_base in, out;
	uint64_t nr_skipped; /* pushes left out and still open */
};

static struct sonde_capture_head head;
static SONDE_VEC(struct block) blocks;
static SONDE_VEC(struct chunk) chunks;
static uint64_t cut_ticks = UINT64_MAX; /* later events are left out … */
static uint32_t last_correlation;	/* … and the work of later launches */
static uint64_t nr_events;

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "capture_many: %s\n", why);
	exit(1);
}

static void load(struct sonde_str bytes)
{
	size_t at;

	if (bytes.n < sizeof(head) || !sonde_str_starts(bytes, SONDE_CAPTURE_MAGIC))
		die("the input is no native capture");
	memcpy(&head, bytes.p, sizeof(head));
	for (at = head.nr_bytes; at + sizeof(struct sonde_block_head) <= bytes.n;) {
		struct block *b = sonde_vec_push(&blocks);

		if (!b)
			die("out of memory");
		memcpy(&b->head, bytes.p + at, sizeof(b->head));
		b->payload = (const uint8_t *)bytes.p + at + sizeof(b->head);
		at += sizeof(b->head) + b->head.nr_bytes;
		if (b->head.magic != SONDE_BLOCK_MAGIC || at > bytes.n)
			die("the input is damaged");
	}
}

static struct chunk *chunk_of(const struct sonde_events *e)
{
	struct chunk *c;
	size_t i;

	for (i = 0; i < chunks.nr; i++)
		if (chunks.at[i].stream == e->stream && chunks.at[i].chunk == e->chunk)
			return &chunks.at[i];
	c = sonde_vec_push(&chunks);
	if (!c)
		die("out of memory");
	c->stream = e->stream;
	c->chunk = e->chunk;
	return c;
}

/* Noise that depends only on the rank and the number, so that it is the same on every machine. */
static double vary(uint64_t rank, uint64_t number)
{
	uint64_t key[2] = {rank, number};

	return (double)(XXH3_64bits(key, sizeof(key)) >> 11) / (double)(1ull << 53) * 2 - 1;
}

/* Whether an event is among the first EVENTS. Ranges that begin before the cut also end. */
static bool is_kept(struct chunk *c, const struct sonde_event *e)
{
	if (sonde_event_is_of_gpu(e->type) && e->type != SONDE_EVENT_OVERHEAD)
		return e->field[SONDE_GPU_CORRELATION] <= last_correlation;
	if (e->ticks <= cut_ticks || e->type > SONDE_EVENT_CALL)
		return true;
	if (e->type == SONDE_EVENT_PUSH)
		c->nr_skipped++;
	if (e->type != SONDE_EVENT_POP)
		return false;
	if (c->nr_skipped == 0)
		return true;
	c->nr_skipped--;
	return false;
}

/* Changes what differs between ranks: the times of kernels, and the device. */
static void change(struct sonde_event *e, uint64_t rank, uint64_t number)
{
	if (e->type != SONDE_EVENT_KERNEL)
		return;
	e->field[SONDE_GPU_DURATION] = (uint64_t)((double)e->field[SONDE_GPU_DURATION] *
						  (1 + 0.02 * vary(rank, 0) + 0.01 * vary(rank, number)));
}

/* Copies the first event of a chunk, with the ranges that are open then. */
static const uint8_t *copy_base(struct chunk *c, const uint8_t *p, const uint8_t *end, struct sonde_buf *out)
{
	const uint8_t *at = p;
	uint64_t nr_lost, nr_open, label, domain;

	at = sonde_base_get(at, end, &c->in, &nr_lost, &nr_open);
	for (; at && nr_open; nr_open--)
		at = sonde_open_get(at, end, &label, &domain);
	if (!at)
		die("the input is damaged");
	c->out = c->in;
	sonde_buf_add(out, p, (size_t)(at - p));
	return at;
}

static void copy_events(struct sonde_buf *out, const struct block *b, uint64_t rank)
{
	const uint8_t *p = b->payload, *end = p + b->head.nr_bytes;
	uint8_t bytes[SONDE_EVENT_LIMIT];
	struct sonde_events e;
	struct sonde_event event;
	struct chunk *c;

	memcpy(&e, p, sizeof(e));
	p += sizeof(e);
	c = chunk_of(&e);
	sonde_buf_add(out, &e, sizeof(e));
	if (*p == SONDE_EVENT_BASE)
		p = copy_base(c, p, end, out);
	while (p < end) {
		p = sonde_event_get(p, end, &c->in, &event);
		if (!p)
			die("the input is damaged");
		if (!is_kept(c, &event))
			continue;
		change(&event, rank, ++nr_events);
		sonde_buf_add(out, bytes,
			(size_t)(sonde_event_put(bytes, &c->out, &event) - bytes));
	}
	e.offset = c->offset;
	e.nr_bytes = (uint32_t)(out->n - sizeof(e));
	c->offset += e.nr_bytes;
	memcpy(out->p, &e, sizeof(e));
}

static void copy_meta(struct sonde_buf *out, const struct block *b, uint64_t rank, uint64_t nr)
{
	struct sonde_str text = {(const char *)b->payload, b->head.nr_bytes};

	while (text.n) {
		struct sonde_str line = sonde_str_cut(text, '\n', &text);

		if (sonde_str_starts(line, "host=") || sonde_str_starts(line, "pid=") ||
			sonde_str_starts(line, "rank"))
			continue;
		sonde_buf_str(out, line);
		sonde_buf_putc(out, '\n');
	}
	sonde_buf_printf(out, "host=node%04" PRIu64 "\npid=%" PRIu64 "\nrank=%" PRIu64 "\nranks=%" PRIu64 "\n",
		rank / 8, 1000 + rank, rank, nr);
}

static void copy_block(struct sonde_buf *out, const struct block *b, uint64_t rank, uint64_t nr)
{
	sonde_buf_clear(out);
	if (b->head.type == SONDE_BLOCK_META)
		copy_meta(out, b, rank, nr);
	else if (b->head.type == SONDE_BLOCK_EVENTS)
		copy_events(out, b, rank);
	else
		sonde_buf_add(out, b->payload, b->head.nr_bytes);
	if (b->head.type == SONDE_BLOCK_CLOCK && out->n >= sizeof(struct sonde_clock)) {
		struct sonde_clock clock;

		memcpy(&clock, out->p, sizeof(clock));
		clock.real_ns += rank % 1000 * 50000;
		memcpy(out->p, &clock, sizeof(clock));
	}
	if (out->failed)
		die("out of memory");
}

/* With `to` NULL only counts events. */
static void write_rank(FILE *to, uint64_t rank, uint64_t nr)
{
	struct sonde_capture_head h = head;
	struct sonde_buf out = {0};
	size_t i;

	h.pid = 1000 + rank;
	h.start_ns += rank % 1000 * 50000;
	h.nr_bytes = sizeof(h);
	h.check = sonde_capture_check(&h);
	chunks.nr = 0;
	nr_events = 0;
	if (to)
		fwrite(&h, sizeof(h), 1, to);
	for (i = 0; i < blocks.nr; i++) {
		struct sonde_block_head b = blocks.at[i].head;

		copy_block(&out, &blocks.at[i], rank, nr);
		b.nr_bytes = (uint32_t)out.n;
		b.check = sonde_block_check(&b, out.p);
		if (to && (fwrite(&b, sizeof(b), 1, to) != 1 || fwrite(out.p, 1, out.n, to) != out.n))
			die("cannot write");
	}
	sonde_buf_release(&out);
}

/* Finds the first and the last time of host events, and the launches up to `until`. */
static void survey(uint64_t *first, uint64_t *last, uint64_t until)
{
	size_t i;

	chunks.nr = 0;
	last_correlation = 0;
	for (i = 0; i < blocks.nr; i++) {
		const uint8_t *p = blocks.at[i].payload + sizeof(struct sonde_events);
		const uint8_t *end = blocks.at[i].payload + blocks.at[i].head.nr_bytes;
		struct sonde_buf none = {0};
		struct sonde_events e;
		struct sonde_event event;
		struct chunk *c;

		if (blocks.at[i].head.type != SONDE_BLOCK_EVENTS)
			continue;
		memcpy(&e, blocks.at[i].payload, sizeof(e));
		c = chunk_of(&e);
		if (*p == SONDE_EVENT_BASE)
			p = copy_base(c, p, end, &none);
		while (p < end && (p = sonde_event_get(p, end, &c->in, &event))) {
			if (event.type > SONDE_EVENT_CALL)
				continue;
			*first = event.ticks < *first ? event.ticks : *first;
			*last = event.ticks > *last ? event.ticks : *last;
			if (event.type == SONDE_EVENT_LAUNCH && event.ticks <= until &&
				event.field[0] > last_correlation)
				last_correlation = (uint32_t)event.field[0];
		}
		sonde_buf_release(&none);
	}
}

/* Finds the last time before which there are at most `most` events. */
static void find_cut(uint64_t most)
{
	uint64_t low = UINT64_MAX, high = 0, mid;
	int i;

	survey(&low, &high, UINT64_MAX);
	write_rank(NULL, 0, 1);
	if (nr_events <= most)
		return;
	for (i = 0; i < 40; i++) {
		mid = low + (high - low) / 2;
		cut_ticks = mid;
		survey(&(uint64_t){UINT64_MAX}, &(uint64_t){0}, mid);
		write_rank(NULL, 0, 1);
		if (nr_events <= most)
			low = mid;
		else
			high = mid;
	}
	cut_ticks = low;
	survey(&(uint64_t){UINT64_MAX}, &(uint64_t){0}, low);
}

int main(int argc, char **argv)
{
	struct sonde_mapping in;
	struct sonde_err err = {0};
	uint64_t nr, rank;
	char path[4096];

	if (argc < 4 || !(nr = strtoull(argv[3], NULL, 10)))
		die("usage: capture_many IN.sonde DIR N [EVENTS]");
	if (sonde_mapping_open(&in, argv[1], &err) || sonde_dir_make(argv[2], &err))
		die(err.msg);
	load(in.data);
	find_cut(argc > 4 ? strtoull(argv[4], NULL, 10) : 5000);
	for (rank = 0; rank < nr; rank++) {
		FILE *to;

		snprintf(path, sizeof(path), "%s/rank%05" PRIu64 ".sonde", argv[2], rank);
		to = fopen(path, "wb");
		if (!to)
			die("cannot write");
		write_rank(to, rank, nr);
		if (fclose(to) != 0)
			die("cannot write");
	}
	printf("%" PRIu64 " captures of %" PRIu64 " events\n", nr, nr_events);
	sonde_mapping_release(&in);
	return 0;
}
