/*
 * What the entries of a region tell about its launches: how long the GPU had
 * nothing to do between the first and the last launch of an entry.
 *
 * A region entered a hundred times has a span that reaches over everything
 * between its entries, so idle time is counted inside entries only: the union
 * over entries of first start → last end, less the busy time. For a region
 * entered once that is span − busy. What it is due to is told by the gaps of the
 * device inside the entries; what these leave is other regions' work.
 */
#include "fold/gaps.h"

#include "base/alloc.h"

#include <string.h>

bool sonde_idle__init(
	struct sonde_idle *x, const struct sonde_launches *l, const struct sonde_gaps *gaps)
{
	*x = (struct sonde_idle){.l = l, .gaps = gaps};
	x->windows = sonde_calloc(l->records->ranges.nr + 1, sizeof(*x->windows));
	x->of_sets = sonde_calloc(l->records->sets.nr + l->sets.nr + 1, sizeof(*x->of_sets));
	x->tracks = sonde_malloc((l->regions.nr + 1) * sizeof(*x->tracks));
	return x->windows && x->of_sets && x->tracks;
}

void sonde_idle__release(struct sonde_idle *x)
{
	sonde_free(x->windows);
	sonde_free(x->of_sets);
	sonde_free(x->tracks);
	sonde_vec_release(&x->touched);
	sonde_vec_release(&x->sets);
}

/* Launches come by start, so the first to touch a window has its start. Says whether it is that. */
static bool widen(struct sonde_record_time *window, const struct sonde_record_time *time)
{
	bool is_first = !window->end_ns;

	if (is_first)
		*window = *time;
	else if (time->end_ns > window->end_ns)
		window->end_ns = time->end_ns;
	return is_first;
}

/* Launches in the same open ranges go together: there may be many of both. */
static bool touch_set(struct sonde_idle *x, uint32_t set, const struct sonde_record_time *time)
{
	return !widen(&x->of_sets[set], time) || sonde_vec_put(&x->sets, set);
}

/* The entries a launch lies in. */
static bool touch(struct sonde_idle *x, uint32_t range, const struct sonde_record_time *time)
{
	for (; range != SONDE_NONE; range = x->l->records->ranges.at[range].parent)
		if (widen(&x->windows[range], time) && !sonde_vec_put(&x->touched, range))
			return false;
	return true;
}

/* One more entry of a visit; they come by their first launch. */
static void add_window(
	struct sonde_idle *x, const struct sonde_stay *stay, uint32_t region, uint32_t range)
{
	const struct sonde_record_time *window = &x->windows[range];
	struct sonde_track *track = &x->tracks[stay->of[region]];
	struct sonde_waits *w = &stay->at[stay->of[region]].waits;
	uint64_t from = window->start_ns;

	if (!track->is_used) {
		memset(w->by, 0, sizeof(w->by));
		w->tail_ns = 0;
	} else if (track->last_ns > from) {
		from = track->last_ns;
	}
	if (window->end_ns > from)
		sonde_gaps__add(x->gaps, w, from, window->end_ns);
	if (x->l->region_of.at[range] == region && !x->l->records->ranges.at[range].is_open)
		w->tail_ns += (double)sonde_gaps__between(x->gaps, window->end_ns,
			x->l->records->ranges.at[range].time.end_ns);
	sonde_track__extend(track, window);
}

/* Idle time, and of it what is no gap of the device. */
static void settle(struct sonde_visit *n, const struct sonde_track *track)
{
	double gaps = 0, inside = (double)track->busy_ns;
	size_t i;

	for (i = 0; i < SONDE_NR_IDLE_CAUSES; i++)
		gaps += n->waits.by[i];
	n->idle_ns = inside > n->busy_ns ? inside - n->busy_ns : 0;
	if (n->idle_ns < gaps)
		n->idle_ns = gaps; /* it has launches outside its entries, which busy_ns counts */
	n->waits.by[SONDE_IDLE_OTHER] = n->idle_ns - gaps;
}

static void count_idle(struct sonde_idle *x, const struct sonde_stay *stay)
{
	const struct sonde_range *ranges = x->l->records->ranges.at;
	size_t i;

	memset(x->tracks, 0, stay->nr * sizeof(*x->tracks));
	for (i = 0; i < x->touched.nr; i++) {
		uint32_t range = x->touched.at[i], region = x->l->region_of.at[range];

		/* Above an outermost range there may be regions by the rule of labels. */
		for (; region != SONDE_NONE; region = x->l->regions.at[region].parent) {
			if (stay->of[region] != SONDE_NONE)
				add_window(x, stay, region, range);
			if (ranges[range].parent != SONDE_NONE)
				break;
		}
	}
	for (i = 0; i < stay->nr; i++)
		if (x->tracks[i].is_used)
			settle(&stay->at[i], &x->tracks[i]);
	for (i = 0; i < x->touched.nr; i++)
		x->windows[x->touched.at[i]] = (struct sonde_record_time){0};
	x->touched.nr = 0;
}

bool sonde_idle__scope(struct sonde_idle *x, const struct sonde_stay *stay)
{
	size_t i, k;
	bool ok = true;

	for (i = 0; i < stay->nr_stamps && ok; i++)
		ok = touch_set(x, x->l->launches.at[stay->stamps[i].launch].open,
			&stay->stamps[i].time);
	for (i = 0; i < x->sets.nr && ok; i++) {
		const uint32_t *members;
		struct sonde_set set = sonde_launches_set(x->l, x->sets.at[i], &members);

		for (k = 0; k < set.nr && ok; k++)
			ok = touch(x, members[k], &x->of_sets[x->sets.at[i]]);
		x->of_sets[x->sets.at[i]] = (struct sonde_record_time){0};
	}
	x->sets.nr = 0;
	if (ok)
		count_idle(x, stay);
	return ok;
}
