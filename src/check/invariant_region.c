/* What one region says about itself: its place in the tree, and its kernels. */
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
 * id = [domain@] labels joined by '/', with '/', '\' and '@' escaped inside each, and "@@" behind
 * that of a start/end range.
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

/* Start/end ranges are roots; what was never open lies below a range and was never entered. */
static int check_kind(struct sonde_validation *v, const json_t *region, bool is_root)
{
	bool is_origin = sonde_invariant__is_word(region, "kind", "graph") ||
			 sonde_invariant__is_word(region, "kind", "backward");

	if (!is_root && sonde_invariant__is_word(region, "kind", "start_end"))
		return sonde_invariant__fail(v, "kind", "a start/end range has no parent");
	if (is_origin && is_root)
		return sonde_invariant__fail(v, "kind", "hangs below a range, but has no parent");
	if (is_origin && (sonde_invariant__number(region, "instances") > 0 ||
				 json_object_get(region, "host_ms")))
		return sonde_invariant__fail(
			v, "kind", "was never open, but has entries or host time");
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
			v, "parent_id", "a region has a parent exactly when its depth is not 0");
	if (!is_root && !json_equal(json_array_get(path, nr - 2), json_object_get(region, "parent")))
		return sonde_invariant__fail(
			v, "parent", "is not the label before the last of the path");
	if (!id_is_right(region))
		return sonde_invariant__fail(
			v, "id", "is not domain and labels of the path, joined and escaped");
	return check_kind(v, region, is_root);
}

static int fail_kernel(struct sonde_validation *v, size_t i, const char *key, const char *what)
{
	sonde_validation__key(v, "kernels");
	sonde_validation__index(v, i);
	return sonde_invariant__fail(v, key, what);
}

/* Calls and times sum up to the region's, longest first. */
int sonde_invariant__check_kernels(struct sonde_validation *v, const json_t *region)
{
	double calls = 0, ms = 0, before = INFINITY;
	const json_t *k;
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
	}
	if (calls != sonde_invariant__number(region, "kernel_count"))
		return sonde_invariant__fail(v, "kernels", "calls do not sum up to kernel_count");
	if (!isnan(ms) && i &&
		!sonde_invariant__is_close(ms, sonde_invariant__number(region, "total_ms")))
		return sonde_invariant__fail(v, "kernels", "times do not sum up to total_ms");
	return 0;
}

static int check_memory(struct sonde_validation *v, const json_t *memory, const json_t *with)
{
	static sonde_limits limits = {{"left_bytes", "allocated_bytes"}};

	(void)with;
	return SONDE_LIMITS(v, memory, limits);
}

int sonde_invariant__check_region(struct sonde_validation *v, const json_t *region)
{
	static sonde_limits limits = {{"adopted_launches", "kernel_count"},
		{"timed_launches", "kernel_count"}, {"copy_count", "kernel_count"},
		{"busy_ms", "total_ms"}, {"copy_ms", "total_ms"}, {"exposed_comm_ms", "comm_ms"}};
	int rc = check_identity(v, region);

	if (rc == 0)
		rc = SONDE_LIMITS(v, region, limits);
	if (rc == 0)
		rc = sonde_invariant__in(v, region, "memory", check_memory, NULL);
	if (rc == 0)
		rc = sonde_invariant__check_times(v, region);
	return rc ? rc : sonde_invariant__check_kernels(v, region);
}
