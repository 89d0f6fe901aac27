/* Rules for one region: its place in the tree, its kernels, times, entries and figures. */
#include "check/validate_int.h"

#include <math.h>
#include <string.h>

static void add_escaped(struct sonde_buf *out, const json_t *text)
{
	size_t k;

	for (k = 0; k < json_string_length(text); k++) {
		char c = json_string_value(text)[k];

		if (c == '/' || c == '\\' || c == '@')
			sonde_buf_putc(out, '\\');
		sonde_buf_putc(out, c);
	}
}

/*
 * Whether the id is right: [domain@] and the labels joined by '/', with '/', '\' and '@' escaped in each of them;
 * a start/end range has "@@" at the end.
 */
static bool id_is_right(const json_t *region)
{
	const json_t *domain = json_object_get(region, "domain");
	const json_t *id = json_object_get(region, "id"), *label;
	struct sonde_buf want = {0};
	bool is_right;
	size_t i;

	if (json_is_string(domain)) {
		add_escaped(&want, domain);
		sonde_buf_putc(&want, '@');
	}
	json_array_foreach(json_object_get(region, "path"), i, label)
	{
		sonde_buf_puts(&want, i ? "/" : "");
		add_escaped(&want, label);
	}
	sonde_buf_puts(&want, sonde_invariant__is_word(region, "kind", "start_end") ? "@@" : "");
	is_right = !want.failed && want.n == json_string_length(id) &&
		   (want.n == 0 || memcmp(want.p, json_string_value(id), want.n) == 0);
	sonde_buf_release(&want);
	return is_right;
}

/*
 * Start/end ranges are roots. A graph or backward region was never open itself: it is below a range, and has neither
 * entries nor host time.
 */
static int check_kind(struct sonde_validation *v, const json_t *region, bool is_root)
{
	bool is_origin = sonde_invariant__is_word(region, "kind", "graph") ||
			 sonde_invariant__is_word(region, "kind", "backward");

	if (!is_root && sonde_invariant__is_word(region, "kind", "start_end"))
		return sonde_invariant__fail(v, "kind", "is start_end, but such a range has no parent");
	if (is_origin && is_root)
		return sonde_invariant__fail(v, "kind", "needs a parent, but there is none");
	if (is_origin && (sonde_invariant__number(region, "instances") > 0 ||
				 json_object_get(region, "host_ms")))
		return sonde_invariant__fail(
			v, "kind", "is of a region that was never open, which has no entries and no host time");
	return 0;
}

static int check_identity(struct sonde_validation *v, const json_t *region)
{
	const json_t *path = json_object_get(region, "path");
	size_t depth = (size_t)sonde_invariant__number(region, "depth"), nr = json_array_size(path);
	bool is_root = depth == 0;

	if (nr != depth + 1)
		return sonde_invariant__fail(v, "path", "does not have depth + 1 labels");
	if (!json_equal(json_array_get(path, nr - 1), json_object_get(region, "name")))
		return sonde_invariant__fail(v, "name", "is not the last label of the path");
	if (is_root != json_is_null(json_object_get(region, "parent")) ||
		is_root != json_is_null(json_object_get(region, "parent_id")))
		return sonde_invariant__fail(
			v, "parent_id", "must be there when depth is not 0, and only then");
	if (!is_root && !json_equal(json_array_get(path, nr - 2), json_object_get(region, "parent")))
		return sonde_invariant__fail(
			v, "parent", "is not the last but one label of the path");
	if (!id_is_right(region))
		return sonde_invariant__fail(
			v, "id", "does not follow from the domain and the labels of the path");
	return check_kind(v, region, is_root);
}

static int fail_kernel(struct sonde_validation *v, size_t i, const char *key, const char *what)
{
	sonde_validation__key(v, "kernels");
	sonde_validation__index(v, i);
	return sonde_invariant__fail(v, key, what);
}

/* The calls and times of the kernels sum up to those of the region; the kernel with the most time is first. */
int sonde_invariant__check_kernels(struct sonde_validation *v, const json_t *region)
{
	double calls = 0, ms = 0, before = INFINITY;
	const json_t *k, *stalls;
	size_t i;

	json_array_foreach(json_object_get(region, "kernels"), i, k)
	{
		double total = sonde_invariant__number(k, "total_ms");
		double nr = sonde_invariant__number(k, "calls"), mean;

		calls += nr;
		ms += total;
		if (total > before)
			return fail_kernel(
				v, i, "total_ms", "is more than that of the kernel before");
		mean = sonde_invariant__number(k, "mean_ms");
		if (nr == 0 ? !isnan(mean) : !isnan(total) && !sonde_invariant__is_close(mean * nr, total))
			return fail_kernel(v, i, "mean_ms", "is not total_ms / calls");
		before = isnan(total) ? before : total;
		stalls = json_object_get(k, "stalls");
		if (json_object_get(stalls, "lines") &&
			!sonde_invariant__is_close(sonde_invariant__term(stalls, "lines[].samples + unlisted_samples"),
				sonde_invariant__number(stalls, "samples")))
			return fail_kernel(v, i, "stalls", "lines and unlisted_samples do not add up to samples");
	}
	if (calls != sonde_invariant__number(region, "kernel_count"))
		return sonde_invariant__fail(v, "kernels", "calls do not sum up to kernel_count");
	if (!isnan(ms) && i &&
		!sonde_invariant__is_close(ms, sonde_invariant__number(region, "total_ms")))
		return sonde_invariant__fail(v, "kernels", "times do not sum up to total_ms");
	return 0;
}

/* No stream is busy for longer than all streams together. */
static int check_streams(struct sonde_validation *v, const json_t *region)
{
	double busy = sonde_invariant__number(region, "busy_ms");
	const json_t *s;
	size_t i;

	json_array_foreach(json_object_get(region, "per_stream"), i, s)
	{
		if (sonde_invariant__exceeds(sonde_invariant__number(s, "busy_ms"), busy))
			return sonde_invariant__fail(v, "per_stream", "has a stream busier than busy_ms");
	}
	return 0;
}

/* Arguments and sampled figures are lists with one value per listed entry, like the times. */
static int check_entries(struct sonde_validation *v, const json_t *e, const json_t *with)
{
	size_t nr = json_array_size(json_object_get(e, "begin_ms"));
	json_t *metric, *list;
	const char *name;

	(void)with;
	json_object_foreach(json_object_get(e, "arguments"), name, list)
	{
		if (json_array_size(list) != nr)
			return sonde_invariant__fail(v, "arguments", "do not have as many values as begin_ms");
	}
	json_object_foreach(json_object_get(e, "metrics"), name, metric)
	{
		if (json_array_size(json_object_get(metric, "value")) != nr ||
			json_array_size(json_object_get(metric, "error")) != nr)
			return sonde_invariant__fail(v, "metrics", "do not have as many values as begin_ms");
	}
	return 0;
}

/* Tokens per second are computed over a part of the entries' wall time, so the rate is at least tokens ÷ wall_ms. */
static int check_tokens(struct sonde_validation *v, const json_t *region)
{
	double rate = sonde_invariant__number(region, "tokens_per_s"), tokens = sonde_invariant__number(region, "tokens");

	if (rate > 0 && sonde_invariant__exceeds(1e3 * tokens / rate, sonde_invariant__number(region, "wall_ms")))
		return sonde_invariant__fail(v, "tokens_per_s", "is less than tokens over wall_ms");
	return 0;
}

/* The bound is the limiter, or a word for what the region waits for instead. */
static int check_bound(struct sonde_validation *v, const json_t *region)
{
	const char *limiter = json_string_value(json_object_get(region, "limiter"));
	const char *bound = json_string_value(json_object_get(region, "bound"));

	if (sonde_invariant__is_limiter(bound) && (!limiter || strcmp(bound, limiter) != 0))
		return sonde_invariant__fail(v, "bound", "is a limiter, but not the one in limiter");
	return sonde_invariant__check_limiter(v, region, "limiter", limiter);
}

/* Percentiles are in order, and the mean is between the ends. */
#define DISTRIBUTION(in)                                                                                               \
	SONDE_AT_MOST(in, "min_ms", "median_ms"), SONDE_AT_MOST(in, "median_ms", "p95_ms"),                            \
		SONDE_AT_MOST(in, "p95_ms", "p99_ms"), SONDE_AT_MOST(in, "p99_ms", "max_ms"),                          \
		SONDE_AT_MOST(in, "min_ms", "mean_ms"), SONDE_AT_MOST(in, "mean_ms", "max_ms")

int sonde_invariant__check_region(struct sonde_validation *v, const json_t *region)
{
	static const struct sonde_relation relations[] = {
		SONDE_AT_MOST(NULL, "adopted_launches", "kernel_count"),
		SONDE_AT_MOST(NULL, "timed_launches", "kernel_count"),
		SONDE_AT_MOST(NULL, "copy_count", "kernel_count"),
		SONDE_AT_MOST(NULL, "busy_ms", "total_ms"),
		SONDE_AT_MOST(NULL, "copy_ms", "total_ms"),
		SONDE_AT_MOST(NULL, "exposed_comm_ms", "comm_ms"),
		SONDE_AT_MOST(NULL, "host_ms", "wall_ms"),
		SONDE_AT_MOST("memory", "left_bytes", "allocated_bytes"),
		SONDE_AT_MOST("allocator", "allocated_bytes", "peak_bytes"),
		SONDE_AT_MOST("allocator", "net_bytes", "allocated_bytes"),
		SONDE_AT_MOST("allocator", "rise_bytes", "peak_bytes"),
		SONDE_AT_MOST("allocator", "net_bytes", "rise_bytes"),
		DISTRIBUTION("entries.wall"),
		DISTRIBUTION("entries.host"),
		DISTRIBUTION("entries.gpu"),
		DISTRIBUTION("entries.span"),
		{NULL, "busy_ms + idle_ms", "<=", "span_ms", "idle_ms", "and busy_ms are more than span_ms"},
		{NULL, "idle.*", "~", "idle_ms", "idle", "does not add up to idle_ms"},
		{NULL, "#per_stream", "=", "streams", "per_stream", "does not have as many rows as streams says"},
		{NULL, "per_stream[].kernel_count", "<=", "kernel_count", "per_stream", "has more than kernel_count"},
		{NULL, "per_stream[].total_ms", "<=", "total_ms", "per_stream", "has more than total_ms"},
		{"stalls", "reasons[].samples", "~", "samples", "reasons", "do not add up to samples"},
		SONDE_AT_MOST("stalls", "exact_samples", "samples"),
		{NULL, "stalls.sampled_ms", "<=", "total_ms", "stalls", "have a sampled_ms above total_ms"},
		{"exclusive.stalls", "reasons[].samples", "~", "samples", "reasons", "do not add up to samples"},
		{"entries", "#begin_ms", "<=", "count", "begin_ms", "has more values than count says"},
		{"entries", "#wall_ms", "=", "#begin_ms", "wall_ms", "does not have as many values as begin_ms"},
		{"entries", "#host_ms", "=", "#begin_ms", "host_ms", "does not have as many values as begin_ms"},
		{"entries", "#gpu_ms", "=", "#begin_ms", "gpu_ms", "does not have as many values as begin_ms"},
		{"entries", "#labels", "=", "#begin_ms", "labels", "does not have as many values as begin_ms"},
	};
	int rc = check_identity(v, region);

	if (rc == 0)
		rc = SONDE_RELATIONS(v, region, relations);
	if (rc == 0)
		rc = check_streams(v, region);
	if (rc == 0)
		rc = check_tokens(v, region);
	if (rc == 0)
		rc = check_bound(v, region);
	if (rc == 0)
		rc = sonde_invariant__in(v, region, "entries", check_entries, NULL);
	return rc ? rc : sonde_invariant__check_kernels(v, region);
}

/* Each metric is within its range. `of` is anything that has metrics: a region, totals, launches outside all regions. */
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

/* The smallest and the largest time of `count` scopes have the mean between them; imbalance is the largest ÷ the mean. */
static int check_scopes(struct sonde_validation *v, const json_t *s, const json_t *region)
{
	double least = sonde_invariant__number(s, "min_ms"),
	       most = sonde_invariant__number(s, "max_ms");
	double mean =
		sonde_invariant__number(region, "total_ms") / sonde_invariant__number(s, "count");

	if (sonde_invariant__exceeds(least, mean) || sonde_invariant__exceeds(mean, most))
		return sonde_invariant__fail(v, "count", "makes the mean, total_ms / count, lie outside min_ms and max_ms");
	if (sonde_invariant__differs(sonde_invariant__number(s, "imbalance"), most / mean))
		return sonde_invariant__fail(v, "imbalance", "is not max_ms divided by the mean");
	return 0;
}

/* The times of a region over ranks. */
static int check_spread(struct sonde_validation *v, const json_t *s, const json_t *with)
{
	(void)with;
	return sonde_invariant__is_slower_by(s, "max_ms")
		       ? 0
		       : sonde_invariant__fail(v, "slower_pct", "does not follow from max_ms and others_ms");
}

int sonde_invariant__check_figures(struct sonde_validation *v, const json_t *region, const json_t *totals)
{
	static const struct sonde_relation relations[] = {SONDE_AT_MOST("scopes", "min_ms", "median_ms"),
		SONDE_AT_MOST("scopes", "median_ms", "max_ms"), SONDE_AT_MOST("ranks", "min_ms", "median_ms"),
		SONDE_AT_MOST("ranks", "median_ms", "max_ms")};
	double total = sonde_invariant__number(region, "total_ms"),
	       all = sonde_invariant__number(totals, "total_ms");
	int rc = sonde_invariant__check_ranges(v, region);

	if (rc == 0 && sonde_invariant__differs(
			       sonde_invariant__number(region, "share_pct"), 100 * total / all))
		rc = sonde_invariant__fail(v, "share_pct", "is not total_ms divided by total_ms in totals");
	if (rc == 0)
		rc = SONDE_RELATIONS(v, region, relations);
	if (rc == 0)
		rc = sonde_invariant__in(v, region, "scopes", check_scopes, region);
	return rc ? rc : sonde_invariant__in(v, region, "ranks", check_spread, NULL);
}
