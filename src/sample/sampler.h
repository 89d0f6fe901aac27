/*
 * The sampler: processes beside the profiled program, one for each device, which write
 * the counts of the hardware counters into files beside the run's captures.
 *
 * They are started before the program, share nothing with it, and end when they
 * are told to or when sonde itself is gone. Where several ranks on a node see the
 * same device, the sampler of one rank samples it: a lock in the captures' directory
 * decides, and the next one takes over when that one ends. Whatever goes wrong here
 * costs the counters only, never the run.
 */
#ifndef SONDE_SAMPLE_SAMPLER_H
#define SONDE_SAMPLE_SAMPLER_H

#include "base/err.h"
#include "base/str.h"
#include "sample/samples_file.h"
#include "sample/sampling.h"

#include <sys/types.h>

#define SONDE_SAMPLER_DEVICES 32 /* most devices that are sampled */

struct sonde_sampler;

struct sonde_sampler_spec {
	const char *dir;  /* directory of the run's native captures */
	/*
	 * Changes to the environment, as for the program, since the environment decides which devices are visible:
	 * NAME=VALUE, or a NAME that is removed. May be NULL.
	 */
	char *const *env;
	const char *lock_dir; /* directory that all ranks on this node share, for the locks of devices; NULL = dir */
	struct sonde_samples_rotation rotation; /* when samples go on in another file */
	/*
	 * How to recognize this run's own programs on a device: by their numbers if `pids` is given, else by `mark`
	 * (NAME=VALUE) in their environment.
	 */
	const char *mark;
	const pid_t *pids;
	size_t nr_pids;
	struct sonde_sampling_request sampling; /* `device` is ignored: all devices are sampled */
};

/* Whether there is a GPU at all, by the driver's device files. Loads no library. */
bool sonde_sampler_has_gpu(void);

/*
 * Starts the samplers and waits until they sample, for a few seconds at most. On failure `err` says why no device is sampled
 * and what the user can change, and `*out` is NULL. If only some devices cannot be sampled, sonde_sampler_end names these.
 */
int sonde_sampler_start(
	struct sonde_sampler **out, const struct sonde_sampler_spec *spec, struct sonde_err *err);

/* The outcome for each device. */
struct sonde_sampler_end {
	struct {
		bool has_failed;
		char says[1200]; /* a sentence: what was sampled, or why not */
	} devices[SONDE_SAMPLER_DEVICES];
	size_t nr;
};

/* Ends the samplers and frees `s`, which may be NULL. */
void sonde_sampler_end(struct sonde_sampler *s, struct sonde_sampler_end *out);

#endif
