/* Finds the step, and the regions that are too small to decide a gate. */
#include "compare/diff_int.h"

#include <math.h>

#define MINOR_SHARE 0.01 /* share of the time of the step; without a step, of the largest region */
#define REPEATED    1.5	 /* from this many entries per run, a region is repeated */
#define MOST_TIME   0.5	 /* a region with this share of the time of the region around it has most of it */
#define STACKED	    4	 /* a push/pop range is rather the step than a start/end range with up to this many times its time */

/* Whether each rank or process enters the region at least this often per run, on all sides that have it. */
static bool is_entered(const struct sonde_diff_region *r, double least)
{
	return (!r->base.is_there || r->base.entries / r->base.scopes >= least) &&
	       (!r->new_half.is_there || r->new_half.entries / r->new_half.scopes >= least);
}

static double usual_time(const struct sonde_diff_half *h)
{
	return h->is_there && h->median_ns > 0 ? h->median_ns * fmax(h->entries, 1) : 0;
}

/*
 * The time of a run if every entry took the median time. So a warm-up whose first entry compiles does not become the
 * step.
 */
static double total_of(const struct sonde_diff_region *r)
{
	return fmax(usual_time(&r->base), usual_time(&r->new_half));
}

/*
 * Whether `outer`, a region around `r`, is the step rather than `r`: it is repeated, and all entries of `r` may be inside
 * a single entry of it. Two epochs of a hundred steps each are too few to be compared, so then the step is inside.
 */
static bool hides(const struct sonde_diff_region *outer, const struct sonde_diff_region *r)
{
	if (!sonde_diff__is_on_both(outer) || !is_entered(outer, REPEATED))
		return false;
	return is_entered(outer, SONDE_LEAST_ENTRIES) || !is_entered(r, SONDE_LEAST_ENTRIES) ||
	       total_of(r) < MOST_TIME * total_of(outer);
}

static bool is_hidden(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	uint32_t up;

	for (up = r->parent; up != SONDE_NONE; up = d->regions.at[up].parent)
		if (hides(&d->regions.at[up], r))
			return true;
	return false;
}

/*
 * Start/end ranges may overlap, and often they show who waits: a prefetch on another thread, requests in flight. What the
 * program does step by step is in push/pop ranges.
 */
static double weight_of(const struct sonde_diff_region *r)
{
	return total_of(r) / (r->kind == SONDE_REGION_START_END ? STACKED : 1);
}

/*
 * A region with enough entries to decide comes first, because a warm-up is entered only twice. Then the one with more
 * time.
 */
static bool is_rather_step(const struct sonde_diff_region *a, const struct sonde_diff_region *b)
{
	bool has_enough = is_entered(a, SONDE_LEAST_ENTRIES);

	if (!b || has_enough != is_entered(b, SONDE_LEAST_ENTRIES))
		return !b || has_enough;
	return weight_of(a) > weight_of(b);
}

/* Whether a region can be the step: the user chose it, or did not choose one and it is repeated. */
static bool may_be_step(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	if (d->options.step.n)
		return sonde_str_eq(r->path, d->options.step);
	return sonde_diff__is_on_both(r) && is_entered(r, REPEATED) && !is_hidden(d, r);
}

void sonde_diff__find_steps(struct sonde_diff *d)
{
	size_t i, first, end;

	for (first = 0; first < d->regions.nr; first = end) {
		struct sonde_diff_region *step = NULL;
		double most = 0;

		for (end = first; end < d->regions.nr && d->regions.at[end].scope_nr == d->regions.at[first].scope_nr; end++) {
			struct sonde_diff_region *r = &d->regions.at[end];

			most = fmax(most, total_of(r));
			if (may_be_step(d, r) && is_rather_step(r, step))
				step = r;
		}
		if (step) {
			step->is_step = true;
			most = total_of(step);
		}
		for (i = first; i < end; i++) {
			struct sonde_diff_region *r = &d->regions.at[i];

			r->is_minor = !is_entered(r, REPEATED) || (!r->is_step && total_of(r) < MINOR_SHARE * most);
		}
	}
}
