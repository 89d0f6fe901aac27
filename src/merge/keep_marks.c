/* Which parts are kept: the slowest, the fastest, those that wait least, the first, the median. */
#include "merge/keep_int.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Slowest first. */
static int by_time(const void *a, const void *b, void *keeper)
{
	const struct sonde_met *at = ((const struct sonde_keeper *)keeper)->met.at;
	const struct sonde_met *x = &at[*(const uint32_t *)a], *y = &at[*(const uint32_t *)b];

	return x->work_ns != y->work_ns ? sonde_cmp(y->work_ns, x->work_ns) : sonde_cmp(x->id, y->id);
}

/* Those that wait least first, those that do not communicate last. */
static int by_comm(const void *a, const void *b, void *keeper)
{
	const struct sonde_met *at = ((const struct sonde_keeper *)keeper)->met.at;
	const struct sonde_met *x = &at[*(const uint32_t *)a], *y = &at[*(const uint32_t *)b];
	int c = sonde_cmp(y->comm_ns > 0, x->comm_ns > 0);

	c = c ? c : sonde_cmp(x->comm_ns, y->comm_ns);
	return c ? c : sonde_cmp(x->id, y->id);
}

static int by_rank(const struct sonde_cells *a, const struct sonde_cells *b)
{
	const struct sonde_process *p = &a->processes.at[a->scopes.at[0].process];
	const struct sonde_process *q = &b->processes.at[b->scopes.at[0].process];
	int c = sonde_cmp(q->has_rank, p->has_rank);

	if (c == 0 && p->has_rank)
		c = sonde_cmp(p->rank, q->rank);
	return c ? c : sonde_str_cmp(a->inputs.at[0].path, b->inputs.at[0].path);
}

/* First ranks first; what cannot go to the rest before all. */
static int by_first(const void *a, const void *b, void *keeper)
{
	const struct sonde_met *at = ((const struct sonde_keeper *)keeper)->met.at;
	const struct sonde_held *x = a, *y = b;
	int c;

	if (x->number == SONDE_NONE || y->number == SONDE_NONE)
		return (y->number == SONDE_NONE) - (x->number == SONDE_NONE);
	c = by_rank(x->part, y->part);
	return c ? c : sonde_cmp(at[x->number].id, at[y->number].id);
}

/* By number of those met: where it is held, SONDE_NONE = nowhere. NULL: no memory. */
static uint32_t *find_held(struct sonde_keeper *k)
{
	uint32_t *at = sonde_malloc((k->met.nr + 1) * sizeof(*at));
	size_t i;

	if (at)
		memset(at, 0xff, (k->met.nr + 1) * sizeof(*at));
	for (i = 0; at && i < k->held.nr; i++)
		if (k->held.at[i].number != SONDE_NONE)
			at[k->held.at[i].number] = (uint32_t)i;
	return at;
}

void sonde_keeper__mark_by_time(struct sonde_keeper *k, size_t slow, size_t fast, size_t comm)
{
	uint32_t *where = find_held(k), *at = sonde_malloc((k->held.nr + 1) * sizeof(*at));
	size_t i, nr = 0;

	k->failed |= !where || !at;
	for (i = 0; !k->failed && i < k->held.nr; i++)
		if (k->held.at[i].number != SONDE_NONE)
			at[nr++] = k->held.at[i].number;
	if (!k->failed && nr > 1)
		qsort_r(at, nr, sizeof(*at), by_time, k);
	for (i = 0; !k->failed && i < nr; i++)
		if (i < slow || nr - i <= fast)
			k->held.at[where[at[i]]].is_kept = true;
	if (!k->failed && nr > 1 && k->has_comm)
		qsort_r(at, nr, sizeof(*at), by_comm, k);
	for (i = 0; !k->failed && k->has_comm && i < nr && i < comm; i++)
		if (k->met.at[at[i]].comm_ns > 0)
			k->held.at[where[at[i]]].is_kept = true;
	sonde_free(where);
	sonde_free(at);
}

void sonde_keeper__mark_first(struct sonde_keeper *k, size_t most, bool counts_marked)
{
	size_t i, nr = 0;

	for (i = 0; counts_marked && i < k->held.nr; i++)
		nr += k->held.at[i].is_kept;
	if (k->held.nr > 1)
		qsort_r(k->held.at, k->held.nr, sizeof(*k->held.at), by_first, k);
	for (i = 0; i < k->held.nr && nr < most; i++) {
		struct sonde_held *h = &k->held.at[i];

		if (h->number == SONDE_NONE || (counts_marked && h->is_kept))
			continue;
		h->is_kept = true;
		nr++;
	}
}

uint32_t sonde_keeper__find_median(struct sonde_keeper *k)
{
	uint32_t *at = sonde_malloc((k->met.nr + 1) * sizeof(*at)), i, median = SONDE_NONE;

	k->failed |= !at;
	for (i = 0; at && i < k->met.nr; i++)
		at[i] = i;
	if (at && k->met.nr) {
		qsort_r(at, k->met.nr, sizeof(*at), by_time, k);
		median = at[k->met.nr / 2];
	}
	sonde_free(at);
	return median;
}
