/*
 * CUPTI as found in the running process: the functions we call, by dlsym.
 *
 *   cupti.c           finds, starts and switches it; the collector asks it for records
 *   cupti_launches.c  its callbacks: which thread launches what
 *   cupti_records.c   its records, turned into events; the devices
 *   cupti_presence.c  it leaves the process when nothing is recorded, and comes back
 *   cupti_rivals.c    who else uses it
 *   cupti_pc.c        PC samples: where warps are, and why they wait
 *   cupti_absent.c    in place of all these where its headers were not there to build against
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
	/* NULL where it is not found. */
	__typeof__(&cuptiGetStreamIdEx) stream_id;
	CUpti_SubscriberHandle subscriber;
	/* The driver's own; NULL where it is not found. */
	CUresult(CUDAAPI *device_attribute)(int *, CUdevice_attribute, CUdevice);
	CUresult(CUDAAPI *device_name)(char *, int, CUdevice);
	CUresult(CUDAAPI *device_uuid)(CUuuid *, CUdevice);
	CUresult(CUDAAPI *device_memory)(size_t *, CUdevice);
	void *lib;
	uint32_t version; /* of the one found, which need not be that of the headers */
};

extern struct sonde_cupti sonde_cupti;

struct thread;

/* --- who else uses it (cupti_rivals.c) --------------------------------------------------------- */

/* Notes who the subscriber is when CUPTI refused us. */
void sonde_rivals__note_subscriber(void);
/* Notes `what`, a constant, when CUPTI refused it; or that another user of CUPTI makes it refuse everything. */
void sonde_rivals__note_refusal(CUptiResult why, const char *what);
/* The collector calls this now and then: it notes when somebody else gets the records. */
void sonde_rivals__look(void);

/* --- CUPTI comes and goes (cupti_presence.c) --------------------------------------------------------- */

/* Code that CUPTI did not call holds CUPTI while it calls it. False when CUPTI is not there. */
bool sonde_presence__hold(void);
void sonde_presence__release(void);
void sonde_presence__begin(void); /* it is there */
/* Waits until CUPTI is there. False when somebody else has it now. Only the holder of the windows' baton calls this … */
bool sonde_presence__come(void);
/* … and this: nothing is recorded any more, CUPTI may leave. */
void sonde_presence__go(void);
/* Whether records go on for a while after a window closed. */
bool sonde_presence__lingers(void);
/* CUPTI stays for good. */
void sonde_presence__stay(void);
/* For callbacks at the end of a call: CUPTI leaves now if it should. */
void sonde_presence__end_call(bool is_kernel);
/* Whether CUPTI stays because the program itself opens windows and must not wait for CUPTI to come back. */
bool sonde_presence__is_kept(void);
/* The collector lets CUPTI leave once it has nothing more; returns microseconds until it should ask again. */
uint64_t sonde_presence__look(void);
/* Nothing of a window that has closed is to come any more. */
bool sonde_presence__is_settled(void);

/* --- PC samples (cupti_pc.c) --------------------------------------------------------------------------- */

/* Begins, if they are asked for and `lib` can; leaves a note when it cannot. */
void sonde_pc__start(void *lib);
/* For callbacks: a context was made or goes, a module was loaded. */
void sonde_pc__resource(CUpti_CallbackId id, const CUpti_ResourceData *r);
/* A window opened or closed: what was sampled before is another's. */
void sonde_pc__look(void);
/* At exit: takes the rest. */
void sonde_pc__end(void);

/* --- cupti.c ------------------------------------------------------------------------------------- */

/* Starts CUPTI once more after it left; false when it refuses. */
bool sonde_cupti__begin_again(void);
/* Whether records come to us, and not to another user of CUPTI. */
bool sonde_cupti__is_ours(void);
/* Writes what time it is on CUPTI's clock and ours. */
void sonde_cupti__stamp(void);

/* --- cupti_launches.c ---------------------------------------------------------------------------- */

/* Asks to be called at every graph node, and once switched on at every launch and copy. False when
 * CUPTI refuses. */
bool sonde_launches__subscribe(void);
/* CUPTI is still there in another wake of a sleeper, which may want other calls. */
void sonde_launches__choose_again(void);
void sonde_launches__switch(bool is_on);
/* A number that changes when there are launches. */
uint64_t sonde_launches__sum(void);

/* --- cupti_records.c ----------------------------------------------------------------------------- */

/* Writes what the driver says of new devices. CUPTI's own threads must not ask the driver: the collector does. */
void sonde_devices__describe(void);
/* Another capture of the process begins: devices that are known are to be written again. */
void sonde_devices__begin_again(void);
/* Writes one record as an event of this thread. */
void sonde_cupti__record(struct thread *t, const CUpti_Activity *r);

#endif
