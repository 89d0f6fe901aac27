/*
 * Inside the sampler: CUPTI's calls and one device.
 *
 *   pm_load.c     CUPTI and the CUDA driver, found at run time; what their refusals mean
 *   counter_sets.c counters that were asked for → sets the chip has → configurations of the hardware
 *   pm_device.c   the device: start, stop, decode
 *   sampling.c    a session: all of this set up
 *   sampling_loop.c  its loop: drain, keep up, take turns, bursts
 */
#ifndef SONDE_SAMPLE_PM_INT_H
#define SONDE_SAMPLE_PM_INT_H

#include "base/arena.h"
#include "base/vec.h"
#include "sample/gpm.h"
#include "sample/sampling.h"

/* cupti_profiler_host.h includes C++'s <string> by mistake; c_only/ has an empty one. */
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_result.h>
#include <cupti_target.h>

#define PM_CUPTI_CALLS(X)                                                                          \
	X(cuptiGetResultString)                                                                    \
	X(cuptiGetTimestamp)                                                                       \
	X(cuptiProfilerInitialize)                                                                 \
	X(cuptiDeviceGetChipName)                                                                  \
	X(cuptiPmSamplingGetCounterAvailability)                                                   \
	X(cuptiPmSamplingEnable)                                                                   \
	X(cuptiPmSamplingDisable)                                                                  \
	X(cuptiPmSamplingSetConfig)                                                                \
	X(cuptiPmSamplingStart)                                                                    \
	X(cuptiPmSamplingStop)                                                                     \
	X(cuptiPmSamplingDecodeData)                                                               \
	X(cuptiPmSamplingGetCounterDataSize)                                                       \
	X(cuptiPmSamplingCounterDataImageInitialize)                                               \
	X(cuptiPmSamplingGetCounterDataInfo)                                                       \
	X(cuptiPmSamplingCounterDataGetSampleInfo)                                                 \
	X(cuptiProfilerHostInitialize)                                                             \
	X(cuptiProfilerHostDeinitialize)                                                           \
	X(cuptiProfilerHostGetBaseMetrics)                                                         \
	X(cuptiProfilerHostConfigAddMetrics)                                                       \
	X(cuptiProfilerHostGetConfigImageSize)                                                     \
	X(cuptiProfilerHostGetConfigImage)                                                         \
	X(cuptiProfilerHostGetNumOfPasses)                                                         \
	X(cuptiProfilerHostEvaluateToGpuValues)                                                    \
	X(cuptiActivityRegisterCallbacks)                                                          \
	X(cuptiActivityEnable)                                                                     \
	X(cuptiActivityFlushAll)                                                                   \
	X(cuptiActivityGetNextRecord)

#define PM_CUDA_CALLS(X)                                                                           \
	X(cuInit)                                                                                  \
	X(cuGetErrorName)                                                                          \
	X(cuDeviceGet)                                                                             \
	X(cuDeviceGetCount)                                                                        \
	X(cuDeviceGetAttribute)                                                                    \
	X(cuDeviceGetName)                                                                         \
	X(cuDeviceGetUuid_v2)                                                                      \
	X(cuDevicePrimaryCtxRetain)                                                                \
	X(cuCtxSetCurrent)                                                                         \
	X(cuCtxSynchronize)                                                                        \
	X(cuModuleLoadData)                                                                        \
	X(cuModuleGetFunction)                                                                     \
	X(cuLaunchKernel)

/* The time that a sample costs one core, roughly, by the number of its counters; measured on an H200. */
#define PM_DECODE_NS(nr)   (36000u + 5800u * (nr))
#define PM_EVALUATE_NS(nr) (2000u + 1600u * (nr))

#define PM_MAX_SETS 8

/* The libraries. */
struct pm {
#define PM_FIELD(name) __typeof__(&(name)) name;
	PM_CUPTI_CALLS(PM_FIELD)
	PM_CUDA_CALLS(PM_FIELD)
#undef PM_FIELD
	void *cupti, *cuda;
};

/* Decoded samples, call by call one behind the other, and what they evaluate to. */
struct pm_image {
	uint8_t *bytes, *empty; /* CUPTI's; the same without any sample */
	size_t size;
	uint32_t room; /* samples it can hold */
	size_t nr;     /* samples in it */
	uint64_t *start_ns, *end_ns;
	double *values; /* row by row */
};

/* A set of counters that fit into one pass, ready to be used. */
struct pm_set {
	struct sonde_counter_set names;
	const char *metrics[SONDE_COUNTER_LIMIT]; /* the same names, for CUPTI */
	CUpti_Profiler_Host_Object *host;	  /* that evaluates them */
	uint8_t *config;
	size_t config_size;
	struct pm_image image;
	bool has_peaks; /* CUPTI was asked */
};

struct sonde_sampling {
	struct pm pm;
	struct sonde_sampling_request q;
	struct sonde_sampling_facts facts;
	uint8_t *available; /* CUPTI's availability image of the device */
	CUpti_PmSampling_Object *object;
	struct sonde_gpm *gpm; /* NULL = only PM sampling counts */
	struct pm_set *sets; /* PM_MAX_SETS of them */
	size_t current;
	uint64_t interval_ns;	   /* wanted */
	uint64_t used_ns;	   /* what the device was configured with; 0 = not yet */
	size_t used_set;	   /* the same */
	size_t buffer_bytes;	   /* the hardware's */
	uint32_t image_samples;	   /* that an image usually holds */
	uint32_t most_samples;	   /* that one may hold, after a long pause */
	struct sonde_arena arena;
};

/* pm_load.c: finds the libraries and begins with the driver; with CUPTI's profiler, too. */
int pm_find(struct pm *pm, struct sonde_err *err);
int pm_load(struct pm *pm, struct sonde_err *err);
/* Says what a refusal means and what changes it. `step` is what sonde wanted: "start sampling". */
int pm_refuse(const struct pm *pm, const char *step, CUptiResult why, struct sonde_err *err);
/* The driver's handle of CUDA's device number `device`. */
int pm_find_device(const struct pm *pm, CUdevice *out, unsigned device, struct sonde_err *err);
/* `GPU-…`; empty when the driver does not say. */
void pm_name_uuid(const struct pm *pm, char *out, size_t size, CUdevice device);
/* The device's name and UUID, and the chip's. */
int pm_describe(struct sonde_sampling *s, struct sonde_counter_set *out, struct sonde_err *err);

/* counter_sets.c. Names end with `.sum` or another of CUPTI's roll-ups. */
int pm_choose(struct sonde_sampling *s, struct sonde_err *err);
void pm_host_close(struct sonde_sampling *s, CUpti_Profiler_Host_Object *host);

/* pm_device.c */
void pm_images_free(struct sonde_sampling *s); /* of all sets */
/* The bytes of one sample, in the set where they are most. */
int pm_image_sample_bytes(struct sonde_sampling *s, uint64_t *bytes, struct sonde_err *err);
int pm_device_open(struct sonde_sampling *s, struct sonde_err *err); /* reserves the device */
void pm_device_close(struct sonde_sampling *s);
/*
 * Starts with the current set and interval; reserves the device first where it was closed. After
 * a stop everything has to be drained before the next start: else old samples are decoded once
 * more. After an overflow only a device that was closed starts again, and only such a one takes
 * another set or interval, though it says that it does (CUPTI 13.0).
 */
int pm_device_start(struct sonde_sampling *s, struct sonde_err *err);
int pm_device_stop(struct sonde_sampling *s, struct sonde_err *err);

struct pm_drained {
	size_t first, nr;   /* samples in the image */
	bool is_full;	    /* the image is: CUPTI has lost its place, or after a stop the rest */
	bool is_end;	    /* stopped, and nothing is left */
	bool has_overflown; /* the hardware buffer was full: samples are gone */
	uint64_t decode_ns;
};
/* Decodes what there is, `expected` samples or so, into the current set's image. */
int pm_device_drain(
	struct sonde_sampling *s, size_t expected, struct pm_drained *out, struct sonde_err *err);
/* Looks up what the counters of the current set can count at most, where it is not known yet. */
void pm_device_find_peaks(struct sonde_sampling *s);
/* Evaluates sample `i` of the image into its arrays. */
int pm_device_sample(struct sonde_sampling *s, size_t i, struct sonde_err *err);

/* sampling.c: the shortest interval that sonde uses and that is not below `ns`. */
uint64_t pm_step_above(uint64_t ns);
#define PM_LONGEST_NS 10000000u /* the longest of them */

#endif
