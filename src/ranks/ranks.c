/*
 * The build, step by step, and what its steps need first: a row for each rank, whether it is a scope of its own
 * or added up with others, its work in each region, and which of its kernels are slower than on other ranks.
 *
 * Sums are kept by visit, not by rank and region: most ranks do not have most regions of a large job.
 */
#include "ranks/ranks.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/known.h"
#include "base/quantile.h"
#include "ranks/ranks_int.h"

#include <math.h>
#include <stdlib.h>

/*
 * A kernel counts as slower if it takes this much longer than the median of the others. If all kernels of the rank are
 * slower by less than twice this, half of that is enough: a GPU that is 2 % slower has kernels that are 1 to 3 % slower.
 */
#define SLOWER	     0.03
#define LEAST_SLOWER 0.005 /* a smaller difference is noise */
#define ABOUT	     0.25  /* ranks whose work differs by more have different tasks, such as stages of a pipeline */

void sonde_ranks__add_time(
	const struct sonde_ranks_build *x, double *by_visit, uint32_t scope, uint32_t place, double v)
{
	uint32_t region;

	SONDE_EACH_REGION(x->c, place, region) {
		const struct sonde_visit *visit = sonde_cells_visit(x->c, scope, region);

		if (visit)
			sonde_add_known(&by_visit[visit - x->c->visits.at], v);
	}
}

static void add_scope(struct sonde_ranks_build *x, uint32_t scope)
{
	const struct sonde_scope *s = &x->c->scopes.at[scope];

	sonde_put(&x->r->arena, &x->r->rows,
		(struct sonde_rank_row){.scope = scope,
			.folded_scope = SONDE_NONE,
			.process = &x->c->processes.at[s->process],
			.device = s->device,
			.name = s->name,
			.weight = x->c->sums.at[scope].collective_step,
			.comm_ns = NAN,
			.exposed_ns = NAN});
}

static void add_folded(struct sonde_ranks_build *x, uint32_t folded)
{
	const struct sonde_folded_scope *f = &x->c->folded_scopes.at[folded];
	struct sonde_str name;

	if (sonde_folded_scope_name(&name, f, &x->r->arena))
		sonde_put(&x->r->arena, &x->r->rows,
			(struct sonde_rank_row){.scope = f->scope,
				.folded_scope = folded,
				.process = &f->process,
				.device = f->device,
				.name = name,
				.weight = f->sum.collective_step,
				.work_ns = f->work_ns,
				.comm_ns = f->comm_ns,
				.exposed_ns = f->exposed_ns});
}

/* The order of scopes. Ranks that are added up come at their places among the others. */
static int by_rank(const void *pa, const void *pb)
{
	const struct sonde_rank_row *a = pa, *b = pb;
	const struct sonde_process *x = a->process, *y = b->process;
	int c = sonde_cmp(y->has_rank, x->has_rank);

	c = c ? c : sonde_cmp(x->rank, y->rank);
	c = c ? c : sonde_cmp(x->pid, y->pid);
	c = c ? c : sonde_str_cmp(x->host, y->host);
	c = c ? c : sonde_cmp(a->device, b->device);
	c = c ? c : sonde_cmp(a->scope, b->scope);
	return c ? c : sonde_cmp(a->folded_scope, b->folded_scope);
}

/* A row for each scope whose launches were measured one by one, and for each of those that are added up. */
static bool find_rows(struct sonde_ranks_build *x)
{
	const struct sonde_cells *c = x->c;
	size_t i, at = 0;

	x->row_of = sonde_arena_alloc(&x->arena, (c->scopes.nr + 1) * sizeof(*x->row_of));
	x->row_of_folded = sonde_arena_alloc(&x->arena, (c->folded_scopes.nr + 1) * sizeof(*x->row_of_folded));
	x->first_visit = sonde_arena_alloc(&x->arena, (c->scopes.nr + 1) * sizeof(*x->first_visit));
	if (!x->row_of || !x->row_of_folded || !x->first_visit)
		return false;
	for (i = 0; i < c->scopes.nr; i++) {
		for (x->first_visit[i] = at; at < c->visits.nr && c->visits.at[at].scope == i; at++)
			;
		x->row_of[i] = SONDE_NONE;
		if (c->scopes.at[i].measured == SONDE_MEASURED_KERNEL && c->sums.at[i].launches &&
			!c->scopes.at[i].nr_folded)
			add_scope(x, (uint32_t)i);
	}
	x->first_visit[c->scopes.nr] = at;
	for (i = 0; i < c->folded_scopes.nr; i++)
		add_folded(x, (uint32_t)i);
	if (x->r->arena.failed)
		return false;
	sonde_vec_sort(&x->r->rows, by_rank);
	for (i = 0; i < x->r->rows.nr; i++) {
		struct sonde_rank_row *row = &x->r->rows.at[i];

		row->weight += row->weight == 0;
		row->wait_ns = NAN;
		*(row->folded_scope == SONDE_NONE ? &x->row_of[row->scope] : &x->row_of_folded[row->folded_scope]) = (uint32_t)i;
	}
	x->r->nr = (uint32_t)x->r->rows.nr;
	return true;
}

/* One number per visit, `v` for all. NULL: no memory. */
static double *by_visit(struct sonde_arena *arena, const struct sonde_cells *c, double v)
{
	double *at = sonde_arena_alloc(arena, (c->visits.nr + 1) * sizeof(*at));
	size_t i;

	for (i = 0; at && i < c->visits.nr; i++)
		at[i] = v;
	return at;
}

static bool allocate_sums(struct sonde_ranks_build *x)
{
	x->launches = by_visit(&x->arena, x->c, 0);
	x->slower_ns = by_visit(&x->arena, x->c, 0);
	x->r->work_ns = by_visit(&x->r->arena, x->c, 0);
	x->r->wait_ns = by_visit(&x->r->arena, x->c, NAN);
	return x->launches && x->slower_ns && x->r->work_ns && x->r->wait_ns;
}

/* Sums the time of kernels without communication, and the communication in the outermost regions. */
static void sum_work(struct sonde_ranks_build *x)
{
	const struct sonde_cells *c = x->c;
	size_t i;

	for (i = 0; i < c->cells.nr; i++) {
		const struct sonde_cell *cell = &c->cells.at[i];
		uint32_t row = x->row_of[cell->scope];

		if (row == SONDE_NONE || sonde_kernel_communicates(c->strings.keys[cell->kernel]))
			continue;
		x->r->rows.at[row].work_ns += cell->time_ns;
		sonde_ranks__add_time(x, x->r->work_ns, cell->scope, cell->place, cell->time_ns);
		sonde_ranks__add_time(x, x->launches, cell->scope, cell->place, (double)cell->launches);
	}
	for (i = 0; i < c->visits.nr; i++) {
		const struct sonde_visit *v = &c->visits.at[i];
		uint32_t row = x->row_of[v->scope];

		if (row == SONDE_NONE || c->regions.at[v->region].parent != SONDE_NONE)
			continue;
		sonde_add_known(&x->r->rows.at[row].comm_ns, v->times.comm_ns);
		sonde_add_known(&x->r->rows.at[row].exposed_ns, v->times.exposed_ns);
	}
}

/*
 * Compares kernel by kernel: is it slower on this rank than on the others? A rank whose kernels are slower wherever they
 * are has a slow GPU. A rank whose kernels are slower in one region only has more or other data there.
 */

/* The mean time of a kernel in a place, on one rank. */
struct kernel_mean {
	uint32_t kernel, home, cell;
	double mean_ns;
};

static int by_kernel_and_mean(const void *pa, const void *pb)
{
	const struct kernel_mean *a = pa, *b = pb;
	int c = sonde_cmp(a->kernel, b->kernel);

	c = c ? c : sonde_cmp(a->home, b->home);
	c = c ? c : sonde_cmp(a->mean_ns, b->mean_ns);
	return c ? c : sonde_cmp(a->cell, b->cell);
}

/* The median of `nr` sorted means, without the element `skip`. */
static double median_without(const struct kernel_mean *at, size_t nr, size_t skip)
{
	size_t low = (nr - 2) / 2, high = (nr - 1) / 2;

	return (at[low + (low >= skip)].mean_ns + at[high + (high >= skip)].mean_ns) / 2;
}

/*
 * `at`: one kernel in one region, on all ranks that have it, sorted. The first pass sums up how much slower each rank
 * is; the second marks the slower kernels, which depends on that.
 */
static void compare_kernel(struct sonde_ranks_build *x, const struct kernel_mean *at, size_t nr, bool is_first_pass)
{
	size_t i;

	for (i = 0; i < nr && nr > 1; i++) {
		const struct sonde_cell *cell = &x->c->cells.at[at[i].cell];
		struct sonde_rank_row *row = &x->r->rows.at[x->row_of[cell->scope]];
		double median = median_without(at, nr, i), least = row->excess_ns / row->work_ns / 2;

		if (is_first_pass)
			row->excess_ns += (at[i].mean_ns - median) * (double)cell->launches;
		else if (at[i].mean_ns >= median * (1 + fmax(LEAST_SLOWER, fmin(SLOWER, least))))
			sonde_ranks__add_time(x, x->slower_ns, cell->scope, cell->place, cell->time_ns);
	}
}

/*
 * The kernels of ranks that are added up are not known. Their whole work is compared instead, unless it is far from the
 * median.
 */
static bool compare_folded(struct sonde_ranks_build *x)
{
	struct sonde_ranks *r = x->r;
	double *all = sonde_malloc((r->rows.nr + 1) * sizeof(*all)), median, excess;
	size_t i;

	if (!all)
		return false;
	for (i = 0; i < r->rows.nr; i++)
		all[i] = r->rows.at[i].work_ns;
	median = sonde_median(all, r->rows.nr);
	for (i = 0; i < r->rows.nr; i++) {
		excess = r->rows.at[i].work_ns - median;
		if (r->rows.at[i].folded_scope != SONDE_NONE && fabs(excess) <= ABOUT * median)
			r->rows.at[i].excess_ns = excess;
	}
	sonde_free(all);
	return true;
}

/* The first region of a place; SONDE_NONE = the place is outside all regions. */
static uint32_t first_home(const struct sonde_cells *c, uint32_t place)
{
	const struct sonde_place *p = &c->places.at[place];

	return p->nr ? c->homes.at[p->first] : SONDE_NONE;
}

/* Compares each kernel in each region between ranks, and fills in `slower_ns`, and `excess_ns` of the rows. */
static bool find_slower(struct sonde_ranks_build *x)
{
	const struct sonde_cells *c = x->c;
	struct kernel_mean *at = sonde_malloc((c->cells.nr + 1) * sizeof(*at));
	size_t i, end, nr = 0;
	int pass;

	if (!at)
		return false;
	for (i = 0; i < c->cells.nr; i++) {
		const struct sonde_cell *cell = &c->cells.at[i];

		if (x->row_of[cell->scope] != SONDE_NONE && cell->launches && cell->time_ns > 0 &&
			!sonde_kernel_communicates(c->strings.keys[cell->kernel]))
			at[nr++] = (struct kernel_mean){cell->kernel, first_home(c, cell->place),
				(uint32_t)i, cell->time_ns / (double)cell->launches};
	}
	if (nr > 1)
		qsort(at, nr, sizeof(*at), by_kernel_and_mean);
	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < nr; i = end) {
			for (end = i; end < nr && at[end].kernel == at[i].kernel && at[end].home == at[i].home; end++)
				;
			compare_kernel(x, &at[i], end - i, pass == 0);
		}
	sonde_free(at);
	return compare_folded(x);
}

/* Whether these are ranks of one job: all have a rank number, or all have collectives. Counts the hosts too. */
static bool find_job(struct sonde_ranks_build *x)
{
	struct sonde_ranks *r = x->r;
	bool all_say = true, all_talk = true, has_hosts = true;
	struct sonde_map hosts = {0};
	size_t i;

	for (i = 0; i < r->rows.nr; i++) {
		const struct sonde_rank_row *row = &r->rows.at[i];

		all_say &= row->process->has_rank;
		all_talk &= row->folded_scope == SONDE_NONE ? x->c->sums.at[row->scope].collectives > 0
						   : x->c->folded_scopes.at[row->folded_scope].sum.collectives > 0;
		has_hosts &= row->process->host.n && sonde_map_add(&hosts, row->process->host, NULL) != SONDE_NONE;
	}
	r->nr_hosts = has_hosts ? (uint32_t)hosts.nr : 0;
	sonde_map_release(&hosts);
	return r->nr > 1 && (all_say || all_talk);
}

/*
 * The order matters: clocks are aligned before collectives are compared, and collectives are compared before stragglers
 * are found, because lateness is part of the reason.
 */
static bool build_ranks(struct sonde_ranks_build *x)
{
	struct sonde_members m = {0};
	bool ok = allocate_sums(x);

	if (!ok)
		return false;
	sum_work(x);
	ok = sonde_clocks__find(x) && sonde_groups__find(&m, x) && sonde_clocks__align(x, &m) &&
	     sonde_arrivals__compare(x, &m) && find_slower(x) &&
	     sonde_stragglers__find(x);
	return ok && !x->r->arena.failed && !x->arena.failed;
}

bool sonde_ranks_build(struct sonde_ranks **out, const struct sonde_cells *c)
{
	struct sonde_ranks *r = sonde_calloc(1, sizeof(*r));
	struct sonde_ranks_build x = {.r = r, .c = c};
	bool ok = r && find_rows(&x), is_job = ok && find_job(&x);

	*out = NULL;
	if (is_job) {
		r->cells = c;
		ok = build_ranks(&x);
	}
	sonde_map_release(&x.last_keys);
	sonde_arena_release(&x.arena);
	if (ok && is_job)
		*out = r;
	else
		sonde_ranks_free(r);
	return ok;
}

void sonde_ranks_free(struct sonde_ranks *r)
{
	if (!r)
		return;
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

struct sonde_str sonde_rank_name(const struct sonde_ranks *r, uint32_t rank)
{
	return r->rows.at[rank].name;
}
