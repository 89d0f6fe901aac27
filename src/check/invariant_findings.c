/* Findings: the evidence of each must be in the rows of the report that it names, with the same values. */
#include "check/validate_int.h"

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

static int check_cost(struct sonde_validation *v, const json_t *cost, const json_t *step)
{
	double of_run = sonde_invariant__number(cost, "step_ms") * sonde_invariant__number(step, "entries");

	if (sonde_invariant__differs(of_run, sonde_invariant__number(cost, "run_ms")))
		return sonde_invariant__fail(v, "run_ms", "is not step_ms times the entries of the step");
	return 0;
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
	int rc = sonde_invariant__in(v, f, "cost", check_cost, json_object_get(document, "step"));

	if (rc == 0)
		rc = sonde_invariant__in(v, f, "gain", check_gain, NULL);
	if (rc || !report || json_object_get(report, "same_as"))
		return rc;
	if (json_is_string(region) && !find_named(json_object_get(report, "regions"), "id", region))
		return sonde_invariant__fail(v, "region", "is not in the report");
	return sonde_invariant__each(v, f, "evidence", check_evidence, report);
}

int sonde_invariant__check_findings(struct sonde_validation *v, const json_t *document)
{
	return sonde_invariant__each(v, document, "findings", check_finding, document);
}
