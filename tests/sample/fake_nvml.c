/*
 * As much of NVML as the sampler calls. The programs on the device are those in the file $FAKE_NVML_PIDS, a line each. $FAKE_PM_TOLD
 * is told of each look: `looked PROGRAMS 0`.
 */
#include <stdio.h>
#include <stdlib.h>

struct process_info {
	unsigned pid;
	unsigned long long used_bytes;
	unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *nr, struct process_info *out);

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
	static char handle;

	*device = &handle;
	return uuid[0] ? 0 : 2;
}

static void tell(unsigned nr)
{
	const char *path = getenv("FAKE_PM_TOLD");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (f) {
		fprintf(f, "looked %u 0\n", nr);
		fclose(f);
	}
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *nr, struct process_info *out)
{
	const char *path = getenv("FAKE_NVML_PIDS");
	FILE *f = path ? fopen(path, "r") : NULL;
	unsigned most = *nr;

	(void)device;
	*nr = 0;
	while (f && *nr < most && fscanf(f, "%u", &out[*nr].pid) == 1)
		(*nr)++;
	if (f)
		fclose(f);
	tell(*nr);
	return 0;
}
