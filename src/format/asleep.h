/*
 * The page of a sleeper: a process that carries the injected library asleep (`sonde env`) and that
 * `sonde attach` can wake.
 *
 * The library makes it, a sealed memfd of SONDE_ASLEEP_BYTES that only its user may open, keeps its descriptor and maps it.
 * Whoever may look into /proc/PID/fd finds it by its name, from any PID or mount namespace, and maps
 * it too. It goes with the process, however that ends; nobody can shorten it, so a mapping of it never
 * faults. Neither side trusts the other's bytes.
 *
 * One word says who is to do what: a number above, which goes up with each call, and the phase below.
 *
 *     ASLEEP ─sonde attach→ CALLED ─a hook→ WAKING ─library→ AWAKE ─sonde attach→ RESTING ─library→ ASLEEP
 *               CALLED ─sonde attach→ ASLEEP: nobody came, or it does not want to wait
 *               WAKING, AWAKE ─library→ ASLEEP: it could not wake; its window is over; the caller has gone
 *
 * A caller has the whole page locked (F_OFD_SETLK): there is one at a time, and the library sees that he has gone.
 * One that is stopped counts `beat` up no more.
 */
#ifndef SONDE_FORMAT_ASLEEP_H
#define SONDE_FORMAT_ASLEEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SONDE_ASLEEP_VARIABLE "SONDE_ASLEEP" /* `1`: asleep; `thread`: a thread waits to be called */
#define SONDE_ASLEEP_THREAD   "thread"
#define SONDE_ASLEEP_NAME     "sonde-asleep" /* of the memfd */
#define SONDE_ASLEEP_MAGIC    0x7065656c7361656eull
#define SONDE_ASLEEP_VERSION  1u
#define SONDE_ASLEEP_BYTES    4096u
#define SONDE_ASLEEP_DIR      2048u /* bytes of a path, NUL included */
#define SONDE_ASLEEP_LEASE_MS 5000u /* without a beat for so long it goes back to sleep */

enum sonde_phase {
	SONDE_PHASE_ASLEEP, /* 0: hooks look for this */
	SONDE_PHASE_CALLED,
	SONDE_PHASE_WAKING,
	SONDE_PHASE_AWAKE,
	SONDE_PHASE_RESTING,
};
#define SONDE_PHASE_MASK 7u

struct sonde_asleep {
	/* The library's. */
	uint64_t magic;
	uint32_t version;
	uint32_t pid;	   /* as the process itself knows it */
	uint64_t since_ns; /* when the library was loaded, by CLOCK_REALTIME */
	_Atomic uint32_t has_cuda;   /* the process has initialised CUDA */
	_Atomic uint32_t has_thread; /* a thread waits, so no NVTX call is needed */
	_Atomic uint32_t refusal;    /* errno: why it did not obey the last call; 0 = it did */
	_Atomic uint32_t nr_wakes;
	/* Both sides'. */
	_Atomic uint32_t word;
	/* The caller's. */
	_Atomic uint32_t beat;
	uint32_t caller; /* the process that called last, as it knows itself … */
	uint64_t called_ns; /* … and when, by CLOCK_REALTIME */
	char dir[SONDE_ASLEEP_DIR]; /* where inject.conf is, as the sleeper sees it */
};

_Static_assert(sizeof(struct sonde_asleep) <= SONDE_ASLEEP_BYTES, "it is one page");

/* Goes from one phase to another; false when it is in another one than `from`. */
static inline bool sonde_asleep_move(struct sonde_asleep *a, enum sonde_phase from, enum sonde_phase to)
{
	uint32_t word = atomic_load(&a->word), next = (word & ~SONDE_PHASE_MASK) | to;

	if (from == SONDE_PHASE_ASLEEP)
		next += SONDE_PHASE_MASK + 1;
	return (word & SONDE_PHASE_MASK) == (uint32_t)from && atomic_compare_exchange_strong(&a->word, &word, next);
}

#endif
