/*
 * A simulated GPU whose counters can be sampled: the part of the driver and of
 * CUPTI's PM sampling that the sampler calls. A sample exists when its interval is over
 * on the device's clock. That clock is the real time, but it stops while a full image waits for a
 * late reader. So a busy machine loses no samples, unless decoding takes time by FAKE_PM_COST_US.
 * Variables of the environment choose what goes wrong:
 *
 *   FAKE_PM_ERROR=STEP:CODE   CUPTI's CODE at STEP (init, available, enable, config, start, decode)
 *   FAKE_PM_DEVICES=N         there are N devices (1)
 *   FAKE_PM_PASS=N            N counters fit into a pass (100)
 *   FAKE_PM_COST_US=N         decoding a sample takes N µs (0)
 *   FAKE_PM_LINGER_MS=N       a decode while sampling is on takes N ms, since samples keep coming
 *   FAKE_PM_GAP=N             after sample N ten are missing
 *   FAKE_PM_JUMP=N            after sample N the clock is set back by 300 ns
 *   FAKE_PM_OVERFLOW=N        decoding for the Nth time finds the hardware buffer full
 *   FAKE_PM_IDLE=1            nothing runs on the device
 *   FAKE_PM_BUSY=PATH         another client uses the device while the file PATH is locked
 *   FAKE_PM_TOLD=PATH         appends what it did: `start DEVICE INTERVAL_NS`, `gave DEVICE SAMPLES`, `full DEVICE 0`, `visible LIST`
 *   FAKE_PM_KERNELS=PATH      kernels can be launched; their times are written to PATH, and samples count them
 *   FAKE_PM_FIRST_NS=N        … from so long after a kernel's first stamp …
 *   FAKE_PM_LAST_NS=N         … until so long after its second
 *   FAKE_PM_ELAPSED=N         cycles of all SMs in a sample (1000000)
 *   FAKE_PM_BUS_BITS=N        width of the memory's bus, at 2 GHz (6144)
 *   FAKE_PM_NOISE=N           … with N percent of other work, now and then
 *
 * Counter number k of a set counts (k + 1) × 1000 in each sample, but nothing when idle. Elapsed cycles are more.
 *
 * It behaves like CUPTI 13.0 on an H200 (observed, not documented): a decode adds samples to the image, and
 * goes on until none are left, including those that come meanwhile. When the image is full before that,
 * decoding has lost its place; after a stop only the samples that did not fit are lost. Decoding also loses its
 * place by a start while samples from before are left, and by another set of counters. Another interval is
 * accepted but not used. After an overflow sampling cannot start any more. A device that is
 * disabled and enabled again works normally.
 *
 * fake_driver.c    the driver: devices and their attributes
 * fake_kernels.c   kernels that are launched, their records and their counts
 * fake_counters.c  names of counters, and their values in a sample
 * fake_sampling.c  samples: when they come, and how they are decoded
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* A number from the environment, or `otherwise` if the variable is not set. */
long number(const char *name, long otherwise);
/* The result that a step must return ($FAKE_PM_ERROR). */
CUptiResult fails(const char *step);

/* The device's clock. */
uint64_t now_ns(void);

/* The samples that were decoded. */
struct image {
	size_t nr, max;
	struct {
		uint64_t start, end;
	} at[];
};

/* Sampling may go up to this time: all work before it is known, since it is before the last kernel in the file. */
uint64_t kernels_known_ns(void);
/* The counts of kernels between `start` and `end`: a hundred per nanosecond. */
double count_kernels(uint64_t start, uint64_t end);

#endif
