/*
 * Switches CUPTI's PC sampling off and on again inside a program that `sonde run --lines` captures (bench/pc_cost.py): two
 * processes of one host-bound loop differ by more than sampling costs.
 *
 * It is loaded before libcupti.so and links it, so that the injected library finds these three calls here and all
 * others in libcupti.so. CUPTI may only be switched while the GPU has nothing to do, by the thread that launches its work.
 */
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define EXPORT	__attribute__((visibility("default")))
#define MAX_SET 8

static struct {
	pthread_mutex_t lock; /* a drain and a switch exclude each other */
	CUcontext context;
	CUpti_PCSamplingConfigurationInfo set[MAX_SET];
	size_t nr_set;
	bool is_off;
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

EXPORT CUptiResult CUPTIAPI cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *p)
{
	now.context = p->ctx;
	return NEXT(cuptiPCSamplingEnable)(p);
}

EXPORT CUptiResult CUPTIAPI cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *p)
{
	now.nr_set = p->numAttributes < MAX_SET ? p->numAttributes : MAX_SET;
	memcpy(now.set, p->pPCSamplingConfigurationInfo, now.nr_set * sizeof(now.set[0]));
	return NEXT(cuptiPCSamplingSetConfigurationAttribute)(p);
}

EXPORT CUptiResult CUPTIAPI cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *p)
{
	CUptiResult rc = CUPTI_SUCCESS;

	pthread_mutex_lock(&now.lock);
	if (!now.is_off)
		rc = NEXT(cuptiPCSamplingGetData)(p);
	pthread_mutex_unlock(&now.lock);
	return rc;
}

static CUptiResult configure(unsigned exponent, unsigned worker_ms)
{
	CUpti_PCSamplingConfigurationInfoParams p = {.size = CUpti_PCSamplingConfigurationInfoParamsSize,
		.ctx = now.context, .numAttributes = now.nr_set, .pPCSamplingConfigurationInfo = now.set};
	size_t i;

	for (i = 0; i < now.nr_set; i++) {
		CUpti_PCSamplingConfigurationInfo *set = &now.set[i];

		if (exponent && set->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
			set->attributeData.samplingPeriodData.samplingPeriod = exponent;
		if (worker_ms && set->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN)
			set->attributeData.workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan = worker_ms;
	}
	return NEXT(cuptiPCSamplingSetConfigurationAttribute)(&p);
}

/*
 * Returns 0, or CUPTI's error. `exponent` is that of the period, `worker_ms` the sleep of CUPTI's thread in milliseconds;
 * 0 leaves them as they are.
 */
EXPORT int pc_switch(int on, unsigned exponent, unsigned worker_ms)
{
	CUpti_PCSamplingDisableParams disable = {.size = CUpti_PCSamplingDisableParamsSize, .ctx = now.context};
	CUpti_PCSamplingEnableParams enable = {.size = CUpti_PCSamplingEnableParamsSize, .ctx = now.context};
	CUptiResult rc = CUPTI_SUCCESS;

	if (!now.context)
		return -1;
	pthread_mutex_lock(&now.lock);
	if (!now.is_off) {
		rc = NEXT(cuptiPCSamplingDisable)(&disable);
		now.is_off = rc == CUPTI_SUCCESS;
	}
	if (on && rc == CUPTI_SUCCESS) {
		rc = NEXT(cuptiPCSamplingEnable)(&enable);
		if (rc == CUPTI_SUCCESS)
			rc = configure(exponent, worker_ms);
		now.is_off = rc != CUPTI_SUCCESS;
	}
	pthread_mutex_unlock(&now.lock);
	return (int)rc;
}
