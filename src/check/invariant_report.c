/* One report: the order of its regions, and the figures that sum up over them. */
#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"
#include "check/validate_int.h"

#include <math.h>
#include <string.h>

/* The regions of one report, as columns of numbers. The schema was checked before. */
struct rows {
	size_t nr;
	const json_t **at;
	size_t *parent;	     /* SIZE_MAX = a root */
	double *incl, *excl; /* the quantity that is being checked, inclusive and exclusive; NaN = null */
	double *children; /* the sum of its inclusive values over the region's children */
	bool is_ranges; /* a report of replayed ranges: the exclusive part of a region is not known */
	bool may_nest; /* an aggregate of replayed ranges: its ranges may be inside each other */
};

static size_t depth_of(const json_t *region)
{
	return (size_t)sonde_invariant__number(region, "depth");
}

static bool is_start_end(const json_t *region)
{
	return sonde_invariant__is_word(region, "kind", "start_end");
}

/* Whether `parent` (NULL = none) is the region that parent_id names. */
static int check_parent(struct sonde_validation *v, const json_t *region, const json_t *parent)
{
	if (depth_of(region) == 0)
		return 0;
	if (!parent ||
		!json_equal(json_object_get(parent, "id"), json_object_get(region, "parent_id")))
		return sonde_invariant__fail(
			v, "parent_id", "is not the region above it: regions must be in depth-first order");
	if (is_start_end(parent))
		return sonde_invariant__fail(
			v, "parent_id", "is a start/end range, which has no children");
	return 0;
}

static int check_unique(struct sonde_validation *v, struct sonde_map *ids, const json_t *region)
{
	bool is_new;

	if (sonde_map_add(ids, sonde_invariant__id(region), &is_new) == SONDE_NONE)
		return sonde_err_nomem(v->err);
	return is_new ? 0 : sonde_invariant__fail(v, "id", "appears twice in this report");
}

/* Regions are in depth-first order, each below its parent; fills in rows->parent. */
static int check_order(struct sonde_validation *v, struct rows *rows)
{
	struct sonde_map ids = {0};
	size_t i, last = SIZE_MAX;
	int rc = 0;

	for (i = 0; i < rows->nr && rc == 0; i++) {
		size_t mark = sonde_validation__index(v, i);

		/* The parent is the last region so far that is one level higher. */
		while (last != SIZE_MAX && depth_of(rows->at[last]) + 1 > depth_of(rows->at[i]))
			last = rows->parent[last];
		rows->parent[i] = last;
		rc = check_unique(v, &ids, rows->at[i]);
		if (rc == 0)
			rc = check_parent(v, rows->at[i], last == SIZE_MAX ? NULL : rows->at[last]);
		if (rc == 0)
			rc = sonde_invariant__check_region(v, rows->at[i]);
		last = i;
		if (rc == 0)
			sonde_validation__leave(v, mark);
	}
	sonde_map_release(&ids);
	return rc;
}

/*
 * With replayed ranges, a region includes what ran in the ranges inside it, and its exclusive part is not known (null).
 * Older versions wrote a number there: ranges that were captured in another run are not added to it again, so the
 * inclusive value is between the exclusive one and exclusive + children.
 */
static bool is_nested_sum(const struct rows *rows, size_t i, double own)
{
	if (rows->is_ranges && isnan(rows->excl[i]))
		return true;
	return rows->may_nest && sonde_invariant__term(rows->at[i], "exclusive.kernel_count") > 0 &&
	       rows->incl[i] >= own * (1 - SONDE_TOLERANCE) &&
	       rows->incl[i] <= (own + rows->children[i]) * (1 + SONDE_TOLERANCE);
}

/* inclusive = exclusive + inclusive of the children, for the quantity that is in the rows now. */
static int check_sums(
	struct sonde_validation *v, struct rows *rows, const char *group, const char *what)
{
	size_t i;

	memset(rows->children, 0, rows->nr * sizeof(*rows->children));
	for (i = 0; i < rows->nr; i++)
		if (rows->parent[i] != SIZE_MAX && !isnan(rows->incl[i]))
			rows->children[rows->parent[i]] += rows->incl[i];
	for (i = 0; i < rows->nr; i++) {
		double own = isnan(rows->excl[i]) ? 0 : rows->excl[i];

		if (isnan(rows->incl[i]) && isnan(rows->excl[i]) && rows->children[i] == 0)
			continue;
		if (sonde_invariant__is_close(rows->incl[i], own + rows->children[i]) ||
			is_nested_sum(rows, i, own))
			continue;
		sonde_validation__index(v, i);
		if (group)
			sonde_validation__key(v, group);
		sonde_validation__key(v, what);
		return sonde_validation__fail(v,
			"inclusive %.15g is not exclusive %.15g + children %.15g", rows->incl[i],
			own, rows->children[i]);
	}
	return 0;
}

static int check_field(struct sonde_validation *v, struct rows *rows, const char *key)
{
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		rows->incl[i] = sonde_invariant__term(rows->at[i], key);
		rows->excl[i] = sonde_invariant__term(json_object_get(rows->at[i], "exclusive"), key);
	}
	return check_sums(v, rows, NULL, key);
}

/* Whether this region's figure of the metric is not a sum, although the metric is one elsewhere in the report. */
static bool is_made_otherwise(const json_t *region, const char *metric)
{
	const json_t *info = json_object_get(json_object_get(region, "metric_info"), metric);

	return info && !sonde_invariant__is_word(info, "method", "sum");
}

static int check_metric(struct sonde_validation *v, struct rows *rows, const char *metric)
{
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		const json_t *exclusive = json_object_get(rows->at[i], "exclusive");
		bool is_sum = !is_made_otherwise(rows->at[i], metric);

		rows->incl[i] = is_sum ? sonde_invariant__number(
						 json_object_get(rows->at[i], "metrics"), metric)
				       : NAN;
		rows->excl[i] = is_sum ? sonde_invariant__number(
						 json_object_get(exclusive, "metrics"), metric)
				       : NAN;
	}
	return check_sums(v, rows, "metrics", metric);
}

static int check_metrics(struct sonde_validation *v, struct rows *rows, const json_t *info)
{
	const char *metric;
	json_t *entry;
	int rc;

	json_object_foreach((json_t *)(uintptr_t)info, metric, entry)
	{
		if (!sonde_invariant__is_word(entry, "method", "sum"))
			continue;
		rc = check_metric(v, rows, metric);
		if (rc)
			return rc;
	}
	return 0;
}

/* Quantities that have no exclusive part: a region has at least as much as the regions inside it together. */
static const struct {
	const char *group, *key; /* group NULL = a member of the region itself */
} parts[] = {
	{NULL, "adopted_launches"},
	{"memory", "allocated_bytes"},
	{"memory", "freed_bytes"},
};

static double part_of(const json_t *region, size_t part)
{
	const json_t *of =
		parts[part].group ? json_object_get(region, parts[part].group) : region;

	return sonde_invariant__number(of, parts[part].key);
}

static int fail_part(struct sonde_validation *v, size_t region, size_t part)
{
	sonde_validation__index(v, region);
	if (parts[part].group)
		sonde_validation__key(v, parts[part].group);
	return sonde_invariant__fail(v, parts[part].key, "is less than that of the regions inside");
}

static int check_parts(
	struct sonde_validation *v, const json_t *const *regions, const size_t *parent, size_t nr)
{
	double *inside = sonde_calloc(nr + 1, sizeof(*inside)), own;
	size_t i, k;
	int rc = inside ? 0 : sonde_err_nomem(v->err);

	for (k = 0; k < sizeof(parts) / sizeof(*parts) && rc == 0; k++) {
		memset(inside, 0, nr * sizeof(*inside));
		for (i = 0; i < nr; i++) {
			own = part_of(regions[i], k);
			if (parent[i] != SIZE_MAX && !isnan(own))
				inside[parent[i]] += own;
		}
		for (i = 0; i < nr && rc == 0; i++) {
			own = part_of(regions[i], k);
			if (sonde_invariant__exceeds(inside[i], isnan(own) ? 0 : own))
				rc = fail_part(v, i, k);
		}
	}
	sonde_free(inside);
	return rc;
}

/*
 * A tree is the regions of one domain, or one start/end range. Each launch of a report is in at least one
 * tree, and in each tree at most once. So no tree has more launches than the total, all trees together have
 * at least the total, and a single tree has exactly the total.
 */
static int check_totals(struct sonde_validation *v, const struct rows *rows, const json_t *totals)
{
	double total = sonde_invariant__number(totals, "launches"), sum = 0;
	SONDE_VEC(double) trees = {0};
	struct sonde_map domains = {0};
	size_t i;
	int rc = 0;

	for (i = 0; i < rows->nr && rc == 0; i++) {
		const json_t *r = rows->at[i], *domain = json_object_get(r, "domain");
		double own = sonde_invariant__term(r, "exclusive.kernel_count");
		struct sonde_str key = json_is_string(domain)
					       ? (struct sonde_str){json_string_value(domain),
							 json_string_length(domain)}
					       : SONDE_STR("\001default");
		uint32_t n;

		sum += own;
		if (!is_start_end(r)) { /* a start/end range is a tree of its own */
			n = sonde_map_add(&domains, key, NULL);
			if (n == SONDE_NONE || (n == trees.nr && !sonde_vec_push(&trees)))
				rc = sonde_err_nomem(v->err);
			else
				own = trees.at[n] += own;
		}
		if (rc == 0 && own > total && !rows->may_nest)
			rc = sonde_invariant__fail(
				v, "launches", "is less than the total of one tree of regions");
	}
	if (rc == 0 && sum < total)
		rc = sonde_invariant__fail(v, "launches", "is more than the total of all regions");
	if (rc == 0 && trees.nr == 1 && sum != total && sum == trees.at[0] && !rows->may_nest)
		rc = sonde_invariant__fail(v, "launches", "is not the sum of the exclusive counts");
	sonde_vec_release(&trees);
	sonde_map_release(&domains);
	return rc;
}

/* The launches outside all regions have kernels and metric ranges, as a region has. */
static int check_outside(struct sonde_validation *v, const json_t *outside, const json_t *with)
{
	int rc;

	(void)with;
	rc = sonde_invariant__check_ranges(v, outside);
	return rc ? rc : sonde_invariant__check_kernels(v, outside);
}

static bool rows_init(struct rows *rows, const json_t *regions)
{
	size_t i, n = json_array_size(regions) + 1;

	*rows = (struct rows){.nr = n - 1,
		.at = sonde_calloc(n, sizeof(*rows->at)),
		.parent = sonde_calloc(n, sizeof(*rows->parent)),
		.incl = sonde_calloc(n * 3, sizeof(*rows->incl))};
	if (!rows->at || !rows->parent || !rows->incl)
		return false;
	rows->excl = rows->incl + n;
	rows->children = rows->excl + n;
	for (i = 0; i < rows->nr; i++)
		rows->at[i] = json_array_get(regions, i);
	return true;
}

static void rows_release(struct rows *rows)
{
	sonde_free(rows->at);
	sonde_free(rows->parent);
	sonde_free(rows->incl);
}

int sonde_invariant__check_report(
	struct sonde_validation *v, const json_t *report, const json_t *info, bool is_aggregate)
{
	const json_t *totals = json_object_get(report, "totals");
	size_t start = v->path.n;
	struct rows rows;
	int rc = rows_init(&rows, json_object_get(report, "regions")) ? 0 : sonde_err_nomem(v->err);

	rows.is_ranges = sonde_invariant__is_ranges(report);
	rows.may_nest = is_aggregate && rows.is_ranges;
	if (rc == 0) {
		sonde_validation__key(v, "regions");
		rc = check_order(v, &rows);
	}
	if (rc == 0)
		rc = check_field(v, &rows, "kernel_count");
	if (rc == 0)
		rc = check_field(v, &rows, "total_ms");
	if (rc == 0)
		rc = check_field(v, &rows, "stalls.samples");
	if (rc == 0)
		rc = check_parts(v, rows.at, rows.parent, rows.nr);
	if (rc == 0)
		rc = check_metrics(v, &rows, info);
	if (rc == 0) {
		sonde_validation__leave(v, start);
		rc = sonde_invariant__each(v, report, "regions", sonde_invariant__check_figures, totals);
	}
	if (rc == 0) {
		sonde_validation__key(v, "totals");
		rc = check_totals(v, &rows, totals);
	}
	if (rc == 0)
		rc = sonde_invariant__check_ranges(v, totals);
	if (rc == 0) {
		sonde_validation__leave(v, start);
		rc = sonde_invariant__in(v, report, "unattributed", check_outside, NULL);
	}
	rows_release(&rows);
	return rc;
}
