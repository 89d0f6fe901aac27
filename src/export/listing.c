#include "export/field.h"

#include "base/alloc.h"
#include "base/depth_first.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REGIONS 100

struct sorting {
	const struct sonde_tree *tree;
	const struct sonde_node *nodes;
	const double *cost; /* by node: its own, … */
	const double *most; /* … and the most of any node below it and itself */
	enum sonde_sort sort;
};

/* Host time where no GPU was used, else GPU time where there is one, launches otherwise. */
static double cost_of(const struct sonde_node *n, enum sonde_report_times times)
{
	if (times == SONDE_TIMES_HOST)
		return isnan(n->times.host_ns) ? 0 : n->times.host_ns;
	return isnan(n->time_ns) ? (double)n->launches : n->time_ns;
}

static void find_costs(double *cost, double *most, const struct sonde_report *r)
{
	enum sonde_report_times times = sonde_report_times(r);
	size_t i;

	for (i = 0; i < r->nodes.nr; i++)
		most[i] = cost[i] = cost_of(&r->nodes.at[i], times);
	for (i = r->nodes.nr; i-- > 0;) { /* parents come before their children */
		uint32_t parent = r->nodes.at[i].parent;

		if (parent != SONDE_NONE && most[parent] < most[i])
			most[parent] = most[i];
	}
}

static int by_number(double a, double b)
{
	return a > b ? -1 : a < b;
}

static int by_index(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int by_sort(const struct sorting *s, uint32_t a, uint32_t b)
{
	const struct sonde_node *x = &s->nodes[a], *y = &s->nodes[b];

	if (s->sort == SONDE_SORT_TIME)
		return by_number(s->cost[a], s->cost[b]);
	if (s->sort == SONDE_SORT_LAUNCHES)
		return by_number((double)x->launches, (double)y->launches);
	if (s->sort == SONDE_SORT_NAME)
		return sonde_str_cmp(sonde_node_label(s->tree, x), sonde_node_label(s->tree, y));
	return 0;
}

/* Siblings together, in the order asked for. */
static int compare_siblings(const void *pa, const void *pb, void *context)
{
	const struct sorting *s = context;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	uint32_t parent_a = s->nodes[a].parent, parent_b = s->nodes[b].parent;
	int c;

	if (parent_a != parent_b)
		return by_index(parent_a, parent_b);
	c = by_sort(s, a, b);
	return c ? c : by_index(a, b);
}

/*
 * The dearest first, by the most in it: so a parent comes before its children, and any
 * beginning of this order is closed under "parent of".
 */
static int compare_cost(const void *pa, const void *pb, void *context)
{
	const struct sorting *s = context;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int c = by_number(s->most[a], s->most[b]);

	return c ? c : by_index(a, b);
}

/* Keeps the `max` dearest of l->at, in their order. */
static void cut(struct sonde_listing *l, uint32_t *scratch, size_t max, struct sorting *s)
{
	uint32_t *by_cost = scratch, *is_kept = scratch + l->nr;
	size_t i, n = 0;

	memcpy(by_cost, l->at, l->nr * sizeof(*by_cost));
	qsort_r(by_cost, l->nr, sizeof(*by_cost), compare_cost, s);
	memset(is_kept, 0, l->nr * sizeof(*is_kept));
	for (i = 0; i < max; i++)
		is_kept[by_cost[i]] = 1;
	for (i = 0; i < l->nr; i++)
		if (is_kept[l->at[i]])
			l->at[n++] = l->at[i];
	l->nr_left_out = l->nr - n;
	l->nr = n;
}

int sonde_listing_build(struct sonde_listing *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_export_options *o, struct sonde_err *err)
{
	struct sorting s = {.tree = t, .nodes = r->nodes.at, .sort = o->sort};
	size_t nr = r->nodes.nr, max = o->max_regions ? o->max_regions : MAX_REGIONS, i;
	uint32_t *order;
	double *costs;
	bool ok;

	*out = (struct sonde_listing){0};
	if (nr == 0)
		return 0;
	out->at = sonde_calloc(nr, sizeof(*out->at));
	order = sonde_calloc(nr * 2, sizeof(*order));
	costs = sonde_calloc(nr * 2, sizeof(*costs));
	ok = out->at && order && costs;
	if (ok) {
		find_costs(costs, costs + nr, r);
		s.cost = costs;
		s.most = costs + nr;
		for (i = 0; i < nr; i++)
			order[i] = (uint32_t)i;
		qsort_r(order, nr, sizeof(*order), compare_siblings, &s);
		ok = sonde_depth_first(
			out->at, order, nr, &r->nodes.at->parent, sizeof(*r->nodes.at));
		out->nr = nr;
	}
	if (ok && nr > max)
		cut(out, order, max, &s);
	sonde_free(order);
	sonde_free(costs);
	if (!ok)
		sonde_listing_release(out);
	return ok ? 0 : sonde_err_nomem(err);
}

int sonde_listing_invert(struct sonde_listing *out, const struct sonde_listing *l,
	const struct sonde_report *r, struct sonde_err *err)
{
	size_t i, nr = r->nodes.nr;
	bool *is_listed = sonde_calloc(nr + 1, sizeof(*is_listed));

	*out = (struct sonde_listing){.at = sonde_calloc(nr + 1, sizeof(*out->at))};
	if (!is_listed || !out->at) {
		sonde_free(is_listed);
		sonde_listing_release(out);
		return sonde_err_nomem(err);
	}
	for (i = 0; i < l->nr; i++)
		is_listed[l->at[i]] = true;
	for (i = 0; i < nr; i++)
		if (!is_listed[i])
			out->at[out->nr++] = (uint32_t)i;
	sonde_free(is_listed);
	return 0;
}

void sonde_listing_release(struct sonde_listing *l)
{
	sonde_free(l->at);
	*l = (struct sonde_listing){0};
}
