/*
 * Sampling: the hardware counters of one device, read at a fixed interval by
 * CUPTI's PM sampling, whatever runs on the device.
 *
 * Nothing is attached to a program and no CUDA context is made. To be used by a
 * process that does nothing else: reading the counters in the program's own
 * process slows it down (sampler.h starts such a process).
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

struct sonde_sampling; /* one device, set up */

/* Who counts. */
enum sonde_sampling_source {
	SONDE_SAMPLING_PM,   /* CUPTI's PM sampling or nobody */
	SONDE_SAMPLING_AUTO, /* GPM where the driver refuses PM sampling */
	SONDE_SAMPLING_GPM,
	SONDE_SAMPLING_BOTH, /* to compare them */
};

struct sonde_sampling_request {
	unsigned device;	     /* CUDA's number of it */
	const char *const *counters; /* names of sets (roles.h), of roles, or NVIDIA's */
	size_t nr_counters;
	uint64_t interval_ns; /* 0 = as short as this machine can decode, 50 µs or more */
	uint64_t burst_ns;    /* sample so long, then pause at random; 0 = all the time */
	uint8_t source;	      /* enum sonde_sampling_source */
	const char *why_gpm;  /* why GPM alone is to count, as the end of a sentence; NULL = it was asked for */
};

/* Samples of one set, in order; its interval may be another one than before. Valid during the call only. */
struct sonde_sample_rows {
	const struct sonde_counter_set *set;
	const uint64_t *start_ns, *end_ns; /* of the GPU's clock */
	const double *values;		   /* row by row */
	size_t nr;
};

/* Who gets the samples. Each may be called many times, from the thread that runs the session. */
struct sonde_sample_taker {
	void (*take)(void *of, const struct sonde_sample_rows *rows);
	bool (*is_over)(void *of); /* asked every few milliseconds */
	void *of;
};

/* How many devices CUDA shows this process. Calls cuInit. */
int sonde_sampling_count(unsigned *nr, struct sonde_err *err);

/* The device's UUID (`GPU-…`), which is the same in every process. */
int sonde_sampling_identify(char *uuid, size_t size, unsigned device, struct sonde_err *err);

/*
 * Finds the counters on the device's chip and reserves its sampling unit.
 * SONDE_ERR_NOTFOUND: no CUPTI, too old a one, no GPU. SONDE_ERR_USAGE: a counter
 * that the chip does not have. SONDE_ERR_IO: the driver refuses; `err` says why
 * and what changes it.
 */
int sonde_sampling_open(
	struct sonde_sampling **out, const struct sonde_sampling_request *q, struct sonde_err *err);
void sonde_sampling_close(struct sonde_sampling *s);

/* The facts of a session, known from its opening on. */
struct sonde_sampling_facts {
	char chip[64];
	size_t nr_sets;
	double bytes_per_ns; /* that the device's memory moves at most; 0 = not known */
	struct sonde_buf by_gpm;   /* why GPM counts and not PM sampling; empty = PM sampling does */
	struct sonde_buf left_out; /* what was asked for and is not counted, in words; empty = nothing */
	struct sonde_sampler_status status; /* up to now */
};
const struct sonde_sampling_facts *sonde_sampling_facts(const struct sonde_sampling *s);
const struct sonde_counter_set *sonde_sampling_set(const struct sonde_sampling *s, size_t i);

/* Samples until the taker says that it is over. */
int sonde_sampling_run(
	struct sonde_sampling *s, const struct sonde_sample_taker *to, struct sonde_err *err);

/* Nanoseconds of the clock that samples are stamped with. */
uint64_t sonde_sampling_now(const struct sonde_sampling *s);

#endif
