/* What to fix first about idle time, and the longest gaps. */
#include "export/text_int.h"

#include "base/escape.h"
#include "tree/first.h"
#include "tree/idle.h"

static void put_time(
	struct sonde_text_export *x, struct sonde_table *t, uint64_t ns, const struct sonde_scale *s)
{
	sonde_scale_print(&x->cell, s, (double)ns / 1e6);
	sonde_text__put(x, t, SONDE_STYLE_PLAIN);
}

/* "step/forward", or "(before step)" where no entry is around the gap. */
static void place(struct sonde_text_export *x, struct sonde_table *t, const struct sonde_gap *gap)
{
	const struct sonde_region *regions = x->tree->cells->regions.at;
	bool is_inside = gap->region != SONDE_NONE, is_before = !is_inside && gap->before != SONDE_NONE;

	sonde_buf_puts(&x->cell, is_before ? "(before " : "");
	if (is_inside || is_before)
		sonde_escape_terminal(&x->cell, regions[is_inside ? gap->region : gap->before].id,
			x->options->is_utf8);
	sonde_buf_puts(&x->cell, is_inside ? "" : is_before ? ")" : "(outside any range)");
	sonde_text__put(x, t, SONDE_STYLE_PLAIN);
}

static int put_gaps(struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	const struct sonde_gap *at[SONDE_NR_GAPS];
	struct sonde_table t = {.is_utf8 = x->options->is_utf8,
		.is_coloured = x->options->is_coloured,
		.least_name = 24};
	size_t nr = sonde_report_gaps(x->tree, r, at), i;
	struct sonde_extent took = {0}, since = {0};
	struct sonde_scale scales[2];
	int rc;

	if (!nr)
		return 0;
	for (i = 0; i < nr; i++) {
		sonde_extent_add(&took, (double)at[i]->ns / 1e6);
		sonde_extent_add(&since, (double)at[i]->since_ns / 1e6);
	}
	scales[0] = sonde_scale_choose(&took, took.most, x->options->is_utf8);
	scales[1] = sonde_scale_choose(&since, since.most, x->options->is_utf8);
	sonde_table_column(&t, SONDE_STR("longest gaps"), false, 0);
	sonde_scale_column(&t, &scales[0], SONDE_STR("ms"), 0);
	sonde_scale_column(&t, &scales[1], SONDE_STR("at ms"), 0);
	sonde_table_column(&t, SONDE_STR("cause"), false, 0);
	for (i = 0; i < nr; i++) {
		place(x, &t, at[i]);
		put_time(x, &t, at[i]->ns, &scales[0]);
		put_time(x, &t, at[i]->since_ns, &scales[1]);
		sonde_buf_puts(&x->cell, sonde_idle_cause_words(at[i]->cause));
		sonde_text__put(x, &t, SONDE_STYLE_PLAIN);
	}
	sonde_sink_putc(x->to, '\n');
	rc = sonde_table_print(&t, x->to, x->width, &x->dropped, err);
	sonde_table_release(&t);
	return rc;
}

int sonde_text__idle(
	struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	struct sonde_buf line = {0};
	int rc = x->options->view == SONDE_VIEW_IDLE ? put_gaps(x, r, err) : 0;

	if ((x->options->view == SONDE_VIEW_COST || x->options->view == SONDE_VIEW_IDLE) && rc == 0)
		rc = sonde_first_say(&line, x->tree, r, err);
	if (line.n && rc == 0)
		sonde_text__wrapped(x, "first: ", sonde_buf_view(&line));
	x->cell.failed |= line.failed;
	sonde_buf_release(&line);
	return rc;
}
