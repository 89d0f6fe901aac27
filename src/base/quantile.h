/* Quantiles of sorted numbers. */
#ifndef SONDE_BASE_QUANTILE_H
#define SONDE_BASE_QUANTILE_H

#include <stddef.h>

/* Sorts, the smallest first. */
void sonde_sort_numbers(double *v, size_t nr);
/* Quantile `q` of sorted values, interpolated (the median of two is their mean); NaN of none. */
double sonde_quantile(const double *sorted, size_t nr, double q);

#endif
