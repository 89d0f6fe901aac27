/*
 * How far off the estimates of captures with a budget may be. Sums by entry and by time of timing scatter
 * as the estimate does (windowed_scatter.c): ± is the larger of the two, at 95 %. Entries alone say nothing: those of
 * one time resemble each other.
 */
#include "fold/windowed_int.h"

#include "base/alloc.h"

#include <math.h>

#define LEAST_TIMES 1.5 /* of a scatter by times: one alone has none */

/* Half of the interval that holds 95 %, in standard errors, for a scatter of nr sums. */
static double reach(double nr)
{
	static const double t[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20};
	double df = nr < 2 ? 1 : nr - 1;
	size_t low = (size_t)df;

	if (low >= sizeof(t) / sizeof(*t))
		return 1.96 + 2.5 / df;
	return t[low - 1] + (df - (double)low) * (t[low] - t[low - 1]);
}

/*
 * What scatters by the time in which it was timed; NaN: there were too few. A time in which hardly anything was
 * timed tells hardly anything of the scatter: there are as many as would tell as much if all were alike. Each drew
 * the mean it is compared with towards itself by its share of all, which the last factor undoes.
 */
static double reach_by_time(const struct scatter *s, const struct sonde_scatter_sums *sums, double known)
{
	double nr = sums->weight2 > 0 ? sums->weight * sums->weight / sums->weight2 : 0;
	double left = known < s->all ? 1 - known / s->all : 0;

	return nr < LEAST_TIMES ? NAN : reach(nr) * sqrt(left * sums->squares) * nr / (nr - 1);
}

static double error_of(const struct scatter *s)
{
	double by_time = reach_by_time(s, &s->by_time, s->timed), by_entry = NAN;
	double left = 1 - s->timed / s->all, nr = (double)s->nr_entries;

	if (s->timed >= s->all)
		return 0;
	if (s->is_unseen)
		return NAN;
	if (s->nr_entries >= FEW_ENTRIES)
		by_entry = reach(nr) * sqrt(left * s->by_entry * nr / (nr - 1));
	return hypot(s->bias, by_entry > by_time ? by_entry : by_time);
}

static double launch_error_of(const struct scatter *s)
{
	return s->is_unseen	   ? NAN
	       : s->known >= s->all ? 0
		       : hypot(s->nr_bias, reach_by_time(s, &s->nr_by_time, s->known));
}

static bool *find_taken_places(const struct sonde_launches *l)
{
	bool *is_taken = sonde_calloc(l->places.nr + 1, sizeof(*is_taken));
	size_t i;

	for (i = 0; is_taken && i < l->launches.nr; i++)
		if (l->launches.at[i].state == SONDE_LAUNCH_TAKEN)
			is_taken[l->launches.at[i].place] = true;
	return is_taken;
}

/* What timestamps of all launches would have told is not known. */
static void forget_times(struct sonde_visit *v)
{
	v->busy_ns = v->span_ns = v->idle_ns = NAN;
	sonde_waits_forget(&v->waits);
	v->waits.nr_queued = 0;
	v->nr_streams = 0;
}

static void settle_visits(struct errors *e)
{
	struct sonde_cells *c = e->f->c;
	size_t i;

	for (i = 0; i < c->visits.nr; i++) {
		struct scatter *s = &e->at[i];
		uint32_t process = c->scopes.at[c->visits.at[i].scope].process;

		sonde_scatter__close_time(s);
		if (s->all == 0)
			continue;
		c->visits.at[i].timed = s->timed;
		c->visits.at[i].time_error_ns = error_of(s);
		if (c->inputs.at[c->processes.at[process].input].is_sampled)
			c->visits.at[i].launch_error = launch_error_of(s);
		if (s->timed < s->all)
			forget_times(&c->visits.at[i]);
	}
	sonde_vec_filter(&c->gaps, k, /* between what was not timed there are no gaps */
		!c->inputs.at[c->processes.at[c->scopes.at[c->gaps.at[k].scope].process].input].budget_ppm);
}

bool sonde_windowed__errors(struct sonde_folding *f, struct sonde_windowed *w)
{
	const struct sonde_launches *l = f->l;
	size_t nr_sets = f->r->sets.nr + l->sets.nr;
	struct errors e = {.f = f, .w = w, .is_taken = find_taken_places(l)};
	bool ok;

	e.at = sonde_calloc(f->c->visits.nr + 1, sizeof(*e.at));
	e.of_sets = sonde_calloc(nr_sets + 1, sizeof(*e.of_sets));
	e.of_ranges = sonde_calloc(f->r->ranges.nr + 1, sizeof(*e.of_ranges));
	e.is_touched = sonde_calloc(f->r->ranges.nr + 1, sizeof(*e.is_touched));
	ok = e.at && e.of_sets && e.of_ranges && e.is_touched && e.is_taken &&
	     sonde_scatter__add_all(&e);
	if (ok) {
		if (f->visit_of)
			sonde_scatter__add_entries(&e);
		settle_visits(&e);
	}
	sonde_free(e.at);
	sonde_free(e.of_sets);
	sonde_free(e.of_ranges);
	sonde_free(e.is_touched);
	sonde_free(e.is_taken);
	sonde_free(e.first_place);
	sonde_free(e.next_place);
	return ok;
}
