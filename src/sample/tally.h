/*
 * A tally: samples added up, over all and over slices of time, and the figures
 * that follow from them. What `sonde sample` shows.
 */
#ifndef SONDE_SAMPLE_TALLY_H
#define SONDE_SAMPLE_TALLY_H

#include "sample/sampling.h"

#define SONDE_TALLY_SLICES 60
#define SONDE_TALLY_ROLES  64 /* at most */

#define SONDE_TALLY_BANDWIDTH "bandwidth" /* what the device's memory moves at most */

/* A figure: a counter or two against another (% of cycles, warps), against the bandwidth, or against time (bytes a second). */
struct sonde_tally_figure {
	const char *name, *unit; /* unit: "%", "GB/s", "" */
	const char *roles[2];	 /* added up; the second may be NULL */
	const char *per;	 /* a role, or SONDE_TALLY_BANDWIDTH; NULL = seconds */
	double scale;
};

/* All figures there are. Ends with a NULL name. */
extern const struct sonde_tally_figure sonde_tally_figures[];

/* Sums by role; each with its own time, as sets of counters may take turns. */
struct sonde_tally_sums {
	double sum[SONDE_TALLY_ROLES];
	uint64_t ns[SONDE_TALLY_ROLES];
};

/* How many samples a role has, and how many of them are more than the device can count: these are left out. */
struct sonde_tally_limit {
	uint64_t nr, nr_above;
};

struct sonde_sample_tally {
	uint64_t first_ns, last_ns; /* of the GPU's clock */
	uint64_t slice_ns, last_slice_ns; /* now, and when the whole span is there */
	double bytes_per_ns; /* the device's memory moves at most; 0 = not known */
	struct sonde_tally_sums all, latest; /* `latest`: since it was last cleared */
	struct sonde_tally_sums slices[SONDE_TALLY_SLICES];
	/* By set and counter, roles or not. */
	double totals[SONDE_SET_LIMIT][SONDE_COUNTER_LIMIT];
	uint64_t set_ns[SONDE_SET_LIMIT];
	uint64_t nr_samples;
	struct sonde_tally_limit limits[SONDE_TALLY_ROLES];
};

/*
 * For samples of about `span_ns` in all. Slices are short in the beginning and grow with the samples: those of
 * a short part of the span have a picture, too. Later ones go into the last slice.
 */
void sonde_tally_init(struct sonde_sample_tally *t, uint64_t span_ns, double bytes_per_ns);
void sonde_tally_take(struct sonde_sample_tally *t, const struct sonde_sample_rows *rows);
/* All samples are there: what cannot be right loses its figures. */
void sonde_tally_end(struct sonde_sample_tally *t);
/* The share of the role's samples above what the device can count, where there are no figures because of it; else 0. */
double sonde_tally_refused(const struct sonde_sample_tally *t, struct sonde_str role);
/* The figure that the sums of `t` come to. NaN when its counters are missing. */
double sonde_tally_value(const struct sonde_sample_tally *t, const struct sonde_tally_figure *f,
	const struct sonde_tally_sums *sums);

#endif
