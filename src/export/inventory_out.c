#include "export/inventory_out.h"

#include "base/escape.h"
#include "base/json_out.h"
#include "export/scale.h"

#include <inttypes.h>

#define LEAST_NAME	 20
#define LEAST_EXPRESSION 30
#define MAX_INDENT	 12

static const char *kind_of(const struct sonde_region *g)
{
	return g->kind == SONDE_START_END ? "start_end" : "push_pop";
}

/* --- text ------------------------------------------------------------------------------------ */

enum { HOST = 4 }; /* the column of times */

static void write_columns(struct sonde_table *t, const struct sonde_scale *host)
{
	static const struct {
		const char *head;
		bool is_right;
		unsigned drop;
	} all[] = {{"region", false, 0}, {"kind", false, 4}, {"threads", true, 3},
		{"entries", true, 0}, {"host ms", true, 0}, {"launches", true, 2},
		{"ncu --nvtx-include", false, 1}};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (i == HOST)
			sonde_scale_column(t, host, sonde_str_from(all[i].head), all[i].drop);
		else
			sonde_table_column(
				t, sonde_str_from(all[i].head), all[i].is_right, all[i].drop);
}

static void put(struct sonde_table *t, struct sonde_buf *cell, uint8_t style)
{
	sonde_table_cell(t, sonde_buf_view(cell), style, 0);
	t->failed |= cell->failed;
	sonde_buf_clear(cell);
}

static void count_cell(struct sonde_table *t, struct sonde_buf *cell, uint64_t n)
{
	sonde_buf_printf(cell, "%" PRIu64, n);
	put(t, cell, SONDE_STYLE_PLAIN);
}

/* The tree by indentation; the whole path is in the expression beside it. */
static void name_cell(
	struct sonde_table *t, struct sonde_buf *cell, const struct sonde_inventory_row *row)
{
	const struct sonde_region *g = row->region;
	uint32_t d;

	for (d = 0; d < g->depth && d < MAX_INDENT; d++)
		sonde_buf_puts(cell, "  ");
	if (g->depth == 0 && g->domain != SONDE_NONE) {
		sonde_escape_terminal(cell, row->domain, t->is_utf8);
		sonde_buf_putc(cell, '@');
	}
	sonde_escape_terminal(cell, row->label.n ? row->label : SONDE_STR("\"\""), t->is_utf8);
	put(t, cell, SONDE_STYLE_BOLD);
}

static void write_table_row(struct sonde_table *t, struct sonde_buf *cell,
	const struct sonde_inventory_row *row, const struct sonde_scale *host)
{
	const struct sonde_region *g = row->region;

	name_cell(t, cell, row);
	sonde_buf_puts(cell, g->kind == SONDE_START_END ? "start/end" : "push/pop");
	put(t, cell, SONDE_STYLE_DIM);
	count_cell(t, cell, row->threads);
	count_cell(t, cell, row->instances);
	sonde_scale_print(cell, host, row->host_ns / 1e6);
	put(t, cell, SONDE_STYLE_PLAIN);
	count_cell(t, cell, row->launches);
	sonde_escape_terminal(
		cell, sonde_str_from(row->expression ? row->expression : "-"), t->is_utf8);
	put(t, cell, SONDE_STYLE_PLAIN);
}

int sonde_export_inventory_text(const struct sonde_inventory *v,
	const struct sonde_inventory_options *o, struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_table t = {.is_utf8 = o->is_utf8,
		.is_coloured = o->is_coloured,
		.least_name = LEAST_NAME,
		.least_last = LEAST_EXPRESSION};
	struct sonde_buf cell = {0}, dropped = {0};
	size_t i, max = o->max_rows && o->max_rows < v->rows.nr ? o->max_rows : v->rows.nr;
	struct sonde_extent extent = {0};
	struct sonde_scale host;
	int rc;

	for (i = 0; i < max; i++)
		sonde_extent_add(&extent, v->rows.at[i].host_ns / 1e6);
	host = sonde_scale_choose(&extent, extent.most, o->is_utf8);
	write_columns(&t, &host);
	for (i = 0; i < max; i++)
		write_table_row(&t, &cell, &v->rows.at[i], &host);
	rc = sonde_table_print(&t, to, o->width ? o->width : 100, &dropped, err);
	if (rc == 0 && max < v->rows.nr)
		sonde_sink_printf(
			to, "%s and %zu more\n", o->is_utf8 ? "\u2026" : "...", v->rows.nr - max);
	if (rc == 0 && dropped.n)
		sonde_sink_printf(to, "no room for: %.*s (--width, --format json)\n",
			SONDE_STR_ARG(sonde_buf_view(&dropped)));
	if (rc == 0 && t.is_last_cut)
		sonde_sink_puts(to, "expressions cut here are whole with --format json\n");
	sonde_buf_release(&cell);
	sonde_buf_release(&dropped);
	sonde_table_release(&t);
	return rc;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void write_json_row(struct sonde_json *w, const struct sonde_inventory_row *row)
{
	const struct sonde_region *g = row->region;

	sonde_json_open(w, NULL, '{', false);
	sonde_json_str(w, "id", g->id);
	sonde_json_str(w, "name", row->label);
	if (g->parent == SONDE_NONE)
		sonde_json_null(w, "parent_id");
	else
		sonde_json_str(w, "parent_id", row->parent_id);
	sonde_json_u64(w, "depth", g->depth);
	if (g->domain == SONDE_NONE)
		sonde_json_null(w, "domain");
	else
		sonde_json_str(w, "domain", row->domain);
	sonde_json_z(w, "kind", kind_of(g));
	sonde_json_u64(w, "threads", row->threads);
	sonde_json_u64(w, "instances", row->instances);
	sonde_json_number(w, "host_ms", row->host_ns / 1e6);
	sonde_json_number(w, "cpu_ms", row->cpu_ns / 1e6);
	sonde_json_u64(w, "launches", row->launches);
	sonde_json_z(w, "ncu", row->expression);
	sonde_json_close(w, '}');
}

void sonde_export_inventory_json(const struct sonde_inventory *v, struct sonde_sink *to)
{
	struct sonde_json w = {.sink = to};
	size_t i;

	sonde_json_open(&w, NULL, '{', false);
	sonde_json_z(&w, "schema", "sonde.regions/1");
	sonde_json_z(&w, "generator", "sonde " SONDE_VERSION);
	sonde_json_u64(&w, "launches_total", v->nr_launches);
	sonde_json_u64(&w, "launches_outside", v->nr_outside);
	sonde_json_open(&w, "regions", '[', false);
	for (i = 0; i < v->rows.nr; i++)
		write_json_row(&w, &v->rows.at[i]);
	sonde_json_close(&w, ']');
	sonde_json_open(&w, "notes", '[', false);
	for (i = 0; i < v->notes.texts.nr; i++)
		sonde_json_str(&w, NULL, v->notes.texts.keys[i]);
	sonde_json_close(&w, ']');
	sonde_json_close(&w, '}');
	sonde_sink_putc(to, '\n');
}
