/*
 * Calls of CUDA by their names: which make the GPU work, and in which a host
 * thread can wait. The injected library chooses by this table what it listens
 * to, readers of other profilers' traces what they keep.
 *
 * Runtime and driver name their calls alike, but for "cuda" and "cu", and every
 * version of CUDA adds some with a suffix: a call is what its name begins with.
 */
#ifndef SONDE_CATALOGUE_CALLS_H
#define SONDE_CATALOGUE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Calls that a host thread can wait in, or that order the streams of a GPU. Captures hold these numbers. */
enum sonde_call_kind {
	SONDE_CALL_SYNC_STREAM,
	SONDE_CALL_SYNC_EVENT,
	SONDE_CALL_SYNC_DEVICE, /* or context */
	SONDE_CALL_COPY,	/* or fill; the call, not the work */
	SONDE_CALL_ALLOC,
	SONDE_CALL_FREE,
	SONDE_NR_WAITS,
	SONDE_CALL_RECORD = SONDE_NR_WAITS, /* an event in a stream … */
	SONDE_CALL_AWAIT, /* … which another stream waits for: nobody waits in these two calls */
	SONDE_NR_CALL_KINDS, /* also: of a call that is none of these */
};

struct sonde_call_name {
	const char *begin;
	uint8_t kind; /* enum sonde_call_kind */
	bool is_launch;
	bool is_memory; /* CUPTI has records of what it allocates or frees */
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

/* The call of this name, of `n` bytes: `cudaMemcpyAsync`, `cuMemAlloc_v2`; NULL: none of these. */
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
