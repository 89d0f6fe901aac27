/*
 * The events that are not pushes and pops: labels, start/end ranges, names,
 * graph nodes, and what the GPU did.
 */
#include "read/native_stream_int.h"

#include <string.h>

/* The label of an event: a number, or written out. Its domain comes with it. */
bool sonde_stream__label(struct stream *s, struct event *e, uint32_t *label, uint32_t *domain)
{
	uint64_t field[2] = {0};

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
	*label = sonde_records__string(s->n->r, sonde_native__text(e->p, field[1]));
	*domain = (uint32_t)field[0];
	e->p += field[1];
	return true;
}

bool sonde_stream__skip_attributes(struct event *e)
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

/* The labels of the default domain's stack, outermost first, joined by '/'; how many bytes. */
static size_t write_path(const struct stream *s, char *to, size_t max)
{
	const struct sonde_records *r = s->n->r;
	uint32_t chain[SONDE_OPEN_LIMIT], nr = 0, range;
	size_t n = 0;

	for (range = s->top[0]; range != SONDE_NONE; range = r->ranges.at[range].parent)
		chain[nr++] = range;
	while (nr-- && n < max) {
		struct sonde_str label = sonde_records_str(r, r->ranges.at[chain[nr]].label);
		size_t fits = label.n < max - n ? label.n : max - n;

		if (fits)
			memcpy(to + n, label.p, fits);
		n += fits;
		if (nr && n < max)
			to[n++] = '/';
	}
	return n;
}

/* Ends a path that did not fit with an ellipsis, behind its last whole character. */
static size_t mark_cut(char *path, size_t n)
{
	static const char mark[] = "…";

	while (n && ((unsigned char)path[n - 1] & 0xc0) == 0x80)
		n--;
	if (n && (unsigned char)path[n - 1] & 0x80)
		n--;
	memcpy(path + n, mark, sizeof(mark) - 1);
	return n + sizeof(mark) - 1;
}

/* The region path a graph node is made in: many nodes have the same, so each is kept once. */
static uint32_t region_path(struct stream *s)
{
	struct sonde_records *r = s->n->r;
	char bytes[NATIVE_MAX_PATH + 4];
	struct sonde_str path = {bytes, 0};
	bool is_new;

	if (s->top[0] == SONDE_NONE)
		return SONDE_NONE;
	if (s->top[0] == s->path_range)
		return s->path;
	path.n = write_path(s, bytes, NATIVE_MAX_PATH);
	if (path.n == NATIVE_MAX_PATH)
		path.n = mark_cut(bytes, path.n);
	s->path_range = s->top[0];
	s->path = sonde_map_add(&r->strings, path, &is_new);
	if (s->path != SONDE_NONE && is_new) {
		path = sonde_arena_dup(&r->arena, path);
		sonde_map_rekey(&r->strings, s->path, path);
	}
	s->no_memory |= s->path == SONDE_NONE || !path.p;
	return s->path;
}

bool sonde_stream__node(struct stream *s, struct event *e)
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
	*node = (struct native_node){.ns = e->ns,
		.id = field[0],
		.original = field[1],
		.path = copy ? SONDE_NONE : region_path(s)};
	return true;
}

bool sonde_stream__edge(struct stream *s, struct event *e)
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
		if (!sonde_stream__label(s, e, &label, &domain))
			return false;
		e->p = sonde_varint_get(e->p, e->end, &field[1]);
		if (!e->p || !sonde_stream__skip_attributes(e))
			return false;
		range = sonde_stream__start(s, label, domain);
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

bool sonde_stream__name(struct stream *s, struct event *e)
{
	uint64_t field[2];
	uint32_t label, domain;

	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	e->p = sonde_native__numbers(
		e->p, e->end, field, e->type == SONDE_EVENT_NAME_THREAD ? 1 : 2);
	return e->p != NULL;
}

bool sonde_stream__gpu_clock(struct stream *s, struct event *e)
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

bool sonde_stream__work(struct stream *s, struct event *e)
{
	struct native *n = s->n;
	uint64_t f[6], own[10];
	const uint8_t *body;
	uint32_t label, domain;
	struct native_work *w;

	body = e->p = sonde_native__numbers(e->p, e->end, f, 6);
	if (!e->p || (e->type == SONDE_EVENT_KERNEL && !sonde_stream__label(s, e, &label, &domain)))
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

bool sonde_stream__device(struct stream *s, struct event *e)
{
	struct native *n = s->n;
	uint64_t id, f[5];
	uint32_t label, domain;
	struct sonde_device d;

	e->p = sonde_varint_get(e->p, e->end, &id);
	if (!e->p || !sonde_stream__label(s, e, &label, &domain))
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
