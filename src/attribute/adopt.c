/*
 * Threads without ranges: finds the thread whose ranges they work in (report.threads=adopt).
 *
 * Autograd and data loaders launch from threads of their own. Such a launch
 * takes the open stack of the one other thread of its process that has one at
 * the time of the call. Questions are answered in order of time. A sweep over the
 * outermost ranges counts the threads that have a range open. If that is exactly one
 * other thread, a cursor over its ranges finds the innermost open range.
 */
#include "attribute/launches_int.h"

#include <stdlib.h>
#include <string.h>

#define MAX_MEMBERS (1u << 26) /* in all sets made here together: 256 MiB */

/* An outermost range begins or ends. */
struct edge {
	uint64_t ns;
	uint32_t process, thread;
	bool is_end;
};

/* The innermost open range of a thread in one domain. */
struct slot {
	uint32_t top;  /* SONDE_NONE = none */
	uint32_t next; /* next slot of the same thread, SONDE_NONE = last */
};

struct thread {
	uint32_t first, last;	/* its ranges in order of entry, through `next_of` */
	uint32_t at;		/* its first range that the cursor has not entered yet */
	uint32_t first_slot;
	uint32_t nr_open;	/* number of its outermost ranges that are open */
	uint32_t set;		/* the last set made of its open ranges, SONDE_NONE = none */
};

struct thread_key {
	uint64_t thread, process;
};

/* All of it is in b->step. */
struct sweep {
	struct sonde_build *b;
	struct sonde_map thread_keys, slot_keys;
	SONDE_VEC(struct thread) threads;
	SONDE_VEC(struct slot) slots;
	SONDE_VEC(struct edge) edges;
	uint32_t *next_of; /* by range */
	SONDE_VEC(uint32_t) scratch;
	uint64_t nr_left; /* questions not answered, as the sets have MAX_MEMBERS members */
};

static struct thread *add_thread(struct sweep *w, const struct sonde_range *g, uint32_t *number)
{
	const struct thread_key key = {g->thread, g->process};
	struct thread *t;
	bool is_new;

	*number = sonde_intern_copy(&w->b->step, &w->thread_keys, SONDE_BYTES(key), &is_new);
	t = sonde_slot(&w->b->step, &w->threads, *number);
	if (is_new)
		*t = (struct thread){SONDE_NONE, SONDE_NONE, SONDE_NONE, SONDE_NONE, 0, SONDE_NONE};
	return t;
}

static void add_edges(struct sweep *w, const struct sonde_range *g, uint32_t thread)
{
	uint64_t begin = g->time.begin_ns, end = g->time.end_ns;

	sonde_put(&w->b->step, &w->edges, (struct edge){begin, g->process, thread, false});
	sonde_put(&w->b->step, &w->edges, (struct edge){end > begin ? end : begin, g->process, thread, true});
}

static void add_range(struct sweep *w, uint32_t range)
{
	const struct sonde_range *g = &w->b->r->ranges.at[range];
	bool is_outermost;
	uint32_t n;
	struct thread *t = add_thread(w, g, &n);

	if (t->first == SONDE_NONE)
		t->first = t->at = range;
	else
		w->next_of[t->last] = range;
	t->last = range;
	w->next_of[range] = SONDE_NONE;
	/* A range that was open before a fork has no times, so ranges directly inside it count as outermost. */
	is_outermost = g->parent == SONDE_NONE || !w->b->r->ranges.at[g->parent].time.end_ns;
	if (is_outermost)
		add_edges(w, g, n);
}

/* At the same time ends come after begins, so that a range that begins and ends at once counts as open in between. */
static int by_process_and_time(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;
	int c = sonde_cmp(a->process, b->process);

	c = c ? c : sonde_cmp(a->ns, b->ns);
	return c ? c : sonde_cmp(a->is_end, b->is_end);
}

static int by_question(const void *pa, const void *pb)
{
	const struct sonde_question *a = pa, *b = pb;
	int c = sonde_cmp(a->process, b->process);

	c = c ? c : sonde_cmp(a->ns, b->ns);
	return c ? c : sonde_cmp(a->index, b->index);
}

/* Moves the cursor of a thread over the ranges it has entered up to `ns`. */
static void enter_ranges(struct sweep *w, uint32_t thread, uint64_t ns)
{
	const struct sonde_range *ranges = w->b->r->ranges.at;
	struct thread *t = &w->threads.at[thread];
	bool is_new;

	for (; t->at != SONDE_NONE && ranges[t->at].time.begin_ns <= ns; t->at = w->next_of[t->at]) {
		uint32_t key[2] = {thread, ranges[t->at].domain};
		uint32_t n = sonde_build__key(&w->b->step, &w->slot_keys, key, 2, &is_new);
		struct slot *slot = sonde_slot(&w->b->step, &w->slots, n);

		if (is_new) {
			slot->next = t->first_slot;
			t->first_slot = n;
		}
		slot->top = t->at;
	}
}

/* The set of ranges that a thread has open at `ns`. */
static uint32_t make_open_set(struct sweep *w, uint32_t thread, uint64_t ns)
{
	const struct sonde_range *ranges = w->b->r->ranges.at;
	struct thread *t = &w->threads.at[thread];
	uint32_t n;

	enter_ranges(w, thread, ns);
	if (w->b->step.failed) /* a slot may be missing */
		return 0;
	w->scratch.nr = 0;
	for (n = t->first_slot; n != SONDE_NONE; n = w->slots.at[n].next) {
		uint32_t *top = &w->slots.at[n].top;

		while (*top != SONDE_NONE && ranges[*top].time.end_ns <= ns)
			*top = ranges[*top].parent;
		if (*top != SONDE_NONE)
			sonde_put(&w->b->step, &w->scratch, *top);
	}
	if (w->b->l->members.nr > MAX_MEMBERS) {
		w->nr_left++;
		return 0;
	}
	t->set = sonde_build__set(w->b, w->scratch.at, w->scratch.nr, t->set);
	return t->set;
}

/*
 * `open` is the number of threads of the process that have a range open, and `sum` the sum of their thread numbers:
 * if one thread is left without the asking one, `sum` is its number.
 */
static void answer_question(struct sweep *w, struct sonde_question *q, uint32_t open, uint64_t sum)
{
	const struct thread_key key = {q->thread, q->process};
	uint32_t own = sonde_map_find(&w->thread_keys, SONDE_BYTES(key));

	if (own != SONDE_NONE && w->threads.at[own].nr_open) {
		open--;
		sum -= own;
	}
	q->set = 0;
	q->cause = open > 1 ? SONDE_OUTSIDE_TWO_THREADS : SONDE_OUTSIDE_NO_RANGE;
	if (open == 1)
		q->set = make_open_set(w, (uint32_t)sum, q->ns);
}

static void answer_all(struct sweep *w, struct sonde_question *q, size_t nr)
{
	uint32_t open = 0, process = SONDE_NONE;
	uint64_t sum = 0; /* sum of the numbers of the threads that have a range open */
	size_t i, k = 0;

	for (i = 0; i < nr; i++) {
		if (q[i].process != process) {
			process = q[i].process;
			open = 0;
			sum = 0;
		}
		for (; k < w->edges.nr; k++) {
			const struct edge *e = &w->edges.at[k];
			struct thread *t = &w->threads.at[e->thread];

			if (e->process > process || (e->process == process && e->ns > q[i].ns))
				break;
			if (e->process != process)
				continue;
			if (!e->is_end && t->nr_open++ == 0) {
				open++;
				sum += e->thread;
			} else if (e->is_end && --t->nr_open == 0) {
				open--;
				sum -= e->thread;
			}
		}
		answer_question(w, &q[i], open, sum);
	}
}

static void collect_ranges(struct sweep *w, const bool *is_left_out)
{
	const struct sonde_records *r = w->b->r;
	uint32_t i;

	w->next_of = sonde_arena_alloc(&w->b->step, r->ranges.nr * sizeof(*w->next_of));
	for (i = 0; w->next_of && i < r->ranges.nr; i++)
		if (r->ranges.at[i].kind == SONDE_PUSH_POP && r->ranges.at[i].time.end_ns &&
			!(is_left_out && is_left_out[i]))
			add_range(w, i);
	sonde_vec_sort(&w->edges, by_process_and_time);
}

void sonde_build__ask(struct sonde_build *b, struct sonde_question *q, size_t nr, const bool *is_left_out)
{
	struct sweep w = {.b = b};

	if (!nr || sonde_build__failed(b))
		return;
	qsort(q, nr, sizeof(*q), by_question);
	collect_ranges(&w, is_left_out);
	if (!sonde_build__failed(b)) /* answers use the numbers of threads */
		answer_all(&w, q, nr);
	if (w.nr_left)
		sonde_note(&b->l->notes,
			"%llu launches stay outside all ranges, because other threads had too many different sets of ranges open; "
			"report.threads=own never counts launches in ranges of other threads",
			(unsigned long long)w.nr_left);
}

/* --- putting work into the ranges that were found ---------------------------------------------- */

/* Whether a thread had a range of its own open, by the set of ranges that were open. */
static bool has_stack(const struct sonde_build *b, uint32_t open)
{
	struct sonde_set set = b->r->sets.at[open];

	/* Stacks come before start/end ranges. */
	return set.nr && b->r->ranges.at[b->r->members.at[set.first]].kind == SONDE_PUSH_POP;
}

/* Makes a set of the lent ranges, followed by the start/end ranges that the launch has itself. */
static uint32_t join_sets(struct sonde_build *b, uint32_t open, uint32_t lent, uint32_t last)
{
	struct sonde_set own = b->r->sets.at[open], set;
	const uint32_t *members;
	size_t i;

	if (!own.nr)
		return lent;
	set = sonde_launches_set(b->l, lent, &members);
	if (!sonde_reserve(&b->arena, &b->scratch, set.nr + own.nr))
		return 0;
	for (i = 0; i < set.nr; i++)
		b->scratch.at[i] = members[i];
	memcpy(&b->scratch.at[i], &b->r->members.at[own.first], own.nr * sizeof(uint32_t));
	return sonde_build__set(b, b->scratch.at, set.nr + own.nr, last);
}

static void take_answers(struct sonde_build *b, const struct sonde_question *q, size_t nr)
{
	uint32_t last = SONDE_NONE;
	size_t i;

	for (i = 0; i < nr; i++) {
		struct sonde_launch *launch = &b->l->launches.at[q[i].index];

		launch->cause = q[i].cause;
		if (!q[i].set)
			continue;
		launch->open = last = join_sets(
			b, b->r->records.at[q[i].index].open, q[i].set, last);
		launch->is_adopted = true;
	}
}

/* Sources without times name the set of ranges that the other threads had open. */
static void take_lent(struct sonde_build *b, uint32_t record)
{
	const struct sonde_record *rec = &b->r->records.at[record];
	struct sonde_launch *launch = &b->l->launches.at[record];

	if (rec->origin_kind != SONDE_ORIGIN_LENT || !rec->lent)
		return;
	if (rec->lent == SONDE_NONE) {
		launch->cause = SONDE_OUTSIDE_TWO_THREADS;
		return;
	}
	launch->is_adopted = true;
	launch->open = join_sets(b, rec->open, rec->lent, SONDE_NONE);
}

int sonde_build__adopt_memory(struct sonde_build *b, struct sonde_err *err)
{
	SONDE_VEC(struct sonde_question) q = {0};
	uint32_t *open, last = SONDE_NONE;
	size_t i;

	sonde_reserve(&b->l->arena, &b->l->memory_open, b->r->memory.nr);
	for (i = 0; i < b->r->memory.nr; i++) {
		const struct sonde_memory *m = &b->r->memory.at[i];

		sonde_put(&b->l->arena, &b->l->memory_open, m->open);
		if (!b->l->selection.own_threads && !has_stack(b, m->open))
			sonde_put(&b->step, &q, (struct sonde_question){.ns = m->ns,
							.thread = m->thread,
							.process = m->process,
							.index = (uint32_t)i});
	}
	sonde_build__ask(b, q.at, q.nr, b->is_left_out);
	if (sonde_build__status(b, err))
		return SONDE_ERR_NOMEM;
	for (i = 0; i < q.nr; i++) {
		open = &b->l->memory_open.at[q.at[i].index];
		if (q.at[i].set)
			*open = last = join_sets(b, *open, q.at[i].set, last);
	}
	return sonde_build__status(b, err);
}

int sonde_build__adopt_launches(struct sonde_build *b, struct sonde_err *err)
{
	SONDE_VEC(struct sonde_question) q = {0};
	uint32_t i;

	for (i = 0; i < b->l->launches.nr; i++) {
		const struct sonde_record *rec = &b->r->records.at[i];

		if (has_stack(b, b->l->launches.at[i].open))
			continue;
		if (!rec->call_ns && rec->time.end_ns)
			b->l->launches.at[i].cause = SONDE_OUTSIDE_NO_CALL;
		if (b->l->selection.own_threads)
			continue;
		if (!rec->call_ns) {
			take_lent(b, i);
			continue;
		}
		sonde_put(&b->step, &q, (struct sonde_question){.ns = rec->call_ns,
						.thread = sonde_record_caller(b->r, rec)->thread,
						.process = sonde_record_caller(b->r, rec)->process,
						.index = i});
	}
	sonde_build__ask(b, q.at, q.nr, b->is_left_out);
	if (sonde_build__status(b, err))
		return SONDE_ERR_NOMEM;
	take_answers(b, q.at, q.nr);
	return sonde_build__status(b, err);
}
