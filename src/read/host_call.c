/* Names of CUDA calls → what they are to a reader of idle times. */
#include "read/source_int.h"

/* Runtime and driver name them alike, but for "cuda" and "cu"; versions come behind. */
static const struct {
	const char *begin;
	uint8_t kind;
} calls[] = {
	{"StreamSynchronize", SONDE_HOST_SYNC_STREAM},
	{"EventSynchronize", SONDE_HOST_SYNC_EVENT},
	{"DeviceSynchronize", SONDE_HOST_SYNC_DEVICE},
	{"CtxSynchronize", SONDE_HOST_SYNC_DEVICE},
	{"ThreadSynchronize", SONDE_HOST_SYNC_DEVICE},
	{"Memcpy", SONDE_HOST_COPY},
	{"Memset", SONDE_HOST_COPY},
	{"Malloc", SONDE_HOST_ALLOC},
	{"HostAlloc", SONDE_HOST_ALLOC},
	{"MemAlloc", SONDE_HOST_ALLOC},
	{"MemHostAlloc", SONDE_HOST_ALLOC},
	{"MemCreate", SONDE_HOST_ALLOC},
	{"Free", SONDE_HOST_FREE},
	{"MemFree", SONDE_HOST_FREE},
	{"MemRelease", SONDE_HOST_FREE},
};

bool sonde_source__host_call(struct sonde_str name, uint8_t *kind)
{
	size_t i, skip = sonde_str_starts(name, "cuda") ? 4 : sonde_str_starts(name, "cu") ? 2 : 0;
	struct sonde_str rest;

	if (!skip)
		return false;
	rest = (struct sonde_str){name.p + skip, name.n - skip};
	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (sonde_str_starts(rest, calls[i].begin)) {
			*kind = calls[i].kind;
			return true;
		}
	return false;
}
