/* The reader of Nsight Systems exports: damage, wrong types and lack of memory. */
#include "unit.h"

#include "base/alloc.h"
#include "nsys_made.h"
#include "read/source.h"
#include "read/start_end.h"
#include "whole_way.h"

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

/* The range of this kind with a label, which there is one of. */
static const struct sonde_range *range_named(const struct sonde_records *r, const char *label)
{
	size_t i;

	for (i = 0; i < r->ranges.nr; i++)
		if (sonde_str_is(sonde_records_str(r, r->ranges.at[i].label), label))
			return &r->ranges.at[i];
	fail_msg("no range %s", label);
	return NULL;
}

/* How many launches have a range with this label open. */
static size_t nr_in(const struct sonde_records *r, const char *label)
{
	size_t i, nr = 0;
	uint32_t k;

	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_set *set = &r->sets.at[r->records.at[i].open];

		for (k = 0; k < set->nr; k++)
			nr += sonde_str_is(
				sonde_records_str(r, r->ranges.at[r->members.at[set->first + k]].label), label);
	}
	return nr;
}

/* There are launches before, between and after their times, while other ranges with the same label are open. */
static void test_nsys__ranges_that_end_before_they_begin_end_at_once(void **state)
{
	struct bytes b = make("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES "
			      "(8500, 1500, 60, 'late', (100 << 24) | 100), "
			      "(3000, 9000, 60, 'overlap', (100 << 24) | 100), "
			      "(9500, 450, 60, 'overlap', (100 << 24) | 101), "
			      "(10400, 100, 71, 'overlap', (100 << 24) | 101), "
			      "(10450, 10440, 59, 'back', (100 << 24) | 100), "
			      "(-7, 550, 60, 'early', (100 << 24) | 100);");
	struct sonde_records *r = NULL;
	struct sonde_err err;

	(void)state;
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	assert_int_equal(range_named(r, "late")->time.begin_ns, 8500);
	assert_int_equal(range_named(r, "late")->time.end_ns, 8500);
	assert_int_equal(range_named(r, "back")->time.end_ns, 10450);
	assert_int_equal(range_named(r, "early")->time.begin_ns, 1);
	assert_int_equal(nr_in(r, "late"), 0);
	assert_int_equal(nr_in(r, "back"), 0);
	assert_int_equal(nr_in(r, "early"), 1);
	assert_int_equal(nr_in(r, "overlap"), 6); /* 3600 in one entry, 4600 and 8000 in two, 10500 in one */
	assert_true(noted(r, "5 ranges have impossible times: an end before the begin counts as the begin"));
	sonde_records_free(r);
	sqlite3_free(b.p);
}

static void test_nsys__work_that_ends_before_it_begins_takes_no_time(void **state)
{
	struct bytes b = make("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end=8 WHERE correlationId=6;"
			      "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start=-3 WHERE correlationId=1;"
			      "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start=-1 WHERE correlationId=5;");
	struct sonde_records *r = NULL;
	struct sonde_err err;
	size_t i, nr = 0;

	(void)state;
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record_time *t = &r->records.at[i].time;

		assert_true(t->start_ns <= t->end_ns && t->end_ns < 1 << 20);
		assert_true(r->records.at[i].call_ns < 1 << 20);
		nr += t->start_ns == t->end_ns;
	}
	assert_int_equal(nr, 1);
	assert_true(noted(r, "2 kernels, copies or memsets have impossible times"));
	assert_true(noted(r, "1 CUDA call has impossible times"));
	sonde_records_free(r);
	sqlite3_free(b.p);
}

/* --- open ranges, for any times and in any order of queries --------------------------------------- */

#define NR_LABELS 4u

static uint64_t chance(uint64_t *state, uint64_t limit)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % limit;
}

static void add_start(struct sonde_records *r, uint64_t *state)
{
	uint64_t begin = 1 + chance(state, 40), end = chance(state, 5) ? 1 + chance(state, 40) : 0;

	assert_true(sonde_vec_put(&r->ranges, (struct sonde_range){.parent = SONDE_NONE,
						      .label = (uint32_t)chance(state, NR_LABELS),
						      .domain = SONDE_NONE,
						      .process = (uint32_t)chance(state, 3),
						      .kind = SONDE_START_END,
						      .time = {.begin_ns = begin, .end_ns = end}}));
}

static bool is_open(const struct sonde_range *g, uint32_t process, uint64_t ns)
{
	return g->process == process && g->time.begin_ns <= ns && (!g->time.end_ns || g->time.end_ns > ns);
}

/* Checks that the set has every open range, with those of a label together and in order. */
static void assert_open(const struct sonde_records *r, const struct sonde_set *set, uint32_t process, uint64_t ns)
{
	const uint32_t *members = set->nr ? &r->members.at[set->first] : NULL;
	bool is_left[NR_LABELS] = {0};
	uint32_t i, nr = 0;

	for (i = 0; i < r->ranges.nr; i++)
		nr += is_open(&r->ranges.at[i], process, ns);
	assert_int_equal(set->nr, nr);
	for (i = 0; i < set->nr; i++) {
		const struct sonde_range *g = &r->ranges.at[members[i]], *last = i ? &r->ranges.at[members[i - 1]] : NULL;

		assert_true(is_open(g, process, ns) && !is_left[g->label]);
		if (last && last->label == g->label)
			assert_true(members[i] != members[i - 1] && last->time.begin_ns <= g->time.begin_ns);
		else if (last)
			is_left[last->label] = true;
	}
}

/* A program that never ends its start/end ranges: per label the last 16 are open, so sets stay small. */
static void test_starts__that_are_never_ended_do_not_pile_up(void **state)
{
	struct sonde_records r = {0};
	struct sonde_starts *s;
	uint32_t i, number;

	(void)state;
	assert_non_null(sonde_vec_push(&r.sets));
	for (i = 0; i < 1000; i++)
		assert_true(sonde_vec_put(&r.ranges, (struct sonde_range){.parent = SONDE_NONE,
							      .domain = SONDE_NONE,
							      .kind = SONDE_START_END,
							      .time = {.begin_ns = 1 + i}}));
	s = sonde_starts__build(&r, 0);
	for (i = 0; i < 1000; i++) {
		number = sonde_starts__open_at(s, 0, 1 + i, 0);
		assert_int_equal(r.sets.at[number].nr, i < 16 ? i + 1 : 16);
		assert_int_equal(r.members.at[r.sets.at[number].first + r.sets.at[number].nr - 1], i);
	}
	assert_int_equal(sonde_starts__free(s), 0);
	sonde_vec_release(&r.sets);
	sonde_vec_release(&r.members);
	sonde_vec_release(&r.ranges);
	sonde_arena_release(&r.arena);
}

static void test_starts__any_times_in_any_order_tell_what_was_open(void **state)
{
	uint64_t random = 1;
	unsigned round, i;

	(void)state;
	for (round = 0; round < 200; round++) {
		struct sonde_records r = {0};
		struct sonde_starts *s;

		assert_non_null(sonde_vec_push(&r.sets));
		for (i = 0; i < 12; i++)
			add_start(&r, &random);
		s = sonde_starts__build(&r, 0);
		assert_non_null(s);
		for (i = 0; i < 40; i++) {
			uint32_t process = (uint32_t)chance(&random, 3), number;
			uint64_t ns = 1 + chance(&random, 40);

			number = sonde_starts__open_at(s, process, ns, 0);
			assert_true(number < r.sets.nr);
			assert_open(&r, &r.sets.at[number], process, ns);
		}
		assert_int_equal(sonde_starts__free(s), 0);
		sonde_vec_release(&r.sets);
		sonde_vec_release(&r.members);
		sonde_vec_release(&r.ranges);
		sonde_arena_release(&r.arena);
	}
}

/* --- one number of an export is wrong, in all rows or in one -------------------------------------- */

static void exec(sqlite3 *db, const char *sql)
{
	char *words = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &words) != SQLITE_OK)
		fail_msg("%s: %s", sql, words);
}

static bool is_json(const struct sonde_format *f, uint64_t hash)
{
	(void)hash;
	return f->write == sonde_export_json;
}

/* Runs the whole pipeline on the export with this change; the report must be valid. */
static void survive_change(sqlite3 *db, const char *sql)
{
	struct sonde_err err = {0};
	unsigned char *p;
	sqlite3_int64 n = 0;

	exec(db, "BEGIN");
	exec(db, sql);
	p = sqlite3_serialize(db, "main", &n, 0);
	exec(db, "ROLLBACK");
	assert_non_null(p);
	if (whole_way(p, (size_t)n, is_json, &err))
		fail_msg("%s: %s", sql, err.msg);
	sqlite3_free(p);
}

static void survive_changes(sqlite3 *db, const char *table, const char *column, size_t nr_rows)
{
	static const char *const values[] = {"1", "9223372036854775807", "0", "-1", "4001", "1 << 32",
		"1 << 53", "-9223372036854775807 - 1"};
	bool is_time = strcmp(column, "start") == 0 || strcmp(column, "end") == 0;
	size_t i, row;
	char sql[256];

	for (i = 0; i < sizeof(values) / sizeof(*values); i++) {
		snprintf(sql, sizeof(sql), "UPDATE %s SET %s=%s", table, column, values[i]);
		survive_change(db, sql);
		for (row = 1; is_time && i < 2 && row <= nr_rows; row++) {
			snprintf(sql, sizeof(sql), "UPDATE %s SET %s=%s WHERE rowid=%zu", table, column,
				values[i], row);
			survive_change(db, sql);
		}
	}
	if (is_time) {
		snprintf(sql, sizeof(sql), "UPDATE %s SET start=end + 1000, end=start WHERE end IS NOT NULL", table);
		survive_change(db, sql);
	}
}

static void test_nsys__survives_any_number_in_any_column(void **state)
{
	static const struct {
		const char *table, *columns;
		size_t nr_rows;
	} tables[] = {
		{"NVTX_EVENTS", "start end eventType globalTid textId domainId rangeId", 10},
		{"CUPTI_ACTIVITY_KIND_KERNEL",
			"start end deviceId contextId streamId correlationId globalPid demangledName shortName", 9},
		{"CUPTI_ACTIVITY_KIND_RUNTIME", "start end globalTid correlationId nameId", 8},
		{"CUPTI_ACTIVITY_KIND_MEMCPY", "start end copyKind bytes correlationId", 1},
		{"CUPTI_ACTIVITY_KIND_MEMSET", "start end bytes", 1},
		{"GPU_METRICS", "timestamp typeId metricId value", 8},
	};
	sqlite3 *db = NULL;
	size_t i;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	exec(db, "PRAGMA page_size=512");
	exec(db, small_sql());
	exec(db, COPIES METRICS);
	for (i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		struct sonde_str rest = sonde_str_from(tables[i].columns), one;
		char column[32];

		while (rest.n) {
			one = sonde_str_cut(rest, ' ', &rest);
			snprintf(column, sizeof(column), "%.*s", SONDE_STR_ARG(one));
			survive_changes(db, tables[i].table, column, tables[i].nr_rows);
		}
	}
	sqlite3_close(db);
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

/* An export into which something is inserted that selects from `c` (x), which has so many rows. */
static uint64_t steps_to_read(const char *insert, int nr)
{
	struct sonde_records *r = NULL;
	struct sonde_err err;
	struct bytes b;
	char sql[2048];
	uint64_t start;

	snprintf(sql, sizeof(sql),
		"CREATE TABLE c AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < %d) "
		"SELECT x FROM c; %s",
		nr, insert);
	b = make(sql);
	start = sonde_steps();
	assert_int_equal(read_bytes(&r, b.p, b.n, &err), 0);
	start = sonde_steps() - start;
	sonde_records_free(r);
	sqlite3_free(b.p);
	return start;
}

static void test_nsys__work_grows_with_the_number_of_everything(void **state)
{
#define CALLS "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId) "
#define WORK "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, " \
	     "demangledName, shortName) "
	static const struct {
		const char *name, *insert;
	} crowds[] = {
		{"processes", "INSERT INTO PROCESSES SELECT x << 24, x, 'p' || x FROM c;"
			WORK "SELECT 10 * x, 10 * x + 5, 0, 1, 7, x, x << 24, 1, 2 FROM c"},
		{"ranks", "CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER); INSERT INTO MPI_RANKS SELECT x << 24, x FROM c;"
			WORK "SELECT 10 * x, 10 * x + 5, 0, 1, 7, x, x << 24, 1, 2 FROM c"},
		{"devices", "INSERT INTO TARGET_INFO_GPU SELECT 0, x, 'g' || x, 9, 0 FROM c;"
			"INSERT INTO TARGET_INFO_CUDA_DEVICE SELECT x, x, x, 'u' || x FROM c;"
			WORK "SELECT 10 * x, 10 * x + 5, x, 1, 7, x, x << 24, 1, 2 FROM c"},
		{"domains", "INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid, domainId) "
			"SELECT 0, 75, 'd' || x, (100 << 24) | 100, 1 + x FROM c;"
			"INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) "
			"SELECT 10 * x, 10 * x + 5, 59, 'a', (100 << 24) | 100, 1 + x FROM c"},
		{"threads", "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) "
			"SELECT 10 * x, 10 * x + 5, 59, 'a', (100 << 24) | x, 0 FROM c;" CALLS
			"SELECT 10 * x + 1, 10 * x + 2, (100 << 24) | x, 100 + x, 7 FROM c;"
			WORK "SELECT 10 * x, 10 * x + 5, 0, 1, 7, 100 + x, 100 << 24, 1, 2 FROM c"},
		{"calls without a process", CALLS "SELECT x, x + 1, (x << 24) | 1, 7, 7 FROM c;"
			WORK "SELECT x, x + 1, 0, 1, 7, 7, NULL, 1, 2 FROM c"},
	};
	size_t i;

	(void)state;
	skip_without_steps();
	for (i = 0; i < sizeof(crowds) / sizeof(*crowds); i++)
		assert_linear(crowds[i].name, steps_to_read(crowds[i].insert, 500),
			steps_to_read(crowds[i].insert, 4000));
}

/* A page with texts is damaged: all launches are still there, and a note reports the damage. */
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

/* The allocator of SQLite, whose memory our tests do not count. */
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

/* Ranges that are never closed nest without end: their ids must stay limited. */
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
		cmocka_unit_test(test_nsys__ranges_that_end_before_they_begin_end_at_once),
		cmocka_unit_test(test_nsys__work_that_ends_before_it_begins_takes_no_time),
		cmocka_unit_test(test_starts__that_are_never_ended_do_not_pile_up),
		cmocka_unit_test(test_starts__any_times_in_any_order_tell_what_was_open),
		cmocka_unit_test(test_nsys__survives_any_number_in_any_column),
		cmocka_unit_test(test_nsys__ids_that_are_not_unique_do_not_multiply),
		cmocka_unit_test(test_nsys__work_grows_with_the_number_of_everything),
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
