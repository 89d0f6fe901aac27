/* The system's clocks in nanoseconds. */
#ifndef SONDE_BASE_CLOCK_H
#define SONDE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t sonde_clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The time of a clock that never jumps: measures how long something takes, or waits until a moment. */
static inline uint64_t sonde_now_ns(void)
{
	return sonde_clock_ns(CLOCK_MONOTONIC);
}

#endif
