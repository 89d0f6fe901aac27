/* The device's side of PM sampling: one object, started and stopped, drained in small images. */
#include "base/alloc.h"
#include "sample/pm_int.h"

#include <unistd.h>

#define MIN_BUFFER_BYTES (32u << 20)

int pm_device_make_image(
	struct sonde_sampling *s, struct pm_set *set, struct pm_image *m, struct sonde_err *err)
{
	CUpti_PmSampling_GetCounterDataSize_Params p = {
		.structSize = CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.pMetricNames = set->metrics,
		.numMetrics = set->names.nr,
		.maxSamples = s->image_samples};
	CUptiResult why = s->pm.cuptiPmSamplingGetCounterDataSize(&p);

	if (why)
		return pm_refuse(&s->pm, "size the image of samples", why, err);
	m->size = p.counterDataSize;
	m->bytes = sonde_malloc(m->size);
	return m->bytes ? pm_device_clear(s, m, err) : sonde_err_nomem(err);
}

int pm_device_clear(struct sonde_sampling *s, struct pm_image *m, struct sonde_err *err)
{
	CUpti_PmSampling_CounterDataImage_Initialize_Params p = {
		.structSize = CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.counterDataSize = m->size,
		.pCounterData = m->bytes};
	CUptiResult why = s->pm.cuptiPmSamplingCounterDataImageInitialize(&p);

	return why ? pm_refuse(&s->pm, "clear the image of samples", why, err) : 0;
}

int pm_device_open(struct sonde_sampling *s, struct sonde_err *err)
{
	CUpti_PmSampling_Enable_Params p = {
		.structSize = CUpti_PmSampling_Enable_Params_STRUCT_SIZE,
		.deviceIndex = s->q.device};
	CUptiResult why = s->pm.cuptiPmSamplingEnable(&p);
	size_t i;
	int rc = 0;

	if (why)
		return pm_refuse(&s->pm, "enable sampling", why, err);
	s->object = p.pPmSamplingObject;
	for (i = 0; i < s->nr_sets && rc == 0; i++)
		rc = pm_images_open(&s->sets[i].images, s, &s->sets[i], err);
	return rc;
}

void pm_device_close(struct sonde_sampling *s)
{
	CUpti_PmSampling_Disable_Params p = {
		.structSize = CUpti_PmSampling_Disable_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object};

	size_t i;

	if (!s->object)
		return;
	pm_device_stop(s, NULL);
	for (i = 0; i < s->nr_sets; i++)
		pm_images_close(s->sets[i].images);
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
		/* Turing and GA100 count cycles of a clock near 1 GHz instead. */
		.samplingInterval = s->interval_ns,
		.triggerMode = mode,
		.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST};

	return s->pm.cuptiPmSamplingSetConfig(&p);
}

int pm_device_use(struct sonde_sampling *s, struct sonde_err *err)
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
	return 0;
}

int pm_device_start(struct sonde_sampling *s, struct sonde_err *err)
{
	CUpti_PmSampling_Start_Params p = {.structSize = CUpti_PmSampling_Start_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object};
	CUptiResult why = s->pm.cuptiPmSamplingStart(&p);

	s->is_started = why == CUPTI_SUCCESS;
	return why ? pm_refuse(&s->pm, "start sampling", why, err) : 0;
}

int pm_device_stop(struct sonde_sampling *s, struct sonde_err *err)
{
	CUpti_PmSampling_Stop_Params p = {.structSize = CUpti_PmSampling_Stop_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object};
	CUptiResult why;

	if (!s->is_started)
		return 0;
	s->is_started = false;
	why = s->pm.cuptiPmSamplingStop(&p);
	return why ? pm_refuse(&s->pm, "stop sampling", why, err) : 0;
}

/* When the last sample ends: cheap to know before any is evaluated. */
static uint64_t end_of(struct sonde_sampling *s, const struct pm_image *m)
{
	CUpti_PmSampling_CounterData_GetSampleInfo_Params p = {
		.structSize = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.pCounterDataImage = m->bytes,
		.counterDataImageSize = m->size,
		.sampleIndex = m->nr - 1};

	return m->nr && s->pm.cuptiPmSamplingCounterDataGetSampleInfo(&p) == CUPTI_SUCCESS
		       ? p.endTimestamp
		       : 0;
}

int pm_device_drain(
	struct sonde_sampling *s, struct pm_image *m, struct pm_drained *out, struct sonde_err *err)
{
	CUpti_PmSampling_DecodeData_Params p = {
		.structSize = CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.pCounterDataImage = m->bytes,
		.counterDataImageSize = m->size};
	CUpti_PmSampling_GetCounterDataInfo_Params info = {
		.structSize = CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE,
		.pCounterDataImage = m->bytes,
		.counterDataImageSize = m->size};
	CUptiResult why = s->pm.cuptiPmSamplingDecodeData(&p);

	*out = (struct pm_drained){.has_overflown = p.overflow};
	m->nr = 0;
	if (why == CUPTI_ERROR_OUT_OF_MEMORY) { /* its word for a full hardware buffer */
		out->has_overflown = true;
		return 0;
	}
	if (why)
		return pm_refuse(&s->pm, "decode samples", why, err);
	why = s->pm.cuptiPmSamplingGetCounterDataInfo(&info);
	if (why)
		return pm_refuse(&s->pm, "count decoded samples", why, err);
	m->nr = info.numCompletedSamples;
	if (m->nr > s->image_samples)
		m->nr = s->image_samples;
	out->is_full = p.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
	out->nr = m->nr;
	out->end_ns = end_of(s, m);
	return 0;
}

int pm_device_sample(struct sonde_sampling *s, const struct pm_set *set, struct pm_image *m,
	size_t i, CUpti_Profiler_Host_Object *host, struct sonde_err *err)
{
	CUpti_PmSampling_CounterData_GetSampleInfo_Params info = {
		.structSize = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.pCounterDataImage = m->bytes,
		.counterDataImageSize = m->size,
		.sampleIndex = i};
	CUpti_Profiler_Host_EvaluateToGpuValues_Params p = {
		.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
		.pHostObject = host,
		.pCounterDataImage = m->bytes,
		.counterDataImageSize = m->size,
		.rangeIndex = i,
		.ppMetricNames = (const char **)(uintptr_t)set->metrics,
		.numMetrics = set->names.nr,
		.pMetricValues = &m->values[i * set->names.nr]};
	CUptiResult why = s->pm.cuptiPmSamplingCounterDataGetSampleInfo(&info);

	if (why)
		return pm_refuse(&s->pm, "read a sample's times", why, err);
	m->start_ns[i] = info.startTimestamp;
	m->end_ns[i] = info.endTimestamp;
	why = s->pm.cuptiProfilerHostEvaluateToGpuValues(&p);
	return why ? pm_refuse(&s->pm, "evaluate a sample", why, err) : 0;
}
