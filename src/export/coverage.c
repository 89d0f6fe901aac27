/* The line of coverage in all formats for people: how many launches are in regions, and why the others are not. */
#include "export/field.h"

#include <inttypes.h>
#include <math.h>

/*
 * Appends "40 no host call in the trace, 2 no range open". Appends nothing if no launch had a range open, as one
 * expects.
 */
static void add_causes(const struct sonde_tally *t, struct sonde_buf *line)
{
	bool is_one = false;
	size_t i, nr = 0;

	for (i = 0; i < SONDE_NR_OUTSIDE; i++)
		is_one |= t->nr_outside_by[i] == t->nr_outside;
	for (i = 0; i < SONDE_NR_OUTSIDE; i++) {
		if (!t->nr_outside_by[i] || (is_one && i == SONDE_OUTSIDE_NO_RANGE))
			continue;
		sonde_buf_puts(line, nr++ ? ", " : "");
		if (!is_one)
			sonde_buf_printf(line, "%" PRIu64 " ", t->nr_outside_by[i]);
		sonde_buf_puts(line, sonde_outside_name((enum sonde_outside)i));
	}
}

static void add_threads(const struct sonde_cells *l, struct sonde_buf *line)
{
	size_t i, nr = 0;

	for (i = 0; i < l->strays.nr && nr < 4; i++) {
		if (l->strays.at[i].thread == 0) /* the capture does not name the thread */
			continue;
		sonde_buf_printf(line, "%s%" PRIu64,
			nr		   ? ", "
			: l->strays.nr == 1 ? "thread "
					   : "threads ",
			l->strays.at[i].thread);
		nr++;
	}
	if (i < l->strays.nr)
		sonde_buf_printf(line, " and %zu more", l->strays.nr - i);
}

/* Appends "; 5 outside any range (thread 466)": why, and which threads launched them. */
static void append_outside(const struct sonde_tree *t, uint64_t outside, struct sonde_buf *line)
{
	struct sonde_buf why = {0}, who = {0};

	add_causes(&t->cells->tally, &why);
	add_threads(t->cells, &who);
	sonde_buf_printf(line, "; %" PRIu64 " outside any range", outside);
	if (why.n || who.n)
		sonde_buf_printf(line, " (%s%s%s)", why.n ? why.p : "", why.n && who.n ? "; " : "",
			who.n ? who.p : "");
	line->failed |= why.failed | who.failed;
	sonde_buf_release(&why);
	sonde_buf_release(&who);
}

/* Whether a table of one kind is hidden, and no aggregate that includes it is shown. */
static bool hides_some(
	const struct sonde_tree *t, const struct sonde_export_options *o, bool is_ranges)
{
	bool is_hidden = false;
	size_t i;

	for (i = 0; i < t->reports.nr; i++) {
		const struct sonde_report *r = &t->reports.at[i];
		bool is_shown = sonde_report_is_shown(r, o);

		if (r->is_ranges != is_ranges)
			continue;
		if (r->is_aggregate && is_shown)
			return false;
		is_hidden |= !r->is_aggregate && !is_shown;
	}
	return is_hidden;
}

/* Whether regions have figures without launches: then they are not about GPU work. */
static bool has_figures(const struct sonde_tree *t)
{
	size_t i;

	for (i = 0; i < t->reports.nr; i++)
		if (sonde_report_is_figures(&t->reports.at[i]))
			return true;
	return false;
}

/* Appends "; 84 calls of PyTorch modules are regions; 544 of 544 launches of graphs are where they were captured". */
static void add_torch(const struct sonde_tree *t, struct sonde_buf *line)
{
	struct sonde_torch_regions torch;

	if (!sonde_torch_regions_build(&torch, t))
		return;
	if (torch.modules)
		sonde_buf_printf(line,
			"; %" PRIu64 " call%s of PyTorch modules %s (report.kineto.regions=annotations leaves %s out)",
			torch.modules, torch.modules == 1 ? "" : "s",
			torch.modules == 1 ? "is a region" : "are regions", torch.modules == 1 ? "it" : "them");
	if (torch.graphed)
		sonde_buf_printf(line, "; %" PRIu64 " of %" PRIu64 " launches of graphs are where they were captured",
			torch.regained, torch.graphed);
}

void sonde_coverage_print(struct sonde_buf *line, const struct sonde_tree *t,
	const struct sonde_export_options *o, bool is_ranges)
{
	const char *what = is_ranges ? "range results" : "launches";
	const struct sonde_tally *tally = &t->cells->tally;
	uint64_t unrecorded = sonde_tree_unrecorded(t);
	const char *no_record = unrecorded == 1 ? "launch has no record" : "launches have no record";
	struct sonde_windows windows;
	struct sonde_coverage c;

	if (!tally->nr_launches && tally->takes_range && !is_ranges && unrecorded)
		sonde_buf_printf(line, "%" PRIu64 " %s: regions have host times only", unrecorded, no_record);
	else if (!tally->nr_launches && tally->takes_range && !is_ranges && !has_figures(t))
		sonde_buf_puts(line, SONDE_NO_GPU_WORK);
	if (!sonde_coverage_build(&c, t, is_ranges) || (c.total == 0 && t->cells->regions.nr))
		return;
	sonde_buf_printf(line, "%s%" PRIu64 " of %" PRIu64 " %s in regions",
		hides_some(t, o, is_ranges) ? "whole capture: " : "", c.attributed, c.total, what);
	if (c.total_ns > 0 && !isnan(c.attributed_ns))
		sonde_buf_printf(line, ", %.3f of %.3f ms GPU time (%.1f%%)", c.attributed_ns / 1e6,
			c.total_ns / 1e6, 100 * c.attributed_ns / c.total_ns);
	if (t->cells->tally.nr_adopted && !is_ranges)
		sonde_buf_printf(line, "; %" PRIu64 " of them by threads without ranges, counted where another thread was",
			t->cells->tally.nr_adopted);
	if (c.outside)
		append_outside(t, c.outside, line);
	if (c.not_selected)
		sonde_buf_printf(line, "; %" PRIu64 " not selected", c.not_selected);
	if (unrecorded && !is_ranges)
		sonde_buf_printf(line, "; %" PRIu64 " more %s", unrecorded, no_record);
	if (!is_ranges)
		add_torch(t, line);
	if (!sonde_windows_build(&windows, t))
		return;
	sonde_buf_printf(line, "; captured in %" PRIu64 " window%s, %.3f of %.3f s", windows.nr,
		windows.nr == 1 ? "" : "s", windows.captured_ns / 1e9, windows.total_ns / 1e9);
	if (windows.budget_pct > 0)
		sonde_buf_printf(line, " (budget %g%%, took %.2f%%)", windows.budget_pct, windows.cost_pct);
}
