/*
 * What timestamps tell beyond sums: how long the GPU was busy inside a region
 * (overlapping launches once), from when to when, and how long the host was in it.
 *
 * Busy time wants launches in order of start. They nearly are; a radix sort
 * keeps ten million of them linear.
 */
#include "aggregate/streams.h"
#include "aggregate/tree_int.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define DIGIT	11u
#define BUCKETS (1u << DIGIT)

/* Sorts by start; `spare` is as large as `at`. The result is in `at`. */
static void sort_stamps(struct sonde_stamp *at, struct sonde_stamp *spare, size_t nr)
{
	uint64_t least = UINT64_MAX, most = 0;
	bool is_sorted = true;
	unsigned shift;
	size_t i, count[BUCKETS];

	for (i = 0; i < nr; i++) {
		is_sorted = is_sorted && at[i].start_ns >= most;
		least = at[i].start_ns < least ? at[i].start_ns : least;
		most = at[i].start_ns > most ? at[i].start_ns : most;
	}
	if (is_sorted)
		return; /* one stream, say */
	for (shift = 0; nr && shift < 64 && (most - least) >> shift; shift += DIGIT) {
		size_t sum = 0, n;

		memset(count, 0, sizeof(count));
		for (i = 0; i < nr; i++)
			count[(at[i].start_ns - least) >> shift & (BUCKETS - 1)]++;
		for (i = 0; i < BUCKETS; i++) {
			n = count[i];
			count[i] = sum;
			sum += n;
		}
		for (i = 0; i < nr; i++)
			spare[count[(at[i].start_ns - least) >> shift & (BUCKETS - 1)]++] = at[i];
		memcpy(at, spare, nr * sizeof(*at));
	}
}

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
	struct sonde_tree *t;
	const struct sonde_launches *l;
	struct sonde_stamp *stamps, *spare;
	size_t nr;
	uint32_t *node_of;	    /* by region, in the report at hand */
	struct sonde_track *tracks; /* by node */
};

static void map_nodes(struct work *w, const struct sonde_report *r)
{
	size_t i;

	memset(w->node_of, 0xff, w->l->regions.nr * sizeof(*w->node_of));
	for (i = 0; i < r->nodes.nr; i++)
		w->node_of[r->nodes.at[i].region] = (uint32_t)i;
}

/* Selected launches of one scope, in order of start. */
static void take_scope(struct work *w, const uint32_t *launches, size_t nr)
{
	const struct sonde_record *records = w->l->records->records.at;
	size_t i;

	w->nr = 0;
	for (i = 0; i < nr; i++)
		if (w->l->launches.at[launches[i]].state == SONDE_LAUNCH_TAKEN &&
			records[launches[i]].time.end_ns)
			w->stamps[w->nr++] =
				(struct sonde_stamp){records[launches[i]].time.start_ns, launches[i]};
	sort_stamps(w->stamps, w->spare, w->nr);
}

static void track_scope(struct work *w, struct sonde_report *r)
{
	const struct sonde_record *records = w->l->records->records.at;
	size_t i, k;

	memset(w->tracks, 0, r->nodes.nr * sizeof(*w->tracks));
	for (i = 0; i < w->nr; i++) {
		uint32_t launch = w->stamps[i].launch, region;
		const struct sonde_place *place = &w->l->places.at[w->l->launches.at[launch].place];

		for (k = 0; k < place->nr; k++)
			for (region = w->l->homes.at[place->first + k]; region != SONDE_NONE;
				region = w->l->regions.at[region].parent)
				sonde_track__extend(&w->tracks[w->node_of[region]], &records[launch].time);
	}
	for (i = 0; i < r->nodes.nr; i++) {
		if (!w->tracks[i].is_used)
			continue;
		r->nodes.at[i].busy_ns = (double)w->tracks[i].busy_ns;
		r->nodes.at[i].span_ns = (double)(w->tracks[i].last_ns - w->tracks[i].first_ns);
	}
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
	struct sonde_idle idle = {0};
	uint32_t *order = NULL;
	size_t *first = NULL, i;
	int rc = group(l, &order, &first, err);

	if (rc == 0)
		rc = sonde_idle__init(&idle, l, err);

	w->stamps = rc ? NULL : sonde_malloc(l->launches.nr * sizeof(*w->stamps));
	w->spare = rc ? NULL : sonde_malloc(l->launches.nr * sizeof(*w->spare));
	w->tracks = rc ? NULL : sonde_malloc(l->regions.nr * sizeof(*w->tracks));
	if (rc == 0 && (!w->stamps || !w->spare || !w->tracks))
		rc = sonde_err_nomem(err);
	for (i = 0; rc == 0 && i < l->scopes.nr; i++) {
		struct sonde_report *r = &w->t->reports.at[i]; /* scopes come first, in order */

		map_nodes(w, r);
		take_scope(w, &order[first[i]], first[i + 1] - first[i]);
		track_scope(w, r);
		if (!sonde_idle__scope(&idle, r, w->node_of, w->stamps, w->nr) ||
			!sonde_streams__scope(l, r, w->node_of, w->stamps, w->nr))
			rc = sonde_err_nomem(err);
	}
	sonde_idle__release(&idle);
	sonde_free(order);
	sonde_free(first);
	sonde_free(w->stamps);
	sonde_free(w->spare);
	sonde_free(w->tracks);
	return rc;
}

static void add(double *sum, double v)
{
	if (!isnan(v))
		*sum = isnan(*sum) ? v : *sum + v;
}

/*
 * A range entry has no device: its time goes to the first scope of its process that knows the
 * region. Takes from the list at `first` what this scope knows; the rest stays for the next.
 */
static void take_entries(struct work *w, struct sonde_report *report, size_t *first, size_t *next)
{
	const struct sonde_range *ranges = w->l->records->ranges.at;
	size_t i, *link = first;

	map_nodes(w, report);
	for (i = *first; i != SIZE_MAX; i = next[i]) {
		const struct sonde_range_time *time = &ranges[i].time;
		uint32_t node = w->node_of[w->l->region_of.at[i]];

		if (node == SONDE_NONE) {
			link = &next[i];
			continue;
		}
		*link = next[i];
		if (time->end_ns < time->begin_ns || !time->end_ns)
			continue;
		report->nodes.at[node].is_open |= ranges[i].is_open;
		add(&report->nodes.at[node].host_ns, (double)(time->end_ns - time->begin_ns));
		add(&report->nodes.at[node].cpu_ns, time->cpu_ns ? (double)time->cpu_ns : NAN);
	}
}

static int host_times(struct work *w, struct sonde_err *err)
{
	const struct sonde_records *r = w->l->records;
	size_t s, i, *by_process, *next;
	int rc = 0;

	by_process = sonde_malloc((r->processes.nr + 1) * sizeof(*by_process));
	next = sonde_malloc((r->ranges.nr + 1) * sizeof(*next));
	if (!by_process || !next)
		rc = sonde_err_nomem(err);
	for (i = 0; rc == 0 && i < r->processes.nr; i++)
		by_process[i] = SIZE_MAX;
	for (i = r->ranges.nr; rc == 0 && i-- > 0;) { /* lists of entries, by process */
		next[i] = by_process[r->ranges.at[i].process];
		by_process[r->ranges.at[i].process] = i;
	}
	for (s = 0; rc == 0 && s < w->l->scopes.nr; s++)
		take_entries(
			w, &w->t->reports.at[s], &by_process[w->l->scopes.at[s].process], next);
	sonde_free(by_process);
	sonde_free(next);
	return rc;
}

static bool copy_streams(struct sonde_report *to, const struct sonde_report *from)
{
	if (!from->streams.nr)
		return true;
	if (!sonde_vec_reserve(&to->streams, from->streams.nr))
		return false;
	memcpy(to->streams.at, from->streams.at, from->streams.nr * sizeof(*from->streams.at));
	to->streams.nr = from->streams.nr;
	return true;
}

/*
 * An aggregate's times are the sums over its scopes; a span and single streams mean something for
 * one scope only.
 */
static int sum_aggregates(struct work *w, struct sonde_err *err)
{
	size_t a, s, i;

	for (a = w->l->scopes.nr; a < w->t->reports.nr; a++) {
		struct sonde_report *to = &w->t->reports.at[a];

		map_nodes(w, to);
		for (s = 0; s < w->l->scopes.nr; s++) {
			const struct sonde_report *from = &w->t->reports.at[s];

			if (to->nr_scopes == 1 && from->measured == to->measured &&
				!copy_streams(to, from))
				return sonde_err_nomem(err);
			for (i = 0; from->measured == to->measured && i < from->nodes.nr; i++) {
				const struct sonde_node *n = &from->nodes.at[i];
				struct sonde_node *sum = &to->nodes.at[w->node_of[n->region]];

				sum->streams += n->streams;
				add(&sum->busy_ns, n->busy_ns);
				add(&sum->idle_ns, n->idle_ns);
				add(&sum->host_ns, n->host_ns);
				add(&sum->cpu_ns, n->cpu_ns);
				sum->is_open |= n->is_open;
				if (to->nr_scopes == 1) {
					sum->span_ns = n->span_ns;
					sum->first_stream = n->first_stream;
				}
			}
		}
	}
	return 0;
}

/* The CPU time of an entry that was never closed is not known. */
static void forget_cpu_of_open(struct sonde_tree *t)
{
	size_t i, k;

	for (i = 0; i < t->reports.nr; i++)
		for (k = 0; k < t->reports.at[i].nodes.nr; k++)
			if (t->reports.at[i].nodes.at[k].is_open)
				t->reports.at[i].nodes.at[k].cpu_ns = NAN;
}

int sonde_tree__times(struct sonde_tree *t, struct sonde_err *err)
{
	struct work w = {.t = t, .l = t->launches};
	const struct sonde_records *r = t->launches->records;
	int rc = 0;

	if (!r->has_record_times && !r->has_range_times)
		return 0;
	w.node_of = sonde_malloc(t->launches->regions.nr * sizeof(*w.node_of));
	if (!w.node_of)
		return sonde_err_nomem(err);
	if (r->has_record_times)
		rc = gpu_times(&w, err);
	if (rc == 0 && r->has_range_times)
		rc = host_times(&w, err);
	if (rc == 0)
		rc = sum_aggregates(&w, err);
	forget_cpu_of_open(t);
	sonde_free(w.node_of);
	return rc;
}

void sonde_tree__forget_times(struct sonde_report *r)
{
	size_t i;

	r->time_ns = r->outside_time_ns = r->all_time_ns = NAN;
	for (i = 0; i < r->nodes.nr; i++)
		r->nodes.at[i].time_ns = r->nodes.at[i].own_time_ns = NAN;
	for (i = 0; i < r->kernels.nr; i++)
		r->kernels.at[i].time_ns = NAN;
}
