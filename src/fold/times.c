/*
 * What timestamps tell beyond sums: how long the GPU was busy inside a region
 * (overlapping launches once), from when to when, and how long the host was in it.
 *
 * All of it wants the launches of a scope in order of start, so they are sorted once, here.
 */
#include "fold/fold_int.h"
#include "fold/gaps.h"

#include "base/alloc.h"
#include "base/keysort.h"
#include "base/known.h"

#include <math.h>
#include <string.h>

struct work {
	struct sonde_folding *f;
	struct sonde_cells *c;
	const struct sonde_launches *l;
	uint32_t *visit_of; /* by region, in the stay at hand */
};

/* The visits of a scope: where those of `*first` end, they end. */
static void take_stay(struct work *w, struct sonde_stay *stay, uint32_t scope, size_t *first)
{
	stay->scope = scope;
	stay->at = w->c->visits.nr ? w->c->visits.at + *first : NULL;
	stay->nr = 0;
	stay->of = w->visit_of;
	memset(w->visit_of, 0xff, w->l->regions.nr * sizeof(*w->visit_of));
	for (; *first < w->c->visits.nr && w->c->visits.at[*first].scope == scope; ++*first)
		w->visit_of[w->c->visits.at[*first].region] = (uint32_t)stay->nr++;
}

/* What the times of scopes are found with. */
struct tools {
	struct sonde_streams streams;
	struct sonde_gaps gaps;
	struct sonde_idle idle;
	struct sonde_stay *stays;   /* by scope */
	struct sonde_stamp *stamps; /* of all scopes, one behind the other */
};

/* Gives each scope its timed launches. False: no memory. */
static bool group(struct tools *t, const struct sonde_launches *l)
{
	struct sonde_stamp *next = t->stamps;
	size_t i;

	for (i = 0; i < l->launches.nr; i++)
		t->stays[l->launches.at[i].scope].nr_stamps++;
	for (i = 0; i < l->scopes.nr; i++) {
		t->stays[i].stamps = next;
		next += t->stays[i].nr_stamps;
		t->stays[i].nr_stamps = 0;
	}
	for (i = 0; i < l->launches.nr; i++) {
		const struct sonde_record *rec = &l->records->records.at[i];
		const struct sonde_record_time time = rec->time;
		struct sonde_stay *stay = &t->stays[l->launches.at[i].scope];
		uint32_t stream = sonde_streams__number(&t->streams, sonde_record_queue(l->records, rec));

		if (stream == SONDE_NONE || !sonde_hosts__add(&t->gaps.hosts, (uint32_t)i))
			return false;
		if (time.end_ns)
			stay->stamps[stay->nr_stamps++] = (struct sonde_stamp){
				{time.start_ns, time.end_ns > time.start_ns ? time.end_ns : time.start_ns},
				(uint32_t)i, stream};
	}
	return true;
}

/* Leaves the selected launches in regions. */
static void drop_others(const struct sonde_launches *l, struct sonde_stay *stay)
{
	size_t i, nr = 0;

	for (i = 0; i < stay->nr_stamps; i++)
		if (l->launches.at[stay->stamps[i].launch].state == SONDE_LAUNCH_TAKEN)
			stay->stamps[nr++] = stay->stamps[i];
	stay->nr_stamps = nr;
}

/* One scope's visits from its launches; gaps are those of all, selected or not. */
static bool find_times_of(struct work *w, struct tools *t, struct sonde_stay *stay)
{
	if (!sonde_keysort(stay->stamps, stay->nr_stamps) ||
		!sonde_gaps__scope(&t->gaps, stay, w->c) || !sonde_waits__scope(w->f, stay))
		return false;
	drop_others(w->l, stay);
	return sonde_streams__scope(&t->streams, stay) && sonde_idle__scope(&t->idle, stay);
}

static bool init_tools(struct tools *t, struct work *w)
{
	bool ok = sonde_gaps__init(&t->gaps, w->l);

	t->streams.f = w->f;
	t->stays = sonde_calloc(w->l->scopes.nr + 1, sizeof(*t->stays));
	t->stamps = sonde_malloc((w->l->launches.nr + 1) * sizeof(*t->stamps));
	return ok && t->stays && t->stamps && sonde_idle__init(&t->idle, w->l, &t->gaps);
}

static bool find_gpu_times(struct work *w)
{
	struct tools t = {0};
	size_t i, visit = 0;
	bool ok = init_tools(&t, w) && group(&t, w->l);

	for (i = 0; ok && i < w->l->scopes.nr; i++) {
		take_stay(w, &t.stays[i], (uint32_t)i, &visit);
		ok = find_times_of(w, &t, &t.stays[i]);
	}
	sonde_idle__release(&t.idle);
	sonde_gaps__release(&t.gaps);
	sonde_streams__release(&t.streams);
	sonde_free(t.stays);
	sonde_free(t.stamps);
	return ok;
}

/*
 * A range entry has no device: its time goes to the scope it launched something in first. The folding's
 * `visit_of` says where that is; entries without times are nowhere.
 */
static void take_entry(struct work *w, uint32_t number, struct sonde_visit *visit)
{
	const struct sonde_range *range = &w->l->records->ranges.at[number];
	const struct sonde_range_time *time = &range->time;

	w->f->visit_of[number] = SONDE_NONE;
	if (!visit || time->end_ns < time->begin_ns || !time->end_ns)
		return;
	w->f->visit_of[number] = (uint32_t)(visit - w->c->visits.at);
	visit->is_open |= range->is_open;
	sonde_add_known(&visit->host_ns, (double)(time->end_ns - time->begin_ns));
	sonde_add_known(&visit->cpu_ns, time->cpu_ns ? (double)time->cpu_ns : NAN);
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
	for (i = r->ranges.nr; i-- > 0;) { /* lists of entries, by scope, in `visit_of` until they are taken */
		w->f->visit_of[i] = first[w->l->scope_of.at[i]];
		first[w->l->scope_of.at[i]] = (uint32_t)i;
	}
	for (s = 0; s < w->l->scopes.nr; s++) {
		struct sonde_stay stay = {0};

		take_stay(w, &stay, (uint32_t)s, &visit);
		for (i = first[s]; i != SONDE_NONE; i = next) {
			uint32_t region = w->l->region_of.at[i],
				 number = region == SONDE_NONE ? SONDE_NONE : stay.of[region];

			next = w->f->visit_of[i];
			take_entry(w, (uint32_t)i, number == SONDE_NONE ? NULL : &stay.at[number]);
		}
	}
	return sonde_fold__entries(w->f);
}

bool sonde_fold__times(struct sonde_folding *f)
{
	struct work w = {.f = f, .c = f->c, .l = f->l};

	w.visit_of = sonde_arena_alloc(&f->scratch, f->l->regions.nr * sizeof(*w.visit_of));
	return w.visit_of && (!f->r->has_record_times || find_gpu_times(&w)) &&
	       (!f->r->has_range_times || find_host_times(&w));
}
