/*
 * Findings: the evidence of each must be in the rows of the report that it names, with the same values, and show its cause.
 */
#include "check/validate_int.h"

#include "catalogue/causes.h"

#include <math.h>
#include <string.h>

/* The aggregate or scope that the findings are about; NULL = it is not in this file. */
static const json_t *find_report(const json_t *document)
{
	const json_t *name = json_object_get(json_object_get(document, "step"), "scope"), *report;
	size_t i;

	report = json_object_get(document, "aggregate");
	if (json_equal(json_object_get(report, "scope"), name))
		return report;
	json_array_foreach(json_object_get(document, "scopes"), i, report)
	{
		if (json_equal(json_object_get(report, "scope"), name))
			return report;
	}
	return NULL;
}

static const json_t *find_named(const json_t *list, const char *key, const json_t *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(list, i, row)
	{
		if (json_equal(json_object_get(row, key), name))
			return row;
	}
	return NULL;
}

/* A figure of a row: a metric, a member, or a member of a member ("idle.sync"). NaN = the row has no such figure. */
static double figure_of(const json_t *row, const char *figure)
{
	const char *dot = strchr(figure, '.');
	char outer[32];

	if (json_object_get(json_object_get(row, "metrics"), figure))
		return sonde_invariant__number(json_object_get(row, "metrics"), figure);
	if (!dot || (size_t)(dot - figure) >= sizeof(outer))
		return sonde_invariant__number(row, figure);
	memcpy(outer, figure, (size_t)(dot - figure));
	outer[dot - figure] = '\0';
	return sonde_invariant__number(json_object_get(row, outer), dot + 1);
}

/*
 * Evidence without a region is compared with the members of the report itself. The time between entries is nowhere
 * else in the report: only the finding has it, so it is not checked.
 */
static int check_evidence(struct sonde_validation *v, const json_t *e, const json_t *report)
{
	const json_t *region = json_object_get(e, "region"), *kernel = json_object_get(e, "kernel"), *row = report;
	const char *figure = json_string_value(json_object_get(e, "figure"));

	if (json_is_string(region)) {
		row = find_named(json_object_get(report, "regions"), "id", region);
		if (!row)
			return sonde_invariant__fail(v, "region", "is not in the report");
		if (kernel)
			row = find_named(json_object_get(row, "kernels"), "kernel_name", kernel);
		if (!row)
			return sonde_invariant__fail(v, "kernel", "is not in the region");
		if (isnan(figure_of(row, figure)))
			return sonde_invariant__fail(v, "figure", "is not in the row of this region or kernel");
	}
	if (sonde_invariant__differs(figure_of(row, figure), sonde_invariant__number(e, "value")))
		return sonde_invariant__fail(v, "value", "is not the value in the row of this region or kernel");
	return 0;
}

/* What a cost is a share of: the step with the time until the next entry, the time in ranges, or the GPU's time. NaN = the report does not tell. */
static double whole_of(const json_t *cost, const json_t *document)
{
	const json_t *report = find_report(document);

	if (sonde_invariant__is_word(cost, "share_of", "step"))
		return sonde_invariant__term(json_object_get(document, "step"), "entry_ms + between_ms");
	if (sonde_invariant__is_word(cost, "share_of", "ranges"))
		return sonde_invariant__number(json_object_get(document, "step"), "ranges_ms");
	if (sonde_invariant__is_word(cost, "share_of", "gpu_time"))
		return sonde_invariant__term(report, "totals.total_ms + unattributed.total_ms");
	return NAN;
}

/* A usual entry of the step costs at most what all entries together do. */
static int check_cost(struct sonde_validation *v, const json_t *cost, const json_t *document)
{
	static const struct sonde_relation rows[] = {SONDE_AT_MOST(NULL, "step_ms", "run_ms")};
	bool is_step = sonde_invariant__is_word(cost, "share_of", "step");
	double ms = sonde_invariant__number(cost, is_step ? "step_ms" : "run_ms");
	int rc = SONDE_RELATIONS(v, cost, rows);

	if (rc == 0 && is_step != json_is_number(json_object_get(cost, "step_ms")))
		return sonde_invariant__fail(v, "step_ms", "must be there when the share is of the step, and only then");
	if (rc == 0 && sonde_invariant__differs(100 * ms / whole_of(cost, document), sonde_invariant__number(cost, "share_pct")))
		return sonde_invariant__fail(v, "share_pct", "is not the cost as a share of what share_of names");
	return rc;
}

/* The figures that show a cause, one of which is among the evidence. */
static const struct {
	const char *cause, *figures[3];
} shown_by[] = {
	{"launch", {"idle.launch_ms"}},
	{"sync", {"idle.sync_ms", "between_ms", "wait_ms"}},
	{"copy", {"idle.copy_ms", "between_ms"}},
	{"alloc", {"idle.alloc_ms", "between_ms"}},
	{"host", {"idle.host_ms"}},
	{"queued", {"idle.queued_ms"}},
	{"stream_gaps", {"idle.queued_ms"}},
	{"unknown", {"idle.unknown_ms"}},
	{"head", {"head_ms"}},
	{"between", {"between_ms"}},
	{"tail", {"tail_ms"}},
	{"pageable_copies", {"copy_ms"}},
	{"small_copies", {"copy_ms"}},
	{"copies", {"copy_ms"}},
	{"device_copies", {"copy_ms"}},
	{"tiny_kernels", {"kernel_count"}},
	{"exposed_comm", {"exposed_comm_ms"}},
	{"late_rank", {"comm_wait_ms"}},
	{"imbalance", {"imbalance"}},
	{"outside", {"unattributed.total_ms"}},
};

static bool has_figure(const json_t *f, const char *const figures[3])
{
	const json_t *e;
	size_t i, k;

	json_array_foreach(json_object_get(f, "evidence"), i, e)
	{
		for (k = 0; k < 3 && figures[k]; k++)
			if (sonde_invariant__is_word(e, "figure", figures[k]))
				return true;
	}
	return false;
}

/* The limiter that a cause stands for; NULL = it limits no kernel. */
static const char *limiter_of(const char *cause)
{
	size_t i;

	for (i = 0; i < SONDE_NR_CAUSES; i++)
		if (strcmp(sonde_causes[i].name, cause) == 0)
			return sonde_causes[i].limiter;
	return NULL;
}

/* A limiter is of a kernel, whose row shows it; other causes have a figure of their own. */
static int check_cause(struct sonde_validation *v, const json_t *f, const json_t *report)
{
	const char *cause = json_string_value(json_object_get(f, "cause")), *limiter = limiter_of(cause);
	bool is_of_kernel = limiter || sonde_invariant__is_word(f, "cause", sonde_causes[SONDE_CAUSE_UNLIMITED].name);
	const json_t *region = find_named(json_object_get(report, "regions"), "id", json_object_get(f, "region")), *row;
	size_t i;

	if (is_of_kernel != (json_object_get(f, "kernel") != NULL))
		return sonde_invariant__fail(v, "cause", is_of_kernel ? "is of a kernel, but none is named" : "is not of a kernel, but one is named");
	for (i = 0; i < sizeof(shown_by) / sizeof(*shown_by); i++)
		if (strcmp(shown_by[i].cause, cause) == 0 && !has_figure(f, shown_by[i].figures))
			return sonde_invariant__fail(v, "cause", "has no figure of it among the evidence");
	row = find_named(json_object_get(region, "kernels"), "kernel_name", json_object_get(f, "kernel"));
	return row ? sonde_invariant__check_limiter(v, row, "cause", limiter) : 0;
}

static int check_gain(struct sonde_validation *v, const json_t *gain, const json_t *with)
{
	static const struct sonde_relation rows[] = {
		SONDE_AT_MOST(NULL, "low_ms", "step_ms"), SONDE_AT_MOST(NULL, "step_ms", "high_ms"),
		SONDE_AT_MOST(NULL, "high_ms", "of_ms")};

	(void)with;
	return SONDE_RELATIONS(v, gain, rows);
}

static int check_finding(struct sonde_validation *v, const json_t *f, const json_t *document)
{
	const json_t *report = find_report(document), *region = json_object_get(f, "region");
	int rc = sonde_invariant__in(v, f, "cost", check_cost, document);

	if (rc == 0)
		rc = sonde_invariant__in(v, f, "gain", check_gain, NULL);
	if (rc || !report || json_object_get(report, "same_as"))
		return rc;
	if (json_is_string(region) && !find_named(json_object_get(report, "regions"), "id", region))
		return sonde_invariant__fail(v, "region", "is not in the report");
	rc = sonde_invariant__each(v, f, "evidence", check_evidence, report);
	return rc ? rc : check_cause(v, f, report);
}

int sonde_invariant__check_findings(struct sonde_validation *v, const json_t *document)
{
	return sonde_invariant__each(v, document, "findings", check_finding, document);
}
