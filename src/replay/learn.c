/*
 * Learns from the run what each call waited for, and how long things take that wait for nothing. Needs two passes over
 * the operations, in the order in which they were made.
 */
#include "base/alloc.h"
#include "base/bisect.h"
#include "base/keysort.h"
#include "base/quantile.h"
#include "replay/replay_int.h"

#include <math.h>

#define LOW	    0.05
#define HIGH	    0.9
#define NEAR_NS	    1000  /* the clocks of host and GPU differ by less */
#define QUEUE_NS    30000 /* a launch that takes longer waited for something … */
#define QUEUE_WORKS 256	  /* … for the queue, if it has at least this many works */
#define LATE_NS	    8000  /* work that starts this much later than usual waited for another stream */
#define LARGE_COPY  1000000

/* Used where the run itself has none: values of an H200 (docs/whatif-internals.md). */
#define PINNED_RATE   55.0   /* copies from pinned memory, in GB/s: PCIe 5 */
#define NODE_GAP_NS   500.0  /* gap between the nodes of a graph */
#define GRAPH_CALL_NS 9000.0 /* the call that launches a graph */

enum sampled {
	OF_LATENCY,
	OF_GAP = OF_LATENCY + NR_STARTS,
	OF_LAG = OF_GAP + NR_STARTS,
	OF_CALL,
	OF_GRAPH_CALL,
	OF_NODE_GAP,
	OF_PAUSE,
	OF_KERNEL,
	OF_COPY,
	NR_SAMPLED
};
#define MOST_SAMPLES 4096u /* kept of each kind; of more, every n-th */

/*
 * Evenly spaced samples of many values. When `at` is full, every other sample is dropped, and from then on only half as
 * many values are taken.
 */
struct samples {
	double at[MOST_SAMPLES];
	size_t nr;
	uint64_t seen, stride;
};

struct pass {
	struct sonde_replay *r;
	struct samples *samples;
	uint64_t *stream_end;	 /* by stream: the end of its last work … */
	uint64_t *stream_wait;	 /* … and of the work in other streams that it waits for */
	uint64_t blocking_end;	 /* end of the work in streams that obey the default stream's rule */
	uint32_t *stream_issued; /* by stream: the number of works issued so far … */
	uint32_t *stream_done;	 /* … how many of these are done at the current moment … */
	uint32_t *stream_first;	 /* … and where its works begin in `by_stream` */
	uint32_t *by_stream;	 /* works by stream, in the order in which they were issued */
	uint64_t device_end;
	uint32_t *relay_stream; /* by relay: the stream that it last launched to … */
	uint64_t *relay_pause;	/* … and when its last launch or wait in this step returned; 0 = there was none yet */
	uint64_t *event_end; /* by event: the end of the work that its stream had when it was recorded; UINT64_MAX = never */
};

static void take_sample(struct samples *s, double value)
{
	size_t i;

	if (!s->stride)
		s->stride = 1;
	if (!(value >= 0) || s->seen++ % s->stride)
		return;
	if (s->nr == MOST_SAMPLES) {
		for (i = 0; i < MOST_SAMPLES / 2; i++)
			s->at[i] = s->at[2 * i];
		s->nr = MOST_SAMPLES / 2;
		s->stride *= 2;
	}
	s->at[s->nr++] = value;
}

static struct spread spread_of(struct samples *s)
{
	struct spread out = {0, 0, 0, s->nr};

	if (!s->nr)
		return out;
	sonde_sort_numbers(s->at, s->nr);
	out.low = sonde_quantile(s->at, s->nr, LOW);
	out.mid = sonde_quantile(s->at, s->nr, 0.5);
	out.high = sonde_quantile(s->at, s->nr, HIGH);
	return out;
}

static double since(uint64_t later_ns, uint64_t sooner_ns)
{
	return later_ns >= sooner_ns ? (double)(later_ns - sooner_ns)
				     : -(double)(sooner_ns - later_ns);
}

static int start_kind(const struct sonde_replay_op *op, const struct sonde_replay_work *w)
{
	return op->nr_works > 1 ? START_GRAPH : w->kind;
}

/* --- launches ---------------------------------------------------------------------------- */

/* The nodes of a graph: each follows the node that ended last before it began. */
static bool chain_nodes(struct pass *p, const struct sonde_replay_op *op)
{
	const struct sonde_replay_work *works = p->r->in.works + op->first_work;
	struct work_fate *fates = p->r->work_fates + op->first_work;
	struct sonde_keyed *ends = sonde_malloc(op->nr_works * sizeof(*ends));
	uint32_t i, at = 0, before = REPLAY_NONE;

	if (!ends)
		return false;
	for (i = 0; i < op->nr_works; i++)
		ends[i] = (struct sonde_keyed){works[i].end_ns, i};
	if (!sonde_keysort(ends, op->nr_works)) {
		sonde_free(ends);
		return false;
	}
	for (i = 0; i < op->nr_works; i++) {
		while (at < op->nr_works && ends[at].key <= works[i].start_ns + NEAR_NS / 2 &&
			ends[at].index < i)
			before = ends[at++].index;
		fates[i].before = before == REPLAY_NONE ? REPLAY_NONE : op->first_work + before;
		if (before == REPLAY_NONE)
			continue;
		fates[i].lag_ns = (float)later(0, since(works[i].start_ns, works[before].end_ns));
		take_sample(&p->samples[OF_NODE_GAP], fates[i].lag_ns);
	}
	sonde_free(ends);
	return true;
}

/* How many works of a stream are done at a moment. Callers ask for moments in order, or nearly. */
static uint32_t done_by(struct pass *p, uint32_t stream, uint64_t ns)
{
	uint32_t *done = &p->stream_done[stream];
	const uint32_t *list = p->by_stream + p->stream_first[stream];

	while (*done < p->stream_issued[stream] && p->r->in.works[list[*done]].end_ns <= ns)
		++*done;
	return *done;
}

/* Finds out what a launch call waited for; calls that waited for nothing show how long a call takes. */
static void learn_call(struct pass *p, const struct sonde_replay_op *op, struct op_fate *fate)
{
	const struct sonde_replay_work *w = &p->r->in.works[op->first_work];
	uint32_t done, stream = w->stream;
	double took = since(op->end_ns, op->begin_ns);

	fate->wait = WAIT_NOTHING;
	if (took <= 0)
		return;
	if (w->kind == SONDE_REPLAY_COPY && w->start_ns < op->end_ns &&
		w->start_ns + NEAR_NS >= op->begin_ns) {
		fate->wait = WAIT_COPY;
		return;
	}
	done = done_by(p, stream, op->end_ns);
	if (took > QUEUE_NS && done && p->stream_issued[stream] - done >= QUEUE_WORKS) {
		uint32_t last = p->by_stream[p->stream_first[stream] + done - 1];

		if (p->r->in.works[last].end_ns >= op->begin_ns) {
			fate->wait = WAIT_QUEUE;
			fate->awaited_work = last;
			fate->return_lag_ns = (float)since(op->end_ns, p->r->in.works[last].end_ns);
			return;
		}
	}
	take_sample(&p->samples[op->nr_works > 1 ? OF_GRAPH_CALL : OF_CALL], took);
}

/* The end of all work that must be done before new work of the stream can start. */
static uint64_t end_before(const struct pass *p, uint32_t stream)
{
	const struct sonde_replay_input *in = &p->r->in;
	uint64_t end = p->stream_end[stream];

	if (p->stream_wait[stream] > end)
		end = p->stream_wait[stream];
	if (stream == in->default_stream && p->blocking_end > end)
		end = p->blocking_end;
	if (p->r->is_blocking[stream] && p->stream_end[in->default_stream] > end)
		end = p->stream_end[in->default_stream];
	return end;
}

static bool learn_launch(struct pass *p, const struct sonde_replay_op *op, struct op_fate *fate)
{
	const struct sonde_replay_work *works = p->r->in.works + op->first_work;
	uint32_t i, stream = works->stream;
	uint64_t before = end_before(p, stream);
	int kind = start_kind(op, works);

	if (p->relay_pause[fate->relay])
		take_sample(&p->samples[OF_PAUSE], since(op->begin_ns, p->relay_pause[fate->relay]));
	fate->is_idle = before <= op->begin_ns + NEAR_NS;
	fate->start_lag_ns = (float)since(works->start_ns, fate->is_idle ? op->begin_ns : before);
	take_sample(&p->samples[(fate->is_idle ? OF_LATENCY : OF_GAP) + kind], fate->start_lag_ns);
	learn_call(p, op, fate);
	if (op->nr_works > 1 && !chain_nodes(p, op))
		return false;
	for (i = 0; i < op->nr_works; i++) {
		const struct sonde_replay_work *w = &works[i];

		p->by_stream[p->stream_first[w->stream] + p->stream_issued[w->stream]++] =
			op->first_work + i;
		if (w->end_ns > p->stream_end[w->stream])
			p->stream_end[w->stream] = w->end_ns;
		if (w->end_ns > p->stream_end[stream])
			p->stream_end[stream] = w->end_ns;
		if (p->r->is_blocking[w->stream] && w->end_ns > p->blocking_end)
			p->blocking_end = w->end_ns;
		if (w->end_ns > p->device_end)
			p->device_end = w->end_ns;
		if (w->kind == SONDE_REPLAY_KERNEL)
			take_sample(&p->samples[OF_KERNEL], since(w->end_ns, w->start_ns));
		if (w->kind == SONDE_REPLAY_COPY && w->is_of_host)
			take_sample(&p->samples[OF_COPY], since(w->end_ns, w->start_ns));
		if (w->kind == SONDE_REPLAY_COPY && w->is_of_host && !w->is_pageable && fate->wait != WAIT_COPY &&
			w->bytes >= LARGE_COPY && w->end_ns > w->start_ns)
			p->r->learned.pinned_rate = later(p->r->learned.pinned_rate,
				(double)w->bytes / since(w->end_ns, w->start_ns));
	}
	p->relay_stream[fate->relay] = stream;
	return true;
}

/* --- calls that wait --------------------------------------------------------------------- */

/* The end of the work that the call may have waited for, on the run's clock. Sets `wait` and `awaited_stream` of the fate. */
static uint64_t awaited_end(struct pass *p, const struct sonde_replay_op *op, struct op_fate *fate)
{
	const struct sonde_replay_input *in = &p->r->in;

	if (op->kind == SONDE_REPLAY_SYNC_EVENT && op->event < in->nr_events &&
		p->event_end[op->event] != UINT64_MAX) {
		fate->wait = WAIT_EVENT;
		return p->event_end[op->event];
	}
	fate->wait = WAIT_STREAM;
	fate->awaited_stream = op->kind == SONDE_REPLAY_SYNC_STREAM ? op->stream : REPLAY_NONE;
	/* Work of the device still ran when the call returned, so the call waited for less: for the thread's own stream. */
	if (fate->awaited_stream == REPLAY_NONE && p->device_end > op->end_ns + NEAR_NS &&
		op->kind != SONDE_REPLAY_MEMORY)
		fate->awaited_stream = p->relay_stream[fate->relay];
	if (fate->awaited_stream != REPLAY_NONE)
		return p->stream_end[fate->awaited_stream];
	fate->wait = WAIT_DEVICE;
	return p->device_end;
}

static void learn_wait(struct pass *p, const struct sonde_replay_op *op, struct op_fate *fate)
{
	uint64_t end = awaited_end(p, op, fate);
	bool waits = end > op->begin_ns && end <= op->end_ns + NEAR_NS;

	if (op->kind == SONDE_REPLAY_MEMORY && (!waits || op->end_ns - op->begin_ns < QUEUE_NS))
		fate->wait = WAIT_NOTHING;
	fate->is_idle = !waits; /* the call had nothing to wait for */
	fate->return_lag_ns = waits ? (float)later(0, since(op->end_ns, end))
				    : (float)since(op->end_ns, op->begin_ns);
	if (waits && fate->wait != WAIT_NOTHING)
		take_sample(&p->samples[OF_LAG], fate->return_lag_ns);
}

/* Notes when the host came back from a launch or a wait. Its work before the first launch of a step is no pause. */
static void note_return(struct pass *p, const struct sonde_replay_op *op, const struct op_fate *fate)
{
	if (op->kind > SONDE_REPLAY_LEAVE && op->kind < SONDE_REPLAY_RECORD)
		p->relay_pause[fate->relay] = op->end_ns;
	else if (op->kind <= SONDE_REPLAY_LEAVE && p->r->steps[op->entry] != REPLAY_NONE)
		p->relay_pause[fate->relay] = 0;
}

static bool learn_op(struct pass *p, size_t i)
{
	const struct sonde_replay_op *op = &p->r->in.ops[i];
	struct op_fate *fate = &p->r->fates[i];

	switch (op->kind) {
	case SONDE_REPLAY_LAUNCH:
		return !op->nr_works || learn_launch(p, op, fate);
	case SONDE_REPLAY_SYNC_STREAM:
	case SONDE_REPLAY_SYNC_EVENT:
	case SONDE_REPLAY_SYNC_DEVICE:
	case SONDE_REPLAY_MEMORY:
		learn_wait(p, op, fate);
		return true;
	case SONDE_REPLAY_RECORD:
		if (op->event < p->r->in.nr_events && op->stream < p->r->in.nr_streams)
			p->event_end[op->event] = p->stream_end[op->stream];
		return true;
	case SONDE_REPLAY_AWAIT:
		if (op->event < p->r->in.nr_events && op->stream < p->r->in.nr_streams &&
			p->event_end[op->event] != UINT64_MAX &&
			p->event_end[op->event] > p->stream_wait[op->stream])
			p->stream_wait[op->stream] = p->event_end[op->event];
		return true;
	default:
		return true;
	}
}

/* --- streams ----------------------------------------------------------------------------- */

/* A stream whose work overlapped that of the default stream does not obey the default stream's rule. */
static bool find_blocking(struct sonde_replay *r)
{
	const struct sonde_replay_input *in = &r->in;
	struct sonde_keyed *order;
	uint64_t default_end = 0, other_end = 0;
	uint32_t other = REPLAY_NONE;
	size_t i;

	for (i = 0; i < in->nr_streams; i++)
		r->is_blocking[i] = in->default_stream != REPLAY_NONE && i != in->default_stream;
	if (in->default_stream == REPLAY_NONE || in->nr_streams < 2)
		return true;
	order = sonde_order_by_field(in->works, in->nr_works, start_ns);
	for (i = 0; order && i < in->nr_works; i++) {
		const struct sonde_replay_work *w = &in->works[order[i].index];

		if (w->stream == in->default_stream) {
			if (other != REPLAY_NONE && other_end > w->start_ns + NEAR_NS)
				r->is_blocking[other] = false;
			default_end = w->end_ns > default_end ? w->end_ns : default_end;
			continue;
		}
		if (default_end > w->start_ns + NEAR_NS)
			r->is_blocking[w->stream] = false;
		if (w->end_ns > other_end || other == REPLAY_NONE)
			other_end = w->end_ns, other = w->stream;
	}
	sonde_free(order);
	return order || !in->nr_works;
}

/* Gives each stream its own part of `by_stream`, as long as the stream has works. */
static void divide_by_stream(struct pass *p)
{
	const struct sonde_replay_input *in = &p->r->in;
	uint32_t at = 0, nr;
	size_t i;

	for (i = 0; i < in->nr_works; i++)
		p->stream_first[in->works[i].stream]++;
	for (i = 0; i < in->nr_streams; i++) {
		nr = p->stream_first[i];
		p->stream_first[i] = at;
		at += nr;
	}
}

/*
 * Without events, the order between streams is guessed: if work started later than its launch and its stream explain,
 * and just after work of another stream had ended, it waited for that work. Both must have been launched in that order.
 */
static bool guess_order(struct sonde_replay *r)
{
	const struct sonde_replay_input *in = &r->in;
	struct sonde_keyed *ends = sonde_order_by_field(in->works, in->nr_works, end_ns);
	size_t i, low;

	for (i = 0; i < in->nr_ops && ends; i++) {
		const struct sonde_replay_op *op = &in->ops[i];
		const struct sonde_replay_work *w;
		const struct spread *s;

		if (op->kind != SONDE_REPLAY_LAUNCH || op->nr_works != 1)
			continue;
		w = &in->works[op->first_work];
		s = r->fates[i].is_idle ? &r->learned.latency[w->kind] : &r->learned.gap[w->kind];
		if (r->fates[i].start_lag_ns <= (float)(s->mid + LATE_NS))
			continue;
		low = 0;
		sonde_bisect(low, in->nr_works, mid, ends[mid].key <= w->start_ns);
		if (!low || w->start_ns - ends[low - 1].key > LATE_NS ||
			ends[low - 1].index >= op->first_work ||
			in->works[ends[low - 1].index].stream == w->stream)
			continue;
		r->work_fates[op->first_work] = (struct work_fate){
			ends[low - 1].index, (float)(w->start_ns - ends[low - 1].key)};
		r->fates[i].start_lag_ns = (float)s->mid; /* the other stream explains the rest */
	}
	sonde_free(ends);
	return ends || !in->nr_works;
}

static void summarize_samples(struct pass *p)
{
	struct learned *l = &p->r->learned;
	int i;

	for (i = 0; i < NR_STARTS; i++) {
		l->latency[i] = spread_of(&p->samples[OF_LATENCY + i]);
		l->gap[i] = spread_of(&p->samples[OF_GAP + i]);
	}
	/* A kind that was never seen gets the values of kernels. */
	for (i = 1; i < NR_STARTS; i++) {
		if (!l->latency[i].nr)
			l->latency[i] = l->latency[SONDE_REPLAY_KERNEL];
		if (!l->gap[i].nr)
			l->gap[i] = l->gap[SONDE_REPLAY_KERNEL];
	}
	l->lag = spread_of(&p->samples[OF_LAG]);
	l->call = spread_of(&p->samples[OF_CALL]);
	l->graph_call = spread_of(&p->samples[OF_GRAPH_CALL]);
	l->node_gap = spread_of(&p->samples[OF_NODE_GAP]);
	l->pause_ns = spread_of(&p->samples[OF_PAUSE]).mid;
	if (!l->graph_call.nr)
		l->graph_call =
			(struct spread){GRAPH_CALL_NS / 2, GRAPH_CALL_NS, GRAPH_CALL_NS * 2, 0};
	if (!l->node_gap.nr)
		l->node_gap = (struct spread){NODE_GAP_NS / 2, NODE_GAP_NS, NODE_GAP_NS * 2, 0};
	l->least_kernel_ns = spread_of(&p->samples[OF_KERNEL]).low;
	l->least_copy_ns = spread_of(&p->samples[OF_COPY]).low;
	if (!(l->pinned_rate > 0))
		l->pinned_rate = PINNED_RATE;
	p->r->summary.latency_ns = l->latency[SONDE_REPLAY_KERNEL].mid;
	p->r->summary.gap_ns =
		l->gap[SONDE_REPLAY_KERNEL].nr ? l->gap[SONDE_REPLAY_KERNEL].mid : NAN;
}

static bool open_pass(struct pass *p, struct sonde_arena *a)
{
	const struct sonde_replay_input *in = &p->r->in;
	size_t streams = (size_t)in->nr_streams + 1, i;

	p->samples = sonde_arena_calloc(a, NR_SAMPLED, sizeof(*p->samples));
	p->stream_end = sonde_arena_calloc(a, streams, sizeof(*p->stream_end));
	p->stream_wait = sonde_arena_calloc(a, streams, sizeof(*p->stream_wait));
	p->stream_issued = sonde_arena_calloc(a, streams, sizeof(*p->stream_issued));
	p->stream_done = sonde_arena_calloc(a, streams, sizeof(*p->stream_done));
	p->stream_first = sonde_arena_calloc(a, streams, sizeof(*p->stream_first));
	p->by_stream = sonde_arena_alloc(a, (in->nr_works + 1) * sizeof(*p->by_stream));
	p->relay_stream = sonde_arena_alloc(
		a, ((size_t)p->r->summary.nr_relays + 1) * sizeof(*p->relay_stream));
	p->relay_pause = sonde_arena_calloc(a, (size_t)p->r->summary.nr_relays + 1, sizeof(*p->relay_pause));
	p->event_end = sonde_arena_alloc(a, ((size_t)in->nr_events + 1) * sizeof(*p->event_end));
	if (a->failed || !p->samples || !p->stream_end || !p->stream_wait || !p->stream_issued ||
		!p->stream_done || !p->stream_first || !p->by_stream || !p->relay_stream ||
		!p->relay_pause || !p->event_end)
		return false;
	for (i = 0; i <= p->r->summary.nr_relays; i++)
		p->relay_stream[i] = REPLAY_NONE;
	for (i = 0; i <= in->nr_events; i++)
		p->event_end[i] = UINT64_MAX;
	return true;
}

bool sonde_replay__learn(struct sonde_replay *r)
{
	struct sonde_arena arena = {0};
	struct pass p = {.r = r};
	bool ok = find_blocking(r) && open_pass(&p, &arena);
	size_t i;

	if (ok)
		divide_by_stream(&p);
	for (i = 0; i < r->in.nr_works && ok; i++)
		r->work_fates[i] = (struct work_fate){REPLAY_NONE, 0};
	for (i = 0; i < r->in.nr_ops && ok; i++)
		ok = learn_op(&p, i), note_return(&p, &r->in.ops[i], &r->fates[i]);
	if (ok)
		summarize_samples(&p);
	if (ok && !r->in.has_events && r->in.nr_streams > 1)
		ok = guess_order(r);
	sonde_arena_release(&arena);
	return ok;
}
