/*
 * Inside the reader of Nsight Systems exports.
 *
 *   nsys.c           the file, its tables and texts; exports that were cut
 *   nsys_launches.c  tables → launches: kernels, copies, memsets, and the calls that made them
 *   nsys_ranges.c    NVTX ranges, and which were open at each launch
 *   nsys_facts.c     devices, processes, ranks, the host
 *   nsys_metrics.c   sampled GPU metrics → series
 */
#ifndef SONDE_READ_NSYS_INT_H
#define SONDE_READ_NSYS_INT_H

#include "read/launch.h"
#include "read/spans.h"

#include <sqlite3.h>

#define NSYS_EVENTS "NVTX_EVENTS" /* the table of ranges and domains */

/* Ranges of different domains nest apart: a thread has a lane for each, in a list. */
struct nsys_thread {
	uint64_t pid, tid;
	uint32_t first_lane, last_lane; /* SONDE_NONE = it has none */
	uint32_t nr_lanes;
};

struct nsys_lane {
	uint32_t thread, domain;
	uint32_t next; /* of the same thread, SONDE_NONE */
};

/* A text of the export, by its id there: the last one asked for of those that share a place. */
#define NSYS_TEXTS 1024
struct nsys_text {
	sqlite3_int64 id;
	uint32_t string; /* SONDE_NONE: there is no such text */
	uint8_t call;	 /* enum sonde_call_kind of the call that is named so */
	bool is_used;
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

/* One export being read. Its vectors and maps are work of the source. */
struct nsys {
	struct sonde_source *src;
	struct sonde_records *r;
	struct sonde_err *err;
	sqlite3 *db;
	sqlite3_stmt *find_text; /* NULL: texts have no ids */
	struct nsys_text texts[NSYS_TEXTS];
	int texts_rc; /* of SQLite, when one could not be looked up; 0 = all could */
	uint32_t process;     /* the one asked for last, SONDE_NONE = none yet */
	uint32_t first_range; /* of this export, in the records: the first of `spans`, then of `starts` */
	size_t first_record;  /* likewise */
	uint8_t kind;	      /* enum sonde_result of the launches at hand */
	bool has_calls;	      /* those that the host may have waited in */
	struct sonde_launch_calls calls; /* their threads are serialised, as the export has them */
	/* Ranges; `what` is domain and label. Start/end ranges do not nest: their lane is a thread. */
	struct sonde_spans spans, starts;
	struct sonde_map thread_keys; /* {pid, tid} */
	SONDE_VEC(struct nsys_thread) threads;
	SONDE_VEC(struct nsys_lane) lanes;
	SONDE_VEC(uint64_t) lane_order; /* by lane: threads follow each other */
	struct sonde_map domain_keys; /* {pid, id} … */
	SONDE_VEC(uint32_t) domains;  /* … → the domain's name */
	SONDE_VEC(struct nsys_metric) metrics;
	SONDE_VEC(struct nsys_gpu) gpus;
	size_t first_series; /* of this file */
	uint64_t nr_bad_ranges, nr_bad_calls, nr_bad_launches; /* whose times are impossible */
	uint64_t nr_no_time; /* values of metrics whose time is below zero */
	struct sonde_buf mended; /* a copy of a file that was cut, empty = it was not */
	double cut_pct;		 /* how much of it is there, 0 = all */
};

/* Whether there is such a table with all of these columns, `start end`. Views do not count. */
bool sonde_nsys__has(struct nsys *n, const char *table, const char *columns);
/* The process with this pid, its name and host not known yet. */
uint32_t sonde_nsys__process(struct nsys *n, uint64_t pid);
/* Takes each row; short memory in the records or in the work (source.h) ends it, too. */
int sonde_nsys__read_rows(
	struct nsys *n, const char *sql, int (*take)(struct nsys *, sqlite3_stmt *));
/*
 * The same for columns of one table, `start end`; one that it does not have, like `-`, is NULL. Only
 * for tables that are there.
 */
int sonde_nsys__select(struct nsys *n, const char *table, const char *columns, const char *where,
	int (*take)(struct nsys *, sqlite3_stmt *));
/* The number of a text column, SONDE_NONE for null. */
uint32_t sonde_nsys__intern(struct nsys *n, sqlite3_stmt *q, int column);
/* The text whose id a column has. */
struct nsys_text sonde_nsys__text(struct nsys *n, sqlite3_stmt *q, int column);
/* SONDE_ERR_FORMAT when a table gives more rows than a file of that size can hold. */
int sonde_nsys__check_rows(struct nsys *n, size_t nr);
uint64_t sonde_nsys__pid(sqlite3_int64 global);
uint64_t sonde_nsys__tid(sqlite3_int64 global);
/*
 * Times as the export has them, made possible and then counted in `*nr_bad`: what ends before it begins
 * ends at once, and what begins before the trace (times are since that began) begins with it, at 1 ns, as
 * 0 would mean that the time is not known.
 */
struct sonde_record_time sonde_nsys__time(sqlite3_int64 begin, sqlite3_int64 end, uint64_t *nr_bad);

/* Ranges, into `spans` and `starts`. */
int sonde_nsys__read_ranges(struct nsys *n);
/* To the records, `open` still to be filled in; frees the calls. */
int sonde_nsys__read_launches(struct nsys *n);
/* Moves the ranges to the records and fills in `open` of every launch; sorts all by process and time. */
int sonde_nsys__open_ranges(struct nsys *n);
int sonde_nsys__read_facts(struct nsys *n);
int sonde_nsys__read_metrics(struct nsys *n); /* after the facts */

#endif
