/*
 * Calibration: how far the work of launches is from their timestamps, on the
 * clock of samples. Measured once on each GPU by kernels of sonde's own, and kept.
 *
 * Samples and launches are stamped by one clock. But a kernel's first warp comes a
 * moment after its first stamp, and its last warp is gone before the second. A series
 * of kernels that keep every SM busy as long as they run shows both moments. Half of
 * their sum is the offset: by so much launches are moved before samples are split
 * among them (src/unmix/).
 *
 * It is kept in the user's cache directory, by GPU and driver. A sampler writes it into
 * its capture, so that a report needs nothing else. `sonde run` never calibrates: it
 * would run kernels of its own on a GPU that others may be using.
 */
#ifndef SONDE_SAMPLE_CALIBRATION_H
#define SONDE_SAMPLE_CALIBRATION_H

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdint.h>

struct sonde_calibration {
	double offset_ns; /* to be added to the times of launches */
	double error_ns;  /* one standard error of it */
	double first_ns;  /* the first warp comes so long after the first stamp … */
	double last_ns;	  /* … and the last one goes so long after the second; below 0 = before */
	double misfit;	  /* what the fit does not explain of what was counted: 0 … 1 */
	uint64_t nr_kernels, nr_samples;
	char uuid[64];	 /* of the GPU */
	char driver[32]; /* its version; empty = not known */
};

struct sonde_calibration_span {
	uint64_t start_ns, end_ns;
};

/* A series as it was recorded, in order of time. */
struct sonde_calibration_data {
	SONDE_VEC(struct sonde_calibration_span) kernels; /* one after the other */
	SONDE_VEC(struct sonde_calibration_span) samples; /* gaps are fine */
	SONDE_VEC(double) active;			  /* by sample: SM cycles with a warp resident */
};
void sonde_calibration_release(struct sonde_calibration_data *d);

/*
 * Runs the series and records it: half a second, and a second to set up. Must be called by a
 * process that has not called CUDA before.
 */
int sonde_calibration_record(
	struct sonde_calibration_data *out, unsigned device, struct sonde_err *err);

/* The offset that explains the samples best. SONDE_ERR_FORMAT: none explains them well. */
int sonde_calibration_fit(struct sonde_calibration *out, const struct sonde_calibration_data *d,
	struct sonde_err *err);

/* Where it is kept for this GPU; false: there is no place (no HOME). */
bool sonde_calibration_path(struct sonde_buf *out, const char *uuid);
/* The driver's version, as its kernel module says; empty = not known. */
void sonde_calibration_name_driver(char *out, size_t size);

int sonde_calibration_keep(const struct sonde_calibration *c, struct sonde_err *err);
/* False: there is none for this GPU with this driver, or it is damaged. */
bool sonde_calibration_find(struct sonde_calibration *out, const char *uuid);

#endif
