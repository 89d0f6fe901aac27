/* Inside the folding room: what timestamps tell of the visits of a scope. */
#ifndef SONDE_FOLD_STAY_H
#define SONDE_FOLD_STAY_H

#include "attribute/launches.h"
#include "fold/cells.h"

/* One scope's visits. */
struct sonde_stay {
	uint32_t scope;
	struct sonde_visit *at;
	size_t nr;
	const uint32_t *of; /* by region: number in `at`, SONDE_NONE = not there */
};

/* A launch by its start, with its end: reading these again and again, records is slower by far. */
struct sonde_stamp { /* for sonde_keysort */
	struct sonde_record_time time; /* end not before start */
	uint32_t launch;
};

/* A running union of intervals that come in order of their start. */
struct sonde_track {
	uint64_t first_ns, last_ns, busy_ns;
	bool is_used;
};
static inline void sonde_track__extend(struct sonde_track *k, const struct sonde_record_time *time)
{
	uint64_t from = time->start_ns;

	if (!k->is_used)
		*k = (struct sonde_track){.first_ns = from, .last_ns = from, .is_used = true};
	if (time->end_ns <= k->last_ns)
		return; /* already counted up to there */
	k->busy_ns += time->end_ns - (from > k->last_ns ? from : k->last_ns);
	k->last_ns = time->end_ns;
}

struct sonde_gaps;    /* gaps.h */
struct sonde_folding; /* fold_int.h */

struct sonde_idle {
	const struct sonde_launches *l;
	const struct sonde_gaps *gaps; /* of the scope at hand */
	struct sonde_record_time *windows; /* by range: first start, last end; end 0 = none */
	SONDE_VEC(uint32_t) touched;	   /* ranges with a window, by its start */
	struct sonde_record_time *of_sets; /* the same by set of open ranges … */
	SONDE_VEC(uint32_t) sets;	   /* … and those with one */
	struct sonde_track *tracks;	   /* by visit */
};

/* False: no memory. */
bool sonde_idle__init(
	struct sonde_idle *x, const struct sonde_launches *l, const struct sonde_gaps *gaps);
/* Fills in one scope's visits from its launches, sorted; busy_ns is there. False: no memory. */
bool sonde_idle__scope(struct sonde_idle *x, const struct sonde_stay *stay,
	const struct sonde_stamp *stamps, size_t nr);
void sonde_idle__release(struct sonde_idle *x);

/* Communication that nothing hides, from all launches of a scope, sorted. False: no memory. */
bool sonde_waits__scope(const struct sonde_folding *f, const struct sonde_stay *stay,
	const struct sonde_stamp *stamps, size_t nr);

/*
 * Busy times, spans, queue times and streams of one scope's visits from its selected launches,
 * sorted. False: no memory.
 */
bool sonde_streams__scope(const struct sonde_folding *f, const struct sonde_stay *stay,
	const struct sonde_stamp *stamps, size_t nr);

#endif
