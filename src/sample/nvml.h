/* NVML, the driver's management library: finds it at run time, and one device in it. */
#ifndef SONDE_SAMPLE_NVML_H
#define SONDE_SAMPLE_NVML_H

#include "base/str.h"

struct sonde_nvml {
	void *library; /* handle for dlsym; stays open until the process ends */
	void *device;  /* NVML's handle of the device */
};

/*
 * Finds the device with this UUID (`GPU-…`), or NVML's first device when `uuid` is empty. False: NVML or the device is
 * not there.
 */
bool sonde_nvml_open(struct sonde_nvml *out, struct sonde_str uuid);

#endif
