/*
 * Inside the reading room: launches of sources that count nothing (native captures, traces): the calls that
 * asked for them, their names, and their metrics, which are their time, their shape and the bytes they moved. One
 * table for all sources, so that a thing has one name and one unit.
 */
#ifndef SONDE_READ_LAUNCH_H
#define SONDE_READ_LAUNCH_H

#include "read/source.h"

/*
 * The calls of the host that asked for launches, by the id that both have. Where several calls have one id the
 * earliest counts: a runtime call has the id of the driver call inside it.
 */
struct sonde_launch_call {
	uint64_t id, ns;
	uint64_t thread; /* the reader's own */
};

struct sonde_launch_calls {
	struct sonde_launch_call *at; /* these three are a vector (base/vec.h) */
	size_t nr, cap;
};

/* Sorts them by id and leaves the earliest of each. */
void sonde_launch_calls__sort(struct sonde_launch_calls *c, struct sonde_source *src);
/* The number of the first call with this id or a larger one; `nr` = there is none. Of sorted calls. */
size_t sonde_launch_calls__find(const struct sonde_launch_calls *c, uint64_t id);

/* The functions of kernels, each demangled once. Start with `= {0}`. */
struct sonde_kernel_names {
	SONDE_VEC(uint32_t) of; /* by string number of the source's name: function + 1, 0 = not yet */
};
/* The function of a kernel that the source calls string `raw`. */
uint32_t sonde_kernel_names__function(
	struct sonde_kernel_names *t, struct sonde_records *r, uint32_t raw);
/* Added to a kind of copy, where it is known that the memory of the host is not pinned. */
#define SONDE_COPY_PAGEABLE 0x100u
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

/* Registers those that launches have. */
void sonde_launch_metrics__add(struct sonde_launch_metrics *m, struct sonde_records *r,
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
