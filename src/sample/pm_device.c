/*
 * The device's side of PM sampling: reserves and starts the device, and drains it image by image. An image is the memory
 * into which CUPTI decodes samples.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "sample/pm_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MIN_BUFFER_BYTES (32u << 20)

/* --- images ------------------------------------------------------------------------------------ */

static int find_size(struct sonde_sampling *s, struct pm_set *set, uint32_t nr, size_t *size,
	struct sonde_err *err)
{
	CUpti_PmSampling_GetCounterDataSize_Params p = {
		.structSize = CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.pMetricNames = set->metrics,
		.numMetrics = set->names.nr,
		.maxSamples = nr};
	CUptiResult why = s->pm.cuptiPmSamplingGetCounterDataSize(&p);

	*size = p.counterDataSize;
	return why ? pm_refuse(&s->pm, "size the image of samples", why, err) : 0;
}

int pm_image_sample_bytes(struct sonde_sampling *s, uint64_t *bytes, struct sonde_err *err)
{
	const uint32_t many = 1024;
	size_t size = 0, i;
	int rc = 0;

	*bytes = 1;
	for (i = 0; i < s->facts.nr_sets && rc == 0; i++) {
		rc = find_size(s, &s->sets[i], many, &size, err);
		*bytes = size / many > *bytes ? size / many : *bytes;
	}
	return rc;
}

static void free_image(struct pm_image *m)
{
	sonde_free(m->bytes);
	sonde_free(m->empty);
	sonde_free(m->start_ns);
	sonde_free(m->end_ns);
	sonde_free(m->values);
	*m = (struct pm_image){0};
}

/* Makes an empty image once, to clear the other one by copying: letting CUPTI clear an image takes twice as long. */
static int fill_empty(struct sonde_sampling *s, struct pm_image *m, struct sonde_err *err)
{
	CUpti_PmSampling_CounterDataImage_Initialize_Params p = {
		.structSize = CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.counterDataSize = m->size,
		.pCounterData = m->empty};
	CUptiResult why = s->pm.cuptiPmSamplingCounterDataImageInitialize(&p);

	if (why)
		return pm_refuse(&s->pm, "clear the image of samples", why, err);
	memcpy(m->bytes, m->empty, m->size);
	return 0;
}

static int make_image(struct sonde_sampling *s, struct pm_set *set, uint32_t nr, struct sonde_err *err)
{
	struct pm_image *m = &set->image;
	int rc;

	free_image(m);
	rc = find_size(s, set, nr, &m->size, err);
	if (rc)
		return rc;
	m->room = nr;
	m->bytes = sonde_malloc(m->size);
	m->empty = sonde_malloc(m->size);
	m->start_ns = sonde_calloc(nr, sizeof(*m->start_ns));
	m->end_ns = sonde_calloc(nr, sizeof(*m->end_ns));
	m->values = sonde_calloc((size_t)nr * set->names.nr, sizeof(*m->values));
	if (!m->bytes || !m->empty || !m->start_ns || !m->end_ns || !m->values)
		return sonde_err_nomem(err);
	return fill_empty(s, m, err);
}

void pm_images_free(struct sonde_sampling *s)
{
	size_t i;

	for (i = 0; i < s->facts.nr_sets; i++)
		free_image(&s->sets[i].image);
}

/* Makes room for `nr` samples: behind those that the image has, or by clearing the image, or by making one of another size. */
static int prepare_image(struct sonde_sampling *s, struct pm_set *set, size_t nr, struct sonde_err *err)
{
	struct pm_image *m = &set->image;

	nr = nr < s->most_samples ? nr : s->most_samples;
	if (nr > m->room) /* there is no image yet, or many samples wait after a long pause */
		return make_image(s, set, nr > s->image_samples ? (uint32_t)nr : s->image_samples, err);
	if (m->nr + nr <= m->room)
		return 0;
	if (m->room > s->image_samples && nr <= s->image_samples) /* the usual size is enough again */
		return make_image(s, set, s->image_samples, err);
	memcpy(m->bytes, m->empty, m->size);
	m->nr = 0;
	return 0;
}

/* --- the device -------------------------------------------------------------------------------- */

int pm_device_open(struct sonde_sampling *s, struct sonde_err *err)
{
	CUpti_PmSampling_Enable_Params p = {
		.structSize = CUpti_PmSampling_Enable_Params_STRUCT_SIZE,
		.deviceIndex = s->q.device};
	CUptiResult why = s->pm.cuptiPmSamplingEnable(&p);

	if (why)
		return pm_refuse(&s->pm, "enable sampling", why, err);
	s->object = p.pPmSamplingObject;
	return 0;
}

void pm_device_close(struct sonde_sampling *s)
{
	CUpti_PmSampling_Stop_Params stop = {.structSize = CUpti_PmSampling_Stop_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object};
	CUpti_PmSampling_Disable_Params p = {
		.structSize = CUpti_PmSampling_Disable_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object};

	if (!s->object)
		return;
	s->pm.cuptiPmSamplingStop(&stop);
	s->pm.cuptiPmSamplingDisable(&p);
	s->object = NULL;
}

static CUptiResult configure(struct sonde_sampling *s, CUpti_PmSampling_TriggerMode mode)
{
	struct pm_set *set = &s->sets[s->current];
	CUpti_PmSampling_SetConfig_Params p = {
		.structSize = CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.configSize = set->config_size,
		.pConfig = set->config,
		.hardwareBufferSize = s->buffer_bytes,
		/* On Turing and GA100, the interval is not in nanoseconds but in cycles of a clock near 1 GHz. */
		.samplingInterval = s->interval_ns,
		.triggerMode = mode,
		.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST};

	return s->pm.cuptiPmSamplingSetConfig(&p);
}

static int use_set(struct sonde_sampling *s, struct sonde_err *err)
{
	CUptiResult why = configure(s, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);

	while (why == CUPTI_ERROR_OUT_OF_MEMORY && s->buffer_bytes > MIN_BUFFER_BYTES) {
		s->buffer_bytes /= 2;
		why = configure(s, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
	}
	if (why)
		why = configure(s, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
	if (why)
		return pm_refuse(&s->pm, "configure the counters", why, err);
	s->sets[s->current].names.interval_ns = s->interval_ns;
	s->used_set = s->current;
	s->used_ns = s->interval_ns;
	return 0;
}

/* Reserves the device again. Images are valid only for the reservation in which they were made. */
static int reopen_device(struct sonde_sampling *s, struct sonde_err *err)
{
	pm_images_free(s);
	return pm_device_open(s, err);
}

int pm_device_start(struct sonde_sampling *s, struct sonde_err *err)
{
	CUpti_PmSampling_Start_Params p = {.structSize = CUpti_PmSampling_Start_Params_STRUCT_SIZE};
	CUptiResult why;
	int rc = 0;

	if (s->object && s->used_ns && (s->used_ns != s->interval_ns || s->used_set != s->current))
		pm_device_close(s);
	if (!s->object)
		rc = reopen_device(s, err);
	if (rc == 0)
		rc = use_set(s, err);
	if (rc)
		return rc;
	p.pPmSamplingObject = s->object;
	why = s->pm.cuptiPmSamplingStart(&p);
	return why ? pm_refuse(&s->pm, "start sampling", why, err) : 0;
}

int pm_device_stop(struct sonde_sampling *s, struct sonde_err *err)
{
	CUpti_PmSampling_Stop_Params p = {.structSize = CUpti_PmSampling_Stop_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object};
	CUptiResult why = s->pm.cuptiPmSamplingStop(&p);

	return why ? pm_refuse(&s->pm, "stop sampling", why, err) : 0;
}

/* Looks up when a sample began and ended. */
static CUptiResult look_up(struct sonde_sampling *s, struct pm_image *m, size_t i)
{
	CUpti_PmSampling_CounterData_GetSampleInfo_Params p = {
		.structSize = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.pCounterDataImage = m->bytes,
		.counterDataImageSize = m->size,
		.sampleIndex = i};
	CUptiResult why = s->pm.cuptiPmSamplingCounterDataGetSampleInfo(&p);

	m->start_ns[i] = p.startTimestamp;
	m->end_ns[i] = p.endTimestamp;
	return why;
}

/* How many samples the image holds now. */
static int count_samples(struct sonde_sampling *s, struct pm_image *m, struct sonde_err *err)
{
	CUpti_PmSampling_GetCounterDataInfo_Params p = {
		.structSize = CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE,
		.pCounterDataImage = m->bytes,
		.counterDataImageSize = m->size};
	CUptiResult why = s->pm.cuptiPmSamplingGetCounterDataInfo(&p);

	m->nr = p.numCompletedSamples < m->room ? p.numCompletedSamples : m->room;
	return why ? pm_refuse(&s->pm, "count decoded samples", why, err) : 0;
}

int pm_device_drain(
	struct sonde_sampling *s, size_t expected, struct pm_drained *out, struct sonde_err *err)
{
	struct pm_image *m = &s->sets[s->current].image;
	int rc = prepare_image(s, &s->sets[s->current], expected, err);
	CUpti_PmSampling_DecodeData_Params p = {
		.structSize = CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.pCounterDataImage = m->bytes,
		.counterDataImageSize = m->size};
	uint64_t begin = sonde_now_ns();
	CUptiResult why;

	*out = (struct pm_drained){.first = m->nr};
	if (rc)
		return rc;
	why = s->pm.cuptiPmSamplingDecodeData(&p);
	out->decode_ns = sonde_now_ns() - begin;
	out->has_overflown = p.overflow || why == CUPTI_ERROR_OUT_OF_MEMORY; /* CUPTI uses this error for an overflow too */
	if (why == CUPTI_ERROR_OUT_OF_MEMORY)
		return 0;
	if (why)
		return pm_refuse(&s->pm, "decode samples", why, err);
	rc = count_samples(s, m, err);
	out->nr = m->nr > out->first ? m->nr - out->first : 0;
	out->is_full = p.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
	out->is_end = p.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
	return rc;
}

int pm_device_sample(struct sonde_sampling *s, size_t i, struct sonde_err *err)
{
	struct pm_set *set = &s->sets[s->current];
	struct pm_image *m = &set->image;
	CUpti_Profiler_Host_EvaluateToGpuValues_Params p = {
		.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
		.pHostObject = set->host,
		.pCounterDataImage = m->bytes,
		.counterDataImageSize = m->size,
		.rangeIndex = i,
		.ppMetricNames = set->metrics,
		.numMetrics = set->names.nr,
		.pMetricValues = &m->values[i * set->names.nr]};
	CUptiResult why = look_up(s, m, i);

	if (why)
		return pm_refuse(&s->pm, "read a sample's times", why, err);
	why = s->pm.cuptiProfilerHostEvaluateToGpuValues(&p);
	return why ? pm_refuse(&s->pm, "evaluate a sample", why, err) : 0;
}

/* Asks CUPTI for the peak of one counter; 0 = it has none. One by one, since CUPTI refuses a whole list if one name has no peak. */
static double find_peak(struct pm_set *set, const struct pm *pm, struct sonde_str name)
{
	char text[256];
	const char *names[] = {text};
	double peak = 0;
	CUpti_Profiler_Host_EvaluateToGpuValues_Params p = {
		.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
		.pHostObject = set->host,
		.pCounterDataImage = set->image.bytes,
		.counterDataImageSize = set->image.size,
		.ppMetricNames = names,
		.numMetrics = 1,
		.pMetricValues = &peak};

	if (snprintf(text, sizeof(text), "%.*s.peak_sustained", SONDE_STR_ARG(name)) >= (int)sizeof(text))
		return 0;
	if (pm->cuptiProfilerHostEvaluateToGpuValues(&p) != CUPTI_SUCCESS)
		return 0;
	return isfinite(peak) && peak > 0 ? peak : 0;
}

void pm_device_find_peaks(struct sonde_sampling *s)
{
	struct pm_set *set = &s->sets[s->current];
	uint32_t i;

	if (set->has_peaks || !set->image.nr)
		return;
	set->has_peaks = true;
	for (i = 0; i < set->names.nr; i++)
		if (set->names.at[i].role.n)
			set->names.at[i].peak = find_peak(set, &s->pm, set->names.at[i].name);
}
