#include "fold/rest_int.h"

#include "base/bisect.h"
#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

/* A part on its way in (sign 1) or out (-1). */
struct moving {
	struct sonde_rest *r;
	const struct sonde_cells *c;
	const struct sonde_rest_part *part;
	int sign;
	uint32_t *string_of, *text_of, *region_of, *place_of;
	double *time_of; /* by region of the rest: of one scope */
	uint32_t *met;	 /* by region of the rest: the place that counted there last */
	struct sonde_arena arena;
};

static bool add(const struct moving *m, struct sonde_exact *to, double v)
{
	return sonde_exact_add(to, m->sign * v);
}

static void count(const struct moving *m, uint64_t *to, uint64_t n)
{
	*to = m->sign > 0 ? *to + n : *to - n;
}

/* --- names ------------------------------------------------------------------------------------- */

static uint32_t intern(struct sonde_rest *r, struct sonde_map *map, struct sonde_str key, bool *is_new)
{
	bool was_new = false;
	uint32_t number = sonde_map_add(map, key, &was_new);

	if (number != SONDE_NONE && was_new) {
		key = sonde_arena_dup(&r->arena, key);
		if (!key.p)
			return SONDE_NONE;
		sonde_map_rekey(map, number, key);
	}
	if (is_new)
		*is_new = was_new;
	return number;
}

static uint32_t *enter(struct moving *m, struct sonde_map *to, const struct sonde_map *from)
{
	uint32_t *of = sonde_arena_alloc(&m->arena, (from->nr + 1) * sizeof(*of));
	size_t i;

	for (i = 0; of && i < from->nr; i++) {
		of[i] = intern(m->r, to, from->keys[i], NULL);
		if (of[i] == SONDE_NONE)
			return NULL;
	}
	return of;
}

static struct sonde_str path_of(const struct sonde_cells *c)
{
	return c->inputs.at[0].path;
}

/* The order of regions is that of the first part by path. */
static bool order_region(struct moving *m, struct sonde_rest_region *to, uint32_t number)
{
	int c = to->first_path.p ? sonde_str_cmp(path_of(m->c), to->first_path) : -1;

	if (c > 0 || (c == 0 && number >= to->first_number))
		return true;
	to->first_number = number;
	if (c)
		to->first_path = sonde_arena_dup(&m->r->arena, path_of(m->c));
	return to->first_path.p != NULL;
}

static bool enter_region(struct moving *m, uint32_t number)
{
	struct sonde_rest *r = m->r;
	struct sonde_region region = m->c->regions.at[number];
	uint32_t key[4], at;
	struct sonde_str bytes = {(const char *)key, sizeof(key)};
	struct sonde_rest_region *slot;
	bool is_new;

	region.parent = region.parent == SONDE_NONE ? SONDE_NONE : m->region_of[region.parent];
	region.label = m->string_of[region.label];
	region.domain = region.domain == SONDE_NONE ? SONDE_NONE : m->string_of[region.domain];
	memcpy(key, (uint32_t[4]){region.parent, region.label, region.domain, region.kind}, sizeof(key));
	at = intern(r, &r->region_keys, bytes, &is_new);
	slot = at == SONDE_NONE ? NULL : is_new ? sonde_vec_push(&r->regions) : &r->regions.at[at];
	if (!slot)
		return false;
	m->region_of[number] = at;
	if (is_new) {
		slot->region = region;
		slot->region.id = sonde_arena_dup(&r->arena, region.id);
		slot->peak = NAN;
	}
	slot->region.is_shown |= region.is_shown;
	return slot->region.id.p && order_region(m, slot, number);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static bool enter_place(struct moving *m, size_t number)
{
	struct sonde_rest *r = m->r;
	const struct sonde_place *from = &m->c->places.at[number];
	uint32_t *homes = sonde_arena_alloc(&m->arena, (from->nr + 1) * sizeof(*homes)), i, at;
	struct sonde_place *place;
	bool is_new;

	if (!homes || !sonde_vec_reserve(&r->homes, r->homes.nr + from->nr + 1))
		return false;
	for (i = 0; i < from->nr; i++)
		homes[i] = m->region_of[m->c->homes.at[from->first + i]];
	if (from->nr > 1)
		qsort(homes, from->nr, sizeof(*homes), by_number);
	at = intern(r, &r->place_keys,
		(struct sonde_str){(const char *)homes, from->nr * sizeof(*homes)}, &is_new);
	m->place_of[number] = at;
	if (at == SONDE_NONE || !is_new)
		return at != SONDE_NONE;
	place = sonde_vec_push(&r->places);
	if (!place)
		return false;
	*place = (struct sonde_place){(uint32_t)r->homes.nr, from->nr};
	for (i = 0; i < from->nr; i++)
		r->homes.at[r->homes.nr++] = homes[i];
	return true;
}

static bool enter_names(struct moving *m)
{
	const struct sonde_cells *c = m->c;
	uint32_t i;

	m->string_of = enter(m, &m->r->strings, &c->strings);
	m->text_of = enter(m, &m->r->texts, &c->texts);
	m->region_of = sonde_arena_alloc(&m->arena, (c->regions.nr + 1) * sizeof(uint32_t));
	m->place_of = sonde_arena_alloc(&m->arena, (c->places.nr + 1) * sizeof(uint32_t));
	if (!m->string_of || !m->text_of || !m->region_of || !m->place_of)
		return false;
	for (i = 0; i < c->regions.nr; i++)
		if (!enter_region(m, i))
			return false;
	for (i = 0; i < c->places.nr; i++)
		if (!enter_place(m, i))
			return false;
	return true;
}

/* --- cells ------------------------------------------------------------------------------------- */

static int compare_modes(const struct sonde_mode *a, const struct sonde_mode *b)
{
	if (a->is_text != b->is_text)
		return a->is_text ? 1 : -1;
	return a->v < b->v ? -1 : a->v > b->v;
}

/* A NaN equals all and would be found anywhere: it counts among the others. */
static bool add_mode(struct moving *m, struct sonde_rest_acc *to, struct sonde_mode mode)
{
	size_t low = 0;

	if (mode.is_text)
		mode.v = m->text_of[(uint32_t)mode.v];
	if (isnan(mode.v)) {
		count(m, &to->other, mode.count);
		return true;
	}
	sonde_bisect(low, to->modes.nr, mid, compare_modes(&to->modes.at[mid], &mode) < 0);
	if (low == to->modes.nr || compare_modes(&to->modes.at[low], &mode) != 0) {
		if (!sonde_vec_push(&to->modes))
			return false;
		memmove(&to->modes.at[low + 1], &to->modes.at[low],
			(to->modes.nr - 1 - low) * sizeof(mode));
		to->modes.at[low] = mode;
		to->modes.at[low].count = 0;
	}
	count(m, &to->modes.at[low].count, mode.count);
	return true;
}

static bool add_modes(struct moving *m, struct sonde_rest_acc *to, const struct sonde_modes *from)
{
	uint32_t i;

	count(m, &to->other, from ? from->other : 0);
	for (i = 0; from && i < from->nr; i++)
		if (!add_mode(m, to, from->at[i]))
			return false;
	return true;
}

static void widen(double *low, double *high, double a, double b)
{
	if (!(*low <= a))
		*low = a;
	if (!(*high >= b))
		*high = b;
}

static bool add_acc(struct moving *m, struct sonde_rest_acc *to, const struct sonde_acc *from, uint8_t method)
{
	if (!from->nr)
		return true;
	count(m, &to->nr, from->nr);
	if (method == SONDE_METHOD_MAX) {
		widen(&to->low, &to->high, from->a, from->a);
		return true;
	}
	if (method >= SONDE_METHOD_SAME) {
		widen(&to->low, &to->high, from->a, from->b);
		return add_modes(m, to, from->modes);
	}
	if (method != SONDE_METHOD_MEAN && method != SONDE_METHOD_PEAK) {
		widen(&to->low, &to->high, from->b, from->b);
		return add(m, &to->a, from->a);
	}
	count(m, &to->nr_weighed, from->nr_weighed);
	widen(&to->low, &to->high, from->top, from->top);
	return add(m, &to->a, from->a) && add(m, &to->w, from->w) && add(m, &to->b, from->b) &&
	       add(m, &to->t, from->t);
}

static struct sonde_rest_cell *find_cell(struct moving *m, const struct sonde_cell *from)
{
	struct sonde_rest *r = m->r;
	uint32_t key[2] = {m->place_of[from->place], m->string_of[from->kernel]}, at, i;
	uint32_t nr = r->nr_acc;
	struct sonde_rest_cell *cell;
	bool is_new;

	at = intern(r, &r->cell_keys, (struct sonde_str){(const char *)key, sizeof(key)}, &is_new);
	if (at == SONDE_NONE || !is_new)
		return at == SONDE_NONE ? NULL : &r->cells.at[at];
	cell = sonde_vec_push(&r->cells);
	if (!cell)
		return NULL;
	cell->place = key[0];
	cell->kernel = key[1];
	cell->acc = sonde_arena_calloc(&r->arena, nr + 1, sizeof(*cell->acc));
	for (i = 0; cell->acc && i < nr; i++)
		cell->acc[i].low = cell->acc[i].high = NAN;
	return cell->acc ? cell : NULL;
}

static bool add_cell(struct moving *m, const struct sonde_cell *from)
{
	struct sonde_rest_cell *to = find_cell(m, from);
	uint32_t i;

	if (!to)
		return false;
	count(m, &to->launches, from->launches);
	count(m, &to->copies, from->copies);
	count(m, &to->adopted, from->adopted);
	if (!add(m, &to->time_ns, from->time_ns) || !add(m, &to->copy_ns, from->copy_ns) ||
		!add(m, &to->copy_bytes, from->copy_bytes))
		return false;
	for (i = 0; i < m->r->nr_acc; i++)
		if (!add_acc(m, &to->acc[i], &from->acc[i], m->r->methods[i]))
			return false;
	return true;
}

/* --- visits ------------------------------------------------------------------------------------ */

static int by_hash(const void *a, const void *b)
{
	const struct sonde_rest_entry *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

void sonde_rest__sample(struct sonde_rest_region *r)
{
	if (r->entries.nr > 1)
		qsort(r->entries.at, r->entries.nr, sizeof(*r->entries.at), by_hash);
	if (r->entries.nr > SONDE_REST_ENTRIES)
		r->entries.nr = SONDE_REST_ENTRIES;
}

static bool add_entries(struct moving *m, struct sonde_rest_region *to, const struct sonde_visit *v)
{
	uint32_t i;

	count(m, &to->nr_entries, (uint64_t)v->nr_entries * (v->entry_step ? v->entry_step : 1));
	for (i = 0; m->sign > 0 && i < v->nr_entries; i++) {
		const struct sonde_entry *e = &m->c->entries.at[v->first_entry + i];
		uint64_t key[4] = {m->part->id, sonde_hash(to->region.id.p, to->region.id.n), i, v->scope};
		struct sonde_rest_entry *slot = sonde_vec_push(&to->entries);

		if (!slot)
			return false;
		*slot = (struct sonde_rest_entry){sonde_hash(key, sizeof(key)), m->part->number, *e};
		if (to->entries.nr == 2 * SONDE_REST_ENTRIES)
			sonde_rest__sample(to);
	}
	return true;
}

/* Spans of several scopes mean nothing; the peak of memory is that of the fullest. */
static bool add_times(struct moving *m, struct sonde_rest_region *to, struct sonde_visit *v)
{
	double *times[SONDE_PARTIAL_NR_TIMES];
	size_t i;

	sonde_partial__times(v, times);
	for (i = 0; i < SONDE_PARTIAL_NR_TIMES; i++) {
		if (isnan(*times[i]) || times[i] == &v->span_ns)
			continue;
		if (times[i] == &v->memory.peak) {
			if (!(to->peak >= v->memory.peak))
				to->peak = v->memory.peak;
			continue;
		}
		count(m, &to->nr_known[i], 1);
		if (!add(m, &to->times[i], *times[i]))
			return false;
	}
	return true;
}

static bool add_visit(struct moving *m, struct sonde_visit v)
{
	struct sonde_rest_region *to = &m->r->regions.at[m->region_of[v.region]];

	count(m, &to->nr_visits, 1);
	count(m, &to->nr_present, v.is_present);
	count(m, &to->nr_open, v.is_open);
	count(m, &to->instances, v.instances);
	count(m, &to->first_instances, v.first_instances);
	count(m, &to->nr_queued, v.waits.nr_queued);
	count(m, &to->nr_streams, v.nr_streams + v.more_streams);
	return add_times(m, to, &v) && add_entries(m, to, &v);
}

/* --- how long each scope took ------------------------------------------------------------------ */

/* A cell counts once in each region that it is in, by whichever way. */
static void add_time(struct moving *m, uint32_t cell, uint32_t region)
{
	for (; region != SONDE_NONE && m->met[region] != cell; region = m->r->regions.at[region].region.parent) {
		m->met[region] = cell;
		m->time_of[region] += m->c->cells.at[cell].time_ns;
	}
}

static bool add_scope_times(struct moving *m, uint32_t scope)
{
	const struct sonde_cells *c = m->c;
	bool is_timed = sonde_input_has(&c->inputs.at[0],
		sonde_map_find(&c->metric_names, SONDE_STR(SONDE_METRIC_TIME)));
	size_t nr = m->r->regions.nr, i;
	uint32_t k;

	memset(m->time_of, 0, nr * sizeof(*m->time_of));
	memset(m->met, 0xff, nr * sizeof(*m->met));
	for (i = 0; i < c->cells.nr; i++) {
		const struct sonde_place *p = &c->places.at[c->cells.at[i].place];

		for (k = 0; c->cells.at[i].scope == scope && k < p->nr; k++)
			add_time(m, (uint32_t)i, m->region_of[c->homes.at[p->first + k]]);
	}
	for (i = 0; i < c->visits.nr; i++) {
		const struct sonde_visit *v = &c->visits.at[i];
		struct sonde_rest_time *slot;

		if (v->scope != scope || !c->regions.at[v->region].is_shown)
			continue;
		slot = sonde_vec_push(&m->r->times);
		if (!slot)
			return false;
		*slot = (struct sonde_rest_time){m->part->number, m->region_of[v->region],
			is_timed ? m->time_of[m->region_of[v->region]] : NAN};
	}
	return true;
}

static bool add_all_times(struct moving *m)
{
	size_t nr = m->r->regions.nr + 1, i;

	m->time_of = sonde_arena_alloc(&m->arena, nr * sizeof(*m->time_of));
	m->met = sonde_arena_alloc(&m->arena, nr * sizeof(*m->met));
	if (!m->time_of || !m->met)
		return false;
	for (i = 0; i < m->c->scopes.nr; i++)
		if (!add_scope_times(m, (uint32_t)i))
			return false;
	return true;
}

static bool add_ranks(struct moving *m)
{
	size_t i;

	for (i = 0; i < m->c->processes.nr; i++) {
		const struct sonde_process *p = &m->c->processes.at[i];
		struct sonde_rest_rank *slot = p->has_rank ? sonde_vec_push(&m->r->ranks) : NULL;

		if (p->has_rank && !slot)
			return false;
		if (slot)
			*slot = (struct sonde_rest_rank){m->part->number, {p->rank, p->world_size}};
	}
	return true;
}

/* --- a part ------------------------------------------------------------------------------------ */

static void add_tally(struct moving *m)
{
	struct sonde_cells *to = m->r->c;
	const struct sonde_tally *f = &m->c->tally;
	size_t i;

	count(m, &to->tally.nr_launches, f->nr_launches);
	count(m, &to->tally.nr_taken, f->nr_taken);
	count(m, &to->tally.nr_outside, f->nr_outside);
	count(m, &to->tally.nr_not_selected, f->nr_not_selected);
	count(m, &to->tally.nr_adopted, f->nr_adopted);
	for (i = 0; i < SONDE_NR_OUTSIDE; i++)
		count(m, &to->tally.nr_outside_by[i], f->nr_outside_by[i]);
	to->tally.takes_range |= f->takes_range;
	for (i = 0; i < sonde_selection_nr_words(&to->selection); i++)
		to->tally.is_met[i] |= f->is_met[i];
	to->has_range_times |= m->c->has_range_times;
	to->has_times |= m->c->has_times;
	count(m, &to->nr_unclosed, m->c->nr_unclosed);
	count(m, &to->nr_untimed, m->c->nr_untimed);
	to->inputs.at[0].is_windowed |= m->c->inputs.at[0].is_windowed;
	count(m, &to->inputs.at[0].nr_windows, m->c->inputs.at[0].nr_windows);
	count(m, &to->inputs.at[0].captured_ns, m->c->inputs.at[0].captured_ns);
	count(m, &to->inputs.at[0].total_ns, m->c->inputs.at[0].total_ns);
	for (i = 0; i < to->label_rules.nr && i < m->c->label_rules.nr; i++)
		count(m, &to->label_rules.at[i].changed, m->c->label_rules.at[i].changed);
}

static bool move_part(struct moving *m)
{
	struct sonde_rest *r = m->r;
	size_t i;

	if (!enter_names(m))
		return false;
	for (i = 0; i < m->c->cells.nr; i++)
		if (!add_cell(m, &m->c->cells.at[i]))
			return false;
	for (i = 0; i < m->c->visits.nr; i++)
		if (!add_visit(m, m->c->visits.at[i]))
			return false;
	for (i = 0; i < m->c->scopes.nr; i++) {
		count(m, &r->nr_launches, m->c->sums.at[i].launches);
		if (!add(m, &r->time_ns, m->c->sums.at[i].time_ns))
			return false;
	}
	count(m, &r->nr_inputs, 1);
	count(m, &r->nr_scopes, m->c->scopes.nr);
	add_tally(m);
	return m->sign < 0 || (add_all_times(m) && add_ranks(m));
}

bool sonde_rest__add(struct sonde_rest *r, const struct sonde_rest_part *p)
{
	struct moving m = {.r = r, .c = p->c, .part = p, .sign = 1};
	bool ok = move_part(&m);

	sonde_arena_release(&m.arena);
	return ok;
}

bool sonde_rest__take_out(struct sonde_rest *r, const struct sonde_rest_part *p)
{
	struct moving m = {.r = r, .c = p->c, .part = p, .sign = -1};
	bool ok = move_part(&m);
	size_t i, k, nr = 0;

	for (i = 0; i < r->times.nr; i++)
		if (r->times.at[i].part != p->number)
			r->times.at[nr++] = r->times.at[i];
	r->times.nr = nr;
	for (i = nr = 0; i < r->ranks.nr; i++)
		if (r->ranks.at[i].part != p->number)
			r->ranks.at[nr++] = r->ranks.at[i];
	r->ranks.nr = nr;
	for (k = 0; k < r->regions.nr; k++) {
		struct sonde_rest_region *region = &r->regions.at[k];

		sonde_rest__sample(region); /* before: what is left must not depend on who came when */
		for (i = nr = 0; i < region->entries.nr; i++)
			if (region->entries.at[i].part != p->number)
				region->entries.at[nr++] = region->entries.at[i];
		region->entries.nr = nr;
	}
	sonde_arena_release(&m.arena);
	return ok;
}
