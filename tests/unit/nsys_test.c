/* The reader of Nsight Systems exports: what it reads, and what damage does to it. */
#include "unit.h"

#include "base/alloc.h"
#include "read/records.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define COPIES                                                                                     \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, "  \
	"contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "          \
	"bytes INTEGER, copyKind INTEGER);"                                                        \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, "  \
	"contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "          \
	"value INTEGER, bytes INTEGER);"                                                           \
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId) "  \
	"VALUES (3700, 3710, (100 << 24) | 100, 50, 7), (1500, 1510, (100 << 24) | 100, 51, 7);"   \
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES "                                           \
	"(3750, 3790, 0, 1, 7, 50, 100 << 24, 4096, 1);"                                           \
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES "                                           \
	"(1550, 1560, 0, 1, 7, 51, 100 << 24, 0, 64);"

/* GPU 2 as the machine numbers it is device 0 of the process. */
#define METRICS                                                                                    \
	"CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, "          \
	"value INTEGER);"                                                                          \
	"CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT, "  \
	"metricId INTEGER, metricName TEXT);"                                                      \
	"DROP TABLE TARGET_INFO_GPU; DROP TABLE TARGET_INFO_CUDA_DEVICE;"                          \
	"CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, smCount INTEGER, "        \
	"clockRate INTEGER, memoryBandwidth INTEGER, computeMajor INTEGER, computeMinor INTEGER);" \
	"CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"       \
	"INSERT INTO TARGET_INFO_GPU VALUES (2, 'X', 'ab-1', 10, 1000000000, 2000000000000, 9, 0), " \
	"(3, 'Y', 'ab-2', 20, 1000000000, 1, 8, 0);"                                               \
	"INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (2, 0, 100), (3, 0, 200);"                     \
	"INSERT INTO TARGET_INFO_GPU_METRICS VALUES (514, 0, 'x', 1, 'GPC Clock Frequency [MHz]'), " \
	"(514, 0, 'x', 2, 'SMs Active [Throughput %]'), "                                          \
	"(514, 0, 'x', 3, 'DRAM Read Bandwidth [Throughput %]'), (514, 0, 'x', 4, 'Other');"       \
	"INSERT INTO GPU_METRICS VALUES (1000, 514, 1, 500), (1000, 514, 2, 50), "                 \
	"(1000, 514, 3, 25), (1000, 514, 4, 7), (2000, 514, 1, 500), (2000, 514, 2, 10), "         \
	"(2000, 514, 3, 5), (2000, 514, 4, 8);"                                                    \
	"CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);"                                \
	"INSERT INTO MPI_RANKS VALUES ((200 << 24) | 200, 5);"

struct bytes {
	unsigned char *p;
	size_t n;
};

static char *small_sql(void)
{
	static char text[16384];
	FILE *f = fopen("tests/data/nsys/small.sql", "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	return text;
}

/* The small export and `more` in one file; freed with sqlite3_free. */
static struct bytes make(const char *more)
{
	struct bytes out = {0};
	sqlite3_int64 n = 0;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA page_size=512", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, small_sql(), NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, more, NULL, NULL, NULL), SQLITE_OK);
	out.p = sqlite3_serialize(db, "main", &n, 0);
	out.n = (size_t)n;
	assert_non_null(out.p);
	sqlite3_close(db);
	return out;
}

static int open_bytes(
	struct sonde_records **r, const unsigned char *p, size_t n, struct sonde_err *err)
{
	char name[64];
	const char *path = name;
	int fd = memfd_create("export", MFD_CLOEXEC), rc;

	assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	*err = (struct sonde_err){0};
	rc = sonde_records_open(r, &path, 1, NULL, err);
	close(fd);
	return rc;
}

/* Opens and decodes everything; the outcome does not matter, that there is one does. */
static void survive(const unsigned char *p, size_t n)
{
	struct sonde_records *r = NULL;
	struct sonde_values v = {0};
	struct sonde_err err;
	uint32_t i;

	if (open_bytes(&r, p, n, &err)) {
		assert_true(!r && err.code < 0 && err.msg[0]);
		return;
	}
	if (sonde_values_init(&v, r, NULL) == 0)
		for (i = 0; i < r->records.nr; i++)
			sonde_records_values(r, i, &v, NULL);
	sonde_values_release(&v);
	sonde_records_free(r);
}

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
	assert_int_equal(open_bytes(&r, b.p, b.n, &err), 0);
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
	assert_int_equal(open_bytes(&r, b.p, b.n, &err), 0);
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
			      "(1000, 513, 7, 20), (2000, 513, 4, 30), (3000, 513, 4, 50);");
	const struct sonde_series *s;
	struct sonde_records *r;
	struct sonde_err err;

	(void)state;
	assert_int_equal(open_bytes(&r, b.p, b.n, &err), 0);
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
	sonde_records_free(r);
	sqlite3_free(b.p);
}

/* As the first exporters wrote it: texts in place, no domains, no process beside a kernel, 0 for no end. */
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
	if (open_bytes(&r, b.p, b.n, &err))
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
	assert_int_equal(open_bytes(&r, b.p, b.n, &err), 0);
	assert_int_equal(r->series.nr, 1);
	assert_true(count(r, 0, "sm.elapsed_cycles") == 5000);
	assert_true(count(r, 0, "sm.active_cycles") == 2500 && count(r, 1, "sm.active_cycles") == 500);
	assert_true(count(r, 0, "dram.read_bytes") == 500000);
	assert_int_equal(r->series.at[0].counters.at[3].role, SONDE_NONE);
	assert_true(r->series.at[0].values.at[3] == 7);
	d = sonde_records_device(r, 0, 0);
	assert_true(sonde_str_is(d->name, "X") && sonde_str_is(d->uuid, "GPU-ab-1"));
	assert_true(sonde_series_is_of(&r->series.at[0], r, 0, 0));
	d = sonde_records_device(r, 1, 0); /* what the other process calls 0 */
	assert_true(sonde_str_is(d->name, "Y") && !sonde_series_is_of(&r->series.at[0], r, 1, 0));
	assert_true(r->processes.at[1].has_rank && r->processes.at[1].rank == 5);
	assert_false(r->processes.at[0].has_rank);
	sonde_records_free(r);
	sqlite3_free(b.p);
}

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
		if (open_bytes(&r, b.p, n, &err)) {
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

/* Of 60,000 ranges all but one are long over. Looking at them again for each launch takes minutes. */
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
	assert_int_equal(open_bytes(&r, b.p, b.n, &err), 0);
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
	assert_int_equal(open_bytes(&r, b.p, b.n, &err), 0);
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
	assert_int_equal(open_bytes(&r, b.p, b.n, &err), 0);
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
	assert_int_equal(open_bytes(&r, b.p, b.n, &err), 0);
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

/* Ranges that are never closed nest without end: beyond 512 they are siblings, so that ids stay
 * bounded. */
static void test_nsys__nesting_is_cut(void **state)
{
	struct bytes b =
		make("WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n "
		     "< 2000) "
		     "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) "
		     "SELECT 20000 + n, NULL, 59, 'deeper', (300 << 24) | 300, 0 FROM many");
	struct sonde_records *r = NULL;
	struct sonde_err err;
	uint32_t i, deepest = 0;
	bool is_noted = false;

	(void)state;
	assert_int_equal(open_bytes(&r, b.p, b.n, &err), 0);
	for (i = 0; i < r->ranges.nr; i++) {
		uint32_t depth = 0, at = r->ranges.at[i].parent;

		for (; at != SONDE_NONE; at = r->ranges.at[at].parent)
			depth++;
		deepest = depth > deepest ? depth : deepest;
	}
	for (i = 0; i < r->notes.texts.nr; i++)
		is_noted |=
			strstr(r->notes.texts.keys[i].p, "1488 ranges are nested 512 deep") != NULL;
	assert_int_equal(deepest, 512);
	assert_true(is_noted);
	sonde_records_free(r);
	sqlite3_free(b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nsys__nesting_is_cut),
		cmocka_unit_test(test_nsys__copies_and_memsets_are_records),
		cmocka_unit_test(test_nsys__without_copies_there_is_no_such_metric),
		cmocka_unit_test(test_nsys__gpu_metrics_are_samples),
		cmocka_unit_test(test_nsys__an_export_of_an_old_version_is_read),
		cmocka_unit_test(test_nsys__gpu_metrics_are_counts_where_the_gpu_is_known),
		cmocka_unit_test(test_nsys__a_cut_export_says_how_much_is_there),
		cmocka_unit_test(test_nsys__many_start_end_ranges_cost_no_more_than_their_number),
		cmocka_unit_test(test_nsys__survives_truncation_anywhere),
		cmocka_unit_test(test_nsys__survives_damage_anywhere),
		cmocka_unit_test(test_nsys__takes_wrong_types_and_huge_values),
		cmocka_unit_test(test_nsys__ids_that_are_not_unique_do_not_multiply),
		cmocka_unit_test(test_nsys__texts_that_cannot_be_read_are_missing),
		cmocka_unit_test(test_nsys__calls_the_host_waits_in_are_kept),
		cmocka_unit_test(test_nsys__survives_every_failing_allocation),
		cmocka_unit_test(test_nsys__survives_sqlite_running_out_of_memory),
	};
	sqlite3_mem_methods failing;

	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &usual);
	failing = usual;
	failing.xMalloc = failing_malloc;
	failing.xRealloc = failing_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
