#include "catalogue/advice.h"
#include "sample/cupti_open.h"
#include "sample/pm_int.h"

#include <dlfcn.h>
#include <stdio.h>

static int find_cupti(struct pm *pm, struct sonde_err *err)
{
	pm->cupti = sonde_cupti_open();
	if (!pm->cupti)
		return sonde_advice_err(
			err, SONDE_ERR_NOTFOUND, SONDE_WHEN_SAMPLING_CUPTI_MISSING, NULL);
#define LOAD(name)                                                                                 \
	*(void **)&pm->name = dlsym(pm->cupti, #name);                                             \
	if (!pm->name)                                                                             \
		return sonde_advice_err(                                                           \
			err, SONDE_ERR_NOTFOUND, SONDE_WHEN_SAMPLING_CUPTI_OLD, #name);
	PM_CUPTI_CALLS(LOAD)
#undef LOAD
	return 0;
}

/* A stand-in for CUPTI, as in tests, has the driver's functions too; NVIDIA's CUPTI does not. */
static int find_cuda(struct pm *pm, struct sonde_err *err)
{
	pm->cuda = dlsym(pm->cupti, "cuInit") ? pm->cupti
					      : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!pm->cuda)
		return sonde_advice_err(err, SONDE_ERR_NOTFOUND, SONDE_WHEN_SAMPLING_NO_DRIVER,
			"libcuda.so.1 is missing");
#define LOAD(name)                                                                                 \
	*(void **)&pm->name = dlsym(pm->cuda, #name);                                              \
	if (!pm->name)                                                                             \
		return sonde_advice_err(err, SONDE_ERR_NOTFOUND, SONDE_WHEN_SAMPLING_NO_DRIVER,    \
			"it is too old: it has no " #name);
	PM_CUDA_CALLS(LOAD)
#undef LOAD
	return 0;
}

static int begin_cuda(struct pm *pm, struct sonde_err *err)
{
	const char *name = NULL;
	CUresult why = pm->cuInit(0);
	char detail[128];

	if (why == CUDA_SUCCESS)
		return 0;
	pm->cuGetErrorName(why, &name);
	snprintf(detail, sizeof(detail), "cuInit says %s", name ? name : "an unknown error");
	return sonde_advice_err(err, SONDE_ERR_NOTFOUND, SONDE_WHEN_SAMPLING_NO_DRIVER, detail);
}

int pm_find(struct pm *pm, struct sonde_err *err)
{
	int rc = find_cupti(pm, err);

	if (rc == 0)
		rc = find_cuda(pm, err);
	return rc ? rc : begin_cuda(pm, err);
}

int pm_load(struct pm *pm, struct sonde_err *err)
{
	CUpti_Profiler_Initialize_Params p = {
		.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
	int rc = pm_find(pm, err);
	CUptiResult why;

	if (rc)
		return rc;
	why = pm->cuptiProfilerInitialize(&p);
	return why ? pm_refuse(pm, "begin", why, err) : 0;
}

/* The situation (catalogue/advice.h) that CUPTI's refusal means for somebody who wants counters. */
static enum sonde_situation situation_of(CUptiResult why)
{
	switch ((int)why) {
	case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
	case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
		return SONDE_WHEN_SAMPLING_ADMIN_ONLY;
	case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
		return SONDE_WHEN_SAMPLING_MIG;
	case CUPTI_ERROR_INVALID_OPERATION:
	case CUPTI_ERROR_HARDWARE_BUSY:
		return SONDE_WHEN_SAMPLING_BUSY;
	case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
		return SONDE_WHEN_SAMPLING_VGPU;
	case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
		return SONDE_WHEN_SAMPLING_CONFIDENTIAL;
	case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
		return SONDE_WHEN_SAMPLING_WSL;
	case CUPTI_ERROR_NOT_SUPPORTED:
		return SONDE_WHEN_SAMPLING_UNSUPPORTED;
	case CUPTI_ERROR_OUT_OF_MEMORY:
		return SONDE_WHEN_SAMPLING_NO_MEMORY;
	default:
		return SONDE_WHEN_SAMPLING_REFUSED;
	}
}

int pm_refuse(const struct pm *pm, const char *step, CUptiResult why, struct sonde_err *err)
{
	const char *name = NULL;
	char detail[128];

	pm->cuptiGetResultString(why, &name);
	snprintf(detail, sizeof(detail), "%s when asked to %s", name ? name : "unknown error",
		step);
	return sonde_advice_err(err, SONDE_ERR_IO, situation_of(why), detail);
}

int pm_find_device(const struct pm *pm, CUdevice *out, unsigned device, struct sonde_err *err)
{
	if (pm->cuDeviceGet(out, (int)device) == CUDA_SUCCESS)
		return 0;
	return sonde_err_set(err, SONDE_ERR_NOTFOUND,
		"CUDA has no device %u here; `nvidia-smi -L` lists the devices", device);
}

void pm_name_uuid(const struct pm *pm, char *out, size_t size, CUdevice device)
{
	CUuuid id;
	size_t i, n = (size_t)snprintf(out, size, "GPU-");

	if (pm->cuDeviceGetUuid_v2(&id, device) != CUDA_SUCCESS) {
		out[0] = '\0';
		return;
	}
	for (i = 0; i < 16 && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			(unsigned char)id.bytes[i]);
}

int pm_describe(struct sonde_sampling *s, struct sonde_counter_set *out, struct sonde_err *err)
{
	CUpti_Device_GetChipName_Params p = {
		.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE,
		.deviceIndex = s->q.device};
	char name[128] = "", uuid[48] = "";
	CUdevice device;
	CUptiResult why;
	int rc = pm_find_device(&s->pm, &device, s->q.device, err);

	if (rc)
		return rc;
	s->pm.cuDeviceGetName(name, (int)sizeof(name) - 1, device);
	pm_name_uuid(&s->pm, uuid, sizeof(uuid), device);
	why = s->pm.cuptiDeviceGetChipName(&p);
	if (why)
		return pm_refuse(&s->pm, "name the chip", why, err);
	snprintf(s->facts.chip, sizeof(s->facts.chip), "%s", p.pChipName);
	out->device = s->q.device;
	out->product = sonde_arena_dup(&s->arena, sonde_str_from(name));
	out->uuid = sonde_arena_dup(&s->arena, sonde_str_from(uuid));
	return s->arena.failed ? sonde_err_nomem(err) : 0;
}
