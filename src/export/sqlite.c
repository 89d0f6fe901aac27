/*
 * A SQLite database: the report as tables to query. docs/formats.md describes
 * the schema.
 */
#include "export/format.h"
#include "export/sqlite_int.h"
#include "tree/entries.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char schema[] =
	"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA user_version=1;"
	"CREATE TABLE info (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
	"CREATE TABLE notes (note TEXT NOT NULL);"
	"CREATE TABLE scopes (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, is_aggregate "
	"INTEGER NOT NULL,"
	" measured TEXT NOT NULL, process_id INTEGER, device INTEGER, launches INTEGER NOT NULL, "
	"total_ms REAL,"
	" outside_launches INTEGER NOT NULL, outside_ms REAL);"
	"CREATE TABLE streams (region INTEGER NOT NULL REFERENCES regions, context INTEGER NOT "
	"NULL, stream INTEGER NOT NULL, launches INTEGER NOT NULL, total_ms REAL, busy_ms REAL);"
	"CREATE TABLE entries (region INTEGER NOT NULL REFERENCES regions, step INTEGER NOT NULL,"
	" begin_ms REAL NOT NULL, host_ms REAL NOT NULL, gpu_ms REAL NOT NULL, span_ms REAL NOT NULL,"
	" label TEXT, sm_active_pct REAL, sm_active_error REAL, tensor_pct REAL, tensor_error REAL, dram_pct REAL,"
	" dram_error REAL);"
	"CREATE TABLE kernels (id INTEGER PRIMARY KEY, scope INTEGER NOT NULL REFERENCES scopes,"
	" region INTEGER REFERENCES regions, name TEXT NOT NULL, calls INTEGER NOT NULL, total_ms "
	"REAL, mean_ms REAL);"
	"CREATE TABLE metric_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, unit TEXT "
	"NOT NULL,"
	" method TEXT NOT NULL, quality TEXT NOT NULL);"
	"CREATE TABLE metrics (scope INTEGER NOT NULL REFERENCES scopes, part TEXT NOT NULL,"
	" region INTEGER REFERENCES regions, kernel INTEGER REFERENCES kernels,"
	" metric INTEGER NOT NULL REFERENCES metric_names, value, low REAL, high REAL,"
	" method TEXT NOT NULL, quality TEXT NOT NULL, error REAL);"
	"CREATE TABLE launches (id INTEGER PRIMARY KEY, scope INTEGER REFERENCES scopes, kernel "
	"TEXT NOT NULL,"
	" state TEXT NOT NULL, thread INTEGER, stream INTEGER, context INTEGER, start_ns INTEGER, "
	"end_ns INTEGER);"
	"CREATE TABLE launch_regions (launch INTEGER NOT NULL REFERENCES launches, region TEXT NOT "
	"NULL);";

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
	"CREATE VIEW region_metrics AS SELECT s.name AS scope, r.region_id, r.name, m.part, n.name "
	"AS metric,"
	" m.value, n.unit, m.method, m.quality FROM metrics m JOIN metric_names n ON n.id = "
	"m.metric"
	" JOIN regions r ON r.id = m.region JOIN scopes s ON s.id = m.scope WHERE m.kernel IS "
	"NULL;";

static int fail(struct sonde_db *d)
{
	return sonde_err_set(d->err, SONDE_ERR_IO, "%s: %s", d->path,
		d->db ? sqlite3_errmsg(d->db) : "SQLite cannot open it");
}

static int execute(struct sonde_db *d, const char *sql)
{
	return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(d);
}

void sonde_db__text(sqlite3_stmt *s, int at, struct sonde_str text)
{
	if (text.p)
		sqlite3_bind_text(s, at, text.p, (int)(text.n < INT32_MAX ? text.n : INT32_MAX),
			SQLITE_STATIC);
	else
		sqlite3_bind_null(s, at);
}

void sonde_db__z(sqlite3_stmt *s, int at, const char *z)
{
	sonde_db__text(s, at, sonde_str_from(z));
}

void sonde_db__number(sqlite3_stmt *s, int at, double v)
{
	if (isnan(v))
		sqlite3_bind_null(s, at);
	else
		sqlite3_bind_double(s, at, v);
}

int sonde_db__step(struct sonde_db *d, sqlite3_stmt *s)
{
	int rc = sqlite3_step(s);

	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return rc == SQLITE_DONE ? 0 : fail(d);
}

/* The numbers of `regions` are those of the column table. */
static int create(struct sonde_db *d)
{
	struct sonde_buf sql = {0};
	size_t i;
	int rc = execute(d, schema);

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
	if (rc == 0)
		rc = sql.failed ? sonde_err_nomem(d->err) : execute(d, sql.p);
	sonde_buf_release(&sql);
	return rc;
}

static int prepare(struct sonde_db *d)
{
	static const char *const inserts[SONDE_DB_NR] = {
		[SONDE_DB_INFO] = "INSERT OR IGNORE INTO info VALUES (?,?)",
		[SONDE_DB_NOTE] = "INSERT INTO notes VALUES (?)",
		[SONDE_DB_SCOPE] = "INSERT INTO scopes VALUES (?,?,?,?,?,?,?,?,?,?)",
		[SONDE_DB_STREAM] = "INSERT INTO streams VALUES (?,?,?,?,?,?)",
		[SONDE_DB_ENTRY] = "INSERT INTO entries VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
		[SONDE_DB_KERNEL] = "INSERT INTO kernels VALUES (?,?,?,?,?,?,?)",
		[SONDE_DB_NAME] = "INSERT INTO metric_names VALUES (?,?,?,?,?)",
		[SONDE_DB_METRIC] = "INSERT INTO metrics VALUES (?,?,?,?,?,?,?,?,?,?,?)",
		[SONDE_DB_LAUNCH] = "INSERT INTO launches VALUES (?,?,?,?,?,?,?,?,?)",
		[SONDE_DB_LAUNCH_REGION] = "INSERT INTO launch_regions VALUES (?,?)",
	};
	struct sonde_buf sql = {0};
	size_t i;
	int rc = SQLITE_OK;

	for (i = 0; i < SONDE_DB_NR && rc == SQLITE_OK; i++)
		if (inserts[i])
			rc = sqlite3_prepare_v2(d->db, inserts[i], -1, &d->insert[i], NULL);
	sonde_buf_puts(&sql, "INSERT INTO regions VALUES (?,?,?,?,?,?,?,?,?,?,?");
	for (i = 0; i < sonde_nr_fields; i++)
		sonde_buf_puts(&sql, ",?");
	sonde_buf_putc(&sql, ')');
	if (rc == SQLITE_OK && !sql.failed)
		rc = sqlite3_prepare_v2(d->db, sql.p, -1, &d->insert[SONDE_DB_REGION], NULL);
	rc = sql.failed ? sonde_err_nomem(d->err) : rc == SQLITE_OK ? 0 : fail(d);
	sonde_buf_release(&sql);
	return rc;
}

static int put_info(struct sonde_db *d, const char *key, struct sonde_str value)
{
	sqlite3_stmt *s = d->insert[SONDE_DB_INFO];

	if (!value.n)
		return 0;
	sonde_db__z(s, 1, key);
	sonde_db__text(s, 2, value);
	return sonde_db__step(d, s);
}

static int write_head(struct sonde_db *d, const struct sonde_export_options *o)
{
	const struct sonde_cells *r = d->tree->cells;
	char fingerprint[32];
	size_t i;
	int rc = put_info(d, "generator", SONDE_STR("sonde " SONDE_VERSION));

	snprintf(fingerprint, sizeof(fingerprint), "xxh3:%016llx",
		(unsigned long long)d->tree->fingerprint);
	if (rc == 0)
		rc = put_info(d, "config_fingerprint", sonde_str_from(fingerprint));
	if (rc == 0)
		rc = put_info(d, "generated_at", sonde_str_from(o->generated_at));
	if (rc == 0)
		rc = put_info(d, "config", sonde_str_from(o->config));
	for (i = 0; i < r->inputs.nr && rc == 0; i++) {
		char key[32];

		snprintf(key, sizeof(key), "file.%zu", i + 1);
		rc = put_info(d, key, r->inputs.at[i].path);
	}
	if (rc == 0 && r->inputs.nr)
		rc = put_info(d, "tool", r->inputs.at[0].tool);
	if (rc == 0 && r->inputs.nr)
		rc = put_info(d, "command", r->inputs.at[0].command);
	for (i = 0; i < d->tree->notes.texts.nr && rc == 0; i++) {
		sonde_db__text(d->insert[SONDE_DB_NOTE], 1, d->tree->notes.texts.keys[i]);
		rc = sonde_db__step(d, d->insert[SONDE_DB_NOTE]);
	}
	return rc;
}

static int write_all(struct sonde_db *d, const struct sonde_export_options *o)
{
	int rc = create(d);

	if (rc == 0)
		rc = prepare(d);
	if (rc == 0)
		rc = write_head(d, o);
	if (rc == 0)
		rc = sonde_db__reports(d, o);
	if (rc == 0)
		rc = sonde_db__launches(d);
	if (rc == 0)
		rc = execute(d, indexes);
	return rc ? rc : execute(d, "COMMIT;");
}

/* The sink's file is empty and ours; SQLite fills it, and closing the sink gives it its name. */
int sonde_export_sqlite(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_db d = {.tree = t, .path = to->path.p, .err = err, .first_ns = sonde_entries_first_ns(t)};
	size_t i;
	int rc = sonde_figures_init(&d.figures, t, err);

	if (rc == 0)
		rc = sqlite3_open_v2(sonde_sink_file(to), &d.db, SQLITE_OPEN_READWRITE, NULL) ==
				     SQLITE_OK
			     ? write_all(&d, o)
			     : fail(&d);
	for (i = 0; i < SONDE_DB_NR; i++)
		sqlite3_finalize(d.insert[i]);
	if (sqlite3_close(d.db) != SQLITE_OK && rc == 0)
		rc = fail(&d);
	sonde_figures_release(&d.figures);
	return rc;
}
