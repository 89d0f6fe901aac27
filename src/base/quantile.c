#include "base/quantile.h"

#include <math.h>

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
