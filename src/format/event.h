/*
 * Events of a native capture, written and read: the only place that knows
 * their bytes. inject/ writes them, read/ reads them.
 *
 * The first byte holds the type and three flags. Events of the host go on with
 * the ticks since the event before and, where flagged, the CPU nanoseconds of
 * the thread since they were last given. The type says what follows: some
 * numbers, a label, some more numbers, all varints. Numbers that are
 * close to those before are written as differences; `struct
 * sonde_event_base` has what they are counted from, one for each chunk on
 * either side, and the numbers of an event here are always absolute.
 *
 * The hot events, push, pop and launch, are written in place by the functions at
 * the end; everything else through sonde_event_put.
 */
#ifndef SONDE_FORMAT_EVENT_H
#define SONDE_FORMAT_EVENT_H

#include "format/varint.h"

#include <stdbool.h>
#include <string.h>

#define SONDE_EVENT_TYPE     0x1f
#define SONDE_EVENT_CPU	     0x20 /* CPU time follows the ticks */
#define SONDE_EVENT_ATTR     0x40 /* version 1: attributes end the event */
#define SONDE_EVENT_INLINE   0x80 /* with a label: instead of its number: domain, length, bytes */
#define SONDE_EVENT_DOMAIN   0x80 /* pop: a domain follows */
#define SONDE_EVENT_UNCHOSEN 0x80 /* launch: made where the gate was closed (nvtx.include) */

enum sonde_event_type {
	/* 8 bytes ticks, 8 bytes CPU ns, lost so far in this stream, open ranges: count, labels */
	SONDE_EVENT_BASE = 1,
	SONDE_EVENT_PUSH = 2,	       /* label */
	SONDE_EVENT_POP = 3,	       /* [domain] */
	SONDE_EVENT_START = 4,	       /* label; id (of this stream) */
	SONDE_EVENT_STOP = 5,	       /* stream and id of the start */
	SONDE_EVENT_MARK = 6,	       /* label */
	SONDE_EVENT_NAME_THREAD = 7,   /* label; thread id */
	SONDE_EVENT_NAME_CATEGORY = 8, /* version 1: label; domain, category */
	SONDE_EVENT_NAME_HANDLE = 9,   /* version 1: label; kind, handle */
	SONDE_EVENT_LAUNCH = 10,       /* correlation id */
	SONDE_EVENT_NODE = 11,	       /* graph node id: created by this thread, now */
	SONDE_EVENT_NODE_COPY = 12,    /* graph node id, id of the node it was copied from */
	SONDE_EVENT_GPU_CLOCK = 13,    /* CUPTI nanoseconds at this event's ticks */
	SONDE_EVENT_CALL = 14,	       /* a kind of catalogue/calls.h, ticks it took: the call ended */
	SONDE_EVENT_CARRIED = 15,      /* label; stream and id of a start before this window */
	/* Work of the GPU: no ticks, no CPU time, but SONDE_GPU_* in front; CUPTI's nanoseconds. */
	SONDE_EVENT_KERNEL = 16,   /* label; SONDE_KERNEL_* */
	SONDE_EVENT_MEMCPY = 17,   /* SONDE_COPY_* */
	SONDE_EVENT_MEMSET = 18,   /* SONDE_SET_* */
	SONDE_EVENT_GRAPH = 19,	   /* graph id: a whole graph without its nodes */
	SONDE_EVENT_OVERHEAD = 20, /* kind; device, context, stream are 0 */
	/* Devices: they have no time, so none of the fields above. */
	SONDE_EVENT_DEVICE = 21,    /* id; label; SONDE_DEVICE_* */
	SONDE_EVENT_ATTRIBUTE = 22, /* device id; label: the attribute's name; value */
	SONDE_EVENT_MEMORY = 23,    /* SONDE_GPU_* in front; SONDE_MEMORY_* */
	SONDE_EVENT_UUID = 24,	    /* device id; label: `GPU-…` */
	/* Events of the host again. */
	SONDE_EVENT_CALL_ON = 25, /* SONDE_CALL_*: a CALL that names a stream or an event */
	SONDE_EVENT_RETURN = 26,  /* the thread's last launch returned */
	/*
	 * PC samples, as many as a drain of CUPTI's buffers brought. The second event comes first: it says
	 * whose samples the first ones are that follow it in its chunk, up to the next of its kind.
	 */
	SONDE_EVENT_PC = 27,	      /* SONDE_PC_*; no time: that of its function's event */
	SONDE_EVENT_PC_FUNCTION = 30, /* SONDE_PC_FUNCTION_*; label: the symbol. Its time is the drain's */
	SONDE_EVENT_ALLOCATOR = 29, /* SONDE_ALLOCATOR_*: PyTorch's allocator, at a boundary of the thread's innermost range */
	SONDE_EVENT_VALUE = 28,	  /* label: a name; SONDE_VALUE_*: a number of a range, or of a counter */
	SONDE_EVENT_LAST = 31,	    /* no event has a higher type */
};

/* The numbers of an event, by place in `field`. */
enum {
	/* of what the GPU did */
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
	SONDE_KERNEL_NODE = 15, /* of a graph; 0 = none */
	SONDE_COPY_KIND = 6, /* CUPTI's kind, below; above, where known, CUPTI's kinds of memory */
	SONDE_COPY_BYTES = 7,
	SONDE_COPY_NODE = 8,
	SONDE_SET_BYTES = 6,
	SONDE_SET_NODE = 7,
	SONDE_MEMORY_OPERATION = 6, /* enum sonde_memory_operation */
	SONDE_MEMORY_KIND = 7,	    /* CUPTI's CUpti_ActivityMemoryKind */
	SONDE_MEMORY_ADDRESS = 8,
	SONDE_MEMORY_BYTES = 9,
	SONDE_MEMORY_POOL = 10, /* 1 = from a stream-ordered pool */
	/* of a call on a stream or an event */
	SONDE_CALL_ON_KIND = 0, /* enum sonde_call_kind */
	SONDE_CALL_ON_TICKS = 1, /* that it took */
	SONDE_CALL_ON_STREAM = 2, /* CUPTI's id * 2, + 1 for the legacy default stream; 0 = not known */
	SONDE_CALL_ON_EVENT = 3, /* its address; 0 = none */
	/* of samples of one instruction for one reason … */
	SONDE_PC_OFFSET = 0, /* bytes from the function's first instruction */
	SONDE_PC_REASON = 1, /* number of its name in the string table */
	SONDE_PC_SAMPLES = 2,
	SONDE_PC_NOT_ISSUED = 3, /* likewise, counted by the reason's twin: no warp was issued then */
	/* … and of the function they are in */
	SONDE_PC_FUNCTION_DEVICE = 0,
	SONDE_PC_FUNCTION_CUBIN = 1, /* CUPTI's checksum of the cubin: names the file in cubins/ */
	SONDE_PC_FUNCTION_TICKS = 2, /* the samples were taken in so many ticks before the drain … */
	SONDE_PC_FUNCTION_PERIOD = 3, /* … every 2^this cycles */
	SONDE_PC_FUNCTION_IS_KEPT = 4, /* 1: the cubin has a line table, and is in cubins/ */
	/* of PyTorch's allocator */
	SONDE_ALLOCATOR_IS_END = 0, /* 1 = the range is about to end, 0 = it has just begun */
	SONDE_ALLOCATOR_DEVICE = 1,
	SONDE_ALLOCATOR_BYTES = 2, /* allocated */
	SONDE_ALLOCATOR_PEAK = 3,  /* since the program last reset it */
	/* of a number that the program gave */
	SONDE_VALUE_WHAT = 0, /* enum sonde_value_what */
	SONDE_VALUE_OF = 1,   /* the domain, or the id of the start or stop; 0 for a counter */
	SONDE_VALUE_TYPE = 2, /* enum sonde_value_type */
	SONDE_VALUE_BITS = 3,
	/* of a device */
	SONDE_DEVICE_ID = 0,
	SONDE_DEVICE_CC_MAJOR = 1,
	SONDE_DEVICE_CC_MINOR = 2,
	SONDE_DEVICE_MULTIPROCESSORS = 3,
	SONDE_DEVICE_MEMORY_BYTES = 4,
	SONDE_DEVICE_BANDWIDTH = 5, /* peak memory bytes a second */
	SONDE_EVENT_FIELDS = 16,    /* no event has more */
};

/* The kinds of memory of a copy, CUPTI's CUpti_ActivityMemoryKind: in the number of its kind. */
#define SONDE_COPY_FROM_SHIFT 8
#define SONDE_COPY_TO_SHIFT   16
#define SONDE_COPY_MASK	      0xffu
#define SONDE_MEMORY_PAGEABLE 1u

/* What a number is of. */
enum sonde_value_what {
	SONDE_VALUE_OF_PUSH,	/* the thread's innermost open range of a domain */
	SONDE_VALUE_OF_START,	/* the start/end range that this thread has started last */
	SONDE_VALUE_OF_COUNTER, /* a counter of the program, now */
	SONDE_VALUE_OF_STOP,	/* the start/end range that this thread has ended last, whoever started it */
};

enum sonde_value_type {
	SONDE_VALUE_UNSIGNED,
	SONDE_VALUE_NEGATIVE, /* its magnitude */
	SONDE_VALUE_REAL,     /* a double: its 64 bits with the bytes reversed, which makes short varints */
};

enum sonde_memory_operation {
	SONDE_MEMORY_ALLOC,
	SONDE_MEMORY_FREE,
};

/* The label of an event: an entry of the string table, or when that was full the text itself. */
struct sonde_event_label {
	uint32_t number; /* 0 = the text */
	uint32_t domain; /* of a text, and of a pop */
	const char *text; /* NULL when read as a number */
	size_t nr_bytes;
};

struct sonde_event {
	uint8_t type;
	bool has_cpu;
	bool is_unchosen; /* a launch where the gate was closed */
	uint64_t ticks;	  /* of host events; never less than those of the one before */
	uint64_t cpu_ns;  /* of the thread, if has_cpu */
	struct sonde_event_label label;
	uint64_t field[SONDE_EVENT_FIELDS]; /* as many as the type has */
};

struct sonde_event_base {
	uint64_t ticks, cpu_ns; /* of the last host event; CPU time when last given */
	uint64_t gpu_ns;	/* start of the chunk's last GPU event */
	uint32_t correlation;	/* of the chunk's last launch */
};

static inline bool sonde_event_is_of_gpu(unsigned type)
{
	return (type >= SONDE_EVENT_KERNEL && type <= SONDE_EVENT_OVERHEAD) ||
	       type == SONDE_EVENT_MEMORY;
}

/* Whether events of this type say when they happened on the host. */
bool sonde_event_has_time(unsigned type);

/*
 * Writes `e`, which takes at most SONDE_EVENT_LIMIT bytes, and moves `b` on. Returns where the next
 * goes. Only what the type has is looked at.
 */
uint8_t *sonde_event_put(uint8_t *p, struct sonde_event_base *b, const struct sonde_event *e);

/*
 * Reads the event at `p` (no BASE) and moves `b` on. Returns where the next begins, NULL when it is
 * cut off or of no known type. Texts point into the bytes.
 */
const uint8_t *sonde_event_get(const uint8_t *p, const uint8_t *end, struct sonde_event_base *b,
	struct sonde_event *e);

/* The event every chunk begins with; as many sonde_open_put as it says follow. */
uint8_t *sonde_base_put(
	uint8_t *p, const struct sonde_event_base *b, uint64_t nr_lost, uint32_t nr_open);
const uint8_t *sonde_base_get(const uint8_t *p, const uint8_t *end, struct sonde_event_base *b,
	uint64_t *nr_lost, uint64_t *nr_open);
/* One open range: the number of its label, or 0 and the domain of one without. */
uint8_t *sonde_open_put(uint8_t *p, uint32_t label, uint32_t domain);
const uint8_t *sonde_open_get(
	const uint8_t *p, const uint8_t *end, uint64_t *label, uint64_t *domain);

/* --- in place ----------------------------------------------------------------------------------- */

/* The type with its flags, and the ticks. */
static inline uint8_t *sonde_event_put_head(
	uint8_t *p, struct sonde_event_base *b, unsigned first, uint64_t ticks)
{
	uint64_t since = ticks - b->ticks;

	b->ticks = ticks;
	*p++ = (uint8_t)first;
	return sonde_varint_put(p, since);
}

/* The same with the thread's CPU time; `first` has SONDE_EVENT_CPU. */
static inline uint8_t *sonde_event_put_cpu(
	uint8_t *p, struct sonde_event_base *b, unsigned first, uint64_t ticks, uint64_t cpu_ns)
{
	uint64_t since = cpu_ns - b->cpu_ns;

	b->cpu_ns = cpu_ns;
	return sonde_varint_put(sonde_event_put_head(p, b, first, ticks), since);
}

/* Puts what follows the head of a launch. */
static inline uint8_t *sonde_event_put_launch(
	uint8_t *p, struct sonde_event_base *b, uint32_t correlation)
{
	int64_t step = (int64_t)correlation - (int64_t)b->correlation;

	b->correlation = correlation;
	return sonde_varint_put(p, sonde_zigzag(step));
}

/* The label of an event; without a number its first byte had SONDE_EVENT_INLINE. */
static inline uint8_t *sonde_event_put_text(
	uint8_t *p, uint32_t domain, const char *text, size_t nr_bytes)
{
	p = sonde_varint_put(p, domain);
	p = sonde_varint_put(p, nr_bytes);
	memcpy(p, text, nr_bytes);
	return p + nr_bytes;
}

#endif
