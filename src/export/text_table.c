/* Tables on a terminal: their style, their metric columns, bars, and which marks the legend must explain. */
#include "export/text_int.h"

#include "base/escape.h"

#include <math.h>

#define LEAST_HEAD 22 /* width that heads may be cut to if the table is too wide */
#define MOST_WORDS 24 /* most columns for a metric whose value is words */
#define DROP	   6  /* metrics go before the columns that every table has; words go before numbers */
#define BAR_CELLS  8
#define LASTING	   3  /* the first sampled metrics stay longest, because a run without ncu is made for them */

struct sonde_table sonde_text__table(const struct sonde_export_options *o, size_t least_name)
{
	return (struct sonde_table){
		.is_utf8 = o->is_utf8, .is_coloured = o->is_coloured, .least_name = least_name};
}

int sonde_text__finish(struct sonde_text_export *x, struct sonde_table *t, struct sonde_err *err)
{
	int rc;

	sonde_sink_putc(x->to, '\n');
	rc = sonde_table_print(t, x->to, x->width, &x->dropped, err);
	sonde_table_release(t);
	return rc;
}

/*
 * Puts words into the cell, cut to MOST_WORDS: a list of a hundred names must not take the whole table. Returns whether
 * they were cut.
 */
static bool put_words(struct sonde_table *t, struct sonde_str text)
{
	size_t nr_dots = t->is_utf8 ? 1 : 3;

	sonde_table_name(t, text);
	if (sonde_width(sonde_buf_view(&t->cell)) <= MOST_WORDS)
		return false;
	t->cell.n = sonde_width_cut(sonde_buf_view(&t->cell), MOST_WORDS - nr_dots).n;
	sonde_buf_puts(&t->cell, t->is_utf8 ? "\u2026" : "...");
	return true;
}

static enum sonde_text_mark mark_of(const struct sonde_figure *f)
{
	return f->quality == SONDE_QUALITY_APPROX    ? SONDE_MARK_APPROX
	       : f->quality == SONDE_QUALITY_STAT    ? SONDE_MARK_STAT
	       : f->quality == SONDE_QUALITY_SAMPLED ? SONDE_MARK_SAMPLED
						     : SONDE_MARK_BOUND;
}

void sonde_text__put_metric_cells(
	struct sonde_text_export *x, struct sonde_table *t, uint8_t style, bool has_work)
{
	size_t i;

	for (i = 0; i < x->tree->nr_headline; i++) {
		const struct sonde_column *c = &x->tree->columns.at[x->tree->headline[i]];
		const struct sonde_figure *f = &x->figures.at[x->tree->headline[i]];
		uint8_t bit = (uint8_t)(1u << i);

		if (c->is_text) {
			x->marks[SONDE_MARK_CUT] |= put_words(t, f->text) ? bit : 0;
		} else {
			x->marks[mark_of(f)] |= *sonde_figure_mark(f, t->is_utf8) ? bit : 0;
			if (isnan(f->v) && c->sampled != SONDE_NONE && has_work)
				x->marks[SONDE_MARK_UNKNOWN] |= bit;
			sonde_figure_put(&t->cell, f, c->unit, t->is_utf8);
		}
		sonde_table_put(t, style);
	}
}

/* The name without its unit. A list of constituents, `breakdown:sm__throughput…`, has no unit of its own. */
static struct sonde_str behind_unit(struct sonde_str name)
{
	size_t at = sonde_str_find(name, '_');

	return at + 2 < name.n && name.p[at + 1] == '_' && sonde_str_find(name, ':') > at
		       ? (struct sonde_str){name.p + at + 2, name.n - at - 2}
		       : name;
}

/* A short head if there is one, else the name. The name loses its unit, unless the unit makes it unique. */
static struct sonde_str head_of(const struct sonde_tree *t, size_t i)
{
	struct sonde_str name = t->columns.at[t->headline[i]].name;
	struct sonde_str head = sonde_headline_head(t, i);
	size_t k;

	if (head.p != name.p)
		return head;
	head = behind_unit(name);
	for (k = 0; k < t->nr_headline; k++)
		if (k != i && sonde_str_eq(behind_unit(t->columns.at[t->headline[k]].name), head))
			return name;
	return head;
}

/* Whether no other head begins like this one, so that it may be cut. */
static bool may_be_cut(const struct sonde_tree *t, size_t i)
{
	struct sonde_str cut = sonde_width_cut(head_of(t, i), LEAST_HEAD - 3);
	size_t k;

	for (k = 0; k < t->nr_headline; k++)
		if (k != i && sonde_str_eq(sonde_width_cut(head_of(t, k), LEAST_HEAD - 3), cut))
			return false;
	return true;
}

bool sonde_text__has_sampled(const struct sonde_text_export *x)
{
	return x->tree->nr_headline && x->tree->columns.at[x->tree->headline[0]].sampled != SONDE_NONE;
}

void sonde_text__add_metric_columns(struct sonde_text_export *x, struct sonde_table *t)
{
	size_t i;

	for (i = 0; i < x->tree->nr_headline; i++) {
		bool is_text = x->tree->columns.at[x->tree->headline[i]].is_text;

		sonde_table_name(t, head_of(x->tree, i));
		sonde_table_column(t, sonde_buf_view(&t->cell), true,
			i < LASTING && sonde_text__has_sampled(x) && x->options->view != SONDE_VIEW_IDLE /* causes were asked for */
				? 1
				: DROP + (unsigned)i + (is_text ? (unsigned)x->tree->nr_headline : 0));
		if (may_be_cut(x->tree, i))
			sonde_table_least_head(t, LEAST_HEAD);
		sonde_buf_clear(&t->cell);
	}
}

void sonde_text__put_bar(struct sonde_table *t, double pct)
{
	static const char *const eighths[] = {
		"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
	int n = isnan(pct) ? 0 : (int)(pct / 100 * BAR_CELLS * 8 + 0.5);
	int i;

	n = n > BAR_CELLS * 8 ? BAR_CELLS * 8 : n;
	if (n == 0 && pct > 0)
		n = 1;
	for (i = 0; i < n / 8; i++)
		sonde_buf_puts(&t->cell, t->is_utf8 ? "\u2588" : "#");
	if (t->is_utf8)
		sonde_buf_puts(&t->cell, eighths[n % 8]);
	else if (n % 8 >= 4 || n < 8)
		sonde_buf_puts(&t->cell, n ? "#" : "");
	sonde_table_put(t, SONDE_STYLE_BAR);
}

int sonde_text__print(
	struct sonde_text_export *x, struct sonde_table *t, size_t first, struct sonde_err *err)
{
	int rc = sonde_table_print(t, x->to, x->width, &x->dropped, err);
	size_t i, k;

	for (k = 0; k < SONDE_NR_MARKS; k++) {
		for (i = 0; rc == 0 && i < x->tree->nr_headline; i++)
			x->has[k] |= !t->columns.at[first + i].is_gone && x->marks[k] >> i & 1;
		x->marks[k] = 0;
	}
	return rc;
}
