/*
 * Origins: where work was written, hung below where it was launched
 * (report.origins=below).
 *
 * A node of a CUDA graph was captured under ranges; a backward operator has a
 * forward one. The path of that place is hung below the launching one, without
 * the part that all origins of the graph, or of all backward passes launched
 * there, have in common: nodes captured in capture/layer0 and capture/layer1,
 * launched in decode, are decode/layer0 and decode/layer1.
 */
#include "attribute/launches_int.h"

#include "base/alloc.h"

#include <string.h>

/* Of the ids of regions made here: paths below paths, which few bytes of a capture could multiply. */
#define MAX_ID_BYTES (128u << 20)

/* The last frame two stacks have in common, SONDE_NONE = none. */
static uint32_t common(const struct sonde_build *b, uint32_t x, uint32_t y)
{
	const struct sonde_stack *s = b->stacks.at;

	while (x != y && x != SONDE_NONE && y != SONDE_NONE) {
		uint32_t deeper = s[x].depth >= s[y].depth ? x : y;

		if (s[x].depth == s[y].depth)
			y = s[y].parent;
		if (deeper == x)
			x = s[x].parent;
		else
			y = s[y].parent;
	}
	return x == y ? x : SONDE_NONE;
}

/* The stack `place` with the frames of `origin` inside `cut` below it; SONDE_NONE: no memory. */
static uint32_t hang(struct sonde_build *b, uint32_t place, uint32_t origin, uint32_t cut,
	enum sonde_region_kind kind)
{
	uint32_t at, nr = 0, before = (uint32_t)b->l->regions.nr, inner;
	bool is_cut = false;

	if (b->hung_bytes > MAX_ID_BYTES) {
		b->nr_not_hung++;
		return place;
	}
	for (at = origin; at != cut && at != SONDE_NONE; at = b->stacks.at[at].parent)
		nr++;
	if (!sonde_vec_reserve(&b->frames, nr))
		return SONDE_NONE;
	b->frames.nr = nr;
	for (at = origin; nr; at = b->stacks.at[at].parent)
		b->frames.at[--nr] = b->stacks.at[at].label;
	for (nr = 0; nr < b->frames.nr && place != SONDE_NONE; nr++, place = inner) {
		inner = sonde_build__child(b, place, b->frames.at[nr], kind);
		is_cut |= inner == place;
	}
	b->nr_not_hung += is_cut;
	for (; before < b->l->regions.nr; before++)
		b->hung_bytes += b->l->regions.at[before].id.n;
	return place;
}

/* --- what origins have in common, by group ---------------------------------------------------- */

/* Stacks launched together are of one graph: a forest of them, and per root what they share. */
struct graphs {
	uint32_t *up;	  /* by stack: towards the root; itself = a root, SONDE_NONE = no origin */
	uint32_t *shared; /* by root */
	bool *has_shared;
};

static uint32_t root_of(struct graphs *g, uint32_t stack)
{
	while (g->up[stack] != stack)
		stack = g->up[stack] = g->up[g->up[stack]];
	return stack;
}

static void unite(struct graphs *g, uint32_t a, uint32_t c)
{
	uint32_t x, y;

	if (g->up[a] == SONDE_NONE)
		g->up[a] = a;
	if (g->up[c] == SONDE_NONE)
		g->up[c] = c;
	x = root_of(g, a);
	y = root_of(g, c);
	if (x != y)
		g->up[x > y ? x : y] = x > y ? y : x;
}

static void share(const struct sonde_build *b, struct graphs *g)
{
	uint32_t i, root;

	for (i = 0; i < b->stacks.nr; i++) {
		if (g->up[i] == SONDE_NONE)
			continue;
		root = root_of(g, i);
		g->shared[root] = g->has_shared[root] ? common(b, g->shared[root], i) : i;
		g->has_shared[root] = true;
	}
}

static bool graphs_init(struct graphs *g, size_t nr)
{
	g->up = sonde_malloc((nr + 1) * sizeof(*g->up));
	g->shared = sonde_malloc((nr + 1) * sizeof(*g->shared));
	g->has_shared = sonde_calloc(nr + 1, sizeof(*g->has_shared));
	if (g->up)
		memset(g->up, 0xff, nr * sizeof(*g->up));
	return g->up && g->shared && g->has_shared;
}

static void graphs_release(struct graphs *g)
{
	sonde_free(g->up);
	sonde_free(g->shared);
	sonde_free(g->has_shared);
}

/* What all backward origins launched at one stack share. */
struct passes {
	struct sonde_map keys; /* launching stack */
	SONDE_VEC(uint32_t) shared;
};

static bool add_pass(struct sonde_build *b, struct passes *p, uint32_t place, uint32_t origin)
{
	bool is_new;
	uint32_t n = sonde_build__key(b, &p->keys, &place, 1, &is_new),
		 *slot = sonde_map_slot(&p->shared, n);

	if (!slot)
		return false;
	*slot = is_new ? origin : common(b, *slot, origin);
	return true;
}

static uint32_t shared_at(const struct passes *p, uint32_t place)
{
	uint32_t n = sonde_map_find(&p->keys, SONDE_BYTES(place));

	return n == SONDE_NONE ? SONDE_NONE : p->shared.at[n];
}

/* --- origins of records ------------------------------------------------------------------------ */

/* The stack a launch with an origin hangs below: of the same domain. SONDE_NONE: outside. */
static uint32_t place_of_launch(const struct sonde_build *b, uint32_t launch)
{
	const struct sonde_record *rec = &b->r->records.at[launch];
	const uint32_t *members;
	struct sonde_set set =
		sonde_launches_set(b->l, b->l->launches.at[launch].open, &members);
	uint32_t i;

	for (i = 0; i < set.nr; i++) {
		const struct sonde_range *g = &b->r->ranges.at[members[i]];

		if (g->kind == SONDE_PUSH_POP && g->domain == b->r->ranges.at[rec->origin].domain)
			return b->stack_of[members[i]];
	}
	return SONDE_NONE;
}

static bool is_same_call(const struct sonde_record *a, const struct sonde_record *c)
{
	return a->caller == c->caller && a->call_ns == c->call_ns;
}

static bool group_records(struct sonde_build *b, struct graphs *g, struct passes *p)
{
	const struct sonde_record *last = NULL;
	uint32_t place;
	size_t i;

	for (i = 0; i < b->hung.nr; i++) {
		const struct sonde_record *rec = &b->r->records.at[b->hung.at[i].launch];

		if (rec->origin_kind == SONDE_ORIGIN_GRAPH) {
			unite(g, b->stack_of[rec->origin],
				b->stack_of[last && is_same_call(last, rec) ? last->origin
									    : rec->origin]);
			last = rec;
		}
		place = rec->origin_kind == SONDE_ORIGIN_BACKWARD
				? place_of_launch(b, b->hung.at[i].launch)
				: SONDE_NONE;
		if (place != SONDE_NONE && !add_pass(b, p, place, b->stack_of[rec->origin]))
			return false;
	}
	share(b, g);
	return true;
}

static bool hang_record(
	struct sonde_build *b, struct graphs *g, struct passes *p, struct sonde_hung *hung)
{
	const struct sonde_record *rec = &b->r->records.at[hung->launch];
	bool is_graph = rec->origin_kind == SONDE_ORIGIN_GRAPH;
	uint32_t place = place_of_launch(b, hung->launch), origin, cut;

	if (place == SONDE_NONE)
		return true;
	origin = b->stack_of[rec->origin];
	cut = is_graph ? g->shared[root_of(g, origin)] : shared_at(p, place);
	hung->place = place;
	hung->stack = hang(b, place, origin, cut,
		is_graph ? SONDE_REGION_GRAPH : SONDE_REGION_BACKWARD);
	return hung->stack != SONDE_NONE;
}

int sonde_build__hang_records(struct sonde_build *b, struct sonde_err *err)
{
	struct graphs g = {0};
	struct passes p = {0};
	bool ok;
	size_t i;

	if (!b->hung.nr)
		return 0;
	ok = graphs_init(&g, b->stacks.nr) && group_records(b, &g, &p);
	for (i = 0; i < b->hung.nr && ok; i++)
		ok = hang_record(b, &g, &p, &b->hung.at[i]);
	graphs_release(&g);
	sonde_map_release(&p.keys);
	sonde_vec_release(&p.shared);
	return ok ? 0 : sonde_err_nomem(err);
}

/* --- backward operators that are ranges themselves -------------------------------------------- */

/* The stack an operator was launched in: around it, or that of the thread it works for. */
static uint32_t place_of_operator(const struct sonde_build *b, const struct sonde_backward *w)
{
	const struct sonde_range *g = &b->r->ranges.at[w->range];
	const uint32_t *members;
	struct sonde_set set;
	uint32_t i;

	if (g->parent != SONDE_NONE)
		return b->stack_of[g->parent];
	set = sonde_launches_set(b->l, w->lent, &members);
	for (i = 0; i < set.nr; i++)
		if (b->r->ranges.at[members[i]].domain == g->domain)
			return b->stack_of[members[i]];
	return SONDE_NONE;
}

int sonde_build__hang_backward(struct sonde_build *b, struct sonde_err *err)
{
	struct passes p = {0};
	bool ok = true;
	size_t i;

	for (i = 0; i < b->backward.nr && ok; i++) {
		struct sonde_backward *w = &b->backward.at[i];

		w->stack = place_of_operator(b, w);
		if (w->stack != SONDE_NONE && w->origin != SONDE_NONE)
			ok = add_pass(b, &p, w->stack, b->stack_of[w->origin]);
	}
	for (i = 0; i < b->backward.nr && ok; i++) {
		struct sonde_backward *w = &b->backward.at[i];

		if (w->stack == SONDE_NONE || w->origin == SONDE_NONE)
			continue;
		w->stack = hang(b, w->stack, b->stack_of[w->origin], shared_at(&p, w->stack),
			SONDE_REGION_BACKWARD);
		ok = w->stack != SONDE_NONE;
	}
	sonde_map_release(&p.keys);
	sonde_vec_release(&p.shared);
	return ok ? 0 : sonde_err_nomem(err);
}
