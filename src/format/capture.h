/*
 * The native capture file, as it is on disk. Shared by inject/ (writes) and
 * read/ (reads) and by nobody else; docs/capture-format.md describes it.
 *
 * Each process writes one file, or several that follow each other. A file is only ever appended to: a file header, then blocks.
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
/*
 * Version 2 added events and dropped the attributes of ranges. Version 3 added when launches returned, and what calls
 * wait for. The reader reads all versions.
 */
#define SONDE_CAPTURE_VERSION 3
#define SONDE_CAPTURE_SUFFIX  ".sonde"
#define SONDE_CUBINS_FOLDER   "cubins" /* folder beside the captures, with the code of kernels: CHECKSUM.cubin */
#define SONDE_SAMPLES_PREFIX  "samples-" /* the names of the sampler's files begin with this */
#define SONDE_BLOCK_MAGIC     0x4b4c4253u /* "SBLK" */
#define SONDE_BLOCK_LIMIT     (1u << 20)  /* no block's payload is longer */

struct sonde_capture_head {
	char magic[8];
	uint32_t version;
	uint32_t nr_bytes; /* size of this header: the first block starts there */
	uint64_t pid;
	uint64_t start_ns; /* CLOCK_REALTIME when the file was made */
	uint64_t tick_hz;  /* ticks per second, roughly; CLOCK blocks give the exact mapping */
	uint64_t reserved[2];
	uint64_t check; /* XXH3 of the bytes before this field */
};

/*
 * `check` is XXH3 (64 bits) of the payload, seeded with XXH3 of this header's
 * bytes before `check`. `seq` counts the file's blocks from 0: a gap is a loss.
 * Reserved fields are 0; readers treat a block with any other value there as damaged.
 */
struct sonde_block_head {
	uint32_t magic;
	uint16_t type; /* enum sonde_block; a reader skips types it does not know */
	uint16_t reserved0;
	uint32_t nr_bytes; /* size of the payload that follows */
	uint32_t seq;
	uint64_t reserved1;
	uint64_t check;
};

enum sonde_block {
	SONDE_BLOCK_META = 1,	 /* text: one `key=value` a line */
	SONDE_BLOCK_NOTE = 2,	 /* text: one sentence for the reader of the report */
	SONDE_BLOCK_CLOCK = 3,	 /* struct sonde_clock */
	SONDE_BLOCK_STRINGS = 4, /* a list of strings, each: number, kind, domain, length (varints), bytes */
	SONDE_BLOCK_THREAD = 5,	 /* varint stream, varint thread id, then its name */
	SONDE_BLOCK_EVENTS = 6,	 /* struct sonde_events, then event bytes */
	SONDE_BLOCK_STATUS = 7,	 /* struct sonde_status */
	SONDE_BLOCK_END = 8,	 /* 1 byte: enum sonde_end; none = SONDE_END_EXIT */
	SONDE_BLOCK_WINDOW = 9,	 /* struct sonde_window_mark: the capture began, paused, went on or ended */
	SONDE_BLOCK_BUDGET = 10, /* struct sonde_budget_status */
	SONDE_BLOCK_ROLLED = 11, /* struct sonde_rolled; only behind the first META, where files were folded */
	SONDE_BLOCK_CELLS = 12,	 /* the next bytes of a partial report: the sums of the folded files */
	SONDE_BLOCK_LOSS = 13,	 /* like NOTE, about something that should be in the capture but is missing */
	/* Hardware counters, in files of the sampler; format/samples.h has their codec. */
	SONDE_BLOCK_COUNTERS = 16, /* a set of counters of a device */
	SONDE_BLOCK_SAMPLES = 17,  /* samples of a set */
	SONDE_BLOCK_SAMPLER = 18,  /* struct sonde_sampler_status */
};

/* How the capture ended. A file without an end was left by a flusher that was killed. */
enum sonde_end {
	SONDE_END_EXIT = 0, /* the process ended in order: nothing is missing */
	SONDE_END_GONE = 1, /* the flusher found the process gone (killed, _exit, exec): all host events are there */
	SONDE_END_FULL = 2, /* the file could not be written any further while the process still ran */
};

/* One moment on three clocks. Event times are counted in ticks. */
struct sonde_clock {
	uint64_t ticks;
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
	uint64_t real_ns; /* CLOCK_REALTIME */
};

/*
 * A capture with windows (capture.window, a budget) has one sonde_window_mark at its beginning, where the window is
 * closed, one at each change, and one at the end. A capture without windows has marks only after an order to pause;
 * it was open until its first mark. Outside windows there are no ranges and no launches. A chunk never has events of
 * two windows.
 */
enum sonde_window_state {
	SONDE_WINDOW_CLOSED = 0,
	SONDE_WINDOW_OPEN = 1,
	SONDE_WINDOW_END = 2,	/* the capture ends */
	SONDE_WINDOW_BEGIN = 3, /* the capture begins, with the window closed */
	SONDE_WINDOW_TIMED = 4, /* states 4, 5 and 6 occur in older captures with a budget, which are refused */
};

struct sonde_window_mark {
	uint64_t ticks;
	uint64_t nr_entries; /* entries so far of the range that opens windows; 0 when no range does */
	uint32_t state;	     /* enum sonde_window_state */
	uint32_t reserved;
};

/* The cost of a capture with a budget, as the injected library measured it; the last one of a file counts. */
struct sonde_budget_status {
	uint32_t budget_ppm; /* the budget, in millionths of the program's time */
	uint32_t cost_ppm;   /* what the capture took so far, in the same unit */
	uint32_t base_ppm;   /* the part of cost_ppm that was lost between windows */
	uint32_t record_ns;  /* what recording adds to a launch */
	uint32_t call_ns;    /* what CUPTI's callback adds to a launch: assumed, not measured */
	uint32_t nr_calibrated; /* recorded launches that were measured for record_ns; 0 = record_ns is assumed */
};

#define SONDE_MAX_ROLLED_COUNTS 32 /* read/rolled.h repeats this number */
#define SONDE_ROLLED_RULES	2

/*
 * A capture may go on in further files, PATH.1, PATH.2, …, each with a header, META and blocks numbered from 0. A chunk
 * that is still being written when a file ends is repeated from its beginning in the next file. Where the oldest files
 * were folded, PATH holds what is left of them: their cells, and the blocks without which the later files cannot be
 * understood. The last file that was folded is not removed, for the same reason.
 */
struct sonde_rolled {
	uint32_t next; /* number of that file: the first further file that still exists */
	uint32_t nr_counts;
	uint64_t counts[SONDE_MAX_ROLLED_COUNTS]; /* the reader's counts (struct sonde_records) for all folded files */
	uint32_t rules; /* version of the rules by which files are folded, SONDE_ROLLED_RULES; older blocks end before it */
	uint32_t reserved;
};

enum sonde_string_kind {
	SONDE_STRING_LABEL = 0,	 /* label of a range or mark, in a domain */
	SONDE_STRING_KERNEL = 1, /* mangled name of a kernel */
	SONDE_STRING_DOMAIN = 2, /* name of a domain; the `domain` field is that domain's number */
	SONDE_STRING_NAME = 3,	 /* any other name: categories, threads, devices */
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
	uint32_t offset; /* where this piece begins in its chunk, in bytes */
	uint32_t nr_bytes;
};

/* Running totals; the last status of a file counts. */
struct sonde_status {
	uint64_t nr_lost;	 /* events dropped: no buffer was free */
	uint64_t nr_nested;	 /* events dropped: raised in a thread that was just writing another event */
	uint64_t nr_inline;	 /* labels written out in full: the string table was full */
	uint64_t nr_cut;	 /* labels cut because they were too long */
	uint64_t nr_no_slot;	 /* events dropped: more live threads than slots */
	uint64_t nr_gpu_dropped; /* activity records that CUPTI or the library dropped */
	uint64_t nr_too_deep;	 /* pushes in threads that had SONDE_OPEN_LIMIT ranges open: dropped, with their pops */
	/* The status blocks of older files end here. */
	uint64_t nr_owed; /* launches of kernels and graphs for each of which CUPTI should give at least one record */
	uint64_t nr_pc_dropped; /* PC samples that the hardware dropped, or that there was no room for */
	uint64_t nr_pc_full;	/* drains that found the hardware's buffer full; CUPTI gives no samples then */
};

#define SONDE_LABEL_LIMIT  16384
#define SONDE_INLINE_LIMIT 1024	      /* most bytes of a label that is written out in an event */
#define SONDE_STRING_LIMIT (1u << 17) /* all string numbers are lower; when they are used up, labels are written out in events */

/* No event is longer, labels written out included; so a chunk with less room left is full. */
#define SONDE_EVENT_LIMIT 1536
/* A thread records at most this many open ranges; deeper pushes are counted only. */
#define SONDE_OPEN_LIMIT 512
/* Most patterns of one setting of the library (nvtx.include, …). */
#define SONDE_PATTERN_LIMIT 256

#endif
