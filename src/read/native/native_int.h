/*
 * Inside the reading room: a native capture, file by file.
 *
 *   native_file.c     the files and blocks of a capture → strings, clocks, texts, pieces of each stream
 *   native_windows.c  when the program was captured
 *   native_stream.c   pieces → events, launches
 *   native_stack.c    pushes and pops → range entries
 *   native_events.c   all other events: start/end ranges, graphs, marks, calls, devices, what the GPU did
 *   native_values.c   numbers that the program gave: arguments of entries, counters
 *   native_join.c     GPU work ↔ launches → records; start/end ranges, where graphs were captured
 *   native_lines.c    PC samples → lines of source, by the cubins beside the capture
 *   native_samples.c  sampled counters → series; series.c puts them on the records' axis
 *   native_reduce.c   what must stay of files that are folded
 *   native.c          the reader: all of that in order, notes, and the values of a record
 *
 * Nothing here trusts the file: numbers are bounded before they size anything,
 * and damage costs the block or the chunk it is in, counted.
 */
#ifndef SONDE_READ_NATIVE_INT_H
#define SONDE_READ_NATIVE_INT_H

#include "base/keysort.h"
#include "format/capture.h"
#include "format/event.h"
#include "format/samples.h"
#include "read/clock_map.h"
#include "read/folder_in.h"
#include "read/source.h"

#define NATIVE_MAX_DOMAINS 1024u
#define NATIVE_MAX_NAMES   4096u /* threads with a name */
#define NATIVE_NO_DOMAIN   NATIVE_MAX_DOMAINS /* domain of labels that were not written: not known */
#define NATIVE_NR_DOMAINS  (NATIVE_MAX_DOMAINS + 1)
#define NATIVE_MAX_MEMBERS (1u << 27) /* in all sets of open ranges together: 512 MiB */

struct native_string {
	struct sonde_str text; /* p NULL = not defined by the file */
	uint32_t string;       /* string number; SONDE_NONE until it is used */
	uint32_t domain;
	uint8_t kind;
};

/* The text of a label. The writer cuts labels at the limit, so anything longer is damage and is cut here too. */
static inline struct sonde_str sonde_native__text(const uint8_t *p, uint64_t n)
{
	return (struct sonde_str){
		(const char *)p, n < SONDE_LABEL_LIMIT ? (size_t)n : SONDE_LABEL_LIMIT};
}

/* A piece: some bytes of a chunk of a stream. */
struct native_piece {
	uint32_t stream, chunk, offset, nr_bytes;
	uint64_t tid;
	const uint8_t *data;
};

/* A host call that launches work on the GPU. */
struct native_launch {
	uint64_t ns;
	uint32_t correlation;
	uint32_t set;	/* number of the set of open ranges */
	uint32_t piece; /* number of the piece it is in, which knows the thread and the offset in the file */
	bool is_unchosen;
};

/* An allocation or a free. All other GPU work becomes records at once: see sonde_stream__work. */
struct native_memory {
	struct sonde_memory memory; /* `ns` is in CUPTI's clock; thread and ranges are filled in from the launch */
	uint64_t at;		    /* offset of its event in the file … */
	uint64_t start_ns;	    /* … and its start, which cannot be decoded from that event alone */
	uint32_t correlation;
	uint32_t launch; /* number of its launch, SONDE_NONE = unknown */
};

/* The start or the stop of a start/end range. */
struct native_edge {
	uint64_t key; /* upper half: stream + 1, lower half: the range's number in that stream */
	uint64_t ns, ticks;
	uint32_t range;	 /* a start: its range */
	uint32_t window; /* number of the window it is in */
	uint32_t piece;	 /* number of the piece it is in */
	uint32_t start;	 /* a stop: number of the edge that it ends; SONDE_NONE = none */
	uint8_t when;	 /* enum sonde_when */
	bool is_stop;
};

/* A number that the driver reports for a device, or its UUID. */
struct native_attribute {
	uint32_t device;
	uint32_t text; /* string number: the attribute's name, or the UUID */
	double value;  /* NaN = a UUID */
};

/* Where a graph node was captured. */
struct native_node {
	uint64_t ns;
	uint64_t id, original; /* id of the node, and of the node it is a copy of; 0 = not a copy */
	uint32_t range;	       /* innermost open range of its thread, SONDE_NONE = outside any */
};

#define NATIVE_OF_STOP (UINT64_C(1) << 32)

/* A number that the program gave for a range. */
struct native_value {
	uint64_t range; /* range number, the key to sort by; with NATIVE_OF_STOP the number of the edge that ends the range */
	uint64_t bits;
	uint32_t name; /* string number */
	uint8_t type;  /* enum sonde_value_type */
	bool is_sample;	 /* from a sample of a counter */
	bool is_renewed; /* a later number of the range has the same name and replaces this one */
};

/* A window: a time in which the program was captured. */
struct native_window {
	uint64_t begin, end; /* ticks; UINT64_MAX = to the end of the capture */
	uint8_t ended; /* enum sonde_when: when its end is counted */
};

/* An event that gives a time of the GPU's clock. */
struct native_gpu_time {
	uint64_t ns;	/* in the GPU's clock */
	uint32_t piece; /* number of the piece it is in */
};

/* A mark of the file about a window, and when it is counted. */
struct native_window_mark {
	struct sonde_window_mark mark;
	uint8_t when; /* enum sonde_when */
};

#define NATIVE_NR_BEFORE 2u /* number of files already counted if some were folded: see struct sonde_rolled */

#define NATIVE_ALL_TIME UINT32_MAX	   /* window of everything in a capture without windows */
#define NATIVE_OUTSIDE	(UINT32_MAX - 1) /* window of what a stream writes between windows */

/* Counts made while reading. `recorded`: launches that have a record, among those that should have one. */
struct native_counts {
	uint64_t events, orphan_pops, unclosed, orphan_stops, unstopped, bad_blocks,
		bad_chunks, missing_blocks, no_label, lost, closed_by_loss, no_launch,
		overhead_ns, sets_cut, no_time, left_out, bad_samples, unchosen,
		cut_by_windows, between_windows, recorded;
};

struct native {
	struct sonde_source *src;
	struct sonde_records *r;
	struct sonde_capture_head head;
	uint32_t process;
	size_t first_name; /* first entry of this file in r->thread_names … */
	uint32_t first_range; /* … in r->ranges … */
	size_t first_reading; /* … in r->readings … */
	size_t first_record;  /* … in r->records … */
	size_t first_batch;   /* … and in r->pc_batches */
	/* Read from the blocks: */
	SONDE_VEC(struct native_string) strings; /* by number */
	uint32_t domains[NATIVE_NR_DOMAINS];	 /* string number of each domain's name; [0] = SONDE_NONE */
	SONDE_VEC(struct native_piece) pieces;
	SONDE_VEC(struct native_window_mark) marks;
	SONDE_VEC(struct native_window) windows; /* in order */
	bool is_windowed; /* the capture uses windows, even if none opened: outside windows, ranges and launches are missing */
	struct sonde_str meta;
	struct sonde_budget_status budget; /* budget_ppm 0 = no budget */
	struct sonde_status status;
	bool ended, is_cut; /* is_cut: the file ends inside a block */
	bool is_written;    /* a writer had locked it before it was read */
	bool says_loss;	    /* the file has a LOSS block */
	uint8_t end; /* enum sonde_end */
	struct sonde_rolled rolled; /* next 0 = no file was folded … */
	struct sonde_buf cells;	    /* … else the bytes of their partial report */
	size_t head_bytes;	    /* offset at which the first further file begins; 0 = there is none */
	uint64_t last_ns;	    /* when the last file (or the only one) began … */
	bool is_begun;		    /* a file has begun, and its first CLOCK, which sets last_ns, was not read yet */
	uint32_t nr_begun;	    /* number of files that have begun */
	SONDE_VEC(size_t) files;    /* offset at which each file begins, except the first */
	size_t from, ahead; /* offsets: bytes before `from` were counted already, bytes from `ahead` on are counted later (enum sonde_when) */
	bool *kept; /* when reducing (native_reduce.c): by piece, whether it is kept; else NULL */
	struct native_gpu_time last_gpu_times[2]; /* when reducing: the last two times of the GPU's clock, in order */
	SONDE_VEC(uint32_t) piece_of; /* when reducing: by range of this file, the piece it begins in */
	uint64_t epoch_ns;	       /* real time − monotonic time, at the first clock */
	struct sonde_clock_map host, gpu; /* both map to nanoseconds since the epoch */
	/* Read from the streams: */
	SONDE_VEC(struct native_launch) launches;
	SONDE_VEC(uint64_t) returned_ns; /* by launch: when the call returned, 0 = not known; only with for_replay */
	SONDE_VEC(struct native_memory) memory;
	size_t nr_works; /* pieces of GPU work, memory included; set when all are known */
	SONDE_VEC(struct native_edge) edges;
	SONDE_VEC(struct native_value) values;
	SONDE_VEC(struct native_node) nodes;
	SONDE_VEC(struct native_attribute) attributes;
	/* Read from a sampler's file: */
	uint32_t series_of[SONDE_SET_LIMIT]; /* by number of a set: series number + 1, 0 = none */
	struct sonde_sampler_status sampler;
	struct sonde_map long_paths; /* hashes (8 bytes) of the regions with long paths */
	uint64_t long_path_bytes;    /* length of these paths together */
	struct native_counts counts, uncounted;
	struct native_counts *current_counts; /* one of the two: where counts go for the part being read */
};

/* Whether memory ran out for the records or for the reader's work. */
static inline bool sonde_native__failed(const struct native *n)
{
	return n->r->arena.failed || n->src->work.failed;
}

/* The number of the file that an offset is in. */
static inline size_t sonde_native__file_at(const struct native *n, uint64_t offset)
{
	size_t i = n->files.nr;

	while (i && n->files.at[i - 1] > offset)
		i--;
	return i;
}

/* When the events at this offset are counted. */
static inline enum sonde_when sonde_native__when(const struct native *n, uint64_t offset)
{
	return offset < n->from ? SONDE_BEFORE : offset >= n->ahead ? SONDE_AHEAD : SONDE_NOW;
}

/* The offset of a piece in the file. */
static inline uint64_t sonde_native__offset(const struct native *n, const struct native_piece *p)
{
	return (uint64_t)(p->data - (const uint8_t *)n->src->file.data.p);
}

static inline uint64_t sonde_native__thread(const struct native *n, const struct native_launch *l)
{
	return n->pieces.at[l->piece].tid;
}

/* The options, of which some apply to the first input only. */
static inline struct sonde_read_options sonde_native__options(const struct native *n)
{
	return n->src->input ? (struct sonde_read_options){0} : n->r->options;
}

/* Maps the capture's further files behind its first. */
int sonde_native__map_files(struct native *n, struct sonde_err *err);
/* Whether events of this type are needed to understand all later files: devices, nodes of graphs. */
bool sonde_native__is_lasting(unsigned type);
/* Appends the reduced file, with what must stay of the files that were read, but without cells. */
int sonde_native__reduce(struct native *n, struct sonde_buf *out, struct sonde_err *err);
/* Calls `take` for each block, in order. */
void sonde_native__each_block(const struct native *n,
	void (*take)(void *of, const struct sonde_block_head *h, const uint8_t *p), void *of);
/* Stores the system's name of a thread. */
void sonde_native__name_thread(struct native *n, uint64_t tid, struct sonde_str name);
/* Call it after all streams: adds the driver's attributes to the devices. */
void sonde_native__devices(struct native *n);
/* Each of these returns 0, or a negative code with `err` filled in. Damage is counted, not an error. */
int sonde_native__read_blocks(struct native *n, struct sonde_err *err);
int sonde_native__read_streams(struct native *n, struct sonde_err *err);
/* Call it after sonde_native__join: turns the numbers of ranges into arguments. */
int sonde_native__read_values(struct native *n, struct sonde_err *err);
int sonde_native__read_windows(struct native *n, struct sonde_err *err);
/* The number of the window that a moment is in; NATIVE_OUTSIDE = in none; NATIVE_ALL_TIME = the capture has no windows. */
uint32_t sonde_native__window_at(const struct native *n, uint64_t ticks);
/* When a window ended; 0 = it was open until the end of the capture. */
uint64_t sonde_native__window_end_ns(struct native *n, uint32_t window);
void sonde_native__note_windows(struct native *n);
/* Copies the windows to the records; false when memory is short. */
bool sonde_native__keep_windows(struct native *n);
/* By launch: whether it has GPU work; NULL when memory is short. The caller frees it. */
bool *sonde_native__have_work(const struct native *n);
/* The numbers of `memory` in order of time, when launches are known; NULL when memory is short. The caller frees it. */
struct sonde_keyed *sonde_native__order_memory(const struct native *n);
int sonde_native__join(struct native *n, struct sonde_err *err);
/* Read the blocks of a sampler. */
void sonde_native__counters(struct native *n, struct sonde_str payload);
void sonde_native__samples(struct native *n, struct sonde_str payload);
bool sonde_native__is_sampler(const struct native *n);
/* Keeps the file's GPU clock, which moves from `n` to the records. */
void sonde_native__keep_clock(struct native *n);
void sonde_native__note_sampler(const struct native *n);
/* The program's name: the last part of its path. */
struct sonde_str sonde_native__program(const struct native *n);
/* The value of `key` in the file's META, empty when it is not there. */
struct sonde_str sonde_native__meta(const struct native *n, const char *key);
/* The string number of a label; a stand-in when the file does not define it. */
uint32_t sonde_native__string(struct native *n, uint64_t number);
/* Finds the source lines of PC samples, in the cubins that were kept with the capture. */
void sonde_native__lines(struct native *n);
/* The domain of a label, NATIVE_NO_DOMAIN when the file does not define it. */
uint32_t sonde_native__domain(const struct native *n, uint64_t number);
/* Reads the event at this offset again; its absolute times are unknown then. False when there is none. */
bool sonde_native__event(const struct sonde_source *src, uint64_t at, struct sonde_event *out);

#endif
