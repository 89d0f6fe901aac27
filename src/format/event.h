/*
 * Events of a native capture, written and read: the only place that knows
 * their bytes. inject/ writes them, read/ reads them.
 *
 * The first byte holds the type and three flags. In events of the host, the
 * ticks since the previous event follow and, if SONDE_EVENT_CPU is set, the
 * thread's CPU nanoseconds since they were last written. The type says what
 * comes next: some numbers, a label, some more numbers, all as varints. Some
 * numbers are written as differences from the previous event of the chunk:
 * `struct sonde_event_base` holds the previous values; writer and reader keep
 * one for each chunk. The numbers in `struct sonde_event` are always absolute.
 *
 * The hot events (push, pop and launch) are written in place by the functions at
 * the end of this header; all others by sonde_event_put.
 */
#ifndef SONDE_FORMAT_EVENT_H
#define SONDE_FORMAT_EVENT_H

#include "format/varint.h"

#include <stdbool.h>
#include <string.h>

#define SONDE_EVENT_TYPE     0x1f
#define SONDE_EVENT_CPU	     0x20 /* CPU time follows the ticks */
#define SONDE_EVENT_ATTR     0x40 /* version 1: attributes end the event */
#define SONDE_EVENT_INLINE   0x80 /* events with a label: domain, length and bytes replace the label's number */
#define SONDE_EVENT_DOMAIN   0x80 /* pop: a domain ends the event */
#define SONDE_EVENT_UNCHOSEN 0x80 /* launch: the gate (nvtx.include, nvtx.exclude) was closed */

enum sonde_event_type {
	/* 8 bytes ticks, 8 bytes CPU ns, events lost so far in this stream, number of open ranges, their labels */
	SONDE_EVENT_BASE = 1,
	SONDE_EVENT_PUSH = 2,	       /* label */
	SONDE_EVENT_POP = 3,	       /* [domain] */
	SONDE_EVENT_START = 4,	       /* label; id, unique in this stream */
	SONDE_EVENT_STOP = 5,	       /* stream and id of the matching start */
	SONDE_EVENT_MARK = 6,	       /* label */
	SONDE_EVENT_NAME_THREAD = 7,   /* label; thread id */
	SONDE_EVENT_NAME_CATEGORY = 8, /* version 1: label; domain, category */
	SONDE_EVENT_NAME_HANDLE = 9,   /* version 1: label; kind, handle */
	SONDE_EVENT_LAUNCH = 10,       /* correlation id */
	SONDE_EVENT_NODE = 11,	       /* graph node id; this thread has just created the node */
	SONDE_EVENT_NODE_COPY = 12,    /* graph node id, id of the node it was copied from */
	SONDE_EVENT_GPU_CLOCK = 13,    /* CUPTI's clock in nanoseconds, at this event's ticks */
	SONDE_EVENT_CALL = 14,	       /* kind (catalogue/calls.h), ticks the call took; written when the call ends */
	SONDE_EVENT_CARRIED = 15,      /* label; stream and id of a start before this window */
	/* Work of the GPU: instead of ticks and CPU time these begin with the SONDE_GPU_* fields; times are CUPTI's nanoseconds. */
	SONDE_EVENT_KERNEL = 16,   /* label; SONDE_KERNEL_* */
	SONDE_EVENT_MEMCPY = 17,   /* SONDE_COPY_* */
	SONDE_EVENT_MEMSET = 18,   /* SONDE_SET_* */
	SONDE_EVENT_GRAPH = 19,	   /* graph id: a whole graph without its nodes */
	SONDE_EVENT_OVERHEAD = 20, /* CUPTI's overhead kind; device, context and stream are 0 */
	/* Devices and their facts: no times and, MEMORY aside, no SONDE_GPU_* fields. */
	SONDE_EVENT_DEVICE = 21,    /* id; label; SONDE_DEVICE_* */
	SONDE_EVENT_ATTRIBUTE = 22, /* device id; label: the attribute's name; value */
	SONDE_EVENT_MEMORY = 23,    /* work of the GPU: begins with SONDE_GPU_*, then SONDE_MEMORY_* */
	SONDE_EVENT_UUID = 24,	    /* device id; label: `GPU-…` */
	/* Events of the host again. */
	SONDE_EVENT_CALL_ON = 25, /* SONDE_CALL_ON_*: a CALL that names a stream or an event */
	SONDE_EVENT_RETURN = 26,  /* the thread's last launch returned */
	/*
	 * PC samples that one drain of CUPTI's buffers brought. A PC_FUNCTION event names the function of all PC events
	 * that follow it in its chunk, up to the next PC_FUNCTION.
	 */
	SONDE_EVENT_PC = 27,	      /* SONDE_PC_*; has no time of its own: the PC_FUNCTION before it has it */
	SONDE_EVENT_PC_FUNCTION = 30, /* SONDE_PC_FUNCTION_*; label: the symbol; time: when the drain was written */
	SONDE_EVENT_ALLOCATOR = 29, /* SONDE_ALLOCATOR_*: PyTorch's allocator, at a boundary of the thread's innermost range */
	SONDE_EVENT_VALUE = 28,	  /* a number of a range or of a counter. label: its name; SONDE_VALUE_* */
	SONDE_EVENT_LAST = 31,	    /* no event has a higher type */
};

/* The numbers of an event: indices into `field`. */
enum {
	/* work of the GPU */
	SONDE_GPU_START = 0,
	SONDE_GPU_DURATION = 1,
	SONDE_GPU_CORRELATION = 2, /* 0 = none */
	SONDE_GPU_DEVICE = 3,
	SONDE_GPU_CONTEXT = 4,
	SONDE_GPU_STREAM = 5,
	SONDE_KERNEL_GRID_X = 6, /* y and z follow */
	SONDE_KERNEL_BLOCK_X = 9,
	SONDE_KERNEL_REGISTERS = 12,
	SONDE_KERNEL_SHARED_STATIC = 13,
	SONDE_KERNEL_SHARED_DYNAMIC = 14,
	SONDE_KERNEL_NODE = 15, /* id of the graph node; 0 = not from a graph */
	SONDE_COPY_KIND = 6, /* low byte: CUPTI's kind of copy; above it, where known, the kinds of memory (below) */
	SONDE_COPY_BYTES = 7,
	SONDE_COPY_NODE = 8,
	SONDE_SET_BYTES = 6,
	SONDE_SET_NODE = 7,
	SONDE_MEMORY_OPERATION = 6, /* enum sonde_memory_operation */
	SONDE_MEMORY_KIND = 7,	    /* CUPTI's CUpti_ActivityMemoryKind */
	SONDE_MEMORY_ADDRESS = 8,
	SONDE_MEMORY_BYTES = 9,
	SONDE_MEMORY_POOL = 10, /* 1 = from a stream-ordered pool */
	/* a call on a stream or an event */
	SONDE_CALL_ON_KIND = 0, /* enum sonde_call_kind */
	SONDE_CALL_ON_TICKS = 1, /* ticks that the call took */
	SONDE_CALL_ON_STREAM = 2, /* CUPTI's id of the stream * 2, + 1 for the legacy default stream; 0 = not known */
	SONDE_CALL_ON_EVENT = 3, /* address of the CUDA event; 0 = none */
	/* PC samples at one instruction for one reason */
	SONDE_PC_OFFSET = 0, /* bytes from the function's first instruction */
	SONDE_PC_REASON = 1, /* number of the reason's name in the string table */
	SONDE_PC_SAMPLES = 2,
	SONDE_PC_NOT_ISSUED = 3, /* samples of the reason's `_not_issued` twin: the scheduler issued no warp then */
	/* the function that the PC samples are in */
	SONDE_PC_FUNCTION_DEVICE = 0,
	SONDE_PC_FUNCTION_CUBIN = 1, /* CUPTI's checksum of the cubin: names the file in cubins/ */
	SONDE_PC_FUNCTION_TICKS = 2, /* the samples were taken within this many ticks before the event's time */
	SONDE_PC_FUNCTION_PERIOD = 3, /* one sample every 2^this cycles */
	SONDE_PC_FUNCTION_IS_KEPT = 4, /* 1: the cubin has a line table, and is in cubins/ */
	/* a reading of PyTorch's allocator */
	SONDE_ALLOCATOR_IS_END = 0, /* 1 = the range is about to end, 0 = it has just begun */
	SONDE_ALLOCATOR_DEVICE = 1,
	SONDE_ALLOCATOR_BYTES = 2, /* bytes allocated */
	SONDE_ALLOCATOR_PEAK = 3,  /* most bytes allocated since the program last reset the peak */
	/* a number that the program gave */
	SONDE_VALUE_WHAT = 0, /* enum sonde_value_what */
	SONDE_VALUE_OF = 1,   /* the range's domain, or the id of the start or stop; 0 for a counter */
	SONDE_VALUE_TYPE = 2, /* enum sonde_value_type */
	SONDE_VALUE_BITS = 3,
	/* a device */
	SONDE_DEVICE_ID = 0,
	SONDE_DEVICE_CC_MAJOR = 1,
	SONDE_DEVICE_CC_MINOR = 2,
	SONDE_DEVICE_MULTIPROCESSORS = 3,
	SONDE_DEVICE_MEMORY_BYTES = 4,
	SONDE_DEVICE_BANDWIDTH = 5, /* peak memory bandwidth, bytes per second */
	SONDE_EVENT_FIELDS = 16,    /* no event has more fields */
};

/* SONDE_COPY_KIND also holds a copy's source and destination kinds of memory (CUPTI's CUpti_ActivityMemoryKind), shifted. */
#define SONDE_COPY_FROM_SHIFT 8
#define SONDE_COPY_TO_SHIFT   16
#define SONDE_COPY_MASK	      0xffu
#define SONDE_MEMORY_PAGEABLE 1u

/* The range or counter that a number belongs to. */
enum sonde_value_what {
	SONDE_VALUE_OF_PUSH,	/* the thread's innermost open range of a domain */
	SONDE_VALUE_OF_START,	/* the start/end range that this thread started last */
	SONDE_VALUE_OF_COUNTER, /* a sample of a counter of the program */
	SONDE_VALUE_OF_STOP,	/* the start/end range that this thread ended last, whoever started it */
};

enum sonde_value_type {
	SONDE_VALUE_UNSIGNED,
	SONDE_VALUE_NEGATIVE, /* a negative number, as its magnitude */
	SONDE_VALUE_REAL,     /* a double: its 64 bits with the bytes reversed, which makes short varints */
};

enum sonde_memory_operation {
	SONDE_MEMORY_ALLOC,
	SONDE_MEMORY_FREE,
};

/* The label of an event: an entry of the string table, or the text itself when the table was full. */
struct sonde_event_label {
	uint32_t number; /* of the entry; 0 = `text` is the label */
	uint32_t domain; /* the text's domain; in a pop, the domain that is popped */
	const char *text; /* not NUL-terminated; NULL when the event has a number */
	size_t nr_bytes;
};

struct sonde_event {
	uint8_t type;
	bool has_cpu;
	bool is_unchosen; /* a launch made while the gate was closed */
	uint64_t ticks;	  /* host events only; never less than the ticks of the event before */
	uint64_t cpu_ns;  /* CPU time of the thread, if has_cpu */
	struct sonde_event_label label;
	uint64_t field[SONDE_EVENT_FIELDS]; /* only the fields that the type has are set */
};

/* The values from which the next event's differences are counted, for one chunk. */
struct sonde_event_base {
	uint64_t ticks, cpu_ns; /* time of the last host event; the CPU time that was last written */
	uint64_t gpu_ns;	/* start of the chunk's last GPU event */
	uint32_t correlation;	/* correlation id of the chunk's last launch */
};

static inline bool sonde_event_is_of_gpu(unsigned type)
{
	return (type >= SONDE_EVENT_KERNEL && type <= SONDE_EVENT_OVERHEAD) ||
	       type == SONDE_EVENT_MEMORY;
}

/* Whether events of this type have a time on the host. */
bool sonde_event_has_time(unsigned type);

/*
 * Writes `e`, which takes at most SONDE_EVENT_LIMIT bytes, and updates `b`. Returns the place for the
 * next event. Reads only the members of `e` that its type has.
 */
uint8_t *sonde_event_put(uint8_t *p, struct sonde_event_base *b, const struct sonde_event *e);

/*
 * Reads the event at `p`, which is not a BASE, and updates `b`. Returns where the next event begins; NULL when the
 * event is cut off or its type is not known. `e->label.text` points into the bytes that were read.
 */
const uint8_t *sonde_event_get(const uint8_t *p, const uint8_t *end, struct sonde_event_base *b,
	struct sonde_event *e);

/* The BASE event, with which every chunk begins. `nr_open` labels of open ranges (sonde_open_put) follow it. */
uint8_t *sonde_base_put(
	uint8_t *p, const struct sonde_event_base *b, uint64_t nr_lost, uint32_t nr_open);
const uint8_t *sonde_base_get(const uint8_t *p, const uint8_t *end, struct sonde_event_base *b,
	uint64_t *nr_lost, uint64_t *nr_open);
/* One open range: the number of its label, or 0 and the domain of a range whose label has no number. */
uint8_t *sonde_open_put(uint8_t *p, uint32_t label, uint32_t domain);
const uint8_t *sonde_open_get(
	const uint8_t *p, const uint8_t *end, uint64_t *label, uint64_t *domain);

/* --- writing in place --------------------------------------------------------------------------- */

/* Writes the first byte (`first`: type and flags) and the ticks. */
static inline uint8_t *sonde_event_put_head(
	uint8_t *p, struct sonde_event_base *b, unsigned first, uint64_t ticks)
{
	uint64_t since = ticks - b->ticks;

	b->ticks = ticks;
	*p++ = (uint8_t)first;
	return sonde_varint_put(p, since);
}

/* The same, followed by the thread's CPU time; the caller sets SONDE_EVENT_CPU in `first`. */
static inline uint8_t *sonde_event_put_cpu(
	uint8_t *p, struct sonde_event_base *b, unsigned first, uint64_t ticks, uint64_t cpu_ns)
{
	uint64_t since = cpu_ns - b->cpu_ns;

	b->cpu_ns = cpu_ns;
	return sonde_varint_put(sonde_event_put_head(p, b, first, ticks), since);
}

/* Writes a launch's correlation id, behind the head. */
static inline uint8_t *sonde_event_put_launch(
	uint8_t *p, struct sonde_event_base *b, uint32_t correlation)
{
	int64_t step = (int64_t)correlation - (int64_t)b->correlation;

	b->correlation = correlation;
	return sonde_varint_put(p, sonde_zigzag(step));
}

/* Writes a label as text. The event's first byte must have SONDE_EVENT_INLINE. */
static inline uint8_t *sonde_event_put_text(
	uint8_t *p, uint32_t domain, const char *text, size_t nr_bytes)
{
	p = sonde_varint_put(p, domain);
	p = sonde_varint_put(p, nr_bytes);
	memcpy(p, text, nr_bytes);
	return p + nr_bytes;
}

#endif
