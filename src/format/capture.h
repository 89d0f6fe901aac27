/*
 * The native capture file, as it lies on disk. Shared by inject/ (writes) and
 * read/ (reads) and by nobody else; docs/capture-format.md tells it in words.
 *
 * One file per process, only ever appended to: a file header, then blocks.
 * Each block has its length and a checksum, so a file that ends anywhere (the
 * program was killed, the disk was full) is readable up to its last whole
 * block, and a damaged block is skipped by looking for the next good one.
 *
 * Fixed fields are little-endian and naturally aligned within their struct;
 * structs lie at any byte offset, so readers copy them out.
 */
#ifndef SONDE_FORMAT_CAPTURE_H
#define SONDE_FORMAT_CAPTURE_H

#include <stdint.h>

#define SONDE_CAPTURE_MAGIC   "SONDECAP"
#define SONDE_CAPTURE_VERSION 1
#define SONDE_CAPTURE_SUFFIX  ".sonde"
#define SONDE_BLOCK_MAGIC     0x4b4c4253u /* "SBLK" */
#define SONDE_BLOCK_LIMIT     (1u << 20)  /* no block's payload is longer */

struct sonde_capture_head {
	char magic[8];
	uint32_t version;
	uint32_t nr_bytes; /* of this header: where the first block starts */
	uint64_t pid;
	uint64_t start_ns; /* CLOCK_REALTIME when the file was made */
	uint64_t tick_hz;  /* ticks a second, roughly; the clock blocks are exact */
	uint64_t reserved[2];
	uint64_t check; /* XXH3 of the bytes before it */
};

/*
 * `check` is XXH3 (64 bits) of the payload, seeded with XXH3 of this header's
 * bytes before `check`. `seq` counts the file's blocks from 0: a gap is a loss.
 * Reserved fields are 0; a block where they are not is taken for damage.
 */
struct sonde_block_head {
	uint32_t magic;
	uint16_t type; /* enum sonde_block; a reader skips types it does not know */
	uint16_t reserved0;
	uint32_t nr_bytes; /* of the payload that follows */
	uint32_t seq;
	uint64_t reserved1;
	uint64_t check;
};

enum sonde_block {
	SONDE_BLOCK_META = 1,	 /* text: one `key=value` a line */
	SONDE_BLOCK_NOTE = 2,	 /* text: one sentence for the reader of the report */
	SONDE_BLOCK_CLOCK = 3,	 /* struct sonde_clock */
	SONDE_BLOCK_STRINGS = 4, /* string*: number, kind, domain, length (varints), bytes */
	SONDE_BLOCK_THREAD = 5,	 /* varint stream, varint thread id, then its name */
	SONDE_BLOCK_EVENTS = 6,	 /* struct sonde_events, then event bytes */
	SONDE_BLOCK_STATUS = 7,	 /* struct sonde_status */
	SONDE_BLOCK_END = 8,	 /* 1 byte: enum sonde_end; none = SONDE_END_EXIT */
	/* Hardware counters, in files of the sampler; format/samples.h has their codec. */
	SONDE_BLOCK_COUNTERS = 16, /* a set of counters of a device */
	SONDE_BLOCK_SAMPLES = 17,  /* samples of a set */
	SONDE_BLOCK_SAMPLER = 18,  /* struct sonde_sampler_status */
};

/* How the capture ended. A file without an end was left by a flusher that was killed. */
enum sonde_end {
	SONDE_END_EXIT = 0, /* with the process, in order: nothing is missing */
	SONDE_END_GONE = 1, /* after it (killed, _exit, exec): host events are all there */
	SONDE_END_FULL = 2, /* before it: the file could not be written any further */
};

/* One moment on three clocks. Ticks are what event times are counted in. */
struct sonde_clock {
	uint64_t ticks;
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
	uint64_t real_ns; /* CLOCK_REALTIME */
};

enum sonde_string_kind {
	SONDE_STRING_LABEL = 0,	 /* of a range or mark, in a domain */
	SONDE_STRING_KERNEL = 1, /* mangled name */
	SONDE_STRING_DOMAIN = 2, /* its `domain` field is the number of the domain it names */
	SONDE_STRING_NAME = 3,	 /* any other: categories, threads, devices */
};

/*
 * A stream is the life of one thread; its events lie in chunks numbered from 0,
 * and a chunk is written in one or more pieces as it fills. Each chunk starts
 * with an SONDE_EVENT_BASE and can be understood without the ones before it.
 */
struct sonde_events {
	uint64_t tid;
	uint32_t stream;
	uint32_t chunk;
	uint32_t offset; /* of this piece in its chunk */
	uint32_t nr_bytes;
};

/* Running totals; the last status of a file counts. */
struct sonde_status {
	uint64_t nr_lost;	 /* events dropped: no buffer was free */
	uint64_t nr_nested;	 /* events dropped: raised while another was being written */
	uint64_t nr_inline;	 /* labels written out in full: the string table was full */
	uint64_t nr_cut;	 /* labels longer than SONDE_LABEL_LIMIT */
	uint64_t nr_no_slot;	 /* events dropped: more live threads than slots */
	uint64_t nr_gpu_dropped; /* activity records CUPTI dropped */
	uint64_t nr_too_deep;	 /* pushes below SONDE_OPEN_LIMIT open ones, with their pops */
};

#define SONDE_LABEL_LIMIT  16384
#define SONDE_INLINE_LIMIT 1024	      /* of a label written out in an event */
#define SONDE_STRING_LIMIT (1u << 17) /* string numbers are lower; later labels are written out */

/*
 * Events. The first byte holds the type and three flags. Host events go on
 * with the ticks since the previous host event of the chunk, then, where
 * flagged, the thread's CPU nanoseconds since they were last given, then the
 * fields below, all varints unless said otherwise. Numbers that are not
 * flagged are not there.
 */
#define SONDE_EVENT_TYPE   0x1f
#define SONDE_EVENT_CPU	   0x20 /* CPU time follows the ticks */
#define SONDE_EVENT_ATTR   0x40 /* attributes end the event: see SONDE_ATTR_* */
#define SONDE_EVENT_DOMAIN 0x80 /* pop: a domain follows */
#define SONDE_EVENT_INLINE 0x80 /* others: instead of a label number: domain, length, bytes */

enum sonde_event {
	/* 8 bytes ticks, 8 bytes CPU ns, lost so far in this stream, open ranges: count, labels */
	SONDE_EVENT_BASE = 1,
	SONDE_EVENT_PUSH = 2,	       /* label */
	SONDE_EVENT_POP = 3,	       /* [domain] */
	SONDE_EVENT_START = 4,	       /* label, id (of this stream) */
	SONDE_EVENT_STOP = 5,	       /* stream and id of the start */
	SONDE_EVENT_MARK = 6,	       /* label */
	SONDE_EVENT_NAME_THREAD = 7,   /* label, thread id */
	SONDE_EVENT_NAME_CATEGORY = 8, /* label, domain, category */
	SONDE_EVENT_NAME_HANDLE = 9,   /* label, enum sonde_handle, handle */
	SONDE_EVENT_LAUNCH = 10,       /* correlation id, zigzag from the last one of the chunk */
	SONDE_EVENT_NODE = 11,	       /* graph node id: created by this thread, now */
	SONDE_EVENT_NODE_COPY = 12,    /* graph node id, id of the node it was copied from */
	SONDE_EVENT_GPU_CLOCK = 13,    /* CUPTI nanoseconds at this event's ticks */
	/*
	 * What the GPU did. No ticks, no CPU time: these start with a zigzag of the start
	 * against the last such start of the chunk (0 at first), the duration, the
	 * correlation id (0 = none), device, context, stream; all times CUPTI nanoseconds.
	 */
	SONDE_EVENT_KERNEL = 16,   /* + name, grid x y z, block x y z, registers, static and
				      dynamic shared bytes, graph node id (0 = none) */
	SONDE_EVENT_MEMCPY = 17,   /* + kind, bytes, graph node id */
	SONDE_EVENT_MEMSET = 18,   /* + bytes, graph node id */
	SONDE_EVENT_GRAPH = 19,	   /* + graph id: a whole graph without its nodes */
	SONDE_EVENT_OVERHEAD = 20, /* + kind; device, context, stream are 0 */
	/* id, name, compute capability major, minor, multiprocessors, memory bytes, and the
	   peak memory bytes a second: not at any time, so without the fields above */
	SONDE_EVENT_DEVICE = 21,
	SONDE_EVENT_LAST = 31, /* no event has a higher type */
};

/* What a name event names: the NVTX call's own kind of handle. */
enum sonde_handle {
	SONDE_HANDLE_DEVICE = 1,
	SONDE_HANDLE_CONTEXT = 2,
	SONDE_HANDLE_STREAM = 3,
	SONDE_HANDLE_EVENT = 4,
};

/* Attributes: one byte says which, then those, in this order. */
#define SONDE_ATTR_CATEGORY 1 /* varint */
#define SONDE_ATTR_COLOR    2 /* 4 bytes ARGB */
#define SONDE_ATTR_PAYLOAD  4 /* 1 byte NVTX payload type, 8 bytes value */

/* No event is longer (labels written out included), so a chunk is full when less is left. */
#define SONDE_EVENT_LIMIT 1536
/* A thread has at most this many ranges open; deeper ones are counted, not kept. */
#define SONDE_OPEN_LIMIT 512
/* No setting of the library has more patterns. */
#define SONDE_PATTERN_LIMIT 256

#endif
