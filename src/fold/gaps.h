/* Private to fold/: the gaps of a scope's device, and their causes: what the host did meanwhile. */
#ifndef SONDE_FOLD_GAPS_H
#define SONDE_FOLD_GAPS_H

#include "attribute/launches.h"
#include "fold/timed_scope.h"

/* --- what host threads did in CUDA, thread by thread --------------------------------------------------- */

/*
 * A call of a host thread: a launch, or a call that can wait. Only the beginning of a launch call is used: native captures
 * do not have its end, and traces are read the same way, so that every source gives the same causes.
 */
struct sonde_act {
	uint64_t begin_ns, end_ns;
	uint8_t cause; /* enum sonde_idle_cause of a gap during it */
};

struct sonde_hosts {
	const struct sonde_records *r;
	struct sonde_act *calls; /* calls that can wait: by thread, then begin */
	uint64_t *launches;	 /* begins of launch calls: by thread, then time; only the begin, as there are many */
	size_t *first_call, *first_launch; /* by thread: its first index in `calls`, in `launches`; one more element for the end */
	uint32_t *thread_of;	/* by record: its thread, SONDE_NONE = call not known */
	uint32_t last;		/* record whose thread was looked up last, SONDE_NONE = none */
	bool *has_calls;	/* by process: whether calls that can wait were captured */
	struct sonde_map threads;
	struct sonde_arena arena;
};

/* The next three return false: no memory. Call release in any case. */
bool sonde_hosts__init(struct sonde_hosts *h, const struct sonde_records *r);
/* Call it for every record before `sort` and `explain`. */
bool sonde_hosts__add(struct sonde_hosts *h, uint32_t record);
/* Sorts the calls of each thread. Called at the first gap only, as a GPU may have none. */
bool sonde_hosts__sort(struct sonde_hosts *h);
void sonde_hosts__release(struct sonde_hosts *h);

/* A time in which nothing ran on the device. */
struct sonde_gap_ends {
	uint64_t from_ns, to_ns;
	uint32_t before, after; /* records: the work before and after it */
};
/* Divides a gap among its causes, by what the host did meanwhile, and adds them to `by`. */
void sonde_hosts__explain(const struct sonde_hosts *h, const struct sonde_gap_ends *gap,
	uint64_t by[SONDE_NR_IDLE_CAUSES]);

/* --- gaps ------------------------------------------------------------------------------------------- */

/* A gap, with the running sums of all gaps up to its end. There may be one for every launch. */
struct sonde_gap_sum {
	uint64_t from_ns;
	uint64_t total_ns;
	uint64_t counted_ns; /* without gaps that end with work of the file ahead: they are counted with that file */
	uint64_t by[SONDE_IDLE_OTHER]; /* counted_ns by cause; the rest of counted_ns is SONDE_IDLE_UNKNOWN */
};

struct sonde_gaps {
	const struct sonde_launches *l;
	struct sonde_hosts hosts;
	uint64_t first_ns, last_ns; /* first start and last end of the current scope */
	SONDE_VEC(struct sonde_gap_sum) sums;
	struct sonde_long_gap {
		struct sonde_gap gap;
		struct sonde_gap_ends ends;
	} longest[SONDE_NR_GAPS]; /* longest first */
	size_t nr_longest;
};

/* False: no memory; release it in any case. Add all records to `hosts` before the first scope. */
bool sonde_gaps__init(struct sonde_gaps *g, const struct sonde_launches *l);
void sonde_gaps__release(struct sonde_gaps *g);
/*
 * Finds the gaps of one scope from all its launches. Adds the longest to the cells, and those of at least
 * SONDE_TIMELINE_GAP_NS to their timeline if there is one. False: no memory.
 */
bool sonde_gaps__scope(
	struct sonde_gaps *g, const struct sonde_timed_scope *timed, struct sonde_cells *c);

/* Adds the gaps between two moments to t->idle_by. Each moment must be the start or the end of a launch. */
void sonde_gaps__add(
	const struct sonde_gaps *g, struct sonde_times *t, uint64_t from_ns, uint64_t to_ns);
/* The time in which nothing ran between any two moments. */
uint64_t sonde_gaps__between(const struct sonde_gaps *g, uint64_t from_ns, uint64_t to_ns);

#endif
