/* Start/end ranges: which stop ends which start, and which were open at each launch. */
#include "base/alloc.h"
#include "read/native_int.h"

#include <string.h>

static void match_stop(struct native *n, struct native_edge *stop, uint32_t start)
{
	struct sonde_range_time *time =
		start == SONDE_NONE ? NULL : &n->r->ranges.at[n->edges.at[start].range].time;

	if (!time || time->end_ns) {
		n->counts.orphan_stops++;
		stop->start = SONDE_NONE;
		return;
	}
	stop->start = start;
	time->end_ns = stop->ns > time->begin_ns ? stop->ns : time->begin_ns + 1;
	stop->ns = time->end_ns; /* behind its start in the order of time, too */
}

static bool match_edges(struct native *n)
{
	struct native_timed *starts, *stops;
	size_t i, nr_starts = 0, nr_stops = 0;
	bool ok;

	starts = sonde_malloc(n->edges.nr * sizeof(*starts));
	stops = sonde_malloc(n->edges.nr * sizeof(*stops));
	ok = starts && stops && n->edges.nr < SONDE_NONE;
	for (i = 0; i < n->edges.nr && ok; i++) {
		struct native_timed t = {n->edges.at[i].key, (uint32_t)i};

		if (n->edges.at[i].is_stop)
			stops[nr_stops++] = t;
		else
			starts[nr_starts++] = t;
	}
	ok = ok && sonde_native__sort(starts, nr_starts) && sonde_native__sort(stops, nr_stops);
	for (size_t k = i = 0; k < nr_stops && ok; k++)
		match_stop(n, &n->edges.at[stops[k].index],
			sonde_native__last_with_key(starts, nr_starts, &i, stops[k].key));
	for (i = 0; i < n->edges.nr && ok; i++)
		n->counts.unstopped +=
			!n->edges.at[i].is_stop && !n->r->ranges.at[n->edges.at[i].range].time.end_ns;
	sonde_free(starts);
	sonde_free(stops);
	return ok;
}

/* The open ones in order of their start: a ring of edges, so that each ends in no time. */
struct link {
	uint32_t prev, next; /* SONDE_NONE = not open */
};

struct sweep {
	struct native *n;
	struct link *links; /* by edge; the last is the ring's head */
	uint32_t nr_open;
	SONDE_VEC(uint32_t) members; /* scratch */
	uint32_t plain, made;	     /* the last set asked for, and what came of it */
	bool changed;
};

static bool sweep_init(struct sweep *s)
{
	uint32_t head = (uint32_t)s->n->edges.nr;

	s->links = sonde_malloc(((size_t)head + 1) * sizeof(*s->links));
	if (!s->links)
		return false;
	memset(s->links, 0xff, head * sizeof(*s->links));
	s->links[head] = (struct link){head, head};
	return true;
}

static void sweep_edge(struct sweep *s, uint32_t edge)
{
	const struct native_edge *e = &s->n->edges.at[edge];
	uint32_t head = (uint32_t)s->n->edges.nr, last = s->links[head].prev;
	struct link *at;

	if (!e->is_stop) {
		s->links[edge] = (struct link){last, head};
		s->links[last].next = s->links[head].prev = edge;
		s->nr_open++;
	} else {
		at = e->start == SONDE_NONE ? NULL : &s->links[e->start];
		if (!at || at->next == SONDE_NONE)
			return;
		s->links[at->prev].next = at->next;
		s->links[at->next].prev = at->prev;
		*at = (struct link){SONDE_NONE, SONDE_NONE};
		s->nr_open--;
	}
	s->changed = true;
}

/* The set `plain` with the open start/end ranges added. */
static uint32_t sweep_set(struct sweep *s, uint32_t plain)
{
	struct sonde_records *r = s->n->r;
	struct sonde_set set = r->sets.at[plain];
	uint32_t head = (uint32_t)s->n->edges.nr, edge;

	if (!s->nr_open)
		return plain;
	if (!s->changed && plain == s->plain)
		return s->made;
	if (r->members.nr > NATIVE_MAX_MEMBERS) {
		s->n->counts.sets_cut++;
		return plain;
	}
	if (!sonde_vec_reserve(&s->members, set.nr + s->nr_open))
		return SONDE_NONE;
	if (set.nr)
		memcpy(s->members.at, &r->members.at[set.first], set.nr * sizeof(uint32_t));
	s->members.nr = set.nr;
	for (edge = s->links[head].next; edge != head; edge = s->links[edge].next)
		s->members.at[s->members.nr++] = s->n->edges.at[edge].range;
	s->plain = plain;
	s->changed = false;
	s->made = sonde_records__set(r, s->members.at, s->members.nr);
	return s->made;
}

/* In order of time. Launches of one thread are already. */
static struct native_timed *edges_in_order(const struct native *n)
{
	struct native_timed *t = sonde_malloc((n->edges.nr + 1) * sizeof(*t));
	size_t i;

	for (i = 0; t && i < n->edges.nr; i++)
		t[i] = (struct native_timed){n->edges.at[i].ns, (uint32_t)i};
	if (t && !sonde_native__sort(t, n->edges.nr)) {
		sonde_free(t);
		return NULL;
	}
	return t;
}

static struct native_timed *launches_in_order(const struct native *n)
{
	struct native_timed *t = sonde_malloc((n->launches.nr + 1) * sizeof(*t));
	size_t i;

	for (i = 0; t && i < n->launches.nr; i++)
		t[i] = (struct native_timed){n->launches.at[i].ns, (uint32_t)i};
	if (t && !sonde_native__sort(t, n->launches.nr)) {
		sonde_free(t);
		return NULL;
	}
	return t;
}

static bool add_starts_to_sets(struct native *n)
{
	struct sweep s = {.n = n, .plain = SONDE_NONE};
	struct native_timed *edges, *launches;
	size_t i, k = 0;
	bool ok;

	if (!n->launches.nr)
		return true;
	edges = edges_in_order(n);
	launches = n->launches.nr < SONDE_NONE ? launches_in_order(n) : NULL;
	ok = edges && launches && sweep_init(&s);
	for (i = 0; ok && i < n->launches.nr; i++) {
		struct native_launch *l = &n->launches.at[launches[i].index];

		while (k < n->edges.nr && edges[k].key <= launches[i].key)
			sweep_edge(&s, edges[k++].index);
		l->set = sweep_set(&s, l->set);
		ok = l->set != SONDE_NONE;
	}
	sonde_free(s.links);
	sonde_vec_release(&s.members);
	sonde_free(edges);
	sonde_free(launches);
	return ok;
}

bool sonde_native__edges(struct native *n)
{
	return !n->edges.nr || (match_edges(n) && add_starts_to_sets(n));
}
