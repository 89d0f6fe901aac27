/* Sums of figures that may not be known (NaN): what is known counts, and NaN is none at all. */
#ifndef SONDE_BASE_KNOWN_H
#define SONDE_BASE_KNOWN_H

#include <math.h>

static inline void sonde_add_known(double *sum, double v)
{
	if (!isnan(v))
		*sum = isnan(*sum) ? v : *sum + v;
}

#endif
