/*
 * Counts how often each region was entered, per scope. An entry with launches counts in
 * every scope it launched something in. An entry without launches counts in the first scope
 * of the entry around it, or if it is outermost in the first scope of its process.
 */
#include "attribute/launches_int.h"

#include <string.h>

/* All of it is in b->step. */
struct counting {
	uint8_t *seen;		  /* by range: counted in some scope; bit 0: of kernels, bit 1: of replayed ranges */
	uint32_t *scope_of;	  /* scope_of.at of the launches; SONDE_NONE = no scope has counted the range yet */
	uint32_t *set_scope;	  /* by set of open ranges: the last scope that counted them */
	bool *is_multi;		  /* by process: has several scopes */
	uint32_t *first_scope;	  /* by process */
	struct sonde_map visited; /* {range, scope}, only for processes with several scopes */
	struct sonde_map keys;	  /* {scope, region} → number in the presences */
};

/* Returns the presence of a region in a scope, creating it if new, without any entry. */
static struct sonde_presence *make_presence(
	struct sonde_build *b, struct counting *c, uint32_t scope, uint32_t region)
{
	uint32_t key[2] = {scope, region}, number = sonde_build__key(&b->step, &c->keys, key, 2, NULL);
	struct sonde_presence *p = sonde_slot(&b->l->arena, &b->l->presences, number);

	p->scope = scope;
	p->region = region;
	return p;
}

/* `is_late`: the entry was counted in another scope already, and a launch that is counted now adds this scope. */
static void count_one(struct sonde_build *b, struct counting *c, uint32_t range, uint32_t scope,
	bool is_first, bool is_late)
{
	const struct sonde_range *at = &b->r->ranges.at[range];
	uint32_t region = b->l->region_of.at[range];
	struct sonde_presence *p;

	if (region == SONDE_NONE)
		return;
	p = make_presence(b, c, scope, region);
	p->instances += at->begun == SONDE_NOW || (at->begun == SONDE_BEFORE && is_late);
	p->first_instances += is_first && !at->is_inherited && at->begun == SONDE_NOW;
}

/*
 * Counts an entry and the entries around it in a scope, unless this scope has counted them already. `when` is that of
 * the launch; launches of files that were counted before (SONDE_BEFORE) come first.
 */
static void count_entry(
	struct sonde_build *b, struct counting *c, uint32_t range, uint32_t scope, enum sonde_when when)
{
	uint8_t bit = b->l->scopes.at[scope].measured == SONDE_MEASURED_KERNEL ? 1 : 2;

	for (; range != SONDE_NONE; range = b->r->ranges.at[range].parent) {
		bool is_first = !(c->seen[range] & bit), is_new = is_first;

		if (c->is_multi[b->r->ranges.at[range].process]) {
			uint32_t key[2] = {range, scope};

			sonde_build__key(&b->step, &c->visited, key, 2, &is_new);
		}
		if (!is_new)
			return;
		c->seen[range] |= bit;
		if (c->scope_of[range] == SONDE_NONE)
			c->scope_of[range] = scope;
		count_one(b, c, range, scope, is_first, !is_first && when == SONDE_NOW);
	}
}

/*
 * A launch that was placed below another place may be in regions that nobody entered in its scope: they
 * get a presence too. The kind of the region does not show this, as another process may have entered it.
 */
static void count_homes(struct sonde_build *b, struct counting *c, const struct sonde_launch *x)
{
	const struct sonde_place *place = &b->l->places.at[x->place];
	uint32_t k;

	for (k = 0; k < place->nr; k++)
		make_presence(b, c, x->scope, b->l->homes.at[place->first + k]);
}

/* Counts an entry without launches in the scope of the entry around it. Parents come first. */
static void count_idle_entry(struct sonde_build *b, struct counting *c, uint32_t range)
{
	const struct sonde_range *at = &b->r->ranges.at[range];
	uint32_t scope =
		at->parent == SONDE_NONE ? c->first_scope[at->process] : c->scope_of[at->parent];

	c->scope_of[range] = scope;
	if (at->begun != SONDE_AHEAD)
		count_one(b, c, range, scope, true, false);
}

/* A region of selection.known is present in every scope of its process, without entries. */
static void count_known(struct sonde_build *b, struct counting *c)
{
	uint32_t scope;
	size_t i;

	for (i = 0; i < b->known.nr; i++)
		for (scope = 0; scope < b->l->scopes.nr; scope++)
			if (b->l->scopes.at[scope].process == b->known.at[i].process)
				make_presence(b, c, scope, b->stacks.at[b->known.at[i].stack].region);
}

static void count_all(struct sonde_build *b, struct counting *c)
{
	const struct sonde_records *r = b->r;
	size_t i, k, next = 0;

	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_launch *launch = &b->l->launches.at[i];
		const uint32_t *members;
		struct sonde_set set = sonde_launches_set(b->l, launch->open, &members);

		bool is_placed_below = sonde_build__placed_below(b, i, &next);

		if (r->records.at[i].when == SONDE_AHEAD)
			continue;
		if (is_placed_below)
			count_homes(b, c, launch);
		if (c->set_scope[launch->open] == launch->scope)
			continue;
		c->set_scope[launch->open] = launch->scope;
		for (k = 0; k < set.nr; k++)
			count_entry(b, c, members[k], launch->scope, r->records.at[i].when);
	}
	for (i = 0; i < r->ranges.nr; i++)
		if (c->scope_of[i] == SONDE_NONE)
			count_idle_entry(b, c, (uint32_t)i);
	count_known(b, c);
}

static int by_scope_and_region(const void *a, const void *b)
{
	const struct sonde_presence *x = a, *y = b;
	int c = sonde_cmp(x->scope, y->scope);

	return c ? c : sonde_cmp(x->region, y->region);
}

int sonde_build__presences(struct sonde_build *b, struct sonde_err *err)
{
	struct counting c = {0};
	size_t i, nr_sets = b->r->sets.nr + b->l->sets.nr;

	c.seen = sonde_arena_calloc(&b->step, b->r->ranges.nr, sizeof(*c.seen));
	c.is_multi = sonde_arena_calloc(&b->step, b->r->processes.nr, sizeof(*c.is_multi));
	c.first_scope = sonde_arena_calloc(&b->step, b->r->processes.nr, sizeof(*c.first_scope));
	c.set_scope = sonde_arena_alloc(&b->step, nr_sets * sizeof(*c.set_scope));
	sonde_reserve(&b->l->arena, &b->l->scope_of, b->r->ranges.nr + 1);
	if (sonde_build__status(b, err))
		return SONDE_ERR_NOMEM;
	c.scope_of = b->l->scope_of.at;
	memset(c.scope_of, 0xff, b->r->ranges.nr * sizeof(*c.scope_of));
	b->l->scope_of.nr = b->r->ranges.nr;
	memset(c.set_scope, 0xff, nr_sets * sizeof(*c.set_scope));
	for (i = b->l->scopes.nr; i-- > 0;) {
		uint32_t process = b->l->scopes.at[i].process;

		c.first_scope[process] = (uint32_t)i;
		c.is_multi[process] = i > 0 && b->l->scopes.at[i - 1].process == process
					      ? true
					      : c.is_multi[process];
	}
	count_all(b, &c);
	sonde_vec_sort(&b->l->presences, by_scope_and_region);
	return sonde_build__status(b, err);
}
