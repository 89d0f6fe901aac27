/*
 * The entries of each region, one by one: how long the host was in it, how long
 * the GPU worked for it, and from its first launch to its last.
 *
 * What a launch adds is the same for all launches in the same open ranges, so it
 * is added up by sets of these first: there are far fewer.
 */
#include "fold/fold_int.h"
#include "fold/windowed.h"

#include "base/alloc.h"

#include <stdlib.h>

/* What launches gave to a set of open ranges, or to an entry. */
struct gain {
	uint64_t gpu_ns, first_ns, last_ns; /* last_ns 0 = nothing */
	bool is_untimed; /* not all of it was timed: a budget */
};

static void add_gain(struct gain *to, const struct gain *from)
{
	to->is_untimed |= from->is_untimed;
	if (!from->last_ns)
		return;
	to->first_ns =
		!to->last_ns || from->first_ns < to->first_ns ? from->first_ns : to->first_ns;
	to->last_ns = from->last_ns > to->last_ns ? from->last_ns : to->last_ns;
	to->gpu_ns += from->gpu_ns;
}

/* By set number, of the records' sets and then those made by attribution. */
static void gain_of_sets(const struct sonde_launches *l, struct gain *sets)
{
	size_t i;

	for (i = 0; i < l->launches.nr; i++) {
		const struct sonde_launch *launch = &l->launches.at[i];
		const struct sonde_record_time *t = &l->records->records.at[launch->record].time;

		sets[launch->open].is_untimed |=
			l->records->records.at[launch->record].is_untimed &&
			!sonde_record_is_nothing(&l->records->records.at[launch->record]);
		if (launch->state == SONDE_LAUNCH_TAKEN && t->end_ns >= t->start_ns && t->end_ns)
			add_gain(&sets[launch->open],
				&(struct gain){.gpu_ns = t->end_ns - t->start_ns,
					.first_ns = t->start_ns,
					.last_ns = t->end_ns});
	}
}

/* An entry and those around it. In two domains at once a launch counts in both. */
static void gain_of_ranges(
	const struct sonde_launches *l, const struct gain *sets, size_t nr, struct gain *ranges)
{
	size_t i, k;

	for (i = 0; i < nr; i++) {
		const uint32_t *members;
		struct sonde_set set = {0, 0};

		if (sets[i].last_ns || sets[i].is_untimed)
			set = sonde_launches_set(l, (uint32_t)i, &members);
		for (k = 0; k < set.nr; k++) {
			uint32_t range = members[k];

			for (; range != SONDE_NONE; range = l->records->ranges.at[range].parent)
				add_gain(&ranges[range], &sets[i]);
		}
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct sonde_entry *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->host_ns < y->host_ns ? -1 : x->host_ns > y->host_ns;
}

/* Sorts a visit's entries and keeps every so many-th of very many, evenly over time. */
static void settle(struct sonde_cells *c, struct sonde_visit *v, uint32_t *nr_kept)
{
	struct sonde_entry *at = &c->entries.at[v->first_entry];
	uint32_t i, nr = v->nr_entries, kept = 0;

	for (i = 1; i < nr && by_begin(&at[i - 1], &at[i]) <= 0; i++)
		;
	if (i < nr)
		qsort(at, nr, sizeof(*at), by_begin);
	for (v->entry_step = 1; nr > (uint64_t)SONDE_MAX_ENTRIES * v->entry_step;)
		v->entry_step *= 2;
	v->first_entry = *nr_kept;
	for (i = 0; i < nr; i += v->entry_step, kept++)
		c->entries.at[*nr_kept + kept] = at[i];
	v->nr_entries = kept;
	*nr_kept += kept;
}

/* Whether an entry is one to show: its GPU time is known, or it has none. */
static bool is_shown(const struct gain *g, uint32_t visit)
{
	return visit != SONDE_NONE && !g->is_untimed;
}

static bool lay_out(struct sonde_cells *c, const uint32_t *visit_of, const struct gain *ranges,
	size_t nr_ranges)
{
	uint64_t total = 0;
	size_t i;

	for (i = 0; i < nr_ranges; i++)
		if (is_shown(&ranges[i], visit_of[i]))
			c->visits.at[visit_of[i]].nr_entries++;
	for (i = 0; i < c->visits.nr; i++) {
		c->visits.at[i].first_entry = (uint32_t)total;
		total += c->visits.at[i].nr_entries;
		c->visits.at[i].nr_entries = 0;
	}
	if (total >= SONDE_NONE || !sonde_vec_reserve(&c->entries, total + 1))
		return false;
	c->entries.nr = total;
	return true;
}

static void fill(struct sonde_cells *c, const struct sonde_records *r, const uint32_t *visit_of,
	const struct gain *ranges)
{
	uint32_t nr_kept = 0;
	size_t i;

	for (i = 0; i < r->ranges.nr; i++) {
		const struct sonde_range_time *t = &r->ranges.at[i].time;
		const struct gain *g = &ranges[i];
		struct sonde_visit *v;

		if (!is_shown(g, visit_of[i]))
			continue;
		v = &c->visits.at[visit_of[i]];
		c->entries.at[v->first_entry + v->nr_entries++] = (struct sonde_entry){
			t->begin_ns, t->end_ns - t->begin_ns, g->gpu_ns, g->last_ns - g->first_ns,
			r->ranges.at[i].label};
	}
	for (i = 0; i < c->visits.nr; i++)
		settle(c, &c->visits.at[i], &nr_kept);
	c->entries.nr = nr_kept;
}

/* Labels of entries were the records' strings until here. Only those that say more are kept. */
static bool keep_labels(struct sonde_cells *c, const struct sonde_records *r)
{
	size_t i, k;

	for (i = 0; i < c->visits.nr; i++) {
		const struct sonde_visit *v = &c->visits.at[i];
		uint32_t usual = c->regions.at[v->region].label;

		for (k = 0; k < v->nr_entries; k++) {
			struct sonde_entry *e = &c->entries.at[v->first_entry + k];
			struct sonde_str label = sonde_records_str(r, e->label);

			if (sonde_str_eq(label, sonde_cells_str(c, usual))) {
				e->label = SONDE_NONE;
				continue;
			}
			e->label = sonde_cells__intern(c, &c->strings, label, NULL);
			if (e->label == SONDE_NONE)
				return false;
		}
	}
	return true;
}

int sonde_fold__entries(struct sonde_cells *c, const struct sonde_launches *l,
	const uint32_t *visit_of, struct sonde_err *err)
{
	const struct sonde_records *r = l->records;
	size_t nr_sets = r->sets.nr + l->sets.nr, i;
	struct gain *sets = sonde_calloc(nr_sets + 1, sizeof(*sets));
	struct gain *ranges = sonde_calloc(r->ranges.nr + 1, sizeof(*ranges));
	bool ok = sets && ranges;

	if (ok) {
		gain_of_sets(l, sets);
		gain_of_ranges(l, sets, nr_sets, ranges);
		for (i = 0; r->samplings.nr && i < r->ranges.nr; i++)
			ranges[i].is_untimed |= !sonde_windowed__is_whole(r, &r->ranges.at[i]);
		ok = lay_out(c, visit_of, ranges, r->ranges.nr);
	}
	if (ok) {
		fill(c, r, visit_of, ranges);
		ok = keep_labels(c, r);
	}
	sonde_free(sets);
	sonde_free(ranges);
	return ok ? 0 : sonde_err_nomem(err);
}
