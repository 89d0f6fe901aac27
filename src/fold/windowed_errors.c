/*
 * How far off the estimates of captures with a budget may be. Sums by entry and by time of timing scatter
 * as the estimate does: ± is the larger of the two, at 95 %. Entries alone say nothing: those of
 * one time resemble each other.
 */
#include "fold/windowed.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/keysort.h"

#include <math.h>
#include <string.h>

#define FEW_ENTRIES 8 /* fewer say nothing about their scatter */

/* The scatter of a visit's time and of its number of launches. */
struct scatter {
	double by_entry; /* Σ of squares … */
	uint64_t nr_entries;
	struct sonde_scatter_sums {
		double squares;		/* … of the moves of all times … */
		double weight, weight2; /* … and Σ of the launches each represents, and of their squares */
		double move, open;	/* move and launches of the time at hand … */
	} by_time, nr_by_time;
	uint32_t timing; /* … which is this one, as timing_of; 0 = none yet */
	double bias, nr_bias; /* how far off it may be though nothing scatters */
	double timed, known, all; /* launches */
	bool is_rare; /* too few entries of its own */
	bool is_unseen; /* nobody looked: its error is unknown */
};

struct errors {
	struct sonde_folding *f;
	struct sonde_windowed *w;
	struct scatter *at;  /* by visit */
	double *of_sets, *of_ranges;
	bool *is_touched; /* by range */
	bool *is_taken;	  /* by place */
	/* Where launches were counted at times only: which places go by which stays. */
	uint32_t *first_place; /* by stays: number in the windowed places, plus one; 0 = none … */
	uint32_t *next_place;  /* … and by that number the next */
};

/*
 * With a budget: how far what was timed scatters. A timed launch that took r more than the mean of its
 * place moves the estimate by r × N ÷ n. These are added up by entry of a region (of one that was entered
 * rarely, by the innermost entries in it), since launches of an entry go together, and by the time in
 * which they were timed, since entries that follow each other do too. Launches that were counted at
 * times only move the estimates of their number and of the time by how many more or less there were than
 * the stays looked at would have had.
 */

/* How far a timed launch moves the estimate of the regions it is in. */
static double move_of(struct errors *e, const struct sonde_launch *launch)
{
	const struct sonde_record *rec = sonde_launch_record(e->f->l, launch);
	const struct sonde_windowed_place *p =
		sonde_windowed__place(e->w, launch->scope, launch->place);
	double t = (double)(rec->time.end_ns - rec->time.start_ns);

	return p && p->nr_works && !rec->is_untimed
		       ? p->scale * (t - p->time_ns / (double)p->nr_works)
		       : 0;
}

/* Which time a launch was timed in, plus two; 1 = it was before the first. */
static uint32_t timing_of(const struct sonde_records *r, const struct sonde_record *rec)
{
	const struct sonde_timing *t = r->timings.at;
	uint32_t process = sonde_record_caller(r, rec)->process;
	size_t low = 0;

	/* the first that begins later, or in a later process */
	sonde_bisect(low, r->timings.nr, mid,
		t[mid].process < process ||
			(t[mid].process == process && t[mid].begin_ns <= rec->call_ns));
	return (uint32_t)low + 1;
}

static void close_sums(struct sonde_scatter_sums *s)
{
	s->squares += s->move * s->move;
	s->weight += s->open;
	s->weight2 += s->open * s->open;
	s->move = s->open = 0;
}

static void close_time(struct scatter *s)
{
	close_sums(&s->by_time);
	close_sums(&s->nr_by_time);
}

/* A launch, or a part of a stay, for all regions of its place. */
struct happening {
	uint32_t timing; /* 0 = it moves nothing */
	double move, nr_move;
	double weight, nr_weight; /* launches it represents: timed ones, or ones counted at times only */
	double timed, known, all;
	double bias, nr_bias;
	bool is_unseen;
};

/* Launches come in order of their calls, so each time is over when another one is met. */
static void add_move(struct scatter *s, const struct happening *h)
{
	if (s->timing != h->timing)
		close_time(s);
	s->timing = h->timing;
	s->by_time.move += h->move;
	s->by_time.open += h->weight;
	s->nr_by_time.move += h->nr_move;
	s->nr_by_time.open += h->nr_weight;
}

static void add_to_regions(
	struct errors *e, uint32_t scope, uint32_t number, const struct happening *h)
{
	uint32_t region;

	SONDE_EACH_REGION(e->f->l, number, region) {
		const struct sonde_visit *visit = sonde_cells_visit(e->f->c, scope, region);
		struct scatter *s = visit ? &e->at[visit - e->f->c->visits.at] : NULL;

		if (!s)
			continue;
		s->timed += h->timed;
		s->known += h->known;
		s->all += h->all;
		s->bias += h->bias;
		s->nr_bias += h->nr_bias;
		s->is_unseen |= h->is_unseen;
		if (h->timing)
			add_move(s, h);
	}
}

/* The time, and the works, that one more launch counted at times only would add. */
static double time_of_late(const struct sonde_windowed_place *p)
{
	return p->nr_calls ? p->more * p->time_ns / (double)p->nr_calls : 0;
}

static double works_of_late(const struct sonde_windowed_place *p)
{
	return p->nr_calls ? p->more * (double)p->nr_works / (double)p->nr_calls : p->more;
}

/*
 * A launch that was not timed has no kernel name: a filter of kernels takes none of them. Where it
 * takes others of the same place, these represent some of them too, so they count as not timed.
 */
static void add_move_of_launch(struct errors *e, const struct sonde_launch *launch)
{
	const struct sonde_record *rec = sonde_launch_record(e->f->l, launch);
	struct sonde_windowed_place *p =
		sonde_windowed__place(e->w, launch->scope, launch->place);
	bool is_late = sonde_windowed__is_late(e->f->r, rec), is_first = rec->call != p->last_call;
	bool is_timed = !rec->is_untimed && launch->state == SONDE_LAUNCH_TAKEN;
	bool is_work = is_timed || (rec->is_untimed && !rec->is_nothing);
	struct happening h = {.move = is_timed ? move_of(e, launch) : 0,
		.weight = is_timed ? p->scale : 0,
		.timed = is_timed,
		.known = is_work,
		.all = is_work ? (is_late ? p->more : 1) : 0};

	p->last_call = rec->call;
	if (is_timed || (is_late && is_first))
		h.timing = timing_of(e->f->r, rec);
	if (is_late && is_first) {
		h.move += time_of_late(p);
		h.nr_move = works_of_late(p);
	}
	if (is_work || h.timing)
		add_to_regions(e, launch->scope, launch->place, &h);
}

/* A part of a stay that was looked at: so many launches were to be expected in it. */
static void add_piece(struct errors *e, const struct sonde_windowed_piece *piece)
{
	uint32_t number = e->first_place[piece->stays], key[2];

	for (; number; number = e->next_place[number - 1]) {
		const struct sonde_windowed_place *p = &e->w->places.at[number - 1];
		double due = (double)p->nr_late / e->w->stays[piece->stays].seen * piece->share;
		struct happening h = {.timing = piece->timing,
			.move = -due * time_of_late(p),
			.nr_move = -due * works_of_late(p),
			.nr_weight = due * works_of_late(p)};

		memcpy(key, e->w->keys.keys[number - 1].p, sizeof(key));
		add_to_regions(e, key[0], key[1], &h);
	}
}

/* Which places go by which stays, and what is uncertain about these. */
static bool link_places(struct errors *e)
{
	size_t nr = (e->f->r->processes.nr + 1) * (e->f->l->regions.nr + 1), i;
	uint32_t key[2];

	e->first_place = sonde_calloc(nr, sizeof(*e->first_place));
	e->next_place = sonde_calloc(e->w->places.nr + 1, sizeof(*e->next_place));
	if (!e->first_place || !e->next_place)
		return false;
	for (i = 0; i < e->w->places.nr; i++) {
		const struct sonde_windowed_place *p = &e->w->places.at[i];
		const struct sonde_windowed_stays *stays = &e->w->stays[p->stays];
		double off = p->nr_late && stays->seen > 0
				     ? (double)p->nr_late * (stays->seen_at_most / stays->seen - 1)
				     : 0;

		memcpy(key, e->w->keys.keys[i].p, sizeof(key));
		if (!e->is_taken[key[1]])
			continue;
		if (p->nr_late) {
			e->next_place[i] = e->first_place[p->stays];
			e->first_place[p->stays] = (uint32_t)i + 1;
		}
		add_to_regions(e, key[0], key[1],
			&(struct happening){.bias = off * time_of_late(p),
				.nr_bias = off * works_of_late(p),
				.all = p->unseen,
				.is_unseen = p->unseen > 0});
	}
	return true;
}

static bool sort_pieces(struct sonde_windowed *w, struct sonde_keyed *order)
{
	size_t i;

	for (i = 0; i < w->pieces.nr; i++)
		order[i] = (struct sonde_keyed){w->pieces.at[i].timing, (uint32_t)i};
	return w->pieces.nr < SONDE_NONE && sonde_keysort(order, w->pieces.nr);
}

/* All launches and all pieces, in order of time. */
static bool add_all_moves(struct errors *e)
{
	const struct sonde_launches *l = e->f->l;
	struct sonde_keyed *order = sonde_calloc(e->w->pieces.nr + 1, sizeof(*order));
	bool ok = order && sort_pieces(e->w, order) && (!e->w->stays || link_places(e));
	size_t i, k = 0;

	for (i = 0; ok && i < e->w->places.nr; i++)
		e->w->places.at[i].last_call = SONDE_NONE;
	for (i = 0; ok && i < l->launches.nr; i++) {
		const struct sonde_launch *launch = &l->launches.at[i];

		if (!e->is_taken[launch->place])
			continue;
		if (k < e->w->pieces.nr) {
			uint32_t timing = timing_of(e->f->r, &e->f->r->records.at[i]);

			for (; k < e->w->pieces.nr && order[k].key <= timing; k++)
				add_piece(e, &e->w->pieces.at[order[k].index]);
		}
		add_move_of_launch(e, launch);
	}
	for (; ok && k < e->w->pieces.nr; k++)
		add_piece(e, &e->w->pieces.at[order[k].index]);
	sonde_free(order);
	return ok;
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
	const uint32_t *members, *region_of = e->f->l->region_of.at;
	struct sonde_set set = sonde_launches_set(e->f->l, (uint32_t)number, &members);
	uint32_t range, visit;
	size_t k;

	for (k = 0; k < set.nr && e->of_sets[number] != 0; k++) {
		if (k && region_of[members[k]] != SONDE_NONE &&
			region_of[members[k]] == region_of[members[k - 1]])
			continue; /* another entry of a label that was started twice */
		for (range = members[k]; range != SONDE_NONE; range = ranges[range].parent) {
			visit = e->f->visit_of[range];
			if (is_unit && visit != SONDE_NONE && e->at[visit].is_rare)
				add_sum(&e->at[visit], e->of_sets[number]);
			e->of_ranges[range] += is_unit ? 0 : e->of_sets[number];
			e->is_touched[range] = true;
		}
	}
}

static void add_sums_of_entries(struct errors *e)
{
	const struct sonde_launches *l = e->f->l;
	const struct sonde_records *r = e->f->r;
	size_t nr_sets = r->sets.nr + l->sets.nr, i;

	for (i = 0; i < l->launches.nr; i++)
		if (l->launches.at[i].state == SONDE_LAUNCH_TAKEN &&
			!r->records.at[i].is_untimed)
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

/* --- ± of visits --------------------------------------------------------------------------------- */

#define LEAST_TIMES 1.5 /* of a scatter by times: one alone has none */

/* Half of the interval that holds 95 %, in standard errors, for a scatter of nr sums. */
static double quantile_95(double nr)
{
	static const double t[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20};
	double df = nr < 2 ? 1 : nr - 1;
	size_t low = (size_t)df;

	if (low >= sizeof(t) / sizeof(*t))
		return 1.96 + 2.5 / df;
	return t[low - 1] + (df - (double)low) * (t[low] - t[low - 1]);
}

/*
 * The error by the times of timing; NaN: there were too few. A time in which hardly anything was timed says
 * little about the scatter, so `nr` is the effective number of times, as if all were alike. Each time drew
 * the mean it is compared with towards itself by its share of all, which the last factor undoes.
 */
static double error_by_time(const struct scatter *s, const struct sonde_scatter_sums *sums, double known)
{
	double nr = sums->weight2 > 0 ? sums->weight * sums->weight / sums->weight2 : 0;
	double left = known < s->all ? 1 - known / s->all : 0;

	return nr < LEAST_TIMES ? NAN : quantile_95(nr) * sqrt(left * sums->squares) * nr / (nr - 1);
}

static double error_of(const struct scatter *s)
{
	double by_time = error_by_time(s, &s->by_time, s->timed), by_entry = NAN;
	double left = 1 - s->timed / s->all, nr = (double)s->nr_entries;

	if (s->timed >= s->all)
		return 0;
	if (s->is_unseen)
		return NAN;
	if (s->nr_entries >= FEW_ENTRIES)
		by_entry = quantile_95(nr) * sqrt(left * s->by_entry * nr / (nr - 1));
	return hypot(s->bias, by_entry > by_time ? by_entry : by_time);
}

static double launch_error_of(const struct scatter *s)
{
	return s->is_unseen	   ? NAN
	       : s->known >= s->all ? 0
		       : hypot(s->nr_bias, error_by_time(s, &s->nr_by_time, s->known));
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

/* Forgets the times that need the timestamps of all launches. */
static void forget_times(struct sonde_visit *v)
{
	const struct sonde_times known = v->times;

	sonde_times_forget(&v->times);
	v->times.host_ns = known.host_ns;
	v->times.cpu_ns = known.cpu_ns;
	v->times.memory = known.memory;
	v->times.timed = known.timed;
	v->times.time_error_ns = known.time_error_ns;
	v->times.launch_error = known.launch_error;
	v->nr_queued = 0;
	v->nr_streams = 0;
}

static void settle_visits(struct errors *e)
{
	struct sonde_cells *c = e->f->c;
	size_t i;

	for (i = 0; i < c->visits.nr; i++) {
		struct scatter *s = &e->at[i];
		uint32_t process = c->scopes.at[c->visits.at[i].scope].process;

		close_time(s);
		if (s->all == 0)
			continue;
		c->visits.at[i].times.timed = s->timed;
		c->visits.at[i].times.time_error_ns = error_of(s);
		if (c->inputs.at[c->processes.at[process].input].is_sampled)
			c->visits.at[i].times.launch_error = launch_error_of(s);
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
	     add_all_moves(&e);
	if (ok) {
		if (f->visit_of)
			add_sums_of_entries(&e);
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
