#include "export/field.h"
#include "export/shown_findings.h"

#include "base/alloc.h"
#include "base/depth_first.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REGIONS 100
#define SCREEN	    16	  /* rows: a table that is no longer shows everything */
#define LEAST_SHARE 0.005 /* of the time */
#define OFTEN	    3	  /* entries of a scope: what is entered less often is a start-up, or an end */

struct sorting {
	const struct sonde_tree *tree;
	const struct sonde_node *nodes;
	const double *cost; /* by node: its own, … */
	const double *most; /* … and the most of any node below it and itself */
	enum sonde_sort sort;
	const struct sonde_report *brief; /* roots are ordered for a screen; NULL = as they are */
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

/* 0 = the step or around it, 1 = entered again and again, 2 = others. */
static int importance(const struct sorting *s, uint32_t root)
{
	const struct sonde_findings *f = s->tree->findings;
	uint64_t often = OFTEN * (uint64_t)(s->brief->is_aggregate && s->brief->nr_scopes ? s->brief->nr_scopes : 1);
	uint32_t region;

	if (f && f->step != SONDE_NONE)
		for (region = f->report->nodes.at[f->step].region; region != SONDE_NONE;
			region = s->tree->cells->regions.at[region].parent)
			if (region == s->nodes[root].region)
				return 0;
	return s->nodes[root].instances >= often ? 1 : 2;
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
	if (s->brief && parent_a == SONDE_NONE && importance(s, a) != importance(s, b))
		return importance(s, a) - importance(s, b);
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

/* Whether a region is worth no row of its own on a screen. */
static bool is_small(const struct sonde_report *r, enum sonde_report_times times, uint32_t node)
{
	const struct sonde_node *n = &r->nodes.at[node];
	double share = r->time_ns > 0 ? n->time_ns / r->time_ns : 0, host = 0;
	uint32_t i;

	if (n->parent == SONDE_NONE && times == SONDE_TIMES_HOST)
		return false;
	for (i = node; r->nodes.at[i].parent != SONDE_NONE; i = r->nodes.at[i].parent)
		;
	if (r->nodes.at[i].times.host_ns > 0)
		host = n->times.host_ns / r->nodes.at[i].times.host_ns;
	if (times == SONDE_TIMES_HOST)
		share = host;
	else if (n->launches && n->parent != SONDE_NONE)
		share = fmax(share, host);
	return (!(share >= LEAST_SHARE) || (times != SONDE_TIMES_HOST && !n->launches));
}

/*
 * Folds small siblings into the row of the first of them, each with all inside it. One alone stays: a row that stands for one
 * says less than the row itself.
 */
static bool fold(struct sonde_listing *l, const struct sonde_tree *t, const struct sonde_report *r, const struct sonde_export_options *o)
{
	uint32_t *row_of = sonde_malloc((r->nodes.nr + 1) * sizeof(*row_of)), hidden_below = SONDE_NONE, slot = SONDE_NONE;
	struct sonde_listed_rest *rest = sonde_calloc(l->nr + 1, sizeof(*rest));
	enum sonde_report_times times = sonde_report_times(r);
	size_t i, nr = 0;

	if (!row_of || !rest) {
		sonde_free(row_of);
		sonde_free(rest);
		return false;
	}
	memset(row_of, 0xff, (r->nodes.nr + 1) * sizeof(*row_of)); /* by parent (the last: none): the row of its small ones */
	for (i = 0; i < l->nr; i++) {
		uint32_t node = l->at[i], parent = r->nodes.at[node].parent, key = parent == SONDE_NONE ? (uint32_t)r->nodes.nr : parent;

		if (hidden_below != SONDE_NONE && r->nodes.at[node].depth > r->nodes.at[hidden_below].depth) {
			rest[slot].nr++; /* inside one that is folded */
			continue;
		}
		hidden_below = SONDE_NONE;
		if (!is_small(r, times, node) || sonde_findings_name(t, r, o, node)) {
			l->at[nr++] = node;
			continue;
		}
		hidden_below = node;
		if (row_of[key] == SONDE_NONE) {
			row_of[key] = (uint32_t)nr;
			l->at[nr++] = node;
		}
		slot = row_of[key];
		rest[slot].nr++;
		rest[slot].launches += r->nodes.at[node].launches;
		rest[slot].time_ns += r->nodes.at[node].time_ns > 0 ? r->nodes.at[node].time_ns : 0;
	}
	for (i = 0; i < nr; i++)
		if (rest[i].nr == 1)
			rest[i].nr = 0;
	l->nr = nr;
	l->rest = rest;
	sonde_free(row_of);
	return true;
}

static int build(struct sonde_listing *out, const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_export_options *o, bool is_brief, struct sonde_err *err)
{
	struct sorting s = {.tree = t, .nodes = r->nodes.at, .sort = o->sort, .brief = is_brief && o->sort == SONDE_SORT_ORDER ? r : NULL};
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
	if (ok && is_brief && nr > SCREEN)
		ok = fold(out, t, r, o);
	sonde_free(order);
	sonde_free(costs);
	if (!ok)
		sonde_listing_release(out);
	return ok ? 0 : sonde_err_nomem(err);
}

int sonde_listing_build(struct sonde_listing *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_export_options *o, struct sonde_err *err)
{
	return build(out, t, r, o, false, err);
}

int sonde_listing_build_brief(struct sonde_listing *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_export_options *o, struct sonde_err *err)
{
	return build(out, t, r, o, true, err);
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
	sonde_free(l->rest);
	*l = (struct sonde_listing){0};
}
