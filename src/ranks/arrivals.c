/*
 * Who arrives last at each collective, and how long the others wait.
 *
 * A rank arrives when its NCCL kernel starts, and waits until the last rank has arrived. The rest of the kernel moves
 * data. If some rank leaves before the last one arrives (a broadcast's root may), nobody waited for all: such a
 * collective is counted as mismatched and not compared.
 */
#include "ranks/ranks_int.h"

#include "base/alloc.h"
#include "base/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One rank at one collective. Times are on the first clock. */
struct arrival {
	const struct sonde_collective *at;
	uint32_t row;
	double start, end;
};

struct arrivals_work {
	struct sonde_ranks_build *x;
	struct arrival *all; /* all arrivals of the current communicator */
	size_t nr;
	double *scratch;
	double error_ns;		/* the largest error of its ranks' clocks */
	struct sonde_group_row *group;	/* its row for the current kind; NULL before the first */
	uint32_t nr_ranks;
	bool failed; /* no memory */
};

/* By kind, then collective, then rank. */
static int by_collective(const void *pa, const void *pb)
{
	const struct arrival *a = pa, *b = pb;
	int c = sonde_cmp(a->at->kind, b->at->kind);

	c = c ? c : sonde_cmp(a->at->number, b->at->number);
	return c ? c : sonde_cmp(a->row, b->row);
}

/*
 * The median start and end. Of two starts in the middle it takes the earlier one, because half of the ranks may be late
 * together.
 */
static void find_medians(struct arrivals_work *w, const struct arrival *at, size_t nr, double *start, double *end)
{
	size_t i;

	for (i = 0; i < nr; i++)
		w->scratch[i] = at[i].start;
	sonde_sort_numbers(w->scratch, nr);
	*start = w->scratch[(nr - 1) / 2];
	for (i = 0; i < nr; i++)
		w->scratch[i] = at[i].end;
	*end = sonde_median(w->scratch, nr);
}

static void add_wait(struct arrivals_work *w, const struct arrival *a, double ns)
{
	sonde_ranks__add_time(w->x, w->x->r->wait_ns, a->at->scope, a->at->place, ns);
}

/* How many collectives this one counts for: of many, only some were kept. */
static double weight_of(const struct arrivals_work *w, const struct arrival *a)
{
	return w->x->r->rows.at[a->row].weight;
}

/* Counts the last rank of a collective, in all regions that the collective is in. */
static bool add_last(struct sonde_ranks_build *x, const struct arrival *a)
{
	uint32_t region;

	SONDE_EACH_REGION(x->c, a->at->place, region) {
		uint32_t key[2] = {region, a->row}, number;
		bool is_new;

		number = sonde_map_keep(&x->last_keys, &x->arena, SONDE_BYTES(key), &is_new);
		if (number != SONDE_NONE && is_new)
			sonde_push(&x->arena, &x->last);
		if (number == SONDE_NONE || x->arena.failed)
			return false;
		x->last.at[number] += x->r->rows.at[a->row].weight;
	}
	return true;
}

static void keep_long_wait(struct arrivals_work *w, const struct arrival *last, double wait, double late, size_t nr)
{
	struct sonde_ranks *r = w->x->r;
	size_t i = r->nr_waits;

	if (i == SONDE_NR_LONG_WAITS && r->waits[i - 1].wait_ns >= wait)
		return;
	i -= i == SONDE_NR_LONG_WAITS;
	for (; i > 0 && r->waits[i - 1].wait_ns < wait; i--)
		r->waits[i] = r->waits[i - 1];
	r->waits[i] = (struct sonde_long_wait){.group = last->at->group,
		.kind = last->at->kind,
		.place = last->at->place,
		.last = last->row,
		.nr_ranks = (uint32_t)nr,
		.number = last->at->number,
		.wait_ns = wait,
		.late_ns = late};
	r->nr_waits += r->nr_waits < SONDE_NR_LONG_WAITS;
}

/* `at`: one collective of two or more ranks. */
static void compare_collective(struct arrivals_work *w, const struct arrival *at, size_t nr)
{
	struct sonde_ranks *r = w->x->r;
	const struct arrival *last = at, *first_out = at;
	double median, end, sum = 0, weight = weight_of(w, at);
	size_t i;

	find_medians(w, at, nr, &median, &end);
	for (i = 1; i < nr; i++) {
		last = at[i].start > last->start ? &at[i] : last;
		first_out = at[i].end < first_out->end ? &at[i] : first_out;
	}
	if (last->start > first_out->end + SONDE_ENDS_NS + w->error_ns) {
		w->group->nr_mismatched += (uint64_t)weight;
		r->nr_mismatched += (uint64_t)weight;
		return;
	}
	for (i = 0; i < nr; i++) {
		struct sonde_rank_row *row = &r->rows.at[at[i].row];
		double wait = fmax(0, fmin(last->start, at[i].end) - at[i].start) * weight_of(w, &at[i]);

		row->nr += (uint64_t)weight_of(w, &at[i]);
		row->wait_ns = (isnan(row->wait_ns) ? 0 : row->wait_ns) + wait;
		row->late_ns += fmax(0, at[i].start - median) * weight_of(w, &at[i]);
		add_wait(w, &at[i], wait);
		sum += wait;
	}
	if (last->start - median > w->error_ns) {
		r->rows.at[last->row].nr_last += (uint64_t)weight_of(w, last);
		w->failed |= !add_last(w->x, last);
	}
	r->nr_collectives += (uint64_t)weight;
	w->group->nr += (uint64_t)weight;
	w->group->wait_ns += sum;
	w->group->transfer_ns += fmax(0, end - last->start) * weight;
	w->group->nr_bytes += (double)at->at->nr_bytes * weight;
	keep_long_wait(w, last, sum / weight, last->start - median, nr);
}

/* Adds the row of the communicator for this kind, unless it is the current one. */
static void open_group(struct arrivals_work *w, const struct sonde_collective *k)
{
	if (w->group && w->group->kind == k->kind)
		return;
	w->group = sonde_push(&w->x->r->arena, &w->x->r->groups);
	*w->group = (struct sonde_group_row){.name = k->group, .kind = k->kind, .nr_ranks = w->nr_ranks};
}

/* Gathers the arrivals of one communicator, from members whose clocks are aligned. */
static void gather_arrivals(struct arrivals_work *w, const struct sonde_members *m, size_t first, size_t end)
{
	struct sonde_ranks *r = w->x->r;
	size_t i, k;

	w->nr = w->nr_ranks = 0;
	w->error_ns = 0;
	w->group = NULL;
	for (i = first; i < end; i++) {
		const struct sonde_member *member = &m->at.at[i];
		uint32_t row = member->rank;
		const struct sonde_rank_clock *clock = &r->clocks.at[r->rows.at[row].clock];

		if (!clock->is_aligned)
			continue;
		w->nr_ranks++;
		w->error_ns = fmax(w->error_ns, clock->error_ns);
		for (k = member->first; k < member->first + member->nr; k++) {
			const struct sonde_collective *at = &w->x->c->collectives.at[m->order[k]];

			w->all[w->nr++] = (struct arrival){at, row, sonde_ranks__time(r, row, at->start_ns),
				sonde_ranks__time(r, row, at->end_ns)};
		}
	}
	if (w->nr > 1)
		qsort(w->all, w->nr, sizeof(*w->all), by_collective);
}

static bool compare_all(struct arrivals_work *w)
{
	size_t i, end;

	for (i = 0; i < w->nr; i = end) {
		for (end = i; end < w->nr && w->all[end].at->kind == w->all[i].at->kind &&
			      w->all[end].at->number == w->all[i].at->number;
			end++)
			;
		if (end - i < 2)
			continue;
		open_group(w, w->all[i].at);
		compare_collective(w, &w->all[i], end - i);
	}
	return !w->failed;
}

/* Lists the regions that have collectives, each with the rank that was last most often. */
static bool sum_regions(struct sonde_ranks_build *x)
{
	const struct sonde_cells *c = x->c;
	struct sonde_region_row *rows = sonde_calloc(c->regions.nr + 1, sizeof(*rows));
	bool ok = rows != NULL;
	size_t i;

	for (i = 0; i < c->visits.nr && ok; i++) {
		if (isnan(x->r->wait_ns[i]))
			continue;
		rows[c->visits.at[i].region].region = c->visits.at[i].region + 1;
		rows[c->visits.at[i].region].wait_ns += x->r->wait_ns[i];
	}
	for (i = 0; i < x->last.nr && ok; i++) {
		uint32_t key[2];
		struct sonde_region_row *row;

		memcpy(key, x->last_keys.keys[i].p, sizeof(key));
		row = &rows[key[0]];
		row->nr += x->last.at[i]; /* each counted collective has one last rank */
		if (x->last.at[i] > row->nr_last || (x->last.at[i] == row->nr_last && key[1] < row->last)) {
			row->nr_last = x->last.at[i];
			row->last = key[1];
		}
	}
	for (i = 0; i < c->regions.nr && ok; i++) {
		if (!rows[i].region)
			continue;
		rows[i].region--;
		rows[i].last = rows[i].nr_last ? rows[i].last : SONDE_NONE;
		sonde_put(&x->r->arena, &x->r->regions, rows[i]);
	}
	sonde_free(rows);
	return ok;
}

bool sonde_arrivals__compare(struct sonde_ranks_build *x, const struct sonde_members *m)
{
	struct arrivals_work w = {.x = x};
	size_t i, end;
	bool ok;

	w.all = sonde_malloc((x->c->collectives.nr + 1) * sizeof(*w.all));
	w.scratch = sonde_malloc((x->r->rows.nr + x->c->collectives.nr + 1) * sizeof(*w.scratch));
	ok = w.all && w.scratch;
	for (i = 0; i < m->at.nr && ok; i = end) {
		for (end = i; end < m->at.nr && m->at.at[end].cluster == m->at.at[i].cluster; end++)
			;
		if (end - i < 2)
			continue;
		gather_arrivals(&w, m, i, end);
		ok = compare_all(&w);
	}
	ok = ok && sum_regions(x);
	sonde_free(w.all);
	sonde_free(w.scratch);
	return ok;
}
