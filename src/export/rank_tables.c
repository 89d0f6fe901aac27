/*
 * Ranks side by side, for all formats. Each kind of row defines its columns once: their keys in JSON, their heads in
 * tables for people. Stragglers and clocks are in JSON alone: people read them as sentences.
 */
#include "export/rank_tables.h"

#include "base/alloc.h"
#include "export/json_int.h"

#include <math.h>
#include <stdlib.h>

#define MOST_ROWS 16

/* Where a row goes: to JSON, or to a table, which gets its columns with its first row. */
struct rank_out {
	const struct sonde_tree *tree;
	struct sonde_json_export *json; /* NULL = a table */
	struct sonde_table *table;
	size_t nr_rows; /* rows of the table before this one */
};

/* Whether a table takes a cell: a column without a head is in JSON alone. */
static bool takes_cell(struct rank_out *o, const char *head)
{
	const char *const heads[] = {head, NULL};

	if (!o->table || !head)
		return false;
	if (o->nr_rows == 0)
		sonde_table_heads(o->table, heads);
	return true;
}

static void put_number(struct rank_out *o, const char *key, const char *head, double v, int decimals)
{
	if (takes_cell(o, head))
		sonde_table_number(o->table, v, decimals, "");
	else if (o->json && key)
		sonde_json_number(&o->json->w, key, v);
}

static void put_count(struct rank_out *o, const char *key, const char *head, uint64_t nr)
{
	if (takes_cell(o, head))
		sonde_table_number(o->table, (double)nr, 0, "");
	else if (o->json && key)
		sonde_json_u64(&o->json->w, key, nr);
}

static void put_ms(struct rank_out *o, const char *key, const char *head, double ns)
{
	put_number(o, key, head, ns / 1e6, 3);
}

static void put_text(struct rank_out *o, const char *key, const char *head, struct sonde_str text, uint8_t style)
{
	if (takes_cell(o, head))
		sonde_table_text(o->table, text, style);
	else if (o->json && key)
		sonde_json_str(&o->json->w, key, text);
}

/* A fixed word; NULL = none. */
static void put_word(struct rank_out *o, const char *key, const char *head, const char *word)
{
	if (takes_cell(o, head))
		sonde_table_words(o->table, word ? word : "-");
	else if (o->json && key)
		sonde_json_z(&o->json->w, key, word);
}

static void put_region(struct rank_out *o, const char *key, const char *head, uint32_t region)
{
	const struct sonde_region *regions = o->tree->cells->regions.at;

	if (takes_cell(o, head)) {
		if (region == SONDE_NONE)
			sonde_buf_puts(&o->table->cell, "(outside any range)");
		else
			sonde_table_region(o->table, regions[region].id, regions[region].kind);
		sonde_table_put(o->table, SONDE_STYLE_BOLD);
	} else if (o->json && key) {
		sonde_json__write_region_id(o->json, key, region);
	}
}

static void put_rank(struct rank_out *o, const char *key, const char *head, uint32_t rank)
{
	struct sonde_str none = {NULL, 0}, name = rank == SONDE_NONE ? none : sonde_rank_name(o->tree->ranks, rank);

	if (takes_cell(o, head))
		sonde_table_text(o->table, name.p ? name : SONDE_STR("-"), SONDE_STYLE_PLAIN);
	else if (o->json && key)
		sonde_json_maybe(&o->json->w, key, name);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Writes a region compared over the ranks. */
static void put_spread(struct rank_out *o, const struct sonde_rank_spread *s)
{
	put_region(o, NULL, "0slowest in", s->region);
	put_count(o, "count", ">3ranks", s->nr);
	put_ms(o, "min_ms", ">2min ms", s->min_ns);
	put_ms(o, "median_ms", NULL, s->median_ns);
	put_ms(o, "max_ms", ">0max ms", s->max_ns);
	put_ms(o, "others_ms", ">1others ms", s->others_ns);
	put_number(o, "slower_pct", ">0slower %", 100 * (s->max_ns / s->others_ns - 1), 1);
	put_rank(o, "slowest", "0slowest", s->slowest);
	put_rank(o, "fastest", NULL, s->fastest);
	put_word(o, "cause", "0due to", s->is_slow ? sonde_slow_cause_name(s->cause) : NULL);
}

static double hidden_pct(double comm_ns, double exposed_ns)
{
	return comm_ns > 0 ? 100 * (1 - exposed_ns / comm_ns) : NAN;
}

static void put_rank_row(struct rank_out *o, const struct sonde_rank_row *row)
{
	put_rank(o, "scope", "0rank", (uint32_t)(row - o->tree->ranks->rows.at));
	put_text(o, "host", NULL, row->process->host, SONDE_STYLE_PLAIN);
	put_count(o, "clock", NULL, row->clock);
	put_ms(o, "work_ms", ">2kernels ms", row->work_ns);
	put_ms(o, "comm_ms", ">3comm ms", row->comm_ns);
	put_ms(o, "exposed_comm_ms", ">1exposed ms", row->exposed_ns);
	put_number(o, NULL, ">4hidden %", hidden_pct(row->comm_ns, row->exposed_ns), 1);
	put_count(o, "collectives", NULL, row->nr);
	put_count(o, "last", NULL, row->nr_last);
	put_number(o, NULL, ">0last at", row->nr ? (double)row->nr_last : NAN, 0);
	put_count(o, NULL, ">0of", row->nr);
	put_ms(o, "late_ms", ">0late ms", row->nr ? row->late_ns : NAN);
	put_ms(o, "wait_ms", ">0waited ms", row->wait_ns);
}

/* Writes the collectives of a region; `w` is its communication in the aggregate, NULL = not shown. */
static void put_region_row(struct rank_out *o, const struct sonde_region_row *row, const struct sonde_times *w)
{
	put_region(o, "region", "0collectives in", row->region);
	put_ms(o, NULL, ">2comm ms", w ? w->comm_ns : NAN);
	put_ms(o, NULL, ">1exposed ms", w ? w->exposed_ns : NAN);
	put_number(o, NULL, ">3hidden %", w ? hidden_pct(w->comm_ns, w->exposed_ns) : NAN, 1);
	put_ms(o, "wait_ms", ">0waited ms", row->wait_ns);
	put_count(o, "decided", NULL, row->nr);
	put_rank(o, "last", "0last most often", row->last);
	put_count(o, "last_count", ">0times", row->nr_last);
	put_count(o, NULL, ">0of", row->nr);
}

static void put_group(struct rank_out *o, const struct sonde_group_row *g)
{
	double bytes = g->nr_bytes > 0 ? g->nr_bytes : NAN;

	put_text(o, "group", "0communicator", sonde_tree_str(o->tree, g->name), SONDE_STYLE_BOLD);
	put_word(o, "kind", "0collective", sonde_collective_kind_name(g->kind));
	put_count(o, "ranks", ">0ranks", g->nr_ranks);
	put_count(o, "compared", ">0number", g->nr);
	put_count(o, "odd", ">4odd", g->nr_mismatched);
	put_number(o, "bytes", NULL, bytes, 0);
	put_number(o, NULL, ">3MB each", g->nr ? bytes / (double)g->nr / 1e6 : NAN, 3);
	put_ms(o, "wait_ms", ">0waited ms", g->wait_ns);
	put_ms(o, "transfer_ms", ">1transfer ms", g->transfer_ns);
	put_number(o, NULL, ">2GB/s", g->transfer_ns > 0 ? bytes / g->transfer_ns : NAN, 1);
}

static void put_wait(struct rank_out *o, const struct sonde_long_wait *w)
{
	const struct sonde_cells *c = o->tree->cells;
	const struct sonde_place *p = &c->places.at[w->place];
	struct sonde_str group = sonde_tree_str(o->tree, w->group);

	put_region(o, "region", "0longest waits", p->nr ? c->homes.at[p->first] : SONDE_NONE);
	put_text(o, "group", NULL, group, SONDE_STYLE_PLAIN);
	put_word(o, "kind", "1collective", sonde_collective_kind_name(w->kind));
	put_text(o, NULL, "2communicator", group, SONDE_STYLE_PLAIN);
	put_count(o, "number", NULL, w->number);
	put_count(o, "ranks", NULL, w->nr_ranks);
	put_rank(o, "last", "0last", w->last);
	put_ms(o, "late_ms", ">0late ms", w->late_ns);
	put_ms(o, "wait_ms", ">0waited ms", w->wait_ns);
}

static void put_straggler(struct rank_out *o, const struct sonde_straggler *s)
{
	bool is_late = s->region == SONDE_NONE;

	put_rank(o, "scope", NULL, s->rank);
	put_region(o, "region", NULL, s->region);
	put_word(o, "cause", NULL, sonde_slow_cause_name(s->cause));
	put_count(o, "ranks", NULL, s->nr_ranks);
	put_ms(o, "ms", NULL, is_late ? NAN : s->ns);
	put_ms(o, "others_ms", NULL, is_late ? NAN : s->others_ns);
	put_number(o, "slower_pct", NULL, is_late ? NAN : 100 * (s->ns / s->others_ns - 1), 0);
	put_ms(o, "late_ms", NULL, is_late ? s->ns : NAN);
	put_count(o, "last", NULL, s->nr_last);
	put_count(o, "collectives", NULL, s->nr);
	put_text(o, "sentence", NULL, s->sentence, SONDE_STYLE_PLAIN);
}

/* --- tables for people ------------------------------------------------------------------------ */

static double cost_of(const struct sonde_rank_spread *s)
{
	return s->nr > 1 ? s->max_ns - s->others_ns : 0;
}

static int by_cost(const void *pa, const void *pb)
{
	const struct sonde_rank_spread *a = *(const struct sonde_rank_spread *const *)pa,
				       *b = *(const struct sonde_rank_spread *const *)pb;

	if (cost_of(a) != cost_of(b))
		return cost_of(a) > cost_of(b) ? -1 : 1;
	return a->region < b->region ? -1 : a->region > b->region;
}

static bool is_alike(const struct sonde_rank_spread *a, const struct sonde_rank_spread *b)
{
	return a->nr == b->nr && a->slowest == b->slowest && a->max_ns == b->max_ns && a->min_ns == b->min_ns;
}

static void fill_regions(struct rank_out *o)
{
	const struct sonde_ranks *r = o->tree->ranks;
	const struct sonde_rank_spread **at = sonde_malloc((r->spreads.nr + 1) * sizeof(*at));
	size_t i, nr = 0;

	o->table->failed |= !at;
	for (i = 0; at && i < r->spreads.nr; i++)
		if (r->spreads.at[i].nr > 1)
			at[nr++] = &r->spreads.at[i];
	if (nr > 1)
		qsort(at, nr, sizeof(*at), by_cost);
	for (i = 0; i < nr && o->nr_rows < MOST_ROWS; i++) {
		if (i && is_alike(at[i - 1], at[i])) /* all time of a region is in one inside it */
			continue;
		put_spread(o, at[i]);
		o->nr_rows++;
	}
	sonde_free(at);
}

/* Ranks that are late come first; if none is, ranks with the most work. */
static int by_lateness(const void *pa, const void *pb)
{
	const struct sonde_rank_row *a = *(const struct sonde_rank_row *const *)pa,
				    *b = *(const struct sonde_rank_row *const *)pb;

	if (a->late_ns != b->late_ns)
		return a->late_ns > b->late_ns ? -1 : 1;
	if (a->work_ns != b->work_ns)
		return a->work_ns > b->work_ns ? -1 : 1;
	return a < b ? -1 : a > b; /* as in `rows` */
}

static void fill_rows(struct rank_out *o)
{
	const struct sonde_ranks *r = o->tree->ranks;
	const struct sonde_rank_row **at = sonde_malloc((r->rows.nr + 1) * sizeof(*at));
	size_t i;

	o->table->failed |= !at;
	for (i = 0; at && i < r->rows.nr; i++)
		at[i] = &r->rows.at[i];
	if (at && r->rows.nr > MOST_ROWS)
		qsort(at, r->rows.nr, sizeof(*at), by_lateness);
	for (; at && o->nr_rows < r->rows.nr && o->nr_rows < MOST_ROWS; o->nr_rows++)
		put_rank_row(o, at[o->nr_rows]);
	sonde_free(at);
}

static const struct sonde_report *aggregate_of(const struct sonde_tree *t)
{
	size_t i;

	for (i = 0; i < t->reports.nr; i++)
		if (t->reports.at[i].is_aggregate && t->reports.at[i].measured == SONDE_MEASURED_KERNEL)
			return &t->reports.at[i];
	return NULL;
}

static void fill_where(struct rank_out *o)
{
	const struct sonde_ranks *ranks = o->tree->ranks;
	const struct sonde_report *r = aggregate_of(o->tree);
	size_t i, k;

	for (i = 0; r && i < r->nodes.nr && o->nr_rows < MOST_ROWS; i++) {
		for (k = 0; k < ranks->regions.nr && ranks->regions.at[k].region != r->nodes.at[i].region; k++)
			;
		if (k == ranks->regions.nr)
			continue;
		put_region_row(o, &ranks->regions.at[k], &r->nodes.at[i].times);
		o->nr_rows++;
	}
}

static void fill_groups(struct rank_out *o)
{
	for (; o->nr_rows < o->tree->ranks->groups.nr && o->nr_rows < MOST_ROWS; o->nr_rows++)
		put_group(o, &o->tree->ranks->groups.at[o->nr_rows]);
}

static void fill_waits(struct rank_out *o)
{
	for (; o->nr_rows < o->tree->ranks->nr_waits; o->nr_rows++)
		put_wait(o, &o->tree->ranks->waits[o->nr_rows]);
}

void sonde_rank_table_fill(
	struct sonde_table *t, enum sonde_rank_table which, const struct sonde_tree *tree)
{
	static void (*const fills[SONDE_NR_RANK_TABLES])(struct rank_out *) = {
		fill_regions, fill_rows, fill_where, fill_groups, fill_waits};
	struct rank_out o = {.tree = tree, .table = t};

	if (tree->ranks)
		fills[which](&o);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_collectives(struct rank_out *o)
{
	const struct sonde_ranks *r = o->tree->ranks;
	struct sonde_json *w = &o->json->w;
	size_t i;

	sonde_json_open(w, "collectives", '{', false);
	sonde_json_u64(w, "compared", r->nr_collectives);
	sonde_json_u64(w, "odd", r->nr_mismatched);
	sonde_json_each(w, "groups", false, i, r->groups.nr)
		put_group(o, &r->groups.at[i]);
	sonde_json_each(w, "regions", false, i, r->regions.nr)
		put_region_row(o, &r->regions.at[i], NULL);
	sonde_json_each(w, "longest_waits", false, i, r->nr_waits)
		put_wait(o, &r->waits[i]);
	sonde_json_close(w, '}');
}

static void write_clocks(struct sonde_json_export *x)
{
	const struct sonde_ranks *r = x->tree->ranks;
	size_t i;

	sonde_json_each(&x->w, "clocks", false, i, r->clocks.nr) {
		const struct sonde_rank_clock *k = &r->clocks.at[i];

		sonde_json_str(&x->w, "name", k->name);
		sonde_json_u64(&x->w, "ranks", k->nr_ranks);
		sonde_json_bool(&x->w, "aligned", k->is_aligned);
		sonde_json_number(&x->w, "with", k->is_aligned ? k->with : NAN);
		sonde_json_u64(&x->w, "collectives", k->nr);
		sonde_json_number(&x->w, "ahead_ms", k->is_aligned ? k->ahead_ns / 1e6 : NAN);
		sonde_json_number(&x->w, "drift_ppm", k->is_aligned ? k->drift * 1e6 : NAN);
		sonde_json_number(&x->w, "error_us", k->is_aligned ? k->error_ns / 1e3 : NAN);
	}
}

void sonde_json__write_ranks(struct sonde_json_export *x)
{
	const struct sonde_ranks *r = x->tree->ranks;
	struct rank_out o = {.tree = x->tree, .json = x};
	size_t i;

	if (!r)
		return;
	sonde_json_open(&x->w, "ranks", '{', false);
	sonde_json_u64(&x->w, "count", r->nr);
	sonde_json_number(&x->w, "hosts", r->nr_hosts ? (double)r->nr_hosts : NAN);
	sonde_json_each(&x->w, "stragglers", false, i, r->stragglers.nr)
		put_straggler(&o, &r->stragglers.at[i]);
	sonde_json_each(&x->w, "per_rank", false, i, r->rows.nr)
		put_rank_row(&o, &r->rows.at[i]);
	write_collectives(&o);
	write_clocks(x);
	sonde_json_close(&x->w, '}');
}

void sonde_json__write_region_ranks(struct sonde_json_export *x, const struct sonde_node *n)
{
	const struct sonde_rank_spread *s = sonde_ranks_spread(x->tree->ranks, n->region);
	struct rank_out o = {.tree = x->tree, .json = x};

	if (!s || s->nr < 2)
		return;
	sonde_json_open(&x->w, "ranks", '{', true);
	put_spread(&o, s);
	sonde_json_close(&x->w, '}');
}
