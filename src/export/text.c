/* The report on a terminal: the lines around the tables, and the tables of ranks and gaps. text_int.h has a map. */
#include "export/format.h"

#include "base/escape.h"
#include "base/wrap.h"
#include "export/rank_tables.h"
#include "export/shown_findings.h"
#include "export/stall_tables.h"
#include "export/text_int.h"
#include "tree/entries.h"
#include "tree/idle.h"
#include "tree/stall_profile.h"

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
	size_t margin = sonde_width(sonde_str_from(bullet));

	sonde_buf_clear(&x->cell);
	sonde_escape_sentence(&x->cell, text, x->options->is_utf8);
	sonde_sink_puts(x->to, bullet);
	sonde_wrap(x->to, sonde_buf_view(&x->cell), (struct sonde_margins){margin, margin, x->width});
	sonde_buf_clear(&x->cell);
}

#define MAX_LISTED     8 /* most devices or tools in a list */
#define MOST_NOTES     8
#define MOST_SENTENCES 3 /* most sentences about slow ranks */

/* A list that has each different text once; only the first few are printed. */
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

/* Appends `before` and the list, or nothing if the list is empty. */
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

/* Appends devices, tools and replay modes after the file names. */
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

/* Writes "file · device · tool · replay". */
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

/* Puts "step/forward", or "(before step)" if no entry is around the gap. */
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
	uint64_t first_ns = sonde_tree_first_ns(x->tree);
	struct sonde_scale took = {0}, since = {0};
	bool has_scopes = r->nr_scopes > 1;
	int rc;

	if (!nr)
		return 0;
	for (i = 0; i < nr; i++) {
		sonde_scale_add(&took, (double)at[i]->ns / 1e6);
		sonde_scale_add(&since, (double)(at[i]->begin_ns - first_ns) / 1e6);
	}
	sonde_scale_choose(&took, took.most, x->options->is_utf8);
	sonde_scale_choose(&since, since.most, x->options->is_utf8);
	sonde_table_column(&t, SONDE_STR("longest gaps"), false, 0);
	sonde_scale_column(&t, &took, SONDE_STR("ms"), 0);
	sonde_scale_column(&t, &since, SONDE_STR("at ms"), 0);
	sonde_table_column(&t, SONDE_STR("cause"), false, 0);
	if (has_scopes)
		sonde_table_column(&t, SONDE_STR("on"), false, 0);
	for (i = 0; i < nr; i++) {
		put_place(x, &t, at[i]);
		sonde_scale_put(&t, &took, (double)at[i]->ns / 1e6);
		sonde_scale_put(&t, &since, (double)(at[i]->begin_ns - first_ns) / 1e6);
		sonde_table_words(&t, sonde_gap_words(x->tree, at[i]));
		if (has_scopes)
			sonde_table_text(&t, x->tree->reports.at[at[i]->scope].name, SONDE_STYLE_PLAIN);
	}
	rc = sonde_text__finish(x, &t, err);
	if (rc == 0)
		sonde_sink_puts(x->to, SONDE_AT_SINCE);
	return rc;
}

/* Writes the findings, which come before the tables. */
static void write_findings(struct sonde_text_export *x)
{
	const struct sonde_finding *shown[SONDE_MAX_FINDINGS];
	size_t i, nr = sonde_findings_shown(shown, x->tree, x->options);
	struct sonde_buf line = {0};
	char number[24];

	if (nr)
		sonde_sink_putc(x->to, '\n');
	sonde_findings_say_step(&line, x->tree, x->options);
	if (line.n)
		sonde_text__write_wrapped(x, "", sonde_buf_view(&line));
	sonde_buf_clear(&line);
	for (i = 0; i < nr; i++) {
		const struct sonde_finding *f = shown[i];

		snprintf(number, sizeof(number), "%zu. ", i + 1);
		sonde_finding_say(&line, f);
		sonde_buf_putc(&line, ' ');
		sonde_finding_say_also(&line, x->tree, x->options, f);
		sonde_style_on(x->to, SONDE_STYLE_BOLD, x->options->is_coloured);
		sonde_text__write_wrapped(x, number, sonde_str_trim(sonde_buf_view(&line)));
		sonde_style_off(x->to, SONDE_STYLE_BOLD, x->options->is_coloured);
		sonde_buf_clear(&line);
		sonde_finding_say_next(&line, x->tree->findings, x->options, f);
		if (x->options->run)
			sonde_finding_name_run(&line, x->options->run);
		sonde_style_on(x->to, SONDE_STYLE_DIM, x->options->is_coloured);
		sonde_text__write_wrapped(x, i < 9 ? "   " : "    ", sonde_buf_view(&line));
		sonde_style_off(x->to, SONDE_STYLE_DIM, x->options->is_coloured);
		sonde_buf_clear(&line);
	}
	sonde_findings_say_rest(&line, x->tree, x->options);
	if (line.n)
		sonde_text__write_wrapped(x, "   ", sonde_buf_view(&line));
	x->cell.failed |= line.failed;
	sonde_buf_release(&line);
}

/* Writes a sentence for each slow rank, the first few. */
static void write_stragglers(struct sonde_text_export *x)
{
	const struct sonde_ranks *r = x->tree->ranks;
	size_t i;

	for (i = 0; r && i < r->stragglers.nr && i < MOST_SENTENCES; i++)
		sonde_text__write_wrapped(x, i ? "also: " : "slow: ", r->stragglers.at[i].sentence);
}

/* Writes the tables of ranks side by side. */
static int write_ranks(struct sonde_text_export *x, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	if (!x->tree->ranks)
		sonde_sink_puts(x->to, "\nThere are not two ranks of one job to compare.\n");
	for (i = 0; x->tree->ranks && i < SONDE_NR_RANK_TABLES && rc == 0; i++) {
		struct sonde_table t = sonde_text__table(x->options, 24);

		sonde_rank_table_fill(&t, (enum sonde_rank_table)i, x->tree);
		if (t.columns.nr || t.failed)
			rc = sonde_text__finish(x, &t, err);
		else
			sonde_table_release(&t);
	}
	return rc;
}

/* Writes why warps did not go on: a table of the regions or, if there are none to show, of the kernels. */
static int write_stalls(struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	struct sonde_table t = sonde_text__table(x->options, 24);
	bool has_regions = r->nodes.nr && !x->options->is_flat;
	struct sonde_listing l = {0};
	int rc = has_regions ? sonde_listing_build(&l, x->tree, r, x->options, err) : 0;

	if (rc)
		return rc;
	sonde_stall_table_fill(&t, x->tree, r, x->options, has_regions ? &l : NULL);
	rc = sonde_table_print(&t, x->to, x->width, &x->dropped, err);
	x->has[SONDE_MARK_CUT] |= t.is_last_cut;
	sonde_table_release(&t);
	sonde_listing_release(&l);
	return rc;
}

/* Writes the hottest lines of each kernel, after the other tables. */
static int write_lines(struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	struct sonde_table t = sonde_text__table(x->options, 40);
	int rc;

	sonde_line_table_fill(&t, x->tree, r, x->options);
	if (!t.cells.nr && !t.failed) {
		sonde_table_release(&t);
		sonde_text__write_wrapped(x, "", sonde_lacks_lines(x->tree));
		return 0;
	}
	sonde_sink_putc(x->to, '\n');
	rc = sonde_table_print(&t, x->to, x->width, &x->dropped, err);
	sonde_table_release(&t);
	return rc;
}

static int write_tables(struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	if (r->nodes.nr && !x->options->is_flat) {
		int rc = sonde_text__write_tree(x, r, err);

		if (rc == 0 && x->options->lists_entries)
			rc = sonde_text__write_entries(x, r, err);
		return rc == 0 && x->options->view == SONDE_VIEW_IDLE ? put_gaps(x, r, err) : rc;
	}
	if (r->nr_flat_kernels == 0) {
		sonde_sink_puts(x->to, "No launch to show.\n");
		return 0;
	}
	if (!r->nodes.nr)
		sonde_text__write_wrapped(x, "",
			SONDE_STR("No NVTX range was open at any launch: nothing region-specific "
				  "was profiled. All kernels of the run:"));
	return sonde_text__write_kernels(x, r, err);
}

static int write_report(struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	bool asks = x->options->view == SONDE_VIEW_STALLS, has = sonde_tree_has_stalls(x->tree);
	int rc;

	if (r->is_ranges)
		sonde_text__write_wrapped(x, "", sonde_str_from(sonde_report_caution(r)));
	rc = asks && has ? write_stalls(x, r, err) : write_tables(x, r, err);
	if (rc == 0 && x->options->max_lines && has)
		rc = write_lines(x, r, err);
	if (rc == 0 && (asks || x->options->max_lines) && !has)
		sonde_text__write_wrapped(x, "", SONDE_STR(SONDE_LACKS_STALLS));
	return rc;
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

/* Writes the notes that report a loss, or all others, whole and in their order, each behind `lead`; not more than a few. */
static void write_notes_of(struct sonde_text_export *x, bool losses, const char *lead)
{
	const struct sonde_notes *notes = &x->tree->notes;
	size_t max = x->options->shows_all ? notes->texts.nr : MOST_NOTES, nr = 0, i;

	for (i = 0; i < notes->texts.nr; i++)
		if (sonde_notes_is_loss(notes, i) == losses && nr++ < max)
			sonde_text__write_wrapped(x, lead, notes->texts.keys[i]);
	if (nr > max)
		sonde_sink_printf(x->to, "%s%zu more: --all\n", lead, nr - max);
}

static void write_notes(struct sonde_text_export *x)
{
	size_t nr = x->tree->notes.texts.nr, i, nr_losses = 0;

	for (i = 0; i < nr; i++)
		nr_losses += sonde_notes_is_loss(&x->tree->notes, i);
	if (nr == nr_losses)
		return;
	sonde_sink_puts(x->to, "\nnotes\n");
	write_notes_of(x, false, x->options->is_utf8 ? "  \u2022 " : "  * ");
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
			"beside ~: too few samples for a figure, or ± would be above 50 %"},
		[SONDE_MARK_INSIDE] = {"+N ", "+N ", "that many regions inside it; --all shows them"},
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

static void write_selection(struct sonde_text_export *x)
{
	struct sonde_buf line = {0};

	sonde_say_nothing_selected(&line, x->tree, "");
	if (line.n)
		sonde_text__write_wrapped(x, "", sonde_buf_view(&line));
	x->cell.failed |= line.failed;
	sonde_buf_release(&line);
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
		write_notes_of(&x, true, "not whole: "); /* first: all that follows is about the rest */
		write_selection(&x);
		write_stragglers(&x);
		write_coverage(&x, false);
		write_coverage(&x, true);
		write_findings(&x);
	}
	if (rc == 0 && (!sonde_selects_nothing(t) || sonde_has_regions(t))) {
		rc = write_reports(&x, err);
		if (rc == 0 && o->view == SONDE_VIEW_RANKS)
			rc = write_ranks(&x, err);
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
