/*
 * With a budget that counting all launches would exceed: how much of each region
 * was looked at.
 *
 * A thread is in a region's own code from its entry, or from the end of a range inside, until
 * the next push or pop: a stay. How many there were is known exactly, since ranges are recorded
 * all the time; of each the share that lay in times when launches were recorded. Launches per
 * stay that was looked at, times all stays, are the launches there were. Times alone would not
 * do: they are longer where somebody looks.
 *
 * Of stays that are looked at in part, the time in which launches were recorded counts a little
 * less, since recording takes some of it: half of what that is taken to be, and the other half is
 * how far off it may be (a program that waits for the GPU loses nothing).
 */
#include "base/alloc.h"
#include "base/bisect.h"
#include "fold/windowed.h"

struct looking {
	struct sonde_windowed *w;
	const struct sonde_launches *l;
	const struct sonde_records *r;
	const struct sonde_sampling **of; /* by process, NULL = counted all the time */
};

static const struct sonde_sampling *sampling_of(const struct sonde_records *r, uint32_t process)
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

static bool is_of(const struct sonde_records *r, size_t timing, uint32_t process, uint64_t end)
{
	return timing < r->timings.nr && r->timings.at[timing].process == process &&
	       r->timings.at[timing].begin_ns < end;
}

static bool add_pieces(struct looking *k, size_t timing, uint32_t process, uint32_t number,
	const uint64_t span[2], double share)
{
	for (; is_of(k->r, timing, process, span[1]); timing++) {
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
	const struct sonde_sampling *s = k->of[process];
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
	for (i = first; is_of(k->r, i, process, end); i++)
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

bool sonde_windowed__look(struct sonde_windowed *w, const struct sonde_launches *l)
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

uint32_t sonde_windowed__stays_of(
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
	const struct sonde_sampling *s =
		r->samplings.nr ? sampling_of(r, sonde_record_caller(r, rec)->process) : NULL;

	return s && rec->call_ns >= s->from_ns;
}

bool sonde_windowed__is_whole(const struct sonde_records *r, const struct sonde_range *range)
{
	const struct sonde_sampling *s =
		r->samplings.nr ? sampling_of(r, range->process) : NULL;
	uint64_t begin = range->time.begin_ns, end = range->time.end_ns;
	size_t i;

	if (!s || end <= s->from_ns)
		return true;
	begin = begin > s->from_ns ? begin : s->from_ns;
	i = first_timing(r, range->process, begin);
	return is_of(r, i, range->process, end) && r->timings.at[i].begin_ns <= begin &&
	       r->timings.at[i].end_ns >= end;
}
