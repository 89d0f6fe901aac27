/*
 * The native capture file, as it is on disk. Shared by inject/ (writes) and
 * read/ (reads) and by nobody else; docs/capture-format.md describes it.
 *
 * One file per process, or several that follow each other, only ever appended to: a file header, then blocks.
 * Each block has its length and a checksum, so a file that ends anywhere (the
 * program was killed, the disk was full) is readable up to its last whole
 * block, and a damaged block is skipped by looking for the next good one.
 *
 * Fixed fields are little-endian and naturally aligned within their struct;
 * structs may begin at any byte offset, so readers copy them out. event.h has
 * the events.
 */
#ifndef SONDE_FORMAT_CAPTURE_H
#define SONDE_FORMAT_CAPTURE_H

#include <stdint.h>

#define SONDE_CAPTURE_MAGIC   "SONDECAP"
/* Version 2 has more events, and no attributes of ranges; 3 says when launches returned, and what calls wait for. All are read. */
#define SONDE_CAPTURE_VERSION 3
#define SONDE_CAPTURE_SUFFIX  ".sonde"
#define SONDE_CUBINS_FOLDER   "cubins" /* beside captures: code of kernels, CHECKSUM.cubin */
#define SONDE_SAMPLES_PREFIX  "samples-" /* file names of the sampler begin so */
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
	SONDE_BLOCK_WINDOW = 9,	 /* struct sonde_window_mark: the capture paused, or went on */
	SONDE_BLOCK_BUDGET = 10, /* struct sonde_budget_status */
	SONDE_BLOCK_ROLLED = 11, /* struct sonde_rolled; behind the first META, if at all */
	SONDE_BLOCK_CELLS = 12,	 /* bytes of a partial report, in order: what was folded comes to */
	SONDE_BLOCK_LOSS = 13,	 /* as NOTE: something that should be in the capture is not */
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

/*
 * Captures with windows (capture.window, a budget) have one of these when they begin, which is closed, one
 * whenever that changes, and one at the end; a capture that was ordered to pause was open until its first.
 * Outside windows there are no ranges and no launches; a chunk never has events of two windows.
 */
enum sonde_window_state {
	SONDE_WINDOW_CLOSED = 0,
	SONDE_WINDOW_OPEN = 1,
	SONDE_WINDOW_END = 2, /* the end of the capture … */
	SONDE_WINDOW_BEGIN = 3, /* … and its beginning */
	SONDE_WINDOW_TIMED = 4, /* this one and 5 and 6 are of older captures with a budget, which are refused */
};

struct sonde_window_mark {
	uint64_t ticks;
	uint64_t nr_entries; /* of the range that opens windows, so far; 0 = no range does */
	uint32_t state;	     /* enum sonde_window_state */
	uint32_t reserved;
};

/* The cost of a capture with a budget, as it knows it itself; the last one of a file counts. */
struct sonde_budget_status {
	uint32_t budget_ppm; /* millionths of the program's time */
	uint32_t cost_ppm;   /* what it took, by the figures below */
	uint32_t base_ppm;   /* of that: between windows */
	uint32_t record_ns;  /* what recording costs a launch … */
	uint32_t call_ns;    /* … and what the callback does */
	uint32_t nr_calibrated; /* launches these are from; 0 = guesses */
};

#define SONDE_MAX_ROLLED_COUNTS 32 /* also in read/rolled.h */
#define SONDE_ROLLED_RULES	2

/*
 * A capture goes on in further files, PATH.1, PATH.2, …, each with a header, META and blocks numbered
 * from 0; chunks that were begun in one are there again from their beginning in the next. Where the
 * oldest were folded, PATH holds what is left of them: their cells, and the blocks that those behind
 * them cannot be understood without. The last file that was folded is still there, for the same reason.
 */
struct sonde_rolled {
	uint32_t next; /* that file, the first of the further ones */
	uint32_t nr_counts;
	uint64_t counts[SONDE_MAX_ROLLED_COUNTS]; /* the reader's, for all that was folded */
	uint32_t rules; /* what is counted where: SONDE_ROLLED_RULES; older blocks end before it */
	uint32_t reserved;
};

enum sonde_string_kind {
	SONDE_STRING_LABEL = 0,	 /* of a range or mark, in a domain */
	SONDE_STRING_KERNEL = 1, /* mangled name */
	SONDE_STRING_DOMAIN = 2, /* its `domain` field is the number of the domain it names */
	SONDE_STRING_NAME = 3,	 /* any other: categories, threads, devices */
};

/*
 * A stream is the life of one thread; its events are in chunks numbered from 0,
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
	/* Older files end here. */
	uint64_t nr_owed; /* launches of kernels and graphs, of which CUPTI is to give at least a record each */
	uint64_t nr_pc_dropped; /* PC samples that the hardware dropped … */
	uint64_t nr_pc_full;	/* … and drains that found its buffer full, when CUPTI gives none */
};

#define SONDE_LABEL_LIMIT  16384
#define SONDE_INLINE_LIMIT 1024	      /* of a label written out in an event */
#define SONDE_STRING_LIMIT (1u << 17) /* string numbers are lower; later labels are written out */

/* No event is longer (labels written out included), so a chunk is full when less is left. */
#define SONDE_EVENT_LIMIT 1536
/* A thread has at most this many ranges open; deeper ones are counted, not kept. */
#define SONDE_OPEN_LIMIT 512
/* No setting of the library has more patterns. */
#define SONDE_PATTERN_LIMIT 256

#endif
