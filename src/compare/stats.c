/*
 * The statistics behind verdicts, with no knowledge of regions: Student's distribution, the
 * time over which neighbouring values hang together, and p-values adjusted for their number.
 */
#include "compare/stats_int.h"

#include "base/alloc.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

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

int sonde_ranked__by_value(const void *a, const void *b)
{
	const struct sonde_ranked *x = a, *y = b;

	return x->v != y->v ? sonde_cmp(x->v, y->v) : sonde_cmp(x->index, y->index);
}

double *sonde_stats__rank_together(const double *a, size_t nr_a, const double *b, size_t nr_b)
{
	size_t nr = nr_a + nr_b, i, k, end;
	struct sonde_ranked *sorted = sonde_malloc((nr + 1) * sizeof(*sorted));
	double *ranks = sonde_malloc((nr + 1) * sizeof(*ranks));

	if (!sorted || !ranks) {
		sonde_free(sorted);
		sonde_free(ranks);
		return NULL;
	}
	for (i = 0; i < nr; i++)
		sorted[i] = (struct sonde_ranked){i < nr_a ? a[i] : b[i - nr_a], i};
	qsort(sorted, nr, sizeof(*sorted), sonde_ranked__by_value);
	for (i = 0; i < nr; i = end) {
		for (end = i + 1; end < nr && sorted[end].v == sorted[i].v; end++)
			;
		for (k = i; k < end; k++)
			ranks[sorted[k].index] = ((double)i + (double)end + 1) / 2;
	}
	sonde_free(sorted);
	return ranks;
}

double sonde_stats__sum(const double *v, size_t nr)
{
	double s = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		s += v[i];
	return s;
}

bool sonde_stats_adjust(double *q, const double *p, size_t nr, size_t stride)
{
	struct sonde_ranked *order = sonde_malloc((nr + 1) * sizeof(*order));
	double least = 1;
	size_t i, nr_tests = 0;

	if (!order)
		return false;
	for (i = 0; i < nr; i++) {
		double v = *(const double *)(const void *)((const char *)p + i * stride);

		if (!isnan(v))
			order[nr_tests++] = (struct sonde_ranked){v, i};
	}
	qsort(order, nr_tests, sizeof(*order), sonde_ranked__by_value);
	for (i = nr_tests; i-- > 0;) {
		least = fmin(least, order[i].v * (double)nr_tests / (double)(i + 1));
		*(double *)(void *)((char *)q + order[i].index * stride) = least;
	}
	sonde_free(order);
	return true;
}

/* --- effective numbers ------------------------------------------------------------------------ */

double sonde_stats__covariance(const double *v, size_t nr, double mean, size_t lag)
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
		tau += 2 * (sonde_stats__covariance(values, nr, mean, lag) / all + 1 / (double)nr);
	return tau;
}

/*
 * A short series shows less correlation than it has (Kendall), and by chance
 * none at all: a first-order process with the correlation it may well have.
 */
static double cautious_time(const double *values, size_t nr, double mean, double all)
{
	double n = (double)nr, rho = sonde_stats__covariance(values, nr, mean, 1) / all;

	rho += (1 + 3 * rho) / n;
	rho += sqrt(fmax(1 - rho * rho, 0) / n); /* one standard error */
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
