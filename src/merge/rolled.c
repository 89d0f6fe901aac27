/* What files of one capture come to: their sum, and what a sum of other parts does not have. */
#include "merge/rolled_int.h"

/* --- may they be added up? ---------------------------------------------------------------------- */

static bool are_alike(const struct sonde_cells *a, const struct sonde_cells *b)
{
	return a->inputs.nr == 1 && b->inputs.nr == 1 && a->processes.nr == 1 && b->processes.nr == 1 &&
	       a->kits.nr == 1 && b->kits.nr == 1 &&
	       !a->sampled.nr && !b->sampled.nr &&
	       sonde_selection_is_same(&a->selection, &b->selection);
}

/* Whether cells of a part lack a metric that is asked for. */
static bool lacks_metric(const struct sonde_sum_part *p)
{
	uint32_t i;

	for (i = 0; i < p->sum->nr_acc && p->c->cells.nr; i++)
		if (p->acc_of[i] == SONDE_NONE)
			return true;
	return false;
}

/* Sums have all metrics: those stay that were asked for now. Without launches nobody says which. */
static const struct sonde_cells *choose_metrics(const struct sonde_cells *sums, const struct sonde_cells *plus)
{
	return plus->cells.nr || (!sums->cells.nr && !sums->metric_names.nr) ? plus : sums;
}

/* --- beside the sum ----------------------------------------------------------------------------- */

static bool add_devices(struct sonde_cells *to, const struct sonde_cells *from)
{
	size_t i, k;

	for (i = 0; i < from->devices.nr; i++) {
		for (k = 0; k < to->devices.nr && to->devices.at[k].id != from->devices.at[i].id; k++)
			;
		if (k == to->devices.nr && !sonde_cells_add_device(to, &from->devices.at[i]))
			return false;
	}
	return true;
}

/* Threads with launches in no region. */
static bool add_strays(struct sonde_cells *to, const struct sonde_sum_part *p)
{
	size_t i, k;

	for (i = 0; i < p->c->strays.nr; i++) {
		const struct sonde_stray *from = &p->c->strays.at[i];

		for (k = 0; k < to->strays.nr && to->strays.at[k].thread != from->thread; k++)
			;
		if (k == to->strays.nr && !sonde_vec_put(&to->strays, (struct sonde_stray){.thread = from->thread}))
			return false;
		sonde_sum__count(p, &to->strays.at[k].launches, from->launches);
	}
	return true;
}

static void add_counts(struct sonde_cells *to, const struct sonde_sum_part *p)
{
	size_t i;

	for (i = 0; i < p->c->tally.nr_functions; i++) {
		struct sonde_str name = p->c->tally.functions[i];

		if (sonde_cells_keep(to, &name))
			sonde_tally_add_function(&to->tally, name);
	}
	for (i = 0; i < to->label_rules.nr && i < p->c->label_rules.nr; i++) /* each label once */
		if (p->c->label_rules.at[i].changed > to->label_rules.at[i].changed)
			to->label_rules.at[i].changed = p->c->label_rules.at[i].changed;
	sonde_sum__count(p, &to->processes.at[0].nr_launches, p->c->processes.at[0].nr_launches);
	sonde_sum__count(p, &to->nr_damaged, p->c->nr_damaged);
}

/* --- regions without anything in them ----------------------------------------------------------- */

static void mark_path(const struct sonde_cells *c, bool *is_met, uint32_t region)
{
	for (; region != SONDE_NONE && !is_met[region]; region = c->regions.at[region].parent)
		is_met[region] = true;
}

/* By region: whether it was entered, or something was launched in it. NULL: no memory. */
static bool *find_met(const struct sonde_cells *c, struct sonde_arena *arena)
{
	bool *is_met = sonde_arena_calloc(arena, c->regions.nr + 1, sizeof(*is_met));
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
 * is in them. Those that were empty all along stay.
 */
static bool drop_unmet(struct sonde_cells *c, struct sonde_sum_part *sums)
{
	bool *stays = find_met(c, &sums->arena), *was_met = find_met(sums->c, &sums->arena);
	size_t i;

	if (!stays || !was_met)
		return false;
	for (i = 0; i < sums->c->regions.nr; i++)
		stays[sums->of.region[i]] |= !was_met[i];
	sonde_vec_filter(&c->visits, k, stays[c->visits.at[k].region]);
	return true;
}

/* --- all of it ---------------------------------------------------------------------------------- */

static bool finish(struct sonde_cells **out, struct sonde_sum_part *parts, struct sonde_cells *plus, uint64_t since_ns)
{
	struct sonde_numbers n = {0};
	struct sonde_cells *c = *out = sonde_sum__finish(parts->sum, NULL, &n);
	size_t i, k;

	for (i = 0; c && i < SONDE_NR_ROLLED; i++) {
		add_counts(c, &parts[i]);
		if (!add_devices(c, parts[i].c) || !add_strays(c, &parts[i]))
			return false;
		for (k = 0; k < parts[i].c->scopes.nr; k++) /* all other numbers are as they came */
			parts[i].of.scope[k] = n.scope[parts[i].of.scope[k]];
	}
	if (!c || !drop_unmet(c, &parts[SONDE_ROLLED_SUMS]))
		return false;
	sonde_vec_filter(&c->strays, m, c->strays.at[m].launches);
	return sonde_rolled__add_streams(c, parts) && sonde_rolled__take_last(c, parts, plus, since_ns);
}

static int add_up(struct sonde_cells **out, struct sonde_sum_part *parts, struct sonde_cells *plus,
	uint64_t since_ns, struct sonde_err *err)
{
	struct sonde_sum *s = parts->sum;
	const struct sonde_cells *sums = parts[SONDE_ROLLED_SUMS].c, *minus = parts[SONDE_ROLLED_MINUS].c;
	bool can = are_alike(sums, plus) && are_alike(sums, minus), ok = can;
	size_t i;

	ok = ok && sonde_sum__init(s, choose_metrics(sums, plus), &plus->inputs.at[0], &plus->processes.at[0]);
	for (i = 0; ok && i < SONDE_NR_ROLLED; i++)
		ok = sonde_sum__enter(&parts[i]);
	can = can && !(ok && lacks_metric(&parts[SONDE_ROLLED_SUMS]));
	if (!can)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"%.*s: its oldest files were folded while it was written, with another selection, "
			"other metrics or without counters, and that cannot be changed afterwards: report "
			"with the settings of the run",
			SONDE_STR_ARG(plus->inputs.at[0].path));
	if (ok)
		s->c->processes.at[0].nr_launches = 0;
	for (i = 0; ok && i < SONDE_NR_ROLLED; i++)
		ok = sonde_sum__move(&parts[i]);
	return ok && finish(out, parts, plus, since_ns) ? 0 : sonde_err_nomem(err);
}

int sonde_rolled__add(struct sonde_cells **sums, struct sonde_cells *plus, const struct sonde_cells *minus,
	uint64_t since_ns, struct sonde_err *err)
{
	struct sonde_sum s = {.is_of_files = true};
	struct sonde_sum_part parts[SONDE_NR_ROLLED] = {
		{.sum = &s, .c = *sums, .sign = 1}, {.sum = &s, .c = plus, .sign = 1}, {.sum = &s, .c = minus, .sign = -1}};
	struct sonde_cells *out = NULL;
	size_t i;
	int rc;

	sonde_rolled__forget(*sums);
	rc = add_up(&out, parts, plus, since_ns, err);
	for (i = 0; i < SONDE_NR_ROLLED; i++)
		sonde_arena_release(&parts[i].arena);
	sonde_sum__release(&s);
	if (rc == 0) {
		sonde_cells_free(*sums);
		*sums = out;
	} else {
		sonde_cells_free(out);
	}
	return rc;
}
