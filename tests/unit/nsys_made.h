/* Small exports of Nsight Systems, made in memory. */
#ifndef SONDE_TESTS_NSYS_MADE_H
#define SONDE_TESTS_NSYS_MADE_H

#include "read_bytes.h"

#include <sqlite3.h>
#include <stdio.h>

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

static inline char *small_sql(void)
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
static inline struct bytes make(const char *more)
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

#endif
