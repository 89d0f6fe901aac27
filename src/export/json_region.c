/* A region in JSON: its fields, metrics, kernels, streams and entries. */
#include "tree/entries.h"
#include "tree/roofline.h"
#include "export/folder.h"
#include "export/json_int.h"
#include "read/arguments.h"

#include <math.h>
#include <stdio.h>

static bool differs(const struct sonde_column *c, const struct sonde_figure *f)
{
	return (!isnan(f->v) || f->text.p) && (f->quality != c->quality || f->method != 0);
}

/* Says how a figure was made, if it was not made as its column says. */
static void write_exceptions(struct sonde_json_export *x)
{
	const struct sonde_tree *t = x->tree;
	bool is_open = false, tells_all = x->tells_all;
	size_t i;

	x->tells_all = false;
	for (i = 0; i < t->columns.nr; i++) {
		const struct sonde_column *c = &t->columns.at[i];
		const struct sonde_figure *f = &x->figures.at[i];

		if (!tells_all && !differs(c, f))
			continue;
		if (!is_open)
			sonde_json_open(&x->w, "metric_info", '{', false);
		is_open = true;
		sonde_json__write_metric_info(x, c, f->method, f->quality);
	}
	if (is_open)
		sonde_json_close(&x->w, '}');
}

static void write_ranges(struct sonde_json_export *x)
{
	bool is_open = false;
	size_t i;

	for (i = 0; i < x->tree->columns.nr; i++) {
		const struct sonde_figure *f = &x->figures.at[i];

		if (isnan(f->low) && isnan(f->high))
			continue;
		if (!is_open)
			sonde_json_open(&x->w, "metric_ranges", '{', false);
		is_open = true;
		sonde_json_open_str(&x->w, x->tree->columns.at[i].name, '{', true);
		sonde_json_number(&x->w, "low", f->low);
		sonde_json_number(&x->w, "high", f->high);
		if (!isnan(f->error))
			sonde_json_number(&x->w, "error", f->error);
		sonde_json_close(&x->w, '}');
	}
	if (is_open)
		sonde_json_close(&x->w, '}');
}

static void write_texts(struct sonde_json_export *x)
{
	bool is_open = false;
	size_t i;

	for (i = 0; i < x->tree->columns.nr; i++) {
		if (!x->tree->columns.at[i].is_text || !x->figures.at[i].text.p)
			continue;
		if (!is_open)
			sonde_json_open(&x->w, "text_metrics", '{', false);
		is_open = true;
		sonde_json_str_str(&x->w, x->tree->columns.at[i].name, x->figures.at[i].text);
	}
	if (is_open)
		sonde_json_close(&x->w, '}');
}

static void write_numbers(struct sonde_json_export *x)
{
	const struct sonde_tree *t = x->tree;
	size_t i;

	sonde_json_open(&x->w, "metrics", '{', false);
	for (i = 0; i < t->columns.nr; i++) {
		if (t->columns.at[i].is_text)
			continue;
		if (x->members[i].p)
			sonde_json_member_number(&x->w, x->members[i], x->figures.at[i].v);
		else
			sonde_json_str_number(&x->w, t->columns.at[i].name, x->figures.at[i].v);
	}
	sonde_json_close(&x->w, '}');
}

void sonde_json__write_metrics(struct sonde_json_export *x)
{
	write_numbers(x);
	write_texts(x);
	write_ranges(x);
	write_exceptions(x);
}

void sonde_json__write_kernels(
	struct sonde_json_export *x, const struct sonde_report *r, uint32_t first, uint32_t nr)
{
	uint32_t i;

	sonde_json_open(&x->w, "kernels", '[', false);
	for (i = first; i < first + nr; i++) {
		const struct sonde_kernel *k = &r->kernels.at[i];

		sonde_json_open(&x->w, NULL, '{', false);
		sonde_json_str(&x->w, "kernel_name",
			sonde_tree_str(x->tree, k->name));
		sonde_json__write_place(x, r, false);
		sonde_json_u64(&x->w, "calls", k->calls);
		sonde_json_number(&x->w, "total_ms", k->time_ns / 1e6);
		sonde_json_number(&x->w, "mean_ms", sonde_kernel_mean_ms(k));
		sonde_tree_values(x->tree, r, SONDE_PART_KERNEL, i, &x->figures);
		if (k->calls > 1) {
			sonde_json__write_metrics(x);
		} else { /* the figures of one launch are as measured */
			write_numbers(x);
			write_texts(x);
		}
		sonde_json__write_stalls(x, r, SONDE_PART_KERNEL, i);
		sonde_json_close(&x->w, '}');
	}
	sonde_json_close(&x->w, ']');
}

static void write_identity(
	struct sonde_json_export *x, const struct sonde_report *r, const struct sonde_node *n)
{
	const struct sonde_tree *t = x->tree;
	const struct sonde_region *region = sonde_node_region(t, n);
	const struct sonde_node *parent = n->parent == SONDE_NONE ? NULL : &r->nodes.at[n->parent];
	const struct sonde_str none = {NULL, 0};
	uint32_t d;

	sonde_json_str(&x->w, "id", region->id);
	sonde_json_str(&x->w, "name", sonde_node_label(t, n));
	sonde_json_open(&x->w, "path", '[', true);
	for (d = 0; d <= n->depth; d++)
		sonde_json_str(&x->w, NULL, sonde_node_label(t, &r->nodes.at[x->stack[d]]));
	sonde_json_close(&x->w, ']');
	sonde_json_maybe(&x->w, "parent", parent ? sonde_node_label(t, parent) : none);
	sonde_json_maybe(&x->w, "parent_id", parent ? sonde_node_region(t, parent)->id : none);
	sonde_json_u64(&x->w, "depth", n->depth);
	sonde_json__write_string(x, "domain", region->domain);
	sonde_json_z(&x->w, "kind", sonde_region_kind_name(region->kind));
	sonde_json__write_place(x, r, true);
}

/* Writes the paths of the region's own files, relative to this file. */
static void write_files(struct sonde_json_export *x, struct sonde_str folder)
{
	struct sonde_buf path = {0};

	if (!folder.n)
		return;
	sonde_buf_printf(&path, "%.*s/report.json", SONDE_STR_ARG(folder));
	sonde_json_str(&x->w, "json_path", sonde_buf_view(&path));
	sonde_buf_clear(&path);
	sonde_buf_printf(&path, "%.*s/report.md", SONDE_STR_ARG(folder));
	sonde_json_str(&x->w, "markdown_path", sonde_buf_view(&path));
	x->w.sink->buf.failed |= path.failed;
	sonde_buf_release(&path);
}

/* `idle.sync_ms` is in the object `idle`: opens and closes such objects; returns the member's key. */
static const char *enter_object(struct sonde_json_export *x, struct sonde_str *object, const char *key)
{
	struct sonde_str member, first = sonde_str_cut(sonde_str_from(key), '.', &member);

	if (!member.n)
		first.n = 0;
	if (sonde_str_eq(first, *object))
		return member.n ? member.p : key;
	if (object->n)
		sonde_json_close(&x->w, '}');
	if (first.n)
		sonde_json_open_str(&x->w, first, '{', true);
	*object = first;
	return member.n ? member.p : key;
}

/* Writes the inclusive or the exclusive fields of the column table. */
static void write_fields(struct sonde_json_export *x, const struct sonde_report *r,
	const struct sonde_node *n, uint8_t exclusive)
{
	struct sonde_str object = {0};
	size_t i;

	for (i = 0; i < sonde_nr_fields; i++) {
		const struct sonde_field *f = &sonde_fields[i];
		double v = sonde_field_number(f, r, n);

		if ((f->flags & SONDE_FIELD_EXCLUSIVE) != exclusive ||
			(f->flags & SONDE_FIELD_OPTIONAL && isnan(v)))
			continue;
		sonde_json_number(&x->w, enter_object(x, &object, f->key), v);
	}
	if (object.n)
		sonde_json_close(&x->w, '}');
}

static void write_scopes(struct sonde_json_export *x, const struct sonde_node *n)
{
	sonde_json_open(&x->w, "scopes", '{', true);
	sonde_json_u64(&x->w, "count", n->nr_scopes);
	sonde_json_number(&x->w, "min_ms", n->scope_min_ns / 1e6);
	sonde_json_number(&x->w, "median_ms", n->scope_median_ns / 1e6);
	sonde_json_number(&x->w, "max_ms", n->scope_max_ns / 1e6);
	sonde_json_number(&x->w, "imbalance", n->imbalance);
	sonde_json_close(&x->w, '}');
}

/* Writes the roofline of the figures in x->figures; nothing if the capture has no such counters. */
static void write_roofline(struct sonde_json_export *x, double time_ns)
{
	struct sonde_roofline r = sonde_roofline_of(x->tree, &x->figures, time_ns);
	char note[256];

	if (isnan(r.flop) && isnan(r.dram_bytes))
		return;
	sonde_json_open(&x->w, "roofline", '{', true);
	sonde_json_number(&x->w, "flop", r.flop);
	sonde_json_number(&x->w, "dram_bytes", r.dram_bytes);
	sonde_json_number(&x->w, "intensity", r.intensity);
	sonde_json_number(&x->w, "flop_per_s", r.flop_per_s);
	sonde_json_number(&x->w, "bytes_per_s", r.bytes_per_s);
	if (r.at_least) {
		sonde_json_z(&x->w, "quality", sonde_quality_name(SONDE_QUALITY_BOUND));
		snprintf(note, sizeof(note), "flop, intensity and flop_per_s are lower bounds; %s", r.at_least);
		sonde_json_z(&x->w, "note", note);
	} else if (r.is_of_pipes) {
		sonde_json_z(&x->w, "quality", sonde_quality_name(SONDE_QUALITY_SAMPLED));
		sonde_json_z(&x->w, "note", SONDE_FLOP_OF_PIPES);
	}
	sonde_json_close(&x->w, '}');
}

static void write_sections(struct sonde_json_export *x)
{
	const struct sonde_tree *t = x->tree;
	size_t i, k;

	sonde_json_open(&x->w, "sections", '{', false);
	for (i = 0; i < t->sections.nr; i++) {
		const struct sonde_chosen_section *s = &t->sections.at[i];

		sonde_json_open_str(&x->w, s->id, '{', false);
		sonde_json_str(&x->w, "name", s->name);
		sonde_json_open(&x->w, "metrics", '{', false);
		for (k = 0; k < s->columns.nr; k++) {
			uint32_t c = s->columns.at[k];

			if (!t->columns.at[c].is_text)
				sonde_json_str_number(
					&x->w, t->columns.at[c].name, x->figures.at[c].v);
		}
		sonde_json_close(&x->w, '}');
		sonde_json_close(&x->w, '}');
	}
	sonde_json_close(&x->w, '}');
}

static void write_selection(struct sonde_json_export *x)
{
	const struct sonde_selection *s = &x->tree->cells->selection;

	sonde_json_open(&x->w, "selection", '{', true);
	sonde_json__write_words(&x->w, "include_patterns", s->kernel_include);
	sonde_json__write_words(&x->w, "exclude_patterns", s->kernel_exclude);
	sonde_json_close(&x->w, '}');
}

static void write_streams(
	struct sonde_json_export *x, const struct sonde_report *r, const struct sonde_node *n)
{
	size_t i;

	if (!n->streams || !r->streams.nr)
		return;
	sonde_json_each(&x->w, "per_stream", true, i, n->streams) {
		const struct sonde_stream_work *s = &r->streams.at[n->first_stream + i];

		sonde_json_u64(&x->w, "context", s->context);
		sonde_json_u64(&x->w, "stream", s->stream);
		sonde_json_u64(&x->w, "kernel_count", s->launches);
		sonde_json_number(&x->w, "total_ms", s->time_ns / 1e6);
		sonde_json_number(&x->w, "busy_ms", s->busy_ns / 1e6);
	}
}

#define MAX_LISTED 1000 /* entries in a list: so that a report stays a file one can open */

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

/* Writes "metrics": {name: {value: […], error: […]}} of the listed entries; null where one is too short. */
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

/* Writes "labels" of the listed entries as captured; null where the label is the region's. */
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

static struct sonde_str arguments_of(const struct sonde_json_export *x, const struct sonde_entry *e)
{
	return sonde_tree_str(x->tree, e->arguments);
}

/* Writes one argument of the listed entries; null where an entry has none of that name. */
static void write_argument(struct sonde_json_export *x, const struct listed *l, struct sonde_str name)
{
	size_t i;

	sonde_json_open_str(&x->w, name, '[', true);
	for (i = 0; i < l->at.nr; i++) {
		struct sonde_str rest = arguments_of(x, l->at.at[i]), digits = SONDE_STR("null");
		struct sonde_argument a;

		while (sonde_arguments_next(&rest, &a))
			if (sonde_str_eq(a.name, name)) {
				digits = a.digits;
				break;
			}
		sonde_json_digits(&x->w, digits, i == 0);
	}
	sonde_json_close(&x->w, ']');
}

/* Writes "arguments": {name: […]} of the listed entries, names in the order of their first use. */
static void write_arguments(struct sonde_json_export *x, const struct listed *l)
{
	struct sonde_map names = {0};
	struct sonde_argument a;
	size_t i;

	for (i = 0; i < l->at.nr; i++) {
		struct sonde_str rest = arguments_of(x, l->at.at[i]);

		while (names.nr < SONDE_MAX_ARGUMENTS && sonde_arguments_next(&rest, &a))
			x->w.sink->buf.failed |= sonde_map_add(&names, a.name, NULL) == SONDE_NONE;
	}
	if (names.nr)
		sonde_json_open(&x->w, "arguments", '{', true);
	for (i = 0; i < names.nr; i++)
		write_argument(x, l, names.keys[i]);
	if (names.nr)
		sonde_json_close(&x->w, '}');
	sonde_map_release(&names);
}

static void write_summary(
	struct sonde_json_export *x, const struct sonde_entry_summary *s, const struct listed *l)
{
	const struct sonde_entry *const *e = l->at.at;
	size_t nr = l->at.nr, i;

	sonde_json_open(&x->w, "entries", '{', true);
	sonde_json_u64(&x->w, "count", s->runs.nr_entered);
	sonde_json_u64(&x->w, "step", l->step);
	write_distribution(&x->w, "wall", &s->of[SONDE_ENTRY_WALL]);
	write_distribution(&x->w, "host", &s->of[SONDE_ENTRY_HOST]);
	write_distribution(&x->w, "gpu", &s->of[SONDE_ENTRY_GPU]);
	write_distribution(&x->w, "span", &s->of[SONDE_ENTRY_SPAN]);
	SONDE_JSON_LIST(&x->w, "begin_ms", i, nr, (double)(e[i]->begin_ns - x->first_ns) / 1e6);
	if (s->of[SONDE_ENTRY_WALL].nr)
		SONDE_JSON_LIST(&x->w, "wall_ms", i, nr, sonde_entry_wall_ms(e[i]));
	SONDE_JSON_LIST(&x->w, "host_ms", i, nr, (double)e[i]->host_ns / 1e6);
	if (s->runs.has_gpu)
		SONDE_JSON_LIST(&x->w, "gpu_ms", i, nr, (double)e[i]->gpu_ns / 1e6);
	write_labels(x, l);
	write_arguments(x, l);
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

void sonde_json__write_region(struct sonde_json_export *x, const struct sonde_report *r, uint32_t node)
{
	const struct sonde_node *n = &r->nodes.at[node];

	write_identity(x, r, n);
	write_files(x, sonde_folder_list_find(x->options->folders, r, node));
	write_fields(x, r, n, 0);
	write_streams(x, r, n);
	sonde_tree_values(x->tree, r, SONDE_PART_INCLUSIVE, node, &x->figures);
	sonde_json_z(&x->w, "limiter", sonde_limiter(x->tree, &x->figures));
	sonde_json_z(&x->w, "bound", sonde_bound(x->tree, &x->figures, n));
	write_roofline(x, n->time_ns);
	sonde_json__write_metrics(x);
	sonde_json__write_stalls(x, r, SONDE_PART_INCLUSIVE, node);
	write_sections(x);
	sonde_json_open(&x->w, "exclusive", '{', false);
	write_fields(x, r, n, SONDE_FIELD_EXCLUSIVE);
	sonde_tree_values(x->tree, r, SONDE_PART_EXCLUSIVE, node, &x->figures);
	sonde_json__write_metrics(x);
	sonde_json__write_stalls(x, r, SONDE_PART_EXCLUSIVE, node);
	sonde_json_close(&x->w, '}');
	if (r->is_aggregate) {
		write_scopes(x, n);
		if (!r->is_ranges)
			sonde_json__write_region_ranks(x, n);
	}
	sonde_json__write_entries(x, r, n);
	sonde_json__write_kernels(x, r, n->first_kernel, n->nr_kernels);
	write_selection(x);
	sonde_json_open(&x->w, "notes", '[', true);
	if (n->launches == 0)
		sonde_json_z(&x->w, NULL, sonde_no_launch(x->tree));
	if (n->is_open)
		sonde_json_z(&x->w, NULL, sonde_open_words(x->tree));
	sonde_json_close(&x->w, ']');
}
