/*
 * What each stream did for a region: launches, their time, and how long the
 * stream was busy with them (nodes of one graph launch may overlap, so that is
 * a union again).
 *
 * A launch adds to one row for every region it lies in. Launches at the same
 * place on the same stream add to the same rows, so these are looked up once:
 * far fewer pairs of place and stream than launches.
 */
#include "fold/stay.h"

#include <stdlib.h>
#include <string.h>

struct row {
	uint32_t visit;
	size_t last_pair; /* the number of the last pair that has it, plus one */
	struct sonde_stream sums;
	struct sonde_track track;
};

struct pair {
	uint32_t first, nr; /* slice of `members` */
};

struct work {
	const struct sonde_launches *l;
	const struct sonde_stay *stay;
	struct sonde_map row_keys;  /* {visit, context, stream} */
	struct sonde_map pair_keys; /* {place, context, stream} */
	SONDE_VEC(struct row) rows;
	SONDE_VEC(struct pair) pairs;
	SONDE_VEC(uint32_t) members; /* row numbers */
	struct sonde_arena arena;
};

/* The number of {of, the record's stream}, SONDE_NONE when memory is short. */
static uint32_t key_add(struct work *w, struct sonde_map *map, uint32_t of,
	const struct sonde_record *rec, bool *is_new)
{
	uint32_t key[4] = {of, rec->context, (uint32_t)rec->stream, (uint32_t)(rec->stream >> 32)};

	return sonde_map_keep(map, &w->arena, SONDE_BYTES(key), is_new);
}

/* A launch counts once in a region, however many ways lead there. */
static bool pair_join(
	struct work *w, struct pair *p, uint32_t region, const struct sonde_record *rec)
{
	bool is_new;
	uint32_t number = key_add(w, &w->row_keys, w->stay->of[region], rec, &is_new), *slot;

	if (number == SONDE_NONE)
		return false;
	if (is_new) {
		struct row *row = sonde_vec_push(&w->rows);

		if (!row)
			return false;
		row->visit = w->stay->of[region];
		row->sums.context = rec->context;
		row->sums.stream = rec->stream;
	}
	if (w->rows.at[number].last_pair == w->pairs.nr)
		return true;
	w->rows.at[number].last_pair = w->pairs.nr;
	slot = sonde_vec_push(&w->members);
	if (!slot)
		return false;
	*slot = number;
	p->nr++;
	return true;
}

static bool pair_fill(struct work *w, const struct sonde_launch *launch)
{
	const struct sonde_record *rec = &w->l->records->records.at[launch->record];
	const struct sonde_place *place = &w->l->places.at[launch->place];
	struct pair *slot = sonde_vec_push(&w->pairs), p = {.first = (uint32_t)w->members.nr};
	uint32_t k, region;

	if (!slot)
		return false;
	for (k = 0; k < place->nr; k++)
		for (region = w->l->homes.at[place->first + k]; region != SONDE_NONE;
			region = w->l->regions.at[region].parent)
			if (!pair_join(w, &p, region, rec))
				return false;
	*slot = p;
	return true;
}

static bool add_launches(struct work *w, const struct sonde_stamp *stamps, size_t nr)
{
	const struct sonde_records *records = w->l->records;
	const struct sonde_launch *last = NULL;
	uint32_t number = SONDE_NONE, k;
	bool is_new;
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct sonde_launch *launch = &w->l->launches.at[stamps[i].launch];
		const struct sonde_record *rec = &records->records.at[launch->record];
		const struct sonde_record_time *time = &records->records.at[launch->record].time;
		double duration =
			time->end_ns > time->start_ns ? (double)(time->end_ns - time->start_ns) : 0;
		const struct pair *p;

		if (!last || last->place != launch->place ||
			records->records.at[last->record].stream != rec->stream ||
			records->records.at[last->record].context != rec->context) {
			number = key_add(w, &w->pair_keys, launch->place, rec, &is_new);
			if (number == SONDE_NONE || (is_new && !pair_fill(w, launch)))
				return false;
		}
		last = launch;
		p = &w->pairs.at[number];
		for (k = 0; k < p->nr; k++) {
			struct row *row = &w->rows.at[w->members.at[p->first + k]];

			row->sums.launches++;
			row->sums.time_ns += duration;
			sonde_track__extend(&row->track, time);
		}
	}
	return true;
}

static int by_visit_then_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->visit != y->visit)
		return x->visit < y->visit ? -1 : 1;
	if (x->track.busy_ns != y->track.busy_ns)
		return x->track.busy_ns > y->track.busy_ns ? -1 : 1;
	if (x->sums.context != y->sums.context)
		return x->sums.context < y->sums.context ? -1 : 1;
	return x->sums.stream < y->sums.stream ? -1 : x->sums.stream > y->sums.stream;
}

static bool hand_out(struct work *w, struct sonde_cells *c)
{
	size_t i;

	if (w->rows.nr)
		qsort(w->rows.at, w->rows.nr, sizeof(*w->rows.at), by_visit_then_time);
	for (i = 0; i < w->rows.nr; i++) {
		const struct row *row = &w->rows.at[i];
		struct sonde_visit *v = &w->stay->at[row->visit];
		struct sonde_stream *s = sonde_vec_push(&c->streams);

		if (!s)
			return false;
		*s = row->sums;
		s->busy_ns = (double)row->track.busy_ns;
		if (!v->nr_streams++)
			v->first_stream = (uint32_t)c->streams.nr - 1;
	}
	return true;
}

bool sonde_streams__scope(struct sonde_cells *c, const struct sonde_launches *l,
	const struct sonde_stay *stay, const struct sonde_stamp *stamps, size_t nr)
{
	struct work w = {.l = l, .stay = stay};
	bool ok = add_launches(&w, stamps, nr) && hand_out(&w, c);

	sonde_map_release(&w.row_keys);
	sonde_map_release(&w.pair_keys);
	sonde_vec_release(&w.rows);
	sonde_vec_release(&w.pairs);
	sonde_vec_release(&w.members);
	sonde_arena_release(&w.arena);
	return ok;
}
