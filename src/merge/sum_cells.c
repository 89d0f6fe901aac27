/* The cells of a part into those of a sum: sums, extremes, and how often each value occurred. */
#include "merge/sum_int.h"

#include "base/bisect.h"

#include <math.h>

static int compare_modes(const struct sonde_mode *a, const struct sonde_mode *b)
{
	if (a->is_text != b->is_text)
		return a->is_text ? 1 : -1;
	return a->v < b->v ? -1 : a->v > b->v;
}

/* A NaN equals all and would be found anywhere: it counts among the others. */
static bool add_mode(const struct sonde_sum_part *p, struct sonde_sum_acc *to, struct sonde_mode mode)
{
	size_t low = 0;

	if (mode.is_text)
		mode.v = p->of.text[(uint32_t)mode.v];
	if (isnan(mode.v)) {
		sonde_sum__count(p, &to->other, mode.count);
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
	sonde_sum__count(p, &to->modes.at[low].count, mode.count);
	return true;
}

static bool add_modes(const struct sonde_sum_part *p, struct sonde_sum_acc *to, const struct sonde_modes *from)
{
	uint32_t i;

	sonde_sum__count(p, &to->other, from ? from->other : 0);
	for (i = 0; from && i < from->nr; i++)
		if (!add_mode(p, to, from->at[i]))
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

static bool add_acc(const struct sonde_sum_part *p, struct sonde_sum_acc *to, const struct sonde_acc *from, uint8_t method)
{
	if (!from->nr)
		return true;
	sonde_sum__count(p, &to->nr, from->nr);
	if (method == SONDE_METHOD_MAX) {
		widen(&to->low, &to->high, from->a, from->a);
		return true;
	}
	if (method >= SONDE_METHOD_SAME) {
		widen(&to->low, &to->high, from->a, from->b);
		return add_modes(p, to, from->modes);
	}
	if (method != SONDE_METHOD_MEAN && method != SONDE_METHOD_PEAK) {
		widen(&to->low, &to->high, from->b, from->b);
		return sonde_sum__add(p, &to->a, from->a);
	}
	sonde_sum__count(p, &to->nr_weighed, from->nr_weighed);
	widen(&to->low, &to->high, from->top, from->top);
	return sonde_sum__add(p, &to->a, from->a) && sonde_sum__add(p, &to->w, from->w) &&
	       sonde_sum__add(p, &to->b, from->b) && sonde_sum__add(p, &to->t, from->t);
}

static struct sonde_sum_cell *find_cell(const struct sonde_sum_part *p, const struct sonde_cell *from)
{
	struct sonde_sum *s = p->sum;
	const uint32_t key[3] = {p->of.scope[from->scope], p->of.place[from->place], p->of.string[from->kernel]};
	struct sonde_sum_cell *cell;
	bool is_new;
	uint32_t at = sonde_map_keep(&s->cell_keys, &s->arena, SONDE_BYTES(key), &is_new), i;

	if (at == SONDE_NONE || !is_new)
		return at == SONDE_NONE ? NULL : &s->cells.at[at];
	cell = sonde_vec_push(&s->cells);
	if (!cell)
		return NULL;
	cell->scope = key[0];
	cell->place = key[1];
	cell->kernel = key[2];
	cell->acc = sonde_arena_calloc(&s->arena, s->nr_acc + 1, sizeof(*cell->acc));
	for (i = 0; cell->acc && i < s->nr_acc; i++)
		cell->acc[i].low = cell->acc[i].high = NAN;
	return cell->acc ? cell : NULL;
}

bool sonde_sum__add_cell(const struct sonde_sum_part *p, const struct sonde_cell *from)
{
	struct sonde_sum_cell *to = find_cell(p, from);
	uint32_t i;

	if (!to)
		return false;
	sonde_sum__count(p, &to->launches, from->launches);
	sonde_sum__count(p, &to->copies, from->copies);
	sonde_sum__count(p, &to->adopted, from->adopted);
	if (!sonde_sum__add(p, &to->time_ns, from->time_ns) || !sonde_sum__add(p, &to->copy_ns, from->copy_ns) ||
		!sonde_sum__add(p, &to->copy_bytes, from->copy_bytes))
		return false;
	for (i = 0; i < p->sum->nr_acc; i++)
		if (p->acc_of[i] != SONDE_NONE &&
			!add_acc(p, &to->acc[i], &from->acc[p->acc_of[i]], p->sum->methods[i]))
			return false;
	return true;
}
