/* Entries of the parts of a rest, a sample of them; and how long each of its scopes took in each region. */
#include "merge/rest_int.h"

#include <math.h>
#include <stdlib.h>

static int by_hash(const void *a, const void *b)
{
	const struct sonde_rest_entry *x = a, *y = b;

	return sonde_cmp(x->hash, y->hash);
}

/* Cuts the entries of a region down to those that are kept. */
static void sample(struct sonde_rest_region *r)
{
	sonde_vec_sort(&r->entries, by_hash);
	if (r->entries.nr > SONDE_REST_ENTRIES)
		r->entries.nr = SONDE_REST_ENTRIES;
}

static bool add_visit(struct sonde_rest_moving *m, const struct sonde_visit *v)
{
	uint32_t region = m->m.of.region[v->region], i;
	struct sonde_rest_region *to = &m->r->regions.at[region];
	struct sonde_str id = m->r->sum.regions.at[region].id;

	sonde_sum__count(&m->m, &to->nr_streams, v->nr_streams + v->more_streams);
	sonde_sum__count(&m->m, &to->nr_entries, (uint64_t)v->nr_entries * (v->entry_step ? v->entry_step : 1));
	for (i = 0; m->m.sign > 0 && i < v->nr_entries; i++) {
		struct sonde_entry e = m->part->c->entries.at[v->first_entry + i];
		uint64_t key[4] = {m->part->id, sonde_hash(id.p, id.n), i, v->scope};

		e.label = SONDE_NONE; /* one of the part's strings */
		if (!sonde_vec_put(&to->entries,
			    (struct sonde_rest_entry){sonde_hash(key, sizeof(key)), m->part->number, e}))
			return false;
		if (to->entries.nr == 2 * SONDE_REST_ENTRIES)
			sample(to);
	}
	return true;
}

bool sonde_rest__add_entries(struct sonde_rest_moving *m)
{
	size_t i;

	for (i = 0; i < m->part->c->visits.nr; i++)
		if (!add_visit(m, &m->part->c->visits.at[i]))
			return false;
	return true;
}

void sonde_rest__drop_entries(struct sonde_rest *r, uint32_t part)
{
	size_t i;

	for (i = 0; i < r->regions.nr; i++) {
		struct sonde_rest_region *region = &r->regions.at[i];

		sample(region); /* before: what is left must not depend on who came when */
		sonde_vec_filter(&region->entries, k, region->entries.at[k].part != part);
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct sonde_rest_entry *x = a, *y = b;

	return x->entry.begin_ns != y->entry.begin_ns
		       ? sonde_cmp(x->entry.begin_ns, y->entry.begin_ns)
		       : sonde_cmp(x->hash, y->hash);
}

bool sonde_rest__finish_entries(struct sonde_rest *r, struct sonde_cells *c, const uint32_t *order)
{
	size_t i, k;

	for (i = 0; i < c->visits.nr; i++) {
		struct sonde_visit *v = &c->visits.at[i];
		struct sonde_rest_region *from = &r->regions.at[order[v->region]];

		v->more_streams = (uint32_t)from->nr_streams;
		sample(from);
		if (!from->entries.nr)
			continue;
		qsort(from->entries.at, from->entries.nr, sizeof(*from->entries.at), by_begin);
		if (!sonde_vec_reserve(&c->entries, c->entries.nr + from->entries.nr + 1))
			return false;
		v->first_entry = (uint32_t)c->entries.nr;
		v->nr_entries = (uint32_t)from->entries.nr;
		v->entry_step = (uint32_t)((from->nr_entries + from->entries.nr / 2) / from->entries.nr);
		v->entry_step += v->entry_step == 0;
		for (k = 0; k < from->entries.nr; k++)
			c->entries.at[c->entries.nr++] = from->entries.at[k].entry;
	}
	return true;
}

/* --- how long each scope took ------------------------------------------------------------------ */

/* One region of a part, in the scope at hand. */
struct taken {
	double time_ns, work_ns; /* work: without communication */
	uint32_t last;		 /* the cell that counted there last */
};

/* A cell counts once in each region that it is in, by whichever way. */
static void add_cell(struct taken *of, const struct sonde_cells *c, uint32_t number)
{
	const struct sonde_cell *cell = &c->cells.at[number];
	bool is_work = !sonde_kernel_communicates(c->strings.keys[cell->kernel]);
	uint32_t region;

	SONDE_EACH_REGION(c, cell->place, region) {
		if (of[region].last == number)
			break;
		of[region].last = number;
		of[region].time_ns += cell->time_ns;
		of[region].work_ns += is_work ? cell->time_ns : 0;
	}
}

static bool add_scope(struct sonde_rest_moving *m, uint32_t scope, struct taken *of)
{
	const struct sonde_cells *c = m->part->c;
	bool is_timed = sonde_input_has(&c->inputs.at[0],
		sonde_map_find(&c->metric_names, SONDE_STR(SONDE_METRIC_TIME)));
	uint32_t i;

	for (i = 0; i < c->regions.nr; i++)
		of[i] = (struct taken){.last = SONDE_NONE};
	for (i = 0; i < c->cells.nr; i++)
		if (c->cells.at[i].scope == scope)
			add_cell(of, c, i);
	for (i = 0; i < c->visits.nr; i++) {
		uint32_t region = c->visits.at[i].region;

		if (c->visits.at[i].scope == scope && c->regions.at[region].is_shown &&
			!sonde_vec_put(&m->r->times,
				(struct sonde_rest_time){m->part->number, scope, m->m.of.region[region],
					is_timed ? of[region].time_ns : NAN,
					is_timed ? of[region].work_ns : NAN}))
			return false;
	}
	return true;
}

bool sonde_rest__add_times(struct sonde_rest_moving *m)
{
	const struct sonde_cells *c = m->part->c;
	struct taken *of = sonde_arena_alloc(&m->m.arena, (c->regions.nr + 1) * sizeof(*of));
	uint32_t i;

	for (i = 0; of && i < c->scopes.nr; i++)
		if (!add_scope(m, i, of))
			return false;
	return of != NULL;
}
