/*
 * torch.profiler (Kineto) traces: Chrome trace JSON, plain or compressed.
 * Kernels, copies and memsets with their times, the host calls that asked for
 * them, and annotations as ranges. docs/sources.md says what is read of it.
 */
#include "base/alloc.h"
#include "catalogue/metrics.h"
#include "read/kineto_int.h"
#include "read/native_int.h"

enum metric {
	TIME,
	GRID_X,
	GRID_Y,
	GRID_Z,
	GRID,
	BLOCK_X,
	BLOCK_Y,
	BLOCK_Z,
	BLOCK,
	THREADS,
	REGISTERS,
	SHARED,
	BYTES,
	GRAPH,
	NODE,
	COLLECTIVE,
	GROUP,
	GROUP_SIZE,
	MESSAGE,
	NR_METRICS,
};

static const char *const metrics[NR_METRICS] = {
	[TIME] = SONDE_METRIC_TIME,
	[GRID_X] = SONDE_METRIC_GRID_X,
	[GRID_Y] = SONDE_METRIC_GRID_Y,
	[GRID_Z] = SONDE_METRIC_GRID_Z,
	[GRID] = SONDE_METRIC_GRID,
	[BLOCK_X] = SONDE_METRIC_BLOCK_X,
	[BLOCK_Y] = SONDE_METRIC_BLOCK_Y,
	[BLOCK_Z] = SONDE_METRIC_BLOCK_Z,
	[BLOCK] = SONDE_METRIC_BLOCK,
	[THREADS] = SONDE_METRIC_THREADS,
	[REGISTERS] = SONDE_METRIC_REGISTERS,
	[SHARED] = SONDE_METRIC_SHARED,
	[BYTES] = SONDE_METRIC_COPIED,
	[GRAPH] = "graph__id",
	[NODE] = "graph__node_id",
	[COLLECTIVE] = "nccl__collective",
	[GROUP] = "nccl__group",
	[GROUP_SIZE] = "nccl__group_size",
	[MESSAGE] = "nccl__bytes.sum",
};

/* Kept for `values`. */
struct state {
	const struct sonde_records *r;
	uint32_t number[NR_METRICS]; /* metric numbers, SONDE_NONE = no record has it */
	struct sonde_map facts;	     /* struct kineto_facts each, by number */
};

/* Anything in braces may have its events anywhere; what has none is told so when it is read. */
static bool knows(struct sonde_str data, const char *path)
{
	size_t i = sonde_str_starts(data, "\xef\xbb\xbf") ? 3 : 0;

	(void)path;
	while (i < data.n && sonde_scan__is_space(data.p[i]))
		i++;
	return i < data.n && (data.p[i] == '{' || data.p[i] == '[');
}

/* --- facts ----------------------------------------------------------------------------------- */

static const struct kineto_facts *facts_of(const struct state *s, const struct sonde_record *rec)
{
	return (const struct kineto_facts *)(const void *)s->facts.keys[rec->payload_size].p;
}

/* Which metrics the kernels of this trace have. */
static void find_metrics(const struct state *s, bool has[NR_METRICS])
{
	size_t i;

	has[TIME] = true;
	for (i = 0; i < s->facts.nr; i++) {
		const struct sonde_record rec = {.payload_size = (uint32_t)i};
		const struct kineto_facts *f = facts_of(s, &rec);
		unsigned m;

		for (m = GRID_X; m <= GRID && f->grid[0]; m++)
			has[m] = true;
		for (m = BLOCK_X; m <= THREADS && f->block[0]; m++)
			has[m] = true;
		has[REGISTERS] |= f->registers != 0;
		has[SHARED] |= f->block[0] != 0;
		has[GRAPH] |= f->graph != 0;
		has[NODE] |= f->node != 0;
		has[COLLECTIVE] |= f->collective != SONDE_NONE;
		has[GROUP] |= f->group != SONDE_NONE;
		has[GROUP_SIZE] |= f->group_size != 0;
		has[MESSAGE] |= f->in_elements != 0;
	}
}

static bool add_metrics(struct kineto *k, struct state *s)
{
	bool has[NR_METRICS] = {false};
	size_t i;

	find_metrics(s, has);
	for (i = k->first_record; i < k->r->records.nr && !has[BYTES]; i++)
		has[BYTES] = k->r->records.at[i].kind != SONDE_RESULT_KERNEL;
	for (i = 0; i < NR_METRICS; i++) {
		s->number[i] = SONDE_NONE;
		if (!has[i])
			continue;
		s->number[i] = sonde_records__metric(k->r, sonde_str_from(metrics[i]));
		if (s->number[i] == SONDE_NONE)
			return false;
		if (!k->r->metrics.at[s->number[i]].unit.n)
			k->r->metrics.at[s->number[i]].unit =
				sonde_str_from(sonde_metric_unit(sonde_str_from(metrics[i])));
	}
	return true;
}

/* The function of each kernel; names repeat, so that of the name before is at hand. */
static bool add_names(struct kineto *k)
{
	struct sonde_map known = {0};
	SONDE_VEC(struct sonde_record) first = {0}; /* by number in `known`: both names */
	bool ok = true, is_new;
	size_t i;

	for (i = k->first_record; i < k->r->records.nr && ok; i++) {
		struct sonde_record *rec = &k->r->records.at[i], *slot;
		struct sonde_str raw = sonde_records_str(k->r, rec->full_name);
		uint32_t n = sonde_map_add(&known, raw, &is_new);

		ok = n != SONDE_NONE;
		if (ok && is_new) {
			struct sonde_str full = sonde_demangle(&k->r->arena, raw);
			bool is_kernel = rec->kind == SONDE_RESULT_KERNEL;

			slot = sonde_vec_push(&first);
			ok = slot && full.p;
			if (!ok)
				break;
			slot->full_name = sonde_records__string(k->r, full);
			slot->name = is_kernel ? sonde_records__string(k->r, sonde_demangle_function(full))
					       : slot->full_name;
			ok = slot->full_name != SONDE_NONE && slot->name != SONDE_NONE;
		}
		if (ok) {
			rec->full_name = first.at[n].full_name;
			rec->name = first.at[n].name;
		}
	}
	sonde_map_release(&known);
	sonde_vec_release(&first);
	return ok;
}

/* Devices that did something; a trace lists all there are. */
static bool add_devices(struct kineto *k)
{
	uint32_t process = SONDE_NONE, device = SONDE_NONE;
	size_t i, d;

	for (i = k->first_record; i < k->r->records.nr; i++) {
		const struct sonde_record *rec = &k->r->records.at[i];

		if (rec->process == process && rec->device == device)
			continue;
		process = rec->process;
		device = rec->device;
		for (d = 0; d < k->devices.nr; d++) {
			if (k->devices.at[d].id != device)
				continue;
			k->devices.at[d].process = process;
			if (!sonde_records__device(k->r, &k->devices.at[d]))
				return false;
		}
	}
	return true;
}

static void describe(struct kineto *k)
{
	struct sonde_input *in = &k->r->inputs.at[k->src->input];
	uint64_t first = UINT64_MAX;
	size_t i;

	in->source = SONDE_STR("kineto");
	in->tool = SONDE_STR("torch.profiler");
	for (i = k->first_record; i < k->r->records.nr; i++)
		if (k->r->records.at[i].time.start_ns < first)
			first = k->r->records.at[i].time.start_ns;
	in->created_s = first == UINT64_MAX ? 0 : first / 1000000000u;
}

/* --- notes ----------------------------------------------------------------------------------- */

static void note(const struct kineto *k, uint64_t nr, const char *one, const char *many)
{
	if (nr)
		sonde_note(&k->r->notes, "%s: %llu %s", k->src->path, (unsigned long long)nr,
			nr == 1 ? one : many);
}

static void note_all(const struct kineto *k)
{
	const struct kineto_counts *c = &k->counts;

	if (c->damaged)
		sonde_note(&k->r->notes,
			"%s: %llu %s damaged, the first at byte %llu, and left out", k->src->path,
			(unsigned long long)c->damaged, c->damaged == 1 ? "event is" : "events are",
			(unsigned long long)k->damage_at);
	note(k, c->too_long, "event is longer than 64 MiB and left out",
		"events are longer than 64 MiB and left out");
	note(k, c->no_time, "event has no usable time and is left out",
		"events have no usable time and are left out");
	note(k, c->no_call,
		"kernel or copy has no host call in the trace: it is outside all regions",
		"kernels or copies have no host call in the trace: they are outside all regions");
	note(k, c->crossing, "range outlives the range around it: it ends where that one ends",
		"ranges outlive the ranges around them: they end where those end");
	if (c->overheads)
		sonde_note(&k->r->notes, "%s: the profiler reports %.3f ms of overhead in %llu pieces",
			k->src->path, (double)c->overhead_ns / 1e6, (unsigned long long)c->overheads);
	if (c->syncs)
		sonde_note(&k->r->notes, "%s: %llu waits for the GPU (cuda_sync) took %.3f ms",
			k->src->path, (unsigned long long)c->syncs, (double)c->sync_ns / 1e6);
}

/* --- reading --------------------------------------------------------------------------------- */

/* Why the text ended early, if it did; what was before is read. */
static int end_of_text(struct kineto *k)
{
	sonde_buf_clear(&k->scratch);
	if (!k->has_events && !k->is_cut)
		return sonde_err_set(k->err, SONDE_ERR_FORMAT,
			"%s: JSON without traceEvents: not a torch.profiler trace", k->src->path);
	if (k->src->stream && sonde_stream_damage(k->src->stream, &k->scratch).p)
		return sonde_err_set(k->err, SONDE_ERR_FORMAT, "%s: %s; copy it again", k->src->path,
			k->scratch.p);
	if (!k->is_cut)
		return 0;
	return sonde_err_at(k->err, SONDE_ERR_FORMAT, k->src->path,
		sonde_kineto__window_pos(&k->window),
		"the trace is truncated: its writer was stopped, or it was not copied whole; copy it "
		"again");
}

static int read_all(struct kineto *k, struct state *s)
{
	int rc = sonde_kineto__window_open(
		&k->window, k->src->file.data, k->src->stream, k->err);

	k->facts = &s->facts;
	if (rc == 0)
		rc = sonde_kineto__document(k);
	if (rc == 0)
		rc = sonde_kineto__join(k);
	if (rc == 0)
		rc = sonde_kineto__place(k);
	if (rc == 0 && !(add_names(k) && add_devices(k) && add_metrics(k, s)))
		rc = sonde_err_nomem(k->err);
	if (rc)
		return rc;
	describe(k);
	note_all(k);
	return end_of_text(k);
}

/* As bits by category. */
static unsigned regions_of(const struct sonde_read_options *o)
{
	unsigned want = o->kineto_regions ? o->kineto_regions : SONDE_KINETO_ANNOTATIONS;

	return (want & SONDE_KINETO_ANNOTATIONS ? 1u << KINETO_ANNOTATION : 0) |
	       (want & SONDE_KINETO_OPERATORS ? 1u << KINETO_OPERATOR : 0) |
	       (want & SONDE_KINETO_PYTHON ? 1u << KINETO_PYTHON : 0);
}

static int read(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err)
{
	struct state *s = sonde_calloc(1, sizeof(*s));
	struct kineto k = {.src = src,
		.r = r,
		.err = err,
		.regions = regions_of(&r->options),
		.first_record = r->records.nr,
		.first_range = r->ranges.nr,
		.rank = SONDE_NONE,
		.world_size = SONDE_NONE,
		.last_thread = SONDE_NONE};
	int rc;

	if (!s)
		return sonde_err_nomem(err);
	src->state = s;
	s->r = r;
	rc = read_all(&k, s);
	if (rc && rc != SONDE_ERR_FORMAT)
		r->records.nr = k.first_record; /* they are not whole */
	sonde_kineto__window_release(&k.window);
	sonde_vec_release(&k.ranges);
	sonde_vec_release(&k.ops);
	sonde_vec_release(&k.calls);
	sonde_vec_release(&k.threads);
	sonde_vec_release(&k.names);
	sonde_vec_release(&k.devices);
	sonde_map_release(&k.thread_keys);
	sonde_buf_release(&k.scratch);
	return rc;
}

/* --- values ---------------------------------------------------------------------------------- */

static void set(const struct state *s, struct sonde_values *v, enum metric m, double value)
{
	if (s->number[m] != SONDE_NONE)
		v->num[s->number[m]] = value;
}

static void set_dims(
	const struct state *s, struct sonde_values *v, enum metric m, const uint32_t dims[3])
{
	unsigned i;

	for (i = 0; i < 3 && dims[0]; i++)
		set(s, v, m + i, dims[i]);
	if (dims[0])
		set(s, v, m + 3, (double)dims[0] * dims[1] * dims[2]);
}

/* Bytes of one element, by PyTorch's names of types. */
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

static bool set_collective(
	const struct state *s, const struct kineto_facts *f, struct sonde_values *v)
{
	unsigned size = size_of(sonde_records_str(s->r, f->dtype));
	bool ok = true;

	if (f->group_size)
		set(s, v, GROUP_SIZE, f->group_size);
	if (f->in_elements && size)
		set(s, v, MESSAGE, (double)f->in_elements * size);
	if (f->collective != SONDE_NONE)
		ok = sonde_values__text(
			v, s->number[COLLECTIVE], sonde_records_str(s->r, f->collective));
	if (ok && f->group != SONDE_NONE)
		ok = sonde_values__text(v, s->number[GROUP], sonde_records_str(s->r, f->group));
	return ok;
}

static int values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct state *s = src->state;
	const struct kineto_facts *f;

	set(s, v, TIME, (double)(rec->time.end_ns - rec->time.start_ns));
	if (rec->kind != SONDE_RESULT_KERNEL) {
		set(s, v, BYTES, (double)rec->payload);
		return 0;
	}
	f = facts_of(s, rec);
	set_dims(s, v, GRID_X, f->grid);
	set_dims(s, v, BLOCK_X, f->block);
	if (f->grid[0] && f->block[0])
		set(s, v, THREADS, (double)f->grid[0] * f->grid[1] * f->grid[2] * f->block[0] *
					   f->block[1] * f->block[2]);
	if (f->registers)
		set(s, v, REGISTERS, f->registers);
	if (f->block[0])
		set(s, v, SHARED, f->shared);
	if (f->graph)
		set(s, v, GRAPH, (double)f->graph);
	if (f->node)
		set(s, v, NODE, (double)f->node);
	return set_collective(s, f, v) ? 0 : sonde_err_nomem(err);
}

static void release(struct sonde_source *src)
{
	struct state *s = src->state;

	if (s)
		sonde_map_release(&s->facts);
	sonde_free(s);
}

const struct sonde_source_ops sonde_source_kineto = {
	.name = "kineto",
	.knows = knows,
	.read = read,
	.values = values,
	.release = release,
};
