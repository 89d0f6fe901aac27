/* Private to fold/: the timed launches of one scope in order, and the times of its visits that are computed from them. */
#ifndef SONDE_FOLD_TIMED_SCOPE_H
#define SONDE_FOLD_TIMED_SCOPE_H

#include "attribute/launches.h"
#include "fold/cells.h"

struct sonde_folding; /* fold_int.h */

/* A launch with the members that are read again and again, so that they are close together in memory. */
struct sonde_timed_launch { /* for sonde_keysort: the start must be the first member */
	struct sonde_record_time time; /* end not before start */
	uint32_t launch;
	uint32_t stream; /* number of its stream in `sonde_streams` */
};

/*
 * One scope's visits, and its timed launches sorted by start, selected or not: first all of them, later without those that
 * are counted with later files.
 */
struct sonde_timed_scope {
	uint32_t scope;
	struct sonde_visit *at;
	size_t nr;
	const uint32_t *of; /* by region: index of its visit in `at`, SONDE_NONE = none */
	struct sonde_timed_launch *launches;
	size_t nr_launches;
	uint64_t *work_ns; /* by visit: the union of its launches, selected or not */
};

/* Numbers for the streams of all scopes. */
struct sonde_streams {
	struct sonde_folding *f;
	struct sonde_map keys; /* {context, stream} */
	struct sonde_arena arena;
	uint32_t last; /* the number looked up last */
};
/* The number of the stream of a queue; SONDE_NONE: no memory. */
uint32_t sonde_streams__number(struct sonde_streams *s, const struct sonde_queue *q);
void sonde_streams__release(struct sonde_streams *s);
/* Fills in busy times, queue times and streams of visits from the selected launches, spans and `work_ns` from all. False: no memory. */
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
		return; /* counted already */
	k->busy_ns += time->end_ns - (from > k->last_ns ? from : k->last_ns);
	k->last_ns = time->end_ns;
}

/* Fills in communication and exposed communication of visits, from all launches of a scope. False: no memory. */
bool sonde_exposed__scope(const struct sonde_folding *f, const struct sonde_timed_scope *timed);

#endif
