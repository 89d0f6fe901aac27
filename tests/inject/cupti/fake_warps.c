/*
 * PC sampling: every launch while a context is sampled leaves known samples of its kernel, which wait here until the
 * library asks for them. $FAKE_PC_REFUSE names an error. The first $FAKE_PC_REFUSALS contexts that are asked for their
 * stall reasons have none. $FAKE_PC_DROP and $FAKE_PC_FULL choose what is lost. With $FAKE_PC_LAG samples come as late as those
 * of the real CUPTI may: they pass through two threads, each of which sleeps for as long as it was told. With $FAKE_PC_HOLD they
 * only come when sampling ends. $FAKE_PC_SLOW is how many milliseconds of a processor each handing over takes. $FAKE_PC_REASON
 * is the index of the barrier's reason, which may be one that was never announced.
 */
#include "fake_cupti.h"

#include <cupti_pcsampling.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PREFIX	   "smsp__pcsamp_warps_issue_stalled_"
#define NR_REASONS 6u
#define MAX_WAIT   4096u

/* The index of a reason is not its row in the list; that may also be so in the real CUPTI. */
static const struct {
	uint32_t index;
	const char *name;
} reasons[NR_REASONS] = {{11, PREFIX "long_scoreboard"}, {12, PREFIX "long_scoreboard_not_issued"}, {3, PREFIX "barrier"},
	{4, PREFIX "barrier_not_issued"}, {7, PREFIX "selected"}, {8, PREFIX "selected_not_issued"}};

struct waiting {
	char *name;
	uint64_t pc, ready_ns;
	uint32_t counts[NR_REASONS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiting *waiting;
static size_t nr_taken, nr_waiting, room; /* samples before nr_taken were handed over */
static int nr_enabled; /* contexts */
static int is_broken;
static uint64_t cubin = 0x1234, drains;
static uint32_t period, sleep_ms = 100;
static CUpti_PCSamplingData *rest[64]; /* by context */
static int is_dead[64];		       /* by context: it was destroyed */
static _Atomic uint64_t nr_asked_data;

/* Each thread has its own context. */
static CUcontext own_context(void)
{
	static _Atomic uintptr_t nr_threads;
	static _Thread_local uintptr_t own;

	if (!own)
		own = 0xc0 + 16 * (nr_threads++ % 64);
	return (CUcontext)own;
}

static size_t number_of(CUcontext context)
{
	return ((uintptr_t)context - 0xc0) / 16 % 64;
}

static CUpti_PCSamplingData **rest_of(CUcontext context)
{
	return &rest[number_of(context)];
}

/* The real CUPTI would crash. */
static void must_live(CUcontext context)
{
	if (!is_dead[number_of(context)])
		return;
	log_line("pc-dead", 0);
	abort();
}

/* Uses the processor for as long as $FAKE_PC_SLOW says. */
static void take_time(void)
{
	const char *ms = getenv("FAKE_PC_SLOW");
	struct timespec t;
	double begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	begin = now = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
	while (ms && now - begin < strtod(ms, NULL)) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
	}
}

static CUptiResult refusal(void)
{
	const char *why = getenv("FAKE_PC_REFUSE");

	if (!why)
		return CUPTI_SUCCESS;
	return !strcmp(why, "privileges")   ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
	       : !strcmp(why, "unsupported") ? CUPTI_ERROR_NOT_SUPPORTED
					     : CUPTI_ERROR_HARDWARE_BUSY;
}

static void add(char *name, uint64_t pc, uint32_t reason, uint32_t samples, uint32_t not_issued)
{
	struct waiting *w;

	if (nr_waiting == room) {
		room = room ? 2 * room : MAX_WAIT;
		waiting = realloc(waiting, room * sizeof(*waiting));
	}
	w = &waiting[nr_waiting++];
	memset(w, 0, sizeof(*w));
	w->name = name;
	w->pc = pc;
	w->ready_ns = now_ns() + (getenv("FAKE_PC_LAG") ? 2 * sleep_ms * 1000000ull : 0);
	w->counts[2 * reason] = samples;
	w->counts[2 * reason + 1] = not_issued;
}

/* One string for each function, as in the real CUPTI. */
static char *kept_name(const char *name)
{
	static char *names[64];
	size_t i;

	for (i = 0; i < 63 && names[i] && strcmp(names[i], name) != 0; i++)
		;
	if (!names[i])
		names[i] = strdup(name);
	return names[i];
}

/*
 * The known samples of one launch: 60 wait for memory at 0x10 (30 not issued), 30 at a barrier at 0x20 or $FAKE_PC_BARRIER,
 * 10 are issued at 0x10. With $FAKE_PC_MANY=N each launch also has one sample at each of N instructions of its own.
 */
void sample_launch(const char *name)
{
	static uint64_t next = 0x1000;
	const char *many = getenv("FAKE_PC_MANY"), *barrier = getenv("FAKE_PC_BARRIER");
	long i, nr = many ? strtol(many, NULL, 10) : 0;

	pthread_mutex_lock(&lock);
	if (nr_enabled) {
		char *kept = kept_name(name);

		add(kept, 0x10, 0, 60, 30);
		add(kept, barrier ? strtoull(barrier, NULL, 0) : 0x20, 1, 30, 0);
		add(kept, 0x10, 2, 10, 0);
		for (i = 0; i < nr; i++, next += 16)
			add(kept, next, 0, 1, 0);
	}
	pthread_mutex_unlock(&lock);
}

static uint32_t index_of(size_t reason)
{
	const char *barrier = getenv("FAKE_PC_REASON");

	return barrier && reason == 2 ? (uint32_t)strtoul(barrier, NULL, 10) : reasons[reason].index;
}

/* Hands over as many samples as fit, of those that are ready at `by_ns`, the oldest first. */
static void hand_over(CUpti_PCSamplingData *to, uint64_t by_ns)
{
	const struct waiting *w = waiting + nr_taken;
	size_t i, k, nr = 0, nr_ready = nr_waiting - nr_taken;

	while (nr_ready && w[nr_ready - 1].ready_ns > by_ns)
		nr_ready--;
	nr = nr_ready < to->collectNumPcs ? nr_ready : to->collectNumPcs;
	for (i = 0; i < nr; i++) {
		CUpti_PCSamplingPCData *p = &to->pPcData[i];

		if (p->size != sizeof(*p) || !p->stallReason)
			abort(); /* the real CUPTI would refuse this */
		p->cubinCrc = cubin;
		p->functionName = w[i].name;
		p->pcOffset = w[i].pc;
		p->stallReasonCount = 0;
		for (k = 0; k < NR_REASONS; k++)
			if (w[i].counts[k])
				p->stallReason[p->stallReasonCount++] =
					(CUpti_PCSamplingStallReason){index_of(k), w[i].counts[k]};
	}
	to->totalNumPcs = nr;
	to->totalSamples = 252; /* this is wrong in the real CUPTI too */
	nr_taken += nr;
	to->remainingNumPcs = nr_ready - nr;
	if (nr_taken == nr_waiting)
		nr_taken = nr_waiting = 0;
}

EXPORT CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *p)
{
	CUptiResult rc = refusal();

	must_be_there();
	if (p->size != CUpti_PCSamplingEnableParamsSize || !p->ctx)
		return CUPTI_ERROR_INVALID_PARAMETER;
	log_line(rc == CUPTI_SUCCESS ? "pc-enable" : "pc-refused", 0);
	pthread_mutex_lock(&lock);
	nr_enabled += rc == CUPTI_SUCCESS;
	pthread_mutex_unlock(&lock);
	return rc;
}

EXPORT CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *p)
{
	must_be_there();
	pthread_mutex_lock(&lock);
	must_live(p->ctx);
	if (nr_enabled && *rest_of(p->ctx))
		hand_over(*rest_of(p->ctx), UINT64_MAX);
	nr_enabled -= nr_enabled > 0;
	pthread_mutex_unlock(&lock);
	log_line("pc-disable", 0);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *p)
{
	static int has_lost;
	CUpti_PCSamplingData *to = p->pcSamplingData;
	const char *drop = getenv("FAKE_PC_DROP");
	CUptiResult rc = CUPTI_SUCCESS;

	must_be_there();
	if (p->size != CUpti_PCSamplingGetDataParamsSize || to->size != sizeof(*to))
		return CUPTI_ERROR_INVALID_PARAMETER;
	nr_asked_data++;
	take_time();
	pthread_mutex_lock(&lock);
	must_live(p->ctx);
	if (is_broken) /* the real CUPTI may crash */
		abort();
	if (!nr_enabled)
		rc = CUPTI_ERROR_INVALID_OPERATION;
	else if (getenv("FAKE_PC_BREAK") && nr_waiting > nr_taken) {
		is_broken = 1;
		rc = CUPTI_ERROR_UNKNOWN;
		to->totalNumPcs = to->collectNumPcs;
		to->pPcData[0].functionName = (char *)1; /* the real CUPTI then fills in garbage */
	} else if (!has_lost && getenv("FAKE_PC_FULL"))
		rc = CUPTI_ERROR_OUT_OF_MEMORY;
	else
		hand_over(to, getenv("FAKE_PC_HOLD") ? 0 : now_ns());
	if (!has_lost && drop)
		to->droppedSamples = strtoull(drop, NULL, 10);
	has_lost = 1;
	drains += !to->remainingNumPcs;
	pthread_mutex_unlock(&lock);
	return rc;
}

EXPORT CUptiResult cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *p)
{
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < p->numAttributes; i++) {
		const CUpti_PCSamplingConfigurationInfo *at = &p->pPCSamplingConfigurationInfo[i];

		if (at->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
			period = at->attributeData.samplingPeriodData.samplingPeriod;
		if (at->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN)
			sleep_ms = at->attributeData.workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan;
		if (at->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
			*rest_of(p->ctx) = at->attributeData.samplingDataBufferData.samplingDataBuffer;
		if (at->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL)
			abort(); /* with this the real CUPTI hangs programs */
		if (at->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE &&
			at->attributeData.collectionModeData.collectionMode != CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS)
			abort(); /* with this the real CUPTI serialises kernels */
	}
	i = period;
	pthread_mutex_unlock(&lock);
	log_line("pc-period", i);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *p)
{
	static _Atomic long nr_asked;
	const char *refusals = getenv("FAKE_PC_REFUSALS");

	*p->numStallReasons = NR_REASONS;
	if (refusals && nr_asked++ < strtol(refusals, NULL, 10))
		return CUPTI_ERROR_UNKNOWN;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *p)
{
	size_t i;

	for (i = 0; i < p->numStallReasons && i < NR_REASONS; i++) {
		p->stallReasonIndex[i] = reasons[i].index;
		snprintf(p->stallReasons[i], CUPTI_STALL_REASON_STRING_SIZE, "%s", reasons[i].name);
	}
	return CUPTI_SUCCESS;
}

static uint64_t sum_of(const unsigned char *p, size_t n)
{
	uint64_t h = 1469598103934665603u;

	for (; n; n -= n < 4096 ? n : 4096, p += 4096) /* one byte of each page is enough */
		h = (h ^ *p) * 1099511628211u + n;
	return h;
}

EXPORT CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams *p)
{
	p->cubinCrc = sum_of(p->cubin, p->cubinSize);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *device)
{
	(void)context;
	*device = 0;
	return CUPTI_SUCCESS;
}

EXPORT void fake_context(int is_made)
{
	CUpti_ResourceData r;

	memset(&r, 0, sizeof(r));
	r.context = own_context();
	pthread_mutex_lock(&lock);
	is_dead[number_of(r.context)] = 0;
	pthread_mutex_unlock(&lock);
	tell(CUPTI_CB_DOMAIN_RESOURCE,
		is_made ? CUPTI_CBID_RESOURCE_CONTEXT_CREATED : CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &r, 0);
	pthread_mutex_lock(&lock);
	is_dead[number_of(r.context)] = !is_made;
	pthread_mutex_unlock(&lock);
}

EXPORT void fake_module(const void *code, size_t nr_bytes)
{
	CUpti_ModuleResourceData m;
	CUpti_ResourceData r;

	memset(&m, 0, sizeof(m));
	memset(&r, 0, sizeof(r));
	m.pCubin = code;
	m.cubinSize = nr_bytes;
	r.context = own_context();
	r.resourceDescriptor = &m;
	pthread_mutex_lock(&lock);
	cubin = sum_of(code, nr_bytes);
	pthread_mutex_unlock(&lock);
	tell(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &r, 0);
}

EXPORT uint64_t fake_drains(void)
{
	uint64_t nr;

	pthread_mutex_lock(&lock);
	nr = drains;
	pthread_mutex_unlock(&lock);
	return nr;
}

EXPORT uint64_t fake_asked(void)
{
	return nr_asked_data;
}
