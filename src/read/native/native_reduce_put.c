/*
 * Writing what must stay of files that were folded: chunks, clocks, windows; ends of allocations whose free
 * is in a chunk that goes; and behind them what the files came to.
 */
#include "base/alloc.h"
#include "base/bisect.h"
#include "format/check.h"
#include "read/native/native_reduce_int.h"
#include "read/rolled.h"

#include <string.h>

#define END_BYTES  32768u     /* of a chunk with ends that are written again … */
#define END_STREAM UINT32_MAX /* … in this stream, which is no thread's */

static void put(struct reducing *x, unsigned type, const void *a, size_t nr_a, const void *b, size_t nr_b)
{
	struct sonde_block_head h = {.magic = SONDE_BLOCK_MAGIC,
		.type = (uint16_t)type,
		.nr_bytes = (uint32_t)(nr_a + nr_b),
		.seq = x->seq++};
	size_t at = x->out->n;

	sonde_buf_add(x->out, &h, sizeof(h));
	sonde_buf_add(x->out, a, nr_a);
	sonde_buf_add(x->out, b, nr_b);
	if (x->out->failed)
		return;
	h.check = sonde_block_check(&h, x->out->p + at + sizeof(h));
	memcpy(x->out->p + at, &h, sizeof(h));
}

/* A chunk is kept whole, or not at all; of ends that were written again others are made. */
static void keep_chunks(struct reducing *x)
{
	const struct native_piece *at = x->n->pieces.at;
	bool *kept = x->n->kept;
	size_t i, end;

	for (i = 0; i < x->n->pieces.nr; i = end) {
		bool is_one = false;

		for (end = i; end < x->n->pieces.nr && at[end].stream == at[i].stream &&
			      at[end].chunk == at[i].chunk;
			end++)
			is_one |= kept[end];
		memset(&kept[i], is_one && at[i].stream != END_STREAM, end - i);
	}
}

/* Each byte once: the next one goes on where a chunk ended. */
static void put_chunks(struct reducing *x)
{
	const struct native *n = x->n;
	const struct native_piece *at = n->pieces.at;
	uint32_t offset = 0;
	size_t i;

	for (i = 0; i < n->pieces.nr; i++) {
		uint32_t skip;
		struct sonde_events head;

		if (!i || at[i].stream != at[i - 1].stream || at[i].chunk != at[i - 1].chunk)
			offset = 0;
		skip = at[i].offset < offset ? offset - at[i].offset : 0;
		if (!n->kept[i] || skip >= at[i].nr_bytes)
			continue;
		head = (struct sonde_events){at[i].tid, at[i].stream, at[i].chunk, at[i].offset + skip,
			at[i].nr_bytes - skip};
		put(x, SONDE_BLOCK_EVENTS, &head, sizeof(head), at[i].data + skip, head.nr_bytes);
		offset = head.offset + head.nr_bytes;
	}
}

/* That what is kept of an allocation has ended, by an operation which is not: a free of no call. */
static uint8_t *put_end(const struct reducing *x, uint8_t *p, struct sonde_event_base *base, uint32_t number)
{
	const struct native_memory *by = &x->n->memory.at[x->ends[number]];
	struct sonde_event e;

	if (!sonde_native__event(x->n->src, x->n->memory.at[number].at, &e))
		return p;
	e.field[SONDE_GPU_START] = by->start_ns;
	e.field[SONDE_GPU_CORRELATION] = 0;
	e.field[SONDE_MEMORY_OPERATION] = SONDE_MEMORY_FREE;
	return sonde_event_put(p, base, &e);
}

/* What was gathered from `from` to `p`, as the next chunk. */
static void put_end_chunk(struct reducing *x, struct sonde_events *head, const uint8_t *from, const uint8_t *p)
{
	head->nr_bytes = (uint32_t)(p - from);
	if (head->nr_bytes)
		put(x, SONDE_BLOCK_EVENTS, head, sizeof(*head), from, head->nr_bytes);
	head->chunk++;
}

static void put_ends(struct reducing *x)
{
	const struct native *n = x->n;
	struct sonde_events head = {.tid = n->head.pid, .stream = END_STREAM};
	uint8_t *bytes = sonde_malloc(END_BYTES + SONDE_EVENT_LIMIT), *p = bytes;
	struct sonde_event_base base;
	size_t i;

	x->no_memory |= !bytes;
	for (i = 0; i < n->memory.nr && !x->no_memory; i++) {
		if (n->memory.at[i].memory.is_free || x->ends[i] == SONDE_NONE || !*sonde_reducing__kept(x, n->memory.at[i].at) ||
			*sonde_reducing__kept(x, n->memory.at[x->ends[i]].at))
			continue;
		if (p == bytes) {
			base = (struct sonde_event_base){0};
			p = sonde_base_put(p, &base, 0, 0);
		}
		p = put_end(x, p, &base, (uint32_t)i);
		if ((size_t)(p - bytes) < END_BYTES)
			continue;
		put_end_chunk(x, &head, bytes, p);
		p = bytes;
	}
	put_end_chunk(x, &head, bytes, p);
	sonde_free(bytes);
}

/* The clocks on both sides of a moment, the first and the last ones. */
static bool is_needed(const struct reducing *x, size_t point)
{
	const struct native_point *p = x->n->host.points.at;
	size_t nr = x->n->host.points.nr, low = 0;

	if (!point || point + 3 >= nr)
		return true;
	sonde_bisect(low, x->moments.nr, mid, x->moments.at[mid].key < p[point - 1].to_ns);
	return low < x->moments.nr && x->moments.at[low].key <= p[point + 1].to_ns;
}

static void put_other(void *of, const struct sonde_block_head *h, const uint8_t *p)
{
	struct reducing *x = of;
	const struct native_clock *host = &x->n->host;
	struct sonde_clock c;
	size_t low = 0;

	if (h->type == SONDE_BLOCK_WINDOW)
		put(x, h->type, p, h->nr_bytes, NULL, 0);
	if (h->type != SONDE_BLOCK_CLOCK || h->nr_bytes < sizeof(c))
		return;
	memcpy(&c, p, sizeof(c));
	sonde_bisect(low, host->points.nr, mid, host->points.at[mid].from < c.ticks);
	if (low < host->points.nr && host->points.at[low].from == c.ticks && is_needed(x, low))
		put(x, h->type, p, h->nr_bytes, NULL, 0);
}

void sonde_reducing__write(struct reducing *x)
{
	const struct native *n = x->n;
	/* All that was read is gone from then on; a first file of what was left counts for none. */
	struct sonde_rolled rolled = {
		.next = n->rolled.next + n->r->options.nr_files - (n->rolled.next > 0)};

	keep_chunks(x);
	sonde_buf_add(x->out, &n->head, sizeof(n->head));
	put(x, SONDE_BLOCK_META, n->meta.p, n->meta.n, NULL, 0);
	put(x, SONDE_BLOCK_ROLLED, &rolled, sizeof(rolled), NULL, 0);
	sonde_native__each_block(n, put_other, x);
	put_chunks(x);
	put_ends(x);
}

int sonde_capture_complete(struct sonde_buf *file, const uint64_t *counts, size_t nr,
	struct sonde_str cells, struct sonde_err *err)
{
	struct reducing x = {.out = file};
	struct sonde_block_head h;
	struct sonde_rolled rolled;
	size_t at = sizeof(struct sonde_capture_head), more;

	memcpy(&h, file->p + at, sizeof(h)); /* META; ROLLED is behind it */
	at += sizeof(h) + h.nr_bytes;
	memcpy(&h, file->p + at, sizeof(h));
	memcpy(&rolled, file->p + at + sizeof(h), sizeof(rolled));
	rolled.nr_counts = (uint32_t)nr;
	memcpy(rolled.counts, counts, nr * sizeof(*counts));
	memcpy(file->p + at + sizeof(h), &rolled, sizeof(rolled));
	h.check = sonde_block_check(&h, file->p + at + sizeof(h));
	memcpy(file->p + at, &h, sizeof(h));
	for (; at < file->n; at += sizeof(h) + h.nr_bytes, x.seq++)
		memcpy(&h, file->p + at, sizeof(h));
	x.seq++; /* META, which was not counted */
	for (at = 0; at < cells.n; at += more) {
		more = cells.n - at < SONDE_BLOCK_LIMIT ? cells.n - at : SONDE_BLOCK_LIMIT;
		put(&x, SONDE_BLOCK_CELLS, cells.p + at, more, NULL, 0);
	}
	return file->failed ? sonde_err_nomem(err) : 0;
}
