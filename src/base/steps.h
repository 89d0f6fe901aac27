/*
 * How much work was done: counted, not timed, so that tests can distinguish
 * linear from quadratic time on a busy machine.
 *
 * A build with -fsanitize-coverage=trace-pc (make test, gcc) counts every basic
 * block that runs, in all threads, without the code of other libraries. In any
 * other build the count is 0. Only tests call this.
 */
#ifndef SONDE_BASE_STEPS_H
#define SONDE_BASE_STEPS_H

#include <stdint.h>

uint64_t sonde_steps(void);

#endif
