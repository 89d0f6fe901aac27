/*
 * Counters of single entries: how busy the device was while the launches of one entry ran.
 *
 * The count of a sample is divided among the launches that it covers, in proportion to what the fit (unmix)
 * predicts for their classes and lengths. An entry over many samples gets the measured counts: the fit matters
 * only for samples that cover other work too. The figures of entries over few samples would only repeat the fit,
 * so these entries have none.
 */
#include "fold/unmixing_int.h"

#include "base/bisect.h"
#include "base/alloc.h"
#include "catalogue/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SAMPLES 5   /* GPU time of a long entry, in sampling intervals, at least */
#define LEAST_SEEN    0.9 /* share of this time that samples must cover */
#define STAMPS_NS     400 /* error of the timestamps of the first and last work */
#define NR_COLUMNS    (2 * SONDE_NR_LOADS)

const char *const sonde_load_metrics[SONDE_NR_LOADS] = {
	SONDE_COUNTER_SM_ACTIVE SONDE_OF_PEAK,
	SONDE_COUNTER_TENSOR SONDE_OF_PEAK,
	SONDE_COUNTER_DRAM SONDE_OF_PEAK_SUM,
};

/* A long entry while its load is computed. */
struct long_entry {
	uint32_t range;
	double gpu_ns, cycles; /* time of its launches, and cycles of all SMs in this time */
	double seen_ns;	       /* the part of gpu_ns inside samples of the current set */
	size_t sample;	       /* the current sample */
	double part[NR_COLUMNS]; /* counts that the fit predicts for the entry in the current sample */
	double sum[NR_COLUMNS], variance[NR_COLUMNS];
	struct sonde_entry_load load;
};

struct sonde_loads {
	uint32_t *entry_of; /* by range: index in `entries`, SONDE_NONE = not long */
	SONDE_VEC(struct long_entry) entries;
	/* For the current set of counters: */
	uint32_t columns[NR_COLUMNS]; /* its counters, SONDE_NONE = the set does not have it */
	struct sonde_unmix_line *lines; /* [class · NR_COLUMNS + column]: counts of one launch, by the fit */
	double *model;			/* [sample · NR_COLUMNS + column]: counts that the fit predicts for the sample */
};

static const struct sonde_sampled_metric *metric_of(size_t load)
{
	size_t i;

	for (i = 0; strcmp(sonde_sampled_metrics[i].name, sonde_load_metrics[load]) != 0; i++)
		;
	return &sonde_sampled_metrics[i];
}

/* --- long entries ------------------------------------------------------------------------------ */

/* Adds a launch to the entries around it, in all domains. */
static void add_launch_to_entries(const struct sonde_unmixing *x, size_t launch, double *gpu_ns, double *cycles)
{
	const struct sonde_unmix_launch *u = &x->launches.at[launch];
	const uint32_t *members;
	struct sonde_set set = sonde_launches_set(x->f->l, x->opens.at[launch], &members);
	uint32_t i, range;

	for (i = 0; i < set.nr; i++)
		for (range = members[i]; range != SONDE_NONE;
			range = x->f->r->ranges.at[range].parent) {
			gpu_ns[range] += (double)(u->end_ns - u->start_ns);
			cycles[range] += x->cycles.at[launch];
		}
}

static bool find_long(struct sonde_loads *l, const struct sonde_unmixing *x, const double *gpu_ns,
	const double *cycles)
{
	double least = LEAST_SAMPLES * (double)x->first->interval_ns;
	size_t i, k, nr = x->f->r->ranges.nr;

	for (i = 0; i < nr; i++) {
		struct long_entry e = {.range = (uint32_t)i, .gpu_ns = gpu_ns[i], .cycles = cycles[i]};

		l->entry_of[i] = SONDE_NONE;
		if (x->f->visit_of[i] == SONDE_NONE || !(least > 0 && gpu_ns[i] >= least))
			continue;
		l->entry_of[i] = (uint32_t)l->entries.nr;
		for (k = 0; k < SONDE_NR_LOADS; k++)
			e.load.v[k] = e.load.error[k] = NAN;
		if (!sonde_vec_put(&l->entries, e))
			return false;
	}
	return true;
}

void sonde_loads__free(struct sonde_loads *l)
{
	if (!l)
		return;
	sonde_vec_release(&l->entries);
	sonde_free(l->entry_of);
	sonde_free(l);
}

bool sonde_loads__begin(struct sonde_loads **out, const struct sonde_unmixing *x)
{
	size_t nr = x->f->r->ranges.nr, i;
	double *gpu_ns;
	bool ok;

	*out = NULL;
	if (!x->f->visit_of)
		return true;
	gpu_ns = sonde_calloc(2 * nr + 1, sizeof(*gpu_ns));
	*out = sonde_calloc(1, sizeof(**out));
	ok = gpu_ns && *out;
	if (ok)
		(*out)->entry_of = sonde_malloc((nr + 1) * sizeof(*(*out)->entry_of));
	ok = ok && (*out)->entry_of;
	for (i = 0; ok && i < x->launches.nr; i++)
		add_launch_to_entries(x, i, gpu_ns, gpu_ns + nr);
	ok = ok && find_long(*out, x, gpu_ns, gpu_ns + nr);
	sonde_free(gpu_ns);
	return ok;
}

/* --- the counts of long entries --------------------------------------------------------------- */

static void choose_columns(struct sonde_loads *l, const struct sonde_sampled_set *set)
{
	size_t i, k;

	for (i = 0; i < NR_COLUMNS; i++) {
		const char *role = metric_of(i / 2)->roles[i % 2];

		l->columns[i] = SONDE_NONE;
		for (k = 0; role && k < set->roles.nr; k++)
			if (sonde_str_is(set->roles.at[k], role) &&
				!sonde_unmixed_counter(set->unmixed, (uint32_t)k)->refused)
				l->columns[i] = (uint32_t)k;
	}
}

static void find_lines(struct sonde_loads *l, const struct sonde_sampled_set *set, size_t nr_classes)
{
	size_t i, k;

	for (i = 0; i < nr_classes; i++)
		for (k = 0; k < NR_COLUMNS; k++)
			if (l->columns[k] != SONDE_NONE)
				l->lines[i * NR_COLUMNS + k] =
					sonde_unmixed_line(set->unmixed, (uint32_t)i, l->columns[k]);
}

/* The counts of a launch per nanosecond that the fit predicts. */
static void find_rates(double *rates, const struct sonde_loads *l, const struct sonde_unmix_launch *launch)
{
	const struct sonde_unmix_line *lines = &l->lines[launch->class * (size_t)NR_COLUMNS];
	double length = (double)(launch->end_ns - launch->start_ns);
	size_t k;

	for (k = 0; k < NR_COLUMNS; k++)
		rates[k] = fmax(0, lines[k].fixed / length + lines[k].per_ns);
}

/* A launch on the clock of the samples, and the first sample that ends after its start. */
struct walk {
	int64_t start_ns, end_ns;
	size_t sample;
};

static struct walk walk_from(const struct sonde_unmixing *x, size_t launch)
{
	const struct sonde_unmix_launch *u = &x->launches.at[launch];
	int64_t offset = sonde_unmixing__offset(x);
	struct walk w = {u->start_ns + offset, u->end_ns + offset, 0};

	sonde_bisect(w.sample, x->ends.nr, mid, x->ends.at[mid] <= w.start_ns);
	return w;
}

/* The time of the launch that is inside the current sample, in ns; 0 = the launch ends before the sample. */
static double overlap_ns(const struct sonde_unmixing *x, const struct walk *w)
{
	int64_t from, to;

	if (w->sample >= x->starts.nr || x->starts.at[w->sample] >= w->end_ns)
		return 0;
	from = x->starts.at[w->sample] > w->start_ns ? x->starts.at[w->sample] : w->start_ns;
	to = x->ends.at[w->sample] < w->end_ns ? x->ends.at[w->sample] : w->end_ns;
	return (double)(to - from);
}

static void add_model(struct sonde_loads *l, const struct sonde_unmixing *x, size_t launch)
{
	struct walk w = walk_from(x, launch);
	double ns, rates[NR_COLUMNS];
	size_t k;

	find_rates(rates, l, &x->launches.at[launch]);
	for (; (ns = overlap_ns(x, &w)) > 0; w.sample++)
		for (k = 0; k < NR_COLUMNS; k++)
			l->model[w.sample * NR_COLUMNS + k] += rates[k] * ns;
}

/* Adds the entry's share of the counts of its current sample. The error depends on how much of the sample belongs to
 * other work. */
static void set_load_of(struct sonde_loads *l, const struct sonde_unmixing *x, struct long_entry *e,
	const struct sonde_sampled_set *set)
{
	size_t k;

	for (k = 0; k < NR_COLUMNS; k++) {
		double model = l->model[e->sample * NR_COLUMNS + k], share, counted, doubt;

		if (l->columns[k] == SONDE_NONE || !(model > 0) || !(e->part[k] > 0))
			continue;
		share = fmin(1, e->part[k] / model);
		counted = x->values.at[e->sample * x->columns.nr + l->columns[k]];
		doubt = counted * share * (1 - share) *
			fmin(1, sonde_unmixed_counter(set->unmixed, l->columns[k])->deviation);
		e->sum[k] += counted * share;
		e->variance[k] += doubt * doubt;
		e->part[k] = 0;
	}
}

static void add_part(struct sonde_loads *l, const struct sonde_unmixing *x, size_t launch,
	struct long_entry *e, const struct sonde_sampled_set *set)
{
	struct walk w = walk_from(x, launch);
	double ns, rates[NR_COLUMNS];
	size_t k;

	find_rates(rates, l, &x->launches.at[launch]);
	for (; (ns = overlap_ns(x, &w)) > 0; w.sample++) {
		if (e->sample != w.sample)
			set_load_of(l, x, e, set);
		e->sample = w.sample;
		e->seen_ns += ns;
		for (k = 0; k < NR_COLUMNS; k++)
			e->part[k] += rates[k] * ns;
	}
}

static void add_parts(struct sonde_loads *l, const struct sonde_unmixing *x, size_t launch,
	const struct sonde_sampled_set *set)
{
	const uint32_t *members;
	struct sonde_set open = sonde_launches_set(x->f->l, x->opens.at[launch], &members);
	uint32_t i, range;

	for (i = 0; i < open.nr; i++)
		for (range = members[i]; range != SONDE_NONE;
			range = x->f->r->ranges.at[range].parent)
			if (l->entry_of[range] != SONDE_NONE)
				add_part(l, x, launch, &l->entries.at[l->entry_of[range]], set);
}

/*
 * Turns counts into percentages, for all metrics whose counters the set has. Time that no sample covers is
 * assumed to be like the rest, with an error of half of it.
 */
static void make_load(const struct sonde_loads *l, const struct sonde_unmixing *x,
	struct long_entry *e)
{
	double scale = e->gpu_ns / e->seen_ns;
	size_t i, k;

	if (!(e->seen_ns >= LEAST_SEEN * e->gpu_ns))
		return;
	for (i = 0; i < SONDE_NR_LOADS; i++) {
		const struct sonde_sampled_metric *m = metric_of(i);
		double sum = 0, variance = 0, below, edge;
		bool is_there = true;

		for (k = 0; k < 2 && m->roles[k]; k++) {
			is_there &= l->columns[2 * i + k] != SONDE_NONE;
			sum += e->sum[2 * i + k];
			variance += e->variance[2 * i + k];
		}
		below = m->over == SONDE_OVER_DRAM ? m->most * x->s->bytes_per_ns * e->gpu_ns
						   : m->most * e->cycles;
		if (!is_there || !(below > 0))
			continue;
		edge = sum * (STAMPS_NS + (e->gpu_ns - e->seen_ns) / 2) / e->gpu_ns;
		e->load.v[i] = (float)(100 * scale * sum / below);
		e->load.error[i] = (float)(100 * scale * sqrt(variance + edge * edge) / below);
	}
}

bool sonde_loads__add(struct sonde_loads *l, const struct sonde_unmixing *x,
	const struct sonde_sampled_set *set)
{
	bool ok;
	size_t i;

	if (!l || !l->entries.nr)
		return true;
	l->lines = sonde_calloc(x->classes.nr * NR_COLUMNS + 1, sizeof(*l->lines));
	l->model = sonde_calloc(x->starts.nr * NR_COLUMNS + 1, sizeof(*l->model));
	ok = l->lines && l->model;
	choose_columns(l, set);
	if (ok)
		find_lines(l, set, x->classes.nr);
	for (i = 0; ok && i < x->launches.nr; i++)
		add_model(l, x, i);
	for (i = 0; ok && i < x->launches.nr; i++)
		add_parts(l, x, i, set);
	for (i = 0; ok && i < l->entries.nr; i++) {
		struct long_entry *e = &l->entries.at[i];

		set_load_of(l, x, e, set);
		make_load(l, x, e);
		e->seen_ns = 0;
		memset(e->sum, 0, sizeof(e->sum));
		memset(e->variance, 0, sizeof(e->variance));
	}
	sonde_free(l->lines);
	sonde_free(l->model);
	l->lines = NULL;
	l->model = NULL;
	return ok;
}

/* --- adding loads to the cells ---------------------------------------------------------------- */

/* The number of a range among the kept entries of the cells, SONDE_NONE = it was not kept. */
static uint32_t find_entry(const struct sonde_unmixing *x, uint32_t range)
{
	const struct sonde_range_time *t = &x->f->r->ranges.at[range].time;
	const struct sonde_cells *c = x->f->c;
	const struct sonde_visit *v = &c->visits.at[x->f->visit_of[range]];
	uint32_t low = v->first_entry, end = low + v->nr_entries;

	sonde_bisect(low, end, mid, c->entries.at[mid].begin_ns < t->begin_ns);
	for (; low < end && c->entries.at[low].begin_ns == t->begin_ns; low++)
		if (c->entries.at[low].host_ns == t->end_ns - t->begin_ns)
			return low;
	return SONDE_NONE;
}

bool sonde_loads__end(struct sonde_loads *l, struct sonde_unmixing *x)
{
	size_t i, k;

	for (i = 0; l && i < l->entries.nr; i++) {
		struct long_entry *e = &l->entries.at[i];

		e->load.entry = find_entry(x, e->range);
		for (k = 0; k < SONDE_NR_LOADS && isnan(e->load.v[k]); k++)
			;
		if (k < SONDE_NR_LOADS && e->load.entry != SONDE_NONE &&
			!sonde_vec_put(&x->f->c->loads, e->load))
			return false;
	}
	return true;
}

static int by_entry(const void *a, const void *b)
{
	const struct sonde_entry_load *x = a, *y = b;

	return sonde_cmp(x->entry, y->entry);
}

/* Sorts the loads, and removes those of entries with work on two devices: a load describes a single device. */
void sonde_loads__sort(struct sonde_cells *c)
{
	size_t i, k, nr = 0;

	sonde_vec_sort(&c->loads, by_entry);
	for (i = 0; i < c->loads.nr; i = k) {
		for (k = i + 1; k < c->loads.nr && c->loads.at[k].entry == c->loads.at[i].entry; k++)
			;
		if (k == i + 1)
			c->loads.at[nr++] = c->loads.at[i];
	}
	c->loads.nr = nr;
}

const struct sonde_entry_load *sonde_cells_load(
	const struct sonde_cells *c, const struct sonde_entry *e)
{
	struct sonde_entry_load key = {.entry = (uint32_t)(e - c->entries.at)};

	return c->loads.nr ? bsearch(&key, c->loads.at, c->loads.nr, sizeof(key), by_entry) : NULL;
}
