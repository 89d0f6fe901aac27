/* What files of one capture come to, added up: names, cells, visits (rolled_*.c), counts; and what stays of it. */
#include "fold/rolled_add_int.h"

static void add_functions(struct sonde_adding *a)
{
	size_t i;

	for (i = 0; i < a->from->tally.nr_functions; i++) {
		struct sonde_str name = a->from->tally.functions[i];

		if (sonde_cells__keep(a->to, &name))
			sonde_tally_add_function(&a->to->tally, name);
	}
}

static void add_counts(struct sonde_adding *a)
{
	struct sonde_cells *to = a->to;
	const struct sonde_cells *from = a->from;
	size_t i;

	sonde_cells__add_counts(to, from, a->sign);
	add_functions(a);
	for (i = 0; i < from->sums.nr; i++) {
		struct sonde_scope_sum *sum = &to->sums.at[a->scope_of[i]];

		sonde_adding__count(a, &sum->launches, from->sums.at[i].launches);
		sonde_adding__count(a, &sum->collectives, from->sums.at[i].collectives);
		sum->time_ns += a->sign * from->sums.at[i].time_ns;
		sum->collective_step = 0;
	}
	sonde_adding__count(a, &to->processes.at[0].nr_launches, from->processes.at[0].nr_launches);
	sonde_adding__count(a, &to->nr_damaged, from->nr_damaged);
	for (i = 0; i < to->label_rules.nr && i < from->label_rules.nr; i++) /* each label once */
		if (from->label_rules.at[i].changed > to->label_rules.at[i].changed)
			to->label_rules.at[i].changed = from->label_rules.at[i].changed;
}

/* Threads with launches in no region. */
static bool add_strays(struct sonde_adding *a)
{
	size_t i, k;

	for (i = 0; i < a->from->strays.nr; i++) {
		const struct sonde_stray *from = &a->from->strays.at[i];
		struct sonde_stray *to;

		for (k = 0; k < a->to->strays.nr && a->to->strays.at[k].thread != from->thread; k++)
			;
		to = k < a->to->strays.nr ? &a->to->strays.at[k] : sonde_vec_push(&a->to->strays);
		if (!to)
			return false;
		to->thread = from->thread;
		sonde_adding__count(a, &to->launches, from->launches);
	}
	return true;
}

static void mark_path(const struct sonde_cells *c, bool *is_met, uint32_t region)
{
	for (; region != SONDE_NONE && !is_met[region]; region = c->regions.at[region].parent)
		is_met[region] = true;
}

/* By region: whether it was entered, or something was launched in it. NULL: no memory. */
static bool *find_met(struct sonde_adding *a)
{
	const struct sonde_cells *c = a->to;
	bool *is_met = sonde_arena_calloc(&a->arena, c->regions.nr + 1, sizeof(*is_met));
	size_t i;
	uint32_t k;

	for (i = 0; is_met && i < c->cells.nr; i++) {
		const struct sonde_place *p = &c->places.at[c->cells.at[i].place];

		for (k = 0; k < p->nr; k++)
			mark_path(c, is_met, c->homes.at[p->first + k]);
	}
	for (i = 0; is_met && i < c->visits.nr; i++)
		if (c->visits.at[i].instances)
			mark_path(c, is_met, c->visits.at[i].region);
	return is_met;
}

/*
 * Regions that were there only because older files are gone, or as long as the next was not there: nothing
 * is in them. `was_met` is what was known before, of the first `nr_before` regions.
 */
static bool drop_unmet(struct sonde_adding *a, const bool *was_met, size_t nr_before)
{
	const bool *is_met = find_met(a);
	const struct sonde_visit *v = a->to->visits.at;

	if (is_met)
		sonde_vec_filter(&a->to->visits, i, is_met[v[i].region] ||
			(v[i].region < nr_before && !was_met[v[i].region]));
	return is_met != NULL;
}

static bool add_part(struct sonde_adding *a, const struct sonde_cells *from, int sign)
{
	a->from = from;
	a->sign = sign;
	if (!sonde_adding__enter(a) || !sonde_adding__cells(a) || !sonde_adding__visits(a) || !add_strays(a))
		return false;
	add_counts(a);
	return true;
}

static bool are_alike(const struct sonde_cells *a, const struct sonde_cells *b)
{
	return a->inputs.nr == 1 && b->inputs.nr == 1 && a->processes.nr == 1 && b->processes.nr == 1 &&
	       a->kits.nr == 1 && b->kits.nr == 1 &&
	       !a->sampled.nr && !b->sampled.nr &&
	       sonde_selection__is_same(&a->selection, &b->selection);
}

/*
 * Sums have all metrics; where fewer were asked for, only those stay. False: memory is short, or `*has_all`
 * says that sums lack some.
 */
static bool choose_metrics(struct sonde_cells *to, const struct sonde_cells *as, bool *has_all)
{
	struct sonde_kit *kit = &to->kits.at[0];
	uint32_t nr = as->kits.at[0].nr, i, k, *at;
	size_t c;

	*has_all = true;
	at = sonde_arena_alloc(&to->arena, (to->metric_names.nr + 1) * sizeof(*at));
	for (i = 0; at && i < to->metric_names.nr; i++) {
		k = sonde_map_find(&as->metric_names, to->metric_names.keys[i]);
		at[i] = k == SONDE_NONE ? SONDE_NONE : as->kits.at[0].at[k];
		*has_all &= at[i] == SONDE_NONE || (at[i] < nr && kit->at[i] != SONDE_NONE);
	}
	for (i = 0; i < as->metric_names.nr; i++)
		*has_all &= sonde_map_find(&to->metric_names, as->metric_names.keys[i]) != SONDE_NONE;
	for (c = 0; at && *has_all && c < to->cells.nr; c++) {
		struct sonde_acc *acc = sonde_arena_calloc(&to->arena, nr + 1, sizeof(*acc));

		for (i = 0; acc && i < to->metric_names.nr; i++)
			if (at[i] != SONDE_NONE)
				acc[at[i]] = to->cells.at[c].acc[kit->at[i]];
		if (!acc)
			return false;
		to->cells.at[c].acc = acc;
	}
	if (at && *has_all) {
		kit->at = at;
		kit->nr = nr;
	}
	return at && *has_all;
}

/* So far there were no launches: the first ones say what is accumulated. */
static bool adopt_kit(struct sonde_cells *to, const struct sonde_cells *from)
{
	struct sonde_kit *kit = &to->kits.at[0];
	size_t nr = from->metric_names.nr, i;

	if (to->cells.nr || to->metric_names.nr || !nr)
		return true;
	kit->nr = from->kits.at[0].nr;
	kit->at = sonde_arena_alloc(&to->arena, (nr + 1) * sizeof(*kit->at));
	kit->breakdowns = sonde_arena_calloc(&to->arena, nr + 1, sizeof(*kit->breakdowns));
	if (!kit->at || !kit->breakdowns || !sonde_vec_reserve(&to->inputs.at[0].has, nr + 1))
		return false;
	for (i = 0; i < nr; i++) {
		kit->at[i] = from->kits.at[0].at[i];
		to->inputs.at[0].has.at[i] = sonde_input_has(&from->inputs.at[0], (uint32_t)i);
		if (sonde_map_keep(&to->metric_names, &to->arena, from->metric_names.keys[i], NULL) != i)
			return false;
	}
	to->inputs.at[0].has.nr = nr;
	return true;
}

int sonde_rolled__add(struct sonde_cells *to, struct sonde_cells *plus, const struct sonde_cells *minus,
	uint64_t since_ns, struct sonde_err *err)
{
	struct sonde_adding a = {.to = to};
	size_t nr_before = to->regions.nr;
	const bool *was_met;
	bool ok, has_all = are_alike(to, plus) && (!minus || are_alike(to, minus));

	if (has_all && !adopt_kit(to, plus))
		return sonde_err_nomem(err);
	if (has_all && plus->cells.nr && !choose_metrics(to, plus, &has_all) && has_all)
		return sonde_err_nomem(err);
	if (!has_all)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"%.*s: its oldest files were folded while it was written, with another selection, "
			"other metrics or without counters, and that cannot be changed afterwards: report "
			"with the settings of the run",
			SONDE_STR_ARG(plus->inputs.at[0].path));
	a.methods = sonde_kit__find_methods(&to->kits.at[0], &to->metric_names, &a.arena);
	was_met = find_met(&a);
	ok = a.methods && was_met && sonde_adding__know(&a) && sonde_adding__know_streams(&a);
	if (ok)
		sonde_rolled__forget(to);
	ok = ok && add_part(&a, plus, 1) && (!minus || add_part(&a, minus, -1));
	a.from = plus;
	ok = ok && sonde_adding__enter(&a);
	if (ok) {
		sonde_vec_filter(&to->cells, i, to->cells.at[i].launches);
		sonde_vec_filter(&to->strays, i, to->strays.at[i].launches);
		ok = drop_unmet(&a, was_met, nr_before);
		sonde_cells_sort_visits(to);
		ok = ok && sonde_adding__settle_streams(&a) && sonde_adding__take_last(&a, plus, since_ns);
	}
	sonde_map_release(&a.region_keys);
	sonde_map_release(&a.place_keys);
	sonde_vec_release(&a.place_at);
	sonde_vec_release(&a.streams);
	sonde_arena_release(&a.arena);
	return ok ? 0 : sonde_err_nomem(err);
}
