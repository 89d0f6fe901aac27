/*
 * CUPTI as found in the running process: the functions we call, by dlsym.
 * Vendor types stay in records.c and devices.c, callbacks in launches.c, loading in cupti_load.c.
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
	X(cuptiActivityDisable)                                                                    \
	X(cuptiActivitySetAttribute)                                                               \
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
	/* The driver's own; NULL where it is not found. */
	CUresult(CUDAAPI *device_attribute)(int *, CUdevice_attribute, CUdevice);
	uint32_t version; /* of the one found, which need not be that of the headers */
};

extern struct sonde_cupti sonde_cupti;

struct thread;

/* CUPTI refused us as subscriber: says who has it. */
void sonde_rivals__note_subscriber(void);
/* After each collection, with the records so far: says so when somebody else has them. */
void sonde_rivals__look(uint64_t nr_records);

/* Finds a CUPTI: the one already loaded, the configured one, the usual places. */
bool sonde_cupti__load(const char *path);
/* Asks to be called at every graph node, and once switched on at every launch and copy. False when
 * CUPTI refuses. */
bool sonde_launches__subscribe(void);
void sonde_launches__switch(bool is_on);
/* A device was met: what the driver says of it is written by the next sonde_devices__describe. */
void sonde_devices__met(uint32_t id);
/* Asks the driver, so not to be called by CUPTI's own threads. */
void sonde_devices__describe(void);
/* Writes one record as an event of this thread. */
void sonde_activity__record(struct thread *t, const CUpti_Activity *r);

#endif
