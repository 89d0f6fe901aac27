/* What building reports needs beside them: made once, left as it was after each report. */
#include "tree/tree_int.h"

#include "base/alloc.h"

#include <string.h>

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

int sonde_scratch__init(struct sonde_scratch *x, const struct sonde_tree *t, struct sonde_err *err)
{
	size_t nr = t->cells->regions.nr;

	*x = (struct sonde_scratch){0};
	x->instances = sonde_calloc(nr, sizeof(*x->instances));
	x->present = sonde_calloc(nr, sizeof(*x->present));
	x->list = sonde_malloc(nr * sizeof(*x->list));
	x->node_of = sonde_malloc(nr * sizeof(*x->node_of));
	x->first_child = sonde_malloc(nr * sizeof(*x->first_child));
	x->next = sonde_malloc(nr * sizeof(*x->next));
	x->cells = sonde_malloc(t->cells->cells.nr * sizeof(*x->cells));
	x->first_of = sonde_calloc(t->cells->scopes.nr + 2, sizeof(*x->first_of));
	if (!x->instances || !x->present || !x->list || !x->node_of || !x->first_child ||
		!x->next || !x->cells || !x->first_of)
		return sonde_err_nomem(err);
	memset(x->node_of, 0xff, nr * sizeof(*x->node_of));
	memset(x->first_child, 0xff, nr * sizeof(*x->first_child));
	memset(x->next, 0xff, nr * sizeof(*x->next));
	sort_cells(x, t);
	return 0;
}

void sonde_scratch__clear(struct sonde_scratch *x)
{
	size_t i;

	for (i = 0; i < x->nr; i++) {
		uint32_t region = x->list[i];

		x->instances[region] = 0;
		x->present[region] = false;
		x->node_of[region] = x->first_child[region] = x->next[region] = SONDE_NONE;
	}
	x->nr = 0;
}

void sonde_scratch__release(struct sonde_scratch *x)
{
	sonde_free(x->instances);
	sonde_free(x->present);
	sonde_free(x->list);
	sonde_free(x->node_of);
	sonde_free(x->first_child);
	sonde_free(x->next);
	sonde_free(x->cells);
	sonde_free(x->first_of);
}
