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
static int check_distribution(struct sonde_validation *v, const json_t *d, const char *name)
{
	static const char *const keys[] = {"min_ms", "median_ms", "p95_ms", "p99_ms", "max_ms"};
	double mean = sonde_invariant__number(d, "mean_ms");
	size_t i;

	if (!d)
		return 0;
	sonde_validation__key(v, name);
	for (i = 0; i + 1 < sizeof(keys) / sizeof(*keys); i++)
		if (sonde_invariant__exceeds(sonde_invariant__number(d, keys[i]),
			    sonde_invariant__number(d, keys[i + 1])))
			return sonde_invariant__fail(v, keys[i], "is more than the one after it");
	if (sonde_invariant__exceeds(sonde_invariant__number(d, "min_ms"), mean) ||
		sonde_invariant__exceeds(mean, sonde_invariant__number(d, "max_ms")))
		return sonde_invariant__fail(v, "mean_ms", "is not between min_ms and max_ms");
	return 0;
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

static int check_entries(struct sonde_validation *v, const json_t *region)
{
	static const char *const names[] = {"host", "gpu", "span"};
	const json_t *e = json_object_get(region, "entries");
	size_t i, nr = json_array_size(json_object_get(e, "begin_ms")), start = v->path.n, mark;
	int rc = 0;

	if (!e)
		return 0;
	sonde_validation__key(v, "entries");
	mark = v->path.n;
	for (i = 0; i < sizeof(names) / sizeof(*names) && rc == 0; i++) {
		rc = check_distribution(v, json_object_get(e, names[i]), names[i]);
		if (rc == 0)
			sonde_validation__leave(v, mark);
	}
	if (rc == 0 && (double)nr > sonde_invariant__number(e, "count"))
		rc = sonde_invariant__fail(v, "begin_ms", "has more than count");
	if (rc == 0 && json_array_size(json_object_get(e, "host_ms")) != nr)
		rc = sonde_invariant__fail(v, "host_ms", "does not have as many as begin_ms");
	if (rc == 0 && json_object_get(e, "gpu_ms") &&
		json_array_size(json_object_get(e, "gpu_ms")) != nr)
		rc = sonde_invariant__fail(v, "gpu_ms", "does not have as many as begin_ms");
	if (rc == 0 && json_object_get(e, "labels") &&
		json_array_size(json_object_get(e, "labels")) != nr)
		rc = sonde_invariant__fail(v, "labels", "does not have as many as begin_ms");
	if (rc == 0)
		rc = check_loads(v, e, nr);
	if (rc == 0)
		sonde_validation__leave(v, start);
	return rc;
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
	if (sonde_invariant__exceeds(sum, idle) || sonde_invariant__exceeds(idle, sum))
		return sonde_invariant__fail(v, "idle", "does not add up to idle_ms");
	return 0;
}

int sonde_invariant__times(struct sonde_validation *v, const json_t *region)
{
	double total = sonde_invariant__number(region, "total_ms");
	double busy = sonde_invariant__number(region, "busy_ms");
	double inside = busy + sonde_invariant__number(region, "idle_ms");
	int rc;

	if (sonde_invariant__exceeds(busy, total))
		return sonde_invariant__fail(v, "busy_ms", "is more than the launches took");
	if (sonde_invariant__exceeds(inside, sonde_invariant__number(region, "span_ms")))
		return sonde_invariant__fail(v, "idle_ms", "and busy_ms are more than span_ms");
	if (sonde_invariant__exceeds(sonde_invariant__number(region, "copy_ms"), total))
		return sonde_invariant__fail(v, "copy_ms", "is more than total_ms");
	if (sonde_invariant__exceeds(sonde_invariant__number(region, "copy_count"),
		    sonde_invariant__number(region, "kernel_count")))
		return sonde_invariant__fail(v, "copy_count", "is more than kernel_count");
	if (sonde_invariant__exceeds(sonde_invariant__number(region, "exposed_comm_ms"),
		    sonde_invariant__number(region, "comm_ms")))
		return sonde_invariant__fail(v, "exposed_comm_ms", "is more than comm_ms");
	rc = check_causes(v, region);
	if (rc == 0)
		rc = check_streams(v, region);
	return rc ? rc : check_entries(v, region);
}
