/*
 * Samples in a native capture: what the GPU's counters counted, interval by
 * interval. The sampler (src/sample/) writes them, the native reader reads
 * them; both use this codec.
 *
 * A COUNTERS block names a set of counters and the device they count on.
 * SAMPLES blocks then carry rows of that set: start, end, one value for each
 * counter. Times are nanoseconds of the GPU's clock. Kernel events are stamped
 * with the same clock. In a file of samples this clock is also the ticks, so
 * CLOCK blocks map it to host time.
 *
 *     COUNTERS  set, device, interval (ns), uuid, device name, nr, then per counter: role, name;
 *               then, in newer captures, per counter: its peak
 *     SAMPLES   set, start of the first sample (ns), then per sample:
 *               gap since the sample before, duration (ns), one value for each counter
 *
 * All numbers are varints; the length of a text comes before its bytes. A value
 * that is a whole number n below 2^62 is written as `2n`; any other value as `1`
 * and eight bytes of IEEE 754.
 */
#ifndef SONDE_FORMAT_SAMPLES_H
#define SONDE_FORMAT_SAMPLES_H

#include "base/str.h"

#define SONDE_COUNTER_LIMIT 256 /* most counters in a set */
#define SONDE_SET_LIMIT	    64	/* most sets in a capture; all set numbers are lower */

/* A counter: its role in sonde's words (`dram.read_bytes`), and NVIDIA's name for it. */
struct sonde_counter_name {
	struct sonde_str role; /* empty = the counter has no role */
	struct sonde_str name; /* `dram__bytes_read.sum` */
	double peak; /* CUPTI's figure for the most it can count per cycle of its unit; 0 = not known */
};

struct sonde_counter_set {
	uint32_t set;
	uint32_t device;	  /* CUDA's number of the device, in the sampler's process */
	uint64_t interval_ns;	  /* the interval asked for; each sample has its real length */
	struct sonde_str uuid;	  /* `GPU-…`, empty = not known */
	struct sonde_str product; /* `NVIDIA H200` */
	uint32_t nr;
	struct sonde_counter_name at[SONDE_COUNTER_LIMIT];
};

/* Running totals of a sampler, in SAMPLER blocks; the last one of a file counts. */
struct sonde_sampler_status {
	uint64_t nr_samples;   /* samples kept */
	uint64_t nr_first;     /* samples left out as the first after a start: they cover the time before the start */
	uint64_t nr_overflows; /* times the hardware buffer was full */
	uint64_t nr_gaps;      /* times one or more samples are missing between two others */
	uint64_t gap_ns;       /* total length of these gaps */
	uint64_t nr_refused;   /* samples left out because their times cannot be right */
	uint64_t nr_slower;    /* times the interval was made longer to keep up */
	uint64_t nr_others;    /* most other programs seen on the device at once */
	uint64_t nr_lost;      /* times sampling had to begin anew because CUPTI had lost its place */
	uint64_t decode_ns;    /* time spent on decoding */
	uint64_t evaluate_ns;  /* time spent on evaluating decoded samples */
};

/* Appends the payload of a COUNTERS block. */
void sonde_counters_put(struct sonde_buf *out, const struct sonde_counter_set *set);
/* Reads the payload of a COUNTERS block; the texts in `out` point into the payload. False when the payload is damaged. */
bool sonde_counters_get(struct sonde_counter_set *out, struct sonde_str payload);

/* Makes the payload of a SAMPLES block in `out`, sample by sample, in order of time. */
struct sonde_samples_out {
	struct sonde_buf *out;
	uint64_t end_ns; /* end of the last sample */
	uint32_t nr;	 /* counters in the set */
};
void sonde_samples_begin(struct sonde_samples_out *s, struct sonde_buf *out,
	const struct sonde_counter_set *set, uint64_t start_ns);
void sonde_samples_put(
	struct sonde_samples_out *s, uint64_t start_ns, uint64_t end_ns, const double *values);

/* Walks over the samples of a payload. */
struct sonde_samples_in {
	const uint8_t *at, *end;
	uint64_t end_ns; /* end of the last sample */
	uint32_t set;
	bool is_damaged; /* the walk stopped at a sample that is cut off or has impossible times */
};
bool sonde_samples_open(struct sonde_samples_in *s, struct sonde_str payload);
/* Reads the next sample, with `nr` values; false behind the last sample and at damage. */
bool sonde_samples_get(struct sonde_samples_in *s, uint64_t *start_ns, uint64_t *end_ns,
	double *values, uint32_t nr);

#endif
