/* Why a region changed: its counts or its durations, and the kernels that explain it. */
#include "compare/diff_int.h"

#include "base/alloc.h"
#include "base/cxx_name.h"

#include <math.h>
#include <stdlib.h>

#define MOST_KERNELS 8	   /* kept per region */
#define HALF	     0.5   /* this share of a change of wall time explains it */
#define COUNT_EFFECT 0.005 /* launches and entries are counted exactly, so half a percent is a change */

struct kernel_rows {
	struct sonde_diff_kernel *at;
	size_t nr, cap;
};

static bool differs(double a, double b, double by)
{
	return fabs(a - b) > by * fmax(fabs(a), fabs(b));
}

static double per_entry(const struct sonde_diff_half *h)
{
	return h->launches / (h->entries > 0 ? h->entries : 1);
}

/*
 * Wall time is the time in which anything runs on the GPU plus the time in which nothing does. If the first changes
 * while the sum of the launches does not, or changes the other way, then launches overlap more or less than before.
 */
static uint8_t cause_of_wall(const struct sonde_diff_region *r)
{
	const struct sonde_diff_time *gpu = &r->times[SONDE_ENTRY_GPU];
	double wall = r->new_half.median_ns - r->base.median_ns, gone = gpu->new_ns - gpu->base_ns,
	       busy = r->new_half.busy_ns / fmax(r->new_half.entries, 1) - r->base.busy_ns / fmax(r->base.entries, 1);

	if (!gpu->is_known || isnan(busy))
		return SONDE_CAUSE_WAITING;
	if (busy / wall < HALF)
		return gone / wall >= HALF ? 0 : SONDE_CAUSE_WAITING;
	return gone / wall >= HALF ? 0 : SONDE_CAUSE_OVERLAP;
}

static void find_causes(struct sonde_diff_region *r, double min_effect)
{
	double base = per_entry(&r->base), now = per_entry(&r->new_half);

	if (!r->base.is_there || !r->new_half.is_there)
		return;
	if (differs(r->base.entries / r->base.scopes, r->new_half.entries / r->new_half.scopes,
		    COUNT_EFFECT))
		r->causes |= SONDE_CAUSE_ENTRIES;
	if (differs(base, now, COUNT_EFFECT))
		r->causes |= SONDE_CAUSE_LAUNCHES;
	if (!sonde_diff__is_moved(r) && !sonde_diff__is_gpu_moved(r))
		return;
	if (r->time == SONDE_ENTRY_WALL && sonde_diff__is_moved(r))
		r->causes |= cause_of_wall(r);
	if (r->time == SONDE_ENTRY_HOST || !(base > 0) || !(now > 0))
		r->causes |= SONDE_CAUSE_DURATION;
	else if (differs(r->times[SONDE_ENTRY_GPU].base_ns / base, r->times[SONDE_ENTRY_GPU].new_ns / now, min_effect))
		r->causes |= SONDE_CAUSE_DURATION;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct sonde_diff_kernel *x = a, *y = b;

	return sonde_str_cmp(x->name, y->name);
}

static int by_change(const void *a, const void *b)
{
	const struct sonde_diff_kernel *x = a, *y = b;
	double dx = fabs(x->new_ns - x->base_ns), dy = fabs(y->new_ns - y->base_ns);

	return dx != dy ? (dx > dy ? -1 : 1) : sonde_str_cmp(x->name, y->name);
}

static bool add_rows(struct kernel_rows *rows, const struct sonde_diff__match *m,
	const struct sonde_diff_region *r, size_t region, size_t run)
{
	const struct sonde_node *n = sonde_diff__node(m, region, run);
	bool is_base = run < m->nr_base;
	const struct sonde_diff_half *h = is_base ? &r->base : &r->new_half;
	double by = (double)(h->nr_runs ? h->nr_runs : 1) * (h->entries > 0 ? h->entries : 1);
	uint32_t i;

	for (i = 0; n && i < n->nr_kernels; i++) {
		const struct sonde_kernel *k =
			&sonde_diff__report(m, region, run)->kernels.at[n->first_kernel + i];
		struct sonde_diff_kernel row = {.name = sonde_tree_str(m->trees[run], k->name)};

		*(is_base ? &row.base_ns : &row.new_ns) = isnan(k->time_ns) ? 0 : k->time_ns / by;
		*(is_base ? &row.base_calls : &row.new_calls) = (double)k->calls / by;
		if (!sonde_vec_put(rows, row))
			return false;
	}
	return true;
}

/* Makes one row per kernel, sorted by name. */
static bool collect_kernels(struct kernel_rows *rows, const struct sonde_diff *d,
	const struct sonde_diff__match *m, size_t region)
{
	size_t run, i, nr = 0;

	rows->nr = 0;
	for (run = 0; run < m->nr_runs; run++)
		if (!add_rows(rows, m, &d->regions.at[region], region, run))
			return false;
	sonde_vec_sort(rows, by_name);
	for (i = 0; i < rows->nr; i++) {
		struct sonde_diff_kernel *to = nr ? &rows->at[nr - 1] : NULL, *k = &rows->at[i];

		if (!to || !sonde_str_eq(to->name, k->name)) {
			rows->at[nr++] = *k;
			continue;
		}
		to->base_ns += k->base_ns;
		to->new_ns += k->new_ns;
		to->base_calls += k->base_calls;
		to->new_calls += k->new_calls;
	}
	rows->nr = nr;
	return true;
}

/* Whether kernels that only one side has make more than half of the change. Counts these kernels too. */
static bool is_replaced(struct sonde_diff_region *r, const struct kernel_rows *rows)
{
	double came = 0, went = 0;
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		const struct sonde_diff_kernel *k = &rows->at[i];

		came += k->base_calls > 0 ? 0 : k->new_ns;
		went += k->new_calls > 0 ? 0 : k->base_ns;
		r->nr_came += !(k->base_calls > 0);
		r->nr_gone += !(k->new_calls > 0);
	}
	return fmax(came, went) > 0.5 * fabs(sonde_diff__gpu_delta(r)) && came + went > 0;
}

static bool keep_largest(struct sonde_diff *d, struct sonde_diff_region *r, struct kernel_rows *rows)
{
	size_t i;

	if (r->causes & (SONDE_CAUSE_LAUNCHES | SONDE_CAUSE_DURATION) && r->time != SONDE_ENTRY_HOST &&
		is_replaced(r, rows))
		r->causes |= SONDE_CAUSE_KERNELS;
	sonde_vec_sort(rows, by_change);
	r->first_kernel = (uint32_t)d->kernels.nr;
	for (i = 0; i < rows->nr && i < MOST_KERNELS; i++, r->nr_kernels++)
		if (!sonde_vec_put(&d->kernels, rows->at[i]))
			return false;
	return true;
}

static bool shorten_kernel_names(struct sonde_diff *d)
{
	struct sonde_str *names = sonde_calloc(d->kernels.nr + 1, sizeof(*names));
	struct sonde_map map = {0};
	bool ok = names;
	size_t i;

	for (i = 0; i < d->kernels.nr && ok; i++)
		ok = sonde_map_add(&map, d->kernels.at[i].name, NULL) != SONDE_NONE;
	ok = ok && sonde_cxx_names_shorten(names, map.keys, map.nr, &d->arena);
	for (i = 0; i < d->kernels.nr && ok; i++)
		d->kernels.at[i].name = names[sonde_map_find(&map, d->kernels.at[i].name)];
	sonde_map_release(&map);
	sonde_free(names);
	return ok;
}

/* A hash of the kernels' names, which are sorted; 0 = there are none. */
static uint64_t hash_names(const struct kernel_rows *rows)
{
	uint64_t h = 0;
	size_t i;

	for (i = 0; i < rows->nr; i++)
		h = sonde_diff__mix(h, sonde_hash(rows->at[i].name.p, rows->at[i].name.n));
	return h;
}

/*
 * The load of an entry: a sum over the kernels that it launches. If a region was split, its load is the sum of its
 * parts' loads. Calls are counted in 64ths, so that a kernel that only every other entry launches counts too.
 */
static uint64_t load_of(const struct kernel_rows *rows)
{
	uint64_t load = 0;
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		const struct sonde_diff_kernel *k = &rows->at[i];
		double calls = (k->base_calls + k->new_calls) * 64;

		load += sonde_hash(k->name.p, k->name.n) * (uint64_t)llround(fmin(calls, 1e15));
	}
	return load;
}

bool sonde_diff__explain(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	struct kernel_rows rows = {0};
	uint64_t *kernel_hashes = sonde_calloc(d->regions.nr + 1, sizeof(*kernel_hashes));
	uint64_t *loads = sonde_calloc(d->regions.nr + 1, sizeof(*loads));
	bool ok = kernel_hashes && loads;
	size_t i;

	for (i = 0; i < d->regions.nr && ok; i++) {
		struct sonde_diff_region *r = &d->regions.at[i];

		find_causes(r, d->options.min_effect);
		if (!sonde_diff__is_gpu_moved(r) &&
			(r->verdict == SONDE_VERDICT_SAME ||
				(r->verdict == SONDE_VERDICT_INSUFFICIENT && !(r->causes & SONDE_CAUSE_LAUNCHES))))
			continue;
		ok = collect_kernels(&rows, d, m, i);
		if (ok && sonde_diff__is_lone(r)) {
			kernel_hashes[i] = hash_names(&rows);
			loads[i] = load_of(&rows);
		}
		ok = ok && keep_largest(d, r, &rows);
	}
	ok = ok && sonde_diff__pair(d, kernel_hashes) && sonde_diff__find_parts(d, loads);
	sonde_vec_release(&rows);
	sonde_free(kernel_hashes);
	sonde_free(loads);
	return ok && shorten_kernel_names(d);
}
