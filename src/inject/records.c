/*
 * CUPTI's activity records, turned into events as they come.
 *
 * The thread that hands a buffer over writes the events to its own stream,
 * like any other.
 */
#include "inject/cupti_int.h"
#include "inject/event_int.h"

#include <stdlib.h>

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

struct where {
	uint64_t start, end;
	uint32_t correlation, device, context, stream;
};

/* The vendor's records have these in common, by name only. */
#define WHERE(r)                                                                                   \
	{                                                                                          \
		(r)->start, (r)->end, (r)->correlationId, (r)->deviceId, (r)->contextId,           \
			(r)->streamId                                                              \
	}

static uint8_t *gpu_open(struct thread *t, unsigned type, const struct where *w)
{
	uint8_t *p = event_room(t, ticks_now());

	if (!p)
		return NULL;
	*p++ = (uint8_t)type;
	p = sonde_varint_put(p, sonde_zigzag((int64_t)(w->start - t->gpu_ns)));
	p = sonde_varint_put(p, w->end > w->start ? w->end - w->start : 0);
	p = sonde_varint_put(p, w->correlation);
	p = sonde_varint_put(p, w->device);
	p = sonde_varint_put(p, w->context);
	p = sonde_varint_put(p, w->stream);
	t->gpu_ns = w->start;
	return p;
}

/* The label of a kernel name. Names come by the same pointer again and again. */
static const struct label *kernel_name(const char *name, size_t *n)
{
	static _Atomic(struct label *) cache[256];
	size_t slot = ((uintptr_t)name >> 4) % 256;
	struct label *e = atomic_load_explicit(&cache[slot], memory_order_acquire);

	if (e && !strncmp(e->text, name, (size_t)e->nr_bytes + 1))
		return e;
	*n = strlen(name);
	if (*n > SONDE_LABEL_LIMIT) {
		*n = SONDE_LABEL_LIMIT;
		count(&sonde_inject.nr_cut);
	}
	e = sonde_label__intern(SONDE_STRING_KERNEL, 0, name, *n);
	if (e)
		atomic_store_explicit(&cache[slot], e, memory_order_release);
	return e;
}

static uint8_t *name_put(uint8_t *p, const struct label *e, const char *name, size_t n)
{
	if (e)
		return sonde_varint_put(p, e->id);
	if (n > SONDE_INLINE_LIMIT)
		n = SONDE_INLINE_LIMIT;
	p = sonde_varint_put(p, 0);
	p = sonde_varint_put(p, n);
	memcpy(p, name, n);
	return p + n;
}

static void kernel(struct thread *t, const kernel_record *k)
{
	struct where w = WHERE(k);
	const char *text = k->name ? k->name : "";
	size_t n = 0;
	const struct label *e = kernel_name(text, &n);
	uint8_t *p = gpu_open(t, SONDE_EVENT_KERNEL | (e ? 0u : SONDE_EVENT_INLINE), &w);

	if (!p)
		return;
	p = name_put(p, e, text, n);
	p = sonde_varint_put(p, (uint32_t)k->gridX);
	p = sonde_varint_put(p, (uint32_t)k->gridY);
	p = sonde_varint_put(p, (uint32_t)k->gridZ);
	p = sonde_varint_put(p, (uint32_t)k->blockX);
	p = sonde_varint_put(p, (uint32_t)k->blockY);
	p = sonde_varint_put(p, (uint32_t)k->blockZ);
	p = sonde_varint_put(p, k->registersPerThread);
	p = sonde_varint_put(p, (uint32_t)k->staticSharedMemory);
	p = sonde_varint_put(p, (uint32_t)k->dynamicSharedMemory);
	event_close(t, sonde_varint_put(p, k->graphNodeId));
}

/* Peer copies have a record type of their own. */
static void copy(
	struct thread *t, const struct where *w, unsigned kind, uint64_t bytes, uint64_t node)
{
	uint8_t *p = gpu_open(t, SONDE_EVENT_MEMCPY, w);

	if (!p)
		return;
	p = sonde_varint_put(p, kind);
	p = sonde_varint_put(p, bytes);
	event_close(t, sonde_varint_put(p, node));
}

static void fill(struct thread *t, const CUpti_ActivityMemset4 *m)
{
	struct where w = WHERE(m);
	uint8_t *p = gpu_open(t, SONDE_EVENT_MEMSET, &w);

	if (!p)
		return;
	p = sonde_varint_put(p, m->bytes);
	event_close(t, sonde_varint_put(p, m->graphNodeId));
}

static void graph(struct thread *t, const CUpti_ActivityGraphTrace2 *g)
{
	struct where w = WHERE(g);
	uint8_t *p = gpu_open(t, SONDE_EVENT_GRAPH, &w);

	if (p)
		event_close(t, sonde_varint_put(p, g->graphId));
}

static void overhead(struct thread *t, const overhead_record *o)
{
	struct where w = {.start = o->start, .end = o->end};
	uint8_t *p = gpu_open(t, SONDE_EVENT_OVERHEAD, &w);

	if (p)
		event_close(t, sonde_varint_put(p, (uint32_t)o->overheadKind));
#if CUPTI_API_VERSION >= 130000
	if (sonde_cupti.version >= 130000) /* records of older ones end before it */
		free(o->overheadData);
#endif
}

static void device(struct thread *t, const device_record *d)
{
	const char *text = d->name ? d->name : "";
	size_t n = strlen(text);
	const struct label *e = sonde_label__intern(SONDE_STRING_NAME, 0, text, n);
	uint8_t *p = event_room(t, ticks_now());

	if (!p)
		return;
	*p++ = (uint8_t)(SONDE_EVENT_DEVICE | (e ? 0u : SONDE_EVENT_INLINE));
	p = sonde_varint_put(p, d->id);
	p = name_put(p, e, text, n);
	p = sonde_varint_put(p, d->computeCapabilityMajor);
	p = sonde_varint_put(p, d->computeCapabilityMinor);
	p = sonde_varint_put(p, d->numMultiprocessors);
	p = sonde_varint_put(p, d->globalMemorySize);
	/* CUPTI says kB/s */
	event_close(t, sonde_varint_put(p, d->globalMemoryBandwidth * 1000));
}

void sonde_activity__record(struct thread *t, const CUpti_Activity *r)
{
	switch (r->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		kernel(t, (const kernel_record *)r);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY: {
		const memcpy_record *m = (const memcpy_record *)r;
		struct where w = WHERE(m);

		copy(t, &w, m->copyKind, m->bytes, m->graphNodeId);
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMCPY2: {
		const CUpti_ActivityMemcpyPtoP4 *m = (const CUpti_ActivityMemcpyPtoP4 *)r;
		struct where w = WHERE(m);

		copy(t, &w, m->copyKind, m->bytes, m->graphNodeId);
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMSET:
		fill(t, (const CUpti_ActivityMemset4 *)r);
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		graph(t, (const CUpti_ActivityGraphTrace2 *)r);
		break;
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		overhead(t, (const overhead_record *)r);
		break;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		device(t, (const device_record *)r);
		break;
	default:
		break;
	}
}
