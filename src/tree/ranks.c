#include "tree/ranks.h"

#include "base/bisect.h"
#include "tree/ranks_int.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

size_t sonde_ranking__visit(const struct sonde_ranking *x, uint32_t scope, uint32_t region)
{
	const struct sonde_visit *at = x->c->visits.at;
	size_t low = x->first_visit[scope], end = x->first_visit[scope + 1];

	sonde_bisect(low, end, mid, at[mid].region < region);
	return low < end && at[low].region == region ? low : SIZE_MAX;
}

void sonde_ranking__add(
	const struct sonde_ranking *x, double *by_visit, uint32_t scope, uint32_t place, double v)
{
	const struct sonde_cells *c = x->c;
	const struct sonde_place *p = &c->places.at[place];
	uint32_t k, region;

	for (k = 0; k < p->nr; k++)
		for (region = c->homes.at[p->first + k]; region != SONDE_NONE;
			region = c->regions.at[region].parent) {
			size_t visit = sonde_ranking__visit(x, scope, region);

			if (visit != SIZE_MAX)
				by_visit[visit] = isnan(by_visit[visit]) ? v : by_visit[visit] + v;
		}
}

/* The scopes whose launches were measured one by one. */
static bool find_rows(struct sonde_ranking *x)
{
	const struct sonde_cells *c = x->c;
	size_t i, at = 0;

	x->row_of = sonde_arena_alloc(&x->arena, (c->scopes.nr + 1) * sizeof(*x->row_of));
	x->first_visit = sonde_arena_alloc(&x->arena, (c->scopes.nr + 1) * sizeof(*x->first_visit));
	if (!x->row_of || !x->first_visit)
		return false;
	for (i = 0; i < c->scopes.nr; i++) {
		struct sonde_rank_row *row;

		for (x->first_visit[i] = at; at < c->visits.nr && c->visits.at[at].scope == i; at++)
			;
		x->row_of[i] = SONDE_NONE;
		if (c->scopes.at[i].measured != SONDE_MEASURED_KERNEL || !c->sums.at[i].launches ||
			c->scopes.at[i].nr_folded) /* many ranks, added up */
			continue;
		x->row_of[i] = (uint32_t)x->r->rows.nr;
		row = sonde_vec_push(&x->r->rows);
		if (!row)
			return false;
		*row = (struct sonde_rank_row){
			.scope = (uint32_t)i, .wait_ns = NAN, .comm_ns = NAN, .exposed_ns = NAN};
	}
	x->first_visit[c->scopes.nr] = at;
	x->r->nr = (uint32_t)x->r->rows.nr;
	return true;
}

static double *by_visit(struct sonde_arena *arena, const struct sonde_cells *c, double v)
{
	double *at = sonde_arena_alloc(arena, (c->visits.nr + 1) * sizeof(*at));
	size_t i;

	for (i = 0; at && i < c->visits.nr; i++)
		at[i] = v;
	return at;
}

static bool make_room(struct sonde_ranking *x)
{
	x->launches = by_visit(&x->arena, x->c, 0);
	x->slower_ns = by_visit(&x->arena, x->c, 0);
	x->nr_last = by_visit(&x->arena, x->c, NAN);
	x->r->work_ns = by_visit(&x->r->arena, x->c, 0);
	x->r->wait_ns = by_visit(&x->r->arena, x->c, NAN);
	return x->launches && x->slower_ns && x->nr_last && x->r->work_ns && x->r->wait_ns;
}

static void add(double *sum, double v)
{
	if (!isnan(v))
		*sum = isnan(*sum) ? v : *sum + v;
}

/* Time of kernels without communication; communication of the outermost regions. */
static void sum_work(struct sonde_ranking *x)
{
	const struct sonde_cells *c = x->c;
	size_t i;

	for (i = 0; i < c->cells.nr; i++) {
		const struct sonde_cell *cell = &c->cells.at[i];
		uint32_t row = x->row_of[cell->scope];

		if (row == SONDE_NONE || sonde_kernel_communicates(c->strings.keys[cell->kernel]))
			continue;
		x->r->rows.at[row].work_ns += cell->time_ns;
		sonde_ranking__add(x, x->r->work_ns, cell->scope, cell->place, cell->time_ns);
		sonde_ranking__add(x, x->launches, cell->scope, cell->place, (double)cell->launches);
	}
	for (i = 0; i < c->visits.nr; i++) {
		const struct sonde_visit *v = &c->visits.at[i];
		uint32_t row = x->row_of[v->scope];

		if (row == SONDE_NONE || c->regions.at[v->region].parent != SONDE_NONE)
			continue;
		add(&x->r->rows.at[row].comm_ns, v->waits.comm_ns);
		add(&x->r->rows.at[row].exposed_ns, v->waits.exposed_ns);
	}
}

/* Whether these are ranks of one job: all say so, or all talk to others. */
static bool find_job(struct sonde_ranking *x)
{
	struct sonde_ranks *r = x->r;
	bool all_say = true, all_talk = true, has_hosts = true;
	struct sonde_map hosts = {0};
	size_t i;

	for (i = 0; i < r->rows.nr; i++) {
		uint32_t scope = r->rows.at[i].scope;
		const struct sonde_process *p = &x->c->processes.at[x->c->scopes.at[scope].process];

		all_say &= p->has_rank;
		all_talk &= x->c->sums.at[scope].collectives > 0;
		has_hosts &= p->host.n && sonde_map_add(&hosts, p->host, NULL) != SONDE_NONE;
	}
	r->nr_hosts = has_hosts ? (uint32_t)hosts.nr : 0;
	sonde_map_release(&hosts);
	return r->nr > 1 && (all_say || all_talk);
}

static int build(struct sonde_ranking *x, struct sonde_err *err)
{
	struct sonde_members m = {0};
	int rc;

	if (!make_room(x))
		return sonde_err_nomem(err);
	sum_work(x);
	rc = sonde_clocks__find(x, err);
	if (rc == 0)
		rc = sonde_groups__find(&m, x, err);
	if (rc == 0)
		rc = sonde_clocks__align(x, &m, err);
	if (rc == 0)
		rc = sonde_arrivals__compare(x, &m, err);
	sonde_members__release(&m);
	if (rc == 0)
		rc = sonde_ranking__slower(x, err);
	return rc ? rc : sonde_stragglers__find(x, err);
}

int sonde_ranks_build(struct sonde_ranks **out, const struct sonde_cells *c, struct sonde_err *err)
{
	struct sonde_ranks *r = sonde_calloc(1, sizeof(*r));
	struct sonde_ranking x = {.r = r, .c = c};
	int rc = r && find_rows(&x) ? 0 : sonde_err_nomem(err);
	bool is_job = rc == 0 && find_job(&x);

	*out = NULL;
	if (is_job) {
		r->cells = c;
		rc = build(&x, err);
	}
	sonde_arena_release(&x.arena);
	if (rc || !is_job)
		sonde_ranks_free(r);
	else
		*out = r;
	return rc;
}

void sonde_ranks_free(struct sonde_ranks *r)
{
	if (!r)
		return;
	sonde_vec_release(&r->spreads);
	sonde_vec_release(&r->stragglers);
	sonde_vec_release(&r->rows);
	sonde_vec_release(&r->regions);
	sonde_vec_release(&r->groups);
	sonde_vec_release(&r->clocks);
	sonde_arena_release(&r->arena);
	sonde_free(r);
}

const struct sonde_rank_spread *sonde_ranks_spread(const struct sonde_ranks *r, uint32_t region)
{
	size_t low = 0;

	sonde_bisect(low, r ? r->spreads.nr : 0, mid, r->spreads.at[mid].region < region);
	return r && low < r->spreads.nr && r->spreads.at[low].region == region ? &r->spreads.at[low]
									       : NULL;
}

struct sonde_str sonde_rank_name(const struct sonde_ranks *r, uint32_t scope)
{
	return r->cells->scopes.at[scope].name;
}
