/*
 * Measures how long unmixing takes: synthetic samples of 50 µs over kernels of 2 to 20 µs
 * that run one after the other.
 *
 *     unmix_bench [SAMPLES [CLASSES [COUNTERS]]]     default 1000000 10000 64
 *
 * Prints seconds, steps (if the build counts them, base/steps.h), the peak memory of the process (with the samples), and the
 * largest error of the totals of classes.
 */
#include "unmix/unmix.h"

#include "base/steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define INTERVAL 50000

struct run {
	struct sonde_unmix_input in;
	struct sonde_unmix_class *classes;
	struct sonde_unmix_launch *launches;
	int64_t *start_ns, *end_ns;
	double *values;
	double *counts; /* class · counters + counter */
	double *limits; /* what the device could count at most, far above the counts */
	uint64_t seed;
};

static uint64_t bits(struct run *r)
{
	uint64_t n = r->seed += 0x9e3779b97f4a7c15u;

	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
	return n ^ (n >> 31);
}

static double uniform(struct run *r, double from, double to)
{
	return from + (to - from) * (double)(bits(r) >> 11) * 0x1p-53;
}

static void *take(size_t nr, size_t size)
{
	void *p = calloc(nr, size);

	if (p == NULL) {
		fprintf(stderr, "unmix_bench: out of memory\n");
		exit(1);
	}
	return p;
}

static void count(struct run *r, const struct sonde_unmix_launch *l)
{
	uint32_t nr = r->in.nr_counters, c;
	size_t i = (size_t)(l->start_ns / INTERVAL);
	double scale = uniform(r, 0.9, 1.1); /* no two launches are equal */

	for (; i < r->in.nr_samples && r->start_ns[i] < l->end_ns; i++) {
		double from = fmax((double)l->start_ns, (double)r->start_ns[i]);
		double to = fmin((double)l->end_ns, (double)r->end_ns[i]);
		double part = (to - from) / (double)(l->end_ns - l->start_ns);

		for (c = 0; c < nr; c++)
			r->values[i * nr + c] +=
				part * scale * r->counts[(size_t)l->class * nr + c];
	}
}

static void make(struct run *r, size_t samples, uint32_t classes, uint32_t counters)
{
	int64_t end = (int64_t)samples * INTERVAL, at = 0;
	uint32_t k = 0;
	size_t i, room = samples * INTERVAL / 6000 + 1;

	r->classes = take(classes, sizeof(*r->classes));
	r->launches = take(room, sizeof(*r->launches));
	r->start_ns = take(samples, sizeof(*r->start_ns));
	r->end_ns = take(samples, sizeof(*r->end_ns));
	r->values = take(samples * counters, sizeof(*r->values));
	r->counts = take((size_t)classes * counters, sizeof(*r->counts));
	r->limits = take(counters, sizeof(*r->limits));
	for (i = 0; i < samples; i++) {
		r->start_ns[i] = (int64_t)i * INTERVAL;
		r->end_ns[i] = r->start_ns[i] + INTERVAL;
	}
	for (i = 0; i < (size_t)classes * counters; i++)
		r->counts[i] = uniform(r, 0, 1e6);
	for (i = 0; i < counters; i++)
		r->limits[i] = 1e6;
	for (i = 0; i < classes; i++)
		r->classes[i] = (struct sonde_unmix_class){(uint32_t)i, SONDE_UNMIX_NONE};
	r->in = (struct sonde_unmix_input){.classes = r->classes,
		.nr_classes = classes,
		.launches = r->launches,
		.start_ns = r->start_ns,
		.end_ns = r->end_ns,
		.values = r->values,
		.nr_samples = samples,
		.nr_counters = counters,
		.limits_per_ns = r->limits};
	while (at + 40000 < end && r->in.nr_launches < room) {
		struct sonde_unmix_launch *l = &r->launches[r->in.nr_launches++];
		int64_t length = 2000 + 1800 * (int64_t)(k % 11);

		*l = (struct sonde_unmix_launch){at, at + length, k, SONDE_UNMIX_NONE};
		count(r, l);
		at += length + (int64_t)uniform(r, 500, 4000);
		k = k + 1 < classes ? k + 1 : 0;
	}
}

static double worst_of(const struct run *r, const struct sonde_unmixed *u)
{
	double worst = 0;
	uint32_t k, c;

	for (k = 0; k < r->in.nr_classes; k++) {
		double launches = (double)sonde_unmixed_class(u, k)->nr_launches;

		for (c = 0; c < r->in.nr_counters; c++) {
			double truth = launches * r->counts[(size_t)k * r->in.nr_counters + c];
			double off = fabs(sonde_unmixed_figure(u, k, c).value - truth) /
				     (launches * 1e6);

			worst = off > worst ? off : worst;
		}
	}
	return worst;
}

int main(int argc, char **argv)
{
	size_t samples = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	uint32_t classes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 10000;
	uint32_t counters = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 64;
	struct timespec from, to;
	struct sonde_unmixed *u;
	struct sonde_err err = {0};
	struct rusage usage;
	clock_t cpu;
	uint64_t steps;
	struct run r = {.seed = 1};

	make(&r, samples, classes, counters);
	getrusage(RUSAGE_SELF, &usage);
	printf("%zu samples, %u classes, %u counters, %zu launches: %ld MB\n", samples, classes,
		counters, r.in.nr_launches, usage.ru_maxrss / 1024);
	cpu = clock();
	steps = sonde_steps();
	clock_gettime(CLOCK_MONOTONIC, &from);
	if (sonde_unmix_solve(&u, &r.in, NULL, &err) < 0) {
		fprintf(stderr, "unmix_bench: %s\n", err.msg);
		return 1;
	}
	steps = sonde_steps() - steps;
	clock_gettime(CLOCK_MONOTONIC, &to);
	getrusage(RUSAGE_SELF, &usage);
	printf("unmixed in %.2f s (CPU %.2f s), %llu steps, %ld MB in all, %u columns, worst class %.1f %% "
	       "off\n",
		(double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec),
		(double)(clock() - cpu) / CLOCKS_PER_SEC, (unsigned long long)steps, usage.ru_maxrss / 1024,
		sonde_unmixed_quality(u)->nr_columns, 100 * worst_of(&r, u));
	sonde_unmixed_free(u);
	free(r.classes);
	free(r.launches);
	free(r.start_ns);
	free(r.end_ns);
	free(r.values);
	free(r.counts);
	free(r.limits);
	return 0;
}
