/* Each kind of event becomes a range, an operator, a call, a record, a sample of counters or a name. */
#include "read/kineto/kineto_int.h"

#include <math.h>

uint32_t sonde_kineto__text(struct kineto *k, const struct sonde_scan_text *text)
{
	struct sonde_str s = text->raw;

	if (text->has_escapes) {
		sonde_buf_clear(&k->scratch);
		sonde_scan_unescape(&k->scratch, s);
		k->src->work.failed |= k->scratch.failed;
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
	k->last_thread = sonde_intern_copy(&k->src->work, &k->thread_keys, SONDE_BYTES(key), &is_new);
	if (is_new)
		sonde_put(&k->src->work, &k->threads,
			(struct kineto_thread){.pid = pid, .tid = tid, .process = SONDE_NONE});
	return k->last_thread;
}

static uint64_t end_of(const struct kineto_event *e)
{
	uint64_t end;

	return __builtin_add_overflow(e->ts_ns, e->dur_ns, &end) ? UINT64_MAX : end;
}

static void keep_span(
	struct kineto *k, struct sonde_spans *to, const struct kineto_event *e, uint64_t what)
{
	sonde_put(&k->src->work, to,
		(struct sonde_span){.begin_ns = e->ts_ns,
			.end_ns = end_of(e),
			.what = what,
			.lane = thread_of(k, e->pid, e->tid)});
}

static void keep_range(
	struct kineto *k, struct sonde_spans *to, const struct kineto_event *e, enum kineto_span_kind kind)
{
	keep_span(k, to, e, kineto_what(kind, sonde_kineto__text(k, &e->name)));
}

static void keep_linked(struct kineto *k, const struct kineto_event *e, uint64_t link)
{
	keep_span(k, &k->ops, e, link);
	k->counts.linked += link != KINETO_ENGINE;
}

/*
 * A flow and the operator at which it begins or ends are neighbours in a trace, mostly the operator comes first.
 * Operators with a sequence number need no flow.
 */
static void link_operator(struct kineto *k, const struct kineto_event *e, uint64_t link)
{
	struct kineto_neighbour *last = &k->neighbour;
	bool is_pair = last->is_set && last->pid == e->pid && last->tid == e->tid &&
		       last->begin_ns == e->ts_ns && !last->link != !link;
	struct kineto_event op = *e;

	if (!is_pair) {
		*last = (struct kineto_neighbour){e->pid, e->tid, e->ts_ns, end_of(e), link, true};
		return;
	}
	if (link)
		op.dur_ns = last->end_ns - last->begin_ns;
	else
		last->is_set = false;
	keep_linked(k, &op, link ? link : last->link);
}

static void keep_flow(struct kineto *k, const struct kineto_event *e)
{
	uint64_t link = (e->id & (KINETO_LINK_MASK >> 1)) | KINETO_FLOW_BIT;

	k->counts.flows++;
	link_operator(k, e, e->ph == 's' ? link : link | UINT64_C(1) << KINETO_LINK_BITS);
}

/* Keeps an operator only for the link from backward work to its forward operator. */
static void keep_operator(struct kineto *k, const struct kineto_event *e)
{
	struct kineto_args a;
	uint64_t link;

	sonde_kineto__read_args(e->args, &a);
	if (kineto_has(&a, KINETO_SEQUENCE) && (int64_t)a.number[KINETO_SEQUENCE] >= 0) {
		link = a.number[KINETO_SEQUENCE] & (KINETO_LINK_MASK >> 1);
		if (kineto_has(&a, KINETO_FWD_THREAD))
			link |= a.number[KINETO_FWD_THREAD] << KINETO_LINK_BITS;
		keep_linked(k, e, link);
	} else if (sonde_str_starts(e->name.raw, "autograd::engine::evaluate_function: ")) {
		keep_linked(k, e, KINETO_ENGINE);
	} else {
		link_operator(k, e, 0);
	}
}

/* Until place_calls, `thread` of a call is a number in `threads`, not a thread id. */
static void keep_call(struct kineto *k, const struct kineto_event *e)
{
	const struct sonde_call_name *name = sonde_call_find(e->name.raw.p, e->name.raw.n);
	uint32_t thread = thread_of(k, e->pid, e->tid);
	struct kineto_args a;

	if (name && name->kind < SONDE_NR_WAITS) /* the host may wait in this call */
		sonde_put(&k->r->arena, &k->r->calls,
			(struct sonde_call){.begin_ns = e->ts_ns,
				.end_ns = end_of(e),
				.thread = thread,
				.stream = SONDE_NONE,
				.kind = name->kind});
	if (thread < k->threads.nr)
		k->threads.at[thread].has_calls = true;
	sonde_kineto__read_args(e->args, &a);
	if (kineto_has(&a, KINETO_CORRELATION) && a.number[KINETO_CORRELATION])
		sonde_put(&k->src->work, &k->calls,
			(struct sonde_launch_call){.id = a.number[KINETO_CORRELATION],
				.ns = e->ts_ns,
				.thread = (uint64_t)sonde_kineto__shape(k, e->name.raw, &a) << 32 | thread});
	sonde_kineto__note_capture(k, e, thread);
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

/* Returns the number of a kernel's facts in `facts`. */
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
		.mark = large_arg(a, KINETO_NODE) ? text_arg(k, a, KINETO_NAME) : SONDE_NONE,
		.sequence = kineto_has(a, KINETO_COLLECTIVE_SEQUENCE)
				    ? a->number[KINETO_COLLECTIVE_SEQUENCE] + 1
				    : 0};

	if (kineto_has(a, KINETO_GRID))
		memcpy(f.grid, a->grid, sizeof(f.grid));
	if (kineto_has(a, KINETO_BLOCK))
		memcpy(f.block, a->block, sizeof(f.block));
	return sonde_intern_copy(&k->r->arena, k->facts, SONDE_BYTES(f), NULL);
}

/* Copies get the names that native captures give them. */
static struct sonde_str copy_name(struct sonde_str name)
{
	static const struct {
		const char *word;
		uint64_t kind; /* CUPTI's number of the kind */
	} kinds[] = {{"HtoD", 1}, {"DtoH", 2}, {"HtoA", 3}, {"AtoH", 4}, {"AtoA", 5}, {"AtoD", 6},
		{"DtoA", 7}, {"DtoD", 8}, {"HtoH", 9}, {"PtoP", 10}};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (name.n && memmem(name.p, name.n, kinds[i].word, 4))
			return sonde_launch__copy_name(
				kinds[i].kind | (sonde_str_has(name, "Pageable", NULL) ? SONDE_COPY_PAGEABLE : 0));
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
 * Makes a record of what the event says. `call_ns` is the correlation id until the call is known, and `function`
 * is the string number of the name until all records are there.
 */
static void keep_work(struct kineto *k, const struct kineto_event *e)
{
	struct sonde_record *rec = sonde_push(&k->r->arena, &k->r->records);
	struct kineto_args a;
	uint64_t device;

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
}

/* --- sampled counters ------------------------------------------------------------------------------ */

/*
 * Events `ph: "C"` of the category hardware_counters with one name on one device are one series; their
 * arguments are its counters. A sample begins when the sample before it ended.
 */

/* The series of a device and name, added when it is new. */
static struct sonde_series *series_of(struct kineto *k, const struct kineto_event *e)
{
	uint64_t key[2] = {e->pid, sonde_kineto__text(k, &e->name)};
	uint32_t n = sonde_intern_copy(&k->src->work, &k->series_keys, SONDE_BYTES(key), NULL);
	struct sonde_series *s = sonde_slot(&k->r->arena, &k->r->series, k->first_series + n);

	s->input = k->src->input;
	s->device = (uint32_t)e->pid & 0x7fffffff;
	return s;
}

/* The counter called `key`. The first sample defines the counters; others that appear later are left out. */
static struct sonde_counter *counter_of(
	struct kineto *k, struct sonde_series *s, const struct sonde_scan_text *key)
{
	uint32_t name = sonde_kineto__text(k, key);
	size_t i;

	for (i = 0; i < s->counters.nr; i++)
		if (s->counters.at[i].name == name)
			return &s->counters.at[i];
	if (!s->times.nr)
		sonde_put(&k->r->arena, &s->counters, (struct sonde_counter){.role = SONDE_NONE, .name = name});
	return NULL;
}

/* Goes through the numbers among the arguments: with `row` NULL it adds the counters, otherwise it stores the values in `row`. */
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

/* Adds one sample. */
static void keep_counters(struct kineto *k, const struct kineto_event *e)
{
	struct sonde_series *s;
	uint64_t last;
	size_t i;

	if (!e->args.n)
		return;
	s = series_of(k, e);
	last = s->times.nr ? s->times.at[s->times.nr - 1].end_ns : e->ts_ns;
	if (e->ts_ns < last || (s->times.nr && e->ts_ns == last))
		return; /* out of order: it cannot be placed */
	each_value(k, s, e->args, NULL);
	if (!s->counters.nr || !sonde_reserve(&k->r->arena, &s->values, s->values.nr + s->counters.nr))
		return;
	sonde_put(&k->r->arena, &s->times, (struct sonde_sample_time){last, e->ts_ns});
	for (i = 0; i < s->counters.nr; i++)
		s->values.at[s->values.nr + i] = NAN;
	each_value(k, s, e->args, &s->values.at[s->values.nr]);
	s->values.nr += s->counters.nr;
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

static void keep_name(struct kineto *k, const struct kineto_event *e)
{
	struct kineto_args a;
	uint32_t name;
	bool is_new;

	sonde_kineto__read_args(e->args, &a);
	if (sonde_str_is(e->name.raw, "process_labels") && kineto_has(&a, KINETO_LABELS) &&
		sonde_str_is(a.text[KINETO_LABELS - KINETO_COLLECTIVE].raw, "CPU") && !k->cpu_pid)
		k->cpu_pid = e->pid;
	if (!sonde_str_is(e->name.raw, "process_name") || !kineto_has(&a, KINETO_NAME))
		return;
	name = text_arg(k, &a, KINETO_NAME);
	sonde_intern_copy(&k->src->work, &k->named, SONDE_BYTES(e->pid), &is_new);
	if (is_new)
		sonde_put(&k->src->work, &k->names, name);
}

static void keep_complete(struct kineto *k, const struct kineto_event *e)
{
	switch (e->category) {
	case KINETO_ANNOTATION:
		keep_range(k, &k->ranges, e, KINETO_SPAN_ANNOTATION);
		break;
	case KINETO_PYTHON:
		if (k->keeps_modules && sonde_kineto__is_module(e->name.raw))
			keep_range(k, &k->modules, e, KINETO_SPAN_MODULE);
		else if (k->keeps_modules && k->is_capture && sonde_kineto__is_forward(e->name.raw))
			keep_range(k, &k->modules, e, KINETO_SPAN_FRAME);
		break;
	case KINETO_OPERATOR:
		if (k->keeps_operators)
			keep_range(k, &k->ranges, e, KINETO_SPAN_OPERATOR);
		keep_operator(k, e);
		break;
	case KINETO_CALL:
		keep_call(k, e);
		break;
	case KINETO_KERNEL:
	case KINETO_MEMCPY:
	case KINETO_MEMSET:
		keep_work(k, e);
		break;
	case KINETO_SYNC:
		k->counts.syncs++;
		k->counts.sync_ns += e->dur_ns;
		break;
	case KINETO_OVERHEAD:
		k->counts.overhead_ns += e->dur_ns;
		break;
	default:
		break;
	}
}

void sonde_kineto__keep(struct kineto *k, const struct kineto_event *e)
{
	if (e->ph == 'M')
		keep_name(k, e);
	else if (e->ph == 'C' && e->category == KINETO_COUNTERS && e->has_ts)
		keep_counters(k, e);
	else if ((e->ph == 's' || e->ph == 'f') && e->category == KINETO_FWDBWD && e->has_ts && e->has_id)
		keep_flow(k, e);
	else if (e->ph == 'X' && e->category != KINETO_OTHER &&
		 (e->is_bad || !e->has_ts || end_of(e) > INT64_MAX))
		k->counts.no_time++;
	else if (e->ph == 'X')
		keep_complete(k, e);
}
