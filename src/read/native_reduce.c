/*
 * What must stay of files whose launches were folded, so that those behind them are understood: chunks
 * with devices and nodes of graphs, with the beginnings of ranges that are open at the cut and the last
 * work of each, with launches whose work is still to come, with memory that is still allocated, and the
 * clocks around these moments. Chunks stay as they are: what else is in them is read again with each of
 * the files before and behind, and goes out as a difference (fold/rolling.c).
 */
#include "base/alloc.h"
#include "base/bisect.h"
#include "format/check.h"
#include "read/native_int.h"
#include "read/rolled.h"

#include <string.h>

#define AWAITED_NS 60000000000u /* how long the work of a launch is waited for */

struct reducing {
	struct native *n;
	struct sonde_buf *out;
	uint32_t seq;
	struct sonde_keyed *by_place; /* pieces, by where they are */
	SONDE_VEC(struct sonde_keyed) moments; /* whose clocks are to be kept */
	bool no_memory;
};

bool sonde_native__is_lasting(unsigned type)
{
	return type == SONDE_EVENT_NODE || type == SONDE_EVENT_NODE_COPY ||
	       type == SONDE_EVENT_DEVICE || type == SONDE_EVENT_ATTRIBUTE ||
	       type == SONDE_EVENT_UUID;
}

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

/* --- which chunks -------------------------------------------------------------------------------- */

static void keep_moment(struct reducing *x, uint64_t ns)
{
	struct sonde_keyed *m = sonde_vec_push(&x->moments);

	x->no_memory |= !m;
	if (m)
		*m = (struct sonde_keyed){ns, 0};
}

static void keep_launch(struct reducing *x, uint32_t launch)
{
	const struct native_launch *l = &x->n->launches.at[launch];

	x->n->kept[l->piece] = true;
	keep_moment(x, l->ns);
}

/* The piece with the event at this offset. */
static void keep_event(struct reducing *x, uint64_t at)
{
	size_t low = 0;

	sonde_bisect(low, x->n->pieces.nr, mid, x->by_place[mid].key <= at);
	if (low)
		x->n->kept[x->by_place[low - 1].index] = true;
}

static bool find_places(struct reducing *x)
{
	const struct native *n = x->n;
	size_t i;

	x->by_place = sonde_malloc((n->pieces.nr + 1) * sizeof(*x->by_place));
	for (i = 0; x->by_place && i < n->pieces.nr; i++)
		x->by_place[i] = (struct sonde_keyed){
			(uint64_t)(n->pieces.at[i].data - (const uint8_t *)n->src->file.data.p),
			(uint32_t)i};
	return x->by_place && sonde_keysort(x->by_place, n->pieces.nr);
}

static bool is_open(const struct native *n, uint32_t range)
{
	return !n->r->ranges.at[range].time.end_ns;
}

/* Ranges that are open, and the work that ended last in each. */
static void keep_open(struct reducing *x)
{
	struct native *n = x->n;
	const struct sonde_records *r = n->r;
	size_t nr = r->ranges.nr - n->first_range, i;
	uint32_t *last = sonde_malloc((nr + 1) * sizeof(*last)), k, range;

	x->no_memory |= !last || n->piece_of.nr < nr;
	for (i = 0; i < nr && !x->no_memory; i++) {
		last[i] = SONDE_NONE;
		if (!is_open(n, n->first_range + (uint32_t)i))
			continue;
		n->kept[n->piece_of.at[i]] = true;
		keep_moment(x, r->ranges.at[n->first_range + i].time.begin_ns);
	}
	for (i = n->first_record; i < r->records.nr && !x->no_memory; i++) {
		const struct sonde_set *set = &r->sets.at[r->records.at[i].open];

		for (k = 0; k < set->nr; k++)
			for (range = r->members.at[set->first + k]; range != SONDE_NONE;
				range = r->ranges.at[range].parent) {
				uint32_t *to = &last[range - n->first_range];

				if (is_open(n, range) &&
					(*to == SONDE_NONE || r->records.at[i].time.end_ns >=
									r->records.at[*to].time.end_ns))
					*to = (uint32_t)i;
			}
	}
	for (i = 0; i < nr && !x->no_memory; i++) {
		if (last[i] == SONDE_NONE)
			continue;
		keep_event(x, r->records.at[last[i]].payload);
		if (r->records.at[last[i]].call != SONDE_NONE)
			keep_launch(x, r->records.at[last[i]].call);
	}
	sonde_free(last);
}

/* Launches whose work is not there; of long ago there will be none any more. */
static void keep_awaited(struct reducing *x)
{
	struct native *n = x->n;
	bool *has_work = sonde_native__have_work(n);
	uint64_t last_ns = 0;
	size_t i;

	x->no_memory |= !has_work;
	for (i = 0; i < n->launches.nr; i++)
		last_ns = n->launches.at[i].ns > last_ns ? n->launches.at[i].ns : last_ns;
	for (i = 0; i < n->launches.nr && has_work; i++)
		if (!has_work[i] && last_ns - n->launches.at[i].ns < AWAITED_NS)
			keep_launch(x, (uint32_t)i);
	sonde_free(has_work);
}

/* Memory that is allocated, with the calls that did it. */
static void keep_memory(struct reducing *x)
{
	struct native *n = x->n;
	struct sonde_map live = {0};
	SONDE_VEC(uint32_t) last = {0}; /* by number in `live`; SONDE_NONE = freed */
	size_t i;

	for (i = 0; i < n->memory.nr && !x->no_memory; i++) {
		const struct sonde_memory *m = &n->memory.at[i].memory;
		uint32_t number, *slot;
		bool is_new;

		number = sonde_map_keep(&live, &n->r->arena, SONDE_BYTES(m->address), &is_new);
		slot = number == SONDE_NONE ? NULL : is_new ? sonde_vec_push(&last) : &last.at[number];
		x->no_memory |= !slot;
		if (slot)
			*slot = m->is_free ? SONDE_NONE : (uint32_t)i;
	}
	for (i = 0; i < last.nr && !x->no_memory; i++) {
		if (last.at[i] == SONDE_NONE)
			continue;
		keep_event(x, n->memory.at[last.at[i]].at);
		if (n->memory.at[last.at[i]].launch != SONDE_NONE)
			keep_launch(x, n->memory.at[last.at[i]].launch);
	}
	sonde_vec_release(&last);
	sonde_map_release(&live);
}

/* --- writing them -------------------------------------------------------------------------------- */

/* Chunks with a piece that is kept, whole, each byte once: the next one goes on where a chunk ended. */
static void put_chunks(struct reducing *x)
{
	const struct native *n = x->n;
	const struct native_piece *at = n->pieces.at;
	size_t i, end;

	for (i = 0; i < n->pieces.nr; i = end) {
		uint32_t offset = 0;
		bool is_kept = false;

		for (end = i; end < n->pieces.nr && at[end].stream == at[i].stream &&
			      at[end].chunk == at[i].chunk;
			end++)
			is_kept |= n->kept[end];
		for (; is_kept && i < end; i++) {
			uint32_t skip = at[i].offset < offset ? offset - at[i].offset : 0;
			struct sonde_events head = {at[i].tid, at[i].stream, at[i].chunk,
				at[i].offset + skip, at[i].nr_bytes - skip};

			if (skip >= at[i].nr_bytes)
				continue;
			put(x, SONDE_BLOCK_EVENTS, &head, sizeof(head), at[i].data + skip, head.nr_bytes);
			offset = head.offset + head.nr_bytes;
		}
	}
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

int sonde_native__reduce(struct native *n, struct sonde_buf *out, struct sonde_err *err)
{
	struct reducing x = {.n = n, .out = out};
	/* All that was read is gone from then on; a first file of what was left counts for none. */
	struct sonde_rolled rolled = {
		.next = n->rolled.next + n->r->options.nr_files - (n->rolled.next > 0)};

	x.no_memory = !find_places(&x);
	if (!x.no_memory)
		keep_open(&x);
	if (!x.no_memory)
		keep_awaited(&x);
	if (!x.no_memory)
		keep_memory(&x);
	if (n->pieces.nr)
		n->kept[n->late[0].to_ns] = n->kept[n->late[1].to_ns] = true;
	x.no_memory |= !sonde_keysort(x.moments.at, x.moments.nr);
	if (!x.no_memory) {
		sonde_buf_add(out, &n->head, sizeof(n->head));
		put(&x, SONDE_BLOCK_META, n->meta.p, n->meta.n, NULL, 0);
		put(&x, SONDE_BLOCK_ROLLED, &rolled, sizeof(rolled), NULL, 0);
		sonde_native__each_block(n, put_other, &x);
		put_chunks(&x);
	}
	sonde_free(x.by_place);
	sonde_vec_release(&x.moments);
	return x.no_memory || out->failed ? sonde_err_nomem(err) : 0;
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
