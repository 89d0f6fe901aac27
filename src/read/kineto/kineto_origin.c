/*
 * Finds where backward work comes from. A backward operator carries the sequence
 * number of its forward operator and the number of the forward thread. When
 * several operators have one sequence number, the last one to begin made the node
 * of autograd's graph: those before it only looked at the counter.
 *
 * Counters are per thread, and the forward thread is given by a number of
 * PyTorch's own. That number is taken for the thread that has forward operators
 * for most of the sequence numbers that come with it.
 *
 * Where operators have no sequence numbers, flows (`fwdbwd`) link them. The id
 * of a flow belongs to one pair only, on any threads.
 */
#include "base/bisect.h"
#include "read/kineto/kineto_int.h"

struct vote {
	uint32_t fwd, thread;
	uint32_t nr;
};

struct origins {
	struct kineto *k;
	struct sonde_arena *work;
	SONDE_VEC(struct sonde_keyed) forward; /* sorted by link, then by begin */
	uint32_t *forward_range;	 /* by operator: the range that its forward operator ran in, SONDE_NONE = not known */
	SONDE_VEC(struct vote) votes; /* one for each pair of forward thread and thread: few */
};

static uint32_t fwd_of(const struct sonde_span *op)
{
	return (uint32_t)(op->what >> KINETO_LINK_BITS);
}

static bool is_flow(const struct sonde_span *op)
{
	return op->what & KINETO_FLOW_BIT;
}

static void list_forward(struct origins *o)
{
	const struct kineto *k = o->k;
	size_t i;

	for (i = 0; i < k->ops.nr; i++)
		if (!fwd_of(&k->ops.at[i]))
			sonde_put(o->work, &o->forward, (struct sonde_keyed){k->ops.at[i].what, (uint32_t)i});
	o->work->failed |= !sonde_keysort(o->forward.at, o->forward.nr);
}

/* The first forward operator with the link of `op`; others with the same link follow it. */
static size_t find_forward(const struct origins *o, const struct sonde_span *op)
{
	uint64_t want = op->what & KINETO_LINK_MASK;
	size_t low = 0;

	sonde_bisect(low, o->forward.nr, mid, o->forward.at[mid].key < want);
	return low;
}

static bool is_forward_of(const struct origins *o, size_t i, const struct sonde_span *op)
{
	return i < o->forward.nr && o->forward.at[i].key == (op->what & KINETO_LINK_MASK) &&
	       o->k->ops.at[o->forward.at[i].index].begin_ns <= op->begin_ns;
}

static struct vote *vote_of(struct origins *o, uint32_t fwd, uint32_t thread)
{
	struct vote *v;
	size_t i;

	for (i = 0; i < o->votes.nr; i++)
		if (o->votes.at[i].fwd == fwd && o->votes.at[i].thread == thread)
			return &o->votes.at[i];
	if (o->votes.nr == 4096)
		return NULL; /* no program has that many; the limit keeps the search short */
	v = sonde_push(o->work, &o->votes);
	*v = (struct vote){fwd, thread, 0};
	return v;
}

#define MAX_SAME 64 /* operators with the same link that are tried */

static void cast_votes(struct origins *o)
{
	const struct kineto *k = o->k;
	uint32_t last;
	size_t i, c, n;

	for (i = 0; i < k->ops.nr; i++) {
		const struct sonde_span *op = &k->ops.at[i];

		if (!fwd_of(op) || is_flow(op))
			continue;
		last = SONDE_NONE;
		c = find_forward(o, op);
		for (n = 0; n < MAX_SAME && is_forward_of(o, c, op); c++, n++) {
			uint32_t thread = k->ops.at[o->forward.at[c].index].lane;
			struct vote *v = thread == last ? NULL : vote_of(o, fwd_of(op), thread);

			last = thread;
			if (v)
				v->nr++;
		}
	}
}

/* The thread with the most votes; of equals, not the backward thread itself. */
static uint32_t forward_thread(const struct origins *o, const struct sonde_span *op)
{
	const struct vote *best = NULL;
	size_t i;

	for (i = 0; i < o->votes.nr; i++) {
		const struct vote *v = &o->votes.at[i];

		if (v->fwd != fwd_of(op))
			continue;
		if (!best || v->nr > best->nr || (v->nr == best->nr && best->thread == op->lane))
			best = v;
	}
	return best ? best->thread : SONDE_NONE;
}

/* The forward operator of a backward one; SONDE_NONE = not found. */
static uint32_t forward_of(const struct origins *o, const struct sonde_span *op)
{
	uint32_t thread = forward_thread(o, op), found = SONDE_NONE;
	size_t c, n;

	c = find_forward(o, op);
	for (n = 0; n < MAX_SAME && is_forward_of(o, c, op); c++, n++)
		if (is_flow(op) || o->k->ops.at[o->forward.at[c].index].lane == thread)
			found = o->forward.at[c].index;
	return found;
}

/* The span that autograd puts around an operator gets the operator's range. It comes before the operator. */
static void pass_on(struct origins *o, size_t i)
{
	const struct sonde_span *op = &o->k->ops.at[i];

	if (op->parent != SONDE_NONE && o->k->ops.at[op->parent].what == KINETO_ENGINE)
		o->forward_range[op->parent] = o->forward_range[i];
}

/* Finds the ranges of forward operators first, then gives them to the backward operators. */
static void find_forward_ranges(struct origins *o)
{
	struct kineto *k = o->k;
	size_t i;

	sonde_spans__rewind(&k->ranges);
	for (i = 0; i < k->ops.nr; i++)
		o->forward_range[i] = sonde_spans__open_at(&k->ranges, k->ops.at[i].lane, k->ops.at[i].begin_ns);
	for (i = 0; i < k->ops.nr; i++) {
		uint32_t forward;

		if (!fwd_of(&k->ops.at[i]))
			continue;
		forward = forward_of(o, &k->ops.at[i]);
		o->forward_range[i] = forward == SONDE_NONE ? SONDE_NONE : o->forward_range[forward];
		pass_on(o, i);
	}
}

/* Sets the origin of every launch made inside a backward operator. Records are in order of their calls. */
static void set_origins(struct origins *o)
{
	struct kineto *k = o->k;
	size_t i;

	for (i = k->first_record; i < k->r->records.nr; i++) {
		struct sonde_record *rec = &k->r->records.at[i];
		uint32_t op;

		if (rec->call == SONDE_NONE)
			continue;
		op = sonde_spans__open_at(&k->ops, rec->call, rec->call_ns);
		while (op != SONDE_NONE && !fwd_of(&k->ops.at[op]))
			op = k->ops.at[op].parent;
		if (op == SONDE_NONE || o->forward_range[op] == SONDE_NONE)
			continue;
		rec->origin = (uint32_t)k->first_range + o->forward_range[op];
		rec->origin_kind = SONDE_ORIGIN_BACKWARD;
	}
}

void sonde_kineto__find_origins(struct kineto *k)
{
	struct sonde_arena work = {0};
	struct origins o = {.k = k, .work = &work};

	if (k->ops.nr && k->ranges.nr) {
		sonde_spans__nest(&k->ops, k->src, k->threads.nr);
		list_forward(&o);
		o.forward_range = sonde_arena_alloc(&work, k->ops.nr * sizeof(*o.forward_range));
		k->src->work.failed |= work.failed;
		if (!k->src->work.failed) {
			cast_votes(&o);
			find_forward_ranges(&o);
			set_origins(&o);
		}
	}
	k->src->work.failed |= work.failed;
	sonde_arena_release(&work); /* before the launches take memory */
	sonde_vec_release(&k->ops);
}
