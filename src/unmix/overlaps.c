/*
 * The matrix: for each sample, the share of each interval inside it.
 *
 * The bins of an interval are adjacent columns. Most kernels begin and end with another kind
 * of work than they do in between, so a long kernel has short bins at both ends: otherwise its
 * first and last work would be taken for work of its neighbours. The background is counted while
 * no launch runs. It has one column for each segment of the run, because other activity on
 * the device (untraced copies, other programs) changes over time.
 */
#include "unmix/unmix_int.h"

#include <math.h>

#define SEGMENT	 200 /* the fewest samples of a background segment */
#define SEGMENTS 16  /* the most segments */

/* Where entries are written. The first pass only counts them. */
struct rows {
	struct sonde_unmix__matrix *m;
	size_t *next; /* by row */
	bool is_counting;
};

static void put_overlap(struct rows *r, size_t row, uint32_t column, double value, double slope)
{
	size_t at = r->next[row]++;

	if (r->is_counting)
		return;
	r->m->column[at] = column;
	r->m->value[at] = value;
	r->m->slope[at] = slope;
}

/* Adds one bin [start, end) of an interval. The first window that overlaps it is `at` or a later one. */
static void put_bin(struct rows *r, const struct sonde_unmix__windows *w, size_t at,
	const struct sonde_unmix__interval *bin, uint32_t column)
{
	double per_ns = bin->weight / (bin->end - bin->start);

	while (at < w->nr && w->end[at] <= bin->start)
		at++;
	for (; at < w->nr && w->start[at] < bin->end; at++) {
		double from = bin->start > w->start[at] ? bin->start : w->start[at];
		double to = bin->end < w->end[at] ? bin->end : w->end[at];
		/* If the bin moves to later times, its share grows if its end is inside the sample,
		 * and shrinks if its start is inside. */
		double slope = (bin->end <= w->end[at] ? per_ns : 0) -
			       (bin->start >= w->start[at] ? per_ns : 0);

		if (to > from)
			put_overlap(r, at, column, (to - from) * per_ns, slope);
	}
}

double sonde_unmix__bin_begin(double length, uint32_t nr_bins, uint32_t b)
{
	double even = length / nr_bins;

	if (b == 0)
		return 0;
	if (b == nr_bins)
		return length;
	if (nr_bins < LONG_BINS || even < BIN_NS)
		return b * even;
	return BIN_NS + (b - 1) * (length - 2 * BIN_NS) / (nr_bins - 2);
}

double sonde_unmix__bin_length(const struct sonde_unmix__unknown *x, uint32_t b)
{
	return sonde_unmix__bin_begin(x->length, x->nr_bins, b + 1) -
	       sonde_unmix__bin_begin(x->length, x->nr_bins, b);
}

/* Adds the part of the unknown's bin `b` that is in an interval. Windows before `at` do not overlap it. */
static void put_part(struct rows *r, const struct sonde_unmix__windows *w, size_t at,
	const struct sonde_unmix__interval *v, const struct sonde_unmix__unknown *u, uint32_t b)
{
	struct sonde_unmix__interval bin = *v;
	double begin = sonde_unmix__bin_begin(u->length, u->nr_bins, b) / u->length;
	double end = sonde_unmix__bin_begin(u->length, u->nr_bins, b + 1) / u->length;
	double until = v->from + (v->end - v->start) / v->whole;
	double from = fmax(begin, v->from), to = fmin(end, until);

	bin.start = v->start + v->whole * (from - v->from);
	bin.end = to < until ? v->start + v->whole * (to - v->from) : v->end;
	bin.weight *= (to - from) / (end - begin);
	if (to > from && bin.end > bin.start)
		put_bin(r, w, at, &bin, u->column + b);
}

/* Adds an interval's part of the trend: how much longer than the mean it is. Over all intervals this sums to 0. */
static void put_trend(struct rows *r, const struct sonde_unmix__windows *w, size_t at,
	const struct sonde_unmix__interval *v, const struct sonde_unmix__unknown *u)
{
	struct sonde_unmix__interval more = *v;

	more.weight = (v->whole / u->length - 1) * (v->end - v->start) / v->whole;
	put_bin(r, w, at, &more, u->column + u->nr_bins);
}

static void put_intervals(
	struct rows *r, const struct sonde_unmix__plan *plan, const struct sonde_unmix__windows *w)
{
	size_t first = 0, i;
	uint32_t b;

	for (i = 0; i < plan->nr_intervals; i++) {
		const struct sonde_unmix__interval *v = &plan->intervals[i];
		const struct sonde_unmix__unknown *u = &plan->unknowns[v->unknown];

		while (first < w->nr && w->end[first] <= v->start)
			first++;
		for (b = 0; b < u->nr_bins; b++)
			put_part(r, w, first, v, u, b);
		if (u->has_trend)
			put_trend(r, w, first, v, u);
	}
}

/* Adds to the background the part of each window that is in no interval, in units of the median sample length. */
static void put_background(
	struct rows *r, const struct sonde_unmix__plan *plan, const struct sonde_unmix__windows *w)
{
	uint32_t first = r->m->nr_columns - r->m->nr_background;
	double covered_to = 0;
	size_t next = 0, i;

	for (i = 0; i < w->nr; i++) {
		double idle = 0, at = w->start[i];
		uint32_t segment = (uint32_t)(i * r->m->nr_background / w->nr);

		while (at < w->end[i]) {
			double until = w->end[i];

			if (covered_to > at) {
				at = covered_to < until ? covered_to : until;
				continue;
			}
			if (next < plan->nr_intervals && plan->intervals[next].start < until)
				until = plan->intervals[next].start;
			if (until > at)
				idle += until - at;
			at = until > at ? until : at;
			if (next < plan->nr_intervals && plan->intervals[next].start <= at) {
				if (plan->intervals[next].end > covered_to)
					covered_to = plan->intervals[next].end;
				next++;
			}
		}
		if (idle > 0)
			put_overlap(r, i, first + segment, idle / w->length, 0);
	}
}

static void fill_rows(
	struct rows *r, const struct sonde_unmix__plan *plan, const struct sonde_unmix__windows *w)
{
	put_intervals(r, plan, w);
	put_background(r, plan, w);
}

/* Adds up repeated entries of a column in a row: they come from a class that ran more than once during a sample. */
static int merge_repeated(struct sonde_unmix__matrix *m, struct sonde_arena *arena)
{
	size_t *place = sonde_arena_alloc(arena, m->nr_columns * sizeof(*place)); /* by column */
	size_t out = 0, from = 0, to, i, j;

	if (place == NULL)
		return SONDE_ERR_NOMEM;
	for (j = 0; j < m->nr_columns; j++)
		place[j] = SIZE_MAX;
	for (i = 0; i < m->nr_rows; i++, from = to) {
		size_t begin = out;

		to = m->row[i + 1];
		m->row[i] = out;
		for (j = from; j < to; j++) {
			uint32_t column = m->column[j];
			bool is_there = place[column] != SIZE_MAX && place[column] >= begin;
			size_t at = is_there ? place[column] : out++;

			m->value[at] = m->value[j] + (is_there ? m->value[at] : 0);
			m->slope[at] = m->slope[j] + (is_there ? m->slope[at] : 0);
			m->column[at] = column;
			place[column] = at;
		}
	}
	m->row[m->nr_rows] = out;
	return 0;
}

static uint32_t count_columns(const struct sonde_unmix__plan *plan)
{
	const struct sonde_unmix__unknown *last = plan->unknowns + plan->nr_unknowns;

	return plan->nr_unknowns > 0 ? last[-1].column + sonde_unmix__nr_columns(&last[-1]) : 0;
}

static void mark_trends(struct sonde_unmix__matrix *m, const struct sonde_unmix__plan *plan)
{
	uint32_t u;

	for (u = 0; u < plan->nr_unknowns; u++) {
		const struct sonde_unmix__unknown *x = &plan->unknowns[u];

		if (x->has_trend)
			m->is_trend[x->column + x->nr_bins] = true;
	}
}

int sonde_unmix__matrix_build(struct sonde_unmix__matrix *m, struct sonde_arena *arena,
	const struct sonde_unmix__plan *plan, const struct sonde_unmix__windows *w)
{
	struct rows r = {.m = m, .is_counting = true};
	size_t nr = 0, i;

	*m = (struct sonde_unmix__matrix){.nr_rows = w->nr, .nr_background = SEGMENTS};
	if (w->nr / SEGMENT < SEGMENTS)
		m->nr_background = w->nr < 2 * SEGMENT ? 1 : (uint32_t)(w->nr / SEGMENT);
	m->nr_columns = count_columns(plan) + m->nr_background;
	m->row = sonde_arena_alloc(arena, (w->nr + 1) * sizeof(*m->row));
	r.next = sonde_arena_calloc(arena, w->nr, sizeof(*r.next));
	m->is_trend = sonde_arena_calloc(arena, m->nr_columns, sizeof(*m->is_trend));
	if (arena->failed)
		return SONDE_ERR_NOMEM;
	mark_trends(m, plan);
	fill_rows(&r, plan, w);
	for (i = 0; i < w->nr; i++) {
		m->row[i] = nr;
		nr += r.next[i];
		r.next[i] = m->row[i];
	}
	m->row[w->nr] = nr;
	m->column = sonde_arena_alloc(arena, nr * sizeof(*m->column));
	m->value = sonde_arena_alloc(arena, nr * sizeof(*m->value));
	m->slope = sonde_arena_alloc(arena, nr * sizeof(*m->slope));
	if (arena->failed)
		return SONDE_ERR_NOMEM;
	r.is_counting = false;
	fill_rows(&r, plan, w);
	return merge_repeated(m, arena);
}
