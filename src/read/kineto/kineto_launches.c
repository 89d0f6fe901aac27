/*
 * Launches: the host calls that asked for them, by correlation id, and the ranges that were open then.
 * Everything is walked in order of time beside the ranges of all threads: one step each.
 */
#include "read/kineto/kineto_int.h"

#include "base/alloc.h"

/* --- GPU work ↔ the calls that asked for it -------------------------------------------------------- */

/* The earliest of several calls with one id: a runtime call has the id of the driver call inside it. */
static uint32_t earliest_call(const struct kineto *k, const struct sonde_keyed *calls, size_t from)
{
	uint32_t best = calls[from].index;
	size_t i;

	for (i = from; i < k->calls.nr && calls[i].key == calls[from].key; i++)
		if (k->calls.at[calls[i].index].ns < k->calls.at[best].ns)
			best = calls[i].index;
	return best;
}

/* Until it is placed, `call` is the thread of the call. */
static void match_works(struct kineto *k, const struct sonde_keyed *works, const struct sonde_keyed *calls)
{
	size_t nr = k->r->records.nr - k->first_record, i, c = 0;
	uint64_t last = 0;
	uint32_t best = SONDE_NONE;

	for (i = 0; i < nr; i++) {
		struct sonde_record *rec = &k->r->records.at[k->first_record + works[i].index];

		if (works[i].key != last) {
			while (c < k->calls.nr && calls[c].key < works[i].key)
				c++;
			last = works[i].key;
			best = c < k->calls.nr && calls[c].key == last ? earliest_call(k, calls, c)
								       : SONDE_NONE;
		}
		rec->call = best == SONDE_NONE ? SONDE_NONE : k->calls.at[best].thread;
		rec->call_ns = best == SONDE_NONE ? 0 : k->calls.at[best].ns;
		k->counts.no_call += best == SONDE_NONE;
	}
}

static bool match_calls(struct kineto *k)
{
	size_t nr = k->r->records.nr - k->first_record;
	const struct sonde_record *at = nr ? &k->r->records.at[k->first_record] : NULL;
	struct sonde_keyed *works = sonde_order_by_field(at, nr, call_ns); /* the correlation still */
	struct sonde_keyed *calls = sonde_order_by_field(k->calls.at, k->calls.nr, correlation);
	bool ok = works && calls;

	if (ok)
		match_works(k, works, calls);
	sonde_free(works);
	sonde_free(calls);
	return ok;
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

/* Orders records by their call, or their start without one; records of one call by their start. */
static bool order_records(struct kineto *k)
{
	static sonde_key_fn *const keys[] = {start_of, time_of};
	size_t nr = k->r->records.nr - k->first_record;
	struct sonde_record *at = nr ? &k->r->records.at[k->first_record] : NULL;

	return sonde_order_apply(sonde_order_by(at, nr, keys, 2), at, nr, sizeof(*at));
}

int sonde_kineto__join_calls(struct kineto *k)
{
	if (k->r->records.nr >= SONDE_NONE || k->calls.nr >= SONDE_NONE ||
		k->ranges.nr >= SONDE_NONE || k->ops.nr >= SONDE_NONE)
		return sonde_err_set(k->err, SONDE_ERR_LIMIT, 
			"%s: more than 4 billion events: record a shorter time",
			k->src->path);
	if (!match_calls(k))
		return sonde_err_nomem(k->err);
	sonde_vec_release(&k->calls);
	return order_records(k) ? 0 : sonde_err_nomem(k->err);
}

/* --- which ranges were open ------------------------------------------------------------------------ */

/* The process of a thread; the trace may name it. */
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

static bool add_processes(struct kineto *k)
{
	size_t i;

	for (i = 0; i < k->threads.nr; i++) {
		struct kineto_thread *t = &k->threads.at[i];

		t->process = process_of(k, t->pid);
		t->last = SONDE_NONE;
		if (t->process == SONDE_NONE)
			return false;
	}
	return true;
}

static bool add_ranges(struct kineto *k)
{
	size_t i;

	for (i = 0; i < k->ranges.nr; i++) {
		const struct sonde_span *span = &k->ranges.at[i];
		struct sonde_range *range = sonde_vec_push(&k->r->ranges);

		if (!range)
			return false;
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
	return true;
}

/* The set of one range and those around it. */
static uint32_t set_of(struct kineto *k, struct kineto_thread *t, uint32_t span)
{
	uint32_t number = (uint32_t)k->first_range + span;

	if (span == SONDE_NONE)
		return 0;
	if (t->last != span) {
		t->last_set = sonde_records__set(k->r, &number, 1);
		t->last = t->last_set == SONDE_NONE ? SONDE_NONE : span;
	}
	return t->last_set;
}

/* Work without a call belongs to the process that was traced. */
static bool place_stray(struct kineto *k, struct sonde_record *rec)
{
	uint32_t process = k->threads.nr ? k->threads.at[0].process : process_of(k, k->cpu_pid),
		 caller = sonde_records__caller(k->r, process, 0);

	rec->caller = caller;
	return caller != SONDE_NONE;
}

static bool place_called(struct kineto *k, struct sonde_record *rec, uint32_t thread)
{
	struct kineto_thread *t = &k->threads.at[thread];
	uint32_t caller = sonde_records__caller(k->r, t->process, t->tid);

	rec->open = set_of(k, t, sonde_spans__open_at(&k->ranges, thread, rec->call_ns));
	rec->call_ns += k->base_ns;
	rec->caller = caller;
	return rec->open != SONDE_NONE && caller != SONDE_NONE;
}

static bool place_records(struct kineto *k)
{
	bool ok = true;
	size_t i;

	sonde_spans__rewind(&k->ranges);
	for (i = k->first_record; i < k->r->records.nr && ok; i++) {
		struct sonde_record *rec = &k->r->records.at[i];
		uint32_t thread = rec->call;

		rec->call = 0;
		rec->time.start_ns += k->base_ns;
		rec->time.end_ns += k->base_ns;
		ok = thread == SONDE_NONE ? place_stray(k, rec) : place_called(k, rec, thread);
	}
	return ok;
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
	bool ok = sonde_spans__nest(&k->ranges, k->threads.nr) && add_processes(k) && add_ranges(k);
	int rc = ok ? sonde_kineto__find_origins(k) : sonde_err_nomem(k->err);

	if (rc)
		return rc;
	place_calls(k);
	return place_records(k) ? 0 : sonde_err_nomem(k->err);
}
