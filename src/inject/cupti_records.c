/*
 * Turns CUPTI's activity records into events as they come.
 *
 * The thread in which CUPTI hands a buffer over writes the events to its own
 * stream, like any other thread.
 */
#include "catalogue/attributes.h"
#include "inject/cupti_int.h"
#include "inject/inject_int.h"

#include <stdlib.h>

#define MAX_DEVICES 64u

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_record;
typedef CUpti_ActivityMemcpy6 memcpy_record;
typedef CUpti_ActivityOverhead3 overhead_record;
typedef CUpti_ActivityDevice5 device_record;
#else
typedef CUpti_ActivityKernel9 kernel_record;
typedef CUpti_ActivityMemcpy5 memcpy_record;
typedef CUpti_ActivityOverhead2 overhead_record;
typedef CUpti_ActivityDevice4 device_record;
#endif

static uint32_t id_of(uint32_t correlation)
{
	return correlation ? correlation + atomic_load_explicit(&sonde_inject.id_base,
						   memory_order_relaxed)
			   : 0;
}

/*
 * Whether this is work of a graph that still ran when recording ended. CUPTI has wrong times for such work: it seems to end when
 * recording begins again.
 */
static bool is_cut(uint64_t node, uint64_t start, uint64_t end)
{
	uint64_t off = atomic_load_explicit(&sonde_inject.off_ns, memory_order_relaxed);

	if (start > atomic_load_explicit(&sonde_inject.latest_ns, memory_order_relaxed))
		atomic_store_explicit(&sonde_inject.latest_ns, start, memory_order_relaxed);
	if (!node || start >= off || end <= off)
		return false;
	sonde_flusher__note("CUDA graphs that still ran when a window closed have no times: their work is left out");
	return true;
}

static _Atomic uint64_t used; /* a bit for each device that has done something */

static void use_device(uint32_t id)
{
	uint64_t bit = id < MAX_DEVICES ? 1ull << id : 0;

	if (bit & ~atomic_load_explicit(&used, memory_order_relaxed))
		atomic_fetch_or(&used, bit);
}

/* Fills in the fields SONDE_GPU_*. A macro, since CUPTI's records have these members under equal names, but no common struct. */
#define WHERE(e, r)                                                                                \
	do {                                                                                       \
		use_device((r)->deviceId);                                                         \
		(e)->field[SONDE_GPU_START] = (r)->start;                                          \
		(e)->field[SONDE_GPU_DURATION] =                                                   \
			(r)->end > (r)->start ? (r)->end - (r)->start : 0;                         \
		(e)->field[SONDE_GPU_CORRELATION] = id_of((r)->correlationId);                     \
		(e)->field[SONDE_GPU_DEVICE] = (r)->deviceId;                                      \
		(e)->field[SONDE_GPU_CONTEXT] = (r)->contextId;                                    \
		(e)->field[SONDE_GPU_STREAM] = (r)->streamId;                                      \
	} while (0)

static size_t length_of(const char *name)
{
	size_t n = strlen(name);

	if (n <= SONDE_LABEL_LIMIT)
		return n;
	count(&sonde_inject.nr_cut);
	return SONDE_LABEL_LIMIT;
}

/* The label of an event: the number of `e`, or the text `name` when the table was full and `e` is NULL. */
static struct sonde_event_label label_of(const struct label *e, const char *name, size_t n)
{
	return (struct sonde_event_label){
		e ? e->id : 0, 0, name, n < SONDE_INLINE_LIMIT ? n : SONDE_INLINE_LIMIT};
}

/* The label of a kernel. Cached by address, as the same name comes at the same address again and again. */
static struct sonde_event_label kernel_name(const char *name)
{
	static _Atomic(struct label *) cache[256];
	size_t slot = ((uintptr_t)name >> 4) % 256, n;
	struct label *e = atomic_load_explicit(&cache[slot], memory_order_acquire);

	if (e && !strncmp(e->text, name, (size_t)e->nr_bytes + 1))
		return label_of(e, name, e->nr_bytes);
	n = length_of(name);
	e = sonde_label__intern(SONDE_STRING_KERNEL, 0, name, n);
	if (e)
		atomic_store_explicit(&cache[slot], e, memory_order_release);
	return label_of(e, name, n);
}

static void write_kernel(struct thread *t, const kernel_record *k)
{
	struct sonde_event e;

	if (!k->graphNodeId)
		count(&sonde_inject.records.kernels);
	if (is_cut(k->graphNodeId, k->start, k->end))
		return;
	e.type = SONDE_EVENT_KERNEL;
	WHERE(&e, k);
	e.label = kernel_name(k->name ? k->name : "");
	e.field[SONDE_KERNEL_GRID_X] = (uint32_t)k->gridX;
	e.field[SONDE_KERNEL_GRID_X + 1] = (uint32_t)k->gridY;
	e.field[SONDE_KERNEL_GRID_X + 2] = (uint32_t)k->gridZ;
	e.field[SONDE_KERNEL_BLOCK_X] = (uint32_t)k->blockX;
	e.field[SONDE_KERNEL_BLOCK_X + 1] = (uint32_t)k->blockY;
	e.field[SONDE_KERNEL_BLOCK_X + 2] = (uint32_t)k->blockZ;
	e.field[SONDE_KERNEL_REGISTERS] = k->registersPerThread;
	e.field[SONDE_KERNEL_SHARED_STATIC] = (uint32_t)k->staticSharedMemory;
	e.field[SONDE_KERNEL_SHARED_DYNAMIC] = (uint32_t)k->dynamicSharedMemory;
	e.field[SONDE_KERNEL_NODE] = k->graphNodeId;
	sonde_ring__write(t, &e);
}

/* Writes a copy. A macro, since copies between devices have another record type, with the same member names. */
#define COPY(t, r)                                                                                 \
	do {                                                                                       \
		struct sonde_event e;                                                              \
                                                                                                   \
		if (!(r)->graphNodeId)                                                             \
			count(&sonde_inject.records.others);                                       \
		if (is_cut((r)->graphNodeId, (r)->start, (r)->end))                                \
			break;                                                                     \
		e.type = SONDE_EVENT_MEMCPY;                                                       \
		WHERE(&e, r);                                                                      \
		e.field[SONDE_COPY_KIND] = (r)->copyKind |                                         \
			(uint64_t)(r)->srcKind << SONDE_COPY_FROM_SHIFT |                          \
			(uint64_t)(r)->dstKind << SONDE_COPY_TO_SHIFT;                             \
		e.field[SONDE_COPY_BYTES] = (r)->bytes;                                            \
		e.field[SONDE_COPY_NODE] = (r)->graphNodeId;                                       \
		sonde_ring__write(t, &e);                                                          \
	} while (0)

static void write_copy(struct thread *t, const memcpy_record *r)
{
	COPY(t, r);
}

static void write_peer_copy(struct thread *t, const CUpti_ActivityMemcpyPtoP4 *r)
{
	COPY(t, r);
}

static void write_fill(struct thread *t, const CUpti_ActivityMemset4 *m)
{
	struct sonde_event e;

	if (!m->graphNodeId)
		count(&sonde_inject.records.others);
	if (is_cut(m->graphNodeId, m->start, m->end))
		return;
	e.type = SONDE_EVENT_MEMSET;
	WHERE(&e, m);
	e.field[SONDE_SET_BYTES] = m->bytes;
	e.field[SONDE_SET_NODE] = m->graphNodeId;
	sonde_ring__write(t, &e);
}

static void write_graph(struct thread *t, const CUpti_ActivityGraphTrace2 *g)
{
	struct sonde_event e;

	e.type = SONDE_EVENT_GRAPH;
	WHERE(&e, g);
	e.field[SONDE_GPU_STREAM + 1] = g->graphId;
	sonde_ring__write(t, &e);
}

static void write_overhead(struct thread *t, const overhead_record *o)
{
	struct sonde_event e = {.type = SONDE_EVENT_OVERHEAD};

	e.field[SONDE_GPU_START] = o->start;
	e.field[SONDE_GPU_DURATION] = o->end > o->start ? o->end - o->start : 0;
	e.field[SONDE_GPU_STREAM + 1] = (uint32_t)o->overheadKind;
	sonde_ring__write(t, &e);
#if CUPTI_API_VERSION >= 130000
	if (sonde_cupti.version >= 130000) /* the records of older versions end before this member */
		free(o->overheadData);
#endif
}

/* --- devices ----------------------------------------------------------------------------------- */

/*
 * Each device is written when CUPTI has a record of it. The collector then adds the driver's attributes, under the names that
 * Nsight Compute gives them, so that reports find them under one name. CUPTI has no record of a device whose context is older
 * than our subscription, as in a program that was woken: the driver describes such a device.
 */

static _Atomic uint64_t met, described; /* bit sets of devices: known; and those whose attributes are written */
static _Atomic uint64_t unwritten; /* known devices that an earlier capture of the process has, but not yet this one */

/* The events of each known device, to be written again in a later capture. Their labels live as long as the process. */
static struct {
	struct sonde_event device, uuid;
} known[MAX_DEVICES];

static const struct {
	CUdevice_attribute id;
	const char *name;
} attributes[] = {
	{CU_DEVICE_ATTRIBUTE_CLOCK_RATE, SONDE_ATTR_CLOCK},
	{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, SONDE_ATTR_MEMORY_CLOCK},
	{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, SONDE_ATTR_BUS_WIDTH},
	{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, SONDE_ATTR_L2_SIZE},
	{CU_DEVICE_ATTRIBUTE_WARP_SIZE, SONDE_ATTR_WARP_SIZE},
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
		SONDE_ATTR_SM_THREADS},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
		SONDE_ATTR_SM_BLOCKS},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
		SONDE_ATTR_SM_REGISTERS},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
		SONDE_ATTR_SM_SHARED},
};

/*
 * Keeps the device's events. A text that is not in the table of labels does not stay in memory, so it is replaced by an
 * empty one.
 */
static void meet_device(uint32_t id, const struct sonde_event *device, const struct sonde_event *uuid)
{
	if (id >= MAX_DEVICES || atomic_load(&met) >> id & 1)
		return;
	known[id].device = *device;
	known[id].uuid = *uuid;
	known[id].device.label.text = known[id].uuid.label.text = "";
	known[id].device.label.nr_bytes = known[id].uuid.label.nr_bytes = 0;
	atomic_fetch_or(&met, 1ull << id);
}

void sonde_devices__begin_again(void)
{
	atomic_store(&unwritten, atomic_load(&met));
	atomic_store(&described, 0);
}

/* Writes the UUID in the form that nvidia-smi shows. */
static struct sonde_event write_uuid(struct thread *t, const device_record *d)
{
	static const char digits[] = "0123456789abcdef";
	char text[4 + 36 + 1] = "GPU-", *p = text + 4;
	const unsigned char *bytes = (const unsigned char *)d->uuid.bytes;
	struct sonde_event e = {0};
	struct label *l;
	unsigned i;

	for (i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = digits[bytes[i] >> 4];
		*p++ = digits[bytes[i] & 15];
	}
	l = sonde_label__intern(SONDE_STRING_NAME, 0, text, (size_t)(p - text));
	e.type = SONDE_EVENT_UUID;
	e.label = label_of(l, text, (size_t)(p - text));
	e.field[0] = d->id;
	sonde_ring__write(t, &e);
	return e;
}

static void write_device(struct thread *t, const device_record *d)
{
	const char *text = d->name ? d->name : "";
	size_t n = length_of(text);
	struct sonde_event e = {0}, uuid;

	e.type = SONDE_EVENT_DEVICE;
	e.label = label_of(sonde_label__intern(SONDE_STRING_NAME, 0, text, n), text, n);
	e.field[SONDE_DEVICE_ID] = d->id;
	e.field[SONDE_DEVICE_CC_MAJOR] = d->computeCapabilityMajor;
	e.field[SONDE_DEVICE_CC_MINOR] = d->computeCapabilityMinor;
	e.field[SONDE_DEVICE_MULTIPROCESSORS] = d->numMultiprocessors;
	e.field[SONDE_DEVICE_MEMORY_BYTES] = d->globalMemorySize;
	e.field[SONDE_DEVICE_BANDWIDTH] = d->globalMemoryBandwidth * 1000; /* CUPTI says kB/s */
	sonde_ring__write(t, &e);
	uuid = write_uuid(t, d);
	if (d->id < MAX_DEVICES)
		atomic_fetch_and(&unwritten, ~(1ull << d->id));
	meet_device(d->id, &e, &uuid);
}

static int ask_driver(uint32_t device, CUdevice_attribute which)
{
	int value;

	return sonde_cupti.device_attribute && sonde_cupti.device_attribute(&value, which, (CUdevice)device) == CUDA_SUCCESS &&
			       value > 0 ? value : 0;
}

/* Writes a device of which CUPTI has no record, with the driver's facts. */
static void name_device(struct thread *t, uint32_t id)
{
	char name[256] = "";
	size_t bytes = 0;
	device_record d = {.kind = CUPTI_ACTIVITY_KIND_DEVICE, .id = id};

	if (!sonde_cupti.device_name || !sonde_cupti.device_uuid ||
		sonde_cupti.device_name(name, (int)sizeof(name) - 1, (CUdevice)id) != CUDA_SUCCESS ||
		sonde_cupti.device_uuid(&d.uuid, (CUdevice)id) != CUDA_SUCCESS)
		return;
	if (sonde_cupti.device_memory && sonde_cupti.device_memory(&bytes, (CUdevice)id) == CUDA_SUCCESS)
		d.globalMemorySize = bytes;
	d.name = name;
	d.computeCapabilityMajor = (uint32_t)ask_driver(id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	d.computeCapabilityMinor = (uint32_t)ask_driver(id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	d.numMultiprocessors = (uint32_t)ask_driver(id, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	d.globalMemoryBandwidth = (uint64_t)ask_driver(id, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
				  (uint64_t)ask_driver(id, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8 * 2; /* kB/s */
	write_device(t, &d);
}

static void write_attribute(struct thread *t, uint32_t device, const char *name, int value)
{
	struct label *l = sonde_label__intern(SONDE_STRING_NAME, 0, name, strlen(name));
	struct sonde_event e;

	e.type = SONDE_EVENT_ATTRIBUTE;
	e.label = (struct sonde_event_label){l ? l->id : 0, 0, name, strlen(name)};
	e.field[0] = device;
	e.field[1] = (uint64_t)value;
	sonde_ring__write(t, &e);
}

static void describe_device(struct thread *t, uint32_t device)
{
	struct sonde_event e;
	size_t i;
	int value;

	if (atomic_fetch_and(&unwritten, ~(1ull << device)) >> device & 1) {
		e = known[device].device;
		sonde_ring__write(t, &e);
		e = known[device].uuid;
		sonde_ring__write(t, &e);
	}
	for (i = 0; sonde_cupti.device_attribute && i < sizeof(attributes) / sizeof(*attributes); i++)
		if (sonde_cupti.device_attribute(&value, attributes[i].id, (CUdevice)device) ==
				CUDA_SUCCESS &&
			value >= 0)
			write_attribute(t, device, attributes[i].name, value);
}

void sonde_devices__describe(void)
{
	uint64_t unnamed = atomic_load(&used) & ~atomic_load(&met), which = unnamed | (atomic_load(&met) & ~atomic_load(&described));
	struct thread *t = which ? hook_enter() : NULL;
	uint32_t i;

	for (i = 0; i < MAX_DEVICES && t; i++)
		if (unnamed >> i & 1)
			name_device(t, i);
	which = atomic_load(&met) & ~atomic_load(&described);
	which &= ~atomic_fetch_or(&described, which);
	for (i = 0; i < MAX_DEVICES && t; i++)
		if (which >> i & 1)
			describe_device(t, i);
	if (t)
		hook_leave(t);
}

/* --- records ----------------------------------------------------------------------------------- */

/* The correlation id leads the reader to the call that asked for the memory, and so to its region. */
static void write_memory(struct thread *t, const CUpti_ActivityMemory4 *m)
{
	struct sonde_event e;

	if (m->memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION &&
		m->memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE)
		return;
	count(&sonde_inject.records.others);
	e.type = SONDE_EVENT_MEMORY;
	e.field[SONDE_GPU_START] = m->timestamp;
	e.field[SONDE_GPU_DURATION] = 0;
	e.field[SONDE_GPU_CORRELATION] = id_of(m->correlationId);
	e.field[SONDE_GPU_DEVICE] = m->deviceId;
	e.field[SONDE_GPU_CONTEXT] = m->contextId;
	e.field[SONDE_GPU_STREAM] = m->streamId;
	e.field[SONDE_MEMORY_OPERATION] =
		m->memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
			? SONDE_MEMORY_ALLOC
			: SONDE_MEMORY_FREE;
	e.field[SONDE_MEMORY_KIND] = m->memoryKind;
	e.field[SONDE_MEMORY_ADDRESS] = m->address;
	e.field[SONDE_MEMORY_BYTES] = m->bytes;
	e.field[SONDE_MEMORY_POOL] = m->isAsync != 0;
	sonde_ring__write(t, &e);
}

void sonde_cupti__record(struct thread *t, const CUpti_Activity *r)
{
	switch (r->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		write_kernel(t, (const kernel_record *)r);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		write_copy(t, (const memcpy_record *)r);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		write_peer_copy(t, (const CUpti_ActivityMemcpyPtoP4 *)r);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		write_fill(t, (const CUpti_ActivityMemset4 *)r);
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		write_graph(t, (const CUpti_ActivityGraphTrace2 *)r);
		break;
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		write_overhead(t, (const overhead_record *)r);
		break;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		write_device(t, (const device_record *)r);
		break;
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		write_memory(t, (const CUpti_ActivityMemory4 *)r);
		break;
	default:
		break;
	}
}
