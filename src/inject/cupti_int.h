/*
 * CUPTI as found in the running process: the functions that we call, found by dlsym.
 *
 *   cupti.c           finds, starts and switches CUPTI; the collector asks it for records
 *   cupti_launches.c  CUPTI's callbacks: which thread launches what
 *   cupti_records.c   turns CUPTI's records into events; the devices
 *   cupti_presence.c  makes CUPTI leave the process when nothing is recorded, and come back
 *   cupti_rivals.c    other users of CUPTI in the process
 *   cupti_pc.c        PC samples: where warps are, and why they wait
 *   cupti_absent.c    replaces all these in a build without CUPTI's headers
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
	/* NULL in versions of CUPTI without them. */
	__typeof__(&cuptiSubscribe_v2) subscribe_v2;
	__typeof__(&cuptiUnsubscribe) unsubscribe;
#endif
	/* NULL where CUPTI does not have it. */
	__typeof__(&cuptiGetStreamIdEx) stream_id;
	CUpti_SubscriberHandle subscriber; /* NULL = we are not subscribed */
	/* Functions of the driver; NULL where they are not found. */
	CUresult(CUDAAPI *device_attribute)(int *, CUdevice_attribute, CUdevice);
	CUresult(CUDAAPI *device_name)(char *, int, CUdevice);
	CUresult(CUDAAPI *device_uuid)(CUuuid *, CUdevice);
	CUresult(CUDAAPI *device_memory)(size_t *, CUdevice);
	void *lib;
	uint32_t version; /* version of the library found, which may differ from that of the headers */
};

extern struct sonde_cupti sonde_cupti;

struct thread;

/* --- other users of CUPTI (cupti_rivals.c) ------------------------------------------------------ */

/* Adds a note that says who the subscriber is, when CUPTI has refused us as one. */
void sonde_rivals__note_subscriber(void);
/*
 * Adds the note `what`, a constant, when CUPTI has refused something with the result `why`; or a note that another user
 * of CUPTI makes it refuse everything.
 */
void sonde_rivals__note_refusal(CUptiResult why, const char *what);
/* Called by the collector now and then: adds a note when another user of CUPTI seems to get our records. */
void sonde_rivals__check(void);

/* --- CUPTI comes and goes (cupti_presence.c) --------------------------------------------------------- */

/*
 * Keeps CUPTI from leaving. Code that calls CUPTI must hold it, unless CUPTI itself called that code. False when CUPTI
 * is not there.
 */
bool sonde_presence__hold(void);
void sonde_presence__release(void);
void sonde_presence__begin(void); /* CUPTI is there from now on */
/* Waits until CUPTI is there. False when another user has it now. Only the holder of the windows' baton calls this. */
bool sonde_presence__come(void);
/* Nothing is recorded any more: lets CUPTI leave. Only the holder of the windows' baton calls this. */
void sonde_presence__go(void);
/* Whether records go on for a while after a window has closed. */
bool sonde_presence__lingers(void);
/* Keeps CUPTI in the process for good. */
void sonde_presence__stay(void);
/* For callbacks at the end of a call: makes CUPTI leave now if it should. */
void sonde_presence__end_call(bool is_kernel);
/* Whether CUPTI stays because the program itself opens windows and must not wait for CUPTI to come back. */
bool sonde_presence__is_kept(void);
/*
 * For the collector: lets CUPTI leave once it has no more records for us. Returns microseconds until the next call of
 * this function.
 */
uint64_t sonde_presence__update(void);
/* Whether no more records of a closed window are expected. */
bool sonde_presence__is_settled(void);

/* --- PC samples (cupti_pc.c) --------------------------------------------------------------------------- */

/*
 * Begins to take PC samples if the configuration asks for them and the CUPTI library `lib` supports them; leaves a note
 * when it does not.
 */
void sonde_pc__start(void *lib);
/* For callbacks: a context was made or will be destroyed, or a module was loaded. */
void sonde_pc__resource(CUpti_CallbackId id, const CUpti_ResourceData *r);
/* A window opened or closed: makes the thread drain now, so that samples from before and after do not mix. */
void sonde_pc__drain_now(void);
/* At exit: takes the remaining samples. */
void sonde_pc__end(void);

/* --- cupti.c ------------------------------------------------------------------------------------- */

/* Starts CUPTI again after it left; false when it refuses. */
bool sonde_cupti__begin_again(void);
/* Whether records come to us, and not to another user of CUPTI. */
bool sonde_cupti__is_ours(void);
/* Writes an event with one moment on CUPTI's clock and on ours. */
void sonde_cupti__stamp(void);

/* --- cupti_launches.c ---------------------------------------------------------------------------- */

/* Subscribes to CUPTI's callbacks: at every graph node and, once switched on, at every launch and copy. False when
 * CUPTI refuses. */
bool sonde_launches__subscribe(void);
/* For a later wake of a sleeper, while CUPTI is still there: chooses the calls to listen to by the new configuration. */
void sonde_launches__choose_again(void);
void sonde_launches__switch(bool is_on);
/* A number that changes whenever something is launched. */
uint64_t sonde_launches__sum(void);

/* --- cupti_records.c ----------------------------------------------------------------------------- */

/* Writes the driver's facts about new devices. CUPTI's own threads must not call the driver, so the collector calls this. */
void sonde_devices__describe(void);
/* For another capture of the process: the known devices must be written again. */
void sonde_devices__begin_again(void);
/* Writes one record as an event of this thread. */
void sonde_cupti__record(struct thread *t, const CUpti_Activity *r);

#endif
