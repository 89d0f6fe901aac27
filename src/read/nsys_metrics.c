/*
 * GPU metrics of an export (`nsys --gpu-metrics-devices`): one series per GPU. A row is one
 * metric at one moment; the sample it belongs to began with the moment before it.
 */
#include "read/nsys_int.h"

#include <math.h>

#define METRICS "GPU_METRICS"
#define NAMES	"TARGET_INFO_GPU_METRICS"

enum { DEVICE, METRIC, NAME }; /* of names */
enum { AT = 1, ID, VALUE };    /* of rows, behind the device */

static struct sonde_series *series_of(struct nsys_reader *r, uint32_t device)
{
	size_t i;

	for (i = r->first_series; i < r->n.r->series.nr; i++)
		if (r->n.r->series.at[i].device == device)
			return &r->n.r->series.at[i];
	return NULL;
}

/* Counters stand in order of their numbers; `metric_ids` has those beside them. */
static int take_name(struct nsys_reader *r, sqlite3_stmt *q)
{
	uint32_t device = (uint32_t)sqlite3_column_int64(q, DEVICE);
	struct sonde_series *s = series_of(r, device);
	struct sonde_counter *counter;
	struct nsys_metric *id;

	if (!s) {
		s = sonde_vec_push(&r->n.r->series);
		if (!s)
			return sonde_err_nomem(r->err);
		s->input = r->n.src->input;
		s->device = device;
	}
	counter = sonde_vec_push(&s->counters);
	id = sonde_vec_push(&r->metrics);
	if (!counter || !id)
		return sonde_err_nomem(r->err);
	*id = (struct nsys_metric){
		device, (uint32_t)s->counters.nr - 1, (uint64_t)sqlite3_column_int64(q, METRIC)};
	*counter = (struct sonde_counter){
		.role = SONDE_NONE, .name = sonde_nsys__intern(r, q, NAME)};
	if (counter->name == SONDE_NONE)
		counter->name = sonde_records__string(r->n.r, SONDE_STR("(unnamed metric)"));
	return counter->name == SONDE_NONE ? sonde_err_nomem(r->err) : 0;
}

/* Rows come sorted: a new moment is a new sample, whose values are not known yet. */
static bool begin_sample(struct sonde_series *s, uint64_t ns)
{
	struct sonde_sample_time *last = s->times.nr ? &s->times.at[s->times.nr - 1] : NULL, *next;
	uint64_t start = last ? last->end_ns : ns;
	size_t i;

	if (last && last->end_ns == ns)
		return true;
	if (last && (!s->interval_ns || ns - start < s->interval_ns))
		s->interval_ns = ns - start;
	next = sonde_vec_push(&s->times);
	if (!next || !sonde_vec_reserve(&s->values, s->values.nr + s->counters.nr))
		return false;
	*next = (struct sonde_sample_time){start, ns};
	for (i = 0; i < s->counters.nr; i++)
		s->values.at[s->values.nr++] = NAN;
	return true;
}

static int take_value(struct nsys_reader *r, sqlite3_stmt *q)
{
	uint32_t device = (uint32_t)sqlite3_column_int64(q, DEVICE);
	uint64_t id = (uint64_t)sqlite3_column_int64(q, ID);
	struct sonde_series *s = series_of(r, device);
	size_t i;

	if (!s || sqlite3_column_int64(q, AT) < 0)
		return 0;
	if (!begin_sample(s, (uint64_t)sqlite3_column_int64(q, AT)))
		return sonde_err_nomem(r->err);
	for (i = 0; i < r->metrics.nr; i++)
		if (r->metrics.at[i].device == device && r->metrics.at[i].id == id)
			s->values.at[s->values.nr - s->counters.nr + r->metrics.at[i].counter] =
				sqlite3_column_double(q, VALUE);
	return 0;
}

/* The first moment ends a sample of which nobody knows the beginning. */
static void begin_first(struct sonde_series *s)
{
	if (s->times.nr && s->times.at[0].end_ns >= s->interval_ns)
		s->times.at[0].start_ns = s->times.at[0].end_ns - s->interval_ns;
}

int sonde_nsys__metrics(struct nsys_reader *r)
{
	size_t i;
	int rc;

	r->first_series = r->n.r->series.nr;
	if (!sonde_nsys__has(r, METRICS, "timestamp") || !sonde_nsys__has(r, METRICS, "typeId") ||
		!sonde_nsys__has(r, METRICS, "metricId") || !sonde_nsys__has(r, METRICS, "value") ||
		!sonde_nsys__has(r, NAMES, "metricName") || !sonde_nsys__has(r, NAMES, "metricId"))
		return 0;
	rc = sonde_nsys__rows(r,
		"SELECT DISTINCT typeId & 255, metricId, metricName FROM " NAMES " ORDER BY 1, 2 LIMIT 4096",
		take_name);
	if (rc == 0)
		rc = sonde_nsys__rows(r,
			"SELECT typeId & 255, timestamp, metricId, value FROM " METRICS " ORDER BY 1, 2",
			take_value);
	for (i = r->first_series; i < r->n.r->series.nr; i++)
		begin_first(&r->n.r->series.at[i]);
	return rc;
}
