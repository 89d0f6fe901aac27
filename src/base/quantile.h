/* Sorting numbers, and quantiles of sorted ones. */
#ifndef SONDE_BASE_QUANTILE_H
#define SONDE_BASE_QUANTILE_H

#include <stddef.h>
#include <stdint.h>

/* Smallest first. */
void sonde_sort_numbers(double *at, size_t nr);
void sonde_sort_u32(uint32_t *at, size_t nr);

/* Quantile `q` (0 … 1) of sorted values, interpolated (the median of two is their mean); NaN when there are none. */
double sonde_quantile(const double *sorted, size_t nr, double q);
/* The median of values in any order; sorts them. NaN when there are none. */
double sonde_median(double *at, size_t nr);

#endif
