/*
 * Inside the reader of Nsight Systems exports.
 *
 *   nsys_sqlite.c   the file, its tables → ranges
 *   nsys_launch.c   tables → launches: kernels, copies, memsets
 *   nsys_facts.c    devices, processes, ranks, the host
 *   nsys_metrics.c  sampled GPU metrics → series
 *   nsys_cut.c      files that were not copied whole
 *   nsys_open.c     which ranges were open at each launch
 */
#ifndef SONDE_READ_NSYS_INT_H
#define SONDE_READ_NSYS_INT_H

#include "read/source_int.h"

#include <sqlite3.h>

/* A kernel, copy or memset with the API call that launched it. */
struct nsys_launch {
	uint64_t pid, tid, call_ns; /* call_ns 0: the call is not in the trace */
	uint64_t start_ns, end_ns, stream;
	uint32_t device, context, name, full_name;
	uint64_t bytes; /* copied or set */
	uint32_t open;	/* set number */
	uint8_t kind;	/* enum sonde_result */
};

/* A range as the trace has it. */
struct nsys_range {
	uint64_t pid, tid, begin_ns, end_ns; /* end UINT64_MAX: never closed */
	uint32_t label, domain;		     /* string numbers */
	uint32_t number;		     /* in the records */
	uint16_t depth;			     /* of nesting, 0 = outermost */
	uint8_t kind;
};

struct nsys_domain {
	uint64_t pid, id;
	uint32_t name;
};

/* A GPU of the machine, by the number nsys gives it. */
struct nsys_gpu {
	uint32_t id;
	struct sonde_str uuid;
	double nr_sms, clock_hz, bytes_per_s; /* 0 = not known */
};

/* A sampled metric: which counter of its device's series it is. */
struct nsys_metric {
	uint32_t device, counter;
	uint64_t id;
};

/* One export being read. */
struct nsys {
	struct sonde_source *src;
	struct sonde_records *r;
	struct sonde_err *err;
	sqlite3 *db;
	uint32_t first_range; /* of this export, in the records */
	SONDE_VEC(struct nsys_launch) launches;
	SONDE_VEC(struct nsys_range) ranges;
	SONDE_VEC(struct nsys_domain) domains;
	SONDE_VEC(struct nsys_metric) metrics;
	SONDE_VEC(struct nsys_gpu) gpus;
	size_t first_series; /* of this file */
	struct sonde_buf mended; /* a copy of a file that was cut, empty = it was not */
	double cut_pct;		 /* how much of it is there, 0 = all */
};

/* Whether there is such a table with all of these columns, `start end`. Views do not count. */
bool sonde_nsys__has(struct nsys *n, const char *table, const char *columns);
/* The process with this pid, its name and host not known yet; SONDE_NONE when memory is short. */
uint32_t sonde_nsys__process(struct nsys *n, uint64_t pid);
int sonde_nsys__rows(
	struct nsys *n, const char *sql, int (*take)(struct nsys *, sqlite3_stmt *));
/* Appends `ALIAS.NAME, ` to a statement, or NULL where the table has no such column. */
void sonde_nsys__column(struct sonde_buf *sql, struct nsys *n, const char *table,
	const char *alias, const char *name);
/* The number of a text column, SONDE_NONE for null or when memory is short. */
uint32_t sonde_nsys__intern(struct nsys *n, sqlite3_stmt *q, int column);
/* SONDE_ERR_FORMAT when a table gives more rows than a file of that size can hold. */
int sonde_nsys__check_rows(struct nsys *n, size_t nr);
uint64_t sonde_nsys__pid(sqlite3_int64 global);
uint64_t sonde_nsys__tid(sqlite3_int64 global);

/* Makes `mended` where the file is shorter than its header says. */
int sonde_nsys__mend(struct nsys *n);
/* What to say of such a file, after reading it gave `rc`. */
int sonde_nsys__say_cut(struct nsys *n, int rc);
int sonde_nsys__launches(struct nsys *n);
int sonde_nsys__records(struct nsys *n);
int sonde_nsys__facts(struct nsys *n);
int sonde_nsys__metrics(struct nsys *n); /* behind the facts */

/* Sorts the ranges, nests them, appends them to the records. */
int sonde_nsys__nest(struct nsys *n);
/* Fills in `open` of every launch; sorts them by process and time. */
int sonde_nsys__open(struct nsys *n);

#endif
