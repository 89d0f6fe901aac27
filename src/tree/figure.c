/* Figures of a region, a kernel or a whole report: cells are merged, and figures are computed from the sum. */
#include "base/alloc.h"
#include "fold/sampled.h"
#include "tree/tree_int.h"

#include <math.h>
#include <string.h>

/*
 * A scratch cell has one accumulator per slot. It is one block of memory: the cell, its accumulators, and full-size mode
 * tables. NULL when memory is short.
 */
static struct sonde_cell *new_scratch_cell(const struct sonde_tree *t)
{
	const struct sonde_rollups *s = t->rollups;
	size_t nr = s->list.nr, nr_modes = 0, i;
	struct sonde_cell *cell;
	struct sonde_modes *modes;
	struct sonde_mode *at;

	for (i = 0; i < nr; i++)
		nr_modes += s->list.at[i].method >= SONDE_METHOD_SAME;
	cell = sonde_calloc(1, sizeof(*cell) + nr * sizeof(*cell->acc) +
				       nr_modes * (sizeof(*modes) + SONDE_MAX_MODES * sizeof(*at)));
	if (!cell)
		return NULL;
	cell->acc = (struct sonde_acc *)(cell + 1);
	modes = (struct sonde_modes *)(cell->acc + nr);
	at = (struct sonde_mode *)(modes + nr_modes);
	for (i = 0; i < nr; i++) {
		if (s->list.at[i].method < SONDE_METHOD_SAME)
			continue;
		modes->cap = SONDE_MAX_MODES;
		modes->at = at;
		cell->acc[i].modes = modes++;
		at += SONDE_MAX_MODES;
	}
	return cell;
}

/* Empties the scratch cell, so that cells can be merged into it again. */
static void clear_cell(const struct sonde_tree *t, struct sonde_cell *scratch)
{
	const struct sonde_rollups *s = t->rollups;
	size_t i;

	scratch->launches = 0;
	scratch->time_ns = 0;
	for (i = 0; i < s->list.nr; i++) {
		bool has_modes = s->list.at[i].method >= SONDE_METHOD_SAME;
		struct sonde_modes *modes = has_modes ? scratch->acc[i].modes : NULL;

		scratch->acc[i] = (struct sonde_acc){.modes = modes};
		if (has_modes)
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
	sonde_acc_add(to, from, p->method, p->per_instance ? scale : 1);
	if (p->method >= SONDE_METHOD_SAME)
		merge_modes(to->modes, from->modes);
}

/* `scale` weighs percentages across devices of different size; 1 inside one scope. */
static void merge_cell(const struct sonde_tree *t, struct sonde_cell *to,
	const struct sonde_cell *from, double scale)
{
	const struct sonde_kit *kit = sonde_cells_kit(t->cells, from->scope);
	const struct sonde_kit_slots *planned = &t->rollups->kits[kit - t->cells->kits.at];
	size_t i;

	to->launches += from->launches;
	to->time_ns += from->time_ns;
	for (i = 0; i < planned->list.nr; i++) {
		const struct sonde_kit_slot *at = &planned->list.at[i];

		merge_acc(&t->rollups->list.at[at->slot], &to->acc[at->slot], &from->acc[at->at],
			scale);
	}
}

/* Everything that a cell has of one metric, whichever inputs it comes from. */
struct merged_metric {
	const struct sonde_rollup *plan; /* the plan of the first slot that has launches */
	struct sonde_acc acc;
	bool is_agreed; /* all plans have the same constituents */
};

static struct merged_metric merge_metric(
	const struct sonde_rollups *s, const struct sonde_cell *cell, uint32_t metric)
{
	uint32_t slot = s->slot_of[metric];
	struct merged_metric w = {&s->list.at[slot], cell->acc[slot], true};

	while ((slot = s->list.at[slot].next) != SONDE_NONE) {
		const struct sonde_rollup *p = &s->list.at[slot];

		if (!cell->acc[slot].nr)
			continue;
		if (!w.acc.nr) {
			w.plan = p;
			w.acc = cell->acc[slot];
			continue;
		}
		merge_acc(p, &w.acc, &cell->acc[slot], 1);
		if (p->weight[0] != w.plan->weight[0] || p->weight[1] != w.plan->weight[1])
			w.acc.nr_weighed = 0; /* the weights are of different kinds: only times can be added up */
		w.is_agreed &= sonde_rollup_same_constituents(p, w.plan);
	}
	return w;
}

/* The mean with the planned weight if every launch had this weight, else the mean by time; NaN if both weights are 0. */
static double mean_figure(
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
		out->quality = SONDE_QUALITY_APPROX; /* with this weight it is not even a bound */
	return acc->t > 0 ? acc->b / acc->t : NAN;
}

/*
 * The largest mean among the constituents: only those whose mean is exact (`exact`), or only the others. A constituent
 * that cannot reach `floor` with any weights is ignored. Returns `floor` if none is larger; NaN if some launch lacks a
 * constituent, because then the maximum is not known.
 */
static double largest_constituent(const struct sonde_rollups *s, const struct sonde_cell *cell,
	const struct merged_metric *throughput, bool exact, double floor, uint8_t *quality)
{
	struct sonde_figure part;
	double best = floor, v;
	size_t i;

	for (i = 0; i < throughput->plan->constituents.nr; i++) {
		uint32_t metric = throughput->plan->constituents.at[i];
		struct merged_metric w;

		if (s->slot_of[metric] == SONDE_NONE)
			return NAN;
		w = merge_metric(s, cell, metric);
		if (w.acc.nr != throughput->acc.nr)
			return NAN;
		v = mean_figure(w.plan, &w.acc, &part);
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

/* A throughput: the largest mean of its constituents; if that is not known, a bound. */
static double throughput_figure(const struct sonde_rollups *s, const struct sonde_cell *cell,
	const struct merged_metric *w, struct sonde_figure *out)
{
	uint8_t quality = SONDE_QUALITY_EXACT;
	double v = NAN;

	if (w->plan->constituents.nr && w->is_agreed) {
		v = largest_constituent(s, cell, w, true, NAN, &quality);
		v = largest_constituent(s, cell, w, false, v, &quality);
	}
	if (!isnan(v)) {
		out->quality = quality;
		if (quality == SONDE_QUALITY_BOUND)
			*(w->plan->is_lower ? &out->low : &out->high) = v;
		return v;
	}
	v = mean_figure(w->plan, &w->acc, out);
	if (w->plan->is_lower) { /* weighed by time, it is too small for an upper bound and too large for a lower one */
		out->quality = SONDE_QUALITY_APPROX;
		return v;
	}
	out->quality = SONDE_QUALITY_BOUND;
	out->high = v;
	return v;
}

static void mode_figure(const struct sonde_map *texts, const struct sonde_rollup *p,
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
		out->v = NAN; /* the values differ: there is no single one */
	if (!best->is_text) {
		out->low = acc->a;
		out->high = acc->b;
	}
}

/*
 * Some launches lack the metric. Then a sum is a lower bound, and any other figure describes only the launches that have
 * it.
 */
static void mark_incomplete(const struct sonde_rollup *p, struct sonde_figure *out)
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

/* With a single launch nothing was rolled up, so a bound is the exact value. */
static void mark_as_measured(struct sonde_figure *out)
{
	if (out->quality == SONDE_QUALITY_BOUND)
		out->low = out->high = NAN;
	if (out->quality == SONDE_QUALITY_BOUND || out->quality == SONDE_QUALITY_APPROX)
		out->quality = SONDE_QUALITY_EXACT;
}

void sonde_cell__figure(const struct sonde_tree *t, const struct sonde_cell *cell, uint32_t metric,
	struct sonde_figure *out)
{
	const struct sonde_rollups *s = t->rollups;
	const struct merged_metric w = merge_metric(s, cell, metric);
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
		out->v = mean_figure(p, acc, out);
		if (out->quality == SONDE_QUALITY_BOUND)
			*(p->is_lower ? &out->low : &out->high) = out->v;
		break;
	case SONDE_METHOD_PEAK:
		out->v = throughput_figure(s, cell, &w, out);
		break;
	case SONDE_METHOD_UPPER: /* max(largest, Σ avg) ≤ max ≤ Σ max, except for rounding in tables */
		out->v = out->high = acc->a;
		out->low = avg && avg->nr == acc->nr && avg->a > acc->b ? avg->a : acc->b;
		out->low = fmin(out->low, out->v);
		break;
	case SONDE_METHOD_LOWER: /* Σ min ≤ min ≤ Σ avg, except for rounding */
		out->v = out->low = acc->a;
		out->high = avg && avg->nr == acc->nr ? fmax(avg->a, out->v) : NAN;
		break;
	case SONDE_METHOD_SAME:
	case SONDE_METHOD_MODE:
		mode_figure(&t->cells->texts, p, acc, out);
		break;
	default:
		out->v = acc->a;
		break;
	}
	if (acc->nr < cell->launches)
		mark_incomplete(p, out);
	if (cell->launches == 1)
		mark_as_measured(out);
}

int sonde_figures_init(struct sonde_figures *f, const struct sonde_tree *t, struct sonde_err *err)
{
	*f = (struct sonde_figures){.nr = t->columns.nr};
	f->at = sonde_calloc(f->nr, sizeof(*f->at));
	f->scratch = t->rollups ? new_scratch_cell(t) : NULL;
	if (f->at && (f->scratch || !t->rollups))
		return 0;
	sonde_figures_release(f);
	return sonde_err_nomem(err);
}

void sonde_figures_release(struct sonde_figures *f)
{
	sonde_free(f->at);
	sonde_free(f->scratch);
	*f = (struct sonde_figures){0};
}

/* The slice of cells that a part is made of. */
static void find_slice(const struct sonde_report *r, enum sonde_part part, uint32_t index,
	uint32_t *first, uint32_t *nr)
{
	switch (part) {
	case SONDE_PART_INCLUSIVE:
		*first = r->nodes.at[index].first_cell;
		*nr = r->nodes.at[index].nr_cells;
		break;
	case SONDE_PART_EXCLUSIVE:
		*first = r->nodes.at[index].own_first_cell;
		*nr = r->nodes.at[index].own_nr_cells;
		break;
	case SONDE_PART_KERNEL:
		*first = r->kernels.at[index].first_cell;
		*nr = r->kernels.at[index].nr_cells;
		break;
	case SONDE_PART_TOTAL:
		*first = r->total_first_cell;
		*nr = r->total_nr_cells;
		break;
	case SONDE_PART_OUTSIDE:
		*first = r->outside_first_cell;
		*nr = r->outside_nr_cells;
		break;
	}
}

const uint32_t *sonde_tree_cells(const struct sonde_report *r, enum sonde_part part, uint32_t index, uint32_t *nr)
{
	uint32_t first = 0;

	*nr = 0;
	if (r->cells.nr)
		find_slice(r, part, index, &first, nr);
	return *nr ? &r->cells.at[first] : NULL;
}

static void set_sampled(struct sonde_figure *f, const struct sonde_tree *t,
	const struct sonde_column *column, const uint32_t *cells, size_t nr)
{
	struct sonde_unmix_figure s =
		sonde_sampled_figure_of(t->cells, cells, nr, column->sampled);

	/* An interval that covers nearly all possible values says nothing. */
	if (!isfinite(s.value) || !isfinite(s.error) ||
		(strcmp(column->unit, "%") == 0 && SONDE_WITHIN_95 * s.error > 50))
		return;
	f->v = s.value;
	f->error = SONDE_WITHIN_95 * s.error;
	f->low = fmax(0, s.value - f->error);
	f->high = s.value + f->error;
	f->quality = SONDE_QUALITY_SAMPLED;
	f->method = column->sampled_method;
}

/* Takes the figures of a report that was read back: those in the file. */
static void copy_given(const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index, struct sonde_figures *out)
{
	size_t at = index * t->columns.nr, c;

	for (c = 0; c < t->columns.nr; c++)
		out->at[c] = part == SONDE_PART_INCLUSIVE && at + c < r->given.nr
				     ? r->given.at[at + c]
				     : (struct sonde_figure){.v = NAN};
}

/* The figure of one column. `merged`: the cells merged; `cells`: their numbers. */
static void set_figure(struct sonde_figure *f, const struct sonde_tree *t,
	const struct sonde_column *column, const struct sonde_cell *merged, const uint32_t *cells,
	size_t nr)
{
	if (column->metric == SONDE_NONE)
		*f = (struct sonde_figure){.v = NAN,
			.low = NAN,
			.high = NAN,
			.error = NAN,
			.quality = SONDE_QUALITY_SAMPLED};
	else
		sonde_cell__figure(t, merged, column->metric, f);
	if (column->sampled != SONDE_NONE && isnan(f->v))
		set_sampled(f, t, column, cells, nr);
}

void sonde_tree_values(const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index, struct sonde_figures *out)
{
	bool is_mixed = t->is_mixed && r->is_aggregate && r->nr_scopes > 1;
	uint32_t first = 0, nr = 0, i;
	size_t c;

	if (!t->rollups) {
		copy_given(t, r, part, index, out);
		return;
	}
	find_slice(r, part, index, &first, &nr);
	clear_cell(t, out->scratch);
	for (i = 0; i < nr; i++) {
		const struct sonde_cell *from = &t->cells->cells.at[r->cells.at[first + i]];

		merge_cell(t, out->scratch, from, nr > 1 ? t->capacity[from->scope] : 1);
	}
	out->has_tensor = sonde_tree__has_tensor(t, out->scratch);
	for (c = 0; c < t->columns.nr; c++) {
		struct sonde_figure *f = &out->at[c];

		set_figure(f, t, &t->columns.at[c], out->scratch, nr ? &r->cells.at[first] : NULL, nr);
		/* Percentages of different devices are weighed by device size, which is a guess. */
		if (is_mixed && f->quality == SONDE_QUALITY_EXACT && f->method != 1 &&
			strcmp(t->columns.at[c].unit, "%") == 0)
			f->quality = SONDE_QUALITY_APPROX;
	}
}
