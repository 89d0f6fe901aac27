/*
 * Ten ways in which the times of a program scatter, to measure how often a comparison is wrong.
 *
 * A synthetic run is a loop of NOISE_REGIONS regions, entered one after the other in every turn of the loop, and the loop
 * itself, whose time is their sum. Effects of the machine (clocks, drift, warm-up, a slow run) are the same for all regions of
 * a run; all other noise is independent in each region. The numbers follow from a seed only, so they are the same every time.
 */
#ifndef TESTS_TOOLS_NOISE_MODELS_H
#define TESTS_TOOLS_NOISE_MODELS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define NOISE_REGIONS 40

static const struct noise_model {
	const char *name;
	double sd;	  /* standard deviation of the independent noise of a region */
	double rho;	  /* correlation of that noise between neighbouring entries */
	double sigma;	  /* lognormal noise of this width instead */
	double tail;	  /* noise of this width by Student's distribution with three degrees of freedom instead */
	double outliers;  /* this share of entries takes 2 to 6 times as long */
	double clock;	  /* two clock states, this far apart … */
	double switching; /* … and this likely to change from one entry to the next */
	double drift;	  /* longer by this from the first entry to the last */
	double own_drift; /* a drift that differs in every run: its standard deviation */
	double warm;	  /* the first entry takes longer by this, later ones by less and less */
	double run;	  /* standard deviation of whole runs */
	int independent;  /* entries are independent of each other */
} noise_models[] = {
	{.name = "independent", .sd = 0.05, .independent = 1},
	{.name = "lognormal", .sigma = 0.1, .independent = 1},
	{.name = "heavy tails", .tail = 0.03, .independent = 1},
	{.name = "clock states", .sd = 0.01, .clock = 0.06, .switching = 0.1},
	{.name = "slow clock states", .sd = 0.01, .clock = 0.06, .switching = 0.05},
	{.name = "AR(1) 0.5", .sd = 0.03, .rho = 0.5},
	{.name = "AR(1) 0.9", .sd = 0.03, .rho = 0.9},
	{.name = "drift 3 %", .sd = 0.025, .drift = 0.03},
	{.name = "drift 6 %", .sd = 0.025, .drift = 0.06},
	{.name = "own drift 3 %", .sd = 0.025, .own_drift = 0.03},
	{.name = "warm-up", .sd = 0.025, .warm = 0.5},
	{.name = "run effect 3 %", .sd = 0.025, .run = 0.03},
	{.name = "outliers", .sd = 0.025, .outliers = 0.05, .independent = 1},
};
#define NR_NOISE_MODELS (sizeof(noise_models) / sizeof(*noise_models))

/* splitmix64 */
static double noise_uniform(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double noise_gauss(uint64_t *seed)
{
	double r = sqrt(-2 * log(noise_uniform(seed)));

	return r * cos(2 * 3.14159265358979323846 * noise_uniform(seed));
}

/* A number by Student's distribution with three degrees of freedom. */
static double noise_student(uint64_t *seed)
{
	double a = noise_gauss(seed), b = noise_gauss(seed), c = noise_gauss(seed);

	return noise_gauss(seed) / sqrt((a * a + b * b + c * c) / 3);
}

/* The logarithm of the factor by which a region's own noise stretches an entry; `last` is the noise of the entry before. */
static double noise_own(const struct noise_model *m, double *last, uint64_t *seed)
{
	double x;

	*last = m->rho * *last + sqrt(1 - m->rho * m->rho) * noise_gauss(seed);
	x = m->sd * *last + m->sigma * (m->sigma > 0 ? noise_gauss(seed) : 0) +
	    m->tail * (m->tail > 0 ? noise_student(seed) : 0);
	if (m->outliers > 0 && noise_uniform(seed) < m->outliers)
		x += log(2 + 4 * noise_uniform(seed));
	return x;
}

/*
 * Makes one run of `nr` turns of the loop. times[r * nr + i] is entry i of region r, in ns; region NOISE_REGIONS is the loop.
 * Region `slow` takes `by` times as long.
 */
static void noise_run(double *times, size_t nr, const struct noise_model *m, size_t slow, double by, uint64_t *seed)
{
	double last[NOISE_REGIONS], run = m->run * noise_gauss(seed), slope = m->drift + m->own_drift * noise_gauss(seed);
	int state = noise_uniform(seed) < 0.5;
	size_t i, r;

	for (r = 0; r < NOISE_REGIONS; r++)
		last[r] = noise_gauss(seed);
	for (i = 0; i < nr; i++) {
		double shared = run + slope * (double)i / (double)nr + m->clock * state + log1p(m->warm * exp(-(double)i / 4));

		times[NOISE_REGIONS * nr + i] = 0;
		for (r = 0; r < NOISE_REGIONS; r++) {
			double usual = 20000.0 * (double)(1 + r * 7 % 20) * (r == slow ? by : 1);

			times[r * nr + i] = floor(usual * exp(shared + noise_own(m, &last[r], seed)));
			times[NOISE_REGIONS * nr + i] += times[r * nr + i];
		}
		if (m->switching > 0 && noise_uniform(seed) < m->switching)
			state = !state;
	}
}

#endif
