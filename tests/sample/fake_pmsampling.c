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
 *   FAKE_PM_LINGER_MS=N       while it samples a decode goes on for so long, as samples come
 *   FAKE_PM_GAP=N             after sample N ten are missing
 *   FAKE_PM_JUMP=N            after sample N the clock is set back by 300 ns
 *   FAKE_PM_OVERFLOW=N        decoding for the Nth time finds the hardware buffer full
 *   FAKE_PM_IDLE=1            nothing runs on the device
 *   FAKE_PM_BUSY=PATH         the device is another client's while a file is locked there
 *   FAKE_PM_TOLD=PATH         appends what it did: `start DEVICE INTERVAL_NS`, `gave DEVICE SAMPLES`, `full DEVICE 0`
 *   FAKE_PM_KERNELS=PATH      kernels can be launched; their times go there, and samples count them
 *   FAKE_PM_FIRST_NS=N        … from so long after a kernel's first stamp …
 *   FAKE_PM_LAST_NS=N         … until so long after its second
 *   FAKE_PM_ELAPSED=N         cycles of all SMs in a sample (1000000)
 *   FAKE_PM_BUS_BITS=N        width of the memory's bus, at 2 GHz (6144)
 *   FAKE_PM_NOISE=N           … and N per cent of other work, now and then
 *
 * Counter number k of a set counts (k + 1) × 1000 in each sample, but nothing when idle. Elapsed cycles are more.
 *
 * As CUPTI 13.0 does on an H200 (seen there, not documented): a decode adds to what the image has, and
 * goes on until nothing is left, also of what comes meanwhile. When the image is full before that,
 * decoding has lost its place; after a stop only what did not fit is gone. A start
 * with samples left from before loses it too, and so does another set of counters. Another interval is
 * taken and not used. After an overflow nothing starts any more. A device
 * that is enabled anew is as good as new.
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

static const char *bases[] = {"sm__cycles_elapsed", "sm__warps_active_realtime", "lts__t_sectors", "lts__cycles_elapsed",
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

/* What there is to decode: samples from `begin` until now, or until the stop. */
static struct {
	uint64_t interval, begin, stopped;
	uint64_t done, skipped; /* samples handed out since the start, and left out */
	uint64_t still;		/* nanoseconds its clock stood still */
	size_t number;
	unsigned nr_decodes;
	bool is_started;
	size_t nr_counters; /* it is configured for; 0 = it is not configured */
	bool is_lost;	    /* it decodes old samples again, until the device is enabled anew */
	bool has_overflown; /* it does not start, until the device is enabled anew */
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

/* --- kernels: times are known when they are launched ----------------------------------------- */

struct span {
	uint64_t start, end;
};

static struct {
	struct span spans[20000]; /* of this process */
	size_t nr, nr_taken;
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;
} kernels;

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

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice d)
{
	(void)d;
	*out = (CUcontext)(void *)&kernels;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext c)
{
	(void)c;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleLoadData(CUmodule *out, const void *text)
{
	*out = (CUmodule)(void *)&kernels;
	return strstr(text, ".entry spin") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

EXPORT CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
	(void)m;
	*out = (CUfunction)(void *)&kernels;
	return strcmp(name, "spin") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* Two cycles take a nanosecond; it begins 2 µs after the call. */
EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned shared, CUstream stream, void **arguments, void **extra)
{
	uint64_t cycles, start = now_ns() + 2000;
	struct span s;
	int fd = open(getenv("FAKE_PM_KERNELS"), O_WRONLY | O_CREAT | O_APPEND, 0666);

	(void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
	(void)stream, (void)extra;
	memcpy(&cycles, arguments[0], sizeof(cycles));
	s = (struct span){start, start + cycles / 2};
	if (fd < 0 || write(fd, &s, sizeof(s)) != (ssize_t)sizeof(s) || close(fd) < 0)
		return CUDA_ERROR_LAUNCH_FAILED;
	kernels.spans[kernels.nr++ % 20000] = s;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSynchronize(void)
{
	while (kernels.nr && now_ns() < kernels.spans[kernels.nr - 1].end)
		;
	return CUDA_SUCCESS;
}

EXPORT CUptiResult cuptiActivityRegisterCallbacks(
	CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
	kernels.request = request;
	kernels.complete = complete;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? CUPTI_SUCCESS
							     : CUPTI_ERROR_INVALID_KIND;
}

EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	(void)flag;
	while (kernels.nr_taken < kernels.nr) {
		size_t size = 0, most = 0, used = 0;
		uint8_t *buffer = NULL;

		kernels.request(&buffer, &size, &most);
		while (kernels.nr_taken < kernels.nr && used + sizeof(CUpti_ActivityKernel9) <= size) {
			CUpti_ActivityKernel9 *k = (void *)(buffer + used);

			memset(k, 0, sizeof(*k));
			k->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
			k->start = kernels.spans[kernels.nr_taken].start;
			k->end = kernels.spans[kernels.nr_taken++].end;
			used += sizeof(*k);
		}
		kernels.complete(NULL, 0, buffer, size, used);
	}
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **at)
{
	uint8_t *next = *at ? (uint8_t *)*at + sizeof(CUpti_ActivityKernel9) : buffer;

	*at = (CUpti_Activity *)(void *)next;
	return next + sizeof(CUpti_ActivityKernel9) <= buffer + valid
		       ? CUPTI_SUCCESS
		       : CUPTI_ERROR_MAX_LIMIT_REACHED;
}

/* What ran before the last kernel in the file began is known: only that is sampled. */
static uint64_t kernels_known_ns(void)
{
	int fd = open(getenv("FAKE_PM_KERNELS"), O_RDONLY);
	struct span last = {0};
	off_t end = lseek(fd, 0, SEEK_END);

	if (end < (off_t)sizeof(last) ||
		pread(fd, &last, sizeof(last), end - (off_t)sizeof(last)) != (ssize_t)sizeof(last))
		last.start = 0;
	close(fd);
	return last.start > 1000000u ? last.start - 1000000u : 0; /* their work may begin earlier */
}

/* What kernels did between `start` and `end`: a hundred a nanosecond. */
static double count_kernels(uint64_t start, uint64_t end)
{
	static struct span all[20000];
	static size_t nr, from;
	int64_t first = number("FAKE_PM_FIRST_NS", 0), last = number("FAKE_PM_LAST_NS", 0);
	double sum = 0;
	size_t i;

	if (!nr || (int64_t)(all[nr - 1].end + (uint64_t)last) < (int64_t)end) {
		int fd = open(getenv("FAKE_PM_KERNELS"), O_RDONLY);
		ssize_t n = fd < 0 ? 0 : pread(fd, all, sizeof(all), 0);

		nr = n > 0 ? (size_t)n / sizeof(*all) : 0;
		close(fd);
	}
	for (i = from; i < nr && (int64_t)all[i].start + first < (int64_t)end; i++) {
		int64_t a = (int64_t)all[i].start + first, b = (int64_t)all[i].end + last;

		a = a > (int64_t)start ? a : (int64_t)start;
		b = b < (int64_t)end ? b : (int64_t)end;
		sum += b > a ? 100 * (double)(b - a) : 0;
		if ((int64_t)all[i].end + last < (int64_t)start)
			from = i;
	}
	if (number("FAKE_PM_NOISE", 0) && end / 1000 % 3 == 0)
		sum += (double)(end - start) * (double)number("FAKE_PM_NOISE", 0);
	return sum;
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
	device.is_started = device.is_lost = device.has_overflown = false;
	device.begin = device.stopped = device.nr_counters = 0;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *p)
{
	size_t nr;

	memcpy(&nr, p->pConfig, sizeof(nr));
	if (device.is_started)
		return CUPTI_ERROR_INVALID_OPERATION;
	if (!device.nr_counters)
		device.interval = p->samplingInterval;
	device.is_lost |= device.nr_counters && nr != device.nr_counters;
	device.nr_counters = nr;
	return fails("config");
}

/* Samples that are complete by now. */
static uint64_t count_ready(void)
{
	uint64_t now = device.is_started ? now_ns() : device.stopped, known;

	if (getenv("FAKE_PM_KERNELS")) {
		known = kernels_known_ns();
		now = known < now ? known : now;
	}
	return now > device.begin ? (now - device.begin) / device.interval : 0;
}

EXPORT CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *p)
{
	(void)p;
	if (device.has_overflown)
		return CUPTI_ERROR_UNKNOWN;
	device.is_lost |= device.begin && device.done + device.skipped < count_ready();
	device.begin = now_ns();
	device.done = device.skipped = 0;
	device.is_started = true;
	tell("start", device.interval);
	return fails("start");
}

EXPORT CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *p)
{
	(void)p;
	device.stopped = now_ns();
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
	if (device.done == (uint64_t)number("FAKE_PM_JUMP", -1))
		device.begin -= 300;
}

/* Decoding takes its time, in which further samples come. */
static void take_time(void)
{
	static long owed_us;

	owed_us += number("FAKE_PM_COST_US", 0);
	if (owed_us >= 1000) {
		usleep((unsigned)owed_us);
		owed_us = 0;
	}
}

/* Old samples, all at one time. */
static void fill_with_old(struct image *image)
{
	for (; image->nr < image->max; image->nr++)
		image->at[image->nr].start = image->at[image->nr].end = device.begin - 500000000u;
}

/* A reader that is late because the machine is busy: the device has waited for it. */
static void forgive(const struct image *image)
{
	uint64_t given = device.done + device.skipped, ready = count_ready();
	uint64_t nr = ready > given ? ready - given : 0, room = image->max - image->nr;

	if (device.is_started && nr >= room && !number("FAKE_PM_COST_US", 0) && !getenv("FAKE_PM_KERNELS"))
		device.still += (nr - room + 1) * device.interval;
}

/* True when everything is decoded. */
static bool decode_all(struct image *image)
{
	uint64_t until = now_ns() + (uint64_t)number("FAKE_PM_LINGER_MS", 0) * 1000000u;

	forgive(image);
	while (device.done + device.skipped < count_ready() || (device.is_started && now_ns() < until)) {
		if (device.done + device.skipped >= count_ready()) {
			usleep(100);
			continue;
		}
		if (image->nr == image->max) {
			device.is_lost = device.is_started;
			device.skipped = count_ready() - device.done;
			return false;
		}
		add_sample(image);
		take_time();
	}
	return true;
}

EXPORT CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *p)
{
	struct image *image = (struct image *)(void *)p->pCounterDataImage;
	size_t before = image->nr;
	bool is_all;

	if (!device.begin)
		return CUPTI_ERROR_INVALID_OPERATION;
	p->overflow = device.has_overflown = ++device.nr_decodes == (unsigned)number("FAKE_PM_OVERFLOW", 0);
	if (p->overflow) {
		tell("full", 0);
		return CUPTI_ERROR_OUT_OF_MEMORY;
	}
	if (device.is_lost)
		fill_with_old(image);
	is_all = !device.is_lost && decode_all(image);
	tell("gave", image->nr - before);
	p->decodeStopReason = !is_all		 ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
			      : device.is_started ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER
						  : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
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
	const struct image *image = (const struct image *)(const void *)p->pCounterDataImage;
	double unit = getenv("FAKE_PM_IDLE") ? 0 : 1000;
	size_t k;

	if (getenv("FAKE_PM_KERNELS"))
		unit = count_kernels(image->at[p->rangeIndex].start, image->at[p->rangeIndex].end);
	for (k = 0; k < p->numMetrics; k++)
		p->pMetricValues[k] = unit > 0 && strcmp(p->ppMetricNames[k], "sm__cycles_elapsed.sum") == 0
					      ? (double)number("FAKE_PM_ELAPSED", 1000000)
					      : (double)(k + 1) * unit;
	return CUPTI_SUCCESS;
}
