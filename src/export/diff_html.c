/*
 * A comparison as one HTML page: the report's page with two sides.
 *
 * src/export/html/diff*.js draw the page from the data here. If scripts are switched off, as in the artifacts of some
 * CI servers, the page shows what a Markdown comparison has: sentences and tables.
 */
#include "base/alloc.h"
#include "base/escape.h"
#include "export/diff_shared.h"
#include "export/html_int.h"

#include <math.h>

#define MAX_ROWS   2000 /* rows of the table without scripts; -f json has all */
#define MAX_VALUES 400	/* most entries of a region on a side; if there are more, every n-th is written */

struct diff_page {
	const struct sonde_diff *d;
	const struct sonde_diff_out *o;
	struct sonde_sink *to;
	struct sonde_sink json;
	struct sonde_json w;
	uint32_t *order;
};

/* The CSS class of a verdict: likely changes have the colours of certain ones. */
static const char *class_of(const struct sonde_diff_region *r)
{
	return r->verdict == SONDE_VERDICT_LIKELY_SLOWER   ? "slower"
	       : r->verdict == SONDE_VERDICT_LIKELY_FASTER ? "faster"
							   : sonde_verdict_name(r->verdict);
}

/* --- data ------------------------------------------------------------------------------------- */

static double ms(double ns)
{
	return ns / 1e6;
}

/* Writes one time of a region: medians of an entry, sums of a run, and how it changed. */
static void write_time(struct sonde_json *w, const char *key, const struct sonde_diff_time *t)
{
	sonde_json_open(w, key, '{', true);
	sonde_json_number(w, "base", ms(t->base_ns));
	sonde_json_number(w, "new", ms(t->new_ns));
	sonde_json_number(w, "base_total", ms(t->base_total_ns));
	sonde_json_number(w, "new_total", ms(t->new_total_ns));
	sonde_json_number(w, "ratio", t->ratio);
	sonde_json_number(w, "low", t->low > 0 ? t->low : NAN);
	sonde_json_number(w, "high", isinf(t->high) ? NAN : t->high);
	sonde_json_z(w, "verdict", sonde_verdict_words(t->verdict));
	sonde_json_close(w, '}');
}

static void write_times(struct sonde_json *w, const struct sonde_diff_region *r)
{
	size_t i;

	sonde_json_open(w, "times", '{', true);
	for (i = 0; i < SONDE_NR_ENTRY_TIMES; i++)
		if (r->times[i].is_known)
			write_time(w, sonde_diff_time_name((enum sonde_entry_time)i), &r->times[i]);
	sonde_json_close(w, '}');
}

/* Writes the times of entries in the order of the run. */
static void write_half(
	struct sonde_json *w, const char *key, const struct sonde_diff *d, const struct sonde_diff_half *h)
{
	const double *v = d->values.at + h->first_value;
	uint32_t step = (h->nr_values + MAX_VALUES - 1) / MAX_VALUES, i;

	if (!h->is_there) {
		sonde_json_null(w, key);
		return;
	}
	sonde_json_open(w, key, '{', true);
	sonde_json_number(w, "entries", h->entries);
	sonde_json_number(w, "launches", h->launches);
	sonde_json_number(w, "median", ms(h->median_ns));
	sonde_json_number(w, "total", ms(h->total_ns));
	sonde_json_number(w, "busy", ms(h->busy_ns));
	sonde_json_number(w, "idle", ms(h->idle_ns));
	sonde_json_u64(w, "step", step);
	sonde_json_open(w, "v", '[', true);
	for (i = 0; i < h->nr_values; i += step)
		sonde_json_tight(w, ms(v[i]), i == 0);
	sonde_json_close(w, ']');
	sonde_json_close(w, '}');
}

static void write_kernels(struct sonde_json *w, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	size_t i;

	sonde_json_each(w, "kernels", true, i, r->nr_kernels) {
		const struct sonde_diff_kernel *k = &d->kernels.at[r->first_kernel + i];

		sonde_json_str(w, "name", k->name);
		sonde_json_number(w, "base", ms(k->base_ns));
		sonde_json_number(w, "new", ms(k->new_ns));
		sonde_json_number(w, "base_calls", k->base_calls);
		sonde_json_number(w, "new_calls", k->new_calls);
	}
}

/* Writes the metrics that both sides have, and how they changed. */
static void write_metrics(struct sonde_json *w, const struct sonde_diff *d, size_t region)
{
	size_t i;

	sonde_json_open(w, "metrics", '[', true);
	for (i = 0; i < d->columns.nr; i++) {
		const struct sonde_diff_metric *m = &d->metrics.at[region * d->columns.nr + i];

		if (m->change == SONDE_METRIC_NONE)
			continue;
		sonde_json_open(w, NULL, '{', true);
		sonde_json_u64(w, "c", i);
		sonde_json_number(w, "base", m->base.v);
		sonde_json_number(w, "base_error", m->base.high - m->base.v);
		sonde_json_number(w, "new", m->new_figure.v);
		sonde_json_number(w, "new_error", m->new_figure.high - m->new_figure.v);
		sonde_json_z(w, "change", sonde_metric_change_name(m->change));
		sonde_json_close(w, '}');
	}
	sonde_json_close(w, ']');
}

static void write_region(struct diff_page *p, uint32_t number)
{
	const struct sonde_diff_region *r = &p->d->regions.at[number];
	struct sonde_json *w = &p->w;
	struct sonde_buf words = {0};

	sonde_json_str(w, "id", sonde_region_path(r->id, r->kind));
	sonde_json_str(w, "n", r->label);
	sonde_json_z(w, "mark", sonde_region_kind_mark(r->kind));
	sonde_json_number(w, "parent", r->parent == SONDE_NONE ? -1.0 : r->parent);
	sonde_json_z(w, "class", class_of(r));
	sonde_diff_out__verdict(&words, p->d, r);
	sonde_json_str(w, "verdict", sonde_buf_view(&words));
	sonde_json_z(w, "time", sonde_diff_time_name(r->time));
	if (r->is_step)
		sonde_json_bool(w, "step", true);
	if (r->twin != SONDE_NONE)
		sonde_json_u64(w, "twin", r->twin);
	sonde_json_number(w, "ratio", r->ratio);
	sonde_json_number(w, "low", r->low > 0 ? r->low : NAN);
	sonde_json_number(w, "high", isinf(r->high) ? NAN : r->high);
	sonde_json_number(w, "delta", ms(sonde_diff_region_delta(r)));
	write_times(w, r);
	write_half(w, "base", p->d, &r->base);
	write_half(w, "new", p->d, &r->new_half);
	write_kernels(w, p->d, r);
	write_metrics(w, p->d, number);
	p->json.buf.failed |= words.failed;
	sonde_buf_release(&words);
	sonde_html__pour(p->to, &p->json);
}

static void write_words(struct sonde_json *w, const char *key, struct sonde_words words)
{
	size_t i;

	sonde_json_array(w, key, true, i, words.nr)
		sonde_json_z(w, NULL, words.at[i]);
}

/* Writes the notes of the runs: losses, or all others. */
static void write_notes(struct diff_page *p, const char *key, bool losses)
{
	struct sonde_diff_note n;
	size_t at = 0;

	sonde_json_open(&p->w, key, '[', true);
	while (sonde_diff_out__next_note(p->d, &at, &n)) {
		if (n.is_loss != losses)
			continue;
		sonde_json_open(&p->w, NULL, '{', true);
		sonde_json_z(&p->w, "side", n.side);
		sonde_json_str(&p->w, "text", n.text);
		sonde_json_close(&p->w, '}');
	}
	sonde_json_close(&p->w, ']');
}

static void write_texts(struct sonde_json *w, const char *key, const struct sonde_notes *notes)
{
	sonde_json_texts(w, key, notes->texts.keys, notes->texts.nr, true);
}

/* Writes how the gate ended, then the other reasons of that. */
static void write_gate(struct sonde_json *w, const struct sonde_diff *d)
{
	struct sonde_buf words = {0};
	size_t i;

	if (sonde_diff_out__gate(d))
		sonde_diff_out__put_gate(&words, d, sonde_buf_str);
	sonde_json_maybe(w, "gate", sonde_diff_out__gate(d) ? sonde_buf_view(&words) : (struct sonde_str){NULL, 0});
	w->sink->buf.failed |= words.failed;
	sonde_buf_release(&words);
	sonde_json_open(w, "gate_reasons", '[', true);
	for (i = 1; i < d->gate_regions.texts.nr; i++)
		sonde_json_str(w, NULL, d->gate_regions.texts.keys[i]);
	for (i = 0; i < d->gate_reasons.texts.nr; i++)
		sonde_json_str(w, NULL, d->gate_reasons.texts.keys[i]);
	sonde_json_close(w, ']');
}

static int write_data(void *of)
{
	struct diff_page *p = of;
	const struct sonde_diff *d = p->d;
	struct sonde_json *w = &p->w;
	size_t i;

	sonde_json_open(w, NULL, '{', true);
	write_words(w, "base", p->o->base);
	write_words(w, "new", p->o->new_side);
	sonde_json_u64(w, "base_runs", d->nr_base_runs);
	sonde_json_u64(w, "new_runs", d->nr_new_runs);
	write_texts(w, "sentences", &d->sentences);
	write_gate(w, d);
	sonde_json_bool(w, "gate_failed", d->gate > SONDE_GATE_INSUFFICIENT);
	write_texts(w, "reasons", &d->reasons);
	write_texts(w, "warnings", &d->warnings);
	write_notes(p, "losses", true);
	write_notes(p, "notes", false);
	sonde_json_each(w, "columns", true, i, d->columns.nr) {
		sonde_json_str(w, "n", d->columns.at[i].name);
		sonde_json_str(w, "h", d->columns.at[i].head);
		sonde_json_z(w, "u", d->columns.at[i].unit);
	}
	sonde_json_array(w, "order", true, i, d->regions.nr)
		sonde_json_u64(w, NULL, p->order[i]);
	sonde_json_each(w, "regions", true, i, d->regions.nr)
		write_region(p, (uint32_t)i);
	sonde_json_close(w, '}');
	sonde_html__pour(p->to, &p->json);
	return p->json.buf.failed ? SONDE_ERR_NOMEM : 0;
}

/* --- without scripts -------------------------------------------------------------------------- */

static void put_text(struct sonde_sink *to, struct sonde_str s)
{
	sonde_escape_xml(&to->buf, s);
}

static void write_row(struct sonde_sink *to, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	size_t i;

	sonde_sink_puts(to, "<tr><td title=\"");
	put_text(to, sonde_region_path(r->id, r->kind));
	sonde_sink_puts(to, "\">");
	for (i = 0; i < r->depth && i < 20; i++)
		sonde_sink_puts(to, "\u00a0\u00a0");
	sonde_sink_puts(to, "<code>");
	put_text(to, r->label);
	sonde_sink_printf(to, "</code>%s</td>", sonde_region_kind_mark(r->kind));
	for (i = 0; i < SONDE_NR_DIFF_FIGURES; i++) {
		sonde_sink_puts(to, "<td>");
		sonde_diff_out__figure(&to->buf, r, (enum sonde_diff_figure)i);
		sonde_sink_puts(to, "</td>");
	}
	sonde_sink_printf(to, "<td class=\"v %s\">", class_of(r));
	sonde_diff_out__put_verdict(&to->buf, d, r, sonde_escape_xml);
	sonde_sink_puts(to, "</td></tr>\n");
}

static void write_table(struct sonde_sink *to, const struct sonde_diff *d, const uint32_t *order)
{
	size_t i, nr = d->regions.nr < MAX_ROWS ? d->regions.nr : MAX_ROWS;

	sonde_sink_puts(to, "<table>\n<tr><th>region</th><th>base ms</th><th>new ms</th><th>\u0394 ms</th><th>\u0394 %</th>"
			    "<th>95 %</th><th>GPU \u0394 %</th><th class=\"v\">verdict</th></tr>\n");
	for (i = 0; i < nr; i++)
		write_row(to, d, &d->regions.at[order[i]]);
	sonde_sink_puts(to, "</table>\n");
	if (nr < d->regions.nr)
		sonde_sink_printf(to, "<p>\u2026 and %zu more regions.</p>\n", d->regions.nr - nr);
}

static void write_inputs(struct sonde_sink *to, const char *side, struct sonde_words inputs)
{
	size_t i;

	sonde_sink_printf(to, "<p>%s:", side);
	for (i = 0; i < inputs.nr; i++) {
		sonde_sink_puts(to, " <code>");
		put_text(to, sonde_str_from(inputs.at[i]));
		sonde_sink_puts(to, "</code>");
	}
	sonde_sink_puts(to, "</p>\n");
}

static void write_plain(void *of)
{
	struct diff_page *p = of;
	const struct sonde_diff *d = p->d;
	struct sonde_sink *to = p->to;
	size_t i;

	sonde_sink_puts(to, "\n<h1>Profile comparison</h1>\n");
	write_inputs(to, "base", p->o->base);
	write_inputs(to, "new", p->o->new_side);
	for (i = 0; i < d->sentences.texts.nr; i++) {
		sonde_sink_puts(to, i == 0 ? "<p><b>" : i == 1 ? "<ol>\n<li>" : "<li>");
		put_text(to, d->sentences.texts.keys[i]);
		sonde_sink_puts(to, i == 0 ? "</b></p>\n" : "</li>\n");
	}
	sonde_sink_puts(to, i > 1 ? "</ol>\n" : "");
	if (sonde_diff_out__gate(d)) {
		sonde_sink_puts(to, "<p>Gate ");
		sonde_diff_out__put_gate(&to->buf, d, sonde_escape_xml);
		sonde_sink_puts(to, ".</p>\n");
	}
	sonde_diff_out__gate_notes(to, d, (const char *const[]){"<p>Gate: ", "</p>\n"}, sonde_escape_xml);
	sonde_diff_out__side_notes(to, d, true, (const char *const[]){"<p>Not whole: ", "</p>\n"}, sonde_escape_xml);
	sonde_diff_out__notes(to, &d->reasons, "<p>Not comparable: ", "</p>\n", sonde_escape_xml);
	sonde_diff_out__notes(to, &d->warnings, "<p>Differs: ", "</p>\n", sonde_escape_xml);
	write_table(to, d, p->order);
	sonde_diff_out__metrics_html(d, p->order, to);
	sonde_diff_out__side_notes(to, d, false, (const char *const[]){"<p>Note, ", "</p>\n"}, sonde_escape_xml);
}

int sonde_export_diff_html(const struct sonde_diff *d, const struct sonde_diff_out *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct diff_page p = {.d = d, .o = o, .to = to, .order = sonde_diff_out__order(d)};
	const struct sonde_html_page page = {SONDE_PAGE_DIFF, SONDE_STR("comparison"), write_data, write_plain, &p};
	int rc;

	sonde_sink_init_string(&p.json);
	p.w.sink = &p.json;
	rc = p.order && sonde_html__put_page(to, &page) == 0 ? 0 : sonde_err_nomem(err);
	sonde_sink_abort(&p.json);
	sonde_free(p.order);
	return rc;
}
