/* The metric columns of tables on a terminal. */
#include "export/text_int.h"

#include "base/escape.h"
#include "base/number.h"

#include <math.h>

#define LEAST_HEAD 22 /* heads may be cut to this where the table is too wide */
#define MOST_WORDS 24 /* of a metric whose values are words */
#define DROP	   5  /* metrics go before what tables always have; words before numbers */

void sonde_text__put(struct sonde_text_export *x, struct sonde_table *t, uint8_t style)
{
	sonde_table_cell(t, sonde_buf_view(&x->cell), style, 0);
	t->failed |= x->cell.failed;
	sonde_buf_clear(&x->cell);
}

/* Words may be of any length: a list of hundred names must not take the table for itself. */
static void put_words(struct sonde_text_export *x, struct sonde_str text, size_t metric)
{
	size_t nr_dots = x->options->is_utf8 ? 1 : 3;

	sonde_escape_terminal(&x->cell, text, x->options->is_utf8);
	if (sonde_width(sonde_buf_view(&x->cell)) <= MOST_WORDS)
		return;
	x->cut_set |= (uint8_t)(1u << metric);
	x->cell.n = sonde_width_cut(sonde_buf_view(&x->cell), MOST_WORDS - nr_dots).n;
	sonde_buf_puts(&x->cell, x->options->is_utf8 ? "\u2026" : "...");
}

void sonde_text__metric_cells(struct sonde_text_export *x, struct sonde_table *t, uint8_t style)
{
	size_t i;

	for (i = 0; i < x->tree->nr_headline; i++) {
		uint32_t c = x->tree->headline[i];
		const struct sonde_figure *f = &x->figures.at[c];

		if (x->tree->columns.at[c].is_text) {
			put_words(x, f->text, i);
		} else {
			const char *mark = sonde_figure_mark(f, x->options->is_utf8);

			if (*mark && f->quality == SONDE_QUALITY_APPROX)
				x->approx_set |= (uint8_t)(1u << i);
			else if (*mark && f->quality == SONDE_QUALITY_STAT)
				x->stat_set |= (uint8_t)(1u << i);
			else if (*mark && f->quality == SONDE_QUALITY_SAMPLED)
				x->sampled_set |= (uint8_t)(1u << i);
			else if (*mark)
				x->bound_set |= (uint8_t)(1u << i);
			sonde_figure_put(
				&x->cell, f, x->tree->columns.at[c].unit, x->options->is_utf8);
		}
		sonde_text__put(x, t, style);
	}
}

/* A list of constituents, `breakdown:sm__throughput…`, has no unit of its own. */
static struct sonde_str behind_unit(struct sonde_str name)
{
	size_t at = sonde_str_find(name, '_');

	return at + 2 < name.n && name.p[at + 1] == '_' && sonde_str_find(name, ':') > at
		       ? (struct sonde_str){name.p + at + 2, name.n - at - 2}
		       : name;
}

/* A short head where there is one, else the name, without its unit unless that tells it apart. */
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

void sonde_text__metric_columns(struct sonde_text_export *x, struct sonde_table *t)
{
	size_t i;

	for (i = 0; i < x->tree->nr_headline; i++) {
		bool is_text = x->tree->columns.at[x->tree->headline[i]].is_text;

		sonde_escape_terminal(&x->cell, head_of(x->tree, i), x->options->is_utf8);
		sonde_table_column(t, sonde_buf_view(&x->cell), true,
			DROP + (unsigned)i + (is_text ? (unsigned)x->tree->nr_headline : 0));
		if (may_be_cut(x->tree, i))
			sonde_table_least_head(t, LEAST_HEAD);
		sonde_buf_clear(&x->cell);
	}
}
