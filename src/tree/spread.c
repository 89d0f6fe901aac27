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
		struct sample *s;

		if (c->scopes.at[from->scope].measured != aggregate->measured ||
			(isnan(from->time_ns) && !isnan(aggregate->time_ns)))
			continue;
		s = sonde_vec_push(to);
		if (!s)
			return false;
		*s = (struct sample){from->region, from->time_ns};
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

int sonde_tree__spread(struct sonde_tree *t, struct sonde_report *aggregate,
	const struct sonde_nested *nested, struct sonde_err *err)
{
	struct samples samples = {0};
	struct sample *s;
	size_t i, k, first;
	int rc = 0;

	for (i = 0; i < t->reports.nr && rc == 0; i++) {
		const struct sonde_report *r = &t->reports.at[i];

		for (k = 0;
			!r->is_aggregate && r->measured == aggregate->measured &&
			!t->cells->scopes.at[r->scope].nr_folded && k < r->nodes.nr;
			k++) {
			if (!is_sample(aggregate, nested, r, &r->nodes.at[k]))
				continue;
			s = sonde_vec_push(&samples);
			if (!s) {
				rc = sonde_err_nomem(err);
				break;
			}
			*s = (struct sample){r->nodes.at[k].region, r->nodes.at[k].time_ns};
		}
	}
	if (rc == 0 && !add_folded(t, aggregate, &samples))
		rc = sonde_err_nomem(err);
	if (rc == 0 && samples.nr)
		qsort(samples.at, samples.nr, sizeof(*samples.at), by_region_and_time);
	for (i = 0; i < aggregate->nodes.nr && rc == 0; i++) {
		struct sample key = {aggregate->nodes.at[i].region, -INFINITY};
		size_t low = 0;

		sonde_bisect(low, samples.nr, mid, by_region_and_time(&samples.at[mid], &key) < 0);
		for (first = low; low < samples.nr && samples.at[low].region == key.region;)
			low++;
		if (low > first)
			set_spread(&aggregate->nodes.at[i], &samples.at[first], low - first);
	}
	sonde_vec_release(&samples);
	return rc;
}
