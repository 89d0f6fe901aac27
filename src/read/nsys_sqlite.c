/*
 * Nsight Systems: its SQLite export (`nsys export --type sqlite`). Kernels with
 * their times and NVTX ranges; no counters. A kernel belongs to the ranges that
 * were open on the thread that launched it when it made the call (found through
 * the correlation id), not to those open when it ran.
 *
 * The file is read from its mapping, never written, and only real tables are
 * asked: a view could run anything.
 */
#include "read/nsys_int.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define KERNELS	  "CUPTI_ACTIVITY_KIND_KERNEL"
#define RUNTIME	  "CUPTI_ACTIVITY_KIND_RUNTIME"
#define TIME_NAME "gpu__time_duration.sum"

/* ENUM_NSYS_EVENT_TYPE */
enum { PUSH_POP = 59, START_END = 60, PUSH_POP_T = 70, START_END_T = 71, DOMAIN_CREATE = 75 };

struct domain {
	uint64_t pid, id;
	uint32_t name;
};

struct reader {
	struct nsys n;
	sqlite3 *db;
	struct sonde_err *err;
	uint32_t time_metric;
	SONDE_VEC(struct domain) domains;
};

static bool knows(struct sonde_str data, const char *path)
{
	(void)path;
	return sonde_str_starts(data, "SQLite format 3") && data.n >= 512;
}

static int fail(struct reader *r)
{
	return sonde_err_set(
		r->err, SONDE_ERR_FORMAT, "%s: %s", r->n.src->path, sqlite3_errmsg(r->db));
}

static bool has(struct reader *r, const char *table, const char *column)
{
	static const char sql[] =
		"SELECT 1 FROM sqlite_master m, pragma_table_info(m.name) c "
		"WHERE m.type='table' AND m.name=?1 AND (?2 IS NULL OR c.name=?2)";
	sqlite3_stmt *q = NULL;
	bool is_there = false;

	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) == SQLITE_OK) {
		sqlite3_bind_text(q, 1, table, -1, SQLITE_STATIC);
		if (column)
			sqlite3_bind_text(q, 2, column, -1, SQLITE_STATIC);
		is_there = sqlite3_step(q) == SQLITE_ROW;
	}
	sqlite3_finalize(q);
	return is_there;
}

/* The number of a text column, SONDE_NONE for null or when memory is short. */
static uint32_t intern(struct reader *r, sqlite3_stmt *q, int column)
{
	struct sonde_str text = {(const char *)sqlite3_column_text(q, column), 0};
	uint32_t n;

	if (!text.p)
		return SONDE_NONE;
	text.n = (size_t)sqlite3_column_bytes(q, column);
	n = sonde_map_find(&r->n.r->strings, text);
	if (n != SONDE_NONE)
		return n;
	text = sonde_arena_dup(&r->n.r->arena, text);
	return text.p ? sonde_records__string(r->n.r, text) : SONDE_NONE;
}

static uint64_t pid_of(sqlite3_int64 global)
{
	return (uint64_t)global >> 24 & 0xffffff;
}

static uint64_t tid_of(sqlite3_int64 global)
{
	return (uint64_t)global & 0xffffff;
}

static int each_row(struct reader *r, const char *sql, int (*take)(struct reader *, sqlite3_stmt *))
{
	sqlite3_stmt *q = NULL;
	int rc = 0, step;

	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return fail(r);
	while (rc == 0 && (step = sqlite3_step(q)) != SQLITE_DONE)
		rc = step == SQLITE_ROW ? take(r, q) : fail(r);
	sqlite3_finalize(q);
	return rc;
}

static int take_domain(struct reader *r, sqlite3_stmt *q)
{
	struct domain *d = sonde_vec_push(&r->domains);

	if (!d)
		return sonde_err_nomem(r->err);
	d->pid = pid_of(sqlite3_column_int64(q, 0));
	d->id = (uint64_t)sqlite3_column_int64(q, 1);
	d->name = intern(r, q, 2);
	return 0;
}

static uint32_t domain_of(struct reader *r, uint64_t pid, uint64_t id)
{
	char name[32];
	struct sonde_str text;
	size_t i;

	if (id == 0)
		return SONDE_NONE;
	for (i = 0; i < r->domains.nr; i++)
		if (r->domains.at[i].id == id && r->domains.at[i].pid == pid)
			return r->domains.at[i].name;
	snprintf(name, sizeof(name), "domain %llu", (unsigned long long)id);
	text = sonde_arena_dup(&r->n.r->arena, sonde_str_from(name));
	return text.p ? sonde_records__string(r->n.r, text) : SONDE_NONE;
}

/* 0 start, 1 end, 2 type, 3 globalTid, 4 domain, 5 text */
static int take_range(struct reader *r, sqlite3_stmt *q)
{
	int type = sqlite3_column_int(q, 2);
	struct nsys_range *g = sonde_vec_push(&r->n.ranges);

	if (!g)
		return sonde_err_nomem(r->err);
	g->begin_ns = (uint64_t)sqlite3_column_int64(q, 0);
	g->end_ns = sqlite3_column_type(q, 1) == SQLITE_NULL || sqlite3_column_int64(q, 1) <= 0
			    ? UINT64_MAX
			    : (uint64_t)sqlite3_column_int64(q, 1);
	g->kind = type == START_END || type == START_END_T ? SONDE_START_END : SONDE_PUSH_POP;
	g->pid = pid_of(sqlite3_column_int64(q, 3));
	g->tid = tid_of(sqlite3_column_int64(q, 3));
	g->domain = domain_of(r, g->pid, (uint64_t)sqlite3_column_int64(q, 4));
	g->label = intern(r, q, 5);
	if (g->label == SONDE_NONE)
		g->label = sonde_records__string(r->n.r, SONDE_STR(""));
	return g->label == SONDE_NONE ? sonde_err_nomem(r->err) : 0;
}

static int read_ranges(struct reader *r)
{
	bool has_ids = has(r, "NVTX_EVENTS", "textId"),
	     has_domain = has(r, "NVTX_EVENTS", "domainId");
	char sql[640];
	int rc = 0;

	if (!has(r, "NVTX_EVENTS", "start") || !has(r, "NVTX_EVENTS", "eventType") ||
		!has(r, "NVTX_EVENTS", "globalTid"))
		return 0;
	if (has_domain) {
		snprintf(sql, sizeof(sql),
			"SELECT globalTid, domainId, %s FROM NVTX_EVENTS e %s WHERE eventType=%d",
			has_ids ? "coalesce(e.text, s.value)" : "e.text",
			has_ids ? "LEFT JOIN StringIds s ON s.id=e.textId" : "", DOMAIN_CREATE);
		rc = each_row(r, sql, take_domain);
	}
	snprintf(sql, sizeof(sql),
		"SELECT e.start, e.end, e.eventType, e.globalTid, %s, %s FROM NVTX_EVENTS e %s "
		"WHERE e.eventType IN (%d,%d,%d,%d) AND e.start IS NOT NULL AND e.globalTid IS NOT "
		"NULL",
		has_domain ? "e.domainId" : "0", has_ids ? "coalesce(e.text, s.value)" : "e.text",
		has_ids ? "LEFT JOIN StringIds s ON s.id=e.textId" : "", PUSH_POP, START_END,
		PUSH_POP_T, START_END_T);
	return rc ? rc : each_row(r, sql, take_range);
}

/* 0 start, 1 end, 2 device, 3 context, 4 stream, 5 globalPid, 6 full, 7 short, 8 tid, 9 call */
static int take_launch(struct reader *r, sqlite3_stmt *q)
{
	struct nsys_launch *l = sonde_vec_push(&r->n.launches);
	sqlite3_int64 tid = sqlite3_column_int64(q, 8);

	if (!l)
		return sonde_err_nomem(r->err);
	l->start_ns = (uint64_t)sqlite3_column_int64(q, 0);
	l->end_ns = (uint64_t)sqlite3_column_int64(q, 1);
	if (l->end_ns < l->start_ns)
		l->end_ns = l->start_ns;
	l->device = (uint32_t)sqlite3_column_int64(q, 2);
	l->context = (uint32_t)sqlite3_column_int64(q, 3);
	l->stream = (uint64_t)sqlite3_column_int64(q, 4);
	l->tid = tid_of(tid);
	l->pid = pid_of(tid ? tid : sqlite3_column_int64(q, 5));
	l->call_ns = (uint64_t)sqlite3_column_int64(q, 9);
	l->full_name = intern(r, q, 6);
	l->name = intern(r, q, 7);
	if (l->full_name == SONDE_NONE)
		l->full_name = l->name;
	if (l->full_name == SONDE_NONE)
		l->full_name = sonde_records__string(r->n.r, SONDE_STR("(unnamed kernel)"));
	if (l->name == SONDE_NONE)
		l->name = l->full_name;
	return l->full_name == SONDE_NONE ? sonde_err_nomem(r->err) : 0;
}

static const char *column(struct reader *r, const char *table, const char *name, const char *sql)
{
	return has(r, table, name) ? sql : "NULL";
}

static int read_launches(struct reader *r)
{
	bool has_calls = has(r, RUNTIME, "correlationId") && has(r, RUNTIME, "globalTid") &&
			 has(r, KERNELS, "correlationId");
	bool has_pid = has(r, KERNELS, "globalPid");
	char sql[1280];

	if (!has(r, KERNELS, "start") || !has(r, KERNELS, "end"))
		return 0;
	snprintf(sql, sizeof(sql),
		"SELECT k.start, k.end, %s, %s, %s, %s, %s, %s, %s FROM " KERNELS " k "
		"LEFT JOIN StringIds d ON d.id=%s LEFT JOIN StringIds s ON s.id=%s %s%s",
		column(r, KERNELS, "deviceId", "k.deviceId"),
		column(r, KERNELS, "contextId", "k.contextId"),
		column(r, KERNELS, "streamId", "k.streamId"), has_pid ? "k.globalPid" : "NULL",
		"d.value", "s.value", has_calls ? "c.globalTid, c.start" : "NULL, NULL",
		column(r, KERNELS, "demangledName", "k.demangledName"),
		column(r, KERNELS, "shortName", "k.shortName"),
		has_calls ? "LEFT JOIN " RUNTIME " c ON c.correlationId=k.correlationId" : "",
		has_calls && has_pid ? " AND (c.globalTid & ~16777215)=k.globalPid" : "");
	return each_row(r, sql, take_launch);
}

static int take_device(struct reader *r, sqlite3_stmt *q)
{
	struct sonde_device d = {.id = (uint32_t)sqlite3_column_int64(q, 0),
		.cc_major = (unsigned)sqlite3_column_int(q, 2),
		.cc_minor = (unsigned)sqlite3_column_int(q, 3)};
	size_t i;

	d.name = sonde_records_str(r->n.r, intern(r, q, 1));
	for (i = 0; i < r->n.r->processes.nr; i++) {
		if (r->n.r->processes.at[i].input != r->n.src->input)
			continue;
		d.process = (uint32_t)i;
		if (!sonde_records__device(r->n.r, &d))
			return sonde_err_nomem(r->err);
	}
	return 0;
}

static int take_process_name(struct reader *r, sqlite3_stmt *q)
{
	uint64_t pid = pid_of(sqlite3_column_int64(q, 0));
	size_t i;

	for (i = 0; i < r->n.r->processes.nr; i++)
		if (r->n.r->processes.at[i].input == r->n.src->input &&
			r->n.r->processes.at[i].pid == pid)
			r->n.r->processes.at[i].name = sonde_records_str(r->n.r, intern(r, q, 1));
	return 0;
}

static int take_version(struct reader *r, sqlite3_stmt *q)
{
	struct sonde_input *in = &r->n.r->inputs.at[r->n.src->input];

	in->tool = sonde_arena_printf(&r->n.r->arena, "nsys %s",
		sqlite3_column_text(q, 0) ? (const char *)sqlite3_column_text(q, 0) : "");
	return 0;
}

static int read_facts(struct reader *r)
{
	bool has_cc = has(r, "TARGET_INFO_GPU", "computeMajor");
	int rc = 0;

	if (has(r, "TARGET_INFO_CUDA_DEVICE", "cudaId") && has(r, "TARGET_INFO_GPU", "name"))
		rc = each_row(r,
			has_cc ? "SELECT DISTINCT c.cudaId, g.name, g.computeMajor, g.computeMinor "
				 "FROM "
				 "TARGET_INFO_CUDA_DEVICE c JOIN TARGET_INFO_GPU g ON g.id=c.gpuId"
			       : "SELECT DISTINCT c.cudaId, g.name, 0, 0 FROM "
				 "TARGET_INFO_CUDA_DEVICE c JOIN TARGET_INFO_GPU g ON g.id=c.gpuId",
			take_device);
	else if (has(r, "TARGET_INFO_GPU", "name"))
		rc = each_row(r, "SELECT id, name, 0, 0 FROM TARGET_INFO_GPU", take_device);
	if (rc == 0 && has(r, "PROCESSES", "globalPid") && has(r, "PROCESSES", "name"))
		rc = each_row(r, "SELECT globalPid, name FROM PROCESSES", take_process_name);
	if (rc == 0 && has(r, "META_DATA_EXPORT", "value"))
		rc = each_row(r,
			"SELECT value FROM META_DATA_EXPORT WHERE name LIKE '%PRODUCT_VERSION%' "
			"LIMIT 1",
			take_version);
	return rc;
}

static int add_records(struct reader *r)
{
	struct sonde_records *all = r->n.r;
	uint64_t nr_unknown = 0;
	size_t i;

	for (i = 0; i < r->n.launches.nr; i++) {
		const struct nsys_launch *l = &r->n.launches.at[i];
		uint32_t process = sonde_records__process(all, r->n.src->input, l->pid,
			(struct sonde_str){NULL, 0}, (struct sonde_str){NULL, 0});
		struct sonde_record *rec =
			process == SONDE_NONE ? NULL : sonde_vec_push(&all->records);
		struct sonde_record_time *t = rec ? sonde_vec_push(&all->record_times) : NULL;

		if (!t)
			return sonde_err_nomem(r->err);
		*t = (struct sonde_record_time){l->start_ns, l->end_ns};
		*rec = (struct sonde_record){.thread = l->tid,
			.stream = l->stream,
			.payload = l->end_ns - l->start_ns,
			.payload_size = r->time_metric,
			.process = process,
			.device = l->device,
			.context = l->context,
			.name = l->name,
			.full_name = l->full_name,
			.open = l->open,
			.kind = SONDE_RESULT_KERNEL};
		nr_unknown += l->call_ns == 0;
	}
	if (nr_unknown)
		sonde_note(&all->notes,
			"%s: the launching call of %llu kernels is not in the trace: they lie "
			"outside "
			"all regions",
			r->n.src->path, (unsigned long long)nr_unknown);
	return 0;
}

/* Earlier inputs without times leave gaps in the parallel arrays. */
static bool pad_times(struct sonde_records *r)
{
	while (r->range_times.nr < r->ranges.nr)
		if (!sonde_vec_push(&r->range_times))
			return false;
	while (r->record_times.nr < r->records.nr)
		if (!sonde_vec_push(&r->record_times))
			return false;
	return true;
}

static int open_db(struct reader *r)
{
	struct sonde_str data = r->n.src->file.data;

	if (sqlite3_open_v2(":memory:", &r->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
		    NULL) != SQLITE_OK ||
		sqlite3_deserialize(r->db, "main", (unsigned char *)(uintptr_t)data.p,
			(sqlite3_int64)data.n, (sqlite3_int64)data.n,
			SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		return fail(r);
	sqlite3_exec(
		r->db, "PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
	if (!has(r, "NVTX_EVENTS", NULL) && !has(r, KERNELS, NULL) && !has(r, "StringIds", NULL))
		return sonde_err_set(r->err, SONDE_ERR_FORMAT,
			"%s: an SQLite file, but not an export of Nsight Systems", r->n.src->path);
	return 0;
}

static int read_all(struct reader *r)
{
	struct sonde_records *all = r->n.r;
	struct sonde_input *in = &all->inputs.at[r->n.src->input];
	uint32_t metric = sonde_records__metric(all, SONDE_STR(TIME_NAME));
	int rc = 0;

	if (metric == SONDE_NONE || !pad_times(all))
		return sonde_err_nomem(r->err);
	r->time_metric = metric;
	all->metrics.at[metric].unit = SONDE_STR("ns");
	in->source = SONDE_STR("nsys-sqlite");
	rc = read_ranges(r);
	if (rc == 0)
		rc = read_launches(r);
	if (rc == 0)
		rc = sonde_nsys__nest(&r->n, r->err);
	if (rc == 0)
		rc = sonde_nsys__open(&r->n, r->err);
	if (rc == 0)
		rc = add_records(r);
	return rc ? rc : read_facts(r);
}

static int read(struct sonde_source *src, struct sonde_records *records, struct sonde_err *err)
{
	struct reader r = {.n = {.src = src, .r = records}, .err = err};
	int rc = open_db(&r);

	if (rc == 0)
		rc = read_all(&r);
	sqlite3_close(r.db);
	sonde_vec_release(&r.domains);
	sonde_vec_release(&r.n.launches);
	sonde_vec_release(&r.n.ranges);
	return rc;
}

static int values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	(void)src, (void)err;
	v->num[rec->payload_size] = (double)rec->payload; /* payload_size: the metric's number */
	return 0;
}

const struct sonde_source_ops sonde_source_nsys_sqlite = {
	.name = "nsys-sqlite",
	.knows = knows,
	.read = read,
	.values = values,
};
