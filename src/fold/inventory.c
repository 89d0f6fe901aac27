/* Rows are filled in by region number, which is the order of first entry, and put in the order of the tree at the end. */
#include "fold/inventory.h"

#include "attribute/launches.h"
#include "attribute/levels.h"
#include "base/depth_first.h"
#include "base/known.h"

#include <math.h>

/* Scratch, by region, in `scratch`. */
struct work {
	struct sonde_inventory *v;
	const struct sonde_launches *l;
	struct sonde_inventory_row *rows;
	struct last {
		uint64_t thread;
		uint32_t process; /* SONDE_NONE = nobody yet */
	} * last;		  /* the thread that entered last: entries of one thread often follow each other */
	uint64_t *counted;	  /* number of the last launch that was counted, plus one */
	struct sonde_map threads; /* {region, process, thread} */
	struct sonde_arena scratch;
};

static void add_thread(struct work *w, uint32_t region, const struct sonde_range *range)
{
	struct last *last = &w->last[region];
	uint32_t key[4] = {
		region, range->process, (uint32_t)range->thread, (uint32_t)(range->thread >> 32)};
	bool is_new;

	if (last->process == range->process && last->thread == range->thread)
		return;
	*last = (struct last){range->thread, range->process};
	sonde_intern_copy(&w->scratch, &w->threads, SONDE_BYTES(key), &is_new);
	w->rows[region].threads += is_new;
}

static void add_entries(struct work *w)
{
	const struct sonde_launches *l = w->l;
	const struct sonde_records *r = l->records;
	size_t i;

	for (i = 0; i < r->ranges.nr; i++) {
		const struct sonde_range_time *t = &r->ranges.at[i].time;
		uint32_t region = l->region_of.at[i];

		if (region == SONDE_NONE)
			continue;
		w->rows[region].instances += !r->ranges.at[i].is_inherited;
		add_thread(w, region, &r->ranges.at[i]);
		if (!t->end_ns)
			continue;
		sonde_add_known(&w->rows[region].host_ns,
			t->end_ns > t->begin_ns ? (double)(t->end_ns - t->begin_ns) : 0);
		sonde_add_known(&w->rows[region].cpu_ns, t->cpu_ns ? (double)t->cpu_ns : NAN);
	}
	for (i = 0; i < r->ranges.nr; i++) /* the CPU time of a range that was never closed is not known */
		if (r->ranges.at[i].is_open && l->region_of.at[i] != SONDE_NONE)
			w->rows[l->region_of.at[i]].cpu_ns = NAN;
}

static void add_launches(struct work *w)
{
	const struct sonde_launches *l = w->l;
	size_t i, k;
	uint32_t at;

	for (i = 0; i < l->launches.nr; i++) {
		const struct sonde_place *p = &l->places.at[l->launches.at[i].place];

		if (l->launches.at[i].state != SONDE_LAUNCH_TAKEN || l->launches.at[i].is_adopted)
			continue;
		for (k = 0; k < p->nr; k++)
			for (at = l->homes.at[p->first + k];
				at != SONDE_NONE && w->counted[at] != i + 1;
				at = l->regions.at[at].parent) {
				w->counted[at] = i + 1;
				w->rows[at].launches++;
			}
	}
}

static int add_expression(struct work *w, uint32_t region, struct sonde_err *err)
{
	struct sonde_buf b = {0};
	bool is_good;
	int rc = sonde_region_expression_checked(&b, w->l, region, &is_good, err);

	if (rc == 0 && is_good)
		w->rows[region].expression = sonde_arena_z(&w->v->arena, sonde_buf_view(&b));
	sonde_buf_release(&b);
	return rc;
}

/* Puts rows in depth-first order: in the launches parents come before their children, but not next to them. */
static void order_rows(struct work *w)
{
	const struct sonde_region *regions = w->l->regions.at;
	size_t nr = w->l->regions.nr, i;
	uint32_t *order = sonde_arena_alloc(&w->scratch, (nr + 1) * sizeof(*order));

	if (!nr || !order)
		return;
	w->scratch.failed |= !sonde_depth_first(order, NULL, nr, &regions->parent, sizeof(*regions));
	for (i = 0; !w->scratch.failed && i < nr; i++)
		sonde_put(&w->v->arena, &w->v->rows, w->rows[order[i]]);
}

static void work_init(struct work *w)
{
	const struct sonde_launches *l = w->l;
	size_t nr = l->regions.nr, i;

	w->rows = sonde_arena_calloc(&w->scratch, nr + 1, sizeof(*w->rows));
	w->last = sonde_arena_calloc(&w->scratch, nr + 1, sizeof(*w->last));
	w->counted = sonde_arena_calloc(&w->scratch, nr + 1, sizeof(*w->counted));
	for (i = 0; !w->scratch.failed && i < nr; i++) {
		const struct sonde_region *g = &l->regions.at[i];

		w->rows[i] = (struct sonde_inventory_row){.region = g,
			.label = sonde_region_label(l, g),
			.domain = sonde_records_str(l->records, g->domain),
			.host_ns = NAN,
			.cpu_ns = NAN};
		if (g->parent != SONDE_NONE)
			w->rows[i].parent_id = l->regions.at[g->parent].id;
		w->last[i].process = SONDE_NONE;
	}
}

int sonde_inventory_build(
	struct sonde_inventory *out, const struct sonde_launches *l, struct sonde_err *err)
{
	struct work w = {.v = out, .l = l};
	uint32_t i;
	int rc;

	*out = (struct sonde_inventory){
		.nr_launches = l->launches.nr, .nr_outside = l->tally.nr_outside, .nr_adopted = l->tally.nr_adopted};
	sonde_notes_add(&out->notes, &l->records->notes);
	sonde_notes_add(&out->notes, &l->notes);
	work_init(&w);
	rc = sonde_arena_status(&w.scratch, err);
	if (rc == 0) {
		add_entries(&w);
		add_launches(&w);
	}
	for (i = 0; i < l->regions.nr && rc == 0; i++)
		rc = add_expression(&w, i, err);
	if (rc == 0)
		order_rows(&w);
	out->arena.failed |= w.scratch.failed;
	rc = rc ? rc : sonde_arena_status(&out->arena, err);
	sonde_arena_release(&w.scratch);
	if (rc)
		sonde_inventory_release(out);
	return rc;
}

void sonde_inventory_release(struct sonde_inventory *v)
{
	sonde_notes_release(&v->notes);
	sonde_arena_release(&v->arena);
	*v = (struct sonde_inventory){0};
}
