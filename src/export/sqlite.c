/*
 * A SQLite database: the report as tables to query. docs/formats.md describes
 * the schema.
 */
#include "export/format.h"
#include "export/sqlite_int.h"
#include "tree/entries.h"

#include <stdio.h>

static const char schema[] =
	"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA user_version=1;"
	"CREATE TABLE info (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
	"CREATE TABLE notes (note TEXT NOT NULL);"
	"CREATE TABLE scopes (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, is_aggregate "
	"INTEGER NOT NULL, measured TEXT NOT NULL, process_id INTEGER, device INTEGER, launches "
	"INTEGER NOT NULL, total_ms REAL, outside_launches INTEGER NOT NULL, outside_ms REAL);"
	"CREATE TABLE streams (region INTEGER NOT NULL REFERENCES regions, context INTEGER NOT "
	"NULL, stream INTEGER NOT NULL, launches INTEGER NOT NULL, total_ms REAL, busy_ms REAL);"
	"CREATE TABLE entries (region INTEGER NOT NULL REFERENCES regions, step INTEGER NOT NULL, "
	"begin_ms REAL NOT NULL, host_ms REAL NOT NULL, gpu_ms REAL NOT NULL, span_ms REAL NOT "
	"NULL, label TEXT, sm_active_pct REAL, sm_active_error REAL, tensor_pct REAL, "
	"tensor_error REAL, dram_pct REAL, dram_error REAL);"
	"CREATE TABLE kernels (id INTEGER PRIMARY KEY, scope INTEGER NOT NULL REFERENCES scopes, "
	"region INTEGER REFERENCES regions, name TEXT NOT NULL, calls INTEGER NOT NULL, total_ms "
	"REAL, mean_ms REAL);"
	"CREATE TABLE metric_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, unit TEXT "
	"NOT NULL, method TEXT NOT NULL, quality TEXT NOT NULL);"
	"CREATE TABLE metrics (scope INTEGER NOT NULL REFERENCES scopes, part TEXT NOT NULL, "
	"region INTEGER REFERENCES regions, kernel INTEGER REFERENCES kernels, metric INTEGER NOT "
	"NULL REFERENCES metric_names, value, low REAL, high REAL, method TEXT NOT NULL, quality "
	"TEXT NOT NULL, error REAL);"
	"CREATE TABLE launches (id INTEGER PRIMARY KEY, scope INTEGER REFERENCES scopes, kernel "
	"TEXT NOT NULL, state TEXT NOT NULL, thread INTEGER, stream INTEGER, context INTEGER, "
	"start_ns INTEGER, end_ns INTEGER);"
	"CREATE TABLE launch_regions (launch INTEGER NOT NULL REFERENCES launches, region TEXT "
	"NOT NULL);";

static const char indexes[] =
	"CREATE INDEX regions_by_id ON regions (scope, region_id);"
	"CREATE INDEX regions_by_parent ON regions (parent);"
	"CREATE INDEX streams_by_region ON streams (region);"
	"CREATE INDEX entries_by_region ON entries (region);"
	"CREATE INDEX kernels_by_region ON kernels (region);"
	"CREATE INDEX kernels_by_name ON kernels (name);"
	"CREATE INDEX metrics_by_region ON metrics (region, metric);"
	"CREATE INDEX metrics_by_kernel ON metrics (kernel, metric) WHERE kernel IS NOT NULL;"
	"CREATE INDEX launches_by_kernel ON launches (kernel);"
	"CREATE INDEX launch_regions_by_region ON launch_regions (region);"
	"CREATE VIEW region_metrics AS SELECT s.name AS scope, r.region_id, r.name, m.part, "
	"n.name AS metric, m.value, n.unit, m.method, m.quality FROM metrics m JOIN metric_names "
	"n ON n.id = m.metric JOIN regions r ON r.id = m.region JOIN scopes s ON s.id = m.scope "
	"WHERE m.kernel IS NULL;";

static void fail(struct sonde_db *d)
{
	d->rc = sonde_err_set(d->err, SONDE_ERR_IO, "%s: %s", d->path,
		d->db ? sqlite3_errmsg(d->db) : "SQLite cannot open it");
}

static void execute(struct sonde_db *d, const char *sql)
{
	if (d->rc == 0 && sqlite3_exec(d->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail(d);
}

static void bind(sqlite3_stmt *s, int at, const struct sonde_db_value *v)
{
	size_t n = v->text.n < INT32_MAX ? v->text.n : INT32_MAX;

	if (v->is_null)
		sqlite3_bind_null(s, at);
	else if (v->type == SQLITE_INTEGER)
		sqlite3_bind_int64(s, at, v->i);
	else if (v->type == SQLITE_FLOAT) /* NaN is NULL to SQLite */
		sqlite3_bind_double(s, at, v->v);
	else
		sqlite3_bind_text(s, at, v->text.p, (int)n, SQLITE_STATIC); /* so is p NULL */
}

void sonde_db__insert(struct sonde_db *d, enum sonde_db_insert into, const struct sonde_db_value *values, size_t nr)
{
	sqlite3_stmt *s = d->insert[into];
	size_t i;

	if (d->rc)
		return;
	for (i = 0; i < nr; i++)
		bind(s, (int)i + 1, &values[i]);
	if (sqlite3_step(s) != SQLITE_DONE)
		fail(d);
	sqlite3_reset(s);
}

/* The numbers of `regions` are those of the column table. */
static void create(struct sonde_db *d)
{
	struct sonde_buf sql = {0};
	size_t i;

	execute(d, schema);
	sonde_buf_puts(&sql,
		"CREATE TABLE regions (id INTEGER PRIMARY KEY, scope INTEGER NOT NULL REFERENCES "
		"scopes,"
		" region_id TEXT NOT NULL, name TEXT NOT NULL, parent INTEGER REFERENCES regions,"
		" depth INTEGER NOT NULL, domain TEXT, kind TEXT NOT NULL, limiter TEXT, bound "
		"TEXT, slowest_rank TEXT");
	for (i = 0; i < sonde_nr_fields; i++)
		sonde_buf_printf(&sql, ", %s %s", sonde_fields[i].csv,
			sonde_fields[i].form == SONDE_FIELD_COUNT ? "INTEGER" : "REAL");
	sonde_buf_puts(&sql, "); BEGIN;");
	if (sql.failed)
		d->rc = sonde_err_nomem(d->err);
	execute(d, sql.p);
	sonde_buf_release(&sql);
}

static void prepare(struct sonde_db *d)
{
	static const struct {
		const char *table;
		size_t nr_values;
	} tables[SONDE_DB_NR] = {[SONDE_DB_INFO] = {"info", 2}, [SONDE_DB_NOTE] = {"notes", 1},
		[SONDE_DB_SCOPE] = {"scopes", 10}, [SONDE_DB_REGION] = {"regions", SONDE_DB_NR_WORDS},
		[SONDE_DB_STREAM] = {"streams", 6}, [SONDE_DB_ENTRY] = {"entries", 13},
		[SONDE_DB_KERNEL] = {"kernels", 7}, [SONDE_DB_NAME] = {"metric_names", 5},
		[SONDE_DB_METRIC] = {"metrics", 11}, [SONDE_DB_LAUNCH] = {"launches", 9},
		[SONDE_DB_LAUNCH_REGION] = {"launch_regions", 2}};
	struct sonde_buf sql = {0};
	size_t i, k, nr;

	for (i = 0; i < SONDE_DB_NR && d->rc == 0; i++) {
		nr = tables[i].nr_values + (i == SONDE_DB_REGION ? sonde_nr_fields : 0);
		sonde_buf_clear(&sql);
		sonde_buf_printf(&sql, "INSERT OR %s INTO %s VALUES (?", i == SONDE_DB_INFO ? "IGNORE" : "ABORT",
			tables[i].table);
		for (k = 1; k < nr; k++)
			sonde_buf_puts(&sql, ",?");
		sonde_buf_putc(&sql, ')');
		if (sql.failed)
			d->rc = sonde_err_nomem(d->err);
		else if (sqlite3_prepare_v2(d->db, sql.p, -1, &d->insert[i], NULL) != SQLITE_OK)
			fail(d);
	}
	sonde_buf_release(&sql);
}

static void put_info(struct sonde_db *d, const char *key, struct sonde_str value)
{
	if (value.n)
		SONDE_DB_ROW(d, SONDE_DB_INFO, SONDE_DB_WORD(key), SONDE_DB_TEXT(value));
}

static void write_head(struct sonde_db *d, const struct sonde_export_options *o)
{
	const struct sonde_cells *r = d->tree->cells;
	char text[32];
	size_t i;

	put_info(d, "generator", SONDE_STR("sonde " SONDE_VERSION));
	snprintf(text, sizeof(text), "xxh3:%016llx", (unsigned long long)d->tree->fingerprint);
	put_info(d, "config_fingerprint", sonde_str_from(text));
	put_info(d, "generated_at", sonde_str_from(o->generated_at));
	put_info(d, "config", sonde_str_from(o->config));
	for (i = 0; i < r->inputs.nr; i++) {
		snprintf(text, sizeof(text), "file.%zu", i + 1);
		put_info(d, text, r->inputs.at[i].path);
	}
	if (r->inputs.nr) {
		put_info(d, "tool", r->inputs.at[0].tool);
		put_info(d, "command", r->inputs.at[0].command);
	}
	for (i = 0; i < d->tree->notes.texts.nr; i++)
		SONDE_DB_ROW(d, SONDE_DB_NOTE, SONDE_DB_TEXT(d->tree->notes.texts.keys[i]));
}

static void write_all(struct sonde_db *d, const struct sonde_export_options *o)
{
	create(d);
	prepare(d);
	write_head(d, o);
	sonde_db__put_reports(d, o);
	sonde_db__put_launches(d);
	execute(d, indexes);
	execute(d, "COMMIT;");
}

/* The sink's file is empty and ours; SQLite fills it, and closing the sink gives it its name. */
int sonde_export_sqlite(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_db d = {.tree = t, .path = to->path.p, .err = err, .first_ns = sonde_entries_first_ns(t)};
	size_t i;

	d.rc = sonde_figures_init(&d.figures, t, err);
	if (d.rc == 0 && sqlite3_open_v2(sonde_sink_file(to), &d.db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		fail(&d);
	write_all(&d, o);
	for (i = 0; i < SONDE_DB_NR; i++)
		sqlite3_finalize(d.insert[i]);
	if (sqlite3_close(d.db) != SQLITE_OK && d.rc == 0)
		fail(&d);
	sonde_figures_release(&d.figures);
	return d.rc;
}
