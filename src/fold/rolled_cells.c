/* Cells and visits of a part, added to those of the same kernels and regions or taken out. */
#include "fold/rolled_add_int.h"

#include <math.h>

/* --- cells ------------------------------------------------------------------------------------- */

static void add_mode(struct sonde_adding *a, struct sonde_modes *m, struct sonde_mode mode)
{
	struct sonde_mode *to;

	if (mode.is_text)
		mode.v = a->text_of[(uint32_t)mode.v];
	to = sonde_modes_find(m, mode.v, mode.is_text, &a->to->arena);
	sonde_adding__count(a, to ? &to->count : &m->other, mode.count);
}

static bool add_modes(struct sonde_adding *a, struct sonde_acc *to, const struct sonde_modes *from)
{
	uint32_t i;

	if (!from)
		return true;
	if (!to->modes)
		to->modes = sonde_arena_calloc(&a->to->arena, 1, sizeof(*to->modes));
	if (!to->modes)
		return false;
	sonde_adding__count(a, &to->modes->other, from->other);
	for (i = 0; i < from->nr; i++)
		add_mode(a, to->modes, from->at[i]);
	return !a->to->arena.failed;
}

static bool add_acc(struct sonde_adding *a, struct sonde_acc *to, const struct sonde_acc *from, uint8_t method)
{
	if (!from->nr)
		return true;
	sonde_acc_add(to, from, method, a->sign, a->sign);
	return method < SONDE_METHOD_SAME || add_modes(a, to, from->modes);
}

static struct sonde_cell *find_cell(struct sonde_adding *a, struct sonde_map *keys, const struct sonde_cell *from)
{
	const uint32_t key[3] = {a->scope_of[from->scope], a->place_of[from->place], a->string_of[from->kernel]};
	struct sonde_cells *to = a->to;
	struct sonde_cell *cell;
	bool is_new;
	uint32_t at = sonde_map_keep(keys, &a->arena, SONDE_BYTES(key), &is_new);

	if (at == SONDE_NONE || !is_new)
		return at == SONDE_NONE ? NULL : &to->cells.at[at];
	cell = sonde_vec_push(&to->cells);
	if (!cell)
		return NULL;
	*cell = (struct sonde_cell){.scope = key[0], .place = key[1], .kernel = key[2], .sampled = SONDE_NONE};
	cell->acc = sonde_arena_calloc(&to->arena, to->kits.at[0].nr + 1, sizeof(*cell->acc));
	return cell->acc ? cell : NULL;
}

bool sonde_adding__cells(struct sonde_adding *a)
{
	struct sonde_cells *to = a->to;
	struct sonde_map keys = {0};
	bool ok = true;
	size_t i, k;

	for (i = 0; i < to->cells.nr && ok; i++) {
		const uint32_t key[3] = {to->cells.at[i].scope, to->cells.at[i].place, to->cells.at[i].kernel};

		ok = sonde_map_keep(&keys, &a->arena, SONDE_BYTES(key), NULL) == i;
	}
	for (i = 0; i < a->from->cells.nr && ok; i++) {
		const struct sonde_cell *from = &a->from->cells.at[i];
		struct sonde_cell *cell = find_cell(a, &keys, from);

		ok = cell != NULL;
		for (k = 0; ok && k < to->kits.at[0].nr; k++)
			ok = add_acc(a, &cell->acc[k], &from->acc[k], a->methods[k]);
		if (!ok)
			break;
		sonde_adding__count(a, &cell->launches, from->launches);
		sonde_adding__count(a, &cell->copies, from->copies);
		sonde_adding__count(a, &cell->adopted, from->adopted);
		cell->time_ns += a->sign * from->time_ns;
		cell->copy_ns += a->sign * from->copy_ns;
		cell->copy_bytes += a->sign * from->copy_bytes;
	}
	sonde_map_release(&keys);
	return ok;
}

/* --- visits ------------------------------------------------------------------------------------ */

static bool make_visit(struct sonde_cells *to, uint32_t scope, uint32_t region)
{
	struct sonde_visit *v = sonde_cells__add_visit(to, scope, region);

	if (v)
		v->entry_step = 1;
	return v;
}

/* Sums come from a file, where a span may be any number. */
static uint64_t whole_ns(double v)
{
	return v > 0 && v < 1e18 ? (uint64_t)v : 0;
}

/* From the first start, which is known already, to the last end: what is taken out was not the last. */
static void add_span(struct sonde_visit *to, const struct sonde_visit *from)
{
	uint64_t end;

	if (isnan(from->span_ns))
		return;
	end = from->first_ns + whole_ns(from->span_ns);
	if (isnan(to->span_ns)) {
		to->first_ns = from->first_ns;
		to->span_ns = from->span_ns;
	} else if (end > to->first_ns + whole_ns(to->span_ns)) {
		to->span_ns = (double)(end - to->first_ns);
	}
}

static void add_visit(const struct sonde_adding *a, struct sonde_visit *to, struct sonde_visit from)
{
	double *sums[SONDE_NR_VISIT_TIMES], *more[SONDE_NR_VISIT_TIMES];
	size_t i;

	sonde_visit__list_times(to, sums);
	sonde_visit__list_times(&from, more);
	for (i = 0; i < SONDE_NR_VISIT_TIMES; i++) {
		if (isnan(*more[i]) || sums[i] == &to->span_ns)
			continue;
		if (sums[i] != &to->memory.peak)
			*sums[i] = (isnan(*sums[i]) ? 0 : *sums[i]) + a->sign * *more[i];
		else if (a->sign > 0) /* what is taken out did not know all that had been freed */
			*sums[i] = fmax(*sums[i], *more[i]); /* of a NaN and a number: the number */
	}
	if (a->sign > 0)
		add_span(to, &from);
	to->is_present |= from.is_present;
	to->is_open |= a->sign > 0 && from.is_open;
	sonde_adding__count(a, &to->instances, from.instances);
	sonde_adding__count(a, &to->first_instances, from.first_instances);
	sonde_adding__count(a, &to->waits.nr_queued, from.waits.nr_queued);
}

bool sonde_adding__visits(struct sonde_adding *a)
{
	struct sonde_cells *to = a->to;
	struct sonde_map keys = {0};
	bool ok = true, is_new;
	size_t i;

	for (i = 0; i < to->visits.nr && ok; i++) {
		const uint32_t key[2] = {to->visits.at[i].scope, to->visits.at[i].region};

		ok = sonde_map_keep(&keys, &a->arena, SONDE_BYTES(key), NULL) == i;
	}
	for (i = 0; i < a->from->visits.nr && ok; i++) {
		const struct sonde_visit *from = &a->from->visits.at[i];
		const uint32_t key[2] = {a->scope_of[from->scope], a->region_of[from->region]};
		uint32_t at = sonde_map_keep(&keys, &a->arena, SONDE_BYTES(key), &is_new);

		ok = at != SONDE_NONE && (!is_new || make_visit(to, key[0], key[1])) && sonde_adding__streams(a, from);
		if (ok)
			add_visit(a, &to->visits.at[at], *from);
	}
	sonde_map_release(&keys);
	return ok;
}
