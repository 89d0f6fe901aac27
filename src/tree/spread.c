/* How evenly a region's time is spread over the scopes. */
#include "tree/tree_int.h"

#include <math.h>

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

/* Those of scopes that are added up come without reports of their own. */
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

/* Not where it is only the sum of what lies inside, nor in an input without times beside others. */
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
