#include "export/rank_tables.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

#define MOST_ROWS 16

static void put_region(struct sonde_table *t, const struct sonde_tree *tree, uint32_t region)
{
	if (region == SONDE_NONE)
		sonde_buf_puts(&t->cell, "(outside any range)");
	else
		sonde_table_region(t, tree->cells->regions.at[region].id, tree->cells->regions.at[region].kind);
	sonde_table_put(t, SONDE_STYLE_BOLD);
}

static void put_rank(struct sonde_table *t, const struct sonde_tree *tree, uint32_t rank)
{
	sonde_table_text(t, rank == SONDE_NONE ? SONDE_STR("-") : sonde_rank_name(tree->ranks, rank),
		SONDE_STYLE_PLAIN);
}

static void put_number(struct sonde_table *t, double v, int decimals)
{
	sonde_table_number(t, v, decimals, "");
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

static void fill_regions(struct sonde_table *t, const struct sonde_tree *tree)
{
	static const char *const heads[] = {"0slowest in", ">3ranks", ">2min ms", ">1median ms", ">0max ms",
		">0slower %", "0slowest", "0due to", NULL};
	const struct sonde_rank_spread **at = sonde_malloc((tree->ranks->spreads.nr + 1) * sizeof(*at));
	size_t i, nr = 0, nr_rows = 0;

	t->failed |= !at;
	for (i = 0; at && i < tree->ranks->spreads.nr; i++)
		if (tree->ranks->spreads.at[i].nr > 1)
			at[nr++] = &tree->ranks->spreads.at[i];
	if (nr)
		sonde_table_heads(t, heads);
	if (nr > 1)
		qsort(at, nr, sizeof(*at), by_cost);
	for (i = 0; i < nr && nr_rows < MOST_ROWS; i++) {
		if (i && is_alike(at[i - 1], at[i])) /* all of a region is in one inside it */
			continue;
		nr_rows++;
		put_region(t, tree, at[i]->region);
		put_number(t, at[i]->nr, 0);
		put_number(t, at[i]->min_ns / 1e6, 3);
		put_number(t, at[i]->median_ns / 1e6, 3);
		put_number(t, at[i]->max_ns / 1e6, 3);
		put_number(t, 100 * (at[i]->max_ns / at[i]->others_ns - 1), 1);
		put_rank(t, tree, at[i]->slowest);
		sonde_table_words(t, at[i]->is_slow ? sonde_slow_cause_name(at[i]->cause) : "-");
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

static void fill_rows(struct sonde_table *t, const struct sonde_tree *tree)
{
	static const char *const heads[] = {"0rank", ">2kernels ms", ">3comm ms", ">1exposed ms", ">4hidden %",
		">0last at", ">0of", ">0late ms", ">0waited ms", NULL};
	const struct sonde_rank_row **at = sonde_malloc((tree->ranks->rows.nr + 1) * sizeof(*at));
	size_t i;

	t->failed |= !at;
	sonde_table_heads(t, heads);
	for (i = 0; at && i < tree->ranks->rows.nr; i++)
		at[i] = &tree->ranks->rows.at[i];
	if (at && tree->ranks->rows.nr > MOST_ROWS)
		qsort(at, tree->ranks->rows.nr, sizeof(*at), by_lateness);
	for (i = 0; at && i < tree->ranks->rows.nr && i < MOST_ROWS; i++) {
		put_rank(t, tree, (uint32_t)(at[i] - tree->ranks->rows.at));
		put_number(t, at[i]->work_ns / 1e6, 3);
		put_number(t, at[i]->comm_ns / 1e6, 3);
		put_number(t, at[i]->exposed_ns / 1e6, 3);
		put_number(t, at[i]->comm_ns > 0 ? 100 * (1 - at[i]->exposed_ns / at[i]->comm_ns) : NAN, 1);
		put_number(t, at[i]->nr ? (double)at[i]->nr_last : NAN, 0);
		put_number(t, (double)at[i]->nr, 0);
		put_number(t, at[i]->nr ? at[i]->late_ns / 1e6 : NAN, 3);
		put_number(t, at[i]->wait_ns / 1e6, 3);
	}
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

static void fill_where(struct sonde_table *t, const struct sonde_tree *tree)
{
	static const char *const heads[] = {"0collectives in", ">2comm ms", ">1exposed ms", ">3hidden %",
		">0waited ms", "0last most often", ">0times", ">0of", NULL};
	const struct sonde_report *r = aggregate_of(tree);
	const struct sonde_region_row *at = tree->ranks->regions.at;
	size_t i, k = 0, nr = 0;

	if (tree->ranks->regions.nr && r)
		sonde_table_heads(t, heads);
	for (i = 0; r && i < r->nodes.nr && nr < MOST_ROWS; i++) {
		const struct sonde_waits *w = &r->nodes.at[i].waits;

		for (k = 0; k < tree->ranks->regions.nr && at[k].region != r->nodes.at[i].region; k++)
			;
		if (k == tree->ranks->regions.nr)
			continue;
		nr++;
		put_region(t, tree, at[k].region);
		put_number(t, w->comm_ns / 1e6, 3);
		put_number(t, w->exposed_ns / 1e6, 3);
		put_number(t, w->comm_ns > 0 ? 100 * (1 - w->exposed_ns / w->comm_ns) : NAN, 1);
		put_number(t, at[k].wait_ns / 1e6, 3);
		put_rank(t, tree, at[k].last);
		put_number(t, (double)at[k].nr_last, 0);
		put_number(t, (double)at[k].nr, 0);
	}
}

static void fill_groups(struct sonde_table *t, const struct sonde_tree *tree)
{
	static const char *const heads[] = {"0communicator", "0collective", ">0ranks", ">0number", ">4odd",
		">3MB each", ">0waited ms", ">1transfer ms", ">2GB/s", NULL};
	size_t i;

	if (tree->ranks->groups.nr)
		sonde_table_heads(t, heads);
	for (i = 0; i < tree->ranks->groups.nr && i < MOST_ROWS; i++) {
		const struct sonde_group_row *g = &tree->ranks->groups.at[i];
		double bytes = g->nr_bytes > 0 ? g->nr_bytes : NAN;

		sonde_table_text(t, sonde_tree_str(tree, g->name), SONDE_STYLE_BOLD);
		sonde_table_words(t, sonde_collective_kind_name(g->kind));
		put_number(t, g->nr_ranks, 0);
		put_number(t, (double)g->nr, 0);
		put_number(t, (double)g->nr_odd, 0);
		put_number(t, g->nr ? bytes / (double)g->nr / 1e6 : NAN, 3);
		put_number(t, g->wait_ns / 1e6, 3);
		put_number(t, g->transfer_ns / 1e6, 3);
		put_number(t, g->transfer_ns > 0 ? bytes / g->transfer_ns : NAN, 1);
	}
}

static void fill_waits(struct sonde_table *t, const struct sonde_tree *tree)
{
	static const char *const heads[] = {"0longest waits", "1collective", "2communicator", "0last", ">0late ms",
		">0waited ms", NULL};
	const struct sonde_cells *c = tree->cells;
	size_t i;

	if (tree->ranks->nr_waits)
		sonde_table_heads(t, heads);
	for (i = 0; i < tree->ranks->nr_waits; i++) {
		const struct sonde_long_wait *w = &tree->ranks->waits[i];
		const struct sonde_place *p = &c->places.at[w->place];

		put_region(t, tree, p->nr ? c->homes.at[p->first] : SONDE_NONE);
		sonde_table_words(t, sonde_collective_kind_name(w->kind));
		sonde_table_text(t, sonde_tree_str(tree, w->group), SONDE_STYLE_PLAIN);
		put_rank(t, tree, w->last);
		put_number(t, w->late_ns / 1e6, 3);
		put_number(t, w->wait_ns / 1e6, 3);
	}
}

void sonde_rank_table_fill(
	struct sonde_table *t, enum sonde_rank_table which, const struct sonde_tree *tree)
{
	static void (*const fills[SONDE_NR_RANK_TABLES])(struct sonde_table *, const struct sonde_tree *) = {
		fill_regions, fill_rows, fill_where, fill_groups, fill_waits};

	if (tree->ranks)
		fills[which](t, tree);
}
