/*
 * Inside the reader of Nsight Systems exports.
 *
 *   nsys.c           the file, its tables and texts; exports that were cut
 *   nsys_launches.c  tables → launches: kernels, copies, memsets, and the calls that made them
 *   nsys_ranges.c    NVTX ranges, and which of them were open at each launch
 *   nsys_facts.c     devices, processes, ranks, the host
 *   nsys_metrics.c   sampled GPU metrics → series
 */
#ifndef SONDE_READ_NSYS_INT_H
#define SONDE_READ_NSYS_INT_H

#include "read/launch.h"
#include "read/spans.h"

#include <sqlite3.h>

#define NSYS_EVENTS "NVTX_EVENTS" /* the table of ranges and domains */

/* Ranges of different domains nest separately, so a thread has a lane for each domain, in a linked list. */
struct nsys_thread {
	uint64_t pid, tid;
	uint32_t first_lane, last_lane; /* SONDE_NONE = the thread has no lane */
	uint32_t nr_lanes;
};

struct nsys_lane {
	uint32_t thread, domain;
	uint32_t next; /* next lane of the same thread, SONDE_NONE = none */
};

/* A slot of the cache of texts, by their id in the export: of texts that share a slot, it has the one used last. */
#define NSYS_TEXTS 1024
struct nsys_text {
	sqlite3_int64 id;
	uint32_t string; /* SONDE_NONE = there is no such text */
	uint8_t call;	 /* enum sonde_call_kind of the call that has this name */
	bool is_used;
};

/* A GPU of the machine, by nsys's number for it. */
struct nsys_gpu {
	uint32_t id;
	struct sonde_str uuid;
	double nr_sms, clock_hz, bytes_per_s; /* 0 = not known */
};

/* A sampled metric, and the counter of its device's series that it became. */
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
	sqlite3_stmt *find_text; /* NULL = the export has no table of texts */
	struct nsys_text texts[NSYS_TEXTS];
	int texts_rc; /* SQLite's code when a text could not be looked up; 0 = all could */
	uint32_t process;     /* the process asked for last, SONDE_NONE = none yet */
	uint32_t first_range; /* first range of this export in the records: those of `spans`, then those of `starts` */
	size_t first_record;  /* first record of this export */
	uint8_t kind;	      /* enum sonde_result of the launches being read */
	bool has_calls;	      /* the export has the calls that the host may have waited in */
	struct sonde_launch_calls calls; /* `thread` is the export's serialised id */
	/* Ranges: `what` is domain and label. Start/end ranges do not nest; their `lane` is a thread. */
	struct sonde_spans spans, starts;
	struct sonde_map thread_keys; /* {pid, tid} */
	SONDE_VEC(struct nsys_thread) threads;
	SONDE_VEC(struct nsys_lane) lanes;
	SONDE_VEC(uint64_t) lane_order; /* by lane: its thread, so that the lanes of a thread are sorted together */
	struct sonde_map domain_keys; /* {pid, id} … */
	SONDE_VEC(uint32_t) domains;  /* … → string number of the domain's name */
	SONDE_VEC(struct nsys_metric) metrics;
	SONDE_VEC(struct nsys_gpu) gpus;
	size_t first_series; /* first series of this file */
	uint64_t nr_bad_ranges, nr_bad_calls, nr_bad_launches; /* ranges, calls and launches with impossible times */
	uint64_t nr_no_time; /* values of metrics with a time below zero */
	struct sonde_buf mended; /* readable copy of a file that was cut; empty = the file was not cut */
	double cut_pct;		 /* percentage of the file that is there; 0 = the file was not cut */
};

/* Whether a table has all of these columns (`start end`). Views do not count. */
bool sonde_nsys__has(struct nsys *n, const char *table, const char *columns);
/* The process with this pid; its name and host are not known yet. */
uint32_t sonde_nsys__process(struct nsys *n, uint64_t pid);
/* Calls `take` for each row. Lack of memory for the records or the work (source.h) ends it, too. */
int sonde_nsys__read_rows(
	struct nsys *n, const char *sql, int (*take)(struct nsys *, sqlite3_stmt *));
/*
 * The same for columns (`start end`) of one table, which must exist. A column that the table does not have, such as
 * `-`, is NULL.
 */
int sonde_nsys__select(struct nsys *n, const char *table, const char *columns, const char *where,
	int (*take)(struct nsys *, sqlite3_stmt *));
/* The string number of a text column, SONDE_NONE for null. */
uint32_t sonde_nsys__intern(struct nsys *n, sqlite3_stmt *q, int column);
/* The text whose id is in a column. */
struct nsys_text sonde_nsys__text(struct nsys *n, sqlite3_stmt *q, int column);
/* SONDE_ERR_FORMAT when a table has more rows than a file of that size can contain. */
int sonde_nsys__check_rows(struct nsys *n, size_t nr);
uint64_t sonde_nsys__pid(sqlite3_int64 global);
uint64_t sonde_nsys__tid(sqlite3_int64 global);
/*
 * Takes times of the export and corrects impossible ones, which are counted in `*nr_bad`: if the end is before the
 * begin, it becomes the begin; if the begin is before the trace (times count from its begin), it becomes 1 ns, as 0
 * would mean that the time is not known.
 */
struct sonde_record_time sonde_nsys__time(sqlite3_int64 begin, sqlite3_int64 end, uint64_t *nr_bad);

/* Reads ranges into `spans` and `starts`. */
int sonde_nsys__read_ranges(struct nsys *n);
/* Reads launches into the records, without `open`; frees the calls. */
int sonde_nsys__read_launches(struct nsys *n);
/* Moves the ranges to the records and fills in `open` of every launch; sorts launches by process and time. */
int sonde_nsys__open_ranges(struct nsys *n);
int sonde_nsys__read_facts(struct nsys *n);
int sonde_nsys__read_metrics(struct nsys *n); /* call it after the facts */

#endif
