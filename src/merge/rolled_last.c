/*
 * Files of one capture, added up: what sums cannot have and the last files say. Gaps, single entries, the
 * timeline, windows and notes are those of what began since the last file that was folded.
 */
#include "merge/rolled_int.h"

#include "base/alloc.h"

#include <stdlib.h>

#define CLOCK_ERROR_NS 1000u /* a moment may be told differently by so much: clocks are compared anew */

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

/* The gap around the moment is the same as it was: why is told better by the files that are gone. */
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

/* What is known of a scope's gaps from the files that are gone. */
struct known {
	uint64_t first_ns;	 /* when its first launch began, 0 = not known */
	struct sonde_gap around; /* the one at the moment they ended; ns 0 = there was none */
};

/*
 * Those that ended since then may be in both: they are taken from what was folded last, where they may go on,
 * or be none since work came late.
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

bool sonde_rolled__take_last(struct sonde_cells *c, const struct sonde_sum_part *parts,
	struct sonde_cells *plus, uint64_t since_ns)
{
	const struct sonde_sum_part *sums = &parts[SONDE_ROLLED_SUMS], *last = &parts[SONDE_ROLLED_PLUS];
	const struct sonde_moving single = {.to = c, .from = plus, .of = last->of};
	struct known *known = sonde_calloc(c->scopes.nr + 1, sizeof(*known));
	bool ok = known && add_gaps(c, sums, last, known, since_ns);

	sonde_free(known);
	sonde_notes_add(&c->notes, &plus->notes);
	return ok && take_entries(c, last, since_ns) && sonde_timeline_move(&single);
}
