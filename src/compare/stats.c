/*
 * The statistics behind verdicts, which know no regions: Student's distribution, correlation times of neighbouring
 * values, ranks, p-values adjusted for the number of tests, and resampling of a side.
 */
#include "base/alloc.h"
#include "base/vec.h"
#include "compare/stats_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
	for (i = 0; i < 45; i++) { /* enough for all bits that matter; called for every region */
		double mid = (low + high) / 2;

		if (sonde_stats_student(mid, df) > p)
			low = mid;
		else
			high = mid;
	}
	return (low + high) / 2;
}

/* --- ranks ------------------------------------------------------------------------------------ */

/* For qsort: sorts by value, then index. */
static int by_value(const void *a, const void *b)
{
	const struct sonde_stats__ranked *x = a, *y = b;

	return x->v != y->v ? sonde_cmp(x->v, y->v) : sonde_cmp(x->index, y->index);
}

void sonde_stats__sort(struct sonde_stats__ranked *at, size_t nr)
{
	if (nr)
		qsort(at, nr, sizeof(*at), by_value);
}

double *sonde_stats__rank(const double *a, size_t nr_a, const double *b, size_t nr_b)
{
	size_t nr = nr_a + nr_b, i, k, end;
	struct sonde_stats__ranked *sorted = sonde_malloc((nr + 1) * sizeof(*sorted));
	double *ranks = sonde_malloc((nr + 1) * sizeof(*ranks));

	if (!sorted || !ranks) {
		sonde_free(sorted);
		sonde_free(ranks);
		return NULL;
	}
	for (i = 0; i < nr; i++)
		sorted[i] = (struct sonde_stats__ranked){i < nr_a ? a[i] : b[i - nr_a], i};
	sonde_stats__sort(sorted, nr);
	for (i = 0; i < nr; i = end) {
		for (end = i + 1; end < nr && sorted[end].v == sorted[i].v; end++)
			;
		for (k = i; k < end; k++)
			ranks[sorted[k].index] = ((double)i + (double)end + 1) / 2;
	}
	sonde_free(sorted);
	return ranks;
}

bool sonde_stats_adjust(double *q, const double *p, size_t nr, size_t stride)
{
	struct sonde_stats__ranked *order = sonde_malloc((nr + 1) * sizeof(*order));
	double least = 1;
	size_t i, nr_tests = 0;

	if (!order)
		return false;
	for (i = 0; i < nr; i++) {
		double v = *(const double *)(const void *)((const char *)p + i * stride);

		if (!isnan(v))
			order[nr_tests++] = (struct sonde_stats__ranked){v, i};
	}
	sonde_stats__sort(order, nr_tests);
	for (i = nr_tests; i-- > 0;) {
		least = fmin(least, order[i].v * (double)nr_tests / (double)(i + 1));
		*(double *)(void *)((char *)q + order[i].index * stride) = least;
	}
	sonde_free(order);
	return true;
}

/* --- effective numbers ------------------------------------------------------------------------ */

/*
 * Sokal's window: lags are added up until the lag is five times the sum so far; later lags are only noise. Subtracting
 * the mean lowers every correlation by about 1/nr, so that is added back.
 */
static double windowed_time(const double *values, size_t nr, double mean, double all)
{
	double tau = 1;
	size_t lag;

	for (lag = 1; lag < nr / 2 && (double)lag < 5 * tau; lag++)
		tau += 2 * (sonde_stats__covariance(values, nr, mean, lag) / all + 1 / (double)nr);
	return tau;
}

/*
 * A short series shows less correlation than it has (Kendall), and by chance it may show none. So this is the time of a
 * first-order process with as much correlation as the series may well have.
 */
static double cautious_time(const double *values, size_t nr, double mean, double all)
{
	double n = (double)nr, rho = sonde_stats__covariance(values, nr, mean, 1) / all;

	rho += (1 + 3 * rho) / n;
	rho += 0.5 * sqrt(fmax(1 - rho * rho, 0) / n); /* half a standard error */
	return rho >= 1 ? INFINITY : (1 + rho) / (1 - rho);
}

double sonde_stats_correlation_time(const double *values, size_t nr)
{
	double mean = sonde_stats__sum(values, nr) / (double)nr, all, tau,
	       most = fmax((double)nr / 2, 1);

	if (nr < 4)
		return most;
	all = sonde_stats__covariance(values, nr, mean, 0);
	if (!(all > 0))
		return 1;
	tau = fmax(windowed_time(values, nr, mean, all), cautious_time(values, nr, mean, all));
	return fmin(fmax(tau, 1), most);
}

/* --- resampling --------------------------------------------------------------------------------- */

/* splitmix64: small, good, the same everywhere. */
static uint64_t draw(struct sonde_random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

size_t sonde_random__below(struct sonde_random *r, size_t n)
{
	return (size_t)(((draw(r) >> 32) * n) >> 32); /* n is below 2³² */
}

/* Draws single entries. One random number is enough for two. */
static void draw_singles(struct sonde_resample *s, struct sonde_random *r, size_t first, size_t nr)
{
	const uint32_t *place = s->place + first;
	size_t left;

	for (left = nr; left > 1; left -= 2) {
		uint64_t z = draw(r);

		s->count[place[((z >> 32) * nr) >> 32]]++;
		s->count[place[((z & UINT32_MAX) * nr) >> 32]]++;
	}
	if (left)
		s->count[place[sonde_random__below(r, nr)]]++;
}

static void draw_run(struct sonde_resample *s, struct sonde_random *r, size_t first, size_t nr)
{
	size_t left = nr, at, k;

	if (s->block == 1) {
		draw_singles(s, r, first, nr);
		return;
	}
	while (left) {
		size_t take = s->block < left ? s->block : left;

		at = sonde_random__below(r, nr);
		for (k = 0; k < take; k++, at = at + 1 == nr ? 0 : at + 1)
			s->count[s->place[first + at]]++;
		left -= take;
	}
}

double sonde_resample__drawn(const struct sonde_resample *s, size_t nr)
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

double sonde_resample__median(struct sonde_resample *s, struct sonde_random *r)
{
	const struct sonde_side *side = s->side;
	size_t i, k, first, drawn = 0;

	memset(s->count, 0, side->nr * sizeof(*s->count));
	if (!side->runs || side->nr_runs < 2) {
		draw_run(s, r, 0, side->nr);
		return sonde_resample__drawn(s, side->nr);
	}
	for (i = 0; i < side->nr_runs; i++) {
		size_t run = sonde_random__below(r, side->nr_runs);

		for (k = first = 0; k < run; k++)
			first += side->runs[k];
		draw_run(s, r, first, side->runs[run]);
		drawn += side->runs[run];
	}
	return drawn ? sonde_resample__drawn(s, drawn) : s->sorted[side->nr / 2];
}

bool sonde_resample__init(struct sonde_resample *s, const struct sonde_side *side)
{
	struct sonde_stats__ranked *order = sonde_malloc(side->nr * sizeof(*order));
	size_t i;

	*s = (struct sonde_resample){.side = side};
	s->sorted = sonde_malloc(side->nr * sizeof(*s->sorted));
	s->place = sonde_malloc(side->nr * sizeof(*s->place));
	s->count = sonde_malloc(side->nr * sizeof(*s->count));
	if (!order || !s->sorted || !s->place || !s->count) {
		sonde_free(order);
		return false;
	}
	for (i = 0; i < side->nr; i++)
		order[i] = (struct sonde_stats__ranked){side->values[i], i};
	sonde_stats__sort(order, side->nr);
	for (i = 0; i < side->nr; i++) {
		s->sorted[i] = order[i].v;
		s->place[order[i].index] = (uint32_t)i;
	}
	sonde_free(order);
	return true;
}

void sonde_resample__release(struct sonde_resample *s)
{
	sonde_free(s->sorted);
	sonde_free(s->place);
	sonde_free(s->count);
}

