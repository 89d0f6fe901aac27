#include "lib/roof.h"

#include "base/glob.h"
#include "tree/judge.h"

#include <math.h>
#include <string.h>

#define LEAST_KNOWN 0.9 /* share of the kernels' time */

/* As in a replay, the name of a function stands for all kernels that a template makes of it. */
static bool matches_kernel(const struct sonde_tree *t, uint32_t string, struct sonde_str name)
{
	struct sonde_str brief = sonde_tree_short_name(t, string), function = brief;
	const char *arguments = memchr(brief.p, '<', brief.n);

	if (arguments)
		function.n = (size_t)(arguments - brief.p);
	return sonde_str_eq(brief, name) || sonde_str_glob(brief, name) || sonde_str_glob(function, name) ||
	       sonde_str_glob(sonde_tree_str(t, string), name);
}

/* The aggregate, or the only scope. Reports of replayed ranges are left out, because they have no kernels. */
static const struct sonde_report *find_report(const struct sonde_tree *t)
{
	const struct sonde_report *first = NULL;
	size_t i;

	for (i = 0; i < t->reports.nr; i++) {
		const struct sonde_report *r = &t->reports.at[i];

		if (r->is_ranges)
			continue;
		if (r->is_aggregate)
			return r;
		first = first ? first : r;
	}
	return first;
}

bool sonde_roof_matches(const struct sonde_tree *t, struct sonde_str full, struct sonde_str name)
{
	const struct sonde_report *r = find_report(t);
	uint32_t i;

	for (i = 0; r && i < r->nr_flat_kernels; i++) {
		uint32_t string = r->kernels.at[r->flat_first_kernel + i].name;

		if (sonde_str_eq(sonde_tree_str(t, string), full))
			return matches_kernel(t, string, name);
	}
	return false;
}

bool sonde_roof_find(struct sonde_roof *out, const struct sonde_tree *t, struct sonde_str name)
{
	const struct sonde_report *r = find_report(t);
	double all_ns = 0, known_ns = 0, sum = 0, error = 0;
	struct sonde_figures f = {0};
	uint32_t i;

	if (!r || sonde_figures_init(&f, t, NULL))
		return false;
	for (i = r->flat_first_kernel; i < r->flat_first_kernel + r->nr_flat_kernels; i++) {
		const struct sonde_kernel *k = &r->kernels.at[i];
		struct sonde_limiter limit;

		if (!(k->time_ns > 0) || !matches_kernel(t, k->name, name))
			continue;
		all_ns += k->time_ns;
		sonde_tree_values(t, r, SONDE_PART_KERNEL, i, &f);
		limit = sonde_limiter_find(t, &f);
		if (!limit.word || isnan(limit.pct))
			continue;
		known_ns += k->time_ns;
		sum += k->time_ns * limit.pct / 100;
		if (f.at[limit.column].error > 0) /* samples of one run may all be wrong in the same direction, so errors add up */
			error += k->time_ns * f.at[limit.column].error / 100;
	}
	sonde_figures_release(&f);
	if (!(known_ns > 0) || known_ns < LEAST_KNOWN * all_ns)
		return false;
	*out = (struct sonde_roof){fmin(1, fmax(0, sum / known_ns)), error / known_ns};
	return true;
}
