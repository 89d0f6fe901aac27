/* Parts of one kind, added up or taken out again: their names, and what is counted. */
#include "fold/rest_int.h"

#include "base/quantile.h"

#include <math.h>

/* --- names ------------------------------------------------------------------------------------- */

static struct sonde_str path_of(const struct sonde_cells *c)
{
	return c->inputs.at[0].path;
}

/* The order of regions is that of the first part by path. */
static bool order_region(struct sonde_rest_moving *m, struct sonde_rest_region *to, uint32_t number)
{
	int c = to->first_path.p ? sonde_str_cmp(path_of(m->c), to->first_path) : -1;

	if (c > 0 || (c == 0 && number >= to->first_number))
		return true;
	to->first_number = number;
	if (c)
		to->first_path = sonde_arena_dup(&m->r->arena, path_of(m->c));
	return to->first_path.p != NULL;
}

static bool enter_region(struct sonde_rest_moving *m, uint32_t number)
{
	struct sonde_rest *r = m->r;
	const struct sonde_region region =
		sonde_region__in(m->c->regions.at[number], m->region_of, m->string_of);
	bool is_new;
	uint32_t at = sonde_region__meet(&r->region_keys, &r->arena, &region, &is_new);
	struct sonde_rest_region *slot;

	slot = at == SONDE_NONE ? NULL : is_new ? sonde_vec_push(&r->regions) : &r->regions.at[at];
	if (!slot)
		return false;
	m->region_of[number] = at;
	if (is_new) {
		slot->region = region;
		slot->region.id = sonde_arena_dup(&r->arena, region.id);
		slot->peak = NAN;
	}
	slot->region.is_shown |= region.is_shown;
	return slot->region.id.p && order_region(m, slot, number);
}

static bool enter_place(struct sonde_rest_moving *m, size_t number)
{
	struct sonde_rest *r = m->r;
	const struct sonde_place *from = &m->c->places.at[number];
	uint32_t *homes = sonde_arena_alloc(&m->arena, (from->nr + 1) * sizeof(*homes)), i, at;
	bool is_new;

	if (!homes || !sonde_vec_reserve(&r->homes, r->homes.nr + from->nr + 1))
		return false;
	for (i = 0; i < from->nr; i++)
		homes[i] = m->region_of[m->c->homes.at[from->first + i]];
	sonde_sort_u32(homes, from->nr);
	at = sonde_map_keep(&r->place_keys, &r->arena,
		(struct sonde_str){(const char *)homes, from->nr * sizeof(*homes)}, &is_new);
	m->place_of[number] = at;
	if (at == SONDE_NONE || !is_new)
		return at != SONDE_NONE;
	if (!sonde_vec_put(&r->places, (struct sonde_place){(uint32_t)r->homes.nr, from->nr}))
		return false;
	for (i = 0; i < from->nr; i++)
		r->homes.at[r->homes.nr++] = homes[i];
	return true;
}

static bool enter_names(struct sonde_rest_moving *m)
{
	const struct sonde_cells *c = m->c;
	uint32_t i;

	m->string_of = sonde_map__enter(&m->r->strings, &m->r->arena, &c->strings, &m->arena);
	m->text_of = sonde_map__enter(&m->r->texts, &m->r->arena, &c->texts, &m->arena);
	m->region_of = sonde_arena_alloc(&m->arena, (c->regions.nr + 1) * sizeof(uint32_t));
	m->place_of = sonde_arena_alloc(&m->arena, (c->places.nr + 1) * sizeof(uint32_t));
	if (!m->string_of || !m->text_of || !m->region_of || !m->place_of)
		return false;
	for (i = 0; i < c->regions.nr; i++)
		if (!enter_region(m, i))
			return false;
	for (i = 0; i < c->places.nr; i++)
		if (!enter_place(m, i))
			return false;
	return true;
}

/* --- a part ------------------------------------------------------------------------------------ */

static void add_tally(struct sonde_rest_moving *m)
{
	struct sonde_cells *to = m->r->c;
	size_t i;

	sonde_cells__add_counts(to, m->c, m->sign);
	to->inputs.at[0].is_windowed |= m->c->inputs.at[0].is_windowed;
	sonde_rest__count(m, &to->inputs.at[0].nr_windows, m->c->inputs.at[0].nr_windows);
	sonde_rest__count(m, &to->inputs.at[0].captured_ns, m->c->inputs.at[0].captured_ns);
	sonde_rest__count(m, &to->inputs.at[0].total_ns, m->c->inputs.at[0].total_ns);
	for (i = 0; i < to->label_rules.nr && i < m->c->label_rules.nr; i++)
		sonde_rest__count(m, &to->label_rules.at[i].changed, m->c->label_rules.at[i].changed);
}

static bool move_part(struct sonde_rest_moving *m)
{
	struct sonde_rest *r = m->r;
	size_t i;

	if (!enter_names(m))
		return false;
	for (i = 0; i < m->c->cells.nr; i++)
		if (!sonde_rest__add_cell(m, &m->c->cells.at[i]))
			return false;
	for (i = 0; i < m->c->visits.nr; i++)
		if (!sonde_rest__add_visit(m, m->c->visits.at[i]))
			return false;
	for (i = 0; i < m->c->scopes.nr; i++) {
		sonde_rest__count(m, &r->nr_launches, m->c->sums.at[i].launches);
		if (!sonde_rest__sum(m, &r->time_ns, m->c->sums.at[i].time_ns))
			return false;
	}
	sonde_rest__count(m, &r->nr_inputs, 1);
	sonde_rest__count(m, &r->nr_scopes, m->c->scopes.nr);
	add_tally(m);
	return m->sign < 0 || (sonde_rest__add_times(m) && sonde_rest__add_ranks(m));
}

bool sonde_rest__add(struct sonde_rest *r, const struct sonde_rest_part *p)
{
	struct sonde_rest_moving m = {.r = r, .c = p->c, .part = p, .sign = 1};
	bool ok = move_part(&m);

	sonde_arena_release(&m.arena);
	return ok;
}

bool sonde_rest__take_out(struct sonde_rest *r, const struct sonde_rest_part *p)
{
	struct sonde_rest_moving m = {.r = r, .c = p->c, .part = p, .sign = -1};
	bool ok = move_part(&m);
	size_t i;

	sonde_rest__drop_ranks(r, p->number);
	for (i = 0; i < r->regions.nr; i++) {
		struct sonde_rest_region *region = &r->regions.at[i];

		sonde_rest__sample(region); /* before: what is left must not depend on who came when */
		sonde_vec_filter(&region->entries, k, region->entries.at[k].part != p->number);
	}
	sonde_arena_release(&m.arena);
	return ok;
}
