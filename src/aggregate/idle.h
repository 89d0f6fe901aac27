/* Inside the aggregation room: idle time of regions, from their entries. */
#ifndef SONDE_AGGREGATE_IDLE_H
#define SONDE_AGGREGATE_IDLE_H

#include "aggregate/tree.h"

/* A launch by its start. */
struct sonde_stamp {
	uint64_t start_ns;
	uint32_t launch;
};

/* A running union of intervals that come in order of their start. */
struct sonde_track {
	uint64_t first_ns, last_ns, busy_ns;
	bool is_used;
};
void sonde_track__extend(struct sonde_track *k, const struct sonde_record_time *time);

struct sonde_idle {
	const struct sonde_launches *l;
	struct sonde_record_time *windows; /* by range: first start, last end; end 0 = none */
	SONDE_VEC(uint32_t) touched;	   /* ranges with a window, by its start */
	struct sonde_record_time *of_sets; /* the same by set of open ranges … */
	SONDE_VEC(uint32_t) sets;	   /* … and those with one */
	struct sonde_track *tracks;	   /* by node */
};

int sonde_idle__init(struct sonde_idle *x, const struct sonde_launches *l, struct sonde_err *err);
/* Fills in one scope's nodes from its launches, sorted; busy_ns is there. False: no memory. */
bool sonde_idle__scope(struct sonde_idle *x, struct sonde_report *r, const uint32_t *node_of,
	const struct sonde_stamp *stamps, size_t nr);
void sonde_idle__release(struct sonde_idle *x);

#endif
