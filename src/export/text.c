#include "export/format.h"
#include "export/text_int.h"

#include "base/escape.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *dot(const struct sonde_text_export *x)
{
	return x->options->is_utf8 ? " \u00b7 " : " - ";
}

static void write_styled(struct sonde_text_export *x, uint8_t style, struct sonde_str text)
{
	sonde_style_on(x->to, style, x->options->is_coloured);
	sonde_buf_clear(&x->cell);
	sonde_escape_terminal(&x->cell, text, x->options->is_utf8);
	sonde_sink_str(x->to, sonde_buf_view(&x->cell));
	sonde_buf_clear(&x->cell);
	sonde_style_off(x->to, style, x->options->is_coloured);
}

void sonde_text__write_wrapped(struct sonde_text_export *x, const char *bullet, struct sonde_str text)
{
	size_t column = sonde_width(sonde_str_from(bullet)), margin = column;
	struct sonde_str rest;

	sonde_buf_clear(&x->cell);
	sonde_escape_terminal(&x->cell, text, x->options->is_utf8);
	rest = sonde_buf_view(&x->cell);
	sonde_sink_puts(x->to, bullet);
	while (rest.n) {
		struct sonde_str word = sonde_str_cut(rest, ' ', &rest);
		size_t w = sonde_width(word);

		if (column > margin && column + 1 + w > x->width) {
			sonde_sink_printf(x->to, "\n%*s", (int)margin, "");
			column = margin;
		} else if (column > margin) {
			sonde_sink_putc(x->to, ' ');
			column++;
		}
		sonde_sink_str(x->to, word);
		column += w;
	}
	sonde_sink_putc(x->to, '\n');
	sonde_buf_clear(&x->cell);
}

#define MAX_LISTED 8

/* Each different text once, the first few. */
struct list {
	struct sonde_map seen;
	struct sonde_buf text;
};

static void add_once(struct list *l, struct sonde_str text)
{
	bool is_new = false;

	if (!text.n)
		return;
	l->text.failed |= sonde_map_add(&l->seen, text, &is_new) == SONDE_NONE;
	if (is_new && l->seen.nr <= MAX_LISTED)
		sonde_buf_printf(&l->text, "%s%.*s", l->seen.nr > 1 ? ", " : "", SONDE_STR_ARG(text));
}

/* Appends the list behind `before`, where there is one; to be released. */
static void end_list(struct list *l, struct sonde_buf *to, const char *before)
{
	if (l->seen.nr > MAX_LISTED)
		sonde_buf_printf(&l->text, " and %zu more", (size_t)(l->seen.nr - MAX_LISTED));
	if (l->text.n)
		sonde_buf_printf(to, "%s%s", before, l->text.p);
	to->failed |= l->text.failed;
}

static void release_list(struct list *l)
{
	sonde_map_release(&l->seen);
	sonde_buf_release(&l->text);
}

/* What follows the file names: devices, tools, how it was replayed. */
static void add_about(struct sonde_text_export *x, struct sonde_buf *line)
{
	const struct sonde_cells *r = x->tree->cells;
	struct list devices = {0}, tools = {0}, modes = {0};
	size_t i;

	for (i = 0; i < r->inputs.nr; i++) {
		add_once(&tools, r->inputs.at[i].tool);
		add_once(&modes, r->inputs.at[i].replay_mode);
	}
	for (i = 0; i < r->devices.nr; i++)
		add_once(&devices, r->devices.at[i].name);
	end_list(&devices, line, dot(x));
	end_list(&tools, line, dot(x));
	end_list(&modes, line, dot(x));
	if (modes.text.n)
		sonde_buf_puts(line, strcmp(modes.text.p, "native") == 0 ? " capture" : " replay");
	release_list(&devices);
	release_list(&tools);
	release_list(&modes);
}

/* file · device · tool · replay */
static void write_header(struct sonde_text_export *x)
{
	const struct sonde_cells *r = x->tree->cells;
	struct list files = {0};
	struct sonde_buf line = {0};
	size_t i, nr_bold, nr_more = 0;

	for (i = 0; i < r->inputs.nr && i < 3; i++)
		add_once(&files, sonde_str_base(r->inputs.at[i].path));
	end_list(&files, &line, "");
	release_list(&files);
	for (i = 3; i < r->inputs.nr; i++)
		nr_more += r->inputs.at[i].nr_folded ? r->inputs.at[i].nr_folded : 1;
	if (nr_more)
		sonde_buf_printf(&line, " and %zu more files", nr_more);
	nr_bold = line.n;
	add_about(x, &line);
	if (sonde_width(sonde_buf_view(&line)) > x->width) {
		sonde_text__write_wrapped(x, "", sonde_buf_view(&line));
	} else if (!line.failed) {
		write_styled(x, SONDE_STYLE_BOLD, (struct sonde_str){line.p, nr_bold});
		write_styled(x, SONDE_STYLE_PLAIN,
			(struct sonde_str){line.p + nr_bold, line.n - nr_bold});
		sonde_sink_putc(x->to, '\n');
	}
	x->cell.failed |= line.failed;
	sonde_buf_release(&line);
}

/* "40 no host call in the trace, 2 no range open": unless all are outside as one expects. */
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
		if (l->strays.at[i].thread == 0) /* the capture does not say */
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

/* "; 5 outside any range (thread 466)": why, and which threads had no range. */
static void add_strays(const struct sonde_tree *t, uint64_t outside, struct sonde_buf *line)
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

/* Whether a table of one kind is missing without an aggregate that includes it. */
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

void sonde_coverage_print(struct sonde_buf *line, const struct sonde_tree *t,
	const struct sonde_export_options *o, bool is_ranges)
{
	const char *what = is_ranges ? "range results" : "launches";
	const struct sonde_tally *tally = &t->cells->tally;
	uint64_t unrecorded = sonde_tree_unrecorded(t);
	const char *no_record = unrecorded == 1 ? "launch has no record" : "launches have no record";
	struct sonde_windows windows;
	struct sonde_timed timed;
	struct sonde_coverage c;
	bool has_timed;

	if (!tally->nr_launches && tally->takes_range && !is_ranges && unrecorded)
		sonde_buf_printf(line, "%" PRIu64 " %s: regions have host times only", unrecorded, no_record);
	else if (!tally->nr_launches && tally->takes_range && !is_ranges)
		sonde_buf_puts(line, SONDE_NO_GPU_WORK);
	if (!sonde_coverage_build(&c, t, is_ranges) || (c.total == 0 && t->cells->regions.nr))
		return;
	has_timed = sonde_timed_build(&timed, t) && timed.launches;
	sonde_buf_printf(line, "%s%s%" PRIu64 " of %" PRIu64 " %s in regions",
		hides_some(t, o, is_ranges) ? "whole capture: " : "",
		has_timed && timed.is_sampled ? "about " : "", c.attributed, c.total, what);
	if (c.total_ns > 0 && !isnan(c.attributed_ns))
		sonde_buf_printf(line, ", %.3f of %.3f ms GPU time (%.1f%%)", c.attributed_ns / 1e6,
			c.total_ns / 1e6, 100 * c.attributed_ns / c.total_ns);
	if (t->cells->tally.nr_adopted && !is_ranges)
		sonde_buf_printf(line, "; %" PRIu64 " of them by threads without ranges, adopted",
			t->cells->tally.nr_adopted);
	if (c.outside)
		add_strays(t, c.outside, line);
	if (c.not_selected)
		sonde_buf_printf(line, "; %" PRIu64 " not selected", c.not_selected);
	if (unrecorded && !is_ranges)
		sonde_buf_printf(line, "; %" PRIu64 " more %s", unrecorded, no_record);
	if (sonde_windows_build(&windows, t))
		sonde_buf_printf(line, "; captured in %" PRIu64 " window%s, %.3f of %.3f s",
			windows.nr, windows.nr == 1 ? "" : "s", windows.captured_ns / 1e9,
			windows.total_ns / 1e9);
	if (has_timed)
		sonde_buf_printf(line,
			"; windowed: %.1f%% of the launches were timed (budget %g%%, took %.2f%%), "
			"times%s are estimates",
			100 * (double)timed.timed / (double)timed.launches, timed.budget_pct,
			timed.cost_pct, timed.is_sampled ? " and numbers of launches" : "");
}

static void write_coverage(struct sonde_text_export *x, bool is_ranges)
{
	struct sonde_buf line = {0};

	sonde_coverage_print(&line, x->tree, x->options, is_ranges);
	if (line.n)
		sonde_text__write_wrapped(x, "", sonde_buf_view(&line));
	x->cell.failed |= line.failed;
	sonde_buf_release(&line);
}

static void write_title(struct sonde_text_export *x, const struct sonde_report *r)
{
	struct sonde_buf line = {0};

	sonde_buf_str(&line, r->name);
	if (r->is_aggregate)
		sonde_buf_printf(&line, "%sover %u scopes", dot(x), r->nr_scopes);
	sonde_sink_putc(x->to, '\n');
	write_styled(x, SONDE_STYLE_BOLD, sonde_buf_view(&line));
	sonde_sink_putc(x->to, '\n');
	sonde_buf_release(&line);
}

static int write_report(struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	if (r->is_ranges)
		sonde_text__write_wrapped(x, "", sonde_str_from(sonde_report_caution(r)));
	if (r->nodes.nr && !x->options->is_flat) {
		int rc = sonde_text__write_tree(x, r, err);

		if (rc == 0 && x->options->lists_entries)
			rc = sonde_text__write_entries(x, r, err);
		return rc ? rc : sonde_text__write_idle(x, r, err);
	}
	if (r->nr_flat_kernels == 0) {
		sonde_sink_puts(x->to, "No launch to show.\n");
		return 0;
	}
	if (!r->nodes.nr)
		sonde_text__write_wrapped(x, "",
			SONDE_STR("No NVTX range was open at any launch: nothing region-specific "
				  "was profiled. All kernels of the run:"));
	return sonde_text__write_flat(x, r, err);
}

static int write_reports(struct sonde_text_export *x, struct sonde_err *err)
{
	struct sonde_buf line = {0};
	size_t i, nr_shown = 0, nr_hidden = 0;
	int rc = 0;

	for (i = 0; i < x->tree->reports.nr; i++) {
		const struct sonde_report *r = &x->tree->reports.at[i];

		if (sonde_report_is_printed(x->tree, r, x->options) &&
			!sonde_report_is_doubled(x->tree, r, x->options))
			nr_shown++;
	}
	for (i = 0; i < 2 * x->tree->reports.nr && rc == 0; i++) {
		const struct sonde_report *r = &x->tree->reports.at[i % x->tree->reports.nr];
		bool is_first = sonde_report_comes_first(x->tree, r, x->options);

		if (is_first != (i < x->tree->reports.nr) ||
			sonde_report_is_doubled(x->tree, r, x->options))
			continue;
		if (!sonde_report_is_printed(x->tree, r, x->options)) {
			nr_hidden += !r->is_aggregate && sonde_report_is_shown(r, x->options) ? r->nr_scopes : 0;
			continue;
		}
		if (nr_shown > 1 || (r->is_aggregate && r->nr_scopes > 1))
			write_title(x, r);
		else
			sonde_sink_putc(x->to, '\n');
		rc = write_report(x, r, err);
	}
	if (nr_hidden) {
		sonde_buf_printf(&line, "%zu scopes, the first is %.*s; --per-scope shows each",
			nr_hidden, SONDE_STR_ARG(x->tree->reports.at[0].name));
		sonde_style_on(x->to, SONDE_STYLE_DIM, x->options->is_coloured);
		sonde_text__write_wrapped(x, "", sonde_buf_view(&line));
		sonde_style_off(x->to, SONDE_STYLE_DIM, x->options->is_coloured);
	}
	x->cell.failed |= line.failed;
	sonde_buf_release(&line);
	return rc;
}

static void write_notes(struct sonde_text_export *x)
{
	const char *bullet = x->options->is_utf8 ? "  \u2022 " : "  * ";
	size_t i;

	if (x->tree->notes.texts.nr)
		sonde_sink_puts(x->to, "\nnotes\n");
	for (i = 0; i < x->tree->notes.texts.nr; i++)
		sonde_text__write_wrapped(x, bullet, x->tree->notes.texts.keys[i]);
}

static void write_legend(struct sonde_text_export *x)
{
	static const struct {
		const char *utf8, *ascii, *words;
	} marks[SONDE_NR_MARKS] = {
		[SONDE_MARK_APPROX] = {"\u2248 ", "~ ",
			"weighted by time or a near counter: the exact weight was not captured"},
		[SONDE_MARK_STAT] = {"\u2248 ", "~ ", "the launches differ: the most frequent value"},
		[SONDE_MARK_BOUND] = {"\u2264 ", "<= ", "a bound: the exact value cannot be recovered"},
		[SONDE_MARK_SAMPLED] = {"~ ", "~ ",
			"sampled while the program ran, no kernel replayed; ± is the 95 % interval"},
		[SONDE_MARK_UNKNOWN] = {"- ", "- ",
			"beside ~: samples saw too little of it to tell, or ± would be above 50 %"},
		[SONDE_MARK_CUT] = {"\u2026 ", "... ",
			"long words are cut; --format json has them whole"}};
	size_t i;

	sonde_style_on(x->to, SONDE_STYLE_DIM, x->options->is_coloured);
	for (i = 0; i < SONDE_NR_MARKS; i++)
		if (x->has[i])
			sonde_text__write_wrapped(x, x->options->is_utf8 ? marks[i].utf8 : marks[i].ascii,
				sonde_str_from(marks[i].words));
	if (x->dropped.n) {
		sonde_buf_puts(&x->dropped, " (--width N)");
		sonde_text__write_wrapped(x, "no room for: ", sonde_buf_view(&x->dropped));
	}
	sonde_style_off(x->to, SONDE_STYLE_DIM, x->options->is_coloured);
}

int sonde_export_text(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_text_export x = {.to = to, .tree = t, .options = o};
	int rc = sonde_figures_init(&x.figures, t, err);

	x.width = o->width ? o->width : 100;
	if (rc == 0) {
		if (o->baseline)
			sonde_text__write_wrapped(&x, "Baseline: ", sonde_str_from(o->baseline));
		write_header(&x);
		if (sonde_selects_nothing(t))
			sonde_text__write_wrapped(&x, "", SONDE_STR("Nothing is selected: the notes say why."));
		sonde_text__write_stragglers(&x);
		write_coverage(&x, false);
		write_coverage(&x, true);
	}
	if (rc == 0 && (!sonde_selects_nothing(t) || sonde_has_regions(t))) {
		rc = write_reports(&x, err);
		if (rc == 0 && o->view == SONDE_VIEW_RANKS)
			rc = sonde_text__write_ranks(&x, err);
		write_legend(&x);
	}
	if (rc == 0)
		write_notes(&x);
	if (rc == 0 && x.cell.failed)
		rc = sonde_err_nomem(err);
	sonde_buf_release(&x.cell);
	sonde_buf_release(&x.dropped);
	sonde_figures_release(&x.figures);
	return rc;
}
