#include "export/rank_tables.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define MOST_ROWS 16

/* A table in the making. */
struct filling {
	struct sonde_table *t;
	const struct sonde_tree *tree;
	const struct sonde_ranks *r;
	void (*escape)(struct sonde_buf *, struct sonde_str);
	struct sonde_buf cell;
};

static void put(struct filling *f, uint8_t style)
{
	f->t->failed |= f->cell.failed;
	sonde_table_cell(f->t, sonde_buf_view(&f->cell), style, 0);
	sonde_buf_clear(&f->cell);
}

static void put_text(struct filling *f, struct sonde_str text, uint8_t style)
{
	f->escape(&f->cell, text);
	put(f, style);
}

/* A number, or a dash where there is none. */
static void put_number(struct filling *f, double v, int decimals)
{
	if (isnan(v))
		sonde_buf_putc(&f->cell, '-');
	else
		sonde_buf_printf(&f->cell, "%.*f", decimals, v);
	put(f, SONDE_STYLE_PLAIN);
}

static void put_region(struct filling *f, uint32_t region)
{
	put_text(f, region == SONDE_NONE ? SONDE_STR("(outside any range)") : f->tree->cells->regions.at[region].id,
		SONDE_STYLE_BOLD);
}

static void put_rank(struct filling *f, uint32_t rank)
{
	put_text(f, rank == SONDE_NONE ? SONDE_STR("-") : sonde_rank_name(f->r, rank), SONDE_STYLE_PLAIN);
}

/* Heads, each with a leading '>' where the column is of numbers and a digit that says when it goes. */
static void put_heads(struct filling *f, const char *const *heads)
{
	for (; *heads; heads++) {
		bool is_right = **heads == '>';
		unsigned drop = (unsigned)(*heads)[is_right] - '0';

		sonde_table_column(f->t, sonde_str_from(*heads + is_right + 1), is_right, drop);
	}
}

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

static void fill_regions(struct filling *f)
{
	static const char *const heads[] = {"0slowest in", ">3ranks", ">2min ms", ">1median ms", ">0max ms",
		">0slower %", "0slowest", "0due to", NULL};
	const struct sonde_rank_spread **at = sonde_malloc((f->r->spreads.nr + 1) * sizeof(*at));
	size_t i, nr = 0, nr_rows = 0;

	f->t->failed |= !at;
	for (i = 0; at && i < f->r->spreads.nr; i++)
		if (f->r->spreads.at[i].nr > 1)
			at[nr++] = &f->r->spreads.at[i];
	if (nr)
		put_heads(f, heads);
	if (nr > 1)
		qsort(at, nr, sizeof(*at), by_cost);
	for (i = 0; i < nr && nr_rows < MOST_ROWS; i++) {
		if (i && is_alike(at[i - 1], at[i])) /* all of a region is in one inside it */
			continue;
		nr_rows++;
		put_region(f, at[i]->region);
		put_number(f, at[i]->nr, 0);
		put_number(f, at[i]->min_ns / 1e6, 3);
		put_number(f, at[i]->median_ns / 1e6, 3);
		put_number(f, at[i]->max_ns / 1e6, 3);
		put_number(f, 100 * (at[i]->max_ns / at[i]->others_ns - 1), 1);
		put_rank(f, at[i]->slowest);
		put_text(f, sonde_str_from(at[i]->is_slow ? sonde_slow_cause_name(at[i]->cause) : "-"),
			SONDE_STYLE_PLAIN);
	}
	sonde_free(at);
}

/* Ranks that are late, or if nobody is that have most work, come first. */
static int by_lateness(const void *pa, const void *pb)
{
	const struct sonde_rank_row *a = *(const struct sonde_rank_row *const *)pa,
				    *b = *(const struct sonde_rank_row *const *)pb;

	if (a->late_ns != b->late_ns)
		return a->late_ns > b->late_ns ? -1 : 1;
	if (a->work_ns != b->work_ns)
		return a->work_ns > b->work_ns ? -1 : 1;
	return a < b ? -1 : a > b; /* as they are in rows */
}

static void fill_rows(struct filling *f)
{
	static const char *const heads[] = {"0rank", ">2kernels ms", ">3comm ms", ">1exposed ms", ">4hidden %",
		">0last at", ">0of", ">0late ms", ">0waited ms", NULL};
	const struct sonde_rank_row **at = sonde_malloc((f->r->rows.nr + 1) * sizeof(*at));
	size_t i;

	f->t->failed |= !at;
	put_heads(f, heads);
	for (i = 0; at && i < f->r->rows.nr; i++)
		at[i] = &f->r->rows.at[i];
	if (at && f->r->rows.nr > MOST_ROWS)
		qsort(at, f->r->rows.nr, sizeof(*at), by_lateness);
	for (i = 0; at && i < f->r->rows.nr && i < MOST_ROWS; i++) {
		put_rank(f, (uint32_t)(at[i] - f->r->rows.at));
		put_number(f, at[i]->work_ns / 1e6, 3);
		put_number(f, at[i]->comm_ns / 1e6, 3);
		put_number(f, at[i]->exposed_ns / 1e6, 3);
		put_number(f, at[i]->comm_ns > 0 ? 100 * (1 - at[i]->exposed_ns / at[i]->comm_ns) : NAN, 1);
		put_number(f, at[i]->nr ? (double)at[i]->nr_last : NAN, 0);
		put_number(f, (double)at[i]->nr, 0);
		put_number(f, at[i]->nr ? at[i]->late_ns / 1e6 : NAN, 3);
		put_number(f, at[i]->wait_ns / 1e6, 3);
	}
	sonde_free(at);
}

/* The aggregate over kernels. */
static const struct sonde_report *aggregate_of(const struct sonde_tree *t)
{
	size_t i;

	for (i = 0; i < t->reports.nr; i++)
		if (t->reports.at[i].is_aggregate && t->reports.at[i].measured == SONDE_MEASURED_KERNEL)
			return &t->reports.at[i];
	return NULL;
}

static void fill_where(struct filling *f)
{
	static const char *const heads[] = {"0collectives in", ">2comm ms", ">1exposed ms", ">3hidden %",
		">0waited ms", "0last most often", ">0times", ">0of", NULL};
	const struct sonde_report *r = aggregate_of(f->tree);
	const struct sonde_region_row *at = f->r->regions.at;
	size_t i, k = 0, nr = 0;

	if (f->r->regions.nr && r)
		put_heads(f, heads);
	for (i = 0; r && i < r->nodes.nr && nr < MOST_ROWS; i++) {
		const struct sonde_waits *w = &r->nodes.at[i].waits;

		for (k = 0; k < f->r->regions.nr && at[k].region != r->nodes.at[i].region; k++)
			;
		if (k == f->r->regions.nr)
			continue;
		nr++;
		put_region(f, at[k].region);
		put_number(f, w->comm_ns / 1e6, 3);
		put_number(f, w->exposed_ns / 1e6, 3);
		put_number(f, w->comm_ns > 0 ? 100 * (1 - w->exposed_ns / w->comm_ns) : NAN, 1);
		put_number(f, at[k].wait_ns / 1e6, 3);
		put_rank(f, at[k].last);
		put_number(f, (double)at[k].nr_last, 0);
		put_number(f, (double)at[k].nr, 0);
	}
}

static void fill_groups(struct filling *f)
{
	static const char *const heads[] = {"0communicator", "0collective", ">0ranks", ">0number", ">4odd",
		">3MB each", ">0waited ms", ">1transfer ms", ">2GB/s", NULL};
	size_t i;

	if (f->r->groups.nr)
		put_heads(f, heads);
	for (i = 0; i < f->r->groups.nr && i < MOST_ROWS; i++) {
		const struct sonde_group_row *g = &f->r->groups.at[i];
		double bytes = g->nr_bytes > 0 ? g->nr_bytes : NAN;

		put_text(f, sonde_tree_str(f->tree, g->name), SONDE_STYLE_BOLD);
		put_text(f, sonde_str_from(sonde_collective_kind_name(g->kind)), SONDE_STYLE_PLAIN);
		put_number(f, g->nr_ranks, 0);
		put_number(f, (double)g->nr, 0);
		put_number(f, (double)g->nr_odd, 0);
		put_number(f, g->nr ? bytes / (double)g->nr / 1e6 : NAN, 3);
		put_number(f, g->wait_ns / 1e6, 3);
		put_number(f, g->transfer_ns / 1e6, 3);
		put_number(f, g->transfer_ns > 0 ? bytes / g->transfer_ns : NAN, 1);
	}
}

static void fill_waits(struct filling *f)
{
	static const char *const heads[] = {"0longest waits", "1collective", "2communicator", "0last", ">0late ms",
		">0waited ms", NULL};
	const struct sonde_cells *c = f->tree->cells;
	size_t i;

	if (f->r->nr_waits)
		put_heads(f, heads);
	for (i = 0; i < f->r->nr_waits; i++) {
		const struct sonde_long_wait *w = &f->r->waits[i];
		const struct sonde_place *p = &c->places.at[w->place];

		put_region(f, p->nr ? c->homes.at[p->first] : SONDE_NONE);
		put_text(f, sonde_str_from(sonde_collective_kind_name(w->kind)), SONDE_STYLE_PLAIN);
		put_text(f, sonde_tree_str(f->tree, w->group), SONDE_STYLE_PLAIN);
		put_rank(f, w->last);
		put_number(f, w->late_ns / 1e6, 3);
		put_number(f, w->wait_ns / 1e6, 3);
	}
}

void sonde_rank_table_fill(struct sonde_table *t, enum sonde_rank_table which,
	const struct sonde_tree *tree, void (*escape)(struct sonde_buf *, struct sonde_str))
{
	static void (*const fills[SONDE_NR_RANK_TABLES])(struct filling *) = {
		fill_regions, fill_rows, fill_where, fill_groups, fill_waits};
	struct filling f = {.t = t, .tree = tree, .r = tree->ranks, .escape = escape};

	if (f.r)
		fills[which](&f);
	sonde_buf_release(&f.cell);
}
