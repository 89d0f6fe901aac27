/*
 * The files of this room:
 *
 *   change.c    the table of changes, and how they are written
 *   relays.c    which threads take turns
 *   learn.c     latencies, gaps, waits and the order, as the run had them
 *   simulate.c  one pass over the operations, with changes
 *   replay.c    the step, the error, gains and their intervals
 */
#ifndef SONDE_REPLAY_INT_H
#define SONDE_REPLAY_INT_H

#include "base/arena.h"
#include "replay/replay.h"

#define REPLAY_NONE SONDE_REPLAY_NONE

/* The 5th, 50th and 90th percentile of a duration, from `nr` samples; zeros if it was never seen. */
struct spread {
	double low, mid, high;
	size_t nr;
};

/* Kinds of starts: the kinds of sonde_replay_work_kind, and whole graphs. */
#define START_GRAPH SONDE_REPLAY_NR_WORKS
#define NR_STARTS   (START_GRAPH + 1)

/* Durations that were learned from the run itself. */
struct learned {
	struct spread latency[NR_STARTS]; /* from the launch call to the start of the work, on an idle stream */
	struct spread gap[NR_STARTS];	  /* from the end of the work before to the start, if the work was queued */
	struct spread lag;	  /* from the end of work to the return of the call that waits for it */
	struct spread call;	  /* duration of a launch call … */
	struct spread graph_call; /* … and of the call that launches a graph */
	struct spread node_gap;	  /* gap between the nodes of a graph */
	double pause_ns; /* median of the host's time from one launch call, or call that waits, to the next launch of the step */
	double least_kernel_ns; /* hardly any kernel is shorter: the cost of a kernel, however small it is */
	double least_copy_ns;	/* the same for copies */
	double pinned_rate;	/* bytes per nanosecond of copies that are not pageable */
};

/* Why an operation took as long as it did. */
enum wait {
	WAIT_NOTHING, /* it waited for nothing */
	WAIT_COPY,    /* a copy that began inside its call: the call ends with the copy */
	WAIT_QUEUE,   /* a launch found the queue full: it returns after some work is done */
	WAIT_STREAM,  /* a call that returns when the work of a stream is done … */
	WAIT_EVENT,   /* … when an event is done … */
	WAIT_DEVICE,  /* … or when all work is done */
};

/* The result of learning for one operation. */
struct op_fate {
	uint32_t relay;
	union {
		uint32_t awaited_stream; /* WAIT_STREAM */
		uint32_t awaited_work;	 /* WAIT_QUEUE */
	};
	float start_lag_ns;  /* a launch: latency of its work (is_idle), or the gap before it */
	float return_lag_ns; /* from the end of what it waited for to its return */
	uint8_t wait; /* enum wait */
	bool is_idle; /* a launch: its stream had nothing to do; a call: nothing to wait for, and return_lag_ns is its whole time */
};

struct work_fate {
	uint32_t before; /* the node of its graph or the work of another stream that it followed; NONE = none */
	float lag_ns;	 /* from the end of `before` to its start */
};

struct sonde_replay {
	struct sonde_replay_input in;
	struct op_fate *fates;	      /* by operation */
	struct work_fate *work_fates; /* by work */
	bool *is_blocking;	      /* by stream: it obeys the rule of the default stream */
	struct learned learned;
	struct sonde_replay_summary summary;
	struct sonde_replay_region *regions;
	double *kernels;
	uint32_t *steps; /* by entry: the number of its step; NONE = no step */
	bool *is_last;	 /* by step: it is the last of a row */
	double *base;	 /* by step: its time without the profiler */
	bool *is_odd;	 /* by step: it takes far longer than the others, and no figure contains it */
	struct sonde_arena arena;
};

/* How optimistic a simulation is about the changes: the usual case, and both ends of the range. */
enum assume { ASSUME_USUAL, ASSUME_BEST, ASSUME_WORST, NR_ASSUMES };

/* One simulation: its changes, and where its figures go. */
struct simulation {
	const struct sonde_replay_change *changes;
	size_t nr_changes;
	enum assume assume;
	double launch_cost_ns, call_cost_ns; /* subtracted from the host's time */
	double *steps;			     /* result: time of each step */
	double *walls; /* result: wall time of each region, summed over entries; NULL = not needed */
};

/* Each returns false when memory is short. */
bool sonde_replay__find_relays(struct sonde_replay *r);
bool sonde_replay__learn(struct sonde_replay *r);
bool sonde_replay__simulate(const struct sonde_replay *r, const struct simulation *s);
/* Computes the same figures from the measured times: the steps, and `wall_ns` of the regions. */
bool sonde_replay__measure(struct sonde_replay *r, double *steps);

static inline double later(double a, double b)
{
	return a > b ? a : b;
}

static inline double sooner(double a, double b)
{
	return a < b ? a : b;
}

/* `value`, limited to the range of `s`; at least 0 if there is no range. */
static inline double sonde_replay__clamp(double value, const struct spread *s)
{
	return s->nr ? later(s->low, sooner(value, s->high)) : later(0, value);
}

#endif
