#include "export/html_int.h"

#include "base/alloc.h"

#include <math.h>

/*
 * How a figure was made, in one letter: e exact, a approximate, u an upper and l
 * a lower bound, x and y a bound and an approximation whose limits meet (no
 * mark), c constant, s statistic, t one of launches that differ, p sampled. Upper
 * case: by the column's second method. For methods beyond it the matrix has their numbers.
 */
static char mark_of(const struct sonde_figure *f)
{
	const char *mark = sonde_figure_mark(f, false);
	char c = 'e';

	if (f->quality == SONDE_QUALITY_APPROX)
		c = *mark ? 'a' : 'y';
	else if (f->quality == SONDE_QUALITY_BOUND)
		c = *mark == '>' ? 'l' : *mark ? 'u' : 'x';
	else if (f->quality == SONDE_QUALITY_CONST)
		c = 'c';
	else if (f->quality == SONDE_QUALITY_STAT)
		c = *mark ? 't' : 's';
	else if (f->quality == SONDE_QUALITY_SAMPLED)
		c = 'p';
	return f->method == 1 ? (char)(c - 'a' + 'A') : c;
}

int sonde_matrix__init(struct sonde_matrix *m, size_t nr_rows, const uint32_t *columns,
	size_t nr_columns, bool with_bounds)
{
	size_t nr = nr_rows * nr_columns + 1;

	*m = (struct sonde_matrix){
		.nr_rows = nr_rows, .nr_columns = nr_columns, .columns = columns};
	m->v = sonde_calloc(nr, sizeof(*m->v));
	m->marks = sonde_calloc(nr, 1);
	m->texts = sonde_calloc(nr, sizeof(*m->texts));
	m->methods = sonde_calloc(nr, sizeof(*m->methods));
	if (with_bounds) {
		m->low = sonde_calloc(nr, sizeof(*m->low));
		m->high = sonde_calloc(nr, sizeof(*m->high));
	}
	if (m->v && m->marks && m->texts && m->methods && (!with_bounds || (m->low && m->high)))
		return 0;
	sonde_matrix__release(m);
	return SONDE_ERR_NOMEM;
}

void sonde_matrix__release(struct sonde_matrix *m)
{
	sonde_free(m->v);
	sonde_free(m->low);
	sonde_free(m->high);
	sonde_free(m->marks);
	sonde_free(m->texts);
	sonde_free(m->methods);
	*m = (struct sonde_matrix){0};
}

void sonde_matrix__set(struct sonde_matrix *m, const struct sonde_tree *t, size_t row,
	const struct sonde_figures *f)
{
	size_t i;

	for (i = 0; i < m->nr_columns; i++) {
		const struct sonde_figure *figure = &f->at[m->columns[i]];
		size_t at = i * m->nr_rows + row;

		m->v[at] = figure->v;
		m->marks[at] = mark_of(figure);
		m->methods[at] = figure->method;
		m->has_others |= figure->method > 1;
		if (t->columns.at[m->columns[i]].is_text)
			m->texts[at] = figure->text;
		if (m->low) {
			m->low[at] = figure->low;
			m->high[at] = figure->high;
		}
	}
}

static bool is_same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* One column: one value when all rows agree, else a list. */
static void write_column(struct sonde_json *w, const double *v, size_t nr)
{
	size_t i;

	for (i = 1; i < nr && is_same(v[i], v[0]); i++)
		;
	if (i >= nr)
		sonde_json_number(w, NULL, nr ? v[0] : NAN);
	else
		sonde_html__write_list(w, NULL, v, nr);
}

static void write_marks(struct sonde_json *w, const char *marks, size_t nr)
{
	size_t i;

	for (i = 1; i < nr && marks[i] == marks[0]; i++)
		;
	sonde_json_str(w, NULL, (struct sonde_str){marks, i >= nr && nr ? 1 : nr});
}

static void write_part(
	struct sonde_matrix *m, const double *v, const char *key, struct sonde_json *w)
{
	size_t i;

	sonde_json_array(w, key, true, i, m->nr_columns)
		write_column(w, v + i * m->nr_rows, m->nr_rows);
}

void sonde_matrix__write(
	struct sonde_matrix *m, const struct sonde_tree *t, const char *key, struct sonde_json *w)
{
	size_t i;

	sonde_json_open(w, key, '{', true);
	sonde_json_array(w, "v", true, i, m->nr_columns) {
		if (t->columns.at[m->columns[i]].is_text)
			sonde_json_texts(w, NULL, m->texts + i * m->nr_rows, m->nr_rows, true);
		else
			write_column(w, m->v + i * m->nr_rows, m->nr_rows);
	}
	sonde_json_array(w, "q", true, i, m->nr_columns)
		write_marks(w, m->marks + i * m->nr_rows, m->nr_rows);
	if (m->has_others)
		write_part(m, m->methods, "k", w);
	if (m->low) {
		write_part(m, m->low, "lo", w);
		write_part(m, m->high, "hi", w);
	}
	sonde_json_close(w, '}');
}
