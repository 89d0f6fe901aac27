/* "ranks": ranks side by side, at the top and in the regions of an aggregate. */
#include "export/json_int.h"

#include <math.h>

static void put_rank(struct sonde_json_export *x, const char *key, uint32_t rank)
{
	const struct sonde_str none = {NULL, 0};

	sonde_json_maybe(
		&x->w, key, rank == SONDE_NONE ? none : sonde_rank_name(x->tree->ranks, rank));
}

static void put_ms(struct sonde_json_export *x, const char *key, double ns)
{
	sonde_json_number(&x->w, key, ns / 1e6);
}

static void put_stragglers(struct sonde_json_export *x)
{
	const struct sonde_ranks *r = x->tree->ranks;
	size_t i;

	sonde_json_each(&x->w, "stragglers", false, i, r->stragglers.nr) {
		const struct sonde_straggler *s = &r->stragglers.at[i];
		bool is_late = s->region == SONDE_NONE;

		put_rank(x, "scope", s->rank);
		sonde_json__write_region_id(x, "region", s->region);
		sonde_json_z(&x->w, "cause", sonde_slow_cause_name(s->cause));
		sonde_json_u64(&x->w, "ranks", s->nr_ranks);
		put_ms(x, "ms", is_late ? NAN : s->ns);
		put_ms(x, "others_ms", is_late ? NAN : s->others_ns);
		sonde_json_number(&x->w, "slower_pct", is_late ? NAN : 100 * (s->ns / s->others_ns - 1));
		put_ms(x, "late_ms", is_late ? s->ns : NAN);
		sonde_json_u64(&x->w, "last", s->nr_last);
		sonde_json_u64(&x->w, "collectives", s->nr);
		sonde_json_str(&x->w, "sentence", s->sentence);
	}
}

static void put_rows(struct sonde_json_export *x)
{
	const struct sonde_ranks *r = x->tree->ranks;
	size_t i;

	sonde_json_each(&x->w, "per_rank", false, i, r->rows.nr) {
		const struct sonde_rank_row *row = &r->rows.at[i];

		put_rank(x, "scope", (uint32_t)i);
		sonde_json_str(&x->w, "host", row->host);
		sonde_json_u64(&x->w, "clock", row->clock);
		put_ms(x, "work_ms", row->work_ns);
		put_ms(x, "comm_ms", row->comm_ns);
		put_ms(x, "exposed_comm_ms", row->exposed_ns);
		sonde_json_u64(&x->w, "collectives", row->nr);
		sonde_json_u64(&x->w, "last", row->nr_last);
		put_ms(x, "late_ms", row->nr ? row->late_ns : NAN);
		put_ms(x, "wait_ms", row->wait_ns);
	}
}

static void put_groups(struct sonde_json_export *x)
{
	const struct sonde_ranks *r = x->tree->ranks;
	size_t i;

	sonde_json_each(&x->w, "groups", false, i, r->groups.nr) {
		const struct sonde_group_row *g = &r->groups.at[i];

		sonde_json_str(&x->w, "group", sonde_tree_str(x->tree, g->name));
		sonde_json_z(&x->w, "kind", sonde_collective_kind_name(g->kind));
		sonde_json_u64(&x->w, "ranks", g->nr_ranks);
		sonde_json_u64(&x->w, "compared", g->nr);
		sonde_json_u64(&x->w, "odd", g->nr_odd);
		sonde_json_number(&x->w, "bytes", g->nr_bytes > 0 ? g->nr_bytes : NAN);
		put_ms(x, "wait_ms", g->wait_ns);
		put_ms(x, "transfer_ms", g->transfer_ns);
	}
}

static void put_waits(struct sonde_json_export *x)
{
	const struct sonde_ranks *r = x->tree->ranks;
	const struct sonde_cells *c = x->tree->cells;
	size_t i;

	sonde_json_each(&x->w, "longest_waits", false, i, r->nr_waits) {
		const struct sonde_long_wait *w = &r->waits[i];
		const struct sonde_place *p = &c->places.at[w->place];

		sonde_json__write_region_id(x, "region", p->nr ? c->homes.at[p->first] : SONDE_NONE);
		sonde_json_str(&x->w, "group", sonde_tree_str(x->tree, w->group));
		sonde_json_z(&x->w, "kind", sonde_collective_kind_name(w->kind));
		sonde_json_u64(&x->w, "number", w->number);
		sonde_json_u64(&x->w, "ranks", w->nr_ranks);
		put_rank(x, "last", w->last);
		put_ms(x, "late_ms", w->late_ns);
		put_ms(x, "wait_ms", w->wait_ns);
	}
}

static void put_collectives(struct sonde_json_export *x)
{
	const struct sonde_ranks *r = x->tree->ranks;
	size_t i;

	sonde_json_open(&x->w, "collectives", '{', false);
	sonde_json_u64(&x->w, "compared", r->nr_collectives);
	sonde_json_u64(&x->w, "odd", r->nr_odd);
	put_groups(x);
	sonde_json_each(&x->w, "regions", false, i, r->regions.nr) {
		const struct sonde_region_row *row = &r->regions.at[i];

		sonde_json__write_region_id(x, "region", row->region);
		put_ms(x, "wait_ms", row->wait_ns);
		sonde_json_u64(&x->w, "decided", row->nr);
		put_rank(x, "last", row->last);
		sonde_json_u64(&x->w, "last_count", row->nr_last);
	}
	put_waits(x);
	sonde_json_close(&x->w, '}');
}

static void put_clocks(struct sonde_json_export *x)
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
		put_ms(x, "ahead_ms", k->is_aligned ? k->ahead_ns : NAN);
		sonde_json_number(&x->w, "drift_ppm", k->is_aligned ? k->drift * 1e6 : NAN);
		sonde_json_number(&x->w, "error_us", k->is_aligned ? k->error_ns / 1e3 : NAN);
	}
}

void sonde_json__write_ranks(struct sonde_json_export *x)
{
	const struct sonde_ranks *r = x->tree->ranks;

	if (!r)
		return;
	sonde_json_open(&x->w, "ranks", '{', false);
	sonde_json_u64(&x->w, "count", r->nr);
	sonde_json_number(&x->w, "hosts", r->nr_hosts ? (double)r->nr_hosts : NAN);
	put_stragglers(x);
	put_rows(x);
	put_collectives(x);
	put_clocks(x);
	sonde_json_close(&x->w, '}');
}

void sonde_json__write_spread(struct sonde_json_export *x, const struct sonde_node *n)
{
	const struct sonde_rank_spread *s = sonde_ranks_spread(x->tree->ranks, n->region);

	if (!s || s->nr < 2)
		return;
	sonde_json_open(&x->w, "ranks", '{', true);
	sonde_json_u64(&x->w, "count", s->nr);
	put_ms(x, "min_ms", s->min_ns);
	put_ms(x, "median_ms", s->median_ns);
	put_ms(x, "max_ms", s->max_ns);
	put_ms(x, "others_ms", s->others_ns);
	sonde_json_number(&x->w, "slower_pct", 100 * (s->max_ns / s->others_ns - 1));
	put_rank(x, "slowest", s->slowest);
	put_rank(x, "fastest", s->fastest);
	sonde_json_z(&x->w, "cause", s->is_slow ? sonde_slow_cause_name(s->cause) : NULL);
	sonde_json_close(&x->w, '}');
}
