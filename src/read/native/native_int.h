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
#define NATIVE_NO_DOMAIN   NATIVE_MAX_DOMAINS /* of labels that were not written: not known */
#define NATIVE_NR_DOMAINS  (NATIVE_MAX_DOMAINS + 1)
#define NATIVE_MAX_MEMBERS (1u << 27) /* of sets of open ranges: 512 MiB */

struct native_string {
	struct sonde_str text; /* p NULL = never defined */
	uint32_t string;       /* string number once used, SONDE_NONE before */
	uint32_t domain;
	uint8_t kind;
};

/* The text of a label: the writer cuts long ones, so nothing longer is believed either. */
static inline struct sonde_str sonde_native__text(const uint8_t *p, uint64_t n)
{
	return (struct sonde_str){
		(const char *)p, n < SONDE_LABEL_LIMIT ? (size_t)n : SONDE_LABEL_LIMIT};
}

/* Some bytes of a chunk of a stream. */
struct native_piece {
	uint32_t stream, chunk, offset, nr_bytes;
	uint64_t tid;
	const uint8_t *data;
};

/* A call that makes the GPU work. */
struct native_launch {
	uint64_t ns;
	uint32_t correlation;
	uint32_t set;	/* of ranges open */
	uint32_t piece; /* it is in, which knows its thread and where that is */
	bool is_unchosen;
};

/* Memory taken or given back. All other work of the GPU becomes records at once: see sonde_stream__work. */
struct native_memory {
	struct sonde_memory memory; /* `ns` by CUPTI's clock; thread and ranges come with the launch */
	uint64_t at;		    /* offset of its event in the file … */
	uint64_t start_ns;	    /* … and its start, which cannot be read there alone */
	uint32_t correlation;
	uint32_t launch; /* SONDE_NONE = unknown */
};

/* A start/end range: when it began or ended. */
struct native_edge {
	uint64_t key; /* stream + 1 above, its number below */
	uint64_t ns, ticks;
	uint32_t range;	 /* of a start */
	uint32_t window; /* it is in */
	uint32_t piece;	 /* likewise */
	uint32_t other;	 /* a stop: the edge that it ends; SONDE_NONE = none */
	uint8_t when;	 /* enum sonde_when */
	bool is_stop;
};

/* A number that the driver gives for a device, or its UUID. */
struct native_attribute {
	uint32_t device;
	uint32_t text; /* string number: the attribute's name, or the UUID */
	double value;  /* NaN = a UUID */
};

/* Where a graph node was captured. */
struct native_node {
	uint64_t ns;
	uint64_t id, original; /* original 0 = made, not copied */
	uint32_t range;	       /* innermost open one of its thread, SONDE_NONE = outside any */
};

#define NATIVE_OF_STOP (UINT64_C(1) << 32)

/* A number that a range was given. */
struct native_value {
	uint64_t range; /* the key they are sorted by; with NATIVE_OF_STOP the edge that ends it */
	uint64_t bits;
	uint32_t name; /* string number */
	uint8_t type;  /* enum sonde_value_type */
	bool is_sample;	 /* of a counter */
	bool is_renewed; /* a later number of the range has this name: that one counts */
};

/* A time in which the program was captured. */
struct native_window {
	uint64_t begin, end; /* ticks; UINT64_MAX = to the end of the capture */
	uint8_t ended; /* enum sonde_when: when its end is counted */
};

#define NATIVE_NR_BEFORE 2u /* files that were counted before, where some were folded: struct sonde_rolled */

#define NATIVE_ALL_TIME UINT32_MAX	   /* of a capture without windows */
#define NATIVE_OUTSIDE	(UINT32_MAX - 1) /* of a stream that writes between windows */

/* Counts made while reading. `recorded`: launches that have a record, of those that should have one. */
struct native_counts {
	uint64_t events, orphan_pops, unclosed, orphan_stops, unstopped, bad_blocks,
		bad_chunks, missing_blocks, no_label, lost, closed_by_loss, no_launch,
		overhead_ns, sets_cut, no_time, left_out, bad_samples, unchosen,
		cut_by_windows, out_of_windows, recorded;
};

struct native {
	struct sonde_source *src;
	struct sonde_records *r;
	struct sonde_capture_head head;
	uint32_t process;
	size_t first_name; /* of this file, in r->thread_names */
	uint32_t first_range; /* of this file, in r->ranges … */
	size_t first_reading; /* … and r->readings … */
	size_t first_record;  /* … and r->records */
	size_t first_batch;   /* … and r->pc_batches */
	/* From the blocks. */
	SONDE_VEC(struct native_string) strings; /* by number */
	uint32_t domains[NATIVE_NR_DOMAINS];	 /* string number of each name, [0] SONDE_NONE */
	SONDE_VEC(struct native_piece) pieces;
	SONDE_VEC(struct sonde_window_mark) marks; /* `reserved`: enum sonde_when */
	SONDE_VEC(struct native_window) windows; /* in order */
	bool is_windowed; /* there are windows, if none: ranges and launches are missing */
	struct sonde_str meta;
	struct sonde_budget_status budget; /* budget_ppm 0 = there is none */
	struct sonde_status status;
	bool ended, is_cut; /* is_cut: the file ends inside a block */
	bool is_written;    /* somebody had it locked to write to it, before it was read */
	bool says_loss;	    /* in a block of its own */
	uint8_t end; /* enum sonde_end */
	struct sonde_rolled rolled; /* next 0 = no file was folded … */
	struct sonde_buf cells;	    /* … else what they came to */
	size_t head_bytes;	    /* where the first further file begins; 0 = there is none */
	uint64_t last_ns;	    /* when the last file began, which may be the first … */
	bool is_begun;		    /* … as the next CLOCK says */
	uint32_t nr_begun;	    /* files that have begun */
	SONDE_VEC(size_t) files;    /* where each file begins, but the first */
	size_t from, ahead; /* offsets: what is before was counted, what is behind is counted later (enum sonde_when) */
	bool *kept; /* by piece, when reducing (native_reduce.c); else NULL */
	struct sonde_clock_point late[2];  /* when reducing: the last times of the GPU's clock, and pieces */
	SONDE_VEC(uint32_t) piece_of; /* by range of this file, when reducing */
	uint64_t epoch_ns;	       /* real time − monotonic time, at the first clock */
	struct sonde_clock_map host, gpu; /* both to nanoseconds since the epoch */
	/* From the streams. */
	SONDE_VEC(struct native_launch) launches;
	SONDE_VEC(uint64_t) returned_ns; /* by launch, 0 = not known; only for a replay */
	SONDE_VEC(struct native_memory) memory;
	size_t nr_works; /* of the GPU, memory included, as soon as they are all there */
	SONDE_VEC(struct native_edge) edges;
	SONDE_VEC(struct native_value) values;
	SONDE_VEC(struct native_node) nodes;
	SONDE_VEC(struct native_attribute) attributes;
	/* From a sampler. */
	uint32_t series_of[SONDE_SET_LIMIT]; /* series number + 1 of each set, 0 = none */
	struct sonde_sampler_status sampler;
	struct sonde_map long_paths; /* hashes of the regions with long paths, 8 bytes each */
	uint64_t long_path_bytes;    /* of all of them */
	struct native_counts counts, uncounted;
	struct native_counts *count; /* one of the two: where what is being read counts */
};

/* Whether memory was short for the records or for the work. */
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

/* When bytes of the file are counted. */
static inline enum sonde_when sonde_native__when(const struct native *n, uint64_t offset)
{
	return offset < n->from ? SONDE_BEFORE : offset >= n->ahead ? SONDE_AHEAD : SONDE_NOW;
}

/* Where a piece is in the file. */
static inline uint64_t sonde_native__offset(const struct native *n, const struct native_piece *p)
{
	return (uint64_t)(p->data - (const uint8_t *)n->src->file.data.p);
}

static inline uint64_t sonde_native__thread(const struct native *n, const struct native_launch *l)
{
	return n->pieces.at[l->piece].tid;
}

/* The options that are about the first input alone. */
static inline struct sonde_read_options sonde_native__options(const struct native *n)
{
	return n->src->input ? (struct sonde_read_options){0} : n->r->options;
}

/* Maps the files that the capture goes on in after its first. */
int sonde_native__map_files(struct native *n, struct sonde_err *err);
/* Whether events of this type matter for all that follow: devices, nodes of graphs. */
bool sonde_native__is_lasting(unsigned type);
/* Appends the file that must stay of what was read, without its cells. */
int sonde_native__reduce(struct native *n, struct sonde_buf *out, struct sonde_err *err);
/* Calls `take` for each block, in order. */
void sonde_native__each_block(const struct native *n,
	void (*take)(void *of, const struct sonde_block_head *h, const uint8_t *p), void *of);
/* Takes the system's name of a thread. */
void sonde_native__name_thread(struct native *n, uint64_t tid, struct sonde_str name);
/* After all streams: adds the driver's attributes to the devices. */
void sonde_native__devices(struct native *n);
/* Each: 0 or a negative code with `err` filled in; damage is counted, not an error. */
int sonde_native__read_blocks(struct native *n, struct sonde_err *err);
int sonde_native__read_streams(struct native *n, struct sonde_err *err);
/* After sonde_native__join: numbers of ranges → their arguments. */
int sonde_native__read_values(struct native *n, struct sonde_err *err);
int sonde_native__read_windows(struct native *n, struct sonde_err *err);
/* The window a moment is in: its number, NATIVE_OUTSIDE, or NATIVE_ALL_TIME without windows. */
uint32_t sonde_native__window_at(const struct native *n, uint64_t ticks);
/* When a window ended; 0 when it was open to the end. */
uint64_t sonde_native__window_end_ns(struct native *n, uint32_t window);
void sonde_native__note_windows(struct native *n);
/* Puts them among the records; false when memory is short. */
bool sonde_native__keep_windows(struct native *n);
/* By launch: whether it has work; NULL when memory is short. The caller's to free. */
bool *sonde_native__have_work(const struct native *n);
/* The numbers of `memory` by time, when their launches are known; NULL when memory is short. The caller's to free. */
struct sonde_keyed *sonde_native__order_memory(const struct native *n);
int sonde_native__join(struct native *n, struct sonde_err *err);
/* The blocks of a sampler. */
void sonde_native__counters(struct native *n, struct sonde_str payload);
void sonde_native__samples(struct native *n, struct sonde_str payload);
bool sonde_native__is_sampler(const struct native *n);
/* Keeps the file's GPU clock, taken over from `n`. */
void sonde_native__keep_clock(struct native *n);
void sonde_native__note_sampler(const struct native *n);
/* The program's name: the last part of its path. */
struct sonde_str sonde_native__program(const struct native *n);
/* The value of `key` in the file's META, empty when it is not there. */
struct sonde_str sonde_native__meta(const struct native *n, const char *key);
/* The string number of a label; a stand-in when the file does not define it. */
uint32_t sonde_native__string(struct native *n, uint64_t number);
/* Finds the lines of PC samples in the cubins that were kept. */
void sonde_native__lines(struct native *n);
/* The domain of a label, NATIVE_NO_DOMAIN when the file does not define it. */
uint32_t sonde_native__domain(const struct native *n, uint64_t number);
/* Reads the event at this offset once more, its start not known: false when there is none. */
bool sonde_native__event(const struct sonde_source *src, uint64_t at, struct sonde_event *out);

#endif
