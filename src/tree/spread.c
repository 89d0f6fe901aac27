/* How evenly a region's time is spread over the scopes. */
#include "tree/tree_int.h"

#include "base/bisect.h"

#include <math.h>
#include <stdlib.h>

/* One region's time in one scope. */
struct sample {
	uint32_t region;
	double time_ns;
};

struct samples {
	struct sample *at;
	size_t nr, cap;
};

static int by_region_and_time(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->region != y->region)
		return x->region < y->region ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void set_spread(struct sonde_node *n, const struct sample *at, size_t nr)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += at[i].time_ns;
	n->nr_scopes = (uint32_t)nr;
	n->scope_min_ns = at[0].time_ns;
	n->scope_max_ns = at[nr - 1].time_ns;
	n->scope_median_ns =
		nr % 2 ? at[nr / 2].time_ns : (at[nr / 2 - 1].time_ns + at[nr / 2].time_ns) / 2;
	n->imbalance = sum > 0 ? n->scope_max_ns / (sum / (double)nr) : NAN;
}

/* Those of scopes that are added up come without reports of their own. */
static bool add_folded(struct sonde_tree *t, const struct sonde_report *aggregate, struct samples *to)
{
	const struct sonde_cells *c = t->cells;
	size_t i;

	for (i = 0; i < c->folded_times.nr; i++) {
		const struct sonde_folded_time *from = &c->folded_times.at[i];

		if (c->scopes.at[from->scope].measured == aggregate->measured &&
			!(isnan(from->time_ns) && !isnan(aggregate->time_ns)) &&
			!sonde_vec_put(to, (struct sample){from->region, from->time_ns}))
			return false;
	}
	return true;
}

/* Not where it is only the sum of what lies inside, nor in an input without times beside others. */
static bool is_sample(const struct sonde_report *aggregate, const struct sonde_nested *nested,
	const struct sonde_report *r, const struct sonde_node *n)
{
	return !sonde_nested__covers(nested, n->region, r->scope) &&
	       !(isnan(n->time_ns) && !isnan(aggregate->time_ns));
}

static bool add_scope(const struct sonde_report *aggregate, const struct sonde_nested *nested,
	const struct sonde_report *r, struct samples *to)
{
	size_t i;

	for (i = 0; i < r->nodes.nr; i++) {
		const struct sonde_node *n = &r->nodes.at[i];

		if (is_sample(aggregate, nested, r, n) &&
			!sonde_vec_put(to, (struct sample){n->region, n->time_ns}))
			return false;
	}
	return true;
}

bool sonde_tree__spread(
	struct sonde_tree *t, struct sonde_report *aggregate, const struct sonde_nested *nested)
{
	struct samples samples = {0};
	size_t i, first;
	bool ok = add_folded(t, aggregate, &samples);

	for (i = 0; i < t->reports.nr && ok; i++) {
		const struct sonde_report *r = &t->reports.at[i];

		if (!r->is_aggregate && r->measured == aggregate->measured &&
			!t->cells->scopes.at[r->scope].nr_folded)
			ok = add_scope(aggregate, nested, r, &samples);
	}
	sonde_vec_sort(&samples, by_region_and_time);
	for (i = 0; i < aggregate->nodes.nr && ok; i++) {
		struct sample key = {aggregate->nodes.at[i].region, -INFINITY};
		size_t low = 0;

		sonde_bisect(low, samples.nr, mid, by_region_and_time(&samples.at[mid], &key) < 0);
		for (first = low; low < samples.nr && samples.at[low].region == key.region;)
			low++;
		if (low > first)
			set_spread(&aggregate->nodes.at[i], &samples.at[first], low - first);
	}
	sonde_vec_release(&samples);
	return ok;
}
