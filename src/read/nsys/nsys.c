/*
 * Nsight Systems: its SQLite export (`nsys export --type sqlite`). Kernels,
 * copies and memsets with their times, and NVTX ranges; no counters. A launch
 * belongs to the ranges that were open on the calling thread at the call (found
 * through the correlation id), not to those open when the work ran.
 *
 * The file is read from its mapping and never written. Only real tables are
 * queried, because a view could run anything.
 */
#include "read/nsys/nsys_int.h"

#define KERNELS "CUPTI_ACTIVITY_KIND_KERNEL"

#define MIN_ROW_BYTES 4 /* every row of the tables read here takes at least this */

static bool knows_nsys(struct sonde_str data)
{
	return sonde_str_starts(data, "SQLite format 3") && data.n >= 512;
}

static int refuse_db(struct nsys *n)
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

	if (n->process == SONDE_NONE || n->r->processes.at[n->process].pid != pid)
		n->process = sonde_records__process(n->r, n->src->input, pid, none, none);
	return n->process;
}

uint32_t sonde_nsys__intern(struct nsys *n, sqlite3_stmt *q, int column)
{
	struct sonde_str text = {(const char *)sqlite3_column_text(q, column), 0};

	text.n = (size_t)sqlite3_column_bytes(q, column);
	return text.p ? sonde_records__copied(n->r, text) : SONDE_NONE;
}

static void find_text(struct nsys *n, struct nsys_text *t)
{
	const struct sonde_call_name *call = NULL;
	struct sonde_str text;
	int step;

	sqlite3_bind_int64(n->find_text, 1, t->id);
	step = sqlite3_step(n->find_text);
	if (step == SQLITE_ROW)
		t->string = sonde_nsys__intern(n, n->find_text, 0);
	else if (step != SQLITE_DONE)
		n->texts_rc = step;
	sqlite3_reset(n->find_text);
	text = sonde_records_str(n->r, t->string);
	if (text.n)
		call = sonde_call_find(text.p, text.n);
	if (call)
		t->call = call->kind;
}

/* Texts are looked up here and not by a join, because the same few are needed again and again. */
struct nsys_text sonde_nsys__text(struct nsys *n, sqlite3_stmt *q, int column)
{
	struct nsys_text t = {sqlite3_column_int64(q, column), SONDE_NONE, SONDE_NR_CALL_KINDS, true};
	struct nsys_text *at = &n->texts[(uint64_t)t.id % NSYS_TEXTS];

	if (!n->find_text || sqlite3_column_type(q, column) == SQLITE_NULL)
		return t;
	if (!at->is_used || at->id != t.id) {
		find_text(n, &t);
		*at = t;
	}
	return *at;
}

uint64_t sonde_nsys__pid(sqlite3_int64 global)
{
	return (uint64_t)global >> 24 & 0xffffff;
}

uint64_t sonde_nsys__tid(sqlite3_int64 global)
{
	return (uint64_t)global & 0xffffff;
}

struct sonde_record_time sonde_nsys__time(sqlite3_int64 begin, sqlite3_int64 end, uint64_t *nr_bad)
{
	uint64_t from = begin < 0 ? 1 : (uint64_t)begin;

	*nr_bad += begin < 0 || end < begin;
	return (struct sonde_record_time){from, end < 0 || (uint64_t)end < from ? from : (uint64_t)end};
}

static void note_bad_times(const struct nsys *n)
{
#define BAD                                                                                        \
	" impossible times: an end before the begin counts as the begin, a begin before the trace " \
	"as the trace's begin"
	sonde_source__note_loss(n->src, n->r, n->nr_bad_ranges, "range has" BAD, "ranges have" BAD);
	sonde_source__note_loss(n->src, n->r, n->nr_bad_calls, "CUDA call has" BAD, "CUDA calls have" BAD);
	sonde_source__note_loss(n->src, n->r, n->nr_bad_launches, "kernel, copy or memset has" BAD,
		"kernels, copies or memsets have" BAD);
}

/* A damaged table gives the rows before the damage; it is an error if there are none. */
int sonde_nsys__read_rows(
	struct nsys *n, const char *sql, int (*take)(struct nsys *, sqlite3_stmt *))
{
	sqlite3_stmt *q = NULL;
	size_t nr = 0;
	int rc = 0, step;

	if (sqlite3_prepare_v2(n->db, sql, -1, &q, NULL) != SQLITE_OK)
		return refuse_db(n);
	while ((step = sqlite3_step(q)) == SQLITE_ROW && rc == 0) {
		rc = take(n, q);
		if (rc == 0)
			rc = sonde_source__status(n->src, n->r, n->err);
		nr++;
	}
	if (rc == 0 && step != SQLITE_DONE &&
		((nr == 0 && !n->cut_pct) || step == SQLITE_NOMEM))
		rc = refuse_db(n);
	else if (rc == 0 && step != SQLITE_DONE && !n->cut_pct)
		sonde_note_loss(&n->r->notes, "%s: %s; what comes before it is read", n->src->path,
			sqlite3_errmsg(n->db));
	sqlite3_finalize(q);
	return rc;
}

int sonde_nsys__select(struct nsys *n, const char *table, const char *columns, const char *where,
	int (*take)(struct nsys *, sqlite3_stmt *))
{
	struct sonde_str rest = sonde_str_from(columns), column;
	struct sonde_buf sql = {0};
	int rc;

	sonde_buf_puts(&sql, "SELECT ");
	while (rest.n) {
		column = sonde_str_cut(rest, ' ', &rest);
		if (has_column(n, table, column))
			sonde_buf_add(&sql, column.p, column.n);
		else
			sonde_buf_puts(&sql, "NULL");
		sonde_buf_puts(&sql, rest.n ? ", " : "");
	}
	sonde_buf_printf(&sql, " FROM %s WHERE %s", table, where);
	rc = sql.failed ? sonde_err_nomem(n->err) : sonde_nsys__read_rows(n, sql.p, take);
	sonde_buf_release(&sql);
	return rc;
}

int sonde_nsys__check_rows(struct nsys *n, size_t nr)
{
	if (nr <= n->src->file.data.n / MIN_ROW_BYTES)
		return 0;
	return sonde_err_set(n->err, SONDE_ERR_FORMAT,
		"%s: its tables have more rows than fit into a file of this size, because ids that should be "
		"unique are not: export it again",
		n->src->path);
}

/* --- an export that was not copied whole ----------------------------------------------------------- */

/*
 * The header says how many pages the file had; SQLite refuses to read a file with fewer. So SQLite gets a copy of the
 * file whose header has the number of pages that are there. Tables then give the rows before the first missing page.
 */
#define PAGE_SIZE  16 /* offset in the header: two bytes, 1 means 65536 */
#define PAGE_COUNT 28 /* offset in the header: four bytes */

static uint32_t number_at(struct sonde_str data, size_t at, size_t n)
{
	uint32_t v = 0;
	size_t i;

	for (i = 0; i < n; i++)
		v = v << 8 | (unsigned char)data.p[at + i];
	return v;
}

/* Makes `mended` if the file is shorter than its header says. */
static int mend_cut(struct nsys *n)
{
	struct sonde_source *src = n->src;
	struct sonde_str data = src->file.data;
	uint32_t size = number_at(data, PAGE_SIZE, 2), there;
	uint64_t whole;
	size_t i;

	size = size == 1 ? 65536 : size;
	whole = (uint64_t)number_at(data, PAGE_COUNT, 4) * size;
	if (size < 512 || size & (size - 1) || whole <= data.n)
		return 0;
	there = (uint32_t)(data.n / size);
	n->cut_pct = (double)data.n * 100 / (double)whole;
	sonde_buf_add(&n->mended, data.p, (size_t)there * size);
	if (n->mended.failed)
		return sonde_err_nomem(n->err);
	for (i = 0; i < 4 && there; i++)
		n->mended.p[PAGE_COUNT + i] = (char)(there >> (24 - 8 * i));
	return 0;
}

/* Adds the error or note about a file that was cut, after reading it returned `rc`. */
static int report_truncated(struct nsys *n, int rc)
{
	if (!n->cut_pct || (rc && rc != SONDE_ERR_FORMAT))
		return rc;
	n->src->says_cut = true;
	if (rc)
		return sonde_err_set(n->err, rc, "%s: truncated after %.0f %%; copy it again",
			n->src->path, n->cut_pct);
	sonde_note_loss(&n->r->notes, "%s: truncated after %.0f %%; copy it again", n->src->path,
		n->cut_pct);
	return 0;
}

/* --- the reader ------------------------------------------------------------------------------------ */

static int open_db(struct nsys *n)
{
	struct sonde_str data = n->mended.n ? sonde_buf_view(&n->mended) : n->src->file.data;

	if (sqlite3_open_v2(":memory:", &n->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
		    NULL) != SQLITE_OK ||
		sqlite3_deserialize(n->db, "main", (unsigned char *)(uintptr_t)data.p,
			(sqlite3_int64)data.n, (sqlite3_int64)data.n,
			SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		return refuse_db(n);
	sqlite3_exec(n->db,
		"PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY; "
		"PRAGMA cell_size_check=ON",
		NULL, NULL, NULL);
	if (!sonde_nsys__has(n, NSYS_EVENTS, "start") && !sonde_nsys__has(n, KERNELS, "start") &&
		!sonde_nsys__has(n, "StringIds", "id"))
		return sonde_err_set(n->err, SONDE_ERR_FORMAT,
			"%s: an SQLite file, but not an export of Nsight Systems: `nsys export --type "
			"sqlite` makes one",
			n->src->path);
	if (sonde_nsys__has(n, "StringIds", "id value") &&
		sqlite3_prepare_v2(n->db, "SELECT value FROM StringIds WHERE id=?1", -1, &n->find_text,
			NULL) != SQLITE_OK)
		return refuse_db(n);
	return 0;
}

/* Registers the metrics that an export has: times, and bytes of copies. */
static int open_metrics(struct nsys *n)
{
	const bool has[NR_LAUNCH_METRICS] = {[LAUNCH_TIME] = true,
		[LAUNCH_BYTES] = sonde_nsys__has(n, "CUPTI_ACTIVITY_KIND_MEMCPY", "bytes") ||
				 sonde_nsys__has(n, "CUPTI_ACTIVITY_KIND_MEMSET", "bytes")};

	sonde_launch_metrics__add(n->src->state, n->r, has);
	return 0;
}

static int read_all(struct nsys *n)
{
	static int (*const steps[])(struct nsys *) = {open_metrics, sonde_nsys__read_ranges,
		sonde_nsys__read_launches, sonde_nsys__open_ranges,
		sonde_nsys__read_facts, sonde_nsys__read_metrics};
	size_t i;
	int rc = 0;

	for (i = 0; i < sizeof(steps) / sizeof(*steps) && rc == 0; i++) {
		n->src->work.failed |= n->texts_rc == SQLITE_NOMEM;
		rc = sonde_source__status(n->src, n->r, n->err);
		rc = rc ? rc : steps[i](n);
	}
	note_bad_times(n);
	if (rc == 0 && n->texts_rc && !n->cut_pct)
		sonde_note_loss(&n->r->notes, "%s: %s; some names are missing", n->src->path,
			sqlite3_errstr(n->texts_rc));
	return rc;
}

static int read_export(struct sonde_source *src, struct sonde_records *records, struct sonde_err *err)
{
	struct nsys n = {.src = src, .r = records, .err = err, .process = SONDE_NONE};
	int rc = mend_cut(&n);

	if (rc == 0)
		rc = open_db(&n);
	if (rc == 0)
		rc = read_all(&n);
	rc = report_truncated(&n, rc);
	sqlite3_finalize(n.find_text);
	sqlite3_close(n.db);
	sonde_buf_release(&n.mended);
	return rc;
}

static int nsys_values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct sonde_launch_metrics *m = src->state;

	(void)err;
	if (rec->time.end_ns)
		sonde_launch_metrics__set(
			m, v, LAUNCH_TIME, (double)(rec->time.end_ns - rec->time.start_ns));
	if (rec->kind != SONDE_RESULT_KERNEL)
		sonde_launch_metrics__set(m, v, LAUNCH_BYTES, (double)rec->payload);
	return 0;
}

const struct sonde_source_ops sonde_source_nsys_sqlite = {
	.name = "nsys-sqlite",
	.state_bytes = sizeof(struct sonde_launch_metrics),
	.knows = knows_nsys,
	.read = read_export,
	.values = nsys_values,
};
