/* The arithmetic of a region's timestamps and copies, where it has them. */
#include "check/validate_int.h"

/* Streams share a region's launches out among them, and none is busier than all. */
static int streams(struct sonde_validation *v, const json_t *region)
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

int sonde_invariant__times(struct sonde_validation *v, const json_t *region)
{
	double total = sonde_invariant__number(region, "total_ms");
	double busy = sonde_invariant__number(region, "busy_ms");
	double inside = busy + sonde_invariant__number(region, "idle_ms");

	if (sonde_invariant__exceeds(busy, total))
		return sonde_invariant__fail(v, "busy_ms", "is more than the launches took");
	if (sonde_invariant__exceeds(inside, sonde_invariant__number(region, "span_ms")))
		return sonde_invariant__fail(v, "idle_ms", "and busy_ms are more than span_ms");
	if (sonde_invariant__exceeds(sonde_invariant__number(region, "copy_ms"), total))
		return sonde_invariant__fail(v, "copy_ms", "is more than total_ms");
	if (sonde_invariant__exceeds(sonde_invariant__number(region, "copy_count"),
		    sonde_invariant__number(region, "kernel_count")))
		return sonde_invariant__fail(v, "copy_count", "is more than kernel_count");
	return streams(v, region);
}
