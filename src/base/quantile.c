/* Quantiles between two values are interpolated, as numpy does by default. */
#include "base/quantile.h"

#include <math.h>
#include <stdlib.h>

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int by_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void sonde_sort_numbers(double *at, size_t nr)
{
	if (nr > 1) /* `at` may be NULL when there are none, and qsort must not get NULL */
		qsort(at, nr, sizeof(*at), by_double);
}

void sonde_sort_u32(uint32_t *at, size_t nr)
{
	if (nr > 1)
		qsort(at, nr, sizeof(*at), by_u32);
}

double sonde_quantile(const double *sorted, size_t nr, double q)
{
	double at = q * ((double)nr - 1), below = floor(at);
	size_t i = nr ? (size_t)below : 0;

	if (!nr)
		return NAN;
	if (i + 1 >= nr)
		return sorted[nr - 1];
	return sorted[i] + (at - below) * (sorted[i + 1] - sorted[i]);
}

double sonde_median(double *at, size_t nr)
{
	sonde_sort_numbers(at, nr);
	return sonde_quantile(at, nr, 0.5);
}
