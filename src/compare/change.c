/*
 * Comparing two sides: what each is worth, a test on the ranks, and the interval of the ratio by
 * resampling runs and blocks of entries.
 */
#include "compare/stats_int.h"

#include "base/alloc.h"
#include "base/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NORMAL_LIMIT	  1.959963984540054 /* of 95 % */
#define MOST_DRIFT_VALUES 512		    /* of half a run are enough for its median */

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The number of independent values a side is worth for its mean, and degrees of freedom with it. */
struct worth {
	double tau; /* so many neighbours say the same */
	double effective, df;
	double drift; /* standard error of the logarithm of the median for a run that drifts */
};

static double half_median(const double *values, size_t nr)
{
	double v[MOST_DRIFT_VALUES];
	size_t kept = nr < MOST_DRIFT_VALUES ? nr : MOST_DRIFT_VALUES, i;

	for (i = 0; i < kept; i++)
		v[i] = values[i * nr / kept];
	qsort(v, kept, sizeof(*v), by_number);
	return sonde_quantile(v, kept, 0.5);
}

/*
 * A single run that gets slower from its first half to its second might have been at the level of
 * either throughout, and the next run might be: more entries do not show more. Chance moves the
 * halves apart by two standard errors, told from what neighbours within a half have in common;
 * what is beyond that counts.
 */
static void widen_by_drift(
	struct worth *w, const double *ranks, const struct sonde_side *s, double variance)
{
	size_t half = s->nr / 2;
	const double *second = ranks + s->nr - half;
	double away, error = 4 * variance / (double)s->nr, sure;

	if (half < 2 || !(variance > 0))
		return;
	away = (sonde_stats__sum(second, half) - sonde_stats__sum(ranks, half)) / (double)half;
	if (away * away <= 4 * error)
		return;
	error *= (sonde_stats_correlation_time(ranks, half) +
			 sonde_stats_correlation_time(second, half)) /
		 2;
	sure = 1 - 4 * error / (away * away);
	if (!(sure > 0))
		return;
	w->drift = sqrt(sure) * fabs(log(half_median(s->values + s->nr - half, half) /
					 half_median(s->values, half)));
	w->effective = variance / (variance / w->effective + sure * away * away);
}

static struct worth worth_of(const double *ranks, const struct sonde_side *s, double variance)
{
	size_t one = s->nr, nr_runs = s->runs ? s->nr_runs : 1, i, at = 0;
	const size_t *runs = s->runs ? s->runs : &one;
	double tau = 0, mean = sonde_stats__sum(ranks, s->nr) / (double)s->nr, between = 0,
	       n = (double)s->nr;
	struct worth w = {.tau = 1};

	for (i = 0; i < nr_runs; at += runs[i], i++) {
		double run = (double)runs[i], away;

		if (!runs[i])
			continue;
		away = sonde_stats__sum(ranks + at, runs[i]) / run - mean;
		tau += run / n * sonde_stats_correlation_time(ranks + at, runs[i]);
		between += run / n * away * away;
	}
	w.tau = fmax(tau, 1);
	w.effective = n / w.tau;
	w.df = w.effective - 1;
	if (nr_runs > 1) { /* the scatter of whole runs is what the next run would show, too */
		double mean_variance = between / ((double)nr_runs - 1);

		w.effective = fmin(w.effective, variance / fmax(mean_variance, 1e-300));
		w.df = (double)nr_runs - 1;
	} else {
		widen_by_drift(&w, ranks, s, variance);
	}
	return w;
}

/* --- the interval ----------------------------------------------------------------------------- */

/* Of resamples: more where the verdict may hang on it, fewer where a side is long. */
#define MIN_ROUNDS 200
#define MAX_ROUNDS 1000

struct random {
	uint64_t state;
};

/* splitmix64: small, good, the same everywhere. */
static uint64_t draw(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static size_t draw_below(struct random *r, size_t n)
{
	return (size_t)(((draw(r) >> 32) * n) >> 32); /* n is below 2³² */
}

/* A side prepared for resampling: its values sorted, and where each entry stands among them. */
struct resample {
	const struct sonde_side *side;
	double *sorted;
	uint32_t *place; /* by entry */
	uint32_t *count; /* by place: how often it was drawn this time */
	size_t block;	 /* entries drawn together: neighbours resemble each other */
};

/* Single entries: one draw is good for two. */
static void draw_singles(struct resample *s, struct random *r, size_t first, size_t nr)
{
	const uint32_t *place = s->place + first;
	size_t left;

	for (left = nr; left > 1; left -= 2) {
		uint64_t z = draw(r);

		s->count[place[((z >> 32) * nr) >> 32]]++;
		s->count[place[((z & UINT32_MAX) * nr) >> 32]]++;
	}
	if (left)
		s->count[place[draw_below(r, nr)]]++;
}

static void draw_run(struct resample *s, struct random *r, size_t first, size_t nr)
{
	size_t left = nr, at, k;

	if (s->block == 1) {
		draw_singles(s, r, first, nr);
		return;
	}
	while (left) {
		size_t take = s->block < left ? s->block : left;

		at = draw_below(r, nr);
		for (k = 0; k < take; k++, at = at + 1 == nr ? 0 : at + 1)
			s->count[s->place[first + at]]++;
		left -= take;
	}
}

static double drawn_median(const struct resample *s, size_t nr)
{
	size_t low = (nr - 1) / 2, high = nr / 2, seen = 0, i = 0;
	double v;

	while (seen + s->count[i] <= low)
		seen += s->count[i++];
	v = s->sorted[i];
	while (seen + s->count[i] <= high)
		seen += s->count[i++];
	return (v + s->sorted[i]) / 2;
}

/* The median of one resample: runs first, then blocks of entries within each. */
static double resample_median(struct resample *s, struct random *r)
{
	const struct sonde_side *side = s->side;
	size_t i, k, first, drawn = 0;

	memset(s->count, 0, side->nr * sizeof(*s->count));
	if (!side->runs || side->nr_runs < 2) {
		draw_run(s, r, 0, side->nr);
		return drawn_median(s, side->nr);
	}
	for (i = 0; i < side->nr_runs; i++) {
		size_t run = draw_below(r, side->nr_runs);

		for (k = first = 0; k < run; k++)
			first += side->runs[k];
		draw_run(s, r, first, side->runs[run]);
		drawn += side->runs[run];
	}
	return drawn ? drawn_median(s, drawn) : s->sorted[side->nr / 2];
}

static bool resample_init(struct resample *s, const struct sonde_side *side)
{
	struct sonde_ranked *order = sonde_malloc(side->nr * sizeof(*order));
	size_t i;

	*s = (struct resample){.side = side};
	s->sorted = sonde_malloc(side->nr * sizeof(*s->sorted));
	s->place = sonde_malloc(side->nr * sizeof(*s->place));
	s->count = sonde_malloc(side->nr * sizeof(*s->count));
	if (!order || !s->sorted || !s->place || !s->count) {
		sonde_free(order);
		return false;
	}
	for (i = 0; i < side->nr; i++)
		order[i] = (struct sonde_ranked){side->values[i], i};
	qsort(order, side->nr, sizeof(*order), sonde_ranked__by_value);
	for (i = 0; i < side->nr; i++) {
		s->sorted[i] = order[i].v;
		s->place[order[i].index] = (uint32_t)i;
	}
	sonde_free(order);
	return true;
}

static void resample_release(struct resample *s)
{
	sonde_free(s->sorted);
	sonde_free(s->place);
	sonde_free(s->count);
}

/*
 * Resampling few runs or entries shows too little of their scatter; the interval is stretched by
 * what Student's distribution and the lost degree of freedom ask for.
 */
static double stretch(double df)
{
	return df < 1 ? INFINITY
		      : sonde_stats_student_limit(0.05, df) / NORMAL_LIMIT * sqrt((df + 1) / df);
}

static size_t rounds_for(const struct sonde_change *c, size_t nr)
{
	size_t rounds = c->p < 0.1 ? 2000000 / nr : 0;

	return rounds < MIN_ROUNDS ? MIN_ROUNDS : rounds < MAX_ROUNDS ? rounds : MAX_ROUNDS;
}

static void set_interval(struct sonde_change *out, struct resample *base, struct resample *new_side,
	struct random *r, double df, double drift)
{
	size_t rounds = rounds_for(out, base->side->nr + new_side->side->nr), i;
	double logs[MAX_ROUNDS], centre = log(out->ratio), by = stretch(df);

	if (isinf(by))
		return;
	for (i = 0; i < rounds; i++)
		logs[i] = log(resample_median(new_side, r) / resample_median(base, r));
	qsort(logs, rounds, sizeof(*logs), by_number);
	drift *= NORMAL_LIMIT;
	out->low = exp(centre - by * hypot(drift, centre - sonde_quantile(logs, rounds, 0.025)));
	out->high = exp(centre + by * hypot(drift, sonde_quantile(logs, rounds, 0.975) - centre));
}

static size_t block_of(double nr, double tau)
{
	return tau < 1.5 ? 1 : (size_t)fmin(ceil(3 * tau), fmax(nr / 3, 1));
}

/*
 * Sides without any noise that differ: the chance that so many values fall apart like that by
 * themselves. Clocks tick in steps, so two equal values say little.
 */
static double least_p(double a, double b)
{
	return fmin(1, 2 * exp(lgamma(a + 1) + lgamma(b + 1) - lgamma(a + b + 1)));
}

/* Welch's test on the ranks: Mann-Whitney's with each side's own effective number. */
static double rank_p(const double *ranks, const struct sonde_side *a, const struct sonde_side *b,
	double variance, const struct worth *wa, const struct worth *wb)
{
	double away = sonde_stats__sum(ranks + a->nr, b->nr) / (double)b->nr -
		      sonde_stats__sum(ranks, a->nr) / (double)a->nr;
	double va = variance / wa->effective, vb = variance / wb->effective, df;

	if (wa->df <= 0 || wb->df <= 0)
		return 1;
	if (!(variance > 0))
		return away == 0 ? 1
				 : least_p((double)a->nr / wa->tau, (double)b->nr / wb->tau);
	df = (va + vb) * (va + vb) / (va * va / wa->df + vb * vb / wb->df);
	return sonde_stats_student(away / sqrt(va + vb), df);
}

/* Variance of the ranks within the sides, which a real difference between them does not blow up. */
static double within(const double *ranks, size_t nr_a, size_t nr_b)
{
	double a = sonde_stats__sum(ranks, nr_a) / (double)nr_a,
	       b = sonde_stats__sum(ranks + nr_a, nr_b) / (double)nr_b;
	double s = sonde_stats__covariance(ranks, nr_a, a, 0) * (double)nr_a +
		   sonde_stats__covariance(ranks + nr_a, nr_b, b, 0) * (double)nr_b;

	return s / fmax((double)(nr_a + nr_b) - 2, 1);
}

bool sonde_stats_compare(struct sonde_change *out, const struct sonde_side *base,
	const struct sonde_side *new_side, uint64_t seed)
{
	struct random r = {seed};
	struct resample a = {0}, b = {0};
	struct worth wa, wb;
	double tied, variance, *ranks;
	bool ok;

	*out = (struct sonde_change){NAN, NAN, NAN, 0, INFINITY, 1, 0, 0};
	if (!base->nr || !new_side->nr)
		return true;
	ranks = sonde_stats__rank_together(
		base->values, base->nr, new_side->values, new_side->nr, &tied);
	ok = ranks && resample_init(&a, base) && resample_init(&b, new_side);
	if (ok) {
		out->base_median = sonde_quantile(a.sorted, base->nr, 0.5);
		out->new_median = sonde_quantile(b.sorted, new_side->nr, 0.5);
		out->ratio = out->new_median / out->base_median;
		variance = within(ranks, base->nr, new_side->nr);
		wa = worth_of(ranks, base, variance);
		wb = worth_of(ranks + base->nr, new_side, variance);
		out->base_effective = wa.effective;
		out->new_effective = wb.effective;
		a.block = block_of((double)base->nr, wa.tau);
		b.block = block_of((double)new_side->nr, wb.tau);
		if (base->nr > 1 && new_side->nr > 1) {
			out->p = rank_p(ranks, base, new_side, variance, &wa, &wb);
			set_interval(
				out, &a, &b, &r, fmin(wa.df, wb.df), hypot(wa.drift, wb.drift));
		}
	}
	resample_release(&a);
	resample_release(&b);
	sonde_free(ranks);
	return ok;
}
