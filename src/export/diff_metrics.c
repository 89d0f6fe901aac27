/*
 * The metrics that are higher or lower than before, one row each, in the order of the regions:
 * as text, Markdown and HTML. -f json has all metrics, the others too.
 */
#include "export/diff_shared.h"

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

static void put_row(struct sonde_table *t, const struct row *r)
{
	sonde_table_region(t, r->region->id, r->region->kind);
	sonde_table_put(t, SONDE_STYLE_PLAIN);
	sonde_table_text(t, r->column->head, SONDE_STYLE_PLAIN);
	sonde_figure_put(&t->cell, &r->metric->base, r->column->unit, t->is_utf8);
	sonde_table_put(t, SONDE_STYLE_PLAIN);
	sonde_figure_put(&t->cell, &r->metric->new_figure, r->column->unit, t->is_utf8);
	sonde_table_put(t, SONDE_STYLE_PLAIN);
	sonde_buf_puts(&t->cell, sonde_metric_change_name(r->metric->change));
	sonde_table_put(t, SONDE_STYLE_BOLD);
}

/* The first `max` rows; how many there are. */
static size_t fill_metric_table(struct sonde_table *t, const struct sonde_diff *d, const uint32_t *order, size_t max)
{
	static const char *const heads[] = {"0region", "0metric", ">0base", ">0new", "0change", NULL};
	struct row row;
	size_t at = 0, nr;

	sonde_table_heads(t, heads);
	for (nr = 0; nr < max && next_row(d, order, &at, &row); nr++)
		put_row(t, &row);
	return nr;
}

int sonde_diff_out__metrics_text(const struct sonde_diff *d, const struct sonde_diff_out *o,
	const uint32_t *order, struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_table t = {
		.is_utf8 = o->is_utf8, .is_coloured = o->is_coloured, .least_name = 20};
	struct sonde_buf dropped = {0};
	size_t all = count_rows(d), nr;
	int rc;

	if (!all)
		return 0;
	nr = fill_metric_table(&t, d, order, MAX_ROWS);
	sonde_sink_putc(to, '\n');
	rc = sonde_table_print(&t, to, o->width ? o->width : 100, &dropped, err);
	if (rc == 0 && nr < all)
		sonde_sink_printf(to, "... and %zu more metrics (-f json)\n", all - nr);
	sonde_buf_release(&dropped);
	sonde_table_release(&t);
	return rc;
}

void sonde_diff_out__metrics_md(
	const struct sonde_diff *d, const uint32_t *order, struct sonde_sink *to)
{
	struct sonde_table t = {.escape = sonde_escape_markdown, .is_utf8 = true};
	size_t all = count_rows(d), nr;

	if (!all)
		return;
	nr = fill_metric_table(&t, d, order, MAX_ROWS);
	sonde_table_print_markdown(&t, to);
	if (nr < all)
		sonde_sink_printf(to, "\n\u2026 and %zu more metrics.\n", all - nr);
	sonde_table_release(&t);
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
		sonde_escape_xml(&to->buf, sonde_region_path(r.region->id, r.region->kind));
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
