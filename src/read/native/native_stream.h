/*
 * Reading the events of one thread: the state of its stream and of the event
 * at hand, shared by native_stream.c (chunks, launches), native_stack.c (what is
 * open) and native_events.c (everything else an event can say).
 *
 * A function that reads an event returns false when the event makes no sense.
 */
#ifndef SONDE_READ_NATIVE_STREAM_H
#define SONDE_READ_NATIVE_STREAM_H

#include "format/event.h"
#include "read/native/native_int.h"

/* A range boundary whose CPU time is known once the thread's CPU clock is next read. */
struct pending {
	uint32_t range;
	bool is_end;
	uint64_t ticks;
};

struct stream {
	struct native *n;
	uint64_t tid;
	uint32_t number;
	uint32_t piece; /* the one being read … */
	uint32_t first_piece; /* … and the stream's first */
	struct sonde_event_base at; /* of the chunk being read: `ticks` are those of now */
	uint64_t cpu_ns, cpu_ticks; /* the last reading */
	/* For the whole stream. */
	uint64_t nr_lost;
	uint32_t top[NATIVE_NR_DOMAINS]; /* innermost open range by domain */
	uint16_t seen[NATIVE_NR_DOMAINS];
	uint32_t nr_seen;
	uint16_t depth[NATIVE_NR_DOMAINS];	 /* open ranges … */
	uint32_t nr_deep;			 /* … of all domains, at most SONDE_OPEN_LIMIT */
	uint32_t path_bytes[NATIVE_NR_DOMAINS]; /* of the innermost open range's region */
	uint32_t left_out[NATIVE_NR_DOMAINS];	 /* pushes not kept whose pops are to come */
	bool is_new; /* its first chunk is just being read */
	uint32_t window; /* the chunk is in this one */
	uint8_t when;	 /* enum sonde_when: when the piece being read is counted … */
	uint8_t last_when; /* … and when the one before it is */
	bool is_gap; /* chunks are missing because they were folded, not because they were lost */
	uint32_t start_id, started; /* the thread's last start: its id, and the range that it is … */
	uint32_t stop_id, stopped;  /* … and its last stop: the id, and which edge it is */
	bool set_is_old;
	uint32_t set;
	uint32_t batch; /* number + 1 of the batch that PC samples of the chunk are in, 0 = none so far */
	SONDE_VEC(struct pending) pending;
	SONDE_VEC(struct sonde_record) works; /* of the GPU, in events of this stream; of the records' arena */
};

/* When the event at hand happened, in nanoseconds since the epoch. */
static inline uint64_t sonde_stream__now(struct stream *s)
{
	return sonde_clock_map__ns(&s->n->host, s->at.ticks);
}

/* The thread's CPU clock was read: ranges that began or ended since the last time get their share. */
void sonde_stream__share_cpu(struct stream *s, uint64_t ticks, uint64_t cpu_ns);
/* A start/end range beginning now; SONDE_NONE when it is left out. */
uint32_t sonde_stream__start(struct stream *s, uint32_t label, uint32_t domain);
void sonde_stream__push(struct stream *s, uint32_t label, uint32_t domain);
void sonde_stream__pop(struct stream *s, uint64_t domain);
/* The window closed: so does everything that is open. */
void sonde_stream__end_window(struct stream *s);
/* After events were lost: closes and opens ranges of `domain` until it has those of `labels`. */
void sonde_stream__reopen(struct stream *s, uint32_t domain, const uint32_t *labels, uint32_t nr);

/* The label of an event, a number or written out, and its domain. */
bool sonde_stream__label(
	struct stream *s, const struct sonde_event *e, uint32_t *label, uint32_t *domain);

bool sonde_stream__edge(struct stream *s, const struct sonde_event *e); /* of a start/end range */
void sonde_stream__read_node(struct stream *s, const struct sonde_event *e); /* of a graph */
void sonde_stream__read_gpu_clock(struct stream *s, const struct sonde_event *e);
/*
 * `at` is the event's first byte: metric values are read from there later. Work becomes a record at
 * once, which sonde_native__join completes when all is known. Until then `call` is its correlation id,
 * `call_ns` its node in a graph, `function` the label of a kernel or the kind of a copy, and its times
 * are CUPTI's.
 */
bool sonde_stream__work(struct stream *s, const struct sonde_event *e, const uint8_t *at);
bool sonde_stream__device(struct stream *s, const struct sonde_event *e);
bool sonde_stream__attribute(struct stream *s, const struct sonde_event *e); /* of a device */
bool sonde_stream__pc_function(struct stream *s, const struct sonde_event *e);
bool sonde_stream__pc(struct stream *s, const struct sonde_event *e);
bool sonde_stream__value(struct stream *s, const struct sonde_event *e);
bool sonde_stream__mark(struct stream *s, const struct sonde_event *e);
bool sonde_stream__reading(struct stream *s, const struct sonde_event *e); /* of PyTorch's allocator */
bool sonde_stream__call(struct stream *s, const struct sonde_event *e); /* of CUDA */
bool sonde_stream__name(struct stream *s, const struct sonde_event *e); /* of a thread */
/* The stream's last launch has returned. */
void sonde_stream__return(struct stream *s);

#endif
