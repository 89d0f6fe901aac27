/* Start/end ranges: which stop ends which start, and which were open at each launch. */
#include "base/alloc.h"
#include "read/native/native_int.h"

/*
 * Matching goes by sorting, which no choice of numbers makes slow. The last of `t` with `key`, SONDE_NONE
 * when there is none; to be asked for ever larger keys, with `*i` 0 at first.
 */
static uint32_t last_with_key(const struct sonde_keyed *t, size_t nr, size_t *i, uint64_t key)
{
	while (*i < nr && t[*i].key <= key)
		++*i;
	return *i && t[*i - 1].key == key ? t[*i - 1].index : SONDE_NONE;
}

static void match_stop(struct native *n, const struct native_edge *stop, uint32_t start)
{
	struct sonde_range_time *time =
		start == SONDE_NONE ? NULL : &n->r->ranges.at[n->edges.at[start].range].time;

	if (!time || time->end_ns) {
		n->counts.orphan_stops++;
		return;
	}
	time->end_ns = stop->ns > time->begin_ns ? stop->ns : time->begin_ns + 1;
}

/* A range nobody ended; one that began in a window is known up to the end of that. */
static void leave_open(struct native *n, const struct native_edge *start)
{
	uint64_t end_ns = sonde_native__window_end_ns(n, start->window);

	n->counts.unstopped += !end_ns;
	n->counts.cut_by_windows += end_ns != 0;
	if (end_ns)
		n->r->ranges.at[start->range].time.end_ns =
			end_ns > start->ns ? end_ns : start->ns + 1;
}

static bool match_edges(struct native *n)
{
	struct sonde_keyed *starts, *stops;
	size_t i, nr_starts = 0, nr_stops = 0;
	bool ok;

	starts = sonde_malloc(n->edges.nr * sizeof(*starts));
	stops = sonde_malloc(n->edges.nr * sizeof(*stops));
	ok = starts && stops && n->edges.nr < SONDE_NONE;
	for (i = 0; i < n->edges.nr && ok; i++) {
		struct sonde_keyed t = {n->edges.at[i].key, (uint32_t)i};

		if (n->edges.at[i].is_stop)
			stops[nr_stops++] = t;
		else
			starts[nr_starts++] = t;
	}
	ok = ok && sonde_keysort(starts, nr_starts) && sonde_keysort(stops, nr_stops);
	for (size_t k = i = 0; k < nr_stops && ok; k++)
		match_stop(n, &n->edges.at[stops[k].index],
			last_with_key(starts, nr_starts, &i, stops[k].key));
	for (i = 0; i < n->edges.nr && ok; i++)
		if (!n->edges.at[i].is_stop && !n->r->ranges.at[n->edges.at[i].range].time.end_ns)
			leave_open(n, &n->edges.at[i]);
	sonde_free(starts);
	sonde_free(stops);
	return ok;
}

/* Whether launches are asked about thread by thread: going back as often takes less than sorting. */
static bool are_few_runs(const struct native *n)
{
	size_t i, nr = 1;

	for (i = 1; i < n->launches.nr; i++)
		nr += n->launches.at[i].ns < n->launches.at[i - 1].ns;
	return nr <= n->launches.nr / n->edges.nr;
}

static bool add_starts(struct native *n)
{
	bool as_is = are_few_runs(n), ok;
	struct sonde_starts *s = sonde_starts__build(n->r, n->first_range);
	struct sonde_keyed *t =
		as_is ? NULL : sonde_order_by_field(n->launches.at, n->launches.nr, ns);
	size_t i;

	ok = s && (as_is || t);
	for (i = 0; i < n->launches.nr && ok; i++) {
		struct native_launch *l = &n->launches.at[as_is ? i : t[i].index];

		l->set = sonde_starts__open_at(s, n->process, l->ns, l->set);
		ok = l->set != SONDE_NONE;
	}
	n->counts.sets_cut += sonde_starts__free(s);
	sonde_free(t);
	return ok;
}

bool sonde_native__edges(struct native *n)
{
	return !n->edges.nr || (match_edges(n) && add_starts(n));
}
