/* The names, regions, places and scopes of a part among those it is added to. */
#include "fold/rolled_add_int.h"

#include "base/quantile.h"

#include <string.h>

static uint32_t meet_region(struct sonde_adding *a, const struct sonde_region *r, bool *is_new)
{
	return sonde_region__meet(&a->region_keys, &a->to->arena, r, is_new);
}

/* A place is the regions it is in, in whatever order: the first like it, `new` when there is none. */
static uint32_t find_place(struct sonde_adding *a, const uint32_t *homes, size_t nr, uint32_t new)
{
	uint32_t *sorted = sonde_arena_alloc(&a->arena, (nr + 1) * sizeof(*sorted)), key;
	bool is_new = false;

	if (!sorted)
		return SONDE_NONE;
	if (nr)
		memcpy(sorted, homes, nr * sizeof(*sorted));
	sonde_sort_u32(sorted, nr);
	key = sonde_map_keep(&a->place_keys, &a->to->arena,
		(struct sonde_str){(const char *)sorted, nr * sizeof(*sorted)}, &is_new);
	if (key == SONDE_NONE || (is_new && !sonde_vec_put(&a->place_at, new)))
		return SONDE_NONE;
	return a->place_at.at[key];
}

bool sonde_adding__know(struct sonde_adding *a)
{
	struct sonde_cells *to = a->to;
	bool is_new;
	size_t i;

	for (i = 0; i < to->regions.nr; i++)
		if (meet_region(a, &to->regions.at[i], &is_new) != i)
			return false;
	for (i = 0; i < to->places.nr; i++)
		if (find_place(a, &to->homes.at[to->places.at[i].first], to->places.at[i].nr,
			    (uint32_t)i) == SONDE_NONE)
			return false;
	return true;
}

static bool enter_region(struct sonde_adding *a, size_t number)
{
	struct sonde_region region =
		sonde_region__in(a->from->regions.at[number], a->region_of, a->string_of);
	bool is_new;
	uint32_t at = meet_region(a, &region, &is_new);

	a->region_of[number] = at;
	if (at == SONDE_NONE || is_new)
		return at != SONDE_NONE && sonde_cells__keep(a->to, &region.id) &&
		       sonde_vec_put(&a->to->regions, region);
	a->to->regions.at[at].is_shown |= region.is_shown;
	return true;
}

static bool enter_place(struct sonde_adding *a, size_t number)
{
	const struct sonde_place *from = &a->from->places.at[number];
	struct sonde_cells *to = a->to;
	uint32_t first = (uint32_t)to->homes.nr, new = (uint32_t)to->places.nr, i;

	if (!sonde_vec_reserve(&to->homes, first + from->nr + 1))
		return false;
	for (i = 0; i < from->nr; i++)
		to->homes.at[first + i] = a->region_of[a->from->homes.at[from->first + i]];
	a->place_of[number] = find_place(a, &to->homes.at[first], from->nr, new);
	if (a->place_of[number] != new)
		return a->place_of[number] != SONDE_NONE;
	to->homes.nr += from->nr;
	return sonde_vec_put(&to->places, (struct sonde_place){first, from->nr});
}

/* Makes room for a scope at `at`: those behind it get another number. */
static bool insert_scope(struct sonde_adding *a, uint32_t at, const struct sonde_scope *scope)
{
	struct sonde_cells *to = a->to;
	size_t i;

	if (!sonde_vec_push(&to->scopes) || !sonde_vec_push(&to->sums))
		return false;
	for (i = to->scopes.nr - 1; i > at; i--) {
		to->scopes.at[i] = to->scopes.at[i - 1];
		to->sums.at[i] = to->sums.at[i - 1];
	}
	to->scopes.at[at] = *scope;
	to->sums.at[at] = (struct sonde_scope_sum){0};
	for (i = 0; i < to->cells.nr; i++)
		to->cells.at[i].scope += to->cells.at[i].scope >= at;
	for (i = 0; i < to->visits.nr; i++)
		to->visits.at[i].scope += to->visits.at[i].scope >= at;
	for (i = 0; i < to->gaps.nr; i++)
		to->gaps.at[i].scope += to->gaps.at[i].scope >= at;
	for (i = 0; i < a->streams.nr; i++)
		a->streams.at[i].scope += a->streams.at[i].scope >= at;
	return sonde_cells__keep(to, &to->scopes.at[at].name);
}

/*
 * By device. What had not used one so far has used the first one from the beginning: a report of
 * all files in one would say so too.
 */
static bool enter_scope(struct sonde_adding *a, size_t number)
{
	const struct sonde_scope *from = &a->from->scopes.at[number];
	struct sonde_cells *to = a->to;
	uint32_t at;

	for (at = 0; at < to->scopes.nr && to->scopes.at[at].device < from->device; at++)
		;
	a->scope_of[number] = at;
	if (from->device == SONDE_NONE && to->scopes.nr)
		a->scope_of[number] = 0;
	else if (to->scopes.nr == 1 && to->scopes.at[0].device == SONDE_NONE)
		to->scopes.at[0].device = from->device;
	else if (at == to->scopes.nr || to->scopes.at[at].device != from->device)
		return insert_scope(a, at, from);
	return true;
}

static bool enter_devices(struct sonde_adding *a)
{
	struct sonde_cells *to = a->to;
	size_t i, k;

	for (i = 0; i < a->from->devices.nr; i++) {
		const struct sonde_device *from = &a->from->devices.at[i];

		for (k = 0; k < to->devices.nr && to->devices.at[k].id != from->id; k++)
			;
		if (k == to->devices.nr && !sonde_cells__add_device(to, from))
			return false;
	}
	return true;
}

bool sonde_adding__enter(struct sonde_adding *a)
{
	const struct sonde_cells *from = a->from;
	size_t i;

	a->string_of = sonde_map__enter(&a->to->strings, &a->to->arena, &from->strings, &a->arena);
	a->text_of = sonde_map__enter(&a->to->texts, &a->to->arena, &from->texts, &a->arena);
	a->region_of = sonde_arena_alloc(&a->arena, (from->regions.nr + 1) * sizeof(uint32_t));
	a->place_of = sonde_arena_alloc(&a->arena, (from->places.nr + 1) * sizeof(uint32_t));
	a->scope_of = sonde_arena_alloc(&a->arena, (from->scopes.nr + 1) * sizeof(uint32_t));
	if (!a->string_of || !a->text_of || !a->region_of || !a->place_of || !a->scope_of)
		return false;
	for (i = 0; i < from->regions.nr; i++)
		if (!enter_region(a, i))
			return false;
	for (i = 0; i < from->places.nr; i++)
		if (!enter_place(a, i))
			return false;
	for (i = 0; i < from->scopes.nr; i++)
		if (!enter_scope(a, i))
			return false;
	return enter_devices(a);
}
