/*
 * Reading the events of one thread: the state of its stream and of the current
 * event, shared by native_stream.c (chunks, launches), native_stack.c (open
 * ranges) and native_events.c (all other kinds of events).
 *
 * A function that reads an event returns false when the event makes no sense.
 */
#ifndef SONDE_READ_NATIVE_STREAM_H
#define SONDE_READ_NATIVE_STREAM_H

#include "format/event.h"
#include "read/native/native_int.h"

/* The begin or end of a range, whose CPU time is known when the thread's CPU clock is read the next time. */
struct pending {
	uint32_t range;
	bool is_end;
	uint64_t ticks;
};

struct stream {
	struct native *n;
	uint64_t tid;
	uint32_t number;
	uint32_t piece; /* number of the piece being read … */
	uint32_t first_piece; /* … and of the stream's first */
	struct sonde_event_base at; /* base of the chunk being read; its `ticks` advance to the current event */
	uint64_t cpu_ns, cpu_ticks; /* the last reading of the thread's CPU clock */
	/* For the whole stream. */
	uint64_t nr_lost;
	uint32_t top[NATIVE_NR_DOMAINS]; /* by domain: innermost open range, SONDE_NONE = none */
	uint16_t seen[NATIVE_NR_DOMAINS];
	uint32_t nr_seen;
	uint16_t depth[NATIVE_NR_DOMAINS];	 /* number of open ranges by domain … */
	uint32_t nr_deep;			 /* … and in all domains, at most SONDE_OPEN_LIMIT */
	uint32_t path_bytes[NATIVE_NR_DOMAINS]; /* by domain: length of the path of the innermost open range's region */
	uint32_t left_out[NATIVE_NR_DOMAINS];	 /* by domain: pushes that were left out and not popped yet */
	bool is_new; /* the stream's first chunk is being read */
	uint32_t window; /* number of the window that the chunk is in */
	uint8_t when;	 /* enum sonde_when: when the piece being read is counted … */
	uint8_t last_when; /* … and when the piece before it is counted */
	bool is_gap; /* chunks are missing because they were folded, not because events were lost */
	uint32_t start_id, started; /* the thread's last start: its id, and its range number … */
	uint32_t stop_id, stopped;  /* … and its last stop: its id, and its edge number */
	bool set_is_old;
	uint32_t set;
	uint32_t batch; /* number + 1 of the batch to which PC samples of this chunk belong, 0 = none so far */
	SONDE_VEC(struct pending) pending;
	SONDE_VEC(struct sonde_record) works; /* GPU work in events of this stream; memory from the records' arena */
};

/* When the current event happened, in nanoseconds since the epoch. */
static inline uint64_t sonde_stream__now(struct stream *s)
{
	return sonde_clock_map__ns(&s->n->host, s->at.ticks);
}

/* Call it when the thread's CPU clock was read: sets the CPU time of ranges that began or ended since the last reading. */
void sonde_stream__share_cpu(struct stream *s, uint64_t ticks, uint64_t cpu_ns);
/* Adds a start/end range that begins now; SONDE_NONE when it is left out. */
uint32_t sonde_stream__start(struct stream *s, uint32_t label, uint32_t domain);
void sonde_stream__push(struct stream *s, uint32_t label, uint32_t domain);
void sonde_stream__pop(struct stream *s, uint64_t domain);
/* The window closed: ends everything that is open. */
void sonde_stream__end_window(struct stream *s);
/* After lost events: closes and opens ranges of `domain` until its open ranges have exactly these labels. */
void sonde_stream__reopen(struct stream *s, uint32_t domain, const uint32_t *labels, uint32_t nr);

/* Finds the label of an event, which is a number or written out, and its domain. */
bool sonde_stream__label(
	struct stream *s, const struct sonde_event *e, uint32_t *label, uint32_t *domain);

bool sonde_stream__edge(struct stream *s, const struct sonde_event *e); /* start or stop of a start/end range */
void sonde_stream__read_node(struct stream *s, const struct sonde_event *e); /* node of a graph */
void sonde_stream__read_gpu_clock(struct stream *s, const struct sonde_event *e);
/*
 * `at` is the event's first byte, from which metric values are read later. GPU work becomes a record at
 * once, which sonde_native__join completes when everything is known. Until then the record's `call` is its
 * correlation id, `call_ns` its node in a graph, `function` the label of a kernel or the kind of a copy, and
 * its times are in CUPTI's clock.
 */
bool sonde_stream__work(struct stream *s, const struct sonde_event *e, const uint8_t *at);
bool sonde_stream__device(struct stream *s, const struct sonde_event *e);
bool sonde_stream__attribute(struct stream *s, const struct sonde_event *e); /* attribute of a device */
bool sonde_stream__pc_function(struct stream *s, const struct sonde_event *e);
bool sonde_stream__pc(struct stream *s, const struct sonde_event *e);
bool sonde_stream__value(struct stream *s, const struct sonde_event *e);
bool sonde_stream__mark(struct stream *s, const struct sonde_event *e);
bool sonde_stream__reading(struct stream *s, const struct sonde_event *e); /* reading of PyTorch's allocator */
bool sonde_stream__call(struct stream *s, const struct sonde_event *e); /* CUDA call */
bool sonde_stream__name(struct stream *s, const struct sonde_event *e); /* name of a thread */
/* Records that the stream's last launch has returned. */
void sonde_stream__return(struct stream *s);

#endif
