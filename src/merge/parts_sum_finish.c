/*
 * A sum → a part. The order in the sum depends on the order in which parts came, so it is replaced: names
 * are sorted by their bytes, regions as the caller says, cells by place and kernel. Files of a capture
 * always come in the same order and are not sorted. Scopes are always sorted, by device.
 */
#include "merge/parts_sum.h"

#include <math.h>
#include <stdlib.h>

struct finishing {
	struct sonde_sum *s;
	struct sonde_cells *c;
	struct sonde_numbers *n;
	const uint32_t *regions; /* regions of the sum in their new order; NULL: nothing is sorted */
};

uint32_t *sonde_sum__sort(struct sonde_arena *arena, size_t nr,
	int (*compare)(const void *, const void *, void *), void *of)
{
	uint32_t *at = sonde_arena_alloc(arena, (nr + 1) * sizeof(*at)), i;

	for (i = 0; at && i < nr; i++)
		at[i] = i;
	if (at && compare && nr > 1)
		qsort_r(at, nr, sizeof(*at), compare, of);
	return at;
}

/* The same, but without sorting if `regions` is NULL. Also allocates `*numbers`, for the new numbers. */
static uint32_t *sort_numbers(struct finishing *f, size_t nr, int (*compare)(const void *, const void *, void *),
	void *of, uint32_t **numbers)
{
	*numbers = sonde_arena_alloc(&f->s->arena, (nr + 1) * sizeof(**numbers));
	return *numbers ? sonde_sum__sort(&f->s->arena, nr, f->regions ? compare : NULL, of) : NULL;
}

static int by_bytes(const void *a, const void *b, void *map)
{
	const struct sonde_str *keys = ((const struct sonde_map *)map)->keys;

	return sonde_str_cmp(keys[*(const uint32_t *)a], keys[*(const uint32_t *)b]);
}

static bool finish_names(struct finishing *f, struct sonde_map *to, struct sonde_map *from, uint32_t **of)
{
	uint32_t *order = sort_numbers(f, from->nr, by_bytes, from, of), i;

	for (i = 0; order && i < from->nr; i++) {
		(*of)[order[i]] = sonde_map_keep(to, &f->c->arena, from->keys[order[i]], NULL);
		if ((*of)[order[i]] == SONDE_NONE)
			return false;
	}
	return order != NULL;
}

static bool finish_regions(struct finishing *f)
{
	struct sonde_sum *s = f->s;
	uint32_t i;

	f->n->region = sonde_arena_alloc(&s->arena, (s->regions.nr + 1) * sizeof(uint32_t));
	for (i = 0; f->n->region && i < s->regions.nr; i++) {
		uint32_t number = f->regions ? f->regions[i] : i;
		struct sonde_region to = sonde_region_in(s->regions.at[number], f->n);

		f->n->region[number] = i;
		if (!sonde_cells_keep(f->c, &to.id) || !sonde_vec_put(&f->c->regions, to))
			return false;
	}
	return f->n->region != NULL;
}

/* --- scopes and visits -------------------------------------------------------------------------- */

static int by_device(const void *a, const void *b, void *sum)
{
	const struct sonde_sum_scope *at = ((const struct sonde_sum *)sum)->scopes.at;

	return sonde_cmp(at[*(const uint32_t *)a].device, at[*(const uint32_t *)b].device);
}

static bool finish_scopes(struct finishing *f)
{
	struct sonde_sum *s = f->s;
	uint32_t *order = sonde_sum__sort(&s->arena, s->scopes.nr, by_device, s), i;

	f->n->scope = sonde_arena_alloc(&s->arena, (s->scopes.nr + 1) * sizeof(uint32_t));
	for (i = 0; order && f->n->scope && i < s->scopes.nr; i++) {
		const struct sonde_sum_scope *from = &s->scopes.at[order[i]];

		f->n->scope[order[i]] = i;
		if (!sonde_vec_put(&f->c->scopes,
			    (struct sonde_scope){.device = from->device, .measured = SONDE_MEASURED_KERNEL}) ||
			!sonde_vec_put(&f->c->sums, (struct sonde_scope_sum){.launches = from->launches,
							    .time_ns = sonde_exact_value(&from->time_ns),
							    .collectives = from->collectives}))
			return false;
	}
	return order && f->n->scope;
}

static bool finish_visit(struct finishing *f, const struct sonde_sum_visit *from)
{
	struct sonde_visit *v = !from->nr ? NULL
					  : sonde_cells_add_visit(f->c, f->n->scope[from->scope],
						    f->n->region[from->region]);
	size_t i;

	if (!v)
		return !from->nr;
	v->is_present = from->nr_present > 0;
	v->is_open = from->nr_open > 0;
	v->instances = from->instances;
	v->first_instances = from->first_instances;
	v->times = from->times;
	for (i = 0; i < SONDE_NR_TIMES; i++)
		if (from->nr_known[i])
			sonde_times_at(&v->times)[i] = sonde_exact_value(&from->exact[i]);
	v->nr_queued = from->nr_queued;
	v->first_ns = from->first_ns;
	return true;
}

static bool finish_visits(struct finishing *f)
{
	size_t i;

	for (i = 0; i < f->s->visits.nr; i++)
		if (!finish_visit(f, &f->s->visits.at[i]))
			return false;
	sonde_cells_sort_visits(f->c);
	return true;
}

/* --- cells ------------------------------------------------------------------------------------- */

static int by_homes(const void *a, const void *b, void *finishing)
{
	const struct finishing *f = finishing;
	const struct sonde_place *x = &f->s->places.at[*(const uint32_t *)a];
	const struct sonde_place *y = &f->s->places.at[*(const uint32_t *)b];
	uint32_t i, p, q;

	for (i = 0; i < x->nr && i < y->nr; i++) {
		p = f->n->region[f->s->homes.at[x->first + i]];
		q = f->n->region[f->s->homes.at[y->first + i]];
		if (p != q)
			return p < q ? -1 : 1;
	}
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

static int by_region(const void *a, const void *b, void *finishing)
{
	const uint32_t *of = ((const struct finishing *)finishing)->n->region;

	return sonde_cmp(of[*(const uint32_t *)a], of[*(const uint32_t *)b]);
}

/* Sorts and copies the places. The place without regions is the smallest, so it gets number 0. */
static bool finish_places(struct finishing *f)
{
	struct sonde_sum *s = f->s;
	uint32_t *order, i, k;

	for (i = 0; f->regions && i < s->places.nr; i++)
		if (s->places.at[i].nr > 1)
			qsort_r(&s->homes.at[s->places.at[i].first], s->places.at[i].nr,
				sizeof(uint32_t), by_region, f);
	order = sort_numbers(f, s->places.nr, by_homes, f, &f->n->place);
	for (i = 0; order && i < s->places.nr; i++) {
		const struct sonde_place *from = &s->places.at[order[i]];

		f->n->place[order[i]] = i;
		if (!sonde_vec_put(&f->c->places,
			    (struct sonde_place){(uint32_t)f->c->homes.nr, from->nr}) ||
			!sonde_vec_reserve(&f->c->homes, f->c->homes.nr + from->nr + 1))
			return false;
		for (k = 0; k < from->nr; k++)
			f->c->homes.at[f->c->homes.nr++] = f->n->region[s->homes.at[from->first + k]];
	}
	return order != NULL;
}

static int by_count(const void *a, const void *b)
{
	const struct sonde_mode *x = a, *y = b;
	int c = sonde_cmp(y->count, x->count);

	c = c ? c : sonde_cmp(x->is_text, y->is_text);
	return c ? c : sonde_cmp(x->v, y->v);
}

/* Keeps the SONDE_MAX_MODES most frequent values. */
static bool finish_modes(struct finishing *f, struct sonde_acc *to, struct sonde_sum_acc *from)
{
	struct sonde_modes *m = sonde_arena_calloc(&f->c->arena, 1, sizeof(*m));
	size_t i;

	to->modes = m;
	if (!m)
		return false;
	for (i = 0; i < from->modes.nr; i++)
		if (from->modes.at[i].is_text)
			from->modes.at[i].v = f->n->text[(uint32_t)from->modes.at[i].v];
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

static bool finish_acc(struct finishing *f, struct sonde_acc *to, struct sonde_sum_acc *from, uint8_t method)
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

static bool finish_cell(struct finishing *f, struct sonde_sum_cell *from)
{
	struct sonde_cell *to = from->launches ? sonde_vec_push(&f->c->cells) : NULL;
	uint32_t nr = f->s->nr_acc, i;

	if (!to)
		return !from->launches;
	to->sampled = SONDE_NONE;
	to->scope = f->n->scope[from->scope];
	to->place = f->n->place[from->place];
	to->kernel = f->n->string[from->kernel];
	to->launches = from->launches;
	to->copies = from->copies;
	to->adopted = from->adopted;
	to->time_ns = sonde_exact_value(&from->time_ns);
	to->copy_ns = sonde_exact_value(&from->copy_ns);
	to->copy_bytes = sonde_exact_value(&from->copy_bytes);
	to->exact_stalls = sonde_exact_value(&from->exact_stalls);
	to->acc = sonde_arena_calloc(&f->c->arena, nr + 1, sizeof(*to->acc));
	for (i = 0; to->acc && i < nr; i++)
		if (!finish_acc(f, &to->acc[i], &from->acc[i], f->s->methods[i]))
			return false;
	return to->acc != NULL;
}

static int by_place_and_kernel(const void *a, const void *b, void *finishing)
{
	const struct finishing *f = finishing;
	const struct sonde_sum_cell *x = &f->s->cells.at[*(const uint32_t *)a];
	const struct sonde_sum_cell *y = &f->s->cells.at[*(const uint32_t *)b];
	int c = sonde_cmp(f->n->place[x->place], f->n->place[y->place]);

	return c ? c : sonde_cmp(f->n->string[x->kernel], f->n->string[y->kernel]);
}

static bool finish_cells(struct finishing *f)
{
	uint32_t *order = sonde_sum__sort(
		&f->s->arena, f->s->cells.nr, f->regions ? by_place_and_kernel : NULL, f);
	uint32_t *cell_of = sonde_arena_alloc(&f->s->arena, (f->s->cells.nr + 1) * sizeof(*cell_of));
	size_t i, nr;

	for (i = 0; order && cell_of && i < f->s->cells.nr; i++) {
		nr = f->c->cells.nr;
		if (!finish_cell(f, &f->s->cells.at[order[i]]))
			return false;
		cell_of[order[i]] = f->c->cells.nr > nr ? (uint32_t)nr : SONDE_NONE;
	}
	return order && cell_of && sonde_sum__finish_stalls(f->s, f->n->string, cell_of);
}

struct sonde_cells *sonde_sum__finish(
	struct sonde_sum *s, const uint32_t *regions, struct sonde_numbers *n)
{
	struct finishing f = {.s = s, .c = s->c, .n = n, .regions = regions};
	struct sonde_cells *c = s->c;

	if (!finish_names(&f, &c->strings, &s->strings, &n->string) ||
		!finish_names(&f, &c->texts, &s->texts, &n->text) || !finish_regions(&f) ||
		!finish_scopes(&f) || !finish_visits(&f) || !finish_places(&f) || !finish_cells(&f))
		return NULL;
	s->c = NULL;
	return c;
}
