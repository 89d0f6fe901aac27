/*
 * Launches of an export: kernels, copies and memsets (three tables of nearly the same shape), and the CUDA
 * calls that made them. A launch names its call by an id; in some calls the host may have waited.
 *
 * Calls are looked up here and not by a join: SQLite would build an index of the table, which takes
 * longer than everything else.
 */
#include "read/nsys/nsys_int.h"

/* --- calls ------------------------------------------------------------------------------------------ */

#define RUNTIME	      "CUPTI_ACTIVITY_KIND_RUNTIME"
#define MAX_PROCESSES 256 /* processes searched if an export does not say which one launched */

enum { CALL_TID, CALL_START, CALL_END, CALL_CORRELATION, CALL_NAME };

/* A key for a call: CUPTI's ids have 32 bits and are unique per process only. `process` may be the serialised id of a thread. */
static uint64_t call_id(sqlite3_int64 correlation, sqlite3_int64 process)
{
	return (uint64_t)correlation << 32 | (uint32_t)(process >> 24);
}

static void add_wait(struct nsys *n, sqlite3_stmt *q, struct sonde_record_time time, uint8_t kind)
{
	sqlite3_int64 tid = sqlite3_column_int64(q, CALL_TID);

	sonde_put(&n->r->arena, &n->r->calls,
		(struct sonde_call){.begin_ns = time.start_ns,
			.end_ns = time.end_ns,
			.thread = sonde_nsys__tid(tid),
			.stream = SONDE_NONE,
			.process = sonde_nsys__process(n, sonde_nsys__pid(tid)),
			.kind = kind});
}

static int take_call(struct nsys *n, sqlite3_stmt *q)
{
	sqlite3_int64 begin = sqlite3_column_int64(q, CALL_START);
	struct sonde_record_time time = sonde_nsys__time(
		begin, n->has_calls ? sqlite3_column_int64(q, CALL_END) : begin, &n->nr_bad_calls);
	uint8_t kind = sonde_nsys__text(n, q, CALL_NAME).call;
	struct sonde_launch_call *c;

	if (sqlite3_column_type(q, CALL_CORRELATION) != SQLITE_NULL) {
		c = sonde_push(&n->src->work, &n->calls);
		if (sonde_nsys__check_rows(n, n->calls.nr))
			return SONDE_ERR_FORMAT;
		c->thread = (uint64_t)sqlite3_column_int64(q, CALL_TID);
		c->ns = time.start_ns;
		c->id = call_id(sqlite3_column_int64(q, CALL_CORRELATION), sqlite3_column_int64(q, CALL_TID));
	}
	if (kind < SONDE_NR_WAITS)
		add_wait(n, q, time, kind);
	return 0;
}

static int read_calls(struct nsys *n)
{
	int rc;

	if (!sonde_nsys__has(n, RUNTIME, "globalTid start"))
		return 0;
	n->has_calls = sonde_nsys__has(n, RUNTIME, "end nameId");
	rc = sonde_nsys__select(n, RUNTIME,
		n->has_calls ? "globalTid start end correlationId nameId"
			     : "globalTid start - correlationId -",
		"1", take_call);
	sonde_launch_calls__sort(&n->calls, n->src);
	return rc;
}

/* The earliest call with this id in the process with this serialised id, 0 = any process; NULL = not in the trace. */
static const struct sonde_launch_call *find_call(
	const struct nsys *n, sqlite3_int64 correlation, sqlite3_int64 process)
{
	const struct sonde_launch_call *at = n->calls.at, *found = NULL;
	uint64_t id = call_id(correlation, process);
	size_t low = sonde_launch_calls__find(&n->calls, id), i;

	if (process)
		return low < n->calls.nr && at[low].id == id ? &at[low] : NULL;
	for (i = low; i < n->calls.nr && i < low + MAX_PROCESSES && at[i].id >> 32 == id >> 32; i++)
		if (!found || at[i].ns < found->ns)
			found = &at[i];
	return found;
}

/* --- what the GPU did ------------------------------------------------------------------------------- */

/* Columns that all kinds of work have; behind them, columns that only some have. */
#define COLUMNS "start end deviceId contextId streamId globalPid correlationId "
enum { START, END, DEVICE, CONTEXT, STREAM, PID, CORRELATION, FULL_NAME, NAME, COPY, BYTES, FROM, TO };
#define PAGEABLE 0 /* nsys's number for pageable memory, in FROM and TO */

static const struct kind {
	const char *table, *columns;
	uint8_t result;
} kinds[] = {
	{"CUPTI_ACTIVITY_KIND_KERNEL", COLUMNS "demangledName shortName - - - -", SONDE_RESULT_KERNEL},
	{"CUPTI_ACTIVITY_KIND_MEMCPY", COLUMNS "- - copyKind bytes srcKind dstKind", SONDE_RESULT_MEMCPY},
	{"CUPTI_ACTIVITY_KIND_MEMSET", COLUMNS "- - - bytes - -", SONDE_RESULT_MEMSET},
};

static bool is_pageable(sqlite3_stmt *q, int column)
{
	return sqlite3_column_type(q, column) == SQLITE_INTEGER && sqlite3_column_int64(q, column) == PAGEABLE;
}

static uint32_t name_of(struct nsys *n, sqlite3_stmt *q)
{
	struct sonde_str text = SONDE_STR("(unnamed kernel)");

	if (n->kind == SONDE_RESULT_MEMCPY)
		text = sonde_launch__copy_name((uint64_t)sqlite3_column_int64(q, COPY) |
					       (is_pageable(q, FROM) || is_pageable(q, TO) ? SONDE_COPY_PAGEABLE : 0));
	if (n->kind == SONDE_RESULT_MEMSET)
		text = SONDE_STR("[CUDA memset]");
	return sonde_records__string(n->r, text);
}

/* A missing name is replaced by the other one; if both are missing, by the kind of work. */
static void set_names(struct nsys *n, sqlite3_stmt *q, struct sonde_record *rec)
{
	uint32_t full_name = sonde_nsys__text(n, q, FULL_NAME).string,
		 name = sonde_nsys__text(n, q, NAME).string;

	if (full_name == SONDE_NONE)
		full_name = name == SONDE_NONE ? name_of(n, q) : name;
	if (name == SONDE_NONE)
		name = full_name;
	rec->function = sonde_records__function(n->r, name, full_name);
}

/* Sets the caller and the time of the call; a launch whose call is not in the trace has no thread. */
static void set_caller(struct nsys *n, sqlite3_stmt *q, struct sonde_record *rec)
{
	sqlite3_int64 thread = sqlite3_column_int64(q, PID);
	const struct sonde_launch_call *call = NULL;

	if (sqlite3_column_type(q, CORRELATION) != SQLITE_NULL)
		call = find_call(n, sqlite3_column_int64(q, CORRELATION), thread);
	if (call) {
		thread = (sqlite3_int64)call->thread;
		rec->call_ns = call->ns;
	}
	rec->caller = sonde_records__caller(n->r, sonde_nsys__process(n, sonde_nsys__pid(thread)),
		call ? sonde_nsys__tid(thread) : 0);
}

static int take_launch(struct nsys *n, sqlite3_stmt *q)
{
	struct sonde_record *rec = sonde_push(&n->r->arena, &n->r->records);

	if (sonde_nsys__check_rows(n, n->r->records.nr - n->first_record))
		return SONDE_ERR_FORMAT;
	rec->time = sonde_nsys__time(
		sqlite3_column_int64(q, START), sqlite3_column_int64(q, END), &n->nr_bad_launches);
	rec->queue = sonde_records__queue(n->r,
		(uint32_t)sqlite3_column_int64(q, DEVICE) & 0x7fffffff,
		(uint32_t)sqlite3_column_int64(q, CONTEXT),
		(uint64_t)sqlite3_column_int64(q, STREAM));
	rec->payload = (uint64_t)sqlite3_column_int64(q, BYTES);
	rec->kind = n->kind;
	set_caller(n, q, rec);
	set_names(n, q, rec);
	return 0;
}

int sonde_nsys__read_launches(struct nsys *n)
{
	size_t i;
	int rc = read_calls(n);

	if (rc)
		return rc;
	n->first_record = n->r->records.nr;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds) && rc == 0; i++) {
		n->kind = kinds[i].result;
		if (sonde_nsys__has(n, kinds[i].table, "start end"))
			rc = sonde_nsys__select(
				n, kinds[i].table, kinds[i].columns, "1", take_launch);
	}
	sonde_vec_release(&n->calls);
	for (i = 0; i < n->r->processes.nr; i++)
		n->r->processes.at[i].has_calls |=
			n->has_calls && n->r->processes.at[i].input == n->src->input;
	return rc;
}
