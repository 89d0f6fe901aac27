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

/* The entries that are listed: every step-th of every scope, scope after scope. */
struct listed {
	SONDE_VEC(const struct sonde_entry *) at;
	uint32_t step;
};

static size_t count_listed(const struct sonde_entry_runs *runs, uint32_t step)
{
	size_t i, nr = 0;

	for (i = 0; i < runs->at.nr; i++) {
		size_t stride = step / runs->at.at[i].step;

		nr += (runs->at.at[i].nr + stride - 1) / stride;
	}
	return nr;
}

static bool list_entries(struct listed *l, const struct sonde_entry_runs *runs)
{
	size_t i, k, nr = count_listed(runs, runs->step);

	for (l->step = runs->step; nr > MAX_LISTED && nr > runs->at.nr && l->step < UINT32_MAX / 2;
		nr = count_listed(runs, l->step))
		l->step *= 2;
	if (!sonde_vec_reserve(&l->at, nr))
		return false;
	for (i = 0; i < runs->at.nr; i++)
		for (k = 0; k < runs->at.at[i].nr; k += l->step / runs->at.at[i].step)
			l->at.at[l->at.nr++] = &runs->at.at[i].at[k];
	return true;
}

static struct sonde_figure load_of(
	const struct sonde_json_export *x, const struct sonde_entry *e, size_t metric)
{
	return sonde_load_figure(sonde_cells_load(x->tree->cells, e), metric);
}

/* "metrics": {name: {value: […], error: […]}} of the same entries; null where one is too short. */
static void write_loads(struct sonde_json_export *x, const struct listed *l)
{
	bool is_open = false;
	size_t i, k;

	for (i = 0; i < SONDE_NR_LOADS && x->tree->cells->loads.nr; i++) {
		for (k = 0; k < l->at.nr && isnan(load_of(x, l->at.at[k], i).v); k++)
			;
		if (k == l->at.nr)
			continue;
		if (!is_open)
			sonde_json_open(&x->w, "metrics", '{', true);
		is_open = true;
		sonde_json_open(&x->w, sonde_load_metrics[i], '{', true);
		SONDE_JSON_LIST(&x->w, "value", k, l->at.nr, load_of(x, l->at.at[k], i).v);
		SONDE_JSON_LIST(&x->w, "error", k, l->at.nr, load_of(x, l->at.at[k], i).error);
		sonde_json_close(&x->w, '}');
	}
	if (is_open)
		sonde_json_close(&x->w, '}');
}

/* "labels" of the same entries, as they were captured; null where that is the region's. */
static void write_labels(struct sonde_json_export *x, const struct listed *l)
{
	size_t i;

	for (i = 0; i < l->at.nr && l->at.at[i]->label == SONDE_NONE; i++)
		;
	if (i == l->at.nr)
		return;
	sonde_json_array(&x->w, "labels", true, i, l->at.nr)
		sonde_json__write_string(x, NULL, l->at.at[i]->label);
}

static void write_summary(
	struct sonde_json_export *x, const struct sonde_entry_summary *s, const struct listed *l)
{
	const struct sonde_entry *const *e = l->at.at;
	size_t nr = l->at.nr, i;

	sonde_json_open(&x->w, "entries", '{', true);
	sonde_json_u64(&x->w, "count", s->runs.nr_entered);
	sonde_json_u64(&x->w, "step", l->step);
	write_distribution(&x->w, "host", &s->of[SONDE_ENTRY_HOST]);
	write_distribution(&x->w, "gpu", &s->of[SONDE_ENTRY_GPU]);
	write_distribution(&x->w, "span", &s->of[SONDE_ENTRY_SPAN]);
	SONDE_JSON_LIST(&x->w, "begin_ms", i, nr, (double)(e[i]->begin_ns - x->first_ns) / 1e6);
	SONDE_JSON_LIST(&x->w, "host_ms", i, nr, (double)e[i]->host_ns / 1e6);
	if (s->runs.has_gpu)
		SONDE_JSON_LIST(&x->w, "gpu_ms", i, nr, (double)e[i]->gpu_ns / 1e6);
	write_labels(x, l);
	write_loads(x, l);
	sonde_json_close(&x->w, '}');
}

void sonde_json__write_entries(
	struct sonde_json_export *x, const struct sonde_report *r, const struct sonde_node *n)
{
	struct sonde_entry_summary s;
	struct listed l = {0};
	bool ok = sonde_entry_summary_build(&s, x->tree, r, n);

	if (ok && s.runs.nr_entries) {
		ok = list_entries(&l, &s.runs);
		if (ok)
			write_summary(x, &s, &l);
	}
	sonde_vec_release(&l.at);
	sonde_entry_summary_release(&s);
	x->w.sink->buf.failed |= !ok;
}
