/*
 * Which ranges were open at each launch: a walk over both, thread by thread, in order of time.
 */
#include "read/nsys_int.h"

#include "base/alloc.h"
#include "base/keysort.h"

#define MAX_DOMAINS 64
#define MAX_DEPTH   512 /* what is deeper counts in its ancestor: ids grow with the square of it */

/* Pids and thread ids have 24 bits; what is of no thread comes behind all threads of its process. */
static uint64_t thread_key(uint64_t pid, uint64_t tid, bool has_thread)
{
	return pid << 25 | (has_thread ? tid : 1u << 24);
}

static uint64_t pid_of(const struct sonde_records *r, uint32_t process)
{
	return r->processes.at[process].pid;
}

static uint64_t thread_of(const struct sonde_records *r, const struct sonde_range *g)
{
	return thread_key(pid_of(r, g->process), g->thread, g->kind == SONDE_PUSH_POP);
}

/* The innermost open range of each domain, on one thread. */
struct stacks {
	uint64_t thread; /* its key */
	struct stack {
		uint32_t domain;
		uint32_t top; /* range, SONDE_NONE = empty */
		uint32_t depth;
	} at[MAX_DOMAINS];
	size_t nr;
};

static struct stack *stack_of(struct stacks *s, uint32_t domain)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		if (s->at[i].domain == domain)
			return &s->at[i];
	if (s->nr == MAX_DOMAINS)
		return &s->at[MAX_DOMAINS - 1];
	s->at[s->nr] = (struct stack){domain, SONDE_NONE, 0};
	return &s->at[s->nr++];
}

static void pop_ended(const struct sonde_records *r, struct stack *s, uint64_t now)
{
	for (; s->top != SONDE_NONE; s->top = r->ranges.at[s->top].parent, s->depth--) {
		uint64_t end = r->ranges.at[s->top].time.end_ns;

		if (!end || end > now) /* 0: never closed */
			break;
	}
}

/* A range begins: it lies in the innermost open one. False: that is as deep as ranges go. */
static bool enter(struct sonde_records *r, struct stacks *s, uint32_t number)
{
	struct sonde_range *g = &r->ranges.at[number];
	uint64_t thread = thread_of(r, g);
	struct stack *st;

	if (g->kind != SONDE_PUSH_POP)
		return true;
	if (s->thread != thread)
		*s = (struct stacks){.thread = thread};
	st = stack_of(s, g->domain);
	pop_ended(r, st, g->time.begin_ns);
	g->parent = st->top;
	if (st->depth == MAX_DEPTH)
		return false;
	st->top = number;
	st->depth++;
	return true;
}

/* Of two that begin together the longer one is the outer. */
static uint64_t end_key(const void *of, uint32_t i)
{
	return UINT64_MAX - ((const struct nsys_range *)of)[i].end_ns;
}

static uint64_t begin_key(const void *of, uint32_t i)
{
	return ((const struct nsys_range *)of)[i].begin_ns;
}

static uint64_t range_key(const void *of, uint32_t i)
{
	const struct nsys_range *g = (const struct nsys_range *)of + i;

	return thread_key(g->pid, g->tid, g->kind == SONDE_PUSH_POP);
}

static bool append(struct nsys *n, const struct nsys_range *g)
{
	uint32_t process = sonde_nsys__process(n, g->pid);

	if (process == SONDE_NONE ||
		!sonde_vec_put(&n->r->ranges,
			(struct sonde_range){.parent = SONDE_NONE,
				.label = g->label,
				.domain = g->domain,
				.process = process,
				.thread = g->tid,
				.kind = g->kind,
				.time = {.begin_ns = g->begin_ns,
					.end_ns = g->end_ns == UINT64_MAX ? 0 : g->end_ns}}))
		return false;
	n->has_starts |= g->kind == SONDE_START_END;
	return true;
}

int sonde_nsys__nest(struct nsys *n)
{
	static sonde_key_fn *const keys[] = {end_key, begin_key, range_key};
	struct sonde_keyed *order = sonde_order_by(n->ranges.at, n->ranges.nr, keys, 3);
	struct stacks s = {0};
	uint64_t nr_deep = 0;
	size_t i;
	bool ok = order != NULL;

	n->first_range = (uint32_t)n->r->ranges.nr;
	for (i = 0; i < n->ranges.nr && ok; i++) {
		ok = append(n, &n->ranges.at[order[i].index]);
		nr_deep += ok && !enter(n->r, &s, n->first_range + (uint32_t)i);
	}
	sonde_source__note(n->src, n->r, nr_deep,
		"range is nested 512 deep: what is in it counts in the one around it",
		"ranges are nested 512 deep: what is in them counts in the one around them");
	sonde_free(order);
	sonde_vec_release(&n->ranges);
	return ok ? 0 : sonde_err_nomem(n->err);
}

/* --- launches -------------------------------------------------------------------------------- */

static const struct sonde_record *record_at(const void *of, uint32_t i)
{
	const struct nsys *n = of;

	return &n->r->records.at[n->first_record + i];
}

static uint64_t start_key(const void *of, uint32_t i)
{
	return record_at(of, i)->time.start_ns;
}

static uint64_t call_key(const void *of, uint32_t i)
{
	return record_at(of, i)->call_ns;
}

static uint64_t time_key(const void *of, uint32_t i)
{
	return record_at(of, i)->call_ns ? record_at(of, i)->call_ns : record_at(of, i)->time.start_ns;
}

static const struct sonde_caller *caller_at(const void *of, uint32_t i)
{
	return sonde_record_caller(((const struct nsys *)of)->r, record_at(of, i));
}

static uint64_t process_key(const void *of, uint32_t i)
{
	return pid_of(((const struct nsys *)of)->r, caller_at(of, i)->process);
}

static uint64_t launch_key(const void *of, uint32_t i)
{
	return thread_key(process_key(of, i), caller_at(of, i)->thread, true);
}

/* A walk over the launches of all threads beside the ranges of the same threads. */
struct sweep {
	struct sonde_records *r;
	struct stacks stacks;
	uint32_t next; /* range */
	uint32_t members[MAX_DOMAINS];
	size_t nr;
};

static void add_stacks(struct sweep *w, uint64_t call_ns)
{
	size_t i;

	for (i = 0; i < w->stacks.nr; i++) {
		pop_ended(w->r, &w->stacks.at[i], call_ns);
		if (w->stacks.at[i].top != SONDE_NONE)
			w->members[w->nr++] = w->stacks.at[i].top;
	}
}

static bool place(struct sweep *w, struct sonde_record *rec, uint64_t thread)
{
	struct sonde_records *r = w->r;

	for (; w->next < r->ranges.nr; w->next++) {
		const struct sonde_range *g = &r->ranges.at[w->next];
		uint64_t other = thread_of(r, g);

		if (other > thread || (other == thread && g->time.begin_ns > rec->call_ns))
			break;
		enter(r, &w->stacks, w->next);
	}
	w->nr = 0;
	if (rec->call_ns && w->stacks.thread == thread)
		add_stacks(w, rec->call_ns);
	rec->open = sonde_records__set(r, w->members, w->nr);
	return rec->open != SONDE_NONE;
}

static bool add_stacked(struct nsys *n, size_t nr)
{
	static sonde_key_fn *const keys[] = {call_key, launch_key};
	struct sonde_keyed *order = sonde_order_by(n, nr, keys, 2);
	struct sweep w = {.r = n->r, .next = n->first_range};
	size_t i;
	bool ok = order != NULL;

	for (i = 0; i < nr && ok; i++)
		ok = place(&w, &n->r->records.at[n->first_record + order[i].index], order[i].key);
	sonde_free(order);
	return ok;
}

static uint64_t number_key(const void *of, uint32_t i)
{
	return caller_at(of, i)->process;
}

/* Start/end ranges are open for all threads of their process. */
static bool add_starts(struct nsys *n, size_t nr)
{
	static sonde_key_fn *const keys[] = {call_key, number_key};
	struct sonde_starts *s = sonde_starts__build(n->r, n->first_range);
	struct sonde_keyed *order = s ? sonde_order_by(n, nr, keys, 2) : NULL;
	bool ok = order;
	size_t i;

	for (i = 0; i < nr && ok; i++) {
		struct sonde_record *rec = &n->r->records.at[n->first_record + order[i].index];

		if (rec->call_ns)
			rec->open = sonde_starts__open_at(s, sonde_record_caller(n->r, rec)->process,
				rec->call_ns, rec->open);
		ok = rec->open != SONDE_NONE;
	}
	sonde_source__note(n->src, n->r, sonde_starts__free(s),
		"launch lacks some of its ranges: too many were open at once",
		"launches lack some of their ranges: too many were open at once");
	sonde_free(order);
	return ok;
}

int sonde_nsys__open(struct nsys *n)
{
	static sonde_key_fn *const keys[] = {start_key, time_key, process_key};
	size_t nr = n->r->records.nr - n->first_record;
	struct sonde_record *at = nr ? &n->r->records.at[n->first_record] : NULL;
	bool ok = add_stacked(n, nr) && (!n->has_starts || add_starts(n, nr)) &&
		  sonde_order_apply(sonde_order_by(n, nr, keys, 3), at, nr, sizeof(*at));

	return ok ? 0 : sonde_err_nomem(n->err);
}
