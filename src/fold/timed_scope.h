/* Inside fold/: the timed launches of one scope in order, and what is found from them for its visits. */
#ifndef SONDE_FOLD_TIMED_SCOPE_H
#define SONDE_FOLD_TIMED_SCOPE_H

#include "attribute/launches.h"
#include "fold/cells.h"

struct sonde_folding; /* fold_int.h */

/* A launch by its start, with what is needed again and again: records are far apart in memory. */
struct sonde_timed_launch { /* for sonde_keysort */
	struct sonde_record_time time; /* end not before start */
	uint32_t launch;
	uint32_t stream; /* number of its stream, as `sonde_streams` has them */
};

/* One scope's visits, and its timed launches, sorted: all of them, later those selected. */
struct sonde_timed_scope {
	uint32_t scope;
	struct sonde_visit *at;
	size_t nr;
	const uint32_t *of; /* by region: number in `at`, SONDE_NONE = not there */
	struct sonde_timed_launch *launches;
	size_t nr_launches;
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
bool sonde_streams__scope(const struct sonde_streams *s, const struct sonde_timed_scope *timed);

/* A running union of intervals that come in order of their start. */
struct sonde_busy {
	uint64_t first_ns, last_ns, busy_ns;
	bool is_used;
};
static inline void sonde_busy__extend(struct sonde_busy *k, const struct sonde_record_time *time)
{
	uint64_t from = time->start_ns;

	if (!k->is_used)
		*k = (struct sonde_busy){.first_ns = from, .last_ns = from, .is_used = true};
	if (time->end_ns <= k->last_ns)
		return; /* already counted up to there */
	k->busy_ns += time->end_ns - (from > k->last_ns ? from : k->last_ns);
	k->last_ns = time->end_ns;
}

/* Communication that nothing hides, from all launches of a scope. False: no memory. */
bool sonde_exposed__scope(const struct sonde_folding *f, const struct sonde_timed_scope *timed);

#endif
