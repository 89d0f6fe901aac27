/*
 * The events that are not pushes and pops: labels, start/end ranges, names,
 * graph nodes, and what the GPU did.
 */
#include "read/native_stream_int.h"

#include <string.h>

bool sonde_stream__label(
	struct stream *s, const struct sonde_event *e, uint32_t *label, uint32_t *domain)
{
	const struct sonde_event_label *l = &e->label;

	if (!l->text) {
		*label = sonde_native__string(s->n, l->number);
		*domain = l->number < s->n->strings.nr ? s->n->strings.at[l->number].domain : 0;
		return true;
	}
	if (l->domain >= NATIVE_MAX_DOMAINS)
		return false;
	*label = sonde_records__string(
		s->n->r, sonde_native__text((const uint8_t *)l->text, l->nr_bytes));
	*domain = l->domain;
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

void sonde_stream__node(struct stream *s, const struct sonde_event *e)
{
	bool copy = e->type == SONDE_EVENT_NODE_COPY;
	struct native_node *node = sonde_vec_push(&s->n->nodes);

	if (!node) {
		s->no_memory = true;
		return;
	}
	*node = (struct native_node){.ns = sonde_stream__now(s),
		.id = e->field[0],
		.original = copy ? e->field[1] : 0,
		.path = copy ? SONDE_NONE : region_path(s)};
}

static bool add_edge(struct stream *s, const struct native_edge *edge)
{
	struct native_edge *at = sonde_vec_push(&s->n->edges);

	if (at)
		*at = *edge;
	else
		s->no_memory = true;
	return true;
}

bool sonde_stream__edge(struct stream *s, const struct sonde_event *e)
{
	struct native_edge edge = {.ns = sonde_stream__now(s), .range = SONDE_NONE};
	uint32_t label, domain;

	if (e->type == SONDE_EVENT_STOP) {
		edge.is_stop = true;
		edge.key = e->field[0] << 32 | (uint32_t)e->field[1];
		return add_edge(s, &edge);
	}
	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	edge.key = ((uint64_t)s->number + 1) << 32 | (uint32_t)e->field[0];
	edge.range = sonde_stream__start(s, label, domain);
	return edge.range == SONDE_NONE || add_edge(s, &edge);
}

void sonde_stream__gpu_clock(struct stream *s, const struct sonde_event *e)
{
	struct native_point *point = sonde_vec_push(&s->n->gpu.points);

	if (!point)
		s->no_memory = true;
	else
		*point = (struct native_point){.from = e->field[0], .to_ns = sonde_stream__now(s)};
}

/* --- GPU events ---------------------------------------------------------------------------------
 */

bool sonde_stream__work(struct stream *s, const struct sonde_event *e, const uint8_t *at)
{
	const uint64_t *f = e->field;
	struct native *n = s->n;
	uint32_t label, domain;
	struct native_work *w;

	if (e->type == SONDE_EVENT_KERNEL && !sonde_stream__label(s, e, &label, &domain))
		return false;
	if (e->type == SONDE_EVENT_OVERHEAD) {
		n->counts.overheads++;
		n->counts.overhead_ns += f[SONDE_GPU_DURATION];
		return true;
	}
	w = sonde_vec_push(&n->works);
	if (!w) {
		s->no_memory = true;
		return true;
	}
	*w = (struct native_work){.start_ns = f[SONDE_GPU_START],
		.end_ns = f[SONDE_GPU_START] + f[SONDE_GPU_DURATION],
		.at = (uint64_t)(at - (const uint8_t *)n->src->file.data.p),
		.correlation = (uint32_t)f[SONDE_GPU_CORRELATION],
		.device = (uint32_t)f[SONDE_GPU_DEVICE],
		.context = (uint32_t)f[SONDE_GPU_CONTEXT],
		.stream = (uint32_t)f[SONDE_GPU_STREAM],
		.launch = SONDE_NONE,
		.type = e->type};
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
			.name = sonde_str_from(names[i]), .value = (double)f[i]};
	d->attributes = list;
	d->nr_attributes = 3;
	return true;
}

bool sonde_stream__device(struct stream *s, const struct sonde_event *e)
{
	struct native *n = s->n;
	uint32_t id = (uint32_t)e->field[SONDE_DEVICE_ID], label, domain;
	struct sonde_device d;

	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	if (sonde_records_device(n->r, n->process, id) || label == SONDE_NONE)
		return true;
	d = (struct sonde_device){.id = id,
		.process = n->process,
		.name = sonde_records_str(n->r, label),
		.cc_major = (unsigned)e->field[SONDE_DEVICE_CC_MAJOR],
		.cc_minor = (unsigned)e->field[SONDE_DEVICE_CC_MINOR]};
	s->no_memory |= !add_attributes(n->r, &d, &e->field[SONDE_DEVICE_MULTIPROCESSORS]) ||
			!sonde_records__device(n->r, &d);
	return true;
}
