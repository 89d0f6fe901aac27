/*
 * CUPTI as found in the running process: the functions we call, by dlsym.
 * Vendor types stay in cupti_records.c and devices.c, callbacks in cupti_launches.c, loading in cupti_load.c.
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
	X(cuptiFinalize)                                                                           \
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
#ifdef CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN
	/* Not in every version: NULL then. */
	__typeof__(&cuptiSubscribe_v2) subscribe_v2;
	__typeof__(&cuptiUnsubscribe) unsubscribe;
#endif
	CUpti_SubscriberHandle subscriber;
	/* The driver's own; NULL where it is not found. */
	CUresult(CUDAAPI *device_attribute)(int *, CUdevice_attribute, CUdevice);
	uint32_t version; /* of the one found, which need not be that of the headers */
};

extern struct sonde_cupti sonde_cupti;

struct thread;

/* CUPTI refused us as subscriber: says who has it. */
void sonde_rivals__note_subscriber(void);
/* CUPTI refused what `what` says, a constant; or everything, since somebody else has another way of using it. */
void sonde_rivals__note_refusal(CUptiResult why, const char *what);
/* Now and then, after a collection: says so when somebody else has the records. */
void sonde_rivals__look(void);

/* Finds a CUPTI: the one already loaded, the configured one, the usual places. */
bool sonde_cupti__load(const char *path);
/* --- CUPTI comes and goes (cupti_presence.c) --------------------------------------------------------- */

/* Whoever is not called by CUPTI and calls it holds it meanwhile. False when it is not there. */
bool sonde_presence__hold(void);
void sonde_presence__release(void);
void sonde_presence__begin(void); /* it is there */
/* There must be CUPTI: waits for it. False when somebody else has it now. The baton's holder's, as is … */
bool sonde_presence__come(void);
/* … this: nothing is recorded any more, CUPTI need not be there. */
void sonde_presence__go(void);
/* Records are to go on for a while. */
bool sonde_presence__lingers(void);
/* It stays for good. */
void sonde_presence__stay(void);
/* In callbacks, at the end of a call: if it is to go, it goes now. */
void sonde_presence__end_call(bool is_kernel);
/* The program itself opens and closes windows: it must not wait for CUPTI to come, so CUPTI stays. */
bool sonde_presence__is_kept(void);
/* The collector's: has it leave once it has nothing more; microseconds until it is to be asked again. */
uint64_t sonde_presence__look(void);
/* CUPTI as at the beginning; false when it refuses. */
bool sonde_activity__begin_again(void);
/* Whether records come to us, and not to another user of CUPTI. */
bool sonde_activity__is_ours(void);
/* Writes what time it is on CUPTI's clock and ours. */
void sonde_activity__stamp(void);

/* --------------------------------------------------------------------------------------------- */

/* Asks to be called at every graph node, and once switched on at every launch and copy. False when
 * CUPTI refuses. */
bool sonde_launches__subscribe(void);
void sonde_launches__switch(bool is_on);
/* Another number than before when there were launches since. */
uint64_t sonde_launches__sum(void);
/* A device was met: what the driver says of it is written by the next sonde_devices__describe. */
void sonde_devices__met(uint32_t id);
/* Asks the driver, so not to be called by CUPTI's own threads. */
void sonde_devices__describe(void);
/* Writes one record as an event of this thread. */
void sonde_activity__record(struct thread *t, const CUpti_Activity *r);

#endif
