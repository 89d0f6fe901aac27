/*
 * Merging cells and reading figures off them.
 */
#include "tree/tree_int.h"

#include "base/alloc.h"

#include <math.h>

/* A scratch cell is one block: the cell, its accumulators, and full-size mode tables. */
struct sonde_cell *sonde_cell__scratch(const struct sonde_tree *t)
{
	const struct sonde_plans *s = t->plans;
	size_t nr = s->plans.nr, facts = 0, i;
	struct sonde_cell *cell;
	struct sonde_modes *modes;
	struct sonde_mode *at;

	for (i = 0; i < nr; i++)
		facts += s->plans.at[i].method >= SONDE_METHOD_SAME;
	cell = sonde_calloc(1, sizeof(*cell) + nr * sizeof(*cell->acc) +
				       facts * (sizeof(*modes) + SONDE_MAX_MODES * sizeof(*at)));
	if (!cell)
		return NULL;
	cell->acc = (struct sonde_acc *)(cell + 1);
	modes = (struct sonde_modes *)(cell->acc + nr);
	at = (struct sonde_mode *)(modes + facts);
	for (i = 0; i < nr; i++) {
		if (s->plans.at[i].method < SONDE_METHOD_SAME)
			continue;
		modes->cap = SONDE_MAX_MODES;
		modes->at = at;
		cell->acc[i].modes = modes++;
		at += SONDE_MAX_MODES;
	}
	return cell;
}

void sonde_cell__clear(const struct sonde_tree *t, struct sonde_cell *scratch)
{
	const struct sonde_plans *s = t->plans;
	size_t i;

	scratch->launches = 0;
	scratch->time_ns = 0;
	for (i = 0; i < s->plans.nr; i++) {
		bool is_fact = s->plans.at[i].method >= SONDE_METHOD_SAME;
		struct sonde_modes *modes = is_fact ? scratch->acc[i].modes : NULL;

		scratch->acc[i] = (struct sonde_acc){.modes = modes};
		if (is_fact)
			modes->nr = 0, modes->other = 0;
	}
}

static void merge_modes(struct sonde_modes *to, const struct sonde_modes *from)
{
	uint32_t i;

	for (i = 0; from && i < from->nr; i++) {
		const struct sonde_mode *mode = &from->at[i];
		struct sonde_mode *slot = sonde_modes_find(to, mode->v, mode->is_text, NULL);

		*(slot ? &slot->count : &to->other) += mode->count;
	}
	to->other += from ? from->other : 0;
}

static void merge_acc(const struct sonde_rollup *p, struct sonde_acc *to,
	const struct sonde_acc *from, double scale)
{
	if (from->nr == 0)
		return;
	sonde_acc_add(to, from, p->method, p->per_instance ? scale : 1, 1);
	if (p->method >= SONDE_METHOD_SAME)
		merge_modes(to->modes, from->modes);
}

void sonde_cell__merge(const struct sonde_tree *t, struct sonde_cell *to,
	const struct sonde_cell *from, double scale)
{
	const struct sonde_kit *kit = sonde_cells_kit(t->cells, from->scope);
	const struct sonde_planned *planned = &t->plans->kits[kit - t->cells->kits.at];
	size_t i;

	to->launches += from->launches;
	to->time_ns += from->time_ns;
	for (i = 0; i < planned->list.nr; i++) {
		const struct sonde_planned_slot *at = &planned->list.at[i];

		merge_acc(&t->plans->plans.at[at->slot], &to->acc[at->slot], &from->acc[at->at],
			scale);
	}
}

/* All a cell has of a metric, whichever inputs it comes from. */
struct whole {
	const struct sonde_rollup *plan; /* of the first that has some */
	struct sonde_acc acc;
	bool is_agreed; /* on what the constituents are */
};

static struct whole whole_of(
	const struct sonde_plans *s, const struct sonde_cell *cell, uint32_t metric)
{
	uint32_t slot = s->slot_of[metric];
	struct whole w = {&s->plans.at[slot], cell->acc[slot], true};

	while ((slot = s->plans.at[slot].next) != SONDE_NONE) {
		const struct sonde_rollup *p = &s->plans.at[slot];

		if (!cell->acc[slot].nr)
			continue;
		if (!w.acc.nr) {
			w.plan = p;
			w.acc = cell->acc[slot];
			continue;
		}
		merge_acc(p, &w.acc, &cell->acc[slot], 1);
		if (p->weight[0] != w.plan->weight[0] || p->weight[1] != w.plan->weight[1])
			w.acc.nr_weighed = 0; /* weights of different kinds: only times add up */
		w.is_agreed &= sonde_rollup_same_constituents(p, w.plan);
	}
	return w;
}

/* The mean with the planned weight if every launch had it, else by time; NaN if neither weighs
 * anything. */
static double mean(
	const struct sonde_rollup *p, const struct sonde_acc *acc, struct sonde_figure *out)
{
	out->quality = p->quality;
	out->method = p->saying;
	if (acc->nr_weighed == acc->nr && acc->w > 0)
		return acc->a / acc->w;
	if (acc->nr_weighed == acc->nr && acc->nr > 0 && acc->t > 0 && acc->b == 0)
		return 0; /* nothing happened at all: every value is zero whatever the weight */
	out->method = 1;
	if (p->quality == SONDE_QUALITY_EXACT || p->quality == SONDE_QUALITY_BOUND)
		out->quality = SONDE_QUALITY_APPROX; /* not even a bound, by that weight */
	return acc->t > 0 ? acc->b / acc->t : NAN;
}

/*
 * The largest of the constituents' means that are exact (`exact`) or not. What
 * cannot reach `floor` with any weights does not count. NaN: none counts, or
 * some launch lacks one, so that the maximum is not known.
 */
static double largest(const struct sonde_plans *s, const struct sonde_cell *cell,
	const struct whole *peak, bool exact, double floor, uint8_t *quality)
{
	struct sonde_figure part;
	double best = floor, v;
	size_t i;

	for (i = 0; i < peak->plan->constituents.nr; i++) {
		uint32_t metric = peak->plan->constituents.at[i];
		struct whole w;

		if (s->slot_of[metric] == SONDE_NONE)
			return NAN;
		w = whole_of(s, cell, metric);
		if (w.acc.nr != peak->acc.nr)
			return NAN;
		v = mean(w.plan, &w.acc, &part);
		if ((part.quality == SONDE_QUALITY_EXACT) != exact ||
			(!exact && w.acc.top <= floor))
			continue;
		if (part.quality > *quality)
			*quality = part.quality;
		if (!(v <= best))
			best = v;
	}
	return best;
}

/* A throughput: the largest of its constituents' means, else a bound. */
static double peak(const struct sonde_plans *s, const struct sonde_cell *cell,
	const struct whole *w, struct sonde_figure *out)
{
	uint8_t quality = SONDE_QUALITY_EXACT;
	double v = NAN;

	if (w->plan->constituents.nr && w->is_agreed) {
		v = largest(s, cell, w, true, NAN, &quality);
		v = largest(s, cell, w, false, v, &quality);
	}
	if (!isnan(v)) {
		out->quality = quality;
		if (quality == SONDE_QUALITY_BOUND)
			*(w->plan->is_lower ? &out->low : &out->high) = v;
		return v;
	}
	v = mean(w->plan, &w->acc, out);
	if (w->plan->is_lower) { /* too small for an upper bound, too large for a lower one */
		out->quality = SONDE_QUALITY_APPROX;
		return v;
	}
	out->quality = SONDE_QUALITY_BOUND;
	out->high = v;
	return v;
}

static void fact(const struct sonde_map *texts, const struct sonde_rollup *p,
	const struct sonde_acc *acc, struct sonde_figure *out)
{
	const struct sonde_modes *m = acc->modes;
	const struct sonde_mode *best = NULL;
	uint32_t i;

	for (i = 0; m && i < m->nr; i++)
		if (!best || m->at[i].count > best->count ||
			(m->at[i].count == best->count && m->at[i].v < best->v))
			best = &m->at[i];
	if (!best)
		return;
	if (best->is_text)
		out->text = texts->keys[(uint32_t)best->v];
	else
		out->v = best->v;
	if (m->nr == 1 && m->other == 0) {
		out->quality = p->quality;
		return;
	}
	out->quality = SONDE_QUALITY_STAT;
	if (p->method == SONDE_METHOD_SAME)
		out->v = NAN; /* it differs: there is no one value */
	if (!best->is_text) {
		out->low = acc->a;
		out->high = acc->b;
	}
}

/* Some launches lack the metric: a sum is then a lower bound, all else speaks for the others only.
 */
static void incomplete(const struct sonde_rollup *p, struct sonde_figure *out)
{
	if (p->method == SONDE_METHOD_SUM || p->method == SONDE_METHOD_LOWER) {
		out->quality = SONDE_QUALITY_BOUND;
		out->low = out->v;
		out->high = NAN;
	} else if (out->quality <= SONDE_QUALITY_BOUND) {
		out->quality = SONDE_QUALITY_APPROX;
		out->low = out->high = NAN;
	}
}

/* One launch: nothing was rolled up, a bound is the value itself. */
static void as_measured(struct sonde_figure *out)
{
	if (out->quality == SONDE_QUALITY_BOUND)
		out->low = out->high = NAN;
	if (out->quality == SONDE_QUALITY_BOUND || out->quality == SONDE_QUALITY_APPROX)
		out->quality = SONDE_QUALITY_EXACT;
}

void sonde_cell__figure(const struct sonde_tree *t, const struct sonde_cell *cell, uint32_t metric,
	struct sonde_figure *out)
{
	const struct sonde_plans *s = t->plans;
	const struct whole w = whole_of(s, cell, metric);
	const struct sonde_rollup *p = w.plan;
	const struct sonde_acc *acc = &w.acc;
	const struct sonde_acc *avg =
		p->sibling == SONDE_NONE || s->slot_of[p->sibling] == SONDE_NONE
			? NULL
			: &cell->acc[s->slot_of[p->sibling]];

	*out = (struct sonde_figure){.v = NAN,
		.low = NAN,
		.high = NAN,
		.error = NAN,
		.quality = p->quality,
		.method = p->saying};
	if (acc->nr == 0)
		return;
	switch (p->method) {
	case SONDE_METHOD_MEAN:
		out->v = mean(p, acc, out);
		if (out->quality == SONDE_QUALITY_BOUND)
			*(p->is_lower ? &out->low : &out->high) = out->v;
		break;
	case SONDE_METHOD_PEAK:
		out->v = peak(s, cell, &w, out);
		break;
	case SONDE_METHOD_UPPER: /* max(largest, Σ avg) ≤ max ≤ Σ max, but for rounding in tables */
		out->v = out->high = acc->a;
		out->low = avg && avg->nr == acc->nr && avg->a > acc->b ? avg->a : acc->b;
		out->low = fmin(out->low, out->v);
		break;
	case SONDE_METHOD_LOWER: /* Σ min ≤ min ≤ Σ avg, likewise */
		out->v = out->low = acc->a;
		out->high = avg && avg->nr == acc->nr ? fmax(avg->a, out->v) : NAN;
		break;
	case SONDE_METHOD_SAME:
	case SONDE_METHOD_MODE:
		fact(&t->cells->texts, p, acc, out);
		break;
	default:
		out->v = acc->a;
		break;
	}
	if (acc->nr < cell->launches)
		incomplete(p, out);
	if (cell->launches == 1)
		as_measured(out);
}
