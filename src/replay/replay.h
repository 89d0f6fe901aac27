/*
 * Replay: the run once more, simulated, as it was and with changes.
 *
 * Plain arrays go in and figures come out. The arrays say what host threads did in order (launches, calls that wait,
 * events, entries of regions), and what the GPU did for each launch. The simulation keeps
 *
 *   - the host's own work between two calls, minus the profiler's part of it;
 *   - the latency from a launch to the start of its work on an idle stream;
 *   - the order in a stream, and the gap between works that follow each other;
 *   - events that a stream or the host waits for;
 *   - calls that wait: they return when their work is done;
 *   - the legacy default stream: it waits for blocking streams, and they wait for it;
 *   - the nodes of a graph, in the order and with the concurrency that the run had.
 *
 * Threads that take turns form one *relay*: autograd's thread works while the main thread waits for it. Relays do not
 * depend on each other. Operations are replayed in the order in which they were made, each after those that it depends
 * on, so there can be no cycle: O(n) after a sort.
 *
 * **The step** is the region that figures are about. A step ends with its last work, and begins when the step before it
 * ends. The first step of a row begins with its own entry.
 *
 * Figures of a step are means over the usual steps: a single step that took more than three times the median is left out.
 *
 * **Errors.** `error` compares the replay of the unchanged run, with the profiler's time, to what was measured. A
 * prediction's interval combines the spread of the steps (bootstrap), that error, how much two processes of one program
 * differ, the range of what the change assumes, and how well the profiler's cost is known.
 *
 * The same input gives the same bits: the bootstrap has its own random generator.
 */
#ifndef SONDE_REPLAY_REPLAY_H
#define SONDE_REPLAY_REPLAY_H

#include "base/err.h"
#include "replay/change.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_REPLAY_NONE	  UINT32_MAX
#define SONDE_REPLAY_MOST_ERROR	  0.05 /* a share of the step: with a larger error nothing is predicted */
#define SONDE_REPLAY_MOST_CHANGES 32

enum sonde_replay_op_kind {
	SONDE_REPLAY_ENTER, /* begins an entry of a region; LEAVE ends it */
	SONDE_REPLAY_LEAVE,
	SONDE_REPLAY_LAUNCH, /* launches a kernel, fill, copy or whole graph */
	SONDE_REPLAY_SYNC_STREAM,
	SONDE_REPLAY_SYNC_EVENT,
	SONDE_REPLAY_SYNC_DEVICE,
	SONDE_REPLAY_MEMORY, /* allocates or frees memory, and may wait for the device */
	SONDE_REPLAY_RECORD, /* records an event in a stream … */
	SONDE_REPLAY_AWAIT,  /* … and makes a stream wait for it */
	SONDE_REPLAY_NR_OPS,
};

/* One operation of a host thread. */
struct sonde_replay_op {
	uint64_t begin_ns; /* must be the first member: the sort key */
	uint64_t end_ns;   /* when the call returned; begin_ns = not known */
	uint32_t thread;
	union {
		uint32_t entry;	     /* ENTER, LEAVE */
		uint32_t first_work; /* LAUNCH */
		uint32_t stream;     /* others; NONE = not known */
	};
	union {
		uint32_t nr_works; /* LAUNCH */
		uint32_t event;	   /* calls with an event; NONE = not known */
	};
	uint8_t kind; /* enum sonde_replay_op_kind */
};

enum sonde_replay_work_kind {
	SONDE_REPLAY_KERNEL,
	SONDE_REPLAY_FILL,
	SONDE_REPLAY_COPY,
	SONDE_REPLAY_NR_WORKS,
};

/* One kernel, fill or copy on the GPU. */
struct sonde_replay_work {
	uint64_t start_ns, end_ns;
	uint64_t bytes;	 /* bytes of a copy; 0 = not known */
	double level_ns; /* duration of a collective if all ranks arrive together; NaN = not known */
	uint32_t stream;
	uint32_t kernel; /* number of the kernel's name */
	uint8_t kind;	 /* enum sonde_replay_work_kind */
	bool is_collective;
	bool is_of_host; /* a copy from or to the host … */
	bool is_pageable; /* … and the host's memory is pageable, as far as the capture says */
};

/* The replay borrows all arrays until it is freed. */
struct sonde_replay_input {
	const struct sonde_replay_op *ops; /* sorted by begin_ns */
	size_t nr_ops;
	const struct sonde_replay_work *works; /* the works of a launch are next to each other, sorted by start */
	size_t nr_works;
	const uint32_t *entry_regions; /* region of each entry */
	size_t nr_entries;
	const uint32_t *parents; /* parent of each region, always a smaller number than the region's; NONE = a root */
	const bool *is_part; /* by region: it is never the step; NULL = any region may be the step */
	size_t nr_regions;
	uint32_t nr_threads, nr_streams, nr_events, nr_kernels;
	uint32_t default_stream; /* the legacy default stream; NONE = not known */
	bool has_events; /* `ops` has the events that order streams; else the order is guessed from times */
	uint32_t step;	 /* the step's region; NONE = the repeated one with the most wall time */
	double launch_cost_ns; /* the profiler's cost in each launch … */
	double call_cost_ns;   /* … and in each other call */
};

/* A change, and the regions or kernels that it is about. `is_meant` is borrowed during the call. */
struct sonde_replay_change {
	enum sonde_change_kind kind;
	const bool *is_meant; /* a flag per region, or per kernel if `kind` is about kernels; NULL = all */
	double factor;
};

/* The outcome for a region, summed over its entries. Wall time is from the begin of an entry to the
 * end of its last work. */
struct sonde_replay_region {
	uint64_t nr_entries;
	double wall_ns;	    /* wall time, measured */
	double replayed_ns; /* wall time in the replay without a change and with the profiler */
	/* The rest helps to find changes worth trying. Sums over all entries, regions inside included: */
	uint64_t nr_launches; /* launches of kernels and fills; a graph counts as one */
	uint64_t nr_graphs;   /* launches of graphs */
	uint64_t nr_kernels;  /* kernels and fills of all launches, with the nodes of graphs */
	uint64_t nr_copies;   /* copies from and to the host */
	double busy_ns;	      /* GPU time of kernels and fills */
	double waited_ns;     /* host time in synchronisations that had work to wait for */
	double copied_ns;     /* host time in blocking copies of host memory */
	double read_ns; /* the part of `copied_ns` in copies of few bytes: the host wants a value */
	uint64_t nr_waits;    /* the synchronisations of `waited_ns` and the copies of `read_ns` */
	double allocated_ns;  /* host time in allocations and frees */
};

struct sonde_replay_summary {
	uint32_t step; /* the step's region; NONE: no region was entered three times */
	uint64_t nr_steps;
	uint64_t nr_odd; /* steps that took far longer than the others, such as a first one that compiles: no figure contains them */
	double measured_ns; /* time of a step, as captured */
	double error; /* time of the unchanged replay ÷ measured_ns − 1: 0.01 = 1 % too long */
	double base_ns; /* time of a step without the profiler: changes are compared with this */
	uint32_t nr_relays;
	double latency_ns, gap_ns; /* medians over kernels */
};

/* The gain per step and its 95 % interval, in nanoseconds. */
struct sonde_replay_gain {
	double ns, low_ns, high_ns;
};

struct sonde_replay;

/*
 * Learns latencies and gaps, and replays the run as it was. Returns 0 and the replay in `*out`, which the caller frees;
 * SONDE_ERR_USAGE for input that contradicts itself.
 */
int sonde_replay_open(
	struct sonde_replay **out, const struct sonde_replay_input *in, struct sonde_err *err);
void sonde_replay_free(struct sonde_replay *r);
const struct sonde_replay_summary *sonde_replay_summary(const struct sonde_replay *r);
const struct sonde_replay_region *sonde_replay_regions(
	const struct sonde_replay *r); /* one for each region */
/* One number for each kernel: the sum of its time in all entries of the step. */
const double *sonde_replay_kernels(const struct sonde_replay *r);
/*
 * The gain of all these changes together. With `is_rough` the interval is not computed (NaN), which saves most of the
 * time.
 */
int sonde_replay_predict(const struct sonde_replay *r, struct sonde_replay_gain *out,
	const struct sonde_replay_change *changes, size_t nr, bool is_rough, struct sonde_err *err);

#endif
