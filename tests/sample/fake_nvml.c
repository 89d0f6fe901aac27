/*
 * The part of NVML that the sampler calls. The programs on the device are those in the file $FAKE_NVML_PIDS, one per line. Each time the
 * sampler asks for them, a line `looked PROGRAMS 0` goes to $FAKE_PM_TOLD.
 *
 * Its GPM has new values every 100 ms of real time, as on an H200: $FAKE_GPM has the percentages by metric, `2=50 10=25.5`; other
 * metrics are 0. Two snapshots within the same 100 ms are equal, and give no number. Without $FAKE_GPM the GPU is too old for GPM;
 * with $FAKE_GPM_MIG it is split by MIG. New values are reported as `news 0 0`.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct process_info {
	unsigned pid;
	unsigned long long used_bytes;
	unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
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

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	return index ? 2 : nvmlDeviceGetHandleByUUID("GPU-", device);
}

static void tell(const char *what, unsigned nr)
{
	const char *path = getenv("FAKE_PM_TOLD");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (f) {
		fprintf(f, "%s %u 0\n", what, nr);
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
	tell("looked", *nr);
	return 0;
}

/* --- GPM ---------------------------------------------------------------------------------------- */

struct support {
	unsigned version, is_supported;
};

struct metrics {
	unsigned version, nr;
	const long *from, *to;
	struct {
		unsigned id;
		int rc;
		double value;
		const char *names[3];
	} at[333];
};

int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending);
int nvmlGpmQueryDeviceSupport(void *device, struct support *out);
int nvmlGpmSampleAlloc(long **out);
int nvmlGpmSampleFree(long *snapshot);
int nvmlGpmSampleGet(void *device, long *snapshot);
int nvmlGpmMetricsGet(struct metrics *of);

int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending)
{
	(void)device;
	*now = *pending = getenv("FAKE_GPM_MIG") != NULL;
	return 0;
}

int nvmlGpmQueryDeviceSupport(void *device, struct support *out)
{
	(void)device;
	out->is_supported = getenv("FAKE_GPM") != NULL;
	return out->version == 1 ? 0 : 25;
}

int nvmlGpmSampleAlloc(long **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : 20;
}

int nvmlGpmSampleFree(long *snapshot)
{
	free(snapshot);
	return 0;
}

/* A snapshot is only the number of its 100 ms period. */
int nvmlGpmSampleGet(void *device, long *snapshot)
{
	struct timespec t;

	(void)device;
	clock_gettime(CLOCK_REALTIME, &t);
	*snapshot = (long)t.tv_sec * 10 + t.tv_nsec / 100000000;
	return 0;
}

static double value_of(unsigned id)
{
	const char *at = getenv("FAKE_GPM");
	char *end;

	for (; at && *at; at = *end ? end + 1 : end) {
		unsigned found = (unsigned)strtoul(at, &end, 10);
		double v = *end == '=' ? strtod(end + 1, &end) : 0;

		if (found == id)
			return v;
	}
	return 0;
}

int nvmlGpmMetricsGet(struct metrics *of)
{
	unsigned i;

	if (of->version != 1)
		return 25;
	for (i = 0; i < of->nr; i++) {
		of->at[i].rc = 0;
		of->at[i].value = *of->from == *of->to ? (of->at[i].id == 2 ? 0 : NAN) : value_of(of->at[i].id);
	}
	if (*of->from != *of->to)
		tell("news", 0);
	return 0;
}
