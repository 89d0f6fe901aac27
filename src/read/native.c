/* The reader of native captures: libsonde_inject.so's files. */
#include "base/alloc.h"
#include "catalogue/metrics.h"
#include "read/native_int.h"

#include <math.h>
#include <string.h>

/* What a record's values are, in the order of its fields. */
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
	SHARED_STATIC,
	SHARED_DYNAMIC,
	BYTES,
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
	[SHARED_STATIC] = SONDE_METRIC_SHARED_STATIC,
	[SHARED_DYNAMIC] = SONDE_METRIC_SHARED_DYNAMIC,
	[BYTES] = SONDE_METRIC_COPIED,
};

/* Kept for `values`. */
struct state {
	uint32_t number[NR_METRICS]; /* metric numbers */
	const struct sonde_records *r;
};

static bool knows(struct sonde_str data, const char *path)
{
	(void)path;
	return sonde_str_starts(data, SONDE_CAPTURE_MAGIC);
}

/* --- reading --------------------------------------------------------------------------------- */

static int add_metrics(struct native *n, struct state *s, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < NR_METRICS; i++) {
		s->number[i] = sonde_records__metric(n->r, sonde_str_from(metrics[i]));
		if (s->number[i] == SONDE_NONE)
			return sonde_err_nomem(err);
		if (!n->r->metrics.at[s->number[i]].unit.n)
			n->r->metrics.at[s->number[i]].unit =
				sonde_str_from(sonde_metric_unit(sonde_str_from(metrics[i])));
	}
	return 0;
}

static int describe(struct native *n, struct sonde_err *err)
{
	struct sonde_input *in = &n->r->inputs.at[n->src->input];
	struct sonde_str exe = sonde_native__meta(n, "exe"), name = exe;
	size_t i;

	in->source = SONDE_STR("native");
	in->replay_mode = SONDE_STR("native");
	in->tool = sonde_native__meta(n, "tool");
	in->command = sonde_native__meta(n, "command");
	in->created_s = n->head.start_ns / 1000000000u;
	for (i = 0; i < exe.n; i++) {
		if (exe.p[i] == '/')
			name = (struct sonde_str){exe.p + i + 1, exe.n - i - 1};
	}
	if (sonde_native__is_sampler(n)) /* which is no process of the program's */
		return 0;
	n->process = sonde_records__process(
		n->r, n->src->input, n->head.pid, sonde_native__meta(n, "host"), name);
	if (n->process != SONDE_NONE)
		sonde_process__set_rank(&n->r->processes.at[n->process],
			sonde_native__meta(n, "rank"), sonde_native__meta(n, "ranks"));
	for (i = n->first_name; i < n->r->thread_names.nr; i++)
		n->r->thread_names.at[i].process = n->process;
	return n->process == SONDE_NONE ? sonde_err_nomem(err) : 0;
}

static int read_all(struct native *n, struct state *s, struct sonde_err *err)
{
	int rc = sonde_native__blocks(n, err);

	if (!rc)
		rc = describe(n, err);
	if (!rc && sonde_native__is_sampler(n)) {
		sonde_native__note_sampler(n);
		return sonde_native__keep_clock(n) ? 0 : sonde_err_nomem(err);
	}
	if (!rc)
		rc = sonde_native__streams(n, err);
	if (!rc)
		rc = sonde_native__join(n, err);
	if (!rc && n->works.nr)
		rc = add_metrics(n, s, err);
	if (!rc)
		rc = sonde_native__origins(n, err);
	if (rc)
		return rc;
	sonde_native__note(n);
	return sonde_native__keep_clock(n) ? 0 : sonde_err_nomem(err);
}

static int read(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err)
{
	struct native *n = sonde_calloc(1, sizeof(*n));
	struct state *s = sonde_calloc(1, sizeof(*s));
	int rc = SONDE_ERR_NOMEM;

	src->state = s;
	if (n && s) {
		n->src = src;
		n->first_name = r->thread_names.nr;
		n->r = r;
		n->first_range = (uint32_t)r->ranges.nr;
		n->first_record = r->records.nr;
		s->r = r;
		rc = read_all(n, s, err);
		sonde_vec_release(&n->strings);
		sonde_vec_release(&n->pieces);
		sonde_vec_release(&n->marks);
		sonde_vec_release(&n->windows);
		sonde_vec_release(&n->host.points);
		sonde_vec_release(&n->gpu.points);
		sonde_vec_release(&n->launches);
		sonde_vec_release(&n->works);
		sonde_vec_release(&n->edges);
		sonde_vec_release(&n->nodes);
		sonde_vec_release(&n->attributes);
		sonde_map_release(&n->long_paths);
	} else {
		sonde_err_nomem(err);
	}
	sonde_free(n);
	return rc;
}

/* --- values ---------------------------------------------------------------------------------- */

static void set(const struct state *s, struct sonde_values *v, enum metric m, double value)
{
	v->num[s->number[m]] = value;
}

static void kernel_values(const struct state *s, struct sonde_values *v, const uint64_t *f)
{
	const uint64_t *g = &f[SONDE_KERNEL_GRID_X], *b = &f[SONDE_KERNEL_BLOCK_X];
	double grid = (double)g[0] * (double)g[1] * (double)g[2];
	double block = (double)b[0] * (double)b[1] * (double)b[2];
	unsigned i;

	for (i = 0; i < 3; i++) {
		set(s, v, GRID_X + i, (double)g[i]);
		set(s, v, BLOCK_X + i, (double)b[i]);
	}
	set(s, v, GRID, grid);
	set(s, v, BLOCK, block);
	set(s, v, THREADS, grid * block);
	set(s, v, REGISTERS, (double)f[SONDE_KERNEL_REGISTERS]);
	set(s, v, SHARED_STATIC, (double)f[SONDE_KERNEL_SHARED_STATIC]);
	set(s, v, SHARED_DYNAMIC, (double)f[SONDE_KERNEL_SHARED_DYNAMIC]);
}

bool sonde_native__event(const struct sonde_source *src, uint64_t at, struct sonde_event *out)
{
	const uint8_t *base = (const uint8_t *)src->file.data.p;
	struct sonde_event_base start = {0};

	return sonde_event_get(base + at, base + src->file.data.n, &start, out) != NULL;
}

static int values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct state *s = src->state;
	struct sonde_event e;

	(void)err;
	if (rec->time.end_ns)
		set(s, v, TIME, (double)(rec->time.end_ns - rec->time.start_ns));
	if (rec->is_untimed || !sonde_native__event(src, rec->payload, &e))
		return 0;
	if (e.type == SONDE_EVENT_KERNEL)
		kernel_values(s, v, e.field);
	else if (e.type == SONDE_EVENT_MEMCPY)
		set(s, v, BYTES, (double)e.field[SONDE_COPY_BYTES]);
	else if (e.type == SONDE_EVENT_MEMSET)
		set(s, v, BYTES, (double)e.field[SONDE_SET_BYTES]);
	return 0;
}

static void release(struct sonde_source *src)
{
	sonde_free(src->state);
}

const struct sonde_source_ops sonde_source_native = {
	.name = "native",
	.knows = knows,
	.read = read,
	.values = values,
	.release = release,
};
