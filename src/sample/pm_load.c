#include "sample/cupti_open.h"
#include "sample/pm_int.h"

#include <dlfcn.h>
#include <stdio.h>

#define PERMISSION                                                                                 \
	"as root write `options nvidia NVreg_RestrictProfilingToAdminUsers=0` to "                 \
	"/etc/modprobe.d/nvidia-profiling.conf and reboot, or run with CAP_SYS_ADMIN (container: " \
	"--cap-add=SYS_ADMIN)"

static int find_cupti(struct pm *pm, struct sonde_err *err)
{
	pm->cupti = sonde_cupti_open();
	if (!pm->cupti)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"CUPTI was not found: install cuda-cupti 12.6 or newer, or name a "
			"libcupti.so in SONDE_CUPTI");
#define LOAD(name)                                                                                 \
	*(void **)&pm->name = dlsym(pm->cupti, #name);                                             \
	if (!pm->name)                                                                             \
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,                                      \
			"this CUPTI is too old to sample counters (it has no " #name               \
			"): install cuda-cupti 12.6 or newer, or name another libcupti.so in "     \
			"SONDE_CUPTI");
	PM_CUPTI_CALLS(LOAD)
#undef LOAD
	return 0;
}

/* A stand-in for CUPTI brings a driver of its own; NVIDIA's does not. */
static int find_cuda(struct pm *pm, struct sonde_err *err)
{
	pm->cuda = dlsym(pm->cupti, "cuInit") ? pm->cupti
					      : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!pm->cuda)
		return sonde_err_set(
			err, SONDE_ERR_NOTFOUND, "no NVIDIA driver here (libcuda.so.1)");
#define LOAD(name)                                                                                 \
	*(void **)&pm->name = dlsym(pm->cuda, #name);                                              \
	if (!pm->name)                                                                             \
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,                                      \
			"the NVIDIA driver is too old: it has no " #name);
	PM_CUDA_CALLS(LOAD)
#undef LOAD
	return 0;
}

static int begin_cuda(struct pm *pm, struct sonde_err *err)
{
	const char *name = NULL;
	CUresult why = pm->cuInit(0);

	if (why == CUDA_SUCCESS)
		return 0;
	pm->cuGetErrorName(why, &name);
	return sonde_err_set(err, SONDE_ERR_NOTFOUND, "CUDA cannot be used here: cuInit says %s",
		name ? name : "an unknown error");
}

int pm_load(struct pm *pm, struct sonde_err *err)
{
	CUpti_Profiler_Initialize_Params p = {
		.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
	int rc = find_cupti(pm, err);
	CUptiResult why;

	if (rc == 0)
		rc = find_cuda(pm, err);
	if (rc == 0)
		rc = begin_cuda(pm, err);
	if (rc)
		return rc;
	why = pm->cuptiProfilerInitialize(&p);
	return why ? pm_refuse(pm, "begin", why, err) : 0;
}

/* What CUPTI's word means for somebody who wants counters. */
static const char *explain(CUptiResult why)
{
	switch ((int)why) {
	case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
	case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
		return "the counters are for administrators only (ERR_NVGPUCTRPERM): " PERMISSION;
	case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
		return "the GPU is split (MIG), where counters cannot be sampled: use a whole GPU";
	case CUPTI_ERROR_INVALID_OPERATION:
	case CUPTI_ERROR_HARDWARE_BUSY:
		return "another program samples this GPU already (nsys, ncu, DCGM, another sonde): "
		       "end it, or `dcgmi profile --pause`";
	case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
		return "the GPU is a virtual one (vGPU) without profiling: enable it at the host";
	case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
		return "the GPU is in confidential computing mode, which hides its counters";
	case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
		return "counters cannot be sampled under WSL";
	case CUPTI_ERROR_NOT_SUPPORTED:
		return "the GPU cannot be sampled (Turing and newer can), or not so many counters "
		       "at once";
	case CUPTI_ERROR_OUT_OF_MEMORY:
		return "there is not enough memory for the counters";
	default:
		return "the driver or CUPTI refuses";
	}
}

int pm_refuse(const struct pm *pm, const char *step, CUptiResult why, struct sonde_err *err)
{
	const char *name = NULL;

	pm->cuptiGetResultString(why, &name);
	return sonde_err_set(err, SONDE_ERR_IO, "%s (%s at: %s)", explain(why),
		name ? name : "unknown error", step);
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

	if (s->pm.cuDeviceGet(&device, (int)s->q.device) != CUDA_SUCCESS)
		return sonde_err_set(
			err, SONDE_ERR_NOTFOUND, "CUDA shows no device %u here", s->q.device);
	s->pm.cuDeviceGetName(name, (int)sizeof(name) - 1, device);
	pm_name_uuid(&s->pm, uuid, sizeof(uuid), device);
	why = s->pm.cuptiDeviceGetChipName(&p);
	if (why)
		return pm_refuse(&s->pm, "name the chip", why, err);
	snprintf(s->chip, sizeof(s->chip), "%s", p.pChipName);
	out->device = s->q.device;
	out->product = sonde_arena_dup(&s->arena, sonde_str_from(name));
	out->uuid = sonde_arena_dup(&s->arena, sonde_str_from(uuid));
	return s->arena.failed ? sonde_err_nomem(err) : 0;
}
