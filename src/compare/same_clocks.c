/*
 * Did the GPUs of both sides run at the same clocks? What a device can do at most is an attribute
 * of it, in every source that has attributes. What it did is a metric, of Nsight Compute and of
 * samples: a GPU that was locked, capped or hot shows there.
 */
#include "compare/diff_int.h"

#include "catalogue/attributes.h"
#include "catalogue/metrics.h"

#include <math.h>

#define CLOCK_EFFECT 0.02 /* a GPU at another clock is another GPU, as far as times go */

/* The mean of a device attribute over the devices of a side; NaN = not known. */
static double mean_attribute(
	const struct sonde_diff__match *m, size_t run, size_t end, const char *name)
{
	double sum = 0;
	size_t nr = 0, i, k;

	for (; run < end; run++) {
		const struct sonde_cells *c = m->trees[run]->cells;

		for (i = 0; i < c->devices.nr; i++)
			for (k = 0; k < c->devices.at[i].nr_attributes; k++) {
				const struct sonde_attribute *a = &c->devices.at[i].attributes[k];

				if (!sonde_str_is(a->name, name) || !(a->value > 0))
					continue;
				sum += a->value;
				nr++;
			}
	}
	return nr ? sum / (double)nr : NAN;
}

/* The region that took longest, of those that nothing is around. */
static uint32_t largest_root(const struct sonde_report *r)
{
	uint32_t best = SONDE_NONE, i;

	for (i = 0; i < r->nodes.nr; i++)
		if (r->nodes.at[i].parent == SONDE_NONE &&
			(best == SONDE_NONE || r->nodes.at[i].time_ns > r->nodes.at[best].time_ns))
			best = i;
	return best;
}

/* A clock as it was measured while that region ran, the mean of the runs that have it. */
static bool mean_clock(double *out, const struct sonde_diff__match *m, size_t run, size_t end,
	struct sonde_str name)
{
	double sum = 0, nr = 0;

	for (; run < end; run++) {
		uint32_t column = sonde_tree_find_column(m->trees[run], name),
			 root = largest_root(m->aggregates[run]);
		struct sonde_figures f;

		if (column == SONDE_NONE || root == SONDE_NONE)
			continue;
		if (sonde_figures_init(&f, m->trees[run], NULL))
			return false;
		sonde_tree_values(
			m->trees[run], m->aggregates[run], SONDE_PART_INCLUSIVE, root, &f);
		if (f.at[column].v > 0) {
			sum += f.at[column].v;
			nr++;
		}
		sonde_figures_release(&f);
	}
	*out = nr > 0 ? sum / nr : NAN;
	return true;
}

static void tell_clock(struct sonde_diff *d, const char *what, double base_hz, double new_hz)
{
	if (fabs(base_hz - new_hz) > CLOCK_EFFECT * fmax(base_hz, new_hz))
		sonde_note(&d->warnings, "%s: %.0f MHz in the base, %.0f MHz in the new side", what,
			base_hz / 1e6, new_hz / 1e6);
}

bool sonde_diff__check_clocks(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	static const struct {
		const char *what, *attribute;
		const char *metrics[3];
	} clocks[] = {
		{"SM clock", SONDE_ATTR_CLOCK,
			{SONDE_METRIC_SM_CLOCK, SONDE_COUNTER_GPC_CYCLES ".avg.per_second",
				SONDE_COUNTER_SMSP_CYCLES ".avg.per_second"}},
		{"memory clock", SONDE_ATTR_MEMORY_CLOCK, {SONDE_COUNTER_DRAM_CYCLES ".avg.per_second"}}};
	size_t i, k;

	for (i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		double a = mean_attribute(m, 0, m->nr_base, clocks[i].attribute),
		       b = mean_attribute(m, m->nr_base, m->nr_runs, clocks[i].attribute);

		tell_clock(d, i ? "highest memory clock" : "highest SM clock", a * 1e3, b * 1e3);
		for (k = 0; k < 3 && clocks[i].metrics[k]; k++) {
			struct sonde_str name = sonde_str_from(clocks[i].metrics[k]);

			if (!mean_clock(&a, m, 0, m->nr_base, name) ||
				!mean_clock(&b, m, m->nr_base, m->nr_runs, name))
				return false;
			tell_clock(d, clocks[i].what, a, b);
		}
	}
	return true;
}
