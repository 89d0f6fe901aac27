/*
 * Samples on disk: a native capture that holds counters (docs/capture-format.md).
 *
 * Each block is written whole and at once, so that a sampler that is killed leaves
 * all earlier blocks. Idle time of the device is kept as one long sample: values are
 * sums, so only the times of the single samples are lost.
 */
#ifndef SONDE_SAMPLE_SAMPLES_FILE_H
#define SONDE_SAMPLE_SAMPLES_FILE_H

#include "sample/sampling.h"

struct sonde_samples_file;

/* The size and age at which samples go on in another file, PATH.1, PATH.2, …, as captures do; 0 = never. */
struct sonde_samples_rotation {
	uint64_t bytes, ns;
};

/* Makes the file; it must not exist. */
int sonde_samples_file_open(struct sonde_samples_file **out, const char *path,
	const struct sonde_sampling *s, struct sonde_samples_rotation rotation, struct sonde_err *err);

/* Adds samples; for a receiver's `take` (struct sonde_sample_receiver). */
void sonde_samples_file_take(struct sonde_samples_file *f, const struct sonde_sample_rows *rows);
/* Writes a note: a sentence for the report. */
void sonde_samples_file_note(struct sonde_samples_file *f, const char *text);
/* Reports how many other programs are on the device now; the file has the largest number. */
void sonde_samples_file_see_others(struct sonde_samples_file *f, unsigned nr);
/* Writes the clock and the totals when these are due; false once something could not be written. */
bool sonde_samples_file_tick(struct sonde_samples_file *f);

/* Ends and closes the file. Returns 0, or why the file is not complete. */
int sonde_samples_file_close(struct sonde_samples_file *f, struct sonde_err *err);

#endif
