/* The reports of the page: nodes, their figures, their kernels, all as columns. */
#include "base/alloc.h"
#include "tree/idle.h"
#include "tree/roofline.h"
#include "export/html_int.h"

#include <math.h>
#include <string.h>

void sonde_html__write_list(struct sonde_json *w, const char *key, const double *at, size_t nr)
{
	size_t i;

	SONDE_JSON_LIST(w, key, i, nr, at[i]);
}

/*
 * The figures of many rows, column by column, as the page gets them. A column that is the same in every row takes the
 * space of one value.
 */
struct matrix {
	size_t nr_rows, nr_columns;
	const uint32_t *columns; /* numbers of the tree's columns; borrowed */
	double *v, *low, *high;	 /* column after column; low and high NULL = not wanted */
	char *marks;		 /* how each figure was made: see mark_of */
	double *methods;	 /* number of the method, among those of its column */
	bool has_others;	 /* some figure was made by a method after the second */
	struct sonde_str *texts; /* values of text columns */
};

/*
 * How a figure was made, in one letter: e exact, a approximate, u an upper bound, l a lower bound, x a bound and y an
 * approximation whose limits meet (no mark), c constant, s statistic, t statistic of launches that differ, p sampled.
 * An upper-case letter says that the column's second method was used. For further methods the matrix has their numbers.
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

static void matrix_release(struct matrix *m)
{
	sonde_free(m->v);
	sonde_free(m->low);
	sonde_free(m->high);
	sonde_free(m->marks);
	sonde_free(m->texts);
	sonde_free(m->methods);
	*m = (struct matrix){0};
}

static int matrix_init(struct matrix *m, size_t nr_rows, const uint32_t *columns,
	size_t nr_columns, bool with_bounds)
{
	size_t nr = nr_rows * nr_columns + 1;

	*m = (struct matrix){
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
	matrix_release(m);
	return SONDE_ERR_NOMEM;
}

static void matrix_set(struct matrix *m, const struct sonde_tree *t, size_t row,
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

/* Writes one column: one value if all rows agree, else a list. */
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
	struct matrix *m, const double *v, const char *key, struct sonde_json *w)
{
	size_t i;

	sonde_json_array(w, key, true, i, m->nr_columns)
		write_column(w, v + i * m->nr_rows, m->nr_rows);
}

static void matrix_write(
	struct matrix *m, const struct sonde_tree *t, const char *key, struct sonde_json *w)
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

static bool has_field(const struct sonde_field *f, const struct sonde_report *r)
{
	size_t i;

	for (i = 0; i < r->nodes.nr; i++)
		if (!isnan(sonde_field_number(f, r, &r->nodes.at[i])))
			return true;
	return false;
}

static void write_fields(struct sonde_html *h, const struct sonde_report *r)
{
	size_t i, k;

	sonde_json_array(&h->x.w, "f", true, i, sonde_nr_fields) {
		const struct sonde_field *f = &sonde_fields[i];

		if (has_field(f, r))
			SONDE_JSON_LIST(&h->x.w, NULL, k, r->nodes.nr, sonde_field_number(f, r, &r->nodes.at[k]));
		else
			sonde_json_null(&h->x.w, NULL);
	}
}

/* SONDE_NONE becomes -1. */
static double number_or_none(uint32_t number)
{
	return number == SONDE_NONE ? -1.0 : number;
}

static void write_structure(struct sonde_html *h, const struct sonde_report *r)
{
	const struct sonde_node *n = r->nodes.at;
	struct sonde_json *w = &h->x.w;
	size_t nr = r->nodes.nr, i;

	SONDE_JSON_LIST(w, "region", i, nr, number_or_none(n[i].region));
	SONDE_JSON_LIST(w, "parent", i, nr, number_or_none(n[i].parent));
	SONDE_JSON_LIST(w, "k0", i, nr, number_or_none(n[i].first_kernel));
	SONDE_JSON_LIST(w, "kn", i, nr, n[i].nr_kernels);
	if (r->streams.nr)
		SONDE_JSON_LIST(w, "s0", i, nr, number_or_none(n[i].first_stream));
}

/* Writes operations and bytes by row, and where operations are a lower bound. */
static void write_rooflines(struct sonde_json *w, const struct sonde_roofline *roofs, size_t nr)
{
	size_t i;

	SONDE_JSON_LIST(w, "flop", i, nr, roofs[i].flop);
	SONDE_JSON_LIST(w, "dram", i, nr, roofs[i].dram_bytes);
	for (i = 0; i < nr && !roofs[i].at_least; i++)
		;
	if (i < nr)
		SONDE_JSON_LIST(w, "least", i, nr, roofs[i].at_least != NULL);
}

/* A word as a letter: 'a' is the first of sonde_bound_words; '-' if the capture does not show it. */
static char letter_of(const char *word)
{
	size_t n = sonde_bound_number(word);

	return n < SONDE_NR_BOUNDS ? (char)('a' + n) : '-';
}

/* Writes inclusive figures: of the nodes, then of the totals and of launches outside all regions. */
static int write_inclusive(struct sonde_html *h, const struct sonde_report *r)
{
	const struct sonde_tree *t = h->x.tree;
	struct sonde_figures *f = &h->x.figures;
	size_t nr = r->nodes.nr, i;
	struct sonde_roofline *roofs = sonde_calloc(nr + 1, sizeof(*roofs));
	struct sonde_buf limiters = {0}, bounds = {0};
	struct matrix m = {0};

	if (!roofs || matrix_init(&m, nr + 2, h->region_columns, h->nr_region_columns, true)) {
		sonde_free(roofs);
		return sonde_err_nomem(h->err);
	}
	for (i = 0; i < nr; i++) {
		sonde_tree_values(t, r, SONDE_PART_INCLUSIVE, (uint32_t)i, f);
		matrix_set(&m, t, i, f);
		roofs[i] = sonde_roofline_of(t, f, r->nodes.at[i].time_ns);
		sonde_buf_putc(&limiters, letter_of(sonde_limiter(t, f)));
		sonde_buf_putc(&bounds, letter_of(sonde_bound(t, f, &r->nodes.at[i])));
	}
	sonde_tree_values(t, r, SONDE_PART_TOTAL, 0, f);
	matrix_set(&m, t, nr, f);
	sonde_tree_values(t, r, SONDE_PART_OUTSIDE, 0, f);
	matrix_set(&m, t, nr + 1, f);
	matrix_write(&m, t, "inc", &h->x.w);
	sonde_json_str(&h->x.w, "limiter", sonde_buf_view(&limiters));
	sonde_json_str(&h->x.w, "bound", sonde_buf_view(&bounds));
	write_rooflines(&h->x.w, roofs, nr);
	matrix_release(&m);
	sonde_buf_release(&limiters);
	sonde_buf_release(&bounds);
	sonde_free(roofs);
	return 0;
}

/* Writes exclusive figures of nodes with children; those of a leaf are its inclusive ones. */
static int write_exclusive(struct sonde_html *h, const struct sonde_report *r)
{
	const struct sonde_node *nodes = r->nodes.at;
	struct matrix m;
	size_t i, nr = 0;

	for (i = 0; i + 1 < r->nodes.nr; i++)
		nr += nodes[i + 1].parent == i;
	if (matrix_init(&m, nr, h->region_columns, h->nr_region_columns, h->x.tree->cells->sampled.nr > 0))
		return sonde_err_nomem(h->err);
	for (i = 0, nr = 0; i + 1 < r->nodes.nr; i++) {
		if (nodes[i + 1].parent != i)
			continue;
		sonde_tree_values(h->x.tree, r, SONDE_PART_EXCLUSIVE, (uint32_t)i, &h->x.figures);
		matrix_set(&m, h->x.tree, nr++, &h->x.figures);
	}
	matrix_write(&m, h->x.tree, "exc", &h->x.w);
	matrix_release(&m);
	return 0;
}

static int write_kernels(struct sonde_html *h, const struct sonde_report *r)
{
	const struct sonde_tree *t = h->x.tree;
	const struct sonde_kernel *k = r->kernels.at;
	struct sonde_json *w = &h->x.w;
	size_t nr = r->kernels.nr, i;
	struct sonde_roofline *roofs = sonde_calloc(nr + 1, sizeof(*roofs));
	struct sonde_buf limiters = {0};
	struct matrix m = {0};
	int rc;

	if (!roofs || matrix_init(&m, nr, h->kernel_columns, h->nr_kernel_columns, t->cells->sampled.nr > 0)) {
		sonde_free(roofs);
		return sonde_err_nomem(h->err);
	}
	for (i = 0; i < nr; i++) {
		sonde_tree_values(t, r, SONDE_PART_KERNEL, (uint32_t)i, &h->x.figures);
		matrix_set(&m, t, i, &h->x.figures);
		roofs[i] = sonde_roofline_of(t, &h->x.figures, k[i].time_ns);
		sonde_buf_putc(&limiters, letter_of(sonde_kernel_is_copy(t, r, &k[i]) ? NULL : sonde_limiter(t, &h->x.figures)));
	}
	sonde_json_open(w, "kernels", '{', true);
	SONDE_JSON_LIST(w, "name", i, nr, k[i].name);
	SONDE_JSON_LIST(w, "calls", i, nr, (double)k[i].calls);
	SONDE_JSON_LIST(w, "ns", i, nr, k[i].time_ns);
	sonde_json_str(w, "limiter", sonde_buf_view(&limiters));
	write_rooflines(w, roofs, nr);
	matrix_write(&m, t, "m", w);
	rc = sonde_html__write_stalls(h, r);
	sonde_json_close(w, '}');
	matrix_release(&m);
	h->json.buf.failed |= limiters.failed;
	sonde_buf_release(&limiters);
	sonde_free(roofs);
	return rc;
}

static void write_streams(struct sonde_html *h, const struct sonde_report *r)
{
	const struct sonde_stream_work *s = r->streams.at;
	struct sonde_json *w = &h->x.w;
	size_t nr = r->streams.nr, i;

	if (!nr)
		return;
	sonde_json_open(w, "streams", '{', true);
	SONDE_JSON_LIST(w, "context", i, nr, s[i].context);
	SONDE_JSON_LIST(w, "stream", i, nr, (double)s[i].stream);
	SONDE_JSON_LIST(w, "launches", i, nr, (double)s[i].launches);
	SONDE_JSON_LIST(w, "ms", i, nr, s[i].time_ns / 1e6);
	SONDE_JSON_LIST(w, "busy_ms", i, nr, s[i].busy_ns / 1e6);
	sonde_json_close(w, '}');
}

/* Writes the entries by node, as report.json has them. A single entry says nothing that the times do not. */
static void write_entries(struct sonde_html *h, const struct sonde_report *r)
{
	size_t i;

	if (!h->x.first_ns)
		return;
	sonde_json_each(&h->x.w, "entries", true, i, r->nodes.nr) {
		if (r->nodes.at[i].instances > 1)
			sonde_json__write_entries(&h->x, r, &r->nodes.at[i]);
	}
}

/* Writes the times in which nothing ran, the longest first, on the clock of the entries. */
static void write_gaps(struct sonde_html *h, const struct sonde_report *r)
{
	const struct sonde_gap *at[SONDE_NR_GAPS];
	size_t nr = sonde_report_gaps(h->x.tree, r, at), i;
	struct sonde_json *w = &h->x.w;

	if (!nr || !h->x.first_ns)
		return;
	sonde_json_each(w, "gaps", true, i, nr) {
		sonde_json_number(w, "region", number_or_none(at[i]->region));
		sonde_json_number(w, "before", number_or_none(at[i]->before));
		sonde_json_number(
			w, "begin_ms", ((double)at[i]->begin_ns - (double)h->x.first_ns) / 1e6);
		sonde_json_number(w, "ms", (double)at[i]->ns / 1e6);
		sonde_json_z(w, "cause", sonde_idle_cause_name(at[i]->cause));
		sonde_json_z(w, "why", sonde_gap_words(h->x.tree, at[i]));
		if (r->nr_scopes > 1)
			sonde_json_str(w, "on", h->x.tree->reports.at[at[i]->scope].name);
	}
}

static void write_facts(struct sonde_html *h, const struct sonde_report *r)
{
	struct sonde_json *w = &h->x.w;
	const struct sonde_scope *scope = sonde_report_scope(h->x.tree, r);

	sonde_json_str(w, "scope", r->name);
	sonde_json_bool(w, "aggregate", r->is_aggregate);
	sonde_json_z(w, "measured", sonde_measured_name(r->measured));
	sonde_json_u64(w, "nr_scopes", r->nr_scopes);
	sonde_json_number(w, "process", scope ? scope->process : NAN);
	sonde_json_number(w, "device", scope && scope->device != SONDE_NONE ? scope->device : NAN);
	sonde_json_u64(w, "launches", r->launches);
	sonde_json_number(w, "ms", r->time_ns / 1e6);
	sonde_json_u64(w, "outside_launches", r->outside_launches);
	sonde_json_number(w, "outside_ms", r->outside_time_ns / 1e6);
	sonde_json_u64(w, "outside_k0", r->outside_first_kernel);
	sonde_json_u64(w, "outside_kn", r->nr_outside_kernels);
	sonde_json_u64(w, "flat_k0", r->flat_first_kernel);
	sonde_json_u64(w, "flat_kn", r->nr_flat_kernels);
}

static int write_report(struct sonde_html *h, const struct sonde_report *r)
{
	int rc;

	sonde_json_open(&h->x.w, NULL, '{', true);
	write_facts(h, r);
	write_structure(h, r);
	write_fields(h, r);
	sonde_html__drain(h);
	write_entries(h, r);
	sonde_html__drain(h);
	write_gaps(h, r);
	rc = write_inclusive(h, r);
	sonde_html__drain(h);
	if (rc == 0)
		rc = write_exclusive(h, r);
	sonde_html__drain(h);
	if (rc == 0)
		rc = write_kernels(h, r);
	sonde_html__drain(h);
	write_streams(h, r);
	sonde_json_close(&h->x.w, '}');
	return rc;
}

int sonde_html__write_reports(struct sonde_html *h)
{
	const struct sonde_tree *t = h->x.tree;
	int rc = 0;
	size_t i;

	sonde_json_open(&h->x.w, "reports", '[', true);
	for (i = 0; i < t->reports.nr && rc == 0; i++)
		if (sonde_report_is_shown(&t->reports.at[i], h->x.options) &&
			!sonde_report_is_doubled(t, &t->reports.at[i], h->x.options))
			rc = write_report(h, &t->reports.at[i]);
	sonde_json_close(&h->x.w, ']');
	return rc;
}
