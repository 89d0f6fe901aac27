/* The events of each thread, in order: pushes and pops, and launches with the ranges open at them. */
#include "read/native/native_stream.h"

#include <string.h>

/* --- the events ------------------------------------------------------------------------------- */

/* The ranges that are open at the beginning of a chunk. */
struct open_ranges {
	uint32_t nr;
	uint32_t labels[SONDE_OPEN_LIMIT];
	uint16_t domains[SONDE_OPEN_LIMIT];
};

static const uint8_t *read_open(
	struct stream *s, const uint8_t *p, const uint8_t *end, struct open_ranges *o)
{
	uint64_t number, domain;

	p = sonde_open_get(p, end, &number, &domain);
	if (!p || domain >= NATIVE_MAX_DOMAINS)
		return NULL;
	if (number)
		domain = sonde_native__domain(s->n, number);
	o->labels[o->nr] =
		number ? sonde_native__string(s->n, number)
		       : sonde_records__string(s->n->r, SONDE_STR("(label not kept)"));
	o->domains[o->nr++] = (uint16_t)domain;
	return p;
}

/* After a loss: makes the thread's open ranges those that the chunk names. */
static void reopen_ranges(struct stream *s, const struct open_ranges *o)
{
	uint32_t nr[NATIVE_NR_DOMAINS] = {0}, mine[SONDE_OPEN_LIMIT], nr_mine, i, j;

	memset(s->left_out, 0, sizeof(s->left_out));
	for (i = 0; i < o->nr; i++)
		nr[o->domains[i]]++;
	for (i = 0; i < NATIVE_NR_DOMAINS; i++) {
		if (!nr[i] && s->top[i] == SONDE_NONE)
			continue;
		for (j = nr_mine = 0; j < o->nr; j++) {
			if (o->domains[j] == i)
				mine[nr_mine++] = o->labels[j];
		}
		sonde_stream__reopen(s, i, mine, nr_mine);
	}
}

/*
 * Ranges that are open when a stream begins were entered before a fork, in another process: their entry and
 * their time count there.
 */
static void mark_inherited(struct stream *s)
{
	struct sonde_range *ranges = s->n->r->ranges.at;
	uint32_t i, range;

	for (i = 0; i < s->nr_seen; i++) {
		for (range = s->top[s->seen[i]]; range != SONDE_NONE;
			range = ranges[range].parent) {
			ranges[range].is_inherited = true;
			ranges[range].time = (struct sonde_range_time){0};
		}
	}
	s->pending.nr = 0;
}

static const uint8_t *read_base(
	struct stream *s, const uint8_t *p, const uint8_t *end, bool resync)
{
	struct open_ranges o = {0};
	uint64_t nr_lost, nr_open;
	uint32_t window;

	s->batch = 0;
	p = sonde_base_get(p, end, &s->at, &nr_lost, &nr_open);
	if (!p || nr_open > SONDE_OPEN_LIMIT)
		return NULL;
	while (o.nr < nr_open) {
		p = read_open(s, p, end, &o);
		if (!p)
			return NULL;
	}
	sonde_stream__share_cpu(s, s->at.ticks, s->at.cpu_ns);
	window = sonde_native__window_at(s->n, s->at.ticks);
	if (window != s->window || window == NATIVE_OUTSIDE) {
		sonde_stream__end_window(s);
		resync = true;
	}
	s->window = window;
	if (!resync && nr_lost == s->nr_lost)
		return p;
	s->is_gap = s->last_when == SONDE_BEFORE && nr_lost == s->nr_lost;
	s->n->current_counts->lost += nr_lost > s->nr_lost ? nr_lost - s->nr_lost : 0;
	s->nr_lost = nr_lost;
	reopen_ranges(s, &o);
	if ((s->window == NATIVE_OUTSIDE || (s->is_new && s->window == NATIVE_ALL_TIME)) &&
		!sonde_native__failed(s->n))
		mark_inherited(s);
	return p;
}

static uint32_t current_set(struct stream *s)
{
	uint32_t members[NATIVE_NR_DOMAINS], nr = 0, i;

	if (!s->set_is_old)
		return s->set;
	for (i = 0; i < s->nr_seen; i++) {
		if (s->top[s->seen[i]] != SONDE_NONE)
			members[nr++] = s->top[s->seen[i]];
	}
	s->set_is_old = false;
	if (s->n->r->members.nr > NATIVE_MAX_MEMBERS && nr > 1) {
		s->n->current_counts->sets_cut++;
		nr = 1;
	}
	s->set = sonde_records__set(s->n->r, members, nr);
	return s->set;
}

static void read_launch(struct stream *s, const struct sonde_event *e)
{
	const struct native_launch launch = {.ns = sonde_stream__now(s),
		.correlation = (uint32_t)e->field[0],
		.set = current_set(s),
		.is_unchosen = e->is_unchosen,
		.piece = s->piece};

	sonde_put(&s->n->src->work, &s->n->launches, launch);
	if (s->n->r->options.for_replay)
		sonde_put(&s->n->src->work, &s->n->returned_ns, 0);
}

#define SAME_CALL_NS 3000u

/* Where runtime and driver calls have separate ids, the last two launches may be one call. */
void sonde_stream__return(struct stream *s)
{
	const struct native *n = s->n;
	size_t last = n->returned_ns.nr - 1, i;

	for (i = last; i + 2 > last && i < n->returned_ns.nr && n->launches.at[i].piece >= s->first_piece; i--)
		if (!n->returned_ns.at[i] && n->launches.at[last].ns - n->launches.at[i].ns < SAME_CALL_NS)
			n->returned_ns.at[i] = sonde_stream__now(s);
}

static bool read_push(struct stream *s, const struct sonde_event *e)
{
	uint32_t label, domain;

	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	sonde_stream__push(s, label, domain);
	return true;
}

/* --- chunks and streams ----------------------------------------------------------------------- */

static bool read_event(struct stream *s, const struct sonde_event *e, const uint8_t *at)
{
	if (s->n->kept && sonde_native__is_lasting(e->type))
		s->n->kept[s->piece] = true;
	switch (e->type) {
	case SONDE_EVENT_PUSH:
		return read_push(s, e);
	case SONDE_EVENT_POP:
		sonde_stream__pop(s, e->label.domain);
		return true;
	case SONDE_EVENT_START:
	case SONDE_EVENT_STOP:
	case SONDE_EVENT_CARRIED:
		return sonde_stream__edge(s, e);
	case SONDE_EVENT_LAUNCH:
		read_launch(s, e);
		return true;
	case SONDE_EVENT_NODE:
	case SONDE_EVENT_NODE_COPY:
		sonde_stream__read_node(s, e);
		return true;
	case SONDE_EVENT_GPU_CLOCK:
		sonde_stream__read_gpu_clock(s, e);
		return true;
	case SONDE_EVENT_MARK:
		return sonde_stream__mark(s, e);
	case SONDE_EVENT_ALLOCATOR:
		return sonde_stream__reading(s, e);
	case SONDE_EVENT_VALUE:
		return sonde_stream__value(s, e);
	case SONDE_EVENT_CALL:
	case SONDE_EVENT_CALL_ON:
		return sonde_stream__call(s, e);
	case SONDE_EVENT_RETURN:
		sonde_stream__return(s);
		return true;
	case SONDE_EVENT_PC_FUNCTION:
		return sonde_stream__pc_function(s, e);
	case SONDE_EVENT_PC:
		return sonde_stream__pc(s, e);
	case SONDE_EVENT_NAME_THREAD:
		return sonde_stream__name(s, e);
	case SONDE_EVENT_DEVICE:
		return sonde_stream__device(s, e);
	case SONDE_EVENT_ATTRIBUTE:
	case SONDE_EVENT_UUID:
		return sonde_stream__attribute(s, e);
	default:
		return !sonde_event_is_of_gpu(e->type) || sonde_stream__work(s, e, at);
	}
}

/* Reads one piece; false when it is damaged and the rest of its chunk cannot be understood. */
static bool read_piece(struct stream *s, const struct native_piece *piece, bool resync)
{
	const uint8_t *p = piece->data, *end = p + piece->nr_bytes, *at;
	struct sonde_event e;

	s->is_new = piece->chunk == 0 && piece->offset == 0;
	while (p && p < end && !sonde_native__failed(s->n)) {
		at = p;
		if (*p == SONDE_EVENT_BASE) {
			p = read_base(s, p, end, resync);
			resync = false;
			continue;
		}
		p = sonde_event_get(p, end, &s->at, &e);
		if (!p)
			return false;
		if (e.has_cpu)
			sonde_stream__share_cpu(s, s->at.ticks, s->at.cpu_ns);
		if (!read_event(s, &e, at))
			return false;
		s->n->current_counts->events++;
	}
	return p != NULL;
}

static void stream_end(struct stream *s)
{
	struct sonde_records *r = s->n->r;
	uint32_t i, range;

	/* There is no later reading: the thread is assumed to have run all the time since the last one. */
	if (s->pending.nr) {
		uint64_t last = s->pending.at[s->pending.nr - 1].ticks;
		uint64_t since = sonde_clock_map__ns(&s->n->host, last) -
				 sonde_clock_map__ns(&s->n->host, s->cpu_ticks);

		sonde_stream__share_cpu(s, last, s->cpu_ns + (last > s->cpu_ticks ? since : 0));
	}
	s->n->current_counts = &s->n->counts;
	if (sonde_native__window_end_ns(s->n, s->window))
		sonde_stream__end_window(s);
	for (i = 0; i < s->nr_seen; i++) {
		for (range = s->top[s->seen[i]]; range != SONDE_NONE;
			range = r->ranges.at[range].parent) {
			r->ranges.at[range].time.cpu_ns = 0;
			s->n->counts.unclosed +=
				!r->ranges.at[range].is_inherited && !r->options.looks_ahead;
		}
	}
}

/*
 * Nearly all GPU work is in one stream. Its vector becomes that of the records, and the works of other streams, which
 * are mostly later, are appended: little has to move.
 */
static void take_works(struct stream *s)
{
	struct native *n = s->n;
	struct sonde_record *at = n->r->records.at;
	size_t nr = n->r->records.nr, cap = n->r->records.cap, i;

	if (!n->first_record && s->works.nr > nr) {
		n->r->records.at = s->works.at;
		n->r->records.nr = s->works.nr;
		n->r->records.cap = s->works.cap;
		s->works.at = at;
		s->works.nr = nr;
		s->works.cap = cap;
	}
	sonde_reserve(&n->r->arena, &n->r->records, n->r->records.nr + s->works.nr + 1);
	for (i = 0; i < s->works.nr; i++)
		sonde_put(&n->r->arena, &n->r->records, s->works.at[i]);
	s->works.nr = 0;
}

static void stream_begin(struct stream *s, const struct native_piece *first)
{
	s->tid = first->tid;
	s->window = NATIVE_ALL_TIME;
	s->number = first->stream;
	s->when = SONDE_BEFORE;
	/* Losses in folded files were counted. UINT64_MAX = the number lost so far is not known. */
	s->nr_lost = s->n->rolled.next && first->chunk ? UINT64_MAX : 0;
	s->cpu_ns = s->cpu_ticks = 0;
	s->at = (struct sonde_event_base){0};
	s->nr_seen = 0;
	memset(s->depth, 0, sizeof(s->depth));
	s->nr_deep = 0;
	memset(s->left_out, 0, sizeof(s->left_out));
	s->set_is_old = true;
	memset(s->top, 0xff, sizeof(s->top));
	s->started = s->stopped = SONDE_NONE;
}

/* A piece without its first `nr` bytes, which were already read. */
static struct native_piece rest_of(const struct native_piece *p, uint32_t nr)
{
	struct native_piece rest = *p;

	rest.data += nr;
	rest.offset += nr;
	rest.nr_bytes -= nr;
	return rest;
}

/* Reads all pieces of one stream, from number `i`; returns the number after the last. */
static size_t read_stream(struct stream *s, size_t i)
{
	struct native_piece *pieces = s->n->pieces.at;
	uint32_t chunk = 0, offset = 0;
	bool whole = true, resync = true, is_counted = false;
	size_t first = i;

	stream_begin(s, &pieces[i]);
	s->first_piece = (uint32_t)i;
	for (; i < s->n->pieces.nr && pieces[i].stream == pieces[first].stream; i++) {
		struct native_piece p = pieces[i];

		s->piece = (uint32_t)i;
		s->last_when = s->when;
		s->when = (uint8_t)sonde_native__when(s->n, sonde_native__offset(s->n, &p));
		s->n->current_counts = s->when == SONDE_NOW ? &s->n->counts : &s->n->uncounted;
		pieces[i].tid = s->tid; /* each stream is written by one thread */
		if (p.chunk != chunk || i == first) {
			resync |= i == first || !whole || p.chunk != chunk + 1;
			chunk = p.chunk;
			offset = 0;
			whole = true;
			is_counted = false;
		}
		/* Two files of a capture may contain the same bytes: see struct sonde_rolled. */
		if (whole && p.offset < offset)
			p = rest_of(&p, offset - p.offset < p.nr_bytes ? offset - p.offset : p.nr_bytes);
		if (!p.nr_bytes)
			continue;
		if (whole && p.offset == offset && (offset || *p.data == SONDE_EVENT_BASE)) {
			whole = read_piece(s, &p, resync);
			resync = false;
			offset += p.nr_bytes;
		} else {
			whole = false;
		}
		if (!whole) {
			s->n->current_counts->bad_chunks += !is_counted;
			is_counted = resync = true;
		}
	}
	stream_end(s);
	take_works(s);
	return i;
}

int sonde_native__read_streams(struct native *n, struct sonde_err *err)
{
	struct stream *s = sonde_arena_calloc(&n->src->work, 1, sizeof(*s));
	size_t i;

	if (!s)
		return sonde_err_nomem(err);
	s->n = n;
	for (i = 0; i < n->pieces.nr && !sonde_native__failed(n);)
		i = read_stream(s, i);
	sonde_native__devices(n);
	sonde_vec_release(&s->pending);
	sonde_vec_release(&s->works);
	sonde_clock_map__init(&n->gpu);
	return sonde_source__status(n->src, n->r, err);
}
