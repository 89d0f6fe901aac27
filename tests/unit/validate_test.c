#include "check/validate.h"

#include "exported.h"

#include <jansson.h>

/* A good report, to be broken in one place. */
static json_t *good(void)
{
	struct made m;
	struct sonde_buf b;
	json_t *document;

	small_run(&m, "A::A1");
	b = exported(&m, sonde_export_json, NULL);
	document = json_loadb(b.p, b.n, 0, NULL);
	assert_non_null(document);
	sonde_buf_release(&b);
	made_release(&m);
	return document;
}

static void rejects(json_t *document, const char *where, const char *what)
{
	char *text = json_dumps(document, 0);
	struct sonde_err err = {0};

	assert_int_equal(sonde_validate_text(sonde_str_from(text), "t", &err), SONDE_ERR_FORMAT);
	if (!strstr(err.msg, where) || !strstr(err.msg, what))
		fail_msg("'%s' has no '%s' or no '%s'", err.msg, where, what);
	free(text);
	json_decref(document);
}

static void accepts(json_t *document)
{
	char *text = json_dumps(document, 0);
	struct sonde_err err = {0};

	if (sonde_validate_text(sonde_str_from(text), "t", &err))
		fail_msg("%s", err.msg);
	free(text);
	json_decref(document);
}

/* Follows keys and indices: at(d, "aggregate", "regions", "1", NULL). */
static json_t *at(json_t *v, ...)
{
	const char *key;
	va_list ap;

	va_start(ap, v);
	while ((key = va_arg(ap, const char *)))
		v = json_is_array(v) ? json_array_get(v, (size_t)(key[0] - '0'))
				     : json_object_get(v, key);
	va_end(ap);
	assert_non_null(v);
	return v;
}

static void test_validate__accepts_what_the_exporter_writes(void **state)
{
	(void)state;
	accepts(good());
}

/* What a hostile capture puts into a report is still a report. */
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
	device = sonde_vec_push(&m.r->devices);
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

static void test_validate__a_scope_may_refer_to_its_aggregate_only(void **state)
{
	json_t *d = good(), *scope = at(d, "scopes", "0", NULL);

	(void)state;
	assert_string_equal(json_string_value(at(scope, "same_as", NULL)), "aggregate");
	json_object_set_new(scope, "same_as", json_string("aggregate/ranges"));
	rejects(d, "$.scopes[0].same_as: ", "is not an aggregate of this report");
	d = good();
	json_object_set_new(at(d, "scopes", "0", "totals", NULL), "launches", json_integer(2));
	rejects(d, "$.scopes[0].totals: ", "are not those it refers to");
	d = good();
	json_object_set(at(d, "scopes", "0", NULL), "regions", at(d, "aggregate", "regions", NULL));
	rejects(d, "$.scopes[0].same_as: ", "beside a tree of its own");
	d = good();
	json_object_set_new(at(d, "aggregate", NULL), "same_as", json_string("aggregate"));
	rejects(d, "$.aggregate.same_as: ", "is for scopes");
	d = good();
	json_object_del(at(d, "scopes", "0", NULL), "same_as");
	rejects(d, "$.scopes[0]: ", "'regions' is missing");
	d = good();
	json_object_set_new(d, "aggregate", json_null());
	rejects(d, "$.scopes[0].same_as: ", "is not an aggregate of this report");
}

/* The good report's first region, with times and two streams. */
static json_t *timed(json_t **region)
{
	json_t *d = good();
	double total;

	*region = at(d, "aggregate", "regions", "0", NULL);
	total = json_number_value(json_object_get(*region, "total_ms"));
	json_object_set_new(*region, "busy_ms", json_real(total / 2));
	json_object_set_new(*region, "streams", json_integer(2));
	json_object_set_new(*region, "per_stream",
		json_pack("[{s:i,s:i,s:i,s:f,s:f},{s:i,s:i,s:i,s:f,s:f}]", "context", 1, "stream",
			7, "kernel_count", 1, "total_ms", total / 2, "busy_ms", total / 2,
			"context", 1, "stream", 9, "kernel_count", 1, "total_ms", total / 2,
			"busy_ms", 0.0));
	return d;
}

static void test_validate__times_and_streams_must_fit_the_region(void **state)
{
	json_t *d, *region;

	(void)state;
	d = timed(&region);
	accepts(d);
	d = timed(&region);
	json_object_set_new(region, "busy_ms", json_real(1e9));
	rejects(d, "busy_ms", "is more than total_ms");
	d = timed(&region);
	json_object_set_new(region, "streams", json_integer(3));
	rejects(d, "per_stream", "does not have as many");
	d = timed(&region);
	json_object_set_new(at(region, "per_stream", "1", NULL), "busy_ms", json_real(1e9));
	rejects(d, "per_stream", "busier");
	d = timed(&region);
	json_object_set_new(at(region, "per_stream", "1", NULL), "kernel_count", json_integer(99));
	rejects(d, "per_stream", "more than kernel_count");
	d = timed(&region);
	json_object_set_new(at(region, "per_stream", "0", NULL), "total_ms", json_real(1e9));
	rejects(d, "per_stream", "more than total_ms");
}

/* The outermost region of a good report and the one inside it. */
static json_t *nested(json_t **outer, json_t **inner)
{
	json_t *d = good();

	*outer = at(d, "aggregate", "regions", "0", NULL);
	*inner = at(d, "aggregate", "regions", "1", NULL);
	assert_string_equal(json_string_value(at(*inner, "parent_id", NULL)),
		json_string_value(at(*outer, "id", NULL)));
	return d;
}

static void test_validate__adopted_launches_are_among_the_launches(void **state)
{
	json_t *d, *outer, *inner;

	(void)state;
	d = nested(&outer, &inner);
	json_object_set_new(outer, "adopted_launches", json_integer(1));
	json_object_set_new(inner, "adopted_launches", json_integer(1));
	accepts(d);
	d = nested(&outer, &inner);
	json_object_set_new(outer, "adopted_launches", json_integer(9999));
	rejects(d, "adopted_launches", "is more than kernel_count");
	d = nested(&outer, &inner);
	json_object_set_new(inner, "adopted_launches", json_integer(1));
	rejects(d, "adopted_launches", "is less than that of the regions inside");
}

/* Regions that were never open hang below a range and were never entered. */
static void test_validate__origins_hang_below_ranges_and_have_no_entries(void **state)
{
	static const char *const kinds[] = {"graph", "backward"};
	json_t *d, *outer, *inner;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		d = nested(&outer, &inner);
		json_object_set_new(inner, "kind", json_string(kinds[i]));
		json_object_set_new(inner, "instances", json_integer(0));
		json_object_del(inner, "host_ms");
		accepts(d);
		d = nested(&outer, &inner);
		json_object_set_new(outer, "kind", json_string(kinds[i]));
		rejects(d, "kind", "hangs below a range, but has no parent");
		d = nested(&outer, &inner);
		json_object_set_new(inner, "kind", json_string(kinds[i]));
		json_object_set_new(inner, "instances", json_integer(1));
		rejects(d, "kind", "was never open, but has entries or host time");
		d = nested(&outer, &inner);
		json_object_set_new(inner, "kind", json_string(kinds[i]));
		json_object_set_new(inner, "instances", json_integer(0));
		json_object_set_new(inner, "host_ms", json_real(1));
		rejects(d, "kind", "was never open, but has entries or host time");
	}
	d = nested(&outer, &inner);
	json_object_set_new(inner, "kind", json_string("start_end"));
	json_object_set_new(inner, "id",
		json_sprintf("%s@@", json_string_value(at(inner, "id", NULL))));
	rejects(d, "kind", "a start/end range has no parent");
	d = nested(&outer, &inner);
	json_object_set_new(inner, "kind", json_string("imagined"));
	rejects(d, "kind", "");
}

/* Idle for 0.25 ms, by launching and by this much synchronisation. */
static json_t *idle(double sync_ms)
{
	static const char *const causes[] = {"copy_ms", "alloc_ms", "host_ms", "queued_ms",
		"other_stream_ms", "unknown_ms"};
	json_t *region, *d = timed(&region), *by;
	size_t i;

	by = json_pack("{s:f,s:f}", "launch_ms", 0.2, "sync_ms", sync_ms);
	for (i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		json_object_set_new(by, causes[i], json_real(0));
	json_object_set_new(region, "idle_ms", json_real(0.25));
	json_object_set_new(region, "span_ms", json_real(1e3));
	json_object_set_new(region, "idle", by);
	return d;
}

static void test_validate__causes_of_idle_time_add_up(void **state)
{
	json_t *d, *region;

	(void)state;
	accepts(idle(0.05));
	rejects(idle(0.15), "idle", "does not add up to idle_ms");
	rejects(idle(0.01), "idle", "does not add up to idle_ms");
	d = timed(&region);
	json_object_set_new(region, "comm_ms", json_real(0.1));
	json_object_set_new(region, "exposed_comm_ms", json_real(0.2));
	rejects(d, "exposed_comm_ms", "is more than comm_ms");
}

static json_t *memory(int allocated, int freed, int left)
{
	return json_pack("{s:i,s:i,s:i,s:i}", "allocated_bytes", allocated, "freed_bytes", freed,
		"left_bytes", left, "peak_bytes", 500);
}

static void test_validate__memory_of_regions_fits_into_that_around_them(void **state)
{
	json_t *d, *outer, *inner;

	(void)state;
	d = nested(&outer, &inner);
	json_object_set_new(outer, "memory", memory(100, 60, 40));
	json_object_set_new(inner, "memory", memory(100, 10, 90));
	accepts(d);
	d = nested(&outer, &inner);
	json_object_set_new(outer, "memory", memory(100, 60, 101));
	rejects(d, "memory.left_bytes", "is more than allocated_bytes");
	d = nested(&outer, &inner);
	json_object_set_new(outer, "memory", memory(100, 60, 40));
	json_object_set_new(inner, "memory", memory(101, 10, 0));
	rejects(d, "memory.allocated_bytes", "is less than that of the regions inside");
	d = nested(&outer, &inner);
	json_object_set_new(outer, "memory", memory(100, 60, 40));
	json_object_set_new(inner, "memory", memory(100, 61, 0));
	rejects(d, "memory.freed_bytes", "is less than that of the regions inside");
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

/* Breaking any one member must never crash, whatever type takes its place. */
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

/* A report with entries, to be broken. */
static json_t *with_entries(void)
{
	json_t *document;
	struct sonde_buf b;
	struct made m;
	uint32_t a, i;

	made_init(&m);
	for (i = 0; i < 3; i++) {
		a = made_push(&m, MADE_ROOT, "A");
		m.r->ranges.at[a].time = (struct sonde_range_time){1000 * i + 10, 1000 * i + 90 + i, 0};
		made_launch(&m, "k", 1, &a);
		m.r->records.at[i].time = (struct sonde_record_time){1000 * i + 20, 1000 * i + 40};
		made_metric(&m, TIME, 20);
	}
	m.r->has_range_times = m.r->has_record_times = true;
	b = exported(&m, sonde_export_json, NULL);
	document = json_loadb(b.p, b.n, 0, NULL);
	assert_non_null(document);
	sonde_buf_release(&b);
	made_release(&m);
	return document;
}

static void test_validate__entries_are_in_order_and_as_many(void **state)
{
	static const char *const lists[] = {"host_ms", "gpu_ms"};
	struct sonde_err err = {0};
	json_t *d = with_entries(), *e;
	char *text = json_dumps(d, 0);
	size_t i;

	(void)state;
	if (sonde_validate_text(sonde_str_from(text), "t", &err))
		fail_msg("%s", err.msg);
	free(text);
	json_object_set_new(at(d, "aggregate", "regions", "0", "entries", "gpu", NULL), "median_ms",
		json_real(1));
	rejects(d, "$.aggregate.regions[0].entries.gpu.median_ms", "is more than p95_ms");
	d = with_entries();
	json_object_set_new(at(d, "aggregate", "regions", "0", "entries", "span", NULL), "mean_ms",
		json_real(1));
	rejects(d, "entries.span.mean_ms", "is more than max_ms");
	for (i = 0; i < 2; i++) {
		d = with_entries();
		json_array_remove(
			at(d, "aggregate", "regions", "0", "entries", lists[i], NULL), 0);
		rejects(d, lists[i], "as many as begin_ms");
	}
	d = with_entries();
	e = at(d, "aggregate", "regions", "0", "entries", NULL);
	json_object_set_new(e, "count", json_integer(2));
	rejects(d, "entries.begin_ms", "has more than count");
	d = with_entries();
	json_object_del(at(d, "aggregate", "regions", "0", "entries", NULL), "step");
	rejects(d, "entries", "step");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_validate__entries_are_in_order_and_as_many),
		cmocka_unit_test(test_validate__accepts_what_the_exporter_writes),
		cmocka_unit_test(test_validate__accepts_reports_of_hostile_captures),
		cmocka_unit_test(test_validate__names_a_missing_field),
		cmocka_unit_test(test_validate__names_a_wrong_type_or_value),
		cmocka_unit_test(test_validate__inclusive_must_be_exclusive_plus_children),
		cmocka_unit_test(test_validate__tree_must_be_depth_first_with_unique_ids),
		cmocka_unit_test(test_validate__totals_coverage_and_kernels_must_add_up),
		cmocka_unit_test(test_validate__a_scope_may_refer_to_its_aggregate_only),
		cmocka_unit_test(test_validate__times_and_streams_must_fit_the_region),
		cmocka_unit_test(test_validate__adopted_launches_are_among_the_launches),
		cmocka_unit_test(test_validate__origins_hang_below_ranges_and_have_no_entries),
		cmocka_unit_test(test_validate__causes_of_idle_time_add_up),
		cmocka_unit_test(test_validate__memory_of_regions_fits_into_that_around_them),
		cmocka_unit_test(test_validate__what_is_no_json_is_named_with_its_byte),
		cmocka_unit_test(test_validate__any_member_may_be_missing_or_of_any_type),
	};

	return cmocka_run_group_tests_name("validate", tests, NULL, NULL);
}
