/* A comparison for a pull request: sentences, then a table of what changed. */
#include "export/diff_shared.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "export/table.h"

#define MAX_ROWS 100

static const char *mark_of(const struct sonde_diff_region *r)
{
	static const char *const marks[SONDE_NR_VERDICTS] = {
		"", "\U0001F534 ", "\U0001F7E2 ", "\U0001F534 ", "\U0001F7E2 ", "", "\u2795 ", "\u2796 "};

	return marks[r->verdict];
}

static void put_row(struct sonde_table *t, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	size_t i;

	sonde_table_region(t, r->id, r->kind);
	sonde_table_put(t, SONDE_STYLE_PLAIN);
	for (i = 0; i < SONDE_NR_DIFF_FIGURES; i++) {
		sonde_diff_out__figure(&t->cell, r, (enum sonde_diff_figure)i);
		sonde_table_put(t, SONDE_STYLE_PLAIN);
	}
	sonde_buf_puts(&t->cell, mark_of(r));
	sonde_diff_out__put_verdict(&t->cell, d, r, sonde_escape_markdown);
	sonde_table_put(t, SONDE_STYLE_PLAIN);
}

/* The step has a row even if it did not change: everybody looks for it first. */
static bool has_row(const struct sonde_diff_region *r)
{
	return r->verdict != SONDE_VERDICT_SAME || r->is_step;
}

static void write_table(
	const struct sonde_diff *d, const uint32_t *order, size_t max, struct sonde_sink *to)
{
	static const char *const heads[] = {"0region", ">0base ms", ">0new ms", ">0\u0394 ms", ">0\u0394 %", ">095 %", ">0GPU \u0394 %",
		"0verdict", NULL};
	struct sonde_table t = {.escape = sonde_escape_markdown, .is_utf8 = true};
	size_t i, nr = 0, nr_steps = 0, all = 0, same;

	for (i = 0; i < d->regions.nr; i++) {
		nr_steps += d->regions.at[i].is_step;
		all += has_row(&d->regions.at[i]);
	}
	sonde_table_heads(&t, heads);
	for (i = 0; i < d->regions.nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[order[i]];

		if (!has_row(r) || (nr + nr_steps >= max && !r->is_step)) /* steps that are still to come have a row */
			continue;
		put_row(&t, d, r);
		nr++;
		nr_steps -= r->is_step;
	}
	if (all)
		sonde_table_print_markdown(&t, to);
	sonde_table_release(&t);
	same = d->regions.nr - all;
	if (all > nr)
		sonde_sink_printf(to, "\n\u2026 and %zu more.\n", all - nr);
	if (same)
		sonde_sink_printf(to, "\n%zu %s the same within %g %% and not listed.\n", same, same == 1 ? "region is" : "regions are",
			100 * d->options.min_effect);
}

int sonde_export_diff_md(const struct sonde_diff *d, const struct sonde_diff_out *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	static const char *const gates[] = {"", " \u00b7 gate passed", " \u00b7 gate undecided",
		" \u00b7 gate NOT PASSED", " \u00b7 gate FAILED", " \u00b7 gate NOT PASSED"};
	uint32_t *order = sonde_diff_out__order(d);
	size_t i;

	if (!order)
		return sonde_err_nomem(err);
	sonde_sink_printf(to, "### Profile comparison%s\n\n", gates[d->gate]);
	for (i = 0; i < d->sentences.texts.nr; i++) {
		if (i)
			sonde_sink_printf(to, "%zu. ", i);
		sonde_escape_markdown(&to->buf, d->sentences.texts.keys[i]);
		sonde_sink_puts(to, i ? "\n" : "\n\n");
	}
	sonde_sink_putc(to, '\n');
	if (d->gate_regions.texts.nr) {
		sonde_sink_puts(to, "- **Gate:** ");
		sonde_diff_out__put_gate(&to->buf, d, sonde_escape_markdown);
		sonde_sink_putc(to, '\n');
	}
	sonde_diff_out__gate_notes(to, d, (const char *const[]){"- **Gate:** ", "\n"}, sonde_escape_markdown);
	sonde_diff_out__side_notes(
		to, d, true, (const char *const[]){"- **Not whole:** ", "\n"}, sonde_escape_markdown);
	sonde_diff_out__notes(to, &d->reasons, "- **Not comparable:** ", "\n", sonde_escape_markdown);
	sonde_diff_out__notes(to, &d->warnings, "- **Differs:** ", "\n", sonde_escape_markdown);
	if (d->regions.nr)
		write_table(d, order, o->max_regions ? o->max_regions : MAX_ROWS, to);
	sonde_diff_out__metrics_md(d, order, to);
	sonde_sink_puts(to,
		"\nTimes are medians of an entry: wall time (from the end of earlier work) where both sides have it, else GPU time, "
		"else host time.\n");
	sonde_diff_out__side_notes(
		to, d, false, (const char *const[]){"\nNote, ", "\n"}, sonde_escape_markdown);
	sonde_free(order);
	return 0;
}
