#include "merge/rolled_sums.h"

#include "base/alloc.h"
#include "merge/parts_append.h"
#include "merge/parts_sum.h"

#include <stdlib.h>

/* S, F(c, m … n) and F(c, m), in this order. */
enum { SONDE_ROLLED_SUMS, SONDE_ROLLED_PLUS, SONDE_ROLLED_MINUS, SONDE_NR_ROLLED };

/*
 * The streams of visits are slices of one table, in the order of the visits: they are taken apart, added up
 * and put back.
 */

static bool add_streams_of(struct sonde_stream_rows *to, const struct sonde_cells *c, const struct sonde_sum_part *p)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < p->c->visits.nr; i++) {
		const struct sonde_visit *from = &p->c->visits.at[i];
		const struct sonde_visit *v =
			sonde_cells_visit(c, p->of.scope[from->scope], p->of.region[from->region]);

		for (k = 0; v && k < from->nr_streams; k++) {
			struct sonde_stream_work s = p->c->streams.at[from->first_stream + k];

			s.launches = p->sign > 0 ? s.launches : 0 - s.launches;
			s.time_ns *= p->sign;
			s.busy_ns *= p->sign;
			if (!sonde_vec_put(to, (struct sonde_stream_row){(size_t)(v - c->visits.at), s}))
				return false;
		}
	}
	return true;
}

static int by_stream(const void *a, const void *b)
{
	const struct sonde_stream_row *x = a, *y = b;
	int c = sonde_cmp(x->visit, y->visit);

	c = c ? c : sonde_cmp(x->sums.context, y->sums.context);
	return c ? c : sonde_cmp(x->sums.stream, y->sums.stream);
}

/* One row for each stream of a visit that did something. */
static void add_up_streams(struct sonde_stream_rows *rows)
{
	size_t i, nr = 0;

	sonde_vec_sort(rows, by_stream);
	for (i = 0; i < rows->nr; i++) {
		struct sonde_stream_row *last = nr ? &rows->at[nr - 1] : NULL;

		if (last && by_stream(last, &rows->at[i]) == 0) {
			last->sums.launches += rows->at[i].sums.launches;
			last->sums.time_ns += rows->at[i].sums.time_ns;
			last->sums.busy_ns += rows->at[i].sums.busy_ns;
		} else {
			rows->at[nr++] = rows->at[i];
		}
	}
	rows->nr = nr;
	sonde_vec_filter(rows, k, rows->at[k].sums.launches);
}

static bool add_streams(struct sonde_cells *c, const struct sonde_sum_part *parts)
{
	struct sonde_stream_rows rows = {0};
	bool ok = true;
	size_t i;

	for (i = 0; ok && i < SONDE_NR_ROLLED; i++)
		ok = add_streams_of(&rows, c, &parts[i]);
	if (ok)
		add_up_streams(&rows);
	ok = ok && sonde_streams_hand_out(&rows, c->visits.at, c);
	sonde_vec_release(&rows);
	return ok;
}

/*
 * Sums cannot hold gaps, single entries, the timeline, windows and notes: these come from the last files,
 * as far as they began after the last file that was folded.
 */

#define CLOCK_ERROR_NS 1000u /* clocks are compared anew for each file, so a time may differ by this much */

/* By scope, the longest first, of equals the earlier. */
static int by_length(const void *a, const void *b)
{
	const struct sonde_gap *x = a, *y = b;
	int c = sonde_cmp(x->scope, y->scope);

	c = c ? c : sonde_cmp(y->ns, x->ns);
	return c ? c : sonde_cmp(x->begin_ns, y->begin_ns);
}

/* The longest of each scope stay. */
static void cut_gaps(struct sonde_cells *to)
{
	size_t i, k, nr = 0;

	sonde_vec_sort(&to->gaps, by_length);
	for (i = k = 0; i < to->gaps.nr; i++) {
		k = i && to->gaps.at[i].scope == to->gaps.at[i - 1].scope ? k + 1 : 0;
		if (k < SONDE_NR_GAPS)
			to->gaps.at[nr++] = to->gaps.at[i];
	}
	to->gaps.nr = nr;
}

static uint64_t end_of(const struct sonde_gap *gap)
{
	return gap->begin_ns + gap->ns;
}

/* The gap at the boundary is the same as before: the files that are gone knew its cause better. */
static bool is_same_gap(const struct sonde_gap *old, const struct sonde_gap *gap, uint64_t since_ns)
{
	return gap->begin_ns < since_ns && old->ns < gap->ns + CLOCK_ERROR_NS && gap->ns < old->ns + CLOCK_ERROR_NS;
}

static struct sonde_gap gap_in(const struct sonde_sum_part *p, size_t i)
{
	struct sonde_gap gap = p->c->gaps.at[i];

	gap.scope = p->of.scope[gap.scope];
	gap.region = sonde_number_in(p->of.region, gap.region);
	gap.before = sonde_number_in(p->of.region, gap.before);
	return gap;
}

/* What the files that are gone said about a scope's gaps. */
struct known {
	uint64_t first_ns;	 /* when its first launch began, 0 = not known */
	struct sonde_gap around; /* the one at the moment they ended; ns 0 = there was none */
};

/*
 * Gaps that ended after the boundary may be in both: they are taken from what was folded last, where they may
 * be longer, or gone because work arrived late.
 */
static bool add_gaps(struct sonde_cells *to, const struct sonde_sum_part *sums, const struct sonde_sum_part *plus,
	struct known *known, uint64_t since_ns)
{
	size_t i;

	for (i = 0; i < sums->c->gaps.nr; i++) {
		struct sonde_gap gap = gap_in(sums, i);

		known[gap.scope].first_ns = gap.begin_ns - gap.since_ns;
		if (gap.begin_ns < since_ns && end_of(&gap) > since_ns)
			known[gap.scope].around = gap;
		if (end_of(&gap) <= since_ns && !sonde_vec_put(&to->gaps, gap))
			return false;
	}
	for (i = 0; i < plus->c->gaps.nr; i++) {
		struct sonde_gap gap = gap_in(plus, i);
		const struct known *k = &known[gap.scope];

		if (end_of(&gap) <= since_ns)
			continue;
		if (is_same_gap(&k->around, &gap, since_ns))
			gap.cause = k->around.cause;
		if (k->first_ns) /* the first launch was in a file that is gone */
			gap.since_ns = gap.begin_ns - k->first_ns;
		if (!sonde_vec_put(&to->gaps, gap))
			return false;
	}
	cut_gaps(to);
	return true;
}

static bool take_entries(struct sonde_cells *to, const struct sonde_sum_part *plus, uint64_t since_ns)
{
	size_t i, k;

	if (!sonde_vec_reserve(&to->entries, plus->c->entries.nr + 1))
		return false;
	for (i = 0; i < to->visits.nr; i++)
		to->visits.at[i].entry_step = 1;
	for (i = 0; i < plus->c->visits.nr; i++) {
		const struct sonde_visit *from = &plus->c->visits.at[i];
		const struct sonde_visit *found =
			sonde_cells_visit(to, plus->of.scope[from->scope], plus->of.region[from->region]);
		struct sonde_visit *v;

		if (!found)
			continue;
		v = &to->visits.at[found - to->visits.at];
		v->first_entry = (uint32_t)to->entries.nr;
		v->entry_step = from->entry_step;
		for (k = 0; k < from->nr_entries; k++) {
			struct sonde_entry e = plus->c->entries.at[from->first_entry + k];

			if (e.begin_ns < since_ns)
				continue;
			e.label = sonde_number_in(plus->of.string, e.label);
			to->entries.at[to->entries.nr++] = e;
			v->nr_entries++;
		}
	}
	return true;
}

void sonde_rolled__forget(struct sonde_cells *c)
{
	size_t i;

	for (i = 0; i < c->visits.nr; i++) {
		c->visits.at[i].is_open = false;
		c->visits.at[i].first_entry = c->visits.at[i].nr_entries = 0;
	}
	for (i = 0; i < c->sums.nr; i++)
		c->sums.at[i].collective_step = 0;
	c->entries.nr = c->loads.nr = c->collectives.nr = 0;
}

static bool take_last(struct sonde_cells *c, const struct sonde_sum_part *parts,
	struct sonde_cells *plus, uint64_t since_ns)
{
	const struct sonde_sum_part *sums = &parts[SONDE_ROLLED_SUMS], *last = &parts[SONDE_ROLLED_PLUS];
	struct known *known = sonde_calloc(c->scopes.nr + 1, sizeof(*known));
	bool ok = known && add_gaps(c, sums, last, known, since_ns);

	sonde_free(known);
	sonde_notes_add(&c->notes, &plus->notes);
	return ok && take_entries(c, last, since_ns) && sonde_timeline__move(c, plus, &last->of);
}

/* --- all of it ----------------------------------------------------------------------------------- */

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

static void add_input_counts(struct sonde_cells *to, const struct sonde_sum_part *p)
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

static bool finish_sums(struct sonde_cells **out, struct sonde_sum_part *parts, struct sonde_cells *plus, uint64_t since_ns)
{
	struct sonde_numbers n = {0};
	struct sonde_cells *c = *out = sonde_sum__finish(parts->sum, NULL, &n);
	size_t i, k;

	for (i = 0; c && i < SONDE_NR_ROLLED; i++) {
		add_input_counts(c, &parts[i]);
		if (!add_devices(c, parts[i].c) || !add_strays(c, &parts[i]))
			return false;
		for (k = 0; k < parts[i].c->scopes.nr; k++) /* all other numbers are as they came */
			parts[i].of.scope[k] = n.scope[parts[i].of.scope[k]];
	}
	if (!c || !drop_unmet(c, &parts[SONDE_ROLLED_SUMS]))
		return false;
	sonde_vec_filter(&c->strays, m, c->strays.at[m].launches);
	return add_streams(c, parts) && take_last(c, parts, plus, since_ns);
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
	return ok && finish_sums(out, parts, plus, since_ns) ? 0 : sonde_err_nomem(err);
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
