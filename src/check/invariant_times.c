/* The arithmetic of a region's timestamps and copies, where it has them. */
#include "check/validate_int.h"

/* Streams share a region's launches out among them, and none is busier than all. */
static int check_streams(struct sonde_validation *v, const json_t *region)
{
	const json_t *list = json_object_get(region, "per_stream"), *s;
	double launches = 0, total = 0, busy = sonde_invariant__number(region, "busy_ms");
	size_t i;

	if (!list)
		return 0;
	if ((double)json_array_size(list) != sonde_invariant__number(region, "streams"))
		return sonde_invariant__fail(v, "per_stream", "does not have as many as streams");
	json_array_foreach(list, i, s)
	{
		launches += sonde_invariant__number(s, "kernel_count");
		total += sonde_invariant__number(s, "total_ms");
		if (sonde_invariant__exceeds(sonde_invariant__number(s, "busy_ms"), busy))
			return sonde_invariant__fail(
				v, "per_stream", "has a stream busier than busy_ms");
	}
	if (sonde_invariant__exceeds(launches, sonde_invariant__number(region, "kernel_count")))
		return sonde_invariant__fail(v, "per_stream", "has more than kernel_count");
	if (sonde_invariant__exceeds(total, sonde_invariant__number(region, "total_ms")))
		return sonde_invariant__fail(v, "per_stream", "has more than total_ms");
	return 0;
}

/* One distribution: percentiles in order, the mean between the ends. */
static int check_distribution(struct sonde_validation *v, const json_t *d, const json_t *with)
{
	static sonde_limits limits = {{"min_ms", "median_ms"}, {"median_ms", "p95_ms"},
		{"p95_ms", "p99_ms"}, {"p99_ms", "max_ms"}, {"min_ms", "mean_ms"},
		{"mean_ms", "max_ms"}};

	(void)with;
	return SONDE_LIMITS(v, d, limits);
}

/* Sampled figures are of the same entries as the times. */
static int check_loads(struct sonde_validation *v, const json_t *e, size_t nr)
{
	json_t *metric;
	const char *name;

	json_object_foreach(json_object_get(e, "metrics"), name, metric)
	{
		if (json_array_size(json_object_get(metric, "value")) != nr ||
			json_array_size(json_object_get(metric, "error")) != nr)
			return sonde_invariant__fail(v, "metrics", "do not have as many as begin_ms");
	}
	return 0;
}

static int check_entries(struct sonde_validation *v, const json_t *e, const json_t *with)
{
	static const char *const names[] = {"host", "gpu", "span"};
	static const char *const lists[] = {"host_ms", "gpu_ms", "labels"};
	size_t i, nr = json_array_size(json_object_get(e, "begin_ms"));
	int rc = 0;

	(void)with;
	for (i = 0; i < sizeof(names) / sizeof(*names) && rc == 0; i++)
		rc = sonde_invariant__in(v, e, names[i], check_distribution, NULL);
	if (rc == 0 && (double)nr > sonde_invariant__number(e, "count"))
		rc = sonde_invariant__fail(v, "begin_ms", "has more than count");
	for (i = 0; i < sizeof(lists) / sizeof(*lists) && rc == 0; i++) {
		const json_t *list = json_object_get(e, lists[i]);

		if (list && json_array_size(list) != nr)
			rc = sonde_invariant__fail(v, lists[i], "does not have as many as begin_ms");
	}
	return rc ? rc : check_loads(v, e, nr);
}

/* The causes of idle time add up to it. */
static int check_causes(struct sonde_validation *v, const json_t *region)
{
	const json_t *by = json_object_get(region, "idle"), *cause;
	double sum = 0, idle = sonde_invariant__number(region, "idle_ms");
	const char *key;

	if (!by)
		return 0;
	json_object_foreach((json_t *)by, key, cause)
		sum += json_number_value(cause);
	if (sonde_invariant__differs(sum, idle))
		return sonde_invariant__fail(v, "idle", "does not add up to idle_ms");
	return 0;
}

int sonde_invariant__check_times(struct sonde_validation *v, const json_t *region)
{
	double inside = sonde_invariant__number(region, "busy_ms") +
			sonde_invariant__number(region, "idle_ms");
	int rc;

	if (sonde_invariant__exceeds(inside, sonde_invariant__number(region, "span_ms")))
		return sonde_invariant__fail(v, "idle_ms", "and busy_ms are more than span_ms");
	rc = check_causes(v, region);
	if (rc == 0)
		rc = check_streams(v, region);
	return rc ? rc : sonde_invariant__in(v, region, "entries", check_entries, NULL);
}
