/* Callbacks: reports calls of the runtime and of the driver to the library. */
#include "fake_cupti.h"

#include <stdlib.h>
#include <string.h>

#define NR_IDS 16

static CUpti_CallbackFunc callback;
static unsigned char is_enabled[CUPTI_CB_DOMAIN_SIZE][64];
static uint32_t correlation = 100, first_id; /* correlation ids are counted from first_id */
static __thread int is_at_end;		     /* this thread is in the callback for the end of a call */

static const char *const driver_names[NR_IDS] = {
	NULL, "cuInit", "cuLaunchKernel", "cuGraphLaunch", "cuMemcpyHtoD_v2", "cuMemsetD8_v2",
	"cuStreamSynchronize", "cuMemAlloc_v2", "cuMemFree_v2", "cuProfilerStart", "cuProfilerStop",
	"cuEventRecord", "cuStreamWaitEvent", "cuEventSynchronize"};
static const char *const runtime_names[NR_IDS] = {
	NULL, "cudaMalloc_v3020", "cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000"};

void set_callback(CUpti_CallbackFunc fn)
{
	__atomic_store_n(&callback, fn, __ATOMIC_RELEASE);
}

int has_callback(void)
{
	return __atomic_load_n(&callback, __ATOMIC_ACQUIRE) != NULL;
}

void forget_callbacks(void)
{
	size_t i;

	set_callback(NULL);
	for (i = 0; i < sizeof(is_enabled); i++)
		__atomic_store_n(&is_enabled[0][0] + i, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&first_id, __atomic_load_n(&correlation, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

int is_at_end_of_call(void)
{
	return is_at_end;
}

uint32_t next_id(void)
{
	return __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED) -
	       __atomic_load_n(&first_id, __ATOMIC_RELAXED);
}

uint32_t which_stay(void)
{
	return __atomic_load_n(&first_id, __ATOMIC_RELAXED);
}

EXPORT CUptiResult cuptiEnableCallback(
	uint32_t enable, CUpti_SubscriberHandle s, CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	(void)s;
	must_be_there();
	if (domain >= CUPTI_CB_DOMAIN_SIZE || id >= 64)
		return CUPTI_ERROR_INVALID_PARAMETER;
	__atomic_store_n(&is_enabled[domain][id], (unsigned char)enable, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
	const char *const *names =
		domain == CUPTI_CB_DOMAIN_DRIVER_API ? driver_names : runtime_names;

	if (id >= NR_IDS || !names[id])
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = names[id];
	return CUPTI_SUCCESS;
}

void tell(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data, int is_end)
{
	CUpti_CallbackFunc fn = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);

	is_at_end = is_end;
	if (fn && __atomic_load_n(&is_enabled[domain][id], __ATOMIC_RELAXED))
		fn(NULL, domain, id, data);
	is_at_end = 0;
}

/* The handle of a stream is its number; the default stream has CUPTI's number. */
EXPORT CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t is_of_thread, uint32_t *id)
{
	(void)context;
	(void)is_of_thread;
	must_be_there();
	*id = stream ? (uint32_t)(uintptr_t)stream : 7;
	return CUPTI_SUCCESS;
}

void call_with(CUpti_CallbackId id, uint32_t corr, int site, const void *params)
{
	static __thread uint64_t kept;
	CUpti_CallbackData d = {0};

	d.callbackSite = (CUpti_ApiCallbackSite)site;
	d.correlationId = corr;
	d.correlationData = &kept;
	d.functionParams = params;
	d.functionName = driver_names[id];
	tell(CUPTI_CB_DOMAIN_DRIVER_API, id, &d, site == CUPTI_API_EXIT);
}

void call(CUpti_CallbackDomain domain, CUpti_CallbackId id, uint32_t corr, int site)
{
	static __thread uint64_t kept[2]; /* what a tool keeps from entry to exit of a call */
	CUpti_CallbackData d = {0};

	d.callbackSite = (CUpti_ApiCallbackSite)site;
	d.correlationId = corr;
	d.correlationData = &kept[domain == CUPTI_CB_DOMAIN_DRIVER_API];
	tell(domain, id, &d, site == CUPTI_API_EXIT);
}

/*
 * Both calls share a correlation id. With `$FAKE_CUPTI_IDS` each has its own, and the variable chooses which one the records
 * have. Whether there is a record is decided inside the call: disabling the kind after its end has no effect on it.
 */
struct made_call call_both(CUpti_CallbackId id)
{
	const char *whose = getenv("FAKE_CUPTI_IDS");
	struct made_call made = {.stay = which_stay()};
	uint32_t outer = next_id(), inner = outer;

	if (whose)
		inner = next_id();
	call(CUPTI_CB_DOMAIN_RUNTIME_API, id, outer, CUPTI_API_ENTER);
	call(CUPTI_CB_DOMAIN_DRIVER_API, id, inner, CUPTI_API_ENTER);
	made.is_recorded = pay_in_call();
	call(CUPTI_CB_DOMAIN_DRIVER_API, id, inner, CUPTI_API_EXIT);
	call(CUPTI_CB_DOMAIN_RUNTIME_API, id, outer, CUPTI_API_EXIT);
	pay_behind_call();
	made.id = whose && !strcmp(whose, "driver") ? inner : outer;
	return made;
}
