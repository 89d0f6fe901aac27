/*
 * Adds parts to a sum and takes them out again: first their names, then their cells and visits.
 */
#include "merge/parts_sum.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/quantile.h"

#include <math.h>

/* --- cells: sums, extremes, how often each value occurred ---------------------------------------- */

static int compare_modes(const struct sonde_mode *a, const struct sonde_mode *b)
{
	if (a->is_text != b->is_text)
		return a->is_text ? 1 : -1;
	return a->v < b->v ? -1 : a->v > b->v;
}

/* Counts a value. A NaN cannot be searched for, as it compares as equal to any number, so it counts in `other`. */
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

static void widen_extremes(double *low, double *high, double a, double b)
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
		widen_extremes(&to->low, &to->high, from->a, from->a);
		return true;
	}
	if (method >= SONDE_METHOD_SAME) {
		widen_extremes(&to->low, &to->high, from->a, from->b);
		return add_modes(p, to, from->modes);
	}
	if (method != SONDE_METHOD_MEAN && method != SONDE_METHOD_PEAK) {
		widen_extremes(&to->low, &to->high, from->b, from->b);
		return sonde_sum__add(p, &to->a, from->a);
	}
	sonde_sum__count(p, &to->nr_weighed, from->nr_weighed);
	widen_extremes(&to->low, &to->high, from->top, from->top);
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

static bool add_cell(const struct sonde_sum_part *p, const struct sonde_cell *from)
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
	return sonde_sum__add_stalls(p, from, to);
}

/* --- visits ------------------------------------------------------------------------------------- */

/* Converts a span, which may be any number if it was read from a file. */
static uint64_t whole_ns(double v)
{
	return v > 0 && v < 1e18 ? (uint64_t)v : 0;
}

/* Extends the span: from the first start in any file to the last end in any file. */
static void add_span(struct sonde_sum_visit *to, const struct sonde_visit *from)
{
	double *span_ns = &to->times.span_ns;
	uint64_t end = from->first_ns + whole_ns(from->times.span_ns), last = to->first_ns + whole_ns(*span_ns);

	if (isnan(from->times.span_ns))
		return;
	if (isnan(*span_ns)) {
		to->first_ns = from->first_ns;
		*span_ns = from->times.span_ns;
		return;
	}
	to->first_ns = from->first_ns < to->first_ns ? from->first_ns : to->first_ns;
	*span_ns = (double)((end > last ? end : last) - to->first_ns);
}

static bool add_times(const struct sonde_sum_part *p, struct sonde_sum_visit *to, struct sonde_times *times)
{
	size_t i;

	for (i = 0; i < SONDE_NR_TIMES; i++) {
		double v = sonde_times_at(times)[i], *most = &sonde_times_at(&to->times)[i];

		if (isnan(v) || sonde_time_sum(i) == SONDE_TIME_OF_SCOPE)
			continue;
		if (sonde_time_sum(i) == SONDE_TIME_MOST) {
			if (p->sign > 0 && !(*most >= v))
				*most = v;
			continue;
		}
		sonde_sum__count(p, &to->nr_known[i], 1);
		if (!sonde_sum__add(p, &to->exact[i], v))
			return false;
	}
	return true;
}

static struct sonde_sum_visit *find_visit(const struct sonde_sum_part *p, const struct sonde_visit *from)
{
	struct sonde_sum *s = p->sum;
	const uint32_t key[2] = {p->of.scope[from->scope], p->of.region[from->region]};
	bool is_new;
	uint32_t at = sonde_map_keep(&s->visit_keys, &s->arena, SONDE_BYTES(key), &is_new);

	if (at == SONDE_NONE ||
		(is_new && !sonde_vec_put(&s->visits, (struct sonde_sum_visit){.scope = key[0], .region = key[1]})))
		return NULL;
	if (is_new)
		sonde_times_forget(&s->visits.at[at].times);
	return &s->visits.at[at];
}

static bool add_visit(const struct sonde_sum_part *p, struct sonde_visit v)
{
	struct sonde_sum_visit *to = find_visit(p, &v);

	if (!to)
		return false;
	sonde_sum__count(p, &to->nr, 1);
	sonde_sum__count(p, &to->nr_present, v.is_present);
	sonde_sum__count(p, &to->nr_open, v.is_open);
	sonde_sum__count(p, &to->instances, v.instances);
	sonde_sum__count(p, &to->first_instances, v.first_instances);
	sonde_sum__count(p, &to->nr_queued, v.nr_queued);
	if (p->sum->is_of_files)
		add_span(to, &v);
	return add_times(p, to, &v.times);
}

/* --- creating a sum ----------------------------------------------------------------------------- */

static bool keep_kit(struct sonde_cells *c, const struct sonde_cells *from)
{
	struct sonde_kit *kit = sonde_vec_push(&c->kits);
	uint32_t *kit_of = sonde_vec_push(&c->kit_of);
	size_t nr = from->metric_names.nr, i;

	if (!kit || !kit_of)
		return false;
	kit->nr = from->kits.at[0].nr;
	kit->at = sonde_arena_alloc(&c->arena, (nr + 1) * sizeof(*kit->at));
	kit->breakdowns = sonde_arena_calloc(&c->arena, nr + 1, sizeof(*kit->breakdowns));
	for (i = 0; kit->at && kit->breakdowns && i < nr; i++) {
		kit->at[i] = from->kits.at[0].at[i];
		kit->breakdowns[i] = from->kits.at[0].breakdowns[i];
		if (!sonde_cells_keep(c, &kit->breakdowns[i]) ||
			sonde_map_keep(&c->metric_names, &c->arena, from->metric_names.keys[i], NULL) ==
				SONDE_NONE)
			return false;
	}
	return kit->at && kit->breakdowns;
}

static bool keep_rules(struct sonde_cells *c, const struct sonde_cells *from)
{
	size_t i;

	for (i = 0; i < from->label_rules.nr; i++) {
		struct sonde_label_rule rule = {.text = from->label_rules.at[i].text};

		if (!sonde_cells_keep(c, &rule.text) || !sonde_vec_put(&c->label_rules, rule))
			return false;
	}
	c->read = from->read;
	c->tally.is_matched = sonde_arena_calloc(
		&c->arena, sonde_selection_nr_words(&from->selection) + 1, sizeof(bool));
	return c->tally.is_matched && sonde_cells_keep_selection(c, &from->selection);
}

bool sonde_sum__init(struct sonde_sum *s, const struct sonde_cells *as, const struct sonde_input *in,
	const struct sonde_process *process)
{
	struct sonde_cells *c = s->c = sonde_calloc(1, sizeof(*c));

	if (!c || !sonde_cells_add_input(c, in) || !sonde_cells_add_process(c, process) ||
		!keep_kit(c, as) || !keep_rules(c, as))
		return false;
	s->max_stalls = SONDE_MAX_STALLS;
	s->nr_acc = c->kits.at[0].nr;
	s->methods = sonde_kit_find_methods(&c->kits.at[0], &c->metric_names, &s->arena);
	return s->methods != NULL;
}

/* --- the names of a part ------------------------------------------------------------------------ */

static bool enter_region(struct sonde_sum_part *p, size_t number)
{
	struct sonde_sum *s = p->sum;
	struct sonde_region region = sonde_region_in(p->c->regions.at[number], &p->of);
	bool is_new;
	uint32_t at = sonde_region_find_or_add(&s->region_keys, &s->arena, &region, &is_new);

	p->of.region[number] = at;
	if (at != SONDE_NONE && !is_new) {
		s->regions.at[at].is_shown |= region.is_shown;
		return true;
	}
	region.id = sonde_arena_dup(&s->arena, region.id);
	return at != SONDE_NONE && region.id.p && sonde_vec_put(&s->regions, region);
}

/* Enters a place. Places with the same regions are one, and it keeps the order of regions of the first of them. */
static bool enter_place(struct sonde_sum_part *p, size_t number)
{
	struct sonde_sum *s = p->sum;
	const struct sonde_place *from = &p->c->places.at[number];
	uint32_t *key = sonde_arena_alloc(&p->arena, (from->nr + 1) * sizeof(*key)), *homes, i;
	bool is_new;

	if (!key || !sonde_vec_reserve(&s->homes, s->homes.nr + from->nr + 1))
		return false;
	homes = &s->homes.at[s->homes.nr];
	for (i = 0; i < from->nr; i++)
		key[i] = homes[i] = p->of.region[p->c->homes.at[from->first + i]];
	sonde_sort_u32(key, from->nr);
	p->of.place[number] = sonde_map_keep(&s->place_keys, &s->arena,
		(struct sonde_str){(const char *)key, from->nr * sizeof(*key)}, &is_new);
	if (p->of.place[number] == SONDE_NONE || !is_new)
		return p->of.place[number] != SONDE_NONE;
	s->homes.nr += from->nr;
	return sonde_vec_put(&s->places, (struct sonde_place){(uint32_t)(s->homes.nr - from->nr), from->nr});
}

/*
 * Enters a scope. Files of one capture have the same scope for each device. A scope without a device (the process had
 * not used any so far) becomes the scope of the first device, as in a report of all files together.
 */
static bool enter_scope(struct sonde_sum_part *p, size_t number)
{
	struct sonde_sum *s = p->sum;
	uint32_t device = p->c->scopes.at[number].device, first = 0, i;

	for (i = 0; s->is_of_files && i < s->scopes.nr && s->scopes.at[i].device != device; i++)
		if (s->scopes.at[i].device < s->scopes.at[first].device)
			first = i;
	if (i == s->scopes.nr && i && (device == SONDE_NONE || s->scopes.at[0].device == SONDE_NONE))
		i = first;
	p->of.scope[number] = i;
	if (i == s->scopes.nr)
		return sonde_vec_put(&s->scopes, (struct sonde_sum_scope){.device = device});
	if (s->scopes.at[i].device == SONDE_NONE)
		s->scopes.at[i].device = device;
	return true;
}

/* Finds the part's accumulator for each accumulator of the sum, by the names of metrics. */
static void match_metrics(struct sonde_sum_part *p)
{
	const struct sonde_cells *to = p->sum->c;
	uint32_t i, metric;

	for (i = 0; i < to->metric_names.nr; i++) {
		if (to->kits.at[0].at[i] == SONDE_NONE)
			continue;
		metric = sonde_map_find(&p->c->metric_names, to->metric_names.keys[i]);
		p->acc_of[to->kits.at[0].at[i]] =
			metric == SONDE_NONE ? SONDE_NONE : p->c->kits.at[0].at[metric];
	}
}

bool sonde_sum__enter(struct sonde_sum_part *p)
{
	const struct sonde_cells *c = p->c;
	struct sonde_sum *s = p->sum;
	size_t i;

	p->acc_of = sonde_arena_alloc(&p->arena, (s->nr_acc + 1) * sizeof(uint32_t));
	if (!p->acc_of || !sonde_numbers_init(&p->of, c, &s->strings, &s->texts, &s->arena, &p->arena))
		return false;
	for (i = 0; i < c->regions.nr; i++)
		if (!enter_region(p, i))
			return false;
	for (i = 0; i < c->places.nr; i++)
		if (!enter_place(p, i))
			return false;
	for (i = 0; i < c->scopes.nr; i++)
		if (!enter_scope(p, i))
			return false;
	match_metrics(p);
	return sonde_sum__enter_stalls(p);
}

/* --- adding parts and taking them out ----------------------------------------------------------- */

bool sonde_sum__move(struct sonde_sum_part *p)
{
	const struct sonde_cells *c = p->c;
	size_t i;

	for (i = 0; i < c->cells.nr; i++)
		if (!add_cell(p, &c->cells.at[i]))
			return false;
	for (i = 0; i < c->visits.nr; i++)
		if (!add_visit(p, c->visits.at[i]))
			return false;
	for (i = 0; i < c->scopes.nr; i++) {
		struct sonde_sum_scope *to = &p->sum->scopes.at[p->of.scope[i]];

		sonde_sum__count(p, &to->nr, 1);
		sonde_sum__count(p, &to->launches, c->sums.at[i].launches);
		sonde_sum__count(p, &to->collectives, c->sums.at[i].collectives);
		if (!sonde_sum__add(p, &to->time_ns, c->sums.at[i].time_ns))
			return false;
	}
	sonde_cells_add_counts(p->sum->c, c, p->sign);
	return true;
}

/* --- releasing a sum ---------------------------------------------------------------------------- */

void sonde_sum__release(struct sonde_sum *s)
{
	size_t i, k;

	for (i = 0; i < s->cells.nr; i++)
		for (k = 0; s->cells.at[i].acc && k < s->nr_acc; k++)
			sonde_vec_release(&s->cells.at[i].acc[k].modes);
	sonde_vec_release(&s->regions);
	sonde_vec_release(&s->places);
	sonde_vec_release(&s->homes);
	sonde_vec_release(&s->scopes);
	sonde_vec_release(&s->cells);
	sonde_vec_release(&s->visits);
	sonde_map_release(&s->region_keys);
	sonde_map_release(&s->place_keys);
	sonde_map_release(&s->cell_keys);
	sonde_map_release(&s->visit_keys);
	sonde_vec_release(&s->stalls);
	sonde_map_release(&s->stall_rows);
	sonde_stall_keys_release(&s->stall_keys);
	sonde_map_release(&s->strings);
	sonde_map_release(&s->texts);
	sonde_cells_free(s->c);
	sonde_arena_release(&s->arena);
}
