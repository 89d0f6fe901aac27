/*
 * Maps times of one clock (ticks of the host, or the GPU's time) to nanoseconds since the epoch, by moments
 * that are known on both clocks.
 */
#ifndef SONDE_READ_CLOCK_MAP_H
#define SONDE_READ_CLOCK_MAP_H

#include "base/str.h"
#include "base/vec.h"

#include <stdint.h>

/* One moment, known on two clocks. */
struct sonde_clock_point {
	uint64_t from, to_ns;
};

/* Straight lines between neighbouring points; the first and the last line are extended outwards. Points are sorted by `from`. */
struct sonde_clock_map {
	SONDE_VEC(struct sonde_clock_point) points;
	double hz; /* ticks per second of `from`; used when there are fewer than two points */
	/* The line that was used last: */
	uint64_t low, high, base_ns;
	double ns_per_tick;
};

/*
 * The mapping of the GPU's clock that one file contains, kept until all files are read. Samples are in one file and
 * the kernels they are compared with in others: both use the same mapping, so that its error does not move them apart.
 */
struct sonde_gpu_clock {
	struct sonde_clock_map clock;
	struct sonde_str host;
	uint32_t input;
	size_t nr_works; /* number of kernels with times of this clock; 0 for a file of the sampler */
};

/* Takes any double: above the range it returns UINT64_MAX, for negative numbers and NaN 0. */
static inline uint64_t sonde_clock_map__u64(double v)
{
	return v >= 1e19 ? UINT64_MAX : v > 0 ? (uint64_t)v : 0;
}

/* Sorts the points and drops those that are too close together. Call it before the first use. */
void sonde_clock_map__init(struct sonde_clock_map *c);
uint64_t sonde_clock_map__slow(struct sonde_clock_map *c, uint64_t t);

static inline uint64_t sonde_clock_map__ns(struct sonde_clock_map *c, uint64_t t)
{
	if (t - c->low < c->high - c->low)
		return c->base_ns + sonde_clock_map__u64((double)(t - c->low) * c->ns_per_tick);
	return sonde_clock_map__slow(c, t);
}

#endif
