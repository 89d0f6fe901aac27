/*
 * Builds a comparison from its two sides, step by step: match, sample, judge, explain. Each step has its own file.
 */
#include "compare/diff_int.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

const char *sonde_verdict_name(enum sonde_verdict v)
{
	static const char *const names[SONDE_NR_VERDICTS] = {
		"same", "slower", "faster", "likely_slower", "likely_faster", "insufficient", "added", "removed"};

	return names[v];
}

const char *sonde_verdict_words(enum sonde_verdict v)
{
	return v == SONDE_VERDICT_LIKELY_SLOWER	  ? "likely slower"
	       : v == SONDE_VERDICT_LIKELY_FASTER ? "likely faster"
						  : sonde_verdict_name(v);
}

const char *sonde_diff_time_name(unsigned which)
{
	static const char *const names[SONDE_NR_DIFF_TIMES] = {"host", "gpu", "span", "wall", "iteration"};

	return names[which];
}

const char *sonde_likeness_name(enum sonde_likeness l)
{
	static const char *const names[] = {NULL, "renamed", "graph", "moved", "split", "merged"};

	return names[l];
}

double sonde_diff_region_delta(const struct sonde_diff_region *r)
{
	if (r->verdict == SONDE_VERDICT_ADDED)
		return r->new_half.median_ns;
	if (r->verdict == SONDE_VERDICT_REMOVED)
		return -r->base.median_ns;
	return r->new_half.median_ns - r->base.median_ns;
}

const char *sonde_diff_cause_name(const struct sonde_diff_region *r)
{
	bool counts = r->causes & (SONDE_CAUSE_ENTRIES | SONDE_CAUSE_LAUNCHES);

	if (r->causes & SONDE_CAUSE_OVERLAP)
		return "overlap";
	if (r->causes & SONDE_CAUSE_WAITING)
		return "waiting";
	if (!(r->causes & SONDE_CAUSE_DURATION))
		return counts ? "count" : NULL;
	return counts ? "count and duration" : "duration";
}

void sonde_diff_needed_put(struct sonde_buf *to, const struct sonde_diff_region *r)
{
	const char *of = r->needs_runs ? "runs" : "entries";

	if (r->needed > 1000) /* nobody makes more than that for an answer, and the estimate is a rough one */
		sonde_buf_printf(to, "more than 1,000 %s", of);
	else
		sonde_buf_printf(to, "%.0f %s", r->needed, of);
}

bool sonde_diff_interval_matters(const struct sonde_diff_region *r)
{
	return r->low > 0 && r->high <= 10 * r->low;
}

const char *sonde_diff_cause_words(const struct sonde_diff_region *r)
{
	bool is_more =
		r->new_half.launches / r->new_half.entries > r->base.launches / r->base.entries;
	bool is_longer = r->ratio > 1;

	if (r->causes & SONDE_CAUSE_OVERLAP)
		return is_longer ? "less overlap" : "more overlap";
	if (r->causes & SONDE_CAUSE_WAITING)
		return is_longer ? "the GPU waits longer" : "the GPU waits less";
	if (r->time == SONDE_ENTRY_HOST && r->causes & SONDE_CAUSE_DURATION)
		return is_longer ? "longer on the host" : "shorter on the host";
	if (r->causes & SONDE_CAUSE_KERNELS)
		return "other kernels";
	switch (r->causes & (SONDE_CAUSE_LAUNCHES | SONDE_CAUSE_DURATION)) {
	case SONDE_CAUSE_LAUNCHES:
		return is_more ? "more launches" : "fewer launches";
	case SONDE_CAUSE_DURATION:
		return is_longer ? "longer kernels" : "shorter kernels";
	case SONDE_CAUSE_LAUNCHES | SONDE_CAUSE_DURATION:
		return is_more ? "more launches, with other durations"
			       : "fewer launches, with other durations";
	}
	return NULL;
}

struct sonde_diff_region sonde_diff_timed(const struct sonde_diff_region *r, unsigned time)
{
	const struct sonde_diff_time *t = &r->times[time];
	struct sonde_diff_region timed = *r;

	if (time == r->time)
		return timed;
	timed.verdict = t->verdict;
	timed.causes = 0;
	timed.ratio = t->ratio;
	timed.low = t->low;
	timed.high = t->high;
	timed.p = t->p;
	timed.q = t->q;
	timed.needed = t->needed;
	timed.base.median_ns = t->base_ns;
	timed.base.nr_values = t->nr_values[0];
	timed.new_half.median_ns = t->new_ns;
	timed.new_half.nr_values = t->nr_values[1];
	return timed;
}

static int lay_out(struct sonde_diff *d, struct sonde_diff__match *m,
	const struct sonde_diff_side *base, const struct sonde_diff_side *new_side,
	struct sonde_err *err)
{
	const struct sonde_tree **trees;
	size_t nr = base->nr + new_side->nr, i;

	*m = (struct sonde_diff__match){.nr_base = base->nr, .nr_runs = nr};
	m->trees = trees = sonde_arena_alloc(&m->arena, (nr + 1) * sizeof(*trees));
	m->aggregates = sonde_arena_alloc(&m->arena, (nr + 1) * sizeof(*m->aggregates));
	if (!trees || !m->aggregates)
		return sonde_err_nomem(err);
	memcpy(trees, base->runs, base->nr * sizeof(*trees));
	if (new_side->nr)
		memcpy(trees + base->nr, new_side->runs, new_side->nr * sizeof(*trees));
	m->walls = sonde_arena_calloc(&m->arena, nr + 1, sizeof(*m->walls));
	for (i = 0; m->walls && i < nr; i++) {
		m->walls[i] = sonde_diff__walls(trees[i]->cells, &m->arena);
		if (!m->walls[i])
			return sonde_err_nomem(err);
	}
	return m->walls ? sonde_diff__take_reports(d, m, err) : sonde_err_nomem(err);
}

/* Time in regions of a run, the mean over the runs of a side. */
static double mean_time(const struct sonde_diff__match *m, size_t first, size_t end)
{
	double sum = 0;
	size_t i;

	for (i = first; i < end; i++)
		sum += m->aggregates[i]->time_ns;
	return sum / (double)(end - first);
}

static void sum_up(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	double logs = 0;
	size_t i, nr = 0;

	d->base_total_ns = mean_time(m, 0, m->nr_base);
	d->new_total_ns = mean_time(m, m->nr_base, m->nr_runs);
	for (i = 0; i < d->regions.nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];

		d->nr_by_verdict[r->verdict]++;
		if (r->ratio > 0 && isfinite(r->ratio)) {
			logs += log(r->ratio);
			nr++;
		}
	}
	d->ratio = nr ? exp(logs / (double)nr) : NAN;
}

int sonde_diff_build(struct sonde_diff **out, const struct sonde_diff_side *base,
	const struct sonde_diff_side *new_side, const struct sonde_diff_options *o,
	struct sonde_err *err)
{
	struct sonde_diff *d = sonde_calloc(1, sizeof(*d));
	struct sonde_diff__match m = {0};
	int rc;

	*out = d;
	if (!d)
		return sonde_err_nomem(err);
	d->options = *o;
	rc = lay_out(d, &m, base, new_side, err);
	d->nr_base_runs = (uint32_t)base->nr;
	d->nr_new_runs = (uint32_t)new_side->nr;
	if (rc == 0 && !(sonde_diff__match(d, &m) && sonde_diff__check_sides(d, &m) &&
				sonde_diff__take_notes(d, &m)))
		rc = sonde_err_nomem(err);
	if (rc == 0)
		rc = sonde_diff__sample(d, &m, err);
	if (rc == 0)
		sonde_diff__find_steps(d);
	if (rc == 0 && !sonde_diff__sample_iterations(d, &m))
		rc = sonde_err_nomem(err);
	if (rc == 0 && !(sonde_diff__judge(d) && sonde_diff__measure(d, &m) && sonde_diff__explain(d, &m)))
		rc = sonde_err_nomem(err);
	if (rc == 0) {
		sum_up(d, &m);
		sonde_diff__gate(d, &m);
		sonde_diff__write_sentences(d);
	}
	sonde_arena_release(&m.arena);
	if (rc) {
		sonde_diff_free(d);
		*out = NULL;
	}
	return rc;
}

void sonde_diff_free(struct sonde_diff *d)
{
	if (!d)
		return;
	sonde_vec_release(&d->regions);
	sonde_vec_release(&d->kernels);
	sonde_vec_release(&d->columns);
	sonde_vec_release(&d->metrics);
	sonde_vec_release(&d->values);
	sonde_vec_release(&d->values_of_run);
	sonde_notes_release(&d->reasons);
	sonde_notes_release(&d->warnings);
	sonde_notes_release(&d->sentences);
	sonde_notes_release(&d->gate_regions);
	sonde_notes_release(&d->gate_reasons);
	sonde_notes_release(&d->base_notes);
	sonde_notes_release(&d->new_notes);
	sonde_arena_release(&d->arena);
	sonde_free(d);
}
