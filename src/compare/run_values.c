/* The values of a region in each run: the times of its entries, and sums. */
#include "compare/diff_int.h"

#include "base/alloc.h"
#include "base/quantile.h"
#include "tree/entries.h"

#include <math.h>
#include <string.h>

/*
 * How often a region was entered. A region without entries of its own (graphs, backward) has as many as the region
 * around it.
 */
static double count_entries(const struct sonde_report *r, const struct sonde_node *n)
{
	while (!n->instances && n->parent != SONDE_NONE)
		n = &r->nodes.at[n->parent];
	return n->instances ? (double)n->instances : 1;
}

bool sonde_diff__push_value(struct sonde_diff *d, double v)
{
	return sonde_vec_put(&d->values, fmax(v, 1)); /* at least a nanosecond: ratios need numbers above 0 */
}

/* The entries of a run, and which of their times is used. */
struct source {
	const struct sonde_entry *entries;
	const double *walls; /* by entry: the wall time that it adds to the run */
	enum sonde_entry_time which;
};

static double entry_time(const struct source *s, const struct sonde_entry *e)
{
	return s->which == SONDE_ENTRY_WALL ? s->walls[e - s->entries] : (double)sonde_entry_ns(e, s->which);
}

/* The time of a region in a run, all entries together; NaN = not known. */
static double node_time(const struct sonde_node *n, enum sonde_entry_time which)
{
	return which == SONDE_ENTRY_GPU	   ? n->time_ns
	       : which == SONDE_ENTRY_WALL ? n->times.wall_ns
					   : n->times.host_ns;
}

/* Removes scopes whose entries have none of this time. Returns whether all others have equally many entries. */
static bool drop_idle(struct sonde_entry_runs *runs, const struct source *from)
{
	size_t i, k, kept = 0;
	bool is_even = true;

	for (i = 0; i < runs->at.nr; i++) {
		const struct sonde_entry_run *run = &runs->at.at[i];

		for (k = 0; k < run->nr && !(entry_time(from, &run->at[k]) > 0); k++)
			;
		if (k == run->nr)
			continue;
		runs->at.at[kept++] = *run;
		is_even = is_even && run->nr == runs->at.at[0].nr;
	}
	runs->at.nr = kept;
	return is_even;
}

/*
 * Ranks enter regions together, so their times are not independent: the n-th value is the mean of all ranks' n-th
 * entries. If ranks have different numbers of entries, their entries follow each other as separate values.
 */
static bool push_entries(struct sonde_diff *d, struct sonde_entry_runs *runs, const struct source *from)
{
	bool is_even = drop_idle(runs, from), ok = true;
	size_t i, k;

	for (k = 0; is_even && runs->at.nr && k < runs->at.at[0].nr && ok; k++) {
		double sum = 0;

		for (i = 0; i < runs->at.nr; i++)
			sum += entry_time(from, &runs->at.at[i].at[k]);
		ok = sonde_diff__push_value(d, sum / (double)runs->at.nr);
	}
	for (i = 0; !is_even && i < runs->at.nr; i++)
		for (k = 0; k < runs->at.at[i].nr && ok; k++)
			ok = sonde_diff__push_value(d, entry_time(from, &runs->at.at[i].at[k]));
	return ok;
}

static bool push_run(struct sonde_diff *d, struct sonde_diff__match *m, size_t region,
	size_t run, unsigned which)
{
	const struct sonde_node *n = sonde_diff__node(m, region, run);
	const struct sonde_report *report = sonde_diff__report(m, region, run);
	uint32_t *count = sonde_vec_push(&d->values_of_run);
	size_t before = d->values.nr;
	const struct source from = {m->trees[run]->cells->entries.at, m->walls[run], (enum sonde_entry_time)which};
	struct sonde_entry_runs runs;
	double sum;
	bool ok;

	if (!count || !n)
		return count;
	if (!sonde_entry_runs_find(&runs, m->trees[run], report, n))
		return false;
	sum = which == SONDE_DIFF_ITERATION ? NAN : node_time(n, from.which);
	if (which == SONDE_DIFF_ITERATION)
		ok = sonde_diff__push_iterations(d, &runs, &m->arena);
	else
		ok = (which == SONDE_ENTRY_WALL && isnan(sum)) || push_entries(d, &runs, &from);
	if (!runs.nr_entries && sum > 0)
		ok = sonde_diff__push_value(d, sum / count_entries(report, n));
	sonde_entry_runs_release(&runs);
	*count = (uint32_t)(d->values.nr - before);
	return ok;
}

static double sum_values(const struct sonde_diff *d, uint32_t first, uint32_t nr)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < nr; i++)
		sum += d->values.at[first + i];
	return sum;
}

static bool find_median(const struct sonde_diff *d, double *median, uint32_t first, uint32_t nr)
{
	double *sorted = sonde_malloc((nr + 1) * sizeof(*sorted));

	if (!sorted)
		return false;
	if (nr)
		memcpy(sorted, d->values.at + first, nr * sizeof(*sorted));
	*median = sonde_median(sorted, nr);
	sonde_free(sorted);
	return true;
}

/* Fills in the counts and sums of a region on one side that do not depend on which time is compared. */
static void fill_half(struct sonde_diff *d, const struct sonde_diff__match *m, size_t region, bool is_new)
{
	struct sonde_diff_region *r = &d->regions.at[region];
	size_t run = is_new ? m->nr_base : 0, end = is_new ? m->nr_runs : m->nr_base;
	struct sonde_diff_half h = {.total_ns = NAN, .median_ns = NAN};

	for (; run < end; run++) {
		const struct sonde_node *n = sonde_diff__node(m, region, run);

		if (!n)
			continue;
		h.nr_runs++;
		h.entries += (double)n->instances;
		h.launches += (double)n->launches;
		h.scopes += n->nr_scopes ? n->nr_scopes : 1;
		h.busy_ns += n->times.busy_ns;
		h.idle_ns += n->times.idle_ns;
	}
	h.is_there = h.nr_runs;
	if (h.nr_runs) {
		h.entries /= h.nr_runs;
		h.launches /= h.nr_runs;
		h.scopes /= h.nr_runs;
		h.busy_ns /= h.nr_runs;
		h.idle_ns /= h.nr_runs;
	}
	*(is_new ? &r->new_half : &r->base) = h;
}

/* Collects the values of one time of a region on one side. */
static bool sample_side(struct sonde_diff *d, struct sonde_diff__match *m, size_t region, bool is_new,
	unsigned which)
{
	struct sonde_diff_time *t = &d->regions.at[region].times[which];
	size_t run = is_new ? m->nr_base : 0, end = is_new ? m->nr_runs : m->nr_base, nr = 0;
	double total = 0, entries = 0;

	t->first_value[is_new] = (uint32_t)d->values.nr;
	for (; run < end; run++) {
		const struct sonde_node *n = sonde_diff__node(m, region, run);

		if (!push_run(d, m, region, run, which))
			return false;
		total += n && which != SONDE_DIFF_ITERATION ? node_time(n, (enum sonde_entry_time)which) : 0;
		entries += n ? (double)n->instances : 0;
		nr += n != NULL;
	}
	t->nr_values[is_new] = (uint32_t)(d->values.nr - t->first_value[is_new]);
	/* The sum of what each entry adds to the run, which is not the wall time that the regions have. */
	if ((which == SONDE_ENTRY_WALL || which == SONDE_DIFF_ITERATION) && t->nr_values[is_new])
		total = sum_values(d, t->first_value[is_new], t->nr_values[is_new]) / t->nr_values[is_new] * entries;
	*(is_new ? &t->new_total_ns : &t->base_total_ns) = nr ? total / (double)nr : NAN;
	return find_median(d, is_new ? &t->new_ns : &t->base_ns, t->first_value[is_new], t->nr_values[is_new]);
}

static bool sample_time(struct sonde_diff *d, struct sonde_diff__match *m, size_t region, unsigned which)
{
	struct sonde_diff_time *t = &d->regions.at[region].times[which];

	t->first_count = (uint32_t)d->values_of_run.nr;
	return sample_side(d, m, region, false, which) && sample_side(d, m, region, true, which);
}

/* Whether most entries of a side have some of the time; true too if the side does not have the region. */
static bool is_worked(const struct sonde_diff_half *h, double median_ns)
{
	return !h->is_there || median_ns > 1;
}

static bool is_asked(const struct sonde_diff *d, enum sonde_entry_time which)
{
	size_t i;

	for (i = 0; i < d->options.nr_limits; i++)
		if (d->options.limits[i].has_time && d->options.limits[i].time == which)
			return true;
	return false;
}

/*
 * Chooses the time that a region is compared by: wall time if the GPU works for it and both sides know the wall time,
 * else GPU time, else host time.
 */
static void choose_time(struct sonde_diff_region *r)
{
	const struct sonde_diff_time *gpu = &r->times[SONDE_ENTRY_GPU], *t;
	bool is_base_gpu = is_worked(&r->base, gpu->base_ns), is_new_gpu = is_worked(&r->new_half, gpu->new_ns),
	     is_any = (r->base.is_there && is_base_gpu) || (r->new_half.is_there && is_new_gpu);

	r->time = r->times[SONDE_ENTRY_WALL].is_known && is_any ? SONDE_ENTRY_WALL
		  : gpu->is_known				? SONDE_ENTRY_GPU
								: SONDE_ENTRY_HOST;
	r->is_half_gpu = r->time == SONDE_ENTRY_HOST && r->base.is_there && r->new_half.is_there && is_base_gpu != is_new_gpu;
	t = &r->times[r->time];
	r->base.first_value = t->first_value[0];
	r->base.nr_values = t->nr_values[0];
	r->base.median_ns = t->base_ns;
	r->base.total_ns = t->base_total_ns;
	r->new_half.first_value = t->first_value[1];
	r->new_half.nr_values = t->nr_values[1];
	r->new_half.median_ns = t->new_ns;
	r->new_half.total_ns = t->new_total_ns;
}

static bool sample_region(struct sonde_diff *d, struct sonde_diff__match *m, size_t region)
{
	static const enum sonde_entry_time order[] = {SONDE_ENTRY_WALL, SONDE_ENTRY_GPU, SONDE_ENTRY_HOST};
	struct sonde_diff_region *r = &d->regions.at[region];
	bool has_other = false;
	size_t i;

	fill_half(d, m, region, false);
	fill_half(d, m, region, true);
	for (i = 0; i < SONDE_NR_DIFF_TIMES; i++)
		r->times[i] = (struct sonde_diff_time){.base_ns = NAN, .new_ns = NAN, .base_total_ns = NAN, .new_total_ns = NAN};
	for (i = 0; i < sizeof(order) / sizeof(*order); i++) {
		struct sonde_diff_time *t = &r->times[order[i]];
		size_t nr_values = d->values.nr, nr_runs = d->values_of_run.nr;

		if (order[i] == SONDE_ENTRY_HOST && has_other && !is_asked(d, SONDE_ENTRY_HOST))
			continue;
		if (!sample_time(d, m, region, order[i]))
			return false;
		t->is_known = order[i] == SONDE_ENTRY_HOST || (is_worked(&r->base, t->base_ns) && is_worked(&r->new_half, t->new_ns));
		has_other |= t->is_known && order[i] == SONDE_ENTRY_GPU;
		if (t->is_known)
			continue;
		d->values.nr = nr_values;
		d->values_of_run.nr = nr_runs;
	}
	choose_time(r);
	return true;
}

/* Iterations need the time until all work of an entry has ended: without wall times, only a host's entries have them. */
bool sonde_diff__sample_iterations(struct sonde_diff *d, struct sonde_diff__match *m)
{
	size_t i;

	for (i = 0; i < d->regions.nr; i++) {
		struct sonde_diff_region *r = &d->regions.at[i];
		struct sonde_diff_time *t = &r->times[SONDE_DIFF_ITERATION];

		if (!r->is_step || !sonde_diff__is_on_both(r) || r->time == SONDE_ENTRY_GPU)
			continue;
		if (!sample_time(d, m, i, SONDE_DIFF_ITERATION))
			return false;
		t->is_known = t->nr_values[0] && t->nr_values[1];
	}
	return true;
}

int sonde_diff__sample(
	struct sonde_diff *d, struct sonde_diff__match *m, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < d->regions.nr; i++)
		if (!sample_region(d, m, i))
			return sonde_err_nomem(err);
	return d->values.nr < SONDE_NONE
		       ? 0
		       : sonde_err_set(err, SONDE_ERR_LIMIT, "diff: more than 4 billion entries: compare fewer runs at a time");
}
