/*
 * Calls of CUDA by their names: which of them give the GPU work, and in which of them a host thread can wait. The
 * injected library chooses by this table which calls it listens to. Readers of other profilers' traces choose by it
 * which calls they keep.
 *
 * Runtime and driver use the same names after "cuda" and "cu", and every version of CUDA adds some with a suffix. So the
 * table has only the beginnings of the names.
 */
#ifndef SONDE_CATALOGUE_CALLS_H
#define SONDE_CATALOGUE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Calls that a host thread can wait in, or that order the streams of a GPU. Capture files contain these numbers. */
enum sonde_call_kind {
	SONDE_CALL_SYNC_STREAM,
	SONDE_CALL_SYNC_EVENT,
	SONDE_CALL_SYNC_DEVICE, /* a device or a context */
	SONDE_CALL_COPY,	/* the host call of a copy or fill, not the GPU's work */
	SONDE_CALL_ALLOC,
	SONDE_CALL_FREE,
	SONDE_NR_WAITS,
	SONDE_CALL_RECORD = SONDE_NR_WAITS, /* records an event in a stream … */
	SONDE_CALL_AWAIT, /* … and makes another stream wait for it; the host waits in neither of these two calls */
	SONDE_NR_CALL_KINDS, /* also means: the call is none of these */
};

struct sonde_call_name {
	const char *begin;
	uint8_t kind; /* enum sonde_call_kind */
	bool is_launch;
	bool is_memory; /* CUPTI records what this call allocates or frees */
};

static const struct sonde_call_name sonde_call_names[] = {
	{"Launch", SONDE_NR_CALL_KINDS, true, false},
	{"GraphLaunch", SONDE_NR_CALL_KINDS, true, false},
	{"Memcpy", SONDE_CALL_COPY, true, false},
	{"Memset", SONDE_CALL_COPY, true, false},
	{"EventRecord", SONDE_CALL_RECORD, false, false},
	{"StreamWaitEvent", SONDE_CALL_AWAIT, false, false},
	{"StreamSynchronize", SONDE_CALL_SYNC_STREAM, false, false},
	{"EventSynchronize", SONDE_CALL_SYNC_EVENT, false, false},
	{"DeviceSynchronize", SONDE_CALL_SYNC_DEVICE, false, false},
	{"CtxSynchronize", SONDE_CALL_SYNC_DEVICE, false, false},
	{"ThreadSynchronize", SONDE_CALL_SYNC_DEVICE, false, false},
	{"Malloc", SONDE_CALL_ALLOC, false, true},
	{"HostAlloc", SONDE_CALL_ALLOC, false, true},
	{"MemAlloc", SONDE_CALL_ALLOC, false, true},
	{"MemHostAlloc", SONDE_CALL_ALLOC, false, true},
	{"MemHostRegister", SONDE_CALL_ALLOC, false, false},
	{"MemCreate", SONDE_CALL_ALLOC, false, false},
	{"Free", SONDE_CALL_FREE, false, true},
	{"MemFree", SONDE_CALL_FREE, false, true},
	{"MemHostUnregister", SONDE_CALL_FREE, false, false},
	{"MemRelease", SONDE_CALL_FREE, false, false},
};

/* Finds a call by its name of `n` bytes: `cudaMemcpyAsync`, `cuMemAlloc_v2`. NULL: the table does not have it. */
static inline const struct sonde_call_name *sonde_call_find(const char *name, size_t n)
{
	size_t i, skip = n > 4 && memcmp(name, "cuda", 4) == 0 ? 4 : 2;

	if (n < 2 || memcmp(name, "cu", 2) != 0)
		return NULL;
	for (i = 0; i < sizeof(sonde_call_names) / sizeof(*sonde_call_names); i++) {
		size_t length = strlen(sonde_call_names[i].begin);

		if (n - skip >= length && memcmp(name + skip, sonde_call_names[i].begin, length) == 0)
			return &sonde_call_names[i];
	}
	return NULL;
}

#endif
