/* The cells of a part into those of the rest: sums, extremes, and how often each value occurred. */
#include "fold/rest_int.h"

#include "base/bisect.h"

#include <math.h>

static int compare_modes(const struct sonde_mode *a, const struct sonde_mode *b)
{
	if (a->is_text != b->is_text)
		return a->is_text ? 1 : -1;
	return a->v < b->v ? -1 : a->v > b->v;
}

/* A NaN equals all and would be found anywhere: it counts among the others. */
static bool add_mode(struct sonde_rest_moving *m, struct sonde_rest_acc *to, struct sonde_mode mode)
{
	size_t low = 0;

	if (mode.is_text)
		mode.v = m->text_of[(uint32_t)mode.v];
	if (isnan(mode.v)) {
		sonde_rest__count(m, &to->other, mode.count);
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
	sonde_rest__count(m, &to->modes.at[low].count, mode.count);
	return true;
}

static bool add_modes(struct sonde_rest_moving *m, struct sonde_rest_acc *to, const struct sonde_modes *from)
{
	uint32_t i;

	sonde_rest__count(m, &to->other, from ? from->other : 0);
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

static bool add_acc(struct sonde_rest_moving *m, struct sonde_rest_acc *to, const struct sonde_acc *from, uint8_t method)
{
	if (!from->nr)
		return true;
	sonde_rest__count(m, &to->nr, from->nr);
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
		return sonde_rest__sum(m, &to->a, from->a);
	}
	sonde_rest__count(m, &to->nr_weighed, from->nr_weighed);
	widen(&to->low, &to->high, from->top, from->top);
	return sonde_rest__sum(m, &to->a, from->a) && sonde_rest__sum(m, &to->w, from->w) && sonde_rest__sum(m, &to->b, from->b) &&
	       sonde_rest__sum(m, &to->t, from->t);
}

static struct sonde_rest_cell *find_cell(struct sonde_rest_moving *m, const struct sonde_cell *from)
{
	struct sonde_rest *r = m->r;
	uint32_t key[2] = {m->place_of[from->place], m->string_of[from->kernel]}, at, i;
	uint32_t nr = r->nr_acc;
	struct sonde_rest_cell *cell;
	bool is_new;

	at = sonde_map_keep(&r->cell_keys, &r->arena, SONDE_BYTES(key), &is_new);
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

bool sonde_rest__add_cell(struct sonde_rest_moving *m, const struct sonde_cell *from)
{
	struct sonde_rest_cell *to = find_cell(m, from);
	uint32_t i;

	if (!to)
		return false;
	sonde_rest__count(m, &to->launches, from->launches);
	sonde_rest__count(m, &to->copies, from->copies);
	sonde_rest__count(m, &to->adopted, from->adopted);
	if (!sonde_rest__sum(m, &to->time_ns, from->time_ns) || !sonde_rest__sum(m, &to->copy_ns, from->copy_ns) ||
		!sonde_rest__sum(m, &to->copy_bytes, from->copy_bytes))
		return false;
	for (i = 0; i < m->r->nr_acc; i++)
		if (!add_acc(m, &to->acc[i], &from->acc[i], m->r->methods[i]))
			return false;
	return true;
}
