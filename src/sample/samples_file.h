/*
 * Samples on disk: a native capture that holds counters (docs/capture-format.md).
 *
 * Blocks are written whole as they come, so that a sampler that is killed leaves
 * what it had. Stretches in which the device did nothing are kept as one long
 * sample: values are sums, so nothing is lost but the moment.
 */
#ifndef SONDE_SAMPLE_SAMPLES_FILE_H
#define SONDE_SAMPLE_SAMPLES_FILE_H

#include "sample/sampling.h"

struct sonde_samples_file;

/* When samples go on in another file, PATH.1, PATH.2, …, as captures do; zeros = never. */
struct sonde_samples_rotation {
	uint64_t bytes, ns;
};

/* Makes the file; it must not exist. */
int sonde_samples_file_open(struct sonde_samples_file **out, const char *path,
	const struct sonde_sampling *s, struct sonde_samples_rotation rotation, struct sonde_err *err);

/* To be called by a taker (struct sonde_sample_taker). */
void sonde_samples_file_take(struct sonde_samples_file *f, const struct sonde_sample_rows *rows);
/* A sentence for the report. */
void sonde_samples_file_note(struct sonde_samples_file *f, const char *text);
/* How many other programs are on the device: the most counts. */
void sonde_samples_file_see_others(struct sonde_samples_file *f, unsigned nr);
/* Writes clock and totals if they are due; false once something could not be written. */
bool sonde_samples_file_tick(struct sonde_samples_file *f);

/* Ends it in order. 0, or why it is not complete. */
int sonde_samples_file_close(struct sonde_samples_file *f, struct sonde_err *err);

#endif
