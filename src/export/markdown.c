/* A report in Markdown: its head, tables of regions, gaps and ranks. markdown_region.c writes a region. */
#include "export/shown_findings.h"
#include "export/format.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "tree/entries.h"
#include "tree/idle.h"
#include "tree/stall_profile.h"
#include "export/markdown_int.h"
#include "export/rank_tables.h"
#include "export/stall_tables.h"

#include <math.h>

int sonde_markdown__init(struct sonde_markdown *m, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_sink *to, struct sonde_err *err)
{
	int rc;

	*m = (struct sonde_markdown){.to = to, .tree = t, .options = o};
	m->is_named = sonde_calloc(t->cells->strings.nr + 1, sizeof(*m->is_named));
	rc = m->is_named ? sonde_figures_init(&m->figures, t, err) : sonde_err_nomem(err);
	return rc ? rc : sonde_figures_init(&m->own, t, err);
}

void sonde_markdown__release(struct sonde_markdown *m)
{
	sonde_figures_release(&m->figures);
	sonde_figures_release(&m->own);
	sonde_buf_release(&m->cell);
	sonde_free(m->is_named);
}

void sonde_markdown__write_name(struct sonde_markdown *m, struct sonde_str name)
{
	sonde_escape_markdown(&m->to->buf, name.n ? name : SONDE_STR("\"\""));
}

static void write_inputs(struct sonde_markdown *m)
{
	const struct sonde_cells *r = m->tree->cells;
	size_t i;

	for (i = 0; i < r->inputs.nr; i++) {
		const struct sonde_input *in = &r->inputs.at[i];

		sonde_sink_puts(m->to, "- **Capture:** ");
		sonde_markdown__write_name(m, in->path);
		if (in->tool.n) {
			sonde_sink_puts(m->to, " \u00b7 ");
			sonde_markdown__write_name(m, in->tool);
		}
		if (in->replay_mode.n) {
			sonde_sink_puts(m->to, " \u00b7 ");
			sonde_markdown__write_name(m, in->replay_mode);
			sonde_sink_puts(m->to,
				sonde_str_is(in->replay_mode, "native") ? " capture" : " replay");
		}
		sonde_sink_putc(m->to, '\n');
	}
}

static void write_devices(struct sonde_markdown *m)
{
	const struct sonde_cells *r = m->tree->cells;
	struct sonde_map names = {0};
	bool is_new;
	size_t i;

	for (i = 0; i < r->devices.nr; i++) {
		const struct sonde_device *d = &r->devices.at[i];

		m->to->buf.failed |= sonde_map_add(&names, d->name, &is_new) == SONDE_NONE;
		if (!is_new)
			continue;
		sonde_sink_puts(m->to, "- **Device:** ");
		sonde_markdown__write_name(m, d->name);
		if (d->cc_major)
			sonde_sink_printf(
				m->to, " (compute capability %u.%u)", d->cc_major, d->cc_minor);
		sonde_sink_putc(m->to, '\n');
	}
	sonde_map_release(&names);
}

static void write_coverage(struct sonde_markdown *m, bool is_ranges)
{
	sonde_buf_clear(&m->cell);
	sonde_coverage_print(&m->cell, m->tree, m->options, is_ranges);
	if (m->cell.n == 0)
		return;
	sonde_sink_puts(m->to, "- **Coverage:** ");
	sonde_escape_markdown(&m->to->buf, sonde_buf_view(&m->cell));
	sonde_sink_putc(m->to, '\n');
}

void sonde_markdown__write_head(struct sonde_markdown *m)
{
	size_t i;

	write_inputs(m);
	write_devices(m);
	write_coverage(m, false);
	write_coverage(m, true);
	if (m->options->generated_at)
		sonde_sink_printf(m->to, "- **Written:** %s\n", m->options->generated_at);
	for (i = 0; i < m->tree->notes.texts.nr; i++) {
		sonde_sink_puts(m->to, i ? "- " : "\n**Notes**\n\n- ");
		sonde_escape_markdown(&m->to->buf, m->tree->notes.texts.keys[i]);
		sonde_sink_putc(m->to, '\n');
	}
}

static void put_field(struct sonde_table *t, const struct sonde_field *f, double v)
{
	static const struct {
		int decimals;
		const char *unit;
	} forms[] = {[SONDE_FIELD_COUNT] = {0, ""},
		[SONDE_FIELD_MS] = {4, ""},
		[SONDE_FIELD_PERCENT] = {1, " %"},
		[SONDE_FIELD_RATIO] = {2, ""}};

	sonde_table_number(t, v, forms[f->form].decimals, forms[f->form].unit);
}

static void put_name(struct sonde_markdown *m, struct sonde_table *t, const struct sonde_node *n)
{
	size_t i;

	for (i = 0; i < n->depth && i < 40; i++)
		sonde_buf_puts(&t->cell, "&emsp;");
	sonde_table_label(t, sonde_shown_domain(m->tree, n), sonde_node_label(m->tree, n));
	sonde_table_words(t, sonde_region_kind_mark(sonde_node_region(m->tree, n)->kind));
}

/*
 * Writes the row of a region, or that of the totals or of launches outside all regions. These have the same columns,
 * most of them empty.
 */
static void put_row(struct sonde_markdown *m, struct sonde_table *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t node)
{
	const struct sonde_node *n = part == SONDE_PART_INCLUSIVE ? &r->nodes.at[node] : NULL;
	bool is_total = part == SONDE_PART_TOTAL;
	double launches = is_total ? (double)r->launches : (double)r->outside_launches;
	double time_ns = is_total ? r->time_ns : r->outside_time_ns;
	const char *bound;
	size_t i;

	if (n)
		put_name(m, t, n);
	else
		sonde_table_words(t, is_total ? "*total in regions*" : "*(outside any range)*");
	for (i = 0; i < m->nr_columns; i++) {
		const struct sonde_field *f = m->columns[i];
		double v = n ? sonde_field_number(f, r, n) : sonde_field_sum(f, launches, time_ns);

		if (!n && isnan(v))
			sonde_table_words(t, "");
		else
			put_field(t, f, v);
	}
	sonde_tree_values(m->tree, r, part, node, &m->figures);
	sonde_markdown__write_headline(m, t);
	bound = n ? sonde_bound(m->tree, &m->figures, n) : NULL;
	if (m->has_bounds)
		sonde_table_words(t, bound ? bound : "");
}

/* Other programs look for these columns in a table of regions, so they come first, under these heads. */
static const struct {
	const char *csv, *head;
} contract[] = {{"inclusive_ms", "Total ms"}, {"launches", "Kernels"}};
#define NR_CONTRACT (sizeof(contract) / sizeof(*contract))

static size_t place_of(const struct sonde_field *f)
{
	size_t i = 0;

	while (i < NR_CONTRACT && !sonde_field_is(f, contract[i].csv))
		i++;
	return i;
}

static void choose_columns(struct sonde_markdown *m, uint64_t fields)
{
	size_t place, i;

	m->nr_columns = 0;
	for (place = 0; place <= NR_CONTRACT; place++)
		for (i = 0; i < sonde_nr_fields; i++)
			if (fields >> i & 1 && place_of(&sonde_fields[i]) == place)
				m->columns[m->nr_columns++] = &sonde_fields[i];
}

static void write_table(struct sonde_markdown *m, const struct sonde_report *r, const struct sonde_listing *l)
{
	uint64_t fields = sonde_fields_in_table(r, m->options->view);
	struct sonde_table t = {.escape = sonde_escape_markdown, .is_utf8 = true};
	size_t i;

	choose_columns(m, fields);
	m->has_bounds = sonde_report_has_bounds(m->tree, r);
	sonde_table_column(&t, SONDE_STR("Region"), false, 0);
	for (i = 0; i < m->nr_columns; i++) {
		size_t place = place_of(m->columns[i]);

		sonde_table_column(&t,
			place < NR_CONTRACT ? sonde_str_from(contract[place].head)
					    : sonde_field_head(m->columns[i], r),
			true, 0);
	}
	sonde_markdown__add_headline_columns(m, &t);
	if (m->has_bounds)
		sonde_table_column(&t, SONDE_STR("bound"), false, 0);
	for (i = 0; i < l->nr; i++)
		put_row(m, &t, r, SONDE_PART_INCLUSIVE, l->at[i]);
	if (sonde_report_times(r) != SONDE_TIMES_HOST)
		put_row(m, &t, r, SONDE_PART_TOTAL, 0);
	if (r->outside_launches)
		put_row(m, &t, r, SONDE_PART_OUTSIDE, 0);
	sonde_markdown__finish(m, &t);
	if (sonde_view_lacks(fields, m->options->view))
		sonde_sink_printf(m->to, "\n%s\n", sonde_view_lacks(fields, m->options->view));
}

static void write_findings(struct sonde_markdown *m)
{
	const struct sonde_finding *shown[SONDE_MAX_FINDINGS];
	size_t i, nr = sonde_findings_shown(shown, m->tree, m->options);
	struct sonde_buf line = {0};

	if (nr)
		sonde_sink_puts(m->to, "\n## What to change first\n\n");
	sonde_findings_say_step(&line, m->tree, m->options);
	sonde_escape_markdown(&m->to->buf, sonde_buf_view(&line));
	sonde_sink_puts(m->to, line.n ? "\n\n" : "");
	sonde_buf_clear(&line);
	for (i = 0; i < nr; i++) {
		const struct sonde_finding *f = shown[i];

		sonde_sink_printf(m->to, "%zu. **", i + 1);
		sonde_escape_markdown(&m->to->buf, f->where);
		sonde_sink_puts(m->to, "**: ");
		sonde_escape_markdown(&m->to->buf, f->says);
		sonde_finding_say_also(&line, m->tree, m->options, f);
		sonde_sink_puts(m->to, line.n ? ". " : "");
		sonde_escape_markdown(&m->to->buf, sonde_buf_view(&line));
		sonde_buf_clear(&line);
		sonde_sink_puts(m->to, "  \n   ");
		sonde_finding_say_next(&line, m->tree->findings, m->options, f);
		sonde_escape_markdown(&m->to->buf, sonde_buf_view(&line));
		sonde_sink_puts(m->to, "\n");
		sonde_buf_clear(&line);
	}
	sonde_findings_say_rest(&line, m->tree, m->options);
	if (line.n)
		sonde_sink_printf(m->to, "\n%s\n", line.p);
	m->cell.failed |= line.failed;
	sonde_buf_release(&line);
}

/* Writes the longest gaps, and their causes. */
static void write_gaps(struct sonde_markdown *m, const struct sonde_report *r)
{
	const bool has_scopes = r->nr_scopes > 1;
	const char *const heads[] = {"0longest gap", ">0ms", ">0at ms", "0cause", has_scopes ? "0on" : NULL, NULL};
	struct sonde_table t = {.escape = sonde_escape_markdown};
	const struct sonde_gap *at[SONDE_NR_GAPS];
	size_t nr = sonde_report_gaps(m->tree, r, at), i;
	uint64_t first_ns = sonde_tree_first_ns(m->tree);

	sonde_table_heads(&t, heads);
	for (i = 0; i < nr; i++) {
		bool is_inside = at[i]->region != SONDE_NONE;
		uint32_t region = is_inside ? at[i]->region : at[i]->before;

		sonde_buf_puts(&t.cell, is_inside	      ? ""
					: region != SONDE_NONE ? "*before* "
							       : "*(outside any range)*");
		if (region != SONDE_NONE)
			sonde_table_region(&t, m->tree->cells->regions.at[region].id, m->tree->cells->regions.at[region].kind);
		sonde_table_put(&t, SONDE_STYLE_PLAIN);
		sonde_table_number(&t, (double)at[i]->ns / 1e6, 4, "");
		sonde_table_number(&t, (double)(at[i]->begin_ns - first_ns) / 1e6, 4, "");
		sonde_table_words(&t, sonde_gap_words(m->tree, at[i]));
		if (has_scopes)
			sonde_table_text(&t, m->tree->reports.at[at[i]->scope].name, SONDE_STYLE_PLAIN);
	}
	sonde_markdown__finish(m, &t);
	if (nr)
		sonde_sink_puts(m->to, "\n" SONDE_AT_SINCE);
}

/* Writes why warps did not go on, by region and by line, if the options ask for that. */
static void write_stalls(struct sonde_markdown *m, const struct sonde_report *r, const struct sonde_listing *l)
{
	struct sonde_table stalls = {.escape = sonde_escape_markdown, .is_utf8 = true}, lines = stalls;
	bool asks = m->options->view == SONDE_VIEW_STALLS, has = sonde_tree_has_stalls(m->tree);

	if ((asks || m->options->max_lines) && !has)
		sonde_sink_puts(m->to, "\n" SONDE_LACKS_STALLS "\n");
	if (asks && has)
		sonde_stall_table_fill(&stalls, m->tree, r, m->options, l);
	if (m->options->max_lines && has)
		sonde_line_table_fill(&lines, m->tree, r, m->options);
	if (m->options->max_lines && has && !lines.cells.nr)
		sonde_sink_printf(m->to, "\n%s\n", sonde_lacks_lines(m->tree).p);
	sonde_markdown__finish(m, &stalls);
	sonde_markdown__finish(m, &lines);
}

static int write_regions(struct sonde_markdown *m, const struct sonde_report *r, struct sonde_err *err)
{
	struct sonde_listing l;
	size_t i;
	int rc = sonde_listing_build(&l, m->tree, r, m->options, err);

	if (rc)
		return rc;
	write_table(m, r, &l);
	if (l.nr_left_out)
		sonde_markdown__write_more(m, l.nr_left_out, "regions, each shorter than these");
	write_gaps(m, r);
	write_stalls(m, r, &l);
	for (i = 0; i < l.nr; i++)
		sonde_markdown__write_region(m, r, l.at[i], 3);
	sonde_listing_release(&l);
	return 0;
}

/* Writes a row for each of the scopes that are added up in this one. */
static void write_folded(struct sonde_markdown *m, const struct sonde_report *r)
{
	static const char *const heads[] = {"0scope", ">0kernels ms", ">0communication ms", NULL};
	const struct sonde_cells *c = m->tree->cells;
	struct sonde_table t = {.escape = sonde_escape_markdown, .is_utf8 = true};
	size_t i;

	sonde_sink_printf(m->to,
		"\n%u scopes, added up: `report.scopes.keep=0` shows each by itself. How long their kernels "
		"took, without communication and in it:\n",
		r->nr_scopes);
	sonde_table_heads(&t, heads);
	for (i = 0; i < c->folded_scopes.nr; i++) {
		const struct sonde_folded_scope *f = &c->folded_scopes.at[i];
		struct sonde_str name = {0};

		if (f->scope != r->scope)
			continue;
		t.failed |= !sonde_folded_scope_name(&name, f, &t.arena);
		sonde_table_text(&t, name, SONDE_STYLE_PLAIN);
		sonde_table_number(&t, f->work_ns / 1e6, 4, "");
		sonde_table_number(&t, f->comm_ns / 1e6, 4, "");
	}
	sonde_markdown__finish(m, &t);
}

static int write_report(struct sonde_markdown *m, const struct sonde_report *r, struct sonde_err *err)
{
	sonde_sink_puts(m->to, "\n## ");
	sonde_escape_markdown(&m->to->buf, r->name);
	if (r->is_aggregate && r->nr_scopes > 1)
		sonde_sink_printf(m->to, " over %u scopes", r->nr_scopes);
	sonde_sink_puts(m->to, "\n");
	if (r->is_ranges)
		sonde_sink_printf(m->to, "\n%s\n", sonde_report_caution(r));
	if (!r->is_aggregate && r->nr_scopes > 1)
		write_folded(m, r);
	if (r->nodes.nr)
		return write_regions(m, r, err);
	sonde_sink_puts(m->to,
		r->nr_outside_kernels
			? "\nNo NVTX range was open at any launch: nothing region-specific was "
			  "profiled. The kernels of the run:\n"
			: "\nNo launch to show.\n");
	sonde_markdown__write_kernels(m, r, r->outside_first_kernel, r->nr_outside_kernels);
	return 0;
}

/* Writes the settings as an indented block, so that nothing in it is Markdown. */
static void write_config(struct sonde_markdown *m)
{
	struct sonde_str rest = sonde_str_from(m->options->config);

	if (!rest.n)
		return;
	sonde_sink_puts(m->to, "\n## Settings\n\n");
	while (rest.n) {
		struct sonde_str line = sonde_str_cut(rest, '\n', &rest);

		sonde_sink_puts(m->to, "    ");
		sonde_escape_terminal(&m->to->buf, line, true);
		sonde_sink_putc(m->to, '\n');
	}
}

static void write_same_aggregate(struct sonde_markdown *m, const struct sonde_report *r)
{
	sonde_sink_puts(m->to, "\n## ");
	sonde_escape_markdown(&m->to->buf, r->name);
	sonde_sink_puts(
		m->to, "\n\nOne scope only: the aggregate is the same as the section above.\n");
}

static void write_charts(struct sonde_markdown *m)
{
	if (!m->options->links_charts)
		return;
	sonde_sink_puts(m->to, "\n![regions by time](icicle.svg)\n");
	if (sonde_roofline_exists(m->tree, m->options))
		sonde_sink_puts(m->to, "\n![roofline of regions](roofline.svg)\n");
}

/* Reports of Nsight Compute have a title that other programs look for. */
static void write_title(struct sonde_markdown *m)
{
	const struct sonde_cells *c = m->tree->cells;
	bool is_ncu = m->options->baseline != NULL || c->inputs.nr;
	size_t i;

	for (i = 0; i < c->inputs.nr && !m->options->baseline; i++)
		is_ncu &= sonde_str_starts(c->inputs.at[i].source, "ncu");
	sonde_sink_puts(m->to, is_ncu ? "# NCU Region Reports\n\n" : "# Region report\n\n");
	if (!m->options->baseline)
		return;
	sonde_sink_puts(m->to, "**Baseline**: ");
	sonde_escape_markdown(&m->to->buf, sonde_str_from(m->options->baseline));
	sonde_sink_puts(m->to, "\n\n");
}

/* Writes each scope by itself, then the aggregates. */
static int write_reports(struct sonde_markdown *m, struct sonde_err *err)
{
	const struct sonde_tree *t = m->tree;
	size_t i, pass;
	int rc = 0;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < t->reports.nr && rc == 0; i++) {
			const struct sonde_report *r = &t->reports.at[i];

			if (r->is_aggregate != pass || !sonde_report_is_shown(r, m->options))
				continue;
			if (sonde_report_is_doubled(t, r, m->options))
				write_same_aggregate(m, r);
			else
				rc = write_report(m, r, err);
		}
	}
	return rc;
}

/* Writes a sentence for each slow rank. */
static void write_stragglers(struct sonde_markdown *m)
{
	const struct sonde_ranks *r = m->tree->ranks;
	size_t i;

	for (i = 0; r && i < r->stragglers.nr; i++) {
		sonde_sink_puts(m->to, i ? "**Also slow**: " : "**Slow**: ");
		sonde_escape_markdown(&m->to->buf, r->stragglers.at[i].sentence);
		sonde_sink_puts(m->to, "\n\n");
	}
}

/* Writes the tables of ranks side by side; nothing without two ranks. */
static void write_ranks(struct sonde_markdown *m)
{
	size_t i;

	if (!m->tree->ranks)
		return;
	sonde_sink_printf(m->to, "\n## %u ranks\n", m->tree->ranks->nr);
	for (i = 0; i < SONDE_NR_RANK_TABLES; i++) {
		struct sonde_table t = {.escape = sonde_escape_markdown};

		sonde_rank_table_fill(&t, (enum sonde_rank_table)i, m->tree);
		sonde_markdown__finish(m, &t);
	}
}

int sonde_export_md(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	bool has_reports = !sonde_selects_nothing(t) || sonde_has_regions(t);
	struct sonde_markdown m;
	int rc = sonde_markdown__init(&m, t, o, to, err);

	if (rc == 0) {
		write_title(&m);
		write_stragglers(&m);
		sonde_markdown__write_head(&m);
		sonde_buf_clear(&m.cell);
		sonde_say_nothing_selected(&m.cell, t, "**");
		if (m.cell.n)
			sonde_sink_printf(to, "\n%.*s\n", SONDE_STR_ARG(sonde_buf_view(&m.cell)));
		sonde_sink_printf(to,
			"\n\u2248 approximate \u00b7 %s\u2264 \u2265 a bound \u00b7 "
			"incl/excl: with and without nested regions\n",
			t->cells->sampled.nr ? "~ sampled while the program ran, ± its 95 % interval \u00b7 " : "");
		write_charts(&m);
	}
	if (rc == 0 && has_reports) {
		write_findings(&m);
		rc = write_reports(&m, err);
	}
	if (rc == 0 && has_reports)
		write_ranks(&m);
	if (rc == 0)
		sonde_markdown__write_legend(&m, 2);
	if (rc == 0)
		write_config(&m);
	if (rc == 0 && m.cell.failed)
		rc = sonde_err_nomem(err);
	sonde_markdown__release(&m);
	return rc;
}
