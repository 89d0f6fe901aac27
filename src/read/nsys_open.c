#include "read/nsys_int.h"

#include "base/alloc.h"


#define MAX_DOMAINS 64
#define MAX_DEPTH   512 /* what is deeper counts in its ancestor: ids grow with the square of it */

static int cmp(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* By thread, then time; of two that begin together the longer one is the outer. */
static int by_entry(const void *pa, const void *pb)
{
	const struct nsys_range *a = pa, *b = pb;
	int c = cmp(a->pid, b->pid);

	if (!c)
		c = cmp(a->kind, b->kind);
	if (!c && a->kind == SONDE_PUSH_POP)
		c = cmp(a->tid, b->tid);
	if (!c)
		c = cmp(a->begin_ns, b->begin_ns);
	return c ? c : cmp(b->end_ns, a->end_ns);
}

static int by_thread(const void *pa, const void *pb)
{
	const struct nsys_launch *a = pa, *b = pb;
	int c = cmp(a->pid, b->pid);

	if (!c)
		c = cmp(a->tid, b->tid);
	return c ? c : cmp(a->call_ns, b->call_ns);
}

static int by_time(const void *pa, const void *pb)
{
	const struct nsys_launch *a = pa, *b = pb;
	int c = cmp(a->pid, b->pid);

	if (!c)
		c = cmp(a->call_ns ? a->call_ns : a->start_ns,
			b->call_ns ? b->call_ns : b->start_ns);
	return c ? c : cmp(a->start_ns, b->start_ns);
}

/* The innermost open range of each domain, on one thread. */
struct stacks {
	uint64_t pid, tid;
	struct stack {
		uint32_t domain;
		uint32_t top; /* index into the ranges, SONDE_NONE = empty */
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
	s->at[s->nr] = (struct stack){domain, SONDE_NONE};
	return &s->at[s->nr++];
}

/* The parent of each range, as an index into the ranges; `outer` has room for all. */
static void pop_ended(const struct nsys *n, const uint32_t *outer, struct stack *s, uint64_t now)
{
	while (s->top != SONDE_NONE && n->ranges.at[s->top].end_ns <= now)
		s->top = outer[s->top];
}

static void enter(struct nsys *n, uint32_t *outer, struct stacks *s, uint32_t i)
{
	struct nsys_range *g = &n->ranges.at[i];
	struct stack *st;

	if (s->pid != g->pid || s->tid != g->tid)
		*s = (struct stacks){.pid = g->pid, .tid = g->tid};
	st = stack_of(s, g->domain);
	pop_ended(n, outer, st, g->begin_ns);
	outer[i] = st->top;
	g->depth = st->top == SONDE_NONE ? 0 : (uint16_t)(n->ranges.at[st->top].depth + 1);
	if (g->depth < MAX_DEPTH)
		st->top = i;
}

static int append(struct nsys *n, struct nsys_range *g, uint32_t parent)
{
	struct sonde_records *r = n->r;
	uint32_t process = sonde_nsys__process(n, g->pid);
	struct sonde_range *range = process == SONDE_NONE ? NULL : sonde_vec_push(&r->ranges);

	if (!range)
		return sonde_err_nomem(n->err);
	g->number = (uint32_t)(r->ranges.nr - 1);
	*range = (struct sonde_range){.parent = parent,
		.label = g->label,
		.domain = g->domain,
		.process = process,
		.thread = g->tid,
		.kind = g->kind,
		.time = {.begin_ns = g->begin_ns,
			.end_ns = g->end_ns == UINT64_MAX ? 0 : g->end_ns}};
	return 0;
}

int sonde_nsys__nest(struct nsys *n)
{
	struct stacks s = {0};
	uint32_t *outer = sonde_malloc((n->ranges.nr + 1) * sizeof(*outer));
	uint64_t nr_deep = 0;
	uint32_t i;
	int rc = 0;

	if (!outer)
		return sonde_err_nomem(n->err);
	n->first_range = (uint32_t)n->r->ranges.nr;
	sonde_vec_sort(&n->ranges, by_entry);
	for (i = 0; i < n->ranges.nr && rc == 0; i++) {
		struct nsys_range *g = &n->ranges.at[i];

		outer[i] = SONDE_NONE;
		if (g->kind == SONDE_PUSH_POP)
			enter(n, outer, &s, i);
		nr_deep += g->depth == MAX_DEPTH;
		rc = append(n, g,
			outer[i] == SONDE_NONE ? SONDE_NONE : n->ranges.at[outer[i]].number);
	}
	sonde_source__note(n->src, n->r, nr_deep,
		"range is nested 512 deep: what is in it counts in the one around it",
		"ranges are nested 512 deep: what is in them counts in the one around them");
	sonde_free(outer);
	return rc;
}

/* A walk over the launches of all threads beside the ranges of the same threads. */
struct sweep {
	struct nsys *n;
	uint32_t *outer;
	struct stacks stacks;
	uint32_t next; /* range */
	uint32_t members[MAX_DOMAINS];
	size_t nr;
};

static bool is_before(const struct nsys_range *g, const struct nsys_launch *l)
{
	int c = cmp(g->pid, l->pid);

	if (!c)
		c = g->kind == SONDE_PUSH_POP ? cmp(g->tid, l->tid) : 1;
	return c ? c < 0 : g->begin_ns <= l->call_ns;
}

static void add_stacks(struct sweep *w, const struct nsys_launch *l)
{
	size_t i;

	if (w->stacks.pid != l->pid || w->stacks.tid != l->tid)
		return;
	for (i = 0; i < w->stacks.nr; i++) {
		pop_ended(w->n, w->outer, &w->stacks.at[i], l->call_ns);
		if (w->stacks.at[i].top != SONDE_NONE)
			w->members[w->nr++] = w->n->ranges.at[w->stacks.at[i].top].number;
	}
}

static int place(struct sweep *w, struct nsys_launch *l)
{
	struct nsys *n = w->n;

	while (w->next < n->ranges.nr && is_before(&n->ranges.at[w->next], l)) {
		if (n->ranges.at[w->next].kind == SONDE_PUSH_POP)
			enter(n, w->outer, &w->stacks, w->next);
		w->next++;
	}
	w->nr = 0;
	if (l->call_ns)
		add_stacks(w, l);
	l->open = sonde_records__set(n->r, w->members, w->nr);
	return l->open == SONDE_NONE ? sonde_err_nomem(n->err) : 0;
}

/* Start/end ranges are open for all threads of their process. */
static bool add_starts(struct nsys *n)
{
	struct sonde_launch_call *calls = sonde_malloc((n->launches.nr + 1) * sizeof(*calls));
	uint64_t nr_cut = 0;
	size_t i, nr = 0;
	bool ok = calls && n->launches.nr < SONDE_NONE;

	for (i = 0; i < n->launches.nr && ok; i++) {
		const struct nsys_launch *l = &n->launches.at[i];
		uint32_t process = sonde_nsys__process(n, l->pid);

		ok = process != SONDE_NONE;
		if (l->call_ns)
			calls[nr++] = (struct sonde_launch_call){
				l->call_ns, process, (uint32_t)i, l->open};
	}
	ok = ok && sonde_records__add_starts(n->r, n->first_range, calls, nr, &nr_cut);
	for (i = 0; i < nr && ok; i++)
		n->launches.at[calls[i].index].open = calls[i].set;
	sonde_source__note(n->src, n->r, nr_cut,
		"launch lacks some of its ranges: too many were open at once",
		"launches lack some of their ranges: too many were open at once");
	sonde_free(calls);
	return ok;
}

int sonde_nsys__open(struct nsys *n)
{
	struct sweep w = {.n = n};
	size_t i;
	int rc = 0;

	w.outer = sonde_malloc((n->ranges.nr + 1) * sizeof(*w.outer));
	if (!w.outer)
		rc = sonde_err_nomem(n->err);
	else
		sonde_vec_sort(&n->launches, by_thread);
	for (i = 0; i < n->launches.nr && rc == 0; i++)
		rc = place(&w, &n->launches.at[i]);
	if (rc == 0 && !add_starts(n))
		rc = sonde_err_nomem(n->err);
	if (rc == 0)
		sonde_vec_sort(&n->launches, by_time);
	sonde_free(w.outer);
	return rc;
}
