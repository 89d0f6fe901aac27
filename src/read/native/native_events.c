/*
 * All events except pushes and pops: labels, start/end ranges, graph nodes, marks and CUDA calls,
 * names of threads, devices, and GPU work.
 */
#include "read/native/native_stream.h"

#include "catalogue/attributes.h"
#include "read/launch.h"

#include <math.h>

bool sonde_stream__label(
	struct stream *s, const struct sonde_event *e, uint32_t *label, uint32_t *domain)
{
	const struct sonde_event_label *l = &e->label;

	if (!l->text) {
		*label = sonde_native__string(s->n, l->number);
		*domain = sonde_native__domain(s->n, l->number);
		return true;
	}
	if (l->domain >= NATIVE_MAX_DOMAINS)
		return false;
	*label = sonde_records__string(
		s->n->r, sonde_native__text((const uint8_t *)l->text, l->nr_bytes));
	*domain = l->domain;
	return true;
}

void sonde_stream__read_node(struct stream *s, const struct sonde_event *e)
{
	bool copy = e->type == SONDE_EVENT_NODE_COPY;

	sonde_put(&s->n->src->work, &s->n->nodes,
		(struct native_node){.ns = sonde_stream__now(s),
			.id = e->field[0],
			.original = copy ? e->field[1] : 0,
			.range = copy ? SONDE_NONE : s->top[0]});
}

/*
 * A range that was open when a window opened. One thread writes it, the first one in the window; it is open for all
 * of the window.
 */
static void begin_with_window(struct stream *s, struct native_edge *edge)
{
	struct sonde_range_time *t = &s->n->r->ranges.at[edge->range].time;

	if (s->window >= s->n->windows.nr)
		return;
	edge->ns = sonde_clock_map__ns(&s->n->host, s->n->windows.at[s->window].begin);
	t->begin_ns = edge->ns;
	s->n->current_counts->cut_by_windows++;
}

bool sonde_stream__edge(struct stream *s, const struct sonde_event *e)
{
	struct native_edge edge = {
		.ns = sonde_stream__now(s), .ticks = s->at.ticks, .range = SONDE_NONE, .window = s->window,
		.piece = s->piece, .start = SONDE_NONE, .when = s->when};
	uint32_t label, domain;

	if (e->type == SONDE_EVENT_STOP) {
		edge.is_stop = true;
		edge.key = e->field[0] << 32 | (uint32_t)e->field[1];
		s->stop_id = (uint32_t)e->field[1];
		s->stopped = (uint32_t)s->n->edges.nr;
		sonde_put(&s->n->src->work, &s->n->edges, edge);
		return true;
	}
	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	edge.key = ((uint64_t)s->number + 1) << 32 | (uint32_t)e->field[0];
	if (e->type == SONDE_EVENT_CARRIED)
		edge.key = e->field[0] << 32 | (uint32_t)e->field[1];
	edge.range = sonde_stream__start(s, label, domain);
	if (e->type == SONDE_EVENT_START) {
		s->start_id = (uint32_t)e->field[0];
		s->started = edge.range;
	}
	if (edge.range != SONDE_NONE && e->type == SONDE_EVENT_CARRIED)
		begin_with_window(s, &edge);
	if (edge.range != SONDE_NONE)
		sonde_put(&s->n->src->work, &s->n->edges, edge);
	return true;
}

void sonde_stream__read_gpu_clock(struct stream *s, const struct sonde_event *e)
{
	struct native_gpu_time *last = s->n->last_gpu_times;

	if (e->field[0] > last[1].ns)
		last[0] = last[1], last[1] = (struct native_gpu_time){e->field[0], s->piece};
	else if (e->field[0] > last[0].ns)
		last[0] = (struct native_gpu_time){e->field[0], s->piece};
	sonde_put(&s->n->r->arena, &s->n->gpu.points,
		(struct sonde_clock_point){e->field[0], sonde_stream__now(s)});
}

/* --- marks, calls of CUDA, names of threads -------------------------------------------------------- */

bool sonde_stream__mark(struct stream *s, const struct sonde_event *e)
{
	uint32_t label, domain;

	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	if (s->when != SONDE_NOW)
		return true;
	sonde_put(&s->n->r->arena, &s->n->r->marks,
		(struct sonde_mark){.ns = sonde_stream__now(s),
			.thread = s->tid,
			.process = s->n->process,
			.label = label,
			.domain = s->n->domains[domain]});
	return true;
}

#define MOST_BYTES (UINT64_C(1) << 50) /* no device has more */

bool sonde_stream__reading(struct stream *s, const struct sonde_event *e)
{
	const uint64_t *f = e->field;
	uint32_t range = s->top[0];

	if (f[SONDE_ALLOCATOR_IS_END] > 1 || f[SONDE_ALLOCATOR_DEVICE] >= SONDE_NONE || f[SONDE_ALLOCATOR_BYTES] > MOST_BYTES ||
		f[SONDE_ALLOCATOR_PEAK] > MOST_BYTES || f[SONDE_ALLOCATOR_PEAK] < f[SONDE_ALLOCATOR_BYTES])
		return false;
	if (range == SONDE_NONE || s->left_out[0])
		return true; /* the range it belongs to was not captured */
	sonde_put(&s->n->r->arena, &s->n->r->readings,
		(struct sonde_reading){.ns = sonde_stream__now(s),
			.allocated = f[SONDE_ALLOCATOR_BYTES],
			.peak = f[SONDE_ALLOCATOR_PEAK],
			.process = s->n->process,
			.device = (uint32_t)f[SONDE_ALLOCATOR_DEVICE],
			.range = range,
			.is_end = f[SONDE_ALLOCATOR_IS_END]});
	return true;
}

bool sonde_stream__call(struct stream *s, const struct sonde_event *e)
{
	uint64_t kind = e->field[SONDE_CALL_ON_KIND], stream = 0, begin_ns;

	if (kind >= SONDE_NR_CALL_KINDS || e->field[SONDE_CALL_ON_TICKS] > e->ticks)
		return false;
	begin_ns = sonde_clock_map__ns(&s->n->host, e->ticks - e->field[SONDE_CALL_ON_TICKS]);
	if (kind == SONDE_CALL_COPY)
		sonde_stream__return(s); /* the copy is the thread's last launch, whichever runtime call made it */
	if (kind >= SONDE_NR_WAITS && !s->n->r->options.for_replay)
		return true;
	if (e->type == SONDE_EVENT_CALL_ON)
		stream = e->field[SONDE_CALL_ON_STREAM];
	sonde_put(&s->n->r->arena, &s->n->r->calls,
		(struct sonde_call){
			.begin_ns = begin_ns,
			.end_ns = sonde_stream__now(s),
			.thread = s->tid,
			.event = e->type == SONDE_EVENT_CALL_ON ? e->field[SONDE_CALL_ON_EVENT] : 0,
			.stream = stream >> 1 ? (uint32_t)(stream >> 1) : SONDE_NONE,
			.process = s->n->process,
			.kind = (uint8_t)kind,
			.is_default = stream & 1});
	return true;
}

/* A name that the program gave to a thread is replaced only by another one from the program. */
static void set_name(struct native *n, uint64_t tid, uint32_t name, bool is_given)
{
	struct sonde_thread_name *t;
	size_t i;

	for (i = n->first_name; i < n->r->thread_names.nr; i++) {
		t = &n->r->thread_names.at[i];
		if (t->thread != tid)
			continue;
		if (is_given)
			t->name = name;
		return;
	}
	if (n->r->thread_names.nr - n->first_name < NATIVE_MAX_NAMES)
		sonde_put(&n->r->arena, &n->r->thread_names,
			(struct sonde_thread_name){tid, n->process, name});
}

bool sonde_stream__name(struct stream *s, const struct sonde_event *e)
{
	uint32_t label, domain;

	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	set_name(s->n, e->field[0], label, true);
	return true;
}

#define SYSTEM_NAME 15u /* bytes of a name that the system keeps */

/* A thread has the program's name until it gets another one. */
static bool is_program_name(const struct native *n, struct sonde_str name)
{
	struct sonde_str base = sonde_native__program(n);

	base.n = base.n < SYSTEM_NAME ? base.n : SYSTEM_NAME;
	return sonde_str_eq(base, name);
}

void sonde_native__name_thread(struct native *n, uint64_t tid, struct sonde_str name)
{
	if (name.n && !is_program_name(n, name))
		set_name(n, tid, sonde_records__string(n->r, name), false);
}

/* --- devices --------------------------------------------------------------------------------------- */

/*
 * One event says that a device exists, others contain what the driver says about it. They come from other threads, so
 * they are put together after all streams are read.
 */
#define MAX_ATTRIBUTES 64u /* per device; more is damage */

static void add_attribute(
	struct sonde_records *r, struct sonde_device *d, struct sonde_str name, double value)
{
	struct sonde_attribute *list = (struct sonde_attribute *)d->attributes;
	size_t i;

	for (i = 0; i < d->nr_attributes; i++)
		if (sonde_str_eq(list[i].name, name))
			return;
	if (!list)
		list = sonde_arena_calloc(&r->arena, MAX_ATTRIBUTES, sizeof(*list));
	d->attributes = list;
	if (list && d->nr_attributes < MAX_ATTRIBUTES)
		list[d->nr_attributes++] = (struct sonde_attribute){.name = name, .value = value};
}

bool sonde_stream__device(struct stream *s, const struct sonde_event *e)
{
	const uint64_t *f = e->field;
	struct native *n = s->n;
	uint32_t id = (uint32_t)f[SONDE_DEVICE_ID], label, domain;
	struct sonde_device d;

	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	if (sonde_records_device(n->r, n->process, id) || label == SONDE_NONE)
		return true;
	d = (struct sonde_device){.id = id,
		.process = n->process,
		.name = sonde_records_str(n->r, label),
		.cc_major = (unsigned)f[SONDE_DEVICE_CC_MAJOR],
		.cc_minor = (unsigned)f[SONDE_DEVICE_CC_MINOR]};
	add_attribute(n->r, &d, SONDE_STR(SONDE_ATTR_SMS), (double)f[SONDE_DEVICE_MULTIPROCESSORS]);
	add_attribute(n->r, &d, SONDE_STR(SONDE_ATTR_MEMORY), (double)f[SONDE_DEVICE_MEMORY_BYTES]);
	sonde_records__device(n->r, &d);
	return true;
}

bool sonde_stream__attribute(struct stream *s, const struct sonde_event *e)
{
	uint32_t label, domain;

	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	sonde_put(&s->n->src->work, &s->n->attributes,
		(struct native_attribute){(uint32_t)e->field[0], label,
			e->type == SONDE_EVENT_UUID ? NAN : (double)e->field[1]});
	return true;
}

void sonde_native__devices(struct native *n)
{
	size_t i;

	for (i = 0; i < n->attributes.nr; i++) {
		const struct native_attribute *a = &n->attributes.at[i];
		struct sonde_str text = sonde_records_str(n->r, a->text);
		const struct sonde_device *known =
			sonde_records_device(n->r, n->process, a->device);
		struct sonde_device *d = known ? &n->r->devices.at[known - n->r->devices.at] : NULL;

		if (d && isnan(a->value))
			d->uuid = text;
		else if (d)
			add_attribute(n->r, d, text, a->value);
	}
}

/* --- PC samples ------------------------------------------------------------------------------------- */

bool sonde_stream__pc_function(struct stream *s, const struct sonde_event *e)
{
	uint64_t ticks = e->field[SONDE_PC_FUNCTION_TICKS];
	struct sonde_records *r = s->n->r;
	uint32_t label, domain;

	if (ticks > e->ticks || r->pc_samples.nr >= SONDE_NONE || !sonde_stream__label(s, e, &label, &domain))
		return false;
	sonde_put(&r->arena, &r->pc_batches,
		(struct sonde_pc_batch){.begin_ns = sonde_clock_map__ns(&s->n->host, e->ticks - ticks),
			.end_ns = sonde_stream__now(s),
			.cubin = e->field[SONDE_PC_FUNCTION_CUBIN],
			.process = s->n->process,
			.device = (uint32_t)e->field[SONDE_PC_FUNCTION_DEVICE],
			.symbol = label,
			.first = (uint32_t)r->pc_samples.nr,
			.when = s->when,
			.has_code = e->field[SONDE_PC_FUNCTION_IS_KEPT]});
	s->batch = (uint32_t)r->pc_batches.nr;
	return true;
}

/* The samples of a batch are next to each other, because no other stream is read in between. */
bool sonde_stream__pc(struct stream *s, const struct sonde_event *e)
{
	const uint64_t *f = e->field;
	struct sonde_records *r = s->n->r;

	if (!s->batch || f[SONDE_PC_OFFSET] >= UINT32_MAX || f[SONDE_PC_REASON] > UINT32_MAX ||
		f[SONDE_PC_SAMPLES] > UINT32_MAX || f[SONDE_PC_NOT_ISSUED] > UINT32_MAX ||
		r->pc_samples.nr >= SONDE_NONE)
		return false;
	sonde_put(&r->arena, &r->pc_samples,
		(struct sonde_pc_sample){.pc = (uint32_t)f[SONDE_PC_OFFSET],
			.reason = sonde_native__string(s->n, f[SONDE_PC_REASON]),
			.samples = (uint32_t)f[SONDE_PC_SAMPLES],
			.not_issued = (uint32_t)f[SONDE_PC_NOT_ISSUED]});
	if (!sonde_native__failed(s->n))
		r->pc_batches.at[s->batch - 1].nr++;
	return true;
}

/* --- what the GPU did ------------------------------------------------------------------------------ */

#define PINNED 2u /* CUPTI's number for pinned memory */

static void add_memory(struct stream *s, const uint64_t *f, uint64_t at)
{
	struct native_memory *m = sonde_push(&s->n->src->work, &s->n->memory);

	m->at = at;
	m->start_ns = f[SONDE_GPU_START];
	m->correlation = (uint32_t)f[SONDE_GPU_CORRELATION];
	m->memory = (struct sonde_memory){.ns = m->start_ns,
		.address = f[SONDE_MEMORY_ADDRESS],
		.nr_bytes = f[SONDE_MEMORY_BYTES],
		.process = s->n->process,
		.device = (uint32_t)f[SONDE_GPU_DEVICE],
		.is_free = f[SONDE_MEMORY_OPERATION] == SONDE_MEMORY_FREE,
		.is_host = f[SONDE_MEMORY_KIND] == PINNED};
}

/* CUPTI's kind of a copy, with a flag if memory of the host on either side is pageable. */
static uint32_t copy_kind(uint64_t field)
{
	bool is_pageable = (field >> SONDE_COPY_FROM_SHIFT & SONDE_COPY_MASK) == SONDE_MEMORY_PAGEABLE ||
			   (field >> SONDE_COPY_TO_SHIFT & SONDE_COPY_MASK) == SONDE_MEMORY_PAGEABLE;

	return (uint32_t)(field & SONDE_COPY_MASK) | (is_pageable ? SONDE_COPY_PAGEABLE : 0);
}

/* Fills in what depends on the kind of work: kind, name, node in a graph. */
static void describe_work(struct sonde_record *rec, const struct sonde_event *e, uint32_t label)
{
	switch (e->type) {
	case SONDE_EVENT_KERNEL:
		rec->kind = SONDE_RESULT_KERNEL;
		rec->function = label;
		rec->call_ns = e->field[SONDE_KERNEL_NODE];
		break;
	case SONDE_EVENT_MEMCPY:
		rec->kind = SONDE_RESULT_MEMCPY;
		rec->function = copy_kind(e->field[SONDE_COPY_KIND]);
		rec->call_ns = e->field[SONDE_COPY_NODE];
		break;
	case SONDE_EVENT_MEMSET:
		rec->kind = SONDE_RESULT_MEMSET;
		rec->call_ns = e->field[SONDE_SET_NODE];
		break;
	default:
		rec->kind = SONDE_RESULT_GRAPH;
		break;
	}
}

static void add_record(struct stream *s, const struct sonde_event *e, uint32_t label, uint64_t at)
{
	const uint64_t *f = e->field;
	struct sonde_record *rec = sonde_push(&s->n->r->arena, &s->works);

	rec->time.start_ns = f[SONDE_GPU_START];
	rec->time.end_ns = f[SONDE_GPU_START] + f[SONDE_GPU_DURATION];
	rec->payload = at;
	rec->call = (uint32_t)f[SONDE_GPU_CORRELATION];
	rec->queue = sonde_records__queue(s->n->r, (uint32_t)f[SONDE_GPU_DEVICE],
		(uint32_t)f[SONDE_GPU_CONTEXT], (uint32_t)f[SONDE_GPU_STREAM]);
	describe_work(rec, e, label);
}

bool sonde_stream__work(struct stream *s, const struct sonde_event *e, const uint8_t *at)
{
	uint64_t offset = (uint64_t)(at - (const uint8_t *)s->n->src->file.data.p);
	uint32_t label = 0, domain;

	if (e->type == SONDE_EVENT_KERNEL && !sonde_stream__label(s, e, &label, &domain))
		return false;
	if (e->type == SONDE_EVENT_OVERHEAD)
		s->n->current_counts->overhead_ns += e->field[SONDE_GPU_DURATION];
	else if (e->type == SONDE_EVENT_MEMORY)
		add_memory(s, e->field, offset);
	else
		add_record(s, e, label, offset);
	return true;
}
