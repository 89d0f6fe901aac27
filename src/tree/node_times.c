/*
 * Times of nodes beyond sums of launches. A scope's times come from its visits, an aggregate's from its scopes.
 */
#include "base/alloc.h"
#include "base/known.h"
#include "tree/tree_int.h"

#include <math.h>
#include <string.h>

static void map_nodes(const struct sonde_tree *t, const struct sonde_report *r, uint32_t *node_of)
{
	size_t i;

	memset(node_of, 0xff, t->cells->regions.nr * sizeof(*node_of));
	for (i = 0; i < r->nodes.nr; i++)
		node_of[r->nodes.at[i].region] = (uint32_t)i;
}

static bool take_visit(const struct sonde_tree *t, struct sonde_report *r, struct sonde_node *n,
	const struct sonde_visit *v)
{
	uint32_t i;

	if (t->ranks)
		n->comm_wait_ns = t->ranks->wait_ns[v - t->cells->visits.at];
	n->times = v->times;
	n->nr_queued = v->nr_queued;
	n->is_open = v->is_open;
	n->streams = (uint64_t)v->nr_streams + v->more_streams;
	n->first_stream = v->nr_streams ? (uint32_t)r->streams.nr : 0;
	for (i = 0; i < v->nr_streams; i++)
		if (!sonde_vec_put(&r->streams, t->cells->streams.at[v->first_stream + i]))
			return false;
	return true;
}

/* The reports of the scopes come first, in the same order as the visits. Streams are listed in the order of the nodes. */
static bool take_visits(struct sonde_tree *t, uint32_t *visit_of)
{
	const struct sonde_cells *c = t->cells;
	size_t s, i, at = 0;

	for (s = 0; s < c->scopes.nr; s++) {
		struct sonde_report *r = &t->reports.at[s];

		for (i = 0; i < r->nodes.nr; i++)
			visit_of[r->nodes.at[i].region] = SONDE_NONE;
		for (; at < c->visits.nr && c->visits.at[at].scope == s; at++)
			visit_of[c->visits.at[at].region] = (uint32_t)at;
		for (i = 0; i < r->nodes.nr; i++) {
			uint32_t visit = visit_of[r->nodes.at[i].region];

			if (visit != SONDE_NONE &&
				!take_visit(t, r, &r->nodes.at[i], &c->visits.at[visit]))
				return false;
		}
	}
	return true;
}

static void add_node(struct sonde_report *to, struct sonde_node *sum, const struct sonde_node *n)
{
	sum->streams += n->streams;
	sum->nr_queued += n->nr_queued;
	sonde_times_add(&sum->times, &n->times, to->nr_scopes == 1);
	sonde_add_known(&sum->comm_wait_ns, n->comm_wait_ns);
	sum->is_open |= n->is_open;
	if (to->nr_scopes == 1)
		sum->first_stream = n->first_stream;
}

/* An aggregate's times are sums over its scopes. A span and single streams have a meaning for one scope only. */
static bool sum_aggregates(struct sonde_tree *t, uint32_t *node_of)
{
	size_t nr = t->cells->scopes.nr, a, s, i;

	for (a = nr; a < t->reports.nr; a++) {
		struct sonde_report *to = &t->reports.at[a];

		map_nodes(t, to, node_of);
		for (s = 0; s < nr; s++) {
			const struct sonde_report *from = &t->reports.at[s];

			if (from->measured != to->measured)
				continue;
			if (to->nr_scopes == 1 && !sonde_vec_append(&to->streams, &from->streams))
				return false;
			for (i = 0; i < from->nodes.nr; i++)
				add_node(to, &to->nodes.at[node_of[from->nodes.at[i].region]],
					&from->nodes.at[i]);
		}
	}
	return true;
}

/* The CPU time of an entry that was never closed is not known. */
static void forget_cpu_of_open(struct sonde_tree *t)
{
	size_t i, k;

	for (i = 0; i < t->reports.nr; i++)
		for (k = 0; k < t->reports.at[i].nodes.nr; k++)
			if (t->reports.at[i].nodes.at[k].is_open)
				t->reports.at[i].nodes.at[k].times.cpu_ns = NAN;
}

bool sonde_tree__times(struct sonde_tree *t)
{
	uint32_t *by_region = sonde_malloc(t->cells->regions.nr * sizeof(*by_region));
	bool ok = by_region && take_visits(t, by_region) && sum_aggregates(t, by_region);

	forget_cpu_of_open(t);
	sonde_free(by_region);
	return ok;
}

/* Launches always take time: a sum of 0 means that their time is not known. */
static double known_time(uint64_t launches, double ns)
{
	return launches && ns == 0 ? NAN : ns;
}

void sonde_tree__forget_zeros(struct sonde_report *r)
{
	size_t i;

	r->time_ns = known_time(r->launches, r->time_ns);
	r->outside_time_ns = known_time(r->outside_launches, r->outside_time_ns);
	r->all_time_ns = known_time(r->all_launches, r->all_time_ns);
	for (i = 0; i < r->nodes.nr; i++) {
		struct sonde_node *n = &r->nodes.at[i];

		n->time_ns = known_time(n->launches, n->time_ns);
		n->own_time_ns = known_time(n->own_launches, n->own_time_ns);
	}
	for (i = 0; i < r->kernels.nr; i++)
		r->kernels.at[i].time_ns = known_time(r->kernels.at[i].calls, r->kernels.at[i].time_ns);
}

void sonde_tree__forget_times(struct sonde_report *r)
{
	size_t i;

	r->time_ns = r->outside_time_ns = r->all_time_ns = NAN;
	for (i = 0; i < r->nodes.nr; i++)
		r->nodes.at[i].time_ns = r->nodes.at[i].own_time_ns = NAN;
	for (i = 0; i < r->kernels.nr; i++)
		r->kernels.at[i].time_ns = NAN;
}

/* How evenly a region's time is spread over the scopes. */

static void set_spread(struct sonde_node *n, const struct sonde_rank_time *at, size_t nr)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += at[i].ns;
	n->nr_scopes = (uint32_t)nr;
	n->scope_min_ns = at[0].ns;
	n->scope_max_ns = at[nr - 1].ns;
	n->scope_median_ns = sonde_rank_times_median(at, nr);
	n->imbalance = sum > 0 ? n->scope_max_ns / (sum / (double)nr) : NAN;
}

/* Adds the times of scopes that are added up: they have no reports of their own. */
static bool add_folded(struct sonde_tree *t, const struct sonde_report *aggregate, struct sonde_rank_times *to)
{
	const struct sonde_cells *c = t->cells;
	size_t i;

	for (i = 0; i < c->folded_times.nr; i++) {
		const struct sonde_folded_time *from = &c->folded_times.at[i];

		if (c->scopes.at[from->scope].measured == aggregate->measured &&
			!(isnan(from->time_ns) && !isnan(aggregate->time_ns)) &&
			!sonde_vec_put(to, (struct sonde_rank_time){.region = from->region, .ns = from->time_ns}))
			return false;
	}
	return true;
}

/*
 * Whether a scope's time of a region counts: not if it is only the sum of ranges inside it, and not if the scope has no
 * times but the aggregate has.
 */
static bool is_sample(const struct sonde_report *aggregate, const struct sonde_nested *nested,
	const struct sonde_report *r, const struct sonde_node *n)
{
	return !sonde_nested__covers(nested, n->region, r->scope) &&
	       !(isnan(n->time_ns) && !isnan(aggregate->time_ns));
}

static bool add_scope(const struct sonde_report *aggregate, const struct sonde_nested *nested,
	const struct sonde_report *r, struct sonde_rank_times *to)
{
	size_t i;

	for (i = 0; i < r->nodes.nr; i++) {
		const struct sonde_node *n = &r->nodes.at[i];

		if (is_sample(aggregate, nested, r, n) &&
			!sonde_vec_put(to, (struct sonde_rank_time){.region = n->region, .ns = n->time_ns}))
			return false;
	}
	return true;
}

bool sonde_tree__spread(
	struct sonde_tree *t, struct sonde_report *aggregate, const struct sonde_nested *nested)
{
	struct sonde_rank_times times = {0};
	size_t i, nr;
	bool ok = add_folded(t, aggregate, &times);

	for (i = 0; i < t->reports.nr && ok; i++) {
		const struct sonde_report *r = &t->reports.at[i];

		if (!r->is_aggregate && r->measured == aggregate->measured &&
			!t->cells->scopes.at[r->scope].nr_folded)
			ok = add_scope(aggregate, nested, r, &times);
	}
	sonde_rank_times_sort(&times);
	for (i = 0; i < aggregate->nodes.nr && ok && times.nr; i++) {
		const struct sonde_rank_time *at = sonde_rank_times_of(&times, aggregate->nodes.at[i].region, &nr);

		if (nr)
			set_spread(&aggregate->nodes.at[i], at, nr);
	}
	sonde_vec_release(&times);
	return ok;
}
