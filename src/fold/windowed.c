/*
 * Captures with a budget: GPU work was timed at random times only, launches were
 * counted all the time. What was timed of a place (the open ranges at a launch)
 * stands for all launches there: T = t × N ÷ n. Where counting alone would have exceeded
 * the budget, N is an estimate too: launches per stay that was looked at × stays
 * (windowed_stays.c).
 */
#include "fold/fold_int.h"
#include "fold/windowed.h"

#include "base/alloc.h"

#include <string.h>

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

static bool add_launch(
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
		p->stays = sonde_windowed__stays_of(w, l, key[0], key[1]);
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

	if (!sonde_windowed__look(w, l))
		return false;
	for (i = 0; i < l->launches.nr; i++)
		if (!add_launch(w, l, &l->launches.at[i]))
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
