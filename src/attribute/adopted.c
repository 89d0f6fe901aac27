/* What threads without ranges of their own did, put into the ranges that adopt.c finds for it. */
#include "attribute/launches_int.h"

#include "base/alloc.h"

#include <string.h>

/* Whether a thread had a range of its own open, by the set of what was. */
static bool has_stack(const struct sonde_build *b, uint32_t open)
{
	struct sonde_set set = b->r->sets.at[open];

	/* Stacks come before start/end ranges. */
	return set.nr && b->r->ranges.at[b->r->members.at[set.first]].kind == SONDE_PUSH_POP;
}

/* The lent ranges, then the start/end ranges that are open anyway. */
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

/* Sources without times say themselves what other threads had open. */
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

/* Allocations and frees, as launches are. */
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
