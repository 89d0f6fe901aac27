/* The validator: the shape of a report, its tree and its sums. */
#include "validated.h"

static void test_validate__accepts_what_the_exporter_writes(void **state)
{
	(void)state;
	accepts(good());
}

/* A report of a hostile capture is still a report. */
static void test_validate__accepts_reports_of_hostile_captures(void **state)
{
	static const struct sonde_attribute twice[] = {{.name = {"a\0b", 3}, .value = 1},
		{.name = {"a\0b", 3}, .value = 2}, {.name = {"huge", 4}, .value = 1e300}};
	struct sonde_err err = {0};
	struct sonde_buf b;
	struct sonde_device *device;
	struct made m;
	uint32_t a;
	size_t i;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "gemm", 1, &a);
	made_metric(&m, TIME, 3000);
	made_metric(&m, "m.n.sum", 5);
	made_launch(&m, "outside", 0, NULL);
	made_metric(&m, TIME, 3000);
	made_set_thread(&m, m.r->records.nr - 1, UINT64_MAX);
	m.r->strings.keys[m.r->ranges.at[a].label] = (struct sonde_str){"A\0x", 3};
	m.r->metrics.at[1].name = (struct sonde_str){"m\0n.sum", 7};
	m.r->metric_names.keys[1] = m.r->metrics.at[1].name;
	device = sonde_push(&m.r->arena, &m.r->devices);
	assert_non_null(device);
	*device = (struct sonde_device){.attributes = twice, .nr_attributes = 3};
	for (i = 0; i < m.r->records.nr; i++)
		made_set_device(&m, i, 0);
	b = exported(&m, sonde_export_json, NULL);
	assert_non_null(strstr(b.p, "18446744073709551615"));
	assert_non_null(strstr(b.p, "\"a\ufffd" "00b\": 1"));
	assert_non_null(strstr(b.p, "\"m\ufffd" "00n.sum\": "));
	if (sonde_validate_text(sonde_buf_view(&b), "t", &err))
		fail_msg("%s", err.msg);
	sonde_buf_release(&b);
	made_release(&m);
}

static void test_validate__names_a_missing_field(void **state)
{
	json_t *d = good();

	(void)state;
	json_object_del(d, "coverage");
	rejects(d, "t: $: ", "'coverage' is missing");
	d = good();
	json_object_del(at(d, "aggregate", "regions", "1", NULL), "kind");
	rejects(d, "$.aggregate.regions[1]: ", "'kind' is missing");
}

static void test_validate__names_a_wrong_type_or_value(void **state)
{
	json_t *d = good();

	(void)state;
	json_object_set_new(at(d, "aggregate", "regions", "0", NULL), "depth", json_string("0"));
	rejects(d, "$.aggregate.regions[0].depth: ", "must be integer");
	d = good();
	json_object_set_new(at(d, "aggregate", "regions", "0", NULL), "kind", json_string("x"));
	rejects(d, "$.aggregate.regions[0].kind: ",
		"is x, must be push_pop, start_end, graph or backward");
	d = good();
	json_object_set_new(d, "config_fingerprint", json_string("md5:0"));
	rejects(d, "$.config_fingerprint: ", "does not match");
	d = good();
	json_object_set_new(at(d, "coverage", NULL), "launches_total", json_integer(-1));
	rejects(d, "$.coverage.launches_total: ", "less than");
	d = good();
	json_object_set_new(
		at(d, "aggregate", "totals", "metrics", NULL), TIME, json_string("much"));
	rejects(d, "$.aggregate.totals.metrics[\"" TIME "\"]: ", "is string, must be number or null");
	d = good();
	json_object_set_new(d, "schema", json_string("sonde.report/9"));
	rejects(d, "$.schema: ", "sonde.report/1");
}

static void test_validate__inclusive_must_be_exclusive_plus_children(void **state)
{
	json_t *d = good();

	(void)state;
	json_object_set_new(at(d, "aggregate", "regions", "0", "exclusive", NULL), "kernel_count",
		json_integer(1));
	rejects(d, "$.aggregate.regions[0].kernel_count: ", "is not exclusive");
	d = good();
	json_object_set_new(at(d, "aggregate", "regions", "0", "exclusive", "metrics", NULL),
		TIME, json_real(4000.001));
	rejects(d, "$.aggregate.regions[0]", "is not exclusive");
}

static void test_validate__tree_must_be_depth_first_with_unique_ids(void **state)
{
	json_t *d = good(), *regions;

	(void)state;
	regions = at(d, "aggregate", "regions", NULL);
	json_array_append(regions, json_array_get(regions, 1));
	rejects(d, "$.aggregate.regions[2].id: ", "twice");
	d = good();
	regions = at(d, "aggregate", "regions", NULL);
	json_array_remove(regions, 0);
	rejects(d, "$.aggregate.regions[0].parent_id: ", "depth-first");
	d = good();
	json_object_set_new(
		at(d, "aggregate", "regions", "1", NULL), "id", json_string("A/other"));
	rejects(d, "$.aggregate.regions[1].id: ", "labels of the path");
}

static void test_validate__totals_coverage_and_kernels_must_add_up(void **state)
{
	json_t *d = good();

	(void)state;
	json_object_set_new(at(d, "aggregate", "totals", NULL), "launches", json_integer(2));
	rejects(d, "$.aggregate.totals.launches: ", "less than");
	d = good();
	json_object_set_new(at(d, "coverage", NULL), "launches_total", json_integer(9));
	rejects(d, "$.coverage.launches_total: ", "is not");
	d = good();
	json_object_set_new(at(d, "aggregate", "regions", "0", "kernels", "0", NULL), "calls",
		json_integer(7));
	rejects(d, "$.aggregate.regions[0].kernels", "");
	d = good();
	json_array_clear(at(d, "scopes", NULL));
	rejects(d, "$.aggregate", "scopes");
}

/* A report whose scope refers to the aggregate for its regions, as in reports by earlier versions. */
static json_t *referring(void)
{
	json_t *d = good(), *scope = at(d, "scopes", "0", NULL);

	json_object_del(scope, "regions");
	json_object_del(scope, "unattributed");
	json_object_set_new(scope, "same_as", json_string("aggregate"));
	return d;
}

static void test_validate__a_scope_may_refer_to_its_aggregate_only(void **state)
{
	json_t *d = referring();

	(void)state;
	accepts(d);
	d = referring();
	json_object_set_new(at(d, "scopes", "0", NULL), "same_as", json_string("aggregate/ranges"));
	rejects(d, "$.scopes[0].same_as: ", "is not an aggregate of this report");
	d = referring();
	json_object_set_new(at(d, "scopes", "0", "totals", NULL), "launches", json_integer(2));
	rejects(d, "$.scopes[0].totals: ", "are not the same as in the aggregate that same_as names");
	d = referring();
	json_object_set(at(d, "scopes", "0", NULL), "regions", at(d, "aggregate", "regions", NULL));
	rejects(d, "$.scopes[0].same_as: ", "is not allowed in a scope with regions of its own");
	d = referring();
	json_object_set_new(at(d, "aggregate", NULL), "same_as", json_string("aggregate"));
	rejects(d, "$.aggregate.same_as: ", "is only allowed in a scope");
	d = referring();
	json_object_del(at(d, "scopes", "0", NULL), "same_as");
	rejects(d, "$.scopes[0]: ", "'regions' is missing");
	d = referring();
	json_object_set_new(d, "aggregate", json_null());
	rejects(d, "$.scopes[0].same_as: ", "is not an aggregate of this report");
}

static void test_validate__what_is_no_json_is_named_with_its_byte(void **state)
{
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(
		sonde_validate_text(SONDE_STR("{\"schema\": ]"), "t", &err), SONDE_ERR_FORMAT);
	assert_non_null(strstr(err.msg, "t: byte "));
	assert_int_equal(
		sonde_validate_text(SONDE_STR("{\"schema\": "), "t", &err), SONDE_ERR_FORMAT);
	assert_string_equal(err.msg, "t: truncated after 11 bytes; copy it again");
	assert_int_equal(sonde_validate_text(SONDE_STR(""), "t", &err), SONDE_ERR_FORMAT);
	assert_int_equal(sonde_validate_text(SONDE_STR("[]"), "t", &err), SONDE_ERR_FORMAT);
	assert_int_equal(sonde_validate_text(SONDE_STR("{}"), "t", &err), SONDE_ERR_FORMAT);
	assert_int_equal(
		sonde_validate_text(SONDE_STR("{\"schema\": \"sonde.region/1\"}"), "t", &err),
		SONDE_ERR_FORMAT);
	assert_int_equal(sonde_validate_file("/", &err), SONDE_ERR_IO);
}

/* Removing any member, or replacing it by any type, must never crash the validator. */
static void test_validate__any_member_may_be_missing_or_of_any_type(void **state)
{
	static const char *const others[] = {"null", "0", "-1.5", "\"x\"", "[]", "{}", "true"};
	json_t *d = good();
	char *text = json_dumps(d, JSON_COMPACT);
	size_t i, k, n = strlen(text);

	(void)state;
	json_decref(d);
	for (i = 0; i < n; i++) {
		struct sonde_buf b = {0};
		size_t end;

		if (text[i] != ':')
			continue;
		end = i + 1 + strcspn(text + i + 1, ",]}");
		for (k = 0; k < sizeof(others) / sizeof(*others); k++) {
			sonde_buf_clear(&b);
			sonde_buf_add(&b, text, i + 1);
			sonde_buf_puts(&b, others[k]);
			sonde_buf_add(&b, text + end, n - end);
			sonde_validate_text(sonde_buf_view(&b), "t", NULL);
		}
		sonde_buf_release(&b);
		i += 40; /* a sample of them is enough */
	}
	free(text);
}

/* The evidence of a finding has the values of the rows that it names. */
static void test_validate__findings_rest_on_rows(void **state)
{
	json_t *d = good();

	(void)state;
	assert_true(json_array_size(at(d, "findings", "0", "evidence", NULL)) > 0);
	json_real_set(at(d, "findings", "0", "evidence", "0", "value", NULL), 1);
	rejects(d, "$.findings[0].evidence[0].value: ", "is not the value in the row of this region or kernel");
	d = good();
	json_string_set(at(d, "findings", "0", "evidence", "0", "region", NULL), "Z");
	rejects(d, "$.findings[0].evidence[0].region: ", "is not in the report");
	d = good();
	json_string_set(at(d, "findings", "0", "evidence", "0", "figure", NULL), "none_ms");
	rejects(d, "$.findings[0].evidence[0].figure: ", "is not in the row");
	d = good();
	json_object_set_new(at(d, "findings", "0", "cost", NULL), "step_ms", json_real(7));
	json_object_set_new(at(d, "step", NULL), "entries", json_integer(3));
	rejects(d, "$.findings[0].cost.step_ms: ", "run_ms");
	d = good();
	json_object_set_new(at(d, "findings", "0", "gain", NULL), "low_ms", json_real(7));
	json_object_set_new(at(d, "findings", "0", "gain", NULL), "step_ms", json_real(6));
	rejects(d, "$.findings[0].gain", "low_ms");
}

/* A report of one kernel with counters: DRAM is busiest. */
static json_t *limited(void)
{
	json_t *document;
	struct sonde_buf b;
	struct made m;
	uint32_t a;
	int i;

	made_init(&m);
	for (i = 0; i < 4; i++) {
		a = made_push(&m, MADE_ROOT, "step");
		made_launch(&m, "gemm", 1, &a);
		made_metric(&m, TIME, 3000);
		made_metric(&m, "sm__throughput.avg.pct_of_peak_sustained_elapsed", 20);
		made_metric(&m, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", 90);
		made_metric(&m, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 90);
		made_metric(&m, "lts__throughput.avg.pct_of_peak_sustained_elapsed", 50);
	}
	b = exported(&m, sonde_export_json, NULL);
	document = json_loadb(b.p, b.n, 0, NULL);
	assert_non_null(document);
	sonde_buf_release(&b);
	made_release(&m);
	assert_true(json_equal(at(document, "findings", "0", "cause", NULL), at(document, "aggregate", "regions", "0", "limiter", NULL)));
	return document;
}

/* What a finding says about its kernel follows from the figures of the kernel's row. */
static void test_validate__causes_agree_with_rows(void **state)
{
	static const struct {
		const char *key, *word, *where, *what;
	} cases[] = {
		{"cause", "l2", "$.findings[0].cause: ", "is not the busiest part in the row"},
		{"cause", "tensor", "$.findings[0].cause: ", "names a limiter without a figure in the row"},
		{"cause", "copies", "$.findings[0].cause: ", "is not of a kernel, but one is named"},
	};
	json_t *d;
	size_t i;

	(void)state;
	accepts(limited());
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		d = limited();
		json_string_set(at(d, "findings", "0", cases[i].key, NULL), cases[i].word);
		rejects(d, cases[i].where, cases[i].what);
	}
	d = limited();
	json_object_del(at(d, "findings", "0", NULL), "kernel");
	rejects(d, "$.findings[0].cause: ", "is of a kernel, but none is named");
	d = limited();
	json_object_del(at(d, "findings", "0", NULL), "kernel");
	json_string_set(at(d, "findings", "0", "cause", NULL), "copies");
	rejects(d, "$.findings[0].cause: ", "has no figure of it among the evidence");
}

static void test_validate__shares_are_of_the_step(void **state)
{
	json_t *d = limited();

	(void)state;
	json_object_set_new(at(d, "findings", "0", "cost", NULL), "share_pct", json_real(7));
	rejects(d, "$.findings[0].cost.share_pct: ", "is not the cost as a share of what share_of names");
	d = limited();
	json_string_set(at(d, "findings", "0", "cost", "share_of", NULL), "ranges");
	rejects(d, "$.findings[0].cost.step_ms: ", "must be there when the share is of the step");
}

/* A level of the memory or a pipe is known from a figure. */
static void test_validate__bounds_need_figures(void **state)
{
	json_t *d = good();

	(void)state;
	json_object_set_new(at(d, "aggregate", "regions", "0", NULL), "bound", json_string("dram"));
	rejects(d, "$.aggregate.regions[0].bound: ", "is a limiter, but not the one in limiter");
	d = good();
	json_object_set_new(at(d, "aggregate", "regions", "0", NULL), "limiter", json_string("dram"));
	rejects(d, "$.aggregate.regions[0].limiter: ", "names a limiter without a figure in the row");
	d = limited();
	json_object_set_new(at(d, "aggregate", "regions", "0", NULL), "limiter", json_string("l2"));
	json_object_set_new(at(d, "aggregate", "regions", "0", NULL), "bound", json_string("l2"));
	rejects(d, "$.aggregate.regions[0].limiter: ", "is not the busiest part in the row");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_validate__accepts_what_the_exporter_writes),
		cmocka_unit_test(test_validate__accepts_reports_of_hostile_captures),
		cmocka_unit_test(test_validate__findings_rest_on_rows),
		cmocka_unit_test(test_validate__causes_agree_with_rows),
		cmocka_unit_test(test_validate__shares_are_of_the_step),
		cmocka_unit_test(test_validate__bounds_need_figures),
		cmocka_unit_test(test_validate__names_a_missing_field),
		cmocka_unit_test(test_validate__names_a_wrong_type_or_value),
		cmocka_unit_test(test_validate__inclusive_must_be_exclusive_plus_children),
		cmocka_unit_test(test_validate__tree_must_be_depth_first_with_unique_ids),
		cmocka_unit_test(test_validate__totals_coverage_and_kernels_must_add_up),
		cmocka_unit_test(test_validate__a_scope_may_refer_to_its_aggregate_only),
		cmocka_unit_test(test_validate__what_is_no_json_is_named_with_its_byte),
		cmocka_unit_test(test_validate__any_member_may_be_missing_or_of_any_type),
	};

	return cmocka_run_group_tests_name("validate", tests, NULL, NULL);
}
