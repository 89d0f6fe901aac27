/* Inside the folding room: what timestamps tell of the visits of a scope. */
#ifndef SONDE_FOLD_STAY_H
#define SONDE_FOLD_STAY_H

#include "attribute/launches.h"
#include "fold/cells.h"

struct sonde_gaps;    /* gaps.h */
struct sonde_folding; /* fold_int.h */

/* A launch by its start, with what is asked for again and again: records lie far apart. */
struct sonde_stamp { /* for sonde_keysort */
	struct sonde_record_time time; /* end not before start */
	uint32_t launch;
	uint32_t stream; /* number of its stream, as `sonde_streams` has them */
};

/* One scope's visits, and its timed launches, sorted: all of them, later those selected. */
struct sonde_stay {
	uint32_t scope;
	struct sonde_visit *at;
	size_t nr;
	const uint32_t *of; /* by region: number in `at`, SONDE_NONE = not there */
	struct sonde_stamp *stamps;
	size_t nr_stamps;
};

/* The streams of all scopes, each with a number. */
struct sonde_streams {
	struct sonde_folding *f;
	struct sonde_map keys; /* {context, stream} */
	struct sonde_arena arena;
	uint32_t last; /* number asked for last */
};
/* The number of the stream of a record, SONDE_NONE when memory is short. */
uint32_t sonde_streams__number(struct sonde_streams *s, const struct sonde_queue *q);
void sonde_streams__release(struct sonde_streams *s);
/* Busy times, spans, queue times and streams of visits, from selected launches. False: no memory. */
bool sonde_streams__scope(const struct sonde_streams *s, const struct sonde_stay *stay);

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
/* Fills in one scope's visits from its selected launches; busy_ns is there. False: no memory. */
bool sonde_idle__scope(struct sonde_idle *x, const struct sonde_stay *stay);
void sonde_idle__release(struct sonde_idle *x);

/* Communication that nothing hides, from all launches of a scope. False: no memory. */
bool sonde_waits__scope(const struct sonde_folding *f, const struct sonde_stay *stay);

#endif
