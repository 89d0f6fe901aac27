/*
 * The metrics that are higher or lower than before, one row each, in the order of the regions:
 * as text, Markdown and HTML. -f json has all metrics, the others too.
 */
#include "export/diff_int.h"

#include "base/escape.h"
#include "export/field.h"
#include "export/table.h"

#define MAX_ROWS 20 /* below the table of regions; the sentences name what matters */

struct row {
	const struct sonde_diff_region *region;
	const struct sonde_diff_column *column;
	const struct sonde_diff_metric *metric;
};

/* The next one from `*at` on, a number of region in order × column; false = there is none. */
static bool next_row(const struct sonde_diff *d, const uint32_t *order, size_t *at, struct row *out)
{
	size_t nr = d->columns.nr;

	for (; *at < d->metrics.nr; (*at)++) {
		uint32_t region = order[*at / nr];
		size_t column = *at % nr;
		const struct sonde_diff_metric *m = &d->metrics.at[region * nr + column];

		if (m->change != SONDE_METRIC_HIGHER && m->change != SONDE_METRIC_LOWER)
			continue;
		*out = (struct row){&d->regions.at[region], &d->columns.at[column], m};
		(*at)++;
		return true;
	}
	return false;
}

static size_t count_rows(const struct sonde_diff *d)
{
	size_t i, nr = 0;

	for (i = 0; i < d->metrics.nr; i++)
		nr += d->metrics.at[i].change == SONDE_METRIC_HIGHER ||
		      d->metrics.at[i].change == SONDE_METRIC_LOWER;
	return nr;
}

static void put_cell(struct sonde_table *t, struct sonde_buf *cell, uint8_t style)
{
	sonde_table_cell(t, sonde_buf_view(cell), style, 0);
	t->failed |= cell->failed;
	sonde_buf_clear(cell);
}

static void put_row(struct sonde_table *t, struct sonde_buf *cell, const struct row *r)
{
	sonde_escape_terminal(cell, r->region->id, t->is_utf8);
	sonde_buf_puts(cell, sonde_region_kind_mark(r->region->kind));
	put_cell(t, cell, SONDE_STYLE_PLAIN);
	sonde_escape_terminal(cell, r->column->head, t->is_utf8);
	put_cell(t, cell, SONDE_STYLE_PLAIN);
	sonde_figure_put(cell, &r->metric->base, r->column->unit, t->is_utf8);
	put_cell(t, cell, SONDE_STYLE_PLAIN);
	sonde_figure_put(cell, &r->metric->new_figure, r->column->unit, t->is_utf8);
	put_cell(t, cell, SONDE_STYLE_PLAIN);
	sonde_buf_puts(cell, sonde_metric_change_name(r->metric->change));
	put_cell(t, cell, SONDE_STYLE_BOLD);
}

int sonde_diff_out__metrics_text(const struct sonde_diff *d, const struct sonde_diff_out *o,
	const uint32_t *order, struct sonde_sink *to, struct sonde_err *err)
{
	static const char *const heads[] = {"region", "metric", "base", "new", "change"};
	struct sonde_table t = {
		.is_utf8 = o->is_utf8, .is_coloured = o->is_coloured, .least_name = 20};
	struct sonde_buf cell = {0}, dropped = {0};
	size_t i, at = 0, all = count_rows(d);
	struct row row;
	int rc;

	if (!all)
		return 0;
	for (i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		sonde_table_column(&t, sonde_str_from(heads[i]), i == 2 || i == 3, 0);
	for (i = 0; i < MAX_ROWS && next_row(d, order, &at, &row); i++)
		put_row(&t, &cell, &row);
	sonde_sink_putc(to, '\n');
	rc = sonde_table_print(&t, to, o->width ? o->width : 100, &dropped, err);
	if (rc == 0 && i < all)
		sonde_sink_printf(to, "... and %zu more metrics (-f json)\n", all - i);
	sonde_buf_release(&cell);
	sonde_buf_release(&dropped);
	sonde_table_release(&t);
	return rc;
}

void sonde_diff_out__metrics_md(
	const struct sonde_diff *d, const uint32_t *order, struct sonde_sink *to)
{
	size_t at = 0, i, all = count_rows(d);
	struct row r;

	for (i = 0; i < MAX_ROWS && next_row(d, order, &at, &r); i++) {
		if (i == 0)
			sonde_sink_puts(to, "\n| region | metric | base | new | change |\n"
					    "|---|---|---:|---:|---|\n");
		sonde_sink_puts(to, "| ");
		sonde_escape_markdown(&to->buf, r.region->id);
		sonde_sink_printf(to, "%s | ", sonde_region_kind_mark(r.region->kind));
		sonde_escape_markdown(&to->buf, r.column->head);
		sonde_sink_puts(to, " | ");
		sonde_figure_put(&to->buf, &r.metric->base, r.column->unit, true);
		sonde_sink_puts(to, " | ");
		sonde_figure_put(&to->buf, &r.metric->new_figure, r.column->unit, true);
		sonde_sink_printf(to, " | %s |\n", sonde_metric_change_name(r.metric->change));
	}
	if (i < all)
		sonde_sink_printf(to, "\n\u2026 and %zu more metrics.\n", all - i);
}

void sonde_diff_out__metrics_html(
	const struct sonde_diff *d, const uint32_t *order, struct sonde_sink *to)
{
	size_t at = 0, i, all = count_rows(d);
	struct row r;

	for (i = 0; next_row(d, order, &at, &r); i++) {
		if (i == 0)
			sonde_sink_puts(to, "<h2>Metrics that changed</h2>\n<table>\n"
					    "<tr><th>region</th><th>metric</th><th>base</th>"
					    "<th>new</th><th class=\"v\">change</th></tr>\n");
		sonde_sink_puts(to, "<tr><td><code>");
		sonde_escape_xml(&to->buf, r.region->id);
		sonde_sink_printf(to, "</code>%s</td><td>", sonde_region_kind_mark(r.region->kind));
		sonde_escape_xml(&to->buf, r.column->head);
		sonde_sink_puts(to, "</td><td>");
		sonde_figure_put(&to->buf, &r.metric->base, r.column->unit, true);
		sonde_sink_puts(to, "</td><td>");
		sonde_figure_put(&to->buf, &r.metric->new_figure, r.column->unit, true);
		sonde_sink_printf(to, "</td><td class=\"v\">%s</td></tr>\n",
			sonde_metric_change_name(r.metric->change));
	}
	sonde_sink_puts(to, all ? "</table>\n" : "");
}
