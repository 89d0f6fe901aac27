/* Counters: their names, the sets that fit into a pass, and their values in a sample. */
#include "fake_device.h"

#include <stdlib.h>
#include <string.h>

#define NR_BASES (sizeof(bases) / sizeof(*bases))

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
