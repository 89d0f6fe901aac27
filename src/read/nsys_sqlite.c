/*
 * Nsight Systems: its SQLite export (`nsys export --type sqlite`). Kernels,
 * copies and memsets with their times, and NVTX ranges; no counters. A launch
 * belongs to the ranges that were open on the thread that made the call (found
 * through the correlation id), not to those open when it ran.
 *
 * The file is read from its mapping, never written, and only real tables are
 * asked: a view could run anything.
 */
#include "read/nsys_int.h"

#include "base/alloc.h"
#include "read/launch_metrics_int.h"

#include <stdio.h>
#include <string.h>

#define KERNELS	   "CUPTI_ACTIVITY_KIND_KERNEL"

#define MIN_ROW_BYTES 4 /* fewer do not make a row of the tables we ask */

/* ENUM_NSYS_EVENT_TYPE */
enum { PUSH_POP = 59, START_END = 60, PUSH_POP_T = 70, START_END_T = 71, DOMAIN_CREATE = 75 };

static bool knows(struct sonde_str data, const char *path)
{
	(void)path;
	return sonde_str_starts(data, "SQLite format 3") && data.n >= 512;
}

static int fail(struct nsys *n)
{
	if (sqlite3_errcode(n->db) == SQLITE_NOMEM)
		return sonde_err_nomem(n->err);
	return sonde_err_set(
		n->err, SONDE_ERR_FORMAT, "%s: %s: export it again", n->src->path, sqlite3_errmsg(n->db));
}

static bool has_column(struct nsys *n, const char *table, struct sonde_str column)
{
	static const char sql[] =
		"SELECT 1 FROM sqlite_master m, pragma_table_info(m.name) c "
		"WHERE m.type='table' AND m.name=?1 AND c.name=?2";
	sqlite3_stmt *q = NULL;
	bool is_there = false;

	if (sqlite3_prepare_v2(n->db, sql, -1, &q, NULL) == SQLITE_OK) {
		sqlite3_bind_text(q, 1, table, -1, SQLITE_STATIC);
		sqlite3_bind_text(q, 2, column.p, (int)column.n, SQLITE_STATIC);
		is_there = sqlite3_step(q) == SQLITE_ROW;
	}
	sqlite3_finalize(q);
	return is_there;
}

bool sonde_nsys__has(struct nsys *n, const char *table, const char *columns)
{
	struct sonde_str rest = sonde_str_from(columns);
	bool has_all = true;

	while (has_all && rest.n)
		has_all = has_column(n, table, sonde_str_cut(rest, ' ', &rest));
	return has_all;
}

uint32_t sonde_nsys__process(struct nsys *n, uint64_t pid)
{
	const struct sonde_str none = {NULL, 0};

	return sonde_records__process(n->r, n->src->input, pid, none, none);
}

void sonde_nsys__column(struct sonde_buf *sql, struct nsys *n, const char *table,
	const char *alias, const char *name)
{
	if (name && sonde_nsys__has(n, table, name))
		sonde_buf_printf(sql, "%s.%s, ", alias, name);
	else
		sonde_buf_puts(sql, "NULL, ");
}

uint32_t sonde_nsys__intern(struct nsys *n, sqlite3_stmt *q, int column)
{
	struct sonde_str text = {(const char *)sqlite3_column_text(q, column), 0};

	text.n = (size_t)sqlite3_column_bytes(q, column);
	return text.p ? sonde_records__copied(n->r, text) : SONDE_NONE;
}

uint64_t sonde_nsys__pid(sqlite3_int64 global)
{
	return (uint64_t)global >> 24 & 0xffffff;
}

uint64_t sonde_nsys__tid(sqlite3_int64 global)
{
	return (uint64_t)global & 0xffffff;
}

/* A damaged table gives what comes before the damage; none of it is an error. */
int sonde_nsys__rows(
	struct nsys *n, const char *sql, int (*take)(struct nsys *, sqlite3_stmt *))
{
	sqlite3_stmt *q = NULL;
	size_t nr = 0;
	int rc = 0, step;

	if (sqlite3_prepare_v2(n->db, sql, -1, &q, NULL) != SQLITE_OK)
		return fail(n);
	while ((step = sqlite3_step(q)) == SQLITE_ROW && rc == 0) {
		rc = take(n, q);
		nr++;
	}
	if (rc == 0 && step != SQLITE_DONE &&
		((nr == 0 && !n->cut_pct) || step == SQLITE_NOMEM))
		rc = fail(n);
	else if (rc == 0 && step != SQLITE_DONE && !n->cut_pct)
		sonde_note(&n->r->notes, "%s: %s; what comes before it is read", n->src->path,
			sqlite3_errmsg(n->db));
	sqlite3_finalize(q);
	return rc;
}

int sonde_nsys__check_rows(struct nsys *n, size_t nr)
{
	if (nr <= n->src->file.data.n / MIN_ROW_BYTES)
		return 0;
	return sonde_err_set(n->err, SONDE_ERR_FORMAT,
		"%s: more rows than fit into a file of this size, as ids that should be unique are "
		"not: export it again",
		n->src->path);
}

static int take_domain(struct nsys *n, sqlite3_stmt *q)
{
	struct nsys_domain *d = sonde_vec_push(&n->domains);

	if (!d)
		return sonde_err_nomem(n->err);
	d->pid = sonde_nsys__pid(sqlite3_column_int64(q, 0));
	d->id = (uint64_t)sqlite3_column_int64(q, 1);
	d->name = sonde_nsys__intern(n, q, 2);
	return 0;
}

static uint32_t domain_of(struct nsys *n, uint64_t pid, uint64_t id)
{
	char name[32];
	size_t i;

	if (id == 0)
		return SONDE_NONE;
	for (i = 0; i < n->domains.nr; i++)
		if (n->domains.at[i].id == id && n->domains.at[i].pid == pid)
			return n->domains.at[i].name;
	snprintf(name, sizeof(name), "domain %llu", (unsigned long long)id);
	return sonde_records__copied(n->r, sonde_str_from(name));
}

/* 0 start, 1 end, 2 type, 3 globalTid, 4 domain, 5 text */
static int take_range(struct nsys *n, sqlite3_stmt *q)
{
	int type = sqlite3_column_int(q, 2);
	struct nsys_range *g = sonde_vec_push(&n->ranges);

	if (!g)
		return sonde_err_nomem(n->err);
	if (sonde_nsys__check_rows(n, n->ranges.nr))
		return SONDE_ERR_FORMAT;
	g->begin_ns = (uint64_t)sqlite3_column_int64(q, 0);
	g->end_ns = sqlite3_column_type(q, 1) == SQLITE_NULL || sqlite3_column_int64(q, 1) <= 0
			    ? UINT64_MAX
			    : (uint64_t)sqlite3_column_int64(q, 1);
	g->kind = type == START_END || type == START_END_T ? SONDE_START_END : SONDE_PUSH_POP;
	g->pid = sonde_nsys__pid(sqlite3_column_int64(q, 3));
	g->tid = sonde_nsys__tid(sqlite3_column_int64(q, 3));
	g->domain = domain_of(n, g->pid, (uint64_t)sqlite3_column_int64(q, 4));
	g->label = sonde_nsys__intern(n, q, 5);
	if (g->label == SONDE_NONE)
		g->label = sonde_records__string(n->r, SONDE_STR(""));
	return g->label == SONDE_NONE ? sonde_err_nomem(n->err) : 0;
}

static int read_ranges(struct nsys *n)
{
	bool has_ids = sonde_nsys__has(n, "NVTX_EVENTS", "textId") &&
		       sonde_nsys__has(n, "StringIds", "id value"),
	     has_domain = sonde_nsys__has(n, "NVTX_EVENTS", "domainId");
	char sql[640];
	int rc = 0;

	if (!sonde_nsys__has(n, "NVTX_EVENTS", "start eventType globalTid"))
		return 0;
	if (has_domain) {
		snprintf(sql, sizeof(sql),
			"SELECT globalTid, domainId, %s FROM NVTX_EVENTS e %s WHERE eventType=%d",
			has_ids ? "coalesce(e.text, s.value)" : "e.text",
			has_ids ? "LEFT JOIN StringIds s ON s.id=e.textId" : "", DOMAIN_CREATE);
		rc = sonde_nsys__rows(n, sql, take_domain);
	}
	snprintf(sql, sizeof(sql),
		"SELECT e.start, e.end, e.eventType, e.globalTid, %s, %s FROM NVTX_EVENTS e %s "
		"WHERE e.eventType IN (%d,%d,%d,%d) AND e.start IS NOT NULL AND e.globalTid IS NOT "
		"NULL",
		has_domain ? "e.domainId" : "0", has_ids ? "coalesce(e.text, s.value)" : "e.text",
		has_ids ? "LEFT JOIN StringIds s ON s.id=e.textId" : "", PUSH_POP, START_END,
		PUSH_POP_T, START_END_T);
	return rc ? rc : sonde_nsys__rows(n, sql, take_range);
}

static int open_db(struct nsys *n)
{
	struct sonde_str data = n->mended.n ? sonde_buf_view(&n->mended) : n->src->file.data;

	if (sqlite3_open_v2(":memory:", &n->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
		    NULL) != SQLITE_OK ||
		sqlite3_deserialize(n->db, "main", (unsigned char *)(uintptr_t)data.p,
			(sqlite3_int64)data.n, (sqlite3_int64)data.n,
			SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		return fail(n);
	sqlite3_exec(n->db,
		"PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY; "
		"PRAGMA cell_size_check=ON",
		NULL, NULL, NULL);
	if (!sonde_nsys__has(n, "NVTX_EVENTS", "start") && !sonde_nsys__has(n, KERNELS, "start") &&
		!sonde_nsys__has(n, "StringIds", "id"))
		return sonde_err_set(n->err, SONDE_ERR_FORMAT,
			"%s: an SQLite file, but not an export of Nsight Systems: `nsys export --type "
			"sqlite` makes one",
			n->src->path);
	return 0;
}

/* The metrics an export has: times, and bytes of copies. */
static int open_metrics(struct nsys *n)
{
	struct sonde_launch_metrics *m = sonde_calloc(1, sizeof(*m));
	const bool has[NR_LAUNCH_METRICS] = {[LAUNCH_TIME] = true,
		[LAUNCH_BYTES] = sonde_nsys__has(n, "CUPTI_ACTIVITY_KIND_MEMCPY", "bytes") ||
				 sonde_nsys__has(n, "CUPTI_ACTIVITY_KIND_MEMSET", "bytes")};

	n->src->state = m;
	return m && sonde_launch_metrics__add(m, n->r, has) ? 0 : sonde_err_nomem(n->err);
}

static int read_all(struct nsys *n)
{
	static int (*const steps[])(struct nsys *) = {open_metrics, read_ranges,
		sonde_nsys__launches, sonde_nsys__nest, sonde_nsys__open, sonde_nsys__records,
		sonde_nsys__facts, sonde_nsys__metrics};
	size_t i;
	int rc = 0;

	n->r->inputs.at[n->src->input].source = SONDE_STR("nsys-sqlite");
	for (i = 0; i < sizeof(steps) / sizeof(*steps) && rc == 0; i++)
		rc = steps[i](n);
	return rc;
}

static int read(struct sonde_source *src, struct sonde_records *records, struct sonde_err *err)
{
	struct nsys n = {.src = src, .r = records, .err = err};
	int rc = sonde_nsys__mend(&n);

	if (rc == 0)
		rc = open_db(&n);
	if (rc == 0)
		rc = read_all(&n);
	rc = sonde_nsys__say_cut(&n, rc);
	sqlite3_close(n.db);
	sonde_buf_release(&n.mended);
	sonde_vec_release(&n.domains);
	sonde_vec_release(&n.metrics);
	sonde_vec_release(&n.gpus);
	sonde_vec_release(&n.launches);
	sonde_vec_release(&n.ranges);
	return rc;
}

static int values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct sonde_launch_metrics *m = src->state;

	(void)err;
	sonde_launch_metrics__set(
		m, v, LAUNCH_TIME, (double)(rec->time.end_ns - rec->time.start_ns));
	if (rec->kind != SONDE_RESULT_KERNEL)
		sonde_launch_metrics__set(m, v, LAUNCH_BYTES, (double)rec->payload);
	return 0;
}

static void release(struct sonde_source *src)
{
	sonde_free(src->state);
}

const struct sonde_source_ops sonde_source_nsys_sqlite = {
	.name = "nsys-sqlite",
	.knows = knows,
	.read = read,
	.values = values,
	.release = release,
};
