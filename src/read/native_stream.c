/* The events of each thread, in order: pushes and pops, and the launches with what was open. */
#include "base/alloc.h"
#include "read/native_stream_int.h"

#include <string.h>

/* --- the events ------------------------------------------------------------------------------- */

static bool read_base(struct stream *s, struct event *e, bool resync)
{
	uint32_t labels[SONDE_OPEN_LIMIT], nr[NATIVE_MAX_DOMAINS] = {0}, i, j;
	uint16_t domains[SONDE_OPEN_LIMIT];
	uint64_t ticks, cpu_ns, field[2], number;

	if (e->end - e->p < 16)
		return false;
	memcpy(&ticks, e->p, 8);
	memcpy(&cpu_ns, e->p + 8, 8);
	e->p = sonde_native__numbers(e->p + 16, e->end, field, 2);
	if (!e->p || field[1] > SONDE_OPEN_LIMIT)
		return false;
	for (i = 0; i < field[1]; i++) {
		e->p = sonde_varint_get(e->p, e->end, &number);
		if (!e->p)
			return false;
		labels[i] = SONDE_NONE;
		domains[i] = 0;
		if (number) {
			labels[i] = sonde_native__string(s->n, number);
			if (number < s->n->strings.nr)
				domains[i] = (uint16_t)s->n->strings.at[number].domain;
			continue;
		}
		e->p = sonde_varint_get(e->p, e->end, &number);
		if (!e->p || number >= NATIVE_MAX_DOMAINS)
			return false;
		domains[i] = (uint16_t)number;
		labels[i] = sonde_records__string(s->n->r, SONDE_STR("(label not kept)"));
	}
	s->ticks = ticks;
	sonde_stream__settle(s, ticks, cpu_ns);
	s->gpu_ns = 0;
	s->correlation = 0;
	if (!resync && field[0] == s->nr_lost)
		return true;
	s->n->counts.lost += field[0] > s->nr_lost ? field[0] - s->nr_lost : 0;
	s->nr_lost = field[0];
	memset(s->left_out, 0, sizeof(s->left_out));
	for (i = 0; i < field[1]; i++)
		nr[domains[i]]++;
	for (i = 0; i < NATIVE_MAX_DOMAINS; i++) {
		uint32_t mine[SONDE_OPEN_LIMIT], nr_mine = 0;

		if (!nr[i] && s->top[i] == SONDE_NONE)
			continue;
		for (j = 0; j < field[1]; j++) {
			if (domains[j] == i)
				mine[nr_mine++] = labels[j];
		}
		sonde_stream__reopen(s, i, mine, nr_mine);
	}
	return true;
}

static uint32_t current_set(struct stream *s)
{
	uint32_t members[NATIVE_MAX_DOMAINS], nr = 0, i;

	if (!s->set_is_old)
		return s->set;
	for (i = 0; i < s->nr_seen; i++) {
		if (s->top[s->seen[i]] != SONDE_NONE)
			members[nr++] = s->top[s->seen[i]];
	}
	s->set_is_old = false;
	if (s->n->r->members.nr > NATIVE_MAX_MEMBERS) {
		s->n->counts.sets_cut++;
		s->set = 0;
		return 0;
	}
	s->set = sonde_records__set(s->n->r, members, nr);
	if (s->set == SONDE_NONE)
		s->no_memory = true;
	return s->set;
}

static bool read_launch(struct stream *s, struct event *e)
{
	struct native_launch *l;
	uint64_t step;

	e->p = sonde_varint_get(e->p, e->end, &step);
	if (!e->p)
		return false;
	s->correlation += (uint32_t)sonde_unzigzag(step);
	l = sonde_vec_push(&s->n->launches);
	if (!l) {
		s->no_memory = true;
		return true;
	}
	*l = (struct native_launch){
		.ns = e->ns, .tid = s->tid, .correlation = s->correlation, .set = current_set(s)};
	return true;
}

static bool read_range(struct stream *s, struct event *e)
{
	uint32_t label, domain;

	if (!sonde_stream__label(s, e, &label, &domain) || !sonde_stream__skip_attributes(e))
		return false;
	if (e->type == SONDE_EVENT_PUSH)
		sonde_stream__push(s, label, domain);
	else
		s->n->counts.marks++;
	return true;
}

static bool read_pop(struct stream *s, struct event *e)
{
	uint64_t domain = 0;

	if (e->flags & SONDE_EVENT_DOMAIN) {
		e->p = sonde_varint_get(e->p, e->end, &domain);
		if (!e->p)
			return false;
	}
	sonde_stream__pop(s, domain);
	return true;
}

/* --- chunks and streams -------------------------------------------------------------------------
 */

static bool read_body(struct stream *s, struct event *e)
{
	switch (e->type) {
	case SONDE_EVENT_PUSH:
	case SONDE_EVENT_MARK:
		return read_range(s, e);
	case SONDE_EVENT_POP:
		return read_pop(s, e);
	case SONDE_EVENT_START:
	case SONDE_EVENT_STOP:
		return sonde_stream__edge(s, e);
	case SONDE_EVENT_NAME_THREAD:
	case SONDE_EVENT_NAME_CATEGORY:
	case SONDE_EVENT_NAME_HANDLE:
		return sonde_stream__name(s, e);
	case SONDE_EVENT_LAUNCH:
		return read_launch(s, e);
	case SONDE_EVENT_NODE:
	case SONDE_EVENT_NODE_COPY:
		return sonde_stream__node(s, e);
	case SONDE_EVENT_GPU_CLOCK:
		return sonde_stream__gpu_clock(s, e);
	case SONDE_EVENT_DEVICE:
		return sonde_stream__device(s, e);
	default:
		return e->type >= SONDE_EVENT_KERNEL && e->type <= SONDE_EVENT_OVERHEAD &&
		       sonde_stream__work(s, e);
	}
}

/* Ticks and CPU time, for events that have them. */
static bool read_time(struct stream *s, struct event *e)
{
	uint64_t since, cpu_ns;

	if (e->type >= SONDE_EVENT_KERNEL)
		return true;
	e->p = sonde_varint_get(e->p, e->end, &since);
	if (!e->p)
		return false;
	s->ticks += since;
	e->ns = sonde_native__clock_ns(&s->n->host, s->ticks);
	if (e->flags & SONDE_EVENT_CPU) {
		e->p = sonde_varint_get(e->p, e->end, &cpu_ns);
		if (!e->p)
			return false;
		sonde_stream__settle(s, s->ticks, s->cpu_ns + cpu_ns);
	}
	return true;
}

/* Reads one piece; false when it is damaged and the rest of its chunk cannot be understood. */
static bool read_piece(struct stream *s, const struct native_piece *piece, bool resync)
{
	struct event e = {.p = piece->data, .end = piece->data + piece->nr_bytes};

	while (e.p < e.end && !s->no_memory) {
		e.type = *e.p & SONDE_EVENT_TYPE;
		e.flags = *e.p++ & ~(unsigned)SONDE_EVENT_TYPE;
		if (e.type == SONDE_EVENT_BASE) {
			if (!read_base(s, &e, resync))
				return false;
			resync = false;
			continue;
		}
		if (!read_time(s, &e) || !read_body(s, &e))
			return false;
		s->n->counts.events++;
	}
	return true;
}

static void stream_end(struct stream *s)
{
	struct sonde_records *r = s->n->r;
	uint32_t i, range;

	/* No later reading: the thread is taken to have run all the time since the last. */
	if (s->pending.nr) {
		uint64_t last = s->pending.at[s->pending.nr - 1].ticks;
		uint64_t since = sonde_native__clock_ns(&s->n->host, last) -
				 sonde_native__clock_ns(&s->n->host, s->cpu_ticks);

		sonde_stream__settle(s, last, s->cpu_ns + (last > s->cpu_ticks ? since : 0));
	}
	for (i = 0; i < s->nr_seen; i++) {
		for (range = s->top[s->seen[i]]; range != SONDE_NONE;
			range = r->ranges.at[range].parent) {
			r->ranges.at[range].time.cpu_ns = 0;
			s->n->counts.unclosed++;
		}
	}
}

static void stream_begin(struct stream *s, const struct native_piece *first)
{
	s->tid = first->tid;
	s->number = first->stream;
	s->nr_lost = 0;
	s->cpu_ns = s->cpu_ticks = s->ticks = 0;
	s->nr_seen = 0;
	memset(s->depth, 0, sizeof(s->depth));
	s->nr_deep = 0;
	memset(s->left_out, 0, sizeof(s->left_out));
	s->set_is_old = true;
	s->path_range = SONDE_NONE;
	memset(s->top, 0xff, sizeof(s->top));
}

/* All pieces of one stream, from `i`; returns the index after the last. */
static size_t read_stream(struct stream *s, size_t i)
{
	const struct native_piece *pieces = s->n->pieces.at, *p;
	uint32_t chunk = 0, offset = 0;
	bool whole = true, resync = true, is_counted = false;
	size_t first = i;

	stream_begin(s, &pieces[i]);
	for (; i < s->n->pieces.nr && pieces[i].stream == pieces[first].stream; i++) {
		p = &pieces[i];
		if (p->chunk != chunk || i == first) {
			resync |= i == first || !whole || p->chunk != chunk + 1;
			chunk = p->chunk;
			offset = 0;
			whole = true;
			is_counted = false;
		}
		if (whole && p->offset == offset && (offset || *p->data == SONDE_EVENT_BASE)) {
			whole = read_piece(s, p, resync);
			resync = false;
			offset += p->nr_bytes;
		} else {
			whole = false;
		}
		if (!whole) {
			s->n->counts.bad_chunks += !is_counted;
			is_counted = resync = true;
		}
	}
	stream_end(s);
	return i;
}

int sonde_native__streams(struct native *n, struct sonde_err *err)
{
	struct stream *s = sonde_calloc(1, sizeof(*s));
	bool no_memory;
	size_t i;

	if (!s)
		return sonde_err_nomem(err);
	s->n = n;
	for (i = 0; i < n->pieces.nr && !s->no_memory;)
		i = read_stream(s, i);
	no_memory = s->no_memory;
	sonde_vec_release(&s->pending);
	sonde_free(s);
	sonde_native__clock_init(&n->gpu);
	return no_memory ? sonde_err_nomem(err) : 0;
}
