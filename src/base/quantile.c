#include "base/quantile.h"

#include <math.h>
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

void sonde_sort_numbers(double *v, size_t nr)
{
	if (nr > 1)
		qsort(v, nr, sizeof(*v), by_number);
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
