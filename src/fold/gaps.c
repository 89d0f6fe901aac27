/*
 * The gaps of a device: when nothing of a process ran on it, and why.
 *
 * Gaps are found and explained once, on the device's time line. A region's share
 * is the difference of running sums at the ends of its entries, whose first and
 * last launches are ends of gaps too. So the cost is that of the launches and
 * the entries, however regions are nested, and the causes add up by
 * construction.
 */
#include "fold/gaps.h"

#include "base/bisect.h"
#include "catalogue/advice.h"

#include <assert.h>
#include <string.h>

static_assert(SONDE_WHEN_IDLE + SONDE_NR_IDLE_CAUSES == SONDE_NR_SITUATIONS, "one for each cause");

const char *sonde_idle_cause_name(enum sonde_idle_cause c)
{
	static const char *const names[] = {[SONDE_IDLE_LAUNCH] = "launch",
		[SONDE_IDLE_SYNC] = "sync",
		[SONDE_IDLE_COPY] = "copy",
		[SONDE_IDLE_ALLOC] = "alloc",
		[SONDE_IDLE_HOST] = "host",
		[SONDE_IDLE_QUEUED] = "queued",
		[SONDE_IDLE_OTHER] = "other_stream",
		[SONDE_IDLE_UNKNOWN] = "unknown"};

	return names[c];
}

const char *sonde_idle_cause_words(enum sonde_idle_cause c)
{
	return sonde_advice_on(SONDE_WHEN_IDLE + c)->says;
}

bool sonde_gaps__init(struct sonde_gaps *g, const struct sonde_launches *l)
{
	*g = (struct sonde_gaps){.l = l};
	if (l->records->rolled.nr)
		g->since_ns = l->records->rolled.at[0].since_ns;
	return sonde_hosts__init(&g->hosts, l->records);
}

void sonde_gaps__release(struct sonde_gaps *g)
{
	sonde_hosts__release(&g->hosts);
	sonde_vec_release(&g->sums);
}

/* Keeps the longest, longest first; of equals the earlier. */
static void note_longest(
	struct sonde_gaps *g, const struct sonde_gap_ends *ends, const uint64_t *by)
{
	uint64_t ns = ends->to_ns - ends->from_ns;
	size_t at = g->nr_longest, i;
	uint8_t cause = 0;

	while (at && g->longest[at - 1].gap.ns < ns)
		at--;
	if (at == SONDE_NR_GAPS || ends->to_ns <= g->since_ns)
		return;
	for (i = 1; i < SONDE_NR_IDLE_CAUSES; i++)
		cause = by[i] > by[cause] ? (uint8_t)i : cause;
	g->nr_longest += g->nr_longest < SONDE_NR_GAPS;
	memmove(&g->longest[at + 1], &g->longest[at],
		(g->nr_longest - at - 1) * sizeof(*g->longest));
	g->longest[at] = (struct sonde_long_gap){{.cause = cause,
							 .begin_ns = ends->from_ns,
							 .ns = ns,
							 .since_ns = ends->from_ns - g->first_ns},
		*ends};
}

static bool add_gap(struct sonde_gaps *g, const struct sonde_gap_ends *ends)
{
	uint64_t by[SONDE_NR_IDLE_CAUSES] = {0};
	struct sonde_gap_sum *sum = sonde_vec_push(&g->sums);
	size_t i;

	if (!sum || (!g->hosts.launches && !sonde_hosts__settle(&g->hosts)))
		return false;
	if (g->sums.nr > 1)
		*sum = sum[-1];
	sonde_hosts__explain(&g->hosts, ends, by);
	sum->from_ns = ends->from_ns;
	sum->total_ns += ends->to_ns - ends->from_ns;
	for (i = 0; i < SONDE_IDLE_OTHER; i++)
		sum->by[i] += by[i];
	note_longest(g, ends, by);
	return true;
}

/* How many there are: growing step by step, their sums would be there twice. */
static size_t count_gaps(const struct sonde_stamp *stamps, size_t nr)
{
	uint64_t last_ns = UINT64_MAX;
	size_t i, nr_gaps = 0;

	for (i = 0; i < nr; i++) {
		nr_gaps += stamps[i].time.start_ns > last_ns;
		if (i == 0 || stamps[i].time.end_ns > last_ns)
			last_ns = stamps[i].time.end_ns;
	}
	return nr_gaps;
}

static bool find_gaps(struct sonde_gaps *g, const struct sonde_stamp *stamps, size_t nr)
{
	uint32_t last = nr ? stamps[0].launch : 0;
	size_t i, nr_gaps = count_gaps(stamps, nr);

	g->sums.nr = g->nr_longest = 0;
	if (nr_gaps && !sonde_vec_reserve(&g->sums, nr_gaps))
		return false;
	g->first_ns = g->last_ns = nr ? stamps[0].time.start_ns : 0;
	for (i = 0; i < nr; i++) {
		const struct sonde_stamp *s = &stamps[i];
		const struct sonde_gap_ends ends = {g->last_ns, s->time.start_ns, last, s->launch};

		if (ends.to_ns > ends.from_ns && !add_gap(g, &ends))
			return false;
		if (s->time.end_ns >= g->last_ns) {
			g->last_ns = s->time.end_ns;
			last = s->launch;
		}
	}
	return true;
}

/* How many gaps begin before `ns`. */
static size_t gaps_before(const struct sonde_gaps *g, uint64_t ns)
{
	size_t low = 0;

	sonde_bisect(low, g->sums.nr, mid, g->sums.at[mid].from_ns < ns);
	return low;
}

void sonde_gaps__add(
	const struct sonde_gaps *g, struct sonde_waits *w, uint64_t from_ns, uint64_t to_ns)
{
	size_t from = gaps_before(g, from_ns), to = gaps_before(g, to_ns), i;
	const struct sonde_gap_sum none = {0},
				   *a = from ? &g->sums.at[from - 1] : &none,
				   *b = to ? &g->sums.at[to - 1] : &none;
	uint64_t rest = b->total_ns - a->total_ns;

	for (i = 0; i < SONDE_IDLE_OTHER; i++) {
		w->by[i] += (double)(b->by[i] - a->by[i]);
		rest -= b->by[i] - a->by[i];
	}
	w->by[SONDE_IDLE_UNKNOWN] += (double)rest;
}

static uint64_t gaps_until(const struct sonde_gaps *g, uint64_t ns)
{
	size_t nr = gaps_before(g, ns);
	const struct sonde_gap_sum *last = nr ? &g->sums.at[nr - 1] : NULL;
	uint64_t before = nr > 1 ? last[-1].total_ns : 0, to_ns;
	uint64_t behind = ns > g->last_ns ? ns - g->last_ns : 0; /* all its work is done */

	if (!last)
		return behind;
	to_ns = last->from_ns + last->total_ns - before;
	return last->total_ns - (ns < to_ns ? to_ns - ns : 0) + behind;
}

uint64_t sonde_gaps__between(const struct sonde_gaps *g, uint64_t from_ns, uint64_t to_ns)
{
	return from_ns < to_ns ? gaps_until(g, to_ns) - gaps_until(g, from_ns) : 0;
}

static bool is_around(const struct sonde_launches *l, uint32_t set, uint32_t range)
{
	const uint32_t *members;
	struct sonde_set s = sonde_launches_set(l, set, &members);
	uint32_t i, r;

	for (i = 0; i < s.nr; i++) /* ranges around others have smaller numbers */
		for (r = members[i]; r != SONDE_NONE && r >= range; r = l->records->ranges.at[r].parent)
			if (r == range)
				return true;
	return false;
}

static uint32_t shown(const struct sonde_launches *l, uint32_t range)
{
	const struct sonde_range *ranges = l->records->ranges.at;
	uint32_t region = l->region_of.at[range];

	for (; region == SONDE_NONE && ranges[range].parent != SONDE_NONE; region = l->region_of.at[range])
		range = ranges[range].parent;
	return region != SONDE_NONE && l->regions.at[region].is_shown ? region : SONDE_NONE;
}

/* The innermost entry that both ends lie in, and the region the work after it is in. */
static void place_gap(
	const struct sonde_launches *l, const struct sonde_gap_ends *ends, struct sonde_gap *gap)
{
	const uint32_t *members;
	struct sonde_set s =
		sonde_launches_set(l, l->launches.at[ends->after].open, &members);
	uint32_t before = l->launches.at[ends->before].open, i, r;

	gap->region = gap->before = SONDE_NONE;
	for (i = 0; i < s.nr && gap->region == SONDE_NONE; i++) {
		if (gap->before == SONDE_NONE)
			gap->before = shown(l, members[i]);
		for (r = members[i]; r != SONDE_NONE && gap->region == SONDE_NONE;
			r = l->records->ranges.at[r].parent)
			if (is_around(l, before, r))
				gap->region = shown(l, r);
	}
}

bool sonde_gaps__scope(struct sonde_gaps *g, const struct sonde_stay *stay, struct sonde_cells *c)
{
	size_t i;

	if (!find_gaps(g, stay->stamps, stay->nr_stamps))
		return false;
	for (i = 0; i < g->nr_longest; i++) {
		g->longest[i].gap.scope = stay->scope;
		place_gap(g->l, &g->longest[i].ends, &g->longest[i].gap);
		if (!sonde_vec_put(&c->gaps, g->longest[i].gap))
			return false;
	}
	return true;
}
