/* Samples: when they come, and how they are decoded. */
#include "fake_device.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* The device. There are samples to decode from `begin` until now, or until the stop. */
static struct {
	uint64_t interval, begin, stopped;
	uint64_t done, skipped; /* samples handed out, and samples left out, since the start */
	uint64_t still;		/* for how many nanoseconds its clock has stopped */
	size_t number;
	unsigned nr_decodes;
	bool is_started;
	size_t nr_counters; /* counters that it is configured for; 0 = it is not configured */
	bool is_lost;	    /* it decodes old samples again, until the device is enabled again */
	bool has_overflown; /* it cannot start, until the device is enabled again */
} device;

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - device.still;
}

EXPORT CUptiResult cuptiGetTimestamp(uint64_t *out)
{
	*out = now_ns();
	return CUPTI_SUCCESS;
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

/* The number of samples that are complete by now. */
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
	if (i == 0) /* the first sample also covers the time before */
		image->at[image->nr].start -= 500000000u;
	image->at[image->nr++].end = device.begin + (i + 1) * device.interval;
	if (device.done == (uint64_t)number("FAKE_PM_WRONG", -1)) /* this sample ends when it begins */
		image->at[image->nr - 1].end = image->at[image->nr - 1].start;
	if (device.done == gap)
		device.skipped += 10;
	if (device.done == (uint64_t)number("FAKE_PM_JUMP", -1))
		device.begin -= 300;
}

/* Takes the time of decoding, during which further samples come. */
static void take_time(void)
{
	static long owed_us;

	owed_us += number("FAKE_PM_COST_US", 0);
	if (owed_us >= 1000) {
		usleep((unsigned)owed_us);
		owed_us = 0;
	}
}

/* Fills the image with old samples, all at the same time. */
static void fill_with_old(struct image *image)
{
	for (; image->nr < image->max; image->nr++)
		image->at[image->nr].start = image->at[image->nr].end = device.begin - 500000000u;
}

/* If the reader is late because the machine is busy, the clock of the device has stopped meanwhile. */
static void forgive(const struct image *image)
{
	uint64_t given = device.done + device.skipped, ready = count_ready();
	uint64_t nr = ready > given ? ready - given : 0, room = image->max - image->nr;

	if (device.is_started && nr >= room && !number("FAKE_PM_COST_US", 0) && !getenv("FAKE_PM_KERNELS"))
		device.still += (nr - room + 1) * device.interval;
}

/* The same during decoding: a long time between two calls means that the process was stopped, and so was the device's clock. */
static void forgive_pause(uint64_t *seen)
{
	const uint64_t most = 1000000;
	uint64_t now = now_ns();

	if (!number("FAKE_PM_COST_US", 0) && now - *seen > most) {
		device.still += now - *seen - most;
		now = *seen + most;
	}
	*seen = now;
}

/* True when everything is decoded. */
static bool decode_all(struct image *image)
{
	uint64_t seen, until;

	forgive(image);
	seen = now_ns();
	until = seen + (uint64_t)number("FAKE_PM_LINGER_MS", 0) * 1000000u;
	while (device.done + device.skipped < count_ready() || (device.is_started && now_ns() < until)) {
		forgive_pause(&seen);
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
