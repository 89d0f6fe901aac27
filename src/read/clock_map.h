/*
 * From one clock to another, by moments known on both: ticks of the host, or the GPU's time → nanoseconds
 * since the epoch.
 */
#ifndef SONDE_READ_CLOCK_MAP_H
#define SONDE_READ_CLOCK_MAP_H

#include "base/str.h"
#include "base/vec.h"

#include <stdint.h>

/* One moment on two clocks. */
struct sonde_clock_point {
	uint64_t from, to_ns;
};

/* Straight lines between points, the outer ones prolonged. Points in order of `from`. */
struct sonde_clock_map {
	SONDE_VEC(struct sonde_clock_point) points;
	double hz; /* of `from`, used while there is but one point */
	/* The line in use. */
	uint64_t low, high, base_ns;
	double ns_per_tick;
};

/*
 * The GPU's clock as one file knows it, kept until all files are read. Samples are in one file and the
 * kernels they are compared with in others; one mapping for both leaves no error between them.
 */
struct sonde_gpu_clock {
	struct sonde_clock_map clock;
	struct sonde_str host;
	uint32_t input;
	size_t nr_works; /* kernels stamped with it; 0 in a file of the sampler */
};

/* No double is too large or too small. */
static inline uint64_t sonde_clock_map__u64(double v)
{
	return v >= 1e19 ? UINT64_MAX : v > 0 ? (uint64_t)v : 0;
}

/* Prepares the points (any order) for use. */
void sonde_clock_map__init(struct sonde_clock_map *c);
uint64_t sonde_clock_map__slow(struct sonde_clock_map *c, uint64_t t);

static inline uint64_t sonde_clock_map__ns(struct sonde_clock_map *c, uint64_t t)
{
	if (t - c->low < c->high - c->low)
		return c->base_ns + sonde_clock_map__u64((double)(t - c->low) * c->ns_per_tick);
	return sonde_clock_map__slow(c, t);
}

#endif
