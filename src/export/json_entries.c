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

static double begin_of(const struct sonde_entry *e, uint64_t first_ns)
{
	return (double)(e->begin_ns - first_ns) / 1e6;
}

static double host_of(const struct sonde_entry *e, uint64_t first_ns)
{
	(void)first_ns;
	return (double)e->host_ns / 1e6;
}

static double gpu_of(const struct sonde_entry *e, uint64_t first_ns)
{
	(void)first_ns;
	return (double)e->gpu_ns / 1e6;
}

/* Every step-th entry of every scope, scope after scope. */
static void list(struct sonde_json_export *x, const char *key, const struct sonde_entry_runs *runs,
	uint32_t step, double (*get)(const struct sonde_entry *e, uint64_t first_ns))
{
	bool is_first = true;
	size_t i, k;

	sonde_json_open(&x->w, key, '[', true);
	for (i = 0; i < runs->at.nr; i++) {
		const struct sonde_entry_run *run = &runs->at.at[i];

		for (k = 0; k < run->nr; k += step / run->step) {
			sonde_json_tight(&x->w, get(&run->at[k], x->first_ns), is_first);
			is_first = false;
		}
	}
	sonde_json_close(&x->w, ']');
}

/* "metrics": {name: {value: […], error: […]}} of the same entries, null where one is too short. */
static void list_load(struct sonde_json_export *x, const char *key,
	const struct sonde_entry_runs *runs, uint32_t step, size_t metric, bool is_error)
{
	bool is_first = true;
	size_t i, k;

	sonde_json_open(&x->w, key, '[', true);
	for (i = 0; i < runs->at.nr; i++) {
		const struct sonde_entry_run *run = &runs->at.at[i];

		for (k = 0; k < run->nr; k += step / run->step) {
			const struct sonde_entry_load *load =
				sonde_cells_load(x->tree->cells, &run->at[k]);
			double v = !load ? NAN : is_error ? SONDE_WITHIN_95 * load->error[metric] : load->v[metric];

			sonde_json_tight(&x->w, v, is_first);
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
		for (k = 0; k < runs->at.at[i].nr; k += step / runs->at.at[i].step) {
			const struct sonde_entry_load *load =
				sonde_cells_load(x->tree->cells, &runs->at.at[i].at[k]);

			if (load && !isnan(load->v[metric]))
				return true;
		}
	return false;
}

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
		list_load(x, "value", runs, step, i, false);
		list_load(x, "error", runs, step, i, true);
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
		for (k = 0; k < runs->at.at[i].nr; k += step / runs->at.at[i].step) {
			uint32_t label = runs->at.at[i].at[k].label;

			if (label == SONDE_NONE)
				sonde_json_null(&x->w, NULL);
			else
				sonde_json_str(&x->w, NULL, sonde_tree_str(x->tree, label));
		}
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
		list(x, "begin_ms", &s.runs, step, begin_of);
		list(x, "host_ms", &s.runs, step, host_of);
		if (s.runs.has_gpu)
			list(x, "gpu_ms", &s.runs, step, gpu_of);
		write_labels(x, &s.runs, step);
		write_loads(x, &s.runs, step);
		sonde_json_close(&x->w, '}');
	}
	sonde_entry_summary_release(&s);
	x->w.sink->buf.failed |= !ok;
}
