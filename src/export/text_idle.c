/* What to fix first about idle time, and the longest gaps. */
#include "export/text_int.h"

#include "tree/first.h"
#include "tree/idle.h"

/* "step/forward", or "(before step)" where no entry is around the gap. */
static void put_place(struct sonde_text_export *x, struct sonde_table *t, const struct sonde_gap *gap)
{
	const struct sonde_region *regions = x->tree->cells->regions.at;
	bool is_inside = gap->region != SONDE_NONE, is_before = !is_inside && gap->before != SONDE_NONE;
	uint32_t at = is_inside ? gap->region : gap->before;

	sonde_buf_puts(&t->cell, is_before ? "(before " : "");
	if (at != SONDE_NONE)
		sonde_table_region(t, regions[at].id, regions[at].kind);
	sonde_table_words(t, is_inside ? "" : is_before ? ")" : "(outside any range)");
}

static int put_gaps(struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	const struct sonde_gap *at[SONDE_NR_GAPS];
	struct sonde_table t = sonde_text__table(x->options, 24);
	size_t nr = sonde_report_gaps(x->tree, r, at), i;
	struct sonde_extent took = {0}, since = {0};
	struct sonde_scale scales[2];

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
		put_place(x, &t, at[i]);
		sonde_scale_put(&t, &scales[0], (double)at[i]->ns / 1e6);
		sonde_scale_put(&t, &scales[1], (double)at[i]->since_ns / 1e6);
		sonde_table_words(&t, sonde_idle_cause_words(at[i]->cause));
	}
	return sonde_text__finish(x, &t, err);
}

int sonde_text__write_idle(
	struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	struct sonde_buf line = {0};
	int rc = x->options->view == SONDE_VIEW_IDLE ? put_gaps(x, r, err) : 0;

	if ((x->options->view == SONDE_VIEW_COST || x->options->view == SONDE_VIEW_IDLE) && rc == 0)
		rc = sonde_first_say(&line, x->tree, r, err);
	if (line.n && rc == 0)
		sonde_text__write_wrapped(x, "first: ", sonde_buf_view(&line));
	x->cell.failed |= line.failed;
	sonde_buf_release(&line);
	return rc;
}
