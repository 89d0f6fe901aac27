/*
 * Inside the reading room: launches of sources that count nothing (native captures, traces): what they are
 * called, and their metrics, which are their time, their shape and the bytes they moved. One table for all
 * sources, so that a thing has one name and one unit.
 */
#ifndef SONDE_READ_LAUNCH_H
#define SONDE_READ_LAUNCH_H

#include "read/source.h"

/* The functions of kernels, each demangled once. Start with `= {0}`, end with sonde_vec_release(&names.of). */
struct sonde_kernel_names {
	SONDE_VEC(uint32_t) of; /* by string number of what the source calls it: function + 1, 0 = not yet */
};
/* The function of a kernel that the source calls string `raw`; SONDE_NONE when memory is short. */
uint32_t sonde_kernel_names__function(
	struct sonde_kernel_names *t, struct sonde_records *r, uint32_t raw);
/* The name of a copy, by CUPTI's kind of copy. */
struct sonde_str sonde_launch__copy_name(uint64_t kind);

enum sonde_launch_metric {
	LAUNCH_TIME,
	LAUNCH_GRID_X, /* y, z and the product follow, here and below */
	LAUNCH_GRID = LAUNCH_GRID_X + 3,
	LAUNCH_BLOCK_X,
	LAUNCH_BLOCK = LAUNCH_BLOCK_X + 3,
	LAUNCH_THREADS,
	LAUNCH_REGISTERS,
	LAUNCH_SHARED_STATIC,
	LAUNCH_SHARED_DYNAMIC,
	LAUNCH_SHARED,
	LAUNCH_BYTES, /* copied or set */
	LAUNCH_GRAPH,
	LAUNCH_NODE,
	LAUNCH_COLLECTIVE,
	LAUNCH_GROUP,
	LAUNCH_GROUP_SIZE,
	LAUNCH_MESSAGE,
	LAUNCH_SEQUENCE,
	NR_LAUNCH_METRICS,
};

/* Metric numbers, SONDE_NONE = no launch of the source has it. */
struct sonde_launch_metrics {
	uint32_t number[NR_LAUNCH_METRICS];
};

/* Registers those that launches have; false when memory is short. */
bool sonde_launch_metrics__add(struct sonde_launch_metrics *m, struct sonde_records *r,
	const bool has[NR_LAUNCH_METRICS]);

static inline void sonde_launch_metrics__set(const struct sonde_launch_metrics *m,
	struct sonde_values *v, enum sonde_launch_metric metric, double value)
{
	if (m->number[metric] != SONDE_NONE)
		v->num[m->number[metric]] = value;
}

/* Grid and block, and how many threads that makes; a first dimension of 0 means: not known. */
void sonde_launch_metrics__set_shape(const struct sonde_launch_metrics *m, struct sonde_values *v,
	const uint64_t grid[3], const uint64_t block[3]);

#endif
