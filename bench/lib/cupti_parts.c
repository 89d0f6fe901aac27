/*
 * A library that only switches parts of CUPTI on: it writes no events, its callbacks return at once, and
 * it drops records as they come. Its overhead is CUPTI's own, and no tool that uses the same parts can
 * have less (see bench/overhead.py).
 *
 * $CUPTI_PARTS has words with + between them:
 *   subscribe  a subscriber of callbacks …
 *   driver     … who is called at launches in the driver, or
 *   runtime    … in the runtime, or
 *   resource   … when resources come and go
 *   kernels    records of kernels …
 *   copies     … and of copies and fills, and of
 *   overhead   … CUPTI's own overhead
 *   calls      records of launches in the driver
 *   external   ids pushed and popped with NVTX ranges, and records of those
 *   zeroed     buffers are filled with zeros before CUPTI gets them
 *   pinned     CUPTI keeps times in host memory
 *   device     it has 8 device buffers of 16 MB from the beginning
 *   hardware   times by the hardware's event system, where there is one
 *   tenth      all that for 10 ms of every 100 ms …
 *   counted    … but for callbacks, which stay
 *   late       all that for 10 ms, five seconds after the beginning, and then no more, or
 *   once       … in the first three seconds, and then no more, …
 *   unsubscribe … nor a subscriber, …
 *   finalize   … nor CUPTI
 */
#include "inject/nvtx_int.h"

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT	     __attribute__((visibility("default")))
#define BUFFER_BYTES (256u << 10)
#define NR_BUFFERS   64u
#define NR_CALLS     2048u

#define CALLS(X)                                                                                   \
	X(cuptiActivityRegisterCallbacks)                                                          \
	X(cuptiActivityEnable)                                                                     \
	X(cuptiActivityDisable)                                                                    \
	X(cuptiActivitySetAttribute)                                                               \
	X(cuptiActivityEnableDriverApi)                                                            \
	X(cuptiActivityEnableHWTrace)                                                              \
	X(cuptiActivityPushExternalCorrelationId)                                                  \
	X(cuptiActivityPopExternalCorrelationId)                                                   \
	X(cuptiSubscribe)                                                                          \
	X(cuptiUnsubscribe)                                                                        \
	X(cuptiFinalize)                                                                           \
	X(cuptiEnableCallback)                                                                     \
	X(cuptiEnableDomain)                                                                       \
	X(cuptiGetCallbackName)

static struct {
#define MEMBER(name) __typeof__(&name) name;
	CALLS(MEMBER)
} cupti;

static const char *parts;
static CUpti_SubscriberHandle subscriber;
static atomic_bool is_to_end;
static _Alignas(64) uint8_t buffers[NR_BUFFERS][BUFFER_BYTES];
static atomic_flag taken[NR_BUFFERS];

static bool has(const char *word)
{
	const char *p = strstr(parts, word);

	return p && (p == parts || p[-1] == '+') &&
	       (!p[strlen(word)] || p[strlen(word)] == '+');
}

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	size_t i;

	*max_records = 0;
	for (i = 0; i < NR_BUFFERS && atomic_flag_test_and_set(&taken[i]); i++)
		;
	*buffer = i < NR_BUFFERS ? buffers[i] : NULL;
	*size = i < NR_BUFFERS ? BUFFER_BYTES : 0;
}

static void CUPTIAPI completed(
	CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context, (void)stream, (void)valid;
	if (!buffer)
		return;
	if (has("zeroed"))
		memset(buffer, 0, size);
	atomic_flag_clear(&taken[(size_t)(buffer - buffers[0]) / BUFFER_BYTES]);
}

static void refuse(const char *what, CUptiResult rc)
{
	if (rc != CUPTI_SUCCESS)
		fprintf(stderr, "%s: %s: CUPTI says %d\n", parts, what, (int)rc);
}

static void CUPTIAPI called(
	void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)user, (void)id;
	/* CUPTI may only be ended at the end of a call. */
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && call->callbackSite == CUPTI_API_EXIT &&
		atomic_exchange(&is_to_end, false))
		refuse("the end", cupti.cuptiFinalize());
}

static bool load(void)
{
	void *lib = dlopen("libcupti.so.13", RTLD_LAZY);

	if (!lib)
		lib = dlopen("/usr/local/cuda/lib64/libcupti.so", RTLD_LAZY);
	if (!lib)
		return false;
#define FIND(name)                                                                                 \
	*(void **)&cupti.name = dlsym(lib, #name);                                                 \
	if (!cupti.name)                                                                           \
		return false;
	CALLS(FIND)
	return true;
}

/* Turns on callbacks, or records, of calls in a domain. */
static void switch_calls(
	CUpti_CallbackDomain domain, const char *what, bool records, uint8_t is_on)
{
	const char *name;
	CUpti_CallbackId id;

	for (id = 1; id < NR_CALLS; id++) {
		if (cupti.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name)
			break;
		if (!strstr(name, what))
			continue;
		if (records)
			refuse(name, cupti.cuptiActivityEnableDriverApi(id, is_on));
		else
			refuse(name, cupti.cuptiEnableCallback(is_on, subscriber, domain, id));
	}
}

static void switch_kind(CUpti_ActivityKind kind, bool is_on)
{
	refuse("a kind of activity",
		is_on ? cupti.cuptiActivityEnable(kind) : cupti.cuptiActivityDisable(kind));
}

static void switch_callbacks(bool is_on)
{
	if (has("driver"))
		switch_calls(CUPTI_CB_DOMAIN_DRIVER_API, "Launch", false, is_on);
	if (has("runtime"))
		switch_calls(CUPTI_CB_DOMAIN_RUNTIME_API, "Launch", false, is_on);
	if (has("resource"))
		cupti.cuptiEnableDomain(is_on, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
}

static void switch_records(bool is_on)
{
	if (has("kernels"))
		switch_kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, is_on);
	if (has("copies")) {
		switch_kind(CUPTI_ACTIVITY_KIND_MEMCPY, is_on);
		switch_kind(CUPTI_ACTIVITY_KIND_MEMSET, is_on);
	}
	if (has("overhead"))
		switch_kind(CUPTI_ACTIVITY_KIND_OVERHEAD, is_on);
	if (has("calls"))
		switch_calls(CUPTI_CB_DOMAIN_DRIVER_API, "Launch", true, is_on);
	if (has("external"))
		switch_kind(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, is_on);
}

static void set_attribute(CUpti_ActivityAttribute which, size_t value, size_t size)
{
	refuse("an attribute", cupti.cuptiActivitySetAttribute(which, &size, &value));
}

static void set_attributes(void)
{
	if (has("zeroed"))
		set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1, 1);
	if (has("pinned"))
		set_attribute(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, 1, 1);
	if (has("device")) {
		set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, 16u << 20, sizeof(size_t));
		set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, 8,
			sizeof(size_t));
	}
	if (has("hardware"))
		refuse("hardware times", cupti.cuptiActivityEnableHWTrace(1));
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Switches on and off; also prints how long switching takes. */
static void *toggle(void *arg)
{
	double took[2] = {0}, begin;
	unsigned i;

	(void)arg;
	for (i = 1;; i++) {
		usleep(i % 2 ? 10000 : 90000);
		begin = now_us();
		switch_records(i % 2 == 0);
		if (!has("counted"))
			switch_callbacks(i % 2 == 0);
		took[i % 2] += now_us() - begin;
		if (i == 100)
			fprintf(stderr, "%s: switching on takes %.0f us, off %.0f us\n", parts,
				took[0] / 50, took[1] / 50);
	}
	return NULL;
}

static void begin(void)
{
	refuse("buffers", cupti.cuptiActivityRegisterCallbacks(requested, completed));
	if (has("subscribe") || has("driver") || has("runtime") || has("resource"))
		refuse("a subscriber", cupti.cuptiSubscribe(&subscriber, called, NULL));
	switch_callbacks(true);
	switch_records(true);
}

static void *end_all(void *arg)
{
	(void)arg;
	if (has("late")) {
		sleep(5);
		begin();
		usleep(10000);
	} else {
		sleep(3);
	}
	switch_records(false);
	if (has("finalize")) {
		atomic_store(&is_to_end, true);
		return NULL;
	}
	switch_callbacks(false);
	if (has("unsubscribe"))
		refuse("to unsubscribe", cupti.cuptiUnsubscribe(subscriber));
	return NULL;
}

int InitializeInjection(void);
EXPORT int InitializeInjection(void)
{
	pthread_t thread;

	parts = getenv("CUPTI_PARTS") ? getenv("CUPTI_PARTS") : "kernels";
	if (!load())
		return 0;
	set_attributes();
	if (!has("late"))
		begin();
	if (has("tenth"))
		pthread_create(&thread, NULL, toggle, NULL);
	if (has("once") || has("late"))
		pthread_create(&thread, NULL, end_all, NULL);
	return 1;
}

/* --- NVTX, for external ids ---------------------------------------------------------------- */

static int NVTX_API pushed(const char *text)
{
	(void)text;
	if (cupti.cuptiActivityPushExternalCorrelationId)
		cupti.cuptiActivityPushExternalCorrelationId(
			CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 1);
	return 0;
}

static int NVTX_API popped(void)
{
	uint64_t id;

	if (cupti.cuptiActivityPopExternalCorrelationId)
		cupti.cuptiActivityPopExternalCorrelationId(
			CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id);
	return 0;
}

static int NVTX_API nothing(void)
{
	return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
	static NvtxFunctionPointer hooks[64];
	static const struct sonde_nvtx_module modules[] = {
		{NVTX_CB_MODULE_CORE, hooks, NVTX_CBID_CORE_SIZE}};
	const char *words = getenv("CUPTI_PARTS");
	size_t i;

	for (i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		hooks[i] = (NvtxFunctionPointer)nothing;
	if (words && strstr(words, "external")) {
		hooks[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)pushed;
		hooks[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)popped;
	}
	return sonde_nvtx__fill(get_table, modules, 1);
}
