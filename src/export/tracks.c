#include "export/tracks.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct build {
	struct sonde_tracks *out;
	const struct sonde_cells *c;
	struct sonde_map keys;
	struct sonde_map names; /* {process, thread} → number in the timeline's threads */
	struct sonde_map threads; /* {process, thread} → number in `thread_tracks`, for threads that have a track */
	SONDE_VEC(uint32_t) thread_tracks;
	uint32_t last[6], last_track; /* the key looked up last, and its track; all 0 at first */
	size_t max_events;
	bool failed;
};

bool sonde_tracks_exist(const struct sonde_tree *t)
{
	return t->cells->has_times && t->cells->timeline;
}

/* The key of a track: one track per value. */
struct key {
	uint32_t kind, process, device, domain;
	uint64_t line; /* number of the thread or stream */
};

/* The name of a thread, after a blank; empty when it has none. */
static struct sonde_str thread_name(struct build *b, const struct key *k)
{
	uint64_t words[2] = {k->process, k->line};
	uint32_t n = sonde_map_find(&b->names, SONDE_BYTES(words));

	if (n == SONDE_NONE)
		return (struct sonde_str){"", 0};
	return sonde_arena_printf(&b->out->arena, " %.*s",
		SONDE_STR_ARG(sonde_cells_str(b->c, b->c->timeline->threads.at[n].name)));
}

/* Each thread has one name, so its number in the map is its number in the timeline. */
static void find_names(struct build *b)
{
	const struct sonde_timeline *t = b->c->timeline;
	uint64_t *words = sonde_arena_calloc(&b->out->arena, t->threads.nr + 1, 16);
	size_t i;

	for (i = 0; words && i < t->threads.nr && !b->failed; i++) {
		struct sonde_str key = {(const char *)&words[2 * i], 16};

		words[2 * i] = t->threads.at[i].process;
		words[2 * i + 1] = t->threads.at[i].thread;
		b->failed = sonde_map_add(&b->names, key, NULL) == SONDE_NONE;
	}
}

static struct sonde_str track_name(struct build *b, const struct key *k)
{
	struct sonde_arena *a = &b->out->arena;
	struct sonde_str name;

	if (k->kind == SONDE_TRACK_STREAM)
		return sonde_arena_printf(a, "GPU %u \u00b7 stream %" PRIu64, k->device, k->line);
	if (k->kind == SONDE_TRACK_STARTS)
		return sonde_arena_printf(a, "start/end ranges");
	if (k->kind == SONDE_TRACK_MARKS)
		return sonde_arena_printf(a, "marks");
	name = thread_name(b, k);
	if (k->domain == SONDE_NONE)
		return sonde_arena_printf(a, "thread %" PRIu64 "%.*s", k->line, SONDE_STR_ARG(name));
	return sonde_arena_printf(a, "thread %" PRIu64 "%.*s \u00b7 %.*s", k->line,
		SONDE_STR_ARG(name), SONDE_STR_ARG(sonde_cells_str(b->c, k->domain)));
}

/* Remembers the first track of a thread, which has one for each domain. False when out of memory. */
static bool note_thread(struct build *b, const struct key *k, uint32_t track)
{
	uint64_t words[2] = {k->process, k->line};
	bool is_new = false;

	if (sonde_map_keep(&b->threads, &b->out->arena, SONDE_BYTES(words), &is_new) == SONDE_NONE)
		return false;
	return !is_new || sonde_vec_put(&b->thread_tracks, track);
}

static uint32_t find_caller(const struct build *b, uint32_t process, uint64_t thread)
{
	uint64_t words[2] = {process, thread};
	uint32_t n = sonde_map_find(&b->threads, SONDE_BYTES(words));

	return n == SONDE_NONE ? SONDE_NONE : b->thread_tracks.at[n];
}

static uint32_t track_of(struct build *b, struct key k)
{
	uint32_t words[6] = {
		k.kind, k.process, k.device, k.domain, (uint32_t)k.line, (uint32_t)(k.line >> 32)};
	bool is_new = false;
	uint32_t number;

	if (b->keys.nr && memcmp(b->last, words, sizeof(words)) == 0)
		return b->last_track; /* most events are on the track of the one before */
	number = sonde_map_keep(&b->keys, &b->out->arena, SONDE_BYTES(words), &is_new);
	memcpy(b->last, words, sizeof(words));
	b->last_track = number;
	if (number == SONDE_NONE || !is_new)
		return number;
	if (k.kind == SONDE_TRACK_THREAD && !note_thread(b, &k, number))
		return SONDE_NONE;
	return sonde_vec_put(&b->out->tracks,
		       (struct sonde_track){(uint8_t)k.kind, k.process, k.device, k.line,
			       track_name(b, &k), 0, 0})
		       ? number
		       : SONDE_NONE;
}

static void add_event(struct build *b, uint32_t track, const struct sonde_track_event *e)
{
	struct sonde_track_event *slot;

	if (b->out->events.nr >= b->max_events) {
		b->out->nr_left_out++;
		return;
	}
	slot = track == SONDE_NONE ? NULL : sonde_vec_push(&b->out->events);
	if (!slot) {
		b->failed = true;
		return;
	}
	*slot = *e;
	slot->track = track;
	if (slot->end_ns < slot->start_ns)
		slot->end_ns = slot->start_ns;
	b->out->tracks.at[track].nr++;
	if (e->start_ns < b->out->first_ns)
		b->out->first_ns = e->start_ns;
	if (slot->end_ns > b->out->last_ns)
		b->out->last_ns = slot->end_ns;
}

static void add_entries(struct build *b)
{
	const struct sonde_timeline *t = b->c->timeline;
	size_t i;

	for (i = 0; i < t->entries.nr && !b->failed; i++) {
		const struct sonde_timeline_entry *e = &t->entries.at[i];
		const struct sonde_region *region = &b->c->regions.at[e->region];
		bool is_start = e->kind == SONDE_START_END;
		struct key key = {is_start ? SONDE_TRACK_STARTS : SONDE_TRACK_THREAD, e->process,
			SONDE_NONE, is_start ? SONDE_NONE : region->domain,
			is_start ? 0 : e->thread};

		if (!region->is_shown)
			continue;
		add_event(b, track_of(b, key),
			&(struct sonde_track_event){
				e->begin_ns, e->end_ns, 0, SONDE_NONE, e->label, e->region, e->arguments, 0});
	}
}

static void add_launches(struct build *b)
{
	const struct sonde_timeline *t = b->c->timeline;
	size_t i;

	for (i = 0; i < t->launches.nr && !b->failed; i++) {
		const struct sonde_timeline_launch *l = &t->launches.at[i];
		const struct sonde_place *place = &b->c->places.at[l->place];
		const struct sonde_scope *scope = &b->c->scopes.at[l->scope];
		struct key key = {SONDE_TRACK_STREAM, scope->process, scope->device, SONDE_NONE,
			l->stream};

		if (!l->end_ns || l->state == SONDE_LAUNCH_NOT_SELECTED)
			continue;
		add_event(b, track_of(b, key),
			&(struct sonde_track_event){l->start_ns, l->end_ns, l->call_ns,
				l->call_ns ? find_caller(b, scope->process, l->thread) : SONDE_NONE, l->kernel,
				place->nr ? b->c->homes.at[place->first] : SONDE_NONE, SONDE_NONE, 0});
	}
}

static void add_marks(struct build *b)
{
	const struct sonde_timeline *t = b->c->timeline;
	size_t i;

	for (i = 0; i < t->marks.nr && !b->failed; i++) {
		const struct sonde_timeline_mark *m = &t->marks.at[i];
		struct key key = {SONDE_TRACK_MARKS, m->process, SONDE_NONE, SONDE_NONE, 0};

		add_event(b, track_of(b, key),
			&(struct sonde_track_event){m->ns, m->ns, 0, SONDE_NONE, m->label, SONDE_NONE, SONDE_NONE, 0});
	}
}

/* Orders tracks by process and kind, then as they appeared: the same input gives the same order. */
static int by_place(const void *pa, const void *pb, void *tracks)
{
	const struct sonde_track *at = tracks;
	uint32_t i = *(const uint32_t *)pa, k = *(const uint32_t *)pb;
	const struct sonde_track *a = &at[i], *b = &at[k];

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->kind != b->kind)
		return (int)a->kind - (int)b->kind;
	return i < k ? -1 : i > k;
}

static int by_start(const void *pa, const void *pb)
{
	const struct sonde_track_event *a = pa, *b = pb;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

static bool are_in_order(const struct sonde_track_event *at, size_t nr)
{
	size_t i;

	for (i = 1; i < nr && by_start(&at[i - 1], &at[i]) <= 0; i++)
		;
	return i >= nr;
}

/* Moves each track's events to its slice, in which they are mostly in order. */
static bool sort_events(struct sonde_tracks *s)
{
	struct sonde_tracks sorted = {0};
	size_t i;

	if (are_in_order(s->events.at, s->events.nr))
		return true;
	if (!sonde_vec_reserve(&sorted.events, s->events.nr))
		return false;
	for (i = 0; i < s->tracks.nr; i++)
		s->tracks.at[i].nr = 0;
	for (i = 0; i < s->events.nr; i++) {
		struct sonde_track *t = &s->tracks.at[s->events.at[i].track];

		sorted.events.at[t->first + t->nr++] = s->events.at[i];
	}
	sorted.events.nr = s->events.nr;
	sonde_vec_release(&s->events);
	s->events = sorted.events;
	for (i = 0; i < s->tracks.nr; i++) {
		struct sonde_track *t = &s->tracks.at[i];

		if (!are_in_order(&s->events.at[t->first], t->nr))
			qsort(&s->events.at[t->first], t->nr, sizeof(*s->events.at), by_start);
	}
	return true;
}

/* Brings tracks and events into order and cuts the events into slices. */
static int order_tracks(struct sonde_tracks *s, struct sonde_err *err)
{
	size_t nr = s->tracks.nr, i, at = 0;
	uint32_t *order = sonde_calloc(nr * 2 + 1, sizeof(*order)), *place = order + nr;
	struct sonde_track *sorted = sonde_calloc(nr + 1, sizeof(*sorted));

	if (!order || !sorted) {
		sonde_free(order);
		sonde_free(sorted);
		return sonde_err_nomem(err);
	}
	for (i = 0; i < nr; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, nr, sizeof(*order), by_place, s->tracks.at);
	for (i = 0; i < nr; i++) {
		sorted[i] = s->tracks.at[order[i]];
		place[order[i]] = (uint32_t)i;
		sorted[i].first = at;
		at += sorted[i].nr;
	}
	for (i = 0; i < nr; i++)
		s->tracks.at[i] = sorted[i];
	for (i = 0; i < s->events.nr; i++) {
		struct sonde_track_event *e = &s->events.at[i];

		e->track = place[e->track];
		if (e->caller != SONDE_NONE)
			e->caller = place[e->caller];
	}
	sonde_free(order);
	sonde_free(sorted);
	return sort_events(s) ? 0 : sonde_err_nomem(err);
}

/* Without events, the samples say how long the time line is. */
static void span_curves(struct sonde_tracks *s, const struct sonde_timeline *t)
{
	size_t i;

	for (i = 0; i < t->points.nr; i++) {
		if (t->points.at[i].start_ns < s->first_ns)
			s->first_ns = t->points.at[i].start_ns;
		if (t->points.at[i].end_ns > s->last_ns)
			s->last_ns = t->points.at[i].end_ns;
	}
	if (!t->points.nr)
		s->first_ns = 0;
}

int sonde_tracks_build(struct sonde_tracks *out, const struct sonde_tree *t, size_t max_events,
	struct sonde_err *err)
{
	struct build b = {.out = out, .c = t->cells, .max_events = max_events};
	int rc;

	*out = (struct sonde_tracks){.first_ns = UINT64_MAX};
	find_names(&b);
	add_entries(&b);
	add_launches(&b);
	add_marks(&b);
	sonde_map_release(&b.keys);
	sonde_map_release(&b.names);
	sonde_map_release(&b.threads);
	sonde_vec_release(&b.thread_tracks);
	if (out->events.nr == 0)
		span_curves(out, t->cells->timeline);
	rc = b.failed || out->arena.failed ? sonde_err_nomem(err) : order_tracks(out, err);
	if (rc)
		sonde_tracks_release(out);
	return rc;
}

void sonde_tracks_release(struct sonde_tracks *s)
{
	sonde_vec_release(&s->tracks);
	sonde_vec_release(&s->events);
	sonde_arena_release(&s->arena);
}
