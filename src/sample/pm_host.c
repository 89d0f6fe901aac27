/* CUPTI's host half: counters → a configuration of the hardware. */
#include "base/alloc.h"
#include "sample/pm_int.h"

int pm_host_open(CUpti_Profiler_Host_Object **out, struct sonde_sampling *s, struct sonde_err *err)
{
	CUpti_Profiler_Host_Initialize_Params p = {
		.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
		.profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING,
		.pChipName = s->facts.chip,
		.pCounterAvailabilityImage = s->available};
	CUptiResult why = s->pm.cuptiProfilerHostInitialize(&p);

	*out = why ? NULL : p.pHostObject;
	return why ? pm_refuse(&s->pm, "look up the chip's counters", why, err) : 0;
}

void pm_host_close(struct sonde_sampling *s, CUpti_Profiler_Host_Object *host)
{
	CUpti_Profiler_Host_Deinitialize_Params p = {
		.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE,
		.pHostObject = host};

	if (host)
		s->pm.cuptiProfilerHostDeinitialize(&p);
}

static CUptiResult add(
	struct sonde_sampling *s, CUpti_Profiler_Host_Object *host, const char **names, size_t nr)
{
	CUpti_Profiler_Host_ConfigAddMetrics_Params p = {
		.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE,
		.pHostObject = host,
		.ppMetricNames = names,
		.numMetrics = nr};

	return s->pm.cuptiProfilerHostConfigAddMetrics(&p);
}

/* The configuration of what was added, to be freed; NULL when there is none. */
static uint8_t *make_config(
	struct sonde_sampling *s, CUpti_Profiler_Host_Object *host, size_t *size)
{
	CUpti_Profiler_Host_GetConfigImageSize_Params p = {
		.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE,
		.pHostObject = host};
	CUpti_Profiler_Host_GetConfigImage_Params image = {
		.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE,
		.pHostObject = host};

	if (s->pm.cuptiProfilerHostGetConfigImageSize(&p) != CUPTI_SUCCESS)
		return NULL;
	image.configImageSize = *size = p.configImageSize;
	image.pConfigImage = sonde_malloc(p.configImageSize);
	if (image.pConfigImage && s->pm.cuptiProfilerHostGetConfigImage(&image) != CUPTI_SUCCESS) {
		sonde_free(image.pConfigImage);
		return NULL;
	}
	return image.pConfigImage;
}

static size_t count_passes(struct sonde_sampling *s, uint8_t *config, size_t size)
{
	CUpti_Profiler_Host_GetNumOfPasses_Params p = {
		.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE,
		.configImageSize = size,
		.pConfigImage = config};

	return s->pm.cuptiProfilerHostGetNumOfPasses(&p) == CUPTI_SUCCESS ? p.numOfPasses : 0;
}

/* A host object of its own for each question: a refused name may leave one half-configured. */
size_t pm_host_passes(struct sonde_sampling *s, const char **names, size_t nr)
{
	CUpti_Profiler_Host_Object *host = NULL;
	uint8_t *config = NULL;
	size_t size = 0, passes = 0;

	if (pm_host_open(&host, s, NULL) == 0 && add(s, host, names, nr) == CUPTI_SUCCESS)
		config = make_config(s, host, &size);
	if (config)
		passes = count_passes(s, config, size);
	sonde_free(config);
	pm_host_close(s, host);
	return passes;
}

int pm_host_configure(struct sonde_sampling *s, struct pm_set *set, struct sonde_err *err)
{
	int rc = pm_host_open(&set->host, s, err);
	CUptiResult why;

	if (rc)
		return rc;
	why = add(s, set->host, set->metrics, set->names.nr);
	if (why)
		return pm_refuse(&s->pm, "choose counters", why, err);
	set->config = make_config(s, set->host, &set->config_size);
	if (!set->config)
		return sonde_err_set(err, SONDE_ERR_IO,
			"CUPTI cannot configure these counters together on %s: ask for fewer", s->facts.chip);
	return 0;
}
