/*
 * GPU metrics of an export (`nsys --gpu-metrics-devices`): one series per GPU. A row is one
 * metric at one moment; its sample began at the moment before. Metrics that sonde also samples
 * itself get their roles, if the export knows the GPU.
 */
#include "read/nsys/nsys_int.h"

#include "catalogue/limits.h"

#include <math.h>

#define METRICS "GPU_METRICS"
#define NAMES	"TARGET_INFO_GPU_METRICS"

enum { DEVICE, METRIC, NAME }; /* columns of names */
enum { AT = 1, ID, VALUE };    /* columns of values, after the device */

static struct sonde_series *series_of(struct nsys *n, uint32_t device)
{
	size_t i;

	for (i = n->first_series; i < n->r->series.nr; i++)
		if (n->r->series.at[i].device == device)
			return &n->r->series.at[i];
	return NULL;
}

/* Adds a counter to its device's series and remembers the number of its metric in `n->metrics`. */
static int take_name(struct nsys *n, sqlite3_stmt *q)
{
	uint32_t device = (uint32_t)sqlite3_column_int64(q, DEVICE);
	struct sonde_series *s = series_of(n, device);
	struct sonde_counter counter = {.role = SONDE_NONE, .name = sonde_nsys__intern(n, q, NAME)};

	if (!s) {
		s = sonde_push(&n->r->arena, &n->r->series);
		s->input = n->src->input;
		s->device = device;
	}
	if (counter.name == SONDE_NONE)
		counter.name = sonde_records__string(n->r, SONDE_STR("(unnamed metric)"));
	sonde_put(&n->src->work, &n->metrics, (struct nsys_metric){device, (uint32_t)s->counters.nr,
						      (uint64_t)sqlite3_column_int64(q, METRIC)});
	sonde_put(&n->r->arena, &s->counters, counter);
	return 0;
}

/* Rows are sorted: a new moment begins a new sample, whose values are not known yet. */
static void begin_sample(struct sonde_arena *a, struct sonde_series *s, uint64_t ns)
{
	struct sonde_sample_time *last = s->times.nr ? &s->times.at[s->times.nr - 1] : NULL;
	uint64_t start = last ? last->end_ns : ns;
	size_t i;

	if (last && last->end_ns == ns)
		return;
	if (last && (!s->interval_ns || ns - start < s->interval_ns))
		s->interval_ns = ns - start;
	sonde_put(a, &s->times, (struct sonde_sample_time){start, ns});
	for (i = 0; i < s->counters.nr; i++)
		sonde_put(a, &s->values, NAN);
}

static int take_value(struct nsys *n, sqlite3_stmt *q)
{
	uint32_t device = (uint32_t)sqlite3_column_int64(q, DEVICE);
	uint64_t id = (uint64_t)sqlite3_column_int64(q, ID);
	struct sonde_series *s = series_of(n, device);
	size_t i;

	if (s && sqlite3_column_int64(q, AT) < 0)
		n->nr_no_time++;
	if (!s || sqlite3_column_int64(q, AT) < 0)
		return 0;
	begin_sample(&n->r->arena, s, (uint64_t)sqlite3_column_int64(q, AT));
	for (i = 0; i < n->metrics.nr && !n->r->arena.failed; i++)
		if (n->metrics.at[i].device == device && n->metrics.at[i].id == id)
			s->values.at[s->values.nr - s->counters.nr + n->metrics.at[i].counter] =
				sqlite3_column_double(q, VALUE);
	return 0;
}

/* The first moment ends a sample whose begin is not known, so it gets the usual length. */
static void begin_first(struct sonde_series *s)
{
	if (s->times.nr && s->times.at[0].end_ns >= s->interval_ns)
		s->times.at[0].start_ns = s->times.at[0].end_ns - s->interval_ns;
}

/* --- what sonde's own samplers count, made of percentages ------------------------------------ */

/*
 * Metrics that have a role: percentages of the most that the SMs, or the memory, can do. `most` is what
 * an SM counts in a cycle at 100 %; 0 = the metric is the memory's.
 */
static const struct {
	const char *name, *role;
	double most;
} roles[] = {
	{"SMs Active [Throughput %]", "sm.active_cycles", 1},
	{"SM Issue [Throughput %]", "sm.instructions", SONDE_SM_ISSUE_SLOTS},
	{"Tensor Active [Throughput %]", "tensor.cycles", SONDE_SM_TENSOR_PIPES},
	{"DRAM Read Bandwidth [Throughput %]", "dram.read_bytes", 0},
	{"DRAM Write Bandwidth [Throughput %]", "dram.write_bytes", 0},
};
#define CLOCK "GPC Clock Frequency [MHz]"

static const struct nsys_gpu *gpu_of(const struct nsys *n, uint32_t id)
{
	size_t i;

	for (i = 0; i < n->gpus.nr; i++)
		if (n->gpus.at[i].id == id)
			return &n->gpus.at[i];
	return NULL;
}

static uint32_t counter_of(const struct nsys *n, const struct sonde_series *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->counters.nr; i++)
		if (sonde_str_is(sonde_records_str(n->r, s->counters.at[i].name), name))
			return (uint32_t)i;
	return SONDE_NONE;
}

/* Turns percentages into counts, which can be split among launches. */
static void count_percentages(struct sonde_series *s, const struct nsys_gpu *gpu, uint32_t counter, double most,
	uint32_t clock)
{
	size_t i;

	for (i = 0; i < s->times.nr; i++) {
		double *row = &s->values.at[i * s->counters.nr];
		double ns = (double)(s->times.at[i].end_ns - s->times.at[i].start_ns);
		double cycles = clock == SONDE_NONE ? gpu->clock_hz * ns / 1e9 * gpu->nr_sms : row[clock];

		row[counter] *= most > 0 ? most * cycles / 100 : gpu->bytes_per_s * ns / 1e11;
	}
}

/* Converts the clock first, to cycles of all SMs, because the other counters are shares of it. */
static void give_roles(struct nsys *n, struct sonde_series *s)
{
	const struct nsys_gpu *gpu = gpu_of(n, s->device);
	uint32_t clock = counter_of(n, s, CLOCK), at;
	size_t i;

	if (!gpu || !(gpu->nr_sms > 0) || (clock == SONDE_NONE && !(gpu->clock_hz > 0)))
		return;
	s->uuid = gpu->uuid;
	for (i = 0; clock != SONDE_NONE && i < s->times.nr; i++)
		s->values.at[i * s->counters.nr + clock] *=
			(double)(s->times.at[i].end_ns - s->times.at[i].start_ns) / 1e3 * gpu->nr_sms;
	if (clock != SONDE_NONE)
		s->counters.at[clock].role = sonde_records__string(n->r, SONDE_STR("sm.elapsed_cycles"));
	for (i = 0; i < sizeof(roles) / sizeof(*roles); i++) {
		at = counter_of(n, s, roles[i].name);
		if (at == SONDE_NONE || (!roles[i].most && !(gpu->bytes_per_s > 0)))
			continue;
		count_percentages(s, gpu, at, roles[i].most, clock);
		s->counters.at[at].role = sonde_records__string(n->r, sonde_str_from(roles[i].role));
	}
}

int sonde_nsys__read_metrics(struct nsys *n)
{
	size_t i;
	int rc;

	n->first_series = n->r->series.nr;
	if (!sonde_nsys__has(n, METRICS, "timestamp typeId metricId value") ||
		!sonde_nsys__has(n, NAMES, "typeId metricName metricId"))
		return 0;
	rc = sonde_nsys__read_rows(n,
		"SELECT DISTINCT typeId & 255, metricId, metricName FROM " NAMES " ORDER BY 1, 2 LIMIT 4096",
		take_name);
	if (rc == 0)
		rc = sonde_nsys__read_rows(n,
			"SELECT typeId & 255, timestamp, metricId, value FROM " METRICS " ORDER BY 1, 2",
			take_value);
	sonde_source__note(n->src, n->r, n->nr_no_time,
		"value of GPU metrics has a time below zero and is left out",
		"values of GPU metrics have times below zero and are left out");
	for (i = n->first_series; i < n->r->series.nr && rc == 0; i++) {
		begin_first(&n->r->series.at[i]);
		give_roles(n, &n->r->series.at[i]);
	}
	return rc;
}
