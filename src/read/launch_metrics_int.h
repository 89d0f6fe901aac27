/*
 * Inside the reading room: the metrics of launches whose source counts nothing
 * (native captures, traces): their time, their shape, what they moved. One
 * table for all readers, so that a thing has one name and one unit.
 */
#ifndef SONDE_READ_LAUNCH_METRICS_INT_H
#define SONDE_READ_LAUNCH_METRICS_INT_H

#include "read/source_int.h"

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
