/*
 * Reduces files whose launches were folded to what the files after them need: chunks with devices and
 * nodes of graphs, with the beginnings of ranges that are open at the cut, with the last work in each such
 * range and on each device, with launches whose work is still to come, with memory that is still allocated,
 * and the clocks around these moments. Chunks are kept unchanged: the rest of their events is read again but not
 * counted (enum sonde_when). Nothing may seem to last longer because its end is in a chunk that is dropped: the last
 * chunk of each thread says which of its ranges are open, and frees of memory and stops of start/end ranges are
 * written again.
 */
#include "base/alloc.h"
#include "base/bisect.h"
#include "format/checksum.h"
#include "read/native/native_int.h"
#include "read/rolled.h"

#include <string.h>

#define AWAITED_NS 60000000000u /* how long sonde waits for the work of a launch */
#define END_BYTES  32768u     /* bytes of a chunk with ends that are written again … */
#define END_STREAM UINT32_MAX /* … in this stream, which belongs to no thread */

struct reducing {
	struct native *n;
	struct sonde_buf *out;
	uint32_t seq;
	struct sonde_keyed *by_place; /* pieces, sorted by their offset */
	SONDE_VEC(struct sonde_keyed) moments; /* moments whose neighbouring clocks are kept */
	uint32_t *ends; /* by number of n->memory: number of the next operation at the same address; SONDE_NONE = none yet */
	bool no_memory;
};

/* --- what must stay -------------------------------------------------------------------------------- */

bool sonde_native__is_lasting(unsigned type)
{
	return type == SONDE_EVENT_NODE || type == SONDE_EVENT_NODE_COPY ||
	       type == SONDE_EVENT_DEVICE || type == SONDE_EVENT_ATTRIBUTE ||
	       type == SONDE_EVENT_UUID;
}

/* Points to whether the piece that contains this offset is kept. Once all are chosen, its whole chunk is kept. */
static bool *is_kept(const struct reducing *x, uint64_t at)
{
	size_t low = 0;

	sonde_bisect(low, x->n->pieces.nr, mid, x->by_place[mid].key <= at);
	return &x->n->kept[low ? x->by_place[low - 1].index : x->n->pieces.nr];
}

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

static void keep_work(struct reducing *x, const struct sonde_record *rec)
{
	*is_kept(x, rec->payload) = true;
	if (rec->call != SONDE_NONE)
		keep_launch(x, rec->call);
}

/* Keeps the work that ended last on each device, because the gap before the next work begins there. */
static void keep_last(struct reducing *x)
{
	const struct sonde_records *r = x->n->r;
	struct sonde_map devices = {0};
	SONDE_VEC(uint32_t) last = {0}; /* by number of a device: its record that ended last */
	size_t i;

	for (i = x->n->first_record; i < r->records.nr && !x->no_memory; i++) {
		const struct sonde_record *rec = &r->records.at[i];
		bool is_new;
		uint32_t device = sonde_record_queue(r, rec)->device,
			 number = sonde_map_keep(&devices, &x->n->r->arena, SONDE_BYTES(device), &is_new),
			 *slot = sonde_map_slot(&last, number);

		x->no_memory |= !slot;
		if (slot && (is_new || rec->time.end_ns >= r->records.at[*slot].time.end_ns))
			*slot = (uint32_t)i;
	}
	for (i = 0; i < last.nr && !x->no_memory; i++)
		keep_work(x, &r->records.at[last.at[i]]);
	sonde_vec_release(&last);
	sonde_map_release(&devices);
}

/* Keeps the chunk in which a range begins and the next one: its reading of the CPU clock gives the CPU time at the begin. */
static void keep_begin(struct reducing *x, uint32_t piece)
{
	const struct native_piece *at = x->n->pieces.at;
	size_t i = piece;

	x->n->kept[piece] = true;
	while (i < x->n->pieces.nr && at[i].stream == at[piece].stream && at[i].chunk == at[piece].chunk)
		i++;
	if (i < x->n->pieces.nr && at[i].stream == at[piece].stream)
		x->n->kept[i] = true;
}

/* Keeps open ranges, and the work that ended last in each. */
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
		keep_begin(x, n->piece_of.at[i]);
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
	for (i = 0; i < nr && !x->no_memory; i++)
		if (last[i] != SONDE_NONE)
			keep_work(x, &r->records.at[last[i]]);
	sonde_free(last);
}

/* Keeps launches whose work is still to come; after AWAITED_NS none is expected. */
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

/* False when memory is short. */
static bool find_ends(struct reducing *x)
{
	struct native *n = x->n;
	struct sonde_keyed *order = sonde_native__order_memory(n);
	struct sonde_map addresses = {0};
	SONDE_VEC(uint32_t) last = {0}; /* by number of an address: the last operation there */
	bool ok = order != NULL;
	size_t i;

	x->ends = sonde_malloc((n->memory.nr + 1) * sizeof(*x->ends));
	for (i = 0; i < n->memory.nr && ok && x->ends; i++) {
		uint32_t at = order[i].index, number, *slot;
		bool is_new;

		number = sonde_map_keep(
			&addresses, &n->r->arena, SONDE_BYTES(n->memory.at[at].memory.address), &is_new);
		slot = sonde_map_slot(&last, number);
		ok = slot != NULL;
		if (ok && !is_new)
			x->ends[*slot] = at;
		if (ok)
			*slot = at;
		x->ends[at] = SONDE_NONE;
	}
	sonde_free(order);
	sonde_vec_release(&last);
	sonde_map_release(&addresses);
	return ok && x->ends;
}

/* Keeps memory that is still allocated, with the calls that allocated it. */
static void keep_memory(struct reducing *x)
{
	const struct native *n = x->n;
	size_t i;

	x->no_memory |= !find_ends(x);
	for (i = 0; i < n->memory.nr && !x->no_memory; i++) {
		if (n->memory.at[i].memory.is_free || x->ends[i] != SONDE_NONE)
			continue;
		*is_kept(x, n->memory.at[i].at) = true;
		if (n->memory.at[i].launch != SONDE_NONE)
			keep_launch(x, n->memory.at[i].launch);
	}
}

/* --- writing it: chunks, clocks, windows, ends of allocations whose free is in a chunk that goes --- */

static void put_block(struct reducing *x, unsigned type, const void *a, size_t nr_a, const void *b, size_t nr_b)
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

/*
 * A chunk is kept as a whole or not at all. If a stream keeps any chunk, it keeps its last one too. The last one is also
 * kept if it may continue in the next file: otherwise its launches would seem to be in that file. Ends that an earlier
 * reduction wrote are made anew.
 */
static void keep_chunks(struct reducing *x)
{
	const struct native_piece *at = x->n->pieces.at;
	const uint8_t *base = (const uint8_t *)x->n->src->file.data.p,
		      *last = x->n->files.nr ? base + x->n->files.at[x->n->files.nr - 1] : base;
	bool *kept = x->n->kept, is_any = false;
	size_t i, end, nr = x->n->pieces.nr;

	for (i = 0; i < nr; i = end) {
		bool is_one = false;

		for (end = i; end < nr && at[end].stream == at[i].stream && at[end].chunk == at[i].chunk; end++)
			is_one |= kept[end], is_any |= at[end].data >= last;
		is_any |= is_one;
		if (end == nr || at[end].stream != at[i].stream) {
			is_one |= is_any;
			is_any = false;
		}
		memset(&kept[i], is_one && at[i].stream != END_STREAM, end - i);
	}
}

/* Writes each byte once, because pieces of a chunk may overlap. */
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
		put_block(x, SONDE_BLOCK_EVENTS, &head, sizeof(head), at[i].data + skip, head.nr_bytes);
		offset = head.offset + head.nr_bytes;
	}
}

/* Writes a free, without a call, for an allocation that is kept although its own free is not. */
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

/* Writes the bytes from `from` to `p` as the next chunk. */
static void put_end_chunk(struct reducing *x, struct sonde_events *head, const uint8_t *from, const uint8_t *p)
{
	head->nr_bytes = (uint32_t)(p - from);
	if (head->nr_bytes)
		put_block(x, SONDE_BLOCK_EVENTS, head, sizeof(*head), from, head->nr_bytes);
	head->chunk++;
}

/* Whether the end of an allocation, or of a start/end range, is dropped although its beginning is kept. */
static bool loses_end(const struct reducing *x, size_t memory)
{
	const struct native_memory *at = x->n->memory.at;

	return !at[memory].memory.is_free && x->ends[memory] != SONDE_NONE && *is_kept(x, at[memory].at) &&
	       !*is_kept(x, at[x->ends[memory]].at);
}

static bool loses_stop(const struct reducing *x, const struct native_edge *stop)
{
	return stop->start != SONDE_NONE && x->n->kept[x->n->edges.at[stop->start].piece] && !x->n->kept[stop->piece];
}

static uint8_t *put_stop(uint8_t *p, struct sonde_event_base *base, const struct native_edge *stop)
{
	return sonde_event_put(p, base,
		&(struct sonde_event){.type = SONDE_EVENT_STOP,
			.ticks = stop->ticks,
			.field = {stop->key >> 32, (uint32_t)stop->key}});
}

static void put_ends(struct reducing *x)
{
	const struct native *n = x->n;
	struct sonde_events head = {.tid = n->head.pid, .stream = END_STREAM};
	uint8_t *bytes = sonde_malloc(END_BYTES + SONDE_EVENT_LIMIT), *p = bytes;
	struct sonde_event_base base = {0};
	size_t i, nr = n->memory.nr;

	x->no_memory |= !bytes;
	for (i = 0; i < nr + n->edges.nr && !x->no_memory; i++) {
		const struct native_edge *stop = i < nr ? NULL : &n->edges.at[i - nr];

		if (stop ? !loses_stop(x, stop) : !loses_end(x, i))
			continue;
		if (stop && p != bytes && stop->ticks < base.ticks) { /* the events of a chunk are in order of time */
			put_end_chunk(x, &head, bytes, p);
			p = bytes;
		}
		if (p == bytes) {
			base = (struct sonde_event_base){.ticks = stop ? stop->ticks : 0};
			p = sonde_base_put(p, &base, 0, 0);
		}
		p = stop ? put_stop(p, &base, stop) : put_end(x, p, &base, (uint32_t)i);
		if ((size_t)(p - bytes) < END_BYTES)
			continue;
		put_end_chunk(x, &head, bytes, p);
		p = bytes;
	}
	put_end_chunk(x, &head, bytes, p);
	sonde_free(bytes);
}

/* Whether a clock is kept: the two around a moment, the first and the last ones. */
static bool is_needed(const struct reducing *x, size_t point)
{
	const struct sonde_clock_point *p = x->n->host.points.at;
	size_t nr = x->n->host.points.nr, low = 0;

	if (!point || point + 3 >= nr)
		return true;
	sonde_bisect(low, x->moments.nr, mid, x->moments.at[mid].key < p[point - 1].to_ns);
	return low < x->moments.nr && x->moments.at[low].key <= p[point + 1].to_ns;
}

static void put_other(void *of, const struct sonde_block_head *h, const uint8_t *p)
{
	struct reducing *x = of;
	const struct sonde_clock_map *host = &x->n->host;
	struct sonde_clock c;
	size_t low = 0;

	if (h->type == SONDE_BLOCK_WINDOW || h->type == SONDE_BLOCK_COUNTERS ||
		(h->type == SONDE_BLOCK_NOTE && sonde_native__is_sampler(x->n)))
		put_block(x, h->type, p, h->nr_bytes, NULL, 0);
	if (h->type != SONDE_BLOCK_CLOCK || h->nr_bytes < sizeof(c))
		return;
	memcpy(&c, p, sizeof(c));
	sonde_bisect(low, host->points.nr, mid, host->points.at[mid].from < c.ticks);
	if (low < host->points.nr && host->points.at[low].from == c.ticks && is_needed(x, low))
		put_block(x, h->type, p, h->nr_bytes, NULL, 0);
}

/* Writes the file, without its cells. */
static void write_file(struct reducing *x)
{
	const struct native *n = x->n;
	/* All files that were read are removed after this. The reduced first file of an earlier folding is not counted as one. */
	struct sonde_rolled rolled = {
		.next = n->rolled.next + n->r->options.nr_files - (n->rolled.next > 0), .rules = SONDE_ROLLED_RULES};

	keep_chunks(x);
	sonde_buf_add(x->out, &n->head, sizeof(n->head));
	put_block(x, SONDE_BLOCK_META, n->meta.p, n->meta.n, NULL, 0);
	put_block(x, SONDE_BLOCK_ROLLED, &rolled, sizeof(rolled), NULL, 0);
	sonde_native__each_block(n, put_other, x);
	put_chunks(x);
	put_ends(x);
}

int sonde_native__reduce(struct native *n, struct sonde_buf *out, struct sonde_err *err)
{
	struct reducing x = {.n = n, .out = out};

	x.no_memory = !find_places(&x);
	if (!x.no_memory)
		keep_open(&x);
	if (!x.no_memory)
		keep_last(&x);
	if (!x.no_memory)
		keep_awaited(&x);
	if (!x.no_memory)
		keep_memory(&x);
	if (n->pieces.nr)
		n->kept[n->last_gpu_times[0].piece] = n->kept[n->last_gpu_times[1].piece] = true;
	x.no_memory |= !sonde_keysort(x.moments.at, x.moments.nr);
	if (!x.no_memory)
		write_file(&x);
	sonde_free(x.by_place);
	sonde_free(x.ends);
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

	memcpy(&h, file->p + at, sizeof(h)); /* META, which ROLLED follows */
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
	x.seq++; /* for META, which the loop did not count */
	for (at = 0; at < cells.n; at += more) {
		more = cells.n - at < SONDE_BLOCK_LIMIT ? cells.n - at : SONDE_BLOCK_LIMIT;
		put_block(&x, SONDE_BLOCK_CELLS, cells.p + at, more, NULL, 0);
	}
	return file->failed ? sonde_err_nomem(err) : 0;
}
