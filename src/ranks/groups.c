/*
 * Collectives → communicators: which ranks took part in the same ones.
 *
 * Group names come from the framework, or are just "the first stream with NCCL kernels". So two communicators may have
 * the same name: for example, the two pairs of tensor parallelism. Ranks with one group name therefore belong to one
 * communicator only if their collectives also end together, once the difference of their clocks is removed.
 */
#include "ranks/ranks_int.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_FIT 0.8 /* share of the collectives that two members have in common: at least this much must end together */

/* By group, rank, number and kind. */
static int by_member(const void *pa, const void *pb, void *ranking)
{
	const struct sonde_ranks_build *x = ranking;
	const struct sonde_collective *all = x->c->collectives.at, *a = &all[*(const uint32_t *)pa],
				      *b = &all[*(const uint32_t *)pb];
	int c = sonde_cmp(a->group, b->group);

	c = c ? c : sonde_cmp(sonde_ranks__row_of(x, a), sonde_ranks__row_of(x, b));
	c = c ? c : sonde_cmp(a->number, b->number);
	return c ? c : sonde_cmp(a->kind, b->kind);
}

static bool find_members(struct sonde_members *out, struct sonde_ranks_build *x)
{
	const struct sonde_collective *all = x->c->collectives.at, *k;
	struct sonde_member *m = NULL;
	size_t i, nr = 0;

	out->order = sonde_arena_alloc(&x->arena, (x->c->collectives.nr + 1) * sizeof(*out->order));
	if (!out->order)
		return false;
	for (i = 0; i < x->c->collectives.nr; i++)
		if (sonde_ranks__row_of(x, &all[i]) != SONDE_NONE)
			out->order[nr++] = (uint32_t)i;
	if (nr > 1)
		qsort_r(out->order, nr, sizeof(*out->order), by_member, x);
	for (i = 0; i < nr; i++) {
		k = &all[out->order[i]];
		if (!m || m->rank != sonde_ranks__row_of(x, k) || m->group != k->group) {
			m = sonde_push(&x->arena, &out->at);
			*m = (struct sonde_member){sonde_ranks__row_of(x, k), k->group, SONDE_NONE, i, 0};
		}
		m->nr++;
	}
	return !x->arena.failed;
}

/*
 * Walks through two members side by side and counts the collectives that both have. Every `step`-th of these goes to
 * `out`.
 */
static size_t walk_common(const struct sonde_ranks_build *x, const struct sonde_members *m,
	const struct sonde_member *a, const struct sonde_member *b, size_t step, struct sonde_common *out)
{
	const struct sonde_collective *all = x->c->collectives.at;
	size_t i = a->first, k = b->first, nr = 0;

	while (i < a->first + a->nr && k < b->first + b->nr) {
		const struct sonde_collective *p = &all[m->order[i]], *q = &all[m->order[k]];
		int c = sonde_cmp(p->number, q->number);

		c = c ? c : sonde_cmp(p->kind, q->kind);
		if (c == 0) {
			if (out && nr % step == 0)
				out[nr / step] = (struct sonde_common){p, q};
			nr++;
		}
		i += c <= 0;
		k += c >= 0;
	}
	return nr;
}

size_t sonde_members__common(const struct sonde_ranks_build *x, const struct sonde_members *m,
	const struct sonde_member *a, const struct sonde_member *b, struct sonde_common *out)
{
	size_t nr = walk_common(x, m, a, b, 1, NULL), step = (nr + SONDE_NR_COMMON - 1) / SONDE_NR_COMMON;

	walk_common(x, m, a, b, step ? step : 1, out);
	return step ? (nr + step - 1) / step : 0;
}

static bool ends_together(const struct sonde_common *k, double apart_ns)
{
	double a = (double)(k->a->end_ns - k->a->start_ns), b = (double)(k->b->end_ns - k->b->start_ns);

	return fabs(apart_ns) <= fmax(SONDE_ENDS_NS, SONDE_ENDS_SHARE * fmax(a, b));
}

/* Whether two members belong to one communicator. When memory is short, returns false and clears `*ok`. */
static bool is_same_communicator(const struct sonde_ranks_build *x, const struct sonde_members *m,
	const struct sonde_member *a, const struct sonde_member *b, bool *ok)
{
	const struct sonde_ranks *r = x->r;
	uint32_t from = a->rank, to = b->rank;
	struct sonde_common common[SONDE_NR_COMMON];
	struct sonde_moment moments[SONDE_NR_COMMON];
	struct sonde_clock_fit fit = {0};
	size_t nr = sonde_members__common(x, m, a, b, common), i, nr_fit = 0;

	if (!nr)
		return false;
	for (i = 0; i < nr; i++)
		moments[i] = (struct sonde_moment){sonde_ranks__since(r, from, common[i].a->end_ns),
			sonde_ranks__since(r, to, common[i].b->end_ns)};
	if (r->rows.at[from].clock != r->rows.at[to].clock)
		*ok &= sonde_clock__fit(&fit, moments, nr);
	for (i = 0; i < nr; i++)
		nr_fit += ends_together(
			&common[i], moments[i].to - sonde_clock__map(&fit, moments[i].from));
	return *ok && (double)nr_fit >= LEAST_FIT * (double)nr;
}

/* The members of one group name: each joins the first communicator that it fits, or starts a new one. */
static bool split_group(struct sonde_members *out, struct sonde_ranks_build *x, size_t first, size_t end)
{
	SONDE_VEC(size_t) heads = {0};
	bool ok = true;
	size_t i, k;

	for (i = first; i < end && ok; i++) {
		struct sonde_member *m = &out->at.at[i];

		for (k = 0; k < heads.nr && ok && m->cluster == SONDE_NONE; k++)
			if (is_same_communicator(x, out, &out->at.at[heads.at[k]], m, &ok))
				m->cluster = out->at.at[heads.at[k]].cluster;
		if (m->cluster != SONDE_NONE)
			continue;
		sonde_put(&x->arena, &heads, i);
		m->cluster = out->nr_clusters++;
	}
	sonde_vec_release(&heads);
	return ok;
}

static int by_cluster(const void *pa, const void *pb)
{
	const struct sonde_member *a = pa, *b = pb;

	return a->cluster != b->cluster ? sonde_cmp(a->cluster, b->cluster)
					: sonde_cmp(a->rank, b->rank);
}

bool sonde_groups__find(struct sonde_members *out, struct sonde_ranks_build *x)
{
	bool ok = find_members(out, x);
	size_t i, end;

	for (i = 0; i < out->at.nr && ok; i = end) {
		for (end = i; end < out->at.nr && out->at.at[end].group == out->at.at[i].group; end++)
			;
		ok = split_group(out, x, i, end);
	}
	sonde_vec_sort(&out->at, by_cluster);
	return ok;
}
