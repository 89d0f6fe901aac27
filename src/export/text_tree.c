/* The tree of regions as a table on a terminal. */
#include "export/text_int.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define LEAST_LABEL  24
#define LEAST_KERNEL 30
#define MAX_INDENT   24
#define SMALL_CAUSE  0.1 /* share of the idle time: the column of a smaller cause gives way before others do */

/* A row to be written: what its cells are made from. */
struct row {
	const struct sonde_report *report;
	const struct sonde_node *node; /* NULL = a kernel, the total, or launches outside all regions */
	double launches, time_ns;
	uint8_t style;
	bool has_share;
	/* a row for several regions, without metrics: the list of them, from node `first` on; NULL = no such row */
	const uint32_t *rest;
	uint32_t first;
};

static void put_number(struct sonde_text_export *x, struct sonde_table *t, const struct sonde_field *f,
	double v, uint8_t style)
{
	if (isnan(v))
		sonde_buf_puts(&t->cell, "-");
	else if (f->form == SONDE_FIELD_COUNT)
		sonde_buf_printf(&t->cell, "%.0f", v);
	else if (f->form == SONDE_FIELD_PERCENT)
		sonde_buf_printf(&t->cell, "%.1f%%", v);
	else if (f->form == SONDE_FIELD_RATIO)
		sonde_buf_printf(&t->cell, "%.2f", v);
	else
		sonde_scale_print(&t->cell, &x->scales[f - sonde_fields], v);
	sonde_table_put(t, style);
}

static void put_bound_cell(
	struct sonde_text_export *x, struct sonde_table *t, const struct sonde_node *n)
{
	static const uint8_t styles[] = {[SONDE_BOUND_COMPUTE] = SONDE_STYLE_COMPUTE,
		[SONDE_BOUND_MEMORY] = SONDE_STYLE_MEMORY,
		[SONDE_BOUND_OTHER] = SONDE_STYLE_LATENCY};
	const char *word = n ? sonde_bound(x->tree, &x->figures, n) : NULL;

	sonde_buf_puts(&t->cell, word ? word : "");
	sonde_table_put(t, word ? styles[sonde_bound_words[sonde_bound_number(word)].family] : SONDE_STYLE_PLAIN);
}

/* The longest idle time of a row. */
static double idle_at_most(const struct sonde_text_export *x)
{
	size_t i;

	for (i = 0; i < sonde_nr_fields; i++)
		if (sonde_field_is(&sonde_fields[i], "idle_ms"))
			return x->scales[i].most;
	return 0;
}

/*
 * Which columns give way first. Busy time is nearly the inclusive time, and host time is no figure of the GPU: beside
 * metrics both go before the metrics do, since people ask for those. So do launches beside sampled metrics.
 */
static unsigned drop_order(const struct sonde_text_export *x, const struct sonde_field *f)
{
	const struct sonde_scale *own = &x->scales[f - sonde_fields];
	bool is_aside = sonde_field_is(f, "busy_ms") || sonde_field_is(f, "host_ms");
	bool is_optional = f->flags & SONDE_FIELD_OPTIONAL;

	if (is_aside && x->tree->nr_headline)
		return SONDE_DROP_BAR - 1;
	if (sonde_field_is(f, "launches") && sonde_text__has_sampled(x))
		return 5;
	if (x->options->view == SONDE_VIEW_IDLE && is_optional) { /* causes stay longest, the large ones among them */
		if (strncmp(f->csv, "idle_", 5) != 0)
			return 5;
		return sonde_field_is(f, "idle_ms") ? 0 : own->most < SMALL_CAUSE * idle_at_most(x) ? 3 : 2;
	}
	if (is_optional)
		return 3;
	if (f->flags & SONDE_FIELD_EXCLUSIVE)
		return 2;
	return f->form == SONDE_FIELD_MS || f->tables & SONDE_TABLE_HOST ? 0 : 1;
}

/* Adds the columns; returns the number of the first metric's column. */
static size_t put_columns(
	struct sonde_text_export *x, struct sonde_table *t, const struct sonde_report *r)
{
	size_t i, first;

	sonde_table_column(t, SONDE_STR("region"), false, 0);
	for (i = 0; i < sonde_nr_fields; i++) {
		const struct sonde_field *f = &sonde_fields[i];

		if (!(x->fields >> i & 1))
			continue;
		sonde_scale_column(t, &x->scales[i], sonde_field_head(f, r), drop_order(x, f));
		if (f->form == SONDE_FIELD_PERCENT)
			sonde_table_column(t, (struct sonde_str){"", 0}, false, SONDE_DROP_BAR);
	}
	first = t->columns.nr;
	sonde_text__add_metric_columns(x, t);
	if (x->has_bounds) /* the judgement that the counters lead to: it stays when they go, unless something else was asked for */
		sonde_table_column(t, SONDE_STR("bound"), false, x->options->view == SONDE_VIEW_COST ? 1 : 4);
	return first;
}

/* Writes all cells to the right of the name. */
static void put_cells(struct sonde_text_export *x, struct sonde_table *t, const struct row *row)
{
	size_t i;

	for (i = 0; i < sonde_nr_fields; i++) {
		const struct sonde_field *f = &sonde_fields[i];
		double v = row->node   ? sonde_field_number(f, row->report, row->node)
			   : row->rest ? sonde_field_sum_rest(f, row->report, row->rest, row->first)
				       : sonde_field_sum(f, row->launches, row->time_ns);

		if (!(x->fields >> i & 1))
			continue;
		if (!row->node && sonde_field_is(f, "share_pct") && row->has_share)
			v = 100 * row->time_ns / row->report->time_ns;
		if (row->node || !isnan(v))
			put_number(x, t, f, v, row->style);
		else
			sonde_table_put(t, row->style);
		if (f->form == SONDE_FIELD_PERCENT && row->node)
			sonde_text__put_bar(t, v);
		else if (f->form == SONDE_FIELD_PERCENT)
			sonde_table_put(t, SONDE_STYLE_PLAIN);
	}
	for (i = 0; row->rest && i < x->tree->nr_headline; i++)
		sonde_table_put(t, row->style);
	if (!row->rest)
		sonde_text__put_metric_cells(x, t, row->style, (row->node ? row->node->time_ns : row->time_ns) > 0);
	if (x->has_bounds)
		put_bound_cell(x, t, row->node);
}

/*
 * Finds the lines of the tree: for each row of the listing, the depths at which a line goes on below it. It works from
 * the last row upwards: a depth is open until its parent is passed.
 */
static void find_lines(
	uint64_t *lines, const struct sonde_listing *l, const struct sonde_report *r)
{
	uint64_t open = 0;
	size_t i;

	for (i = l->nr; i-- > 0;) {
		uint32_t depth = r->nodes.at[l->at[i]].depth;

		lines[i] = open;
		if (depth >= 63)
			continue;
		open |= UINT64_C(1) << depth;
		open &= (UINT64_C(2) << depth) - 1;
	}
}

/* Writes the lines before a label into the next cell. A kernel has a bullet instead of a branch. */
static void put_indent(
	struct sonde_table *t, uint32_t depth, uint64_t lines, unsigned step, const char *bullet)
{
	static const char *const utf8[] = {"\u2502", "\u251c", "\u2514", "\u2500"};
	static const char *const ascii[] = {"|", "|", "`", "-"};
	const char *const *glyphs = t->is_utf8 ? utf8 : ascii;
	uint32_t d, first = 1;
	unsigned k;

	if (depth * step > MAX_INDENT) {
		first = depth - MAX_INDENT / step + 2;
		sonde_buf_puts(&t->cell, t->is_utf8 ? "\u2026" : ".");
		for (k = 1; k < step; k++)
			sonde_buf_putc(&t->cell, ' ');
	}
	for (d = first; d <= depth; d++) {
		bool goes_on = d < 63 && lines >> d & 1;

		if (d == depth)
			sonde_buf_puts(&t->cell, bullet ? bullet : glyphs[goes_on ? 1 : 2]);
		else
			sonde_buf_puts(&t->cell, goes_on ? glyphs[0] : " ");
		for (k = 1; k < step; k++)
			sonde_buf_puts(
				&t->cell, d == depth && !bullet && k + 1 < step ? glyphs[3] : " ");
	}
}

/* How many columns a level takes: few enough that the deepest label still has room. */
static unsigned indent_step(const struct sonde_listing *l, const struct sonde_report *r)
{
	uint32_t depth = 0;
	size_t i;

	for (i = 0; i < l->nr; i++)
		if (r->nodes.at[l->at[i]].depth > depth)
			depth = r->nodes.at[l->at[i]].depth;
	return depth * 3 <= MAX_INDENT ? 3 : depth * 2 <= MAX_INDENT ? 2 : 1;
}

struct branch {
	uint64_t lines;
	unsigned step;
	size_t nr_inside; /* regions inside that have no row */
};

static void put_name(struct sonde_text_export *x, struct sonde_table *t,
	const struct sonde_node *n, struct branch at)
{
	size_t nr_dim;

	put_indent(t, n->depth, at.lines, at.step, NULL);
	nr_dim = sonde_table_label(
		t, sonde_shown_domain(x->tree, n), sonde_node_label(x->tree, n));
	sonde_buf_puts(&t->cell, sonde_region_kind_mark(sonde_node_region(x->tree, n)->kind));
	if (at.nr_inside)
		sonde_buf_printf(&t->cell, " +%zu", at.nr_inside);
	x->has[SONDE_MARK_INSIDE] |= at.nr_inside > 0;
	sonde_table_put_dim(t, SONDE_STYLE_BOLD, nr_dim);
}

static uint32_t nr_listed(const struct sonde_text_export *x, const struct sonde_node *n)
{
	size_t max = x->options->lists_kernels ? x->options->max_kernels : 0;

	return n->nr_kernels < max ? n->nr_kernels : (uint32_t)max;
}

static void put_kernel_rows(struct sonde_text_export *x, struct sonde_table *t,
	const struct sonde_report *r, const struct sonde_node *n, uint64_t lines, unsigned step)
{
	const char *bullet = x->options->is_utf8 ? "\u00b7" : "-";
	size_t nr_dim;
	uint32_t i;

	for (i = n->first_kernel; i < n->first_kernel + nr_listed(x, n); i++) {
		const struct sonde_kernel *k = &r->kernels.at[i];
		struct row row = {r, NULL, (double)k->calls, k->time_ns, SONDE_STYLE_DIM, true, NULL, 0};

		put_indent(t, n->depth + 1, lines, step, bullet);
		nr_dim = t->cell.n;
		sonde_table_name(t, sonde_kernel_name(x->tree, x->options, k->name));
		sonde_table_put_dim(t, SONDE_STYLE_DIM, nr_dim);
		sonde_tree_values(x->tree, r, SONDE_PART_KERNEL, i, &x->figures);
		put_cells(x, t, &row);
	}
}

static void put_special_row(struct sonde_text_export *x, struct sonde_table *t, const char *name,
	enum sonde_part part, struct row row)
{
	sonde_buf_puts(&t->cell, name);
	sonde_table_put(t, SONDE_STYLE_DIM);
	if (t->cells.nr)
		t->cells.at[t->cells.nr - 1].needs_figures = true;
	row.style = SONDE_STYLE_DIM;
	sonde_tree_values(x->tree, row.report, part, 0, &x->figures);
	put_cells(x, t, &row);
}

/* Collects all times of a field that are in the table. */
static struct sonde_scale scale_of(const struct sonde_text_export *x,
	const struct sonde_report *r, const struct sonde_listing *l, const struct sonde_field *f)
{
	bool is_total = sonde_field_is(f, "inclusive_ms");
	struct sonde_scale s = {0};
	uint32_t at;
	size_t k;

	for (k = 0; k < l->nr; k++) {
		const struct sonde_node *n = &r->nodes.at[l->at[k]];

		sonde_scale_add(&s, sonde_field_number(f, r, n));
		for (at = 0; is_total && at < nr_listed(x, n); at++)
			sonde_scale_add(&s, r->kernels.at[n->first_kernel + at].time_ns / 1e6);
	}
	return s;
}

/* Chooses the units. Exclusive times, which come after the inclusive ones, have their unit. */
static void find_scales(
	struct sonde_text_export *x, const struct sonde_report *r, const struct sonde_listing *l)
{
	double inclusive = 0;
	size_t i;

	for (i = 0; i < sonde_nr_fields; i++) {
		const struct sonde_field *f = &sonde_fields[i];
		struct sonde_scale *s = &x->scales[i];

		if (!(x->fields >> i & 1) || f->form != SONDE_FIELD_MS)
			continue;
		*s = scale_of(x, r, l, f);
		if (sonde_field_is(f, "inclusive_ms"))
			inclusive = s->most;
		sonde_scale_choose(s, f->flags & SONDE_FIELD_EXCLUSIVE ? inclusive : s->most, x->options->is_utf8);
	}
}

static void put_rows(struct sonde_text_export *x, struct sonde_table *t, const struct sonde_report *r,
	const struct sonde_listing *l, const uint64_t *lines)
{
	unsigned step = indent_step(l, r);
	size_t i;

	for (i = 0; i < l->nr; i++) {
		const struct sonde_node *n = &r->nodes.at[l->at[i]];
		struct row row = {r, n, 0, 0, SONDE_STYLE_PLAIN, true, NULL, 0};

		const struct sonde_listed_rest *rest = l->rest && l->rest[i].nr ? &l->rest[i] : NULL;

		if (rest && !rest->is_inside) { /* one row for several siblings */
			put_indent(t, n->depth, lines[i], step, NULL);
			sonde_buf_printf(&t->cell, "%zu more: --all", rest->nr);
			sonde_table_put(t, SONDE_STYLE_DIM);
			put_cells(x, t, &(struct row){r, NULL, 0, 0, SONDE_STYLE_DIM, false, l->next, l->at[i]});
			continue;
		}
		put_name(x, t, n, (struct branch){lines[i], step, rest ? rest->nr : 0});
		sonde_tree_values(x->tree, r, SONDE_PART_INCLUSIVE, l->at[i], &x->figures);
		put_cells(x, t, &row);
		put_kernel_rows(x, t, r, n, lines[i], step);
	}
	if (sonde_report_times(r) != SONDE_TIMES_HOST) /* with host times only, there is nothing to add up */
		put_special_row(x, t, "total in regions", SONDE_PART_TOTAL,
			(struct row){r, NULL, (double)r->launches, r->time_ns, 0, true, NULL, 0});
	if (r->outside_launches)
		put_special_row(x, t, "(outside any range)", SONDE_PART_OUTSIDE,
			(struct row){r, NULL, (double)r->outside_launches, r->outside_time_ns, 0,
				false, NULL, 0});
}

int sonde_text__write_tree(
	struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	struct sonde_table t = sonde_text__table(
		x->options, x->options->lists_kernels ? LEAST_KERNEL : LEAST_LABEL);
	struct sonde_listing l;
	uint64_t *lines;
	size_t first;
	int rc = x->options->shows_all ? sonde_listing_build(&l, x->tree, r, x->options, err)
				       : sonde_listing_build_brief(&l, x->tree, r, x->options, err);

	if (rc)
		return rc;
	lines = sonde_calloc(l.nr + 1, sizeof(*lines));
	if (lines) {
		x->fields = sonde_fields_in_table(r, x->options->view);
		x->has_bounds = sonde_report_has_bounds(x->tree, r);
		find_scales(x, r, &l);
		find_lines(lines, &l, r);
		first = put_columns(x, &t, r);
		put_rows(x, &t, r, &l, lines);
		rc = sonde_text__print(x, &t, first, err);
	} else {
		rc = sonde_err_nomem(err);
	}
	if (rc == 0 && sonde_view_lacks(x->fields, x->options->view))
		sonde_text__write_wrapped(x, "", sonde_str_from(sonde_view_lacks(x->fields, x->options->view)));
	if (rc == 0 && l.nr_left_out)
		sonde_sink_printf(x->to,
			"%s and %zu more regions, each %s than these; all of "
			"them: %s\n",
			x->options->is_utf8 ? "\u2026" : "...", l.nr_left_out, sonde_report_is_figures(r) ? "smaller" : "shorter",
			x->options->more_at ? x->options->more_at : "--format json");
	sonde_free(lines);
	sonde_table_release(&t);
	sonde_listing_release(&l);
	return rc;
}
