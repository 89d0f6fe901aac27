/* The parts that writers of comparisons share: the order of regions, cells of tables, notes, the gate in words, metrics. */
#include "export/diff_shared.h"

#include "base/alloc.h"
#include "base/depth_first.h"
#include "base/escape.h"
#include "export/field.h"
#include "export/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- order ------------------------------------------------------------------------------------ */

struct order {
	const struct sonde_diff_region *regions;
	double *weights; /* by region: the largest change in it, in ns of a run; below 0 = none */
};

double sonde_diff_out__weight(const struct sonde_diff_region *r)
{
	double entries = fmax(fmax(r->base.entries, r->new_half.entries), 1);
	double change = fabs(sonde_diff_region_delta(r)) * entries;

	if (r->verdict == SONDE_VERDICT_SAME || isnan(change))
		return -1;
	/* Changes that are not proven come after those that are, whatever their size. */
	return r->verdict == SONDE_VERDICT_INSUFFICIENT ? change * 1e-9 : change;
}

static int by_scope_and_weight(const void *a, const void *b, void *context)
{
	const struct order *o = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t in_x = o->regions[x].scope_nr, in_y = o->regions[y].scope_nr;

	if (in_x != in_y)
		return in_x < in_y ? -1 : 1;
	if (o->weights[x] != o->weights[y])
		return o->weights[x] > o->weights[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

uint32_t *sonde_diff_out__order(const struct sonde_diff *d)
{
	size_t nr = d->regions.nr, i;
	struct order o = {d->regions.at, sonde_malloc((nr + 1) * sizeof(*o.weights))};
	uint32_t *out = sonde_malloc((nr + 1) * sizeof(*out)), parent,
		 *sorted = sonde_malloc((nr + 1) * sizeof(*sorted));
	bool ok = o.weights && out && sorted;

	for (i = 0; ok && i < nr; i++) {
		o.weights[i] = sonde_diff_out__weight(&d->regions.at[i]);
		sorted[i] = (uint32_t)i;
	}
	for (i = nr; ok && i-- > 0;) {
		parent = d->regions.at[i].parent;
		if (parent != SONDE_NONE)
			o.weights[parent] = fmax(o.weights[parent], o.weights[i]);
	}
	if (ok && nr) {
		qsort_r(sorted, nr, sizeof(*sorted), by_scope_and_weight, &o);
		ok = sonde_depth_first(
			out, sorted, nr, &d->regions.at->parent, sizeof(*d->regions.at));
	}
	sonde_free(o.weights);
	sonde_free(sorted);
	if (ok)
		return out;
	sonde_free(out);
	return NULL;
}

/* --- cells ------------------------------------------------------------------------------------ */

void sonde_diff_out__ms(struct sonde_buf *b, double ns)
{
	double v = ns / 1e6, size = fabs(v);

	if (isnan(v))
		sonde_buf_putc(b, '-');
	else
		sonde_buf_printf(b, "%.*f", size >= 1000 ? 0 : size >= 10 ? 2 : 4, v);
}

void sonde_diff_out__percent(struct sonde_buf *b, double ratio)
{
	if (isnan(ratio))
		sonde_buf_putc(b, '-');
	else
		sonde_buf_printf(b, "%+.1f %%", 100 * (ratio - 1));
}

void sonde_diff_out__interval(struct sonde_buf *b, const struct sonde_diff_region *r, bool is_utf8)
{
	if (!sonde_diff_interval_matters(r))
		sonde_buf_putc(b, '-');
	else
		sonde_buf_printf(b, "%+.1f %s %+.1f", 100 * (r->low - 1),
			is_utf8 ? "\u2026" : "...", 100 * (r->high - 1));
}

/* Appends the region that this one may be on the other side, or that it went into or out of a CUDA graph. */
static void put_twin(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const struct sonde_diff_region *t = &d->regions.at[r->twin];
	const struct sonde_diff_region *now = r->verdict == SONDE_VERDICT_ADDED ? r : t;
	bool is_whole = r->nr_parts > 0;

	if (r->likeness == SONDE_LIKE_GRAPH) {
		sonde_buf_puts(b, now->kind == SONDE_REGION_GRAPH ? ", now in the graph" : ", now outside the graph");
		return;
	}
	sonde_buf_printf(b, ", %s? ", sonde_likeness_name(r->likeness));
	sonde_buf_str(b, r->likeness == SONDE_LIKE_MOVED ? sonde_region_path(t->id, t->kind) : t->label);
	sonde_buf_puts(b, sonde_region_kind_mark(t->kind));
	if (is_whole)
		sonde_buf_printf(b, " and %u more", r->nr_parts - 1);
}

void sonde_diff_out__verdict(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const char *cause = sonde_diff_cause_words(r);

	sonde_buf_puts(b, sonde_verdict_words(r->verdict));
	if (r->twin != SONDE_NONE) {
		put_twin(b, d, r);
	} else if (r->is_half_gpu) {
		sonde_buf_puts(b, ", by host time: one side alone works on the GPU");
	} else if (r->verdict == SONDE_VERDICT_INSUFFICIENT && r->needed < 1e9) {
		sonde_buf_puts(b, ", needs ");
		sonde_diff_needed_put(b, r);
	} else if (cause && r->ratio > 0 && r->verdict != SONDE_VERDICT_SAME) {
		sonde_buf_printf(b, ", %s", cause);
	}
}

void sonde_diff_out__figure(struct sonde_buf *b, const struct sonde_diff_region *r, enum sonde_diff_figure which)
{
	double delta = sonde_diff_region_delta(r);

	switch (which) {
	case SONDE_DIFF_BASE:
		sonde_diff_out__ms(b, r->base.is_there ? r->base.median_ns : NAN);
		break;
	case SONDE_DIFF_NEW:
		sonde_diff_out__ms(b, r->new_half.is_there ? r->new_half.median_ns : NAN);
		break;
	case SONDE_DIFF_DELTA:
		sonde_buf_puts(b, delta > 0 ? "+" : "");
		sonde_diff_out__ms(b, delta);
		break;
	case SONDE_DIFF_PERCENT:
		sonde_diff_out__percent(b, r->ratio);
		break;
	case SONDE_DIFF_INTERVAL:
		sonde_diff_out__interval(b, r, true);
		break;
	case SONDE_DIFF_GPU:
		sonde_diff_out__percent(b, r->times[SONDE_ENTRY_GPU].is_known ? r->times[SONDE_ENTRY_GPU].ratio : NAN);
		break;
	}
}

void sonde_diff_out__put_verdict(struct sonde_buf *to, const struct sonde_diff *d,
	const struct sonde_diff_region *r, sonde_diff_escape *escape)
{
	struct sonde_buf words = {0};

	sonde_diff_out__verdict(&words, d, r);
	escape(to, sonde_buf_view(&words));
	to->failed |= words.failed;
	sonde_buf_release(&words);
}

static void put_notes(struct sonde_sink *to, const struct sonde_notes *notes, size_t first, const char *const around[2], sonde_diff_escape *escape)
{
	size_t i;

	for (i = first; i < notes->texts.nr; i++) {
		sonde_sink_puts(to, around[0]);
		escape(&to->buf, notes->texts.keys[i]);
		sonde_sink_puts(to, around[1]);
	}
}

void sonde_diff_out__notes(struct sonde_sink *to, const struct sonde_notes *notes,
	const char *before, const char *after, sonde_diff_escape *escape)
{
	put_notes(to, notes, 0, (const char *const[]){before, after}, escape);
}

void sonde_diff_out__gate_notes(struct sonde_sink *to, const struct sonde_diff *d, const char *const around[2], sonde_diff_escape *escape)
{
	put_notes(to, &d->gate_regions, 1, around, escape);
	put_notes(to, &d->gate_reasons, 0, around, escape);
}

bool sonde_diff_out__next_note(const struct sonde_diff *d, size_t *at, struct sonde_diff_note *out)
{
	const struct sonde_notes *base = &d->base_notes, *now = &d->new_notes;
	size_t i;

	for (; *at < base->texts.nr + now->texts.nr; ++*at) {
		bool is_new = *at >= base->texts.nr;
		const struct sonde_notes *own = is_new ? now : base, *other = is_new ? base : now;
		uint32_t same;

		i = is_new ? *at - base->texts.nr : *at;
		same = sonde_map_find(&other->texts, own->texts.keys[i]);
		if (is_new && same != SONDE_NONE)
			continue; /* it was returned with the notes of the base */
		*out = (struct sonde_diff_note){same != SONDE_NONE ? "both" : is_new ? "new" : "base",
			own->texts.keys[i],
			sonde_notes_is_loss(own, i) ||
				(same != SONDE_NONE && sonde_notes_is_loss(other, same))};
		++*at;
		return true;
	}
	return false;
}

#define MOST_NOTES 20 /* -f json has all notes */

void sonde_diff_out__side_notes(struct sonde_sink *to, const struct sonde_diff *d, bool losses,
	const char *const around[2], sonde_diff_escape *escape)
{
	struct sonde_diff_note n;
	size_t at = 0, nr = 0;

	if (losses && d->gate == SONDE_GATE_DAMAGED)
		return; /* the gate has said so */
	while (sonde_diff_out__next_note(d, &at, &n)) {
		if (n.is_loss != losses || nr++ >= MOST_NOTES)
			continue;
		sonde_sink_printf(to, "%s%s: ", around[0], n.side);
		escape(&to->buf, n.text);
		sonde_sink_puts(to, around[1]);
	}
	if (nr > MOST_NOTES)
		sonde_sink_printf(to, "%s%zu more (-f json)%s", around[0], nr - MOST_NOTES, around[1]);
}

const char *sonde_diff_out__gate(const struct sonde_diff *d)
{
	static const char *const words[] = {NULL, "passed",
		"undecided", "not passed: the regions it checks were not compared", "failed",
		"not passed: an input is damaged or not whole (--partial-inputs compares what is there)"};

	if (d->gate == SONDE_GATE_INSUFFICIENT && d->options.allows_insufficient)
		return "undecided, and let pass";
	return words[d->gate];
}

void sonde_diff_out__put_gate(struct sonde_buf *to, const struct sonde_diff *d, sonde_diff_escape *escape)
{
	sonde_buf_puts(to, sonde_diff_out__gate(d));
	if (!d->gate_regions.texts.nr)
		return;
	sonde_buf_puts(to, ": ");
	escape(to, d->gate_regions.texts.keys[0]);
}

/* --- metrics ---------------------------------------------------------------------------------- */

/*
 * Writes the metrics that are higher or lower than before, one row each, in the order of the regions: as text, Markdown
 * and HTML. -f json has all metrics, changed or not.
 */
#define MOST_METRICS 20 /* rows below the table of regions; the sentences name what matters */

struct metric_row {
	const struct sonde_diff_region *region;
	const struct sonde_diff_column *column;
	const struct sonde_diff_metric *metric;
};

/* Finds the next row from `*at` on, which counts the columns of the regions in order; false = there is none. */
static bool next_row(const struct sonde_diff *d, const uint32_t *order, size_t *at, struct metric_row *out)
{
	size_t nr = d->columns.nr;

	for (; *at < d->metrics.nr; (*at)++) {
		uint32_t region = order[*at / nr];
		size_t column = *at % nr;
		const struct sonde_diff_metric *m = &d->metrics.at[region * nr + column];

		if (m->change != SONDE_METRIC_HIGHER && m->change != SONDE_METRIC_LOWER)
			continue;
		*out = (struct metric_row){&d->regions.at[region], &d->columns.at[column], m};
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

static void put_row(struct sonde_table *t, const struct metric_row *r)
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

/* Adds the first `max` rows; returns how many there are. */
static size_t fill_metric_table(struct sonde_table *t, const struct sonde_diff *d, const uint32_t *order, size_t max)
{
	static const char *const heads[] = {"0region", "0metric", ">0base", ">0new", "0change", NULL};
	struct metric_row row;
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
	nr = fill_metric_table(&t, d, order, MOST_METRICS);
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
	nr = fill_metric_table(&t, d, order, MOST_METRICS);
	sonde_table_print_markdown(&t, to);
	if (nr < all)
		sonde_sink_printf(to, "\n\u2026 and %zu more metrics.\n", all - nr);
	sonde_table_release(&t);
}

void sonde_diff_out__metrics_html(
	const struct sonde_diff *d, const uint32_t *order, struct sonde_sink *to)
{
	size_t at = 0, i, all = count_rows(d);
	struct metric_row r;

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

#define ENTRY(name, extension) {#name, extension, sonde_export_diff_##name},
static const struct {
	const char *name, *extension;
	sonde_diff_writer *write;
} formats[] = {SONDE_DIFF_FORMATS(ENTRY)};

#define NR_FORMATS (sizeof(formats) / sizeof(*formats))

sonde_diff_writer *sonde_diff_writer_named(const char *format)
{
	size_t i;

	for (i = 0; i < NR_FORMATS; i++)
		if (strcmp(formats[i].name, format) == 0)
			return formats[i].write;
	return NULL;
}

const char *sonde_diff_format_of_file(struct sonde_str path)
{
	size_t i;

	for (i = 0; i < NR_FORMATS; i++)
		if (sonde_str_ends(path, formats[i].extension))
			return formats[i].name;
	return NULL;
}
