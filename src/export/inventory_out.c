#include "export/inventory_out.h"

#include "base/json_out.h"
#include "export/table.h"

#define LEAST_NAME	 20
#define LEAST_EXPRESSION 30
#define MAX_INDENT	 12

/* --- text ------------------------------------------------------------------------------------ */

static void put_heads(struct sonde_table *t, const struct sonde_scale *host)
{
	static const char *const before[] = {"0region", "4kind", ">3threads", ">0entries", NULL};
	static const char *const after[] = {">2own launches", "1ncu --nvtx-include", NULL};

	sonde_table_heads(t, before);
	sonde_scale_column(t, host, SONDE_STR("host ms"), 0);
	sonde_table_heads(t, after);
}

/* Shows the tree by indentation; the expression in the same row has the whole path. */
static void put_name(struct sonde_table *t, const struct sonde_inventory_row *row)
{
	const struct sonde_region *g = row->region;
	uint32_t d;

	for (d = 0; d < g->depth && d < MAX_INDENT; d++)
		sonde_buf_puts(&t->cell, "  ");
	sonde_table_label(t, g->depth == 0 && g->domain != SONDE_NONE ? row->domain : (struct sonde_str){0},
		row->label);
	sonde_table_put(t, SONDE_STYLE_BOLD);
}

static void put_row(
	struct sonde_table *t, const struct sonde_inventory_row *row, const struct sonde_scale *host)
{
	put_name(t, row);
	sonde_buf_puts(&t->cell, sonde_region_kind_words(row->region->kind));
	sonde_table_put(t, SONDE_STYLE_DIM);
	sonde_table_number(t, (double)row->threads, 0, "");
	sonde_table_number(t, (double)row->instances, 0, "");
	sonde_scale_put(t, host, row->host_ns / 1e6);
	sonde_table_number(t, (double)row->launches, 0, "");
	sonde_table_text(
		t, sonde_str_from(row->expression ? row->expression : "-"), SONDE_STYLE_PLAIN);
}

int sonde_export_inventory_text(const struct sonde_inventory *v,
	const struct sonde_inventory_options *o, struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_table t = {.is_utf8 = o->is_utf8,
		.is_coloured = o->is_coloured,
		.least_name = LEAST_NAME,
		.least_last = LEAST_EXPRESSION};
	struct sonde_buf dropped = {0};
	size_t i, max = o->max_rows && o->max_rows < v->rows.nr ? o->max_rows : v->rows.nr;
	struct sonde_scale host = {0};
	int rc;

	for (i = 0; i < max; i++)
		sonde_scale_add(&host, v->rows.at[i].host_ns / 1e6);
	sonde_scale_choose(&host, host.most, o->is_utf8);
	put_heads(&t, &host);
	for (i = 0; i < max; i++)
		put_row(&t, &v->rows.at[i], &host);
	rc = sonde_table_print(&t, to, o->width ? o->width : 100, &dropped, err);
	if (rc == 0 && max < v->rows.nr)
		sonde_sink_printf(
			to, "%s and %zu more\n", o->is_utf8 ? "\u2026" : "...", v->rows.nr - max);
	if (rc == 0 && dropped.n)
		sonde_sink_printf(to, "no room for: %.*s (--width, --format json)\n",
			SONDE_STR_ARG(sonde_buf_view(&dropped)));
	if (rc == 0 && t.is_last_cut)
		sonde_sink_puts(to, "expressions cut here are whole with --format json\n");
	sonde_buf_release(&dropped);
	sonde_table_release(&t);
	return rc;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void write_json_row(struct sonde_json *w, const struct sonde_inventory_row *row)
{
	const struct sonde_region *g = row->region;
	const struct sonde_str none = {NULL, 0};

	sonde_json_open(w, NULL, '{', false);
	sonde_json_str(w, "id", g->id);
	sonde_json_str(w, "name", row->label);
	sonde_json_maybe(w, "parent_id", g->parent == SONDE_NONE ? none : row->parent_id);
	sonde_json_u64(w, "depth", g->depth);
	sonde_json_maybe(w, "domain", g->domain == SONDE_NONE ? none : row->domain);
	sonde_json_z(w, "kind", sonde_region_kind_name(g->kind));
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
	sonde_json_u64(&w, "launches_outside", v->nr_outside + v->nr_adopted);
	sonde_json_u64(&w, "launches_adopted", v->nr_adopted);
	sonde_json_array(&w, "regions", false, i, v->rows.nr)
		write_json_row(&w, &v->rows.at[i]);
	sonde_json_texts(&w, "notes", v->notes.texts.keys, v->notes.texts.nr, false);
	sonde_json_close(&w, '}');
	sonde_sink_putc(to, '\n');
}
