/*
 * The statistics behind verdicts, with no knowledge of regions: Student's distribution, the
 * time over which neighbouring values hang together, p-values adjusted for their number, and the
 * comparison of two sides by a test on ranks and by resampling.
 */
#include "base/alloc.h"
#include "base/quantile.h"
#include "base/vec.h"
#include "compare/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ranked {
	double v;
	size_t index;
};

/* The state of a generator that is the same everywhere. */
struct random_state {
	uint64_t state;
};

/* A side prepared for resampling: its values sorted, and the place of each entry among them. */
struct resample {
	const struct sonde_side *side;
	double *sorted;
	uint32_t *place; /* by entry */
	uint32_t *count; /* by place: how often it was drawn this time */
	size_t block;	 /* entries drawn together: neighbours resemble each other */
};

/* Lentz's continued fraction of the incomplete beta function. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;
	int m;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	h = d;
	for (m = 1; m <= 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 / (1 + even * d);
		c = 1 + even / c;
		h *= d * c;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return h;
}

/* The regularised incomplete beta function. */
static double beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double sonde_stats_student(double t, double df)
{
	if (!(df > 0) || isnan(t))
		return 1;
	if (isinf(t))
		return 0;
	return df > 1e6 ? erfc(fabs(t) / sqrt(2)) : beta(df / 2, 0.5, df / (df + t * t));
}

double sonde_stats_student_limit(double p, double df)
{
	double low = 0, high = 2;
	int i;

	while (sonde_stats_student(high, df) > p && high < 1e6) {
		low = high;
		high *= 2;
	}
	for (i = 0; i < 45; i++) { /* to the last bits that matter; this is asked for per region */
		double mid = (low + high) / 2;

		if (sonde_stats_student(mid, df) > p)
			low = mid;
		else
			high = mid;
	}
	return (low + high) / 2;
}

/* --- ranks ------------------------------------------------------------------------------------ */

/* for qsort; equal ones by index */
static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->v != y->v ? sonde_cmp(x->v, y->v) : sonde_cmp(x->index, y->index);
}

/*
 * Middle ranks, from 1, of a and b together, a first. NULL when memory is short; free with
 * sonde_free.
 */
static double *rank_together(const double *a, size_t nr_a, const double *b, size_t nr_b)
{
	size_t nr = nr_a + nr_b, i, k, end;
	struct ranked *sorted = sonde_malloc((nr + 1) * sizeof(*sorted));
	double *ranks = sonde_malloc((nr + 1) * sizeof(*ranks));

	if (!sorted || !ranks) {
		sonde_free(sorted);
		sonde_free(ranks);
		return NULL;
	}
	for (i = 0; i < nr; i++)
		sorted[i] = (struct ranked){i < nr_a ? a[i] : b[i - nr_a], i};
	qsort(sorted, nr, sizeof(*sorted), by_value);
	for (i = 0; i < nr; i = end) {
		for (end = i + 1; end < nr && sorted[end].v == sorted[i].v; end++)
			;
		for (k = i; k < end; k++)
			ranks[sorted[k].index] = ((double)i + (double)end + 1) / 2;
	}
	sonde_free(sorted);
	return ranks;
}

static double sum_of(const double *v, size_t nr)
{
	double s = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		s += v[i];
	return s;
}

bool sonde_stats_adjust(double *q, const double *p, size_t nr, size_t stride)
{
	struct ranked *order = sonde_malloc((nr + 1) * sizeof(*order));
	double least = 1;
	size_t i, nr_tests = 0;

	if (!order)
		return false;
	for (i = 0; i < nr; i++) {
		double v = *(const double *)(const void *)((const char *)p + i * stride);

		if (!isnan(v))
			order[nr_tests++] = (struct ranked){v, i};
	}
	qsort(order, nr_tests, sizeof(*order), by_value);
	for (i = nr_tests; i-- > 0;) {
		least = fmin(least, order[i].v * (double)nr_tests / (double)(i + 1));
		*(double *)(void *)((char *)q + order[i].index * stride) = least;
	}
	sonde_free(order);
	return true;
}

/* --- effective numbers ------------------------------------------------------------------------ */

static double covariance(const double *v, size_t nr, double mean, size_t lag)
{
	double s = 0;
	size_t i;

	for (i = 0; i + lag < nr; i++)
		s += (v[i] - mean) * (v[i + lag] - mean);
	return s / (double)nr;
}

/*
 * Sokal's window: lags are added up until they are five times as long as what
 * they add up to; beyond that is only noise. Taking the mean off lowers every
 * correlation by about 1/nr, which is put back.
 */
static double windowed_time(const double *values, size_t nr, double mean, double all)
{
	double tau = 1;
	size_t lag;

	for (lag = 1; lag < nr / 2 && (double)lag < 5 * tau; lag++)
		tau += 2 * (covariance(values, nr, mean, lag) / all + 1 / (double)nr);
	return tau;
}

/*
 * A short series shows less correlation than it has (Kendall), and by chance
 * none at all: a first-order process with the correlation it may well have.
 */
static double cautious_time(const double *values, size_t nr, double mean, double all)
{
	double n = (double)nr, rho = covariance(values, nr, mean, 1) / all;

	rho += (1 + 3 * rho) / n;
	rho += sqrt(fmax(1 - rho * rho, 0) / n); /* one standard error */
	return rho >= 1 ? INFINITY : (1 + rho) / (1 - rho);
}

double sonde_stats_correlation_time(const double *values, size_t nr)
{
	double mean = sum_of(values, nr) / (double)nr, all, tau,
	       most = fmax((double)nr / 2, 1);

	if (nr < 4)
		return most;
	all = covariance(values, nr, mean, 0);
	if (!(all > 0))
		return 1;
	tau = fmax(windowed_time(values, nr, mean, all), cautious_time(values, nr, mean, all));
	return fmin(fmax(tau, 1), most);
}

/* Drawing a side again: runs first, then blocks of entries within each. */

/* splitmix64: small, good, the same everywhere. */
static uint64_t draw(struct random_state *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static size_t draw_below(struct random_state *r, size_t n)
{
	return (size_t)(((draw(r) >> 32) * n) >> 32); /* n is below 2³² */
}

/* Single entries: one draw is good for two. */
static void draw_singles(struct resample *s, struct random_state *r, size_t first, size_t nr)
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

static void draw_run(struct resample *s, struct random_state *r, size_t first, size_t nr)
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
static double resample_median(struct resample *s, struct random_state *r)
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

/* False when memory is short. Release it in any case. */
static bool resample_init(struct resample *s, const struct sonde_side *side)
{
	struct ranked *order = sonde_malloc(side->nr * sizeof(*order));
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
		order[i] = (struct ranked){side->values[i], i};
	qsort(order, side->nr, sizeof(*order), by_value);
	for (i = 0; i < side->nr; i++) {
		s->sorted[i] = order[i].v;
		s->place[order[i].index] = (uint32_t)i;
	}
	sonde_free(order);
	return true;
}

/* False when memory is short. Release it in any case. */
static void resample_release(struct resample *s)
{
	sonde_free(s->sorted);
	sonde_free(s->place);
	sonde_free(s->count);
}

/*
 * Comparing two sides: what each is worth, a test on the ranks, and the interval of the ratio by
 * resampling runs and blocks of entries.
 */

#define NORMAL_LIMIT	1.959963984540054 /* of 95 % */
#define LEAST_APART	3 /* effective entries a side that show how far they scatter */
#define MEDIAN_VARIANCE 1.5707963267948966 /* π/2: of a median, against that of a mean */
#define MOST_MEDIAN	1000		   /* entries that the median of a run is made of */

/* How much a side shows: neighbouring entries are much the same, and whole runs differ. */
struct worth {
	double tau;	  /* so many neighbours say the same */
	double effective; /* so many independent entries it has */
	double df;	  /* degrees of freedom of the interval: of runs where there are several */
	/* The level of whole runs: variance of its logarithm's mean, and degrees of freedom. */
	double level, level_variance, level_df;
};

/* The logarithm of a run's median; evenly chosen entries are enough. */
static double log_median(const double *values, size_t nr)
{
	double v[MOST_MEDIAN];
	size_t kept = nr < MOST_MEDIAN ? nr : MOST_MEDIAN, i;

	for (i = 0; i < kept; i++)
		v[i] = values[i * nr / kept];
	return log(sonde_median(v, kept));
}

/*
 * A single run that gets slower from its first half to its second might have been at the level of
 * either throughout, and the next run might be: more entries do not show more. Chance moves the
 * halves apart by two standard errors, told from what neighbours within a half have in common;
 * what is beyond that counts.
 */
static void find_drift(
	struct worth *w, const double *ranks, const struct sonde_side *s, double variance)
{
	size_t half = s->nr / 2;
	const double *second = ranks + s->nr - half;
	double away, error = 4 * variance / (double)s->nr, sure, drift;

	if (half < 2 || !(variance > 0))
		return;
	away = (sum_of(second, half) - sum_of(ranks, half)) / (double)half;
	if (away * away <= 4 * error)
		return;
	error *= (sonde_stats_correlation_time(ranks, half) +
			 sonde_stats_correlation_time(second, half)) /
		 2;
	sure = 1 - 4 * error / (away * away);
	if (!(sure > 0))
		return;
	drift = log_median(s->values + s->nr - half, half) - log_median(s->values, half);
	w->level_variance = sure * drift * drift;
}

/* How much the runs of a side scatter is what the next run would show, too. */
static void find_levels(struct worth *w, const struct sonde_side *s)
{
	double sum = 0, squares = 0, nr = 0;
	size_t i, at = 0;

	for (i = 0; i < s->nr_runs; at += s->runs[i], i++) {
		double level;

		if (!s->runs[i])
			continue;
		level = log_median(s->values + at, s->runs[i]);
		sum += level;
		squares += level * level;
		nr++;
	}
	w->level = sum / nr;
	w->level_variance = fmax(squares / nr - w->level * w->level, 0) / (nr - 1);
	w->level_df = w->df = nr - 1;
}

static struct worth worth_of(
	const double *ranks, const struct sonde_side *s, double variance, double median)
{
	size_t one = s->nr, nr_runs = s->runs ? s->nr_runs : 1, i, at = 0;
	const size_t *runs = s->runs ? s->runs : &one;
	struct worth w = {.level = log(median), .level_df = 1e9};

	for (i = 0; i < nr_runs; at += runs[i], i++)
		if (runs[i])
			w.tau += (double)runs[i] / (double)s->nr *
				 sonde_stats_correlation_time(ranks + at, runs[i]);
	w.tau = fmax(w.tau, 1);
	w.effective = (double)s->nr / w.tau;
	w.df = w.effective - 1;
	if (nr_runs > 1)
		find_levels(&w, s);
	else
		find_drift(&w, ranks, s, variance);
	return w;
}

/* --- the interval ----------------------------------------------------------------------------- */

/* The number of resamples: more where the verdict may depend on it, fewer where a side is long. */
#define MIN_ROUNDS 200
#define MAX_ROUNDS 1000

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

static void set_interval(struct sonde_change *out, struct resample *base,
	struct resample *new_side, struct random_state *r, double df, double drift_variance)
{
	size_t rounds = rounds_for(out, base->side->nr + new_side->side->nr), i;
	double logs[MAX_ROUNDS], centre = log(out->ratio), by = stretch(df),
				 drift = NORMAL_LIMIT * sqrt(drift_variance);

	if (isinf(by))
		return;
	for (i = 0; i < rounds; i++)
		logs[i] =
			log(resample_median(new_side, r) / resample_median(base, r));
	sonde_sort_numbers(logs, rounds);
	out->low = exp(centre - by * hypot(drift, centre - sonde_quantile(logs, rounds, 0.025)));
	out->high = exp(centre + by * hypot(drift, sonde_quantile(logs, rounds, 0.975) - centre));
}

/* Several runs are resampled, and show by themselves how they differ. */
static double drift_of(const struct sonde_side *s, const struct worth *w)
{
	return s->runs ? 0 : w->level_variance;
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

/* Welch's: a difference of two means, each with a variance of its own. */
static double welch_p(double away, double va, double dfa, double vb, double dfb)
{
	double df = (va + vb) * (va + vb) / (va * va / dfa + vb * vb / dfb);

	return sonde_stats_student(away / sqrt(va + vb), df);
}

/* Mann and Whitney's test: Welch's on the ranks, with each side's effective number of entries. */
static double rank_p(const double *ranks, const struct sonde_side *a, const struct sonde_side *b,
	double variance, const struct worth *wa, const struct worth *wb)
{
	double away = sum_of(ranks + a->nr, b->nr) / (double)b->nr -
		      sum_of(ranks, a->nr) / (double)a->nr;

	if (wa->effective <= 1 || wb->effective <= 1)
		return 1;
	if (!(variance > 0))
		return away == 0 ? 1 : least_p(wa->effective, wb->effective);
	return welch_p(away, variance / wa->effective, wa->effective - 1, variance / wb->effective,
		wb->effective - 1);
}

/* The variance of the logarithms of a side's values. */
static double log_variance(const struct sonde_side *s)
{
	double sum = 0, squares = 0, n = (double)s->nr;
	size_t i;

	for (i = 0; i < s->nr; i++) {
		double v = log(s->values[i]);

		sum += v;
		squares += v * v;
	}
	return fmax(squares / n - sum / n * sum / n, 0) * n / (n - 1);
}

/*
 * Sides without a value in common: ranks say how many values that are, not how far apart. With few
 * entries the logarithms are tested as well, as medians of a normal distribution.
 */
static double apart_p(const struct resample *a, const struct resample *b,
	const struct worth *wa, const struct worth *wb)
{
	size_t last_a = a->side->nr - 1, last_b = b->side->nr - 1;
	double va, vb;

	if (!(a->sorted[last_a] < b->sorted[0] || b->sorted[last_b] < a->sorted[0]) ||
		wa->effective < LEAST_APART || wb->effective < LEAST_APART)
		return 1;
	va = MEDIAN_VARIANCE * log_variance(a->side) / wa->effective;
	vb = MEDIAN_VARIANCE * log_variance(b->side) / wb->effective;
	if (!(va + vb > 0))
		return 1;
	return welch_p(log(b->sorted[last_b / 2] / a->sorted[last_a / 2]), va, wa->effective - 1,
		vb, wb->effective - 1);
}

/*
 * Is the difference more than whole runs differ? On logarithms of medians and not on ranks: where
 * sides do not overlap, ranks no longer show how far apart they are.
 */
static double level_p(const struct worth *a, const struct worth *b)
{
	if (!(a->level_variance + b->level_variance > 0))
		return 0; /* runs do not differ at all, or there is but one */
	return welch_p(b->level - a->level, a->level_variance, a->level_df, b->level_variance,
		b->level_df);
}

/* Variance of the ranks within the sides, which a real difference between them does not blow up. */
static double variance_within(const double *ranks, size_t nr_a, size_t nr_b)
{
	double a = sum_of(ranks, nr_a) / (double)nr_a,
	       b = sum_of(ranks + nr_a, nr_b) / (double)nr_b;
	double s = covariance(ranks, nr_a, a, 0) * (double)nr_a +
		   covariance(ranks + nr_a, nr_b, b, 0) * (double)nr_b;

	return s / fmax((double)(nr_a + nr_b) - 2, 1);
}

bool sonde_stats_compare(struct sonde_change *out, const struct sonde_side *base,
	const struct sonde_side *new_side, uint64_t seed)
{
	struct random_state r = {seed};
	struct resample a = {0}, b = {0};
	struct worth wa, wb;
	double variance, *ranks;
	bool ok;

	*out = (struct sonde_change){NAN, NAN, NAN, 0, INFINITY, 1};
	if (!base->nr || !new_side->nr)
		return true;
	ranks = rank_together(
		base->values, base->nr, new_side->values, new_side->nr);
	ok = ranks && resample_init(&a, base) && resample_init(&b, new_side);
	if (ok) {
		out->base_median = sonde_quantile(a.sorted, base->nr, 0.5);
		out->new_median = sonde_quantile(b.sorted, new_side->nr, 0.5);
		out->ratio = out->new_median / out->base_median;
		variance = variance_within(ranks, base->nr, new_side->nr);
		wa = worth_of(ranks, base, variance, out->base_median);
		wb = worth_of(ranks + base->nr, new_side, variance, out->new_median);
		a.block = block_of((double)base->nr, wa.tau);
		b.block = block_of((double)new_side->nr, wb.tau);
		if (base->nr > 1 && new_side->nr > 1) {
			out->p = fmin(rank_p(ranks, base, new_side, variance, &wa, &wb),
				apart_p(&a, &b, &wa, &wb));
			out->p = fmax(out->p, level_p(&wa, &wb));
			set_interval(out, &a, &b, &r, fmin(wa.df, wb.df),
				drift_of(base, &wa) + drift_of(new_side, &wb));
		}
	}
	resample_release(&a);
	resample_release(&b);
	sonde_free(ranks);
	return ok;
}
