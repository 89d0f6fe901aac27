/*
 * Comparing two sides: what each is worth, a test on the ranks, and the interval of the ratio by
 * resampling runs and blocks of entries.
 */
#include "compare/stats_int.h"

#include "base/alloc.h"
#include "base/quantile.h"

#include <math.h>

#define NORMAL_LIMIT	1.959963984540054 /* of 95 % */
#define LEAST_APART	3 /* effective entries a side that show how far they scatter */
#define MEDIAN_VARIANCE 1.5707963267948966 /* π/2: of a median, against that of a mean */
#define MOST_MEDIAN	1000		   /* entries that the median of a run is made of */

/* What a side is worth: entries that are neighbours say much the same, and whole runs differ. */
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
	away = (sonde_stats__sum(second, half) - sonde_stats__sum(ranks, half)) / (double)half;
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

/* Of resamples: more where the verdict may hang on it, fewer where a side is long. */
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

static void set_interval(struct sonde_change *out, struct sonde_resample *base,
	struct sonde_resample *new_side, struct sonde_random *r, double df, double drift_variance)
{
	size_t rounds = rounds_for(out, base->side->nr + new_side->side->nr), i;
	double logs[MAX_ROUNDS], centre = log(out->ratio), by = stretch(df),
				 drift = NORMAL_LIMIT * sqrt(drift_variance);

	if (isinf(by))
		return;
	for (i = 0; i < rounds; i++)
		logs[i] =
			log(sonde_resample__median(new_side, r) / sonde_resample__median(base, r));
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
	double away = sonde_stats__sum(ranks + a->nr, b->nr) / (double)b->nr -
		      sonde_stats__sum(ranks, a->nr) / (double)a->nr;

	if (wa->effective <= 1 || wb->effective <= 1)
		return 1;
	if (!(variance > 0))
		return away == 0 ? 1 : least_p(wa->effective, wb->effective);
	return welch_p(away, variance / wa->effective, wa->effective - 1, variance / wb->effective,
		wb->effective - 1);
}

/* Of the logarithms of a side's values. */
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
static double apart_p(const struct sonde_resample *a, const struct sonde_resample *b,
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
	double a = sonde_stats__sum(ranks, nr_a) / (double)nr_a,
	       b = sonde_stats__sum(ranks + nr_a, nr_b) / (double)nr_b;
	double s = sonde_stats__covariance(ranks, nr_a, a, 0) * (double)nr_a +
		   sonde_stats__covariance(ranks + nr_a, nr_b, b, 0) * (double)nr_b;

	return s / fmax((double)(nr_a + nr_b) - 2, 1);
}

bool sonde_stats_compare(struct sonde_change *out, const struct sonde_side *base,
	const struct sonde_side *new_side, uint64_t seed)
{
	struct sonde_random r = {seed};
	struct sonde_resample a = {0}, b = {0};
	struct worth wa, wb;
	double variance, *ranks;
	bool ok;

	*out = (struct sonde_change){NAN, NAN, NAN, 0, INFINITY, 1};
	if (!base->nr || !new_side->nr)
		return true;
	ranks = sonde_stats__rank_together(
		base->values, base->nr, new_side->values, new_side->nr);
	ok = ranks && sonde_resample__init(&a, base) && sonde_resample__init(&b, new_side);
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
	sonde_resample__release(&a);
	sonde_resample__release(&b);
	sonde_free(ranks);
	return ok;
}
