/* The values of a region in each run: the times of its entries, and sums. */
#include "compare/diff_int.h"

#include "base/alloc.h"
#include "base/quantile.h"
#include "tree/entries.h"

#include <math.h>

/* How often a region was entered. One without entries of its own (graphs, backward) has those of the region around it. */
static double count_entries(const struct sonde_report *r, const struct sonde_node *n)
{
	while (!n->instances && n->parent != SONDE_NONE)
		n = &r->nodes.at[n->parent];
	return n->instances ? (double)n->instances : 1;
}

bool sonde_diff__push_value(struct sonde_diff *d, double v)
{
	return sonde_vec_put(&d->values, fmax(v, 1)); /* a nanosecond: ratios need something */
}

/* Leaves out scopes that never did any of it; says whether all others have as many entries. */
static bool drop_idle(struct sonde_entry_runs *runs, enum sonde_entry_time which)
{
	size_t i, k, kept = 0;
	bool is_even = true;

	for (i = 0; i < runs->at.nr; i++) {
		const struct sonde_entry_run *run = &runs->at.at[i];

		for (k = 0; k < run->nr && !sonde_entry_ns(&run->at[k], which); k++)
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
 * Ranks enter regions together, so their times are no independent values: the n-th entry is the
 * mean of all ranks' n-th. Where they do not, one rank's entries follow the other's.
 */
static bool push_entries(
	struct sonde_diff *d, struct sonde_entry_runs *runs, enum sonde_entry_time which)
{
	bool is_even = drop_idle(runs, which), ok = true;
	size_t i, k;

	for (k = 0; is_even && runs->at.nr && k < runs->at.at[0].nr && ok; k++) {
		double sum = 0;

		for (i = 0; i < runs->at.nr; i++)
			sum += (double)sonde_entry_ns(&runs->at.at[i].at[k], which);
		ok = sonde_diff__push_value(d, sum / (double)runs->at.nr);
	}
	for (i = 0; !is_even && i < runs->at.nr; i++)
		for (k = 0; k < runs->at.at[i].nr && ok; k++)
			ok = sonde_diff__push_value(d, (double)sonde_entry_ns(&runs->at.at[i].at[k], which));
	return ok;
}

static bool push_run(struct sonde_diff *d, const struct sonde_diff__match *m, size_t region,
	size_t run, enum sonde_entry_time which)
{
	const struct sonde_node *n = sonde_diff__node(m, region, run);
	const struct sonde_report *report = sonde_diff__report(m, region, run);
	uint32_t *count = sonde_vec_push(&d->values_of_run);
	size_t before = d->values.nr;
	struct sonde_entry_runs runs;
	double sum;
	bool ok;

	if (!count || !n)
		return count;
	if (!sonde_entry_runs_find(&runs, m->trees[run], report, n))
		return false;
	ok = push_entries(d, &runs, which);
	sum = which == SONDE_ENTRY_GPU ? n->time_ns : n->times.host_ns;
	if (!runs.nr_entries && sum > 0)
		ok = sonde_diff__push_value(d, sum / count_entries(report, n));
	sonde_entry_runs_release(&runs);
	*count = (uint32_t)(d->values.nr - before);
	return ok;
}

static bool find_median(const struct sonde_diff *d, struct sonde_diff_half *h)
{
	double *sorted = sonde_malloc((h->nr_values + 1) * sizeof(*sorted));
	size_t i;

	if (!sorted)
		return false;
	for (i = 0; i < h->nr_values; i++)
		sorted[i] = d->values.at[h->first_value + i];
	h->median_ns = sonde_median(sorted, h->nr_values);
	sonde_free(sorted);
	return true;
}

/* The runs first … end of a region. */
static bool sample_half(struct sonde_diff *d, const struct sonde_diff__match *m, size_t region,
	bool is_new, enum sonde_entry_time which)
{
	struct sonde_diff_region *r = &d->regions.at[region];
	size_t run = is_new ? m->nr_base : 0, end = is_new ? m->nr_runs : m->nr_base;
	struct sonde_diff_half h = {.first_value = (uint32_t)d->values.nr, .total_ns = NAN};
	double total = 0;

	for (; run < end; run++) {
		const struct sonde_node *n = sonde_diff__node(m, region, run);

		if (!push_run(d, m, region, run, which))
			return false;
		if (!n)
			continue;
		h.nr_runs++;
		h.entries += (double)n->instances;
		h.launches += (double)n->launches;
		h.scopes += n->nr_scopes ? n->nr_scopes : 1;
		h.busy_ns += n->times.busy_ns;
		h.idle_ns += n->times.idle_ns;
		total += which == SONDE_ENTRY_GPU ? n->time_ns : n->times.host_ns;
	}
	h.nr_values = (uint32_t)(d->values.nr - h.first_value);
	h.is_there = h.nr_runs;
	if (h.nr_runs) {
		h.entries /= h.nr_runs;
		h.launches /= h.nr_runs;
		h.scopes /= h.nr_runs;
		h.busy_ns /= h.nr_runs;
		h.idle_ns /= h.nr_runs;
		h.total_ns = total / h.nr_runs;
	}
	*(is_new ? &r->new_half : &r->base) = h;
	return find_median(d, is_new ? &r->new_half : &r->base);
}

/* Most entries did something on the GPU, or the region is not there at all. */
static bool is_worked(const struct sonde_diff_half *h)
{
	return !h->is_there || h->median_ns > 1;
}

static bool sample_region(struct sonde_diff *d, const struct sonde_diff__match *m, size_t region)
{
	struct sonde_diff_region *r = &d->regions.at[region];
	size_t nr_values = d->values.nr, nr_runs = d->values_of_run.nr;

	if (!sample_half(d, m, region, false, SONDE_ENTRY_GPU) ||
		!sample_half(d, m, region, true, SONDE_ENTRY_GPU))
		return false;
	r->is_gpu = is_worked(&r->base) && is_worked(&r->new_half);
	if (r->is_gpu)
		return true;
	r->is_half_gpu = r->base.is_there && r->new_half.is_there &&
			 is_worked(&r->base) != is_worked(&r->new_half);
	d->values.nr = nr_values;
	d->values_of_run.nr = nr_runs;
	return sample_half(d, m, region, false, SONDE_ENTRY_HOST) &&
	       sample_half(d, m, region, true, SONDE_ENTRY_HOST);
}

int sonde_diff__sample(
	struct sonde_diff *d, const struct sonde_diff__match *m, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < d->regions.nr; i++)
		if (!sample_region(d, m, i))
			return sonde_err_nomem(err);
	return d->values.nr < SONDE_NONE
		       ? 0
		       : sonde_err_set(err, SONDE_ERR_LIMIT, "diff: more than 4 billion entries: compare fewer runs at a time");
}
