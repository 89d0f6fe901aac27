/* "entries" of a region: their distribution, and one by one. */
#include "export/json_int.h"

#include "tree/entries.h"

#include <math.h>

#define MAX_LISTED 1000 /* so that a report stays a file one can open */

static void write_distribution(
	struct sonde_json *w, const char *key, const struct sonde_distribution *d)
{
	if (!d->nr)
		return;
	sonde_json_open(w, key, '{', true);
	sonde_json_number(w, "min_ms", d->min_ns / 1e6);
	sonde_json_number(w, "median_ms", d->median_ns / 1e6);
	sonde_json_number(w, "p95_ms", d->p95_ns / 1e6);
	sonde_json_number(w, "p99_ms", d->p99_ns / 1e6);
	sonde_json_number(w, "max_ms", d->max_ns / 1e6);
	sonde_json_number(w, "mean_ms", d->mean_ns / 1e6);
	sonde_json_number(w, "sd_ms", d->sd_ns / 1e6);
	sonde_json_close(w, '}');
}

/* What a list of entries holds; loads, by metric, are null where an entry is too short for one. */
enum what { BEGIN, HOST, GPU, LOAD, LOAD_ERROR };

static double value_of(
	const struct sonde_json_export *x, const struct sonde_entry *e, enum what what, size_t metric)
{
	const struct sonde_entry_load *load;

	if (what == BEGIN)
		return (double)(e->begin_ns - x->first_ns) / 1e6;
	if (what == HOST || what == GPU)
		return (double)(what == HOST ? e->host_ns : e->gpu_ns) / 1e6;
	load = sonde_cells_load(x->tree->cells, e);
	if (!load)
		return NAN;
	return what == LOAD ? load->v[metric] : SONDE_WITHIN_95 * load->error[metric];
}

/* Every step-th entry of every scope, scope after scope. */
static void write_list(struct sonde_json_export *x, const char *key,
	const struct sonde_entry_runs *runs, uint32_t step, enum what what, size_t metric)
{
	bool is_first = true;
	size_t i, k;

	sonde_json_open(&x->w, key, '[', true);
	for (i = 0; i < runs->at.nr; i++) {
		const struct sonde_entry_run *run = &runs->at.at[i];

		for (k = 0; k < run->nr; k += step / run->step) {
			sonde_json_tight(&x->w, value_of(x, &run->at[k], what, metric), is_first);
			is_first = false;
		}
	}
	sonde_json_close(&x->w, ']');
}

static bool has_load(const struct sonde_json_export *x, const struct sonde_entry_runs *runs,
	uint32_t step, size_t metric)
{
	size_t i, k;

	for (i = 0; i < runs->at.nr && x->tree->cells->loads.nr; i++)
		for (k = 0; k < runs->at.at[i].nr; k += step / runs->at.at[i].step)
			if (!isnan(value_of(x, &runs->at.at[i].at[k], LOAD, metric)))
				return true;
	return false;
}

/* "metrics": {name: {value: […], error: […]}} of the same entries. */
static void write_loads(struct sonde_json_export *x, const struct sonde_entry_runs *runs, uint32_t step)
{
	bool is_open = false;
	size_t i;

	for (i = 0; i < SONDE_NR_LOADS; i++) {
		if (!has_load(x, runs, step, i))
			continue;
		if (!is_open)
			sonde_json_open(&x->w, "metrics", '{', true);
		is_open = true;
		sonde_json_open(&x->w, sonde_load_metrics[i], '{', true);
		write_list(x, "value", runs, step, LOAD, i);
		write_list(x, "error", runs, step, LOAD_ERROR, i);
		sonde_json_close(&x->w, '}');
	}
	if (is_open)
		sonde_json_close(&x->w, '}');
}

/* "labels" of the same entries, as they were captured; null where that is the region's. */
static void write_labels(
	struct sonde_json_export *x, const struct sonde_entry_runs *runs, uint32_t step)
{
	size_t i, k, nr = 0;

	for (i = 0; i < runs->at.nr; i++)
		for (k = 0; k < runs->at.at[i].nr; k += step / runs->at.at[i].step)
			nr += runs->at.at[i].at[k].label != SONDE_NONE;
	if (!nr)
		return;
	sonde_json_open(&x->w, "labels", '[', true);
	for (i = 0; i < runs->at.nr; i++)
		for (k = 0; k < runs->at.at[i].nr; k += step / runs->at.at[i].step)
			sonde_json__string(x, NULL, runs->at.at[i].at[k].label);
	sonde_json_close(&x->w, ']');
}

static size_t count_listed(const struct sonde_entry_runs *runs, uint32_t step)
{
	size_t i, nr = 0;

	for (i = 0; i < runs->at.nr; i++) {
		size_t stride = step / runs->at.at[i].step;

		nr += (runs->at.at[i].nr + stride - 1) / stride;
	}
	return nr;
}

void sonde_json__entries(
	struct sonde_json_export *x, const struct sonde_report *r, const struct sonde_node *n)
{
	struct sonde_entry_summary s;
	bool ok = sonde_entry_summary_build(&s, x->tree, r, n);
	uint32_t step = s.runs.step;

	if (ok && s.runs.nr_entries) {
		size_t nr = count_listed(&s.runs, step);

		for (; nr > MAX_LISTED && nr > s.runs.at.nr && step < UINT32_MAX / 2;
			nr = count_listed(&s.runs, step))
			step *= 2;
		sonde_json_open(&x->w, "entries", '{', true);
		sonde_json_u64(&x->w, "count", s.runs.nr_entered);
		sonde_json_u64(&x->w, "step", step);
		write_distribution(&x->w, "host", &s.of[SONDE_ENTRY_HOST]);
		write_distribution(&x->w, "gpu", &s.of[SONDE_ENTRY_GPU]);
		write_distribution(&x->w, "span", &s.of[SONDE_ENTRY_SPAN]);
		write_list(x, "begin_ms", &s.runs, step, BEGIN, 0);
		write_list(x, "host_ms", &s.runs, step, HOST, 0);
		if (s.runs.has_gpu)
			write_list(x, "gpu_ms", &s.runs, step, GPU, 0);
		write_labels(x, &s.runs, step);
		write_loads(x, &s.runs, step);
		sonde_json_close(&x->w, '}');
	}
	sonde_entry_summary_release(&s);
	x->w.sink->buf.failed |= !ok;
}
