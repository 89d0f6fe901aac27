/* The device's side of PM sampling: one object, started and stopped, drained in small images. */
#include "base/alloc.h"
#include "sample/pm_int.h"

#include <unistd.h>

#define BUFFER_BYTES	 (512u << 20) /* a second or two of raw samples */
#define MIN_BUFFER_BYTES (32u << 20)

static int make_image(struct sonde_sampling *s, struct pm_set *set, struct sonde_err *err)
{
	CUpti_PmSampling_GetCounterDataSize_Params p = {
		.structSize = CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.pMetricNames = set->metrics,
		.numMetrics = set->names.nr,
		.maxSamples = PM_IMAGE_SAMPLES};
	CUptiResult why = s->pm.cuptiPmSamplingGetCounterDataSize(&p);

	if (why)
		return pm_refuse(&s->pm, "size the image of samples", why, err);
	set->image_size = p.counterDataSize;
	set->image = sonde_malloc(set->image_size);
	return set->image ? 0 : sonde_err_nomem(err);
}

static int clear_image(struct sonde_sampling *s, struct pm_set *set, struct sonde_err *err)
{
	CUpti_PmSampling_CounterDataImage_Initialize_Params p = {
		.structSize = CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.counterDataSize = set->image_size,
		.pCounterData = set->image};
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
	s->buffer_bytes = BUFFER_BYTES;
	for (i = 0; i < s->nr_sets && rc == 0; i++)
		rc = make_image(s, &s->sets[i], err);
	return rc;
}

void pm_device_close(struct sonde_sampling *s)
{
	CUpti_PmSampling_Disable_Params p = {
		.structSize = CUpti_PmSampling_Disable_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object};

	if (!s->object)
		return;
	pm_device_stop(s, NULL);
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
	return clear_image(s, &s->sets[s->current], err);
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

int pm_device_drain(struct sonde_sampling *s, struct pm_drained *out, struct sonde_err *err)
{
	struct pm_set *set = &s->sets[s->current];
	CUpti_PmSampling_DecodeData_Params p = {
		.structSize = CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.pCounterDataImage = set->image,
		.counterDataImageSize = set->image_size};
	CUpti_PmSampling_GetCounterDataInfo_Params info = {
		.structSize = CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE,
		.pCounterDataImage = set->image,
		.counterDataImageSize = set->image_size};
	int rc = clear_image(s, set, err);
	CUptiResult why;

	*out = (struct pm_drained){0};
	if (rc)
		return rc;
	why = s->pm.cuptiPmSamplingDecodeData(&p);
	if (why == CUPTI_ERROR_OUT_OF_MEMORY) { /* its word for a full hardware buffer */
		out->has_overflown = true;
		return 0;
	}
	if (why)
		return pm_refuse(&s->pm, "decode samples", why, err);
	why = s->pm.cuptiPmSamplingGetCounterDataInfo(&info);
	if (why)
		return pm_refuse(&s->pm, "count decoded samples", why, err);
	out->nr = info.numCompletedSamples;
	out->has_more =
		p.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
	out->has_overflown = p.overflow;
	return 0;
}

int pm_device_sample(struct sonde_sampling *s, size_t i, uint64_t *start_ns, uint64_t *end_ns,
	double *values, struct sonde_err *err)
{
	struct pm_set *set = &s->sets[s->current];
	CUpti_PmSampling_CounterData_GetSampleInfo_Params info = {
		.structSize = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE,
		.pPmSamplingObject = s->object,
		.pCounterDataImage = set->image,
		.counterDataImageSize = set->image_size,
		.sampleIndex = i};
	CUpti_Profiler_Host_EvaluateToGpuValues_Params p = {
		.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
		.pHostObject = set->host,
		.pCounterDataImage = set->image,
		.counterDataImageSize = set->image_size,
		.rangeIndex = i,
		.ppMetricNames = set->metrics,
		.numMetrics = set->names.nr,
		.pMetricValues = values};
	CUptiResult why = s->pm.cuptiPmSamplingCounterDataGetSampleInfo(&info);

	if (why)
		return pm_refuse(&s->pm, "read a sample's times", why, err);
	*start_ns = info.startTimestamp;
	*end_ns = info.endTimestamp;
	why = s->pm.cuptiProfilerHostEvaluateToGpuValues(&p);
	return why ? pm_refuse(&s->pm, "evaluate a sample", why, err) : 0;
}
