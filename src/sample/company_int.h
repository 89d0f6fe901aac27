/* Inside the sampler: which other programs use the device. */
#ifndef SONDE_SAMPLE_COMPANY_INT_H
#define SONDE_SAMPLE_COMPANY_INT_H

#include "base/str.h"

struct sonde_company; /* NVML, found at run time */

/* NULL when NVML or the device is not there: then nobody can tell. It stays until the process ends. */
struct sonde_company *sonde_company__open(struct sonde_str uuid);
/*
 * How many programs use the device now that are none of this run's. One of this
 * run's has `mark` (NAME=VALUE) in its environment; a process that cannot be
 * looked at, as it lives in another container, is not counted.
 */
unsigned sonde_company__count(struct sonde_company *c, const char *mark);

#endif
