/*
 * Captures of nested ranges. A replayed range contains the work of the ranges inside it, and these are captured by a run
 * of their own. Adding the inner results to the outer region would count that work twice.
 */
#include "tree/tree_int.h"

static bool has_own(const struct sonde_nested *n, uint32_t region, uint32_t scope)
{
	const uint32_t key[2] = {scope, region};

	return sonde_map_find(&n->own, SONDE_BYTES(key)) != SONDE_NONE;
}

bool sonde_nested__covers(const struct sonde_nested *n, uint32_t region, uint32_t scope)
{
	return n->is_measured && n->is_measured[region] && !has_own(n, region, scope);
}

bool sonde_nested__is_inside(
	const struct sonde_nested *n, const struct sonde_tree *t, uint32_t place, uint32_t scope)
{
	const struct sonde_cells *l = t->cells;
	const struct sonde_place *p = &l->places.at[place];
	uint32_t k, region;

	if (!n->is_measured)
		return false;
	for (k = 0; k < p->nr; k++)
		for (region = l->regions.at[l->homes.at[p->first + k]].parent; region != SONDE_NONE;
			region = l->regions.at[region].parent)
			if (sonde_nested__covers(n, region, scope))
				return true;
	return false;
}

bool sonde_nested__counts_entries(const struct sonde_nested *n, uint32_t region, uint32_t scope)
{
	if (!n->is_measured)
		return true;
	return n->is_measured[region] ? has_own(n, region, scope) : !n->is_inner[scope];
}

/* Notes that the regions of a cell's place have results of their own in the cell's scope. */
static bool add_own(struct sonde_nested *n, const struct sonde_tree *t, const struct sonde_cell *c)
{
	const struct sonde_place *p = &t->cells->places.at[c->place];
	uint32_t k;

	for (k = 0; k < p->nr; k++) {
		uint32_t region = t->cells->homes.at[p->first + k];
		const uint32_t key[2] = {c->scope, region};

		n->is_measured[region] = true;
		if (sonde_map_keep(&n->own, &n->arena, SONDE_BYTES(key), NULL) == SONDE_NONE)
			return false;
	}
	return true;
}

bool sonde_nested__init(struct sonde_nested *n, const struct sonde_tree *t, uint8_t measured)
{
	const struct sonde_cells *c = t->cells;
	bool *has_outer = sonde_arena_calloc(&n->arena, c->scopes.nr + 1, sizeof(*has_outer));
	size_t i;

	n->is_measured = sonde_arena_calloc(&n->arena, c->regions.nr + 1, sizeof(*n->is_measured));
	n->is_inner = sonde_arena_calloc(&n->arena, c->scopes.nr + 1, sizeof(*n->is_inner));
	if (n->arena.failed)
		return false;
	for (i = 0; i < c->cells.nr; i++)
		if (c->scopes.at[c->cells.at[i].scope].measured == measured &&
			!add_own(n, t, &c->cells.at[i]))
			return false;
	for (i = 0; i < c->cells.nr; i++) {
		const struct sonde_cell *cell = &c->cells.at[i];

		if (c->scopes.at[cell->scope].measured != measured)
			continue;
		if (sonde_nested__is_inside(n, t, cell->place, cell->scope))
			n->is_inner[cell->scope] = n->has_levels = true;
		else
			has_outer[cell->scope] = true;
	}
	for (i = 0; i < c->scopes.nr; i++)
		n->is_inner[i] = n->is_inner[i] && !has_outer[i];
	return true;
}

void sonde_nested__release(struct sonde_nested *n)
{
	sonde_map_release(&n->own);
	sonde_arena_release(&n->arena);
	*n = (struct sonde_nested){0};
}
