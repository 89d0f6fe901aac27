#include "export/format.h"
#include "export/json_int.h"

#include "tree/idle.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "tree/entries.h"

#include <math.h>

/* Metric names are printed thousands of times: escape each once. */
static bool make_members(struct sonde_json_export *x)
{
	size_t nr = x->tree->columns.nr, i;
	struct sonde_buf b = {0};

	x->members = sonde_arena_calloc(&x->arena, nr + 1, sizeof(*x->members));
	for (i = 0; i < nr && x->members; i++) {
		sonde_buf_clear(&b);
		sonde_escape_json_key(&b, x->tree->columns.at[i].name);
		sonde_buf_puts(&b, ": ");
		if (b.n <= SONDE_JSON_MEMBER_MAX)
			x->members[i] = sonde_arena_dup(&x->arena, sonde_buf_view(&b));
	}
	x->arena.failed |= b.failed;
	sonde_buf_release(&b);
	return x->members && !x->arena.failed;
}

int sonde_json__init(struct sonde_json_export *x, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_sink *to, struct sonde_err *err)
{
	size_t i, k;
	uint32_t depth = 0;

	*x = (struct sonde_json_export){.w = {.sink = to}, .tree = t, .options = o};
	x->first_ns = sonde_entries_first_ns(t);
	for (i = 0; i < t->reports.nr; i++)
		for (k = 0; k < t->reports.at[i].nodes.nr; k++)
			if (t->reports.at[i].nodes.at[k].depth > depth)
				depth = t->reports.at[i].nodes.at[k].depth;
	x->stack = sonde_calloc((size_t)depth + 1, sizeof(*x->stack));
	if (!x->stack || !make_members(x))
		return sonde_err_nomem(err);
	return sonde_figures_init(&x->figures, t, err);
}

void sonde_json__release(struct sonde_json_export *x)
{
	sonde_figures_release(&x->figures);
	sonde_arena_release(&x->arena);
	sonde_free(x->stack);
}

void sonde_json__write_words(struct sonde_json *w, const char *key, struct sonde_words list)
{
	size_t i;

	sonde_json_array(w, key, true, i, list.nr)
		sonde_json_z(w, NULL, list.at[i]);
}

/* The scope a report speaks of: its own, or the only one there is of an aggregate's kind. */
static const struct sonde_scope *only_scope(
	const struct sonde_tree *t, const struct sonde_report *r)
{
	size_t i;

	for (i = 0; r->is_aggregate && r->nr_scopes == 1 && i < t->reports.nr; i++)
		if (!t->reports.at[i].is_aggregate && t->reports.at[i].measured == r->measured)
			return sonde_report_scope(t, &t->reports.at[i]);
	return sonde_report_scope(t, r);
}

void sonde_json__write_place(struct sonde_json_export *x, const struct sonde_report *r, bool with_process)
{
	const struct sonde_scope *scope = only_scope(x->tree, r);
	char device[32] = "";

	if (scope && scope->device != SONDE_NONE)
		snprintf(device, sizeof(device), "cuda:%u", (unsigned)scope->device);
	sonde_json_z(&x->w, "device", *device ? device : NULL);
	if (with_process)
		sonde_json_number(&x->w, "process_id",
			scope ? (double)x->tree->cells->processes.at[scope->process].pid : NAN);
}

static void write_totals(struct sonde_json_export *x, const struct sonde_report *r)
{
	sonde_json_open(&x->w, "totals", '{', false);
	sonde_json_u64(&x->w, "launches", r->launches);
	sonde_json_number(&x->w, "total_ms", r->time_ns / 1e6);
	sonde_tree_values(x->tree, r, SONDE_PART_TOTAL, 0, &x->figures);
	sonde_json__write_metrics(x);
	sonde_json_close(&x->w, '}');
}

static void write_unattributed(struct sonde_json_export *x, const struct sonde_report *r)
{
	sonde_json_open(&x->w, "unattributed", '{', false);
	sonde_json_u64(&x->w, "kernel_count", r->outside_launches);
	sonde_json_number(&x->w, "total_ms", r->outside_time_ns / 1e6);
	sonde_tree_values(x->tree, r, SONDE_PART_OUTSIDE, 0, &x->figures);
	sonde_json__write_metrics(x);
	sonde_json__write_kernels(x, r, r->outside_first_kernel, r->nr_outside_kernels);
	sonde_json_close(&x->w, '}');
}

void sonde_json__write_string(struct sonde_json_export *x, const char *key, uint32_t string)
{
	sonde_json_maybe(&x->w, key, sonde_tree_str(x->tree, string));
}

void sonde_json__write_region_id(struct sonde_json_export *x, const char *key, uint32_t region)
{
	const struct sonde_str none = {NULL, 0};

	sonde_json_maybe(&x->w, key, region == SONDE_NONE ? none : x->tree->cells->regions.at[region].id);
}

/* The longest gaps, where the capture has timestamps. */
static void write_gaps(struct sonde_json_export *x, const struct sonde_report *r)
{
	const struct sonde_gap *at[SONDE_NR_GAPS];
	size_t nr = sonde_report_gaps(x->tree, r, at), i;

	if (!nr)
		return;
	sonde_json_each(&x->w, "longest_gaps", false, i, nr) {
		sonde_json__write_region_id(x, "region", at[i]->region);
		sonde_json__write_region_id(x, "before", at[i]->before);
		sonde_json_str(&x->w, "scope", x->tree->reports.at[at[i]->scope].name);
		sonde_json_z(&x->w, "cause", sonde_idle_cause_name(at[i]->cause));
		sonde_json_u64(&x->w, "begin_ns", at[i]->begin_ns);
		sonde_json_number(&x->w, "since_ms", (double)at[i]->since_ns / 1e6);
		sonde_json_number(&x->w, "ms", (double)at[i]->ns / 1e6);
	}
}

static void write_regions(struct sonde_json_export *x, const struct sonde_report *r)
{
	size_t i;

	sonde_json_array(&x->w, "regions", false, i, r->nodes.nr) {
		sonde_json_open(&x->w, NULL, '{', false);
		x->stack[r->nodes.at[i].depth] = (uint32_t)i;
		sonde_json__write_region(x, r, (uint32_t)i);
		sonde_json_close(&x->w, '}');
	}
}

/* The scopes that are added up in this one, each with what is kept of it. */
static void write_folded(struct sonde_json_export *x, const struct sonde_report *r)
{
	const struct sonde_cells *c = x->tree->cells;
	size_t i;

	sonde_json_u64(&x->w, "folded", r->nr_scopes);
	sonde_json_open(&x->w, "folded_scopes", '[', false);
	for (i = 0; i < c->folded_scopes.nr; i++) {
		const struct sonde_folded_scope *f = &c->folded_scopes.at[i];
		struct sonde_str name = {0};

		if (f->scope != r->scope)
			continue;
		x->w.sink->buf.failed |= !sonde_folded_scope_name(&name, f, &x->arena);
		sonde_json_open(&x->w, NULL, '{', true);
		sonde_json_str(&x->w, "scope", name);
		sonde_json_number(&x->w, "work_ms", f->work_ns / 1e6);
		sonde_json_number(&x->w, "comm_ms", f->comm_ns / 1e6);
		sonde_json_close(&x->w, '}');
	}
	sonde_json_close(&x->w, ']');
}

static void write_report(struct sonde_json_export *x, const char *key, const struct sonde_report *r)
{
	sonde_json_open(&x->w, key, '{', false);
	sonde_json_str(&x->w, "scope", r->name);
	sonde_json_z(&x->w, "measured", sonde_measured_name(r->measured));
	sonde_json__write_place(x, r, true);
	if (!r->is_aggregate && r->nr_scopes > 1)
		write_folded(x, r);
	write_totals(x, r);
	write_regions(x, r);
	write_unattributed(x, r);
	write_gaps(x, r);
	sonde_json_close(&x->w, '}');
}

static void write_scopes(struct sonde_json_export *x)
{
	size_t i, nr_omitted = 0;

	sonde_json_array(&x->w, "scopes", false, i, x->tree->reports.nr) {
		const struct sonde_report *r = &x->tree->reports.at[i];

		if (r->is_aggregate)
			continue;
		if (sonde_report_is_shown(r, x->options))
			write_report(x, NULL, r);
		else
			nr_omitted++;
	}
	sonde_json_u64(&x->w, "scopes_omitted", nr_omitted);
}

/* The aggregate over kernels, or over ranges where there is nothing else; then any other. */
static void write_aggregates(struct sonde_json_export *x)
{
	const struct sonde_report *first = NULL;
	size_t i;

	for (i = 0; i < x->tree->reports.nr; i++) {
		const struct sonde_report *r = &x->tree->reports.at[i];

		if (!r->is_aggregate || !sonde_report_is_shown(r, x->options))
			continue;
		if (first && x->w.depth == 1)
			sonde_json_open(&x->w, "range_aggregates", '[', false);
		write_report(x, first ? NULL : "aggregate", r);
		first = first ? first : r;
	}
	if (x->w.depth == 2)
		sonde_json_close(&x->w, ']');
	if (!first)
		sonde_json_null(&x->w, "aggregate");
}

/* All of them, and again those that tell of something missing or damaged. */
static void write_notes(struct sonde_json *w, const struct sonde_notes *notes)
{
	size_t i;

	sonde_json_texts(w, "notes", notes->texts.keys, notes->texts.nr, false);
	sonde_json_array(w, "losses", !notes->nr_losses, i, notes->texts.nr)
		if (sonde_notes_is_loss(notes, i))
			sonde_json_str(w, NULL, notes->texts.keys[i]);
}

int sonde_export_json(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_json_export x;
	int rc = sonde_json__init(&x, t, o, to, err);

	if (rc == 0) {
		sonde_json_open(&x.w, NULL, '{', false);
		sonde_json_z(&x.w, "schema", "sonde.report/1");
		sonde_json__write_head(&x);
		sonde_json__write_ranks(&x);
		sonde_json__write_metric_info(&x);
		write_scopes(&x);
		write_aggregates(&x);
		write_notes(&x.w, &t->notes);
		sonde_json_close(&x.w, '}');
		sonde_sink_putc(to, '\n');
	}
	sonde_json__release(&x);
	return rc;
}
