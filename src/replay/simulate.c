/*
 * One pass over the operations, in the order in which they were made. Each operation comes after everything that it
 * depends on: its relay, its stream, events, and the work it waits for.
 */
#include "base/alloc.h"
#include "replay/replay_int.h"

#include <math.h>
#include <string.h>

#define EMPTY_SYNC_NS 1500 /* duration of a synchronisation that finds nothing to wait for */
#define MOST_COST     0.8  /* the most that the profiler can have taken of a stretch of the host's time */
#define SHORT_GAP_NS  1000 /* between kernels, if the run never had one right behind another */
#define AFTER_LAUNCH_NS 100000 /* host's work after a launch that is part of launching the next one (docs/idle.md) … */
#define AFTER_CALL_NS   10000  /* … and after another call */

/* How much each change assumes, by enum assume. "Share" = the share that remains. */
static const struct range {
	double fuse_host;  /* share of the host's work between fused launches … */
	double fuse_ends;  /* … and of its work behind the last of them */
	double fuse_gpu;   /* share of the time of each kernel after the first, beyond the least time that a kernel takes … */
	double fuse_least; /* … and share of that least time */
	double copy_rate;  /* copies get this share of the rate of pinned copies */
	double gather_host; /* share of the host's work between gathered copies */
	double comm_waits; /* a collective needs results of the step up to this share of the time before it */
	double pool_calls; /* time of an allocation from a pool, in launch calls */
	double long_pause; /* a graph does not replace the host's work between two launches that is this many times as long as usual */
} ranges[NR_ASSUMES] = {
	[ASSUME_USUAL] = {0.03, 1, 0.5, 0, 1, 0.1, 0.5, 0, 30},
	[ASSUME_BEST] = {0, 0.5, 0.1, 0, 1.1, 0, 0, 0, 60},
	[ASSUME_WORST] = {0.12, 1, 1, 1, 0.5, 0.5, 1, 1, 10},
};

struct relay {
	double now;		       /* simulated time … */
	uint64_t at_ns;		       /* … and the same moment in the run */
	double cost_left_ns;	       /* the profiler's cost that is not yet subtracted */
	uint32_t top;		       /* the innermost open entry */
	uint32_t on[SONDE_NR_CHANGES]; /* by change: the number of open entries that the change is about */
	bool is_grouped;   /* in a region that becomes a graph: the graph was launched … */
	double group_at;   /* … at this moment */
	double beside_ns;  /* there: the host's work since the last launch */
	bool is_fused;	   /* in a region whose kernels become one: the first was launched */
	double tail_ns;	   /* there: the host's work since the last launch … */
	double between_ns; /* … and between the launches before that */
	uint32_t gathering; /* number of the copy that others join; 0 = none yet */
	bool is_gathering;  /* the last call was a gathered copy … */
	double pause_ns;    /* … and this is the host's work since then */
	double after_call_ns; /* host's work that still belongs to the call before it */
	bool is_ahead;	    /* between two steps, where the host's work is done ahead */
	double ahead_done;  /* when the thread that works ahead has done all its work so far; 0 = it has not begun */
};

struct stream {
	double end;	   /* end of all its work so far */
	double wait;	   /* end of its wait for events of other streams */
	uint32_t fused_in; /* the entry whose kernels become one on this stream */
	uint32_t gathered; /* the copy that others on this stream join, as in struct relay … */
	uint32_t gathered_kernel; /* … if they have this name, which says the direction */
};

struct sim {
	const struct sonde_replay *r;
	const struct simulation *s;
	struct relay *relays;
	struct stream *streams;
	double *events;		/* by event: when it is done */
	double *ends;		/* by work: its end */
	double *begins, *lasts; /* by entry: its begin, and the end of its last work so far */
	uint32_t *outer;	/* by entry: the open entry around it */
	bool *has_left;		/* by entry: it has ended */
	uint16_t *masks; /* by region: a bit for each kind of change that is about it; NULL = no changes */
	double *factors; /* by kernel: factor of its time; NULL = all are 1 */
	double *step_begin, *step_end;
	double device_end;   /* end of all work so far */
	double blocking_end; /* end of all work in streams that obey the default stream's rule */
	double comm_end;     /* end of the collectives that run beside everything else … */
	double floor;	     /* … and the earliest start of any work of the next step */
	double step_at;	     /* the earliest moment at which the GPU could begin the current step */
	uint32_t nr_gathered;
	bool is_level;
	struct sonde_arena arena;
};

/* --- entries ----------------------------------------------------------------------------- */

static void enter_region(struct sim *m, struct relay *l, uint32_t entry, double now)
{
	uint32_t step = m->r->steps[entry];

	m->begins[entry] = m->lasts[entry] = now;
	m->outer[entry] = l->top;
	l->top = entry;
	if (step == REPLAY_NONE)
		return;
	m->step_begin[step] = now;
	m->step_at = later(now, m->device_end);
}

static void leave_region(struct sim *m, struct relay *l, uint32_t entry, double now)
{
	uint32_t step = m->r->steps[entry], outer = m->outer[entry];

	if (m->has_left[entry] || isnan(m->begins[entry]))
		return;
	m->has_left[entry] = true;
	m->lasts[entry] = later(m->lasts[entry], now);
	if (outer != REPLAY_NONE)
		m->lasts[outer] = later(m->lasts[outer], m->lasts[entry]);
	while (l->top != REPLAY_NONE && m->has_left[l->top])
		l->top = m->outer[l->top];
	if (m->s->walls)
		m->s->walls[m->r->in.entry_regions[entry]] += m->lasts[entry] - m->begins[entry];
	if (step == REPLAY_NONE)
		return;
	m->step_end[step] = m->lasts[entry];
	m->floor = later(m->floor, m->comm_end);
}

static void end_work(struct sim *m, struct relay *l, uint32_t work, double end)
{
	m->ends[work] = end;
	m->device_end = later(m->device_end, end);
	if (l->top != REPLAY_NONE)
		m->lasts[l->top] = later(m->lasts[l->top], end);
}

/*
 * A step lasts from the end of the step before it to its own end; the first of a row lasts from its begin. Counting from
 * begin to begin would give only the host's time in a program whose host runs ahead of the GPU until it waits for
 * everything at once.
 */
static void keep_steps(const struct sim *m)
{
	uint64_t i, nr = m->r->summary.nr_steps;
	double from;

	for (i = 0; i < nr; i++) {
		from = !i || m->r->is_last[i - 1] ? m->step_begin[i] : m->step_end[i - 1];
		m->s->steps[i] = later(m->step_end[i], from) - from;
	}
}

/* --- the host ---------------------------------------------------------------------------- */

/* The host works for `ns` nanoseconds, as it did in the run, minus the profiler's cost. */
static void advance_host(struct relay *l, double ns)
{
	double cost;

	if (!(ns > 0))
		return;
	if (l->on[SONDE_CHANGE_REMOVE] || l->on[SONDE_CHANGE_GRAPH]) {
		l->beside_ns += l->on[SONDE_CHANGE_REMOVE] ? 0 : ns;
		l->cost_left_ns = 0;
		return;
	}
	cost = sooner(l->cost_left_ns, MOST_COST * ns);
	l->cost_left_ns -= cost;
	if (l->on[SONDE_CHANGE_FUSE] && l->is_fused)
		l->tail_ns += ns - cost;
	else if (l->is_gathering)
		l->pause_ns += ns - cost;
	else
		l->now += ns - cost;
}

/*
 * The host works between two calls. Work that is done ahead does not delay the host. At best there are enough threads
 * for it; at worst there is one, which needs as much time for it as the host did.
 */
static void advance_between_calls(const struct sim *m, struct relay *l, double ns)
{
	double own = sooner(ns, l->after_call_ns), cost;

	if (!l->on[SONDE_CHANGE_AHEAD] && !l->is_ahead) {
		advance_host(l, ns);
		return;
	}
	advance_host(l, own);
	l->after_call_ns -= own;
	cost = sooner(l->cost_left_ns, MOST_COST * (ns - own));
	l->cost_left_ns -= cost;
	if (m->s->assume != ASSUME_WORST)
		return;
	l->ahead_done = (l->ahead_done > 0 ? l->ahead_done : l->now) + ns - own - cost;
	l->now = later(l->now, l->ahead_done);
}

/*
 * Ends a stretch of the host's work in a region that becomes a graph. The graph replaces what the host needs to launch.
 * What takes many times as long as usual is other work, such as loading, and stays, minus the usual pause.
 */
static void end_pause(const struct sim *m, struct relay *l)
{
	double usual = m->r->learned.pause_ns;

	if (l->beside_ns > ranges[m->s->assume].long_pause * usual)
		l->now += l->beside_ns - usual;
	l->beside_ns = 0;
}

/* Ends a row of gathered copies: the host's work since the last of them counts in full again. */
static void end_gathering(struct relay *l)
{
	l->is_gathering = false;
	l->now += l->pause_ns;
	l->pause_ns = 0;
}

static void set_changes(const struct sim *m, struct relay *l, uint32_t entry, bool is_enter)
{
	uint16_t mask = m->masks ? m->masks[m->r->in.entry_regions[entry]] : 0;
	const struct range *range = &ranges[m->s->assume];
	uint32_t step = m->r->steps[entry];
	unsigned kind;

	if (step != REPLAY_NONE)
		l->is_ahead = !is_enter && mask >> SONDE_CHANGE_AHEAD & 1 && !m->r->is_last[step];
	for (kind = 0; mask >> kind; kind++) {
		if (!(mask >> kind & 1))
			continue;
		if (is_enter) {
			l->on[kind]++;
		} else if (l->on[kind]) {
			l->on[kind]--;
			if (kind == SONDE_CHANGE_FUSE && !l->on[kind])
				l->now += range->fuse_ends * l->tail_ns +
					  range->fuse_host * l->between_ns;
		}
		if (kind == SONDE_CHANGE_GRAPH) {
			end_pause(m, l);
			l->is_grouped = false;
		}
		if (kind == SONDE_CHANGE_AHEAD)
			l->after_call_ns = 0;
		if (kind == SONDE_CHANGE_GATHER && l->on[kind] <= 1) {
			end_gathering(l);
			l->gathering = 0;
		}
		if (kind == SONDE_CHANGE_FUSE && l->on[kind] <= 1) {
			l->is_fused = false;
			l->tail_ns = l->between_ns = 0;
		}
	}
}

static double call_ns(const struct sonde_replay_op *op)
{
	return op->end_ns > op->begin_ns ? (double)(op->end_ns - op->begin_ns) : 0;
}

/* --- launches ---------------------------------------------------------------------------- */

static double duration_of(
	const struct sim *m, const struct relay *l, const struct sonde_replay_work *w)
{
	double ns = (double)(w->end_ns - w->start_ns);

	if (m->factors)
		ns *= m->factors[w->kernel];
	if (m->is_level && w->is_collective && w->level_ns < ns)
		ns = w->level_ns;
	if (l->on[SONDE_CHANGE_ASYNC_COPY] && w->kind == SONDE_REPLAY_COPY && w->is_of_host &&
		w->bytes)
		ns = sooner(ns, (double)w->bytes / (m->r->learned.pinned_rate *
							   ranges[m->s->assume].copy_rate));
	return ns;
}

/* The earliest start that the order of streams allows. */
static double earliest_start(const struct sim *m, uint32_t stream, double gap)
{
	const struct sonde_replay *r = m->r;
	const struct stream *s = &m->streams[stream];
	double t = later(m->floor, s->wait);

	if (s->end > 0)
		t = later(t, s->end + gap);
	if (stream == r->in.default_stream && m->blocking_end > 0)
		t = later(t, m->blocking_end + gap);
	if (r->is_blocking[stream] && m->streams[r->in.default_stream].end > 0)
		t = later(t, m->streams[r->in.default_stream].end + gap);
	return t;
}

static void put_work(struct sim *m, struct relay *l, uint32_t work, double end)
{
	uint32_t stream = m->r->in.works[work].stream;

	end_work(m, l, work, end);
	m->streams[stream].end = later(m->streams[stream].end, end);
	if (m->r->is_blocking[stream])
		m->blocking_end = later(m->blocking_end, end);
}

/* The works of a graph launch that the run had: each starts after the node that it followed. */
static void put_nodes(
	struct sim *m, struct relay *l, const struct sonde_replay_op *op, double start)
{
	const struct sonde_replay_work *works = m->r->in.works;
	double all = start, first = (double)works[op->first_work].start_ns;
	uint32_t i;

	for (i = op->first_work; i < op->first_work + op->nr_works; i++) {
		const struct work_fate *f = &m->r->work_fates[i];
		double t = f->before != REPLAY_NONE ? m->ends[f->before] + (double)f->lag_ns
						    : start + ((double)works[i].start_ns - first);

		put_work(m, l, i, t + duration_of(m, l, &works[i]));
		all = later(all, m->ends[i]);
	}
	m->streams[works[op->first_work].stream].end = later(m->streams[works[op->first_work].stream].end, all);
}

/*
 * A collective that starts earlier than in the run and runs beside everything else. It needs a part of the step to be
 * done first (`comm_waits`). The time for which it waits for a later rank cannot be gained.
 */
static void put_overlapped(struct sim *m, struct relay *l, uint32_t work, double usual)
{
	const struct sonde_replay_work *w = &m->r->in.works[work];
	double ns = duration_of(m, l, w), start = usual;

	if (usual > m->step_at)
		start = m->step_at + ranges[m->s->assume].comm_waits * (usual - m->step_at);
	start = later(start, later(m->comm_end, m->floor));
	m->comm_end = start + ns;
	if (w->level_ns < ns)
		m->comm_end = later(m->comm_end, usual + ns - w->level_ns);
	end_work(m, l, work, m->comm_end);
}

/* Places the work of a launch that was issued at `issued`. Returns when the work starts. */
static double put_launch(struct sim *m, struct relay *l, const struct sonde_replay_op *op,
	const struct op_fate *fate, double issued)
{
	const struct sonde_replay_work *w = &m->r->in.works[op->first_work];
	const struct work_fate *before = &m->r->work_fates[op->first_work];
	const struct learned *k = &m->r->learned;
	int kind = op->nr_works > 1 ? START_GRAPH : w->kind;
	double latency = k->latency[kind].mid,
	       gap = k->gap[kind].nr ? k->gap[kind].mid : SHORT_GAP_NS, start;

	if (fate->is_idle)
		latency = sonde_replay__clamp((double)fate->start_lag_ns, &k->latency[kind]);
	else
		gap = sonde_replay__clamp((double)fate->start_lag_ns, &k->gap[kind]);
	start = later(issued + latency, earliest_start(m, w->stream, gap));
	if (op->nr_works == 1 && before->before != REPLAY_NONE)
		start = later(start, m->ends[before->before] + (double)before->lag_ns);
	if (w->is_collective && l->on[SONDE_CHANGE_OVERLAP_COMM]) {
		put_overlapped(m, l, op->first_work, start);
		return start;
	}
	if (op->nr_works > 1)
		put_nodes(m, l, op, start);
	else
		put_work(m, l, op->first_work, start + duration_of(m, l, w));
	return start;
}

/*
 * A launch in a region that becomes a graph: one call launches everything, and the works become nodes that follow each
 * other.
 */
static void put_grouped(struct sim *m, struct relay *l, const struct sonde_replay_op *op)
{
	const struct learned *k = &m->r->learned;
	const struct spread *call = &k->graph_call, *gap = &k->node_gap;
	enum assume a = m->s->assume;
	uint32_t i, stream = m->r->in.works[op->first_work].stream;

	if (!l->is_grouped) {
		l->group_at = l->now;
		l->now += a == ASSUME_BEST ? call->low : a == ASSUME_WORST ? call->high : call->mid;
		l->is_grouped = true;
	}
	for (i = op->first_work; i < op->first_work + op->nr_works; i++) {
		double start = later(l->group_at + k->latency[START_GRAPH].mid,
			earliest_start(m, stream,
				a == ASSUME_BEST    ? gap->low
				: a == ASSUME_WORST ? gap->high
						    : gap->mid));

		put_work(m, l, i, start + duration_of(m, l, &m->r->in.works[i]));
	}
}

/* A launch in a region whose kernels become one: the first is launched, the others make it longer.
 */
static void put_fused(struct sim *m, struct relay *l, const struct sonde_replay_op *op,
	const struct op_fate *fate)
{
	const struct range *range = &ranges[m->s->assume];
	struct stream *s = &m->streams[m->r->in.works[op->first_work].stream];
	struct sonde_replay_op first = *op;
	uint32_t i = op->first_work;
	double ns, more;

	if (!l->is_fused || s->fused_in != l->top) {
		s->fused_in = l->top;
		first.nr_works = 1;
		put_launch(m, l, &first, fate, l->now);
		l->cost_left_ns += m->s->launch_cost_ns;
		l->is_fused = false;
		advance_host(l, m->r->learned.call.nr ? m->r->learned.call.mid : call_ns(op));
		l->is_fused = true;
		i++;
	} else {
		l->between_ns += l->tail_ns + call_ns(op);
		l->tail_ns = 0;
	}
	for (; i < op->first_work + op->nr_works; i++) {
		ns = duration_of(m, l, &m->r->in.works[i]);
		more = range->fuse_gpu * later(0, ns - m->r->learned.least_kernel_ns) +
		       range->fuse_least * sooner(ns, m->r->learned.least_kernel_ns);
		put_work(m, l, i, s->end + more);
	}
}

/* Whether a copy joins those before it. If not, later copies of its stream can join it. */
static bool is_gathered(struct sim *m, struct relay *l, const struct sonde_replay_work *w)
{
	struct stream *s = &m->streams[w->stream];

	if (l->gathering && s->gathered == l->gathering && s->gathered_kernel == w->kernel)
		return true;
	s->gathered = l->gathering = ++m->nr_gathered;
	s->gathered_kernel = w->kernel;
	return false;
}

/* A copy that joins those before it: its bytes make them longer, and the host only needs a little time to add it. */
static void put_gathered(struct sim *m, struct relay *l, const struct sonde_replay_op *op, const struct op_fate *fate)
{
	const struct range *range = &ranges[m->s->assume];
	const struct sonde_replay_work *w = &m->r->in.works[op->first_work];
	const struct learned *k = &m->r->learned;
	double ns = later(0, duration_of(m, l, w) - k->least_copy_ns);

	if (w->bytes)
		ns = sooner(ns, (double)w->bytes / (k->pinned_rate * range->copy_rate));
	put_work(m, l, op->first_work, m->streams[w->stream].end + ns);
	l->cost_left_ns += m->s->launch_cost_ns;
	l->is_gathering = true;
	advance_host(l, fate->wait == WAIT_COPY ? sooner(call_ns(op), k->call.mid) : call_ns(op));
	l->now += range->gather_host * l->pause_ns;
	l->pause_ns = 0;
	if (fate->wait == WAIT_COPY)
		l->now = later(l->now, m->ends[op->first_work]);
}

static void simulate_launch(struct sim *m, struct relay *l, const struct sonde_replay_op *op,
	const struct op_fate *fate)
{
	const struct sonde_replay_work *w = &m->r->in.works[op->first_work];
	bool is_host_copy = w->kind == SONDE_REPLAY_COPY && w->is_of_host;
	bool gathers = is_host_copy && l->on[SONDE_CHANGE_GATHER];
	double begin, start;

	if (l->on[SONDE_CHANGE_REMOVE])
		return;
	if (gathers && is_gathered(m, l, w)) {
		put_gathered(m, l, op, fate);
		return;
	}
	end_gathering(l);
	end_pause(m, l);
	begin = l->now;
	l->after_call_ns = fate->wait == WAIT_COPY ? AFTER_CALL_NS : AFTER_LAUNCH_NS;
	if (l->on[SONDE_CHANGE_GRAPH] && !(is_host_copy && fate->wait == WAIT_COPY)) {
		put_grouped(m, l, op);
		return;
	}
	if (l->on[SONDE_CHANGE_FUSE] && w->kind != SONDE_REPLAY_COPY) {
		put_fused(m, l, op, fate);
		return;
	}
	l->cost_left_ns += m->s->launch_cost_ns;
	start = put_launch(m, l, op, fate, begin);
	if (fate->wait == WAIT_COPY && !l->on[SONDE_CHANGE_ASYNC_COPY] &&
		!l->on[SONDE_CHANGE_NOSYNC]) {
		l->now = later(begin, start + ((double)op->end_ns - (double)w->start_ns));
		l->is_grouped = false;
	} else if (fate->wait == WAIT_COPY) {
		advance_host(l, sooner(call_ns(op), m->r->learned.call.mid + m->s->launch_cost_ns));
	} else if (fate->wait == WAIT_QUEUE) {
		advance_host(l, m->r->learned.call.mid);
		l->now = later(l->now, m->ends[fate->awaited_work] + (double)fate->return_lag_ns);
	} else {
		advance_host(l, call_ns(op));
	}
	l->is_gathering = gathers;
}

/* --- calls that wait --------------------------------------------------------------------- */

static void simulate_wait(struct sim *m, struct relay *l, const struct sonde_replay_op *op,
	const struct op_fate *fate)
{
	const struct spread *lag = &m->r->learned.lag;
	double done = m->device_end;

	if (l->on[SONDE_CHANGE_REMOVE])
		return;
	end_gathering(l);
	l->after_call_ns = AFTER_CALL_NS;
	if (op->kind == SONDE_REPLAY_MEMORY && l->on[SONDE_CHANGE_NOALLOC]) {
		advance_host(l, sooner(call_ns(op), ranges[m->s->assume].pool_calls * m->r->learned.call.mid));
		return;
	}
	if (fate->wait == WAIT_NOTHING) {
		advance_host(l, call_ns(op));
		return;
	}
	if (l->on[SONDE_CHANGE_NOSYNC] || l->on[SONDE_CHANGE_ASYNC_COPY])
		return;
	end_pause(m, l);
	l->is_grouped = false;
	l->gathering = 0; /* later copies may need the copies so far, so they cannot join them */
	if (fate->wait == WAIT_STREAM)
		done = m->streams[fate->awaited_stream].end;
	if (fate->wait == WAIT_EVENT)
		done = m->events[op->event];
	l->now += fate->is_idle ? sooner(fate->return_lag_ns, lag->nr ? later(lag->high, EMPTY_SYNC_NS) : fate->return_lag_ns)
				: EMPTY_SYNC_NS;
	l->now = later(l->now,
		done + (fate->is_idle ? lag->mid : sonde_replay__clamp((double)fate->return_lag_ns, lag)));
}

static void simulate_event(struct sim *m, struct relay *l, const struct sonde_replay_op *op)
{
	const struct sonde_replay_input *in = &m->r->in;

	if (l->on[SONDE_CHANGE_REMOVE])
		return;
	if (op->event < in->nr_events && op->stream < in->nr_streams) {
		if (op->kind == SONDE_REPLAY_RECORD)
			m->events[op->event] =
				later(m->streams[op->stream].end, m->streams[op->stream].wait);
		else
			m->streams[op->stream].wait =
				later(m->streams[op->stream].wait, m->events[op->event]);
	}
	advance_host(l, call_ns(op));
}

static void simulate_op(struct sim *m, size_t i)
{
	const struct sonde_replay_op *op = &m->r->in.ops[i];
	const struct op_fate *fate = &m->r->fates[i];
	struct relay *l = &m->relays[fate->relay];

	if (l->at_ns && op->begin_ns > l->at_ns)
		advance_between_calls(m, l, (double)(op->begin_ns - l->at_ns));
	else if (!l->at_ns)
		l->now = (double)(op->begin_ns - m->r->in.ops[0].begin_ns);
	if (op->begin_ns > l->at_ns)
		l->at_ns = op->begin_ns;
	switch (op->kind) {
	case SONDE_REPLAY_ENTER:
		enter_region(m, l, op->entry, l->now);
		set_changes(m, l, op->entry, true);
		break;
	case SONDE_REPLAY_LEAVE:
		set_changes(m, l, op->entry, false);
		leave_region(m, l, op->entry, l->now);
		break;
	case SONDE_REPLAY_LAUNCH:
		if (op->nr_works)
			simulate_launch(m, l, op, fate);
		else
			advance_host(l, call_ns(op));
		break;
	case SONDE_REPLAY_RECORD:
	case SONDE_REPLAY_AWAIT:
		l->cost_left_ns += m->s->call_cost_ns;
		simulate_event(m, l, op);
		break;
	default:
		l->cost_left_ns += m->s->call_cost_ns;
		simulate_wait(m, l, op, fate);
		break;
	}
	if (op->end_ns > l->at_ns)
		l->at_ns = op->end_ns;
}

/* --- a pass ------------------------------------------------------------------------------ */

static bool set_masks(struct sim *m)
{
	const struct sonde_replay_input *in = &m->r->in;
	size_t i, k;

	for (i = 0; i < m->s->nr_changes; i++)
		m->is_level |= m->s->changes[i].kind == SONDE_CHANGE_LEVEL_RANKS;
	m->factors = m->s->nr_changes ? sonde_arena_alloc(&m->arena,
						((size_t)in->nr_kernels + 1) * sizeof(double))
				      : NULL;
	if (m->s->nr_changes && !m->factors)
		return false;
	for (k = 0; m->factors && k < in->nr_kernels; k++)
		m->factors[k] = 1;
	m->masks = m->s->nr_changes ? sonde_arena_calloc(&m->arena, in->nr_regions + 1, sizeof(*m->masks)) : NULL;
	if (m->s->nr_changes && !m->masks)
		return false;
	for (i = 0; i < m->s->nr_changes; i++) {
		const struct sonde_replay_change *c = &m->s->changes[i];

		if (c->kind == SONDE_CHANGE_KERNEL) {
			for (k = 0; k < in->nr_kernels; k++)
				if (!c->is_meant || c->is_meant[k])
					m->factors[k] *= c->factor;
		} else if (c->kind != SONDE_CHANGE_LEVEL_RANKS) {
			for (k = 0; k < in->nr_regions; k++)
				if (!c->is_meant || c->is_meant[k])
					m->masks[k] |= (uint16_t)(1u << c->kind);
		}
	}
	return true;
}
_Static_assert(SONDE_NR_CHANGES <= 16, "a bit for each");

static bool open_sim(struct sim *m)
{
	const struct sonde_replay_input *in = &m->r->in;
	struct sonde_arena *a = &m->arena;
	size_t nr_steps = m->r->summary.nr_steps + 1, i;

	m->relays = sonde_arena_calloc(a, (size_t)m->r->summary.nr_relays + 1, sizeof(*m->relays));
	m->streams = sonde_arena_calloc(a, (size_t)in->nr_streams + 1, sizeof(*m->streams));
	m->events = sonde_arena_calloc(a, (size_t)in->nr_events + 1, sizeof(*m->events));
	m->ends = sonde_arena_calloc(a, in->nr_works + 1, sizeof(*m->ends));
	m->begins = sonde_arena_alloc(a, (in->nr_entries + 1) * sizeof(*m->begins));
	m->lasts = sonde_arena_calloc(a, in->nr_entries + 1, sizeof(*m->lasts));
	m->outer = sonde_arena_calloc(a, in->nr_entries + 1, sizeof(*m->outer));
	m->has_left = sonde_arena_calloc(a, in->nr_entries + 1, sizeof(*m->has_left));
	m->step_begin = sonde_arena_calloc(a, nr_steps, sizeof(*m->step_begin));
	m->step_end = sonde_arena_calloc(a, nr_steps, sizeof(*m->step_end));
	if (!m->relays || !m->streams || !m->events || !m->ends || !m->begins || !m->lasts ||
		!m->outer || !m->has_left || !m->step_begin || !m->step_end || !set_masks(m))
		return false;
	for (i = 0; i < in->nr_entries; i++)
		m->begins[i] = NAN;
	for (i = 0; i < m->r->summary.nr_relays; i++)
		m->relays[i].top = REPLAY_NONE;
	for (i = 0; i < in->nr_streams; i++)
		m->streams[i].fused_in = REPLAY_NONE;
	return true;
}

bool sonde_replay__simulate(const struct sonde_replay *r, const struct simulation *s)
{
	struct sim m = {.r = r, .s = s};
	bool ok = open_sim(&m);
	size_t i;

	for (i = 0; i < r->in.nr_ops && ok; i++)
		simulate_op(&m, i);
	if (ok)
		keep_steps(&m);
	sonde_arena_release(&m.arena);
	return ok;
}

bool sonde_replay__measure(struct sonde_replay *r, double *steps)
{
	const struct simulation s = {.steps = steps, .walls = NULL};
	struct sim m = {.r = r, .s = &s};
	bool ok = open_sim(&m);
	uint64_t zero = r->in.nr_ops ? r->in.ops[0].begin_ns : 0;
	size_t i;
	uint32_t k;

	for (i = 0; i < r->in.nr_ops && ok; i++) {
		const struct sonde_replay_op *op = &r->in.ops[i];
		struct relay *l = &m.relays[r->fates[i].relay];
		double now = (double)(op->begin_ns - zero);

		if (op->kind == SONDE_REPLAY_ENTER)
			enter_region(&m, l, op->entry, now);
		else if (op->kind == SONDE_REPLAY_LEAVE)
			leave_region(&m, l, op->entry, now);
		for (k = 0; op->kind == SONDE_REPLAY_LAUNCH && k < op->nr_works; k++)
			end_work(&m, l, op->first_work + k,
				(double)r->in.works[op->first_work + k].end_ns - (double)zero);
	}
	for (i = 0; i < r->in.nr_entries && ok; i++)
		if (m.has_left[i])
			r->regions[r->in.entry_regions[i]].wall_ns += m.lasts[i] - m.begins[i];
	if (ok)
		keep_steps(&m);
	sonde_arena_release(&m.arena);
	return ok;
}
