/* What ranks are compared by, of the scopes that are added up: one by one, and little of each. */
#include "merge/rest_int.h"

#include "base/known.h"

#include <math.h>
#include <stdlib.h>

static bool add_scope(struct sonde_rest *r, const struct sonde_rest_part *p, uint32_t scope)
{
	const struct sonde_cells *c = p->c;
	const struct sonde_process *process = &c->processes.at[c->scopes.at[scope].process];
	struct sonde_rest_scope *slot = sonde_vec_push(&r->scopes);
	struct sonde_str host = sonde_arena_dup(&r->sum.arena, process->host),
			 path = sonde_arena_dup(&r->sum.arena, c->inputs.at[process->input].path);
	size_t i;

	if (!slot || !host.p || !path.p)
		return false;
	*slot = (struct sonde_rest_scope){.part = p->number, .scope = scope, .id = p->id};
	slot->it = (struct sonde_folded_scope){.rank = process->rank,
		.world_size = process->world_size,
		.has_rank = process->has_rank,
		.device = c->scopes.at[scope].device,
		.pid = process->pid,
		.host = host,
		.path = path,
		.collectives = c->sums.at[scope].collectives,
		.collective_step = c->sums.at[scope].collective_step};
	for (i = 0; i < c->cells.nr; i++)
		if (c->cells.at[i].scope == scope &&
			!sonde_kernel_communicates(c->strings.keys[c->cells.at[i].kernel]))
			slot->it.work_ns += c->cells.at[i].time_ns;
	slot->it.comm_ns = slot->it.exposed_ns = NAN;
	for (i = 0; i < c->visits.nr; i++)
		if (c->visits.at[i].scope == scope &&
			c->regions.at[c->visits.at[i].region].parent == SONDE_NONE) {
			sonde_add_known(&slot->it.comm_ns, c->visits.at[i].waits.comm_ns);
			sonde_add_known(&slot->it.exposed_ns, c->visits.at[i].waits.exposed_ns);
		}
	while (slot->it.collective_step &&
		slot->it.collectives / slot->it.collective_step > SONDE_MAX_FOLDED_COLLECTIVES)
		slot->it.collective_step *= 2;
	return true;
}

bool sonde_rest__add_ranks(struct sonde_rest_moving *m)
{
	struct sonde_rest *r = m->r;
	const struct sonde_rest_part *p = m->part;
	const struct sonde_cells *c = p->c;
	size_t first = r->scopes.nr, i;

	for (i = 0; i < c->scopes.nr; i++)
		if (!add_scope(r, p, (uint32_t)i))
			return false;
	for (i = 0; i < c->collectives.nr; i++) {
		struct sonde_collective k = c->collectives.at[i];
		uint32_t scope = k.scope;

		/* as when they were folded, so that all ranks keep the same ones */
		if (sonde_hash(&k.number, sizeof(k.number)) % r->scopes.at[first + scope].it.collective_step)
			continue;
		k.place = m->m.of.place[k.place];
		k.group = m->m.of.string[k.group];
		k.scope = 0;
		if (!sonde_vec_put(&r->collectives, (struct sonde_rest_collective){p->number, scope, k}))
			return false;
	}
	return true;
}

void sonde_rest__drop_ranks(struct sonde_rest *r, uint32_t part)
{
	sonde_vec_filter(&r->times, i, r->times.at[i].part != part);
	sonde_vec_filter(&r->scopes, i, r->scopes.at[i].part != part);
	sonde_vec_filter(&r->collectives, i, r->collectives.at[i].part != part);
}

/* As scopes are sorted; the part decides between those that are alike. */
static int by_rank(const void *pa, const void *pb)
{
	const struct sonde_rest_scope *a = pa, *b = pb;
	int c = sonde_cmp(b->it.has_rank, a->it.has_rank);

	c = c ? c : sonde_cmp(a->it.rank, b->it.rank);
	c = c ? c : sonde_cmp(a->it.pid, b->it.pid);
	c = c ? c : sonde_str_cmp(a->it.host, b->it.host);
	c = c ? c : sonde_cmp(a->it.device, b->it.device);
	return c ? c : sonde_cmp(a->id, b->id);
}

/* A scope by its part, and its number among the sorted ones. */
struct where {
	uint32_t part, scope, who;
};

static int by_part(const void *pa, const void *pb)
{
	const struct where *a = pa, *b = pb;

	return a->part != b->part ? sonde_cmp(a->part, b->part) : sonde_cmp(a->scope, b->scope);
}

static uint32_t find_who(const struct where *at, size_t nr, uint32_t part, uint32_t scope)
{
	const struct where key = {part, scope, 0}, *found = bsearch(&key, at, nr, sizeof(*at), by_part);

	return found ? found->who : 0; /* it is there: each was added with its scope */
}

static int by_who_and_start(const void *pa, const void *pb)
{
	const struct sonde_collective *a = pa, *b = pb;
	int c = sonde_cmp(a->who, b->who);

	c = c ? c : sonde_cmp(a->start_ns, b->start_ns);
	return c ? c : sonde_cmp(a->number, b->number);
}

static struct where *finish_scopes(struct sonde_rest *r, struct sonde_cells *c)
{
	struct where *at = sonde_arena_alloc(&r->sum.arena, (r->scopes.nr + 1) * sizeof(*at));
	uint32_t i;

	sonde_vec_sort(&r->scopes, by_rank);
	for (i = 0; at && i < r->scopes.nr; i++) {
		struct sonde_folded_scope to = r->scopes.at[i].it;

		at[i] = (struct where){r->scopes.at[i].part, r->scopes.at[i].scope, i};
		if (!sonde_cells_keep(c, &to.host) || !sonde_cells_keep(c, &to.path) ||
			!sonde_vec_put(&c->folded_scopes, to))
			return NULL;
	}
	if (at && r->scopes.nr > 1)
		qsort(at, r->scopes.nr, sizeof(*at), by_part);
	return at;
}

bool sonde_rest__finish_ranks(
	struct sonde_rest *r, struct sonde_cells *c, const struct sonde_numbers *n)
{
	const struct where *at = finish_scopes(r, c);
	size_t i;

	for (i = 0; at && i < r->times.nr; i++) {
		const struct sonde_rest_time *from = &r->times.at[i];
		uint32_t who = find_who(at, r->scopes.nr, from->part, from->scope);

		if (!sonde_vec_put(&c->folded_times,
			    (struct sonde_folded_time){0, n->region[from->region], who, from->time_ns,
				    from->work_ns}))
			return false;
	}
	for (i = 0; at && i < r->collectives.nr; i++) {
		const struct sonde_rest_collective *from = &r->collectives.at[i];
		struct sonde_collective to = from->it;

		to.who = find_who(at, r->scopes.nr, from->part, from->scope);
		to.place = n->place[to.place];
		to.group = n->string[to.group];
		if (!sonde_vec_put(&c->collectives, to))
			return false;
	}
	sonde_vec_sort(&c->collectives, by_who_and_start);
	return at != NULL;
}
