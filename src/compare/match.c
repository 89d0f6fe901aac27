/*
 * Which reports of the runs, and which of their regions, are compared with each other.
 *
 * Regions of all runs are matched by id and kind and put in one depth-first order: that of the new side, with regions
 * that only the base has behind their siblings.
 *
 * Reports are the aggregates of the runs, or those of each scope. Scopes match by rank, then by the position of the
 * device among those of the rank; without ranks, by the position of the process in the run. Process ids and GPU numbers
 * change from run to run, so they are not used.
 */
#include "base/depth_first.h"
#include "compare/diff_int.h"

#include <string.h>

/* The aggregate over kernels; if there is none, the one over ranges. */
static const struct sonde_report *aggregate_of(const struct sonde_tree *t)
{
	size_t i;

	for (i = 0; i < t->reports.nr; i++)
		if (t->reports.at[i].is_aggregate)
			return &t->reports.at[i];
	return t->reports.nr ? &t->reports.at[0] : NULL;
}

static int find_aggregates(struct sonde_diff__match *m, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < m->nr_runs; i++) {
		m->aggregates[i] = aggregate_of(m->trees[i]);
		if (!m->aggregates[i])
			return sonde_err_set(err, SONDE_ERR_FORMAT,
				"diff: input %zu has neither regions nor kernels: leave it out", i + 1);
	}
	return 0;
}

/* --- names that mean the same in every run --------------------------------------------------- */

/* The names in one run: ranks or processes, and the number of devices that each has so far. */
struct census {
	struct sonde_map names; /* ranks or processes */
	SONDE_VEC(uint32_t) devices;
};

/* "rank 3" of "rank 3 · node1 · GPU 2", "process:12" of "process:12/device:0". */
static struct sonde_str rank_or_process(struct sonde_str name)
{
	size_t n = 0;

	if (sonde_str_starts(name, "rank ")) {
		for (n = 5; n < name.n && name.p[n] >= '0' && name.p[n] <= '9';)
			n++;
		return (struct sonde_str){name.p, n};
	}
	while (n < name.n && name.p[n] != '/')
		n++;
	return (struct sonde_str){name.p, n};
}

/* The name of the next scope of a run, in the comparison's arena; p NULL when memory is short. */
static struct sonde_str name_scope(struct sonde_diff *d, struct census *c, struct sonde_str name)
{
	struct sonde_str owner = rank_or_process(name), out = {NULL, 0};
	bool is_new = false, is_rank = sonde_str_starts(owner, "rank ");
	uint32_t at = sonde_map_add(&c->names, owner, &is_new), device;

	if (at == SONDE_NONE || (is_new && !sonde_vec_push(&c->devices)))
		return out;
	device = c->devices.at[at]++;
	out = is_rank ? sonde_arena_printf(&d->arena, "%.*s", SONDE_STR_ARG(owner))
		      : sonde_arena_printf(&d->arena, "process %u", at + 1);
	return device && out.p ? sonde_arena_printf(&d->arena, "%.*s, device %u",
					 SONDE_STR_ARG(out), device + 1)
			       : out;
}

/* --- scope by scope --------------------------------------------------------------------------- */

/* All scopes that some run has. */
struct found_scopes {
	struct sonde_map names;
	SONDE_VEC(const struct sonde_report *) reports; /* name × run; NULL = the run does not have it */
};

static bool note_scope(struct found_scopes *f, const struct sonde_diff__match *m, struct sonde_str name,
	size_t run, const struct sonde_report *report)
{
	uint32_t at = name.p ? sonde_map_add(&f->names, name, NULL) : SONDE_NONE;

	if (at == SONDE_NONE)
		return false;
	while (f->reports.nr < f->names.nr * m->nr_runs)
		if (!sonde_vec_put(&f->reports, NULL))
			return false;
	f->reports.at[at * m->nr_runs + run] = report;
	return true;
}

static bool find_scopes(
	struct sonde_diff *d, struct found_scopes *f, const struct sonde_diff__match *m, size_t run)
{
	const struct sonde_tree *t = m->trees[run];
	struct census c = {0};
	bool ok = true, is_any = false;
	size_t i;

	for (i = 0; i < t->reports.nr && ok; i++) {
		const struct sonde_report *r = &t->reports.at[i];

		if (r->is_aggregate || r->measured != m->aggregates[run]->measured)
			continue;
		is_any = true;
		ok = note_scope(f, m, name_scope(d, &c, r->name), run, r);
	}
	/* A finished report of a single scope has its regions only in the aggregate. */
	if (ok && !is_any)
		ok = note_scope(f, m,
			name_scope(d, &c,
				t->cells->scopes.nr ? t->cells->scopes.at[0].name
						    : SONDE_STR("process:1")),
			run, m->aggregates[run]);
	sonde_map_release(&c.names);
	sonde_vec_release(&c.devices);
	return ok;
}

static bool is_on_side(const struct found_scopes *f, const struct sonde_diff__match *m, size_t scope,
	size_t run, size_t end)
{
	for (; run < end; run++)
		if (f->reports.at[scope * m->nr_runs + run])
			return true;
	return false;
}

/* Keeps the scopes that both sides have, and warns about the others. */
static bool keep_common(struct sonde_diff *d, struct sonde_diff__match *m, const struct found_scopes *f)
{
	size_t i, run;

	m->reports = sonde_arena_calloc(&m->arena, f->reports.nr + 1, sizeof(*m->reports));
	m->scopes = sonde_arena_calloc(&m->arena, f->names.nr + 1, sizeof(*m->scopes));
	if (!m->reports || !m->scopes)
		return false;
	for (i = 0; i < f->names.nr; i++) {
		bool in_base = is_on_side(f, m, i, 0, m->nr_base),
		     in_new = is_on_side(f, m, i, m->nr_base, m->nr_runs);

		if (!in_base || (!in_new && m->nr_runs > m->nr_base)) {
			sonde_note(&d->warnings, "scopes: %.*s is only in the %s, so it is not compared",
				SONDE_STR_ARG(f->names.keys[i]), in_base ? "base" : "new side");
			if (in_base && d->options.nr_limits)
				sonde_note(&d->gate_reasons, "%.*s is gone: only the base has it",
					SONDE_STR_ARG(f->names.keys[i]));
			continue;
		}
		for (run = 0; run < m->nr_runs; run++)
			m->reports[m->nr_scopes * m->nr_runs + run] =
				f->reports.at[i * m->nr_runs + run];
		m->scopes[m->nr_scopes++] = f->names.keys[i];
	}
	return true;
}

static int take_scopes(struct sonde_diff *d, struct sonde_diff__match *m, struct sonde_err *err)
{
	struct found_scopes f = {0};
	bool ok = true;
	size_t run;

	for (run = 0; run < m->nr_runs && ok; run++)
		ok = find_scopes(d, &f, m, run);
	ok = ok && keep_common(d, m, &f);
	sonde_map_release(&f.names);
	sonde_vec_release(&f.reports);
	if (!ok)
		return sonde_err_nomem(err);
	return m->nr_scopes ? 0
			    : sonde_err_set(err, SONDE_ERR_FORMAT,
				      "diff: no rank and no process is on both sides: leave out --per-scope");
}

int sonde_diff__take_reports(
	struct sonde_diff *d, struct sonde_diff__match *m, struct sonde_err *err)
{
	int rc = find_aggregates(m, err);

	if (rc)
		return rc;
	if (d->options.per_scope)
		return take_scopes(d, m, err);
	m->nr_scopes = 1;
	m->reports = sonde_arena_alloc(&m->arena, (m->nr_runs + 1) * sizeof(*m->reports));
	m->scopes = sonde_arena_calloc(&m->arena, 1, sizeof(*m->scopes));
	if (!m->reports || !m->scopes)
		return sonde_err_nomem(err);
	memcpy(m->reports, m->aggregates, m->nr_runs * sizeof(*m->reports));
	return 0;
}

/* All regions of all runs while they are collected, in order of appearance. */
struct region_pool {
	struct sonde_map keys;
	SONDE_VEC(struct sonde_diff_region) regions; /* `parent` is an index into this list */
	uint32_t *nodes;			     /* region × run: node numbers */
	size_t nr_reserved;
};

static void describe_region(struct sonde_diff_region *g, const struct sonde_tree *t,
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

/* The key of a region: scope, kind and id. */
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

/* If scopes are compared one by one, names for people begin with the scope. */
static bool set_scope(struct sonde_diff *d, struct sonde_diff_region *g, struct sonde_str scope)
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

/* Adds the regions of one run. Sets `of_node[i]` to the region of node i. */
static bool add_run(struct region_pool *p, struct sonde_diff *d, const struct sonde_diff__match *m,
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
			describe_region(g, m->trees[run], n,
				n->parent == SONDE_NONE ? SONDE_NONE : of_node[n->parent]);
			g->scope_nr = scope;
			if (!set_scope(d, g, m->scopes[scope]))
				return false;
		}
		of_node[i] = at;
		p->nodes[at * m->nr_runs + run] = (uint32_t)i;
	}
	return true;
}

/* The new side comes first, because people know its order. */
static bool fill_pool(struct region_pool *p, struct sonde_diff *d, struct sonde_diff__match *m)
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

/* Puts regions and nodes in depth-first order. */
static bool order_regions(const struct region_pool *p, struct sonde_diff *d, struct sonde_diff__match *m)
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
	struct region_pool p = {0};
	bool ok = fill_pool(&p, d, m) && order_regions(&p, d, m);

	sonde_map_release(&p.keys);
	sonde_vec_release(&p.regions);
	return ok;
}
