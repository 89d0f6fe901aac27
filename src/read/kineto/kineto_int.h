/*
 * Inside the reader of torch.profiler (Kineto) traces.
 *
 *   kineto_document.c   the top level of the file; one event after the other, also past damage
 *   kineto_event.c      the text of one event → its fields
 *   kineto_kinds.c      what each kind of event becomes
 *   kineto_modules.c    calls of PyTorch modules as ranges: whether to use them, and their names
 *   kineto_launches.c   GPU work ↔ the calls that launched it, and the ranges open at the call
 *   kineto_origin.c     backward work → the place of its forward operator
 *   kineto_captures.c   calls made while a graph was captured; traces of captures
 *   kineto_graphs.c     launches of graphs ↔ captures: work gets the regions it was captured in
 *   kineto.c            the reader: all of that in order, names, devices, values, notes
 *
 * The text is read once. An event that is kept takes 32 bytes (a range, a
 * linked operator), 24 bytes (a call) or a record. Other events take nothing,
 * so memory does not depend on how much else a trace contains.
 */
#ifndef SONDE_READ_KINETO_INT_H
#define SONDE_READ_KINETO_INT_H

#include "base/keysort.h"
#include "base/stream.h"
#include "read/json_scan.h"
#include "read/launch.h"
#include "read/spans.h"

#define KINETO_MAX_EVENT (64u << 20) /* bytes of text; longer events are left out */
/*
 * The link of an operator. Lower bits: a sequence number, or the id of a flow (marked by its highest bit).
 * Above them: the forward thread's number; 0 = this is a forward operator.
 */
#define KINETO_LINK_BITS 48
#define KINETO_LINK_MASK ((UINT64_C(1) << KINETO_LINK_BITS) - 1)
#define KINETO_FLOW_BIT	 (UINT64_C(1) << (KINETO_LINK_BITS - 1))
#define KINETO_ENGINE	 UINT64_MAX /* the span that autograd puts around an operator; it takes over that operator's link */

struct kineto_window {
	struct sonde_scan scan;
	struct sonde_stream *stream; /* NULL: everything is in `scan` */
	char *buf;
	size_t cap;
	uint64_t base; /* position in the text of the first byte in memory */
	const char *first;
};

/* Opens a window on the whole text, or on the bytes that `stream` returns. */
int sonde_kineto__window_open(struct kineto_window *w, struct sonde_str text,
	struct sonde_stream *stream, struct sonde_err *err);
void sonde_kineto__window_release(struct kineto_window *w);
uint64_t sonde_kineto__window_pos(const struct kineto_window *w);

enum kineto_category {
	KINETO_OTHER,
	KINETO_ANNOTATION,
	KINETO_OPERATOR,
	KINETO_PYTHON,
	KINETO_CALL,
	KINETO_KERNEL,
	KINETO_MEMCPY,
	KINETO_MEMSET,
	KINETO_SYNC,
	KINETO_OVERHEAD,
	KINETO_COUNTERS,
	KINETO_FWDBWD, /* a flow from a forward operator (ph s) to a backward one (ph f) */
};

struct kineto_event {
	struct sonde_scan_text name;
	struct sonde_str args; /* text of the arguments, with the braces; p NULL = none */
	uint64_t ts_ns, dur_ns, pid, tid, id;
	char ph; /* 0 = this is not an event */
	uint8_t category;
	bool has_ts, has_dur, has_id, is_bad; /* is_bad: a time is not a valid number */
};

enum kineto_arg {
	KINETO_CORRELATION,
	KINETO_DEVICE,
	KINETO_STREAM,
	KINETO_CONTEXT,
	KINETO_BYTES,
	KINETO_REGISTERS,
	KINETO_SHARED,
	KINETO_GRAPH,
	KINETO_NODE,
	KINETO_SEQUENCE,
	KINETO_FWD_THREAD,
	KINETO_GROUP_SIZE,
	KINETO_IN_ELEMENTS,
	KINETO_COLLECTIVE_SEQUENCE,
	KINETO_NR_NUMBERS,
	KINETO_GRID = KINETO_NR_NUMBERS,
	KINETO_BLOCK,
	KINETO_COLLECTIVE,
	KINETO_GROUP,
	KINETO_DTYPE,
	KINETO_NAME,
	KINETO_LABELS,
	KINETO_KERNEL_NAME, /* only of a call: name of the kernel it launches */
	KINETO_NR_ARGS,
};

struct kineto_args {
	uint32_t has; /* bit per enum kineto_arg */
	uint64_t number[KINETO_NR_NUMBERS];
	uint32_t grid[3], block[3];
	struct sonde_scan_text text[KINETO_NR_ARGS - KINETO_COLLECTIVE];
};

static inline bool kineto_has(const struct kineto_args *a, enum kineto_arg arg)
{
	return a->has >> arg & 1;
}

/* Reads the event at the cursor. */
enum sonde_scan_rc sonde_kineto__event(struct sonde_scan *s, struct kineto_event *e);
void sonde_kineto__read_args(struct sonde_str text, struct kineto_args *a);

/* The last operator without a sequence number, or the last flow: an operator and its flow are neighbours in the text. */
struct kineto_neighbour {
	uint64_t pid, tid, begin_ns, end_ns;
	uint64_t link; /* of a flow: its link with the forward thread; 0 = this is an operator */
	bool is_set;
};

/* The properties of a kernel besides its times; many launches share them. The struct is a key, so it has no padding. */
struct kineto_facts {
	uint32_t grid[3], block[3], registers, shared;
	uint32_t collective, group, dtype; /* string numbers; SONDE_NONE = not given */
	uint32_t group_size;
	uint64_t in_elements, graph, node;
	uint64_t sequence; /* 1 + the sequence number of a collective, 0 = not known */
	uint32_t mark, zero; /* `mark`: string number of its annotation in a graph, SONDE_NONE = none */
};

/* The kind of a span of `ranges`: the upper half of `what`, whose lower half is the label. */
enum kineto_span_kind {
	KINETO_SPAN_ANNOTATION,
	KINETO_SPAN_MODULE,
	KINETO_SPAN_PIECE, /* a piece of a compiled model */
	KINETO_SPAN_OPERATOR,
	KINETO_SPAN_FRAME, /* a forward function of Python; only in traces of captures */
};

static inline enum kineto_span_kind kineto_kind(const struct sonde_span *span)
{
	return (enum kineto_span_kind)(span->what >> 32);
}

static inline uint64_t kineto_what(enum kineto_span_kind kind, uint32_t label)
{
	return (uint64_t)kind << 32 | label;
}

/* Kept to decode the values of records; memory from the records' arena. */
struct kineto_state {
	const struct sonde_records *r;
	struct sonde_launch_metrics metrics;
	struct sonde_map facts; /* keys are struct kineto_facts; records name them by number */
};

struct kineto_thread {
	uint64_t pid, tid;
	uint32_t process;
	bool has_calls; /* the trace contains CUDA calls of this thread */
	uint32_t last, last_set; /* the span for which a set was made last, and that set */
};

/* What a call launches, as far as the trace says. The struct is a key, so it has no padding. */
struct kineto_shape {
	uint32_t name; /* string number, SONDE_NONE */
	uint32_t grid[3]; /* zeros = not known */
	uint32_t is_copy; /* a copy or a memset */
};

/* A call made while a graph was captured, which launched a node of the graph. */
struct kineto_captured {
	uint64_t ns;
	uint32_t thread, shape;
	uint64_t capture; /* number of the capture, counted up */
	uint32_t span; /* innermost range open at the call, SONDE_NONE = none */
};

/* The calls of one capture: a slice of `captured`. */
struct kineto_capture {
	uint64_t nr;
	size_t first;
};

/* The moment when a capture begins or ends. */
struct kineto_edge {
	uint64_t ns;
	uint32_t thread;
	bool is_end;
};

struct kineto_counts {
	uint64_t events, damaged, too_long, no_time, no_call, overhead_ns, syncs, sync_ns;
	uint64_t flows, linked; /* flows between forward and backward operators; operators that have a link */
};

/* One trace being read. Its vectors and maps are work of the source. */
struct kineto {
	struct sonde_source *src;
	struct sonde_records *r;
	struct sonde_err *err;
	struct kineto_window window;
	bool keeps_modules, keeps_operators; /* keep them as ranges */
	bool is_capture; /* this is a trace of captures, read to understand another trace */
	size_t first_record, first_range, first_series; /* number of the first one of this file */
	uint64_t base_ns;
	uint64_t cpu_pid; /* pid of the process that the trace calls CPU, 0 = none */
	uint32_t rank, world_size; /* SONDE_NONE = the trace does not say */
	bool has_events, is_in_events, is_cut; /* is_in_events: the list of events has not ended */
	uint64_t damage_at; /* position of the first damage */
	uint64_t nr_wasted, nr_all_wasted; /* bytes read of the last damaged event, and of all damaged events */
	struct kineto_neighbour neighbour;
	/* Each thread is a lane. In `ranges`, `what` is the label and its kind; in `ops` it is the link. */
	struct sonde_spans ranges, ops;
	struct sonde_spans modules; /* kept here until it is known whether they become ranges … */
	size_t nr_modules; /* … and how many became ranges */
	struct sonde_launch_calls calls; /* upper half of `thread`: number of its shape plus one; lower half: the thread */
	struct sonde_map shapes; /* keys are struct kineto_shape */
	uint32_t plain_shape[2]; /* shapes of calls without any details, of kernels and of copies: number plus one, 0 = not made yet */
	SONDE_VEC(struct kineto_edge) edges; /* begins and ends of captures */
	SONDE_VEC(struct kineto_captured) captured; /* in order of time */
	SONDE_VEC(struct kineto_capture) captures; /* sorted by their number of calls */
	size_t first_call; /* first of the records' calls that belongs to this trace */
	SONDE_VEC(struct kineto_thread) threads;
	struct sonde_map named;	   /* pids of processes that the trace names … */
	SONDE_VEC(uint32_t) names; /* … and their names: string numbers */
	SONDE_VEC(struct sonde_device) devices;
	struct sonde_map thread_keys, series_keys;
	struct sonde_map *facts;
	uint32_t last_thread;
	struct sonde_buf scratch;
	struct kineto_counts counts;
};

/* Returns a trace of which nothing was read yet. */
struct kineto sonde_kineto__begin(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err);
/* Each of these returns 0, or a negative code with `k->err` filled in. */
int sonde_kineto__read_document(struct kineto *k);
/* Keeps the parts of an event that are needed; lack of memory is remembered (source.h). */
void sonde_kineto__keep(struct kineto *k, const struct kineto_event *e);
/* Moves samples to the axis of the records, when the clock is known. */
void sonde_kineto__place_counters(struct kineto *k);
int sonde_kineto__join_calls(struct kineto *k);
bool sonde_kineto__is_module(struct sonde_str name);
bool sonde_kineto__is_forward(struct sonde_str name);
uint32_t sonde_kineto__shape(struct kineto *k, struct sonde_str call, const struct kineto_args *a);
/* Keeps a call if it begins or ends a capture. */
void sonde_kineto__note_capture(struct kineto *k, const struct kineto_event *e, uint32_t thread);
void sonde_kineto__find_captured(struct kineto *k, const bool *has_work); /* has_work: by number of the call */
void sonde_kineto__place_captured(struct kineto *k); /* call it when ranges are nested */
/* Passes the traces of captures that belong to a trace to `fn`, one after the other, until it returns false: it needs no more. */
typedef bool sonde_kineto_capture_fn(void *of, struct kineto *from);
int sonde_kineto__each_capture(struct kineto *k, sonde_kineto_capture_fn *fn, void *of);
int sonde_kineto__join_graphs(struct kineto *k); /* call it when records are placed */
/* Nests the ranges; first adds the modules to them, if they become ranges too. */
void sonde_kineto__add_modules(struct kineto *k);
int sonde_kineto__place_launches(struct kineto *k);
void sonde_kineto__find_origins(struct kineto *k); /* call it before the records are placed */

/* The string number of a text, which is copied if it is new. */
uint32_t sonde_kineto__text(struct kineto *k, const struct sonde_scan_text *text);

#endif
