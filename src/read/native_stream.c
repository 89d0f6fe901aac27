/*
 * The events of each thread, in order: range entries with their times, the
 * launches with what was open, and what the GPU did.
 */
#include "base/alloc.h"
#include "format/varint.h"
#include "read/native_int.h"

#include <string.h>

/* A range boundary whose CPU time is known once the thread's CPU clock is next read. */
struct pending {
	uint32_t range;
	bool is_end;
	uint64_t ticks;
};

struct stream {
	struct native *n;
	uint64_t tid;
	uint32_t number;
	/* Of the chunk being read. */
	uint64_t ticks, gpu_ns;
	uint64_t cpu_ns, cpu_ticks; /* the last reading */
	uint32_t correlation;
	/* Of the whole stream. */
	uint64_t nr_lost;
	uint32_t top[NATIVE_MAX_DOMAINS]; /* innermost open range by domain */
	uint16_t seen[NATIVE_MAX_DOMAINS];
	uint32_t nr_seen;
	bool set_is_old;
	uint32_t set;
	uint32_t path_range, path; /* the last region path made, and for which range */
	SONDE_VEC(struct pending) pending;
	bool no_memory;
};

/* The event being read. */
struct event {
	unsigned type, flags;
	uint64_t ns;
	const uint8_t *p, *end;
};

/* --- CPU time --------------------------------------------------------------------------------- */

static void cpu_settle(struct stream *s, uint64_t ticks, uint64_t cpu_ns)
{
	uint64_t step = cpu_ns - s->cpu_ns, spent = step < UINT64_MAX / 4 ? step : 0;
	double share = ticks > s->cpu_ticks ? (double)spent / (double)(ticks - s->cpu_ticks) : 0;
	size_t i;

	/* Between two readings the thread is taken to have run evenly. */
	for (i = 0; i < s->pending.nr; i++) {
		struct pending *p = &s->pending.at[i];
		struct sonde_range_time *t = &s->n->r->range_times.at[p->range];
		uint64_t at = s->cpu_ns;

		if (p->ticks > s->cpu_ticks)
			at += sonde_native__u64((double)(p->ticks - s->cpu_ticks) * share);
		if (!p->is_end)
			t->cpu_ns = at;
		else
			t->cpu_ns = at > t->cpu_ns ? at - t->cpu_ns : 0;
	}
	s->pending.nr = 0;
	s->cpu_ns = cpu_ns;
	s->cpu_ticks = ticks;
}

static void cpu_later(struct stream *s, uint32_t range, bool is_end)
{
	struct pending *p = sonde_vec_push(&s->pending);

	if (!p) {
		s->no_memory = true;
		return;
	}
	*p = (struct pending){.range = range, .is_end = is_end, .ticks = s->ticks};
}

/* --- ranges ----------------------------------------------------------------------------------- */

static uint32_t range_add(struct stream *s, uint32_t label, uint32_t domain, unsigned kind)
{
	struct native *n = s->n;
	struct sonde_records *r = n->r;
	struct sonde_range *range;
	struct sonde_range_time *time;

	if (label == SONDE_NONE || r->ranges.nr >= SONDE_NONE ||
		!(range = sonde_vec_push(&r->ranges)) ||
		!(time = sonde_vec_push(&r->range_times))) {
		s->no_memory = true;
		return SONDE_NONE;
	}
	*range = (struct sonde_range){.parent = SONDE_NONE,
		.label = label,
		.domain = n->domains[domain],
		.process = n->process,
		.thread = s->tid,
		.kind = (uint8_t)kind};
	time->begin_ns = sonde_native__clock_ns(&n->host, s->ticks);
	return (uint32_t)(r->ranges.nr - 1);
}

static void push(struct stream *s, uint32_t label, uint32_t domain)
{
	uint32_t i, range = range_add(s, label, domain, SONDE_PUSH_POP);

	if (range == SONDE_NONE)
		return;
	for (i = 0; i < s->nr_seen && s->seen[i] != domain; i++)
		;
	if (i == s->nr_seen)
		s->seen[s->nr_seen++] = (uint16_t)domain;
	s->n->r->ranges.at[range].parent = s->top[domain];
	s->top[domain] = range;
	s->set_is_old = true;
	cpu_later(s, range, false);
}

static void pop(struct stream *s, uint64_t domain)
{
	struct sonde_records *r = s->n->r;
	uint32_t range = domain < NATIVE_MAX_DOMAINS ? s->top[domain] : SONDE_NONE;

	if (range == SONDE_NONE) {
		s->n->counts.orphan_pops++;
		return;
	}
	r->range_times.at[range].end_ns = sonde_native__clock_ns(&s->n->host, s->ticks);
	s->top[domain] = r->ranges.at[range].parent;
	s->set_is_old = true;
	cpu_later(s, range, true);
}

/* What was open in `domain` when events were lost, and what is open after. */
static void reconcile(struct stream *s, uint32_t domain, const uint32_t *labels, uint32_t nr)
{
	const struct sonde_range *ranges = s->n->r->ranges.at;
	uint32_t depth = 0, same = 0, range;
	uint32_t chain[SONDE_OPEN_LIMIT];

	for (range = s->top[domain]; range != SONDE_NONE; range = ranges[range].parent)
		depth++;
	for (range = s->top[domain]; range != SONDE_NONE; range = ranges[range].parent) {
		if (--depth < SONDE_OPEN_LIMIT)
			chain[depth] = range;
		else
			chain[SONDE_OPEN_LIMIT - 1] = range;
		same++;
	}
	depth = same;
	for (same = 0; same < nr && same < depth && same < SONDE_OPEN_LIMIT; same++) {
		if (ranges[chain[same]].label != labels[same])
			break;
	}
	for (; depth > same; depth--) {
		pop(s, domain);
		s->n->counts.closed_by_loss++;
	}
	for (; same < nr; same++)
		push(s, labels[same], domain);
}

/* --- the events ------------------------------------------------------------------------------- */

/* The label of an event: a number, or written out. Its domain comes with it. */
static bool read_label(struct stream *s, struct event *e, uint32_t *label, uint32_t *domain)
{
	uint64_t field[2] = {0};
	struct sonde_str text;

	if (!(e->flags & SONDE_EVENT_INLINE)) {
		e->p = sonde_varint_get(e->p, e->end, &field[0]);
		if (!e->p)
			return false;
		*label = sonde_native__string(s->n, field[0]);
		*domain = field[0] < s->n->strings.nr ? s->n->strings.at[field[0]].domain : 0;
		return true;
	}
	e->p = sonde_native__numbers(e->p, e->end, field, 2);
	if (!e->p || field[0] >= NATIVE_MAX_DOMAINS || field[1] > (size_t)(e->end - e->p))
		return false;
	text = (struct sonde_str){(const char *)e->p, field[1]};
	*label = sonde_records__string(s->n->r, text);
	*domain = (uint32_t)field[0];
	e->p += field[1];
	return true;
}

static bool skip_attributes(struct event *e)
{
	uint64_t category;
	unsigned which;

	if (!(e->flags & SONDE_EVENT_ATTR))
		return true;
	if (e->p >= e->end)
		return false;
	which = *e->p++;
	if (which & SONDE_ATTR_CATEGORY) {
		e->p = sonde_varint_get(e->p, e->end, &category);
		if (!e->p)
			return false;
	}
	size_t nr = (which & SONDE_ATTR_COLOR ? 4 : 0) + (which & SONDE_ATTR_PAYLOAD ? 9 : 0);

	if ((size_t)(e->end - e->p) < nr)
		return false;
	e->p += nr;
	return true;
}

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
	cpu_settle(s, ticks, cpu_ns);
	s->gpu_ns = 0;
	s->correlation = 0;
	if (!resync && field[0] == s->nr_lost)
		return true;
	s->n->counts.lost += field[0] > s->nr_lost ? field[0] - s->nr_lost : 0;
	s->nr_lost = field[0];
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
		reconcile(s, i, mine, nr_mine);
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

/* The labels of the default domain's stack, outermost first, joined by '/'. */
static uint32_t region_path(struct stream *s)
{
	struct sonde_records *r = s->n->r;
	struct sonde_buf path = {0};
	uint32_t chain[SONDE_OPEN_LIMIT], nr = 0, range;
	struct sonde_str text;

	if (s->top[0] == SONDE_NONE)
		return SONDE_NONE;
	if (s->top[0] == s->path_range)
		return s->path;
	for (range = s->top[0]; range != SONDE_NONE && nr < SONDE_OPEN_LIMIT;
		range = r->ranges.at[range].parent)
		chain[nr++] = range;
	while (nr--) {
		sonde_buf_str(&path, sonde_records_str(r, r->ranges.at[chain[nr]].label));
		if (nr)
			sonde_buf_putc(&path, '/');
	}
	text = sonde_arena_dup(&r->arena, sonde_buf_view(&path));
	s->path_range = s->top[0];
	s->path = text.p ? sonde_records__string(r, text) : SONDE_NONE;
	sonde_buf_release(&path);
	return s->path;
}

static bool read_node(struct stream *s, struct event *e)
{
	uint64_t field[2] = {0};
	bool copy = e->type == SONDE_EVENT_NODE_COPY;
	struct native_node *node;

	e->p = sonde_native__numbers(e->p, e->end, field, copy ? 2 : 1);
	if (!e->p)
		return false;
	node = sonde_vec_push(&s->n->nodes);
	if (!node) {
		s->no_memory = true;
		return true;
	}
	*node = (struct native_node){
		.id = field[0], .original = field[1], .path = copy ? SONDE_NONE : region_path(s)};
	return true;
}

static bool read_edge(struct stream *s, struct event *e)
{
	uint64_t field[2] = {(uint64_t)s->number + 1, 0};
	uint32_t label, domain, range = SONDE_NONE;
	struct native_edge *edge;
	bool is_stop = e->type == SONDE_EVENT_STOP;

	if (is_stop) {
		e->p = sonde_native__numbers(e->p, e->end, field, 2);
		if (!e->p)
			return false;
	} else {
		if (!read_label(s, e, &label, &domain))
			return false;
		e->p = sonde_varint_get(e->p, e->end, &field[1]);
		if (!e->p || !skip_attributes(e))
			return false;
		range = range_add(s, label, domain, SONDE_START_END);
		if (range == SONDE_NONE)
			return true;
	}
	edge = sonde_vec_push(&s->n->edges);
	if (!edge) {
		s->no_memory = true;
		return true;
	}
	*edge = (struct native_edge){.key = field[0] << 32 | (uint32_t)field[1],
		.ns = e->ns,
		.range = range,
		.is_stop = is_stop};
	return true;
}

static bool read_name(struct stream *s, struct event *e)
{
	uint64_t field[2];
	uint32_t label, domain;

	if (!read_label(s, e, &label, &domain))
		return false;
	e->p = sonde_native__numbers(
		e->p, e->end, field, e->type == SONDE_EVENT_NAME_THREAD ? 1 : 2);
	return e->p != NULL;
}

static bool read_gpu_clock(struct stream *s, struct event *e)
{
	struct native_point *point;
	uint64_t ns;

	e->p = sonde_varint_get(e->p, e->end, &ns);
	if (!e->p)
		return false;
	point = sonde_vec_push(&s->n->gpu.points);
	if (!point)
		s->no_memory = true;
	else
		*point = (struct native_point){.from = ns, .to_ns = e->ns};
	return true;
}

static bool read_range(struct stream *s, struct event *e)
{
	uint32_t label, domain;

	if (!read_label(s, e, &label, &domain) || !skip_attributes(e))
		return false;
	if (e->type == SONDE_EVENT_PUSH)
		push(s, label, domain);
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
	pop(s, domain);
	return true;
}

/* --- GPU events ---------------------------------------------------------------------------------
 */

/* The fields after the common ones: how many numbers, whether a name comes first. */
static unsigned nr_own_fields(unsigned type)
{
	switch (type) {
	case SONDE_EVENT_KERNEL:
		return 10;
	case SONDE_EVENT_MEMCPY:
		return 3;
	case SONDE_EVENT_MEMSET:
		return 2;
	default:
		return 1;
	}
}

static bool read_work(struct stream *s, struct event *e)
{
	struct native *n = s->n;
	uint64_t f[6], own[10];
	const uint8_t *body;
	uint32_t label, domain;
	struct native_work *w;

	body = e->p = sonde_native__numbers(e->p, e->end, f, 6);
	if (!e->p || (e->type == SONDE_EVENT_KERNEL && !read_label(s, e, &label, &domain)))
		return false;
	e->p = sonde_native__numbers(e->p, e->end, own, nr_own_fields(e->type));
	if (!e->p)
		return false;
	s->gpu_ns += (uint64_t)sonde_unzigzag(f[0]);
	if (e->type == SONDE_EVENT_OVERHEAD) {
		n->counts.overheads++;
		n->counts.overhead_ns += f[1];
		return true;
	}
	w = sonde_vec_push(&n->works);
	if (!w) {
		s->no_memory = true;
		return true;
	}
	*w = (struct native_work){.start_ns = s->gpu_ns,
		.end_ns = s->gpu_ns + f[1],
		.payload = (uint64_t)(body - (const uint8_t *)n->src->file.data.p),
		.correlation = (uint32_t)f[2],
		.device = (uint32_t)f[3],
		.context = (uint32_t)f[4],
		.stream = (uint32_t)f[5],
		.launch = SONDE_NONE,
		.type = (uint8_t)(e->type | e->flags)};
	return true;
}

static bool add_attributes(struct sonde_records *r, struct sonde_device *d, const uint64_t *f)
{
	static const char *const names[] = {
		"multiprocessor_count", "global_memory_size", "global_memory_bytes_per_second"};
	struct sonde_attribute *list = sonde_arena_calloc(&r->arena, 3, sizeof(*list));
	size_t i;

	if (!list)
		return false;
	for (i = 0; i < 3; i++)
		list[i] = (struct sonde_attribute){
			.name = sonde_str_from(names[i]), .value = (double)f[2 + i]};
	d->attributes = list;
	d->nr_attributes = 3;
	return true;
}

static bool read_device(struct stream *s, struct event *e)
{
	struct native *n = s->n;
	uint64_t id, f[5];
	uint32_t label, domain;
	struct sonde_device d;

	e->p = sonde_varint_get(e->p, e->end, &id);
	if (!e->p || !read_label(s, e, &label, &domain))
		return false;
	e->p = sonde_native__numbers(e->p, e->end, f, 5);
	if (!e->p)
		return false;
	if (sonde_records_device(n->r, n->process, (uint32_t)id) || label == SONDE_NONE)
		return true;
	d = (struct sonde_device){.id = (uint32_t)id,
		.process = n->process,
		.name = sonde_records_str(n->r, label),
		.cc_major = (unsigned)f[0],
		.cc_minor = (unsigned)f[1]};
	s->no_memory |= !add_attributes(n->r, &d, f) || !sonde_records__device(n->r, &d);
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
		return read_edge(s, e);
	case SONDE_EVENT_NAME_THREAD:
	case SONDE_EVENT_NAME_CATEGORY:
	case SONDE_EVENT_NAME_HANDLE:
		return read_name(s, e);
	case SONDE_EVENT_LAUNCH:
		return read_launch(s, e);
	case SONDE_EVENT_NODE:
	case SONDE_EVENT_NODE_COPY:
		return read_node(s, e);
	case SONDE_EVENT_GPU_CLOCK:
		return read_gpu_clock(s, e);
	case SONDE_EVENT_DEVICE:
		return read_device(s, e);
	default:
		return e->type >= SONDE_EVENT_KERNEL && e->type <= SONDE_EVENT_OVERHEAD &&
		       read_work(s, e);
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
		cpu_settle(s, s->ticks, s->cpu_ns + cpu_ns);
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

		cpu_settle(s, last, s->cpu_ns + (last > s->cpu_ticks ? since : 0));
	}
	for (i = 0; i < s->nr_seen; i++) {
		for (range = s->top[s->seen[i]]; range != SONDE_NONE;
			range = r->ranges.at[range].parent) {
			r->range_times.at[range].cpu_ns = 0;
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
	s->set_is_old = true;
	s->path_range = SONDE_NONE;
	memset(s->top, 0xff, sizeof(s->top));
}

/* All pieces of one stream, from `i`; returns the index after the last. */
static size_t read_stream(struct stream *s, size_t i)
{
	const struct native_piece *pieces = s->n->pieces.at, *p;
	uint32_t chunk = 0, offset = 0;
	bool whole = true, resync = true;
	size_t first = i;

	stream_begin(s, &pieces[i]);
	for (; i < s->n->pieces.nr && pieces[i].stream == pieces[first].stream; i++) {
		p = &pieces[i];
		if (p->chunk != chunk || i == first) {
			resync |= i == first || !whole || p->chunk != chunk + 1;
			chunk = p->chunk;
			offset = 0;
			whole = true;
		}
		if (whole && p->offset == offset && (offset || *p->data == SONDE_EVENT_BASE)) {
			whole = read_piece(s, p, resync);
			resync = false;
			offset += p->nr_bytes;
		} else {
			whole = false;
		}
		if (!whole) {
			s->n->counts.bad_chunks++;
			resync = true;
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
