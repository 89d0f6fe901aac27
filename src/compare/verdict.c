/*
 * Verdicts: the statistics of every region, on several cores if there are many values. The seed of a region is a hash of
 * its id, so neither the order nor the number of cores changes the result.
 */
#include "compare/diff_int.h"

#include "base/alloc.h"
#include "base/workers.h"

#include <math.h>

#define MOST_WORKERS	8
#define VALUES_FOR_CREW 20000 /* fewer values are done before a thread has started */
#define FALSE_DISCOVERY 0.05

struct worker {
	struct sonde_diff *d;
	size_t first, step; /* it does the regions first, first + step, … */
	bool failed;
};

/* The values of one side. Fills `runs` with the number of values of each run that has some. */
static struct sonde_side side_of(const struct sonde_diff *d, const struct sonde_diff_time *t, bool is_new, size_t *runs)
{
	struct sonde_side s = {d->values.at + t->first_value[is_new], t->nr_values[is_new], runs, 0};
	const uint32_t *counts = d->values_of_run.at + t->first_count + (is_new ? d->nr_base_runs : 0);
	size_t i, nr_runs = is_new ? d->nr_new_runs : d->nr_base_runs;

	for (i = 0; i < nr_runs; i++)
		if (counts[i])
			runs[s.nr_runs++] = counts[i];
	/* With one value per run, the runs themselves are the values. */
	if (s.nr_runs < 2 || s.nr_runs == s.nr)
		s.runs = NULL;
	return s;
}

/* Fewer values are no evidence, however far apart: five are separated from five by chance in 1 of 126 cases. */
static bool has_enough(const struct sonde_diff_time *t)
{
	return t->nr_values[0] >= SONDE_LEAST_ENTRIES && t->nr_values[1] >= SONDE_LEAST_ENTRIES;
}

static bool compare_time(struct sonde_diff *d, struct sonde_diff_time *t, uint64_t seed, size_t *runs)
{
	struct sonde_side base, new_side;
	struct sonde_side_change c;

	t->p = t->q = t->ratio = t->needed = NAN;
	t->low = 0;
	t->high = INFINITY;
	if (!t->is_known || !t->nr_values[0] || !t->nr_values[1])
		return true;
	base = side_of(d, t, false, runs);
	new_side = side_of(d, t, true, runs + d->nr_base_runs);
	if (!sonde_stats_compare(&c, &base, &new_side, seed))
		return false;
	t->ratio = c.ratio;
	if (!has_enough(t))
		return true;
	t->low = c.low;
	t->high = c.high;
	t->lasting = c.lasting;
	t->p = c.p;
	return true;
}

static void compare_regions(void *arg)
{
	struct worker *w = arg;
	struct sonde_diff *d = w->d;
	size_t nr_runs = (size_t)d->nr_base_runs + d->nr_new_runs, i, k;
	size_t *runs = sonde_calloc(nr_runs + 1, sizeof(*runs));

	w->failed = !runs;
	for (i = w->first; i < d->regions.nr; i += w->step)
		for (k = 0; k < SONDE_NR_DIFF_TIMES && !w->failed; k++)
			w->failed = !compare_time(d, &d->regions.at[i].times[k],
				sonde_hash(d->regions.at[i].id.p, d->regions.at[i].id.n), runs);
	sonde_free(runs);
}

static bool compare_all(struct sonde_diff *d)
{
	struct worker workers[MOST_WORKERS];
	size_t nr = d->values.nr < VALUES_FOR_CREW ? 1 : sonde_workers_count(MOST_WORKERS), i;
	bool ok = true;

	for (i = 0; i < nr; i++)
		workers[i] = (struct worker){.d = d, .first = i, .step = nr};
	sonde_workers_run(workers, nr, sizeof(*workers), compare_regions);
	for (i = 0; i < nr; i++)
		ok = ok && !workers[i].failed;
	return ok;
}

/*
 * The factor by which the number of entries must grow to bring q below the limit: the test's z grows with its square
 * root.
 */
static double by_test(const struct sonde_diff_time *t)
{
	double z, want;

	if (!(t->q >= FALSE_DISCOVERY) || t->p >= 1)
		return 0;
	z = sonde_stats_student_limit(fmax(t->p, 1e-12), 1e9);
	want = sonde_stats_student_limit(fmax(t->p * FALSE_DISCOVERY / t->q, 1e-12), 1e9);
	return z > 0 ? want * want / (z * z) : 0;
}

/*
 * How many entries or runs would be enough. Intervals shrink with the square root of their number, except for the part
 * that lasts. The interval must become as narrow as the change is large, or fit within ± min_effect.
 */
static double needed_entries(const struct sonde_diff_region *r, const struct sonde_diff_time *t, double min_effect)
{
	double away = fabs(log(t->ratio)), bar = log1p(min_effect), have, wide, want, lasts = t->lasting * t->lasting;

	have = r->needs_runs ? fmin(r->base.nr_runs, r->new_half.nr_runs) : fmin(t->nr_values[0], t->nr_values[1]);
	if (!has_enough(t)) /* a region that is entered once per run needs more runs, not longer ones */
		return have > 1 ? ceil(SONDE_LEAST_ENTRIES * have / fmin(t->nr_values[0], t->nr_values[1])) : NAN;
	if (!(t->low > 0) || isinf(t->high) || !isfinite(away))
		return NAN;
	wide = fmax(log(t->high / t->ratio), log(t->ratio / t->low));
	want = away >= bar ? away : fmax(bar - away, bar / 4);
	if (!(want * want > lasts)) /* runs drift apart: more entries of the same runs would only show more of that */
		return NAN;
	return ceil(have * fmax(1.1, fmax((wide * wide - lasts) / (want * want - lasts), away >= bar ? by_test(t) : 0)));
}

static enum sonde_verdict verdict_of(const struct sonde_diff_region *r, const struct sonde_diff_time *t, double min_effect)
{
	bool is_single = sonde_diff__is_single(r);
	bool is_sure = !isnan(t->q) && t->q < FALSE_DISCOVERY && fabs(t->ratio - 1) >= min_effect;

	if (!r->base.is_there)
		return SONDE_VERDICT_ADDED;
	if (!r->new_half.is_there)
		return SONDE_VERDICT_REMOVED;
	if (is_sure && t->low > 1)
		return is_single ? SONDE_VERDICT_LIKELY_SLOWER : SONDE_VERDICT_SLOWER;
	if (is_sure && t->high < 1)
		return is_single ? SONDE_VERDICT_LIKELY_FASTER : SONDE_VERDICT_FASTER;
	return t->low >= 1 - min_effect && t->high <= 1 + min_effect ? SONDE_VERDICT_SAME
								     : SONDE_VERDICT_INSUFFICIENT;
}

/* Judges every time of a region, then copies the result of the time that the region is compared by. */
static void judge_region(struct sonde_diff_region *r, double min_effect)
{
	const struct sonde_diff_time *head = &r->times[r->time];
	size_t i;

	r->needs_runs = r->base.nr_runs > 1 && r->new_half.nr_runs > 1;
	for (i = 0; i < SONDE_NR_DIFF_TIMES; i++) {
		struct sonde_diff_time *t = &r->times[i];

		t->verdict = (uint8_t)verdict_of(r, t, min_effect);
		if (t->verdict == SONDE_VERDICT_INSUFFICIENT && t->is_known)
			t->needed = needed_entries(r, t, min_effect);
	}
	r->verdict = head->verdict;
	r->ratio = head->ratio;
	r->low = head->low;
	r->high = head->high;
	r->p = head->p;
	r->q = head->q;
	r->needed = head->needed;
}

/*
 * The q of iterations. They are tested in addition to the regions, so they count as further regions. The q of the regions
 * stay as they are: the iteration of a step says much the same as the step.
 */
static bool adjust_iterations(struct sonde_diff *d)
{
	size_t nr = d->regions.nr, i;
	double *p = sonde_malloc((2 * nr + 1) * sizeof(*p)), *q = sonde_malloc((2 * nr + 1) * sizeof(*q));
	bool ok = p && q;

	for (i = 0; ok && i < nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];

		p[i] = r->times[r->time].p;
		p[nr + i] = r->times[SONDE_DIFF_ITERATION].p;
	}
	ok = ok && sonde_stats_adjust(q, p, 2 * nr, sizeof(*p));
	for (i = 0; ok && i < nr; i++)
		d->regions.at[i].times[SONDE_DIFF_ITERATION].q = q[nr + i];
	sonde_free(p);
	sonde_free(q);
	return ok;
}

bool sonde_diff__judge(struct sonde_diff *d)
{
	size_t i;

	if (!compare_all(d))
		return false;
	for (i = 0; i < SONDE_NR_ENTRY_TIMES && d->regions.nr; i++)
		if (!sonde_stats_adjust(&d->regions.at->times[i].q, &d->regions.at->times[i].p, d->regions.nr, sizeof(*d->regions.at)))
			return false;
	if (!adjust_iterations(d))
		return false;
	for (i = 0; i < d->regions.nr; i++)
		judge_region(&d->regions.at[i], d->options.min_effect);
	return true;
}
