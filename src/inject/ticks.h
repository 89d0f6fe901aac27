/*
 * The clock of the hooks: the processor's own counter where it runs at a
 * constant rate and is the same on every core, else the kernel's.
 */
#ifndef SONDE_INJECT_TICKS_H
#define SONDE_INJECT_TICKS_H

#include "base/clock.h"

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
	return sonde_now_ns();
}
#endif

#endif
