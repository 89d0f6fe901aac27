/* A comparison on a terminal: what happened in sentences, then the tree. */
#include "export/diff_shared.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "base/wrap.h"
#include "export/table.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_NAME 20
#define MAX_INDENT 12
#define MAX_ROWS   20
#define MAX_ALL	   100
#define INDENT	   3 /* of the further lines of a sentence */

/* The regions that have a row: those of `order` for which `is_shown` is true, in that order. */
struct rows {
	const struct sonde_diff *d;
	uint32_t *order; /* all regions, depth-first; choose_rows leaves only the shown ones */
	bool *is_shown;	 /* by region */
	bool takes_undecided;	 /* not only the step: undecided regions have rows, because they are asked for, or there are no others … */
	bool is_undecided;	 /* … which is the case here */
	size_t nr, nr_undecided; /* rows; undecided regions that have no row */
};

/* The units of times: one for both sides, one for the change. */
struct scales {
	struct sonde_scale side, delta;
};

static void put_heads(struct sonde_table *t, const struct scales *s)
{
	static const char *const before[] = {"0region", ">3entries", NULL};
	static const char *const after[][5] = {{">0diff %", ">495 %", ">5GPU %", "0verdict", NULL},
		{">0\u0394 %", ">495 %", ">5GPU \u0394 %", "0verdict", NULL}};

	sonde_table_heads(t, before);
	sonde_scale_column(t, &s->side, SONDE_STR("base ms"), 2);
	sonde_scale_column(t, &s->side, SONDE_STR("new ms"), 1);
	sonde_scale_column(t, &s->delta, sonde_str_from(t->is_utf8 ? "\u0394 ms" : "diff ms"), 0);
	sonde_table_heads(t, after[t->is_utf8]);
}

static uint8_t style_of(const struct sonde_diff_region *r)
{
	switch (r->verdict) {
	case SONDE_VERDICT_SLOWER:
	case SONDE_VERDICT_LIKELY_SLOWER:
		return SONDE_STYLE_LATENCY;
	case SONDE_VERDICT_FASTER:
	case SONDE_VERDICT_LIKELY_FASTER:
		return SONDE_STYLE_COMPUTE;
	case SONDE_VERDICT_ADDED:
	case SONDE_VERDICT_REMOVED:
		return SONDE_STYLE_BOLD;
	default:
		return SONDE_STYLE_DIM;
	}
}

/*
 * Writes the name, indented by the rows it is inside of. Regions in between that have no row become part of the name.
 */
static void put_name(struct sonde_table *t, const struct rows *rows, const struct sonde_diff_region *r)
{
	const struct sonde_diff_region *all = rows->d->regions.at, *hidden[MAX_INDENT], *top = r;
	size_t depth = 0, nr = 0;
	uint32_t i;

	for (i = r->parent; i != SONDE_NONE && !rows->is_shown[i]; i = all[i].parent) {
		top = &all[i];
		if (nr < MAX_INDENT)
			hidden[nr++] = top;
	}
	for (; i != SONDE_NONE; i = all[i].parent)
		depth += rows->is_shown[i];
	for (depth = depth < MAX_INDENT ? depth : MAX_INDENT; depth; depth--)
		sonde_buf_puts(&t->cell, "  ");
	if (nr && hidden[nr - 1] != top)
		sonde_buf_puts(&t->cell, t->is_utf8 ? "\u2026/" : ".../");
	for (; nr; nr--) {
		sonde_table_label(t, hidden[nr - 1]->depth == 0 ? hidden[nr - 1]->domain : (struct sonde_str){0}, hidden[nr - 1]->label);
		sonde_buf_putc(&t->cell, '/');
	}
	sonde_table_label(t, r->depth == 0 ? r->domain : (struct sonde_str){0}, r->label);
	sonde_table_words(t, sonde_region_kind_mark(r->kind));
}

static void put_entries(struct sonde_table *t, const struct sonde_diff_region *r)
{
	double a = r->base.entries, b = r->new_half.entries;

	if (!r->base.is_there || !r->new_half.is_there || a == b)
		sonde_buf_printf(&t->cell, "%.6g", r->new_half.is_there ? b : a);
	else
		sonde_buf_printf(&t->cell, "%.6g > %.6g", a, b);
	sonde_table_put(t, SONDE_STYLE_PLAIN);
}

static double side_ms(const struct sonde_diff_half *h)
{
	return h->is_there ? h->median_ns / 1e6 : NAN;
}

static struct scales choose_scales(
	const struct sonde_diff *d, const uint32_t *order, size_t nr, bool is_utf8)
{
	struct scales s = {0};
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[order[i]];

		sonde_scale_add(&s.side, side_ms(&r->base));
		sonde_scale_add(&s.side, side_ms(&r->new_half));
		sonde_scale_add(&s.delta, fabs(sonde_diff_region_delta(r)) / 1e6);
	}
	sonde_scale_choose(&s.side, s.side.most, is_utf8);
	sonde_scale_choose(&s.delta, s.delta.most, is_utf8);
	return s;
}

static void put_row(struct sonde_table *t, const struct rows *rows, const struct sonde_diff_region *r, const struct scales *s)
{
	double delta = sonde_diff_region_delta(r);
	struct sonde_buf verdict = {0};

	put_name(t, rows, r);
	put_entries(t, r);
	sonde_scale_put(t, &s->side, side_ms(&r->base));
	sonde_scale_put(t, &s->side, side_ms(&r->new_half));
	if (delta > 0)
		sonde_buf_putc(&t->cell, '+');
	sonde_scale_print(&t->cell, &s->delta, delta / 1e6);
	sonde_table_put(t, style_of(r));
	sonde_diff_out__percent(&t->cell, r->ratio);
	sonde_table_put(t, style_of(r));
	sonde_diff_out__interval(&t->cell, r, t->is_utf8);
	sonde_table_put(t, SONDE_STYLE_DIM);
	sonde_diff_out__figure(&t->cell, r, SONDE_DIFF_GPU);
	sonde_table_put(t, SONDE_STYLE_DIM);
	sonde_diff_out__verdict(&verdict, rows->d, r);
	sonde_table_text(t, sonde_buf_view(&verdict), style_of(r));
	t->failed |= verdict.failed;
	sonde_buf_release(&verdict);
}

/* --- which rows ------------------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b, void *context)
{
	const struct sonde_diff_region *regions = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	double x = sonde_diff_out__weight(&regions[i]), y = sonde_diff_out__weight(&regions[k]);

	return x != y ? (x > y ? -1 : 1) : i < k ? -1 : i > k;
}

static bool is_undecided(const struct sonde_diff_region *r)
{
	return r->verdict == SONDE_VERDICT_INSUFFICIENT;
}

/* The step always has a row: everybody looks for it first. */
static bool takes_region(const struct rows *rows, uint32_t region)
{
	const struct sonde_diff_region *r = &rows->d->regions.at[region];

	return rows->takes_undecided || r->is_step || !is_undecided(r);
}

/* Shows a region together with the regions around it, if all of them fit. */
static void show_with_parents(struct rows *rows, uint32_t region, size_t max)
{
	const struct sonde_diff_region *all = rows->d->regions.at;
	size_t missing = 0;
	uint32_t i;

	for (i = region; i != SONDE_NONE && !rows->is_shown[i]; i = all[i].parent)
		missing += takes_region(rows, i);
	if (rows->nr + missing > max)
		return;
	for (i = region; i != SONDE_NONE && !rows->is_shown[i]; i = all[i].parent)
		rows->is_shown[i] = takes_region(rows, i);
	rows->nr += missing;
}

/*
 * Chooses the step and the regions that changed most. Undecided ones have a row if they are asked for, or if there are no
 * others.
 */
static int choose_rows(struct rows *rows, const struct sonde_diff_out *o, struct sonde_err *err)
{
	const struct sonde_diff *d = rows->d;
	size_t max = o->max_regions ? o->max_regions : o->shows_all ? MAX_ALL : MAX_ROWS, nr = d->regions.nr, i, n = 0,
	       nr_undecided = 0;
	uint32_t *heaviest = sonde_malloc((nr + 1) * sizeof(*heaviest));

	rows->is_shown = sonde_calloc(nr + 1, sizeof(*rows->is_shown));
	if (!heaviest || !rows->is_shown) {
		sonde_free(heaviest);
		return sonde_err_nomem(err);
	}
	for (i = 0; i < nr; i++) {
		heaviest[i] = (uint32_t)i;
		nr_undecided += is_undecided(&d->regions.at[i]);
	}
	rows->is_undecided = nr_undecided == nr;
	rows->takes_undecided = o->shows_all || rows->is_undecided;
	qsort_r(heaviest, nr, sizeof(*heaviest), by_weight, d->regions.at);
	for (i = 0; i < nr; i++) {
		rows->nr_undecided += !takes_region(rows, (uint32_t)i);
		if (d->regions.at[i].is_step)
			show_with_parents(rows, (uint32_t)i, max);
	}
	for (i = 0; i < nr; i++)
		if (takes_region(rows, heaviest[i]))
			show_with_parents(rows, heaviest[i], max);
	sonde_free(heaviest);
	for (i = 0; i < nr; i++)
		if (rows->is_shown[rows->order[i]])
			rows->order[n++] = rows->order[i];
	return 0;
}

/* Wraps lines of escaped text: further lines of a sentence are indented. */
static void wrap_lines(const struct sonde_sink *lines, const struct sonde_diff_out *o, struct sonde_sink *to)
{
	struct sonde_str rest = sonde_buf_view(&lines->buf);

	to->buf.failed |= lines->buf.failed;
	while (rest.n)
		sonde_wrap(to, sonde_str_cut(rest, '\n', &rest),
			(struct sonde_margins){0, INDENT, o->width ? o->width : 100});
}

/* Says what has no row, and how to see it. */
static void write_rest(const struct rows *rows, struct sonde_sink *to)
{
	size_t nr = rows->d->regions.nr - rows->nr - rows->nr_undecided;

	if (nr)
		sonde_sink_printf(to, "... and %zu more region%s (--max-regions, -f json)\n", nr, nr == 1 ? "" : "s");
	if (rows->is_undecided)
		sonde_sink_printf(to, "too few or too noisy entries to say whether any region changed: compare %s\n",
			rows->d->nr_base_runs > 1 && rows->d->nr_new_runs > 1 ? "more runs per side, or longer ones"
									      : "several runs per side (`sonde run --base-cmd`)");
	if (rows->nr_undecided)
		sonde_sink_printf(to, "%zu region%s too few or too noisy entries to be compared (--all)\n",
			rows->nr_undecided, rows->nr_undecided == 1 ? " has" : "s have");
}

static int write_table(const struct rows *rows, const struct sonde_diff_out *o, struct sonde_sink *to,
	struct sonde_err *err)
{
	const struct sonde_diff *d = rows->d;
	struct sonde_table t = {.is_utf8 = o->is_utf8,
		.is_coloured = o->is_coloured,
		.least_name = LEAST_NAME,
		.least_last = 12};
	struct sonde_buf dropped = {0};
	struct scales scales = choose_scales(d, rows->order, rows->nr, t.is_utf8);
	struct sonde_sink lines;
	size_t i;
	int rc;

	put_heads(&t, &scales);
	for (i = 0; i < rows->nr; i++)
		put_row(&t, rows, &d->regions.at[rows->order[i]], &scales);
	rc = sonde_table_print(&t, to, o->width ? o->width : 100, &dropped, err);
	sonde_sink_init_string(&lines);
	if (dropped.n)
		sonde_sink_printf(&lines, "no room for: %.*s (--width N)\n", SONDE_STR_ARG(sonde_buf_view(&dropped)));
	write_rest(rows, &lines);
	sonde_sink_puts(&lines,
		"times: median of an entry, from the end of earlier work until it and all that it launched had ended (wall time); "
		"GPU time where that is not known, else host time\n");
	if (rc == 0)
		wrap_lines(&lines, o, to);
	sonde_sink_abort(&lines);
	sonde_buf_release(&dropped);
	sonde_table_release(&t);
	return rc;
}

static void escape_utf8(struct sonde_buf *to, struct sonde_str text)
{
	sonde_escape_sentence(to, text, true);
}

static void escape_ascii(struct sonde_buf *to, struct sonde_str text)
{
	sonde_escape_sentence(to, text, false);
}

static void write_sentences(
	const struct sonde_diff *d, sonde_diff_escape *escape, struct sonde_sink *to)
{
	size_t i;

	for (i = 0; i < d->sentences.texts.nr; i++) {
		if (i)
			sonde_sink_printf(to, "%zu. ", i);
		escape(&to->buf, d->sentences.texts.keys[i]);
		sonde_sink_putc(to, '\n');
	}
}

/* Writes the tree, and the metrics that changed. */
static int write_tables(const struct sonde_diff *d, const struct sonde_diff_out *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	uint32_t *order = sonde_diff_out__order(d);
	struct rows rows = {.d = d, .order = sonde_diff_out__order(d)};
	int rc = order && rows.order ? choose_rows(&rows, o, err) : sonde_err_nomem(err);

	if (rc == 0) {
		sonde_sink_putc(to, '\n');
		rc = write_table(&rows, o, to, err);
	}
	if (rc == 0)
		rc = sonde_diff_out__metrics_text(d, o, order, to, err);
	sonde_free(order);
	sonde_free(rows.order);
	sonde_free(rows.is_shown);
	return rc;
}

/* Writes "base: before.sonde", or the first of several runs and how many there are. */
static void write_side(const char *side, struct sonde_words inputs, bool is_utf8, struct sonde_sink *to)
{
	if (!inputs.nr)
		return;
	sonde_sink_printf(to, "%-5s ", side);
	sonde_escape_terminal(&to->buf, sonde_str_from(inputs.at[0]), is_utf8);
	if (inputs.nr > 1)
		sonde_sink_printf(to, " and %zu more run%s", inputs.nr - 1, inputs.nr == 2 ? "" : "s");
	sonde_sink_putc(to, '\n');
}

int sonde_export_diff_text(const struct sonde_diff *d, const struct sonde_diff_out *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	sonde_diff_escape *escape = o->is_utf8 ? escape_utf8 : escape_ascii;
	struct sonde_sink lines;
	int rc = 0;

	write_side("base:", o->base, o->is_utf8, to);
	write_side("new:", o->new_side, o->is_utf8, to);
	sonde_sink_init_string(&lines);
	write_sentences(d, escape, &lines);
	if (sonde_diff_out__gate(d)) {
		sonde_sink_puts(&lines, "gate: ");
		sonde_diff_out__put_gate(&lines.buf, d, escape);
		sonde_sink_putc(&lines, '\n');
	}
	sonde_diff_out__gate_notes(&lines, d, (const char *const[]){"gate: ", "\n"}, escape);
	sonde_diff_out__side_notes(&lines, d, true, (const char *const[]){"not whole: ", "\n"}, escape);
	sonde_diff_out__notes(&lines, &d->reasons, "not comparable: ", "\n", escape);
	sonde_diff_out__notes(&lines, &d->warnings, "differs: ", "\n", escape);
	wrap_lines(&lines, o, to);
	if (d->regions.nr)
		rc = write_tables(d, o, to, err);
	sonde_buf_clear(&lines.buf);
	sonde_diff_out__side_notes(&lines, d, false, (const char *const[]){"note: ", "\n"}, escape);
	wrap_lines(&lines, o, to);
	sonde_sink_abort(&lines);
	return rc;
}
