/*
 * Which start/end ranges were open at each launch: a sweep over both in order of
 * time.
 *
 * A launch counts once per label, and in every open entry of it. A set has at
 * most MAX_LABELS labels, the last ones begun, and MAX_ENTRIES entries of each:
 * the sets of a program that never ends its ranges would otherwise grow with the
 * square of time.
 */
#include "base/alloc.h"
#include "read/source.h"
#include "read/start_end.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LABELS  256
#define MAX_ENTRIES 16
#define MAX_MEMBERS (1u << 27) /* of all sets together: 512 MiB; beyond, a launch gets one such entry only */

struct edge {
	uint64_t ns;
	uint32_t process, range;
	bool is_end;
};

/* The open entries of one label, oldest first; and the label's place in the list of labels with open entries. */
struct label {
	uint32_t first, last;  /* ranges, SONDE_NONE = none */
	uint32_t older, newer; /* labels, SONDE_NONE = none */
};

struct link {
	uint32_t older, newer; /* entries of the same label */
};

struct sonde_starts {
	struct sonde_arena arena;
	struct sonde_records *r;
	uint32_t first_range;
	struct sonde_map keys; /* {process, domain, label} */
	SONDE_VEC(struct label) labels;
	SONDE_VEC(struct edge) edges;
	struct link *links;  /* by range number - first_range */
	uint32_t *label_of;  /* by range number - first_range */
	size_t next;	     /* number of the next edge */
	uint32_t process;    /* process of the last launch … */
	uint64_t ns;	     /* … and its time */
	uint32_t newest;     /* label begun last, SONDE_NONE = none is open */
	uint32_t nr_open;    /* number of open labels */
	uint32_t last_asked, last_made; /* the set asked for last, and the set returned for it */
	bool has_changed;
	SONDE_VEC(uint32_t) members;
	uint64_t nr_cut;
};

/* At equal times, ends sort last: a range that begins and ends at once was open. */
static int by_time(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;
	int c = sonde_cmp(a->process, b->process);

	c = c ? c : sonde_cmp(a->ns, b->ns);
	c = c ? c : sonde_cmp(a->is_end, b->is_end);
	return c ? c : sonde_cmp(a->range, b->range);
}

static void add_range(struct sonde_starts *s, uint32_t range)
{
	const struct sonde_range *g = &s->r->ranges.at[range];
	uint32_t key[3] = {g->process, g->domain, g->label};
	uint64_t begin = g->time.begin_ns, end = g->time.end_ns;
	bool is_new;

	s->label_of[range - s->first_range] = sonde_intern_copy(&s->arena, &s->keys, SONDE_BYTES(key), &is_new);
	if (is_new)
		sonde_put(&s->arena, &s->labels, (struct label){.first = SONDE_NONE, .last = SONDE_NONE});
	sonde_put(&s->arena, &s->edges, (struct edge){begin, g->process, range, false});
	if (end) /* never before its begin, whatever the times are: `end_entry` relies on that */
		sonde_put(&s->arena, &s->edges, (struct edge){end > begin ? end : begin, g->process, range, true});
}

static void collect_edges(struct sonde_starts *s)
{
	size_t nr = s->r->ranges.nr - s->first_range;
	uint32_t i;

	s->links = sonde_arena_alloc(&s->arena, nr * sizeof(*s->links));
	s->label_of = sonde_arena_alloc(&s->arena, nr * sizeof(*s->label_of));
	for (i = s->first_range; i < s->r->ranges.nr && !s->arena.failed; i++)
		if (s->r->ranges.at[i].kind == SONDE_START_END &&
			(s->r->ranges.at[i].time.begin_ns || s->r->ranges.at[i].time.end_ns))
			add_range(s, i);
	sonde_vec_sort(&s->edges, by_time);
}

static void open_label(struct sonde_starts *s, uint32_t n)
{
	s->labels.at[n].older = s->newest;
	s->labels.at[n].newer = SONDE_NONE;
	if (s->newest != SONDE_NONE)
		s->labels.at[s->newest].newer = n;
	s->newest = n;
	s->nr_open++;
	s->has_changed = true;
}

static void close_label(struct sonde_starts *s, uint32_t n)
{
	const struct label *l = &s->labels.at[n];

	if (l->older != SONDE_NONE)
		s->labels.at[l->older].newer = l->newer;
	if (l->newer != SONDE_NONE)
		s->labels.at[l->newer].older = l->older;
	else
		s->newest = l->older;
	s->nr_open--;
	s->has_changed = true;
}

static void begin_entry(struct sonde_starts *s, uint32_t range)
{
	uint32_t n = s->label_of[range - s->first_range];
	struct label *l = &s->labels.at[n];

	s->links[range - s->first_range] = (struct link){l->last, SONDE_NONE};
	if (l->last == SONDE_NONE) {
		l->first = range;
		open_label(s, n);
	} else {
		s->links[l->last - s->first_range].newer = range;
	}
	l->last = range;
	s->has_changed = true;
}

static void end_entry(struct sonde_starts *s, uint32_t range)
{
	uint32_t n = s->label_of[range - s->first_range];
	const struct link *at = &s->links[range - s->first_range];
	struct label *l = &s->labels.at[n];

	s->has_changed = true;
	if (at->older != SONDE_NONE)
		s->links[at->older - s->first_range].newer = at->newer;
	else
		l->first = at->newer;
	if (at->newer != SONDE_NONE)
		s->links[at->newer - s->first_range].older = at->older;
	else
		l->last = at->older;
	if (l->first == SONDE_NONE)
		close_label(s, n);
}

/*
 * Fills `at` backwards from `end` with the entries begun last, of the labels begun last; returns the index of the first
 * one filled.
 */
static size_t list_open(const struct sonde_starts *s, uint32_t *at, size_t end, uint32_t labels, uint32_t entries)
{
	uint32_t n = s->newest, range, i, k;

	for (i = 0; i < labels; i++, n = s->labels.at[n].older) {
		range = s->labels.at[n].last;
		for (k = 0; k < entries && range != SONDE_NONE; k++) {
			at[--end] = range;
			range = s->links[range - s->first_range].older;
		}
	}
	return end;
}

/* Returns the set `plain` with the open start/end ranges added, label by label in order of their start. */
static uint32_t make_set(struct sonde_starts *s, uint32_t plain)
{
	struct sonde_records *r = s->r;
	struct sonde_set set = r->sets.at[plain];
	bool is_full = r->members.nr > MAX_MEMBERS;
	uint32_t max = is_full ? 1 : MAX_LABELS, entries = is_full ? 1 : MAX_ENTRIES;
	uint32_t labels = s->nr_open < max ? s->nr_open : max;
	size_t end = set.nr + (size_t)labels * entries, first;

	if (!labels)
		return plain;
	s->nr_cut += s->nr_open > max;
	if (!s->has_changed && plain == s->last_asked)
		return s->last_made;
	if (!sonde_reserve(&s->arena, &s->members, end)) {
		r->arena.failed = true;
		return 0;
	}
	first = list_open(s, s->members.at, end, labels, entries) - set.nr;
	if (set.nr)
		memcpy(&s->members.at[first], &r->members.at[set.first], set.nr * sizeof(uint32_t));
	s->last_asked = plain;
	s->has_changed = false;
	s->last_made = sonde_records__set(r, &s->members.at[first], end - first);
	return s->last_made;
}

static void reset_sweep(struct sonde_starts *s)
{
	while (s->newest != SONDE_NONE) {
		struct label *l = &s->labels.at[s->newest];

		l->first = l->last = SONDE_NONE;
		s->newest = l->older;
	}
	s->nr_open = 0;
	s->has_changed = true;
}

uint32_t sonde_starts__open_at(
	struct sonde_starts *s, uint32_t process, uint64_t ns, uint32_t set)
{
	bool is_back = process < s->process || (process == s->process && ns < s->ns);

	if (process != s->process || is_back)
		reset_sweep(s);
	if (is_back)
		s->next = 0;
	s->process = process;
	s->ns = ns;
	for (; s->next < s->edges.nr; s->next++) {
		const struct edge *e = &s->edges.at[s->next];

		if (e->process > process || (e->process == process && e->ns > ns))
			break;
		if (e->process < process)
			continue; /* a range of an earlier process, which has no launch left to ask about */
		if (e->is_end)
			end_entry(s, e->range);
		else
			begin_entry(s, e->range);
	}
	return make_set(s, set);
}

struct sonde_starts *sonde_starts__build(struct sonde_records *r, uint32_t first_range)
{
	struct sonde_starts *s = sonde_calloc(1, sizeof(*s));

	r->arena.failed |= !s;
	if (!s)
		return NULL;
	s->r = r;
	s->first_range = first_range;
	s->newest = s->last_asked = s->process = SONDE_NONE;
	collect_edges(s);
	r->arena.failed |= s->arena.failed;
	if (!r->arena.failed)
		return s;
	sonde_starts__free(s);
	return NULL;
}

uint64_t sonde_starts__free(struct sonde_starts *s)
{
	uint64_t nr_cut = s ? s->nr_cut : 0;

	if (s)
		sonde_arena_release(&s->arena);
	sonde_free(s);
	return nr_cut;
}
