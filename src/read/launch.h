/*
 * Inside the reading room: launches of sources that do not count hardware events (native captures, traces): the host
 * calls that made them, their names, and their metrics, which are time, shape and the bytes they moved. All sources
 * share one table of metrics, so that each has one name and one unit.
 */
#ifndef SONDE_READ_LAUNCH_H
#define SONDE_READ_LAUNCH_H

#include "read/source.h"

/*
 * A host call that launched work; call and launch have the same id. Of several calls with one id the earliest
 * counts: a runtime call has the same id as the driver call inside it.
 */
struct sonde_launch_call {
	uint64_t id, ns;
	uint64_t thread; /* private to the reader */
};

struct sonde_launch_calls {
	struct sonde_launch_call *at; /* these three are a vector (base/vec.h) */
	size_t nr, cap;
};

/* Sorts the calls by id and keeps only the earliest of each id. */
void sonde_launch_calls__sort(struct sonde_launch_calls *c, struct sonde_source *src);
/* The number of the first call with this id or a larger one; `nr` = there is none. The calls must be sorted. */
size_t sonde_launch_calls__find(const struct sonde_launch_calls *c, uint64_t id);

/* The functions of kernels, each demangled once. Start with `= {0}`. */
struct sonde_kernel_names {
	SONDE_VEC(uint32_t) of; /* by string number of the source's name: function number + 1, 0 = not looked up yet */
};
/* The function of the kernel whose name in the source is string `raw`; SONDE_NONE if `raw` is, or memory is short. */
uint32_t sonde_kernel_names__function(
	struct sonde_kernel_names *t, struct sonde_records *r, uint32_t raw);
/* Added to CUPTI's number for the kind of copy when the host's memory is known not to be pinned. */
#define SONDE_COPY_PAGEABLE 0x100u
/* The name of a copy, by CUPTI's number for its kind. */
struct sonde_str sonde_launch__copy_name(uint64_t kind);

enum sonde_launch_metric {
	LAUNCH_TIME,
	LAUNCH_GRID_X, /* followed by y, z and their product; so is LAUNCH_BLOCK_X */
	LAUNCH_GRID = LAUNCH_GRID_X + 3,
	LAUNCH_BLOCK_X,
	LAUNCH_BLOCK = LAUNCH_BLOCK_X + 3,
	LAUNCH_THREADS,
	LAUNCH_REGISTERS,
	LAUNCH_SHARED_STATIC,
	LAUNCH_SHARED_DYNAMIC,
	LAUNCH_SHARED,
	LAUNCH_BYTES, /* bytes copied or set */
	LAUNCH_GRAPH,
	LAUNCH_NODE,
	LAUNCH_COLLECTIVE,
	LAUNCH_GROUP,
	LAUNCH_GROUP_SIZE,
	LAUNCH_MESSAGE,
	LAUNCH_SEQUENCE,
	NR_LAUNCH_METRICS,
};

/* Metric numbers; SONDE_NONE = no launch of the source has the metric. */
struct sonde_launch_metrics {
	uint32_t number[NR_LAUNCH_METRICS];
};

/* Registers the metrics that launches of the source have. */
void sonde_launch_metrics__add(struct sonde_launch_metrics *m, struct sonde_records *r,
	const bool has[NR_LAUNCH_METRICS]);

static inline void sonde_launch_metrics__set(const struct sonde_launch_metrics *m,
	struct sonde_values *v, enum sonde_launch_metric metric, double value)
{
	if (m->number[metric] != SONDE_NONE)
		v->num[m->number[metric]] = value;
}

/* Sets grid, block and the resulting number of threads; a first dimension of 0 means not known. */
void sonde_launch_metrics__set_shape(const struct sonde_launch_metrics *m, struct sonde_values *v,
	const uint64_t grid[3], const uint64_t block[3]);

#endif
