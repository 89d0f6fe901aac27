/*
 * torch.profiler (Kineto) traces: Chrome trace JSON, plain or compressed.
 * Reads kernels, copies and memsets with their times, the host calls that
 * launched them, and annotations as ranges. docs/sources.md lists what is read.
 */
#include "read/kineto/kineto_int.h"

#include <stdio.h>

/* Any JSON may contain events somewhere; reading a file that has none gives an error. */
static bool knows_kineto(struct sonde_str data)
{
	size_t i = sonde_str_starts(data, "\xef\xbb\xbf") ? 3 : 0;

	while (i < data.n && sonde_scan__is_space(data.p[i]))
		i++;
	return i < data.n && (data.p[i] == '{' || data.p[i] == '[') && !sonde_source__is_report(data);
}

/* --- names and devices ----------------------------------------------------------------------------------- */

static void add_names(struct kineto *k)
{
	struct sonde_kernel_names names = {0};
	size_t i;

	for (i = k->first_record; i < k->r->records.nr; i++) {
		struct sonde_record *rec = &k->r->records.at[i];

		rec->function = rec->kind == SONDE_RESULT_KERNEL
			? sonde_kernel_names__function(&names, k->r, rec->function)
			: sonde_records__function(k->r, rec->function, rec->function);
	}
	sonde_vec_release(&names.of);
}

/* Adds the devices that did some work. A trace lists all devices; if it lists an id twice, the first one counts. */
static void add_devices(struct kineto *k)
{
	uint32_t caller = SONDE_NONE, queue = SONDE_NONE, number;
	SONDE_VEC(struct sonde_device *) of = {0};
	struct sonde_map ids = {0};
	bool is_new;
	size_t i;

	for (i = 0; i < k->devices.nr; i++) {
		sonde_intern(&k->src->work, &ids, SONDE_BYTES(k->devices.at[i].id), &is_new);
		if (is_new)
			sonde_put(&k->src->work, &of, &k->devices.at[i]);
	}
	for (i = k->first_record; i < k->r->records.nr && of.nr; i++) {
		const struct sonde_record *rec = &k->r->records.at[i];

		if (rec->caller == caller && rec->queue == queue)
			continue;
		caller = rec->caller;
		queue = rec->queue;
		number = sonde_map_find(&ids, SONDE_BYTES(sonde_record_queue(k->r, rec)->device));
		if (number >= of.nr)
			continue;
		of.at[number]->process = sonde_record_caller(k->r, rec)->process;
		sonde_records__device(k->r, of.at[number]);
	}
}

static void describe_input(struct kineto *k)
{
	struct sonde_input *in = &k->r->inputs.at[k->src->input];
	uint64_t first = UINT64_MAX;
	size_t i;

	in->tool = SONDE_STR("torch.profiler");
	for (i = k->first_record; i < k->r->records.nr; i++)
		if (k->r->records.at[i].time.start_ns < first)
			first = k->r->records.at[i].time.start_ns;
	in->nr_modules = k->nr_modules;
	in->created_s = first == UINT64_MAX ? 0 : first / 1000000000u;
}

/* --- metrics and values ---------------------------------------------------------------------------- */

static const struct kineto_facts *facts_of(const struct kineto_state *s, uint64_t number)
{
	return (const struct kineto_facts *)(const void *)s->facts.keys[number].p;
}

/* Finds the metrics that the kernels of this trace have. */
static void find_metrics(const struct kineto_state *s, bool has[NR_LAUNCH_METRICS])
{
	size_t i;

	has[LAUNCH_TIME] = true;
	for (i = 0; i < s->facts.nr; i++) {
		const struct kineto_facts *f = facts_of(s, i);
		unsigned m;

		for (m = LAUNCH_GRID_X; m <= LAUNCH_GRID && f->grid[0]; m++)
			has[m] = true;
		for (m = LAUNCH_BLOCK_X; m <= LAUNCH_THREADS && f->block[0]; m++)
			has[m] = true;
		has[LAUNCH_REGISTERS] |= f->registers != 0;
		has[LAUNCH_SHARED] |= f->block[0] != 0;
		has[LAUNCH_GRAPH] |= f->graph != 0;
		has[LAUNCH_NODE] |= f->node != 0;
		has[LAUNCH_COLLECTIVE] |= f->collective != SONDE_NONE;
		has[LAUNCH_GROUP] |= f->group != SONDE_NONE;
		has[LAUNCH_GROUP_SIZE] |= f->group_size != 0;
		has[LAUNCH_MESSAGE] |= f->in_elements != 0;
		has[LAUNCH_SEQUENCE] |= f->sequence != 0;
	}
}

/* Registers the metrics that at least one launch has. */
static void add_metrics(struct kineto *k, struct kineto_state *s)
{
	bool has[NR_LAUNCH_METRICS] = {false};
	size_t i;

	find_metrics(s, has);
	for (i = k->first_record; i < k->r->records.nr && !has[LAUNCH_BYTES]; i++)
		has[LAUNCH_BYTES] = k->r->records.at[i].kind != SONDE_RESULT_KERNEL;
	sonde_launch_metrics__add(&s->metrics, k->r, has);
}

/* 0 means that the trace does not say. */
static void set_number(const struct kineto_state *s, struct sonde_values *v, enum sonde_launch_metric m,
	uint64_t value)
{
	if (value)
		sonde_launch_metrics__set(&s->metrics, v, m, (double)value);
}

/* The number of bytes of one element, by PyTorch's name of its type; 0 = unknown type. */
static unsigned size_of(struct sonde_str dtype)
{
	static const struct {
		const char *name;
		unsigned size;
	} types[] = {{"Float", 4}, {"Int", 4}, {"BFloat16", 2}, {"Half", 2}, {"Short", 2},
		{"Double", 8}, {"Long", 8}, {"Byte", 1}, {"Char", 1}, {"Bool", 1},
		{"ComplexFloat", 8}, {"ComplexDouble", 16}};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (sonde_str_is(dtype, types[i].name))
			return types[i].size;
	return sonde_str_starts(dtype, "Float8") ? 1 : 0;
}

static bool set_text(const struct kineto_state *s, struct sonde_values *v,
	enum sonde_launch_metric m, uint32_t text)
{
	return text == SONDE_NONE ||
	       sonde_values__text(v, s->metrics.number[m], sonde_records_str(s->r, text));
}

static bool set_collective(
	const struct kineto_state *s, const struct kineto_facts *f, struct sonde_values *v)
{
	unsigned size = size_of(sonde_records_str(s->r, f->dtype));

	set_number(s, v, LAUNCH_GROUP_SIZE, f->group_size);
	if (f->in_elements && size)
		sonde_launch_metrics__set(
			&s->metrics, v, LAUNCH_MESSAGE, (double)f->in_elements * size);
	if (f->sequence)
		sonde_launch_metrics__set(
			&s->metrics, v, LAUNCH_SEQUENCE, (double)(f->sequence - 1));
	return set_text(s, v, LAUNCH_COLLECTIVE, f->collective) &&
	       set_text(s, v, LAUNCH_GROUP, f->group);
}

static int fill_values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct kineto_state *s = src->state;
	const struct kineto_facts *f;

	if (rec->time.end_ns)
		sonde_launch_metrics__set(
			&s->metrics, v, LAUNCH_TIME, (double)(rec->time.end_ns - rec->time.start_ns));
	if (rec->kind != SONDE_RESULT_KERNEL) {
		sonde_launch_metrics__set(&s->metrics, v, LAUNCH_BYTES, (double)rec->payload);
		return 0;
	}
	f = facts_of(s, rec->payload);
	sonde_launch_metrics__set_shape(&s->metrics, v,
		(uint64_t[3]){f->grid[0], f->grid[1], f->grid[2]},
		(uint64_t[3]){f->block[0], f->block[1], f->block[2]});
	if (f->block[0])
		sonde_launch_metrics__set(&s->metrics, v, LAUNCH_SHARED, f->shared);
	set_number(s, v, LAUNCH_REGISTERS, f->registers);
	set_number(s, v, LAUNCH_GRAPH, f->graph);
	set_number(s, v, LAUNCH_NODE, f->node);
	return set_collective(s, f, v) ? 0 : sonde_err_nomem(err);
}

/* --- notes ----------------------------------------------------------------------------------- */

static void note(const struct kineto *k, uint64_t nr, const char *one, const char *many)
{
	sonde_source__note(k->src, k->r, nr, one, many);
}

static void note_all(const struct kineto *k)
{
	const struct kineto_counts *c = &k->counts;

	if (c->damaged)
		sonde_note_loss(&k->r->notes,
			"%s: %llu %s damaged, the first at byte %llu, and left out", k->src->path,
			(unsigned long long)c->damaged, c->damaged == 1 ? "event is" : "events are",
			(unsigned long long)k->damage_at);
	if (!k->ranges.nr && k->r->records.nr > k->first_record)
		sonde_note(&k->r->notes,
			"%s: the trace has no annotations (record_function); "
			"report.kineto.regions=ops makes regions of its operators",
			k->src->path);
	sonde_source__note_loss(k->src, k->r, c->too_long, "event is longer than 64 MiB and left out",
		"events are longer than 64 MiB and left out");
	sonde_source__note_loss(k->src, k->r, c->no_time, "event has no usable time and is left out",
		"events have no usable time and are left out");
	note(k, c->no_call,
		"kernel or copy has no host call in the trace: it is outside all regions",
		"kernels or copies have no host call in the trace: they are outside all regions");
	sonde_spans__note(&k->ranges, k->src, k->r);
	if (!c->linked)
		note(k, c->flows,
			"link between forward and backward (fwdbwd) has no operator at its ends and is ignored",
			"links between forward and backward (fwdbwd) have no operators at their ends and are ignored");
	sonde_records__note_overhead(k->r, k->src->path, c->overhead_ns);
	if (c->syncs)
		sonde_note(&k->r->notes, "%s: %llu waits for the GPU (cuda_sync) took %.3f ms",
			k->src->path, (unsigned long long)c->syncs, (double)c->sync_ns / 1e6);
}

/* --- reading --------------------------------------------------------------------------------- */

/* The error for a text that ends in the middle. Nothing says how long it was. */
static int refuse_truncated(struct kineto *k)
{
	uint64_t at = sonde_kineto__window_pos(&k->window);
	uint64_t end = at + (uint64_t)(k->window.scan.end - k->window.scan.p);
	char what[64] = "an entry beside traceEvents";

	if (k->is_in_events)
		snprintf(what, sizeof(what), "event %llu", (unsigned long long)k->counts.events + 1);
	return sonde_source__truncated(k->src, what, at, end, k->err);
}

/* Returns the error that says why the text ended early, or 0; what came before was read. */
static int end_of_text(struct kineto *k)
{
	sonde_buf_clear(&k->scratch);
	if (!k->has_events && !k->is_cut)
		return sonde_err_set(k->err, SONDE_ERR_FORMAT,
			"%s: JSON without traceEvents: not a torch.profiler trace "
			"(prof.export_chrome_trace writes one)",
			k->src->path);
	if (k->src->stream && sonde_stream_damage(k->src->stream, &k->scratch).p)
		return sonde_err_set(k->err, SONDE_ERR_FORMAT, "%s: %s", k->src->path, k->scratch.p);
	return k->is_cut ? refuse_truncated(k) : 0;
}

static int read_all(struct kineto *k, struct kineto_state *s)
{
	int rc = sonde_kineto__window_open(
		&k->window, k->src->file.data, k->src->stream, k->err);

	k->facts = &s->facts;
	if (rc == 0)
		rc = sonde_kineto__read_document(k);
	if (rc == 0)
		rc = sonde_kineto__join_calls(k);
	if (rc == 0)
		rc = sonde_kineto__place_launches(k);
	if (rc == 0)
		rc = sonde_source__status(k->src, k->r, k->err);
	if (rc)
		return rc;
	add_names(k);
	add_devices(k);
	add_metrics(k, s);
	sonde_kineto__place_counters(k);
	describe_input(k);
	note_all(k);
	return end_of_text(k);
}

struct kineto sonde_kineto__begin(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err)
{
	return (struct kineto){.src = src,
		.r = r,
		.err = err,
		.keeps_modules = r->options.kineto_regions != SONDE_KINETO_ANNOTATIONS,
		.keeps_operators = r->options.kineto_regions == SONDE_KINETO_OPS,
		.first_record = r->records.nr,
		.first_range = r->ranges.nr,
		.first_call = r->calls.nr,
		.first_series = r->series.nr,
		.rank = SONDE_NONE,
		.world_size = SONDE_NONE,
		.last_thread = SONDE_NONE};
}

static int read_trace(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err)
{
	struct kineto_state *s = src->state;
	struct kineto k = sonde_kineto__begin(src, r, err);
	int rc;

	s->r = r;
	rc = read_all(&k, s);
	if (rc && rc != SONDE_ERR_FORMAT)
		r->records.nr = k.first_record, r->calls.nr = k.first_call; /* they are incomplete */
	sonde_kineto__window_release(&k.window);
	sonde_buf_release(&k.scratch);
	return rc;
}

const struct sonde_source_ops sonde_source_kineto = {
	.name = "kineto",
	.reads_streams = true,
	.state_bytes = sizeof(struct kineto_state),
	.knows = knows_kineto,
	.read = read_trace,
	.values = fill_values,
};
