/* The reader of torch.profiler traces: odd, damaged and hostile traces. */
#include "unit.h"

#include "kineto_made.h"

#include <stdlib.h>

static void test_kineto__odd_numbers_and_texts_are_taken(void **state)
{
	struct sonde_records *r = open_text(TRACE(
		"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"a\\u00e9\\ud83d\\ude00\\/\xff\","
		"\"pid\":9,\"tid\":1,\"ts\":0,\"dur\":50,\"args\":{\"x\":NaN,\"y\":-Infinity,"
		"\"big\":123456789012345678901234567890,\"deep\":[[[[{\"a\":[1,\"]\"]}]]]]}},"
		"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"bad\",\"pid\":9,\"tid\":1,"
		"\"ts\":NaN,\"dur\":1}," CALL("1", "1", "2") "," KERNEL("k", "1", "20", "1.2346")));

	(void)state;
	assert_string_equal(path_of(r, 0), "a\xc3\xa9\xf0\x9f\x98\x80/\xff");
	assert_int_equal(r->records.at[0].time.end_ns, 21235);
	assert_true(noted(r, "1 event has no usable time"));
	sonde_records_free(r);
}

/* Times near 2^64 ns, ends beyond that, and times that are decades from all others. */
static void test_kineto__impossible_times_are_left_out_and_counted(void **state)
{
	struct sonde_records *r = open_text(TRACE(RANGE("A", "1", "0", "50") "," RANGE(
		"far", "1", "18446744073709000", "1") "," RANGE("long", "1", "9", "18446744073709000") ","
		RANGE("B", "1", "60", "50") "," RANGE("C", "1", "200", "50") "," RANGE("1970s", "2", "300000000000000", "9") ","
		CALL("1", "1", "2") "," CALL("2", "1", "3") "," CALL("3", "1", "4") "," CALL("4", "1", "5") ","
		KERNEL("k", "1", "20", "1") "," KERNEL("k", "2", "18446744073709551", "1") ","
		KERNEL("k", "3", "30", "1") "," KERNEL("k", "4", "4611686018427387", "2")));
	size_t i;

	(void)state;
	assert_true(noted(r, "3 events have no usable time"));
	assert_int_equal(r->records.nr, 3);
	assert_int_equal(r->records.at[0].time.end_ns, 21000);
	assert_int_equal(r->records.at[1].time.end_ns, 31000);
	assert_int_equal(r->records.at[2].time.end_ns, 0);
	assert_true(noted(r, "1 result has an impossible time, more than a year from the others: it is left out"));
	assert_true(noted(r, "1 range has an impossible time, more than a year from the others: it is left out"));
	for (i = 0; i < r->ranges.nr; i++)
		assert_true(r->ranges.at[i].time.end_ns <= 250000);
	sonde_records_free(r);
}

static void test_kineto__a_call_may_lack_its_name(void **state)
{
	struct sonde_records *r = open_text(TRACE(
		RANGE("A", "1", "0", "10") ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"pid\":9,\"tid\":1,"
		"\"ts\":2,\"dur\":1,\"args\":{\"correlation\":5}}," KERNEL("k", "5", "30", "1")));

	(void)state;
	assert_string_equal(path_of(r, 0), "A");
	sonde_records_free(r);
}

static void test_kineto__quotes_without_backslash_are_part_of_a_name(void **state)
{
	struct sonde_records *r = open_text(TRACE(RANGE("load \"x\", \"y\" now", "1", "0", "50") ","
		CALL("1", "1", "2") "," KERNEL("k", "1", "20", "1")));

	(void)state;
	assert_string_equal(path_of(r, 0), "load \"x\", \"y\" now");
	assert_false(noted(r, "damaged"));
	sonde_records_free(r);
}

static void test_kineto__a_damaged_event_costs_itself(void **state)
{
	struct sonde_records *r = open_text(TRACE(RANGE("A", "1", "0", "50") "," CALL("1", "1", "2")
		",{\"ph\":\"X\",\"cat\" \"kernel\",:::{{" "," KERNEL("k", "1", "20", "1")));

	(void)state;
	assert_int_equal(r->records.nr, 1);
	assert_string_equal(path_of(r, 0), "A");
	assert_true(noted(r, "1 event is damaged, the first at byte"));
	sonde_records_free(r);
}

static void test_kineto__duplicate_keys_the_last_one_counts(void **state)
{
	struct sonde_records *r = open_text(TRACE(CALL("1", "1", "2") ","
		"{\"ph\":\"C\",\"ph\":\"X\",\"cat\":\"x\",\"cat\":\"kernel\",\"name\":\"a\",\"name\":\"b\","
		"\"pid\":0,\"tid\":7,\"ts\":1,\"ts\":2,\"dur\":1,\"args\":{\"correlation\":3},"
		"\"args\":{\"correlation\":1,\"correlation\":1}}"));

	(void)state;
	assert_true(sonde_str_is(sonde_records_str(r, sonde_record_function(r, &r->records.at[0])->name), "b"));
	assert_int_equal(r->records.at[0].time.start_ns, 2000);
	assert_int_equal(r->records.at[0].call_ns, 2000);
	sonde_records_free(r);
}

static void test_kineto__json_without_events_is_refused(void **state)
{
	static const char *const texts[] = {"{}", "{\"traceEvents\":5}", "{\"a\":{\"traceEvents\":[]}}"};
	struct sonde_records *r;
	struct sonde_err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(
			read_bytes(&r, texts[i], strlen(texts[i]), &err), SONDE_ERR_FORMAT);
		assert_non_null(strstr(err.msg, "without traceEvents"));
	}
}

static void test_kineto__nesting_and_length_do_not_matter(void **state)
{
	size_t depth = 3000000, n, i;
	char *text = malloc(2 * depth + 4096);
	struct sonde_records *r = NULL;
	struct sonde_err err;

	(void)state;
	assert_non_null(text);
	n = (size_t)sprintf(text, "{\"meta\":");
	for (i = 0; i < depth; i++)
		text[n++] = '[';
	for (i = 0; i < depth; i++)
		text[n++] = ']';
	n += (size_t)sprintf(text + n, ",\"traceEvents\":[" CALL("1", "1", "2") "," KERNEL("k", "1",
						"20", "1") "]}");
	assert_int_equal(read_bytes(&r, text, n, &err), 0);
	assert_int_equal(r->records.nr, 1);
	sonde_records_free(r);
	memset(text + 8, '[', 2 * depth); /* never closed */
	assert_int_equal(read_bytes(&r, text, n, &err), SONDE_ERR_FORMAT);
	free(text);
}

/* The ids of nested regions grow with the square of the depth: they must stay limited. */
static void test_kineto__nesting_of_ranges_is_cut(void **state)
{
	char *text = malloc(1u << 20);
	struct sonde_records *r;
	size_t n;
	int i;

	(void)state;
	assert_non_null(text);
	n = (size_t)sprintf(text, "{\"traceEvents\":[");
	for (i = 0; i < 2000; i++)
		n += (size_t)sprintf(text + n, RANGE("r%d", "1", "%d", "%d") ",", i, i, 5000 - 2 * i);
	sprintf(text + n, CALL("1", "1", "2001") "," KERNEL("k", "1", "2002", "1") "]}");
	r = open_text(text);
	free(text);
	assert_int_equal(deepest_range(r), 512);
	assert_true(noted(r, "1488 ranges are nested deeper than 512"));
	assert_int_equal(r->members.at[r->sets.at[r->records.at[0].open].first], 511);
	sonde_records_free(r);
}

static const char small[] = TRACE(
	RANGE("a \\\"b\\\" c", "1", "0.5", "50") "," RANGE("q \"r\" s", "1", "2", "5") ","
	OP("addmm", "1", "3", "2", "7", "0") "," CALL("1", "1", "2") ","
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":9,\"tid\":0,\"args\":{\"name\":\"py\"}},"
	OP("Backward", "2", "30", "9", "7", "1") "," CALL("2", "2", "31") ","
	KERNEL("_Z1kv", "1", "20", "1.25") "," KERNEL("k<int>(int)", "2", "40", "1e1"));

static void test_kineto__survives_truncation_anywhere(void **state)
{
	size_t n, nr_partial = 0;
	struct sonde_records *r;
	struct sonde_err err;

	(void)state;
	for (n = 1; n < sizeof(small) - 1; n++) {
		survive(small, n);
		if (read_bytes(&r, small, n, &err) == 0) {
			/* If the file is cut behind the events, only facts about the run are missing. */
			nr_partial += noted(r, "truncated");
			sonde_records_free(r);
		}
	}
	assert_true(nr_partial > 100);
}

static void test_kineto__survives_damage_anywhere(void **state)
{
	static const char bytes[] = {'"', '{', '}', '[', ',', '\\', '\0', '9', (char)0xff};
	char text[sizeof(small)];
	size_t i, b;

	(void)state;
	for (i = 0; i < sizeof(small) - 1; i++)
		for (b = 0; b < sizeof(bytes); b++) {
			memcpy(text, small, sizeof(small));
			text[i] = bytes[b];
			survive(text, sizeof(small) - 1);
		}
}

/* The damage of each of very many events becomes visible only far behind it; a good kernel follows at the end. */
static uint64_t steps_to_read(const char *piece, const char *end, int nr)
{
	struct sonde_buf text = {0};
	struct sonde_records *r = NULL;
	struct sonde_err err;
	uint64_t start;
	int i;

	sonde_buf_puts(&text, "{\"traceEvents\":[");
	for (i = 0; i < nr; i++)
		sonde_buf_puts(&text, piece);
	for (i = 0; i < (end[0] == '}' ? nr : 1); i++)
		sonde_buf_puts(&text, end);
	sonde_buf_puts(&text, "," KERNEL("k", "1", "20", "1") "]}");
	start = sonde_steps();
	assert_int_equal(read_bytes(&r, text.p, text.n, &err), 0);
	start = sonde_steps() - start;
	assert_int_equal(r->records.nr, 1);
	assert_true(noted(r, "damaged, the first at byte"));
	sonde_records_free(r);
	sonde_buf_release(&text);
	return start;
}

static void test_kineto__damage_that_is_seen_late_is_not_looked_for_again_and_again(void **state)
{
	static const struct {
		const char *name, *piece, *end;
	} shapes[] = {
		{"names without an end", "{\"name\":\"a\"b", "\"ph\" x\"}"},
		{"names before no key", "{\"name\":\"a\",:", "\"ph\" x\"}"},
		{"names before half a key", "{\"name\":\"a\",\"b", "\"ph\":\"x\"}"},
		{"arguments without an end", "{\"ph\":\"X\",\"args\":{", "}x}x"},
		{"a value for a name", "{\"name\":{", "}x}x"},
		{"what is not wanted", "{\"ph\":\"B\",\"y\":{", "}x}x"},
	};
	size_t i;

	(void)state;
	skip_without_steps();
	for (i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		assert_linear(shapes[i].name, steps_to_read(shapes[i].piece, shapes[i].end, 2500),
			steps_to_read(shapes[i].piece, shapes[i].end, 20000));
}

static void test_kineto__survives_every_failed_allocation(void **state)
{
	(void)state;
	survive_failed_allocations(small, sizeof(small) - 1, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kineto__odd_numbers_and_texts_are_taken),
		cmocka_unit_test(test_kineto__impossible_times_are_left_out_and_counted),
		cmocka_unit_test(test_kineto__a_call_may_lack_its_name),
		cmocka_unit_test(test_kineto__quotes_without_backslash_are_part_of_a_name),
		cmocka_unit_test(test_kineto__a_damaged_event_costs_itself),
		cmocka_unit_test(test_kineto__duplicate_keys_the_last_one_counts),
		cmocka_unit_test(test_kineto__json_without_events_is_refused),
		cmocka_unit_test(test_kineto__nesting_and_length_do_not_matter),
		cmocka_unit_test(test_kineto__nesting_of_ranges_is_cut),
		cmocka_unit_test(test_kineto__survives_truncation_anywhere),
		cmocka_unit_test(test_kineto__survives_damage_anywhere),
		cmocka_unit_test(test_kineto__damage_that_is_seen_late_is_not_looked_for_again_and_again),
		cmocka_unit_test(test_kineto__survives_every_failed_allocation),
	};

	return cmocka_run_group_tests_name("kineto, odd traces", tests, NULL, NULL);
}
