/*
 * Cholesky factorisation within an envelope: every row is stored from its first entry to the
 * diagonal. The reversed order of Cuthill and McKee keeps neighbours close and rows
 * short; the background meets all columns and comes last.
 *
 * The diagonal of a factor holds the reciprocals of its elements, so that solving multiplies and never
 * divides. The diagonal element of a column that is left out is 0, which makes its x 0.
 */
#include "unmix/unmix_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct node {
	uint32_t column, degree;
};

static int compare_nodes(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->degree != y->degree)
		return x->degree < y->degree ? -1 : 1;
	return (x->column > y->column) - (x->column < y->column);
}

static uint32_t degree_of(const struct sonde_unmix__gram *g, uint32_t k)
{
	return (uint32_t)(g->row[k + 1] - g->row[k]);
}

/* Appends the columns that `from` meets and that are not taken yet, those with the fewest meetings first. */
static uint32_t take_neighbours(struct node *nodes, uint32_t nr, const struct sonde_unmix__gram *g,
	uint32_t from, uint32_t limit, bool *taken)
{
	uint32_t begin = nr;
	size_t j;

	for (j = g->row[from]; j < g->row[from + 1]; j++) {
		uint32_t k = g->at.at[j].column;

		if (k >= limit || taken[k])
			continue;
		taken[k] = true;
		nodes[nr++] = (struct node){k, degree_of(g, k)};
	}
	qsort(nodes + begin, nr - begin, sizeof(*nodes), compare_nodes);
	return nr;
}

static int order_columns(struct sonde_unmix__envelope *e, struct sonde_arena *arena,
	const struct sonde_unmix__gram *g, uint32_t limit)
{
	struct node *roots = sonde_arena_alloc(arena, limit * sizeof(*roots));
	struct node *nodes = sonde_arena_alloc(arena, limit * sizeof(*nodes));
	bool *taken = sonde_arena_calloc(arena, limit, sizeof(*taken));
	uint32_t nr = 0, at = 0, k;

	if (arena->failed)
		return SONDE_ERR_NOMEM;
	for (k = 0; k < limit; k++)
		roots[k] = (struct node){k, degree_of(g, k)};
	qsort(roots, limit, sizeof(*roots), compare_nodes);
	for (k = 0; k < limit; k++) {
		if (!taken[roots[k].column]) {
			taken[roots[k].column] = true;
			nodes[nr++] = roots[k];
		}
		for (; at < nr; at++)
			nr = take_neighbours(nodes, nr, g, nodes[at].column, limit, taken);
	}
	for (k = 0; k < limit; k++)
		e->order[k] = nodes[limit - 1 - k].column;
	for (k = limit; k < e->nr; k++)
		e->order[k] = k;
	for (k = 0; k < e->nr; k++)
		e->place[e->order[k]] = k;
	return 0;
}

static void measure_rows(struct sonde_unmix__envelope *e, const struct sonde_unmix__gram *g)
{
	uint32_t p;
	size_t j;

	for (p = 0; p < e->nr; p++) {
		uint32_t k = e->order[p];

		e->first[p] = p;
		for (j = g->row[k]; j < g->row[k + 1]; j++) {
			uint32_t other = e->place[g->at.at[j].column];

			e->first[p] = other < e->first[p] ? other : e->first[p];
		}
		e->row[p] = e->nr_values;
		e->nr_values += p - e->first[p] + 1;
	}
	for (p = 0; p < e->nr; p++) {
		for (j = e->first[p]; j < p; j++) {
			uint32_t from = e->first[p] > e->first[j] ? e->first[p] : e->first[j];

			e->work += j > from ? (double)(j - from) : 1;
		}
	}
}

int sonde_unmix__envelope_build(struct sonde_unmix__envelope *e, struct sonde_arena *arena,
	const struct sonde_unmix__gram *g, uint32_t nr_background)
{
	*e = (struct sonde_unmix__envelope){.nr = g->nr, .nr_background = nr_background};
	e->order = sonde_arena_alloc(arena, e->nr * sizeof(*e->order));
	e->place = sonde_arena_alloc(arena, e->nr * sizeof(*e->place));
	e->first = sonde_arena_alloc(arena, e->nr * sizeof(*e->first));
	e->row = sonde_arena_alloc(arena, e->nr * sizeof(*e->row));
	if (arena->failed || order_columns(e, arena, g, g->nr - nr_background) < 0)
		return SONDE_ERR_NOMEM;
	measure_rows(e, g);
	return 0;
}

/* Four sums side by side, for speed. Their order is fixed, so the result is the same on every machine. */
static double dot(const double *a, const double *b, size_t nr)
{
	double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
	size_t i;

	for (i = 0; i + 4 <= nr; i += 4) {
		s0 += a[i] * b[i];
		s1 += a[i + 1] * b[i + 1];
		s2 += a[i + 2] * b[i + 2];
		s3 += a[i + 3] * b[i + 3];
	}
	for (; i < nr; i++)
		s0 += a[i] * b[i];
	return (s0 + s1) + (s2 + s3);
}

/* The offset of row `p` in a factor, such that (factor + row_at(…))[q] is its entry in column q. */
static size_t row_at(const struct sonde_unmix__envelope *e, uint32_t p)
{
	return e->row[p] - e->first[p];
}

static void load_row(double *row, const struct sonde_unmix__envelope *e,
	const struct sonde_unmix__gram *g, uint32_t p)
{
	uint32_t k = e->order[p];
	size_t j;

	memset(row + e->first[p], 0, (p - e->first[p] + 1) * sizeof(*row));
	for (j = g->row[k]; j < g->row[k + 1]; j++) {
		uint32_t q = e->place[g->at.at[j].column];

		if (q <= p)
			row[q] = g->at.at[j].value;
	}
}

/* Eliminates earlier columns from row `p`, and returns the part of the column's square that they do not explain. */
static double eliminate_columns(double *factor, const struct sonde_unmix__envelope *e, uint32_t p)
{
	double *row = factor + row_at(e, p);
	uint32_t q;

	for (q = e->first[p]; q < p; q++) {
		const double *other = factor + row_at(e, q);
		uint32_t from = e->first[p] > e->first[q] ? e->first[p] : e->first[q];

		row[q] = (row[q] - dot(row + from, other + from, q - from)) * other[q];
	}
	return row[p] - dot(row + e->first[p], row + e->first[p], p - e->first[p]);
}

/* Solves Lᵀ·x = x for the first `nr` places. */
static void solve_back(
	double *x, const struct sonde_unmix__envelope *e, const double *factor, uint32_t nr)
{
	uint32_t p, q;

	for (p = nr; p-- > 0;) {
		const double *row = factor + row_at(e, p);

		x[p] *= row[p];
		for (q = e->first[p]; q < p; q++)
			x[q] -= row[q] * x[p];
	}
}

static void explain_pivot(struct sonde_unmix__watch *watch, const struct sonde_unmix__envelope *e,
	const double *factor, uint32_t p)
{
	const double *row = factor + row_at(e, p);

	memset(watch->coefficients, 0, p * sizeof(*watch->coefficients));
	memcpy(watch->coefficients + e->first[p], row + e->first[p],
		(p - e->first[p]) * sizeof(*row));
	solve_back(watch->coefficients, e, factor, p);
	watch->found(watch, e->order[p]);
}

double sonde_unmix__envelope_factor(double *factor, const struct sonde_unmix__envelope *e,
	const struct sonde_unmix__gram *g, struct sonde_unmix__watch *watch)
{
	double least = 1;
	uint32_t p;

	for (p = 0; p < e->nr; p++) {
		double *row = factor + row_at(e, p), rest;

		if (g->scale[e->order[p]] == 0) {
			memset(row + e->first[p], 0, (p - e->first[p] + 1) * sizeof(*row));
			continue;
		}
		load_row(row, e, g, p);
		rest = eliminate_columns(factor, e, p);
		if (rest > DEPENDENT) {
			row[p] = 1 / sqrt(rest);
			least = rest < least ? rest : least;
			continue;
		}
		explain_pivot(watch, e, factor, p);
		memset(row + e->first[p], 0, (p - e->first[p] + 1) * sizeof(*row));
	}
	return least;
}
