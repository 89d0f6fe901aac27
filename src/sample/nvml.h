/* NVML, the driver's library for management: found at run time, and asked about one device. */
#ifndef SONDE_SAMPLE_NVML_H
#define SONDE_SAMPLE_NVML_H

#include "base/str.h"

struct sonde_nvml {
	void *library; /* for dlsym; it stays until the process ends */
	void *device;  /* NVML's handle of it */
};

/* The device of this UUID (`GPU-…`), or NVML's first one where that is empty. False: NVML or the device is not there. */
bool sonde_nvml_open(struct sonde_nvml *out, struct sonde_str uuid);

#endif
