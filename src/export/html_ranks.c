/*
 * Ranks side by side in the page: the sentences, a map of ranks × regions, and the tables.
 *
 * The map has a column for each of the regions that take most time, and a row for each rank. If there are thousands of
 * ranks, neighbours share a row, which shows the slowest of them.
 */
#include "export/html_int.h"
#include "base/bisect.h"
#include "export/rank_tables.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

#define MOST_ROWS    256
#define MOST_COLUMNS 48

struct map {
	const struct sonde_ranks *r;
	const struct sonde_rank_spread *columns[MOST_COLUMNS]; /* in order of the regions */
	size_t nr_columns, nr_rows, per_row;
	double *v; /* percent above the median, row by row; NaN = nothing ran */
	double *who; /* the rank that each value belongs to */
};

static int by_time(const void *pa, const void *pb)
{
	const struct sonde_rank_spread *a = *(const struct sonde_rank_spread *const *)pa,
				       *b = *(const struct sonde_rank_spread *const *)pb;

	if (a->median_ns != b->median_ns)
		return a->median_ns > b->median_ns ? -1 : 1;
	return a->region < b->region ? -1 : a->region > b->region;
}

static int by_region(const void *pa, const void *pb)
{
	const struct sonde_rank_spread *a = *(const struct sonde_rank_spread *const *)pa,
				       *b = *(const struct sonde_rank_spread *const *)pb;

	return a->region < b->region ? -1 : a->region > b->region;
}

static bool choose_columns(struct map *m)
{
	const struct sonde_rank_spread **all = sonde_malloc((m->r->spreads.nr + 1) * sizeof(*all));
	size_t i, nr = 0;

	for (i = 0; all && i < m->r->spreads.nr; i++)
		if (m->r->spreads.at[i].nr > 1 && m->r->spreads.at[i].median_ns > 0)
			all[nr++] = &m->r->spreads.at[i];
	if (nr > 1)
		qsort(all, nr, sizeof(*all), by_time);
	m->nr_columns = nr < MOST_COLUMNS ? nr : MOST_COLUMNS;
	for (i = 0; i < m->nr_columns; i++)
		m->columns[i] = all[i];
	if (m->nr_columns > 1)
		qsort(m->columns, m->nr_columns, sizeof(*m->columns), by_region);
	sonde_free(all);
	return all != NULL;
}

/* The column of a region, SIZE_MAX = it has none. */
static size_t column_of(const struct map *m, uint32_t region)
{
	size_t low = 0;

	sonde_bisect(low, m->nr_columns, mid, m->columns[mid]->region < region);
	return low < m->nr_columns && m->columns[low]->region == region ? low : SIZE_MAX;
}

static void fill_map(struct map *m)
{
	size_t i, column;

	for (i = 0; i < m->r->times.nr; i++) {
		const struct sonde_rank_time *t = &m->r->times.at[i];
		double excess, *at;

		column = column_of(m, t->region);
		if (column == SIZE_MAX)
			continue;
		excess = 100 * (t->ns / m->columns[column]->median_ns - 1);
		at = &m->v[t->rank / m->per_row * m->nr_columns + column];
		if (isnan(*at) || excess > *at) {
			*at = round(10 * excess) / 10;
			m->who[at - m->v] = t->rank;
		}
	}
}

static void write_map(struct sonde_html *h, const struct map *m)
{
	struct sonde_json *w = &h->x.w;
	size_t i;

	sonde_json_u64(w, "per_row", m->per_row);
	sonde_json_array(w, "names", true, i, m->r->rows.nr)
		sonde_json_str(w, NULL, sonde_rank_name(m->r, (uint32_t)i));
	SONDE_JSON_LIST(w, "regions", i, m->nr_columns, m->columns[i]->region);
	SONDE_JSON_LIST(w, "median_ms", i, m->nr_columns, m->columns[i]->median_ns / 1e6);
	sonde_html__write_list(w, "v", m->v, m->nr_rows * m->nr_columns);
	if (m->per_row > 1)
		sonde_html__write_list(w, "who", m->who, m->nr_rows * m->nr_columns);
}

static void write_table(struct sonde_html *h, const struct sonde_table *t)
{
	struct sonde_json *w = &h->x.w;
	size_t i;

	sonde_json_open(w, NULL, '{', true);
	sonde_json_array(w, "heads", true, i, t->columns.nr)
		sonde_json_str(w, NULL, t->columns.at[i].head);
	sonde_json_array(w, "words", true, i, t->columns.nr)
		sonde_json_bool(w, NULL, !t->columns.at[i].is_right);
	sonde_json_array(w, "cells", true, i, t->cells.nr)
		sonde_json_str(w, NULL, t->cells.at[i].text);
	sonde_json_close(w, '}');
}

static void write_words(struct sonde_html *h)
{
	const struct sonde_ranks *r = h->x.tree->ranks;
	size_t i;

	sonde_json_array(&h->x.w, "slow", true, i, r->stragglers.nr)
		sonde_json_str(&h->x.w, NULL, r->stragglers.at[i].sentence);
	sonde_json_array(&h->x.w, "tables", true, i, SONDE_NR_RANK_TABLES) {
		struct sonde_table t = {.escape = sonde_buf_str}; /* the page escapes what it shows */

		sonde_rank_table_fill(&t, (enum sonde_rank_table)i, h->x.tree);
		if (t.columns.nr)
			write_table(h, &t);
		h->json.buf.failed |= t.failed;
		sonde_table_release(&t);
	}
}

int sonde_html__write_ranks(struct sonde_html *h)
{
	struct map m = {.r = h->x.tree->ranks};
	size_t i, nr;

	if (!m.r)
		return 0;
	if (!choose_columns(&m))
		return sonde_err_nomem(h->err);
	m.per_row = (m.r->nr + MOST_ROWS - 1) / MOST_ROWS;
	m.nr_rows = (m.r->nr + m.per_row - 1) / m.per_row;
	nr = m.nr_rows * m.nr_columns;
	m.v = sonde_malloc((nr + 1) * sizeof(*m.v));
	m.who = sonde_malloc((nr + 1) * sizeof(*m.who));
	for (i = 0; m.v && m.who && i < nr; i++)
		m.v[i] = m.who[i] = NAN;
	if (m.v && m.who) {
		fill_map(&m);
		sonde_json_open(&h->x.w, "ranks", '{', true);
		write_map(h, &m);
		write_words(h);
		sonde_json_close(&h->x.w, '}');
	}
	sonde_free(m.v);
	sonde_free(m.who);
	return m.v && m.who ? 0 : sonde_err_nomem(h->err);
}
