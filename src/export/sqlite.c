/*
 * A SQLite database: the report as tables to query. docs/formats.md describes
 * the schema.
 */
#include "export/format.h"

#include "base/alloc.h"
#include "catalogue/stall_reasons.h"
#include "read/arguments.h"
#include "tree/entries.h"
#include "tree/hot_lines.h"
#include "tree/stall_profile.h"
#include "export/field.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* The tables, in the order in which they are created. */
enum sonde_db_table {
	SONDE_DB_INFO,
	SONDE_DB_NOTE,
	SONDE_DB_SCOPE,
	SONDE_DB_STREAM,
	SONDE_DB_ENTRY,
	SONDE_DB_KERNEL,
	SONDE_DB_NAME,
	SONDE_DB_METRIC,
	SONDE_DB_LAUNCH,
	SONDE_DB_LAUNCH_REGION,
	SONDE_DB_STALL,
	SONDE_DB_LINE,
	SONDE_DB_REGION,
	SONDE_DB_NR,
};

/* The columns of the tables: an inserted row has a value for each, in this order. */
static const struct {
	const char *name, *columns;
} tables[SONDE_DB_NR] = {
	[SONDE_DB_INFO] = {"info", "key TEXT PRIMARY KEY, value TEXT"},
	[SONDE_DB_NOTE] = {"notes", "note TEXT NOT NULL"},
	[SONDE_DB_SCOPE] = {"scopes",
		"id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, is_aggregate INTEGER NOT NULL, measured TEXT NOT NULL, "
		"process_id INTEGER, device INTEGER, launches INTEGER NOT NULL, total_ms REAL, "
		"outside_launches INTEGER NOT NULL, outside_ms REAL"},
	[SONDE_DB_STREAM] = {"streams",
		"region INTEGER NOT NULL REFERENCES regions, context INTEGER NOT NULL, stream INTEGER NOT NULL, "
		"launches INTEGER NOT NULL, total_ms REAL, busy_ms REAL"},
	[SONDE_DB_ENTRY] = {"entries",
		"region INTEGER NOT NULL REFERENCES regions, step INTEGER NOT NULL, begin_ms REAL NOT NULL, wall_ms REAL, "
		"host_ms REAL NOT NULL, gpu_ms REAL NOT NULL, span_ms REAL NOT NULL, label TEXT, arguments TEXT, sm_active_pct REAL, "
		"sm_active_error REAL, tensor_pct REAL, tensor_error REAL, dram_pct REAL, dram_error REAL"},
	[SONDE_DB_KERNEL] = {"kernels",
		"id INTEGER PRIMARY KEY, scope INTEGER NOT NULL REFERENCES scopes, region INTEGER REFERENCES regions, "
		"name TEXT NOT NULL, calls INTEGER NOT NULL, total_ms REAL, mean_ms REAL"},
	[SONDE_DB_NAME] = {"metric_names",
		"id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, unit TEXT NOT NULL, method TEXT NOT NULL, "
		"quality TEXT NOT NULL"},
	[SONDE_DB_METRIC] = {"metrics",
		"scope INTEGER NOT NULL REFERENCES scopes, part TEXT NOT NULL, region INTEGER REFERENCES regions, "
		"kernel INTEGER REFERENCES kernels, metric INTEGER NOT NULL REFERENCES metric_names, value, low REAL, "
		"high REAL, method TEXT NOT NULL, quality TEXT NOT NULL, error REAL"},
	[SONDE_DB_LAUNCH] = {"launches",
		"id INTEGER PRIMARY KEY, scope INTEGER REFERENCES scopes, kernel TEXT NOT NULL, state TEXT NOT NULL, "
		"thread INTEGER, stream INTEGER, context INTEGER, start_ns INTEGER, end_ns INTEGER"},
	[SONDE_DB_LAUNCH_REGION] = {"launch_regions",
		"launch INTEGER NOT NULL REFERENCES launches, region TEXT NOT NULL"},
	[SONDE_DB_STALL] = {"stalls",
		"scope INTEGER NOT NULL REFERENCES scopes, part TEXT NOT NULL, region INTEGER REFERENCES regions, "
		"kernel INTEGER REFERENCES kernels, reason TEXT NOT NULL, words TEXT NOT NULL, share_pct REAL NOT NULL, "
		"samples REAL NOT NULL, not_issued REAL NOT NULL, method TEXT NOT NULL"},
	[SONDE_DB_LINE] = {"lines",
		"kernel INTEGER NOT NULL REFERENCES kernels, file TEXT NOT NULL, line INTEGER NOT NULL, samples REAL NOT NULL, "
		"share_pct REAL NOT NULL, reason TEXT, callers TEXT"},
	[SONDE_DB_REGION] = {"regions", /* the fields of the column table follow */
		"id INTEGER PRIMARY KEY, scope INTEGER NOT NULL REFERENCES scopes, region_id TEXT NOT NULL, "
		"name TEXT NOT NULL, parent INTEGER REFERENCES regions, depth INTEGER NOT NULL, domain TEXT, "
		"kind TEXT NOT NULL, limiter TEXT, bound TEXT, slowest_rank TEXT"},
};
#define SONDE_DB_NR_WORDS 11 /* columns of `regions` before those of the column table */

struct sonde_db {
	sqlite3 *db;
	sqlite3_stmt *insert[SONDE_DB_NR];
	const struct sonde_tree *tree;
	struct sonde_figures figures;
	const char *path;
	uint64_t first_ns; /* when the first range was entered */
	int64_t nr_regions, nr_kernels; /* number of rows so far, which is the last id */
	int rc; /* the first error, with `err` filled in; after it nothing is inserted */
	struct sonde_err *err;
};

/* A value of a row: SQL NULL if there is no id (0), number (NaN) or text (p NULL). */
struct sonde_db_value {
	int type; /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT */
	int64_t i;
	double v;
	struct sonde_str text; /* borrowed until the row is inserted */
	bool is_null;
};
#define SONDE_DB_ID(id)	    ((struct sonde_db_value){.type = SQLITE_INTEGER, .i = (id), .is_null = !(id)})
#define SONDE_DB_INT(n)	    ((struct sonde_db_value){.type = SQLITE_INTEGER, .i = (int64_t)(n)})
#define SONDE_DB_REAL(x)    ((struct sonde_db_value){.type = SQLITE_FLOAT, .v = (x)})
#define SONDE_DB_TEXT(s)    ((struct sonde_db_value){.type = SQLITE_TEXT, .text = (s)})
#define SONDE_DB_WORD(z)    SONDE_DB_TEXT(sonde_str_from(z))

/* Inserts a row of these values. */
#define SONDE_DB_ROW(d, into, ...)                                                                 \
	insert_row(d, into, (const struct sonde_db_value[]){__VA_ARGS__},                    \
		sizeof((const struct sonde_db_value[]){__VA_ARGS__}) / sizeof(struct sonde_db_value))

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

static void bind_value(sqlite3_stmt *s, int at, const struct sonde_db_value *v)
{
	size_t n = v->text.n < INT32_MAX ? v->text.n : INT32_MAX;

	if (v->is_null)
		sqlite3_bind_null(s, at);
	else if (v->type == SQLITE_INTEGER)
		sqlite3_bind_int64(s, at, v->i);
	else if (v->type == SQLITE_FLOAT) /* SQLite takes NaN for NULL */
		sqlite3_bind_double(s, at, v->v);
	else
		sqlite3_bind_text(s, at, v->text.p, (int)n, SQLITE_STATIC); /* and p NULL, too */
}

static void insert_row(struct sonde_db *d, enum sonde_db_table into, const struct sonde_db_value *values, size_t nr)
{
	sqlite3_stmt *s = d->insert[into];
	size_t i;

	if (d->rc)
		return;
	for (i = 0; i < nr; i++)
		bind_value(s, (int)i + 1, &values[i]);
	if (sqlite3_step(s) != SQLITE_DONE)
		fail(d);
	sqlite3_reset(s);
}

static void create_table(struct sonde_db *d, enum sonde_db_table table)
{
	struct sonde_buf sql = {0};
	size_t i;

	sonde_buf_printf(&sql, "CREATE TABLE %s (%s", tables[table].name, tables[table].columns);
	for (i = 0; table == SONDE_DB_REGION && i < sonde_nr_fields; i++)
		sonde_buf_printf(&sql, ", %s %s", sonde_fields[i].csv,
			sonde_fields[i].form == SONDE_FIELD_COUNT ? "INTEGER" : "REAL");
	sonde_buf_puts(&sql, table == SONDE_DB_INFO ? ") WITHOUT ROWID" : ")");
	if (d->rc == 0 && sql.failed)
		d->rc = sonde_err_nomem(d->err);
	execute(d, sql.p);
	sonde_buf_release(&sql);
}

/* If `info` gets a key twice, the first value stays. */
static void prepare_insert(struct sonde_db *d, enum sonde_db_table table)
{
	size_t nr = table == SONDE_DB_REGION ? sonde_nr_fields : 0;
	struct sonde_buf sql = {0};
	const char *comma;

	for (comma = tables[table].columns; comma; comma = strchr(comma + 1, ','))
		nr++;
	sonde_buf_printf(&sql, "INSERT OR %s INTO %s VALUES (?", table == SONDE_DB_INFO ? "IGNORE" : "ABORT",
		tables[table].name);
	while (--nr > 0)
		sonde_buf_puts(&sql, ",?");
	sonde_buf_putc(&sql, ')');
	if (d->rc == 0 && sql.failed)
		d->rc = sonde_err_nomem(d->err);
	if (d->rc == 0 && sqlite3_prepare_v2(d->db, sql.p, -1, &d->insert[table], NULL) != SQLITE_OK)
		fail(d);
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

/* The owner of a row of figures; 0 = none. */
struct owner {
	int64_t scope, region, kernel;
	const char *part;
};

/* Writes the figures in d->figures; missing ones have no row. */
static void put_figures(struct sonde_db *d, const struct owner *o)
{
	size_t i;

	for (i = 0; i < d->tree->columns.nr; i++) {
		const struct sonde_column *c = &d->tree->columns.at[i];
		const struct sonde_figure *f = &d->figures.at[i];

		if (c->is_text ? !f->text.p : isnan(f->v))
			continue;
		SONDE_DB_ROW(d, SONDE_DB_METRIC, SONDE_DB_ID(o->scope), SONDE_DB_WORD(o->part),
			SONDE_DB_ID(o->region), SONDE_DB_ID(o->kernel), SONDE_DB_INT(i + 1),
			c->is_text ? SONDE_DB_TEXT(f->text) : SONDE_DB_REAL(f->v),
			SONDE_DB_REAL(f->low), SONDE_DB_REAL(f->high),
			SONDE_DB_WORD(c->methods[f->method]),
			SONDE_DB_WORD(sonde_quality_name(f->quality)), SONDE_DB_REAL(f->error));
	}
}

/* An empty text is "", not NULL: the column is NOT NULL. */
static struct sonde_str never_null(struct sonde_str text)
{
	return text.n ? text : SONDE_STR("");
}

/* Writes why warps did not go on; nothing without samples. */
static void put_stalls(struct sonde_db *d, const struct sonde_report *r, const struct owner *o, enum sonde_part part, uint32_t index)
{
	struct sonde_stall_profile p = {0};
	size_t i;

	if (d->rc == 0 && !sonde_stall_profile_make(&p, d->tree, r, part, index))
		d->rc = sonde_err_nomem(d->err);
	for (i = 0; i < p.at.nr; i++) {
		const struct sonde_stall_share *s = &p.at.at[i];

		SONDE_DB_ROW(d, SONDE_DB_STALL, SONDE_DB_ID(o->scope), SONDE_DB_WORD(o->part), SONDE_DB_ID(o->region),
			SONDE_DB_ID(o->kernel), SONDE_DB_TEXT(never_null(s->name)), SONDE_DB_TEXT(never_null(sonde_stall_reason_words(s->name))),
			SONDE_DB_REAL(100 * s->share), SONDE_DB_REAL(s->samples), SONDE_DB_REAL(s->not_issued),
			SONDE_DB_WORD(sonde_stall_profile_is_exact(&p) ? "exact" : "by time"));
	}
	sonde_stall_profile_release(&p);
}

/* Puts "b.cu:6, b.cu:10": where a line was inlined, the innermost first; empty if it was not inlined. */
static void name_callers(struct sonde_buf *out, const struct sonde_cells *c, uint32_t line)
{
	uint32_t at;

	sonde_buf_clear(out);
	for (at = c->lines.at[line].caller; at != SONDE_NONE; at = c->lines.at[at].caller) {
		sonde_buf_puts(out, out->n ? ", " : "");
		sonde_buf_str(out, sonde_cells_str(c, c->lines.at[at].file));
		sonde_buf_printf(out, ":%u", c->lines.at[at].line);
	}
}

static void put_lines(struct sonde_db *d, const struct sonde_report *r, int64_t kernel, uint32_t index)
{
	const struct sonde_cells *c = d->tree->cells;
	struct sonde_hot_lines hot = {0};
	struct sonde_buf callers = {0};
	size_t i;

	if (d->rc == 0 && !sonde_hot_lines_make(&hot, d->tree, r, SONDE_PART_KERNEL, index))
		d->rc = sonde_err_nomem(d->err);
	for (i = 0; i < hot.at.nr && d->rc == 0; i++) {
		const struct sonde_hot_line *h = &hot.at.at[i];
		struct sonde_str reason = {0};

		name_callers(&callers, c, h->line);
		if (h->reason != SONDE_NONE)
			reason = sonde_cells_str(c, c->stall_reasons.at[h->reason]);
		SONDE_DB_ROW(d, SONDE_DB_LINE, SONDE_DB_ID(kernel), SONDE_DB_TEXT(never_null(sonde_cells_str(c, c->lines.at[h->line].file))),
			SONDE_DB_INT(c->lines.at[h->line].line), SONDE_DB_REAL(h->samples),
			SONDE_DB_REAL(100 * h->samples / hot.samples), SONDE_DB_TEXT(reason),
			SONDE_DB_TEXT(callers.n ? sonde_buf_view(&callers) : (struct sonde_str){0}));
	}
	if (d->rc == 0 && callers.failed)
		d->rc = sonde_err_nomem(d->err);
	sonde_buf_release(&callers);
	sonde_hot_lines_release(&hot);
}

static void put_kernels(struct sonde_db *d, const struct sonde_report *r, struct owner o,
	uint32_t first, uint32_t nr)
{
	uint32_t i;

	o.part = "kernel";
	for (i = first; i < first + nr; i++) {
		const struct sonde_kernel *k = &r->kernels.at[i];

		o.kernel = ++d->nr_kernels;
		SONDE_DB_ROW(d, SONDE_DB_KERNEL, SONDE_DB_ID(o.kernel), SONDE_DB_ID(o.scope),
			SONDE_DB_ID(o.region), SONDE_DB_TEXT(sonde_tree_str(d->tree, k->name)),
			SONDE_DB_INT(k->calls), SONDE_DB_REAL(k->time_ns / 1e6),
			SONDE_DB_REAL(sonde_kernel_mean_ms(k)));
		sonde_tree_values(d->tree, r, SONDE_PART_KERNEL, i, &d->figures);
		put_figures(d, &o);
		put_stalls(d, r, &o, SONDE_PART_KERNEL, i);
		put_lines(d, r, o.kernel, i);
	}
}

/* Ids of regions grow with the node number, so the parent's id follows from the child's. */
static void put_row(struct sonde_db *d, const struct sonde_report *r, uint32_t node, const struct owner *o)
{
	const struct sonde_node *n = &r->nodes.at[node];
	const struct sonde_region *region = sonde_node_region(d->tree, n);
	const struct sonde_db_value words[SONDE_DB_NR_WORDS] = {SONDE_DB_ID(o->region), SONDE_DB_ID(o->scope),
		SONDE_DB_TEXT(never_null(region->id)), SONDE_DB_TEXT(never_null(sonde_node_label(d->tree, n))),
		SONDE_DB_ID(n->parent == SONDE_NONE ? 0 : o->region - node + n->parent),
		SONDE_DB_INT(n->depth), SONDE_DB_TEXT(sonde_tree_str(d->tree, region->domain)),
		SONDE_DB_WORD(sonde_region_kind_name(region->kind)),
		SONDE_DB_WORD(sonde_limiter(d->tree, &d->figures)), SONDE_DB_WORD(sonde_bound(d->tree, &d->figures, n)),
		SONDE_DB_TEXT(sonde_slowest_rank(d->tree, r, n))};
	struct sonde_db_value *row = sonde_malloc(sizeof(words) + sonde_nr_fields * sizeof(*row));
	size_t i;

	if (!row) {
		d->rc = sonde_err_nomem(d->err);
		return;
	}
	for (i = 0; i < SONDE_DB_NR_WORDS; i++)
		row[i] = words[i];
	for (i = 0; i < sonde_nr_fields; i++)
		row[SONDE_DB_NR_WORDS + i] = SONDE_DB_REAL(sonde_field_number(&sonde_fields[i], r, n));
	insert_row(d, SONDE_DB_REGION, row, SONDE_DB_NR_WORDS + sonde_nr_fields);
	sonde_free(row);
}

static void put_streams(
	struct sonde_db *d, const struct sonde_report *r, const struct sonde_node *n, const struct owner *o)
{
	size_t i;

	for (i = 0; i < n->streams && r->streams.nr; i++) {
		const struct sonde_stream_work *s = &r->streams.at[n->first_stream + i];

		SONDE_DB_ROW(d, SONDE_DB_STREAM, SONDE_DB_ID(o->region), SONDE_DB_INT(s->context),
			SONDE_DB_INT(s->stream), SONDE_DB_INT(s->launches),
			SONDE_DB_REAL(s->time_ns / 1e6), SONDE_DB_REAL(s->busy_ns / 1e6));
	}
}

/* Only single scopes have entries: those of an aggregate would be the same ones again. */
static void put_entries(
	struct sonde_db *d, const struct sonde_report *r, const struct sonde_node *n, const struct owner *o)
{
	struct sonde_buf arguments = {0};
	struct sonde_entry_runs runs;
	size_t i;

	if (r->is_aggregate)
		return;
	if (!sonde_entry_runs_find(&runs, d->tree, r, n)) {
		d->rc = sonde_err_nomem(d->err);
		return;
	}
	for (i = 0; i < runs.nr_entries; i++) {
		const struct sonde_entry *e = &runs.at.at[0].at[i];
		const struct sonde_entry_load *load = sonde_cells_load(d->tree->cells, e);
		struct sonde_figure sm = sonde_load_figure(load, 0),
				    tensor = sonde_load_figure(load, 1),
				    dram = sonde_load_figure(load, 2);

		sonde_buf_clear(&arguments);
		if (e->arguments != SONDE_NONE)
			sonde_arguments_put_json(&arguments, sonde_tree_str(d->tree, e->arguments));

		SONDE_DB_ROW(d, SONDE_DB_ENTRY, SONDE_DB_ID(o->region), SONDE_DB_INT(runs.step),
			SONDE_DB_REAL((double)(e->begin_ns - d->first_ns) / 1e6),
			SONDE_DB_REAL(sonde_entry_wall_ms(e)), SONDE_DB_REAL((double)e->host_ns / 1e6),
			SONDE_DB_REAL((double)e->gpu_ns / 1e6),
			SONDE_DB_REAL((double)e->span_ns / 1e6),
			SONDE_DB_TEXT(sonde_tree_str(d->tree, e->label)),
			SONDE_DB_TEXT(e->arguments != SONDE_NONE ? sonde_buf_view(&arguments) : (struct sonde_str){0}),
			SONDE_DB_REAL(sm.v),
			SONDE_DB_REAL(sm.error), SONDE_DB_REAL(tensor.v), SONDE_DB_REAL(tensor.error),
			SONDE_DB_REAL(dram.v), SONDE_DB_REAL(dram.error));
	}
	if (arguments.failed)
		d->rc = sonde_err_nomem(d->err);
	sonde_buf_release(&arguments);
	sonde_entry_runs_release(&runs);
}

static void put_region(struct sonde_db *d, const struct sonde_report *r, uint32_t node, struct owner o)
{
	const struct sonde_node *n = &r->nodes.at[node];

	o.region = ++d->nr_regions;
	sonde_tree_values(d->tree, r, SONDE_PART_INCLUSIVE, node, &d->figures);
	put_row(d, r, node, &o);
	put_streams(d, r, n, &o);
	put_entries(d, r, n, &o);
	o.part = "inclusive";
	put_figures(d, &o);
	put_stalls(d, r, &o, SONDE_PART_INCLUSIVE, node);
	o.part = "exclusive";
	sonde_tree_values(d->tree, r, SONDE_PART_EXCLUSIVE, node, &d->figures);
	put_figures(d, &o);
	put_stalls(d, r, &o, SONDE_PART_EXCLUSIVE, node);
	put_kernels(d, r, o, n->first_kernel, n->nr_kernels);
}

static void put_scope(struct sonde_db *d, const struct sonde_report *r, int64_t id)
{
	const struct sonde_scope *scope = sonde_report_scope(d->tree, r);
	const struct sonde_db_value none = {.is_null = true};

	SONDE_DB_ROW(d, SONDE_DB_SCOPE, SONDE_DB_ID(id), SONDE_DB_TEXT(r->name),
		SONDE_DB_INT(r->is_aggregate), SONDE_DB_WORD(sonde_measured_name(r->measured)),
		scope ? SONDE_DB_INT(d->tree->cells->processes.at[scope->process].pid) : none,
		scope && scope->device != SONDE_NONE ? SONDE_DB_INT(scope->device) : none,
		SONDE_DB_INT(r->launches), SONDE_DB_REAL(r->time_ns / 1e6),
		SONDE_DB_INT(r->outside_launches), SONDE_DB_REAL(r->outside_time_ns / 1e6));
}

static void put_report(struct sonde_db *d, const struct sonde_report *r, int64_t id)
{
	struct owner o = {.scope = id, .part = "total"};
	size_t i;

	put_scope(d, r, id);
	for (i = 0; i < r->nodes.nr && d->rc == 0; i++)
		put_region(d, r, (uint32_t)i, o);
	sonde_tree_values(d->tree, r, SONDE_PART_TOTAL, 0, &d->figures);
	put_figures(d, &o);
	put_stalls(d, r, &o, SONDE_PART_TOTAL, 0);
	o.part = "outside";
	sonde_tree_values(d->tree, r, SONDE_PART_OUTSIDE, 0, &d->figures);
	put_figures(d, &o);
	put_kernels(d, r, o, r->outside_first_kernel, r->nr_outside_kernels);
}

static void put_reports(struct sonde_db *d, const struct sonde_export_options *o)
{
	size_t i;

	for (i = 0; i < d->tree->columns.nr; i++) {
		const struct sonde_column *c = &d->tree->columns.at[i];

		SONDE_DB_ROW(d, SONDE_DB_NAME, SONDE_DB_INT(i + 1), SONDE_DB_TEXT(c->name),
			SONDE_DB_WORD(c->unit), SONDE_DB_WORD(c->methods[0]),
			SONDE_DB_WORD(sonde_quality_name(c->quality)));
	}
	for (i = 0; i < d->tree->reports.nr && d->rc == 0; i++)
		if (sonde_report_is_shown(&d->tree->reports.at[i], o))
			put_report(d, &d->tree->reports.at[i], (int64_t)i + 1);
}

static void put_launch(struct sonde_db *d, const struct sonde_timeline_launch *l, int64_t id)
{
	static const char *const states[] = {[SONDE_LAUNCH_TAKEN] = "in regions",
		[SONDE_LAUNCH_OUTSIDE] = "outside",
		[SONDE_LAUNCH_NOT_SELECTED] = "not selected"};
	const struct sonde_db_value none = {.is_null = true};

	SONDE_DB_ROW(d, SONDE_DB_LAUNCH, SONDE_DB_ID(id),
		SONDE_DB_INT(l->scope + 1u), /* scopes are the first reports, and ids start at 1 */
		SONDE_DB_TEXT(sonde_tree_str(d->tree, l->kernel)), SONDE_DB_WORD(states[l->state]),
		SONDE_DB_INT(l->thread), SONDE_DB_INT(l->stream), SONDE_DB_INT(l->context),
		l->end_ns ? SONDE_DB_INT(l->start_ns) : none, l->end_ns ? SONDE_DB_INT(l->end_ns) : none);
}

/* A partial report has no single launches; a note says so. */
static void put_launches(struct sonde_db *d)
{
	const struct sonde_cells *c = d->tree->cells;
	const struct sonde_timeline *t = c->timeline;
	size_t i, k;

	for (i = 0; t && i < t->launches.nr && d->rc == 0; i++) {
		const struct sonde_place *place = &c->places.at[t->launches.at[i].place];

		put_launch(d, &t->launches.at[i], (int64_t)i + 1);
		for (k = 0; k < place->nr; k++)
			SONDE_DB_ROW(d, SONDE_DB_LAUNCH_REGION, SONDE_DB_ID((int64_t)i + 1),
				SONDE_DB_TEXT(c->regions.at[c->homes.at[place->first + k]].id));
	}
}

static void write_all(struct sonde_db *d, const struct sonde_export_options *o)
{
	int i;

	execute(d, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA user_version=1;");
	for (i = 0; i < SONDE_DB_NR; i++)
		create_table(d, (enum sonde_db_table)i);
	for (i = 0; i < SONDE_DB_NR; i++)
		prepare_insert(d, (enum sonde_db_table)i);
	execute(d, "BEGIN;");
	write_head(d, o);
	put_reports(d, o);
	put_launches(d);
	execute(d, indexes);
	execute(d, "COMMIT;");
}

/* The sink's file is empty and ours: SQLite fills it, and closing the sink gives it its name. */
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
