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
#include "catalogue/metrics.h"

#include <stdio.h>
#include <string.h>

#define KERNELS	   "CUPTI_ACTIVITY_KIND_KERNEL"

#define MIN_ROW_BYTES 4 /* fewer do not make a row of the tables we ask */

/* ENUM_NSYS_EVENT_TYPE */
enum { PUSH_POP = 59, START_END = 60, PUSH_POP_T = 70, START_END_T = 71, DOMAIN_CREATE = 75 };

/* What reading values needs. */
struct state {
	const struct sonde_records *r;
	uint32_t time_metric, bytes_metric;
};

static bool knows(struct sonde_str data, const char *path)
{
	(void)path;
	return sonde_str_starts(data, "SQLite format 3") && data.n >= 512;
}

static int fail(struct nsys_reader *r)
{
	if (sqlite3_errcode(r->db) == SQLITE_NOMEM)
		return sonde_err_nomem(r->err);
	return sonde_err_set(
		r->err, SONDE_ERR_FORMAT, "%s: %s", r->n.src->path, sqlite3_errmsg(r->db));
}

bool sonde_nsys__has(struct nsys_reader *r, const char *table, const char *column)
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

void sonde_nsys__column(struct sonde_buf *sql, struct nsys_reader *r, const char *table,
	const char *alias, const char *name)
{
	if (name && sonde_nsys__has(r, table, name))
		sonde_buf_printf(sql, "%s.%s, ", alias, name);
	else
		sonde_buf_puts(sql, "NULL, ");
}

uint32_t sonde_nsys__intern(struct nsys_reader *r, sqlite3_stmt *q, int column)
{
	struct sonde_str text = {(const char *)sqlite3_column_text(q, column), 0};

	text.n = (size_t)sqlite3_column_bytes(q, column);
	return text.p ? sonde_records__copied(r->n.r, text) : SONDE_NONE;
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
	struct nsys_reader *r, const char *sql, int (*take)(struct nsys_reader *, sqlite3_stmt *))
{
	sqlite3_stmt *q = NULL;
	size_t nr = 0;
	int rc = 0, step;

	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return fail(r);
	while ((step = sqlite3_step(q)) == SQLITE_ROW && rc == 0) {
		rc = take(r, q);
		nr++;
	}
	if (rc == 0 && step != SQLITE_DONE &&
		((nr == 0 && !r->cut_pct) || step == SQLITE_NOMEM))
		rc = fail(r);
	else if (rc == 0 && step != SQLITE_DONE && !r->cut_pct)
		sonde_note(&r->n.r->notes, "%s: %s; what comes before it is read", r->n.src->path,
			sqlite3_errmsg(r->db));
	sqlite3_finalize(q);
	return rc;
}

int sonde_nsys__check_rows(struct nsys_reader *r, size_t nr)
{
	if (nr <= r->n.src->file.data.n / MIN_ROW_BYTES)
		return 0;
	return sonde_err_set(r->err, SONDE_ERR_FORMAT,
		"%s: more rows than fit into a file of this size: ids that should be unique are "
		"not",
		r->n.src->path);
}

static int take_domain(struct nsys_reader *r, sqlite3_stmt *q)
{
	struct nsys_domain *d = sonde_vec_push(&r->domains);

	if (!d)
		return sonde_err_nomem(r->err);
	d->pid = sonde_nsys__pid(sqlite3_column_int64(q, 0));
	d->id = (uint64_t)sqlite3_column_int64(q, 1);
	d->name = sonde_nsys__intern(r, q, 2);
	return 0;
}

static uint32_t domain_of(struct nsys_reader *r, uint64_t pid, uint64_t id)
{
	char name[32];
	size_t i;

	if (id == 0)
		return SONDE_NONE;
	for (i = 0; i < r->domains.nr; i++)
		if (r->domains.at[i].id == id && r->domains.at[i].pid == pid)
			return r->domains.at[i].name;
	snprintf(name, sizeof(name), "domain %llu", (unsigned long long)id);
	return sonde_records__copied(r->n.r, sonde_str_from(name));
}

/* 0 start, 1 end, 2 type, 3 globalTid, 4 domain, 5 text */
static int take_range(struct nsys_reader *r, sqlite3_stmt *q)
{
	int type = sqlite3_column_int(q, 2);
	struct nsys_range *g = sonde_vec_push(&r->n.ranges);

	if (!g)
		return sonde_err_nomem(r->err);
	if (sonde_nsys__check_rows(r, r->n.ranges.nr))
		return SONDE_ERR_FORMAT;
	g->begin_ns = (uint64_t)sqlite3_column_int64(q, 0);
	g->end_ns = sqlite3_column_type(q, 1) == SQLITE_NULL || sqlite3_column_int64(q, 1) <= 0
			    ? UINT64_MAX
			    : (uint64_t)sqlite3_column_int64(q, 1);
	g->kind = type == START_END || type == START_END_T ? SONDE_START_END : SONDE_PUSH_POP;
	g->pid = sonde_nsys__pid(sqlite3_column_int64(q, 3));
	g->tid = sonde_nsys__tid(sqlite3_column_int64(q, 3));
	g->domain = domain_of(r, g->pid, (uint64_t)sqlite3_column_int64(q, 4));
	g->label = sonde_nsys__intern(r, q, 5);
	if (g->label == SONDE_NONE)
		g->label = sonde_records__string(r->n.r, SONDE_STR(""));
	return g->label == SONDE_NONE ? sonde_err_nomem(r->err) : 0;
}

static int read_ranges(struct nsys_reader *r)
{
	bool has_ids = sonde_nsys__has(r, "NVTX_EVENTS", "textId") &&
		       sonde_nsys__has(r, "StringIds", "value"),
	     has_domain = sonde_nsys__has(r, "NVTX_EVENTS", "domainId");
	char sql[640];
	int rc = 0;

	if (!sonde_nsys__has(r, "NVTX_EVENTS", "start") ||
		!sonde_nsys__has(r, "NVTX_EVENTS", "eventType") ||
		!sonde_nsys__has(r, "NVTX_EVENTS", "globalTid"))
		return 0;
	if (has_domain) {
		snprintf(sql, sizeof(sql),
			"SELECT globalTid, domainId, %s FROM NVTX_EVENTS e %s WHERE eventType=%d",
			has_ids ? "coalesce(e.text, s.value)" : "e.text",
			has_ids ? "LEFT JOIN StringIds s ON s.id=e.textId" : "", DOMAIN_CREATE);
		rc = sonde_nsys__rows(r, sql, take_domain);
	}
	snprintf(sql, sizeof(sql),
		"SELECT e.start, e.end, e.eventType, e.globalTid, %s, %s FROM NVTX_EVENTS e %s "
		"WHERE e.eventType IN (%d,%d,%d,%d) AND e.start IS NOT NULL AND e.globalTid IS NOT "
		"NULL",
		has_domain ? "e.domainId" : "0", has_ids ? "coalesce(e.text, s.value)" : "e.text",
		has_ids ? "LEFT JOIN StringIds s ON s.id=e.textId" : "", PUSH_POP, START_END,
		PUSH_POP_T, START_END_T);
	return rc ? rc : sonde_nsys__rows(r, sql, take_range);
}

static int open_db(struct nsys_reader *r)
{
	struct sonde_str data = r->mended.n ? sonde_buf_view(&r->mended) : r->n.src->file.data;

	if (sqlite3_open_v2(":memory:", &r->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
		    NULL) != SQLITE_OK ||
		sqlite3_deserialize(r->db, "main", (unsigned char *)(uintptr_t)data.p,
			(sqlite3_int64)data.n, (sqlite3_int64)data.n,
			SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		return fail(r);
	sqlite3_exec(r->db,
		"PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY; "
		"PRAGMA cell_size_check=ON",
		NULL, NULL, NULL);
	if (!sonde_nsys__has(r, "NVTX_EVENTS", NULL) && !sonde_nsys__has(r, KERNELS, NULL) &&
		!sonde_nsys__has(r, "StringIds", NULL))
		return sonde_err_set(r->err, SONDE_ERR_FORMAT,
			"%s: an SQLite file, but not an export of Nsight Systems", r->n.src->path);
	return 0;
}

/* The metrics an export has: times, and bytes of copies. */
static int open_state(struct nsys_reader *r)
{
	struct sonde_records *all = r->n.r;
	struct state *s = sonde_calloc(1, sizeof(*s));

	if (!s)
		return sonde_err_nomem(r->err);
	r->n.src->state = s;
	s->r = all;
	s->time_metric = sonde_records__metric(all, SONDE_STR(SONDE_METRIC_TIME));
	s->bytes_metric = SONDE_NONE;
	if (sonde_nsys__has(r, "CUPTI_ACTIVITY_KIND_MEMCPY", "bytes") ||
		sonde_nsys__has(r, "CUPTI_ACTIVITY_KIND_MEMSET", "bytes")) {
		s->bytes_metric = sonde_records__metric(all, SONDE_STR(SONDE_METRIC_COPIED));
		if (s->bytes_metric == SONDE_NONE)
			return sonde_err_nomem(r->err);
		all->metrics.at[s->bytes_metric].unit = SONDE_STR("byte");
	}
	if (s->time_metric == SONDE_NONE)
		return sonde_err_nomem(r->err);
	all->metrics.at[s->time_metric].unit = SONDE_STR("ns");
	return 0;
}

static int read_all(struct nsys_reader *r)
{
	int rc = open_state(r);

	r->n.r->inputs.at[r->n.src->input].source = SONDE_STR("nsys-sqlite");
	if (rc == 0)
		rc = read_ranges(r);
	if (rc == 0)
		rc = sonde_nsys__launches(r);
	if (rc == 0)
		rc = sonde_nsys__nest(&r->n, r->err);
	if (rc == 0)
		rc = sonde_nsys__open(&r->n, r->err);
	if (rc == 0)
		rc = sonde_nsys__records(r);
	if (rc == 0)
		rc = sonde_nsys__facts(r);
	if (rc == 0)
		rc = sonde_nsys__metrics(r);
	return rc;
}

static int read(struct sonde_source *src, struct sonde_records *records, struct sonde_err *err)
{
	struct nsys_reader r = {.n = {.src = src, .r = records}, .err = err};
	int rc = sonde_nsys__mend(&r);

	if (rc == 0)
		rc = open_db(&r);
	if (rc == 0)
		rc = read_all(&r);
	rc = sonde_nsys__say_cut(&r, rc);
	sqlite3_close(r.db);
	sonde_buf_release(&r.mended);
	sonde_vec_release(&r.domains);
	sonde_vec_release(&r.metrics);
	sonde_vec_release(&r.gpus);
	sonde_vec_release(&r.n.launches);
	sonde_vec_release(&r.n.ranges);
	return rc;
}

static int values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct state *s = src->state;
	const struct sonde_record_time *t = &s->r->records.at[rec - s->r->records.at].time;

	(void)err;
	v->num[s->time_metric] = (double)(t->end_ns - t->start_ns);
	if (rec->kind != SONDE_RESULT_KERNEL && s->bytes_metric != SONDE_NONE)
		v->num[s->bytes_metric] = (double)rec->payload;
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
