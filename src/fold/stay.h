/* Inside the folding room: what timestamps tell of the visits of a scope. */
#ifndef SONDE_FOLD_STAY_H
#define SONDE_FOLD_STAY_H

#include "attribute/launches.h"
#include "fold/cells.h"

/* One scope's visits. */
struct sonde_stay {
	struct sonde_visit *at;
	size_t nr;
	const uint32_t *of; /* by region: number in `at`, SONDE_NONE = not there */
};

/* A launch by its start. */
struct sonde_stamp { /* for sonde_keysort */
	uint64_t start_ns;
	uint32_t launch;
};

/* A running union of intervals that come in order of their start. */
struct sonde_track {
	uint64_t first_ns, last_ns, busy_ns;
	bool is_used;
};
void sonde_track__extend(struct sonde_track *k, const struct sonde_record_time *time);

struct sonde_gaps; /* gaps.h */

struct sonde_idle {
	const struct sonde_launches *l;
	const struct sonde_gaps *gaps; /* of the scope at hand */
	struct sonde_record_time *windows; /* by range: first start, last end; end 0 = none */
	SONDE_VEC(uint32_t) touched;	   /* ranges with a window, by its start */
	struct sonde_record_time *of_sets; /* the same by set of open ranges … */
	SONDE_VEC(uint32_t) sets;	   /* … and those with one */
	struct sonde_track *tracks;	   /* by visit */
};

int sonde_idle__init(struct sonde_idle *x, const struct sonde_launches *l,
	const struct sonde_gaps *gaps, struct sonde_err *err);
/* Fills in one scope's visits from its launches, sorted; busy_ns is there. False: no memory. */
bool sonde_idle__scope(struct sonde_idle *x, const struct sonde_stay *stay,
	const struct sonde_stamp *stamps, size_t nr);
void sonde_idle__release(struct sonde_idle *x);

/* Queue times, and communication that nothing hides, from all launches of a scope, sorted. */
bool sonde_waits__scope(const struct sonde_launches *l, const struct sonde_stay *stay,
	const struct sonde_stamp *stamps, size_t nr);

/* Appends the streams of one scope's visits from its launches, sorted. False: no memory. */
bool sonde_streams__scope(struct sonde_cells *c, const struct sonde_launches *l,
	const struct sonde_stay *stay, const struct sonde_stamp *stamps, size_t nr);

#endif
