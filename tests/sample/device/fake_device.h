/*
 * A GPU whose counters can be sampled, without a GPU: as much of the driver and of
 * CUPTI's PM sampling as the sampler calls. A sample is there when its interval is over,
 * on the device's clock: the real time, which stands still while a full image waits for a
 * reader that is late. A busy machine therefore loses no sample, unless decoding is said to cost
 * time. What goes wrong is told by the environment:
 *
 *   FAKE_PM_ERROR=STEP:CODE   CUPTI's CODE at STEP (init, available, enable, config, start, decode)
 *   FAKE_PM_DEVICES=N         so many devices (1)
 *   FAKE_PM_PASS=N            so many counters fit into a pass (100)
 *   FAKE_PM_COST_US=N         a sample takes so long to decode (0)
 *   FAKE_PM_LINGER_MS=N       while it samples a decode goes on for so long, as samples come
 *   FAKE_PM_GAP=N             after sample N ten are missing
 *   FAKE_PM_JUMP=N            after sample N the clock is set back by 300 ns
 *   FAKE_PM_OVERFLOW=N        decoding for the Nth time finds the hardware buffer full
 *   FAKE_PM_IDLE=1            nothing runs on the device
 *   FAKE_PM_BUSY=PATH         the device is another client's while a file is locked there
 *   FAKE_PM_TOLD=PATH         appends what it did: `start DEVICE INTERVAL_NS`, `gave DEVICE SAMPLES`, `full DEVICE 0`, `visible LIST`
 *   FAKE_PM_KERNELS=PATH      kernels can be launched; their times go there, and samples count them
 *   FAKE_PM_FIRST_NS=N        … from so long after a kernel's first stamp …
 *   FAKE_PM_LAST_NS=N         … until so long after its second
 *   FAKE_PM_ELAPSED=N         cycles of all SMs in a sample (1000000)
 *   FAKE_PM_BUS_BITS=N        width of the memory's bus, at 2 GHz (6144)
 *   FAKE_PM_NOISE=N           … and N per cent of other work, now and then
 *
 * Counter number k of a set counts (k + 1) × 1000 in each sample, but nothing when idle. Elapsed cycles are more.
 *
 * As CUPTI 13.0 does on an H200 (seen there, not documented): a decode adds to what the image has, and
 * goes on until nothing is left, also of what comes meanwhile. When the image is full before that,
 * decoding has lost its place; after a stop only what did not fit is gone. A start
 * with samples left from before loses it too, and so does another set of counters. Another interval is
 * taken and not used. After an overflow nothing starts any more. A device
 * that is enabled anew is as good as new.
 *
 * fake_driver.c    the driver: devices and their attributes
 * fake_kernels.c   kernels that are launched, their records and what they count
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

/* A number of the environment. */
long number(const char *name, long otherwise);
/* What the step is to return ($FAKE_PM_ERROR). */
CUptiResult fails(const char *step);

/* The device's clock. */
uint64_t now_ns(void);

/* What has been decoded: samples. */
struct image {
	size_t nr, max;
	struct {
		uint64_t start, end;
	} at[];
};

/* What ran before the last kernel in the file began is known: only that is sampled. */
uint64_t kernels_known_ns(void);
/* What kernels did between `start` and `end`: a hundred a nanosecond. */
double count_kernels(uint64_t start, uint64_t end);

#endif
