/*
 * Captures with a budget: GPU work was timed at random times only, launches were
 * counted all the time. What was timed of a place (the open ranges at a launch)
 * stands for all launches there: T = t × N ÷ n.
 *
 * How far off that may be. A timed launch that took r more than the mean of its
 * place moves the estimate by r × N ÷ n. These are added up by entry of a region (of one
 * that was entered rarely, by the innermost entries in it), since launches of an entry
 * go together, and by the time in which they were timed, since entries that follow each other
 * do too. The sums of either scatter as the estimate does: ± is the larger of the two, at 95 %.
 */
#include "fold/fold_int.h"
#include "fold/windowed.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

#define FEW_ENTRIES 8 /* fewer say nothing about their scatter */

/* Half of the interval that holds 95 %, in standard errors, for a scatter of nr sums. */
static double reach(double nr)
{
	static const double t[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
	size_t df = nr < 2 ? 1 : (size_t)nr - 1;

	return df <= sizeof(t) / sizeof(*t) ? t[df - 1] : 1.96 + 2.5 / (double)df;
}

/* --- places --------------------------------------------------------------------------------- */

struct sonde_windowed_place *sonde_windowed__place(
	struct sonde_windowed *w, uint32_t scope, uint32_t place)
{
	uint32_t key[2] = {scope, place}, number;
	struct sonde_windowed_place *p;
	bool is_new;

	number = sonde_map_keep(&w->keys, &w->arena, SONDE_BYTES(key), &is_new);
	if (number == SONDE_NONE || !is_new)
		return number == SONDE_NONE ? NULL : &w->places.at[number];
	p = sonde_vec_push(&w->places);
	if (p)
		*p = (struct sonde_windowed_place){.last_call = SONDE_NONE};
	return p;
}

static bool add_launch(
	struct sonde_windowed *w, const struct sonde_launch *launch, const struct sonde_record *rec)
{
	struct sonde_windowed_place *p = sonde_windowed__place(w, launch->scope, launch->place);

	if (!p)
		return false;
	if (rec->is_untimed) {
		p->nr_untimed++;
		return true;
	}
	p->nr_works++;
	p->nr_calls += rec->call != p->last_call || rec->call == SONDE_NONE;
	p->last_call = rec->call;
	p->time_ns += (double)(rec->time.end_ns - rec->time.start_ns);
	return true;
}

bool sonde_windowed__count(struct sonde_windowed *w, const struct sonde_launches *l)
{
	const struct sonde_record *records = l->records->records.at;
	size_t i;

	for (i = 0; i < l->launches.nr; i++)
		if (!add_launch(w, &l->launches.at[i], &records[l->launches.at[i].record]))
			return false;
	for (i = 0; i < w->places.nr; i++) {
		struct sonde_windowed_place *p = &w->places.at[i];

		p->scale = p->nr_calls ? (double)(p->nr_calls + p->nr_untimed) / (double)p->nr_calls
				       : NAN;
	}
	return true;
}

void sonde_windowed__release(struct sonde_windowed *w)
{
	sonde_map_release(&w->keys);
	sonde_vec_release(&w->places);
	sonde_arena_release(&w->arena);
}

/* --- errors --------------------------------------------------------------------------------- */

/* What is known of a visit's scatter. */
struct scatter {
	double by_entry, by_time; /* Σ of squares */
	uint64_t nr_entries, nr_times;
	double open;	 /* sum of the time at hand … */
	uint32_t timing; /* … which is this one, plus one; 0 = none yet */
	uint64_t timed, all;
	bool is_rare; /* too few entries of its own */
};

struct errors {
	struct sonde_folding *f;
	struct sonde_windowed *w;
	struct scatter *at;  /* by visit */
	size_t *first_visit; /* by scope, and one more */
	double *of_sets, *of_ranges;
	bool *is_touched; /* by range */
};

/* How far a timed launch moves the estimate of the regions it is in. */
static double move_of(struct errors *e, const struct sonde_launch *launch)
{
	const struct sonde_record *rec = &e->f->r->records.at[launch->record];
	const struct sonde_windowed_place *p =
		sonde_windowed__place(e->w, launch->scope, launch->place);
	double t = (double)(rec->time.end_ns - rec->time.start_ns);

	return p && p->nr_works ? p->scale * (t - p->time_ns / (double)p->nr_works) : 0;
}

static uint32_t find_visit(const struct errors *e, uint32_t scope, uint32_t region)
{
	size_t low = e->first_visit[scope], high = e->first_visit[scope + 1];
	const struct sonde_visit *v = e->f->c->visits.at;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (v[mid].region < region)
			low = mid + 1;
		else
			high = mid;
	}
	return low < e->first_visit[scope + 1] && v[low].region == region ? (uint32_t)low
									  : SONDE_NONE;
}

/* Which time a launch was timed in, plus one. */
static uint32_t timing_of(const struct sonde_records *r, const struct sonde_record *rec)
{
	size_t low = 0, high = r->timings.nr;

	while (low < high) { /* the first that begins later, or in a later process */
		size_t mid = low + (high - low) / 2;
		const struct sonde_timing *t = &r->timings.at[mid];

		if (t->process < rec->process ||
			(t->process == rec->process && t->begin_ns <= rec->call_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return (uint32_t)low + 1;
}

static void close_time(struct scatter *s)
{
	if (s->timing) {
		s->by_time += s->open * s->open;
		s->nr_times++;
	}
	s->open = 0;
}

/* Launches come in order of their calls, so each time is over when another one is met. */
static void add_to_visit(struct scatter *s, bool is_timed, uint32_t timing, double move)
{
	s->all++;
	if (!is_timed)
		return;
	s->timed++;
	if (s->timing != timing)
		close_time(s);
	s->timing = timing;
	s->open += move;
}

static void add_to_regions(struct errors *e, const struct sonde_launch *launch)
{
	const struct sonde_launches *l = e->f->l;
	const struct sonde_place *place = &l->places.at[launch->place];
	const struct sonde_record *rec = &e->f->r->records.at[launch->record];
	double move = rec->is_untimed ? 0 : move_of(e, launch);
	uint32_t timing = timing_of(e->f->r, rec), region, visit;
	size_t k;

	for (k = 0; k < place->nr; k++)
		for (region = l->homes.at[place->first + k]; region != SONDE_NONE;
			region = l->regions.at[region].parent) {
			visit = find_visit(e, launch->scope, region);
			if (visit != SONDE_NONE)
				add_to_visit(&e->at[visit], !rec->is_untimed, timing, move);
		}
}

static void add_sum(struct scatter *s, double sum)
{
	s->by_entry += sum * sum;
	s->nr_entries++;
}

/* A set of open ranges, which is an innermost entry: those around it have it in them. */
static void add_set(struct errors *e, size_t number, bool is_unit)
{
	const struct sonde_range *ranges = e->f->r->ranges.at;
	const uint32_t *members;
	struct sonde_set set = sonde_launches_set(e->f->l, (uint32_t)number, &members);
	uint32_t range, visit;
	size_t k;

	for (k = 0; k < set.nr && e->of_sets[number] != 0; k++)
		for (range = members[k]; range != SONDE_NONE; range = ranges[range].parent) {
			visit = e->f->visit_of[range];
			if (is_unit && visit != SONDE_NONE && e->at[visit].is_rare)
				add_sum(&e->at[visit], e->of_sets[number]);
			e->of_ranges[range] += is_unit ? 0 : e->of_sets[number];
			e->is_touched[range] = true;
		}
}

static void add_entries(struct errors *e)
{
	const struct sonde_launches *l = e->f->l;
	const struct sonde_records *r = e->f->r;
	size_t nr_sets = r->sets.nr + l->sets.nr, i;

	for (i = 0; i < l->launches.nr; i++)
		if (l->launches.at[i].state == SONDE_LAUNCH_TAKEN &&
			!r->records.at[l->launches.at[i].record].is_untimed)
			e->of_sets[l->launches.at[i].open] += move_of(e, &l->launches.at[i]);
	for (i = 0; i < nr_sets; i++)
		add_set(e, i, false);
	for (i = 0; i < r->ranges.nr; i++)
		if (e->is_touched[i] && e->f->visit_of[i] != SONDE_NONE)
			add_sum(&e->at[e->f->visit_of[i]], e->of_ranges[i]);
	for (i = 0; i < e->f->c->visits.nr; i++) {
		e->at[i].is_rare = e->at[i].nr_entries < FEW_ENTRIES;
		if (e->at[i].is_rare)
			e->at[i].by_entry = 0, e->at[i].nr_entries = 0;
	}
	for (i = 0; i < nr_sets; i++)
		add_set(e, i, true);
}

static double error_of(const struct scatter *s)
{
	double left = s->all ? 1 - (double)s->timed / (double)s->all : 0, by_time = NAN,
	       by_entry = NAN;
	double nr = (double)s->nr_entries;

	if (s->timed == s->all)
		return 0;
	if (s->nr_times >= 2)
		by_time = reach((double)s->nr_times) *
			  sqrt(left * s->by_time * (double)s->nr_times / (double)(s->nr_times - 1));
	if (s->nr_entries >= FEW_ENTRIES)
		by_entry = reach(nr) * sqrt(left * s->by_entry * nr / (nr - 1));
	return isnan(by_time) || by_entry > by_time ? by_entry : by_time;
}

/*
 * A launch that was not timed has no kernel name: a filter of kernels takes none of them. Where it
 * takes others of the same place, these stand for some of them too, so they count as not timed.
 */
static bool counts(
	const struct sonde_launches *l, const bool *is_taken, const struct sonde_launch *launch)
{
	return launch->state == SONDE_LAUNCH_TAKEN ||
	       (is_taken[launch->place] && l->records->records.at[launch->record].is_untimed);
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
	size_t i, nr = 0;

	for (i = 0; i < c->visits.nr; i++) {
		struct scatter *s = &e->at[i];

		close_time(s);
		if (!s->all)
			continue;
		c->visits.at[i].timed = (double)s->timed;
		c->visits.at[i].time_error_ns = error_of(s);
		if (s->timed < s->all)
			forget_times(&c->visits.at[i]);
	}
	for (i = 0; i < c->gaps.nr; i++) /* between what was not timed there are no gaps */
		if (!c->inputs.at[c->processes.at[c->scopes.at[c->gaps.at[i].scope].process].input]
				.budget_ppm)
			c->gaps.at[nr++] = c->gaps.at[i];
	c->gaps.nr = nr;
}

int sonde_windowed__errors(struct sonde_folding *f, struct sonde_windowed *w, struct sonde_err *err)
{
	const struct sonde_launches *l = f->l;
	size_t nr_sets = f->r->sets.nr + l->sets.nr, i, scope = 0;
	struct errors e = {.f = f, .w = w};
	bool ok, *is_taken = find_taken_places(l);

	e.at = sonde_calloc(f->c->visits.nr + 1, sizeof(*e.at));
	e.first_visit = sonde_calloc(f->c->scopes.nr + 2, sizeof(*e.first_visit));
	e.of_sets = sonde_calloc(nr_sets + 1, sizeof(*e.of_sets));
	e.of_ranges = sonde_calloc(f->r->ranges.nr + 1, sizeof(*e.of_ranges));
	e.is_touched = sonde_calloc(f->r->ranges.nr + 1, sizeof(*e.is_touched));
	ok = e.at && e.first_visit && e.of_sets && e.of_ranges && e.is_touched && is_taken;
	for (i = 0; ok && i <= f->c->visits.nr; i++)
		while (scope <= f->c->scopes.nr &&
			(i == f->c->visits.nr || f->c->visits.at[i].scope >= scope))
			e.first_visit[scope++] = i;
	for (i = 0; ok && i < l->launches.nr; i++)
		if (counts(l, is_taken, &l->launches.at[i]))
			add_to_regions(&e, &l->launches.at[i]);
	if (ok) {
		if (f->visit_of)
			add_entries(&e);
		settle_visits(&e);
	}
	sonde_free(e.at);
	sonde_free(e.first_visit);
	sonde_free(e.of_sets);
	sonde_free(e.of_ranges);
	sonde_free(e.is_touched);
	sonde_free(is_taken);
	return ok ? 0 : sonde_err_nomem(err);
}
