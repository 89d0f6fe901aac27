/* The reader of torch.profiler traces: good traces. */
#include "unit.h"

#include "kineto_made.h"

#include <math.h>

static void test_kineto__a_launch_is_where_its_call_was(void **state)
{
	struct sonde_records *r = open_text(TRACE(RANGE("step", "1", "0", "100") "," RANGE("fwd", "1",
		"10", "20.5") "," CALL("5", "1", "12.25") "," KERNEL("k", "5", "90.001", "2.5")));

	(void)state;
	assert_int_equal(r->records.nr, 1);
	assert_string_equal(path_of(r, 0), "step/fwd");
	assert_int_equal(r->records.at[0].time.start_ns, 90001);
	assert_int_equal(r->records.at[0].time.end_ns, 92501);
	assert_int_equal(r->records.at[0].call_ns, 12250);
	assert_int_equal(sonde_record_caller(r, &r->records.at[0])->thread, 1);
	assert_true(metric_of(r, 0, "launch__grid_size") == 6 && metric_of(r, 0, "launch__thread_count") == 192);
	assert_true(metric_of(r, 0, "gpu__time_duration.sum") == 2500);
	sonde_records_free(r);
}

static void test_kineto__of_several_calls_the_earliest_counts(void **state)
{
	struct sonde_records *r = open_text(TRACE(
		RANGE("A", "1", "0", "10") "," RANGE("B", "1", "10", "10") "," CALL("5", "1", "12") ","
		KERNEL("k", "5", "30", "1") "," CALL("5", "1", "9")));

	(void)state;
	assert_string_equal(path_of(r, 0), "A");
	sonde_records_free(r);
}

static void test_kineto__a_range_that_outlives_its_parent_ends_with_it(void **state)
{
	struct sonde_records *r = open_text(TRACE(RANGE("A", "1", "0", "10") "," RANGE("B", "1", "5",
		"10") "," CALL("1", "1", "7") "," CALL("2", "1", "12") "," KERNEL("k", "1", "20", "1")
		"," KERNEL("k", "2", "22", "1")));

	(void)state;
	assert_string_equal(path_of(r, 0), "A/B");
	assert_string_equal(path_of(r, 1), "");
	assert_true(noted(r, "1 range outlives the range around it"));
	sonde_records_free(r);
}

static void test_kineto__facts_may_come_after_the_events(void **state)
{
	struct sonde_records *r = open_text("{\"traceEvents\":[" CALL("1", "1", "3") "," KERNEL("k",
		"1", "20", "1") "],\"deviceProperties\":[{\"id\":0,\"name\":\"X\",\"computeMajor\":9,"
		"\"numSms\":132}],\"baseTimeNanoseconds\":1000000,"
		"\"distributedInfo\":{\"ranks\":\"[0, 1]\",\"rank\":3,\"world_size\":8}}");

	(void)state;
	assert_int_equal(r->records.at[0].time.start_ns, 1020000);
	assert_int_equal(r->records.at[0].call_ns, 1003000);
	assert_true(r->processes.at[0].has_rank && r->processes.at[0].rank == 3);
	assert_int_equal(r->processes.at[0].world_size, 8);
	assert_int_equal(r->devices.at[0].cc_major, 9);
	sonde_records_free(r);
}

static void test_kineto__old_names_and_a_bare_array_are_read(void **state)
{
	struct sonde_records *r = open_text(
		"\xef\xbb\xbf [{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"c\",\"pid\":9,\"tid\":1,"
		"\"ts\":1665536373729065,\"dur\":3,\"args\":{\"correlation\":4}},"
		"{\"args\":{\"correlation\":4},\"ts\":1665536373729077,\"dur\":2,\"ph\":\"X\","
		"\"pid\":0,\"tid\":7,\"name\":\"k\",\"cat\":\"Kernel\"},"
		"{\"ph\":\"X\",\"cat\":\"Memcpy\",\"name\":\"Memcpy DtoH (Device -> Pageable)\","
		"\"pid\":0,\"tid\":7,\"ts\":1665536373729080,\"dur\":2,\"args\":{\"bytes\":64}}]");

	(void)state;
	assert_int_equal(r->records.nr, 2);
	assert_int_equal(r->records.at[0].time.start_ns, 1665536373729077000u);
	assert_true(sonde_str_is(sonde_records_str(r, sonde_record_function(r, &r->records.at[1])->full_name),
		"[CUDA memcpy Device-to-Host, pageable]"));
	assert_true(metric_of(r, 1, "memory__bytes.sum") == 64);
	assert_true(noted(r, "1 kernel or copy has no host call in the trace"));
	sonde_records_free(r);
}

static void test_kineto__backward_work_has_its_forward_range_as_origin(void **state)
{
	struct sonde_records *r = open_text(TRACE(
		RANGE("layer0", "1", "0", "10") "," RANGE("layer1", "1", "10", "10") ","
		OP("linear", "1", "2", "5", "7", "0") "," OP("addmm", "1", "3", "2", "7", "0") ","
		OP("mul", "1", "11", "2", "8", "0") ","
		OP("Backward: Addmm", "2", "30", "9", "7", "1") ","
		OP("inner", "2", "31", "3", "8", "0") "," /* the backward thread's own counter */
		OP("Backward: Mul", "2", "40", "9", "8", "1") ","
		CALL("1", "2", "32") "," KERNEL("a", "1", "60", "1") ","
		CALL("2", "2", "41") "," KERNEL("b", "2", "61", "1")));

	(void)state;
	assert_int_equal(r->records.at[0].origin_kind, SONDE_ORIGIN_BACKWARD);
	assert_true(sonde_str_is(
		sonde_records_str(r, r->ranges.at[r->records.at[0].origin].label), "layer0"));
	assert_true(sonde_str_is(
		sonde_records_str(r, r->ranges.at[r->records.at[1].origin].label), "layer1"));
	sonde_records_free(r);
}

#define PLAIN_OP(name, tid, ts, dur)                                                               \
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":9,\"tid\":" tid            \
	",\"ts\":" ts ",\"dur\":" dur "}"
#define FLOW(ph, id, tid, ts)                                                                      \
	"{\"ph\":\"" ph "\",\"id\":" id ",\"pid\":9,\"tid\":" tid ",\"ts\":" ts                      \
	",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"bp\":\"e\"}"

/* Two forward threads, a flow before its operator and one behind it, and work in operators that autograd adds. */
static void test_kineto__without_sequence_numbers_flows_tell_the_origin(void **state)
{
	struct sonde_records *r = open_text(TRACE(
		RANGE("layer0", "1", "0", "10") "," RANGE("layer1", "3", "0", "10") ","
		PLAIN_OP("mm", "1", "2", "5") "," FLOW("s", "11", "1", "2") ","
		FLOW("s", "12", "3", "4") "," PLAIN_OP("mul", "3", "4", "5") ","
		PLAIN_OP("autograd::engine::evaluate_function: MmBackward0", "2", "30", "9") ","
		PLAIN_OP("MmBackward0", "2", "31", "5") "," FLOW("f", "11", "2", "31") ","
		PLAIN_OP("MulBackward0", "2", "40", "9") "," FLOW("f", "12", "2", "40") ","
		CALL("1", "2", "32") "," KERNEL("a", "1", "60", "1") ","
		CALL("2", "2", "37") "," KERNEL("b", "2", "61", "1") ","
		CALL("3", "2", "41") "," KERNEL("c", "3", "62", "1") ","
		CALL("4", "2", "49") "," KERNEL("d", "4", "63", "1")));
	static const char *const homes[] = {"layer0", "layer0", "layer1"};
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		const struct sonde_record *rec = &r->records.at[i];

		assert_int_equal(rec->origin_kind, SONDE_ORIGIN_BACKWARD);
		assert_true(sonde_str_is(
			sonde_records_str(r, r->ranges.at[rec->origin].label), homes[i]));
	}
	assert_int_equal(r->records.at[3].origin_kind, SONDE_ORIGIN_NONE);
	assert_false(noted(r, "fwdbwd"));
	sonde_records_free(r);
	r = open_text(TRACE(FLOW("s", "1", "1", "2") "," FLOW("f", "1", "2", "9") "," CALL("1", "1",
		"3") "," KERNEL("k", "1", "5", "1")));
	assert_true(noted(r, "2 links between forward and backward (fwdbwd) have no operators at their ends"));
	sonde_records_free(r);
}

static void test_kineto__collectives_have_their_bytes_and_group(void **state)
{
	struct sonde_records *r = NULL;
	const char *path = "tests/data/kineto/nccl_cut.json.gz";
	struct sonde_values v = {0};
	struct sonde_err err = {0};
	size_t i, nr = 0;

	(void)state;
	assert_int_equal(sonde_records_open(&r, &path, 1, NULL, &err), 0);
	assert_int_equal(sonde_values_init(&v, r, NULL), 0);
	for (i = 0; i < r->records.nr; i++) {
		assert_int_equal(sonde_records_values(r, (uint32_t)i, &v, NULL), 0);
		if (v.texts.nr == 0)
			continue;
		assert_true(sonde_str_is(v.texts.at[0].text, "allreduce"));
		assert_true(sonde_str_is(v.texts.at[1].text, "0"));
		assert_true(v.num[sonde_records_metric(r, "nccl__group_size")] == 2);
		nr += v.num[sonde_records_metric(r, "nccl__bytes.sum")] == 4.0 * 2049000;
	}
	assert_int_equal(nr, 1);
	sonde_values_release(&v);
	sonde_records_free(r);
}

static void test_kineto__hardware_counters_are_samples(void **state)
{
#define SAMPLE(ts, a, b)                                                                           \
	"{\"ph\":\"C\",\"cat\":\"hardware_counters\",\"name\":\"sm\",\"pid\":2,\"ts\":" ts         \
	",\"args\":{\"active\":" a ",\"what\":\"x\",\"issued\":" b "}}"
	struct sonde_records *r = open_text(TRACE(CALL("1", "1", "3") "," KERNEL("k", "1", "20", "1") ","
		SAMPLE("10", "1.5", "2") "," SAMPLE("20", "3", "null") "," SAMPLE("15", "9", "9")));
	const struct sonde_series *s;

	(void)state;
	assert_int_equal(r->series.nr, 1);
	s = &r->series.at[0];
	assert_int_equal(s->device, 2);
	assert_int_equal(s->counters.nr, 2);
	assert_int_equal(s->times.nr, 2);
	assert_int_equal(s->times.at[1].start_ns, 10000);
	assert_int_equal(s->times.at[1].end_ns, 20000);
	assert_true(s->values.at[0] == 1.5 && s->values.at[1] == 2 && s->values.at[2] == 3);
	assert_true(isnan(s->values.at[3]));
	sonde_records_free(r);
}

#define WAIT(name, ts, dur)                                                                        \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name                                  \
	"\",\"pid\":9,\"tid\":5,\"ts\":" ts ",\"dur\":" dur "}"

/* CUDA calls other than launches: they explain idle times. */
static void test_kineto__calls_the_host_waits_in_are_kept(void **state)
{
	static const uint8_t kinds[] = {SONDE_CALL_SYNC_DEVICE, SONDE_CALL_SYNC_STREAM,
		SONDE_CALL_SYNC_EVENT, SONDE_CALL_COPY, SONDE_CALL_ALLOC, SONDE_CALL_FREE};
	struct sonde_records *r = open_text(TRACE(CALL("1", "5", "10") "," KERNEL("k", "1", "12", "3")
		"," WAIT("cudaDeviceSynchronize", "20", "4") "," WAIT("cuStreamSynchronize", "30", "1")
		"," WAIT("cudaEventSynchronize", "31", "1") "," WAIT("cudaMemcpyAsync", "32", "1")
		"," WAIT("cudaMalloc", "33", "1") "," WAIT("cuMemFree_v2", "34", "1")
		"," WAIT("cudaStreamIsCapturing", "35", "1")));
	size_t i;

	(void)state;
	assert_int_equal(r->calls.nr, sizeof(kinds));
	for (i = 0; i < sizeof(kinds); i++) {
		assert_int_equal(r->calls.at[i].kind, kinds[i]);
		assert_int_equal(r->calls.at[i].thread, sonde_record_caller(r, &r->records.at[0])->thread);
		assert_int_equal(r->calls.at[i].process, sonde_record_caller(r, &r->records.at[0])->process);
	}
	assert_int_equal(r->calls.at[0].begin_ns - r->records.at[0].call_ns, 10000);
	assert_int_equal(r->calls.at[0].end_ns - r->calls.at[0].begin_ns, 4000);
	assert_true(r->processes.at[sonde_record_caller(r, &r->records.at[0])->process].has_calls);
	sonde_records_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kineto__a_launch_is_where_its_call_was),
		cmocka_unit_test(test_kineto__of_several_calls_the_earliest_counts),
		cmocka_unit_test(test_kineto__a_range_that_outlives_its_parent_ends_with_it),
		cmocka_unit_test(test_kineto__facts_may_come_after_the_events),
		cmocka_unit_test(test_kineto__old_names_and_a_bare_array_are_read),
		cmocka_unit_test(test_kineto__backward_work_has_its_forward_range_as_origin),
		cmocka_unit_test(test_kineto__without_sequence_numbers_flows_tell_the_origin),
		cmocka_unit_test(test_kineto__collectives_have_their_bytes_and_group),
		cmocka_unit_test(test_kineto__hardware_counters_are_samples),
		cmocka_unit_test(test_kineto__calls_the_host_waits_in_are_kept),
	};

	return cmocka_run_group_tests_name("kineto", tests, NULL, NULL);
}
