/*
 * How many passes a set of metrics needs on a chip: asked of CUPTI's host
 * library, which knows all chips and needs neither GPU nor driver. It is found
 * at run time; without it nobody can tell.
 */
#ifndef SONDE_CAPTURE_PASSES_H
#define SONDE_CAPTURE_PASSES_H

#include "base/err.h"
#include "base/str.h"

struct sonde_passes {
	size_t nr;	   /* passes for all of them together */
	size_t nr_unknown; /* metrics the chip does not have; not counted */
	char unknown[256]; /* the first of them */
	char near[256];	   /* the nearest name the chip has, empty = none is near */
};

/*
 * SONDE_ERR_NOTFOUND when there is no CUPTI to ask, SONDE_ERR_USAGE for a chip
 * it does not know (with those it does).
 */
int sonde_passes_count(struct sonde_passes *out, const char *chip, const char *const *metrics,
	size_t nr, struct sonde_err *err);

#endif
