#include "sample/nvml.h"

#include <dlfcn.h>
#include <stdio.h>

bool sonde_nvml_open(struct sonde_nvml *out, struct sonde_str uuid)
{
	int (*init)(void), (*by_uuid)(const char *, void **), (*by_index)(unsigned, void **);
	char name[96];

	*out = (struct sonde_nvml){.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
	if (!out->library)
		return false;
	*(void **)&init = dlsym(out->library, "nvmlInit_v2");
	*(void **)&by_uuid = dlsym(out->library, "nvmlDeviceGetHandleByUUID");
	*(void **)&by_index = dlsym(out->library, "nvmlDeviceGetHandleByIndex_v2");
	if (!init || !by_uuid || init() != 0)
		return false;
	snprintf(name, sizeof(name), "%.*s", SONDE_STR_ARG(uuid));
	return uuid.n ? by_uuid(name, &out->device) == 0 : by_index && by_index(0, &out->device) == 0;
}
