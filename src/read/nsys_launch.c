/* What the GPU did, as an export of Nsight Systems has it: three tables of much the same shape. */
#include "read/nsys_int.h"

#include <stdio.h>

#define RUNTIME "CUPTI_ACTIVITY_KIND_RUNTIME"

/* A kind of work: its table and the columns only it has (NULL: none). */
static const struct kind {
	const char *table;
	const char *full_name, *name; /* string ids */
	const char *copy;	      /* CUPTI's kind of copy */
	const char *bytes;
	uint8_t result;
} kinds[] = {
	{"CUPTI_ACTIVITY_KIND_KERNEL", "demangledName", "shortName", NULL, NULL,
		SONDE_RESULT_KERNEL},
	{"CUPTI_ACTIVITY_KIND_MEMCPY", NULL, NULL, "copyKind", "bytes", SONDE_RESULT_MEMCPY},
	{"CUPTI_ACTIVITY_KIND_MEMSET", NULL, NULL, NULL, "bytes", SONDE_RESULT_MEMSET},
};

enum { START, END, DEVICE, CONTEXT, STREAM, PID, FULL_NAME, NAME, TID, CALL, COPY, BYTES, KIND };

static uint32_t name_of(struct nsys *n, sqlite3_stmt *q, uint8_t kind)
{
	struct sonde_str text = SONDE_STR("(unnamed kernel)");

	if (kind == SONDE_RESULT_MEMCPY)
		text = sonde_source__copy_name((uint64_t)sqlite3_column_int64(q, COPY));
	if (kind == SONDE_RESULT_MEMSET)
		text = SONDE_STR("[CUDA memset]");
	return sonde_records__string(n->r, text);
}

static int take_launch(struct nsys *n, sqlite3_stmt *q)
{
	struct nsys_launch *l = sonde_vec_push(&n->launches);
	sqlite3_int64 tid = sqlite3_column_int64(q, TID);

	if (!l)
		return sonde_err_nomem(n->err);
	if (sonde_nsys__check_rows(n, n->launches.nr))
		return SONDE_ERR_FORMAT;
	l->start_ns = (uint64_t)sqlite3_column_int64(q, START);
	l->end_ns = (uint64_t)sqlite3_column_int64(q, END);
	if (l->end_ns < l->start_ns)
		l->end_ns = l->start_ns;
	l->device = (uint32_t)sqlite3_column_int64(q, DEVICE) & 0x7fffffff;
	l->context = (uint32_t)sqlite3_column_int64(q, CONTEXT);
	l->stream = (uint64_t)sqlite3_column_int64(q, STREAM);
	l->tid = sonde_nsys__tid(tid);
	l->pid = sonde_nsys__pid(tid ? tid : sqlite3_column_int64(q, PID));
	l->call_ns = (uint64_t)sqlite3_column_int64(q, CALL);
	l->bytes = (uint64_t)sqlite3_column_int64(q, BYTES);
	l->kind = (uint8_t)sqlite3_column_int(q, KIND);
	l->full_name = sonde_nsys__intern(n, q, FULL_NAME);
	l->name = sonde_nsys__intern(n, q, NAME);
	if (l->full_name == SONDE_NONE)
		l->full_name = l->name;
	if (l->full_name == SONDE_NONE)
		l->full_name = name_of(n, q, l->kind);
	if (l->name == SONDE_NONE)
		l->name = l->full_name;
	return l->full_name == SONDE_NONE ? sonde_err_nomem(n->err) : 0;
}

static void add_column(
	struct sonde_buf *sql, struct nsys *n, const char *table, const char *name)
{
	sonde_nsys__column(sql, n, table, "k", name);
}

static void add_name(
	struct sonde_buf *sql, struct nsys *n, const struct kind *k, const char *name)
{
	if (name && sonde_nsys__has(n, k->table, name) && sonde_nsys__has(n, "StringIds", "value"))
		sonde_buf_printf(sql, "(SELECT value FROM StringIds WHERE id=k.%s), ", name);
	else
		sonde_buf_puts(sql, "NULL, ");
}

static int read_kind(struct nsys *n, const struct kind *k)
{
	bool has_calls = sonde_nsys__has(n, RUNTIME, "correlationId globalTid start") &&
			 sonde_nsys__has(n, k->table, "correlationId");
	struct sonde_buf sql = {0};
	int rc;

	if (!sonde_nsys__has(n, k->table, "start end"))
		return 0;
	sonde_buf_puts(&sql, "SELECT k.start, k.end, ");
	add_column(&sql, n, k->table, "deviceId");
	add_column(&sql, n, k->table, "contextId");
	add_column(&sql, n, k->table, "streamId");
	add_column(&sql, n, k->table, "globalPid");
	add_name(&sql, n, k, k->full_name);
	add_name(&sql, n, k, k->name);
	sonde_buf_puts(&sql, has_calls ? "c.globalTid, c.start, " : "NULL, NULL, ");
	add_column(&sql, n, k->table, k->copy);
	add_column(&sql, n, k->table, k->bytes);
	sonde_buf_printf(&sql, "%d FROM %s k", k->result, k->table);
	if (has_calls)
		sonde_buf_puts(&sql, " LEFT JOIN " RUNTIME " c ON c.correlationId=k.correlationId");
	if (has_calls && sonde_nsys__has(n, k->table, "globalPid"))
		sonde_buf_puts(&sql, " AND (c.globalTid & ~16777215)=k.globalPid");
	rc = sql.failed ? sonde_err_nomem(n->err) : sonde_nsys__rows(n, sql.p, take_launch);
	sonde_buf_release(&sql);
	return rc;
}

int sonde_nsys__launches(struct nsys *n)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds) && rc == 0; i++)
		rc = read_kind(n, &kinds[i]);
	return rc;
}

static bool add_record(struct nsys *n, const struct nsys_launch *l)
{
	struct sonde_records *all = n->r;
	uint32_t process = sonde_nsys__process(n, l->pid);
	struct sonde_record *rec = process == SONDE_NONE ? NULL : sonde_vec_push(&all->records);

	if (!rec)
		return false;
	*rec = (struct sonde_record){.thread = l->tid,
		.stream = l->stream,
		.payload = l->bytes,
		.process = process,
		.device = l->device,
		.context = l->context,
		.name = l->name,
		.full_name = l->full_name,
		.open = l->open,
		.kind = l->kind,
		.call_ns = l->call_ns,
		.time = {l->start_ns, l->end_ns}};
	return true;
}

enum { CALL_TID, CALL_START, CALL_END, CALL_NAME };

/* A call that the host may have waited in. */
static int take_call(struct nsys *n, sqlite3_stmt *q)
{
	struct sonde_records *all = n->r;
	const char *text = (const char *)sqlite3_column_text(q, CALL_NAME);
	const struct sonde_call_name *name =
		sonde_call_find(text, (size_t)sqlite3_column_bytes(q, CALL_NAME));
	sqlite3_int64 tid = sqlite3_column_int64(q, CALL_TID);
	uint32_t process;
	struct sonde_call *c;

	if (!name || name->kind == SONDE_NR_CALL_KINDS)
		return 0;
	process = sonde_nsys__process(n, sonde_nsys__pid(tid));
	c = process == SONDE_NONE ? NULL : sonde_vec_push(&all->calls);
	if (!c)
		return sonde_err_nomem(n->err);
	*c = (struct sonde_call){.begin_ns = (uint64_t)sqlite3_column_int64(q, CALL_START),
		.end_ns = (uint64_t)sqlite3_column_int64(q, CALL_END),
		.thread = sonde_nsys__tid(tid),
		.process = process,
		.kind = name->kind};
	return 0;
}

/* Calls of CUDA other than launches, which come with their kernels. */
static int read_calls(struct nsys *n)
{
	size_t i;

	if (!sonde_nsys__has(n, RUNTIME, "globalTid start end nameId"))
		return 0;
	for (i = 0; i < n->r->processes.nr; i++)
		n->r->processes.at[i].has_calls |= n->r->processes.at[i].input == n->src->input;
	return sonde_nsys__rows(n,
		"SELECT c.globalTid, c.start, c.end, s.value FROM " RUNTIME
		" c JOIN StringIds s ON s.id=c.nameId WHERE s.value GLOB 'cu*Synchronize*' OR "
		"s.value GLOB 'cu*Mem*' OR s.value GLOB 'cu*Alloc*' OR s.value GLOB 'cu*Malloc*' OR "
		"s.value GLOB 'cu*Free*'",
		take_call);
}

int sonde_nsys__records(struct nsys *n)
{
	size_t i;

	for (i = 0; i < n->launches.nr; i++)
		if (!add_record(n, &n->launches.at[i]))
			return sonde_err_nomem(n->err);
	return read_calls(n);
}
