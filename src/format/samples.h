/*
 * Samples in a native capture: what the GPU's counters counted, interval by
 * interval. The sampler writes them (src/sample/), the native reader reads
 * them; both go through this codec.
 *
 * A COUNTERS block names a set of counters and says which device it counts on.
 * SAMPLES blocks then carry rows of that set: start, end, one value for each
 * counter. Times are nanoseconds of the GPU's clock, the one that kernel events
 * are stamped with, and the capture's ticks: CLOCK blocks map them to host time.
 *
 *     COUNTERS  set, device, interval (ns), uuid, device name, nr, then per counter: role, name;
 *               then, in newer captures, per counter: its peak
 *     SAMPLES   set, start of the first sample (ns), then per sample:
 *               gap since the sample before, duration (ns), one value for each counter
 *
 * All numbers are varints and texts have their length in front. A value that is
 * a whole number below 2^62 is `2n`; any other is `1` and eight bytes of IEEE 754.
 */
#ifndef SONDE_FORMAT_SAMPLES_H
#define SONDE_FORMAT_SAMPLES_H

#include "base/str.h"

#define SONDE_COUNTER_LIMIT 256 /* counters of a set */
#define SONDE_SET_LIMIT	    64	/* sets of a capture; numbers are lower */

/* A counter: what it counts in sonde's words (`dram.read_bytes`), and NVIDIA's name for it. */
struct sonde_counter_name {
	struct sonde_str role; /* empty = none of sonde's roles */
	struct sonde_str name; /* `dram__bytes_read.sum` */
	double peak; /* the most it counts in a cycle of its unit, by CUPTI; 0 = not known */
};

struct sonde_counter_set {
	uint32_t set;
	uint32_t device;	  /* CUDA's number of it, as the sampler sees devices */
	uint64_t interval_ns;	  /* asked for; samples say how long they really are */
	struct sonde_str uuid;	  /* `GPU-…`, empty = not known */
	struct sonde_str product; /* `NVIDIA H200` */
	uint32_t nr;
	struct sonde_counter_name at[SONDE_COUNTER_LIMIT];
};

/* Running totals of a sampler, in SAMPLER blocks; the last one of a file counts. */
struct sonde_sampler_status {
	uint64_t nr_samples;   /* written */
	uint64_t nr_first;     /* left out: the first after a start covers the time before it */
	uint64_t nr_overflows; /* times the hardware buffer was full */
	uint64_t nr_gaps;      /* times one or more samples are missing between two others … */
	uint64_t gap_ns;       /* … and how long these are in all */
	uint64_t nr_refused;   /* left out: its times cannot be right */
	uint64_t nr_slower;    /* times the interval was made longer to keep up */
	uint64_t nr_others;    /* other programs seen on the device at once, at most */
	uint64_t nr_lost;      /* times sampling had to begin anew, as CUPTI had lost its place */
	uint64_t decode_ns;    /* spent on decoding … */
	uint64_t evaluate_ns;  /* … and on evaluating what was decoded */
};

/* Appends the payload of a COUNTERS block. */
void sonde_counters_put(struct sonde_buf *out, const struct sonde_counter_set *set);
/* Texts point into the payload. False for a payload that is none. */
bool sonde_counters_get(struct sonde_counter_set *out, struct sonde_str payload);

/* Makes the payload of a SAMPLES block in `out`, sample by sample, in order of time. */
struct sonde_samples_out {
	struct sonde_buf *out;
	uint64_t end_ns; /* of the last sample */
	uint32_t nr;	 /* counters of the set */
};
void sonde_samples_begin(struct sonde_samples_out *s, struct sonde_buf *out,
	const struct sonde_counter_set *set, uint64_t start_ns);
void sonde_samples_put(
	struct sonde_samples_out *s, uint64_t start_ns, uint64_t end_ns, const double *values);

/* Walks over the samples of a payload. */
struct sonde_samples_in {
	const uint8_t *at, *end;
	uint64_t end_ns; /* of the last sample */
	uint32_t set;
	bool is_damaged; /* it stopped in the middle of a sample */
};
bool sonde_samples_open(struct sonde_samples_in *s, struct sonde_str payload);
/* The next one, with `nr` values; false behind the last and at damage. */
bool sonde_samples_get(struct sonde_samples_in *s, uint64_t *start_ns, uint64_t *end_ns,
	double *values, uint32_t nr);

#endif
