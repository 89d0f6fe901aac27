/*
 * The metrics of a comparison: what the hardware did, on both sides.
 *
 * How a figure is compared depends on its quality. An exact figure is its value. A bound (≤, ≥) or an approximation (≈)
 * may be anywhere within its limits, so a difference that fits within the limits of both sides says nothing. A sampled
 * figure has an error, and so has the mean of several runs; these are tested, and the tests are adjusted over all
 * regions and metrics together.
 */
#include "compare/diff_int.h"

#include "base/alloc.h"
#include "base/hypot.h"

#include <math.h>

#define MANY	    1e9 /* degrees of freedom of an error that is known exactly */
#define FALSE_CALLS 0.05
#define RUN_SPREAD                                                                                 \
	0.02 /* share of a sampled figure by which runs differ; a single run cannot show that */

/* Sums of one metric in one region, over the runs of a side. */
struct metric_sum {
	size_t nr;
	double sum, squares, low, high, errors; /* errors: Σ of squared errors */
	uint8_t quality;
};

/* One side of a comparison: its mean and limits, and the standard error of these. */
struct side_mean {
	double v, low, high, error, df;
};

static void add_figure(struct metric_sum *p, const struct sonde_figure *f)
{
	double low = f->v, high = f->v;

	if (isnan(f->v))
		return;
	if (f->quality == SONDE_QUALITY_APPROX || f->quality == SONDE_QUALITY_BOUND ||
		f->quality == SONDE_QUALITY_STAT) {
		low = isnan(f->low) ? -INFINITY : f->low;
		high = isnan(f->high) ? INFINITY : f->high;
	}
	p->nr++;
	p->sum += f->v;
	p->squares += f->v * f->v;
	p->low += low;
	p->high += high;
	p->errors += isnan(f->error) ? 0 : f->error * f->error;
	p->quality = f->quality > p->quality ? f->quality : p->quality;
}

static struct side_mean mean_of(const struct metric_sum *p)
{
	double n = (double)p->nr, between;
	struct side_mean t = {NAN, NAN, NAN, 0, MANY};

	if (!p->nr)
		return t;
	t = (struct side_mean){
		p->sum / n, p->low / n, p->high / n, sqrt(p->errors) / n / SONDE_WITHIN_95, MANY};
	if (p->nr > 1) { /* the scatter of runs already contains the error of each run */
		between = fmax(p->squares / n - t.v * t.v, 0) / (n - 1);
		t.error = fmax(t.error, sqrt(between));
		t.df = n - 1;
	} else if (p->quality == SONDE_QUALITY_SAMPLED) {
		t.error = sonde_hypot(t.error, RUN_SPREAD * t.v);
	}
	return t;
}

/* The figure for output: mean, limits with the 95 % error, error. */
static struct sonde_figure figure_of(const struct metric_sum *p, const struct side_mean *t)
{
	double reach = t->error > 0 ? sonde_stats_student_limit(0.05, t->df) * t->error : 0;

	return (struct sonde_figure){.v = t->v,
		.low = isfinite(t->low) ? t->low - reach : NAN,
		.high = isfinite(t->high) ? t->high + reach : NAN,
		.error = t->error > 0 ? reach : NAN,
		.quality = p->quality};
}

static struct sonde_diff_metric compare_sums(
	const struct metric_sum *a, const struct metric_sum *b, double min_effect)
{
	struct side_mean base = mean_of(a), now = mean_of(b);
	double error = sonde_hypot(base.error, now.error), df = fmin(base.df, now.df), reach, most;
	double gap = fmax(now.low - base.high, base.low - now.high);
	struct sonde_diff_metric m = {
		.base = figure_of(a, &base), .new_figure = figure_of(b, &now), .p = NAN, .q = NAN};

	if (!a->nr || !b->nr)
		return m;
	m.p = !(gap > 0) ? 1 : error > 0 ? sonde_stats_student(gap / error, df) : 0;
	reach = error > 0 ? sonde_stats_student_limit(0.05, df) * error : 0;
	most = fmax(now.high - base.low, base.high - now.low) + reach;
	m.change =
		most <= min_effect * fabs(base.v) ? SONDE_METRIC_SAME : SONDE_METRIC_INSUFFICIENT;
	return m;
}

/* Adjusts p for the number of tests and finds the metrics that changed. */
static bool judge_metrics(struct sonde_diff *d)
{
	struct sonde_diff_metric *m = d->metrics.at, *end = m + d->metrics.nr;

	if (m && !sonde_stats_adjust(&m->q, &m->p, d->metrics.nr, sizeof(*m)))
		return false;
	for (; m < end; m++) {
		double away = m->new_figure.v - m->base.v;

		if (m->p < 1 && m->q < FALSE_CALLS &&
			fabs(away) >= d->options.min_effect * fabs(m->base.v))
			m->change = away > 0 ? SONDE_METRIC_HIGHER : SONDE_METRIC_LOWER;
	}
	return true;
}

/* --- which metrics ---------------------------------------------------------------------------- */

/* The figures of every run, and the position of each column of the comparison in each run. */
struct metric_tables {
	struct sonde_figures *figures; /* by run */
	uint32_t *columns;	       /* run × column; SONDE_NONE = the run does not have it */
	struct metric_sum *sums;	       /* side × column, for the current region */
};

/* The short heading of a column; its name if another column has the same heading. */
static struct sonde_str head_of(const struct sonde_diff *d, size_t i)
{
	struct sonde_str name = d->columns.at[i].name, head = sonde_metric_head(name);
	size_t k;

	for (k = 0; k < d->columns.nr; k++)
		if (k != i && sonde_str_eq(head, sonde_metric_head(d->columns.at[k].name)))
			return name;
	return head;
}

/* Lists the metrics that a table of some run shows, in the order of the tables. */
static bool list_columns(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	struct sonde_map names = {0};
	bool ok = true, is_new;
	size_t run, i;

	for (run = 0; run < m->nr_runs; run++)
		for (i = 0; i < m->trees[run]->nr_headline && ok; i++) {
			const struct sonde_tree *t = m->trees[run];
			const struct sonde_column *c = &t->columns.at[t->headline[i]];

			if (c->is_text)
				continue;
			ok = sonde_map_add(&names, c->name, &is_new) != SONDE_NONE;
			if (ok && is_new)
				ok = sonde_vec_put(&d->columns,
					(struct sonde_diff_column){c->name, c->name, c->unit});
		}
	for (i = 0; i < d->columns.nr; i++)
		d->columns.at[i].head = head_of(d, i);
	sonde_map_release(&names);
	return ok;
}

static bool open_tables(
	struct metric_tables *g, const struct sonde_diff *d, const struct sonde_diff__match *m)
{
	size_t run, i, nr = d->columns.nr;

	g->figures = sonde_calloc(m->nr_runs, sizeof(*g->figures));
	g->columns = sonde_calloc(m->nr_runs * nr, sizeof(*g->columns));
	g->sums = sonde_calloc(2 * nr, sizeof(*g->sums));
	if (!g->figures || !g->columns || !g->sums)
		return false;
	for (run = 0; run < m->nr_runs; run++) {
		for (i = 0; i < nr; i++)
			g->columns[run * nr + i] =
				sonde_tree_column(m->trees[run], d->columns.at[i].name);
		if (sonde_figures_init(&g->figures[run], m->trees[run], NULL) != 0)
			return false;
	}
	return true;
}

static void close_tables(struct metric_tables *g, size_t nr_runs)
{
	size_t run;

	for (run = 0; g->figures && run < nr_runs; run++)
		sonde_figures_release(&g->figures[run]);
	sonde_free(g->figures);
	sonde_free(g->columns);
	sonde_free(g->sums);
}

static bool measure_region(
	struct sonde_diff *d, const struct sonde_diff__match *m, struct metric_tables *g, size_t region)
{
	size_t run, i, nr = d->columns.nr;

	for (i = 0; i < 2 * nr; i++)
		g->sums[i] = (struct metric_sum){0};
	for (run = 0; run < m->nr_runs; run++) {
		uint32_t node = m->nodes[region * m->nr_runs + run];

		if (node == SONDE_NONE)
			continue;
		sonde_tree_values(m->trees[run], sonde_diff__report(m, region, run),
			SONDE_PART_INCLUSIVE, node, &g->figures[run]);
		for (i = 0; i < nr; i++)
			if (g->columns[run * nr + i] != SONDE_NONE)
				add_figure(&g->sums[(run < m->nr_base ? 0 : nr) + i],
					&g->figures[run].at[g->columns[run * nr + i]]);
	}
	for (i = 0; i < nr; i++)
		if (!sonde_vec_put(&d->metrics,
			    compare_sums(&g->sums[i], &g->sums[nr + i], d->options.min_effect)))
			return false;
	return true;
}

bool sonde_diff__measure(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	struct metric_tables g = {0};
	size_t i;
	bool ok = list_columns(d, m);

	if (!ok || !d->columns.nr)
		return ok;
	ok = open_tables(&g, d, m);
	for (i = 0; i < d->regions.nr && ok; i++)
		ok = measure_region(d, m, &g, i);
	close_tables(&g, m->nr_runs);
	return ok && judge_metrics(d);
}

const char *sonde_metric_change_name(enum sonde_metric_change c)
{
	static const char *const names[] = {NULL, "same", "insufficient", "higher", "lower"};

	return names[c];
}
