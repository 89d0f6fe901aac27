/*
 * Inside the injected library: the one state it has in a process, and what its files say to each other.
 *
 *   inject.c    the exported functions; starts, forks and ends; the page that the runner reads
 *   asleep.c    without a runner: nothing, until `sonde attach` wakes it; asleep_hooks.c: the hooks meanwhile
 *   setup.c     reads the configuration
 *   nvtx.c      the hooks of NVTX: ranges, marks, names           (nvtx_int.h)
 *   payload.c   … the numbers that come with them, and counters  (payload_int.h)
 *   cupti*.c    what CUPTI says of the GPU                        (cupti_int.h)
 *   label.c     every distinct text once, and the gate of include and exclude patterns
 *   ring.c      threads of the host and the chunks of memory they write events to
 *   windows.c   when the process is captured
 *   budget.c    with a budget, when windows open                  (pace.h: the arithmetic)
 *   cubins.c    code of kernels that is kept for PC samples
 *   helper.c    the process that the flusher runs in              (raw_int.h: its system calls)
 *   flusher.c   takes what threads have written …
 *   outfile.c   … and appends it to the capture file
 *
 * Who may do what:
 *   a hook        runs in a thread of the host. It writes only to its own `struct
 *                 thread` and that thread's current chunk, and reads the label
 *                 table. It takes no lock, allocates nothing, makes no system
 *                 call except the thread's CPU clock (for a thousandth
 *                 of the time at most) and a wake-up of the flusher. One that
 *                 opens or closes a window calls CUPTI (windows.c).
 *   the flusher   is a process of ours that shares the host's memory and nothing
 *                 else (helper.c). It alone touches the file. It takes
 *                 what threads have committed and gives empty chunks back.
 *   the collector is one thread of ours, only with CUPTI: it asks CUPTI for finished
 *                 activity now and then. It shares the host's descriptors, since
 *                 the driver needs them. With PC samples there is another, which drains them.
 *
 * Whatever fails first clears `on`, for good; the host goes on unharmed.
 */
#ifndef SONDE_INJECT_INT_H
#define SONDE_INJECT_INT_H

#include "base/clock.h"
#include "format/attach.h"
#include "format/capture.h"
#include "format/event.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct thread;

/* --- the configuration (setup.c) --------------------------------------------------------------- */

/* Read once, before the first hook, and never changed. */

struct pattern {
	const char *text;  /* a glob over labels */
	const char *label; /* behind its first '@': a glob over the labels of the domain that is
			      before the '@'; NULL = it has no '@' */
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
	uint64_t rotate_bytes, rotate_ms; /* when the next file begins; 0 = never */
	bool use_cupti;
	bool whole_graphs;
	bool has_calls;	 /* CUDA calls that can wait */
	bool has_memory; /* allocations and frees */
	uint32_t pc_exponent; /* PC samples every so many cycles, as a power of two; 0 = none */
	uint64_t cubin_bytes; /* of code that may be kept */
	const char *ranks;	 /* which are captured; NULL = every process */
	struct patterns include, exclude;
	uint32_t budget_ppm; /* millionths of the program's time that the capture may take; 0 = any */
	bool has_windows;    /* there is a window or a budget: it is captured at times only */
	/* When to capture; docs/always-on-reference.md. Times count from the start of the library. */
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
		const char *text; /* as the user wrote it, for the report; NULL = unknown */
	} window;
	/* Settings of CUPTI that bench/launch_cost.py measures; not in the manual. */
	struct levers {
		bool zeroed;		    /* buffers are handed over clean, CUPTI does not zero */
		bool no_overhead;	    /* no records of CUPTI's own overhead */
		uint32_t buffer_kb;	    /* of a buffer for records */
		uint32_t device_buffer_kb;  /* 0 = CUPTI's default */
		uint32_t nr_device_buffers; /* allocated beforehand; 0 = CUPTI's default */
		uint32_t call_ns, record_ns; /* the assumed cost of a launch, see budget.c */
	} levers;
};

/* Reads the file at `path`, which may be NULL; with `is_own` it must be our user's, or root's. False = there is no usable one. */
bool sonde_setup__read(struct config *c, const char *path, bool is_own);

/* --- labels and the gate (label.c) ------------------------------------------------------------- */

#define MAX_LABELS  SONDE_STRING_LIMIT
#define MAX_DOMAINS 1024u

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
 * Finds or adds a label. NULL when the table is full. A part of the table is reserved for calls with
 * LABEL_KEPT in `kind`, and for all kinds but labels of ranges: there is no other way to write those down.
 */
#define LABEL_KEPT 0x100u
struct label *sonde_label__intern(unsigned kind, unsigned domain, const char *text, size_t n);
/* The gate's decision for a label that is not in the table. */
unsigned sonde_label__gate(unsigned domain, const char *text);
struct label *sonde_label__at(const struct labels *l, uint32_t offset8);
/* The label behind a handle that we gave to the program; NULL when the handle is not ours. */
struct label *sonde_label__of_handle(const void *handle);
/* Asks the gate's patterns again about all labels: there are others now. */
void sonde_label__regate(void);
/* The number of the domain of that name, new or known. */
unsigned sonde_label__domain(const char *name, size_t n);

/* Whether thread `t` records a range whose label has the decision `gate` (0 = a launch). */
bool sonde_gate__is_open(const struct thread *t, unsigned gate);
/*
 * Remembers a start/end range for the whole process until it is ended once: it may hold the gate or a
 * window open, and windows that open meanwhile begin inside it. `epoch`: the window it was written in.
 */
void sonde_gate__hold(uint64_t id, unsigned gate, const struct label *label, uint32_t epoch);
/* The i-th open start/end range, unless it was written in `epoch`; NULL: there is nothing to write. */
const struct label *sonde_gate__held(uint32_t i, uint32_t epoch, uint64_t *id);
#define MAX_HOLDERS 4096u
/* Forgets it. False when it was ended before. */
bool sonde_gate__let_go(uint64_t id, unsigned gate);
/* Forgets all of them. */
void sonde_gate__clear(void);

/* --- threads and chunks (ring.c) --------------------------------------------------------------- */

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
	_Atomic uint64_t nr_entered;  /* ranges, in windows or not: how fast the program goes on */
	uint32_t nr_open, nr_too_deep;
	_Atomic uint32_t launched;    /* correlation id of the thread's last launch */
	uint32_t epoch;		      /* of windows, when it last wrote a range or launch */
	uint32_t wake;		      /* which one it last wrote in */
	volatile bool busy;	      /* inside a hook */
	bool is_left_out;     /* it is in an entry that was not asked for (windows.c) */
	_Atomic uint64_t nr_owed;     /* launches for which CUPTI owes a record */
	_Atomic uint64_t nr_launched; /* with a budget: launches in windows … */
	struct {
		uint64_t ticks; /* … when the last one's call began, … */
		uint32_t correlation;
		uint32_t turn; /* … while CUPTI was switched or not (budget.c), … */
		uint64_t waited; /* … and ticks that calls waited for a switch … */
		uint32_t waited_turn; /* … which is this one */
		uint32_t records_turn; /* when the last call began, plus one; 0 = that was not seen */
		bool makes_node;       /* it is captured into a graph: nothing runs */
	} call;
	uint32_t nr_included, nr_excluded, nr_starts;
	uint32_t nr_window;   /* open ranges of those that may open a window */
	uint32_t stream, seq; /* of this thread, and of its next chunk */
	uint64_t cpu_took;    /* ticks it usually takes to read the CPU clock */
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
 * Marks this process as ours, and asks whether it is: a child whose fork we did not see is not.
 * Makes no system call: a host may have forbidden itself those.
 */
void sonde_ring__own(void);
bool sonde_ring__is_own(void);
/* Gives all reserved memory back: only before the first hook. */
void sonde_ring__release(void);
bool sonde_ring__init(void);
void sonde_ring__forked(void);
/* Makes a slot for the calling thread at its first hook. NULL when there are too many threads. */
struct thread *sonde_ring__enroll(void);
/* The library has slept since this thread's last hook: which ranges are open is not known. */
void sonde_ring__renew(struct thread *t);
/* Before a wake: nothing of an earlier one is written any more. After it: the memory of all events is given back. */
void sonde_ring__discard(void);
void sonde_ring__give_back(void);
/*
 * Takes a chunk for the next event of `t`, whose chunk is full or missing. Returns where to write;
 * NULL when no chunk is free: the event is lost, and counted here.
 */
uint8_t *sonde_ring__next(struct thread *t, uint64_t now);
/* Hands the thread's chunk over to the flusher, full or not. */
void sonde_ring__hand_over(struct thread *t);
/*
 * Decides about a call that comes inside a hook of the same thread. Usually a signal handler interrupted
 * the hook: false, nothing can be recorded. True when a handler jumped out of the hook, which will
 * never end: then the thread begins anew. `frame` is the caller's; a frame below that of the hook may
 * belong to a handler, however long it runs.
 */
bool sonde_ring__revive(struct thread *t, const void *frame);
/*
 * Writes an event of this thread; it is lost, and counted, when no chunk is free. The caller sets the
 * ticks of host events; this function adds their CPU time.
 */
void sonde_ring__write(struct thread *t, struct sonde_event *e);
/* The flusher takes back the slots of threads whose end we did not see. */
void sonde_ring__reap(void);
/* The flusher gives a full chunk back once it is written. */
void sonde_ring__give(struct chunk *c);

/* --- windows (windows.c) ----------------------------------------------------------------------- */

#define NR_WINDOW_MARKS 4096u /* not yet written; a power of two */

struct windows {
	/* Odd = open. A thread that finds another number than last time begins a new chunk. */
	_Atomic uint32_t epoch;
	_Atomic uint32_t carried; /* the last epoch in which open start/end ranges were written */
	_Atomic uint32_t want;	/* 1 = it should be open … */
	_Atomic uint32_t baton; /* … and one thread at a time sees to it */
	_Atomic uint64_t nr_entries;
	_Atomic uint64_t nr_ended;    /* of those inside */
	_Atomic uint32_t has_opened;  /* at least once, or nobody waits for it any more */
	_Atomic uint32_t nr_holding; /* ranges that hold a window open */
	_Atomic uint32_t nr_marks, nr_written;
	struct sonde_window_mark marks[NR_WINDOW_MARKS]; /* the baton's holder writes them */
	_Atomic bool has_begun; /* before that nothing opens or closes */
	uint64_t start_ns; /* when that was */
	/* The flusher writes these; once there is CUPTI, the collector does: */
	_Atomic uint32_t order;	   /* the last order from the runner that we obeyed */
	_Atomic bool clock_wanted; /* what the clock wanted when last asked */
	_Atomic uint64_t open_ticks; /* when the last window opened: nothing in it is earlier */
	_Atomic uint32_t gpu_on;     /* CUPTI records GPU work, and we write its launches */
	_Atomic uint32_t is_allowed; /* by the budget */
};

/* Begins; opens the window if it is to be open from the beginning. */
void sonde_window__init(void);
/* Before a wake: closed, and nothing is known. */
void sonde_window__reset(void);
/* Whether the window was open as often as it ever will be. */
bool sonde_window__is_over(void);
/* Resets a forked child: nobody holds the baton, the parent's marks are not written. */
void sonde_window__forked(void);
/* Opens or closes the window. If another thread is changing it already, that thread does this too. */
void sonde_window__set(bool is_open);
/* Brings CUPTI in line with the window, once CUPTI has begun. */
void sonde_window__settle(void);
/*
 * Does what the clock and the runner want by now; returns microseconds until the clock may want something
 * else. `may_call`: this thread may call CUPTI; false in the flusher.
 */
uint64_t sonde_window__look(bool may_call);
/*
 * Whether ranges and launches of `t` are to be written. If so, the next event begins a chunk unless the
 * thread's last event was in the same window.
 */
bool sonde_window__is_open(struct thread *t);
/*
 * A range was entered whose label may open a window. Returns what its end must know: OPEN_CLOSES, or
 * OPEN_BESIDE for an entry that was not asked for, or 0.
 */
uint64_t sonde_window__enter(struct thread *t);
void sonde_window__leave(struct thread *t, bool closes);
/* Writes the start/end ranges that are open in a window that has just opened (nvtx.c). */
void sonde_nvtx__carry(struct thread *t, uint32_t epoch);
/* The budget allows windows from now on, or does not; `may_call` as above. */
void sonde_window__allow(bool is_allowed, bool may_call);
/* The collector ends the recording of GPU work, unless a window is open again. False: try later. */
bool sonde_window__end_records(void);
/* The flusher writes what has changed since the last time. */
void sonde_window__put(bool is_last);

/* --- the budget (budget.c) --------------------------------------------------------------------- */

/*
 * Opens or closes a window if it is time to; returns microseconds until it should be asked again. The flusher asks
 * (`may_call` false), and once there is CUPTI the collector.
 */
uint64_t sonde_budget__look(bool may_call);
/* Measure how long the call of a launch takes. */
void sonde_budget__enter_call(struct thread *t, uint32_t correlation);
void sonde_budget__leave_call(struct thread *t, uint32_t correlation);
/* Whoever switches CUPTI says what the program lost to it, beyond what its launches waited. A pause pays for it … */
void sonde_budget__charge(uint64_t ns);
/* … but not for this, which the program loses as long as CUPTI is there, in windows or not. */
void sonde_budget__bear(uint64_t ns);
void sonde_budget__forked(void); /* a child begins anew */
/* A push that began at these ticks has just ended: one in 64 is measured. */
void sonde_budget__pushed(uint64_t since);
/* The flusher writes what it took so far, unless `last` says the same. */
void sonde_budget__put(struct sonde_budget_status *last);

/* --- the flusher and its process (flusher.c, helper.c) ----------------------------------------- */

/* Starts it unless it runs. False when that is impossible. */
bool sonde_flusher__start(void);
void sonde_flusher__wake(void);
/* Makes it write everything and end; waits for that, but not for long. */
void sonde_flusher__finish(void);
/* Waits until nobody writes GPU events any more; not for long either. */
void sonde_flusher__await_collectors(void);
/* A sentence for the reader of the capture; `text` must be a constant. Once, however often. */
void sonde_flusher__note(const char *text);
void sonde_flusher__note_loss(const char *text); /* something that should be in the capture is not */

/* Whether a process can share our memory here, and leave everything else as it is. */
bool sonde_helper__is_possible(void);
/* Runs `what` in a process that shares our memory; false when there can be none. */
bool sonde_helper__start(void (*what)(void));
/* In that process: whether the host has ended or is another program now. */
bool sonde_helper__is_alone(void);
/* In the host: whether that process has ended. */
bool sonde_helper__has_ended(void);
/* In a sleeper: waits for its end, and takes its status from the kernel. False when it goes on. */
bool sonde_helper__await_end(uint32_t ms);
/*
 * Whether the host's main thread has ended by itself. The process then ends with its last thread,
 * which must not be one of ours.
 */
bool sonde_host__main_has_ended(void);
/* Runs `start` in a thread of ours that no signal disturbs. */
bool sonde_thread__start(void *(*start)(void *));
/* Sleeps until `word` is no longer `value`, woken or timed out. */
void sonde_futex__wait(_Atomic uint32_t *word, uint32_t value, uint32_t ms);
void sonde_futex__wake(_Atomic uint32_t *word);

/* --- the capture file (outfile.c) -------------------------------------------------------------- */

/* Only the flusher writes it. The first failure switches the library off; nothing is written after that. */

/* Makes the file and writes what it starts with. False when that failed. */
bool sonde_outfile__open(void);
bool sonde_outfile__failed(void);
/* Whether the file is long or old enough for the next to begin (rotate_bytes, rotate_ms). */
bool sonde_outfile__is_due(void);
/* Goes on in the next file, when everything is drained; false: it cannot be made, nothing changed. */
bool sonde_outfile__next(void);
/* Adds one block made of two parts; written by the next drain, or when much has gathered. */
void sonde_outfile__put_block(unsigned type, const void *a, size_t nr_a, const void *b, size_t nr_b);
/* Adds a clock block, if `always` or the last one is old. */
void sonde_outfile__put_clock(bool always);
void sonde_outfile__drain(void);

/* --- code of kernels (cubins.c) ------------------------------------------------------------------ */

/* Copies code that was just loaded, if it has a line table and there is room. For callbacks of the driver. */
void sonde_cubins__keep(const void *at, size_t nr_bytes);
/* The thread that drains PC samples names what is new by its checksum; 0 = it has none, and is not written. */
void sonde_cubins__name(uint64_t (*checksum)(const void *, size_t));
/* Whether code with this checksum, by then named, is kept. */
bool sonde_cubins__has(uint64_t checksum);
/* The flusher writes some of those that have a name, or all. */
void sonde_cubins__put(bool all);

/* --- the page that the runner reads (inject.c) ------------------------------------------------- */

/* Switches the library off and says why. */
void sonde_attach__fault(enum sonde_attach_fault fault, int error);

/* --- one wake of a sleeper (inject.c) ---------------------------------------------------------- */

/* Begins a capture as the file at `path` says. An errno when it cannot be; 0 with `on` false: the page says why. */
int sonde_inject__wake(const char *path);
/* Ends it. False when a part of it goes on: then there cannot be another. */
bool sonde_inject__rest(void);

/* --- asleep (asleep.c, asleep_hooks.c) --------------------------------------------------------- */

/* Begins to sleep, if the environment asks for that. */
bool sonde_asleep__begin(void);
/* Whether this process sleeps, or slept before it was woken. */
bool sonde_asleep__is_sleeper(void);
/* The process has initialised CUDA. */
void sonde_asleep__meet_cuda(void);
/* Somebody called: wakes up in a thread of its own. True when it is awake already. */
bool sonde_asleep__stir(void);

/* --- CUPTI (cupti.c) --------------------------------------------------------------------------- */

/* Finds and starts it, once; later wakes go on with it. Leaves a note when there is none; never fails the capture. */
void sonde_cupti__start(void);
/* Starts the collector. */
void sonde_cupti__collect(void);
/* Before a sleeper sleeps again: waits, not for long, until records of the window are there and nobody collects. */
void sonde_cupti__rest(void);
/* The process exits: CUPTI may be gone. */
bool sonde_cupti__is_ending(void);
/* Switches calls at launches and records of GPU work. Only the holder of the windows' baton may. */
void sonde_cupti__switch(bool is_on);
/* Ends records that went on after they were no longer wanted. */
void sonde_cupti__end_records(void);

/* --- the state --------------------------------------------------------------------------------- */

#define MAX_NOTES 16u

enum { RECORDS_OFF, RECORDS_BEGIN, RECORDS_ON, RECORDS_END };

struct inject {
	_Atomic bool on;
	_Atomic uint32_t nr_wakes; /* which capture of the process this is; 0 = the one it was started with */
	uint32_t first_stream;	   /* of this capture */
	_Atomic bool gated;	   /* hooks must look closer: there are patterns, or windows */
	_Atomic unsigned allocator_domain; /* marks there are readings of PyTorch's allocator; 0 = nobody makes any */
	_Atomic bool has_patterns; /* of ranges, or of the window's; a sleeper has none */
	_Atomic bool traces_gpu;   /* CUPTI runs, in this process */
	_Atomic bool has_own_ids;  /* its runtime calls have other ids than the driver's in them */
	_Atomic bool is_collected; /* the exit handlers have collected; later records stay with CUPTI */
	bool use_counter;	   /* ticks are the processor's, not CLOCK_MONOTONIC */
	int pid;
	int ppid;
	char rank[16], nr_ranks[16]; /* as the launcher says, empty = it does not */
	_Atomic uint32_t helper_runs; /* the flusher's process */
	int fault_errno;	     /* why there is none; 0 = it does not share our memory */
	char runner[SONDE_RUNNER_LIMIT]; /* which one of several; empty = there is one */
	struct sonde_attach *attach, *orders; /* never NULL, mostly the same */
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
		nr_too_deep, nr_pc_dropped, nr_pc_full;
	_Atomic(const char *) notes[MAX_NOTES]; /* each once */
	_Atomic uint32_t nr_notes;
	_Atomic uint32_t losses; /* bit n: note n is about something that is missing */
	_Atomic uint64_t nr_gpu_records; /* that CUPTI handed over */
	/* For work outside graphs, since CUPTI came: the records that it gave, and those it owes us. */
	struct {
		_Atomic uint64_t kernels, others;
		_Atomic uint64_t owed_kernels, perhaps_others;
	} records;
	_Atomic uint32_t records_turn; /* RECORDS_…, and four more each time around */
	/* On CUPTI's clock: when records last ended, and when the latest recorded work began. */
	_Atomic uint64_t off_ns, latest_ns;
	_Atomic uint32_t id_base;	 /* added to CUPTI's ids, which begin again when it comes back */
	struct windows windows;
	struct config config;
};

extern struct inject sonde_inject;
extern __thread struct thread *sonde_self __attribute__((tls_model("initial-exec")));

static inline void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Counts in a counter that only this thread writes and others may read. Returns the value before. */
static inline uint64_t count_own(_Atomic uint64_t *counter)
{
	uint64_t nr = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, nr + 1, memory_order_relaxed);
	return nr;
}

/* --- the clock of the hooks -------------------------------------------------------------------- */

/* The processor's own counter where it runs at a constant rate and is the same on every core, else the kernel's. */
#if defined(__x86_64__)
static inline uint64_t counter_read(void)
{
	return __rdtsc();
}
#elif defined(__aarch64__)
static inline uint64_t counter_read(void)
{
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
}
#else
static inline uint64_t counter_read(void)
{
	return sonde_now_ns();
}
#endif

static inline uint64_t ticks_now(void)
{
	return likely(sonde_inject.use_counter) ? counter_read() : sonde_now_ns();
}

/* --- writing one event, in the thread it happens in -------------------------------------------- */

/*
 *     struct thread *t = hook_enter();       NULL: off, or already inside a hook
 *     sonde_ring__write(t, &event);          any event; or in place, for the hot ones:
 *     uint8_t *p = event_open(t, type, now); NULL: lost, and counted
 *     p = sonde_event_put_…(p, …);           the event's own fields
 *     event_close(t, p);                     now the flusher may see it
 *     hook_leave(t);
 */

static inline struct thread *hook_enter(void)
{
	struct thread *t = sonde_self;

	if (unlikely(!atomic_load_explicit(&sonde_inject.on, memory_order_acquire)))
		return NULL;
	if (unlikely(!t)) {
		t = sonde_ring__enroll();
		if (!t)
			return NULL;
	}
	if (unlikely(t->busy) && !sonde_ring__revive(t, __builtin_frame_address(0)))
		return NULL;
	t->busy = true;
	t->frame = __builtin_frame_address(0);
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(t->wake != atomic_load_explicit(&sonde_inject.nr_wakes, memory_order_relaxed)))
		sonde_ring__renew(t);
	return t;
}

static inline void hook_leave(struct thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = false;
}

/* Room for any event, without its first byte and time: what GPU events need. */
static inline uint8_t *event_room(struct thread *t, uint64_t now)
{
	return likely(t->at <= t->limit) ? t->at : sonde_ring__next(t, now);
}

/* The first bytes of an event that also says the thread's CPU time. */
uint8_t *sonde_ring__cpu(struct thread *t, uint8_t *p, unsigned type, uint64_t now);

/*
 * `type` with its flags, `now` as read at the start of the hook: the processor works on while the
 * counter is being read.
 */
static inline uint8_t *event_open(struct thread *t, unsigned type, uint64_t now)
{
	uint8_t *p = event_room(t, now);

	if (unlikely(!p))
		return NULL;
	if (unlikely(now < t->base.ticks))
		now = t->base.ticks;
	if (unlikely(now >= t->cpu_due))
		return sonde_ring__cpu(t, p, type, now);
	return sonde_event_put_head(p, &t->base, type, now);
}

static inline void event_close(struct thread *t, uint8_t *p)
{
	t->at = p;
	atomic_store_explicit(&t->chunk->committed, (uint32_t)(p - t->data), memory_order_release);
}

#endif
