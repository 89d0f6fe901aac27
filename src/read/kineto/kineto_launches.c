/*
 * Launches: finds their host calls by correlation id, and the ranges that were open at the call. Records and
 * the ranges of all threads are walked together in order of time, so each takes one step.
 */
#include "read/kineto/kineto_int.h"

/* --- GPU work ↔ the calls that asked for it -------------------------------------------------------- */

/*
 * Until place_records, a record's `call` is the thread of the call; its `call_ns`, which was the correlation id,
 * becomes the time.
 */
static void match_calls(struct kineto *k)
{
	size_t i, n;
	bool *has_work = NULL;

	sonde_launch_calls__sort(&k->calls, k->src);
	if (k->edges.nr || k->is_capture)
		has_work = sonde_arena_calloc(&k->src->work, k->calls.nr + 1, sizeof(*has_work));
	for (i = k->first_record; i < k->r->records.nr; i++) {
		struct sonde_record *rec = &k->r->records.at[i];
		bool is_there;

		n = sonde_launch_calls__find(&k->calls, rec->call_ns);
		is_there = n < k->calls.nr && k->calls.at[n].id == rec->call_ns;
		rec->call = is_there ? (uint32_t)k->calls.at[n].thread : SONDE_NONE;
		rec->call_ns = is_there ? k->calls.at[n].ns : 0;
		k->counts.no_call += !is_there;
		if (has_work && is_there)
			has_work[n] = true;
	}
	if (has_work)
		sonde_kineto__find_captured(k, has_work);
	sonde_vec_release(&k->calls);
}

static uint64_t start_of(const void *records, uint32_t i)
{
	return ((const struct sonde_record *)records)[i].time.start_ns;
}

static uint64_t time_of(const void *records, uint32_t i)
{
	const struct sonde_record *rec = (const struct sonde_record *)records + i;

	return rec->call_ns ? rec->call_ns : rec->time.start_ns;
}

/* Sorts records by their call (or their start, without a call), and records of one call by their start. */
static void order_records(struct kineto *k)
{
	static sonde_key_fn *const keys[] = {start_of, time_of};
	size_t nr = k->r->records.nr - k->first_record;
	struct sonde_record *at = nr ? &k->r->records.at[k->first_record] : NULL;

	k->src->work.failed |= !sonde_order_apply(sonde_order_by(at, nr, keys, 2), at, nr, sizeof(*at));
}

int sonde_kineto__join_calls(struct kineto *k)
{
	if (k->r->records.nr >= SONDE_NONE || k->calls.nr >= SONDE_NONE ||
		k->ranges.nr + k->modules.nr >= SONDE_NONE || k->ops.nr >= SONDE_NONE)
		return sonde_err_set(k->err, SONDE_ERR_LIMIT, 
			"%s: more than 4 billion events: record a shorter time",
			k->src->path);
	match_calls(k);
	order_records(k);
	return sonde_source__status(k->src, k->r, k->err);
}

/* --- which ranges were open ------------------------------------------------------------------------ */

/* The process with this pid, with the name that the trace gives it. */
static uint32_t process_of(struct kineto *k, uint64_t pid)
{
	uint32_t process, number = sonde_map_find(&k->named, SONDE_BYTES(pid));
	const struct sonde_str none = {NULL, 0},
			       name = number == SONDE_NONE ? none : sonde_records_str(k->r, k->names.at[number]);
	struct sonde_process *p;

	process = sonde_records__process(k->r, k->src->input, pid, none, name);
	if (process == SONDE_NONE || k->rank == SONDE_NONE)
		return process;
	p = &k->r->processes.at[process];
	p->has_rank = true;
	p->rank = k->rank;
	p->world_size = k->world_size == SONDE_NONE ? 0 : k->world_size;
	return process;
}

static void add_processes(struct kineto *k)
{
	size_t i;

	for (i = 0; i < k->threads.nr; i++) {
		struct kineto_thread *t = &k->threads.at[i];

		t->process = process_of(k, t->pid);
		t->last = SONDE_NONE;
	}
}

static void add_ranges(struct kineto *k)
{
	size_t i;

	for (i = 0; i < k->ranges.nr; i++) {
		const struct sonde_span *span = &k->ranges.at[i];
		struct sonde_range *range = sonde_push(&k->r->arena, &k->r->ranges);

		*range = (struct sonde_range){.parent = SONDE_NONE,
			.label = (uint32_t)span->what,
			.domain = SONDE_NONE,
			.process = k->threads.at[span->lane].process,
			.thread = k->threads.at[span->lane].tid,
			.kind = SONDE_PUSH_POP,
			.time = {.begin_ns = span->begin_ns + k->base_ns,
				.end_ns = span->end_ns + k->base_ns}};
		if (span->parent != SONDE_NONE)
			range->parent = (uint32_t)k->first_range + span->parent;
	}
}

/* The set of one range, which implies those around it. */
static uint32_t set_of(struct kineto *k, struct kineto_thread *t, uint32_t span)
{
	uint32_t number = (uint32_t)k->first_range + span;

	if (span == SONDE_NONE)
		return 0;
	if (t->last != span) {
		t->last_set = sonde_records__set(k->r, &number, 1);
		t->last = span;
	}
	return t->last_set;
}

/* Work without a call belongs to the process of the trace. */
static void place_stray(struct kineto *k, struct sonde_record *rec)
{
	uint32_t process = k->threads.nr ? k->threads.at[0].process : process_of(k, k->cpu_pid);

	rec->caller = sonde_records__caller(k->r, process, 0);
}

static void place_called(struct kineto *k, struct sonde_record *rec, uint32_t thread)
{
	struct kineto_thread *t = &k->threads.at[thread];

	rec->open = set_of(k, t, sonde_spans__open_at(&k->ranges, thread, rec->call_ns));
	rec->call_ns += k->base_ns;
	rec->caller = sonde_records__caller(k->r, t->process, t->tid);
}

static void place_records(struct kineto *k)
{
	size_t i;

	sonde_spans__rewind(&k->ranges);
	for (i = k->first_record; i < k->r->records.nr; i++) {
		struct sonde_record *rec = &k->r->records.at[i];
		uint32_t thread = rec->call;

		rec->call = 0;
		rec->time.start_ns += k->base_ns;
		rec->time.end_ns += k->base_ns;
		if (thread == SONDE_NONE)
			place_stray(k, rec);
		else
			place_called(k, rec, thread);
	}
}

static void place_calls(struct kineto *k)
{
	size_t i;

	for (i = k->first_call; i < k->r->calls.nr; i++) {
		struct sonde_call *c = &k->r->calls.at[i];
		const struct kineto_thread *t = &k->threads.at[c->thread];

		c->begin_ns += k->base_ns;
		c->end_ns += k->base_ns;
		c->thread = t->tid;
		c->process = t->process;
	}
	for (i = 0; i < k->threads.nr; i++)
		if (k->threads.at[i].has_calls)
			k->r->processes.at[k->threads.at[i].process].has_calls = true;
}

int sonde_kineto__place_launches(struct kineto *k)
{
	int rc;

	sonde_kineto__add_modules(k);
	add_processes(k);
	add_ranges(k);
	rc = sonde_source__status(k->src, k->r, k->err);
	if (rc)
		return rc;
	sonde_kineto__find_origins(k);
	if (k->captured.nr)
		sonde_kineto__place_captured(k);
	place_calls(k);
	place_records(k);
	rc = sonde_source__status(k->src, k->r, k->err);
	return rc ? rc : sonde_kineto__join_graphs(k);
}
