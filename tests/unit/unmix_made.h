/*
 * Synthetic programs for tests of unmixing: launches, their true counts, and the
 * samples that a device would have given. Everything follows from a seed.
 *
 * A synthetic launch spreads its counts over its time with a slope (more at the
 * beginning or at the end), and counts vary from launch to launch. A sample gets the
 * counts from its interval.
 */
#ifndef SONDE_TESTS_UNMIX_MADE_H
#define SONDE_TESTS_UNMIX_MADE_H

#include "unmix/unmix.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define MADE_CLASSES  64
#define MADE_COUNTERS 12

struct made {
	uint64_t seed;
	struct sonde_unmix_class classes[MADE_CLASSES];
	double count[MADE_CLASSES][MADE_COUNTERS]; /* per launch, before it varies */
	double slope[MADE_CLASSES][MADE_COUNTERS]; /* -1 … 1: all work at the start … at the end */
	double truth[MADE_CLASSES][MADE_COUNTERS]; /* totals of all launches */
	double vary;				   /* standard deviation from launch to launch */
	uint32_t nr_classes, nr_counters;
	struct sonde_unmix_launch *launches;
	size_t nr_launches, launch_room;
	int64_t *start_ns, *end_ns;
	double *values;
	size_t nr_samples;
	double limits[MADE_COUNTERS];
};

static inline uint64_t made_bits(struct made *m)
{
	uint64_t n = m->seed += 0x9e3779b97f4a7c15u;

	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
	n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
	return n ^ (n >> 31);
}

static inline double made_uniform(struct made *m, double from, double to)
{
	return from + (to - from) * (double)(made_bits(m) >> 11) * 0x1p-53;
}

static inline double made_normal(struct made *m) /* approximately: the sum of twelve uniform numbers */
{
	double sum = -6;
	int i;

	for (i = 0; i < 12; i++)
		sum += made_uniform(m, 0, 1);
	return sum;
}

static inline void made_class(struct made *m, uint32_t k, uint32_t name, uint32_t group)
{
	m->classes[k] = (struct sonde_unmix_class){name, group};
	if (m->nr_classes <= k)
		m->nr_classes = k + 1;
}

/* Makes `nr` samples of `length_ns` without gaps, from `start_ns` on, all zero. */
static inline void made_samples(struct made *m, int64_t start_ns, int64_t length_ns, size_t nr)
{
	size_t i;

	m->nr_samples = nr;
	m->start_ns = calloc(nr + 1, sizeof(*m->start_ns));
	m->end_ns = calloc(nr + 1, sizeof(*m->end_ns));
	m->values = calloc(nr * m->nr_counters + 1, sizeof(*m->values));
	assert(m->start_ns && m->end_ns && m->values);
	for (i = 0; i < nr; i++) {
		m->start_ns[i] = start_ns + (int64_t)i * length_ns;
		m->end_ns[i] = m->start_ns[i] + length_ns;
	}
}

/* The share of the work of a launch with `slope` that is done after the share `t` of its time. */
static inline double made_done(double slope, double t)
{
	return t + slope * (t * t - t);
}

/* Spreads `count` over [start, end) and adds it to the samples there. */
static inline void made_count(
	struct made *m, double start, double end, uint32_t counter, double count, double slope)
{
	double length = (double)(m->end_ns[0] - m->start_ns[0]), first;
	size_t i;

	first = (start - (double)m->start_ns[0]) / length - 1;
	for (i = first > 0 ? (size_t)first : 0; i < m->nr_samples; i++) {
		double from = fmax(start, (double)m->start_ns[i]);
		double to = fmin(end, (double)m->end_ns[i]);

		if ((double)m->start_ns[i] >= end)
			break;
		if (to > from)
			m->values[i * m->nr_counters + counter] +=
				count * (made_done(slope, (to - start) / (end - start)) -
						made_done(slope, (from - start) / (end - start)));
	}
}

/* Adds a launch whose work is done `late_ns` after its timestamps, with `scale` times the usual counts. */
static inline void made_launch(struct made *m, uint32_t k, int64_t start_ns, int64_t length_ns,
	double late_ns, double scale)
{
	uint32_t c;

	if (m->nr_launches == m->launch_room) {
		m->launch_room = 2 * m->launch_room + 64;
		m->launches = realloc(m->launches, m->launch_room * sizeof(*m->launches));
		assert(m->launches);
	}
	m->launches[m->nr_launches++] =
		(struct sonde_unmix_launch){start_ns, start_ns + length_ns, k, SONDE_UNMIX_NONE};
	scale *= fmax(0, 1 + m->vary * made_normal(m));
	for (c = 0; c < m->nr_counters; c++) {
		double count = scale * m->count[k][c];

		m->truth[k][c] += count;
		made_count(m, (double)start_ns + late_ns, (double)(start_ns + length_ns) + late_ns,
			c, count, m->slope[k][c]);
	}
}

static inline void made_drop_sample(struct made *m, size_t i)
{
	size_t rest = --m->nr_samples - i;

	memmove(&m->start_ns[i], &m->start_ns[i + 1], rest * sizeof(*m->start_ns));
	memmove(&m->end_ns[i], &m->end_ns[i + 1], rest * sizeof(*m->end_ns));
	memmove(&m->values[i * m->nr_counters], &m->values[(i + 1) * m->nr_counters],
		rest * m->nr_counters * sizeof(*m->values));
}

static inline struct sonde_unmix_input made_input(const struct made *m)
{
	return (struct sonde_unmix_input){.classes = m->classes,
		.nr_classes = m->nr_classes,
		.launches = m->launches,
		.nr_launches = m->nr_launches,
		.start_ns = m->start_ns,
		.end_ns = m->end_ns,
		.values = m->values,
		.nr_samples = m->nr_samples,
		.nr_counters = m->nr_counters,
		.limits_per_ns = m->limits};
}

static inline void made_release(struct made *m)
{
	free(m->launches);
	free(m->start_ns);
	free(m->end_ns);
	free(m->values);
}

#endif
