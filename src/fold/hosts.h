/* Inside the folding room: what host threads did in CUDA, one thread after the other. */
#ifndef SONDE_FOLD_HOSTS_H
#define SONDE_FOLD_HOSTS_H

#include "attribute/launches.h"
#include "fold/cells.h"

/*
 * What a thread did: a launch, or a call that can wait. A launch is the moment at which its call began: native captures do
 * not have its end, and traces are read alike, so that one program has the same causes by any source.
 */
struct sonde_act {
	uint64_t begin_ns, end_ns;
	uint8_t cause; /* enum sonde_idle_cause: what a gap it fills is due to */
};

struct sonde_hosts {
	const struct sonde_records *r;
	struct sonde_act *calls; /* that can wait: by thread, then begin */
	uint64_t *launches;	 /* by thread, then time; there are many, so no more than that */
	size_t *first_call, *first_launch; /* by thread, one more than there are: where its own begin */
	uint32_t *thread_of;	/* by record: its thread, SONDE_NONE = call not known */
	uint32_t last;		/* record whose thread was looked up last, SONDE_NONE = none */
	bool *has_calls;	/* by process: calls that can wait were captured */
	struct sonde_map threads;
	struct sonde_arena arena;
};

/* Each false: no memory; to be released in any case. */
bool sonde_hosts__init(struct sonde_hosts *h, const struct sonde_records *r);
/* To be told of all records before anything is asked. */
bool sonde_hosts__add(struct sonde_hosts *h, uint32_t record);
/* Puts what threads did in order: for the first gap, as a GPU may have none. */
bool sonde_hosts__settle(struct sonde_hosts *h);
void sonde_hosts__release(struct sonde_hosts *h);

/* The time from `from_ns` on in which nothing ran, by what the host did; adds to `by`. */
struct sonde_gap_ends {
	uint64_t from_ns, to_ns;
	uint32_t before, after; /* records: the work it lies between */
};
void sonde_hosts__explain(const struct sonde_hosts *h, const struct sonde_gap_ends *gap,
	uint64_t by[SONDE_NR_IDLE_CAUSES]);

#endif
