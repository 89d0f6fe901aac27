/*
 * Captures with a budget: GPU work was timed at random times only, launches were
 * counted all the time. The timed launches of a place (the open ranges at a launch)
 * are scaled up to all launches there: T = t × N ÷ n. Where counting alone would have
 * exceeded the budget, N is an estimate too: launches per stay that was looked at × stays.
 */
#include "fold/windowed.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "fold/fold_int.h"

#include <math.h>
#include <string.h>

/*
 * With a budget that counting all launches would exceed: how much of each region
 * was looked at.
 *
 * A thread is in a region's own code from its entry, or from the end of a range inside, until
 * the next push or pop: a stay. How many there were is known exactly, since ranges are recorded
 * all the time; for each the share in which launches were recorded is known too. Launches per
 * stay that was looked at, times all stays, are the launches there were. Times alone would not
 * do: they are longer where somebody looks.
 *
 * In a stay that is looked at in part, the time in which launches were recorded counts a little
 * less, since recording takes some of it: half of the assumed cost is subtracted, and the other half is
 * the possible error (a program that waits for the GPU loses nothing).
 */

struct looking {
	struct sonde_windowed *w;
	const struct sonde_launches *l;
	const struct sonde_records *r;
	const struct sonde_budget_time **of; /* by process, NULL = counted all the time */
};

static const struct sonde_budget_time *sampling_of(const struct sonde_records *r, uint32_t process)
{
	size_t low = 0;

	sonde_bisect(low, r->samplings.nr, mid, r->samplings.at[mid].process < process);
	return low < r->samplings.nr && r->samplings.at[low].process == process
		       ? &r->samplings.at[low]
		       : NULL;
}

/* The first timing of a process that ends after `ns`. */
static size_t first_timing(const struct sonde_records *r, uint32_t process, uint64_t ns)
{
	const struct sonde_timing *t = r->timings.at;
	size_t low = 0;

	sonde_bisect(low, r->timings.nr, mid,
		t[mid].process < process || (t[mid].process == process && t[mid].end_ns <= ns));
	return low;
}

/* How long a timing and [begin, end) overlap. */
static uint64_t overlap(const struct sonde_timing *t, uint64_t begin, uint64_t end)
{
	begin = t->begin_ns > begin ? t->begin_ns : begin;
	end = t->end_ns < end ? t->end_ns : end;
	return end > begin ? end - begin : 0;
}

static bool is_timing_of(const struct sonde_records *r, size_t timing, uint32_t process, uint64_t end)
{
	return timing < r->timings.nr && r->timings.at[timing].process == process &&
	       r->timings.at[timing].begin_ns < end;
}

static bool add_pieces(struct looking *k, size_t timing, uint32_t process, uint32_t number,
	const uint64_t span[2], double share)
{
	for (; is_timing_of(k->r, timing, process, span[1]); timing++) {
		double seen = (double)overlap(&k->r->timings.at[timing], span[0], span[1]);

		if (!sonde_vec_put(&k->w->pieces,
			    (struct sonde_windowed_piece){(uint32_t)timing + 2, number, share * seen}))
			return false;
	}
	return true;
}

/* A stay in a region; false when memory is short. */
static bool add_stay(
	struct looking *k, uint32_t process, uint32_t region, uint64_t begin, uint64_t end)
{
	const struct sonde_budget_time *s = k->of[process];
	uint32_t number = process * (uint32_t)(k->l->regions.nr + 1) + region;
	struct sonde_windowed_stays *stays = &k->w->stays[number];
	double seen = 0, all, weighed;
	size_t first, i;

	if (!s)
		return true;
	stays->nr_early += begin < s->from_ns && end > begin;
	begin = begin > s->from_ns ? begin : s->from_ns;
	if (end <= begin)
		return true;
	first = first_timing(k->r, process, begin);
	for (i = first; is_timing_of(k->r, i, process, end); i++)
		seen += (double)overlap(&k->r->timings.at[i], begin, end);
	all = (double)(end - begin);
	weighed = seen * (1 - s->slow / 2);
	stays->nr++;
	if (seen <= 0)
		return true;
	stays->seen += weighed / (weighed + all - seen);
	stays->seen_at_most += seen / all;
	return add_pieces(k, first, process, number, (const uint64_t[2]){begin, end},
		weighed / (weighed + all - seen) / seen);
}

static bool add_stay_of_range(struct looking *k, size_t range, uint64_t begin, uint64_t end)
{
	const struct sonde_range *ranges = k->r->ranges.at;
	uint32_t process = ranges[range].process, i = (uint32_t)range;

	while (k->l->region_of.at[i] == SONDE_NONE && ranges[i].parent != SONDE_NONE)
		i = ranges[i].parent;
	return k->l->region_of.at[i] == SONDE_NONE ||
	       add_stay(k, process, k->l->region_of.at[i], begin, end);
}

static bool add_ranges(struct looking *k)
{
	const struct sonde_range *ranges = k->r->ranges.at;
	uint64_t *since = sonde_calloc(k->r->ranges.nr + 1, sizeof(*since)); /* its last stay began */
	bool ok = since;
	size_t i;

	for (i = 0; i < k->r->ranges.nr && ok; i++) {
		const struct sonde_range_time *t = &ranges[i].time;
		uint32_t parent = ranges[i].parent;

		since[i] = t->begin_ns;
		if (parent == SONDE_NONE || t->end_ns <= t->begin_ns)
			continue;
		ok = add_stay_of_range(k, parent, since[parent], t->begin_ns);
		since[parent] = t->end_ns > since[parent] ? t->end_ns : since[parent];
	}
	for (i = 0; i < k->r->ranges.nr && ok; i++)
		ok = add_stay_of_range(k, i, since[i], ranges[i].time.end_ns);
	sonde_free(since);
	return ok;
}

static bool look_at_stays(struct sonde_windowed *w, const struct sonde_launches *l)
{
	struct looking k = {w, l, l->records, NULL};
	size_t i, nr = l->records->processes.nr;
	bool ok;

	if (!l->records->samplings.nr)
		return true;
	k.of = sonde_calloc(nr + 1, sizeof(*k.of));
	w->stays = sonde_calloc(nr + 1, (l->regions.nr + 1) * sizeof(*w->stays));
	ok = k.of && w->stays && (nr + 1) * (l->regions.nr + 1) < SONDE_NONE;
	for (i = 0; i < nr && ok; i++)
		k.of[i] = sampling_of(l->records, (uint32_t)i);
	ok = ok && add_ranges(&k);
	for (i = 0; i < nr && ok; i++) /* outside any region is one stay */
		ok = !k.of[i] || add_stay(&k, (uint32_t)i, (uint32_t)l->regions.nr,
					 k.of[i]->from_ns, k.of[i]->end_ns);
	sonde_free(k.of);
	return ok;
}

static uint32_t stays_of(
	const struct sonde_windowed *w, const struct sonde_launches *l, uint32_t scope, uint32_t place)
{
	const struct sonde_place *p = &l->places.at[place];
	uint32_t first = l->scopes.at[scope].process * (uint32_t)(l->regions.nr + 1);
	uint32_t best = first + (uint32_t)l->regions.nr, number;
	size_t i;

	for (i = 0; i < p->nr; i++) {
		number = first + l->homes.at[p->first + i];
		if (i == 0 || w->stays[number].nr > w->stays[best].nr)
			best = number;
	}
	return best;
}

bool sonde_windowed__is_late(const struct sonde_records *r, const struct sonde_record *rec)
{
	const struct sonde_budget_time *s =
		r->samplings.nr ? sampling_of(r, sonde_record_caller(r, rec)->process) : NULL;

	return s && rec->call_ns >= s->from_ns;
}

bool sonde_windowed__is_whole(const struct sonde_records *r, const struct sonde_range *range)
{
	const struct sonde_budget_time *s =
		r->samplings.nr ? sampling_of(r, range->process) : NULL;
	uint64_t begin = range->time.begin_ns, end = range->time.end_ns;
	size_t i;

	if (!s || end <= s->from_ns)
		return true;
	begin = begin > s->from_ns ? begin : s->from_ns;
	i = first_timing(r, range->process, begin);
	return is_timing_of(r, i, range->process, end) && r->timings.at[i].begin_ns <= begin &&
	       r->timings.at[i].end_ns >= end;
}

/* --- launches of each place ---------------------------------------------------------------------- */

struct sonde_windowed_place *sonde_windowed__place(
	struct sonde_windowed *w, uint32_t scope, uint32_t place)
{
	uint32_t key[2] = {scope, place}, number;
	bool is_new;

	number = sonde_map_keep(&w->keys, &w->arena, SONDE_BYTES(key), &is_new);
	if (number == SONDE_NONE || (is_new && !sonde_vec_put(&w->places,
						(struct sonde_windowed_place){.last_call = SONDE_NONE})))
		return NULL;
	return &w->places.at[number];
}

static bool count_launch(
	struct sonde_windowed *w, const struct sonde_launches *l, const struct sonde_launch *launch)
{
	const struct sonde_record *rec = sonde_launch_record(l, launch);
	struct sonde_windowed_place *p = sonde_windowed__place(w, launch->scope, launch->place);

	bool is_new;

	if (!p)
		return false;
	is_new = rec->call != p->last_call || rec->call == SONDE_NONE;
	p->last_call = rec->call;
	p->nr_late += is_new && sonde_windowed__is_late(l->records, rec);
	if (rec->is_untimed && !rec->is_nothing) {
		p->nr_untimed++;
		return true;
	}
	p->nr_works += !rec->is_untimed;
	p->nr_calls += is_new;
	p->time_ns += (double)(rec->time.end_ns - rec->time.start_ns);
	return true;
}

/*
 * All launches of a place, by those that are known. Where nobody looked since they are counted at times
 * only, they are taken to be as many per stay as before.
 */
static void settle_place(struct sonde_windowed *w, const struct sonde_launches *l, size_t number)
{
	struct sonde_windowed_place *p = &w->places.at[number];
	const struct sonde_windowed_stays *s;
	uint64_t nr = p->nr_calls + p->nr_untimed;
	uint32_t key[2];

	p->more = 1;
	if (w->stays) {
		memcpy(key, w->keys.keys[number].p, sizeof(key));
		p->stays = stays_of(w, l, key[0], key[1]);
		s = &w->stays[p->stays];
		if (s->seen > 0)
			p->more = (double)s->nr / s->seen;
		else if (s->nr_early)
			p->unseen = (double)nr * (double)s->nr / (double)s->nr_early;
	}
	p->scale = ((double)(nr - p->nr_late) + p->more * (double)p->nr_late + p->unseen) /
		   (double)(p->nr_calls ? p->nr_calls : p->nr_untimed);
}

/* Regions that were entered and never looked at since launches are counted at times only. */
static void note_unseen(struct sonde_windowed *w, const struct sonde_launches *l, struct sonde_notes *to)
{
	size_t nr = l->records->processes.nr * (l->regions.nr + 1), i, regions = 0;
	uint64_t stays = 0;

	for (i = 0; i < nr; i++) {
		const struct sonde_windowed_stays *s = &w->stays[i];

		if (!s->nr || s->nr_early || s->seen > 0)
			continue;
		regions += i % (l->regions.nr + 1) != l->regions.nr;
		stays += s->nr;
	}
	if (regions)
		sonde_note(to,
			"regions too rare to be looked at within the budget: %zu, with %llu stays in "
			"their own code; launches there are not known, and missing",
			regions, (unsigned long long)stays);
}

bool sonde_windowed__count(
	struct sonde_windowed *w, const struct sonde_launches *l, struct sonde_notes *notes)
{
	size_t i;

	if (!look_at_stays(w, l))
		return false;
	for (i = 0; i < l->launches.nr; i++)
		if (!count_launch(w, l, &l->launches.at[i]))
			return false;
	for (i = 0; i < w->places.nr; i++)
		settle_place(w, l, i);
	if (w->stays)
		note_unseen(w, l, notes);
	return true;
}

void sonde_windowed__release(struct sonde_windowed *w)
{
	sonde_map_release(&w->keys);
	sonde_free(w->stays);
	sonde_vec_release(&w->pieces);
	sonde_vec_release(&w->places);
	sonde_arena_release(&w->arena);
}

/* Scales the timed launches of a place up to all launches there. */

/* Sums become those of all launches; means, extremes and facts stay as they are. */
static void scale_values(const struct sonde_plans *plans, const struct sonde_planned *kit,
	struct sonde_cell *cell, double scale)
{
	size_t i;

	for (i = 0; i < kit->list.nr; i++) {
		struct sonde_acc *acc = &cell->acc[kit->list.at[i].at];

		if (acc->nr)
			acc->nr = cell->launches;
		switch (plans->plans.at[kit->list.at[i].slot].method) {
		case SONDE_METHOD_SUM:
		case SONDE_METHOD_LOWER:
		case SONDE_METHOD_UPPER:
			acc->a *= scale;
			break;
		default:
			break;
		}
	}
}

/* All of a cell stays all of it. */
static uint64_t scale_part(uint64_t part, uint64_t was, uint64_t is, double scale)
{
	uint64_t scaled = (uint64_t)llround((double)part * scale);

	return part == was ? is : scaled < is ? scaled : is;
}

/* Kernels of a place share its launches: rounded so that together they have exactly those. */
static void scale_cell(struct sonde_windowed_place *p, struct sonde_cell *cell)
{
	uint64_t was = cell->launches;

	p->due += (double)cell->launches * p->scale;
	cell->launches = (uint64_t)llround(p->due) - p->given;
	p->given += cell->launches;
	cell->adopted = scale_part(cell->adopted, was, cell->launches, p->scale);
	cell->copies = scale_part(cell->copies, was, cell->launches, p->scale);
	cell->time_ns *= p->scale;
	cell->copy_ns *= p->scale;
	cell->copy_bytes *= p->scale;
}

/* Parts of `was` become parts of `is`, rounded so that they still add up: the next one, given those so far. */
static uint64_t share_out(uint64_t part, uint64_t sums[2], uint64_t was, uint64_t is)
{
	uint64_t given = sums[1];

	sums[0] += part;
	sums[1] = (uint64_t)llround((double)sums[0] / (double)was * (double)is);
	return sums[1] - given;
}

/* Launches outside any range, by cause and by thread. */
static void scale_outside(struct sonde_cells *c)
{
	uint64_t was = c->tally.nr_outside, is = 0, sums[2] = {0};
	size_t i;

	for (i = 0; i < c->cells.nr; i++)
		is += c->places.at[c->cells.at[i].place].nr ? 0 : c->cells.at[i].launches;
	for (i = 0; was && i < sizeof(c->tally.nr_outside_by) / sizeof(*c->tally.nr_outside_by); i++)
		c->tally.nr_outside_by[i] = share_out(c->tally.nr_outside_by[i], sums, was, is);
	sums[0] = sums[1] = 0;
	for (i = 0; was && i < c->strays.nr; i++)
		c->strays.at[i].launches = share_out(c->strays.at[i].launches, sums, was, is);
	c->tally.nr_outside = is;
}

bool sonde_windowed__scale(
	struct sonde_windowed *w, struct sonde_cells *c, const struct sonde_plans *plans)
{
	uint64_t adopted = 0;
	size_t i;

	for (i = 0; i < c->cells.nr; i++) {
		struct sonde_cell *cell = &c->cells.at[i];
		struct sonde_windowed_place *p = sonde_windowed__place(w, cell->scope, cell->place);
		size_t kit = (size_t)(sonde_cells_kit(c, cell->scope) - c->kits.at);

		if (!p)
			return false;
		if (p->scale != 1) {
			scale_cell(p, cell);
			scale_values(plans, &plans->kits[kit], cell, p->scale);
		}
		adopted += cell->adopted;
	}
	c->tally.nr_adopted = adopted;
	scale_outside(c);
	for (i = 0; i < w->places.nr; i++) { /* of the scopes, selected or not */
		const struct sonde_windowed_place *p = &w->places.at[i];
		uint32_t scope;
		uint64_t nr = p->nr_calls ? p->nr_works : p->nr_untimed;

		memcpy(&scope, w->keys.keys[i].p, sizeof(scope));
		if (p->scale == 1)
			continue;
		c->sums.at[scope].launches += (uint64_t)llround((double)nr * p->scale) - nr;
		c->sums.at[scope].time_ns += p->time_ns * (p->scale - 1);
	}
	return true;
}
