/* The reader of Nsight Systems exports: good exports. */
#include "unit.h"

#include "nsys_made.h"

#include <math.h>

static const struct sonde_record *find(const struct sonde_records *r, uint8_t kind)
{
	size_t i;

	for (i = 0; i < r->records.nr; i++)
		if (r->records.at[i].kind == kind)
			return &r->records.at[i];
	fail_msg("no record of kind %u", kind);
	return NULL;
}

/* The label of the innermost range of the default domain; empty outside all. */
static struct sonde_str label_of(const struct sonde_records *r, const struct sonde_record *rec)
{
	const struct sonde_set *set = &r->sets.at[rec->open];
	size_t i;

	for (i = 0; i < set->nr; i++) {
		const struct sonde_range *g = &r->ranges.at[r->members.at[set->first + i]];

		if (g->domain == SONDE_NONE && g->kind == SONDE_PUSH_POP)
			return sonde_records_str(r, g->label);
	}
	return SONDE_STR("");
}

static void test_nsys__copies_and_memsets_are_records(void **state)
{
	struct bytes b = make(COPIES);
	struct sonde_records *r = NULL;
	struct sonde_values v = {0};
	struct sonde_err err;
	const struct sonde_record *copy, *set;
	uint32_t bytes;

	(void)state;
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	assert_int_equal(r->records.nr, 11);
	copy = find(r, SONDE_RESULT_MEMCPY);
	set = find(r, SONDE_RESULT_MEMSET);
	assert_true(sonde_str_is(sonde_records_str(r, sonde_record_function(r, copy)->name), "[CUDA memcpy Host-to-Device]"));
	assert_true(sonde_str_is(sonde_records_str(r, sonde_record_function(r, set)->name), "[CUDA memset]"));
	assert_true(sonde_str_is(label_of(r, copy), "A::A1"));
	assert_true(sonde_str_is(label_of(r, set), "A"));
	bytes = sonde_records_metric(r, "memory__bytes.sum");
	assert_int_not_equal(bytes, SONDE_NONE);
	assert_int_equal(sonde_values_init(&v, r, &err), 0);
	sonde_records_values(r, (uint32_t)(copy - r->records.at), &v, NULL);
	assert_true(v.num[bytes] == 4096);
	assert_true(v.num[sonde_records_metric(r, "gpu__time_duration.sum")] == 40);
	sonde_records_values(r, (uint32_t)(set - r->records.at), &v, NULL);
	assert_true(v.num[bytes] == 64);
	sonde_records_values(r, (uint32_t)(find(r, SONDE_RESULT_KERNEL) - r->records.at), &v, NULL);
	assert_true(v.num[bytes] != v.num[bytes]);
	sonde_values_release(&v);
	sonde_records_free(r);
	sqlite3_free(b.p);
}

static void test_nsys__without_copies_there_is_no_such_metric(void **state)
{
	struct bytes b = make("");
	struct sonde_records *r = NULL;
	struct sonde_err err;

	(void)state;
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	assert_int_equal(r->records.nr, 9);
	assert_int_equal(sonde_records_metric(r, "memory__bytes.sum"), SONDE_NONE);
	sonde_records_free(r);
	sqlite3_free(b.p);
}

static void test_nsys__gpu_metrics_are_samples(void **state)
{
	struct bytes b = make("CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, "
			      "metricId INTEGER, value INTEGER);"
			      "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, "
			      "typeName TEXT, metricId INTEGER, metricName TEXT);"
			      "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (513, 0, 'x', 4, 'SMs Active'), "
			      "(513, 0, 'x', 7, 'DRAM Read');"
			      "INSERT INTO GPU_METRICS VALUES (2000, 513, 7, 40), (1000, 513, 4, 10), "
			      "(1000, 513, 7, 20), (2000, 513, 4, 30), (3000, 513, 4, 50), (-5, 513, 4, 9);");
	const struct sonde_series *s;
	struct sonde_records *r;
	struct sonde_err err;

	(void)state;
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	assert_int_equal(r->series.nr, 1);
	s = &r->series.at[0];
	assert_int_equal(s->device, 1);
	assert_int_equal(s->interval_ns, 1000);
	assert_int_equal(s->times.nr, 3);
	assert_int_equal(s->times.at[0].start_ns, 0);
	assert_int_equal(s->times.at[1].start_ns, 1000);
	assert_int_equal(s->times.at[1].end_ns, 2000);
	assert_true(sonde_str_is(sonde_records_str(r, s->counters.at[1].name), "DRAM Read"));
	assert_true(s->values.at[2] == 30 && s->values.at[3] == 40);
	assert_true(s->values.at[4] == 50 && isnan(s->values.at[5])); /* not sampled then */
	assert_true(noted(r, "1 value of GPU metrics has a time below zero and is left out"));
	sonde_records_free(r);
	sqlite3_free(b.p);
}

/* As the first exporters wrote it: texts are in the rows, there are no domains, kernels have no process, and 0 means no end. */
static void test_nsys__an_export_of_an_old_version_is_read(void **state)
{
	struct bytes b = make("UPDATE NVTX_EVENTS SET text='A' WHERE textId=5;"
			      "UPDATE NVTX_EVENTS SET text='A::A1' WHERE textId=6;"
			      "UPDATE NVTX_EVENTS SET end=0 WHERE text='never closed';"
			      "DELETE FROM NVTX_EVENTS WHERE domainId=1 OR (globalTid >> 24) = 200;"
			      "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE (globalTid >> 24) = 200;"
			      "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE (globalPid >> 24) = 200;"
			      "ALTER TABLE NVTX_EVENTS DROP COLUMN textId;"
			      "ALTER TABLE NVTX_EVENTS DROP COLUMN domainId;"
			      "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid;"
			      "DROP TABLE PROCESSES; DROP TABLE META_DATA_EXPORT;"
			      "DROP TABLE TARGET_INFO_GPU; DROP TABLE TARGET_INFO_CUDA_DEVICE;");
	struct sonde_records *r;
	struct sonde_err err;
	size_t i, nr = 0;

	(void)state;
	if (read_bytes(&r, b.p, b.n, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(r->records.nr, 6);
	for (i = 0; i < r->records.nr; i++) {
		assert_int_equal(r->processes.at[sonde_record_caller(r, &r->records.at[i])->process].pid, 100);
		nr += sonde_str_is(label_of(r, &r->records.at[i]), "A::A1");
	}
	assert_int_equal(nr, 2);
	sonde_records_free(r);
	sqlite3_free(b.p);
}

static double count(const struct sonde_records *r, size_t sample, const char *role)
{
	const struct sonde_series *s = &r->series.at[0];
	uint32_t counter = sonde_series_counter(s, r, role);

	assert_int_not_equal(counter, SONDE_NONE);
	return s->values.at[sample * s->counters.nr + counter];
}

/* A sample of 1 µs: 10 SMs at 500 MHz have 5000 cycles, and 2 TB/s are 2,000,000 bytes. */
static void test_nsys__gpu_metrics_are_counts_where_the_gpu_is_known(void **state)
{
	struct bytes b = make(METRICS);
	const struct sonde_device *d;
	struct sonde_records *r;
	struct sonde_err err;

	(void)state;
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	assert_int_equal(r->series.nr, 1);
	assert_true(count(r, 0, "sm.elapsed_cycles") == 5000);
	assert_true(count(r, 0, "sm.active_cycles") == 2500 && count(r, 1, "sm.active_cycles") == 500);
	assert_true(count(r, 0, "dram.read_bytes") == 500000);
	assert_int_equal(r->series.at[0].counters.at[3].role, SONDE_NONE);
	assert_true(r->series.at[0].values.at[3] == 7);
	d = sonde_records_device(r, 0, 0);
	assert_true(sonde_str_is(d->name, "X") && sonde_str_is(d->uuid, "GPU-ab-1"));
	assert_true(sonde_series_is_of(&r->series.at[0], r, 0, 0));
	d = sonde_records_device(r, 1, 0); /* the device that the other process calls 0 */
	assert_true(sonde_str_is(d->name, "Y") && !sonde_series_is_of(&r->series.at[0], r, 1, 0));
	assert_true(r->processes.at[1].has_rank && r->processes.at[1].rank == 5);
	assert_false(r->processes.at[0].has_rank);
	sonde_records_free(r);
	sqlite3_free(b.p);
}

/* All but one of 60,000 ranges ended long ago. Searching them again for each launch would take minutes. */
static void test_nsys__many_start_end_ranges_cost_no_more_than_their_number(void **state)
{
	struct bytes b = make(
		"INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) VALUES "
		"(10, 99000000, 60, 'all', (100 << 24) | 100, 0);"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) "
		"INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) "
		"SELECT 10000 + i, 10001 + i, 60, 'one', (100 << 24) | 100, 0 FROM n;"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) "
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId) "
		"SELECT 80000 + i, 80001 + i, (100 << 24) | 100, 1000 + i, 7 FROM n;"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) "
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 90000 + i, 90001 + i, 0, 1, 7, 1000 + i, "
		"100 << 24, 1, 2, 1, 1 FROM n;");
	struct sonde_records *r = NULL;
	struct sonde_err err;
	size_t i, nr = 0;

	(void)state;
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	for (i = 0; i < r->records.nr; i++)
		nr += r->sets.at[r->records.at[i].open].nr == 1;
	assert_true(nr >= 60000);
	sonde_records_free(r);
	sqlite3_free(b.p);
}

static void test_nsys__calls_the_host_waits_in_are_kept(void **state)
{
	struct bytes b = make("INSERT INTO StringIds VALUES (900, 'cudaDeviceSynchronize_v3020'), "
			      "(901, 'cudaStreamIsCapturing_v10000');"
			      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, "
			      "nameId) VALUES (5000, 5600, (100 << 24) | 100, 70, 900), "
			      "(5700, 5710, (100 << 24) | 100, 71, 901);");
	struct sonde_records *r = NULL;
	struct sonde_err err;
	size_t i, nr = 0;

	(void)state;
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	for (i = 0; i < r->calls.nr; i++) {
		const struct sonde_call *c = &r->calls.at[i];

		if (c->kind != SONDE_CALL_SYNC_DEVICE)
			continue;
		nr++;
		assert_int_equal(c->end_ns - c->begin_ns, 600);
		assert_int_equal(c->thread, 100);
		assert_int_equal(r->processes.at[c->process].pid, 100);
		assert_true(r->processes.at[c->process].has_calls);
	}
	assert_int_equal(nr, 1);
	sonde_records_free(r);
	sqlite3_free(b.p);
}

/* SQLite's numbers are signed, times are not. */
static void test_nsys__negative_times_begin_with_the_trace_and_are_counted(void **state)
{
	struct bytes b = make("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start=-5, end=-2 WHERE rowid=1;"
			      "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start=-9, end=-7 WHERE rowid=1;"
			      "UPDATE NVTX_EVENTS SET start=-5 WHERE eventType=59 AND rowid=(SELECT min(rowid) FROM "
			      "NVTX_EVENTS WHERE eventType=59);");
	struct sonde_records *r = NULL;
	struct sonde_err err;
	size_t i, nr = 0;

	(void)state;
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	for (i = 0; i < r->records.nr; i++) {
		assert_true(r->records.at[i].time.end_ns < 1000000 && r->records.at[i].call_ns < 1000000);
		nr += r->records.at[i].time.start_ns == 1 && r->records.at[i].time.end_ns == 1;
	}
	assert_int_equal(nr, 1);
	assert_true(noted(r, "1 kernel, copy or memset has impossible times"));
	for (i = 0; i < r->ranges.nr; i++)
		assert_true(r->ranges.at[i].time.end_ns < 1000000);
	assert_true(noted(r, "1 range has impossible times"));
	sonde_records_free(r);
	sqlite3_free(b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nsys__copies_and_memsets_are_records),
		cmocka_unit_test(test_nsys__negative_times_begin_with_the_trace_and_are_counted),
		cmocka_unit_test(test_nsys__without_copies_there_is_no_such_metric),
		cmocka_unit_test(test_nsys__gpu_metrics_are_samples),
		cmocka_unit_test(test_nsys__an_export_of_an_old_version_is_read),
		cmocka_unit_test(test_nsys__gpu_metrics_are_counts_where_the_gpu_is_known),
		cmocka_unit_test(test_nsys__many_start_end_ranges_cost_no_more_than_their_number),
		cmocka_unit_test(test_nsys__calls_the_host_waits_in_are_kept),
	};

	return cmocka_run_group_tests_name("nsys", tests, NULL, NULL);
}
