/*
 * The clock of the hooks: the processor's own counter where it runs at a
 * constant rate and is the same on every core, else the kernel's.
 */
#ifndef SONDE_INJECT_TICKS_H
#define SONDE_INJECT_TICKS_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
#include <x86intrin.h>
static inline uint64_t counter_read(void)
{
	return __rdtsc();
}
#elif defined(__aarch64__)
static inline uint64_t counter_read(void)
{
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
}
#else
static inline uint64_t counter_read(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}
#endif

#endif
