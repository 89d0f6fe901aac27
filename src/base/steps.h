/*
 * How much work was done, counted and not timed, so that tests can distinguish
 * linear from quadratic on a busy machine.
 *
 * A build with -fsanitize-coverage=trace-pc (make test, gcc)
 * counts every piece of straight code that runs, in all threads, those of other
 * libraries left out. Any other build has no count: 0. Only tests ask.
 */
#ifndef SONDE_BASE_STEPS_H
#define SONDE_BASE_STEPS_H

#include <stdint.h>

uint64_t sonde_steps(void);

#endif
