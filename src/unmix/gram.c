/*
 * The normal equations: AᵀA and Aᵀ·slopes, sparse, with a unit diagonal.
 *
 * Two columns meet if a sample holds a share of both, so a column meets its
 * neighbours in the program and few others. Bins of one class are tied loosely to
 * each other: if the data cannot distinguish them, their work comes out even.
 */
#include "unmix/unmix_int.h"

#include "base/quantile.h"
#include "base/workers.h"

#include <math.h>
#include <string.h>

#define BIN_TIE	      0.003    /* strength of the tie, relative to the bins' own weight … */
#define TIED	      100.0    /* … for up to so many seen intervals; with more, the tie gets weaker, as the data says more */
#define MOST_MEETINGS 50000000 /* 1.2 GB */
#define MOST_SHARES   8	       /* the most shares of columns, one for each thread */
#define MANY_ENTRIES  100000   /* a matrix with fewer entries is multiplied faster than a thread starts */

/* A by columns. */
struct transposed {
	size_t *column; /* by column: index of its first entry in `row` and `value` */
	size_t *row;
	double *value;
};

static int transpose(struct transposed *t, struct sonde_arena *arena, const struct sonde_unmix__matrix *m)
{
	size_t nr = m->row[m->nr_rows], i, j;
	size_t *next = sonde_arena_calloc(arena, (size_t)m->nr_columns + 1, sizeof(*next));
	uint32_t k;

	t->column = sonde_arena_calloc(arena, (size_t)m->nr_columns + 1, sizeof(*t->column));
	t->row = sonde_arena_alloc(arena, nr * sizeof(*t->row));
	t->value = sonde_arena_alloc(arena, nr * sizeof(*t->value));
	if (arena->failed)
		return SONDE_ERR_NOMEM;
	for (j = 0; j < nr; j++)
		t->column[m->column[j] + 1]++;
	for (k = 0; k < m->nr_columns; k++) {
		t->column[k + 1] += t->column[k];
		next[k] = t->column[k];
	}
	for (i = 0; i < m->nr_rows; i++) {
		for (j = m->row[i]; j < m->row[i + 1]; j++) {
			size_t at = next[m->column[j]]++;

			t->row[at] = i;
			t->value[at] = m->value[j];
		}
	}
	return 0;
}

/* The sums of one row of the products, and the columns it meets. */
struct sums {
	double *value, *slope; /* by column */
	bool *is_met;
	uint32_t *met;
	uint32_t nr_met;
};

static void sum_row(struct sums *s, const struct transposed *t, const struct sonde_unmix__matrix *m,
	uint32_t column)
{
	size_t i, j;

	for (i = t->column[column]; i < t->column[column + 1]; i++) {
		size_t row = t->row[i];

		for (j = m->row[row]; j < m->row[row + 1]; j++) {
			uint32_t k = m->column[j];

			if (!s->is_met[k]) {
				s->is_met[k] = true;
				s->met[s->nr_met++] = k;
			}
			s->value[k] += t->value[i] * m->value[j];
			s->slope[k] += t->value[i] * m->slope[j];
		}
	}
}

/* The share of one thread: consecutive columns, and their meetings. */
struct share {
	const struct transposed *turned;
	const struct sonde_unmix__matrix *matrix;
	struct sums sums;
	uint32_t first, end;
	size_t *nr_met; /* by column: number of its meetings; one array for all shares */
	SONDE_VEC(struct sonde_unmix__meeting) at;
	int rc;
};

static int store_row(struct share *h, uint32_t column)
{
	struct sums *s = &h->sums;
	uint32_t i;

	if (h->at.nr + s->nr_met > MOST_MEETINGS)
		return SONDE_ERR_LIMIT;
	if (!sonde_vec_reserve(&h->at, h->at.nr + s->nr_met))
		return SONDE_ERR_NOMEM;
	sonde_sort_u32(s->met, s->nr_met);
	for (i = 0; i < s->nr_met; i++) {
		uint32_t k = s->met[i];

		h->at.at[h->at.nr++] = (struct sonde_unmix__meeting){k, s->value[k], s->slope[k]};
		s->value[k] = s->slope[k] = 0;
		s->is_met[k] = false;
	}
	h->nr_met[column] = s->nr_met;
	s->nr_met = 0;
	return 0;
}

static void multiply_share(void *arg)
{
	struct share *h = arg;
	uint32_t k;

	for (k = h->first; k < h->end && h->rc == 0; k++) {
		sum_row(&h->sums, h->turned, h->matrix, k);
		h->rc = store_row(h, k);
	}
}

/* Divides the columns evenly among threads. A sum does not depend on the thread that computes it. */
static uint32_t share_out(struct share *shares, struct sonde_arena *arena, const struct transposed *t,
	const struct sonde_unmix__matrix *m, size_t *nr_met)
{
	size_t nr = m->row[m->nr_rows] < MANY_ENTRIES ? 1 : sonde_workers_count(MOST_SHARES), i;

	for (i = 0; i < nr; i++)
		shares[i] = (struct share){.turned = t,
			.matrix = m,
			.sums.value = sonde_arena_calloc(arena, m->nr_columns, sizeof(double)),
			.sums.slope = sonde_arena_calloc(arena, m->nr_columns, sizeof(double)),
			.sums.is_met = sonde_arena_calloc(arena, m->nr_columns, sizeof(bool)),
			.sums.met = sonde_arena_alloc(arena, m->nr_columns * sizeof(uint32_t)),
			.first = (uint32_t)(m->nr_columns * i / nr),
			.end = (uint32_t)(m->nr_columns * (i + 1) / nr),
			.nr_met = nr_met};
	return (uint32_t)nr;
}

/* Joins the shares, one after the other. */
static int put_together(struct sonde_unmix__gram *g, const struct share *shares, uint32_t nr)
{
	size_t all = 0;
	uint32_t i, k;

	for (i = 0; i < nr; i++) {
		if (shares[i].rc < 0)
			return shares[i].rc;
		all += shares[i].at.nr;
	}
	if (all > MOST_MEETINGS)
		return SONDE_ERR_LIMIT;
	if (!sonde_vec_reserve(&g->at, all))
		return SONDE_ERR_NOMEM;
	for (i = 0; i < nr; i++) {
		if (shares[i].at.nr > 0)
			memcpy(g->at.at + g->at.nr, shares[i].at.at,
				shares[i].at.nr * sizeof(*g->at.at));
		g->at.nr += shares[i].at.nr;
	}
	for (k = 0; k < g->nr; k++)
		g->row[k + 1] += g->row[k];
	return 0;
}

static int multiply_columns(
	struct sonde_unmix__gram *g, struct sonde_arena *arena, const struct sonde_unmix__matrix *m)
{
	struct share shares[MOST_SHARES];
	struct transposed t = {0};
	uint32_t nr, i;
	int rc;

	g->row = sonde_arena_calloc(arena, (size_t)g->nr + 1, sizeof(*g->row));
	if (g->row == NULL || transpose(&t, arena, m) < 0)
		return SONDE_ERR_NOMEM;
	nr = share_out(shares, arena, &t, m, g->row + 1);
	if (arena->failed)
		return SONDE_ERR_NOMEM;
	sonde_workers_run(shares, nr, sizeof(*shares), multiply_share);
	rc = put_together(g, shares, nr);
	for (i = 0; i < nr; i++)
		sonde_vec_release(&shares[i].at);
	return rc;
}

static double *find_value(struct sonde_unmix__gram *g, uint32_t row, uint32_t column)
{
	size_t j;

	for (j = g->row[row]; j < g->row[row + 1]; j++) {
		if (g->at.at[j].column == column)
			return &g->at.at[j].value;
	}
	return NULL;
}

/*
 * Adds BIN_TIE · (difference of the counts of neighbouring bins in equal times)², if the bins meet in
 * samples at all. The time is the length of the shorter bin.
 */
static void tie_bins(struct sonde_unmix__gram *g, const struct sonde_unmix__plan *plan)
{
	uint32_t u, b;

	for (u = 0; u < plan->nr_unknowns; u++) {
		const struct sonde_unmix__unknown *x = &plan->unknowns[u];

		for (b = 0; b + 1 < x->nr_bins; b++) {
			uint32_t k = x->column + b;
			double *own = find_value(g, k, k), *next = find_value(g, k + 1, k + 1);
			double *there = find_value(g, k, k + 1), *back = find_value(g, k + 1, k), tie;
			double ratio = sonde_unmix__bin_length(x, b) / sonde_unmix__bin_length(x, b + 1);
			double first = ratio > 1 ? 1 / ratio : 1, second = ratio > 1 ? 1 : ratio;

			if (own == NULL || next == NULL || there == NULL || back == NULL)
				continue;
			tie = BIN_TIE * 0.5 * (*own + *next) * fmin(1, TIED / (double)x->nr_seen);
			*own += tie * first * first;
			*next += tie * second * second;
			*there -= tie * first * second;
			*back -= tie * first * second;
		}
	}
}

static void scale_columns(struct sonde_unmix__gram *g)
{
	uint32_t k;
	size_t j;

	for (k = 0; k < g->nr; k++) {
		const double *own = find_value(g, k, k);

		g->scale[k] = own != NULL && *own > 0 ? sqrt(*own) : 0;
	}
	for (k = 0; k < g->nr; k++) {
		for (j = g->row[k]; j < g->row[k + 1]; j++) {
			g->at.at[j].value /= g->scale[k] * g->scale[g->at.at[j].column];
			g->at.at[j].slope /= g->scale[k];
		}
	}
}

int sonde_unmix__gram_build(struct sonde_unmix__gram *g, struct sonde_arena *arena,
	const struct sonde_unmix__matrix *m, const struct sonde_unmix__plan *plan)
{
	int rc;

	*g = (struct sonde_unmix__gram){.nr = m->nr_columns};
	g->scale = sonde_arena_alloc(arena, g->nr * sizeof(*g->scale));
	rc = g->scale == NULL ? SONDE_ERR_NOMEM : multiply_columns(g, arena, m);
	if (rc < 0)
		return rc;
	tie_bins(g, plan);
	scale_columns(g);
	return 0;
}
