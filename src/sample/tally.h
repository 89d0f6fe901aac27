/*
 * A tally: samples added up, over the whole time and over slices of it, and the
 * figures that follow from the sums. `sonde sample` shows these.
 */
#ifndef SONDE_SAMPLE_TALLY_H
#define SONDE_SAMPLE_TALLY_H

#include "sample/sampling.h"

#define SONDE_TALLY_SLICES 60
#define SONDE_TALLY_ROLES  64 /* most roles */

#define SONDE_TALLY_BANDWIDTH "bandwidth" /* the bandwidth of the device's memory */

/* A figure: one or two counters per another counter (% of cycles, warps), per bandwidth, or per second (bytes per second). */
struct sonde_tally_figure {
	const char *name, *unit; /* unit: "%", "GB/s", "" */
	const char *roles[2];	 /* roles that are added up; the second may be NULL */
	const char *per;	 /* the role to divide by, or SONDE_TALLY_BANDWIDTH; NULL = divide by seconds */
	double scale;		 /* factor of the result */
};

/* All figures. The last one has a NULL name. */
extern const struct sonde_tally_figure sonde_tally_figures[];

/* Sums by role. Each has its own time, as sets of counters may take turns. */
struct sonde_tally_sums {
	double sum[SONDE_TALLY_ROLES];
	uint64_t ns[SONDE_TALLY_ROLES];
};

/* How many samples a role has, and how many of them are above what the device can count; the latter are left out. */
struct sonde_tally_limit {
	uint64_t nr, nr_above;
};

struct sonde_sample_tally {
	uint64_t first_ns, last_ns; /* start of the first and end of the last sample, on the GPU's clock */
	uint64_t slice_ns, last_slice_ns; /* length of a slice now, and its length once the whole span is there */
	double bytes_per_ns; /* bandwidth of the device's memory; 0 = not known */
	struct sonde_tally_sums all, latest; /* `latest`: since the caller last cleared it */
	struct sonde_tally_sums slices[SONDE_TALLY_SLICES];
	/* Sums by set and counter, also of counters without a role. */
	double totals[SONDE_SET_LIMIT][SONDE_COUNTER_LIMIT];
	uint64_t set_ns[SONDE_SET_LIMIT];
	uint64_t nr_samples;
	struct sonde_tally_limit limits[SONDE_TALLY_ROLES];
};

/*
 * Begins a tally for about `span_ns` of samples. Slices are short in the beginning and grow with the samples, so that a
 * short part of the span has a picture too. Samples beyond the span go into the last slice.
 */
void sonde_tally_init(struct sonde_sample_tally *t, uint64_t span_ns, double bytes_per_ns);
void sonde_tally_take(struct sonde_sample_tally *t, const struct sonde_sample_rows *rows);
/* Ends the tally: a role with too many samples above what the device can count loses its figures. */
void sonde_tally_end(struct sonde_sample_tally *t);
/* The share of the role's samples that are above what the device can count, if the role has no figures because of them; else 0. */
double sonde_tally_refused(const struct sonde_sample_tally *t, struct sonde_str role);
/* The value of figure `f` for `sums`. NaN when its counters are missing. */
double sonde_tally_value(const struct sonde_sample_tally *t, const struct sonde_tally_figure *f,
	const struct sonde_tally_sums *sums);

#endif
