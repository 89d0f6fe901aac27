/*
 * Code built with gcc's -fsanitize-coverage=trace-pc calls the function below in every basic block.
 * The function is weak: a program that has its own, as the fuzzer does, uses that one.
 */
#include "base/steps.h"

static uint64_t steps; /* a count may be lost between threads: an estimate is enough */

#ifndef __clang__ /* clang's instrumentation differs, and the fuzzer uses it */
void __sanitizer_cov_trace_pc(void);
__attribute__((weak, no_sanitize_coverage, no_sanitize("undefined"))) void __sanitizer_cov_trace_pc(
	void)
{
	__atomic_store_n(&steps, __atomic_load_n(&steps, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}
#endif

uint64_t sonde_steps(void)
{
	return steps;
}
