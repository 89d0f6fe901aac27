/*
 * Windows: when the process is captured (windows.c). Inside them a budget may time GPU work now and
 * then (budget.c).
 */
#ifndef SONDE_INJECT_WINDOWS_INT_H
#define SONDE_INJECT_WINDOWS_INT_H

#include "format/capture.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct thread;

#define NR_WINDOW_MARKS 4096u /* not yet written; a power of two */

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

#endif
