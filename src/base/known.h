/* Sums of figures, some of which may be unknown (NaN): unknown ones are skipped, and a sum of none is NaN. */
#ifndef SONDE_BASE_KNOWN_H
#define SONDE_BASE_KNOWN_H

#include <math.h>

static inline void sonde_add_known(double *sum, double v)
{
	if (!isnan(v))
		*sum = isnan(*sum) ? v : *sum + v;
}

#endif
