/*
 * Calibration: how far a kernel's work is from the kernel's timestamps, on the
 * clock of samples. It is measured once on each GPU, with kernels of sonde's own, and kept.
 *
 * The same clock stamps samples and launches. But a kernel's first warp starts a moment
 * after the kernel's start stamp, and its last warp is gone before the end stamp. A series
 * of kernels that keep every SM busy as long as they run shows these two differences. Half
 * of their sum is the offset: launches are moved by it before samples are split among
 * them (src/unmix/).
 *
 * The calibration is kept in the user's cache directory, by GPU and driver. A sampler writes
 * it into its capture, so that a report needs nothing else. `sonde run` never calibrates: that
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
	double error_ns;  /* one standard error of offset_ns */
	double first_ns;  /* from a kernel's start stamp to its first warp; below 0 = the warp is earlier */
	double last_ns;	  /* from a kernel's end stamp to the end of its last warp; below 0 = the warp ends earlier */
	double misfit;	  /* share of the counts that the fit does not explain: 0 … 1 */
	uint64_t nr_kernels, nr_samples;
	char uuid[64];	 /* UUID of the GPU */
	char driver[32]; /* version of the driver; empty = not known */
};

struct sonde_calibration_span {
	uint64_t start_ns, end_ns;
};

/* A recorded series, in order of time. */
struct sonde_calibration_data {
	SONDE_VEC(struct sonde_calibration_span) kernels; /* one after the other */
	SONDE_VEC(struct sonde_calibration_span) samples; /* may have gaps */
	SONDE_VEC(double) active;			  /* for each sample: SM cycles with a warp resident */
};
void sonde_calibration_release(struct sonde_calibration_data *d);

/*
 * Runs the series and records it. That takes half a second, and a second to set up. The calling process must not have
 * called CUDA before.
 */
int sonde_calibration_record(
	struct sonde_calibration_data *out, unsigned device, struct sonde_err *err);

/* Finds the offset that explains the samples best. SONDE_ERR_FORMAT: no offset explains them well. */
int sonde_calibration_fit(struct sonde_calibration *out, const struct sonde_calibration_data *d,
	struct sonde_err *err);

/* The path of the file that keeps this GPU's calibration; false: there is no directory for it (no HOME). */
bool sonde_calibration_path(struct sonde_buf *out, const char *uuid);
/* The driver's version, from its kernel module; empty = not known. */
void sonde_calibration_name_driver(char *out, size_t size);

int sonde_calibration_keep(const struct sonde_calibration *c, struct sonde_err *err);
/* Reads the calibration that is kept. False: there is none for this GPU with this driver, or its file is damaged. */
bool sonde_calibration_find(struct sonde_calibration *out, const char *uuid);

#endif
