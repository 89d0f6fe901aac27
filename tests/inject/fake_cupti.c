/*
 * A CUPTI without a GPU: as much of it as the injected library calls, with
 * "work" that is told by the program (fake_cuda.c) instead of done. Records
 * have the vendor's own layout, buffers and callbacks come as CUPTI's do, so
 * the library's CUPTI half runs on any machine. That real CUPTI behaves so is
 * for tests/gpu to show.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_version.h>

#define EXPORT __attribute__((visibility("default")))
#define NR_IDS 16

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_record;
typedef CUpti_ActivityMemcpy6 memcpy_record;
typedef CUpti_ActivityDevice5 device_record;
typedef CUpti_ActivityOverhead3 overhead_record;
#else
typedef CUpti_ActivityKernel9 kernel_record;
typedef CUpti_ActivityMemcpy5 memcpy_record;
typedef CUpti_ActivityDevice4 device_record;
typedef CUpti_ActivityOverhead2 overhead_record;
#endif

static CUpti_CallbackFunc callback;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static unsigned char is_enabled[CUPTI_CB_DOMAIN_SIZE][64];
static unsigned kinds[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *buffer;
static size_t buffer_size, used, nr_dropped;
static uint64_t added_ns; /* when the last record was: with $FAKE_CUPTI_LATE_MS work runs on for so long */
static uint32_t correlation = 100, first_id; /* ids count from there */
static int must_be_zero;

/*
 * After cuptiFinalize nothing may be called but what begins again, and it may be called at the end of a CUDA
 * call only; ids begin again. The real one kills the program when there is a graph it has seen: so does this one.
 * $FAKE_CUPTI_LOG gets a line each time: `gone N`, with N records that were lost by it; `refused` where it could not
 * begin again; `graph` when a graph is recorded for the first time.
 */
static int is_gone, has_graph;
static __thread int is_at_end; /* of a call */

static void log_line(const char *word, size_t number)
{
	const char *path = getenv("FAKE_CUPTI_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%s %zu\n", word, number);
	fclose(f);
}

static void must_be(int is_right, int status)
{
	if (!is_right)
		_exit(status);
}

static uint32_t next_id(void)
{
	return __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED) -
	       __atomic_load_n(&first_id, __ATOMIC_RELAXED);
}

static void must_be_there(void)
{
	must_be(!__atomic_load_n(&is_gone, __ATOMIC_RELAXED), 11);
}

/* With `$FAKE_CUPTI_HOLDS` full buffers wait until somebody asks. */
#define MAX_HELD 64
static struct held {
	uint8_t *buffer;
	size_t size, used;
} held[MAX_HELD];
static size_t nr_held, nr_out; /* of those the library gave, nr_out are not back */

static const char *const driver_names[NR_IDS] = {
	NULL, "cuInit", "cuLaunchKernel", "cuGraphLaunch", "cuMemcpyHtoD_v2", "cuMemsetD8_v2",
	"cuStreamSynchronize", "cuMemAlloc_v2", "cuMemFree_v2", "cuProfilerStart", "cuProfilerStop"};
static const char *const runtime_names[NR_IDS] = {
	NULL, "cudaMalloc_v3020", "cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000"};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Runtime and driver calls with ids of their own are an older version's. */
EXPORT CUptiResult cuptiGetVersion(uint32_t *version)
{
	*version = getenv("FAKE_CUPTI_IDS") ? 120000 : 130000;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc fn, void *user)
{
	(void)user;
	if (__atomic_load_n(&is_gone, __ATOMIC_RELAXED) && getenv("FAKE_CUPTI_TAKEN_LATER")) {
		log_line("refused", 0);
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	}
	if (getenv("FAKE_CUPTI_TAKEN"))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	__atomic_store_n(&is_gone, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&callback, fn, __ATOMIC_RELEASE);
	*out = (CUpti_SubscriberHandle)&callback;
	return CUPTI_SUCCESS;
}

#ifdef CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN
/* $FAKE_CUPTI_TAKEN may be a name: that is what the subscriber is called. */
EXPORT CUptiResult cuptiSubscribe_v2(
	CUpti_SubscriberHandle *out, CUpti_CallbackFunc fn, void *user, CUpti_SubscriberParams *p)
{
	CUptiResult rc = cuptiSubscribe(out, fn, user);
	const char *name = getenv("FAKE_CUPTI_TAKEN");

	if (rc != CUPTI_SUCCESS && p && p->structSize == CUpti_SubscriberParams_STRUCT_SIZE && name && strcmp(name, "1") != 0)
		snprintf(p->oldSubscriberName, p->oldSubscriberSize, "CUPTI for %s", name);
	return rc;
}

EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle s)
{
	(void)s;
	__atomic_store_n(&callback, NULL, __ATOMIC_RELEASE);
	return CUPTI_SUCCESS;
}
#endif

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

EXPORT CUptiResult cuptiActivityRegisterCallbacks(
	CUpti_BuffersCallbackRequestFunc r, CUpti_BuffersCallbackCompleteFunc c)
{
	if (getenv("FAKE_CUPTI_SCOPED")) /* somebody uses the functions called _v2 */
		return CUPTI_ERROR_NOT_COMPATIBLE;
	__atomic_store_n(&request, r, __ATOMIC_RELEASE);
	__atomic_store_n(&complete, c, __ATOMIC_RELEASE);
	return CUPTI_SUCCESS;
}

/* As far as tests ask for it: whether buffers come clean. */
EXPORT CUptiResult cuptiActivitySetAttribute(
	CUpti_ActivityAttribute which, size_t *size, void *value)
{
	if (getenv("FAKE_CUPTI_SCOPED"))
		return CUPTI_ERROR_NOT_COMPATIBLE;
	if (which == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER && *size == 1)
		__atomic_store_n(&must_be_zero, *(uint8_t *)value, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

/*
 * What it costs the program: a launch that is recorded takes $FAKE_CUPTI_RECORD_NS longer; while kernels
 * are switched on or off launches wait, $FAKE_CUPTI_SWITCH_US; the first one that is recorded then takes
 * $FAKE_CUPTI_FIRST_US longer, behind its call where no callback sees it. How much it came to, and of
 * how long a run, is written to the file $FAKE_CUPTI_COST with each switch and at the end: by the number of times, and
 * as a clock saw it, for which a machine that is busy with others takes longer.
 */
static struct {
	uint64_t record_ns, switch_ns, first_ns, late_ns;
	uint64_t nr_recorded, nr_switches, nr_firsts, begin_ns, spent_ns;
	int is_first;
} cost;
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;

static uint64_t environment(const char *name)
{
	return getenv(name) ? strtoull(getenv(name), NULL, 10) : 0;
}

static void spin(uint64_t ns)
{
	uint64_t begin = now_ns(), now = begin;

	while (now < begin + ns)
		now = now_ns();
	__atomic_add_fetch(&cost.spent_ns, now - begin, __ATOMIC_RELAXED);
}

__attribute__((destructor)) static void tell_cost(void)
{
	FILE *f = getenv("FAKE_CUPTI_COST") ? fopen(getenv("FAKE_CUPTI_COST"), "w") : NULL;

	if (!f)
		return;
	fprintf(f, "lost %llu of %llu switches %llu recorded %llu spent %llu\n",
		(unsigned long long)(cost.nr_recorded * cost.record_ns + cost.nr_switches * cost.switch_ns +
				     cost.nr_firsts * cost.first_ns),
		(unsigned long long)(now_ns() - cost.begin_ns), (unsigned long long)cost.nr_switches,
		(unsigned long long)cost.nr_recorded, (unsigned long long)cost.spent_ns);
	fclose(f);
}

static void end_graph(uint64_t end);

static CUptiResult set_kind(CUpti_ActivityKind kind, unsigned is_on)
{
	must_be_there();
	if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
		pthread_mutex_lock(&switching);
		spin(cost.switch_ns);
		__atomic_add_fetch(&cost.nr_switches, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&cost.is_first, (int)is_on, __ATOMIC_RELAXED);
		tell_cost();
		pthread_mutex_unlock(&switching);
	}
	__atomic_store_n(&kinds[kind], is_on, __ATOMIC_RELAXED);
	if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && !is_on)
		end_graph(now_ns() + 10000000000);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return set_kind(kind, 1);
}

EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return set_kind(kind, 0);
}

/* Inside the call of a launch, and behind it. */
static void pay_in_call(void)
{
	if (cost.switch_ns) {
		pthread_mutex_lock(&switching);
		pthread_mutex_unlock(&switching);
	}
	if (cost.record_ns && __atomic_load_n(&kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], __ATOMIC_RELAXED)) {
		__atomic_add_fetch(&cost.nr_recorded, 1, __ATOMIC_RELAXED);
		spin(cost.record_ns);
	}
}

static void pay_behind_call(void)
{
	if (cost.first_ns && __atomic_exchange_n(&cost.is_first, 0, __ATOMIC_RELAXED)) {
		__atomic_add_fetch(&cost.nr_firsts, 1, __ATOMIC_RELAXED);
		spin(cost.first_ns);
	}
}

static size_t size_of(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(kernel_record);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(memcpy_record);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(CUpti_ActivityMemset4);
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		return sizeof(CUpti_ActivityMemory4);
	case CUPTI_ACTIVITY_KIND_DRIVER:
		return sizeof(CUpti_ActivityAPI);
	case CUPTI_ACTIVITY_KIND_OVERHEAD: /* an older version's is shorter */
		return getenv("FAKE_CUPTI_IDS") ? sizeof(CUpti_ActivityOverhead2)
						: sizeof(overhead_record);
	default:
		return sizeof(device_record);
	}
}

EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *b, size_t valid, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + size_of((*record)->kind) : b;

	if (next >= b + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)next;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext c, uint32_t s, size_t *dropped)
{
	(void)c, (void)s;
	*dropped = __atomic_exchange_n(&nr_dropped, 0, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

static size_t take_held(struct held *out)
{
	size_t n;

	pthread_mutex_lock(&lock);
	n = nr_held;
	memcpy(out, held, n * sizeof(*out));
	nr_held = 0;
	if (buffer)
		out[n++] = (struct held){buffer, buffer_size, used};
	buffer = NULL;
	used = 0;
	pthread_mutex_unlock(&lock);
	return n;
}

static void hand_over(void)
{
	struct held full[MAX_HELD + 1];
	size_t i, n = take_held(full);

	for (i = 0; i < n; i++) {
		__atomic_load_n(&complete, __ATOMIC_ACQUIRE)(NULL, 0, full[i].buffer, full[i].size, full[i].used);
		__atomic_sub_fetch(&nr_out, 1, __ATOMIC_RELAXED);
	}
}

EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	must_be_there();
	if (flag)
		end_graph(0);
	else if (now_ns() - __atomic_load_n(&added_ns, __ATOMIC_RELAXED) < cost.late_ns)
		return CUPTI_SUCCESS;
	hand_over();
	return CUPTI_SUCCESS;
}

/* As the real one it waits until recorded work has ended; records that were not asked for are lost. */
static size_t forget_records(void)
{
	struct held left[MAX_HELD + 1];
	CUpti_Activity *r;
	size_t i, n, nr = 0;

	while (__atomic_load_n(&used, __ATOMIC_RELAXED) &&
		now_ns() - __atomic_load_n(&added_ns, __ATOMIC_RELAXED) < cost.late_ns)
		usleep(1000);
	n = take_held(left);
	for (i = 0; i < n; i++) {
		for (r = NULL; cuptiActivityGetNextRecord(left[i].buffer, left[i].used, &r) == CUPTI_SUCCESS; nr++)
			;
		__atomic_load_n(&complete, __ATOMIC_ACQUIRE)(NULL, 0, left[i].buffer, left[i].size, 0);
		__atomic_sub_fetch(&nr_out, 1, __ATOMIC_RELAXED);
	}
	return nr;
}

EXPORT CUptiResult cuptiFinalize(void)
{
	size_t i;

	must_be_there();
	must_be(is_at_end, 12);
	must_be(!__atomic_load_n(&has_graph, __ATOMIC_RELAXED), 13);
	log_line("gone", forget_records());
	__atomic_store_n(&is_gone, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&callback, NULL, __ATOMIC_RELEASE);
	for (i = 0; i < sizeof(is_enabled); i++)
		__atomic_store_n(&is_enabled[0][0] + i, 0, __ATOMIC_RELAXED);
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		__atomic_store_n(&kinds[i], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&first_id, __atomic_load_n(&correlation, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetTimestamp(uint64_t *ns)
{
	must_be_there();
	*ns = now_ns();
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	*id = (uint64_t)(uintptr_t)node;
	return CUPTI_SUCCESS;
}

/* --- what the program tells ------------------------------------------------------------------ */

/* A GPU takes its time; this one waits a while for whoever should ask. */
static void hold(void)
{
	size_t i;

	pthread_mutex_lock(&lock);
	if (buffer && nr_held < MAX_HELD) /* or it was taken meanwhile */
		held[nr_held++] = (struct held){buffer, buffer_size, used};
	buffer = NULL;
	used = 0;
	pthread_mutex_unlock(&lock);
	for (i = 0; i < 1000 && __atomic_load_n(&nr_out, __ATOMIC_RELAXED) >= MAX_HELD / 2; i++)
		usleep(1000);
}

static void put(const void *record, size_t n);

static void add(const void *record, size_t n)
{
	if (__atomic_load_n(&kinds[((const CUpti_Activity *)record)->kind], __ATOMIC_RELAXED))
		put(record, n); /* somebody asked for it */
}

/* A buffer of the library's with room for `n` bytes; NULL: it has none. With the lock held. */
static uint8_t *room(size_t n)
{
	size_t max;

	while (buffer && used + n > buffer_size) { /* other threads may fill the next one meanwhile */
		pthread_mutex_unlock(&lock);
		if (getenv("FAKE_CUPTI_HOLDS"))
			hold();
		else
			hand_over();
		pthread_mutex_lock(&lock);
	}
	if (buffer || !__atomic_load_n(&request, __ATOMIC_ACQUIRE))
		return buffer;
	__atomic_load_n(&request, __ATOMIC_ACQUIRE)(&buffer, &buffer_size, &max);
	used = 0;
	if (buffer)
		__atomic_add_fetch(&nr_out, 1, __ATOMIC_RELAXED);
	if (buffer && __atomic_load_n(&must_be_zero, __ATOMIC_RELAXED) &&
		(buffer[0] || memcmp(buffer, buffer + 1, buffer_size - 1) != 0))
		_exit(9); /* a buffer was handed over dirty */
	return buffer && used + n <= buffer_size ? buffer : NULL;
}

static void put(const void *record, size_t n)
{
	if (getenv("FAKE_CUPTI_STOLEN"))
		return; /* they go to whoever registered last */
	pthread_mutex_lock(&lock);
	if (room(n)) {
		memcpy(buffer + used, record, n);
		used += n;
		__atomic_store_n(&added_ns, now_ns(), __ATOMIC_RELAXED);
	} else {
		__atomic_add_fetch(&nr_dropped, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
}

static void tell(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data, int is_end)
{
	CUpti_CallbackFunc fn = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);

	is_at_end = is_end;
	if (fn && __atomic_load_n(&is_enabled[domain][id], __ATOMIC_RELAXED))
		fn(NULL, domain, id, data);
	is_at_end = 0;
}

/* CUPTI is there, and a graph is: it is changed by it. */
static void meet_graph(void)
{
	if (!__atomic_load_n(&is_gone, __ATOMIC_RELAXED) &&
		__atomic_load_n(&callback, __ATOMIC_ACQUIRE))
		__atomic_store_n(&has_graph, 1, __ATOMIC_RELAXED);
}

static void call(CUpti_CallbackDomain domain, CUpti_CallbackId id, uint32_t corr, int site)
{
	static __thread uint64_t kept[2]; /* what a tool keeps from entry to exit of a call */
	CUpti_CallbackData d = {0};

	d.callbackSite = (CUpti_ApiCallbackSite)site;
	d.correlationId = corr;
	d.correlationData = &kept[domain == CUPTI_CB_DOMAIN_DRIVER_API];
	tell(domain, id, &d, site == CUPTI_API_EXIT);
}

/*
 * A runtime call around a driver call. They share a correlation id, or with `$FAKE_CUPTI_IDS` each
 * has its own, and that says whose the records carry.
 */
static uint32_t api(CUpti_CallbackId id)
{
	const char *whose = getenv("FAKE_CUPTI_IDS");
	uint32_t outer = next_id(), inner = outer;

	if (whose)
		inner = next_id();
	call(CUPTI_CB_DOMAIN_RUNTIME_API, id, outer, CUPTI_API_ENTER);
	call(CUPTI_CB_DOMAIN_DRIVER_API, id, inner, CUPTI_API_ENTER);
	pay_in_call();
	call(CUPTI_CB_DOMAIN_DRIVER_API, id, inner, CUPTI_API_EXIT);
	call(CUPTI_CB_DOMAIN_RUNTIME_API, id, outer, CUPTI_API_EXIT);
	pay_behind_call();
	return whose && !strcmp(whose, "driver") ? inner : outer;
}

/* The graph that was launched last. If it still runs when kernels are switched off it does not end well. */
static kernel_record running;

static void end_graph(uint64_t end)
{
	kernel_record k;

	pthread_mutex_lock(&switching);
	k = running;
	running.kind = 0;
	pthread_mutex_unlock(&switching);
	if (end && k.end > now_ns())
		k.end = end;
	if (k.kind && !__atomic_load_n(&is_gone, __ATOMIC_RELAXED))
		put(&k, sizeof(k));
}

static void run_graph(const kernel_record *k)
{
	static int is_logged;

	end_graph(0);
	if (!__atomic_load_n(&kinds[k->kind], __ATOMIC_RELAXED))
		return;
	if (!__atomic_exchange_n(&is_logged, 1, __ATOMIC_RELAXED))
		log_line("graph", 0);
	pthread_mutex_lock(&switching);
	running = *k;
	pthread_mutex_unlock(&switching);
}

static void kernel(const char *name, uint64_t node, uint32_t corr, uint32_t stream,
	const uint64_t times[2])
{
	kernel_record k;

	memset(&k, 0, sizeof(k));
	k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	k.correlationId = corr;
	k.start = times[0];
	k.end = times[1];
	k.name = name;
	k.contextId = 1;
	k.streamId = stream;
	k.gridX = 64;
	k.gridY = k.gridZ = k.blockY = k.blockZ = 1;
	k.blockX = 256;
	k.registersPerThread = 32;
	k.graphNodeId = node;
	if (node)
		run_graph(&k);
	else
		add(&k, sizeof(k));
}

static int varies; /* $FAKE_CUPTI_VARIES */

__attribute__((constructor)) static void look_around(void)
{
	varies = getenv("FAKE_CUPTI_VARIES") != NULL;
	cost.record_ns = environment("FAKE_CUPTI_RECORD_NS");
	cost.switch_ns = environment("FAKE_CUPTI_SWITCH_US") * 1000;
	cost.first_ns = environment("FAKE_CUPTI_FIRST_US") * 1000;
	cost.late_ns = environment("FAKE_CUPTI_LATE_MS") * 1000000;
	cost.begin_ns = now_ns();
}

/* How long a kernel takes: the same for the same launch of every run, and not the same for all. */
static uint64_t varied(uint32_t id, const char *name)
{
	uint64_t h = (id ^ (uint64_t)name[2] << 32) * 0x9e3779b97f4a7c15u;

	return strstr(name, "gemm") ? 2000 + (h >> 32) % 4000 : 500 + (h >> 32) % 200;
}

void fake_launch(const char *name, uint64_t node);
EXPORT void fake_launch(const char *name, uint64_t node)
{
	uint32_t corr, number;
	uint64_t start;

	if (node)
		meet_graph();
	corr = api(node ? 3 : 2);
	number = corr + __atomic_load_n(&first_id, __ATOMIC_RELAXED);
	start = now_ns();
	kernel(name, node, corr, strstr(name, "axpy") ? 13 : 7,
		(const uint64_t[2]){start, start + (strstr(name, "slow") ? 5000000 : varies ? varied(number, name) : 1234)});
}

/* A kernel whose times the program knows. */
void fake_kernel(const char *name, uint32_t stream, const uint64_t times[2]);
EXPORT void fake_kernel(const char *name, uint32_t stream, const uint64_t times[2])
{
	kernel(name, 0, api(2), stream, times);
}

static void overhead(void)
{
	overhead_record o;

	memset(&o, 0, sizeof(o));
	o.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	o.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
	o.start = now_ns();
	o.end = o.start + 100;
	add(&o, size_of(CUPTI_ACTIVITY_KIND_OVERHEAD));
}

/* The copy begins after so long, and the call returns with it. */
void fake_copy_late(uint64_t bytes, unsigned us);
EXPORT void fake_copy_late(uint64_t bytes, unsigned us)
{
	memcpy_record m;

	memset(&m, 0, sizeof(m));
	m.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	m.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
	m.bytes = bytes;
	m.correlationId = next_id();
	call(CUPTI_CB_DOMAIN_DRIVER_API, 4, m.correlationId, CUPTI_API_ENTER);
	if (us)
		usleep(us);
	m.start = now_ns();
	m.end = m.start + 500;
	call(CUPTI_CB_DOMAIN_DRIVER_API, 4, m.correlationId, CUPTI_API_EXIT);
	overhead();
	add(&m, sizeof(m));
}

void fake_copy(uint64_t bytes);
EXPORT void fake_copy(uint64_t bytes)
{
	fake_copy_late(bytes, 0);
}

/* A call of the driver that takes a while: 6 synchronises, 7 allocates, 8 frees. */
void fake_wait(unsigned id, unsigned us);
EXPORT void fake_wait(unsigned id, unsigned us)
{
	uint32_t corr = next_id();

	call(CUPTI_CB_DOMAIN_DRIVER_API, id, corr, CUPTI_API_ENTER);
	usleep(us);
	call(CUPTI_CB_DOMAIN_DRIVER_API, id, corr, CUPTI_API_EXIT);
}

/* Waits as if for a stream. */
void fake_sync(unsigned us);
EXPORT void fake_sync(unsigned us)
{
	fake_wait(6, us);
}

/* cudaProfilerStart and cudaProfilerStop. */
void fake_profiler(int is_start);
EXPORT void fake_profiler(int is_start)
{
	uint32_t id = next_id();

	call(CUPTI_CB_DOMAIN_DRIVER_API, is_start ? 9 : 10, id, CUPTI_API_ENTER);
	call(CUPTI_CB_DOMAIN_DRIVER_API, is_start ? 9 : 10, id, CUPTI_API_EXIT);
}

/* Takes or gives back memory. */
void fake_memory(uint64_t address, uint64_t bytes, int is_free);
EXPORT void fake_memory(uint64_t address, uint64_t bytes, int is_free)
{
	CUpti_ActivityMemory4 m;

	memset(&m, 0, sizeof(m));
	m.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
	m.memoryOperationType = is_free ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
					: CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
	m.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	m.correlationId = next_id();
	m.address = address;
	m.bytes = bytes;
	call(CUPTI_CB_DOMAIN_DRIVER_API, is_free ? 8 : 7, m.correlationId, CUPTI_API_ENTER);
	m.timestamp = now_ns();
	call(CUPTI_CB_DOMAIN_DRIVER_API, is_free ? 8 : 7, m.correlationId, CUPTI_API_EXIT);
	add(&m, sizeof(m));
}

/* The driver's: a card of 1.5 GHz with 2 GHz memory, 4096 bits wide. */
EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
	CUpti_ActivityAPI call = {.kind = CUPTI_ACTIVITY_KIND_DRIVER};

	if (device != 0)
		return CUDA_ERROR_INVALID_DEVICE;
	add(&call, sizeof(call));
	switch (which) {
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
		*value = 1500000;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
		*value = 2000000;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
		*value = 4096;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

void fake_node(uint64_t id, uint64_t original);
EXPORT void fake_node(uint64_t id, uint64_t original)
{
	CUpti_GraphData g;
	CUpti_ResourceData r;
	CUpti_CallbackId cb = original ? CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED
				       : CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED;

	memset(&g, 0, sizeof(g));
	memset(&r, 0, sizeof(r));
	g.node = (CUgraphNode)(uintptr_t)id;
	g.originalNode = (CUgraphNode)(uintptr_t)original;
	r.resourceDescriptor = &g;
	meet_graph();
	tell(CUPTI_CB_DOMAIN_RESOURCE, cb, &r, 0);
}

void fake_device(void);
EXPORT void fake_device(void)
{
	device_record d;

	memset(&d, 0, sizeof(d));
	d.kind = CUPTI_ACTIVITY_KIND_DEVICE;
	d.name = "Fake GPU";
	d.computeCapabilityMajor = 9;
	d.numMultiprocessors = 132;
	memcpy(d.uuid.bytes, "\x12\x34\x56\x78\x9a\xbc\xde\xf0 sonde.", 15);
	add(&d, sizeof(d));
}
