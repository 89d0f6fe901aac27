/*
 * Inside the room:
 *
 *   change.c    the table of changes, and how they are written
 *   relays.c     which threads take turns
 *   learn.c     latencies, gaps, waits and order as the run had them
 *   simulate.c  one pass over the operations, with changes
 *   replay.c    the step, the error, gains and their intervals
 */
#ifndef SONDE_REPLAY_INT_H
#define SONDE_REPLAY_INT_H

#include "base/arena.h"
#include "replay/replay.h"

#define REPLAY_NONE SONDE_REPLAY_NONE

/* Low, usual and high of something that was seen often; zeros where it never was. */
struct spread {
	double low, mid, high;
	size_t nr;
};

/* Kinds of work by how they start: those of sonde_replay_work_kind, and whole graphs. */
#define START_GRAPH SONDE_REPLAY_NR_WORKS
#define NR_STARTS   (START_GRAPH + 1)

/* How long things take, as the run itself shows. */
struct learned {
	struct spread latency[NR_STARTS]; /* from the call to the start, on an idle stream */
	struct spread gap[NR_STARTS];	  /* behind the work before, where it was queued */
	struct spread lag;	  /* from the end of work to the return of who waits for it */
	struct spread call;	  /* how long the call of a launch takes */
	struct spread graph_call; /* … of a graph */
	struct spread node_gap;	  /* between the nodes of a graph */
	double least_kernel_ns; /* kernels are hardly ever shorter: what each costs however small it
				   is */
	double least_copy_ns;	/* the same of copies */
	double pinned_rate;	/* bytes a nanosecond of copies that are not pageable */
};

/* Why an operation took as long as it did. */
enum wait {
	WAIT_NOTHING, /* it takes its time */
	WAIT_TIED,    /* a copy began inside its call: the call ends with it */
	WAIT_QUEUE,   /* a launch found the queue full: it returns after some work is done */
	WAIT_STREAM,  /* it returns when the work of a stream is done … */
	WAIT_EVENT,   /* … when an event is … */
	WAIT_DEVICE,  /* … or all work */
};

/* A fact that learning found out about an operation: `of` is a stream or a work. */
struct op_fate {
	uint32_t relay;
	uint32_t of;
	float lag_ns; /* from the end of what it waited for to its return; of a launch its latency
			 (is_idle) or its gap */
	uint8_t wait; /* enum wait */
	bool is_idle; /* a launch on a stream with nothing to do; a call with nothing to wait for,
			 whose lag is all of its time */
};

struct work_fate {
	uint32_t before; /* the node of its graph that it followed, or work of another stream; NONE
			    = none */
	float lag_ns;	 /* behind it */
};

struct sonde_replay {
	struct sonde_replay_input in;
	struct op_fate *fates;	      /* by operation */
	struct work_fate *work_fates; /* by work */
	bool *is_blocking;	      /* by stream: it keeps to the rule of the default stream */
	struct learned learned;
	struct sonde_replay_summary summary;
	struct sonde_replay_region *regions;
	double *kernels;
	uint32_t *steps; /* by entry: number of the step, NONE = none */
	bool *is_last;	 /* by step: something else was launched behind it */
	double *base;	 /* by step: its time without the profiler */
	struct sonde_arena arena;
};

/* How a change is carried out: the usual way, and the ends of what it may be. */
enum assume { ASSUME_USUAL, ASSUME_BEST, ASSUME_WORST, NR_ASSUMES };

/* One simulation: what it is to do, and where its figures go. */
struct simulation {
	const struct sonde_replay_change *changes;
	size_t nr_changes;
	enum assume assume;
	double launch_cost_ns, call_cost_ns; /* taken out of the host's time */
	double *steps;			     /* by step: its time */
	double *walls; /* by region, summed over entries; NULL = nobody asks */
};

/* False when memory is short. */
bool sonde_replay__find_relays(struct sonde_replay *r);
bool sonde_replay__learn(struct sonde_replay *r);
bool sonde_replay__simulate(const struct sonde_replay *r, const struct simulation *s);
/* Walls and steps as they were measured, in the same terms. */
bool sonde_replay__measure(struct sonde_replay *r, double *steps);

static inline double later(double a, double b)
{
	return a > b ? a : b;
}

static inline double sooner(double a, double b)
{
	return a < b ? a : b;
}

/* Within what is usual. */
static inline double sonde_replay__clamp(double value, const struct spread *s)
{
	return s->nr ? later(s->low, sooner(value, s->high)) : later(0, value);
}

#endif
