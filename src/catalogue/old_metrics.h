/*
 * Metrics of nvprof, which presets and scripts still name, and what Nsight Compute has in their place.
 */
#ifndef SONDE_CATALOGUE_OLD_METRICS_H
#define SONDE_CATALOGUE_OLD_METRICS_H

#include "base/words.h"

/* What stands in for `name` today, none where it is no such name or nothing does. Static. */
struct sonde_words sonde_metric_successors(const char *name);
/* Whether `name` can be one of Nsight Compute's at all: they all say their unit, `sm__…`. */
bool sonde_metric_is_ncus(const char *name);

#endif
