/*
 * A whole report.json: how its parts must agree with each other. The aggregate has the sums of its scopes,
 * coverage adds up, and a scope may refer to an aggregate that has the same contents ("same_as").
 */
#include "base/map.h"
#include "base/vec.h"
#include "check/validate_int.h"

#include <math.h>

/* The aggregate that `scope` refers to by "same_as"; NULL when no aggregate has that name. */
static const json_t *find_referred(const json_t *document, const json_t *scope)
{
	const json_t *name = json_object_get(scope, "same_as"), *other;
	const json_t *aggregate = json_object_get(document, "aggregate");
	size_t i;

	if (json_equal(json_object_get(aggregate, "scope"), name))
		return aggregate;
	json_array_foreach(json_object_get(document, "range_aggregates"), i, other)
	{
		if (json_equal(json_object_get(other, "scope"), name))
			return other;
	}
	return NULL;
}

/* A scope may refer to its aggregate, never the other way round. A scope that refers to one has no tree itself. */
static int check_reference(struct sonde_validation *v, const json_t *document, const json_t *scope)
{
	const char *name = json_string_value(json_object_get(scope, "scope"));
	const json_t *other = find_referred(document, scope);

	if (!name || sonde_str_starts(sonde_str_from(name), "aggregate"))
		return sonde_invariant__fail(v, "same_as", "is only allowed in a scope, not in an aggregate");
	if (!other || json_object_get(other, "same_as"))
		return sonde_invariant__fail(v, "same_as", "is not an aggregate of this report");
	if (!json_equal(json_object_get(scope, "measured"), json_object_get(other, "measured")))
		return sonde_invariant__fail(v, "measured", "is not the same as in the aggregate that same_as names");
	if (json_object_get(scope, "regions") || json_object_get(scope, "unattributed"))
		return sonde_invariant__fail(v, "same_as", "is not allowed in a scope with regions of its own");
	if (!json_equal(json_object_get(scope, "totals"), json_object_get(other, "totals")))
		return sonde_invariant__fail(v, "totals", "are not the same as in the aggregate that same_as names");
	return 0;
}

/* One scope, or an aggregate of ranges. */
static int check_tree(
	struct sonde_validation *v, const json_t *report, const json_t *document, bool is_aggregate)
{
	return json_object_get(report, "same_as")
		       ? check_reference(v, document, report)
		       : sonde_invariant__check_report(
				 v, report, json_object_get(document, "metric_info"), is_aggregate);
}

static int check_scope(struct sonde_validation *v, const json_t *scope, const json_t *document)
{
	return check_tree(v, scope, document, false);
}

static int check_summary(
	struct sonde_validation *v, const json_t *aggregate, const json_t *document)
{
	return json_is_object(aggregate) ? check_tree(v, aggregate, document, true) : 0;
}

/* The launches of every region, summed over all scopes that were measured in the same way. */
struct sums {
	struct sonde_map ids;
	SONDE_VEC(double) launches;
	double total;
	bool is_ranges;
};

/* For replayed ranges, exclusive launches count: the capture of an inner range is not added to the outer region. */
static double launches_of(const struct sums *s, const json_t *region)
{
	return sonde_invariant__number(
		s->is_ranges ? json_object_get(region, "exclusive") : region, "kernel_count");
}

static bool add_region(struct sums *s, const json_t *region)
{
	bool is_new;
	uint32_t n = sonde_map_add(&s->ids, sonde_invariant__id(region), &is_new);

	if (n == SONDE_NONE || (is_new && !sonde_vec_push(&s->launches)))
		return false;
	s->launches.at[n] += launches_of(s, region);
	return true;
}

static bool add_scopes(struct sums *s, const json_t *document, const json_t *measured)
{
	const json_t *scope, *region;
	size_t i, k;

	json_array_foreach(json_object_get(document, "scopes"), i, scope)
	{
		if (!json_equal(json_object_get(scope, "measured"), measured))
			continue;
		s->total += sonde_invariant__term(scope, "totals.launches");
		if (json_object_get(scope, "same_as"))
			scope = find_referred(document, scope);
		json_array_foreach(json_object_get(scope, "regions"), k, region)
		{
			if (!add_region(s, region))
				return false;
		}
	}
	return true;
}

static int compare_with_scopes(struct sonde_validation *v, const struct sums *s, const json_t *aggregate)
{
	double total = sonde_invariant__term(aggregate, "totals.launches");
	const json_t *region;
	size_t i;

	if (s->is_ranges ? s->total < total : s->total != total)
		return sonde_invariant__fail(
			v, "totals", "launches are not the sum over the scopes");
	json_array_foreach(json_object_get(aggregate, "regions"), i, region)
	{
		uint32_t n = sonde_map_find(&s->ids, sonde_invariant__id(region));

		if (n != SONDE_NONE && s->launches.at[n] == launches_of(s, region))
			continue;
		sonde_validation__key(v, "regions");
		sonde_validation__index(v, i);
		return sonde_invariant__fail(v, "kernel_count", "is not the sum over the scopes");
	}
	return 0;
}

/* The aggregate has the sums of its scopes. */
static int check_aggregate(
	struct sonde_validation *v, const json_t *aggregate, const json_t *document)
{
	struct sums s = {.is_ranges = sonde_invariant__is_ranges(aggregate)};
	int rc;

	if (add_scopes(&s, document, json_object_get(aggregate, "measured")))
		rc = compare_with_scopes(v, &s, aggregate);
	else
		rc = sonde_err_nomem(v->err);
	sonde_map_release(&s.ids);
	sonde_vec_release(&s.launches);
	return rc;
}

static int check_coverage(struct sonde_validation *v, const json_t *c, const json_t *with)
{
	static const struct sonde_relation relations[] = {
		SONDE_AT_MOST(NULL, "launches_attributed", "launches_total"),
		SONDE_AT_MOST(NULL, "gpu_time_ns_attributed", "gpu_time_ns_total"),
		{NULL, "launches_attributed + launches_unattributed + launches_not_selected", "=", "launches_total",
			"launches_total", "is not attributed + unattributed + not selected"},
	};
	double not_selected = sonde_invariant__number(c, "launches_not_selected"),
	       outside = sonde_invariant__number(c, "launches_unattributed"),
	       causes = sonde_invariant__term(c, "unattributed_by.*");
	int rc = SONDE_RELATIONS(v, c, relations);

	(void)with;
	if (rc)
		return rc;
	if (not_selected == 0 &&
		sonde_invariant__differs(sonde_invariant__term(c, "gpu_time_ns_attributed + gpu_time_ns_unattributed"),
			sonde_invariant__number(c, "gpu_time_ns_total")))
		return sonde_invariant__fail(v, "gpu_time_ns_total", "is not attributed + unattributed");
	if (sonde_invariant__term(c, "windows.captured_ms") > sonde_invariant__term(c, "windows.of_ms") + 1e-6)
		return sonde_invariant__fail(v, "windows", "were captured for longer than the program ran");
	/* Each launch outside of all regions has one cause, also those among replayed ranges. */
	if (json_object_get(c, "ranges"))
		outside += sonde_invariant__term(c, "ranges.launches_unattributed");
	return isnan(causes) || causes == outside
		       ? 0
		       : sonde_invariant__fail(v, "unattributed_by", "does not sum up to launches_unattributed");
}

static int check_straggler(struct sonde_validation *v, const json_t *s, const json_t *with)
{
	(void)with;
	if (!sonde_invariant__is_slower_by(s, "ms"))
		return sonde_invariant__fail(v, "slower_pct", "does not follow from ms and others_ms");
	return 0;
}

static int check_rank(struct sonde_validation *v, const json_t *row, const json_t *ranks)
{
	static const struct sonde_relation relations[] = {SONDE_AT_MOST(NULL, "last", "collectives"),
		SONDE_AT_MOST(NULL, "exposed_comm_ms", "comm_ms")};
	int rc = SONDE_RELATIONS(v, row, relations);

	if (rc == 0 && sonde_invariant__number(row, "clock") >=
			       (double)json_array_size(json_object_get(ranks, "clocks")))
		rc = sonde_invariant__fail(v, "clock", "is not one of clocks");
	return rc;
}

static int check_ranks(struct sonde_validation *v, const json_t *ranks, const json_t *with)
{
	static const struct sonde_relation relations[] = {
		{NULL, "count", "=", "#per_rank", "count", "is not the number of ranks in per_rank"},
		{"collectives", "groups[].compared", "=", "compared", "groups", "do not sum up to compared and odd"},
		{"collectives", "groups[].odd", "=", "odd", "groups", "do not sum up to compared and odd"},
	};
	int rc = sonde_invariant__each(v, ranks, "stragglers", check_straggler, NULL);

	(void)with;
	if (rc == 0)
		rc = SONDE_RELATIONS(v, ranks, relations);
	return rc ? rc : sonde_invariant__each(v, ranks, "per_rank", check_rank, ranks);
}

int sonde_invariant__check(struct sonde_validation *v, const json_t *document)
{
	bool is_whole = sonde_invariant__number(document, "scopes_omitted") == 0 &&
			json_is_object(json_object_get(document, "aggregate"));
	int rc;

	if (!json_object_get(document, "scopes") || json_object_get(document, "kernels"))
		return sonde_invariant__check_region(v, document); /* one region's own file */
	rc = sonde_invariant__in(v, document, "coverage", check_coverage, NULL);
	if (rc == 0)
		rc = sonde_invariant__in(v, document, "ranks", check_ranks, NULL);
	if (rc == 0)
		rc = sonde_invariant__in(v, document, "aggregate", check_summary, document);
	if (rc == 0)
		rc = sonde_invariant__each(
			v, document, "range_aggregates", check_summary, document);
	if (rc == 0)
		rc = sonde_invariant__each(v, document, "scopes", check_scope, document);
	if (rc == 0)
		rc = sonde_invariant__check_findings(v, document);
	if (rc || !is_whole)
		return rc;
	return sonde_invariant__in(v, document, "aggregate", check_aggregate, document);
}
