/*
 * A rest → a part. Whatever came in the order of the parts gets an order of its own:
 * names by their bytes, regions by the first part that has them, cells by place and
 * kernel.
 */
#include "fold/rest_int.h"

#include <stdlib.h>

struct finishing {
	struct sonde_rest *r;
	struct sonde_cells *c;
	struct sonde_rest_numbers n;
	struct sonde_arena arena;
};

/* The numbers 0 … nr-1 in the order of `compare`. NULL: no memory. */
static uint32_t *sort(struct finishing *f, size_t nr, int (*compare)(const void *, const void *, void *), void *of)
{
	uint32_t *at = sonde_arena_alloc(&f->arena, (nr + 1) * sizeof(*at)), i;

	for (i = 0; at && i < nr; i++)
		at[i] = i;
	if (at && nr > 1)
		qsort_r(at, nr, sizeof(*at), compare, of);
	return at;
}

static int by_bytes(const void *a, const void *b, void *map)
{
	const struct sonde_str *keys = ((const struct sonde_map *)map)->keys;

	return sonde_str_cmp(keys[*(const uint32_t *)a], keys[*(const uint32_t *)b]);
}

static uint32_t *name(struct finishing *f, struct sonde_map *to, struct sonde_map *from)
{
	uint32_t *order = sort(f, from->nr, by_bytes, from), i;
	uint32_t *of = sonde_arena_alloc(&f->arena, (from->nr + 1) * sizeof(*of));

	for (i = 0; order && of && i < from->nr; i++) {
		of[order[i]] = sonde_map_keep(to, &f->c->arena, from->keys[order[i]], NULL);
		if (of[order[i]] == SONDE_NONE)
			return NULL;
	}
	return order ? of : NULL;
}

static int by_first(const void *a, const void *b, void *rest)
{
	const struct sonde_rest_region *at = ((const struct sonde_rest *)rest)->regions.at;
	const struct sonde_rest_region *x = &at[*(const uint32_t *)a], *y = &at[*(const uint32_t *)b];
	int c = sonde_str_cmp(x->first_path, y->first_path);

	c = c ? c : sonde_cmp(x->first_number, y->first_number);
	c = c ? c : sonde_cmp(x->region.depth, y->region.depth);
	c = c ? c : sonde_str_cmp(x->region.id, y->region.id);
	return c ? c : sonde_cmp(x->region.kind, y->region.kind);
}

/* --- visits ------------------------------------------------------------------------------------ */

static int by_begin(const void *a, const void *b)
{
	const struct sonde_rest_entry *x = a, *y = b;

	return x->entry.begin_ns != y->entry.begin_ns
		       ? sonde_cmp(x->entry.begin_ns, y->entry.begin_ns)
		       : sonde_cmp(x->hash, y->hash);
}

static bool finish_entries(struct finishing *f, struct sonde_visit *v, struct sonde_rest_region *from)
{
	struct sonde_cells *c = f->c;
	size_t i;

	sonde_rest__sample(from);
	if (!from->entries.nr)
		return true;
	qsort(from->entries.at, from->entries.nr, sizeof(*from->entries.at), by_begin);
	if (!sonde_vec_reserve(&c->entries, c->entries.nr + from->entries.nr + 1))
		return false;
	v->first_entry = (uint32_t)c->entries.nr;
	v->nr_entries = (uint32_t)from->entries.nr;
	v->entry_step = (uint32_t)((from->nr_entries + from->entries.nr / 2) / from->entries.nr);
	v->entry_step += v->entry_step == 0;
	for (i = 0; i < from->entries.nr; i++)
		c->entries.at[c->entries.nr++] = from->entries.at[i].entry;
	return true;
}

static bool finish_visit(struct finishing *f, uint32_t region, struct sonde_rest_region *from)
{
	struct sonde_visit *v = from->nr_visits ? sonde_cells__add_visit(f->c, 0, region) : NULL;
	double *times[SONDE_NR_VISIT_TIMES];
	size_t i;

	if (!v)
		return !from->nr_visits;
	v->is_present = from->nr_present > 0;
	v->is_open = from->nr_open > 0;
	v->instances = from->instances;
	v->first_instances = from->first_instances;
	sonde_visit__list_times(v, times);
	for (i = 0; i < SONDE_NR_VISIT_TIMES; i++)
		if (from->nr_known[i])
			*times[i] = sonde_exact_value(&from->times[i]);
	v->memory.peak = from->peak;
	v->waits.nr_queued = from->nr_queued;
	v->more_streams = (uint32_t)from->nr_streams;
	return finish_entries(f, v, from);
}

static bool finish_regions(struct finishing *f)
{
	struct sonde_rest *r = f->r;
	uint32_t *order = sort(f, r->regions.nr, by_first, r), i;

	f->n.region_of = sonde_arena_alloc(&f->arena, (r->regions.nr + 1) * sizeof(uint32_t));
	for (i = 0; order && f->n.region_of && i < r->regions.nr; i++) {
		struct sonde_rest_region *from = &r->regions.at[order[i]];
		struct sonde_region to = sonde_region__in(from->region, f->n.region_of, f->n.string_of);

		f->n.region_of[order[i]] = i;
		if (!sonde_cells__keep(f->c, &to.id) || !sonde_vec_put(&f->c->regions, to) ||
			!finish_visit(f, i, from))
			return false;
	}
	return order && f->n.region_of;
}

/* --- cells ------------------------------------------------------------------------------------- */

static int by_homes(const void *a, const void *b, void *finishing)
{
	const struct finishing *f = finishing;
	const struct sonde_place *x = &f->r->places.at[*(const uint32_t *)a];
	const struct sonde_place *y = &f->r->places.at[*(const uint32_t *)b];
	uint32_t i, p, q;

	for (i = 0; i < x->nr && i < y->nr; i++) {
		p = f->n.region_of[f->r->homes.at[x->first + i]];
		q = f->n.region_of[f->r->homes.at[y->first + i]];
		if (p != q)
			return p < q ? -1 : 1;
	}
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

static int by_region(const void *a, const void *b, void *finishing)
{
	const uint32_t *of = ((const struct finishing *)finishing)->n.region_of;

	return sonde_cmp(of[*(const uint32_t *)a], of[*(const uint32_t *)b]);
}

/* The place without regions is the smallest, and so number 0. */
static bool finish_places(struct finishing *f)
{
	struct sonde_rest *r = f->r;
	uint32_t *order, i, k;

	for (i = 0; i < r->places.nr; i++)
		if (r->places.at[i].nr > 1)
			qsort_r(&r->homes.at[r->places.at[i].first], r->places.at[i].nr,
				sizeof(uint32_t), by_region, f);
	order = sort(f, r->places.nr, by_homes, f);
	f->n.place_of = sonde_arena_alloc(&f->arena, (r->places.nr + 1) * sizeof(uint32_t));
	for (i = 0; order && f->n.place_of && i < r->places.nr; i++) {
		const struct sonde_place *from = &r->places.at[order[i]];

		f->n.place_of[order[i]] = i;
		if (!sonde_vec_put(&f->c->places,
			    (struct sonde_place){(uint32_t)f->c->homes.nr, from->nr}) ||
			!sonde_vec_reserve(&f->c->homes, f->c->homes.nr + from->nr + 1))
			return false;
		for (k = 0; k < from->nr; k++)
			f->c->homes.at[f->c->homes.nr++] = f->n.region_of[r->homes.at[from->first + k]];
	}
	return order && f->n.place_of;
}

static int by_count(const void *a, const void *b)
{
	const struct sonde_mode *x = a, *y = b;
	int c = sonde_cmp(y->count, x->count);

	c = c ? c : sonde_cmp(x->is_text, y->is_text);
	return c ? c : sonde_cmp(x->v, y->v);
}

/* The most frequent ones, as many as there is room for. */
static bool finish_modes(struct finishing *f, struct sonde_acc *to, struct sonde_rest_acc *from)
{
	struct sonde_modes *m = sonde_arena_calloc(&f->c->arena, 1, sizeof(*m));
	size_t i;

	to->modes = m;
	if (!m)
		return false;
	for (i = 0; i < from->modes.nr; i++)
		if (from->modes.at[i].is_text)
			from->modes.at[i].v = f->n.text_of[(uint32_t)from->modes.at[i].v];
	sonde_vec_sort(&from->modes, by_count);
	m->other = from->other;
	m->cap = SONDE_MAX_MODES;
	m->at = sonde_arena_calloc(&f->c->arena, SONDE_MAX_MODES, sizeof(*m->at));
	for (i = 0; m->at && i < from->modes.nr; i++) {
		if (from->modes.at[i].count && m->nr < SONDE_MAX_MODES)
			m->at[m->nr++] = from->modes.at[i];
		else
			m->other += from->modes.at[i].count;
	}
	return m->at != NULL;
}

static bool finish_acc(struct finishing *f, struct sonde_acc *to, struct sonde_rest_acc *from, uint8_t method)
{
	to->nr = from->nr;
	if (!to->nr)
		return true;
	if (method >= SONDE_METHOD_SAME) {
		to->a = from->low;
		to->b = from->high;
		return finish_modes(f, to, from);
	}
	to->a = method == SONDE_METHOD_MAX ? from->high : sonde_exact_value(&from->a);
	to->b = from->high;
	if (method == SONDE_METHOD_MEAN || method == SONDE_METHOD_PEAK) {
		to->nr_weighed = from->nr_weighed;
		to->w = sonde_exact_value(&from->w);
		to->b = sonde_exact_value(&from->b);
		to->t = sonde_exact_value(&from->t);
		to->top = from->high;
	}
	return true;
}

static bool finish_cell(struct finishing *f, struct sonde_rest_cell *from)
{
	struct sonde_cell *to = from->launches ? sonde_vec_push(&f->c->cells) : NULL;
	uint32_t nr = f->c->kits.at[0].nr, i;

	if (!to)
		return !from->launches;
	to->sampled = SONDE_NONE;
	to->place = f->n.place_of[from->place];
	to->kernel = f->n.string_of[from->kernel];
	to->launches = from->launches;
	to->copies = from->copies;
	to->adopted = from->adopted;
	to->time_ns = sonde_exact_value(&from->time_ns);
	to->copy_ns = sonde_exact_value(&from->copy_ns);
	to->copy_bytes = sonde_exact_value(&from->copy_bytes);
	to->acc = sonde_arena_calloc(&f->c->arena, nr + 1, sizeof(*to->acc));
	for (i = 0; to->acc && i < nr; i++)
		if (!finish_acc(f, &to->acc[i], &from->acc[i], f->r->methods[i]))
			return false;
	return to->acc != NULL;
}

static int by_place_and_kernel(const void *a, const void *b, void *finishing)
{
	const struct finishing *f = finishing;
	const struct sonde_rest_cell *x = &f->r->cells.at[*(const uint32_t *)a];
	const struct sonde_rest_cell *y = &f->r->cells.at[*(const uint32_t *)b];
	int c = sonde_cmp(f->n.place_of[x->place], f->n.place_of[y->place]);

	return c ? c : sonde_cmp(f->n.string_of[x->kernel], f->n.string_of[y->kernel]);
}

static bool finish_cells(struct finishing *f)
{
	uint32_t *order = sort(f, f->r->cells.nr, by_place_and_kernel, f);
	size_t i;

	for (i = 0; order && i < f->r->cells.nr; i++)
		if (!finish_cell(f, &f->r->cells.at[order[i]]))
			return false;
	return order != NULL;
}

static bool finish_scope(struct finishing *f)
{
	struct sonde_scope *scope = sonde_vec_push(&f->c->scopes);
	struct sonde_scope_sum *sum = sonde_vec_push(&f->c->sums);

	if (!scope || !sum)
		return false;
	scope->device = f->c->devices.nr ? 0 : SONDE_NONE;
	scope->measured = SONDE_MEASURED_KERNEL;
	scope->nr_folded = (uint32_t)f->r->nr_scopes;
	sum->launches = f->r->nr_launches;
	sum->time_ns = sonde_exact_value(&f->r->time_ns);
	f->c->inputs.at[0].nr_folded = (uint32_t)f->r->nr_inputs;
	f->c->inputs.at[0].path =
		sonde_arena_printf(&f->c->arena, "(%llu inputs)", (unsigned long long)f->r->nr_inputs);
	f->c->processes.at[0].nr_launches = f->r->nr_launches;
	return true;
}

struct sonde_cells *sonde_rest__finish(struct sonde_rest *r)
{
	struct finishing f = {.r = r, .c = r->c};
	struct sonde_cells *c = r->c;
	bool ok;

	f.n.string_of = name(&f, &c->strings, &r->strings);
	f.n.text_of = name(&f, &c->texts, &r->texts);
	ok = f.n.string_of && f.n.text_of && finish_regions(&f) && finish_places(&f) &&
	     finish_cells(&f) && sonde_rest__finish_ranks(r, c, &f.n) && finish_scope(&f);
	sonde_arena_release(&f.arena);
	if (!ok)
		return NULL;
	r->c = NULL;
	return c;
}
