/*
 * Sampling: the hardware counters of one device, read at a fixed interval by
 * CUPTI's PM sampling, whatever runs on the device.
 *
 * Sampling attaches to no program and makes no CUDA context. Use it in a process
 * that does nothing else (sampler.h starts one): reading the counters in the
 * program's own process slows the program down.
 *
 * A session may hold several sets of counters where they do not fit into one
 * pass of the hardware; the sets then take turns.
 *
 * Where PM sampling is refused, NVML's GPM can take its place (gpm.h), or go on beside it.
 */
#ifndef SONDE_SAMPLE_SAMPLING_H
#define SONDE_SAMPLE_SAMPLING_H

#include "base/err.h"
#include "base/str.h"
#include "format/samples.h"

struct sonde_sampling; /* a session: one device, ready to sample */

/* The source of the counts. */
enum sonde_sampling_source {
	SONDE_SAMPLING_PM,   /* CUPTI's PM sampling only */
	SONDE_SAMPLING_AUTO, /* PM sampling, or GPM where the driver refuses it */
	SONDE_SAMPLING_GPM,  /* GPM only */
	SONDE_SAMPLING_BOTH, /* both at once, to compare them */
};

struct sonde_sampling_request {
	unsigned device;	     /* CUDA's number of the device */
	const char *const *counters; /* names of sets (roles.h), of roles, or NVIDIA's names of counters */
	size_t nr_counters;
	uint64_t interval_ns; /* 0 = as short as this machine can decode, 50 µs or more */
	uint64_t burst_ns;    /* sample for this long, then pause for a random time; 0 = sample all the time */
	uint8_t source;	      /* enum sonde_sampling_source */
	const char *why_gpm;  /* why only GPM counts, as the end of a sentence; NULL = the user asked for GPM */
};

/* Samples of one set, in order of time. The set's interval may differ from that of earlier rows. Valid during the call only. */
struct sonde_sample_rows {
	const struct sonde_counter_set *set;
	const uint64_t *start_ns, *end_ns; /* on the GPU's clock */
	const double *values;		   /* row by row, set->nr values each */
	size_t nr;
};

/* The caller's functions that get the samples. They are called in the thread that runs the session, with `of`. */
struct sonde_sample_receiver {
	void (*take)(void *of, const struct sonde_sample_rows *rows);
	bool (*is_over)(void *of); /* called every few milliseconds; true ends the session */
	void *of;
};

/* How many devices CUDA shows this process. Calls cuInit. */
int sonde_sampling_count(unsigned *nr, struct sonde_err *err);

/* The device's UUID (`GPU-…`), which is the same in every process. */
int sonde_sampling_identify(char *uuid, size_t size, unsigned device, struct sonde_err *err);

/*
 * Finds the counters on the device's chip and reserves the chip's sampling unit.
 * SONDE_ERR_NOTFOUND: there is no CUPTI, it is too old, or there is no GPU.
 * SONDE_ERR_USAGE: the chip does not have a counter, or the times do not fit.
 * SONDE_ERR_IO: the driver refuses; `err` says why and what the user can change.
 */
int sonde_sampling_open(
	struct sonde_sampling **out, const struct sonde_sampling_request *q, struct sonde_err *err);
void sonde_sampling_close(struct sonde_sampling *s);

/* The facts of a session; all but `status` are known once it is open. */
struct sonde_sampling_facts {
	char chip[64]; /* name of the chip */
	size_t nr_sets;
	double bytes_per_ns; /* memory bandwidth of the device; 0 = not known */
	struct sonde_buf by_gpm;   /* why only GPM counts; empty = PM sampling does */
	struct sonde_buf left_out; /* text that lists what was asked for but is not counted; empty = nothing */
	struct sonde_sampler_status status; /* totals up to now */
};
const struct sonde_sampling_facts *sonde_sampling_facts(const struct sonde_sampling *s);
const struct sonde_counter_set *sonde_sampling_set(const struct sonde_sampling *s, size_t i);

/* Samples until the receiver's is_over returns true. */
int sonde_sampling_run(
	struct sonde_sampling *s, const struct sonde_sample_receiver *to, struct sonde_err *err);

/* The present time on the clock of samples, in nanoseconds. */
uint64_t sonde_sampling_now(const struct sonde_sampling *s);

#endif
