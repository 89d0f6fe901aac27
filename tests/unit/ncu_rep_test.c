/* The .ncu-rep reader with damaged and hostile files. */
#include "base/alloc.h"
#include "base/file.h"
#include "read/records.h"

#include "unit.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "ncu_hostile.h"

#define SMALL "tests/data/ncu/graph_whole.ncu-rep"

#define DECODED 500 /* each is a row of all metrics; more would not test anything new */

/* Also decodes the values of the records, which may be hostile too. */
static void walk_all(const struct sonde_records *r)
{
	struct sonde_values v;
	uint32_t i;

	assert_int_equal(sonde_values_init(&v, r, NULL), 0);
	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record *rec = &r->records.at[i];

		if (i < DECODED)
			sonde_records_values(r, i, &v, NULL);
		assert_true(rec->open < r->sets.nr && sonde_record_caller(r, rec)->process < r->processes.nr);
		sonde_records_str(r, sonde_record_function(r, rec)->name);
	}
	sonde_values_release(&v);
}

/* Either the file can be read, completely or with a note, or the error has file, byte and reason. */
static int must_survive(const void *p, size_t n)
{
	struct sonde_records *r;
	struct sonde_err err = {0};
	int rc = open_bytes(&r, p, n, &err);

	if (rc == 0) {
		walk_all(r);
		sonde_records_free(r);
		return 0;
	}
	assert_null(r);
	assert_int_equal(err.code, SONDE_ERR_FORMAT);
	assert_non_null(strstr(err.msg, "/proc/self/fd/"));
	return rc;
}

static void test_ncu_rep__cut_at_every_byte_gives_an_error_or_a_noted_part(void **state)
{
	struct sonde_mapping m;
	struct sonde_records *r;
	struct sonde_err err;
	size_t n, nr_partial = 0;

	(void)state;
	assert_int_equal(sonde_mapping_open(&m, SMALL, &err), 0);
	for (n = 0; n < m.data.n; n++) {
		int rc = open_bytes(&r, m.data.p, n, &err);

		if (rc == 0 && r->notes.texts.nr) {
			nr_partial++;
			assert_non_null(memmem(
				r->notes.texts.keys[0].p, r->notes.texts.keys[0].n, "byte ", 5));
		}
		/* A cut between two blocks cannot be detected while no result is missing. */
		if (rc)
			assert_int_equal(rc, SONDE_ERR_FORMAT);
		sonde_records_free(r);
	}
	assert_true(nr_partial > 1000);
	sonde_mapping_release(&m);
}

static void test_ncu_rep__larger_reports_survive_sampled_cuts(void **state)
{
	static const char *const paths[] = {
		"tests/data/ncu/domains_kernel.ncu-rep", "tests/data/ncu/overlap_kernel.ncu-rep"};
	struct sonde_mapping m;
	size_t i, n;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_int_equal(sonde_mapping_open(&m, paths[i], NULL), 0);
		for (n = 0; n < m.data.n; n += 997)
			must_survive(m.data.p, n);
		sonde_mapping_release(&m);
	}
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void test_ncu_rep__survives_random_byte_flips(void **state)
{
	uint64_t seed = 20251115;
	struct sonde_mapping m;
	int round, k;
	char *copy;

	(void)state;
	assert_int_equal(sonde_mapping_open(&m, SMALL, NULL), 0);
	copy = malloc(m.data.n);
	assert_non_null(copy);
	for (round = 0; round < 3000; round++) {
		memcpy(copy, m.data.p, m.data.n);
		for (k = round % 20; k >= 0; k--)
			copy[next_random(&seed) % m.data.n] = (char)next_random(&seed);
		if (round % 2) /* and where all lengths and counts are */
			copy[next_random(&seed) % 64] = (char)next_random(&seed);
		must_survive(copy, m.data.n);
	}
	free(copy);
	sonde_mapping_release(&m);
}

/* A report of one block with `nr` empty results, which claims to have `claimed` of them. */
static void make_claim(struct sonde_buf *file, uint64_t claimed, uint32_t nr)
{
	struct sonde_buf header = {0}, payload = {0};

	make_start(file);
	make_int(&header, 2, claimed);
	for (; nr; nr--)
		make_u32(&payload, 0);
	make_block(file, &header, &payload);
	sonde_buf_release(&header);
	sonde_buf_release(&payload);
}

static void test_ncu_rep__absurd_counts_end_where_the_bytes_end(void **state)
{
	static const uint64_t claims[] = {4, 1000, UINT32_MAX, UINT64_MAX, 1ull << 63};
	struct sonde_records *r;
	struct sonde_err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		struct sonde_buf file = {0};

		make_claim(&file, claims[i], 3);
		assert_int_equal(open_bytes(&r, file.p, file.n, &err), 0);
		assert_int_equal(r->records.nr, 3);
		assert_int_equal(r->notes.texts.nr, 1);
		walk_all(r);
		sonde_records_free(r);
		sonde_buf_release(&file);
	}
}

static void test_ncu_rep__lengths_past_the_end_are_named(void **state)
{
	static const uint32_t lengths[] = {1, 5, 0x7fffffff, 0x80000000, 0xffffffff};
	struct sonde_records *r;
	struct sonde_err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct sonde_buf file = {0};

		make_start(&file);
		make_u32(&file, lengths[i]);
		assert_int_equal(open_bytes(&r, file.p, file.n, &err), SONDE_ERR_FORMAT);
		assert_non_null(strstr(err.msg, "inside the head of a block"));
		assert_int_equal(err.pos, file.n);
		sonde_buf_release(&file);
	}
}

static void test_ncu_rep__field_lengths_past_their_message_are_named(void **state)
{
	static const uint64_t lengths[] = {2, 1ull << 32, UINT64_MAX, INT64_MAX};
	struct sonde_buf header = {0}, payload = {0}, result = {0};
	struct sonde_records *r;
	struct sonde_err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct sonde_buf file = {0};

		make_start(&file);
		make_int(&header, 2, 1);
		make_varint(&result, 13 << 3 | 2);
		make_varint(&result, lengths[i]);
		sonde_buf_putc(&result, 'x');
		make_item(&payload, &result);
		make_block(&file, &header, &payload);
		assert_int_equal(open_bytes(&r, file.p, file.n, &err), SONDE_ERR_FORMAT);
		assert_non_null(strstr(err.msg, "past the end"));
		sonde_buf_release(&file);
	}
	sonde_buf_release(&header);
	sonde_buf_release(&payload);
	sonde_buf_release(&result);
}

/* A metric {1 string id, 2 value{4: 42}}. */
static void make_metric(struct sonde_buf *result, uint64_t string)
{
	struct sonde_buf metric = {0}, value = {0};

	make_int(&value, 4, 42);
	make_int(&metric, 1, string);
	make_message(&metric, 2, &value);
	make_message(result, 13, &metric);
	sonde_buf_release(&metric);
	sonde_buf_release(&value);
}

/* String 7 is missing when the first block's result names it, and arrives with the second. */
static void test_ncu_rep__string_ids_out_of_range_are_counted_and_left_out(void **state)
{
	struct sonde_buf file = {0}, header = {0}, payload = {0}, result = {0}, strings = {0};
	struct sonde_records *r;
	struct sonde_err err;
	int i;

	(void)state;
	make_start(&file);
	make_metric(&result, 7);
	make_metric(&result, UINT64_MAX - 1);
	make_item(&payload, &result);
	make_int(&header, 2, 1);
	make_block(&file, &header, &payload);
	for (i = 0; i < 10; i++)
		make_text(&strings, 1, "name");
	make_message(&header, 4, &strings);
	make_metric(&result, 3);
	make_item(&payload, &result);
	make_int(&header, 2, 1);
	make_block(&file, &header, &payload);
	assert_int_equal(open_bytes(&r, file.p, file.n, &err), 0);
	assert_int_equal(r->records.nr, 2);
	assert_int_equal(r->metrics.nr, 1);
	assert_non_null(strstr(r->notes.texts.keys[0].p, "2 metric values"));
	walk_all(r);
	sonde_records_free(r);
	sonde_buf_release(&file);
	sonde_buf_release(&header);
	sonde_buf_release(&payload);
	sonde_buf_release(&result);
	sonde_buf_release(&strings);
}

static void test_ncu_rep__refuses_what_is_no_report_with_the_reason(void **state)
{
	char dir[] = "/tmp/sonde-test-XXXXXX", fifo[64];
	static const char text[] = "#!/bin/sh\necho no report\n";
	struct sonde_records *r;
	struct sonde_err err;
	const char *path;

	(void)state;
	assert_int_equal(open_bytes(&r, "", 0, &err), SONDE_ERR_FORMAT);
	assert_non_null(strstr(err.msg, "empty"));
	assert_int_equal(open_bytes(&r, text, sizeof(text), &err), SONDE_ERR_FORMAT);
	assert_non_null(strstr(err.msg, "not a capture"));
	assert_non_null(mkdtemp(dir));
	path = dir;
	assert_int_equal(sonde_records_open(&r, &path, 1, NULL, &err), SONDE_ERR_IO);
	assert_non_null(strstr(err.msg, "directory"));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	path = fifo;
	assert_int_equal(sonde_records_open(&r, &path, 1, NULL, &err), SONDE_ERR_IO);
	assert_non_null(strstr(err.msg, "regular file"));
	path = "/nonexistent/file";
	assert_int_equal(sonde_records_open(&r, &path, 1, NULL, &err), SONDE_ERR_IO);
	unlink(fifo);
	rmdir(dir);
}

static void test_ncu_rep__survives_every_failed_allocation(void **state)
{
	const char *path = "tests/data/ncu/domains_kernel.ncu-rep";
	struct sonde_records *r;
	struct sonde_err err;
	int rc = SONDE_ERR_NOMEM;
	uint64_t nth;

	(void)state;
	for (nth = 1; rc == SONDE_ERR_NOMEM && nth < 100000; nth++) {
		sonde_alloc_fail_at(nth);
		rc = sonde_records_open(&r, &path, 1, NULL, &err);
		sonde_alloc_fail_at(0);
		sonde_records_free(r);
	}
	assert_int_equal(rc, 0);
	assert_true(nth > 50);
}

static uint64_t steps_to_read(make_hostile *make, uint32_t n)
{
	struct sonde_buf file = {0};
	uint64_t start;
	uint64_t s;

	make(&file, n);
	assert_false(file.failed);
	start = sonde_steps();
	must_survive(file.p, file.n);
	s = sonde_steps() - start;
	sonde_buf_release(&file);
	return s;
}

static void test_ncu_rep__work_grows_with_the_size_whatever_there_is_much_of(void **state)
{
	size_t i;

	(void)state;
	skip_without_steps();
	for (i = 0; i < NR_HOSTILE; i++) {
		uint64_t few = steps_to_read(hostile[i].make, 10000);
		uint64_t many = steps_to_read(hostile[i].make, 80000);

		assert_linear(hostile[i].name, few, many);
	}
}

/* The launching thread 0 has no ranges; `nr` others have one each. */
static struct sonde_records *open_threads(uint32_t nr)
{
	struct sonde_buf file = {0}, header = {0}, result = {0}, nvtx = {0};
	struct sonde_buf thread = {0}, stack = {0}, range = {0};
	struct sonde_records *r;
	struct sonde_err err = {0};
	uint32_t i;

	for (i = 0; i < 3; i++) {
		make_int(&thread, 1, 7 + i);
		make_text(&range, 1, "held");
		if (i < nr)
			make_message(&stack, 3, &range);
		make_message(&thread, 2, &stack); /* may be empty */
		make_message(&nvtx, 2, &thread);
		sonde_buf_clear(&range);
	}
	make_message(&result, 21, &nvtx);
	one_result(&file, &header, &result);
	assert_int_equal(open_bytes(&r, file.p, file.n, &err), 0);
	sonde_buf_release(&file);
	sonde_buf_release(&nvtx);
	sonde_buf_release(&thread);
	sonde_buf_release(&stack);
	sonde_buf_release(&range);
	return r;
}

static void test_ncu_rep__the_one_other_thread_with_ranges_lends_them(void **state)
{
	struct sonde_records *r = open_threads(1);
	const struct sonde_record *rec = &r->records.at[0];

	(void)state;
	assert_int_equal(rec->open, 0);
	assert_int_equal(rec->origin_kind, SONDE_ORIGIN_LENT);
	assert_int_equal(r->sets.at[rec->lent].nr, 1);
	assert_int_equal(r->ranges.at[r->members.at[r->sets.at[rec->lent].first]].thread, 7);
	sonde_records_free(r);
	r = open_threads(2);
	assert_int_equal(r->records.at[0].origin_kind, SONDE_ORIGIN_LENT);
	assert_int_equal(r->records.at[0].lent, SONDE_NONE);
	sonde_records_free(r);
	r = open_threads(0);
	assert_int_equal(r->records.at[0].origin_kind, SONDE_ORIGIN_NONE);
	sonde_records_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ncu_rep__cut_at_every_byte_gives_an_error_or_a_noted_part),
		cmocka_unit_test(test_ncu_rep__larger_reports_survive_sampled_cuts),
		cmocka_unit_test(test_ncu_rep__survives_random_byte_flips),
		cmocka_unit_test(test_ncu_rep__absurd_counts_end_where_the_bytes_end),
		cmocka_unit_test(test_ncu_rep__lengths_past_the_end_are_named),
		cmocka_unit_test(test_ncu_rep__field_lengths_past_their_message_are_named),
		cmocka_unit_test(test_ncu_rep__string_ids_out_of_range_are_counted_and_left_out),
		cmocka_unit_test(test_ncu_rep__refuses_what_is_no_report_with_the_reason),
		cmocka_unit_test(test_ncu_rep__survives_every_failed_allocation),
		cmocka_unit_test(test_ncu_rep__the_one_other_thread_with_ranges_lends_them),
		cmocka_unit_test(test_ncu_rep__work_grows_with_the_size_whatever_there_is_much_of),
	};

	return cmocka_run_group_tests_name("ncu_rep", tests, NULL, NULL);
}
