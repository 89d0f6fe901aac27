/*
 * The gaps of a device: when nothing of a process ran on it, and why.
 *
 * Gaps are found and explained once, on the device's time line, with running sums.
 * The idle time of an entry is the difference of the sums at its first and last
 * launch, where gaps end and begin too. So the cost grows with the launches and the
 * entries only, however regions are nested, and the causes add up by construction.
 */
#include "fold/gaps.h"

#include "base/bisect.h"
#include "base/keysort.h"
#include "catalogue/causes.h"
#include "fold/timeline.h"

#include <assert.h>
#include <string.h>

/*
 * Finds why nothing ran, from what the host did meanwhile.
 *
 * A gap ends with work that some thread launched. The calls of this thread up to then are
 * the cause. In times in which it made no call, we look at the thread that launched the work
 * before the gap, which may have handed over to this one.
 *
 *     GPU     ██ before ██                                  ██ after ██
 *     host                 sync ────┤   (outside)    launch
 *                          └ sync ──┴── host ────────┴ launch ┘
 */

/*
 * A pause of up to NEAR_NS after the end of a call belongs to that call. After a launch, counted from the beginning of its
 * call, the pause may be up to BETWEEN_NS: a framework needs 10 to 60 µs between two launches, and launch-bound programs
 * consist of such pauses. A longer pause is not the cost of a launch.
 */
#define NEAR_NS	   10000
#define BETWEEN_NS 100000
#define LATENCY_NS 20000 /* the most time from a launch call to the start of the work on an idle device */

/* The number of a thread; SONDE_NONE: no memory. */
static uint32_t find_thread(struct sonde_hosts *h, uint32_t process, uint64_t thread)
{
	const uint64_t key[2] = {process, thread};

	return sonde_map_keep(&h->threads, &h->arena, SONDE_BYTES(key), NULL);
}

static const uint8_t cause_of[] = {
	[SONDE_CALL_SYNC_STREAM] = SONDE_IDLE_SYNC,
	[SONDE_CALL_SYNC_EVENT] = SONDE_IDLE_SYNC,
	[SONDE_CALL_SYNC_DEVICE] = SONDE_IDLE_SYNC,
	[SONDE_CALL_COPY] = SONDE_IDLE_COPY,
	[SONDE_CALL_ALLOC] = SONDE_IDLE_ALLOC,
	[SONDE_CALL_FREE] = SONDE_IDLE_ALLOC,
};

bool sonde_hosts__add(struct sonde_hosts *h, uint32_t record)
{
	const struct sonde_record *records = h->r->records.at, *rec = &records[record];
	const struct sonde_caller *caller = sonde_record_caller(h->r, rec);

	h->thread_of[record] = SONDE_NONE;
	if (!rec->call_ns)
		return true;
	if (h->last != SONDE_NONE && records[h->last].caller == rec->caller)
		h->thread_of[record] = h->thread_of[h->last];
	else
		h->thread_of[record] = find_thread(h, caller->process, caller->thread);
	h->last = record;
	return h->thread_of[record] != SONDE_NONE;
}

/*
 * Counting sort of calls by thread. `thread_of` is the thread of each call. Returns the first index of each thread, one element
 * further on: filling uses first[thread + 1] as the next free index, and afterwards first[thread] is the thread's first.
 */
static size_t *find_firsts(struct sonde_hosts *h, const uint32_t *thread_of, size_t nr)
{
	size_t *first = sonde_arena_calloc(&h->arena, h->threads.nr + 2, sizeof(*first)), i;

	for (i = 0; first && i < nr; i++)
		if (thread_of[i] != SONDE_NONE)
			first[thread_of[i] + 2]++;
	for (i = 2; first && i < h->threads.nr + 2; i++)
		first[i] += first[i - 1];
	return first;
}

/* Sorts the slice of each thread by time, in place. The slices are mostly in order already. False: no memory. */
static bool sort_each(const struct sonde_hosts *h, void *at, const size_t *first, size_t size)
{
	size_t i;

	for (i = 0; i < h->threads.nr; i++)
		if (!sonde_keysort_size((char *)at + first[i] * size, first[i + 1] - first[i], size))
			return false;
	return true;
}

static bool spread_launches(struct sonde_hosts *h)
{
	const struct sonde_records *r = h->r;
	size_t *first = h->first_launch = find_firsts(h, h->thread_of, r->records.nr), i;

	h->launches = sonde_arena_alloc(&h->arena, (r->records.nr + 1) * sizeof(*h->launches));
	if (!first || !h->launches)
		return false;
	for (i = 0; i < r->records.nr; i++)
		if (h->thread_of[i] != SONDE_NONE)
			h->launches[first[h->thread_of[i] + 1]++] = r->records.at[i].call_ns;
	return sort_each(h, h->launches, first, sizeof(*h->launches));
}

static bool spread_calls(struct sonde_hosts *h, const uint32_t *callers)
{
	const struct sonde_records *r = h->r;
	size_t *first = h->first_call = find_firsts(h, callers, r->calls.nr), i;

	h->calls = sonde_arena_alloc(&h->arena, (r->calls.nr + 1) * sizeof(*h->calls));
	if (!first || !h->calls)
		return false;
	for (i = 0; i < r->calls.nr; i++) {
		const struct sonde_call *c = &r->calls.at[i];

		h->has_calls[c->process] = true;
		h->calls[first[callers[i] + 1]++] = (struct sonde_act){c->begin_ns,
			c->end_ns > c->begin_ns ? c->end_ns : c->begin_ns, cause_of[c->kind]};
	}
	return sort_each(h, h->calls, first, sizeof(*h->calls));
}

bool sonde_hosts__sort(struct sonde_hosts *h)
{
	const struct sonde_records *r = h->r;
	uint32_t *callers = sonde_arena_alloc(&h->arena, (r->calls.nr + 1) * sizeof(*callers));
	size_t i;

	if (!callers)
		return false;
	for (i = 0; i < r->calls.nr; i++) {
		callers[i] = find_thread(h, r->calls.at[i].process, r->calls.at[i].thread);
		if (callers[i] == SONDE_NONE)
			return false;
	}
	return spread_launches(h) && spread_calls(h, callers);
}

bool sonde_hosts__init(struct sonde_hosts *h, const struct sonde_records *r)
{
	size_t i;

	*h = (struct sonde_hosts){.r = r, .last = SONDE_NONE};
	h->thread_of = sonde_arena_alloc(&h->arena, (r->records.nr + 1) * sizeof(*h->thread_of));
	h->has_calls = sonde_arena_alloc(&h->arena, (r->processes.nr + 1) * sizeof(*h->has_calls));
	for (i = 0; h->has_calls && i < r->processes.nr; i++)
		h->has_calls[i] = r->processes.at[i].has_calls;
	return h->thread_of && h->has_calls;
}

void sonde_hosts__release(struct sonde_hosts *h)
{
	sonde_map_release(&h->threads);
	sonde_arena_release(&h->arena);
}

/* A moment of a thread: one past its last call, and one past its last launch, that begin up to then. */
struct moment {
	size_t call, launch;
};

static struct moment find_moment(const struct sonde_hosts *h, uint32_t thread, uint64_t ns)
{
	struct moment m = {h->first_call[thread], h->first_launch[thread]};

	sonde_bisect(m.call, h->first_call[thread + 1], mid, h->calls[mid].begin_ns <= ns);
	sonde_bisect(m.launch, h->first_launch[thread + 1], mid, h->launches[mid] <= ns);
	return m;
}

static struct sonde_act make_launch(const struct sonde_hosts *h, size_t i)
{
	return (struct sonde_act){h->launches[i], h->launches[i], SONDE_IDLE_LAUNCH};
}

/* Gets the last call or launch of a thread before a moment, and moves the moment before it. False = none. */
static bool step_back(
	const struct sonde_hosts *h, uint32_t thread, struct moment *m, struct sonde_act *out)
{
	bool has_call = m->call > h->first_call[thread];
	bool has_launch = m->launch > h->first_launch[thread];

	if (has_call && (!has_launch || h->calls[m->call - 1].begin_ns >= h->launches[m->launch - 1]))
		*out = h->calls[--m->call];
	else if (has_launch)
		*out = make_launch(h, --m->launch);
	return has_call || has_launch;
}

/* Gets the first call or launch of a thread after a moment. False = none. */
static bool look_ahead(
	const struct sonde_hosts *h, uint32_t thread, struct moment m, struct sonde_act *out)
{
	bool has_call = m.call < h->first_call[thread + 1];
	bool has_launch = m.launch < h->first_launch[thread + 1];

	if (has_launch && (!has_call || h->launches[m.launch] <= h->calls[m.call].begin_ns))
		*out = make_launch(h, m.launch);
	else if (has_call)
		*out = h->calls[m.call];
	return has_call || has_launch;
}

/* A part of a gap, the thread to look at, and the other thread that may have handed over to it. */
struct stretch {
	uint64_t from_ns, to_ns;
	uint32_t thread, other; /* SONDE_NONE = none */
	uint8_t outside;	/* cause of the time in which neither thread made a call */
};

static void explain_backwards(const struct sonde_hosts *h, struct stretch s, uint64_t *by);

/* The thread made no call in this time; looks at the other thread. */
static void explain_pause(const struct sonde_hosts *h, struct stretch s, uint64_t *by)
{
	if (s.from_ns >= s.to_ns)
		return;
	if (s.other == SONDE_NONE) {
		by[s.outside] += s.to_ns - s.from_ns;
		return;
	}
	s.thread = s.other;
	s.other = SONDE_NONE;
	explain_backwards(h, s, by);
}

/* Goes backwards from the end of the stretch, call by call. Each call gets the short pause after it. */
static void explain_backwards(const struct sonde_hosts *h, struct stretch s, uint64_t *by)
{
	struct moment at = find_moment(h, s.thread, s.to_ns);
	struct sonde_act a = {0};

	while (s.to_ns > s.from_ns && step_back(h, s.thread, &at, &a)) {
		uint64_t end = a.end_ns < s.to_ns ? a.end_ns : s.to_ns;
		uint64_t begin = a.begin_ns > s.from_ns ? a.begin_ns : s.from_ns;

		if (s.to_ns - end > (a.cause == SONDE_IDLE_LAUNCH ? BETWEEN_NS : NEAR_NS)) {
			struct stretch behind = s;

			behind.from_ns = end > s.from_ns ? end : s.from_ns;
			explain_pause(h, behind, by);
			s.to_ns = behind.from_ns;
		}
		if (begin < s.to_ns) {
			by[a.cause] += s.to_ns - begin;
			s.to_ns = begin;
		}
	}
	explain_pause(h, s, by);
}

/*
 * Finds the call that made a copy. In traces the copy's call_ns equals the beginning of that call; in a native capture call_ns is
 * shortly before it. NULL: not known, for example for a copy in a graph.
 */
static const struct sonde_act *find_copy_call(
	const struct sonde_hosts *h, uint32_t thread, struct moment at, uint64_t call_ns)
{
	const struct sonde_act *before = at.call > h->first_call[thread] ? &h->calls[at.call - 1] : NULL;
	struct sonde_act a = {0};

	if (before && before->begin_ns == call_ns && before->cause == SONDE_IDLE_COPY)
		return before;
	if (look_ahead(h, thread, at, &a) && a.cause == SONDE_IDLE_COPY && a.begin_ns - call_ns <= NEAR_NS)
		return &h->calls[at.call];
	return NULL;
}

/*
 * The time at which work had been launched: at the end of a copy's call; a launch call has no end, so there at the next
 * call of its thread. It is never earlier than LATENCY_NS after the beginning of the call, as work needs a moment to start.
 */
static uint64_t find_return(const struct sonde_hosts *h, const struct sonde_gap_ends *gap,
	uint64_t call_ns, bool is_copy)
{
	uint32_t thread = h->thread_of[gap->after];
	struct moment at = find_moment(h, thread, call_ns);
	const struct sonde_act *own = is_copy ? find_copy_call(h, thread, at, call_ns) : NULL;
	uint64_t soon = call_ns + LATENCY_NS;
	struct sonde_act a = {0};

	if (own)
		return own->end_ns > soon ? own->end_ns : soon;
	/*
	 * Without a later call: a launch called inside the gap took to the end of the gap; an earlier one had been
	 * waiting.
	 */
	if (!look_ahead(h, thread, at, &a))
		return call_ns > gap->from_ns ? gap->to_ns : soon;
	return a.begin_ns > soon ? a.begin_ns : soon;
}

static uint64_t clamp_to_gap(uint64_t ns, const struct sonde_gap_ends *gap)
{
	return ns < gap->from_ns ? gap->from_ns : ns > gap->to_ns ? gap->to_ns : ns;
}

void sonde_hosts__explain(const struct sonde_hosts *h, const struct sonde_gap_ends *gap,
	uint64_t by[SONDE_NR_IDLE_CAUSES])
{
	const struct sonde_record *after = &h->r->records.at[gap->after];
	bool is_copy = after->kind == SONDE_RESULT_MEMCPY || after->kind == SONDE_RESULT_MEMSET;
	struct stretch s = {gap->from_ns, clamp_to_gap(after->call_ns, gap), h->thread_of[gap->after],
		h->thread_of[gap->before],
		h->has_calls[sonde_record_caller(h->r, after)->process] ? SONDE_IDLE_HOST
									: SONDE_IDLE_UNKNOWN};
	uint64_t returned;

	if (s.thread == SONDE_NONE) {
		by[SONDE_IDLE_UNKNOWN] += gap->to_ns - gap->from_ns;
		return;
	}
	returned = clamp_to_gap(find_return(h, gap, after->call_ns, is_copy), gap); /* then kernels and copies alike are queued */
	by[SONDE_IDLE_QUEUED] += gap->to_ns - returned;
	by[is_copy ? SONDE_IDLE_COPY : SONDE_IDLE_LAUNCH] += returned - s.to_ns;
	s.other = s.other == s.thread ? SONDE_NONE : s.other;
	explain_backwards(h, s, by);
}

/* --- gaps ---------------------------------------------------------------------------------------- */

static_assert((int)SONDE_CAUSE_NOT_TOLD == SONDE_IDLE_UNKNOWN && SONDE_IDLE_UNKNOWN + 1 == SONDE_NR_IDLE_CAUSES, "causes begin with these");

const char *sonde_idle_cause_name(enum sonde_idle_cause c)
{
	return sonde_causes[c].name;
}

const char *sonde_idle_cause_words(enum sonde_idle_cause c)
{
	return sonde_causes[c].why;
}

bool sonde_gaps__init(struct sonde_gaps *g, const struct sonde_launches *l)
{
	*g = (struct sonde_gaps){.l = l};
	return sonde_hosts__init(&g->hosts, l->records);
}

void sonde_gaps__release(struct sonde_gaps *g)
{
	sonde_hosts__release(&g->hosts);
	sonde_vec_release(&g->sums);
}

static uint8_t main_cause(const uint64_t by[SONDE_NR_IDLE_CAUSES])
{
	uint8_t cause = 0, i;

	for (i = 1; i < SONDE_NR_IDLE_CAUSES; i++)
		cause = by[i] > by[cause] ? i : cause;
	return cause;
}

/* Keeps the longest gaps, longest first; of two equal ones the earlier comes first. */
static void note_longest(
	struct sonde_gaps *g, const struct sonde_gap_ends *ends, const uint64_t *by)
{
	uint64_t ns = ends->to_ns - ends->from_ns;
	size_t at = g->nr_longest;

	while (at && g->longest[at - 1].gap.ns < ns)
		at--;
	if (at == SONDE_NR_GAPS)
		return;
	g->nr_longest += g->nr_longest < SONDE_NR_GAPS;
	memmove(&g->longest[at + 1], &g->longest[at],
		(g->nr_longest - at - 1) * sizeof(*g->longest));
	g->longest[at] = (struct sonde_long_gap){{.cause = main_cause(by),
							 .begin_ns = ends->from_ns,
							 .ns = ns,
							 .since_ns = ends->from_ns - g->first_ns},
		*ends};
}

static bool add_gap(struct sonde_gaps *g, const struct sonde_gap_ends *ends, bool is_counted)
{
	uint64_t by[SONDE_NR_IDLE_CAUSES] = {0};
	struct sonde_gap_sum *sum = sonde_vec_push(&g->sums);
	size_t i;

	if (!sum || (!g->hosts.launches && !sonde_hosts__sort(&g->hosts)))
		return false;
	if (g->sums.nr > 1)
		*sum = sum[-1];
	sum->from_ns = ends->from_ns;
	sum->total_ns += ends->to_ns - ends->from_ns;
	if (!is_counted)
		return true;
	sonde_hosts__explain(&g->hosts, ends, by);
	sum->counted_ns += ends->to_ns - ends->from_ns;
	for (i = 0; i < SONDE_IDLE_OTHER; i++)
		sum->by[i] += by[i];
	note_longest(g, ends, by);
	return true;
}

/* Counts the gaps, so that `sums` gets its full size at once: while a vector grows, it is in memory twice. */
static size_t count_gaps(const struct sonde_timed_launch *stamps, size_t nr)
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

static bool find_gaps(struct sonde_gaps *g, const struct sonde_timed_launch *stamps, size_t nr)
{
	const struct sonde_record *records = g->l->records->records.at;
	uint32_t last = nr ? stamps[0].launch : 0;
	size_t i, nr_gaps = count_gaps(stamps, nr);

	g->sums.nr = g->nr_longest = 0;
	if (nr_gaps && !sonde_vec_reserve(&g->sums, nr_gaps))
		return false;
	g->first_ns = g->last_ns = nr ? stamps[0].time.start_ns : 0;
	for (i = 0; i < nr; i++) {
		const struct sonde_timed_launch *s = &stamps[i];
		const struct sonde_gap_ends ends = {g->last_ns, s->time.start_ns, last, s->launch};

		enum sonde_when when = records[s->launch].when;

		/*
		 * A gap is counted with the file that has the work after it. Before work of earlier files
		 * (SONDE_BEFORE) there are no gaps, as not all work of those files is known.
		 */
		if (ends.to_ns > ends.from_ns && when != SONDE_BEFORE && !add_gap(g, &ends, when == SONDE_NOW))
			return false;
		if (s->time.end_ns >= g->last_ns) {
			g->last_ns = s->time.end_ns;
			last = s->launch;
		}
	}
	return true;
}

/* The number of gaps that begin before `ns`. */
static size_t gaps_before(const struct sonde_gaps *g, uint64_t ns)
{
	size_t low = 0;

	sonde_bisect(low, g->sums.nr, mid, g->sums.at[mid].from_ns < ns);
	return low;
}

void sonde_gaps__add(
	const struct sonde_gaps *g, struct sonde_times *t, uint64_t from_ns, uint64_t to_ns)
{
	size_t from = gaps_before(g, from_ns), to = gaps_before(g, to_ns), i;
	const struct sonde_gap_sum none = {0},
				   *a = from ? &g->sums.at[from - 1] : &none,
				   *b = to ? &g->sums.at[to - 1] : &none;
	uint64_t rest = b->counted_ns - a->counted_ns;

	for (i = 0; i < SONDE_IDLE_OTHER; i++) {
		t->idle_by[i] += (double)(b->by[i] - a->by[i]);
		rest -= b->by[i] - a->by[i];
	}
	t->idle_by[SONDE_IDLE_UNKNOWN] += (double)rest;
}

static uint64_t gaps_until(const struct sonde_gaps *g, uint64_t ns)
{
	size_t nr = gaps_before(g, ns);
	const struct sonde_gap_sum *last = nr ? &g->sums.at[nr - 1] : NULL;
	uint64_t before = nr > 1 ? last[-1].total_ns : 0, to_ns;
	uint64_t behind = ns > g->last_ns ? ns - g->last_ns : 0; /* time after the last work of the scope */

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

	for (i = 0; i < s.nr; i++) /* parents have smaller numbers than the ranges inside them */
		for (r = members[i]; r != SONDE_NONE && r >= range; r = l->records->ranges.at[r].parent)
			if (r == range)
				return true;
	return false;
}

static uint32_t shown_region_of(const struct sonde_launches *l, uint32_t range)
{
	const struct sonde_range *ranges = l->records->ranges.at;
	uint32_t region = l->region_of.at[range];

	for (; region == SONDE_NONE && ranges[range].parent != SONDE_NONE; region = l->region_of.at[range])
		range = ranges[range].parent;
	return region != SONDE_NONE && l->regions.at[region].is_shown ? region : SONDE_NONE;
}

/* Finds the region of the innermost entry around both ends of the gap, and the region of the work after the gap. */
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
			gap->before = shown_region_of(l, members[i]);
		for (r = members[i]; r != SONDE_NONE && gap->region == SONDE_NONE;
			r = l->records->ranges.at[r].parent)
			if (is_around(l, before, r))
				gap->region = shown_region_of(l, r);
	}
}

/* The counted length of gap `i`: a difference of two running sums, as its causes are too. */
static uint64_t counted_of(const struct sonde_gaps *g, size_t i)
{
	return g->sums.at[i].counted_ns - (i ? g->sums.at[i - 1].counted_ns : 0);
}

/* Adds the gaps that are long enough to be seen to the timeline. */
static bool keep_gaps(const struct sonde_gaps *g, uint32_t scope, struct sonde_timeline *t)
{
	static const struct sonde_gap_sum nothing;
	size_t i, k, nr = t->gaps.nr;

	for (i = 0; i < g->sums.nr; i++)
		nr += counted_of(g, i) >= SONDE_TIMELINE_GAP_NS;
	if (nr > t->gaps.nr && !sonde_vec_reserve(&t->gaps, nr)) /* a vector that grows is in memory twice */
		return false;
	for (i = 0; i < g->sums.nr; i++) {
		const struct sonde_gap_sum *sum = &g->sums.at[i], *last = i ? sum - 1 : &nothing;
		uint64_t ns = counted_of(g, i), by[SONDE_NR_IDLE_CAUSES] = {[SONDE_IDLE_UNKNOWN] = ns};

		if (ns < SONDE_TIMELINE_GAP_NS)
			continue;
		for (k = 0; k < SONDE_IDLE_OTHER; k++) {
			by[k] = sum->by[k] - last->by[k];
			by[SONDE_IDLE_UNKNOWN] -= by[k];
		}
		t->gaps.at[t->gaps.nr++] = (struct sonde_timeline_gap){sum->from_ns, ns, scope, main_cause(by)};
	}
	return true;
}

bool sonde_gaps__scope(struct sonde_gaps *g, const struct sonde_timed_scope *timed, struct sonde_cells *c)
{
	size_t i;

	if (!find_gaps(g, timed->launches, timed->nr_launches) || (c->timeline && !keep_gaps(g, timed->scope, c->timeline)))
		return false;
	for (i = 0; i < g->nr_longest; i++) {
		g->longest[i].gap.scope = timed->scope;
		place_gap(g->l, &g->longest[i].ends, &g->longest[i].gap);
		if (!sonde_vec_put(&c->gaps, g->longest[i].gap))
			return false;
	}
	return true;
}
