/*
 * Inside the sampler: CUPTI's calls and one device.
 *
 *   pm_load.c        finds CUPTI and the CUDA driver at run time; says what their refusals mean
 *   counter_sets.c   counters that were asked for → sets that the chip has → configurations of the hardware
 *   pm_device.c      the device: start, stop, decode
 *   sampling.c       sets a session up, with all of this
 *   sampling_loop.c  the session's loop: drains, keeps up, takes turns, makes bursts
 */
#ifndef SONDE_SAMPLE_PM_INT_H
#define SONDE_SAMPLE_PM_INT_H

#include "base/arena.h"
#include "base/vec.h"
#include "sample/gpm.h"
#include "sample/sampling.h"

/* cupti_profiler_host.h includes C++'s <string> by mistake; the folder c_only/ has an empty file of that name. */
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

/* About how long one core takes for a sample with `nr` counters; measured on an H200. */
#define PM_DECODE_NS(nr)   (36000u + 5800u * (nr))
#define PM_EVALUATE_NS(nr) (2000u + 1600u * (nr))

#define PM_MAX_SETS 8

/* The functions of CUPTI and of the CUDA driver, and the handles of both libraries. */
struct pm {
#define PM_FIELD(name) __typeof__(&(name)) name;
	PM_CUPTI_CALLS(PM_FIELD)
	PM_CUDA_CALLS(PM_FIELD)
#undef PM_FIELD
	void *cupti, *cuda;
};

/* Decoded samples in the order in which they came, and their values. */
struct pm_image {
	uint8_t *bytes, *empty; /* CUPTI's counter data image; and one without any sample, to clear it */
	size_t size;   /* bytes of each */
	uint32_t room; /* how many samples the image can hold */
	size_t nr;     /* how many it holds */
	uint64_t *start_ns, *end_ns;
	double *values; /* row by row */
};

/* A set of counters that fit into one pass, ready to be used. */
struct pm_set {
	struct sonde_counter_set names;
	const char *metrics[SONDE_COUNTER_LIMIT]; /* the counters' names, for CUPTI */
	CUpti_Profiler_Host_Object *host;	  /* evaluates the counters */
	uint8_t *config;			  /* the configuration for the hardware */
	size_t config_size;
	struct pm_image image;
	bool has_peaks; /* CUPTI was asked for the counters' peaks */
};

struct sonde_sampling {
	struct pm pm;
	struct sonde_sampling_request q;
	struct sonde_sampling_facts facts;
	uint8_t *available; /* CUPTI's availability image of the device */
	CUpti_PmSampling_Object *object;
	struct sonde_gpm *gpm; /* NULL = only PM sampling counts */
	struct pm_set *sets;   /* an array of PM_MAX_SETS */
	size_t current;	       /* index of the current set */
	uint64_t interval_ns;	   /* the interval for the next start */
	uint64_t used_ns;	   /* the interval that the device is configured with; 0 = not configured yet */
	size_t used_set;	   /* the set that the device is configured with */
	size_t buffer_bytes;	   /* size of the hardware's buffer */
	uint32_t image_samples;	   /* how many samples an image usually can hold */
	uint32_t most_samples;	   /* how many it can hold at most, after a long pause */
	struct sonde_arena arena;
};

/* pm_load.c: finds the libraries and initializes the driver. */
int pm_find(struct pm *pm, struct sonde_err *err);
/* The same, and initializes CUPTI's profiler. */
int pm_load(struct pm *pm, struct sonde_err *err);
/* Fills `err` with what CUPTI's refusal means and what the user can change. `step` is what sonde wanted to do: "start sampling". */
int pm_refuse(const struct pm *pm, const char *step, CUptiResult why, struct sonde_err *err);
/* The driver's handle of CUDA's device number `device`. */
int pm_find_device(const struct pm *pm, CUdevice *out, unsigned device, struct sonde_err *err);
/* The device's UUID, `GPU-…`; empty when the driver does not say. */
void pm_name_uuid(const struct pm *pm, char *out, size_t size, CUdevice device);
/* Finds the device's name and UUID, for `out`, and the name of its chip. */
int pm_describe(struct sonde_sampling *s, struct sonde_counter_set *out, struct sonde_err *err);

/*
 * counter_sets.c: chooses the sets and makes their configurations. Names of counters end with `.sum` or another of
 * CUPTI's roll-ups.
 */
int pm_choose(struct sonde_sampling *s, struct sonde_err *err);
void pm_host_close(struct sonde_sampling *s, CUpti_Profiler_Host_Object *host);

/* pm_device.c */
void pm_images_free(struct sonde_sampling *s); /* frees the images of all sets */
/* The size of one sample in an image, in the set with the largest samples. */
int pm_image_sample_bytes(struct sonde_sampling *s, uint64_t *bytes, struct sonde_err *err);
int pm_device_open(struct sonde_sampling *s, struct sonde_err *err); /* reserves the device */
void pm_device_close(struct sonde_sampling *s);
/*
 * Starts sampling with the current set and interval; reserves the device first if it is closed. After a stop, everything
 * must be drained before the next start: else old samples are decoded again. After an overflow the device must be closed,
 * or it does not start again. A change of set or interval also needs a closed device: an open one accepts the change but
 * does not make it (CUPTI 13.0).
 */
int pm_device_start(struct sonde_sampling *s, struct sonde_err *err);
int pm_device_stop(struct sonde_sampling *s, struct sonde_err *err);

struct pm_drained {
	size_t first, nr;   /* the new samples: index of the first one in the image, and their number */
	bool is_full;	    /* the image was full: CUPTI has lost its place in the buffer; after a stop, the rest is lost */
	bool is_end;	    /* sampling is stopped, and no sample is left */
	bool has_overflown; /* the hardware's buffer was full: samples are lost */
	uint64_t decode_ns;
};
/* Decodes all samples that there are, about `expected`, into the current set's image. */
int pm_device_drain(
	struct sonde_sampling *s, size_t expected, struct pm_drained *out, struct sonde_err *err);
/* Looks up the peaks of the current set's counters, unless that was done before. */
void pm_device_find_peaks(struct sonde_sampling *s);
/* Evaluates sample `i` of the current set's image: fills in its times and values. */
int pm_device_sample(struct sonde_sampling *s, size_t i, struct sonde_err *err);

/* sampling.c: the shortest of sonde's intervals that is at least `ns`; the longest one when none is. */
uint64_t pm_step_above(uint64_t ns);
#define PM_LONGEST_NS 10000000u /* the longest of these intervals */

#endif
