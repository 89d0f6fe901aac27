/*
 * The sampler: processes beside the profiled program, one for each device, that
 * write what the hardware counters count into the run's captures.
 *
 * They are started before the program, share nothing with it and end when they
 * are told to or when sonde itself is gone. Where several ranks on a node see
 * the same device one of them samples it: a lock in the captures' directory decides, and
 * the next takes over when that one ends. Whatever goes wrong here costs the
 * counters only, never the run.
 */
#ifndef SONDE_SAMPLE_SAMPLER_H
#define SONDE_SAMPLE_SAMPLER_H

#include "base/err.h"
#include "base/str.h"
#include "sample/samples_file.h"
#include "sample/sampling.h"

#include <sys/types.h>

#define SONDE_SAMPLER_DEVICES 32 /* at most */

struct sonde_sampler;

struct sonde_sampler_spec {
	const char *dir;  /* of the run's native captures */
	char *const *env; /* the program's, as it decides on devices; a NAME alone is taken away; may be NULL */
	const char *lock_dir; /* that all ranks of this node share: one samples a device; NULL = dir */
	struct sonde_samples_rotation rotation; /* of its file */
	const char *mark; /* NAME=VALUE in every program of this run … */
	const pid_t *pids; /* … or, where these are given, their numbers */
	size_t nr_pids;
	struct sonde_sampling_request sampling; /* its device is ignored: all are sampled */
};

/* Whether there is a GPU at all: the driver's device files. Asks no library. */
bool sonde_sampler_has_gpu(void);

/*
 * Starts them and waits until they sample, at most a few seconds. On failure `err` says
 * why no device is sampled and what changes it, and `*out` is NULL. Devices that
 * cannot be sampled while others can are named at the end.
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

/* Ends them and frees `s`, which may be NULL. */
void sonde_sampler_end(struct sonde_sampler *s, struct sonde_sampler_end *out);

#endif
