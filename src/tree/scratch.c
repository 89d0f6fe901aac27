/* What building reports needs beside them: made once, left as it was after each report. */
#include "tree/tree_int.h"

#include "base/depth_first.h"

/* Cells sorted by scope, within a scope in order. */
static void sort_cells(struct sonde_scratch *x, const struct sonde_tree *t)
{
	size_t nr = t->cells->scopes.nr, i;

	for (i = 0; i < t->cells->cells.nr; i++)
		x->first_of[t->cells->cells.at[i].scope + 1]++;
	for (i = 0; i < nr; i++)
		x->first_of[i + 1] += x->first_of[i];
	for (i = 0; i < t->cells->cells.nr; i++)
		x->cells[x->first_of[t->cells->cells.at[i].scope]++] = (uint32_t)i;
	for (i = nr; i > 0; i--)
		x->first_of[i] = x->first_of[i - 1];
	x->first_of[0] = 0;
}

/* All regions depth-first, so that those of a report are in order once their places are sorted. */
static bool order_regions(struct sonde_scratch *x, const struct sonde_cells *c)
{
	uint32_t i, nr = (uint32_t)c->regions.nr;

	if (nr && !sonde_depth_first(x->order, NULL, nr, &c->regions.at->parent, sizeof(*c->regions.at)))
		return false;
	for (i = 0; i < nr; i++)
		x->place_of[x->order[i]] = i;
	return true;
}

bool sonde_scratch__init(struct sonde_scratch *x, const struct sonde_tree *t)
{
	size_t nr = t->cells->regions.nr;

	*x = (struct sonde_scratch){0};
	x->instances = sonde_arena_calloc(&x->arena, nr, sizeof(*x->instances));
	x->present = sonde_arena_calloc(&x->arena, nr, sizeof(*x->present));
	x->list = sonde_arena_alloc(&x->arena, nr * sizeof(*x->list));
	x->node_of = sonde_arena_alloc(&x->arena, nr * sizeof(*x->node_of));
	x->order = sonde_arena_alloc(&x->arena, nr * sizeof(*x->order));
	x->place_of = sonde_arena_alloc(&x->arena, nr * sizeof(*x->place_of));
	x->cells = sonde_arena_alloc(&x->arena, t->cells->cells.nr * sizeof(*x->cells));
	x->first_of = sonde_arena_calloc(&x->arena, t->cells->scopes.nr + 2, sizeof(*x->first_of));
	if (x->arena.failed || !order_regions(x, t->cells))
		return false;
	sort_cells(x, t);
	return true;
}

void sonde_scratch__clear(struct sonde_scratch *x)
{
	size_t i;

	for (i = 0; i < x->nr; i++) {
		x->instances[x->order[x->list[i]]] = 0;
		x->present[x->order[x->list[i]]] = false;
	}
	x->nr = 0;
}
