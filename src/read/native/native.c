/* The reader of native captures: libsonde_inject.so's files. */
#include "base/alloc.h"
#include "read/launch_metrics_int.h"
#include "read/native/native_int.h"

#include <assert.h>
#include <string.h>

static bool knows(struct sonde_str data)
{
	return sonde_str_starts(data, SONDE_CAPTURE_MAGIC);
}

/* --- reading --------------------------------------------------------------------------------- */

static int add_metrics(struct native *n, struct sonde_launch_metrics *m, struct sonde_err *err)
{
	bool has[NR_LAUNCH_METRICS] = {[LAUNCH_BYTES] = true};
	unsigned i;

	for (i = LAUNCH_TIME; i <= LAUNCH_SHARED_DYNAMIC; i++)
		has[i] = true;
	return sonde_launch_metrics__add(m, n->r, has) ? 0 : sonde_err_nomem(err);
}

static int describe(struct native *n, struct sonde_err *err)
{
	struct sonde_input *in = &n->r->inputs.at[n->src->input];
	size_t i;

	in->replay_mode = SONDE_STR("native");
	in->tool = sonde_native__meta(n, "tool");
	in->command = sonde_native__meta(n, "command");
	in->created_s = n->head.start_ns / 1000000000u;
	if (sonde_native__is_sampler(n)) /* which is no process of the program's */
		return 0;
	n->process = sonde_records__process(n->r, n->src->input, n->head.pid,
		sonde_native__meta(n, "host"), sonde_native__program(n));
	if (n->process != SONDE_NONE)
		sonde_process__set_rank(&n->r->processes.at[n->process],
			sonde_native__meta(n, "rank"), sonde_native__meta(n, "ranks"));
	for (i = n->first_name; i < n->r->thread_names.nr; i++)
		n->r->thread_names.at[i].process = n->process;
	return n->process == SONDE_NONE ? sonde_err_nomem(err) : 0;
}

static_assert(sizeof(struct native_counts) <= SONDE_MAX_ROLLED_COUNTS * sizeof(uint64_t),
	"they have room in the file");

/* Of files that were folded: what they came to, and what they add to what is counted here. */
static bool take_rolled(struct native *n)
{
	uint64_t *counts = (uint64_t *)(void *)&n->counts;
	size_t nr = sizeof(n->counts) / sizeof(*counts), i;

	for (i = 0; i < nr && i < n->rolled.nr_counts && i < SONDE_MAX_ROLLED_COUNTS; i++)
		counts[i] += n->rolled.counts[i];
	n->r->counts.nr = 0;
	if (!sonde_vec_reserve(&n->r->counts, nr))
		return false;
	memcpy(n->r->counts.at, counts, nr * sizeof(*counts));
	n->r->counts.nr = nr;
	n->r->settled_ns = n->r->options.nr_files ? n->last_ns : 0;
	if (!n->rolled.next)
		return true;
	if (!sonde_vec_put(&n->r->rolled,
		    (struct sonde_rolled_up){n->src->input, n->rolled.next, n->cells, n->since_ns}))
		return false;
	n->cells = (struct sonde_buf){0};
	return true;
}

static int read_all(struct native *n, struct sonde_launch_metrics *m, struct sonde_err *err)
{
	int rc = sonde_native__go_on(n, err);

	if (!rc)
		rc = sonde_native__read_blocks(n, err);
	if (!rc)
		rc = describe(n, err);
	if (!rc && sonde_native__is_sampler(n)) {
		sonde_native__note_sampler(n);
		return sonde_native__keep_clock(n) ? 0 : sonde_err_nomem(err);
	}
	if (!rc && n->r->options.reduced) {
		n->kept = sonde_calloc(n->pieces.nr + 1, sizeof(*n->kept));
		rc = n->kept ? 0 : sonde_err_nomem(err);
	}
	if (!rc)
		rc = sonde_native__read_streams(n, err);
	if (!rc)
		rc = sonde_native__join(n, err);
	if (!rc && n->nr_works)
		rc = add_metrics(n, m, err);
	if (!rc && n->kept)
		rc = sonde_native__reduce(n, n->r->options.reduced, err);
	if (!rc && !take_rolled(n))
		rc = sonde_err_nomem(err);
	if (rc)
		return rc;
	sonde_native__note(n);
	return sonde_native__keep_windows(n) && sonde_native__keep_clock(n) ? 0 : sonde_err_nomem(err);
}

static int read(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err)
{
	struct native *n = sonde_calloc(1, sizeof(*n));
	int rc;

	if (!n)
		return sonde_err_nomem(err);
	n->src = src;
	n->first_name = r->thread_names.nr;
	n->r = r;
	n->first_range = (uint32_t)r->ranges.nr;
	n->first_record = r->records.nr;
	rc = read_all(n, src->state, err);
	sonde_vec_release(&n->strings);
	sonde_vec_release(&n->piece_of);
	sonde_buf_release(&n->cells);
	sonde_free(n->kept);
	sonde_vec_release(&n->pieces);
	sonde_vec_release(&n->marks);
	sonde_vec_release(&n->windows);
	sonde_vec_release(&n->host.points);
	sonde_vec_release(&n->gpu.points);
	sonde_vec_release(&n->launches);
	sonde_vec_release(&n->memory);
	sonde_vec_release(&n->edges);
	sonde_vec_release(&n->nodes);
	sonde_vec_release(&n->attributes);
	sonde_map_release(&n->long_paths);
	sonde_free(n);
	return rc;
}

/* --- values ---------------------------------------------------------------------------------- */

bool sonde_native__event(const struct sonde_source *src, uint64_t at, struct sonde_event *out)
{
	const uint8_t *base = (const uint8_t *)src->file.data.p;
	struct sonde_event_base start = {0};

	return sonde_event_get(base + at, base + src->file.data.n, &start, out) != NULL;
}

static int values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct sonde_launch_metrics *m = src->state;
	struct sonde_event e;
	const uint64_t *f = e.field;

	(void)err;
	if (rec->time.end_ns)
		sonde_launch_metrics__set(
			m, v, LAUNCH_TIME, (double)(rec->time.end_ns - rec->time.start_ns));
	if (rec->is_untimed || !sonde_native__event(src, rec->payload, &e))
		return 0;
	if (e.type == SONDE_EVENT_MEMCPY)
		sonde_launch_metrics__set(m, v, LAUNCH_BYTES, (double)f[SONDE_COPY_BYTES]);
	if (e.type == SONDE_EVENT_MEMSET)
		sonde_launch_metrics__set(m, v, LAUNCH_BYTES, (double)f[SONDE_SET_BYTES]);
	if (e.type != SONDE_EVENT_KERNEL)
		return 0;
	sonde_launch_metrics__set_shape(m, v, &f[SONDE_KERNEL_GRID_X], &f[SONDE_KERNEL_BLOCK_X]);
	sonde_launch_metrics__set(m, v, LAUNCH_REGISTERS, (double)f[SONDE_KERNEL_REGISTERS]);
	sonde_launch_metrics__set(m, v, LAUNCH_SHARED_STATIC, (double)f[SONDE_KERNEL_SHARED_STATIC]);
	sonde_launch_metrics__set(
		m, v, LAUNCH_SHARED_DYNAMIC, (double)f[SONDE_KERNEL_SHARED_DYNAMIC]);
	return 0;
}

const struct sonde_source_ops sonde_source_native = {
	.name = "native",
	.state_bytes = sizeof(struct sonde_launch_metrics),
	.knows = knows,
	.read = read,
	.values = values,
};
