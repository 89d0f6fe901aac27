/* A partial report's visits and cells. What a tree takes for granted of them is checked here. */
#include "fold/partial_int.h"

#include "base/bisect.h"

#include <math.h>

#define MAX_BYTES (4ull << 30) /* of accumulators, as while folding */

static bool get_streams(struct sonde_cursor *in, struct sonde_cells *c, struct sonde_visit *v)
{
	size_t nr = sonde_get_count(in), i;

	v->first_stream = (uint32_t)c->streams.nr;
	v->nr_streams = (uint32_t)nr;
	for (i = 0; i < nr && !in->failed; i++) {
		struct sonde_stream *s = sonde_vec_push(&c->streams);

		if (!s)
			return false;
		s->context = (uint32_t)sonde_get_u(in);
		s->stream = sonde_get_u(in);
		s->launches = sonde_get_u(in);
		s->time_ns = sonde_get_f64(in);
		s->busy_ns = sonde_get_f64(in);
	}
	return true;
}

static bool get_entries(struct sonde_cursor *in, struct sonde_cells *c, struct sonde_visit *v)
{
	uint64_t last = 0, step = sonde_get_u(in);
	size_t nr, i;

	nr = sonde_get_count(in);
	v->first_entry = (uint32_t)c->entries.nr;
	v->nr_entries = (uint32_t)nr;
	v->entry_step = (uint32_t)step;
	in->failed |= step > UINT32_MAX || (nr && !step);
	for (i = 0; i < nr && !in->failed; i++) {
		struct sonde_entry *e = sonde_vec_push(&c->entries);

		if (!e)
			return false;
		e->begin_ns = last += sonde_get_u(in);
		e->host_ns = sonde_get_u(in);
		e->gpu_ns = sonde_get_u(in);
		e->span_ns = sonde_get_u(in);
		e->label = sonde_get_maybe(in, c->strings.nr);
	}
	return true;
}

static void get_visit(struct sonde_cursor *in, const struct sonde_cells *c, struct sonde_visit *v)
{
	double *times[SONDE_PARTIAL_NR_TIMES];
	uint64_t known;
	size_t i;

	v->scope = sonde_get_index(in, c->scopes.nr);
	v->region = sonde_get_index(in, c->regions.nr);
	v->instances = sonde_get_u(in);
	v->first_instances = sonde_get_u(in);
	known = sonde_get_u(in);
	v->is_present = known & 1;
	v->is_open = known >> 1 & 1;
	sonde_partial__times(v, times);
	for (i = 0; i < SONDE_PARTIAL_NR_TIMES; i++)
		*times[i] = known >> (2 + i) & 1 ? sonde_get_f64(in) : NAN;
	v->waits.nr_queued = sonde_get_u(in);
}

static int compare(const struct sonde_visit *v, uint32_t scope, uint32_t region)
{
	if (v->scope != scope)
		return v->scope < scope ? -1 : 1;
	return v->region < region ? -1 : v->region > region;
}

static bool get_gaps(struct sonde_cursor *in, struct sonde_cells *c, bool *is_nomem)
{
	size_t nr = sonde_get_count(in), i;

	for (i = 0; i < nr && !in->failed; i++) {
		struct sonde_gap *gap = sonde_vec_push(&c->gaps);

		*is_nomem = !gap;
		if (!gap)
			return false;
		gap->scope = sonde_get_index(in, c->scopes.nr);
		gap->region = sonde_get_maybe(in, c->regions.nr);
		gap->before = sonde_get_maybe(in, c->regions.nr);
		gap->cause = (uint8_t)sonde_get_index(in, SONDE_NR_IDLE_CAUSES);
		gap->begin_ns = sonde_get_u(in);
		gap->ns = sonde_get_u(in);
		gap->since_ns = sonde_get_u(in);
	}
	return !in->failed;
}

static bool get_collectives(struct sonde_cursor *in, struct sonde_cells *c, bool *is_nomem)
{
	size_t nr = sonde_get_count(in), i;
	struct sonde_collective last = {0};

	for (i = 0; i < nr && !in->failed; i++) {
		struct sonde_collective *k = sonde_vec_push(&c->collectives);

		*is_nomem = !k;
		if (!k)
			return false;
		k->scope = sonde_get_index(in, c->scopes.nr);
		k->who = SONDE_NONE;
		k->place = sonde_get_index(in, c->places.nr);
		k->group = sonde_get_index(in, c->strings.nr);
		k->kind = (uint8_t)sonde_get_index(in, SONDE_NR_COLLECTIVE_KINDS);
		k->number = last.number + sonde_get_u(in);
		k->start_ns = last.start_ns + sonde_get_u(in);
		k->end_ns = k->start_ns + sonde_get_u(in);
		k->nr_bytes = sonde_get_u(in);
		in->failed |= k->scope < last.scope ||
			      (k->scope == last.scope && k->start_ns < last.start_ns) ||
			      k->end_ns < k->start_ns;
		last = *k;
	}
	return !in->failed;
}

bool sonde_partial__visits(struct sonde_cursor *in, struct sonde_cells *c, bool *is_nomem)
{
	size_t nr = sonde_get_count(in), i;

	for (i = 0; i < nr && !in->failed; i++) {
		struct sonde_visit *v = sonde_vec_push(&c->visits);

		if (!v) {
			*is_nomem = true;
			return false;
		}
		get_visit(in, c, v);
		in->failed |= i && compare(v - 1, v->scope, v->region) >= 0;
		if (!get_streams(in, c, v) || !get_entries(in, c, v)) {
			*is_nomem = true;
			return false;
		}
	}
	return get_gaps(in, c, is_nomem) && get_collectives(in, c, is_nomem) && in->p == in->end;
}

static bool is_present(const struct sonde_cells *c, uint32_t scope, uint32_t region)
{
	size_t low = 0;

	sonde_bisect(low, c->visits.nr, mid, compare(&c->visits.at[mid], scope, region) < 0);
	return low < c->visits.nr && compare(&c->visits.at[low], scope, region) == 0 &&
	       c->visits.at[low].is_present;
}

/* A cell's regions are shown, as all around them, and known to its scope. */
static bool is_placed(const struct sonde_cells *c, const struct sonde_cell *cell)
{
	const struct sonde_place *p = &c->places.at[cell->place];
	uint32_t i, region;

	for (i = 0; i < p->nr; i++) {
		region = c->homes.at[p->first + i];
		if (!c->tally.takes_range || !is_present(c, cell->scope, region))
			return false;
		for (; region != SONDE_NONE; region = c->regions.at[region].parent)
			if (!c->regions.at[region].is_shown)
				return false;
	}
	return true;
}

static bool get_modes(struct sonde_cursor *in, struct sonde_cells *c, struct sonde_acc *acc)
{
	uint64_t other = sonde_get_u(in), count;
	uint32_t nr = sonde_get_index(in, SONDE_MAX_MODES + 1), i;
	struct sonde_modes *m = sonde_arena_calloc(&c->arena, 1, sizeof(*m));

	acc->modes = m;
	if (m)
		m->at = sonde_arena_calloc(&c->arena, nr + 1, sizeof(*m->at));
	if (!m || !m->at)
		return false;
	m->other = other;
	m->nr = m->cap = nr;
	for (i = 0; i < nr && !in->failed; i++) {
		count = sonde_get_u(in);
		m->at[i].count = count >> 1;
		m->at[i].is_text = count & 1;
		m->at[i].v = count & 1 ? sonde_get_index(in, c->texts.nr) : sonde_get_f64(in);
	}
	return true;
}

static bool get_acc(
	struct sonde_cursor *in, struct sonde_cells *c, struct sonde_acc *acc, uint8_t method)
{
	acc->nr = sonde_get_u(in);
	in->failed |= acc->nr == 0;
	acc->a = sonde_get_f64(in);
	if (method == SONDE_METHOD_MAX)
		return true;
	acc->b = sonde_get_f64(in);
	if (method >= SONDE_METHOD_SAME)
		return get_modes(in, c, acc);
	if (method == SONDE_METHOD_MEAN || method == SONDE_METHOD_PEAK) {
		acc->nr_weighed = sonde_get_u(in);
		acc->w = sonde_get_f64(in);
		acc->t = sonde_get_f64(in);
		acc->top = sonde_get_f64(in);
	}
	return true;
}

/* `methods`: by accumulator. */
static bool get_cell(struct sonde_cursor *in, struct sonde_cells *c, struct sonde_cell *cell,
	const uint8_t *methods)
{
	uint32_t nr = sonde_cells_kit(c, cell->scope)->nr, at = 0;
	uint64_t gap;

	cell->sampled = SONDE_NONE;
	cell->place = sonde_get_index(in, c->places.nr);
	cell->kernel = sonde_get_index(in, c->strings.nr);
	cell->launches = sonde_get_u(in);
	cell->time_ns = sonde_get_f64(in);
	cell->adopted = sonde_get_u(in);
	cell->copies = sonde_get_u(in);
	if (cell->copies) {
		cell->copy_ns = sonde_get_f64(in);
		cell->copy_bytes = sonde_get_f64(in);
	}
	in->failed |= !in->failed && !is_placed(c, cell);
	cell->acc = sonde_arena_calloc(&c->arena, nr + 1, sizeof(*cell->acc));
	if (!cell->acc)
		return false;
	while ((gap = sonde_get_u(in)) && !in->failed) {
		in->failed |= gap > nr - at;
		if (in->failed)
			break;
		at += (uint32_t)gap;
		if (!get_acc(in, c, &cell->acc[at - 1], methods[at - 1]))
			return false;
	}
	return true;
}

/* By kit, then accumulator: its method. NULL: no memory. */
static uint8_t **find_methods(struct sonde_cells *c)
{
	uint8_t *by_metric = sonde_partial__methods(&c->arena, &c->metric_names);
	uint8_t **methods = sonde_arena_calloc(&c->arena, c->kits.nr + 1, sizeof(*methods));
	size_t i, k;

	for (i = 0; by_metric && methods && i < c->kits.nr; i++) {
		const struct sonde_kit *kit = &c->kits.at[i];

		methods[i] = sonde_arena_calloc(&c->arena, kit->nr + 1, 1);
		if (!methods[i])
			return NULL;
		for (k = 0; k < c->metric_names.nr; k++)
			if (kit->at[k] != SONDE_NONE)
				methods[i][kit->at[k]] = by_metric[k];
	}
	return by_metric ? methods : NULL;
}

bool sonde_partial__cells(struct sonde_cursor *in, struct sonde_cells *c, bool *is_nomem)
{
	size_t nr = sonde_get_count(in), i;
	uint8_t **methods = find_methods(c);
	uint64_t bytes = 0;

	*is_nomem = !methods;
	for (i = 0; i < nr && !in->failed && !*is_nomem; i++) {
		struct sonde_cell *cell = sonde_vec_push(&c->cells);
		const struct sonde_kit *kit;

		*is_nomem = !cell;
		if (*is_nomem)
			break;
		cell->scope = sonde_get_index(in, c->scopes.nr);
		if (in->failed)
			break;
		kit = sonde_cells_kit(c, cell->scope);
		bytes += kit->nr * sizeof(*cell->acc);
		in->failed |= bytes > MAX_BYTES;
		if (!in->failed)
			*is_nomem = !get_cell(in, c, cell, methods[kit - c->kits.at]);
	}
	return !in->failed && !*is_nomem && in->p == in->end;
}
