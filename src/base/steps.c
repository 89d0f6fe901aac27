/*
 * gcc's -fsanitize-coverage=trace-pc calls the function below in every piece of straight code.
 * It is weak: a program that brings another, as the fuzzer does, uses that.
 */
#include "base/steps.h"

static uint64_t steps; /* threads may lose some: an estimate is enough */

#ifndef __clang__ /* whose instrumentation is another, and the fuzzer's */
/* Code that was built for it calls this at the begin of every basic block. */
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
