/* Entries are gathered and described only for regions that somebody asks for: a report that shows none pays nothing. */
#include "tree/entries.h"

#include "base/alloc.h"
#include "base/quantile.h"
#include "tree/tree_int.h"

#include <math.h>

static const struct sonde_distribution no_distribution = {
	0, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

static bool add_run(
	struct sonde_entry_runs *out, const struct sonde_cells *c, uint32_t scope, uint32_t region)
{
	const struct sonde_visit *v = sonde_cells_visit(c, scope, region);
	struct sonde_entry_run *run;
	uint32_t i;

	if (!v || !v->nr_entries)
		return true;
	run = sonde_vec_push(&out->at);
	if (!run)
		return false;
	for (i = 0; i < v->nr_entries && !out->has_gpu; i++)
		out->has_gpu = c->entries.at[v->first_entry + i].gpu_ns > 0;
	*run = (struct sonde_entry_run){
		scope, &c->entries.at[v->first_entry], v->nr_entries, v->entry_step};
	out->nr_entries += run->nr;
	/* If entries were sampled: the number of entries that no scope before this one has counted. */
	out->nr_entered += run->step > 1 && v->first_instances > run->nr ? v->first_instances : run->nr;
	out->step = run->step > out->step ? run->step : out->step;
	return true;
}

bool sonde_entry_runs_find(struct sonde_entry_runs *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_node *n)
{
	const struct sonde_cells *c = t->cells;
	uint32_t i;
	bool ok = true;

	*out = (struct sonde_entry_runs){0};
	if (!r->is_aggregate)
		ok = add_run(out, c, r->scope, n->region);
	for (i = 0; r->is_aggregate && i < c->scopes.nr && ok; i++)
		if (c->scopes.at[i].measured == r->measured)
			ok = add_run(out, c, i, n->region);
	if (!ok)
		sonde_entry_runs_release(out);
	return ok;
}

void sonde_entry_runs_release(struct sonde_entry_runs *runs)
{
	sonde_vec_release(&runs->at);
}

uint64_t sonde_entries_first_ns(const struct sonde_tree *t)
{
	const struct sonde_cells *c = t->cells;
	uint64_t first = UINT64_MAX;
	size_t i;

	for (i = 0; i < c->visits.nr; i++) {
		const struct sonde_visit *v = &c->visits.at[i];

		if (v->nr_entries && c->entries.at[v->first_entry].begin_ns < first)
			first = c->entries.at[v->first_entry].begin_ns;
	}
	return first == UINT64_MAX ? 0 : first;
}

uint64_t sonde_tree_first_ns(const struct sonde_tree *t)
{
	const struct sonde_cells *c = t->cells;
	uint64_t first = sonde_entries_first_ns(t);
	size_t i;

	for (i = 0; i < c->gaps.nr; i++) {
		uint64_t launch = c->gaps.at[i].begin_ns - c->gaps.at[i].since_ns; /* the first one of the scope */

		first = !first || launch < first ? launch : first;
	}
	return first;
}

uint64_t sonde_entry_ns(const struct sonde_entry *e, enum sonde_entry_time which)
{
	const uint64_t times[] = {e->host_ns, e->gpu_ns, e->span_ns, e->wall_ns};

	return times[which];
}

double sonde_entry_wall_ms(const struct sonde_entry *e)
{
	return e->wall_ns == SONDE_NO_WALL ? NAN : (double)e->wall_ns / 1e6;
}

/* The deviation needs a second pass: a difference of large sums of squares would be mostly rounding error. */
static void fill_distribution(struct sonde_distribution *out, double *at, size_t nr)
{
	double sum = 0, squares = 0;
	size_t i;

	sonde_sort_numbers(at, nr);
	for (i = 0; i < nr; i++)
		sum += at[i];
	out->mean_ns = sum / (double)nr;
	for (i = 0; i < nr; i++)
		squares += (at[i] - out->mean_ns) * (at[i] - out->mean_ns);
	out->sd_ns = nr > 1 ? sqrt(squares / (double)(nr - 1)) : NAN;
	out->min_ns = at[0];
	out->median_ns = sonde_quantile(at, nr, 0.5);
	out->p95_ns = sonde_quantile(at, nr, 0.95);
	out->p99_ns = sonde_quantile(at, nr, 0.99);
	out->max_ns = at[nr - 1];
}

/* An entry without a selected launch has no GPU time, which is not a GPU time of 0. */
static bool has_time(const struct sonde_entry *e, enum sonde_entry_time which)
{
	if (which == SONDE_ENTRY_WALL)
		return e->wall_ns != SONDE_NO_WALL;
	return which == SONDE_ENTRY_HOST || sonde_entry_ns(e, which) > 0;
}

bool sonde_distribution_build(struct sonde_distribution *out, const struct sonde_entry_runs *runs,
	enum sonde_entry_time which)
{
	double *all = sonde_malloc((runs->nr_entries + 1) * sizeof(*all));
	size_t i, k, nr = 0;

	*out = no_distribution;
	if (!all)
		return false;
	for (i = 0; i < runs->at.nr; i++) {
		const struct sonde_entry_run *run = &runs->at.at[i];

		for (k = 0; k < run->nr; k += runs->step / run->step)
			if (has_time(&run->at[k], which))
				all[nr++] = (double)sonde_entry_ns(&run->at[k], which);
	}
	out->nr = nr;
	if (nr)
		fill_distribution(out, all, nr);
	sonde_free(all);
	return true;
}

/* If no work ends after its entry, wall times are the same as host times and need not be sorted again. */
static bool are_walls_host_times(const struct sonde_entry_runs *runs)
{
	size_t i, k;

	for (i = 0; i < runs->at.nr; i++)
		for (k = 0; k < runs->at.at[i].nr; k++)
			if (runs->at.at[i].at[k].wall_ns != runs->at.at[i].at[k].host_ns)
				return false;
	return true;
}

bool sonde_entry_summary_build(struct sonde_entry_summary *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_node *n)
{
	bool ok = sonde_entry_runs_find(&out->runs, t, r, n);
	size_t i;

	for (i = 0; i < SONDE_NR_ENTRY_TIMES; i++) {
		out->of[i] = no_distribution;
		if (ok && i == SONDE_ENTRY_WALL && are_walls_host_times(&out->runs))
			out->of[i] = out->of[SONDE_ENTRY_HOST];
		else if (ok && (i == SONDE_ENTRY_HOST || i == SONDE_ENTRY_WALL || out->runs.has_gpu))
			ok = sonde_distribution_build(
				&out->of[i], &out->runs, (enum sonde_entry_time)i);
	}
	return ok;
}

void sonde_entry_summary_release(struct sonde_entry_summary *s)
{
	sonde_entry_runs_release(&s->runs);
}

enum sonde_entry_time sonde_entry_summary_judge(const struct sonde_entry_summary *s)
{
	return s->runs.has_gpu ? SONDE_ENTRY_GPU : SONDE_ENTRY_HOST;
}
