/*
 * The most that a device can count. Counters come out wrong now and then, by a factor of ten for a whole
 * run: a count above these limits is never shown, and a note says so.
 */
#ifndef SONDE_CATALOGUE_LIMITS_H
#define SONDE_CATALOGUE_LIMITS_H

#include "base/str.h"

/* The most that one SM counts in a cycle. */
#define SONDE_SM_ISSUE_SLOTS  4 /* warp instructions */
#define SONDE_SM_TENSOR_PIPES 4 /* each counts its own active cycles */
#define SONDE_SM_WARPS	      64

#define SONDE_LIMIT_SLACK   1.05 /* clocks differ a little from their nominal rate */
#define SONDE_REFUSED_SHARE 0.01 /* if more of the samples are above the limit, the whole counter is wrong */

/*
 * The limit of the counter in this role, per nanosecond. `cycles_per_ns`: of all SMs of the device together;
 * `bytes_per_ns`: what its memory moves (0 or NaN = not known). Returns 0 if no limit is known.
 */
double sonde_limit_of(struct sonde_str role, double cycles_per_ns, double bytes_per_ns);

#endif
