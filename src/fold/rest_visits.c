/* What a part knows of each region into what the rest does; and how long each of its scopes took. */
#include "fold/rest_int.h"

#include <math.h>
#include <stdlib.h>

static int by_hash(const void *a, const void *b)
{
	const struct sonde_rest_entry *x = a, *y = b;

	return sonde_cmp(x->hash, y->hash);
}

void sonde_rest__sample(struct sonde_rest_region *r)
{
	sonde_vec_sort(&r->entries, by_hash);
	if (r->entries.nr > SONDE_REST_ENTRIES)
		r->entries.nr = SONDE_REST_ENTRIES;
}

static bool add_entries(struct sonde_rest_moving *m, struct sonde_rest_region *to, const struct sonde_visit *v)
{
	uint32_t i;

	sonde_rest__count(m, &to->nr_entries, (uint64_t)v->nr_entries * (v->entry_step ? v->entry_step : 1));
	for (i = 0; m->sign > 0 && i < v->nr_entries; i++) {
		struct sonde_entry e = m->c->entries.at[v->first_entry + i];
		uint64_t key[4] = {m->part->id, sonde_hash(to->region.id.p, to->region.id.n), i, v->scope};

		e.label = SONDE_NONE; /* one of the part's strings */
		if (!sonde_vec_put(&to->entries,
			    (struct sonde_rest_entry){sonde_hash(key, sizeof(key)), m->part->number, e}))
			return false;
		if (to->entries.nr == 2 * SONDE_REST_ENTRIES)
			sonde_rest__sample(to);
	}
	return true;
}

/* Spans of several scopes mean nothing; the peak of memory is that of the fullest. */
static bool add_times(struct sonde_rest_moving *m, struct sonde_rest_region *to, struct sonde_visit *v)
{
	double *times[SONDE_NR_VISIT_TIMES];
	size_t i;

	sonde_visit__list_times(v, times);
	for (i = 0; i < SONDE_NR_VISIT_TIMES; i++) {
		if (isnan(*times[i]) || times[i] == &v->span_ns)
			continue;
		if (times[i] == &v->memory.peak) {
			if (!(to->peak >= v->memory.peak))
				to->peak = v->memory.peak;
			continue;
		}
		sonde_rest__count(m, &to->nr_known[i], 1);
		if (!sonde_rest__sum(m, &to->times[i], *times[i]))
			return false;
	}
	return true;
}

bool sonde_rest__add_visit(struct sonde_rest_moving *m, struct sonde_visit v)
{
	struct sonde_rest_region *to = &m->r->regions.at[m->region_of[v.region]];

	sonde_rest__count(m, &to->nr_visits, 1);
	sonde_rest__count(m, &to->nr_present, v.is_present);
	sonde_rest__count(m, &to->nr_open, v.is_open);
	sonde_rest__count(m, &to->instances, v.instances);
	sonde_rest__count(m, &to->first_instances, v.first_instances);
	sonde_rest__count(m, &to->nr_queued, v.waits.nr_queued);
	sonde_rest__count(m, &to->nr_streams, v.nr_streams + v.more_streams);
	return add_times(m, to, &v) && add_entries(m, to, &v);
}

/* --- how long each scope took ------------------------------------------------------------------ */

/* A cell counts once in each region that it is in, by whichever way. */
static void add_time(struct sonde_rest_moving *m, uint32_t cell, uint32_t region)
{
	bool is_work = !sonde_kernel_communicates(m->c->strings.keys[m->c->cells.at[cell].kernel]);

	for (; region != SONDE_NONE && m->met[region] != cell; region = m->r->regions.at[region].region.parent) {
		m->met[region] = cell;
		m->time_of[region] += m->c->cells.at[cell].time_ns;
		m->work_of[region] += is_work ? m->c->cells.at[cell].time_ns : 0;
	}
}

static bool add_scope_times(struct sonde_rest_moving *m, uint32_t scope)
{
	const struct sonde_cells *c = m->c;
	bool is_timed = sonde_input_has(&c->inputs.at[0],
		sonde_map_find(&c->metric_names, SONDE_STR(SONDE_METRIC_TIME)));
	size_t nr = m->r->regions.nr, i;
	uint32_t k;

	memset(m->time_of, 0, nr * sizeof(*m->time_of));
	memset(m->work_of, 0, nr * sizeof(*m->work_of));
	memset(m->met, 0xff, nr * sizeof(*m->met));
	for (i = 0; i < c->cells.nr; i++) {
		const struct sonde_place *p = &c->places.at[c->cells.at[i].place];

		for (k = 0; c->cells.at[i].scope == scope && k < p->nr; k++)
			add_time(m, (uint32_t)i, m->region_of[c->homes.at[p->first + k]]);
	}
	for (i = 0; i < c->visits.nr; i++) {
		const struct sonde_visit *v = &c->visits.at[i];
		uint32_t region = m->region_of[v->region];

		if (v->scope == scope && c->regions.at[v->region].is_shown &&
			!sonde_vec_put(&m->r->times,
				(struct sonde_rest_time){m->part->number, scope, region,
					is_timed ? m->time_of[region] : NAN,
					is_timed ? m->work_of[region] : NAN}))
			return false;
	}
	return true;
}

bool sonde_rest__add_times(struct sonde_rest_moving *m)
{
	size_t nr = m->r->regions.nr + 1, i;

	m->time_of = sonde_arena_alloc(&m->arena, nr * sizeof(*m->time_of));
	m->work_of = sonde_arena_alloc(&m->arena, nr * sizeof(*m->work_of));
	m->met = sonde_arena_alloc(&m->arena, nr * sizeof(*m->met));
	if (!m->time_of || !m->work_of || !m->met)
		return false;
	for (i = 0; i < m->c->scopes.nr; i++)
		if (!add_scope_times(m, (uint32_t)i))
			return false;
	return true;
}
