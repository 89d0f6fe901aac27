/* The driver: the number of devices, and their attributes. */
#include "fake_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long number(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

CUptiResult fails(const char *step)
{
	const char *text = getenv("FAKE_PM_ERROR");
	size_t n = strlen(step);

	return text && strncmp(text, step, n) == 0 && text[n] == ':'
		       ? (CUptiResult)strtol(text + n + 1, NULL, 10)
		       : CUPTI_SUCCESS;
}

EXPORT CUresult cuInit(unsigned flags)
{
	const char *path = getenv("FAKE_PM_TOLD"), *visible = getenv("CUDA_VISIBLE_DEVICES");
	FILE *f = path ? fopen(path, "a") : NULL;

	(void)flags;
	if (f) {
		fprintf(f, "visible %s\n", visible ? visible : "all");
		fclose(f);
	}
	return (CUresult)number("FAKE_CUINIT", 0);
}

EXPORT CUresult cuGetErrorName(CUresult error, const char **name)
{
	(void)error;
	*name = "CUDA_ERROR_NO_DEVICE";
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int *nr)
{
	*nr = (int)number("FAKE_PM_DEVICES", 1);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice *out, int ordinal)
{
	*out = ordinal;
	return ordinal < number("FAKE_PM_DEVICES", 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

EXPORT CUresult cuDeviceGetName(char *name, int n, CUdevice d)
{
	(void)d;
	snprintf(name, (size_t)n, "NVIDIA Fake");
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *out, CUdevice d)
{
	memset(out, 0xa0 + d, sizeof(*out));
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int *out, CUdevice_attribute what, CUdevice d)
{
	(void)d;
	*out = what == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE		  ? 2000000
	       : what == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH ? (int)number("FAKE_PM_BUS_BITS", 6144)
								     : 8;
	return what == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE || what == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH ||
			       getenv("FAKE_PM_KERNELS")
		       ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

EXPORT CUptiResult cuptiGetResultString(CUptiResult r, const char **name)
{
	static char text[64];

	snprintf(text, sizeof(text), "CUPTI_ERROR_%d", (int)r);
	*name = text;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
	(void)p;
	return fails("init");
}

EXPORT CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
	p->pChipName = "GF999";
	return CUPTI_SUCCESS;
}
