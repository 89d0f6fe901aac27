/*
 * Is a rank slow, or only the slowest? GPUs, nodes and hosts differ by a per cent or three, and one of them is always
 * last. The others show how much they differ: by chance the slowest of eight is more than four of their standard
 * deviations away in 4 of 100 jobs, and those of one host more than four standard errors in 1 of 100.
 */
#include "ranks/ranks_int.h"

#include <math.h>

#define DEVIATIONS	4.0  /* of the others: so far away is the slowest … */
#define DEVIATIONS_LEFT 7.0  /* … and so far where others were left out, which makes deviations smaller */
#define LEFT_OUT	0.25 /* of all ranks at most: more of them are no exception */
#define STANDARD_ERRORS 4.0  /* of the difference of two means */

static double mean_of(const double *at, size_t nr)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += at[i];
	return sum / (double)nr;
}

/* Σ (v - from)² */
static double squares(const double *at, size_t nr, double from)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += (at[i] - from) * (at[i] - from);
	return sum;
}

static double median_of(const double *sorted, size_t nr)
{
	return (sorted[(nr - 1) / 2] + sorted[nr / 2]) / 2;
}

/* Of two ranks the other one is all there is to compare with. */
static bool is_far(const double *others, size_t nr, double slowest, double deviations)
{
	double median = median_of(others, nr), excess = slowest - median;

	return excess > 0 && (nr < 2 || excess >= deviations * sqrt(squares(others, nr, median) / (double)(nr - 1)));
}

bool sonde_beyond__one(const double *sorted, size_t nr)
{
	double slowest = sorted[nr - 1], half;
	size_t nr_fast = nr - 1;

	if (is_far(sorted, nr - 1, slowest, DEVIATIONS))
		return true;
	/* Others may be slow as well, and then their deviations are large. */
	half = (median_of(sorted, nr - 1) + slowest) / 2;
	while (nr_fast > 0 && sorted[nr_fast - 1] >= half)
		nr_fast--;
	return nr_fast > 1 && nr_fast < nr - 1 && (double)(nr - 1 - nr_fast) <= LEFT_OUT * (double)nr &&
	       is_far(sorted, nr_fast, slowest, DEVIATIONS_LEFT);
}

bool sonde_beyond__group(const double *group, size_t nr, const double *rest, size_t nr_rest)
{
	double mean = mean_of(group, nr), rest_mean = mean_of(rest, nr_rest), deviation;

	if (mean <= rest_mean || nr + nr_rest < 3)
		return false;
	deviation = sqrt((squares(group, nr, mean) + squares(rest, nr_rest, rest_mean)) / (double)(nr + nr_rest - 2));
	return mean - rest_mean >= STANDARD_ERRORS * deviation * sqrt(1 / (double)nr + 1 / (double)nr_rest);
}
