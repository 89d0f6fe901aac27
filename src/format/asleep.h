/*
 * The page of a sleeper: a process that carries the injected library asleep (`sonde env`) and that
 * `sonde attach` can wake.
 *
 * The library makes the page: a sealed memfd of SONDE_ASLEEP_BYTES that only the process's user may open. It keeps the
 * descriptor and maps the page. Whoever may look into /proc/PID/fd finds the memfd by its name, from any PID or mount
 * namespace, and maps it too. The page disappears with the process, however the process ends. Nobody can shorten the
 * memfd, so accessing a mapping never faults. Neither side trusts what the other has written.
 *
 * One word says whose turn it is: its low bits are the phase, the bits above count the calls.
 *
 *     ASLEEP ─sonde attach→ CALLED ─a hook→ WAKING ─library→ AWAKE ─sonde attach→ RESTING ─library→ ASLEEP
 *               CALLED ─sonde attach→ ASLEEP: no hook came, or the caller does not want to wait any longer
 *               WAKING, AWAKE ─library→ ASLEEP: the library could not wake; its window is over; the caller has gone
 *
 * The caller (`sonde attach`) locks the whole page (F_OFD_SETLK): so there is one caller at a time, and the library
 * notices when it is gone. A caller that was stopped no longer increments `beat`.
 */
#ifndef SONDE_FORMAT_ASLEEP_H
#define SONDE_FORMAT_ASLEEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SONDE_ASLEEP_VARIABLE "SONDE_ASLEEP" /* environment: `1` = asleep; `thread` = asleep, and a thread waits for calls */
#define SONDE_ASLEEP_THREAD   "thread"
#define SONDE_ASLEEP_NAME     "sonde-asleep" /* name of the memfd */
#define SONDE_ASLEEP_MAGIC    0x7065656c7361656eull
#define SONDE_ASLEEP_VERSION  1u
#define SONDE_ASLEEP_BYTES    4096u
#define SONDE_ASLEEP_DIR      2048u /* size of the path in `dir`, NUL included */
#define SONDE_ASLEEP_LEASE_MS 5000u /* the library goes back to sleep after this long without a beat */

enum sonde_phase {
	SONDE_PHASE_ASLEEP, /* must be 0: hooks test for it */
	SONDE_PHASE_CALLED,
	SONDE_PHASE_WAKING,
	SONDE_PHASE_AWAKE,
	SONDE_PHASE_RESTING,
};
#define SONDE_PHASE_MASK 7u

struct sonde_asleep {
	/* Written by the library. */
	uint64_t magic;
	uint32_t version;
	uint32_t pid;	   /* the process's number, as the process itself sees it */
	uint64_t since_ns; /* when this page was made, by CLOCK_REALTIME */
	_Atomic uint32_t has_cuda;   /* the process has initialised CUDA */
	_Atomic uint32_t has_thread; /* a thread waits, so no NVTX call is needed */
	_Atomic uint32_t refusal;    /* errno: why the library did not obey the last call; 0 = it did */
	_Atomic uint32_t nr_wakes;
	/* Written by both sides. */
	_Atomic uint32_t word;
	/* Written by the caller. */
	_Atomic uint32_t beat;
	uint32_t caller;    /* number of the process that called last, as that process sees it */
	uint64_t called_ns; /* when it called, by CLOCK_REALTIME */
	char dir[SONDE_ASLEEP_DIR]; /* where inject.conf is, as the sleeper sees it */
};

_Static_assert(sizeof(struct sonde_asleep) <= SONDE_ASLEEP_BYTES, "it is one page");

/*
 * Changes the phase from `from` to `to`; false, and no change, when the phase is not `from`. Leaving ASLEEP counts as a
 * new call.
 */
static inline bool sonde_asleep_move(struct sonde_asleep *a, enum sonde_phase from, enum sonde_phase to)
{
	uint32_t word = atomic_load(&a->word), next = (word & ~SONDE_PHASE_MASK) | to;

	if (from == SONDE_PHASE_ASLEEP)
		next += SONDE_PHASE_MASK + 1;
	return (word & SONDE_PHASE_MASK) == (uint32_t)from && atomic_compare_exchange_strong(&a->word, &word, next);
}

#endif
