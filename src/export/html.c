/*
 * The HTML report: one page, the data in it once, no other file, no network.
 *
 * The page is written in src/export/html/ and knows nothing of this file but the data it gets (docs/formats.md has its
 * layout). A Content-Security-Policy allows exactly the page's script and style, by hash: whatever a label contains,
 * nothing else can run or load.
 */
#include "tree/findings.h"
#include "export/format.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "tree/roofline.h"
#include "export/html_int.h"
#include "export/shown_findings.h"

#include <string.h>

/* With more figures than this, rows have the headline metrics only. */
#define MAX_FIGURES 1500000u

void sonde_html__drain(struct sonde_html *h)
{
	sonde_html__pour(h->to, &h->json);
}

static int choose_columns(struct sonde_html *h, uint32_t **columns, size_t *nr, size_t nr_rows)
{
	const struct sonde_tree *t = h->x.tree;
	bool takes_all = nr_rows * t->columns.nr <= MAX_FIGURES;
	size_t i, nr_candidates = takes_all ? t->columns.nr : t->nr_headline;

	*nr = 0;
	*columns = sonde_calloc(nr_candidates + 1, sizeof(**columns));
	if (!*columns)
		return sonde_err_nomem(h->err);
	for (i = 0; i < nr_candidates; i++) {
		uint32_t column = takes_all ? (uint32_t)i : t->headline[i];

		if (!t->columns.at[column].is_chart)
			(*columns)[(*nr)++] = column;
	}
	return 0;
}

static void write_numbers(struct sonde_json *w, const char *key, const uint32_t *at, size_t nr)
{
	size_t i;

	SONDE_JSON_LIST(w, key, i, nr, at[i]);
}

/* Lists further methods of the column: there are some if inputs captured different weights. */
static void write_other_methods(struct sonde_json *w, const struct sonde_column *c)
{
	size_t i;

	if (!c->methods[2])
		return;
	sonde_json_open(w, "o", '[', true);
	for (i = 2; c->methods[i]; i++)
		sonde_json_z(w, NULL, c->methods[i]);
	sonde_json_close(w, ']');
}

/* Lists the columns that have these roles, best first. */
static void write_columns_of(
	struct sonde_html *h, const char *key, const enum sonde_metric_role *roles, size_t nr)
{
	size_t i, k;

	sonde_json_open(&h->x.w, key, '[', true);
	for (i = 0; i < nr; i++)
		for (k = 0; k < SONDE_ROLE_METRICS && sonde_metric_roles[roles[i]].at[k].name; k++) {
			uint32_t column = sonde_tree_column(
				h->x.tree, sonde_str_from(sonde_metric_roles[roles[i]].at[k].name));

			if (column != SONDE_NONE)
				sonde_json_u64(&h->x.w, NULL, column);
		}
	sonde_json_close(&h->x.w, ']');
}

/* Says which columns the page treats specially, because the page itself contains no names of metrics. */
static void write_roles(struct sonde_html *h)
{
	static const struct {
		const char *key;
		enum sonde_metric_role role;
	} single[] = {{"sm", SONDE_ROLE_SM}, {"memory", SONDE_ROLE_MEMORY},
		{"occupancy", SONDE_ROLE_OCCUPANCY}, {"possible", SONDE_ROLE_OCCUPANCY_MOST}};
	static const char *const families[] = {[SONDE_BOUND_COMPUTE] = "compute", [SONDE_BOUND_MEMORY] = "memory", [SONDE_BOUND_OTHER] = "other"};
	size_t i;

	sonde_json_open(&h->x.w, "roles", '{', true);
	for (i = 0; i < sizeof(single) / sizeof(*single); i++)
		write_columns_of(h, single[i].key, &single[i].role, 1);
	write_columns_of(h, "sm_parts", sonde_sm_parts, SONDE_NR_SM_PARTS);
	write_columns_of(h, "memory_parts", sonde_memory_parts, SONDE_NR_MEMORY_PARTS);
	sonde_json_close(&h->x.w, '}');
	sonde_json_z(&h->x.w, "time_metric", SONDE_METRIC_TIME);
	sonde_json_each(&h->x.w, "words", true, i, SONDE_NR_BOUNDS) {
		sonde_json_z(&h->x.w, "word", sonde_bound_words[i].word);
		sonde_json_z(&h->x.w, "colour", sonde_bound_words[i].colour);
		sonde_json_z(&h->x.w, "family", families[sonde_bound_words[i].family]);
		if (sonde_causes[sonde_cause_of_limiter(sonde_bound_words[i].word)].limiter)
			sonde_json_z(&h->x.w, "do", sonde_causes[sonde_cause_of_limiter(sonde_bound_words[i].word)].action);
	}
}

static void write_metrics(struct sonde_html *h)
{
	const struct sonde_tree *t = h->x.tree;
	struct sonde_json *w = &h->x.w;
	size_t i;

	sonde_json_each(w, "metrics", true, i, t->columns.nr) {
		const struct sonde_column *c = &t->columns.at[i];
		struct sonde_str head = sonde_column_head(t, i);

		sonde_json_str(w, "n", c->name);
		if (!sonde_str_eq(head, c->name))
			sonde_json_str(w, "h", head);
		sonde_json_z(w, "u", c->unit);
		sonde_json_z(w, "m", c->methods[0]);
		sonde_json_z(w, "M", c->methods[1]);
		write_other_methods(w, c);
		if (c->is_text)
			sonde_json_bool(w, "t", true);
	}
	write_roles(h);
	write_numbers(w, "headline", t->headline, t->nr_headline);
	write_numbers(w, "region_columns", h->region_columns, h->nr_region_columns);
	write_numbers(w, "kernel_columns", h->kernel_columns, h->nr_kernel_columns);
	sonde_json_each(w, "sections", true, i, t->sections.nr) {
		sonde_json_str(w, "id", t->sections.at[i].id);
		sonde_json_str(w, "name", t->sections.at[i].name);
		write_numbers(w, "c", t->sections.at[i].columns.at, t->sections.at[i].columns.nr);
	}
}

/* At first the page shows the columns that a table in text has. */
static void write_fields(struct sonde_html *h)
{
	static const char *const forms[] = {[SONDE_FIELD_COUNT] = "count",
		[SONDE_FIELD_MS] = "ms",
		[SONDE_FIELD_PERCENT] = "percent",
		[SONDE_FIELD_RATIO] = "ratio"};
	const struct sonde_tree *t = h->x.tree;
	struct sonde_json *w = &h->x.w;
	uint64_t shown = 0;
	size_t i;

	for (i = 0; i < t->reports.nr; i++)
		if (sonde_report_is_shown(&t->reports.at[i], h->x.options))
			shown |= sonde_fields_in_table(&t->reports.at[i], SONDE_VIEW_COST);
	sonde_json_each(w, "fields", true, i, sonde_nr_fields) {
		sonde_json_z(w, "key", sonde_fields[i].csv);
		sonde_json_z(w, "json", sonde_fields[i].key);
		sonde_json_z(w, "head", sonde_fields[i].head);
		sonde_json_z(w, "form", forms[sonde_fields[i].form]);
		sonde_json_bool(w, "shown", shown >> i & 1);
	}
}

/* Writes short names by string number, null where there is nothing to shorten. */
static void write_short_names(struct sonde_html *h)
{
	const struct sonde_tree *t = h->x.tree;
	uint32_t i;

	sonde_json_open(&h->x.w, "short", '[', true);
	for (i = 0; i < t->cells->strings.nr && !h->x.options->full_names; i++) {
		struct sonde_str name = sonde_tree_short_name(t, i);

		if (sonde_str_eq(name, t->cells->strings.keys[i]))
			sonde_json_null(&h->x.w, NULL);
		else
			sonde_json_str(&h->x.w, NULL, name);
	}
	sonde_json_close(&h->x.w, ']');
}

/* Writes kernels, marks and labels that a rule has changed, by string number; other strings are empty. */
static int write_strings(struct sonde_html *h)
{
	const struct sonde_cells *c = h->x.tree->cells;
	const struct sonde_map *strings = &c->strings;
	bool *is_shown = sonde_calloc(strings->nr + 1, sizeof(*is_shown));
	size_t i;

	if (!is_shown)
		return sonde_err_nomem(h->err);
	for (i = 0; i < c->cells.nr; i++)
		is_shown[c->cells.at[i].kernel] = true;
	for (i = 0; c->timeline && i < c->timeline->marks.nr; i++)
		is_shown[c->timeline->marks.at[i].label] = true;
	for (i = 0; c->timeline && i < c->timeline->entries.nr; i++) {
		const struct sonde_timeline_entry *e = &c->timeline->entries.at[i];

		is_shown[e->label] |= e->label != c->regions.at[e->region].label;
	}
	sonde_json_array(&h->x.w, "strings", true, i, strings->nr)
		sonde_json_str(
			&h->x.w, NULL, is_shown[i] ? strings->keys[i] : (struct sonde_str){0});
	write_short_names(h);
	sonde_free(is_shown);
	return 0;
}

static int write_names(struct sonde_html *h)
{
	const struct sonde_cells *l = h->x.tree->cells;
	struct sonde_json *w = &h->x.w;
	size_t i;

	sonde_json_each(w, "regions", true, i, l->regions.nr) {
		const struct sonde_region *r = &l->regions.at[i];

		sonde_json_str(w, "id", r->id);
		sonde_json_str(w, "n", sonde_cells_str(l, r->label));
		if (r->domain != SONDE_NONE)
			sonde_json_str(w, "d", sonde_cells_str(l, r->domain));
		if (r->kind == SONDE_START_END)
			sonde_json_bool(w, "s", true);
		if (r->kind >= SONDE_REGION_GRAPH)
			sonde_json_z(w, "o", sonde_region_kind_name(r->kind));
	}
	return write_strings(h);
}

static void write_lines(struct sonde_html *h)
{
	struct sonde_json *w = &h->x.w;
	struct sonde_peaks peaks = sonde_peaks_of(h->x.tree);
	struct sonde_buf line = {0};
	size_t i;

	sonde_json_array(w, "coverage_lines", true, i, 2) {
		sonde_buf_clear(&line);
		sonde_coverage_print(&line, h->x.tree, h->x.options, i == 1);
		if (line.n)
			sonde_json_str(w, NULL, sonde_buf_view(&line));
	}
	h->json.buf.failed |= line.failed;
	sonde_buf_release(&line);
	sonde_json_open(w, "causes", '{', true);
	for (i = 0; i < SONDE_NR_IDLE_CAUSES; i++)
		sonde_json_z(w, sonde_idle_cause_name((enum sonde_idle_cause)i),
			sonde_idle_cause_words((enum sonde_idle_cause)i));
	sonde_json_close(w, '}');
	sonde_json_z(w, "no_launch", sonde_no_launch(h->x.tree));
	sonde_json_texts(w, "notes", h->x.tree->notes.texts.keys, h->x.tree->notes.texts.nr, true);
	sonde_json_z(w, "reproduce", h->x.options->command);
	sonde_json_open(w, "peaks", '{', true);
	sonde_json_number(w, "flop_per_s", peaks.flop_per_s);
	sonde_json_number(w, "tensor_per_s", peaks.tensor_per_s);
	sonde_json_number(w, "bytes_per_s", peaks.bytes_per_s);
	sonde_json_close(w, '}');
	sonde_json_z(w, "uncounted", sonde_roofline_uncounted(h->x.tree));
	if (sonde_roofline_source(h->x.tree))
		sonde_json_z(w, "of_pipes", sonde_roofline_source(h->x.tree));
}

/* Writes the figures that a finding is based on. */
static void write_evidence(struct sonde_json *w, const struct sonde_report *r, const struct sonde_finding *of)
{
	size_t i;

	sonde_json_each(w, "evidence", true, i, of->nr_evidence) {
		const struct sonde_evidence *e = &of->evidence[i];

		sonde_json_number(w, "region", e->node == SONDE_NONE ? -1.0 : (double)r->nodes.at[e->node].region);
		if (e->kernel != SONDE_NONE)
			sonde_json_u64(w, "kernel", e->kernel);
		sonde_json_str(w, "figure", e->figure);
		sonde_json_number(w, "v", e->value);
		sonde_json_number(w, "error", e->error);
		sonde_json_z(w, "unit", e->unit);
		sonde_json_z(w, "method", e->method);
	}
}

/* Writes all findings, each with the region that it leads to, its gain and its evidence. */
static void write_findings(struct sonde_html *h)
{
	const struct sonde_findings *f = h->x.tree->findings;
	struct sonde_json *w = &h->x.w;
	struct sonde_buf line = {0};
	size_t i;

	if (!f || !sonde_report_is_shown(f->report, h->x.options))
		return;
	if (f->step != SONDE_NONE)
		sonde_json_u64(w, "step", f->report->nodes.at[f->step].region);
	sonde_json_each(w, "findings", true, i, f->at.nr) {
		const struct sonde_finding *a = &f->at.at[i];

		sonde_json_number(w, "region", a->node == SONDE_NONE ? -1.0 : (double)f->report->nodes.at[a->node].region);
		sonde_json_str(w, "where", a->where);
		sonde_json_str(w, "says", a->says);
		sonde_json_number(w, "pct", 100 * a->share);
		sonde_json_str(w, "do", a->action);
		sonde_json_z(w, "cause", sonde_causes[a->cause].name);
		if (a->kernel != SONDE_NONE)
			sonde_json_u64(w, "kernel", a->kernel);
		sonde_json_number(w, "gain_pct", 100 * a->gain.ns / a->gain.of_ns);
		sonde_json_number(w, "gain_ms", a->gain.ns / 1e6);
		if (a->gain.is_most)
			sonde_json_bool(w, "is_most", true);
		if (!a->is_in_step)
			sonde_json_z(w, "of", f->is_gpu_time || a->cause == SONDE_CAUSE_OUTSIDE ? "of GPU time" : "of the time in ranges");
		else if (sonde_finding_gains_between(f, a))
			sonde_json_z(w, "of", "of the time to the next");
		sonde_buf_clear(&line);
		sonde_finding_say_also(&line, h->x.tree, h->x.options, a);
		sonde_json_str(w, "also", sonde_buf_view(&line));
		write_evidence(w, f->report, a);
		sonde_buf_clear(&line);
		sonde_finding_say_gain(&line, f, a, false);
		sonde_json_str(w, "gain", sonde_buf_view(&line));
	}
	h->json.buf.failed |= line.failed;
	sonde_buf_release(&line);
}

static int write_data(void *of)
{
	struct sonde_html *h = of;
	struct sonde_json *w = &h->x.w;
	const struct sonde_tree *t = h->x.tree;
	size_t i, nr_nodes = 0, nr_kernels = 0;
	int rc;

	for (i = 0; i < t->reports.nr; i++) {
		nr_nodes += t->reports.at[i].nodes.nr;
		nr_kernels += t->reports.at[i].kernels.nr;
	}
	rc = choose_columns(h, &h->region_columns, &h->nr_region_columns, 2 * nr_nodes);
	if (rc == 0)
		rc = choose_columns(h, &h->kernel_columns, &h->nr_kernel_columns, nr_kernels);
	if (rc)
		return rc;
	sonde_json_open(w, NULL, '{', true);
	write_findings(h);
	sonde_json_open(w, "head", '{', true);
	sonde_json__write_head(&h->x);
	sonde_json_close(w, '}');
	write_lines(h);
	write_metrics(h);
	write_fields(h);
	rc = write_names(h);
	sonde_html__drain(h);
	if (rc == 0)
		rc = sonde_html__write_reports(h);
	if (rc == 0)
		rc = sonde_html__write_timeline(h);
	if (rc == 0)
		rc = sonde_html__write_ranks(h);
	sonde_json_close(w, '}');
	sonde_html__drain(h);
	if (rc == 0 && h->json.buf.failed)
		rc = sonde_err_nomem(h->err);
	return rc;
}

static void write_plain(void *of)
{
	struct sonde_html *h = of;

	sonde_sink_puts(h->to, "<p>This report draws itself with the script inside it. With scripts switched off, read report.md or report.json instead.</p>");
}

int sonde_export_html(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_html h = {.err = err, .to = to};
	const struct sonde_html_page page = {SONDE_PAGE_REPORT,
		sonde_str_base(t->cells->inputs.nr ? t->cells->inputs.at[0].path : SONDE_STR("report")), write_data, write_plain, &h};
	int rc;

	sonde_sink_init_string(&h.json);
	rc = sonde_json__init(&h.x, t, o, &h.json, err);
	if (rc == 0)
		rc = sonde_html__put_page(to, &page);
	sonde_free(h.region_columns);
	sonde_free(h.kernel_columns);
	sonde_json__release(&h.x);
	sonde_sink_abort(&h.json);
	return rc;
}
