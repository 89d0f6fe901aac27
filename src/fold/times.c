/*
 * Visits and their times: how long the GPU was busy inside a region (the union of its launches),
 * its span, how long the GPU was idle there, and how long the host was in the region. A launch that
 * is not selected is work too: while it ran, the GPU was not idle.
 *
 * All of this needs the launches of a scope in order of start, so they are sorted once, here.
 */
#include "fold/fold_int.h"

#include "base/alloc.h"
#include "base/keysort.h"
#include "base/known.h"
#include "base/quantile.h"
#include "fold/gaps.h"

#include <math.h>
#include <string.h>

struct idle {
	const struct sonde_launches *l;
	const struct sonde_gaps *gaps; /* gaps of the current scope */
	struct sonde_record_time *windows; /* by range, its window: from first start to last end of its launches; end 0 = none */
	SONDE_VEC(uint32_t) touched;	   /* ranges with a window, by start of the window */
	struct sonde_record_time *of_sets; /* the same by set of open ranges */
	SONDE_VEC(uint32_t) sets;	   /* sets with a window */
	struct sonde_busy *busy, *before;  /* by visit: union of all windows, and of the part that was counted with earlier files */
	bool is_before; /* find_windows fills `before`, not `busy` */
};

/* --- idle time ----------------------------------------------------------------------------------- */

/*
 * The time in which the GPU had nothing to do between the first and the last launch
 * of an entry.
 *
 * The span of a region with a hundred entries includes everything between the
 * entries, so idle time is counted inside entries only: the union over entries
 * of first start → last end, minus the busy time. For a region entered once that
 * is span − busy. The device's gaps inside the entries give the causes; during the
 * rest of the idle time the device did work of other regions.
 */

static bool init_idle(
	struct idle *x, const struct sonde_launches *l, const struct sonde_gaps *gaps)
{
	*x = (struct idle){.l = l, .gaps = gaps};
	x->windows = sonde_calloc(l->records->ranges.nr + 1, sizeof(*x->windows));
	x->of_sets = sonde_calloc(l->records->sets.nr + l->sets.nr + 1, sizeof(*x->of_sets));
	x->busy = sonde_calloc(2 * (l->regions.nr + 1), sizeof(*x->busy));
	x->before = x->busy ? &x->busy[l->regions.nr + 1] : NULL;
	return x->windows && x->of_sets && x->busy;
}

static void release_idle(struct idle *x)
{
	sonde_free(x->windows);
	sonde_free(x->of_sets);
	sonde_free(x->busy);
	sonde_vec_release(&x->touched);
	sonde_vec_release(&x->sets);
}

/*
 * Extends a window by a launch. Launches come in order of start, so the first one sets the begin. Returns whether it
 * is the first.
 */
static bool widen_window(struct sonde_record_time *window, const struct sonde_record_time *time)
{
	bool is_first = !window->end_ns;

	if (is_first)
		*window = *time;
	else if (time->end_ns > window->end_ns)
		window->end_ns = time->end_ns;
	return is_first;
}

/* Extends the window of a set. Launches are grouped by set first, as a set may have many launches and many ranges. */
static bool touch_set(struct idle *x, uint32_t set, const struct sonde_record_time *time)
{
	return !widen_window(&x->of_sets[set], time) || sonde_vec_put(&x->sets, set);
}

/* Extends the windows of a range and of the ranges around it. */
static bool touch_range(struct idle *x, uint32_t range, const struct sonde_record_time *time)
{
	for (; range != SONDE_NONE; range = x->l->records->ranges.at[range].parent)
		if (widen_window(&x->windows[range], time) && !sonde_vec_put(&x->touched, range))
			return false;
	return true;
}

/* Adds an entry's window to a visit. Entries come in order of their first launch. */
static void add_window(
	struct idle *x, const struct sonde_timed_scope *timed, uint32_t region, uint32_t range)
{
	const struct sonde_range *entry = &x->l->records->ranges.at[range];
	const struct sonde_record_time *window = &x->windows[range];
	struct sonde_busy *busy = &x->busy[timed->of[region]];
	struct sonde_times *t = &timed->at[timed->of[region]].times;
	uint64_t from = window->start_ns;

	if (x->is_before) {
		sonde_busy__extend(&x->before[timed->of[region]], window);
		return;
	}
	if (!busy->is_used) {
		memset(t->idle_by, 0, sizeof(t->idle_by));
		t->tail_ns = 0;
	} else if (busy->last_ns > from) {
		from = busy->last_ns;
	}
	if (window->end_ns > from)
		sonde_gaps__add(x->gaps, t, from, window->end_ns);
	if (x->l->region_of.at[range] == region && !entry->is_open && entry->ended == SONDE_NOW)
		t->tail_ns += (double)sonde_gaps__between(x->gaps, window->end_ns, entry->time.end_ns);
	sonde_busy__extend(busy, window);
}

/*
 * Sets idle_ns, and as SONDE_IDLE_OTHER the part of it that is not a gap of the device. `inside` is the time inside entries. For a
 * single file of a capture the result may be negative; the sum over all its files is right.
 */
static void set_idle(struct sonde_times *t, double inside, uint64_t work_ns)
{
	double gaps = 0;
	size_t i;

	for (i = 0; i < SONDE_NR_IDLE_CAUSES; i++)
		gaps += t->idle_by[i];
	t->idle_ns = inside - (double)work_ns;
	t->idle_by[SONDE_IDLE_OTHER] = t->idle_ns - gaps;
}

void sonde_times_correct_idle(struct sonde_times *t)
{
	if (isnan(t->idle_ns))
		return;
	if (t->idle_by[SONDE_IDLE_OTHER] < 0) { /* the region has launches outside its entries, which its work includes */
		t->idle_ns -= t->idle_by[SONDE_IDLE_OTHER];
		t->idle_by[SONDE_IDLE_OTHER] = 0;
	}
	if (t->span_ns < t->busy_ns + t->idle_ns) /* possible, as clocks are compared anew for each file */
		t->span_ns = t->busy_ns + t->idle_ns;
}

static void add_windows(struct idle *x, const struct sonde_timed_scope *timed)
{
	const struct sonde_range *ranges = x->l->records->ranges.at;
	size_t i;

	for (i = 0; i < x->touched.nr; i++) {
		uint32_t range = x->touched.at[i], region = x->l->region_of.at[range];

		/* The label rule (`A::A1` below `A`) may put regions above that of an outermost range. */
		for (; region != SONDE_NONE; region = x->l->regions.at[region].parent) {
			if (timed->of[region] != SONDE_NONE)
				add_window(x, timed, region, range);
			if (ranges[range].parent != SONDE_NONE)
				break;
		}
	}
	for (i = 0; i < x->touched.nr; i++)
		x->windows[x->touched.at[i]] = (struct sonde_record_time){0};
	x->touched.nr = 0;
}

/*
 * Adds the windows of all entries; with `is_before` only from launches that were counted with earlier files. False:
 * no memory.
 */
static bool find_windows(struct idle *x, const struct sonde_timed_scope *timed, bool is_before)
{
	size_t i, k;
	bool ok = true;

	x->is_before = is_before;
	for (i = 0; i < timed->nr_launches && ok; i++) {
		uint32_t launch = timed->launches[i].launch;

		if (!is_before || x->l->records->records.at[launch].when == SONDE_BEFORE)
			ok = touch_set(x, x->l->launches.at[launch].open, &timed->launches[i].time);
	}
	for (i = 0; i < x->sets.nr && ok; i++) {
		const uint32_t *members;
		struct sonde_set set = sonde_launches_set(x->l, x->sets.at[i], &members);

		for (k = 0; k < set.nr && ok; k++)
			ok = touch_range(x, members[k], &x->of_sets[x->sets.at[i]]);
		x->of_sets[x->sets.at[i]] = (struct sonde_record_time){0};
	}
	x->sets.nr = 0;
	if (ok)
		add_windows(x, timed);
	return ok;
}

static bool find_idle_of(struct idle *x, const struct sonde_timed_scope *timed)
{
	size_t i;

	memset(x->busy, 0, timed->nr * sizeof(*x->busy));
	memset(x->before, 0, timed->nr * sizeof(*x->before));
	if ((x->l->records->rolled.nr && !find_windows(x, timed, true)) || !find_windows(x, timed, false))
		return false;
	for (i = 0; i < timed->nr; i++)
		if (x->busy[i].is_used)
			set_idle(&timed->at[i].times, (double)(x->busy[i].busy_ns - x->before[i].busy_ns), timed->work_ns[i]);
	for (i = 0; i < timed->nr && !x->l->records->rolled.nr && !x->l->records->ahead_ns; i++)
		sonde_times_correct_idle(&timed->at[i].times);
	return true;
}

/* --- busy time, spans, host time ----------------------------------------------------------------- */

struct work {
	struct sonde_folding *f;
	struct sonde_cells *c;
	const struct sonde_launches *l;
	uint32_t *visit_of; /* by region: index of its visit in the current scope */
};

/* Finds the visits of a scope, which begin at `*first`, and moves `*first` past them. */
static void take_scope(struct work *w, struct sonde_timed_scope *timed, uint32_t scope, size_t *first)
{
	timed->scope = scope;
	timed->at = w->c->visits.nr ? w->c->visits.at + *first : NULL;
	timed->nr = 0;
	timed->of = w->visit_of;
	memset(w->visit_of, 0xff, w->l->regions.nr * sizeof(*w->visit_of));
	for (; *first < w->c->visits.nr && w->c->visits.at[*first].scope == scope; ++*first)
		w->visit_of[w->c->visits.at[*first].region] = (uint32_t)timed->nr++;
}

/* State for finding the times of scopes. */
struct tools {
	struct sonde_streams streams;
	struct sonde_gaps gaps;
	struct idle idle;
	struct sonde_timed_scope *timed;   /* by scope */
	struct sonde_timed_launch *launches; /* launches of all scopes, one scope after the other */
	uint64_t *work_ns; /* `work_ns` of the current scope: room for the visits of any */
};

/* Gives each scope its timed launches. False: no memory. */
static bool group_by_scope(struct tools *t, const struct sonde_launches *l)
{
	struct sonde_timed_launch *next = t->launches;
	size_t i;

	for (i = 0; i < l->launches.nr; i++)
		t->timed[l->launches.at[i].scope].nr_launches++;
	for (i = 0; i < l->scopes.nr; i++) {
		t->timed[i].launches = next;
		next += t->timed[i].nr_launches;
		t->timed[i].nr_launches = 0;
	}
	for (i = 0; i < l->launches.nr; i++) {
		const struct sonde_record *rec = &l->records->records.at[i];
		const struct sonde_record_time time = rec->time;
		struct sonde_timed_scope *timed = &t->timed[l->launches.at[i].scope];
		uint32_t stream = sonde_streams__number(&t->streams, sonde_record_queue(l->records, rec));

		if (stream == SONDE_NONE || !sonde_hosts__add(&t->gaps.hosts, (uint32_t)i))
			return false;
		if (time.end_ns)
			timed->launches[timed->nr_launches++] = (struct sonde_timed_launch){
				{time.start_ns, time.end_ns > time.start_ns ? time.end_ns : time.start_ns},
				(uint32_t)i, stream};
	}
	return true;
}

/* Removes launches that are counted with later files. */
static void drop_ahead(const struct sonde_launches *l, struct sonde_timed_scope *timed)
{
	size_t i, nr = 0;

	for (i = 0; i < timed->nr_launches; i++)
		if (l->records->records.at[timed->launches[i].launch].when != SONDE_AHEAD)
			timed->launches[nr++] = timed->launches[i];
	timed->nr_launches = nr;
}

/* Finds the times of one scope's visits. */
static bool find_times_of(struct work *w, struct tools *t, struct sonde_timed_scope *timed)
{
	if (!sonde_keysort(timed->launches, timed->nr_launches) ||
		!sonde_gaps__scope(&t->gaps, timed, w->c) || !sonde_exposed__scope(w->f, timed))
		return false;
	drop_ahead(w->l, timed);
	return sonde_streams__scope(&t->streams, timed) && find_idle_of(&t->idle, timed);
}

static bool init_tools(struct tools *t, struct work *w)
{
	bool ok = sonde_gaps__init(&t->gaps, w->l);

	t->streams.f = w->f;
	t->timed = sonde_calloc(w->l->scopes.nr + 1, sizeof(*t->timed));
	t->launches = sonde_malloc((w->l->launches.nr + 1) * sizeof(*t->launches));
	t->work_ns = sonde_malloc((w->l->regions.nr + 1) * sizeof(*t->work_ns));
	return ok && t->timed && t->launches && t->work_ns && init_idle(&t->idle, w->l, &t->gaps);
}

static bool find_gpu_times(struct work *w)
{
	struct tools t = {0};
	size_t i, visit = 0;
	bool ok = init_tools(&t, w) && group_by_scope(&t, w->l);

	for (i = 0; ok && i < w->l->scopes.nr; i++) {
		take_scope(w, &t.timed[i], (uint32_t)i, &visit);
		t.timed[i].work_ns = t.work_ns;
		ok = find_times_of(w, &t, &t.timed[i]);
	}
	release_idle(&t.idle);
	sonde_gaps__release(&t.gaps);
	sonde_streams__release(&t.streams);
	sonde_free(t.timed);
	sonde_free(t.launches);
	sonde_free(t.work_ns);
	return ok;
}

/*
 * A range entry has no device: its host time counts in the first scope in which it launched something. Sets f->visit_of
 * of the entry to that visit; an entry without times counts nowhere.
 */
static void take_entry(struct work *w, uint32_t number, struct sonde_visit *visit)
{
	const struct sonde_range *range = &w->l->records->ranges.at[number];
	const struct sonde_range_time *time = &range->time;

	w->f->visit_of[number] = SONDE_NONE;
	if (!visit || time->end_ns < time->begin_ns || !time->end_ns || range->ended != SONDE_NOW ||
		(range->is_open && w->f->r->ahead_ns)) /* an open entry counts with the file in which it ends */
		return;
	w->f->visit_of[number] = (uint32_t)(visit - w->c->visits.at);
	visit->is_open |= range->is_open;
	sonde_add_known(&visit->times.host_ns, (double)(time->end_ns - time->begin_ns));
	sonde_add_known(&visit->times.cpu_ns, time->cpu_ns ? (double)time->cpu_ns : NAN);
}

static bool find_host_times(struct work *w)
{
	const struct sonde_records *r = w->f->r;
	struct sonde_arena *scratch = &w->f->scratch;
	uint32_t *first = sonde_arena_alloc(scratch, (w->l->scopes.nr + 1) * sizeof(*first)), next;
	size_t s, i, visit = 0;

	w->f->visit_of = sonde_arena_alloc(scratch, (r->ranges.nr + 1) * sizeof(*w->f->visit_of));
	if (!first || !w->f->visit_of)
		return false;
	for (s = 0; s < w->l->scopes.nr; s++)
		first[s] = SONDE_NONE;
	/* Makes a linked list of entries for each scope: `visit_of` holds the next entry, until take_entry sets it. */
	for (i = r->ranges.nr; i-- > 0;) {
		w->f->visit_of[i] = first[w->l->scope_of.at[i]];
		first[w->l->scope_of.at[i]] = (uint32_t)i;
	}
	for (s = 0; s < w->l->scopes.nr; s++) {
		struct sonde_timed_scope timed = {0};

		take_scope(w, &timed, (uint32_t)s, &visit);
		for (i = first[s]; i != SONDE_NONE; i = next) {
			uint32_t region = w->l->region_of.at[i],
				 number = region == SONDE_NONE ? SONDE_NONE : timed.of[region];

			next = w->f->visit_of[i];
			take_entry(w, (uint32_t)i, number == SONDE_NONE ? NULL : &timed.at[number]);
		}
	}
	return sonde_fold__entries(w->f);
}

/* Fills in the times of the visits. */
static bool find_times(struct sonde_folding *f)
{
	struct work w = {.f = f, .c = f->c, .l = f->l};

	w.visit_of = sonde_arena_alloc(&f->scratch, f->l->regions.nr * sizeof(*w.visit_of));
	return w.visit_of && (!f->r->has_record_times || find_gpu_times(&w)) &&
	       (!f->r->has_range_times || find_host_times(&w));
}

/* --- visits -------------------------------------------------------------------------------------- */

/* A scope has a visit for each region that it entered, and for the regions around it. */

/* Finds the regions of a scope's presences and the regions around them, in order, and returns their number. */
static size_t find_known(const struct sonde_launches *l, const struct sonde_presence *at, size_t nr,
	uint32_t *known, bool *is_known)
{
	size_t nr_known = 0, i;
	uint32_t region;

	for (i = 0; i < nr; i++)
		for (region = at[i].region; region != SONDE_NONE && !is_known[region];
			region = l->regions.at[region].parent) {
			is_known[region] = true;
			known[nr_known++] = region;
		}
	sonde_sort_u32(known, nr_known);
	for (i = 0; i < nr_known; i++)
		is_known[known[i]] = false;
	return nr_known;
}

void sonde_times_forget(struct sonde_times *t)
{
	size_t i;

	for (i = 0; i < SONDE_NR_TIMES; i++)
		sonde_times_at(t)[i] = NAN;
}

void sonde_times_add(struct sonde_times *sum, const struct sonde_times *t, bool is_only_scope)
{
	size_t i;

	for (i = 0; i < SONDE_NR_TIMES; i++) {
		double *to = &sonde_times_at(sum)[i], v = ((const double *)t)[i];
		enum sonde_time_sum how = sonde_time_sum(i);

		if (isnan(v) || (how == SONDE_TIME_OF_SCOPE && !is_only_scope))
			continue;
		if (isnan(*to))
			*to = v;
		else if (how == SONDE_TIME_ADDS)
			*to += v;
		else
			*to = v > *to ? v : *to;
	}
}

static bool add_visits_of(struct sonde_folding *f, const struct sonde_presence *at, size_t nr,
	uint32_t *known, bool *is_known)
{
	size_t nr_known = find_known(f->l, at, nr, known, is_known), i, k = 0;

	for (i = 0; i < nr_known; i++) {
		struct sonde_visit *v = sonde_cells_add_visit(f->c, at->scope, known[i]);

		if (!v)
			return false;
		v->is_present = k < nr && at[k].region == known[i];
		if (v->is_present) {
			v->instances = at[k].instances;
			v->first_instances = at[k++].first_instances;
		}
	}
	return true;
}

bool sonde_fold__visits(struct sonde_folding *f)
{
	const struct sonde_launches *l = f->l;
	uint32_t *known = sonde_arena_alloc(&f->scratch, (l->regions.nr + 1) * sizeof(*known));
	bool *is_known = sonde_arena_calloc(&f->scratch, l->regions.nr + 1, sizeof(*is_known));
	bool ok = known && is_known;
	size_t i, end;

	for (i = 0; ok && i < l->presences.nr; i = end) {
		for (end = i; end < l->presences.nr &&
			      l->presences.at[end].scope == l->presences.at[i].scope;
			end++)
			;
		ok = add_visits_of(f, &l->presences.at[i], end - i, known, is_known);
	}
	return ok && find_times(f);
}
