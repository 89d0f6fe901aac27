/* The reader of Nsight Systems exports: what damage, wrong types and lack of memory do to it. */
#include "unit.h"

#include "base/alloc.h"
#include "nsys_made.h"

#include <stdlib.h>

static void test_nsys__a_cut_export_says_how_much_is_there(void **state)
{
	struct bytes b = make(COPIES "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 900) "
				     "INSERT INTO StringIds SELECT 1000 + x, 'a longer text ' || x FROM c");
	struct sonde_records *r;
	struct sonde_err err;
	size_t n, nr_read = 0;
	char words[64];

	(void)state;
	for (n = 512; n < b.n; n += 512) {
		snprintf(words, sizeof(words), "truncated after %.0f %%; copy it again",
			(double)n * 100 / (double)b.n);
		if (read_bytes(&r, b.p, n, &err)) {
			assert_non_null(strstr(err.msg, words));
			continue;
		}
		nr_read++;
		assert_non_null(strstr(r->notes.texts.keys[0].p, words));
		sonde_records_free(r);
	}
	assert_true(nr_read > 0);
	sqlite3_free(b.p);
}

static void test_nsys__survives_truncation_anywhere(void **state)
{
	struct bytes b = make(COPIES METRICS);
	size_t n;

	(void)state;
	for (n = 0; n < b.n; n += n < 1024 ? 16 : 256)
		survive(b.p, n);
	sqlite3_free(b.p);
}

static void test_nsys__survives_damage_anywhere(void **state)
{
	struct bytes b = make(COPIES METRICS);
	unsigned char *copy = malloc(b.n);
	uint64_t random = 88172645463325252u;
	unsigned round, k;

	(void)state;
	assert_non_null(copy);
	for (round = 0; round < 800; round++) {
		memcpy(copy, b.p, b.n);
		for (k = 0; k <= round % 8; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			copy[random % b.n] = (unsigned char)(random >> 40);
		}
		survive(copy, b.n);
	}
	free(copy);
	sqlite3_free(b.p);
}

static void test_nsys__takes_wrong_types_and_huge_values(void **state)
{
	static const char *const odd[] = {
		"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start='text', end=x'00ff', deviceId=-1, "
		"correlationId='2'",
		"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start=9223372036854775807, "
		"end=-9223372036854775807, streamId=1e300, globalPid=-1",
		"UPDATE NVTX_EVENTS SET start=-5, end=9223372036854775807, domainId=-7, "
		"eventType=59.5",
		"UPDATE NVTX_EVENTS SET start=0, end=x'01', globalTid='x', text=x'00010203'",
		"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes=-1, copyKind=1e18, start='a', end='b'",
		"UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET bytes=9223372036854775807, end=0",
		"UPDATE TARGET_INFO_GPU SET name=NULL, computeMajor=1e99",
		"UPDATE META_DATA_EXPORT SET value=x'ff00'", "DROP TABLE StringIds",
		"DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME",
		"ALTER TABLE NVTX_EVENTS DROP COLUMN text",
		"ALTER TABLE NVTX_EVENTS DROP COLUMN end",
		"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN deviceId",
		"DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS "
		"SELECT 1 AS start, 2 AS end"};
	char sql[4096];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct bytes b;

		snprintf(sql, sizeof(sql), "%s %s", COPIES, odd[i]);
		b = make(sql);
		survive(b.p, b.n);
		sqlite3_free(b.p);
	}
}

static void test_nsys__ids_that_are_not_unique_do_not_multiply(void **state)
{
	struct bytes b = make(
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, "
		"nameId) SELECT 1, 2, (100 << 24) | 100, 7, 7 FROM n;"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 1, 2, 0, 1, 7, 7, 100 << 24, 1, 2, "
		"1, 1 FROM n;");
	struct sonde_records *r = NULL;
	struct sonde_err err;

	(void)state;
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	assert_int_equal(r->records.nr, 9 + 3000);
	sonde_records_free(r);
	sqlite3_free(b.p);
}

/* The page of the texts that has one of them is damaged: all launches are there, and it is said. */
static void test_nsys__texts_that_cannot_be_read_are_missing(void **state)
{
	struct bytes b = make("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 900) "
			      "INSERT INTO StringIds SELECT 1000 + x, 'a longer text ' || x FROM c;"
			      "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName=1500 WHERE correlationId=1");
	unsigned char *page = memmem(b.p, b.n, "a longer text 500", 17);
	struct sonde_records *r = NULL;
	struct sonde_err err;

	(void)state;
	assert_non_null(page);
	b.p[(size_t)(page - b.p) / 512 * 512] = 0xff; /* no kind of page */
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	assert_int_equal(r->records.nr, 9);
	assert_non_null(strstr(r->notes.texts.keys[0].p, "some names are missing"));
	sonde_records_free(r);
	sqlite3_free(b.p);
}

static void test_nsys__survives_every_failing_allocation(void **state)
{
	struct bytes b = make(COPIES METRICS);
	uint64_t i, total, before = sonde_alloc_count();

	(void)state;
	survive(b.p, b.n);
	total = sonde_alloc_count() - before;
	assert_true(total > 10);
	for (i = 1; i <= total; i++) {
		sonde_alloc_fail_at(i);
		survive(b.p, b.n);
		sonde_alloc_fail_at(0);
	}
	sqlite3_free(b.p);
}

/* SQLite's own memory, which is not ours to count. */
static sqlite3_mem_methods usual;
static uint64_t nr_calls, fail_at;

static bool fails(void)
{
	return ++nr_calls == fail_at;
}

static void *failing_malloc(int n)
{
	return fails() ? NULL : usual.xMalloc(n);
}

static void *failing_realloc(void *p, int n)
{
	return fails() ? NULL : usual.xRealloc(p, n);
}

static void test_nsys__survives_sqlite_running_out_of_memory(void **state)
{
	struct bytes b = make(COPIES METRICS);
	uint64_t i, total;

	(void)state;
	nr_calls = 0;
	survive(b.p, b.n);
	total = nr_calls;
	assert_true(total > 100);
	for (i = 1; i <= total; i += 1 + total / 600) {
		nr_calls = 0;
		fail_at = i;
		survive(b.p, b.n);
		fail_at = 0;
	}
	sqlite3_free(b.p);
}

/* Ranges that are never closed nest without end: ids stay bounded. */
static void test_nsys__nesting_is_cut(void **state)
{
	struct bytes b =
		make("WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n "
		     "< 2000) "
		     "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) "
		     "SELECT 20000 + n, NULL, 59, 'deeper', (300 << 24) | 300, 0 FROM many");
	struct sonde_records *r = NULL;
	struct sonde_err err;

	(void)state;
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	assert_int_equal(deepest_range(r), 512);
	assert_true(noted(r, "1488 ranges are nested deeper than 512"));
	sonde_records_free(r);
	sqlite3_free(b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nsys__nesting_is_cut),
		cmocka_unit_test(test_nsys__a_cut_export_says_how_much_is_there),
		cmocka_unit_test(test_nsys__survives_truncation_anywhere),
		cmocka_unit_test(test_nsys__survives_damage_anywhere),
		cmocka_unit_test(test_nsys__takes_wrong_types_and_huge_values),
		cmocka_unit_test(test_nsys__ids_that_are_not_unique_do_not_multiply),
		cmocka_unit_test(test_nsys__texts_that_cannot_be_read_are_missing),
		cmocka_unit_test(test_nsys__survives_every_failing_allocation),
		cmocka_unit_test(test_nsys__survives_sqlite_running_out_of_memory),
	};
	sqlite3_mem_methods failing;

	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &usual);
	failing = usual;
	failing.xMalloc = failing_malloc;
	failing.xRealloc = failing_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
	return cmocka_run_group_tests_name("nsys damage", tests, NULL, NULL);
}
