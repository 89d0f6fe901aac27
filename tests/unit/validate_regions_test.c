/* The validator: the figures of one region must agree with each other. */
#include "validated.h"

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

static void test_validate__no_part_is_more_than_the_whole(void **state)
{
	static const struct {
		const char *part;
		double value;
		const char *says;
	} parts[] = {{"timed_launches", 99, "is more than kernel_count"}, {"copy_count", 99, "is more than kernel_count"},
		{"copy_ms", 1e9, "is more than total_ms"}, {"idle_ms", 2e9, "and busy_ms are more than span_ms"}};
	json_t *d, *region;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		d = timed(&region);
		json_object_set_new(region, "span_ms", json_real(1e9));
		json_object_set_new(region, parts[i].part, json_real(parts[i].value));
		rejects(d, parts[i].part, parts[i].says);
	}
	d = good();
	json_object_set_new(at(d, "coverage", NULL), "launches_not_selected", json_integer(1));
	json_object_set_new(at(d, "coverage", NULL), "launches_total",
		json_integer(1 + json_integer_value(at(d, "coverage", "launches_total", NULL))));
	json_object_set_new(at(d, "coverage", NULL), "gpu_time_ns_attributed", json_real(1e12));
	rejects(d, "$.coverage.gpu_time_ns_attributed", "is more than gpu_time_ns_total");
	d = good();
	json_object_del(at(d, "coverage", NULL), "launches_not_selected"); /* as in older reports */
	json_object_set_new(at(d, "coverage", NULL), "launches_attributed", json_integer(99));
	rejects(d, "$.coverage.launches_attributed", "is more than launches_total");
}

static void test_validate__wall_time_holds_host_time(void **state)
{
	json_t *d, *region;

	(void)state;
	d = timed(&region);
	json_object_set_new(region, "host_ms", json_real(2));
	json_object_set_new(region, "wall_ms", json_real(3));
	accepts(d);
	d = timed(&region);
	json_object_set_new(region, "host_ms", json_real(4));
	json_object_set_new(region, "wall_ms", json_real(3));
	rejects(d, "host_ms", "is more than wall_ms");
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

/* Regions that were never open are below a range, and have no entries. */
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
		rejects(d, "kind", "needs a parent, but there is none");
		d = nested(&outer, &inner);
		json_object_set_new(inner, "kind", json_string(kinds[i]));
		json_object_set_new(inner, "instances", json_integer(1));
		rejects(d, "kind", "is of a region that was never open, which has no entries and no host time");
		d = nested(&outer, &inner);
		json_object_set_new(inner, "kind", json_string(kinds[i]));
		json_object_set_new(inner, "instances", json_integer(0));
		json_object_set_new(inner, "host_ms", json_real(1));
		rejects(d, "kind", "is of a region that was never open, which has no entries and no host time");
	}
	d = nested(&outer, &inner);
	json_object_set_new(inner, "kind", json_string("start_end"));
	json_object_set_new(inner, "id",
		json_sprintf("%s@@", json_string_value(at(inner, "id", NULL))));
	rejects(d, "kind", "is start_end, but such a range has no parent");
	d = nested(&outer, &inner);
	json_object_set_new(inner, "kind", json_string("imagined"));
	rejects(d, "kind", "");
}

/* A region that is idle for 0.25 ms, by launching and by `sync_ms` of synchronisation. */
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

/* A report with entries, which tests damage. */
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
		rejects(d, lists[i], "as many values as begin_ms");
	}
	d = with_entries();
	e = at(d, "aggregate", "regions", "0", "entries", NULL);
	json_object_set_new(e, "labels", json_pack("[s,s]", "a", "b"));
	rejects(d, "entries.labels", "as many values as begin_ms");
	d = with_entries();
	e = at(d, "aggregate", "regions", "0", "entries", NULL);
	json_object_set_new(e, "count", json_integer(2));
	rejects(d, "entries.begin_ms", "has more values than count says");
	d = with_entries();
	json_object_del(at(d, "aggregate", "regions", "0", "entries", NULL), "step");
	rejects(d, "entries", "step");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_validate__entries_are_in_order_and_as_many),
		cmocka_unit_test(test_validate__times_and_streams_must_fit_the_region),
		cmocka_unit_test(test_validate__no_part_is_more_than_the_whole),
		cmocka_unit_test(test_validate__wall_time_holds_host_time),
		cmocka_unit_test(test_validate__adopted_launches_are_among_the_launches),
		cmocka_unit_test(test_validate__origins_hang_below_ranges_and_have_no_entries),
		cmocka_unit_test(test_validate__causes_of_idle_time_add_up),
		cmocka_unit_test(test_validate__memory_of_regions_fits_into_that_around_them),
	};

	return cmocka_run_group_tests_name("validate regions", tests, NULL, NULL);
}
