#include "base/alloc.h"
#include "read/records.h"

#include "open_ranges.h"
#include "unit.h"

#include "read_bytes.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAD                                                                                       \
	"\"ID\",\"Process ID\",\"Process Name\",\"Host Name\","                                    \
	"\"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg\","           \
	"\"Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg\","             \
	"\"Kernel Name\",\"Context\",\"Stream\",\"Device\",\"CC\",\"time\",\"bytes\",\"rate\","    \
	"\"text\"\n"
#define UNITS                                                                                      \
	"\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"usecond\",\"Kbyte\","            \
	"\"Gbyte/second\",\"\"\n"
#define NONES ":none:none:none:none:none:none"
#define ROW(push, start, time)                                                                     \
	"\"0\",\"77\",\"wl\",\"host\",\"" push "\",\"" start                                       \
	"\",\"void ns::gemm<2>(float *)\",\"1\",\"7\",\"0\",\"9.0\",\"" time                       \
	"\",\"1,234.50\",\"2.00\",\"a \"\"b\"\" c\"\n"

static int read_text(struct sonde_records **out, const char *text, struct sonde_err *err)
{
	return read_bytes(out, text, strlen(text), err);
}

static struct sonde_records *must_read(const char *text)
{
	struct sonde_records *r = NULL;
	struct sonde_err err = {0};

	if (read_text(&r, text, &err))
		fail_msg("%s", err.msg);
	return r;
}

static void test_csv__scales_to_base_units_and_takes_thousands_apart(void **state)
{
	struct sonde_records *r = must_read("==PROF== Connected\nhello\n" HEAD UNITS ROW(
		"", "", "1,980.25") ROW("", "", "n/a"));
	struct sonde_values v;

	(void)state;
	assert_int_equal(r->records.nr, 2);
	assert_true(fabs(metric_of(r, 0, "time") - 1980250.0) < 1e-6);
	assert_true(fabs(metric_of(r, 0, "bytes") - 1234500.0) < 1e-6);
	assert_true(fabs(metric_of(r, 0, "rate") - 2e9) < 1e-3);
	assert_true(isnan(metric_of(r, 1, "time")));
	assert_true(sonde_str_is(r->metrics.at[0].unit, "ns"));
	assert_true(sonde_str_is(r->metrics.at[1].unit, "byte"));
	assert_true(sonde_str_is(r->metrics.at[2].unit, "byte/s"));
	assert_int_equal(sonde_values_init(&v, r, NULL), 0);
	assert_int_equal(sonde_records_values(r, 1, &v, NULL), 0);
	assert_int_equal(v.texts.nr, 1);
	assert_true(sonde_str_is(v.texts.at[0].text, "a \"b\" c"));
	sonde_values_release(&v);
	assert_true(sonde_str_is(sonde_records_str(r, sonde_record_function(r, &r->records.at[0])->name), "gemm"));
	assert_int_equal(r->devices.nr, 1);
	assert_int_equal(r->devices.at[0].cc_major, 9);
	assert_int_equal(r->notes.texts.nr, 0); /* docs/sources.md has what every CSV lacks */
	sonde_records_free(r);
}

static void test_csv__cuts_labels_with_colons_and_quotes(void **state)
{
	static struct open_ranges o;
	struct sonde_records *r =
		must_read(HEAD UNITS ROW("12  \"\"<default domain>:a::b:c" NONES
					 "\"\"  \"\"<default domain>:say \"hi\"" NONES
					 "\"\"  \"\"D:x:y:Double:2.5:none:none:ASCII:x:y\"\" ",
			" \"\"3:<default domain>:s" NONES "\"\"  \"\"4:D:t" NONES "\"\" ", "1"));

	(void)state;
	open_ranges_of(&o, r, 0);
	assert_int_equal(sonde_record_caller(r, &r->records.at[0])->thread, 12);
	assert_int_equal(o.view.nr_stacks, 2);
	assert_int_equal(o.stacks[0].nr, 2);
	assert_true(sonde_str_is(o.labels[0][0], "a::b:c"));
	assert_true(sonde_str_is(o.labels[0][1], "say \"hi\""));
	assert_true(sonde_str_is(o.stacks[1].domain, "D"));
	assert_true(sonde_str_is(o.labels[1][0], "x:y"));
	assert_int_equal(o.view.nr_starts, 2);
	assert_true(sonde_str_is(o.starts[1].domain, "D"));
	assert_true(sonde_str_is(o.starts[1].label, "t"));
	assert_int_equal(r->notes.texts.nr, 1); /* the border is a guess */
	sonde_records_free(r);
}

static void test_csv__takes_equal_neighbours_for_one_entry(void **state)
{
	struct sonde_records *r =
		must_read(HEAD UNITS ROW("1  \"\"<default domain>:A" NONES "\"\" ",
			" \"\"5:<default domain>:s" NONES "\"\" ", "1")
				ROW("1  \"\"<default domain>:A" NONES "\"\" ",
					" \"\"6:<default domain>:s" NONES "\"\" ", "1")
					ROW("1  \"\"<default domain>:B" NONES "\"\" ", "", "1"));

	(void)state;
	assert_int_equal(r->ranges.nr, 4); /* A, s twice (ids 5 and 6), B */
	sonde_records_free(r);
}

static void test_csv__tables_by_range_are_understood(void **state)
{
	static const char *const ranges[] = {"NVTX Range Name", "Range Name", "NVTX Range", "Range"};
	static const char *const counts[] = {"Calls", "Invocations"};
	static struct open_ranges o;
	char text[512];
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct sonde_records *r;

		snprintf(text, sizeof(text), "%s,%s,Total Time (us)\nprefill,3,1.5\ndecode,\"1,200\",2.25\n,1,0.5\n",
			ranges[i], counts[i % 2]);
		r = must_read(text);
		assert_int_equal(r->records.nr, 3);
		assert_int_equal(sonde_record_launches(&r->records.at[1]), 1200);
		assert_true(fabs(metric_of(r, 1, "gpu__time_duration.sum") - 2250) < 1e-9);
		open_ranges_of(&o, r, 0);
		assert_true(sonde_str_is(o.labels[0][0], "prefill"));
		open_ranges_of(&o, r, 2);
		assert_true(sonde_str_is(o.labels[0][0], "(unlabeled)"));
		assert_int_equal(r->records.at[0].kind, SONDE_RESULT_KERNEL);
		assert_int_equal(r->notes.texts.nr, 0);
		sonde_records_free(r);
	}
}

static void test_csv__rows_of_a_range_are_entries_of_it(void **state)
{
	struct sonde_records *r = must_read("\"ID\",\"Range\",\"gpu__time_duration.sum\"\n\"\",\"\",\"usecond\"\n"
					    "\"0\",\"A\",\"10\"\n\"1\",\"A\",\"12\"\n");

	(void)state;
	assert_int_equal(r->records.nr, 2);
	assert_int_equal(r->ranges.nr, 2);
	assert_int_equal(r->records.at[0].kind, SONDE_RESULT_RANGE);
	assert_true(fabs(metric_of(r, 1, "gpu__time_duration.sum") - 12000) < 1e-9);
	sonde_records_free(r);
	r = must_read("Range,Total Time\nA,2\n");
	assert_true(fabs(metric_of(r, 0, "gpu__time_duration.sum") - 2e6) < 1e-3);
	assert_int_equal(r->notes.texts.nr, 1); /* no unit: milliseconds */
	sonde_records_free(r);
}

static void test_csv__skips_lines_that_are_no_rows_and_counts_them(void **state)
{
	struct sonde_records *r = must_read(HEAD UNITS ROW(
		"", "", "1") "the program says hi\n"
			     "==PROF== Disconnected\n\"9\",\"too\",\"few\"\n" ROW("", "", "2"));

	(void)state;
	assert_int_equal(r->records.nr, 2);
	assert_non_null(strstr(r->notes.texts.keys[0].p, "1 line of the table is not a result"));
	assert_non_null(strstr(r->notes.texts.keys[1].p, "1 row of the table has more or fewer cells"));
	assert_true(!sonde_notes_is_loss(&r->notes, 0) && sonde_notes_is_loss(&r->notes, 1));
	sonde_records_free(r);
}

static void test_csv__cut_anywhere_gives_the_rows_before_it_or_an_error(void **state)
{
	static const char whole[] =
		HEAD UNITS ROW("1  \"\"<default domain>:A" NONES "\"\" ", "", "1") ROW("", "", "2");
	size_t n, rows = strlen(HEAD UNITS);
	struct sonde_records *r;
	struct sonde_err err;

	(void)state;
	for (n = 0; n < sizeof(whole); n++) {
		char *part = strndup(whole, n);
		int rc = read_text(&r, part, &err);

		free(part);
		if (rc == 0)
			assert_true(r->records.nr <= 2);
		else
			assert_true(rc == SONDE_ERR_FORMAT && err.msg[0]);
		if (n > rows + 10 && n < rows + 100) {
			assert_int_equal(rc, SONDE_ERR_FORMAT);
			assert_int_equal(err.pos, rows);
		}
		sonde_records_free(r);
	}
}

static void test_csv__refuses_the_details_page_and_summaries_by_name(void **state)
{
	struct sonde_records *r;
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(read_text(&r,
				 "\"ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\","
				 "\"Metric Value\"\n",
				 &err),
		SONDE_ERR_FORMAT);
	assert_non_null(strstr(err.msg, "--page raw"));
	assert_int_equal(
		read_text(&r, "\"Domain\",\"Range\",\"Metric Name\"\n", &err), SONDE_ERR_FORMAT);
	assert_non_null(strstr(err.msg, "--page raw"));
}

/* A table of `n` times whatever makes it long: rows of new processes, ranges in one cell, columns.
 */
static void make_long(struct sonde_buf *b, int what, uint32_t n)
{
	uint32_t i;

	sonde_buf_puts(b, "\"ID\",\"Process ID\",\"thread Domain:Push/Pop\",\"Kernel Name\"");
	for (i = 0; i < n && what == 2; i++)
		sonde_buf_printf(b, ",m%u", i % 60000);
	sonde_buf_puts(b, "\n");
	for (i = 0; i < n && what == 0; i++)
		sonde_buf_printf(b, "%u,%u,\"%u  \"\"D%u:x" NONES "\"\" \",k%u\n", i, i, i, i, i);
	if (what == 0)
		return;
	sonde_buf_puts(b, "0,1,\"1  ");
	for (i = 0; i < n && what == 1; i++)
		sonde_buf_printf(b, "\"\"D%u:x:::::::::::::::\"\"  ", i);
	sonde_buf_puts(b, "\",k");
	for (i = 0; i < n && what == 2; i++)
		sonde_buf_puts(b, ",1");
	sonde_buf_puts(b, "\n");
}

static uint64_t steps_to_read(int what, uint32_t n)
{
	struct sonde_records *r;
	struct sonde_buf b = {0};
	struct sonde_err err;
	uint64_t start;

	make_long(&b, what, n);
	start = sonde_steps();
	read_text(&r, b.p, &err);
	sonde_records_free(r);
	sonde_buf_release(&b);
	return sonde_steps() - start;
}

static void test_csv__work_grows_with_the_size_whatever_there_is_much_of(void **state)
{
	static const char *const names[] = {"results", "ranges", "metrics"};
	int what;

	(void)state;
	skip_without_steps();
	for (what = 0; what < 3; what++) {
		uint64_t few = steps_to_read(what, 7500), many = steps_to_read(what, 60000);

		assert_linear(names[what], few, many);
	}
}

static void test_csv__survives_every_failed_allocation(void **state)
{
	static const char text[] = HEAD UNITS
		ROW("1  \"\"<default domain>:A" NONES "\"\"  \"\"D:b" NONES "\"\" ",
			" \"\"5:<default domain>:s" NONES "\"\" ", "1") ROW("", "", "1");

	(void)state;
	survive_failed_allocations(text, sizeof(text) - 1, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv__scales_to_base_units_and_takes_thousands_apart),
		cmocka_unit_test(test_csv__cuts_labels_with_colons_and_quotes),
		cmocka_unit_test(test_csv__takes_equal_neighbours_for_one_entry),
		cmocka_unit_test(test_csv__tables_by_range_are_understood),
		cmocka_unit_test(test_csv__rows_of_a_range_are_entries_of_it),
		cmocka_unit_test(test_csv__skips_lines_that_are_no_rows_and_counts_them),
		cmocka_unit_test(test_csv__cut_anywhere_gives_the_rows_before_it_or_an_error),
		cmocka_unit_test(test_csv__refuses_the_details_page_and_summaries_by_name),
		cmocka_unit_test(test_csv__work_grows_with_the_size_whatever_there_is_much_of),
		cmocka_unit_test(test_csv__survives_every_failed_allocation),
	};

	return cmocka_run_group_tests_name("ncu_csv", tests, NULL, NULL);
}
