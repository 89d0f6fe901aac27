/* What the GPU did, as an export of Nsight Systems has it: three tables of much the same shape. */
#include "read/nsys/nsys_int.h"

/* What all kinds of work have; behind it what only some have. */
#define COLUMNS "start end deviceId contextId streamId globalPid correlationId "
enum { START, END, DEVICE, CONTEXT, STREAM, PID, CORRELATION, FULL_NAME, NAME, COPY, BYTES };

static const struct kind {
	const char *table, *columns;
	uint8_t result;
} kinds[] = {
	{"CUPTI_ACTIVITY_KIND_KERNEL", COLUMNS "demangledName shortName - -", SONDE_RESULT_KERNEL},
	{"CUPTI_ACTIVITY_KIND_MEMCPY", COLUMNS "- - copyKind bytes", SONDE_RESULT_MEMCPY},
	{"CUPTI_ACTIVITY_KIND_MEMSET", COLUMNS "- - - bytes", SONDE_RESULT_MEMSET},
};

static uint32_t name_of(struct nsys *n, sqlite3_stmt *q)
{
	struct sonde_str text = SONDE_STR("(unnamed kernel)");

	if (n->kind == SONDE_RESULT_MEMCPY)
		text = sonde_source__copy_name((uint64_t)sqlite3_column_int64(q, COPY));
	if (n->kind == SONDE_RESULT_MEMSET)
		text = SONDE_STR("[CUDA memset]");
	return sonde_records__string(n->r, text);
}

/* A name that is missing is the other one; without either, what it is. */
static bool take_names(struct nsys *n, sqlite3_stmt *q, struct sonde_record *rec)
{
	uint32_t full_name = sonde_nsys__text(n, q, FULL_NAME).string,
		 name = sonde_nsys__text(n, q, NAME).string;

	if (full_name == SONDE_NONE)
		full_name = name == SONDE_NONE ? name_of(n, q) : name;
	if (name == SONDE_NONE)
		name = full_name;
	rec->function = sonde_records__function(n->r, name, full_name);
	return rec->function != SONDE_NONE;
}

/* Who launched it and when; a launch whose call is not in the trace has no thread. */
static bool take_call(struct nsys *n, sqlite3_stmt *q, struct sonde_record *rec)
{
	sqlite3_int64 thread = sqlite3_column_int64(q, PID);
	const struct nsys_call *call = NULL;
	uint32_t caller;

	if (sqlite3_column_type(q, CORRELATION) != SQLITE_NULL)
		call = sonde_nsys__call(n, sqlite3_column_int64(q, CORRELATION), thread);
	if (call) {
		thread = call->thread;
		rec->call_ns = call->start_ns;
	}
	caller = sonde_records__caller(n->r, sonde_nsys__process(n, sonde_nsys__pid(thread)),
		call ? sonde_nsys__tid(thread) : 0);
	rec->caller = caller;
	return caller != SONDE_NONE;
}

static int take_launch(struct nsys *n, sqlite3_stmt *q)
{
	struct sonde_record *rec = sonde_vec_push(&n->r->records);

	if (!rec)
		return sonde_err_nomem(n->err);
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
	return rec->queue != SONDE_NONE && take_call(n, q, rec) && take_names(n, q, rec)
		       ? 0
		       : sonde_err_nomem(n->err);
}

int sonde_nsys__read_launches(struct nsys *n)
{
	size_t i;
	int rc = 0;

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
