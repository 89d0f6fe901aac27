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

#include "base/alloc.h"

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

static uint32_t find_thread(
	struct sweep *w, uint32_t process, uint64_t thread, bool may_add)
{
	uint32_t key[3] = {process, (uint32_t)thread, (uint32_t)(thread >> 32)}, n;
	bool is_new;

	if (!may_add)
		return sonde_map_find(&w->thread_keys, SONDE_BYTES(key));
	n = sonde_build__key(w->b, &w->thread_keys, key, 3, &is_new);
	if (n == SONDE_NONE || !is_new)
		return n;
	if (!sonde_vec_put(&w->threads,
		    (struct thread){SONDE_NONE, SONDE_NONE, SONDE_NONE, SONDE_NONE, 0, SONDE_NONE}))
		return SONDE_NONE;
	return n;
}

static bool add_edges(struct sweep *w, const struct sonde_range *g, uint32_t thread)
{
	uint64_t begin = g->time.begin_ns, end = g->time.end_ns;
	struct edge *e;

	if (!sonde_vec_reserve(&w->edges, w->edges.nr + 2))
		return false;
	e = &w->edges.at[w->edges.nr];
	e[0] = (struct edge){begin, g->process, thread, false};
	e[1] = (struct edge){end > begin ? end : begin, g->process, thread, true};
	w->edges.nr += 2;
	return true;
}

static bool add_range(struct sweep *w, uint32_t range)
{
	const struct sonde_range *g = &w->b->r->ranges.at[range];
	uint32_t n = find_thread(w, g->process, g->thread, true);
	bool is_outermost;
	struct thread *t;

	if (n == SONDE_NONE)
		return false;
	t = &w->threads.at[n];
	if (t->first == SONDE_NONE)
		t->first = t->at = range;
	else
		w->next_of[t->last] = range;
	t->last = range;
	w->next_of[range] = SONDE_NONE;
	/* A range that was open before a fork has no times, so ranges directly inside it count as outermost. */
	is_outermost = g->parent == SONDE_NONE || !w->b->r->ranges.at[g->parent].time.end_ns;
	return !is_outermost || add_edges(w, g, n);
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
static bool enter_ranges(struct sweep *w, uint32_t thread, uint64_t ns)
{
	const struct sonde_range *ranges = w->b->r->ranges.at;
	struct thread *t = &w->threads.at[thread];
	bool is_new;

	for (; t->at != SONDE_NONE && ranges[t->at].time.begin_ns <= ns; t->at = w->next_of[t->at]) {
		uint32_t key[2] = {thread, ranges[t->at].domain};
		uint32_t n = sonde_build__key(w->b, &w->slot_keys, key, 2, &is_new);
		struct slot *slot = sonde_map_slot(&w->slots, n);

		if (!slot)
			return false;
		if (is_new) {
			slot->next = t->first_slot;
			t->first_slot = n;
		}
		slot->top = t->at;
	}
	return true;
}

/* The set of ranges that a thread has open at `ns`; SONDE_NONE: no memory. */
static uint32_t make_open_set(struct sweep *w, uint32_t thread, uint64_t ns)
{
	const struct sonde_range *ranges = w->b->r->ranges.at;
	struct thread *t = &w->threads.at[thread];
	uint32_t n;

	if (!enter_ranges(w, thread, ns))
		return SONDE_NONE;
	w->scratch.nr = 0;
	for (n = t->first_slot; n != SONDE_NONE; n = w->slots.at[n].next) {
		uint32_t *top = &w->slots.at[n].top;

		while (*top != SONDE_NONE && ranges[*top].time.end_ns <= ns)
			*top = ranges[*top].parent;
		if (*top == SONDE_NONE)
			continue;
		if (!sonde_vec_put(&w->scratch, *top))
			return SONDE_NONE;
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
static bool answer_question(struct sweep *w, struct sonde_question *q, uint32_t open, uint64_t sum)
{
	uint32_t own = find_thread(w, q->process, q->thread, false);

	if (own != SONDE_NONE && w->threads.at[own].nr_open) {
		open--;
		sum -= own;
	}
	q->set = 0;
	q->cause = open > 1 ? SONDE_OUTSIDE_TWO_THREADS : SONDE_OUTSIDE_NO_RANGE;
	if (open == 1)
		q->set = make_open_set(w, (uint32_t)sum, q->ns);
	return q->set != SONDE_NONE;
}

static bool answer_all(struct sweep *w, struct sonde_question *q, size_t nr)
{
	uint32_t open = 0, process = SONDE_NONE;
	uint64_t sum = 0; /* sum of the numbers of the threads that have a range open */
	size_t i, k = 0;
	bool ok = true;

	for (i = 0; i < nr && ok; i++) {
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
		ok = answer_question(w, &q[i], open, sum);
	}
	return ok;
}

static bool collect_ranges(struct sweep *w, const bool *is_left_out)
{
	const struct sonde_records *r = w->b->r;
	uint32_t i;

	w->next_of = sonde_malloc((r->ranges.nr + 1) * sizeof(*w->next_of));
	if (!w->next_of)
		return false;
	for (i = 0; i < r->ranges.nr; i++)
		if (r->ranges.at[i].kind == SONDE_PUSH_POP && r->ranges.at[i].time.end_ns &&
			!(is_left_out && is_left_out[i]) && !add_range(w, i))
			return false;
	sonde_vec_sort(&w->edges, by_process_and_time);
	return true;
}

int sonde_build__ask(struct sonde_build *b, struct sonde_question *q, size_t nr,
	const bool *is_left_out, struct sonde_err *err)
{
	struct sweep w = {.b = b};
	bool ok;

	if (!nr)
		return 0;
	qsort(q, nr, sizeof(*q), by_question);
	ok = collect_ranges(&w, is_left_out) && answer_all(&w, q, nr);
	if (w.nr_left)
		sonde_note(&b->l->notes,
			"%llu launches stay outside all ranges, because other threads had too many different sets of ranges open; "
			"report.threads=own never counts launches in ranges of other threads",
			(unsigned long long)w.nr_left);
	sonde_map_release(&w.thread_keys);
	sonde_map_release(&w.slot_keys);
	sonde_vec_release(&w.threads);
	sonde_vec_release(&w.slots);
	sonde_vec_release(&w.edges);
	sonde_vec_release(&w.scratch);
	sonde_free(w.next_of);
	return ok ? 0 : sonde_err_nomem(err);
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
	if (!sonde_vec_reserve(&b->scratch, set.nr + own.nr))
		return SONDE_NONE;
	for (i = 0; i < set.nr; i++)
		b->scratch.at[i] = members[i];
	memcpy(&b->scratch.at[i], &b->r->members.at[own.first], own.nr * sizeof(uint32_t));
	return sonde_build__set(b, b->scratch.at, set.nr + own.nr, last);
}

static int take_answers(
	struct sonde_build *b, const struct sonde_question *q, size_t nr, struct sonde_err *err)
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
		if (last == SONDE_NONE)
			return sonde_err_nomem(err);
	}
	return 0;
}

/* Sources without times name the set of ranges that the other threads had open. */
static bool take_lent(struct sonde_build *b, uint32_t record)
{
	const struct sonde_record *rec = &b->r->records.at[record];
	struct sonde_launch *launch = &b->l->launches.at[record];

	if (rec->origin_kind != SONDE_ORIGIN_LENT || !rec->lent)
		return true;
	if (rec->lent == SONDE_NONE) {
		launch->cause = SONDE_OUTSIDE_TWO_THREADS;
		return true;
	}
	launch->is_adopted = true;
	launch->open = join_sets(b, rec->open, rec->lent, SONDE_NONE);
	return launch->open != SONDE_NONE;
}

/* Adopts allocations and frees in the same way as launches. */
static int adopt_memory(struct sonde_build *b, struct sonde_err *err)
{
	size_t nr = b->r->memory.nr, nr_asked = 0, i;
	struct sonde_question *q = sonde_malloc((nr + 1) * sizeof(*q));
	uint32_t *open, last = SONDE_NONE;
	int rc = q && sonde_vec_reserve(&b->l->memory_open, nr) ? 0 : sonde_err_nomem(err);

	for (i = 0; i < nr && rc == 0; i++) {
		const struct sonde_memory *m = &b->r->memory.at[i];

		b->l->memory_open.at[b->l->memory_open.nr++] = m->open;
		if (!b->l->selection.own_threads && !has_stack(b, m->open))
			q[nr_asked++] = (struct sonde_question){.ns = m->ns,
				.thread = m->thread,
				.process = m->process,
				.index = (uint32_t)i};
	}
	if (rc == 0)
		rc = sonde_build__ask(b, q, nr_asked, b->is_left_out, err);
	for (i = 0; i < nr_asked && rc == 0; i++) {
		open = &b->l->memory_open.at[q[i].index];
		if (q[i].set)
			*open = last = join_sets(b, *open, q[i].set, last);
		if (*open == SONDE_NONE)
			rc = sonde_err_nomem(err);
	}
	sonde_free(q);
	return rc;
}

static int adopt_launches(struct sonde_build *b, struct sonde_err *err)
{
	SONDE_VEC(struct sonde_question) q = {0};
	uint32_t i;
	int rc = 0;

	for (i = 0; i < b->l->launches.nr && rc == 0; i++) {
		const struct sonde_record *rec = &b->r->records.at[i];

		if (has_stack(b, b->l->launches.at[i].open))
			continue;
		if (!rec->call_ns && rec->time.end_ns)
			b->l->launches.at[i].cause = SONDE_OUTSIDE_NO_CALL;
		if (b->l->selection.own_threads)
			continue;
		if (!rec->call_ns) {
			rc = take_lent(b, i) ? 0 : sonde_err_nomem(err);
			continue;
		}
		if (!sonde_vec_put(&q, (struct sonde_question){.ns = rec->call_ns,
					       .thread = sonde_record_caller(b->r, rec)->thread,
					       .process = sonde_record_caller(b->r, rec)->process,
					       .index = i}))
			rc = sonde_err_nomem(err);
	}
	if (rc == 0)
		rc = sonde_build__ask(b, q.at, q.nr, b->is_left_out, err);
	if (rc == 0)
		rc = take_answers(b, q.at, q.nr, err);
	sonde_vec_release(&q);
	return rc;
}

int sonde_build__adopt(struct sonde_build *b, struct sonde_err *err)
{
	int rc = adopt_launches(b, err);

	return rc ? rc : adopt_memory(b, err);
}
