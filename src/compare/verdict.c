/*
 * Verdicts: statistics of every region, side by side on several cores where there are
 * many. Each region's seed is a hash of its id, so neither order nor cores matter.
 */
#include "compare/diff_int.h"

#include "base/alloc.h"
#include "base/workers.h"

#include <math.h>

#define MOST_WORKERS	8
#define VALUES_FOR_CREW 20000 /* less is done before a thread has started */
#define FALSE_DISCOVERY 0.05

struct worker {
	struct sonde_diff *d;
	size_t first, step; /* its regions */
	bool failed;
};

/* How many values each run that has some gave. */
static struct sonde_side side_of(const struct sonde_diff *d, const struct sonde_diff_half *h,
	const uint32_t *counts, size_t nr_runs, size_t *runs)
{
	struct sonde_side s = {d->values.at + h->first_value, h->nr_values, runs, 0};
	size_t i;

	for (i = 0; i < nr_runs; i++)
		if (counts[i])
			runs[s.nr_runs++] = counts[i];
	/* One value per run: runs are the values, with nothing within them. */
	if (s.nr_runs < 2 || s.nr_runs == s.nr)
		s.runs = NULL;
	return s;
}

/* However far apart: five values against five fall apart by chance in one of 126 cases. */
static bool has_enough(const struct sonde_diff_region *r)
{
	return r->base.nr_values >= SONDE_LEAST_ENTRIES && r->new_half.nr_values >= SONDE_LEAST_ENTRIES;
}

static bool compare_region(const struct worker *w, struct sonde_diff_region *r, size_t *runs)
{
	struct sonde_diff *d = w->d;
	size_t nr_runs = (size_t)d->nr_base_runs + d->nr_new_runs;
	const uint32_t *counts = d->values_of_run.at + (size_t)(r - d->regions.at) * nr_runs;
	struct sonde_side base = side_of(d, &r->base, counts, d->nr_base_runs, runs);
	struct sonde_side new_side = side_of(
		d, &r->new_half, counts + d->nr_base_runs, d->nr_new_runs, runs + d->nr_base_runs);
	struct sonde_change c;

	r->p = r->q = r->ratio = r->needed = NAN;
	r->low = 0;
	r->high = INFINITY;
	if (!base.nr || !new_side.nr)
		return true;
	if (!sonde_stats_compare(&c, &base, &new_side, sonde_hash(r->id.p, r->id.n)))
		return false;
	r->ratio = c.ratio;
	if (!has_enough(r))
		return true;
	r->low = c.low;
	r->high = c.high;
	r->lasting = c.lasting;
	r->p = c.p;
	return true;
}

static void work(void *arg)
{
	struct worker *w = arg;
	struct sonde_diff *d = w->d;
	size_t nr_runs = (size_t)d->nr_base_runs + d->nr_new_runs, i;
	size_t *runs = sonde_calloc(nr_runs + 1, sizeof(*runs));

	w->failed = !runs;
	for (i = w->first; i < d->regions.nr && !w->failed; i += w->step)
		w->failed = !compare_region(w, &d->regions.at[i], runs);
	sonde_free(runs);
}

static bool compare_all(struct sonde_diff *d)
{
	struct worker workers[MOST_WORKERS];
	size_t nr = d->values.nr < VALUES_FOR_CREW ? 1 : sonde_workers_count(MOST_WORKERS), i;
	bool ok = true;

	for (i = 0; i < nr; i++)
		workers[i] = (struct worker){.d = d, .first = i, .step = nr};
	sonde_workers_run(workers, nr, sizeof(*workers), work);
	for (i = 0; i < nr; i++)
		ok = ok && !workers[i].failed;
	return ok;
}

/* How many times the entries bring q below the bar: the test's z grows with their root. */
static double by_test(const struct sonde_diff_region *r)
{
	double z, want;

	if (!(r->q >= FALSE_DISCOVERY) || r->p >= 1)
		return 0;
	z = sonde_stats_student_limit(fmax(r->p, 1e-12), 1e9);
	want = sonde_stats_student_limit(fmax(r->p * FALSE_DISCOVERY / r->q, 1e-12), 1e9);
	return z > 0 ? want * want / (z * z) : 0;
}

/*
 * Intervals shrink with the root of the number of entries, or of runs, but for what lasts. One has to become
 * as narrow as the change is large, or to fit within ± min_effect around none.
 */
static double needed_entries(const struct sonde_diff_region *r, double min_effect)
{
	double away = fabs(log(r->ratio)), bar = log1p(min_effect), have, wide, want, lasts = r->lasting * r->lasting;

	have = r->needs_runs ? fmin(r->base.nr_runs, r->new_half.nr_runs)
			     : fmin(r->base.nr_values, r->new_half.nr_values);
	if (!has_enough(r)) /* what is entered once in a run is not entered more often in a longer one */
		return have > 1 ? ceil(SONDE_LEAST_ENTRIES * have / fmin(r->base.nr_values, r->new_half.nr_values)) : NAN;
	if (!(r->low > 0) || isinf(r->high) || !isfinite(away))
		return NAN;
	wide = fmax(log(r->high / r->ratio), log(r->ratio / r->low));
	want = away >= bar ? away : fmax(bar - away, bar / 4);
	if (!(want * want > lasts)) /* runs drift apart: more entries of the same would show more of that */
		return NAN;
	return ceil(have * fmax(1.1, fmax((wide * wide - lasts) / (want * want - lasts), away >= bar ? by_test(r) : 0)));
}

static enum sonde_verdict verdict_of(const struct sonde_diff_region *r, double min_effect)
{
	bool is_single = sonde_diff__is_single(r);
	bool is_sure = !isnan(r->q) && r->q < FALSE_DISCOVERY && fabs(r->ratio - 1) >= min_effect;

	if (!r->base.is_there)
		return SONDE_VERDICT_ADDED;
	if (!r->new_half.is_there)
		return SONDE_VERDICT_REMOVED;
	if (is_sure && r->low > 1)
		return is_single ? SONDE_VERDICT_LIKELY_SLOWER : SONDE_VERDICT_SLOWER;
	if (is_sure && r->high < 1)
		return is_single ? SONDE_VERDICT_LIKELY_FASTER : SONDE_VERDICT_FASTER;
	return r->low >= 1 - min_effect && r->high <= 1 + min_effect ? SONDE_VERDICT_SAME
								     : SONDE_VERDICT_INSUFFICIENT;
}

bool sonde_diff__judge(struct sonde_diff *d)
{
	size_t i;

	if (!compare_all(d) ||
		(d->regions.nr && !sonde_stats_adjust(&d->regions.at->q, &d->regions.at->p,
					  d->regions.nr, sizeof(*d->regions.at))))
		return false;
	for (i = 0; i < d->regions.nr; i++) {
		struct sonde_diff_region *r = &d->regions.at[i];

		r->verdict = verdict_of(r, d->options.min_effect);
		r->needs_runs = r->base.nr_runs > 1 && r->new_half.nr_runs > 1;
		if (r->verdict == SONDE_VERDICT_INSUFFICIENT)
			r->needed = needed_entries(r, d->options.min_effect);
	}
	return true;
}
