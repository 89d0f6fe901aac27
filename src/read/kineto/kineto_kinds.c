/* Each kind of event becomes a range, an operator, a call, a record, a sample of counters or a name. */
#include "read/kineto/kineto_int.h"

#include <math.h>

uint32_t sonde_kineto__text(struct kineto *k, const struct sonde_scan_text *text)
{
	struct sonde_str s = text->raw;

	if (text->has_escapes) {
		sonde_buf_clear(&k->scratch);
		sonde_scan_unescape(&k->scratch, s);
		if (k->scratch.failed)
			return SONDE_NONE;
		s = sonde_buf_view(&k->scratch);
	}
	return sonde_records__copied(k->r, s);
}

static uint32_t thread_of(struct kineto *k, uint64_t pid, uint64_t tid)
{
	uint64_t key[2] = {pid, tid};
	struct kineto_thread *t;
	bool is_new;

	if (k->last_thread < k->threads.nr) {
		t = &k->threads.at[k->last_thread];
		if (t->pid == pid && t->tid == tid)
			return k->last_thread;
	}
	k->last_thread =
		sonde_map_keep(&k->thread_keys, &k->r->arena, SONDE_BYTES(key), &is_new);
	if (k->last_thread == SONDE_NONE || !is_new)
		return k->last_thread;
	return sonde_vec_put(&k->threads, (struct kineto_thread){.pid = pid, .tid = tid,
						  .process = SONDE_NONE})
		       ? k->last_thread
		       : SONDE_NONE;
}

static uint64_t end_of(const struct kineto_event *e)
{
	uint64_t end;

	return __builtin_add_overflow(e->ts_ns, e->dur_ns, &end) ? UINT64_MAX : end;
}

static bool fill_span(struct kineto *k, struct sonde_span *span, const struct kineto_event *e)
{
	if (!span)
		return false;
	*span = (struct sonde_span){.begin_ns = e->ts_ns,
		.end_ns = end_of(e),
		.lane = thread_of(k, e->pid, e->tid)};
	return span->lane != SONDE_NONE;
}

static bool keep_range(struct kineto *k, const struct kineto_event *e)
{
	struct sonde_span *span = sonde_vec_push(&k->ranges);
	uint32_t label = sonde_kineto__text(k, &e->name);

	if (!fill_span(k, span, e) || label == SONDE_NONE)
		return false;
	span->what = label;
	return true;
}

static bool keep_linked(struct kineto *k, const struct kineto_event *e, uint64_t link)
{
	struct sonde_span *span = sonde_vec_push(&k->ops);

	if (!fill_span(k, span, e))
		return false;
	span->what = link;
	k->counts.linked += link != KINETO_ENGINE;
	return true;
}

/*
 * A flow and the operator it begins or ends at are neighbours in a trace, mostly the
 * operator first. Operators with a sequence number need no flow.
 */
static bool link_operator(struct kineto *k, const struct kineto_event *e, uint64_t link)
{
	struct kineto_beside *last = &k->beside;
	bool is_pair = last->is_there && last->pid == e->pid && last->tid == e->tid &&
		       last->begin_ns == e->ts_ns && !last->link != !link;
	struct kineto_event op = *e;

	if (!is_pair) {
		*last = (struct kineto_beside){e->pid, e->tid, e->ts_ns, end_of(e), link, true};
		return true;
	}
	if (link)
		op.dur_ns = last->end_ns - last->begin_ns;
	else
		last->is_there = false;
	return keep_linked(k, &op, link ? link : last->link);
}

static bool keep_flow(struct kineto *k, const struct kineto_event *e)
{
	uint64_t link = (e->id & (KINETO_LINK_MASK >> 1)) | KINETO_FLOW_BIT;

	k->counts.flows++;
	return link_operator(k, e, e->ph == 's' ? link : link | UINT64_C(1) << KINETO_LINK_BITS);
}

/* Keeps only the link from backward work to its forward operator. */
static bool keep_operator(struct kineto *k, const struct kineto_event *e)
{
	struct kineto_args a;
	uint64_t link;

	sonde_kineto__read_args(e->args, &a);
	if (!kineto_has(&a, KINETO_SEQUENCE) || (int64_t)a.number[KINETO_SEQUENCE] < 0)
		return sonde_str_starts(e->name.raw, "autograd::engine::evaluate_function: ")
			       ? keep_linked(k, e, KINETO_ENGINE)
			       : link_operator(k, e, 0);
	link = a.number[KINETO_SEQUENCE] & (KINETO_LINK_MASK >> 1);
	if (kineto_has(&a, KINETO_FWD_THREAD))
		link |= a.number[KINETO_FWD_THREAD] << KINETO_LINK_BITS;
	return keep_linked(k, e, link);
}

/* A call that the host may have waited in; its thread is a number of the trace's until it is placed. */
static bool keep_wait(struct kineto *k, const struct kineto_event *e, uint32_t thread)
{
	const struct sonde_call_name *name = sonde_call_find(e->name.raw.p, e->name.raw.n);

	if (!name || name->kind >= SONDE_NR_WAITS)
		return true;
	return sonde_vec_put(&k->r->calls, (struct sonde_call){.begin_ns = e->ts_ns,
						   .end_ns = end_of(e),
						   .thread = thread,
						   .stream = SONDE_NONE,
						   .kind = name->kind});
}

static bool keep_call(struct kineto *k, const struct kineto_event *e)
{
	uint32_t thread = thread_of(k, e->pid, e->tid);
	struct kineto_args a;

	if (thread == SONDE_NONE || !keep_wait(k, e, thread))
		return false;
	k->threads.at[thread].has_calls = true;

	sonde_kineto__read_args(e->args, &a);
	if (!kineto_has(&a, KINETO_CORRELATION) || !a.number[KINETO_CORRELATION])
		return true;
	return sonde_vec_put(
		&k->calls, (struct kineto_call){.correlation = a.number[KINETO_CORRELATION],
				   .ns = e->ts_ns,
				   .thread = thread});
}

static uint32_t small_arg(const struct kineto_args *a, enum kineto_arg arg)
{
	return kineto_has(a, arg) ? (uint32_t)a->number[arg] : 0;
}

static uint64_t large_arg(const struct kineto_args *a, enum kineto_arg arg)
{
	return kineto_has(a, arg) ? a->number[arg] : 0;
}

static uint32_t text_arg(struct kineto *k, const struct kineto_args *a, enum kineto_arg arg)
{
	return kineto_has(a, arg) ? sonde_kineto__text(k, &a->text[arg - KINETO_COLLECTIVE])
				  : SONDE_NONE;
}

/* The number of a kernel's facts, in `facts`. */
static uint32_t keep_facts(struct kineto *k, const struct kineto_args *a)
{
	struct kineto_facts f = {.registers = small_arg(a, KINETO_REGISTERS),
		.shared = small_arg(a, KINETO_SHARED),
		.collective = text_arg(k, a, KINETO_COLLECTIVE),
		.group = text_arg(k, a, KINETO_GROUP),
		.dtype = text_arg(k, a, KINETO_DTYPE),
		.group_size = small_arg(a, KINETO_GROUP_SIZE),
		.in_elements = large_arg(a, KINETO_IN_ELEMENTS),
		.graph = large_arg(a, KINETO_GRAPH),
		.node = large_arg(a, KINETO_NODE),
		.sequence = kineto_has(a, KINETO_COLLECTIVE_SEQUENCE)
				    ? a->number[KINETO_COLLECTIVE_SEQUENCE] + 1
				    : 0};

	if (kineto_has(a, KINETO_GRID))
		memcpy(f.grid, a->grid, sizeof(f.grid));
	if (kineto_has(a, KINETO_BLOCK))
		memcpy(f.block, a->block, sizeof(f.block));
	return sonde_map_keep(k->facts, &k->r->arena, SONDE_BYTES(f), NULL);
}

/* Copies get the names that native captures give them. */
static struct sonde_str copy_name(struct sonde_str name)
{
	static const struct {
		const char *word;
		uint64_t kind; /* CUPTI's */
	} kinds[] = {{"HtoD", 1}, {"DtoH", 2}, {"HtoA", 3}, {"AtoH", 4}, {"AtoA", 5}, {"AtoD", 6},
		{"DtoA", 7}, {"DtoD", 8}, {"HtoH", 9}, {"PtoP", 10}};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (name.n && memmem(name.p, name.n, kinds[i].word, 4))
			return sonde_launch__copy_name(kinds[i].kind);
	return sonde_launch__copy_name(0);
}

static uint32_t name_of(struct kineto *k, const struct kineto_event *e)
{
	struct sonde_str text = SONDE_STR("(unnamed kernel)");

	if (e->category == KINETO_KERNEL && e->name.raw.n)
		return sonde_kineto__text(k, &e->name);
	if (e->category == KINETO_MEMCPY)
		text = copy_name(e->name.raw);
	if (e->category == KINETO_MEMSET)
		text = SONDE_STR("[CUDA memset]");
	return sonde_records__string(k->r, text);
}

/*
 * A record as far as the event says it: `call_ns` is the correlation until the call is known, and
 * `function` the kernel's name until all are there.
 */
static bool keep_work(struct kineto *k, const struct kineto_event *e)
{
	struct sonde_record *rec = sonde_vec_push(&k->r->records);
	struct kineto_args a;
	uint64_t device;

	if (!rec)
		return false;
	sonde_kineto__read_args(e->args, &a);
	device = kineto_has(&a, KINETO_DEVICE) ? a.number[KINETO_DEVICE] : e->pid;
	rec->kind = e->category == KINETO_KERNEL   ? SONDE_RESULT_KERNEL
		    : e->category == KINETO_MEMCPY ? SONDE_RESULT_MEMCPY
						   : SONDE_RESULT_MEMSET;
	rec->call_ns = large_arg(&a, KINETO_CORRELATION);
	rec->queue = sonde_records__queue(k->r, (uint32_t)device & 0x7fffffff,
		small_arg(&a, KINETO_CONTEXT),
		kineto_has(&a, KINETO_STREAM) ? a.number[KINETO_STREAM] : e->tid);
	rec->time.start_ns = e->ts_ns;
	rec->time.end_ns = end_of(e);
	rec->function = name_of(k, e);
	rec->payload = rec->kind == SONDE_RESULT_KERNEL ? keep_facts(k, &a) : large_arg(&a, KINETO_BYTES);
	return rec->queue != SONDE_NONE && rec->function != SONDE_NONE &&
	       (rec->kind != SONDE_RESULT_KERNEL || rec->payload != SONDE_NONE);
}

/* --- sampled counters ------------------------------------------------------------------------------ */

/*
 * Events `ph: "C"` of the category hardware_counters with one name on one device are a series, their
 * arguments its counters. A sample begins where the one before it ended.
 */

/* The series of a device and name, made when new; NULL when memory is short. */
static struct sonde_series *series_of(struct kineto *k, const struct kineto_event *e)
{
	uint64_t key[2] = {e->pid, sonde_kineto__text(k, &e->name)};
	uint32_t n = sonde_map_keep(&k->series_keys, &k->r->arena, SONDE_BYTES(key), NULL),
		 number = n == SONDE_NONE ? n : (uint32_t)k->first_series + n;
	struct sonde_series *s = sonde_map_slot(&k->r->series, number);

	if (s) {
		s->input = k->src->input;
		s->device = (uint32_t)e->pid & 0x7fffffff;
	}
	return s;
}

/* The counter called `key`; counters come with the first sample, later ones are left out. */
static struct sonde_counter *counter_of(
	struct kineto *k, struct sonde_series *s, const struct sonde_scan_text *key)
{
	uint32_t name = sonde_kineto__text(k, key);
	struct sonde_counter *c;
	size_t i;

	for (i = 0; i < s->counters.nr; i++)
		if (s->counters.at[i].name == name)
			return &s->counters.at[i];
	c = s->times.nr || name == SONDE_NONE ? NULL : sonde_vec_push(&s->counters);
	if (c)
		*c = (struct sonde_counter){.role = SONDE_NONE, .name = name};
	return c;
}

/* Offers each number among the arguments: first for the counters there are, then for values. */
static void each_value(struct kineto *k, struct sonde_series *s, struct sonde_str args, double *row)
{
	struct sonde_scan scan = sonde_scan_of(args);
	struct sonde_scan_text key, text = {0};
	struct sonde_counter *c;
	bool is_first, is_end;
	double value;

	for (scan.p++, is_first = true;; is_first = false) {
		if (sonde_scan_member(&scan, is_first, &key, &is_end) != SONDE_SCAN_OK || is_end)
			return;
		if (*scan.p == '"' || *scan.p == '{' || *scan.p == '[') {
			if (sonde_scan_value(&scan) != SONDE_SCAN_OK)
				return;
			continue;
		}
		if (sonde_scan_word(&scan, &text.raw) != SONDE_SCAN_OK)
			return;
		c = counter_of(k, s, &key);
		if (c && row && sonde_scan_double(text.raw, &value))
			row[c - s->counters.at] = value;
	}
}

/* One sample; false when memory is short. */
static bool keep_counters(struct kineto *k, const struct kineto_event *e)
{
	struct sonde_series *s = e->args.n ? series_of(k, e) : NULL;
	uint64_t last;
	size_t i;

	if (!s)
		return !e->args.n;
	last = s->times.nr ? s->times.at[s->times.nr - 1].end_ns : e->ts_ns;
	if (e->ts_ns < last || (s->times.nr && e->ts_ns == last))
		return true; /* out of order: it cannot be placed */
	each_value(k, s, e->args, NULL);
	if (!sonde_vec_reserve(&s->values, s->values.nr + s->counters.nr))
		return false;
	if (!s->counters.nr || !sonde_vec_put(&s->times, (struct sonde_sample_time){last, e->ts_ns}))
		return !s->counters.nr;
	for (i = 0; i < s->counters.nr; i++)
		s->values.at[s->values.nr + i] = NAN;
	each_value(k, s, e->args, &s->values.at[s->values.nr]);
	s->values.nr += s->counters.nr;
	return true;
}

void sonde_kineto__place_counters(struct kineto *k)
{
	size_t i, t;

	for (i = k->first_series; i < k->r->series.nr; i++) {
		struct sonde_series *s = &k->r->series.at[i];

		s->interval_ns = s->times.nr > 1 ? s->times.at[1].end_ns - s->times.at[0].end_ns : 0;
		if (s->times.nr && s->times.at[0].end_ns >= s->interval_ns)
			s->times.at[0].start_ns = s->times.at[0].end_ns - s->interval_ns;
		for (t = 0; t < s->times.nr; t++) {
			s->times.at[t].start_ns += k->base_ns;
			s->times.at[t].end_ns += k->base_ns;
		}
	}
}

/* --- all kinds ------------------------------------------------------------------------------------- */

static bool keep_name(struct kineto *k, const struct kineto_event *e)
{
	uint32_t name;
	struct kineto_args a;
	bool is_new;

	sonde_kineto__read_args(e->args, &a);
	if (sonde_str_is(e->name.raw, "process_labels") && kineto_has(&a, KINETO_LABELS) &&
		sonde_str_is(a.text[KINETO_LABELS - KINETO_COLLECTIVE].raw, "CPU") && !k->cpu_pid)
		k->cpu_pid = e->pid;
	if (!sonde_str_is(e->name.raw, "process_name") || !kineto_has(&a, KINETO_NAME))
		return true;
	name = text_arg(k, &a, KINETO_NAME);
	return name != SONDE_NONE &&
	       sonde_map_keep(&k->named, &k->r->arena, SONDE_BYTES(e->pid), &is_new) != SONDE_NONE &&
	       (!is_new || sonde_vec_put(&k->names, name));
}

static bool keep_complete(struct kineto *k, const struct kineto_event *e)
{
	bool ok = true;

	if (k->regions >> e->category & 1)
		ok = keep_range(k, e);
	switch (e->category) {
	case KINETO_OPERATOR:
		return ok && keep_operator(k, e);
	case KINETO_CALL:
		return keep_call(k, e);
	case KINETO_KERNEL:
	case KINETO_MEMCPY:
	case KINETO_MEMSET:
		return keep_work(k, e);
	case KINETO_SYNC:
		k->counts.syncs++;
		k->counts.sync_ns += e->dur_ns;
		return true;
	case KINETO_OVERHEAD:
		k->counts.overhead_ns += e->dur_ns;
		return true;
	default:
		return ok;
	}
}

int sonde_kineto__keep(struct kineto *k, const struct kineto_event *e)
{
	bool ok = true;

	if (e->ph == 'M')
		ok = keep_name(k, e);
	else if (e->ph == 'C' && e->category == KINETO_COUNTERS && e->has_ts)
		ok = keep_counters(k, e);
	else if ((e->ph == 's' || e->ph == 'f') && e->category == KINETO_FWDBWD && e->has_ts && e->has_id)
		ok = keep_flow(k, e);
	else if (e->ph == 'X' && e->category != KINETO_OTHER &&
		 (e->is_bad || !e->has_ts || end_of(e) > INT64_MAX))
		k->counts.no_time++;
	else if (e->ph == 'X')
		ok = keep_complete(k, e);
	return ok ? 0 : sonde_err_nomem(k->err);
}
