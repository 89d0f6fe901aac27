/*
 * Records: what a capture says, before anybody interprets it.
 *
 * One `struct sonde_records` holds everything read from one or more inputs
 * (Nsight Compute reports, their CSV, native captures): the processes and
 * devices, the metric names, every range entry that is known, and every result
 * (a kernel, a graph, a replayed range, a copy). It is built once, read-only
 * afterwards, and all its pointers are borrowed from it: valid until
 * `sonde_records_free`. Text points into the mapped files and may hold any
 * bytes. Strings, metrics, processes, ranges … are named by small numbers that
 * index the arrays below; SONDE_NONE means "none".
 *
 * Metric values are not stored: they stay in the mapped file and are decoded
 * for one record at a time with `sonde_records_values`, so that a report of
 * 100,000 results costs a few megabytes beside its mapping.
 */
#ifndef SONDE_READ_RECORDS_H
#define SONDE_READ_RECORDS_H

#include "base/arena.h"
#include "catalogue/calls.h"
#include "read/clock_map.h"
#include "read/inputs.h"

enum sonde_result {
	SONDE_RESULT_KERNEL,
	SONDE_RESULT_GRAPH,   /* a whole CUDA graph with one set of metrics */
	SONDE_RESULT_CMDLIST, /* a command list */
	SONDE_RESULT_RANGE,   /* a replayed range: everything between two API calls */
	SONDE_RESULT_MEMCPY,
	SONDE_RESULT_MEMSET,
};

/*
 * A native capture in several files is counted file by file (rolled.h). To understand the files that are counted now,
 * files around them are read too: those before were counted already, the one ahead is counted later.
 */
enum sonde_when {
	SONDE_NOW,
	SONDE_BEFORE,
	SONDE_AHEAD,
};

#define SONDE_MAX_PROCESSES (1u << 24)

/* The times of a range entry, for sources that have them, else 0. All in the source's clock. */
struct sonde_range_time {
	uint64_t begin_ns, end_ns;
	uint64_t cpu_ns; /* CPU time of its thread, 0 when unknown */
};

/*
 * One entry into a range: an instance. Push/pop entries know the entry they
 * are nested in (same thread, same domain); start/end entries never do.
 */
struct sonde_range {
	uint32_t parent; /* range number, SONDE_NONE = outermost; always smaller than its own */
	uint32_t label;	 /* string number */
	uint32_t domain; /* string number, SONDE_NONE = the default domain */
	/* There are millions of ranges: the next six members share four bytes. */
	uint32_t process : 24;	 /* below SONDE_MAX_PROCESSES */
	uint8_t kind : 2;	 /* enum sonde_range_kind */
	bool is_open : 1;	 /* never closed: its end is the last moment of its process */
	bool is_inherited : 1; /* entered by the parent before a fork: it counts there and has no times here */
	uint8_t begun : 2; /* enum sonde_when: when the entry is counted … */
	uint8_t ended : 2; /* … and when its times are counted */
	uint64_t thread;	 /* thread that entered the range */
	struct sonde_range_time time;
};

/* The arguments of an entry, as a list of read/arguments.h. */
struct sonde_range_arguments {
	uint32_t range;
	uint32_t list; /* string number */
};

/* When the GPU worked on a result, in the source's clock; zeros when unknown. */
struct sonde_record_time {
	uint64_t start_ns, end_ns;
};

/* Why a result has a second place in the program, beside the place of its launch. */
enum sonde_origin {
	SONDE_ORIGIN_NONE,
	SONDE_ORIGIN_GRAPH,    /* work of a CUDA graph: the second place is where its node was captured */
	SONDE_ORIGIN_BACKWARD, /* work of a backward operator: the second place is where its forward operator ran */
	SONDE_ORIGIN_LENT,     /* its thread has no range open, but other threads have */
};

/*
 * The caller of a result, the queue it ran in, and its function. Millions of results share a few of these, so each
 * kind has a table without duplicates. The tables are maps keyed by the bytes of the structs, which therefore have
 * no padding.
 */
struct sonde_caller {
	uint64_t thread;
	uint32_t process;
	uint32_t zero;
};

struct sonde_queue {
	uint64_t stream;
	uint32_t device; /* device id as the process sees it */
	uint32_t context;
};

struct sonde_function {
	uint32_t name;	    /* string number: `gemm_tile` */
	uint32_t full_name; /* string number: demangled, `void gemm_tile<2>(float *)`; never SONDE_NONE */
};

#define SONDE_MAX_CALLERS (1u << 21)

/* One result. */
struct sonde_record {
	uint64_t call_ns; /* time of the host's call, same clock as `time`; 0 when unknown */
	uint64_t payload; /* private to the reader: where the metric values are */
	struct sonde_record_time time;
	uint32_t queue;	   /* number in `queues`; the next is a number in `functions` */
	uint32_t function;
	uint32_t open; /* number of the set of ranges open at the launch, in `sets` */
	union {
		uint32_t call;	      /* native captures: number of the launch in the process */
		uint32_t nr_launches; /* is_sum: number of launches added up; 0 = figures of a region itself, not of launches */
	};
	union {
		/* SONDE_ORIGIN_GRAPH, _BACKWARD: the innermost push/pop entry at the second place; its parents are implied. */
		uint32_t origin;
		/*
		 * SONDE_ORIGIN_LENT: the open ranges (a set) of the only other thread that has some; SONDE_NONE =
		 * several threads have some.
		 */
		uint32_t lent;
	};
	/* There are millions of records: the next seven members share four bytes. */
	uint32_t caller : 21;	  /* number in `callers`, below SONDE_MAX_CALLERS */
	uint32_t kind : 3;	  /* enum sonde_result */
	uint32_t origin_kind : 2; /* enum sonde_origin: what `origin` and `lent` mean, if anything */
	bool is_unchosen : 1;	  /* launched where the capture's own selection (nvtx.include …) left work out */
	bool is_between_windows : 1; /* launched while no window was open: it only keeps the GPU busy, and counts as nothing */
	bool is_sum : 1;
	uint32_t when : 2; /* enum sonde_when */
};

/* How many launches a result is the sum of; more than one only in profiles that contain nothing but sums. */
static inline uint32_t sonde_record_launches(const struct sonde_record *rec)
{
	return rec->is_sum ? rec->nr_launches : 1;
}

/*
 * A set of ranges open at a launch: for each domain the *innermost* push/pop
 * entry of the launching thread (its parents are implied), then the open
 * start/end entries of the process, those of one label next to each other. Set 0
 * is the empty set. Many records share one set.
 */
struct sonde_set {
	uint32_t first, nr; /* slice of `members` */
};

/* A CUDA call of a host thread that can make the thread, or the GPU, wait. */
struct sonde_call {
	uint64_t begin_ns, end_ns; /* same clock as ranges */
	uint64_t thread;
	uint64_t event; /* event that the call names; 0 = none, or not known */
	uint32_t stream; /* stream that the call names, numbered as in queues; SONDE_NONE = none, or not known */
	uint32_t process;
	uint8_t kind; /* enum sonde_call_kind; those from SONDE_NR_WAITS on only with options.for_replay */
	bool is_default; /* the stream is the legacy default stream */
};

/* An allocation or a free: memory of a device, or memory of the host that a device can use. */
struct sonde_memory {
	uint64_t ns; /* same clock as ranges */
	uint64_t thread;
	uint64_t address, nr_bytes;
	uint32_t process;
	uint32_t device;
	uint32_t open; /* set of ranges open at the call, number in `sets` */
	bool is_free;
	bool is_host;	/* pinned host memory */
	uint8_t when;	/* enum sonde_when */
};

/*
 * PC samples: at which instruction warps of a function were found, and why they did not go on. A drain takes
 * what the device has sampled since the last drain, so a single sample has no time and no launch. A batch
 * is the samples of one function in one drain: they belong to the launches of that function between the
 * last drain and this one.
 */
struct sonde_pc_batch {
	uint64_t begin_ns, end_ns; /* times of the last drain and of this one, same clock as ranges */
	uint64_t cubin;		   /* CUPTI's checksum of the code; with has_code the code is in DIR/cubins/%016x.cubin */
	uint32_t process;
	uint32_t device;
	uint32_t symbol; /* string number: the mangled name in the cubin … */
	uint32_t name;	 /* … and the full_name that results of kernels have */
	uint32_t first, nr; /* slice of `pc_samples` */
	uint8_t when; /* enum sonde_when */
	bool has_code; /* the code is in DIR/cubins/, with a line table */
};

struct sonde_pc_sample {
	uint32_t pc;	 /* bytes from the first instruction of the function */
	uint32_t reason; /* string number: a name of catalogue/stall_reasons.h, or one that is not listed there */
	uint32_t samples;
	uint32_t not_issued; /* samples of the reason's twin `…_not_issued`; never added to `samples` */
	uint32_t line;	     /* number in `pc_lines` + 1, 0 = not known */
};

/* A line of source that samples are in. */
struct sonde_pc_line {
	uint32_t file;	 /* string number: the path as the compiler wrote it */
	uint32_t line;	 /* from 1 */
	uint32_t caller; /* line that it was inlined into, a smaller number than its own; SONDE_NONE = not inlined */
};

/* How a process was sampled. */
struct sonde_pc_source {
	uint32_t process;
	uint64_t period;  /* cycles between two samples of an SM; 0 = not known */
	uint64_t dropped; /* samples that the hardware or CUPTI lost … */
	uint64_t full_drains; /* … and drains that found the hardware's buffer full, whose samples CUPTI does not give */
};

/* The memory that PyTorch's allocator had in use at the beginning or the end of an entry. */
struct sonde_reading {
	uint64_t ns;
	uint64_t allocated, peak; /* bytes; the peak since the program last reset it */
	uint32_t process, device;
	uint32_t range; /* the entry */
	bool is_end;
};

/* A moment that the program marked. */
struct sonde_mark {
	uint64_t ns;
	uint64_t thread;
	uint32_t process;
	uint32_t label;	 /* string number */
	uint32_t domain; /* string number, SONDE_NONE = the default domain */
};

/* A sample of a counter that the program keeps. */
struct sonde_gauge {
	uint64_t ns;
	uint32_t process;
	uint32_t name; /* string number */
	double v;
};

/* The name of a thread, given by the program or else by the system. */
struct sonde_thread_name {
	uint64_t thread;
	uint32_t process;
	uint32_t name; /* string number */
};

/*
 * A series: the values of counters of one device, sample by sample. Counters belong
 * to the device, not to a process: they include everything that ran there. A device
 * has more than one series when sets of counters took turns, when the sampling
 * interval changed, or when a second sampler took over.
 */
struct sonde_counter {
	uint32_t role; /* string number: `dram.read_bytes`; SONDE_NONE = none of sonde's roles */
	uint32_t name; /* string number: `dram__bytes_read.sum` */
	double peak;   /* the highest possible count in a cycle of its unit; 0 = not known */
};

struct sonde_sample_time {
	uint64_t start_ns, end_ns; /* on the axis of the records' times */
};

struct sonde_series {
	uint32_t input;
	uint32_t device;       /* number of the device as the sampler sees it; `uuid` is more reliable */
	struct sonde_str uuid; /* `GPU-…`, empty = not known */
	struct sonde_str host;
	uint64_t interval_ns; /* requested interval */
	bool is_calibrated;   /* offset_ns was measured on this GPU */
	int64_t offset_ns;    /* add this to the times of launches: their work is shifted that much from their timestamps */
	SONDE_VEC(struct sonde_counter) counters;
	SONDE_VEC(struct sonde_sample_time) times; /* in order, never overlapping, with gaps */
	SONDE_VEC(double) values; /* row by row: values.at[sample * counters.nr + counter] */
};

/* A window: a time in which everything of a process was captured, such as ranges and launches. */
struct sonde_window_time {
	uint64_t begin_ns, end_ns;
	uint32_t process;
};

/*
 * For a capture whose oldest files were folded while it was written: the partial report of everything
 * up to the end of file `next`, which is the first further file that still exists.
 */
struct sonde_rolled_up {
	uint32_t input;
	uint32_t next; /* number of that file */
	struct sonde_buf cells;
};

struct sonde_source; /* reader-private, one per input */

/* The processes that came from a folder: from `first` to before `end`. */
struct sonde_read_folder {
	const char *dir; /* borrowed from the caller, while reading */
	size_t first, end;
};

struct sonde_records {
	SONDE_VEC(struct sonde_input) inputs;
	SONDE_VEC(struct sonde_process) processes;
	SONDE_VEC(struct sonde_device) devices;
	SONDE_VEC(struct sonde_section) sections;
	SONDE_VEC(struct sonde_range) ranges;	/* in order of entry per thread */
	SONDE_VEC(struct sonde_range_arguments) arguments; /* sorted by range, one list per range */
	SONDE_VEC(struct sonde_record) records; /* in order of the inputs, then of launch */
	struct sonde_map callers, queues, functions; /* read by sonde_record_caller and the functions after it */
	SONDE_VEC(struct sonde_call) calls;	/* per thread in order of their ends */
	SONDE_VEC(uint64_t) returned_ns; /* by record, only with options.for_replay: when its call returned, 0 = not known */
	SONDE_VEC(struct sonde_memory) memory;	/* per process in order of time */
	SONDE_VEC(struct sonde_pc_batch) pc_batches; /* per process in order of time */
	SONDE_VEC(struct sonde_pc_sample) pc_samples; /* by batch */
	SONDE_VEC(struct sonde_pc_line) pc_lines;
	SONDE_VEC(struct sonde_pc_source) pc_sources; /* one for each process with samples */
	SONDE_VEC(struct sonde_reading) readings; /* of PyTorch's allocator, per thread in order of time */
	SONDE_VEC(struct sonde_mark) marks;	/* per thread in order of time */
	SONDE_VEC(struct sonde_gauge) gauges;	/* per thread in order of time */
	SONDE_VEC(struct sonde_thread_name) thread_names;
	SONDE_VEC(struct sonde_set) sets;
	SONDE_VEC(uint32_t) members;
	SONDE_VEC(struct sonde_metric) metrics; /* those that some result has */
	SONDE_VEC(struct sonde_series) series;	/* sampled counters, by input, then in order */
	SONDE_VEC(struct sonde_window_time) windows; /* by process, in order; only of processes that were captured in windows */
	SONDE_VEC(struct sonde_rolled_up) rolled; /* by input */
	/*
	 * If the oldest files of a capture were folded, the times at which two files began: the first file that is still
	 * whole, and the first one that is counted now. 0 = no file was folded.
	 */
	uint64_t whole_ns, from_ns;
	uint64_t ahead_ns; /* when the file ahead began: everything before is known; 0 = all files are read to the end */
	struct sonde_map strings;		/* strings.keys[n] is string number n */
	struct sonde_map metric_names;		/* metric_names.keys[n] is the name of metric n */
	bool has_range_times, has_record_times; /* some range has times, some record has times */
	uint64_t nr_unclosed;			/* ranges never closed */
	struct sonde_notes notes;
	/* Private to the room. */
	struct sonde_arena arena;
	uint32_t last_caller, last_queue, last_function; /* the numbers returned last */
	struct sonde_map process_keys, section_ids;
	struct sonde_map device_keys;  /* {0, process, id} and {1, input, id} … */
	SONDE_VEC(uint32_t) device_of; /* … → number in `devices`, by the key's number */
	SONDE_VEC(struct sonde_source *) sources;
	struct sonde_read_options options;
	SONDE_VEC(struct sonde_gpu_clock) gpu_clocks;
	SONDE_VEC(uint64_t) counts; /* the counts of the last native capture, which its notes quote */
	SONDE_VEC(struct sonde_read_folder) folders; /* the folders that were read, each of which must contain one job only */
};

static inline const struct sonde_caller *sonde_record_caller(
	const struct sonde_records *r, const struct sonde_record *rec)
{
	return (const void *)r->callers.keys[rec->caller].p;
}

static inline const struct sonde_queue *sonde_record_queue(
	const struct sonde_records *r, const struct sonde_record *rec)
{
	return (const void *)r->queues.keys[rec->queue].p;
}

static inline const struct sonde_function *sonde_record_function(
	const struct sonde_records *r, const struct sonde_record *rec)
{
	return (const void *)r->functions.keys[rec->function].p;
}

/*
 * Reads all of `paths`: files (also compressed ones and archives) or directories of captures. A
 * damaged input gives what could be read before the damage, with a note; it is an error only if
 * nothing could be read before the damage. `options` may be NULL.
 */
int sonde_records_open(struct sonde_records **out, const char *const *paths, size_t nr_paths,
	const struct sonde_read_options *options, struct sonde_err *err);
void sonde_records_free(struct sonde_records *r);
/* Adds the notes that need all inputs: programs that still run, ranges never closed, inputs given twice. */
void sonde_records_note(struct sonde_records *r);

struct sonde_text_value {
	uint32_t metric;
	struct sonde_str text;
};

/* The metric values of one record. Start with `= {0}`, `init` once, decode many times. */
struct sonde_values {
	double *num; /* by metric number; NaN = this result has no such number */
	SONDE_VEC(struct sonde_text_value) texts; /* of this record, in the file's order */
	size_t nr_metrics;
	uint32_t time_metric; /* private: the metric that is a time and so cannot be negative; SONDE_NONE = there is none */
};

int sonde_values_init(struct sonde_values *v, const struct sonde_records *r, struct sonde_err *err);
void sonde_values_release(struct sonde_values *v);
/*
 * Decodes record number `record`. Damage inside its metrics leaves the other values missing and is an error.
 * A number that no profiler can have measured (a negative or absurdly long time, anything beyond 1e60) is an
 * error too: it is left missing, because sums with it would be infinite or would not add up.
 */
int sonde_records_values(const struct sonde_records *r, uint32_t record, struct sonde_values *v,
	struct sonde_err *err);

/* Shorthands. */
struct sonde_str sonde_records_str(
	const struct sonde_records *r, uint32_t string);			/* SONDE_NONE: "" */
uint32_t sonde_records_metric(const struct sonde_records *r, const char *name); /* or SONDE_NONE */
const struct sonde_device *sonde_records_device(
	const struct sonde_records *r, uint32_t process, uint32_t id); /* NULL when unknown */
/*
 * Whether `series` counted on the device that `process` calls `id`: by UUID, or where
 * the source has none by host and number.
 */
bool sonde_series_is_of(const struct sonde_series *series, const struct sonde_records *r,
	uint32_t process, uint32_t id);
/* The number of the counter with this role; SONDE_NONE when the series has none. */
uint32_t sonde_series_counter(
	const struct sonde_series *series, const struct sonde_records *r, const char *role);

#endif
