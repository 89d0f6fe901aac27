/*
 * A GPU whose counters can be sampled, without a GPU: as much of the driver and of
 * CUPTI's PM sampling as the sampler calls. A sample is there when its interval is over,
 * on the device's clock: the real time, which stands still while a full image waits for a
 * reader that is late. A busy machine therefore loses no sample, unless decoding is said to cost
 * time. What goes wrong is told by the environment:
 *
 *   FAKE_PM_ERROR=STEP:CODE   CUPTI's CODE at STEP (init, available, enable, config, start, decode)
 *   FAKE_PM_DEVICES=N         so many devices (1)
 *   FAKE_PM_PASS=N            so many counters fit into a pass (100)
 *   FAKE_PM_COST_US=N         a sample takes so long to decode (0)
 *   FAKE_PM_GAP=N             after sample N ten are missing
 *   FAKE_PM_OVERFLOW=N        decoding for the Nth time finds the hardware buffer full
 *   FAKE_PM_IDLE=1            nothing runs on the device
 *   FAKE_PM_BUSY=PATH         the device is another client's while a file is locked there
 *   FAKE_PM_TOLD=PATH         appends what it did: `start DEVICE INTERVAL_NS`, `gave DEVICE SAMPLES`
 *
 * Counter number k of a set counts (k + 1) × 1000 in each sample, but nothing when idle.
 * That real CUPTI behaves so is for tests/gpu to show.
 */
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define EXPORT	    __attribute__((visibility("default")))
#define NR_BASES    (sizeof(bases) / sizeof(*bases))
#define MAX_METRICS 512

static const char *bases[] = {"sm__cycles_elapsed", "sm__warps_active_realtime", "lts__t_sectors",
	"dram__bytes_read", "dram__bytes_write", "dram__cycles_elapsed",
	"TPC.TriageCompute.sm__cycles_active", "TPC.TriageCompute.sm__inst_executed_realtime",
	"sm__cycles_active", "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime",
	"TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime",
	"TPC.TriageCompute.sm__inst_executed_pipe_alu_realtime",
	"TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime",
	"SM_A.TriageCompute.l1tex__data_pipe_lsu_wavefronts", "PCI.TriageCompute.pcie__read_bytes",
	"PCI.TriageCompute.pcie__write_bytes", "TPC.TriageCompute.tpc__something_else"};

struct host {
	size_t nr;
};

struct image {
	size_t nr, max;
	struct {
		uint64_t start, end;
	} at[];
};

static struct {
	uint64_t interval, begin, done; /* samples handed out since the start */
	uint64_t skipped;
	uint64_t still; /* nanoseconds its clock stood still */
	size_t number;
	unsigned nr_decodes;
	bool is_started, is_fresh; /* since the start nobody has looked at the clock */
} device;

static long number(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

static CUptiResult fails(const char *step)
{
	const char *text = getenv("FAKE_PM_ERROR");
	size_t n = strlen(step);

	return text && strncmp(text, step, n) == 0 && text[n] == ':'
		       ? (CUptiResult)strtol(text + n + 1, NULL, 10)
		       : CUPTI_SUCCESS;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - device.still;
}

static void tell(const char *what, uint64_t value)
{
	const char *path = getenv("FAKE_PM_TOLD");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%s %zu %llu\n", what, device.number, (unsigned long long)value);
	fclose(f);
}

/* --- the driver ------------------------------------------------------------------------------ */

EXPORT CUresult cuInit(unsigned flags)
{
	(void)flags;
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

/* --- CUPTI ----------------------------------------------------------------------------------- */

EXPORT CUptiResult cuptiGetResultString(CUptiResult r, const char **name)
{
	static char text[64];

	snprintf(text, sizeof(text), "CUPTI_ERROR_%d", (int)r);
	*name = text;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetTimestamp(uint64_t *out)
{
	*out = now_ns();
	if (device.is_fresh) /* a sampler held up between starting and looking misses nothing */
		device.begin = *out;
	device.is_fresh = false;
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

EXPORT CUptiResult cuptiPmSamplingGetCounterAvailability(
	CUpti_PmSampling_GetCounterAvailability_Params *p)
{
	p->counterAvailabilityImageSize = 16;
	if (p->pCounterAvailabilityImage)
		memset(p->pCounterAvailabilityImage, 1, 16);
	return fails("available");
}

EXPORT CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
	p->pHostObject = calloc(1, sizeof(struct host));
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
	free(p->pHostObject);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params *p)
{
	p->ppMetricNames = bases;
	p->numMetrics = NR_BASES;
	return CUPTI_SUCCESS;
}

static bool knows(const char *name)
{
	size_t i, n = strlen(name);

	for (i = 0; i < NR_BASES; i++)
		if (n > 4 && strcmp(name + n - 4, ".sum") == 0 && strlen(bases[i]) == n - 4 &&
			strncmp(name, bases[i], n - 4) == 0)
			return true;
	return false;
}

EXPORT CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
	struct host *h = (struct host *)p->pHostObject;
	size_t i;

	for (i = 0; i < p->numMetrics; i++)
		if (!knows(p->ppMetricNames[i]))
			return CUPTI_ERROR_INVALID_METRIC_NAME;
	h->nr += p->numMetrics;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiProfilerHostGetConfigImageSize(
	CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
	p->configImageSize = sizeof(size_t);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
	memcpy(p->pConfigImage, &((struct host *)p->pHostObject)->nr, sizeof(size_t));
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
	size_t nr, most = (size_t)number("FAKE_PM_PASS", 100);

	memcpy(&nr, p->pConfigImage, sizeof(nr));
	p->numOfPasses = (nr + most - 1) / most;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *p)
{
	const char *busy = getenv("FAKE_PM_BUSY");
	int fd = busy ? open(busy, O_WRONLY | O_CREAT, 0666) : -1;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		return CUPTI_ERROR_INVALID_OPERATION;
	device.number = p->deviceIndex;
	p->pPmSamplingObject = (CUpti_PmSampling_Object *)(void *)&device;
	return fails("enable");
}

EXPORT CUptiResult cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *p)
{
	(void)p;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *p)
{
	device.interval = p->samplingInterval;
	return device.is_started ? CUPTI_ERROR_INVALID_OPERATION : fails("config");
}

EXPORT CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *p)
{
	(void)p;
	device.begin = now_ns();
	device.done = device.skipped = 0;
	device.is_started = device.is_fresh = true;
	tell("start", device.interval);
	return fails("start");
}

EXPORT CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *p)
{
	(void)p;
	device.is_started = false;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *p)
{
	p->counterDataSize = sizeof(struct image) + p->maxSamples * 2 * sizeof(uint64_t);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiPmSamplingCounterDataImageInitialize(
	CUpti_PmSampling_CounterDataImage_Initialize_Params *p)
{
	struct image *image = (struct image *)(void *)p->pCounterData;

	image->nr = 0;
	image->max = (p->counterDataSize - sizeof(*image)) / (2 * sizeof(uint64_t));
	return CUPTI_SUCCESS;
}

static void add_sample(struct image *image)
{
	uint64_t i = device.done++ + device.skipped, gap = (uint64_t)number("FAKE_PM_GAP", -1);

	image->at[image->nr].start = device.begin + i * device.interval;
	if (i == 0) /* the first covers what was before */
		image->at[image->nr].start -= 500000000u;
	image->at[image->nr++].end = device.begin + (i + 1) * device.interval;
	if (device.done == gap)
		device.skipped += 10;
}

/* How many samples there have been since the start; takes the time that decoding them costs. */
static uint64_t count_ready(const struct image *image)
{
	uint64_t ready = (now_ns() - device.begin) / device.interval;
	uint64_t given = device.done + device.skipped, nr = ready > given ? ready - given : 0;
	long cost_us = number("FAKE_PM_COST_US", 0);

	if (cost_us) {
		usleep((unsigned)cost_us * (unsigned)(nr < image->max ? nr : image->max));
	} else if (nr >= image->max) {
		device.still += (nr - image->max + 1) * device.interval;
		ready = given + image->max - 1;
	}
	return ready;
}

EXPORT CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *p)
{
	struct image *image = (struct image *)(void *)p->pCounterDataImage;
	uint64_t ready = count_ready(image);

	if (!device.is_started)
		return CUPTI_ERROR_INVALID_OPERATION;
	while (image->nr < image->max && device.done + device.skipped < ready)
		add_sample(image);
	tell("gave", image->nr);
	/* As the real one does: what does not fit into the image is gone. */
	if (device.done + device.skipped < ready)
		device.skipped = ready - device.done;
	p->decodeStopReason = image->nr == image->max
				      ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
				      : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
	p->overflow = ++device.nr_decodes == (unsigned)number("FAKE_PM_OVERFLOW", 0);
	return fails("decode");
}

EXPORT CUptiResult cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *p)
{
	const struct image *image = (const struct image *)(const void *)p->pCounterDataImage;

	p->numTotalSamples = image->max;
	p->numPopulatedSamples = p->numCompletedSamples = image->nr;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(
	CUpti_PmSampling_CounterData_GetSampleInfo_Params *p)
{
	const struct image *image = (const struct image *)(const void *)p->pCounterDataImage;

	p->startTimestamp = image->at[p->sampleIndex].start;
	p->endTimestamp = image->at[p->sampleIndex].end;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiProfilerHostEvaluateToGpuValues(
	CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
	size_t k;

	for (k = 0; k < p->numMetrics; k++)
		p->pMetricValues[k] = getenv("FAKE_PM_IDLE") ? 0 : (double)(k + 1) * 1000;
	return CUPTI_SUCCESS;
}
