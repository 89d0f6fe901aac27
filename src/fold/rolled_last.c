/*
 * Files of one capture, added up: what sums cannot have and the last files say. Gaps, single entries, the
 * timeline, windows and notes are those of what began since the last file that was folded.
 */
#include "fold/rolled_add_int.h"

#include "base/alloc.h"
#include "fold/timeline.h"

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

/*
 * Those that ended since then may be in both: they are taken from what was folded last, where they may go on,
 * or be none since work came late.
 */
static bool add_gaps(struct sonde_adding *a, uint64_t since_ns)
{
	struct sonde_cells *to = a->to;
	uint64_t *first = sonde_arena_calloc(&a->arena, to->scopes.nr + 1, sizeof(*first));
	struct sonde_gap *around = sonde_arena_calloc(&a->arena, to->scopes.nr + 1, sizeof(*around));
	size_t i;

	if (!first || !around)
		return false;
	for (i = 0; i < to->gaps.nr; i++) {
		const struct sonde_gap *gap = &to->gaps.at[i];

		first[gap->scope] = gap->begin_ns - gap->since_ns;
		if (gap->begin_ns < since_ns && end_of(gap) > since_ns)
			around[gap->scope] = *gap;
	}
	sonde_vec_filter(&to->gaps, k, end_of(&to->gaps.at[k]) <= since_ns);
	for (i = 0; i < a->from->gaps.nr; i++) {
		struct sonde_gap gap = a->from->gaps.at[i];

		gap.scope = a->scope_of[gap.scope];
		gap.region = sonde_number__in(a->region_of, gap.region);
		gap.before = sonde_number__in(a->region_of, gap.before);
		if (end_of(&gap) <= since_ns)
			continue;
		if (is_same_gap(&around[gap.scope], &gap, since_ns))
			gap.cause = around[gap.scope].cause;
		if (first[gap.scope]) /* the first launch was in a file that is gone */
			gap.since_ns = gap.begin_ns - first[gap.scope];
		if (!sonde_vec_put(&to->gaps, gap))
			return false;
	}
	cut_gaps(to);
	return true;
}

static bool take_entries(struct sonde_adding *a, uint64_t since_ns)
{
	struct sonde_cells *to = a->to;
	size_t i, k;

	if (!sonde_vec_reserve(&to->entries, a->from->entries.nr + 1))
		return false;
	for (i = 0; i < a->from->visits.nr; i++) {
		const struct sonde_visit *from = &a->from->visits.at[i];
		const struct sonde_visit *found =
			sonde_cells_visit(to, a->scope_of[from->scope], a->region_of[from->region]);
		struct sonde_visit *v;

		if (!found)
			continue;
		v = &to->visits.at[found - to->visits.at];
		v->first_entry = (uint32_t)to->entries.nr;
		v->entry_step = from->entry_step;
		for (k = 0; k < from->nr_entries; k++) {
			struct sonde_entry e = a->from->entries.at[from->first_entry + k];

			if (e.begin_ns < since_ns)
				continue;
			e.label = sonde_number__in(a->string_of, e.label);
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

static bool take_timeline(const struct sonde_adding *a, struct sonde_cells *plus)
{
	const struct sonde_moving m = {.to = a->to,
		.from = plus,
		.string_of = a->string_of,
		.region_of = a->region_of,
		.place_of = a->place_of,
		.scope_of = a->scope_of};

	if (!plus->timeline)
		return true;
	if (!a->to->timeline)
		a->to->timeline = sonde_calloc(1, sizeof(*a->to->timeline));
	return a->to->timeline && sonde_timeline__move(&m);
}

bool sonde_adding__take_last(struct sonde_adding *a, struct sonde_cells *plus, uint64_t since_ns)
{
	struct sonde_input *in = &a->to->inputs.at[0];
	const struct sonde_input *from = &plus->inputs.at[0];

	in->is_windowed = from->is_windowed;
	in->nr_windows = from->nr_windows;
	in->captured_ns = from->captured_ns;
	in->total_ns = from->total_ns;
	sonde_notes_release(&a->to->notes);
	a->to->notes = (struct sonde_notes){0};
	sonde_notes_add(&a->to->notes, &plus->notes);
	return add_gaps(a, since_ns) && take_entries(a, since_ns) && take_timeline(a, plus);
}
