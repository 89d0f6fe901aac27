/* The work that the program reports: makes callbacks for its calls, and records. */
#include "fake_cupti.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int has_graph;

/* A graph was made while CUPTI is in the process: CUPTI changes such a graph. */
static void meet_graph(void)
{
	if (is_there() && has_callback())
		__atomic_store_n(&has_graph, 1, __ATOMIC_RELAXED);
}

int has_met_graph(void)
{
	return __atomic_load_n(&has_graph, __ATOMIC_RELAXED);
}

EXPORT CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	*id = (uint64_t)(uintptr_t)node;
	return CUPTI_SUCCESS;
}

/* The graph that was launched last. If kernel records are disabled while it runs, its record is wrong. */
static kernel_record running;
static pthread_mutex_t running_lock = PTHREAD_MUTEX_INITIALIZER;

void end_graph(uint64_t end)
{
	kernel_record k;

	pthread_mutex_lock(&running_lock);
	k = running;
	running.kind = 0;
	pthread_mutex_unlock(&running_lock);
	if (end && k.end > now_ns())
		k.end = end;
	if (k.kind && is_there())
		put_record(&k, sizeof(k), which_stay());
}

static void run_graph(const kernel_record *k)
{
	static int is_logged;

	if (!__atomic_exchange_n(&is_logged, 1, __ATOMIC_RELAXED))
		log_line("graph", 0);
	pthread_mutex_lock(&running_lock);
	running = *k;
	pthread_mutex_unlock(&running_lock);
}

static void kernel(const char *name, uint64_t node, struct made_call made, uint32_t stream,
	const uint64_t times[2])
{
	kernel_record k;

	if (node)
		end_graph(0);
	if (!made.is_recorded)
		return;
	memset(&k, 0, sizeof(k));
	k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	k.correlationId = made.id;
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
		put_record(&k, sizeof(k), made.stay);
}

/* The duration of a kernel: it differs between launches, but is the same for the same launch of every run. */
static uint64_t varied(uint32_t id, const char *name)
{
	uint64_t h = (id ^ (uint64_t)name[2] << 32) * 0x9e3779b97f4a7c15u;

	return strstr(name, "gemm") ? 2000 + (h >> 32) % 4000 : 500 + (h >> 32) % 200;
}

EXPORT void fake_launch(const char *name, uint64_t node)
{
	struct made_call made;
	uint64_t start, ns = 1234;

	if (node)
		meet_graph();
	made = call_both(node ? 3 : 2);
	if (strstr(name, "slow") || getenv("FAKE_LONG")) /* so that a busy machine finds no gap worth a finding */
		ns = 5000000;
	else if (getenv("FAKE_CUPTI_VARIES"))
		ns = varied(made.id + made.stay, name);
	start = now_ns();
	kernel(name, node, made, strstr(name, "axpy") ? 13 : 7, (const uint64_t[2]){start, start + ns});
	sample_launch(name);
}

EXPORT void fake_kernel(const char *name, uint32_t stream, const uint64_t times[2])
{
	kernel(name, 0, call_both(2), stream, times);
}

static void overhead(void)
{
	overhead_record o;

	memset(&o, 0, sizeof(o));
	o.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	o.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
	o.start = now_ns();
	o.end = o.start + 100;
	add_record(&o, size_of(CUPTI_ACTIVITY_KIND_OVERHEAD));
}

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
	add_record(&m, sizeof(m));
}

EXPORT void fake_copy(uint64_t bytes)
{
	fake_copy_late(bytes, 0);
}

EXPORT void fake_wait(unsigned id, unsigned us)
{
	uint32_t corr = next_id();

	call(CUPTI_CB_DOMAIN_DRIVER_API, id, corr, CUPTI_API_ENTER);
	usleep(us);
	call(CUPTI_CB_DOMAIN_DRIVER_API, id, corr, CUPTI_API_EXIT);
}

EXPORT void fake_sync(unsigned us)
{
	fake_wait(6, us);
}

EXPORT void fake_order(unsigned id, uint64_t first, uint64_t second)
{
	const uint64_t params[2] = {first, second};
	uint32_t corr = next_id();

	call_with(id, corr, CUPTI_API_ENTER, params);
	call_with(id, corr, CUPTI_API_EXIT, params);
}

EXPORT void fake_profiler(int is_start)
{
	uint32_t id = next_id();

	call(CUPTI_CB_DOMAIN_DRIVER_API, is_start ? 9 : 10, id, CUPTI_API_ENTER);
	call(CUPTI_CB_DOMAIN_DRIVER_API, is_start ? 9 : 10, id, CUPTI_API_EXIT);
}

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
	add_record(&m, sizeof(m));
}

/* The attributes of the device: a card of 1.5 GHz with 2 GHz memory, 4096 bits wide. */
EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
	CUpti_ActivityAPI call = {.kind = CUPTI_ACTIVITY_KIND_DRIVER};

	if (device != 0)
		return CUDA_ERROR_INVALID_DEVICE;
	add_record(&call, sizeof(call));
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
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = 9;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*value = 132;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static const char uuid[16] = "\x12\x34\x56\x78\x9a\xbc\xde\xf0 sonde.";

EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	snprintf(name, (size_t)size, "Fake GPU");
	return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

/* With $FAKE_CUPTI_SAMPLED it is the device of the fake PM sampling. */
EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *out, CUdevice device)
{
	if (getenv("FAKE_CUPTI_SAMPLED"))
		memset(out->bytes, 0xa0, sizeof(out->bytes));
	else
		memcpy(out->bytes, uuid, sizeof(out->bytes));
	return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

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

EXPORT void fake_capture(uint64_t id)
{
	uint32_t corr = next_id();

	call(CUPTI_CB_DOMAIN_DRIVER_API, 2, corr, CUPTI_API_ENTER);
	fake_node(id, 0);
	call(CUPTI_CB_DOMAIN_DRIVER_API, 2, corr, CUPTI_API_EXIT);
}

EXPORT void fake_device(void)
{
	device_record d;

	memset(&d, 0, sizeof(d));
	d.kind = CUPTI_ACTIVITY_KIND_DEVICE;
	d.name = "Fake GPU";
	d.computeCapabilityMajor = 9;
	d.numMultiprocessors = 132;
	memcpy(d.uuid.bytes, uuid, sizeof(uuid));
	add_record(&d, sizeof(d));
}
