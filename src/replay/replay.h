/*
 * Replay: a run once more, simulated, as it was and with changes.
 *
 * Plain arrays in, figures out: what host threads did in order (launches, calls
 * that wait, events, entries of regions), and what the GPU did for each launch.
 * The simulation keeps
 *
 *   - the host's own work between two calls, less what the profiler took of it;
 *   - from a launch to its work: the latency on an idle stream;
 *   - the order in a stream, with the gap between work that follows work;
 *   - events: a stream that waits for one, a host that does;
 *   - a call that waited: it returns when its work is done;
 *   - the legacy default stream, which waits for blocking streams and they for it;
 *   - the nodes of a graph, in the order and concurrency seen.
 *
 * Threads that take turns (autograd's works while the main thread waits for it) are
 * one *relay*; relays know nothing of each other. Operations are replayed in the order they
 * were made, each after those it depends on, so no cycle is possible: O(n) after a sort.
 *
 * **The step** is the region that figures are about. A step takes from the end of the one before,
 * its last work included, to its own; the first of a row from its begin.
 *
 * **Errors.** The replay of the run as it was, the profiler's time included, is compared
 * with what was measured: `error`. A prediction's interval has the spread of
 * entries (bootstrap), that error, and the range of what the change assumes.
 *
 * Same input, same bits: the bootstrap has a generator of its own.
 */
#ifndef SONDE_REPLAY_REPLAY_H
#define SONDE_REPLAY_REPLAY_H

#include "base/err.h"
#include "replay/change.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_REPLAY_NONE	  UINT32_MAX
#define SONDE_REPLAY_MOST_ERROR	  0.05 /* of the step: above it nothing is predicted */
#define SONDE_REPLAY_MOST_CHANGES 32

enum sonde_replay_op_kind {
	SONDE_REPLAY_ENTER, /* an entry of a region … */
	SONDE_REPLAY_LEAVE,
	SONDE_REPLAY_LAUNCH, /* of kernels, fills and copies, of a whole graph */
	SONDE_REPLAY_SYNC_STREAM,
	SONDE_REPLAY_SYNC_EVENT,
	SONDE_REPLAY_SYNC_DEVICE,
	SONDE_REPLAY_MEMORY, /* memory is allocated or freed: may wait for the device */
	SONDE_REPLAY_RECORD, /* an event is recorded in a stream … */
	SONDE_REPLAY_AWAIT,  /* … and a stream waits for it */
	SONDE_REPLAY_NR_OPS,
};

/* One thing that a host thread did. */
struct sonde_replay_op {
	uint64_t begin_ns; /* the first member: operations are sorted by it */
	uint64_t end_ns;   /* when the call returned; begin_ns = not known */
	uint32_t thread;
	/* The number of the entry, the first work of a launch, or a stream (NONE = not known). */
	uint32_t what;
	uint32_t nr;  /* works of a launch; the event of a call that names one, NONE = not known */
	uint8_t kind; /* enum sonde_replay_op_kind */
};

enum sonde_replay_work_kind {
	SONDE_REPLAY_KERNEL,
	SONDE_REPLAY_FILL,
	SONDE_REPLAY_COPY,
	SONDE_REPLAY_NR_WORKS,
};

/* One thing that the GPU did. */
struct sonde_replay_work {
	uint64_t start_ns, end_ns;
	uint64_t bytes;	 /* of a copy, 0 = not known */
	double level_ns; /* of a collective: how long it takes when all ranks arrive together; NaN =
			    not known */
	uint32_t stream;
	uint32_t kernel; /* number of its name */
	uint8_t kind;	 /* enum sonde_replay_work_kind */
	bool is_collective;
	bool is_of_host; /* a copy from or to the host */
};

/* Everything is borrowed as long as the replay lives. */
struct sonde_replay_input {
	const struct sonde_replay_op *ops; /* by begin_ns */
	size_t nr_ops;
	const struct sonde_replay_work *works; /* those of a launch together, by start */
	size_t nr_works;
	const uint32_t *entry_regions; /* by entry */
	size_t nr_entries;
	const uint32_t *parents; /* by region; NONE = a root; always smaller than its own number */
	size_t nr_regions;
	uint32_t nr_threads, nr_streams, nr_events, nr_kernels;
	uint32_t default_stream; /* the legacy one; NONE = not known */
	bool has_events; /* the operations have the events that order streams; else their order is
			    guessed from the times */
	uint32_t step;	 /* region; NONE = the repeated one with the most wall time */
	double launch_cost_ns; /* of the profiler, in each launch … */
	double call_cost_ns;   /* … and in each other call */
};

/* A change, with the regions or kernels it is about: by number, borrowed during the call. */
struct sonde_replay_change {
	enum sonde_change_kind kind;
	const bool *is_meant; /* by region, or for a kernel by kernel; NULL = all */
	double factor;
};

/* The outcome for a region, summed over its entries. Wall time is from the begin of an entry to the
 * end of its last work. */
struct sonde_replay_region {
	uint64_t nr_entries;
	double wall_ns;	    /* measured */
	double replayed_ns; /* the same, simulated without a change and with the profiler */
	/* For those who look for changes worth trying, in all entries: */
	uint64_t nr_launches; /* of kernels and fills, graphs as one */
	uint64_t nr_graphs;   /* of them graphs */
	uint64_t nr_kernels;  /* … the kernels and fills in these */
	uint64_t nr_copies;   /* from and to the host */
	double busy_ns;	      /* of kernels and fills */
	double waited_ns;     /* in synchronisations, until the work was done */
	double copied_ns;     /* in blocking copies of host memory */
	double allocated_ns;  /* in allocations */
};

struct sonde_replay_summary {
	uint32_t step; /* NONE: no region was entered three times */
	uint64_t nr_steps;
	double measured_ns; /* of a step, as captured */
	double error; /* of the replay without a change, as a share of that: 0.01 = 1 % too long */
	double base_ns; /* of a step without the profiler: what changes are compared with */
	uint32_t nr_relays;
	double latency_ns, gap_ns; /* medians, of kernels */
};

/* A gain and its 95 % interval: of a step, in nanoseconds. */
struct sonde_replay_gain {
	double ns, low_ns, high_ns;
};

struct sonde_replay;

/*
 * Learns latencies and gaps, and replays the run as it was. Returns 0 with the replay in `*out`,
 * yours to free; SONDE_ERR_USAGE for input that contradicts itself.
 */
int sonde_replay_open(
	struct sonde_replay **out, const struct sonde_replay_input *in, struct sonde_err *err);
void sonde_replay_free(struct sonde_replay *r);
const struct sonde_replay_summary *sonde_replay_summary(const struct sonde_replay *r);
const struct sonde_replay_region *sonde_replay_regions(
	const struct sonde_replay *r); /* by region */
/* By kernel: its time in the step's entries, all together. */
const double *sonde_replay_kernels(const struct sonde_replay *r);
/* The gain of all of these changes together. With `is_rough` the interval is not known (NaN),
 * in a third of the time. */
int sonde_replay_predict(const struct sonde_replay *r, struct sonde_replay_gain *out,
	const struct sonde_replay_change *changes, size_t nr, bool is_rough, struct sonde_err *err);

#endif
