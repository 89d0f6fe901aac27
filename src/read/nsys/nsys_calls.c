/*
 * Calls of CUDA, from one look at their table. Every call can have launched something, which names
 * it by its id, and the host may have waited in some.
 *
 * They are looked up here and not by a join: SQLite would make an index of the table, which takes
 * longer than all else.
 */
#include "base/bisect.h"
#include "base/keysort.h"
#include "read/nsys/nsys_int.h"

#define RUNTIME	      "CUPTI_ACTIVITY_KIND_RUNTIME"
#define MAX_PROCESSES 256 /* that are looked at where an export does not say which one launched */

enum { TID, START, END, CORRELATION, NAME };

/* CUPTI's ids have 32 bits and are a process's own; `process` may be the id of its thread. */
static uint64_t call_key(sqlite3_int64 correlation, sqlite3_int64 process)
{
	return (uint64_t)correlation << 32 | (uint32_t)(process >> 24);
}

static int take_wait(struct nsys *n, sqlite3_stmt *q, struct sonde_record_time time, uint8_t kind)
{
	sqlite3_int64 tid = sqlite3_column_int64(q, TID);
	uint32_t process = sonde_nsys__process(n, sonde_nsys__pid(tid));

	if (process == SONDE_NONE ||
		!sonde_vec_put(&n->r->calls,
			(struct sonde_call){.begin_ns = time.start_ns,
				.end_ns = time.end_ns,
				.thread = sonde_nsys__tid(tid),
				.process = process,
				.kind = kind}))
		return sonde_err_nomem(n->err);
	return 0;
}

static int take_call(struct nsys *n, sqlite3_stmt *q)
{
	sqlite3_int64 begin = sqlite3_column_int64(q, START);
	struct sonde_record_time time = sonde_nsys__time(
		begin, n->has_calls ? sqlite3_column_int64(q, END) : begin, &n->nr_bad_calls);
	uint8_t kind = sonde_nsys__text(n, q, NAME).call;
	struct nsys_call *c;

	if (sqlite3_column_type(q, CORRELATION) != SQLITE_NULL) {
		c = sonde_vec_push(&n->calls);
		if (!c)
			return sonde_err_nomem(n->err);
		if (sonde_nsys__check_rows(n, n->calls.nr))
			return SONDE_ERR_FORMAT;
		c->thread = sqlite3_column_int64(q, TID);
		c->start_ns = time.start_ns;
		c->key = call_key(sqlite3_column_int64(q, CORRELATION), c->thread);
	}
	return kind == SONDE_NR_CALL_KINDS ? 0 : take_wait(n, q, time, kind);
}

/*
 * Leaves the earliest of the calls with one key: where the driver was traced too, its call lies in the
 * runtime's and has the same id.
 */
static void leave_earliest(struct nsys *n)
{
	struct nsys_call *at = n->calls.at;
	size_t i, nr = 0;

	for (i = 0; i < n->calls.nr; i++) {
		if (!nr || at[nr - 1].key != at[i].key)
			at[nr++] = at[i];
		else if (at[i].start_ns < at[nr - 1].start_ns)
			at[nr - 1] = at[i];
	}
	n->calls.nr = nr;
}

int sonde_nsys__read_calls(struct nsys *n)
{
	int rc;

	if (!sonde_nsys__has(n, RUNTIME, "globalTid start"))
		return 0;
	n->has_calls = sonde_nsys__has(n, RUNTIME, "end nameId");
	rc = sonde_nsys__select(n, RUNTIME,
		n->has_calls ? "globalTid start end correlationId nameId"
			     : "globalTid start - correlationId -",
		"1", take_call);
	if (rc == 0 && !sonde_keysort(n->calls.at, n->calls.nr))
		rc = sonde_err_nomem(n->err);
	if (rc == 0)
		leave_earliest(n);
	return rc;
}

const struct nsys_call *sonde_nsys__call(
	const struct nsys *n, sqlite3_int64 correlation, sqlite3_int64 process)
{
	const struct nsys_call *at = n->calls.at, *found = NULL;
	uint64_t key = call_key(correlation, process);
	size_t low = 0, i;

	sonde_bisect(low, n->calls.nr, mid, at[mid].key < key);
	if (process)
		return low < n->calls.nr && at[low].key == key ? &at[low] : NULL;
	for (i = low; i < n->calls.nr && i < low + MAX_PROCESSES && at[i].key >> 32 == key >> 32; i++)
		if (!found || at[i].start_ns < found->start_ns)
			found = &at[i];
	return found;
}
