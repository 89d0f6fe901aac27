/*
 * What timestamps tell beyond sums: how long the GPU was busy inside a region
 * (overlapping launches once), from when to when, and how long the host was in it.
 *
 * Busy time wants launches in order of start.
 */
#include "fold/fold_int.h"
#include "fold/gaps.h"

#include "base/alloc.h"
#include "base/keysort.h"
#include "base/known.h"

#include <math.h>
#include <string.h>

void sonde_track__extend(struct sonde_track *k, const struct sonde_record_time *time)
{
	uint64_t start = time->start_ns,
		 end = time->end_ns > time->start_ns ? time->end_ns : time->start_ns;

	if (!k->is_used) {
		*k = (struct sonde_track){.first_ns = start, .last_ns = start, .is_used = true};
	}
	if (start < k->last_ns)
		start = k->last_ns; /* already counted up to there */
	if (end > start)
		k->busy_ns += end - start;
	if (end > k->last_ns)
		k->last_ns = end;
}

struct work {
	struct sonde_cells *c;
	const struct sonde_launches *l;
	struct sonde_stamp *stamps;
	size_t nr;
	uint32_t *visit_of;	    /* by region, in the stay at hand */
	uint32_t *entered;	    /* by range: the visit its entry belongs to */
	struct sonde_track *tracks; /* by visit */
};

/* The visits of a scope: where those of `*first` end, they end. */
static struct sonde_stay take_stay(struct work *w, uint32_t scope, size_t *first)
{
	struct sonde_stay stay = {w->c->visits.at + *first, 0, w->visit_of};

	memset(w->visit_of, 0xff, w->l->regions.nr * sizeof(*w->visit_of));
	for (; *first < w->c->visits.nr && w->c->visits.at[*first].scope == scope; ++*first)
		w->visit_of[w->c->visits.at[*first].region] = (uint32_t)stay.nr++;
	return stay;
}

/* The launches of one scope, in order of start. */
static bool take_scope(struct work *w, const uint32_t *launches, size_t nr)
{
	const struct sonde_record *records = w->l->records->records.at;
	size_t i;

	w->nr = 0;
	for (i = 0; i < nr; i++)
		if (records[launches[i]].time.end_ns)
			w->stamps[w->nr++] =
				(struct sonde_stamp){records[launches[i]].time.start_ns, launches[i]};
	return sonde_keysort(w->stamps, w->nr);
}

/* Leaves the selected ones in regions. */
static void drop_others(struct work *w)
{
	size_t i, nr = 0;

	for (i = 0; i < w->nr; i++)
		if (w->l->launches.at[w->stamps[i].launch].state == SONDE_LAUNCH_TAKEN)
			w->stamps[nr++] = w->stamps[i];
	w->nr = nr;
}

static void track_scope(struct work *w, const struct sonde_stay *stay)
{
	const struct sonde_record *records = w->l->records->records.at;
	size_t i, k;

	memset(w->tracks, 0, stay->nr * sizeof(*w->tracks));
	for (i = 0; i < w->nr; i++) {
		uint32_t launch = w->stamps[i].launch, region;
		const struct sonde_place *place = &w->l->places.at[w->l->launches.at[launch].place];

		for (k = 0; k < place->nr; k++)
			for (region = w->l->homes.at[place->first + k]; region != SONDE_NONE;
				region = w->l->regions.at[region].parent)
				sonde_track__extend(
					&w->tracks[stay->of[region]], &records[launch].time);
	}
	for (i = 0; i < stay->nr; i++) {
		if (!w->tracks[i].is_used)
			continue;
		stay->at[i].busy_ns = (double)w->tracks[i].busy_ns;
		stay->at[i].first_ns = w->tracks[i].first_ns;
		stay->at[i].span_ns = (double)(w->tracks[i].last_ns - w->tracks[i].first_ns);
	}
}

/* One scope's visits from its launches; gaps are those of all, selected or not. */
static bool gpu_times_of(struct work *w, struct sonde_gaps *gaps, struct sonde_idle *idle,
	const struct sonde_stay *stay, uint32_t scope)
{
	if (!sonde_gaps__scope(gaps, w->stamps, w->nr) ||
		!sonde_gaps__keep(gaps, w->c, scope) ||
		!sonde_waits__scope(w->l, stay, w->stamps, w->nr))
		return false;
	drop_others(w);
	track_scope(w, stay);
	return sonde_idle__scope(idle, stay, w->stamps, w->nr) &&
	       sonde_streams__scope(w->c, w->l, stay, w->stamps, w->nr);
}

/* Launch numbers by scope: scope s has order[first[s]] … order[first[s + 1] - 1]. */
static int group(
	const struct sonde_launches *l, uint32_t **order, size_t **first, struct sonde_err *err)
{
	size_t i;

	*order = sonde_calloc(l->launches.nr, sizeof(**order));
	*first = sonde_calloc(l->scopes.nr + 2, sizeof(**first));
	if (!*order || !*first)
		return sonde_err_nomem(err);
	for (i = 0; i < l->launches.nr; i++)
		(*first)[l->launches.at[i].scope + 2]++;
	for (i = 2; i < l->scopes.nr + 2; i++)
		(*first)[i] += (*first)[i - 1];
	for (i = 0; i < l->launches.nr; i++)
		(*order)[(*first)[l->launches.at[i].scope + 1]++] = (uint32_t)i;
	return 0;
}

static int gpu_times(struct work *w, struct sonde_err *err)
{
	const struct sonde_launches *l = w->l;
	struct sonde_gaps gaps = {0};
	struct sonde_idle idle = {0};
	uint32_t *order = NULL;
	size_t *first = NULL, i, visit = 0;
	int rc = group(l, &order, &first, err);

	if (rc == 0)
		rc = sonde_gaps__init(&gaps, l, err);
	if (rc == 0)
		rc = sonde_idle__init(&idle, l, &gaps, err);
	w->stamps = rc ? NULL : sonde_malloc(l->launches.nr * sizeof(*w->stamps));
	w->tracks = rc ? NULL : sonde_malloc(l->regions.nr * sizeof(*w->tracks));
	if (rc == 0 && (!w->stamps || !w->tracks))
		rc = sonde_err_nomem(err);
	for (i = 0; rc == 0 && i < l->scopes.nr; i++) {
		const struct sonde_stay stay = take_stay(w, (uint32_t)i, &visit);

		if (!take_scope(w, &order[first[i]], first[i + 1] - first[i]) ||
			!gpu_times_of(w, &gaps, &idle, &stay, (uint32_t)i))
			rc = sonde_err_nomem(err);
	}
	sonde_idle__release(&idle);
	sonde_gaps__release(&gaps);
	sonde_free(order);
	sonde_free(first);
	sonde_free(w->stamps);
	sonde_free(w->tracks);
	return rc;
}

/*
 * A range entry has no device: its time goes to the first scope of its process that knows the
 * region. Takes from the list at `first` what this scope knows; the rest stays for the next.
 */
static void take_entries(
	struct work *w, const struct sonde_stay *stay, size_t *first, size_t *next)
{
	size_t i, *link = first;

	for (i = *first; i != SIZE_MAX; i = next[i]) {
		const struct sonde_range *range = &w->l->records->ranges.at[i];
		const struct sonde_range_time *time = &range->time;
		uint32_t number = stay->of[w->l->region_of.at[i]];
		struct sonde_visit *visit;

		if (number == SONDE_NONE) {
			link = &next[i];
			continue;
		}
		*link = next[i];
		visit = &stay->at[number];
		if (time->end_ns < time->begin_ns || !time->end_ns)
			continue;
		w->entered[i] = (uint32_t)(visit - w->c->visits.at);
		visit->is_open |= range->is_open;
		sonde_add_known(&visit->host_ns, (double)(time->end_ns - time->begin_ns));
		sonde_add_known(&visit->cpu_ns, time->cpu_ns ? (double)time->cpu_ns : NAN);
	}
}

static int host_times(struct work *w, struct sonde_err *err)
{
	const struct sonde_records *r = w->l->records;
	size_t s, i, visit = 0, *by_process, *next;
	int rc = 0;

	by_process = sonde_malloc((r->processes.nr + 1) * sizeof(*by_process));
	next = sonde_malloc((r->ranges.nr + 1) * sizeof(*next));
	w->entered = sonde_malloc((r->ranges.nr + 1) * sizeof(*w->entered));
	if (!by_process || !next || !w->entered)
		rc = sonde_err_nomem(err);
	else
		memset(w->entered, 0xff, r->ranges.nr * sizeof(*w->entered));
	for (i = 0; rc == 0 && i < r->processes.nr; i++)
		by_process[i] = SIZE_MAX;
	for (i = r->ranges.nr; rc == 0 && i-- > 0;) { /* lists of entries, by process */
		next[i] = by_process[r->ranges.at[i].process];
		by_process[r->ranges.at[i].process] = i;
	}
	for (s = 0; rc == 0 && s < w->l->scopes.nr; s++) {
		const struct sonde_stay stay = take_stay(w, (uint32_t)s, &visit);

		take_entries(w, &stay, &by_process[w->l->scopes.at[s].process], next);
	}
	if (rc == 0)
		rc = sonde_fold__entries(w->c, w->l, w->entered, err);
	sonde_free(by_process);
	sonde_free(next);
	return rc;
}

int sonde_fold__times(struct sonde_folding *f, struct sonde_err *err)
{
	const struct sonde_launches *l = f->l;
	struct work w = {.c = f->c, .l = l};
	const struct sonde_records *r = l->records;
	int rc = 0;

	if (!r->has_record_times && !r->has_range_times)
		return 0;
	w.visit_of = sonde_malloc(l->regions.nr * sizeof(*w.visit_of));
	if (!w.visit_of)
		return sonde_err_nomem(err);
	if (r->has_record_times)
		rc = gpu_times(&w, err);
	if (rc == 0 && r->has_range_times)
		rc = host_times(&w, err);
	f->visit_of = w.entered;
	sonde_free(w.visit_of);
	return rc;
}
