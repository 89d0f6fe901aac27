/*
 * Why nothing ran, told from what the host did meanwhile.
 *
 * A gap ends with work that some thread called for. What this thread did until
 * then is the cause; what it did not do in CUDA may have been done by the thread
 * that called for the work before the gap, which handed over.
 *
 *     GPU     ██ before ██                                  ██ after ██
 *     host                 sync ────┤   (outside)    launch
 *                          └ sync ──┴── host ────────┴ launch ┘
 */
#include "fold/hosts.h"

#include "base/bisect.h"
#include "base/alloc.h"
#include "base/keysort.h"

#include <string.h>

/*
 * A pause up to this belongs to the call before it. Behind a launch it may be longer: a framework
 * needs 10 to 60 µs for the next one, and that is what launch-bound programs are made of. What is
 * longer than both is no longer the cost of a launch.
 */
#define NEAR_NS	   10000
#define BETWEEN_NS 100000
#define LATENCY_NS 20000 /* from a launch to its start on a device without work, at most */

/* The number of a thread, SONDE_NONE when memory is short. */
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

/* All launches and calls, in no order; how many, or SIZE_MAX: no memory. */
static size_t collect(struct sonde_hosts *h, struct sonde_act *acts)
{
	const struct sonde_records *r = h->r;
	const struct sonde_record *last = NULL;
	uint32_t thread = 0;
	size_t i, nr = 0;

	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record *rec = &r->records.at[i];

		if (!rec->call_ns)
			continue;
		if (!last || last->thread != rec->thread || last->process != rec->process)
			thread = find_thread(h, rec->process, rec->thread);
		if (thread == SONDE_NONE)
			return SIZE_MAX;
		h->thread_of[i] = thread;
		if (nr && acts[nr - 1].thread == thread && acts[nr - 1].begin_ns == rec->call_ns)
			continue; /* one launch of a graph, its many kernels */
		acts[nr++] = (struct sonde_act){
			rec->call_ns, rec->call_ns, thread, SONDE_IDLE_LAUNCH};
		last = rec;
	}
	for (i = 0; i < r->calls.nr; i++) {
		const struct sonde_call *c = &r->calls.at[i];

		thread = find_thread(h, c->process, c->thread);
		if (thread == SONDE_NONE)
			return SIZE_MAX;
		h->has_calls[c->process] = true;
		acts[nr++] = (struct sonde_act){c->begin_ns,
			c->end_ns > c->begin_ns ? c->end_ns : c->begin_ns, thread,
			cause_of[c->kind]};
	}
	return nr;
}

/* Sorted by begin, they go to their threads one by one. */
static bool arrange(struct sonde_hosts *h, struct sonde_act *acts, size_t nr)
{
	size_t i;

	h->first = sonde_calloc(h->threads.nr + 2, sizeof(*h->first));
	h->acts = sonde_malloc((nr + 1) * sizeof(*h->acts));
	if (!h->first || !h->acts || !sonde_keysort(acts, nr))
		return false;
	for (i = 0; i < nr; i++)
		h->first[acts[i].thread + 2]++;
	for (i = 2; i < h->threads.nr + 2; i++)
		h->first[i] += h->first[i - 1];
	for (i = 0; i < nr; i++)
		h->acts[h->first[acts[i].thread + 1]++] = acts[i];
	return true;
}

int sonde_hosts__init(struct sonde_hosts *h, const struct sonde_records *r, struct sonde_err *err)
{
	struct sonde_act *acts = sonde_malloc((r->records.nr + r->calls.nr + 1) * sizeof(*acts));
	size_t nr = SIZE_MAX, i;
	bool ok;

	*h = (struct sonde_hosts){.r = r};
	h->thread_of = sonde_malloc((r->records.nr + 1) * sizeof(*h->thread_of));
	h->has_calls = sonde_calloc(r->processes.nr + 1, sizeof(*h->has_calls));
	if (acts && h->thread_of && h->has_calls) {
		memset(h->thread_of, 0xff, r->records.nr * sizeof(*h->thread_of));
		for (i = 0; i < r->processes.nr; i++)
			h->has_calls[i] = r->processes.at[i].has_calls;
		nr = collect(h, acts);
	}
	ok = nr != SIZE_MAX && arrange(h, acts, nr);
	sonde_free(acts);
	return ok ? 0 : sonde_err_nomem(err);
}

void sonde_hosts__release(struct sonde_hosts *h)
{
	sonde_free(h->acts);
	sonde_free(h->first);
	sonde_free(h->thread_of);
	sonde_free(h->has_calls);
	sonde_map_release(&h->threads);
	sonde_arena_release(&h->arena);
}

/* How many acts of a thread begin at or before `ns`, as the number behind the last of them. */
static size_t acts_until(const struct sonde_hosts *h, uint32_t thread, uint64_t ns)
{
	size_t low = h->first[thread];

	sonde_bisect(low, h->first[thread + 1], mid, h->acts[mid].begin_ns <= ns);
	return low;
}

/* One stretch of a gap, the thread to look at, and the one that may have handed over to it. */
struct stretch {
	uint64_t from_ns, to_ns;
	uint32_t thread, other; /* SONDE_NONE = none */
	uint8_t outside;	/* the cause where neither did anything */
};

static void walk(const struct sonde_hosts *h, struct stretch s, uint64_t *by);

/* Nothing of the thread in CUDA: perhaps the other one did something. */
static void pause(const struct sonde_hosts *h, struct stretch s, uint64_t *by)
{
	if (s.from_ns >= s.to_ns)
		return;
	if (s.other == SONDE_NONE) {
		by[s.outside] += s.to_ns - s.from_ns;
		return;
	}
	s.thread = s.other;
	s.other = SONDE_NONE;
	walk(h, s, by);
}

/* From the end of the stretch backwards, act by act, each with the pause behind it. */
static void walk(const struct sonde_hosts *h, struct stretch s, uint64_t *by)
{
	size_t i = acts_until(h, s.thread, s.to_ns), first = h->first[s.thread];

	while (s.to_ns > s.from_ns && i-- > first) {
		const struct sonde_act *a = &h->acts[i];
		uint64_t end = a->end_ns < s.to_ns ? a->end_ns : s.to_ns;
		uint64_t begin = a->begin_ns > s.from_ns ? a->begin_ns : s.from_ns;

		if (s.to_ns - end > (a->cause == SONDE_IDLE_LAUNCH ? BETWEEN_NS : NEAR_NS)) {
			struct stretch behind = s;

			behind.from_ns = end > s.from_ns ? end : s.from_ns;
			pause(h, behind, by);
			s.to_ns = behind.from_ns;
		}
		if (begin < s.to_ns) {
			by[a->cause] += s.to_ns - begin;
			s.to_ns = begin;
		}
	}
	pause(h, s, by);
}

/*
 * When the call for work had returned, as far as is known: a copy has an end, and a launch has
 * returned when its thread does the next thing. Work takes a moment to start in any case.
 */
static uint64_t find_return(const struct sonde_hosts *h, const struct sonde_gap_ends *gap,
	uint64_t call_ns, bool is_copy)
{
	uint32_t thread = h->thread_of[gap->after];
	size_t next = acts_until(h, thread, call_ns);
	uint64_t soon = call_ns + LATENCY_NS;
	const struct sonde_act *a = &h->acts[next];

	if (next == h->first[thread + 1]) /* it did nothing more: was the work waiting already? */
		return call_ns > gap->from_ns ? gap->to_ns : soon;
	if (is_copy && a->cause == SONDE_IDLE_COPY)
		return a->end_ns > soon ? a->end_ns : soon;
	return a->begin_ns > soon ? a->begin_ns : soon;
}

static uint64_t clamp(uint64_t ns, const struct sonde_gap_ends *gap)
{
	return ns < gap->from_ns ? gap->from_ns : ns > gap->to_ns ? gap->to_ns : ns;
}

void sonde_hosts__explain(const struct sonde_hosts *h, const struct sonde_gap_ends *gap,
	uint64_t by[SONDE_NR_IDLE_CAUSES])
{
	const struct sonde_record *after = &h->r->records.at[gap->after];
	bool is_copy = after->kind == SONDE_RESULT_MEMCPY || after->kind == SONDE_RESULT_MEMSET;
	struct stretch s = {gap->from_ns, clamp(after->call_ns, gap), h->thread_of[gap->after],
		h->thread_of[gap->before],
		h->has_calls[after->process] ? SONDE_IDLE_HOST : SONDE_IDLE_UNKNOWN};
	uint64_t returned;

	if (s.thread == SONDE_NONE) {
		by[SONDE_IDLE_UNKNOWN] += gap->to_ns - gap->from_ns;
		return;
	}
	returned = clamp(find_return(h, gap, after->call_ns, is_copy), gap);
	by[SONDE_IDLE_QUEUED] += gap->to_ns - returned;
	by[is_copy ? SONDE_IDLE_COPY : SONDE_IDLE_LAUNCH] += returned - s.to_ns;
	s.other = s.other == s.thread ? SONDE_NONE : s.other;
	walk(h, s, by);
}
