/*
 * CUPTI as found in the running process: the functions we call, by dlsym.
 * Vendor types stay in records.c, callbacks in launches.c, loading in cupti_load.c.
 */
#ifndef SONDE_INJECT_CUPTI_INT_H
#define SONDE_INJECT_CUPTI_INT_H

#include <stdbool.h>
#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_activity.h>
#include <cupti_result.h>
#include <cupti_version.h>

#define SONDE_CUPTI_CALLS(X)                                                                       \
	X(cuptiGetVersion)                                                                         \
	X(cuptiSubscribe)                                                                          \
	X(cuptiEnableCallback)                                                                     \
	X(cuptiGetCallbackName)                                                                    \
	X(cuptiActivityRegisterCallbacks)                                                          \
	X(cuptiActivityEnable)                                                                     \
	X(cuptiActivityGetNextRecord)                                                              \
	X(cuptiActivityGetNumDroppedRecords)                                                       \
	X(cuptiActivityFlushAll)                                                                   \
	X(cuptiGetTimestamp)                                                                       \
	X(cuptiGetGraphNodeId)

struct sonde_cupti {
#define FIELD(name) __typeof__(&(name)) name;
	SONDE_CUPTI_CALLS(FIELD)
#undef FIELD
	CUpti_SubscriberHandle subscriber;
	uint32_t version; /* of the one found, which need not be that of the headers */
};

extern struct sonde_cupti sonde_cupti;

struct thread;

/* Finds a CUPTI: the one already loaded, the configured one, the usual places. */
bool sonde_cupti__load(const char *path);
/* Asks to be called at every launch, copy and graph node. False when CUPTI refuses. */
bool sonde_launches__subscribe(void);
/* Writes one record as an event of this thread. */
void sonde_activity__record(struct thread *t, const CUpti_Activity *r);

#endif
