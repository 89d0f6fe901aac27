/*
 * The change between two sides: a test, and the interval of the ratio of their medians.
 *
 * Several runs per side are compared as runs: runs are drawn again, and blocks of entries within them. With one capture
 * per side, entries are compared one by one in the order of the run, so that drift and warm-up cancel if both sides have
 * them.
 */
#include "base/alloc.h"
#include "base/hypot.h"
#include "base/quantile.h"
#include "compare/stats_int.h"

#include <math.h>
#include <string.h>

#define NORMAL_LIMIT	1.959963984540054 /* 95 % of a normal distribution is within this many standard errors */
#define LEAST_APART	3 /* effective entries per side: fewer do not show how much they scatter */
#define MEDIAN_VARIANCE 1.5707963267948966 /* π/2: the variance of a median ÷ that of a mean */
#define MOST_MEDIAN	1000		   /* the median of a run is computed from at most this many of its entries */

/* How much evidence a side is: neighbouring entries resemble each other, and whole runs differ. */
struct worth {
	double tau;	  /* number of neighbouring entries that are worth one independent entry */
	double effective; /* number of independent entries that the side is worth */
	double df;	  /* degrees of freedom of the interval: of the runs if there are several */
	/* The level of whole runs: the mean of their logarithms, the variance of this mean, and its degrees of freedom. */
	double level, level_variance, level_df;
};

/* Evenly chosen entries are enough for a median. */
static double quick_median(const double *values, size_t nr)
{
	double v[MOST_MEDIAN];
	size_t kept = nr < MOST_MEDIAN ? nr : MOST_MEDIAN, i;

	for (i = 0; i < kept; i++)
		v[i] = values[i * nr / kept];
	return sonde_median(v, kept);
}

/*
 * A single run that gets slower from its first half to its second might have stayed at either level, and the next run
 * might do so: more entries do not help. By chance the halves differ by up to two standard errors, which follow from the
 * correlation of neighbours within a half. Only what exceeds that counts.
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
	drift = log(quick_median(s->values + s->nr - half, half) / quick_median(s->values, half));
	w->level_variance = sure * drift * drift;
}

/* The levels of a side's runs: the next run would scatter as much as they do. */
static void find_levels(struct worth *w, const struct sonde_side *s)
{
	double sum = 0, squares = 0, nr = 0;
	size_t i, at = 0;

	for (i = 0; i < s->nr_runs; at += s->runs[i], i++) {
		double level;

		if (!s->runs[i])
			continue;
		level = log(quick_median(s->values + at, s->runs[i]));
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

/* The number of resamples: more if the verdict may depend on it, fewer if a side is long. */
#define MIN_ROUNDS 200
#define MAX_ROUNDS 1000

/*
 * Resampling few runs or entries shows too little of their scatter. This factor widens the interval: Student's
 * distribution, and the lost degree of freedom.
 */
static double stretch(double df)
{
	return df < 1 ? INFINITY
		      : sonde_stats_student_limit(0.05, df) / NORMAL_LIMIT * sqrt((df + 1) / df);
}

static size_t rounds_for(const struct sonde_side_change *c, size_t nr)
{
	size_t rounds = c->p < 0.1 ? 2000000 / nr : 0;

	return rounds < MIN_ROUNDS ? MIN_ROUNDS : rounds < MAX_ROUNDS ? rounds : MAX_ROUNDS;
}

static void set_interval(struct sonde_side_change *out, struct sonde_resample *base,
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
	out->low = exp(centre - by * sonde_hypot(drift, centre - sonde_quantile(logs, rounds, 0.025)));
	out->high = exp(centre + by * sonde_hypot(drift, sonde_quantile(logs, rounds, 0.975) - centre));
}

/* Several runs are resampled, and so show how much they differ. A single run needs the estimate from its drift. */
static double drift_of(const struct sonde_side *s, const struct worth *w)
{
	return s->runs ? 0 : w->level_variance;
}

static size_t block_of(double nr, double tau)
{
	return tau < 1.5 ? 1 : (size_t)fmin(ceil(3 * tau), fmax(nr / 3, 1));
}

/*
 * For sides that differ but have no noise: the probability that this many values are separated like that by chance.
 * Clocks tick in steps, so that two equal values prove little.
 */
static double least_p(double a, double b)
{
	return fmin(1, 2 * exp(lgamma(a + 1) + lgamma(b + 1) - lgamma(a + b + 1)));
}

/* Welch's test of the difference between two means, each with its own variance. */
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
 * For sides whose values do not overlap: ranks depend only on the number of values, not on how far apart they are. So
 * with few entries the logarithms are tested as well, as medians of a normal distribution.
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
 * Whether the sides differ by more than whole runs do. It uses logarithms of medians and not ranks: if the sides do not
 * overlap, ranks do not show how far apart they are.
 */
static double level_p(const struct worth *a, const struct worth *b)
{
	if (!(a->level_variance + b->level_variance > 0))
		return 0; /* runs do not differ at all, or each side has only one */
	return welch_p(b->level - a->level, a->level_variance, a->level_df, b->level_variance,
		b->level_df);
}

/* The variance of the ranks within the sides: a real difference between the sides does not increase it. */
static double variance_within(const double *ranks, size_t nr_a, size_t nr_b)
{
	double a = sonde_stats__sum(ranks, nr_a) / (double)nr_a,
	       b = sonde_stats__sum(ranks + nr_a, nr_b) / (double)nr_b;
	double s = sonde_stats__covariance(ranks, nr_a, a, 0) * (double)nr_a +
		   sonde_stats__covariance(ranks + nr_a, nr_b, b, 0) * (double)nr_b;

	return s / fmax((double)(nr_a + nr_b) - 2, 1);
}

/* --- one capture a side ------------------------------------------------------------------------ */

/*
 * A state that lasts as long as a capture (a clock, a busy neighbour) cannot be seen in it. Entries show such states
 * when one changes into the next, so the fewer entries there are, the more may be hidden: 4.4 % of the time with 8
 * entries, 1.2 % with 30, 0.2 % with 200. The test adds this as scatter of each side. The interval does not: it says
 * what these entries show.
 */
#define HIDDEN 0.35
#define LEAST_HALVES 8 /* with fewer pairs, it makes no sense to compare two halves */
#define TRIM   0.1 /* this share of the pairs at each end does not count */

/* The entries of both sides, one by one in the order of the run: the logarithm of new ÷ base. */
struct pairs {
	double *logs, *sorted, *ranks;
	size_t nr;
	double tau;	  /* number of neighbouring pairs that are worth one independent pair */
	double effective; /* number of independent pairs */
	double lasting;	  /* the part of the variance that more entries would not reduce */
};

static void release_pairs(struct pairs *p)
{
	sonde_free(p->logs);
	sonde_free(p->sorted);
	sonde_free(p->ranks);
}

/* False when memory is short. Release it in any case. */
static bool init_pairs(struct pairs *p, const double *base, const double *now, size_t nr)
{
	size_t i;

	*p = (struct pairs){.logs = sonde_malloc(nr * sizeof(*p->logs)), .sorted = sonde_malloc(nr * sizeof(*p->sorted)), .nr = nr};
	if (!p->logs || !p->sorted)
		return false;
	for (i = 0; i < nr; i++)
		p->logs[i] = p->sorted[i] = log(now[i] / base[i]);
	sonde_sort_numbers(p->sorted, nr);
	p->ranks = sonde_stats__rank(p->logs, nr, NULL, 0);
	return p->ranks;
}

/*
 * How far the sides drift apart from the first half to the second. The next run may drift differently, so this counts as
 * scatter of the ratio. By chance the halves differ by up to two standard errors; only what exceeds that counts. If the
 * ratio moves evenly, it is as far off at the ends of a run as the halves are apart: that is its scatter. False when
 * memory is short.
 */
static bool find_own_drift(struct pairs *p)
{
	size_t half = p->nr / 2, i;
	double *flat = sonde_malloc(p->nr * sizeof(*flat)), n = (double)p->nr, mean = (n + 1) / 2, slope = 0, away, error, sure, drift, tau;
	const double *second = p->ranks + p->nr - half;

	if (!flat)
		return false;
	for (i = 0; i < p->nr; i++)
		slope += ((double)i + 1 - mean) * (p->ranks[i] - mean) * 12 / (n * (n * n - 1));
	for (i = 0; i < p->nr; i++) /* removes the trend: it makes neighbours alike, but is not chance */
		flat[i] = p->ranks[i] - mean - slope * ((double)i + 1 - mean);
	error = 4 / n * sonde_stats_correlation_time(flat, p->nr) * sonde_stats__covariance(flat, p->nr, 0, 0);
	sonde_free(flat);
	away = (sonde_stats__sum(second, half) - sonde_stats__sum(p->ranks, half)) / (double)half;
	sure = 1 - 4 * error / (away * away);
	if (!(sure > 0))
		return true;
	tau = (sonde_stats_correlation_time(p->ranks, half) + sonde_stats_correlation_time(second, half)) / 2;
	drift = quick_median(p->logs + p->nr - half, half) - quick_median(p->logs, half);
	p->lasting = sure * drift * drift;
	p->tau = fmin(p->tau, tau);
	return true;
}

/* Fills in tau, effective and lasting. False when memory is short. */
static bool weigh_pairs(struct pairs *p)
{
	bool ok;

	p->tau = sonde_stats_correlation_time(p->ranks, p->nr);
	ok = p->nr < LEAST_HALVES || find_own_drift(p);
	p->effective = (double)p->nr / p->tau;
	return ok;
}

/* Pair i in sorted order. Pairs that the trimmed mean cuts off get the value of the nearest pair that it keeps. */
static double winsorized(const struct pairs *p, size_t cut, size_t i)
{
	return p->sorted[i < cut ? cut : i >= p->nr - cut ? p->nr - cut - 1 : i];
}

/*
 * Yuen's test: compares the mean without the outer tenth of pairs at each end to their scatter. Outliers move it as
 * little as a test on ranks, but it also knows how far apart the sides are.
 */
static double trimmed_p(const struct pairs *p)
{
	size_t cut = (size_t)(TRIM * (double)p->nr), kept = p->nr - 2 * cut, i;
	double nr = (double)p->nr, share = (double)kept / nr, df = p->effective * share - 1, centre = 0, variance = 0,
	       mean = sonde_stats__sum(p->sorted + cut, kept) / (double)kept;

	if (df <= 0 || mean == 0)
		return 1;
	for (i = 0; i < p->nr; i++)
		centre += winsorized(p, cut, i) / nr;
	for (i = 0; i < p->nr; i++)
		variance += pow(winsorized(p, cut, i) - centre, 2) / (nr - 1);
	return fmax(sonde_stats_student(mean * share / sqrt(variance / p->effective), df), least_p(nr, nr));
}

/* The p-value of a change after adding a variance that the test does not see. */
static double with_hidden(double p, double away, double hidden)
{
	double z = sonde_stats_student_limit(fmax(p, 1e-15), 1e9);

	if (!(hidden > 0) || p >= 1)
		return p;
	return away == 0 ? 1 : sonde_stats_student(1 / sqrt(1 / (z * z) + hidden / (away * away)), 1e9);
}

/*
 * The ratio of the medians, in logarithms, when the same entries are drawn from both sides: a drift that both sides have
 * cancels.
 */
static double draw_pairs(struct sonde_resample *a, struct sonde_resample *b, struct sonde_random *r, size_t nr)
{
	size_t i;

	memset(a->count, 0, nr * sizeof(*a->count));
	memset(b->count, 0, nr * sizeof(*b->count));
	for (i = 0; i < nr; i++) {
		size_t k = sonde_random__below(r, nr);

		a->count[a->place[k]]++;
		b->count[b->place[k]]++;
	}
	return log(sonde_resample__drawn(b, nr) / sonde_resample__drawn(a, nr));
}

/*
 * The interval. Entries are drawn one by one, so it is widened by the root of the correlation time, because neighbours
 * resemble each other.
 */
static void set_paired_interval(struct sonde_side_change *out, struct sonde_resample *a, struct sonde_resample *b, const struct pairs *p,
	double middle, struct sonde_random *r)
{
	size_t rounds = rounds_for(out, 2 * p->nr), i;
	double logs[MAX_ROUNDS], centre = log(out->ratio), by = stretch(p->effective - 1) * sqrt(p->tau), lasting = NORMAL_LIMIT * sqrt(p->lasting);

	if (isinf(by))
		return;
	for (i = 0; i < rounds; i++)
		logs[i] = draw_pairs(a, b, r, p->nr);
	sonde_sort_numbers(logs, rounds);
	out->low = exp(centre - sonde_hypot(lasting, by * (middle - sonde_quantile(logs, rounds, 0.025))));
	out->high = exp(centre + sonde_hypot(lasting, by * (sonde_quantile(logs, rounds, 0.975) - middle)));
	out->lasting = lasting;
}

/* One run per side. False when memory is short. */
static bool compare_in_order(struct sonde_side_change *out, const struct sonde_side *base, const struct sonde_side *new_side,
	struct sonde_random *r)
{
	size_t nr = base->nr < new_side->nr ? base->nr : new_side->nr;
	const struct sonde_side x = {base->values, nr, NULL, 1}, y = {new_side->values, nr, NULL, 1};
	struct sonde_resample a = {0}, b = {0};
	struct pairs p = {0};
	double middle, beyond, hidden = HIDDEN / (double)nr;
	bool ok = init_pairs(&p, x.values, y.values, nr) && weigh_pairs(&p) && sonde_resample__init(&a, &x) && sonde_resample__init(&b, &y);

	if (ok) {
		middle = log(sonde_quantile(b.sorted, nr, 0.5) / sonde_quantile(a.sorted, nr, 0.5));
		beyond = log(out->ratio) - middle; /* the effect of entries without a partner on the other side */
		p.lasting += beyond * beyond;
		out->p = with_hidden(trimmed_p(&p), log(out->ratio), 2 * hidden * hidden + p.lasting);
		set_paired_interval(out, &a, &b, &p, middle, r);
	}
	release_pairs(&p);
	sonde_resample__release(&a);
	sonde_resample__release(&b);
	return ok;
}

/* --- several runs a side ------------------------------------------------------------------------ */

/* If a side has one run, its next run would differ from it as the runs of the other side differ from each other. */
static void borrow_level(struct worth *one, const struct worth *several, size_t nr_runs)
{
	one->level_variance = fmax(one->level_variance, several->level_variance * (double)nr_runs);
	one->level_df = one->df = several->level_df;
}

/* The number of values that every run has; 0 = runs have different numbers, or are not told apart. */
static size_t common_length(const struct sonde_side *a, const struct sonde_side *b)
{
	size_t i, nr = a->runs && b->runs ? a->runs[0] : 0;

	for (i = 0; nr && i < a->nr_runs + b->nr_runs; i++)
		if ((i < a->nr_runs ? a->runs[i] : b->runs[i - a->nr_runs]) != nr)
			return 0;
	return nr;
}

/*
 * Subtracts what all runs of both sides have in common at each position, such as a warm-up: it makes neighbours alike,
 * but does not make entries worth less. False when memory is short.
 */
static bool flatten_runs(double *flat, const double *ranks, const struct sonde_side *a, const struct sonde_side *b)
{
	size_t nr = a->nr + b->nr, each = common_length(a, b), i;
	double *usual = sonde_calloc(each + 1, sizeof(*usual)), mean = 0;

	if (!usual)
		return false;
	for (i = 0; i < nr; i++) {
		if (each && i % each == 0)
			mean = sonde_stats__sum(ranks + i, each) / (double)each;
		if (each)
			usual[i % each] += (ranks[i] - mean) * (double)each / (double)nr;
	}
	for (i = 0; i < nr; i++)
		flat[i] = ranks[i] - (each ? usual[i % each] : 0);
	sonde_free(usual);
	return true;
}

/* Several runs on a side. False when memory is short. */
static bool compare_runs(struct sonde_side_change *out, const struct sonde_side *base, const struct sonde_side *new_side,
	struct sonde_random *r)
{
	double *ranks = sonde_stats__rank(base->values, base->nr, new_side->values, new_side->nr), variance,
	       *flat = sonde_malloc((base->nr + new_side->nr) * sizeof(*flat));
	struct sonde_resample a = {0}, b = {0};
	struct worth wa, wb;
	bool ok = ranks && flat && flatten_runs(flat, ranks, base, new_side) && sonde_resample__init(&a, base) &&
		  sonde_resample__init(&b, new_side);

	if (ok) {
		variance = variance_within(ranks, base->nr, new_side->nr);
		wa = worth_of(flat, base, variance, out->base_median);
		wb = worth_of(flat + base->nr, new_side, variance, out->new_median);
		if (base->nr_runs < 2)
			borrow_level(&wa, &wb, new_side->nr_runs);
		else if (new_side->nr_runs < 2)
			borrow_level(&wb, &wa, base->nr_runs);
		a.block = block_of((double)base->nr, wa.tau);
		b.block = block_of((double)new_side->nr, wb.tau);
		out->p = fmin(rank_p(ranks, base, new_side, variance, &wa, &wb), apart_p(&a, &b, &wa, &wb));
		out->p = fmax(out->p, level_p(&wa, &wb));
		set_interval(out, &a, &b, r, fmin(wa.df, wb.df), drift_of(base, &wa) + drift_of(new_side, &wb));
	}
	sonde_resample__release(&a);
	sonde_resample__release(&b);
	sonde_free(ranks);
	sonde_free(flat);
	return ok;
}

/* NaN only when memory is short: no side is empty, and no value is NaN. */
static double median_of(const struct sonde_side *s)
{
	double *copy = sonde_malloc(s->nr * sizeof(*copy)), median = NAN;

	if (copy) {
		memcpy(copy, s->values, s->nr * sizeof(*copy));
		median = sonde_median(copy, s->nr);
	}
	sonde_free(copy);
	return median;
}

bool sonde_stats_compare(struct sonde_side_change *out, const struct sonde_side *base,
	const struct sonde_side *new_side, uint64_t seed)
{
	struct sonde_random r = {seed};

	*out = (struct sonde_side_change){NAN, NAN, NAN, 0, INFINITY, 0, 1};
	if (!base->nr || !new_side->nr)
		return true;
	out->base_median = median_of(base);
	out->new_median = median_of(new_side);
	out->ratio = out->new_median / out->base_median;
	if (isnan(out->ratio))
		return false;
	if (base->nr < 2 || new_side->nr < 2)
		return true;
	return base->nr_runs < 2 && new_side->nr_runs < 2 ? compare_in_order(out, base, new_side, &r)
							  : compare_runs(out, base, new_side, &r);
}
