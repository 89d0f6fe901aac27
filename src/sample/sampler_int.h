/* Inside the sampler: the process of one device. */
#ifndef SONDE_SAMPLE_SAMPLER_INT_H
#define SONDE_SAMPLE_SAMPLER_INT_H

#include "sample/sampler.h"

/*
 * What the process tells sonde, a line each. `devices N` comes from the first only.
 * One of `ready`, `waiting` (another sampler has the device) and `failed` follows, with
 * words for people, and one of `done` and `failed` ends it.
 */
#define SAMPLER_DEVICES "devices "
#define SAMPLER_READY	"ready "
#define SAMPLER_WAITING "waiting "
#define SAMPLER_FAILED	"failed "
#define SAMPLER_DONE	"done "

/* `stop_fd` is at its end when all is over. Reports to `report_fd`. */
_Noreturn void sonde_sampler__become(
	const struct sonde_sampler_spec *spec, unsigned device, int stop_fd, int report_fd);

#endif
