/*
 * The entries of each region, one by one: how long the host was in the entry, how long
 * the GPU worked for it, its span from first to last launch, and its wall time.
 *
 * All launches in the same set of open ranges add to the same entries, so launches are
 * added up by set first: there are far fewer sets than launches.
 */
#include "fold/fold_int.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

/* The sum of the launches of a set of open ranges, or of an entry. */
struct work_sum {
	uint64_t gpu_ns; /* time of the selected launches */
	uint64_t first_ns, last_ns; /* first start and last end of all launches, selected or not; last_ns 0 = none */
	uint64_t end_ns; /* end of the last launch, also of those that are counted with later files */
};

static void add_work(struct work_sum *to, const struct work_sum *from)
{
	to->end_ns = from->end_ns > to->end_ns ? from->end_ns : to->end_ns;
	if (!from->last_ns)
		return;
	to->first_ns =
		!to->last_ns || from->first_ns < to->first_ns ? from->first_ns : to->first_ns;
	to->last_ns = from->last_ns > to->last_ns ? from->last_ns : to->last_ns;
	to->gpu_ns += from->gpu_ns;
}

/* Fills `sets`, by set number: first the records' sets, then those made by attribution. */
static void sum_sets(const struct sonde_launches *l, struct work_sum *sets)
{
	size_t i;

	for (i = 0; i < l->launches.nr; i++) {
		const struct sonde_launch *launch = &l->launches.at[i];
		const struct sonde_record_time *t = &l->records->records.at[i].time;
		struct work_sum *g = &sets[launch->open];

		if (t->end_ns < t->start_ns || !t->end_ns)
			continue;
		g->end_ns = t->end_ns > g->end_ns ? t->end_ns : g->end_ns;
		if (l->records->records.at[i].when == SONDE_AHEAD)
			continue;
		g->first_ns = !g->last_ns || t->start_ns < g->first_ns ? t->start_ns : g->first_ns;
		g->last_ns = t->end_ns > g->last_ns ? t->end_ns : g->last_ns;
		if (launch->state == SONDE_LAUNCH_TAKEN)
			g->gpu_ns += t->end_ns - t->start_ns;
	}
}

/* Adds each set to its entries and the entries around them. A launch inside ranges of two domains counts in both. */
static void sum_ranges(
	const struct sonde_launches *l, const struct work_sum *sets, size_t nr, struct work_sum *ranges)
{
	size_t i, k;

	for (i = 0; i < nr; i++) {
		const uint32_t *members;
		struct sonde_set set = {0, 0};

		if (sets[i].end_ns)
			set = sonde_launches_set(l, (uint32_t)i, &members);
		for (k = 0; k < set.nr; k++) {
			uint32_t range = members[k];

			for (; range != SONDE_NONE; range = l->records->ranges.at[range].parent)
				add_work(&ranges[range], &sets[i]);
		}
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct sonde_entry *x = a, *y = b;

	return x->begin_ns != y->begin_ns ? sonde_cmp(x->begin_ns, y->begin_ns)
					  : sonde_cmp(x->host_ns, y->host_ns);
}

/*
 * Which entries of a visit are kept: of very many, one in `step`, evenly over time. Ranges mostly come
 * in order of time; then entries that are not kept need no memory.
 */
struct entry_choice {
	uint32_t nr, seen, step;
	bool is_unsorted;
	bool has_wall; /* there are entries, shown or not */
	double wall_ns; /* sum over all entries, kept or not; NaN if that of one is not known */
	struct sonde_range_time last;
};

/* Whether an entry is shown: it began in the files that are counted. */
static bool is_shown(const struct sonde_folding *f, size_t range)
{
	return f->visit_of[range] != SONDE_NONE && f->r->ranges.at[range].begun == SONDE_NOW;
}

/* Wall time: until the last work launched in the entry has ended, which may be long after the range itself. */
static uint64_t wall_of(const struct sonde_folding *f, const struct work_sum *ranges, size_t number)
{
	const struct sonde_range_time *t = &f->r->ranges.at[number].time;
	uint64_t end_ns = t->end_ns;

	if (ranges && !f->r->has_record_times)
		return SONDE_NO_WALL;
	if (ranges && ranges[number].end_ns > end_ns)
		end_ns = ranges[number].end_ns;
	return end_ns - t->begin_ns;
}

static struct sonde_entry make_entry(const struct sonde_folding *f, const struct work_sum *ranges, size_t number)
{
	const struct sonde_range *range = &f->r->ranges.at[number];
	const struct work_sum g = ranges ? ranges[number] : (struct work_sum){0};

	return (struct sonde_entry){.begin_ns = range->time.begin_ns,
		.host_ns = range->time.end_ns - range->time.begin_ns,
		.gpu_ns = g.gpu_ns,
		.span_ns = g.last_ns - g.first_ns,
		.wall_ns = wall_of(f, ranges, number),
		.label = range->label,
		.arguments = f->arguments_of ? f->arguments_of[number] : SONDE_NONE};
}

static bool count_entries(
	const struct sonde_folding *f, struct entry_choice *choices, const struct work_sum *ranges, struct sonde_throughput *tokens)
{
	size_t i;

	for (i = 0; i < f->r->ranges.nr; i++) {
		const struct sonde_range_time *t = &f->r->ranges.at[i].time;
		uint64_t wall_ns;
		struct entry_choice *p;

		if (f->visit_of[i] == SONDE_NONE)
			continue;
		p = &choices[f->visit_of[i]];
		wall_ns = wall_of(f, ranges, i);
		p->wall_ns += wall_ns == SONDE_NO_WALL ? NAN : (double)wall_ns;
		p->has_wall = true;
		if (!sonde_throughput__add(tokens, f, i, wall_ns))
			return false;
		if (!is_shown(f, i))
			continue;
		p->is_unsorted |= p->nr++ && (t->begin_ns < p->last.begin_ns ||
						     (t->begin_ns == p->last.begin_ns && t->end_ns < p->last.end_ns));
		p->last = *t;
	}
	sonde_throughput__end(tokens, f->c);
	return true;
}

static bool lay_out_entries(struct sonde_cells *c, struct entry_choice *choices)
{
	uint64_t total = 0;
	size_t i;

	for (i = 0; i < c->visits.nr; i++) {
		struct entry_choice *p = &choices[i];

		for (p->step = 1; p->nr > (uint64_t)SONDE_MAX_ENTRIES * p->step;)
			p->step *= 2;
		if (p->has_wall)
			c->visits.at[i].times.wall_ns = p->wall_ns;
		c->visits.at[i].first_entry = (uint32_t)total;
		total += p->is_unsorted ? p->nr : (p->nr + p->step - 1) / p->step;
		if (total >= SONDE_NONE)
			return false;
	}
	if (!sonde_vec_reserve(&c->entries, total + 1))
		return false;
	c->entries.nr = total;
	return true;
}

/* Moves a visit's entries to their final slice. If they did not come in order, first sorts them and drops those not kept. */
static void set_slice_of(struct sonde_cells *c, struct sonde_visit *v, const struct entry_choice *p, uint32_t *nr)
{
	struct sonde_entry *at = &c->entries.at[v->first_entry];
	uint32_t i, kept = 0, step = p->is_unsorted ? p->step : 1;

	if (p->is_unsorted)
		qsort(at, v->nr_entries, sizeof(*at), by_begin);
	for (i = 0; i < v->nr_entries; i += step, kept++)
		c->entries.at[*nr + kept] = at[i];
	v->entry_step = p->step;
	v->first_entry = *nr;
	v->nr_entries = kept;
	*nr += kept;
}

static void fill_entries(const struct sonde_folding *f, struct entry_choice *choices, const struct work_sum *ranges)
{
	struct sonde_cells *c = f->c;
	uint32_t nr_kept = 0;
	size_t i;

	for (i = 0; i < f->r->ranges.nr; i++) {
		struct sonde_visit *v;
		struct entry_choice *p;

		if (!is_shown(f, i))
			continue;
		v = &c->visits.at[f->visit_of[i]];
		p = &choices[f->visit_of[i]];
		if (p->seen++ % p->step == 0 || p->is_unsorted)
			c->entries.at[v->first_entry + v->nr_entries++] =
				make_entry(f, ranges, i);
	}
	for (i = 0; i < c->visits.nr; i++)
		set_slice_of(c, &c->visits.at[i], &choices[i], &nr_kept);
	c->entries.nr = nr_kept;
}

/*
 * Changes the labels of entries from strings of the records to strings of the cells. A label equal to the region's
 * becomes SONDE_NONE.
 */
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
			e->label = sonde_map_keep(&c->strings, &c->arena, label, NULL);
			if (e->label == SONDE_NONE)
				return false;
		}
	}
	return true;
}

/* Adds up launches by range; `*out` stays NULL if there are no launches. */
static bool sum_launches(const struct sonde_launches *l, struct work_sum **out)
{
	const struct sonde_records *r = l->records;
	size_t nr = r->sets.nr + l->sets.nr;
	struct work_sum *sets;

	*out = NULL;
	if (!l->launches.nr)
		return true;
	sets = sonde_calloc(nr + 1, sizeof(*sets));
	*out = sonde_calloc(r->ranges.nr + 1, sizeof(**out));
	if (sets && *out) {
		sum_sets(l, sets);
		sum_ranges(l, sets, nr, *out);
	}
	sonde_free(sets);
	return sets && *out;
}

bool sonde_fold__entries(struct sonde_folding *f)
{
	struct entry_choice *choices = sonde_calloc(f->c->visits.nr + 1, sizeof(*choices));
	struct sonde_throughput *tokens = NULL;
	struct work_sum *ranges = NULL;
	bool ok = choices && sum_launches(f->l, &ranges) && sonde_throughput__begin(&tokens, f) &&
		  count_entries(f, choices, ranges, tokens) && lay_out_entries(f->c, choices);

	if (ok) {
		fill_entries(f, choices, ranges);
		ok = keep_labels(f->c, f->r);
	}
	sonde_throughput__free(tokens);
	sonde_free(choices);
	sonde_free(ranges);
	return ok;
}
