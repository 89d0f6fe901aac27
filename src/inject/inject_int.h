/*
 * Inside the injected library: the one state it has in a process.
 *
 * Who may do what:
 *   a hook        runs in a thread of the host. Writes only to its own `struct
 *                 thread` and that thread's current chunk, reads the label
 *                 table. Takes no lock, allocates nothing, makes no system
 *                 call except the thread's CPU clock (at most every
 *                 CPU_PERIOD_NS) and a wake-up of the flusher.
 *   the flusher   a process of ours that shares the host's memory and nothing
 *                 else (helper.c). The only one that touches the file. Takes
 *                 what threads have committed, gives empty chunks back.
 *   the collector one thread of ours, only with CUPTI: asks it for finished
 *                 activity now and then. Shares the host's descriptors, since
 *                 the driver needs them.
 *
 * Whatever fails first clears `on`, for good; the host goes on unharmed.
 */
#ifndef SONDE_INJECT_INT_H
#define SONDE_INJECT_INT_H

#include "format/attach.h"
#include "format/capture.h"
#include "format/event.h"
#include "inject/ticks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_BYTES   16384u /* small: every live thread holds one */
#define MAX_THREADS   4096u
#define MAX_LABELS    SONDE_STRING_LIMIT
#define NR_SLOTS      (MAX_LABELS * 2)
#define TEXT_BYTES    (12u << 20)
#define MAX_DOMAINS   1024u
#define MAX_NOTES     16u
#define NR_RECENT     64u
#define CPU_PERIOD_NS 100000u /* at least; more where reading it takes long */
#define NONE	      UINT32_MAX

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* --- configuration: read once, before the first hook ------------------------------------- */

struct pattern {
	const char *text;  /* a glob over labels */
	const char *label; /* what follows its first '@': a glob over labels of the domain before
			      it; NULL = it has no '@' */
};

struct patterns {
	struct pattern at[SONDE_PATTERN_LIMIT];
	uint32_t nr;
};

struct config {
	char text[65536]; /* the file; the pointers below point into it */
	const char *output;
	const char *cupti; /* a path, or NULL = look for it */
	uint64_t buffer_bytes;
	uint32_t flush_ms;
	uint32_t collect_ms;
	uint64_t rotate_bytes, rotate_ms; /* a file is as long, or as old, at most; 0 = any */
	bool use_cupti;
	bool whole_graphs;
	bool has_calls;	 /* CUDA calls that can wait */
	bool has_memory; /* allocations and frees */
	const char *ranks;	 /* which are captured; NULL = every process */
	struct patterns include, exclude;
	uint32_t budget_ppm; /* of the program's time that timing may take; 0 = any */
	/* When to capture; docs/always-on.md. Times count from the start of the library. */
	struct window_config {
		enum window_kind {
			WINDOW_ALL,	 /* always, until somebody says otherwise */
			WINDOW_ENTRIES,	 /* entries first … end-1 of the ranges `label` matches */
			WINDOW_TIME,
			WINDOW_PROFILER, /* between cudaProfilerStart and cudaProfilerStop */
			WINDOW_RANGE,	 /* while a range that `label` matches is open */
			WINDOW_ORDER,	 /* when the runner says so */
		} kind;
		struct patterns label; /* one, or none */
		uint64_t first, end;
		uint64_t after_us, for_us, every_us; /* for 0 = to the end; every 0 = once */
		const char *text; /* as the user said it, for the report; NULL = not told */
	} window;
	/* How CUPTI works for us, to be measured (bench/launch_cost.py); not in the manual. */
	struct levers {
		bool zeroed;		    /* buffers are handed over clean, CUPTI does not zero */
		bool no_overhead;	    /* no records of CUPTI's own overhead */
		uint32_t buffer_kb;	    /* of a buffer for records */
		uint32_t device_buffer_kb;  /* 0 = CUPTI's default */
		uint32_t nr_device_buffers; /* allocated beforehand; 0 = CUPTI's default */
		uint32_t call_ns, record_ns; /* what a launch is taken to cost, see budget.c */
	} levers;
};

/* Reads the file $SONDE_INJECT_CONFIG names. False = there is no usable one. */
bool sonde_setup__read(struct config *c);

/* --- labels ------------------------------------------------------------------------------- */

#define GATE_INCLUDED 1
#define GATE_EXCLUDED 2
#define GATE_WINDOW	  4 /* entering it may open a window */

/* One distinct (kind, domain, text). Never changes once it can be found, never goes away. */
struct label {
	uint64_t hash;
	uint32_t id;
	uint32_t nr_bytes;
	uint16_t domain;
	uint8_t kind; /* enum sonde_string_kind */
	uint8_t gate;
	char text[]; /* NUL-terminated */
};

#define LABEL_ABANDONED 1u /* in `by_id`: another thread was first with the same text */

struct labels {
	_Atomic uint32_t *slots; /* offset in `text` / 8; 0 = free */
	_Atomic uint32_t *by_id; /* the same, by label id; 0 = not yet written */
	uint8_t *text;
	_Atomic uint32_t nr_ids;		      /* ids 1 … nr_ids-1 are taken */
	_Atomic uint32_t used;			      /* bytes of `text` */
	_Atomic(struct label *) domains[MAX_DOMAINS]; /* [0] is the default domain: NULL */
};

bool sonde_label__init(struct labels *l);
/* After a fork, in the child: what another thread was just adding will never be finished. */
void sonde_label__forked(struct labels *l);
/*
 * NULL when the table is full. With LABEL_KEPT in `kind`, and for all kinds but labels of ranges,
 * a part of it is kept free: there is no other way to write those down.
 */
#define LABEL_KEPT 0x100u
struct label *sonde_label__intern(unsigned kind, unsigned domain, const char *text, size_t n);
/* What the gate says of a label that has no entry. */
unsigned sonde_label__gate(unsigned domain, const char *text);
struct label *sonde_label__at(const struct labels *l, uint32_t offset8);
/* The label a handle given out earlier stands for, NULL when it is none of ours. */
struct label *sonde_label__of_handle(const void *handle);
/* The number of the domain of that name, new or known. */
unsigned sonde_label__domain(const char *name, size_t n);
/* Whether `patterns` has one for this label. */
bool sonde_gate__matches(const struct patterns *patterns, const char *domain, const char *label);

struct thread;
/* Whether the gate lets in what a label has this decision for (0 = a launch), seen from `t`. */
bool sonde_gate__is_open(const struct thread *t, unsigned gate);
/*
 * A start/end range is known to the whole process until it is ended once: it may hold the gate, or a
 * window, and windows that open meanwhile begin in it. `epoch`: the one in which it was written.
 */
void sonde_gate__hold(uint64_t id, unsigned gate, const struct label *label, uint32_t epoch);
/* The i-th that is held, if it was not written in `epoch`; NULL: it is free, or nothing to write. */
const struct label *sonde_gate__held(uint32_t i, uint32_t epoch, uint64_t *id);
#define MAX_HOLDERS 4096u
/* False when it was ended before. */
bool sonde_gate__let_go(uint64_t id, unsigned gate);

/* --- threads and chunks ------------------------------------------------------------------- */

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
	uint64_t cpu_ticks;	      /* when the CPU clock was last read */
	const void *volatile frame;   /* of the hook it is in */
	_Atomic uint64_t nr_entered;  /* ranges, for a budget: how fast the program goes on */
	uint32_t nr_open, nr_too_deep;
	_Atomic uint32_t launched;    /* correlation id of the thread's last launch */
	uint32_t epoch;		      /* of windows, when it last wrote a range or launch */
	volatile bool busy;	      /* inside a hook */
	bool is_left_out;     /* it is in one whose number is not asked for (windows.c) */
	_Atomic uint64_t nr_launched; /* with a budget: launches … */
	struct {
		uint64_t ticks; /* … when the last one's call began, … */
		uint32_t correlation;
		uint32_t turn; /* … while CUPTI was switched or not (budget.c), … */
		uint64_t waited; /* … and ticks that calls waited for a switch … */
		uint32_t waited_turn; /* … which is this one */
		uint32_t records_turn; /* … when it began, plus one; 0 = that was not seen */
	} call;
	uint32_t nr_included, nr_excluded, nr_starts;
	uint32_t nr_window;   /* open ranges of those that may open a window */
	uint32_t stream, seq; /* of this thread, and of its next chunk */
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

/* --- windows ------------------------------------------------------------------------------- */

#define NR_WINDOW_MARKS 4096u /* not yet written; a power of two */

enum { RECORDS_OFF, RECORDS_BEGIN, RECORDS_ON, RECORDS_END };

struct windows {
	/* Odd = open. A thread that finds another number than last time begins a new chunk. */
	_Atomic uint32_t epoch;
	_Atomic uint32_t carried; /* the last one that open start/end ranges were written in */
	_Atomic uint32_t want;	/* 1 = it should be open … */
	_Atomic uint32_t baton; /* … and one thread at a time sees to it */
	_Atomic uint64_t nr_entries;
	_Atomic uint64_t nr_ended;    /* of those inside */
	_Atomic uint32_t has_opened;  /* at least once, or nobody waits for it any more */
	_Atomic uint32_t nr_holding; /* ranges that hold a window open */
	_Atomic uint32_t nr_marks, nr_written;
	struct sonde_window_mark marks[NR_WINDOW_MARKS]; /* the baton's holder writes them */
	uint64_t start_ns; /* when the library started */
	/* The flusher's; once there is CUPTI, the collector's: */
	_Atomic uint32_t order;	   /* the runner's last that was followed */
	_Atomic bool clock_wanted; /* what the clock wanted when last asked */
	_Atomic uint64_t open_ticks; /* when the last one opened: nothing in it is earlier */
	_Atomic uint32_t gpu_on;     /* CUPTI calls us at launches */
	_Atomic uint32_t phase;	     /* 1 = the budget permits timing */
	_Atomic uint32_t counts_all; /* … and calls at launches all the time */
	_Atomic uint32_t is_timing;  /* CUPTI records GPU work */
};

void sonde_window__init(void);
/* In a forked child: nobody holds the baton, nothing of the parent's is written. */
void sonde_window__forked(void);
/* Opens or closes it. Whoever is at it already does it. */
void sonde_window__set(bool is_open);
/* After CUPTI began: has it follow. */
void sonde_window__settle(void);
/*
 * What the clock and the runner want by now; microseconds until the clock may want something else.
 * With `may_call` in a thread that may call CUPTI, else in the flusher.
 */
uint64_t sonde_window__look(bool may_call);
/*
 * Whether ranges and launches of `t` are to be written. In that case the next event begins a chunk
 * unless the thread's last one was in the same window.
 */
bool sonde_window__is_open(struct thread *t);
/*
 * A range was entered whose label may open a window; what its end must know: OPEN_CLOSES, or OPEN_BESIDE
 * for an entry whose number is not asked for, or 0.
 */
uint64_t sonde_window__enter(struct thread *t);
void sonde_window__leave(struct thread *t, bool closes);
/* Writes the start/end ranges that are open in a window that has just opened (nvtx.c). */
void sonde_nvtx__carry(struct thread *t, uint32_t epoch);
/* With a budget: GPU work is timed from now on, or is not … */
void sonde_window__time(bool is_timed);
/* … and launches are from now on recorded only while it is, for good; or not yet, if busy. */
void sonde_window__stop_counting(void);
/* The collector's: GPU work need not be recorded any more, unless it is to be timed again. False: not now. */
bool sonde_window__end_records(void);
/* The flusher's: writes what has changed since the last time. */
void sonde_window__put(bool is_last);

/* --- the budget ----------------------------------------------------------------------------- */

/* The collector's: decides what is due, returns microseconds until it is to be asked again. */
uint64_t sonde_budget__look(void);
/* A call of a launch begins and ends: how long it takes is measured. */
void sonde_budget__enter_call(struct thread *t, uint32_t correlation);
void sonde_budget__leave_call(struct thread *t, uint32_t correlation, bool is_timed);
/* Whoever switches CUPTI says what the program lost to it, beyond what its launches waited. */
void sonde_budget__charge(uint64_t ns);
/* A push that began at these ticks has just ended: one in 64 is measured. */
void sonde_budget__pushed(uint64_t since);
void sonde_budget__put(void); /* the flusher's */

/* --- the flusher --------------------------------------------------------------------------- */

/* Starts it unless it runs. False when that is impossible. */
bool sonde_flusher__start(void);
void sonde_flusher__wake(void);
/* Has it write everything and end; waits for that, but not for long. */
void sonde_flusher__finish(void);
/* Until nobody writes GPU events any more; not for long either. */
void sonde_flusher__await_collectors(void);
/* A sentence for the reader of the capture; `text` must be a constant. Once, however often. */
void sonde_flusher__note(const char *text);

/* Runs `what` in a process that shares our memory; false when there is none to be had. */
bool sonde_helper__start(void (*what)(void));
/* In that process: the host has ended, or is another program now. */
bool sonde_helper__is_alone(void);
/* In the host: it is no longer there. */
bool sonde_helper__has_ended(void);
/* Runs `start` in a thread of ours that no signal disturbs. */
bool sonde_thread__start(void *(*start)(void *));
/* Sleeps until `word` is no longer `value`, woken or timed out. */
void sonde_futex__wait(_Atomic uint32_t *word, uint32_t value, uint32_t ms);
void sonde_futex__wake(_Atomic uint32_t *word);

/* Maps the page that says what became of us; a private one where there is none. */
void sonde_attach__open(const char *output);
/* Switches the library off and says why. */
void sonde_attach__fault(enum sonde_attach_fault fault, int error);

/* --- CUPTI --------------------------------------------------------------------------------- */

/* Finds and starts it. Leaves a note when there is none; never fails the capture. */
void sonde_activity__start(void);
/* Calls at launches, and records of GPU work. Only the holder of the windows' baton may switch. */
void sonde_activity__switch(bool is_on, bool is_timed);
/* … or have records end that went on when they were no longer wanted. */
void sonde_activity__end_records(void);

/* --- the state ------------------------------------------------------------------------------ */

struct inject {
	_Atomic bool on;
	_Atomic bool gated;	   /* hooks must look closer: there are patterns, or windows */
	bool has_patterns;
	_Atomic bool traces_gpu;   /* CUPTI runs, in this process */
	_Atomic bool has_own_ids;  /* its runtime calls have other ids than the driver's in them */
	_Atomic bool is_collected; /* the exit handlers have, what comes now stays with CUPTI */
	bool use_counter;	   /* ticks are the processor's, not CLOCK_MONOTONIC */
	uint64_t cpu_period; /* ticks */
	int pid;
	int ppid;
	char rank[16], nr_ranks[16]; /* as the launcher says, empty = it does not */
	int helper;		     /* the flusher's process */
	int fault_errno;	     /* why there is none */
	struct sonde_attach *attach; /* never NULL */
	uint64_t tick_hz;
	struct labels labels;

	struct chunk *chunks;
	uint8_t *data; /* of all chunks, CHUNK_BYTES each */
	uint32_t nr_chunks;
	struct freelist free_chunks;
	struct thread *threads;
	struct freelist free_threads;
	_Atomic uint32_t nr_used; /* slots below this were used at some time */
	_Atomic uint32_t nr_streams;
	_Atomic uint32_t nr_collected;	/* how often CUPTI was asked */
	_Atomic uint32_t nr_collecting; /* threads that write GPU events just now */

	_Atomic uint32_t flusher_runs, wake, stop, done;
	_Atomic uint32_t nr_included, nr_excluded; /* start/end ranges that hold the gate */
	_Atomic uint64_t nr_lost, nr_nested, nr_inline, nr_cut, nr_no_slot, nr_gpu_dropped,
		nr_too_deep;
	_Atomic(const char *) notes[MAX_NOTES]; /* each once */
	_Atomic uint32_t nr_notes;
	_Atomic uint64_t nr_gpu_records; /* that CUPTI handed over … */
	/* Of work outside graphs, since CUPTI came: the records that it gave, and those it owes us. */
	struct {
		_Atomic uint64_t kernels, others;
		_Atomic uint64_t owed_kernels, perhaps_others;
	} records;
	_Atomic uint32_t records_turn; /* RECORDS_…, and four more each time around */
	/* On CUPTI's clock: when records last ended, and when the latest recorded work began. */
	_Atomic uint64_t off_ns, latest_ns;
	_Atomic uint32_t id_base;	 /* is added to CUPTI's ids, which begin again when it comes back */
	struct windows windows;
	struct config config;
};

extern struct inject sonde_inject;
extern __thread struct thread *sonde_self __attribute__((tls_model("initial-exec")));

static inline void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Of a thread's own: others may read it. How many there were before. */
static inline uint64_t count_own(_Atomic uint64_t *counter)
{
	uint64_t nr = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, nr + 1, memory_order_relaxed);
	return nr;
}

static inline uint64_t ticks_now(void)
{
	return likely(sonde_inject.use_counter) ? counter_read() : sonde_now_ns();
}

#endif
