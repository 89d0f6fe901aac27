/* What single figures must be to each other: ranges around values, shares, the spread of scopes. */
#include "check/validate_int.h"

/* Of anything with metrics: a region, a part of it, a kernel, totals. */
int sonde_invariant__check_ranges(struct sonde_validation *v, const json_t *of)
{
	const json_t *metrics = json_object_get(of, "metrics"), *range;
	const char *name;

	json_object_foreach((json_t *)json_object_get(of, "metric_ranges"), name, range)
	{
		double value = sonde_invariant__number(metrics, name);

		if (!sonde_invariant__exceeds(sonde_invariant__number(range, "low"), value) &&
			!sonde_invariant__exceeds(value, sonde_invariant__number(range, "high")))
			continue;
		sonde_validation__key(v, "metric_ranges");
		return sonde_invariant__fail(v, name, "does not contain the value");
	}
	return 0;
}

/* The smallest, middle and largest of `count` scopes, and the largest by their mean. */
static int check_scopes(struct sonde_validation *v, const json_t *s, const json_t *region)
{
	static sonde_limits limits = {{"min_ms", "median_ms"}, {"median_ms", "max_ms"}};
	double least = sonde_invariant__number(s, "min_ms"),
	       most = sonde_invariant__number(s, "max_ms");
	double mean =
		sonde_invariant__number(region, "total_ms") / sonde_invariant__number(s, "count");
	int rc = SONDE_LIMITS(v, s, limits);

	if (rc)
		return rc;
	if (sonde_invariant__exceeds(least, mean) || sonde_invariant__exceeds(mean, most))
		return sonde_invariant__fail(v, "count", "makes no mean between min_ms and max_ms");
	if (sonde_invariant__differs(sonde_invariant__number(s, "imbalance"), most / mean))
		return sonde_invariant__fail(v, "imbalance", "is not max_ms by the mean");
	return 0;
}

int sonde_invariant__check_figures(struct sonde_validation *v, const json_t *region, const json_t *totals)
{
	double total = sonde_invariant__number(region, "total_ms"),
	       all = sonde_invariant__number(totals, "total_ms");
	int rc = sonde_invariant__check_ranges(v, region);

	if (rc == 0 && sonde_invariant__differs(
			       sonde_invariant__number(region, "share_pct"), 100 * total / all))
		rc = sonde_invariant__fail(v, "share_pct", "is not total_ms by that of the totals");
	if (rc == 0)
		rc = sonde_invariant__in(v, region, "scopes", check_scopes, region);
	return rc ? rc : sonde_invariant__check_spread(v, region);
}
