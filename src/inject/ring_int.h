/*
 * Threads of the host as the library knows them, and the chunks that they write to (ring.c).
 */
#ifndef SONDE_INJECT_RING_INT_H
#define SONDE_INJECT_RING_INT_H

#include "format/event.h"
#include "inject/label_int.h"

#define CHUNK_BYTES   16384u /* small: every live thread holds one */
#define MAX_THREADS   4096u
#define NR_RECENT     64u
#define NONE	      UINT32_MAX

enum chunk_state {
	CHUNK_FREE,
	CHUNK_OWNED, /* a thread writes to it, the flusher reads what is committed */
	CHUNK_FULL,  /* the flusher's */
};

struct chunk {
	_Alignas(64) _Atomic uint32_t state;
	_Atomic uint32_t committed; /* bytes that whole events fill */
	_Atomic uint32_t next;	    /* in the list of free chunks */
	uint32_t flushed;	    /* the flusher's */
	uint32_t stream, seq;
	uint64_t tid;
};

/*
 * A range this thread has pushed and not yet popped, in one word: a pop reads it right after the
 * push wrote it, and parts written one by one would make it wait.
 */
typedef uint64_t open_range;

#define OPEN_RECORDED	   (1ull << 56)
#define OPEN_CLOSES	   (1ull << 57) /* its end may close the window */
#define OPEN_BESIDE	   (1ull << 58) /* not kept: see sonde_window__enter */
#define OPEN_LABEL(o)	   ((uint32_t)(o)) /* 0 = written out in full, name not kept */
#define OPEN_DOMAIN(o)	   ((uint16_t)((o) >> 32))
#define OPEN_GATE(o)	   ((uint8_t)((o) >> 48))
#define OPEN_MAKE(l, d, g) ((uint64_t)(l) | (uint64_t)(d) << 32 | (uint64_t)(g) << 48)

struct thread { /* what every hook needs comes first: two cache lines */
	_Alignas(64) uint8_t *at; /* next byte; beyond `limit` the chunk counts as full */
	uint8_t *limit;
	struct chunk *chunk; /* NULL = none, and then at > limit */
	uint8_t *data;
	struct sonde_event_base base; /* what the chunk's next event counts from */
	uint64_t cpu_due;	      /* when the CPU clock is to be read again */
	const void *volatile frame;   /* of the hook it is in */
	_Atomic uint64_t nr_entered;  /* ranges, for a budget: how fast the program goes on */
	uint32_t nr_open, nr_too_deep;
	_Atomic uint32_t launched;    /* correlation id of the thread's last launch */
	uint32_t epoch;		      /* of windows, when it last wrote a range or launch */
	volatile bool busy;	      /* inside a hook */
	bool is_left_out;     /* it is in one whose number is not asked for (windows.c) */
	_Atomic uint64_t nr_owed;     /* launches of whose work there is to be a record */
	_Atomic uint64_t nr_launched; /* with a budget: launches … */
	struct {
		uint64_t ticks; /* … when the last one's call began, … */
		uint32_t correlation;
		uint32_t turn; /* … while CUPTI was switched or not (budget.c), … */
		uint64_t waited; /* … and ticks that calls waited for a switch … */
		uint32_t waited_turn; /* … which is this one */
		uint32_t records_turn; /* … when it began, plus one; 0 = that was not seen */
		bool makes_node;       /* it is captured into a graph: nothing runs */
	} call;
	uint32_t nr_included, nr_excluded, nr_starts;
	uint32_t nr_window;   /* open ranges of those that may open a window */
	uint32_t stream, seq; /* of this thread, and of its next chunk */
	uint64_t cpu_took;    /* ticks to read the CPU clock, as a rule */
	bool lists_open;      /* its next chunk says what is open though no window is */
	uint64_t tid;
	_Atomic uint64_t nr_lost;
	_Atomic uint32_t next;	    /* in the list of free threads */
	_Atomic bool is_live;	    /* the slot is some thread's */
	/* Calls that came while inside a hook, since the hook's thread last wrote anything. */
	uint32_t nr_nested;
	uint64_t nested_since;
	const uint8_t *nested_at;
	/* Labels last seen at an address: programs pass the same few pointers. */
	const struct label *recent[NR_RECENT];
	open_range open[SONDE_OPEN_LIMIT];
	uint32_t too_deep[MAX_DOMAINS]; /* pushes beyond that, by domain */
};

/* A lock-free list of numbers: a count against ABA above, the first number below. */
struct freelist {
	_Alignas(64) _Atomic uint64_t head;
	_Atomic uint32_t nr;
};

/* Zeroed memory that costs nothing until it is touched; NULL when there is none. */
void *sonde_ring__reserve(size_t bytes);
/*
 * Says that this process is ours; and whether it is, which a child that was not told of its fork
 * is not. Without a system call: a host may have forbidden itself those.
 */
void sonde_ring__own(void);
bool sonde_ring__is_own(void);
/* Gives everything reserved back: only before the first hook. */
void sonde_ring__release(void);
bool sonde_ring__init(void);
void sonde_ring__forked(void);
/* The calling thread, met for the first time. NULL when there are too many. */
struct thread *sonde_ring__enroll(void);
/*
 * A chunk for the next event of `t`, which is full or has none. Returns where to write, NULL
 * when no chunk is free: the event is lost, and counted here.
 */
uint8_t *sonde_ring__next(struct thread *t, uint64_t now);
/* The thread's chunk is the flusher's from now on, full or not. */
void sonde_ring__hand_over(struct thread *t);
/*
 * A call that comes inside a hook of the same thread. Usually from a signal handler that
 * interrupted it: false, nothing can be recorded. True when the hook was left by a jump out of the
 * handler and will never end: then the thread begins anew. `frame` is the caller's; below that of
 * the hook it may be a handler's, however long it takes.
 */
bool sonde_ring__revive(struct thread *t, const void *frame);
/*
 * Writes an event as one of this thread; lost, and counted, when no chunk is free. Host events have
 * their ticks set, their CPU time is seen to here.
 */
void sonde_ring__write(struct thread *t, struct sonde_event *e);
/* Takes back the slots of threads that ended without telling us. The flusher's. */
void sonde_ring__reap(void);
/* The flusher is done with a full chunk. */
void sonde_ring__give(struct chunk *c);

#endif
