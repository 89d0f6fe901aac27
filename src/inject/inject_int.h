/*
 * Inside the injected library: its state, of which a process has one, and the functions its files offer each other.
 *
 *   inject.c    the exported functions; starts, forks and ends; the page that the runner reads
 *   asleep.c    does nothing without a runner, until `sonde attach` wakes it; asleep_hooks.c: the hooks meanwhile
 *   setup.c     reads the configuration
 *   nvtx.c      the hooks of NVTX: ranges, marks, names           (nvtx_int.h)
 *   payload.c   the numbers that come with ranges, and counters   (payload_int.h)
 *   cupti*.c    CUPTI: launches, GPU work, PC samples             (cupti_int.h)
 *   label.c     stores every distinct text once; the gate of include and exclude patterns
 *   ring.c      threads of the host and the chunks of memory they write events to
 *   windows.c   decides when the process is captured
 *   budget.c    with a budget, decides when windows open          (pace.h: the arithmetic)
 *   cubins.c    code of kernels that is kept for PC samples
 *   helper.c    the process that the flusher runs in              (raw_int.h: its system calls)
 *   flusher.c   takes what threads have written …
 *   outfile.c   … and appends it to the capture file
 *
 * Who may do what:
 *   a hook        runs in a thread of the host. It writes only to its own `struct
 *                 thread` and that thread's current chunk, and reads the label
 *                 table. It takes no lock, allocates nothing, and makes two kinds
 *                 of system call only: it reads the thread's CPU clock (for a
 *                 thousandth of the time at most) and wakes the flusher. A hook
 *                 that opens or closes a window also calls CUPTI (windows.c).
 *   the flusher   is a process of ours that shares the host's memory and nothing
 *                 else (helper.c). It alone touches the capture file. It takes
 *                 what threads have committed and gives empty chunks back.
 *   the collector is a thread of ours, only with CUPTI: it asks CUPTI for finished
 *                 activity now and then. It shares the host's descriptors, since
 *                 the driver needs them. With PC samples, a second thread drains them.
 *
 * The first failure clears `is_active`, for good; the host goes on unharmed.
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

/* Read once, before the first hook, and not changed later; a sleeper reads a new one at each wake. */

struct pattern {
	const char *text;  /* a glob over labels */
	const char *label; /* the part of `text` behind its first '@', a glob over the labels of the domain that
			      the part before the '@' matches; NULL = `text` has no '@' */
};

struct patterns {
	struct pattern at[SONDE_PATTERN_LIMIT];
	uint32_t nr;
};

struct config {
	char text[65536]; /* the text of the file; the pointers below point into it */
	const char *output; /* absolute path of the directory for captures */
	const char *cupti; /* path of libcupti.so; NULL = look for it */
	uint64_t buffer_bytes;
	uint32_t flush_ms;
	uint32_t collect_ms;
	uint64_t rotate_bytes, rotate_ms; /* size and age at which the capture goes on in another file; 0 = never */
	bool use_cupti;
	bool whole_graphs;
	bool has_calls;	 /* record CUDA calls that can wait */
	bool has_memory; /* record allocations and frees of GPU memory */
	uint32_t pc_exponent; /* take PC samples every 2^this cycles; 0 = take none */
	uint64_t cubin_bytes; /* how much code of kernels may be kept, in bytes */
	const char *ranks;	 /* the ranks to capture (`0-7,64`); NULL = every process */
	struct patterns include, exclude;
	uint32_t budget_ppm; /* millionths of the program's time that the capture may take; 0 = no limit */
	bool has_windows;    /* there is a window or a budget: the process is not captured all the time */
	/* When to capture; docs/always-on-reference.md. Times count from the start of the library. */
	struct window_config {
		enum window_kind {
			WINDOW_ALL,	 /* always, unless the runner orders a pause */
			WINDOW_ENTRIES,	 /* during entries first … end-1 of the ranges that `label` matches */
			WINDOW_TIME,	 /* by after_us, for_us and every_us */
			WINDOW_PROFILER, /* between cudaProfilerStart and cudaProfilerStop */
			WINDOW_RANGE,	 /* while a range that `label` matches is open */
			WINDOW_ORDER,	 /* when the runner orders it */
		} kind;
		struct patterns label; /* one pattern, or none */
		uint64_t first, end;
		uint64_t after_us, for_us, every_us; /* for_us 0 = until the program ends; every_us 0 = once */
		const char *text; /* the window as the user wrote it, for the report; NULL = unknown */
	} window;
	/* Settings of CUPTI that bench/launch_cost.py measures; not in the manual. */
	struct levers {
		bool zeroed;		    /* we zero buffers before CUPTI gets them, so that CUPTI need not */
		bool no_overhead;	    /* no records of CUPTI's own overhead */
		uint32_t buffer_kb;	    /* size of one buffer for records */
		uint32_t device_buffer_kb;  /* size of one of CUPTI's device buffers; 0 = CUPTI's default */
		uint32_t nr_device_buffers; /* how many device buffers CUPTI allocates beforehand; 0 = CUPTI's default */
		uint32_t call_ns, record_ns; /* assumed cost of a launch: CUPTI's callback, and recording (budget.c) */
	} levers;
};

/*
 * Reads the configuration file at `path`, which may be NULL. With `is_own` the file must belong to our user or to root, and
 * nobody else may be allowed to write to it. False = there is no usable file; errno may say why.
 */
bool sonde_setup__read(struct config *c, const char *path, bool is_own);

/* --- labels and the gate (label.c) ------------------------------------------------------------- */

#define MAX_LABELS  SONDE_STRING_LIMIT
#define MAX_DOMAINS 1024u

#define GATE_INCLUDED 1
#define GATE_EXCLUDED 2
#define GATE_WINDOW	  4 /* entering a range with this label may open a window */

/* One distinct (kind, domain, text). Once it can be found it is never removed, and only its `gate` may change (at a wake). */
struct label {
	uint64_t hash;
	uint32_t id;
	uint32_t nr_bytes;
	uint16_t domain;
	uint8_t kind; /* enum sonde_string_kind */
	uint8_t gate;
	char text[]; /* NUL-terminated */
};

#define LABEL_ABANDONED 1u /* value in `by_id`: the id is not used, another thread was first with the same text */

struct labels {
	_Atomic uint32_t *slots; /* hash table: offset of a struct label in `text` / 8; 0 = free */
	_Atomic uint32_t *by_id; /* by label id: offset in `text` / 8; 0 = the label is not complete yet */
	uint8_t *text;		 /* the struct labels, one behind the other */
	_Atomic uint32_t nr_ids;		      /* ids 1 … nr_ids-1 are taken */
	_Atomic uint32_t used;			      /* bytes of `text` that are taken */
	_Atomic(struct label *) domains[MAX_DOMAINS]; /* names of domains by number; [0], the default domain, is NULL */
};

bool sonde_label__init(struct labels *l);
/* A 64-bit hash of any bytes. */
uint64_t sonde_label__hash(const void *p, size_t n);
/* After a fork, in the child: gives up labels that other threads of the parent were just adding. */
void sonde_label__forked(struct labels *l);
/*
 * Finds or adds a label. NULL when the table is full. A part of the table is reserved for calls with LABEL_KEPT in `kind`,
 * and for all kinds but labels of ranges: unlike these, such texts cannot be written out in an event instead.
 */
#define LABEL_KEPT 0x100u
struct label *sonde_label__intern(unsigned kind, unsigned domain, const char *text, size_t n);
/* The gate's decision for a label that is not in the table. */
unsigned sonde_label__gate(unsigned domain, const char *text);
struct label *sonde_label__at(const struct labels *l, uint32_t offset8);
/* The label behind a handle that we gave to the program; NULL when the handle is not ours. */
struct label *sonde_label__of_handle(const void *handle);
/* Matches all labels against the gate's patterns again, after the patterns have changed. */
void sonde_label__regate(void);
/* The number of the domain with that name, which is added when it is new. */
unsigned sonde_label__domain(const char *name, size_t n);

/* Whether thread `t` records a range whose label has the gate decision `gate`; for a launch, `gate` is 0. */
bool sonde_gate__is_open(const struct thread *t, unsigned gate);
/*
 * Remembers an open start/end range for the whole process, until the range is ended for the first time: the range may hold
 * the gate or a window open, and windows may open while it is open. `label` is NULL when the range is not recorded. `epoch` is the
 * window in which its start was written; 0 = it was not written.
 */
void sonde_gate__hold(uint64_t id, unsigned gate, const struct label *label, uint32_t epoch);
/* The label and id of the i-th open start/end range; NULL when the range was already written in `epoch` or is not recorded. */
const struct label *sonde_gate__held(uint32_t i, uint32_t epoch, uint64_t *id);
#define MAX_HELD_RANGES 4096u
/* Forgets a start/end range. False when the range is not known, as after it was ended. */
bool sonde_gate__let_go(uint64_t id, unsigned gate);
/* Forgets all start/end ranges. */
void sonde_gate__clear(void);

/* --- threads and chunks (ring.c) --------------------------------------------------------------- */

#define CHUNK_BYTES   16384u /* small: every live thread holds one */
#define MAX_THREADS   4096u
#define NR_RECENT     64u
#define NONE	      UINT32_MAX

enum chunk_state {
	CHUNK_FREE,
	CHUNK_OWNED, /* a thread writes to the chunk, the flusher reads what is committed */
	CHUNK_FULL,  /* the thread is done with the chunk: it belongs to the flusher */
};

struct chunk {
	_Alignas(64) _Atomic uint32_t state;
	_Atomic uint32_t committed; /* bytes filled with whole events */
	_Atomic uint32_t next;	    /* in the list of free chunks */
	uint32_t flushed;	    /* bytes that the flusher has taken; only the flusher changes it */
	uint32_t stream, seq;
	uint64_t tid;
};

/*
 * A range that a thread has pushed and not yet popped, packed into one word: a pop often reads it right
 * after the push has written it, and a word written in parts would make that read wait.
 */
typedef uint64_t open_range;

#define OPEN_RECORDED	   (1ull << 56)
#define OPEN_CLOSES	   (1ull << 57) /* the end of this range may close the window */
#define OPEN_SKIPPED	   (1ull << 58) /* an entry that was not asked for; only returned by sonde_window__enter, never stored */
#define OPEN_LABEL(o)	   ((uint32_t)(o)) /* 0 = the label was written out in its event and is not kept */
#define OPEN_DOMAIN(o)	   ((uint16_t)((o) >> 32))
#define OPEN_GATE(o)	   ((uint8_t)((o) >> 48))
#define OPEN_MAKE(l, d, g) ((uint64_t)(l) | (uint64_t)(d) << 32 | (uint64_t)(g) << 48)

struct thread { /* the members that every hook needs come first: two cache lines */
	_Alignas(64) uint8_t *at; /* next byte to write; beyond `limit` the chunk counts as full */
	uint8_t *limit;
	struct chunk *chunk; /* the chunk this thread writes to; NULL = none, and then at > limit */
	uint8_t *data;	     /* the chunk's memory */
	struct sonde_event_base base; /* from which the chunk's next event counts its differences */
	uint64_t cpu_due;	      /* ticks at which the CPU clock should be read again */
	const void *volatile frame;   /* stack frame of the hook that this thread is in */
	_Atomic uint64_t nr_entered;  /* ranges entered, inside windows or not: shows how fast the program goes on */
	uint32_t nr_open, nr_open_too_deep;
	_Atomic uint32_t launched;    /* correlation id of the thread's last launch */
	uint32_t epoch;		      /* the windows' epoch when this thread last wrote a range or launch */
	uint32_t wake_nr;		      /* the wake (nr_wakes) in which this thread last wrote */
	volatile bool busy;	      /* the thread is inside a hook */
	bool is_left_out;     /* the thread is in an entry that was not asked for (windows.c) */
	_Atomic uint64_t nr_owed;     /* launches for which CUPTI owes a record */
	_Atomic uint64_t nr_launched; /* with a budget: launches in windows */
	/* The thread's last launch call. With a budget: how long it took, and whether it waited for CUPTI (budget.c). */
	struct {
		uint64_t ticks; /* when the call began */
		uint32_t correlation;
		uint32_t turn; /* budget.c's switch counter when the call began; odd = CUPTI was being switched */
		uint64_t waited; /* ticks that this thread's calls waited for the switch `waited_turn` */
		uint32_t waited_turn;
		uint32_t records_turn; /* sonde_inject.records_turn when the call began, plus one; 0 = we did not see it begin */
		bool makes_node;       /* the call is captured into a graph: it runs nothing */
	} call;
	uint32_t nr_included, nr_excluded, nr_starts; /* open ranges that hold the gate open, or shut; start/end ranges begun */
	uint32_t nr_window;   /* open ranges whose label may open a window */
	uint32_t stream, seq; /* number of this thread's stream, and of its next chunk */
	uint64_t cpu_took;    /* ticks it usually takes to read the CPU clock */
	bool lists_open;      /* the next chunk lists the open ranges although no window is open */
	uint64_t tid;
	_Atomic uint64_t nr_lost;
	_Atomic uint32_t next;	    /* in the list of free threads */
	_Atomic bool is_live;	    /* a thread has this slot */
	/* Hook calls that came while the thread was inside a hook, since `at` last moved. */
	uint32_t nr_nested;
	uint64_t nested_since;
	const uint8_t *nested_at;
	/* Cache of labels by the address of their text: programs pass the same few pointers. */
	const struct label *recent[NR_RECENT];
	open_range open[SONDE_OPEN_LIMIT];
	uint32_t open_too_deep[MAX_DOMAINS]; /* open pushes beyond SONDE_OPEN_LIMIT, by domain */
};

/* A lock-free list of numbers. */
struct freelist {
	_Alignas(64) _Atomic uint64_t head; /* high half: a counter against the ABA problem; low half: the first number, or NONE */
	_Atomic uint32_t nr;
};

/* Zeroed memory that costs nothing until it is touched; NULL when there is none. */
void *sonde_ring__reserve(size_t bytes);
/*
 * sonde_ring__own marks this process as ours. sonde_ring__is_own asks for that mark: a child whose fork we did not see
 * does not have it. Asking makes no system call, as the host may have forbidden itself system calls.
 */
void sonde_ring__own(void);
bool sonde_ring__is_own(void);
/* Gives all reserved memory back. May only be called before the first hook. */
void sonde_ring__release(void);
bool sonde_ring__init(void);
void sonde_ring__forked(void);
/* Gives the calling thread a slot, at its first hook. NULL when there are too many threads. */
struct thread *sonde_ring__enroll(void);
/*
 * Begins a new stream without open ranges: the library has slept since this thread's last hook, so its open ranges are
 * not known.
 */
void sonde_ring__renew(struct thread *t);
/* Before a wake: drops all events of earlier wakes that were not written. */
void sonde_ring__discard(void);
/* After a wake: returns the memory of all events to the kernel. */
void sonde_ring__give_back(void);
/*
 * Takes a new chunk for the next event of `t`, whose chunk is full or missing. Returns where to write the event;
 * NULL when no chunk is free: the event is then lost, and counted here.
 */
uint8_t *sonde_ring__next(struct thread *t, uint64_t now);
/* Hands the thread's chunk, full or not, over to the flusher. */
void sonde_ring__hand_over(struct thread *t);
/*
 * Decides about a hook call in a thread that is already inside a hook. Usually a signal handler has interrupted the
 * hook: returns false, nothing can be recorded. Returns true when a handler jumped out of the hook, so that the hook will
 * never end: the thread then begins with a new chunk. `frame` is the stack frame of the new call; a frame below that of the
 * interrupted hook may belong to a handler, however long the handler runs.
 */
bool sonde_ring__revive(struct thread *t, const void *frame);
/*
 * Writes an event of this thread; the event is lost, and counted, when no chunk is free. The caller sets the
 * ticks of host events; this function adds their CPU time.
 */
void sonde_ring__write(struct thread *t, struct sonde_event *e);
/* For the flusher: takes back the slots of threads whose end we did not see. */
void sonde_ring__reap(void);
/* For the flusher: makes a full chunk free, once it is written. */
void sonde_ring__give(struct chunk *c);

/* --- windows (windows.c) ----------------------------------------------------------------------- */

#define NR_WINDOW_MARKS 4096u /* room for marks that are not yet written; a power of two */

struct windows {
	/* Counts openings and closings; odd = a window is open. A thread that finds the number changed begins a new chunk. */
	_Atomic uint32_t epoch;
	_Atomic uint32_t carried; /* the last epoch in which the open start/end ranges were written */
	_Atomic uint32_t want;	/* 1 = a window should be open */
	_Atomic uint32_t baton; /* 1 = some thread is opening or closing a window; only its holder may do that */
	_Atomic uint64_t nr_entries; /* entries of ranges that open windows */
	_Atomic uint64_t nr_ended;    /* those of the entries asked for that have ended */
	_Atomic uint32_t has_opened;  /* a window has opened at least once, or nobody waits for it any more */
	_Atomic uint32_t nr_holding; /* open ranges that hold a window open (WINDOW_RANGE) */
	_Atomic uint32_t nr_marks, nr_written; /* marks so far, and how many of them the flusher has written */
	struct sonde_window_mark marks[NR_WINDOW_MARKS]; /* a ring; the baton's holder adds marks */
	_Atomic bool has_begun; /* sonde_window__init has run; before it nothing opens or closes */
	uint64_t start_ns; /* when sonde_window__init ran */
	/* The flusher writes these two; once there is CUPTI, the collector does: */
	_Atomic uint32_t order;	   /* the last order from the runner that we obeyed */
	_Atomic bool clock_wanted; /* whether WINDOW_TIME wanted an open window when last asked */
	_Atomic uint64_t open_ticks; /* when the last window opened: no event in it has an earlier time */
	_Atomic uint32_t gpu_on;     /* CUPTI records GPU work, and we write launches */
	_Atomic uint32_t is_allowed; /* the budget allows a window; always 1 without a budget */
};

/* Begins; opens a window if one should be open from the beginning. */
void sonde_window__init(void);
/* Before a wake: no window is open, and all counts and marks are forgotten. */
void sonde_window__reset(void);
/* Whether no window will ever open again. */
bool sonde_window__is_over(void);
/* Resets the state in a forked child: nobody holds the baton, and the parent's marks are not written. */
void sonde_window__forked(void);
/* Opens or closes the window. If another thread is just changing it, that thread makes this change too. */
void sonde_window__set(bool is_open);
/* Brings CUPTI in line with the window, once CUPTI has begun. */
void sonde_window__settle(void);
/*
 * Opens or closes the window as the clock and the runner want it now. Returns microseconds until the clock may want
 * something else. `may_call`: this thread may call CUPTI; false in the flusher.
 */
uint64_t sonde_window__update(bool may_call);
/*
 * Whether a window is open, so that ranges and launches of `t` are written. If so, and the thread's last event was not
 * in the same window, the next event begins a new chunk.
 */
bool sonde_window__is_open(struct thread *t);
/*
 * Called when `t` enters a range whose label may open a window. Returns OPEN_CLOSES for an entry that was asked for,
 * OPEN_SKIPPED for one that was not (WINDOW_ENTRIES), else 0. The caller passes `closes` = OPEN_CLOSES at the range's end.
 */
uint64_t sonde_window__enter(struct thread *t);
void sonde_window__leave(struct thread *t, bool closes);
/* Writes the start/end ranges that were open when a window opened (nvtx.c). */
void sonde_nvtx__carry(struct thread *t, uint32_t epoch);
/* Says whether the budget allows windows from now on; `may_call` as above. */
void sonde_window__allow(bool is_allowed, bool may_call);
/*
 * For the collector: ends the recording of GPU work, unless a window is open again. False: another thread has the
 * baton, try later.
 */
bool sonde_window__end_records(void);
/* For the flusher: writes the marks that are not yet written; `is_last`: also the mark of the capture's end. */
void sonde_window__put(bool is_last);

/* --- the budget (budget.c) --------------------------------------------------------------------- */

/*
 * Opens or closes a window when that is due. Returns microseconds until this function should be called again. The flusher
 * calls it with `may_call` false; once there is CUPTI, the collector calls it with true, and the flusher's calls do nothing.
 */
uint64_t sonde_budget__update(bool may_call);
/* Measure how long the call of a launch takes. */
void sonde_budget__enter_call(struct thread *t, uint32_t correlation);
void sonde_budget__leave_call(struct thread *t, uint32_t correlation);
/* Adds time that the program lost to a switch of CUPTI, beyond what its launches waited. The next pause pays for it. */
void sonde_budget__charge(uint64_t ns);
/* Adds time that the program loses as long as CUPTI is there, in windows or not. No pause pays for it. */
void sonde_budget__bear(uint64_t ns);
void sonde_budget__reset(void); /* forgets the parent's measurements, in a forked child and before a wake */
/* Measures a push, which began at the ticks `since` and has just ended. Called for one push in 64. */
void sonde_budget__pushed(uint64_t since);
/* For the flusher: writes what the capture cost so far, unless nothing has changed since `last`. */
void sonde_budget__put(struct sonde_budget_status *last);

/* --- the flusher and its process (flusher.c, helper.c) ----------------------------------------- */

/* Starts the flusher unless it runs. False when it cannot be started. */
bool sonde_flusher__start(void);
void sonde_flusher__wake(void);
/* Makes the flusher write everything and end; waits for that, for a few seconds at most. */
void sonde_flusher__finish(void);
/* Waits until no thread writes GPU events any more, for a second at most. */
void sonde_flusher__await_collectors(void);
/* Adds a sentence for the reader of the capture. `text` must be a constant; the same text is written once only. */
void sonde_flusher__note(const char *text);
/* The same, about something that should be in the capture but is missing. */
void sonde_flusher__note_loss(const char *text);

/* Whether we can start a process here that shares our memory and disturbs nothing else. */
bool sonde_helper__is_possible(void);
/* Runs `what` in the helper, a process that shares our memory; false when it cannot be started. */
bool sonde_helper__start(void (*what)(void));
/* In the helper: whether the host has ended or has become another program. */
bool sonde_helper__is_alone(void);
/* In the host: whether the helper has ended. */
bool sonde_helper__has_ended(void);
/* In a sleeper: waits for the helper's end and takes its status from the kernel. False when it still runs after `ms`. */
bool sonde_helper__await_end(uint32_t ms);
/*
 * Whether the host's main thread has ended by itself. The process then ends with its last thread,
 * which must not be one of ours.
 */
bool sonde_host__main_has_ended(void);
/* Runs `start` in a thread of ours that no signal disturbs. */
bool sonde_thread__start(void *(*start)(void *));
/* Sleeps while `word` is `value`, until woken or for `ms` at most. */
void sonde_futex__wait(_Atomic uint32_t *word, uint32_t value, uint32_t ms);
void sonde_futex__wake(_Atomic uint32_t *word);

/* --- the capture file (outfile.c) -------------------------------------------------------------- */

/* Only the flusher writes the file. The first failure switches the library off; nothing is written after that. */

/* Makes the first file and writes its beginning. False when that failed. */
bool sonde_outfile__open(void);
bool sonde_outfile__failed(void);
/* Whether the file is long or old enough for the next one to begin (rotate_bytes, rotate_ms). */
bool sonde_outfile__is_due(void);
/* Goes on in the next file; everything must be drained before. False: the next file cannot be made, and nothing has changed. */
bool sonde_outfile__next(void);
/* Adds one block, whose payload is `a` followed by `b`, to memory; the next drain writes it, or a full buffer does. */
void sonde_outfile__put_block(unsigned type, const void *a, size_t nr_a, const void *b, size_t nr_b);
/* Adds a CLOCK block, if `always` or if the last one is old. */
void sonde_outfile__put_clock(bool always);
/* Writes all blocks that were added. */
void sonde_outfile__drain(void);

/* --- code of kernels (cubins.c) ------------------------------------------------------------------ */

/* For callbacks of the driver: copies a cubin that was just loaded, if it has a line table, is new and there is room. */
void sonde_cubins__keep(const void *at, size_t nr_bytes);
/*
 * For the thread that drains PC samples: computes the checksum of each new cubin. A cubin whose checksum is 0 (none) is
 * not written.
 */
void sonde_cubins__checksum(uint64_t (*checksum)(const void *, size_t));
/* For the same thread: whether a cubin with this checksum is kept; only cubins that sonde_cubins__checksum has seen count. */
bool sonde_cubins__has(uint64_t checksum);
/* For the flusher: writes some of the cubins that have a checksum, or all of them. */
void sonde_cubins__put(bool all);

/* --- the page that the runner reads (inject.c) ------------------------------------------------- */

/* Switches the library off and reports why in the page. */
void sonde_attach__fault(enum sonde_attach_fault fault, int error);

/* --- one wake of a sleeper (inject.c) ---------------------------------------------------------- */

/*
 * Begins a capture with the configuration file at `path`. Returns an errno when the file cannot be used. 0 with `is_active`
 * false: it failed, and the page says why.
 */
int sonde_inject__wake(const char *path);
/* Ends that capture. False when the helper does not end: then there cannot be another wake. */
bool sonde_inject__rest(void);

/* --- asleep (asleep.c, asleep_hooks.c) --------------------------------------------------------- */

/* Begins to sleep, if the environment asks for that; true when this process is now a sleeper. */
bool sonde_asleep__begin(void);
/* Whether this process is a sleeper, asleep or awake. */
bool sonde_asleep__is_sleeper(void);
/* Notes that the process has initialised CUDA. */
void sonde_asleep__meet_cuda(void);
/* For a hook that finds the phase not ASLEEP: true when the library is awake; when it is called, starts a thread that wakes it. */
bool sonde_asleep__answer_call(void);

/* --- CUPTI (cupti.c) --------------------------------------------------------------------------- */

/*
 * Finds and starts CUPTI, once; later wakes of a sleeper go on with it. Leaves a note when there is no CUPTI; never
 * fails the capture.
 */
void sonde_cupti__start(void);
/* Starts the collector. */
void sonde_cupti__collect(void);
/*
 * Before a sleeper sleeps again: waits, for some seconds at most, until the records of the window are there and the
 * collector has ended.
 */
void sonde_cupti__rest(void);
/* Whether the exit handlers run: CUPTI may be gone. */
bool sonde_cupti__is_ending(void);
/* Switches the callbacks at launches and the records of GPU work on or off. Only the holder of the windows' baton may call it. */
void sonde_cupti__switch(bool is_on);
/* Switches off records that were left on after a window had closed (sonde_presence__lingers). */
void sonde_cupti__end_records(void);

/* --- the state --------------------------------------------------------------------------------- */

#define MAX_NOTES 16u

/* Phases of the records of GPU work: off, being switched on, on, being switched off (records_turn % 4). */
enum { RECORDS_OFF, RECORDS_BEGIN, RECORDS_ON, RECORDS_END };

struct inject {
	_Atomic bool is_active;	   /* hooks record; false = the library does nothing */
	_Atomic uint32_t nr_wakes; /* number of this capture in the process; 0 = the one the process was started with */
	uint32_t first_stream;	   /* number of this capture's first stream */
	_Atomic bool gated;	   /* not everything is captured (patterns, windows): hooks must look closer */
	_Atomic unsigned allocator_domain; /* NVTX domain whose marks are readings of PyTorch's allocator; 0 = nobody makes any */
	_Atomic bool has_patterns; /* there are include, exclude or window patterns; false while a sleeper sleeps */
	_Atomic bool traces_gpu;   /* CUPTI runs, in this process */
	_Atomic bool runtime_has_own_ids;  /* a runtime call and the driver call inside it have different correlation ids */
	_Atomic bool is_collected; /* the exit handlers have collected; CUPTI keeps later records */
	bool use_counter;	   /* ticks are the processor's counter; false = CLOCK_MONOTONIC */
	int pid;
	int ppid;
	char rank[16], nr_ranks[16]; /* from the launcher; empty = it does not say */
	_Atomic uint32_t helper_runs; /* 1 while the flusher's process runs */
	int fault_errno;	     /* why that process could not be started; 0 = it does not share our memory */
	char runner[SONDE_RUNNER_LIMIT]; /* name of our runner among several; empty = there is one only */
	struct sonde_attach *attach, *orders; /* pages for reports and for orders; never NULL, mostly the same page */
	uint64_t tick_hz; /* ticks per second */
	struct labels labels;

	struct chunk *chunks;
	uint8_t *data; /* memory of all chunks, CHUNK_BYTES each */
	uint32_t nr_chunks;
	struct freelist free_chunks;
	struct thread *threads;
	struct freelist free_threads;
	_Atomic uint32_t nr_used; /* thread slots below this number were used at some time */
	_Atomic uint32_t nr_streams;
	_Atomic uint32_t nr_collected;	/* how often CUPTI was asked for records at its regular time */
	_Atomic uint32_t nr_collecting; /* threads that are just writing GPU events */

	_Atomic uint32_t flusher_runs, flush_wanted, stop, done; /* of the flusher: it was started, should flush, should end, has ended */
	_Atomic uint32_t nr_included, nr_excluded; /* start/end ranges that hold the gate open, or shut */
	_Atomic uint64_t nr_lost, nr_nested, nr_inline, nr_cut, nr_no_slot, nr_gpu_dropped,
		nr_too_deep, nr_pc_dropped, nr_pc_full;
	_Atomic(const char *) notes[MAX_NOTES]; /* without duplicates */
	_Atomic uint32_t nr_notes;
	_Atomic uint32_t losses; /* bit n: note n is about something that is missing */
	_Atomic uint64_t nr_gpu_records; /* records that CUPTI handed over */
	/*
	 * Records of work outside graphs, since CUPTI came: those that it gave, those that it owes us, and those that
	 * it may owe us.
	 */
	struct {
		_Atomic uint64_t kernels, others;
		_Atomic uint64_t owed_kernels, perhaps_others;
	} records;
	_Atomic uint32_t records_turn; /* % 4: RECORDS_…; goes up with each change */
	/* On CUPTI's clock: when records were last switched off, and when the latest recorded work began. */
	_Atomic uint64_t off_ns, latest_ns;
	_Atomic uint32_t id_base;	 /* added to CUPTI's correlation ids, which start over when CUPTI comes back */
	struct windows windows;
	struct config config;
};

extern struct inject sonde_inject;
extern __thread struct thread *sonde_self __attribute__((tls_model("initial-exec")));

static inline void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Increments a counter that only this thread writes and others may read. Returns the value before. */
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
 *     struct thread *t = hook_enter();       NULL: the library is off, or the thread is already inside a hook
 *     sonde_ring__write(t, &event);          any event; or, for the hot ones, in place:
 *     uint8_t *p = event_open(t, type, now); NULL: the event is lost, and counted
 *     p = sonde_event_put_…(p, …);           the event's own fields
 *     event_close(t, p);                     now the flusher may see it
 *     hook_leave(t);
 */

static inline struct thread *hook_enter(void)
{
	struct thread *t = sonde_self;

	if (unlikely(!atomic_load_explicit(&sonde_inject.is_active, memory_order_acquire)))
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
	if (unlikely(t->wake_nr != atomic_load_explicit(&sonde_inject.nr_wakes, memory_order_relaxed)))
		sonde_ring__renew(t);
	return t;
}

static inline void hook_leave(struct thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = false;
}

/* Finds room for any event, without writing its first byte and time; for GPU events, which have no time. */
static inline uint8_t *event_room(struct thread *t, uint64_t now)
{
	return likely(t->at <= t->limit) ? t->at : sonde_ring__next(t, now);
}

/* Writes the first bytes of an event, with the thread's CPU time. */
uint8_t *sonde_ring__cpu(struct thread *t, uint8_t *p, unsigned type, uint64_t now);

/*
 * Begins an event. `type` includes the flags. `now` is read at the start of the hook: reading the counter there
 * overlaps with the hook's other work.
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
