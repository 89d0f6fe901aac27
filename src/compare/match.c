/*
 * Regions of all runs, matched by id and kind and put in one depth-first order:
 * that of the new side, with regions only the base has behind their siblings.
 */
#include "compare/diff_int.h"

#include "base/depth_first.h"

#include <string.h>

/* The union of all regions while it is built, in order of appearance. */
struct pool {
	struct sonde_map keys;
	SONDE_VEC(struct sonde_diff_region) regions; /* `parent` is a number in here */
	uint32_t *nodes;			     /* region × run */
	size_t nr_reserved;
};

static void describe(struct sonde_diff_region *g, const struct sonde_tree *t,
	const struct sonde_node *n, uint32_t parent)
{
	const struct sonde_region *r = sonde_node_region(t, n);

	g->id = g->path = r->id;
	g->label = sonde_node_label(t, n);
	g->kind = r->kind;
	g->parent = parent;
	if (r->domain != SONDE_NONE)
		g->domain = sonde_tree_str(t, r->domain);
}

/* Scope, kind and id. */
static struct sonde_str key_of(struct sonde_arena *a, const struct sonde_region *r, uint32_t scope)
{
	size_t head = sizeof(scope) + 1;
	char *key = sonde_arena_alloc(a, r->id.n + head);

	if (!key)
		return (struct sonde_str){NULL, 0};
	memcpy(key, &scope, sizeof(scope));
	key[sizeof(scope)] = (char)r->kind;
	memcpy(key + head, r->id.p, r->id.n);
	return (struct sonde_str){key, r->id.n + head};
}

/* Names for people begin with the scope, where scopes are compared one by one. */
static bool name_scope(struct sonde_diff *d, struct sonde_diff_region *g, struct sonde_str scope)
{
	g->scope = scope;
	if (!scope.p)
		return true;
	g->id = sonde_arena_printf(
		&d->arena, "%.*s: %.*s", SONDE_STR_ARG(scope), SONDE_STR_ARG(g->path));
	if (g->parent == SONDE_NONE)
		g->label = sonde_arena_printf(
			&d->arena, "%.*s: %.*s", SONDE_STR_ARG(scope), SONDE_STR_ARG(g->label));
	return g->id.p && g->label.p;
}

/* One run; `of_node` receives by node number which region it is. */
static bool add_run(struct pool *p, struct sonde_diff *d, const struct sonde_diff__match *m,
	uint32_t scope, size_t run, uint32_t *of_node)
{
	const struct sonde_report *rep = m->reports[scope * m->nr_runs + run];
	size_t i;

	for (i = 0; rep && i < rep->nodes.nr; i++) {
		const struct sonde_node *n = &rep->nodes.at[i];
		const struct sonde_region *r = sonde_node_region(m->trees[run], n);
		struct sonde_str key = key_of(&d->arena, r, scope);
		struct sonde_diff_region *g;
		bool is_new = false;
		uint32_t at = key.p ? sonde_map_add(&p->keys, key, &is_new) : SONDE_NONE;

		g = at != SONDE_NONE && is_new ? sonde_vec_push(&p->regions) : NULL;
		if (at == SONDE_NONE || (is_new && !g))
			return false;
		if (is_new) {
			describe(g, m->trees[run], n,
				n->parent == SONDE_NONE ? SONDE_NONE : of_node[n->parent]);
			g->scope_nr = scope;
			if (!name_scope(d, g, m->scopes[scope]))
				return false;
		}
		of_node[i] = at;
		p->nodes[at * m->nr_runs + run] = (uint32_t)i;
	}
	return true;
}

/* The new side first: its order is the one people know. */
static bool fill(struct pool *p, struct sonde_diff *d, struct sonde_diff__match *m)
{
	size_t most = 0, i, k, nr = m->nr_scopes * m->nr_runs;
	uint32_t *of_node;
	bool ok = true;

	for (i = 0; i < nr; i++) {
		size_t nr_nodes = m->reports[i] ? m->reports[i]->nodes.nr : 0;

		p->nr_reserved += nr_nodes;
		most = nr_nodes > most ? nr_nodes : most;
	}
	of_node = sonde_arena_alloc(&m->arena, (most + 1) * sizeof(*of_node));
	p->nodes = sonde_arena_alloc(&m->arena, (p->nr_reserved + 1) * m->nr_runs * sizeof(*p->nodes));
	ok = of_node && p->nodes;
	for (i = 0; ok && i < p->nr_reserved * m->nr_runs; i++)
		p->nodes[i] = SONDE_NONE;
	for (i = 0; i < m->nr_scopes; i++)
		for (k = 0; k < m->nr_runs && ok; k++)
			ok = add_run(p, d, m, (uint32_t)i, (m->nr_base + k) % m->nr_runs, of_node);
	return ok;
}

/* Puts regions and nodes in that order. */
static bool settle(const struct pool *p, struct sonde_diff *d, struct sonde_diff__match *m)
{
	size_t nr = p->regions.nr, i, k;
	uint32_t *order = sonde_arena_alloc(&m->arena, (nr + 1) * sizeof(*order)),
		 *place = sonde_arena_alloc(&m->arena, (nr + 1) * sizeof(*place));

	m->nodes = sonde_arena_alloc(&m->arena, (nr + 1) * m->nr_runs * sizeof(*m->nodes));
	m->scope_of = sonde_arena_alloc(&m->arena, (nr + 1) * sizeof(*m->scope_of));
	if (m->arena.failed || !sonde_vec_reserve(&d->regions, nr + 1) ||
		(nr && !sonde_depth_first(order, NULL, nr, &p->regions.at->parent, sizeof(*p->regions.at))))
		return false;
	for (i = 0; i < nr; i++)
		place[order[i]] = (uint32_t)i;
	for (i = 0; i < nr; i++) {
		struct sonde_diff_region *g = &d->regions.at[d->regions.nr++];

		*g = p->regions.at[order[i]];
		g->twin = SONDE_NONE;
		m->scope_of[i] = g->scope_nr;
		if (g->parent != SONDE_NONE) {
			g->parent = place[g->parent];
			g->depth = d->regions.at[g->parent].depth + 1;
		}
		for (k = 0; k < m->nr_runs; k++)
			m->nodes[i * m->nr_runs + k] = p->nodes[order[i] * m->nr_runs + k];
	}
	return true;
}

bool sonde_diff__match(struct sonde_diff *d, struct sonde_diff__match *m)
{
	struct pool p = {0};
	bool ok = fill(&p, d, m) && settle(&p, d, m);

	sonde_map_release(&p.keys);
	sonde_vec_release(&p.regions);
	return ok;
}
