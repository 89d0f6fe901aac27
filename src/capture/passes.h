/*
 * How many passes a set of metrics needs on a chip. CUPTI's host library answers that: it knows all chips and needs
 * neither GPU nor driver. It is loaded at run time; without it the number is unknown.
 */
#ifndef SONDE_CAPTURE_PASSES_H
#define SONDE_CAPTURE_PASSES_H

#include "base/err.h"
#include "base/str.h"

struct sonde_passes {
	size_t nr;	   /* passes for all known metrics together */
	size_t nr_unknown; /* metrics that the chip does not have; `nr` leaves them out */
	char unknown[256]; /* the first unknown metric */
	char near[256];	   /* the nearest name the chip has, empty = none is near */
};

/*
 * SONDE_ERR_NOTFOUND when there is no CUPTI to ask or it cannot schedule the metrics together, SONDE_ERR_USAGE for a
 * chip that it does not know (the message lists those it knows).
 */
int sonde_passes_count(struct sonde_passes *out, const char *chip, const char *const *metrics,
	size_t nr, struct sonde_err *err);

#endif
