/*
 * Inside the injected library: the one state it has in a process.
 *
 * Who may do what:
 *   a hook        runs in a thread of the host. Writes only to its own `struct
 *                 thread` and that thread's current chunk, reads the label
 *                 table. Takes no lock, allocates nothing, makes no system
 *                 call except the thread's CPU clock (for a thousandth
 *                 of the time at most) and a wake-up of the flusher. One that
 *                 opens or closes a window calls CUPTI (windows.c).
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
#include "inject/ring_int.h"
#include "inject/ticks.h"
#include "inject/windows_int.h"

#define MAX_NOTES 16u

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

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
void sonde_flusher__note_loss(const char *text); /* something that should be in the capture is not */

/* Whether a process can share our memory here, and leave everything else as it is. */
bool sonde_helper__is_possible(void);
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

/* Maps the pages that say what became of us and what to do; a private one where there is none. */
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

enum { RECORDS_OFF, RECORDS_BEGIN, RECORDS_ON, RECORDS_END };

struct inject {
	_Atomic bool on;
	_Atomic bool gated;	   /* hooks must look closer: there are patterns, or windows */
	bool has_patterns;
	_Atomic bool traces_gpu;   /* CUPTI runs, in this process */
	_Atomic bool has_own_ids;  /* its runtime calls have other ids than the driver's in them */
	_Atomic bool is_collected; /* the exit handlers have, what comes now stays with CUPTI */
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
		nr_too_deep;
	_Atomic(const char *) notes[MAX_NOTES]; /* each once */
	_Atomic uint32_t nr_notes;
	_Atomic uint32_t losses; /* bit n: that is what note n tells of */
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
