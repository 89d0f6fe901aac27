#include "lib/replay_in.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/keysort.h"
#include "catalogue/metrics.h"

#include <math.h>

#define DEFAULT_STREAM 7u   /* CUPTI's number for the default stream, if the capture does not say which it is */
#define SAME_CALL_NS   2000 /* a copy and its call begin within this time of each other */

/* --- which process ----------------------------------------------------------------------- */

static bool is_timed(const struct sonde_record *rec)
{
	return rec->time.end_ns > rec->time.start_ns && rec->time.start_ns &&
	       !rec->is_sum && rec->kind != SONDE_RESULT_RANGE && rec->kind != SONDE_RESULT_CMDLIST;
}

static int choose_process(
	struct sonde_replay_arrays *a, const struct sonde_records *r, uint32_t process, struct sonde_err *err)
{
	uint64_t *nr = sonde_calloc(r->processes.nr + 1, sizeof(*nr)), most = 0;
	size_t i;

	if (!nr)
		return sonde_err_nomem(err);
	for (i = 0; i < r->records.nr; i++)
		nr[sonde_record_caller(r, &r->records.at[i])->process] +=
			is_timed(&r->records.at[i]) && r->records.at[i].call_ns;
	for (i = 0; i < r->processes.nr; i++)
		if (nr[i] > most && (process == SONDE_NONE || process == i))
			most = nr[i], a->process = (uint32_t)i;
	sonde_free(nr);
	if (!most && !r->records.nr)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "nothing to replay: the capture has no work of a GPU");
	return most ? 0
		    : sonde_err_set(err, SONDE_ERR_NOTFOUND,
			      "nothing to replay: no launch has both a time on the GPU and the time of its call; "
			      "`sonde run -- COMMAND` captures both");
}

/* --- works ------------------------------------------------------------------------------- */

static bool has_host(struct sonde_str name)
{
	static const char *const words[] = {"Host", "HtoD", "DtoH"};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (memmem(name.p, name.n, words[i], 4))
			return true;
	return false;
}

static bool is_collective(struct sonde_str name)
{
	return sonde_str_starts(name, "nccl") || sonde_str_starts(name, "void nccl");
}

static uint64_t find_bytes(
	const struct sonde_records *r, uint32_t record, struct sonde_values *v, uint32_t metric)
{
	if (metric == SONDE_NONE || sonde_records_values(r, record, v, NULL) < 0 ||
		!(v->num[metric] > 0))
		return 0;
	return (uint64_t)v->num[metric];
}

struct building {
	struct sonde_replay_arrays *a;
	const struct sonde_launches *l;
	const struct sonde_records *r;
	struct sonde_values values;
	uint32_t bytes_metric;
	struct sonde_map collectives; /* keys are struct nth: the n-th collective of a name, which all ranks share … */
	SONDE_VEC(double)
	least_ns; /* … and the shortest time of any rank in it: that rank came last and waited for nobody */
	struct sonde_map counted; /* keys are struct of_process: a name in a process, with the number of its collectives so far … */
	SONDE_VEC(uint32_t) nr_counted;
};

/* The n-th collective of a name. These structs are map keys, so they must have no padding. */
struct nth {
	uint32_t function, nth;
};
struct of_process {
	uint32_t process, function;
};

/*
 * The number of the collective that a record belongs to, which is the same on all ranks; SONDE_NONE when memory is
 * short.
 */
static uint32_t count_collective(struct building *b, const struct sonde_record *rec)
{
	struct of_process key = {sonde_record_caller(b->r, rec)->process, rec->function};
	uint32_t slot = sonde_map_keep(&b->counted, &b->a->arena, SONDE_BYTES(key), NULL),
		 *nr = sonde_map_slot(&b->nr_counted, slot);
	struct nth nth = {rec->function, nr ? (*nr)++ : 0};

	return nr ? sonde_map_keep(&b->collectives, &b->a->arena, SONDE_BYTES(nth), NULL)
		  : SONDE_NONE;
}

/* Ranks leave a collective together. So the rank with the shortest time in it came last and waited for nobody. */
static bool find_levels(struct building *b)
{
	const struct sonde_records *r = b->r;
	uint32_t last = SONDE_NONE, slot;
	double *least, ns;
	size_t i;

	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record *rec = &r->records.at[i];

		if (!is_timed(rec) || !is_collective(sonde_records_str(
					      r, sonde_record_function(r, rec)->full_name)))
			continue;
		slot = count_collective(b, rec);
		if (slot == SONDE_NONE)
			return false;
		least = slot < b->least_ns.nr ? &b->least_ns.at[slot]
					      : sonde_vec_push(&b->least_ns);
		if (!least)
			return false;
		ns = (double)(rec->time.end_ns - rec->time.start_ns);
		*least = *least > 0 && *least < ns ? *least : ns;
		if (sonde_record_caller(r, rec)->process != last)
			b->a->nr_ranks++;
		last = sonde_record_caller(r, rec)->process;
	}
	b->nr_counted.nr = 0;
	sonde_map_release(&b->counted);
	return true;
}

static bool add_work(struct building *b, uint32_t record)
{
	double level_ns = NAN;
	uint32_t slot;
	const struct sonde_record *rec = &b->r->records.at[record];
	struct sonde_str name =
		sonde_records_str(b->r, sonde_record_function(b->r, rec)->full_name);
	bool is_copy = rec->kind == SONDE_RESULT_MEMCPY;

	if (is_collective(name)) {
		slot = count_collective(b, rec);
		if (slot == SONDE_NONE)
			return false;
		level_ns = slot < b->least_ns.nr ? b->least_ns.at[slot] : NAN;
	}
	return sonde_vec_put(&b->a->works,
		(struct sonde_replay_work){.start_ns = rec->time.start_ns,
			.end_ns = rec->time.end_ns,
			.bytes = is_copy ? find_bytes(b->r, record, &b->values, b->bytes_metric) : 0,
			.level_ns = level_ns,
			.stream = rec->queue,
			.kernel = rec->function,
			.kind = is_copy				   ? SONDE_REPLAY_COPY
				: rec->kind == SONDE_RESULT_MEMSET ? SONDE_REPLAY_FILL
								   : SONDE_REPLAY_KERNEL,
			.is_collective = is_collective(name),
			.is_of_host = is_copy && has_host(name),
			.is_pageable = is_copy && sonde_str_has(name, "pageable", NULL)});
}

/* --- operations -------------------------------------------------------------------------- */

static uint32_t number_thread(struct building *b, uint64_t thread)
{
	return sonde_map_keep(&b->a->threads, &b->a->arena, SONDE_BYTES(thread), NULL);
}

static bool add_op(struct building *b, const struct sonde_replay_op *op)
{
	return op->thread != SONDE_NONE && sonde_vec_put(&b->a->ops, *op);
}

/* The records of one call are next to each other, ordered by their start. */
static bool add_launches(struct building *b)
{
	const struct sonde_records *r = b->r;
	size_t i, k;
	bool ok = true;

	for (i = 0; i < r->records.nr && ok; i = k) {
		const struct sonde_record *rec = &r->records.at[i];
		const struct sonde_caller *caller = sonde_record_caller(r, rec);
		struct sonde_replay_op op = {.begin_ns = rec->call_ns,
			.end_ns = i < r->returned_ns.nr && r->returned_ns.at[i] > rec->call_ns
					  ? r->returned_ns.at[i]
					  : rec->call_ns,
			.first_work = (uint32_t)b->a->works.nr,
			.kind = SONDE_REPLAY_LAUNCH};

		k = i + 1;
		if (caller->process != b->a->process || !is_timed(rec))
			continue;
		if (!rec->call_ns) {
			b->a->nr_uncalled++;
			continue;
		}
		ok = add_work(b, (uint32_t)i);
		for (; k < r->records.nr && ok && r->records.at[k].call_ns == rec->call_ns &&
			r->records.at[k].caller == rec->caller;
			k++)
			if (is_timed(&r->records.at[k]))
				ok = add_work(b, (uint32_t)k);
		op.nr_works = (uint32_t)(b->a->works.nr - op.first_work);
		b->a->has_events |=
			op.end_ns > op.begin_ns; /* captures that say when calls return also have the events */
		op.thread = number_thread(b, caller->thread);
		ok = ok && add_op(b, &op);
	}
	return ok;
}

/* The queue of the stream that a call names. Programs use few streams, so the list is short. */
static uint32_t find_queue(const struct sonde_records *r, uint32_t stream)
{
	size_t i;

	for (i = 0; stream != SONDE_NONE && i < r->queues.nr && i < 4096; i++)
		if (((const struct sonde_queue *)(const void *)r->queues.keys[i].p)->stream ==
			stream)
			return (uint32_t)i;
	return SONDE_NONE;
}

static bool add_calls(struct building *b)
{
	static const uint8_t kinds[SONDE_NR_CALL_KINDS] = {
		[SONDE_CALL_SYNC_STREAM] = SONDE_REPLAY_SYNC_STREAM,
		[SONDE_CALL_SYNC_EVENT] = SONDE_REPLAY_SYNC_EVENT,
		[SONDE_CALL_SYNC_DEVICE] = SONDE_REPLAY_SYNC_DEVICE,
		[SONDE_CALL_ALLOC] = SONDE_REPLAY_MEMORY,
		[SONDE_CALL_FREE] = SONDE_REPLAY_MEMORY,
		[SONDE_CALL_RECORD] = SONDE_REPLAY_RECORD,
		[SONDE_CALL_AWAIT] = SONDE_REPLAY_AWAIT,
	};
	const struct sonde_records *r = b->r;
	uint32_t last = SONDE_NONE, queue = SONDE_NONE;
	bool ok = true;
	size_t i;

	for (i = 0; i < r->calls.nr && ok; i++) {
		const struct sonde_call *c = &r->calls.at[i];
		struct sonde_replay_op op = {.begin_ns = c->begin_ns,
			.end_ns = c->end_ns,
			.stream = SONDE_NONE,
			.event = SONDE_NONE};

		if (c->process != b->a->process || c->end_ns < c->begin_ns ||
			c->kind == SONDE_CALL_COPY)
			continue;
		if (c->stream != last)
			queue = find_queue(r, c->stream), last = c->stream;
		op.kind = kinds[c->kind];
		op.stream = queue;
		op.thread = number_thread(b, c->thread);
		if (c->event)
			op.event = sonde_map_keep(
				&b->a->events, &b->a->arena, SONDE_BYTES(c->event), NULL);
		b->a->has_events |= c->kind >= SONDE_NR_WAITS;
		if (c->is_default && queue != SONDE_NONE)
			b->a->input.default_stream = queue;
		ok = add_op(b, &op);
	}
	return ok;
}

static bool add_ranges(struct building *b)
{
	const struct sonde_records *r = b->r;
	bool ok = true;
	size_t i;

	for (i = 0; i < r->ranges.nr && ok; i++) {
		const struct sonde_range *x = &r->ranges.at[i];
		uint32_t region = i < b->l->region_of.nr ? b->l->region_of.at[i] : SONDE_NONE;
		struct sonde_replay_op op = {.begin_ns = x->time.begin_ns,
			.end_ns = x->time.begin_ns,
			.kind = SONDE_REPLAY_ENTER};

		if (x->process != b->a->process || x->kind != SONDE_PUSH_POP ||
			region == SONDE_NONE || x->is_inherited ||
			x->time.end_ns <= x->time.begin_ns || !x->time.begin_ns)
			continue;
		op.entry = (uint32_t)b->a->entry_regions.nr;
		op.thread = number_thread(b, x->thread);
		ok = sonde_vec_put(&b->a->entry_regions, region) && add_op(b, &op);
		op.begin_ns = op.end_ns = x->time.end_ns;
		op.kind = SONDE_REPLAY_LEAVE;
		ok = ok && add_op(b, &op);
	}
	return ok;
}

/* Some sources do not say when launches returned, but list copies among the calls that can wait, with their ends. */
static void end_copies(struct building *b)
{
	struct sonde_replay_op *ops = b->a->ops.at;
	size_t nr = b->a->ops.nr, i, k;

	for (i = 0; i < b->r->calls.nr; i++) {
		const struct sonde_call *c = &b->r->calls.at[i];
		uint64_t from = c->begin_ns > SAME_CALL_NS ? c->begin_ns - SAME_CALL_NS : 0;
		uint32_t thread = sonde_map_find(&b->a->threads, SONDE_BYTES(c->thread));

		if (c->kind != SONDE_CALL_COPY || c->process != b->a->process)
			continue;
		k = 0;
		sonde_bisect(k, nr, mid, ops[mid].begin_ns < from);
		for (; k < nr && ops[k].begin_ns <= c->begin_ns; k++)
			if (ops[k].kind == SONDE_REPLAY_LAUNCH && ops[k].thread == thread &&
				ops[k].end_ns == ops[k].begin_ns && c->end_ns > ops[k].begin_ns)
				ops[k].end_ns = c->end_ns;
	}
}

/* --- all of it --------------------------------------------------------------------------- */

/* Marks the regions in which something was launched, and those around them. */
static void mark_working(bool *works, const struct sonde_launches *l)
{
	const uint32_t *members;
	size_t i, k;

	for (i = 0; i < l->launches.nr; i++) {
		struct sonde_set open = sonde_launches_set(l, l->launches.at[i].open, &members);

		for (k = 0; k < open.nr; k++) {
			uint32_t region = l->region_of.at[members[k]];

			for (; region != SONDE_NONE && !works[region]; region = l->regions.at[region].parent)
				works[region] = true;
		}
	}
}

/* Lists the regions. As in reports, the step is no operator and has work. */
static bool list_regions(struct building *b)
{
	const struct sonde_launches *l = b->l;
	bool *works = sonde_calloc(l->regions.nr + 1, sizeof(*works)), ok = works;
	size_t i;

	if (works)
		mark_working(works, l);
	for (i = 0; i < l->regions.nr && ok; i++)
		ok = sonde_vec_put(&b->a->parents, l->regions.at[i].parent) &&
		     sonde_vec_put(&b->a->is_part, !works[i] || sonde_label_is_operator(sonde_region_label(l, &l->regions.at[i])));
	sonde_free(works);
	return ok;
}

static void guess_default(struct building *b)
{
	if (b->a->input.default_stream == SONDE_NONE)
		b->a->input.default_stream = find_queue(b->r, DEFAULT_STREAM);
}

static bool build_arrays(struct building *b)
{
	struct sonde_replay_arrays *a = b->a;

	/* Entries come first: if times are equal, a launch is inside the entry. */
	if (!list_regions(b) || !find_levels(b) || !add_ranges(b) || !add_launches(b) ||
		!add_calls(b) || !sonde_keysort(a->ops.at, a->ops.nr))
		return false;
	end_copies(b);
	guess_default(b);
	a->input.ops = a->ops.at;
	a->input.nr_ops = a->ops.nr;
	a->input.has_events = a->has_events;
	a->input.works = a->works.at;
	a->input.nr_works = a->works.nr;
	a->input.entry_regions = a->entry_regions.at;
	a->input.nr_entries = a->entry_regions.nr;
	a->input.parents = a->parents.at;
	a->input.is_part = a->is_part.at;
	a->input.nr_regions = a->parents.nr;
	a->input.nr_threads = (uint32_t)a->threads.nr;
	a->input.nr_streams = (uint32_t)b->r->queues.nr;
	a->input.nr_events = (uint32_t)a->events.nr;
	a->input.nr_kernels = (uint32_t)b->r->functions.nr;
	return true;
}

int sonde_replay_arrays_build(
	struct sonde_replay_arrays *out, const struct sonde_launches *l, uint32_t process, struct sonde_err *err)
{
	struct building b = {.a = out,
		.l = l,
		.r = l->records,
		.bytes_metric = sonde_records_metric(l->records, SONDE_METRIC_COPIED)};
	int rc = choose_process(out, b.r, process, err);

	out->input.default_stream = out->input.step = SONDE_NONE;
	if (rc == 0)
		rc = sonde_values_init(&b.values, b.r, err);
	if (rc == 0 && !build_arrays(&b))
		rc = sonde_err_nomem(err);
	sonde_values_release(&b.values);
	sonde_map_release(&b.collectives);
	sonde_map_release(&b.counted);
	sonde_vec_release(&b.least_ns);
	sonde_vec_release(&b.nr_counted);
	return rc;
}

void sonde_replay_arrays_release(struct sonde_replay_arrays *a)
{
	sonde_vec_release(&a->ops);
	sonde_vec_release(&a->works);
	sonde_vec_release(&a->entry_regions);
	sonde_vec_release(&a->parents);
	sonde_vec_release(&a->is_part);
	sonde_map_release(&a->threads);
	sonde_map_release(&a->events);
	sonde_arena_release(&a->arena);
}
