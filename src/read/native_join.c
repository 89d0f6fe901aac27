/*
 * Putting the parts together: which launch made which work, which start/end
 * ranges were open at it, and the records in order of launch.
 */
#include "base/alloc.h"
#include "read/native_int.h"

#include <string.h>

/*
 * Matching by number goes by sorting, which no choice of numbers makes slow. The last of
 * `t` with `key`, SONDE_NONE when there is none; to be asked for ever larger keys, from `*i` 0.
 */
static uint32_t last_with_key(const struct native_timed *t, size_t nr, size_t *i, uint64_t key)
{
	while (*i < nr && t[*i].key <= key)
		++*i;
	return *i && t[*i - 1].key == key ? t[*i - 1].index : SONDE_NONE;
}

/* --- start/end ranges
 * ------------------------------------------------------------------------------ */

static void match_stop(struct native *n, struct native_edge *stop, uint32_t start)
{
	struct sonde_range_time *times = n->r->range_times.at;

	stop->range = start == SONDE_NONE ? SONDE_NONE : n->edges.at[start].range;
	if (stop->range == SONDE_NONE || times[stop->range].end_ns) {
		n->counts.orphan_stops++;
		stop->range = SONDE_NONE;
		return;
	}
	times[stop->range].end_ns =
		stop->ns > times[stop->range].begin_ns ? stop->ns : times[stop->range].begin_ns + 1;
}

static bool match_edges(struct native *n)
{
	const struct sonde_range_time *times = n->r->range_times.at;
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
			last_with_key(starts, nr_starts, &i, stops[k].key));
	for (i = 0; i < n->edges.nr && ok; i++)
		n->counts.unstopped +=
			!n->edges.at[i].is_stop && !times[n->edges.at[i].range].end_ns;
	sonde_free(starts);
	sonde_free(stops);
	return ok;
}

struct sweep {
	struct native *n;
	SONDE_VEC(uint32_t) open;    /* ranges, in order of their start */
	SONDE_VEC(uint32_t) members; /* scratch */
	uint32_t plain, made;	     /* the last set asked for, and what came of it */
	bool changed;
};

static bool sweep_edge(struct sweep *s, const struct native_edge *e)
{
	uint32_t *at;
	size_t i;

	if (e->range == SONDE_NONE)
		return true;
	s->changed = true;
	if (!e->is_stop) {
		at = sonde_vec_push(&s->open);
		if (at)
			*at = e->range;
		return at != NULL;
	}
	for (i = 0; i < s->open.nr && s->open.at[i] != e->range; i++)
		;
	if (i < s->open.nr) {
		s->open.nr--;
		memmove(&s->open.at[i], &s->open.at[i + 1], (s->open.nr - i) * sizeof(*s->open.at));
	}
	return true;
}

/* The set `plain` with the open start/end ranges added. */
static uint32_t sweep_set(struct sweep *s, uint32_t plain)
{
	struct sonde_records *r = s->n->r;
	struct sonde_set set = r->sets.at[plain];

	if (!s->open.nr)
		return plain;
	if (!s->changed && plain == s->plain)
		return s->made;
	if (r->members.nr > NATIVE_MAX_MEMBERS) {
		s->n->counts.sets_cut++;
		return plain;
	}
	if (!sonde_vec_reserve(&s->members, set.nr + s->open.nr))
		return SONDE_NONE;
	if (set.nr)
		memcpy(s->members.at, &r->members.at[set.first], set.nr * sizeof(uint32_t));
	memcpy(s->members.at + set.nr, s->open.at, s->open.nr * sizeof(uint32_t));
	s->plain = plain;
	s->changed = false;
	s->made = sonde_records__set(r, s->members.at, set.nr + s->open.nr);
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

static int add_starts_to_sets(struct native *n)
{
	struct sweep s = {.n = n, .plain = SONDE_NONE};
	struct native_timed *edges, *launches;
	size_t i, k = 0;
	bool ok;

	if (!n->edges.nr || !n->launches.nr)
		return 0;
	edges = n->edges.nr < SONDE_NONE ? edges_in_order(n) : NULL;
	launches = n->launches.nr < SONDE_NONE ? launches_in_order(n) : NULL;
	ok = edges && launches;
	for (i = 0; ok && i < n->launches.nr; i++) {
		struct native_launch *l = &n->launches.at[launches[i].index];

		while (ok && k < n->edges.nr && edges[k].key <= launches[i].key)
			ok = sweep_edge(&s, &n->edges.at[edges[k++].index]);
		if (ok)
			l->set = sweep_set(&s, l->set);
		ok = ok && l->set != SONDE_NONE;
	}
	sonde_vec_release(&s.open);
	sonde_vec_release(&s.members);
	sonde_free(edges);
	sonde_free(launches);
	return ok ? 0 : SONDE_ERR_NOMEM;
}

/* --- records
 * ---------------------------------------------------------------------------------------- */

/* The launch of each correlation id, in a plain array: ids of one run lie close together. */
static bool match_by_array(struct native *n, uint32_t least, size_t nr)
{
	uint32_t *launch_of = sonde_malloc(nr * sizeof(*launch_of));
	size_t i;

	if (!launch_of)
		return false;
	memset(launch_of, 0xff, nr * sizeof(*launch_of));
	for (i = 0; i < n->launches.nr; i++)
		launch_of[n->launches.at[i].correlation - least] = (uint32_t)i;
	for (i = 0; i < n->works.nr; i++) {
		struct native_work *w = &n->works.at[i];

		if (w->correlation >= least && w->correlation - least < nr)
			w->launch = launch_of[w->correlation - least];
	}
	sonde_free(launch_of);
	return true;
}

static bool match_by_sorting(struct native *n)
{
	struct native_timed *launches = sonde_malloc((n->launches.nr + 1) * sizeof(*launches));
	struct native_timed *works = sonde_malloc((n->works.nr + 1) * sizeof(*works));
	bool ok = launches && works && n->launches.nr < SONDE_NONE && n->works.nr < SONDE_NONE;
	size_t i, k;

	for (i = 0; i < n->launches.nr && ok; i++)
		launches[i] = (struct native_timed){n->launches.at[i].correlation, (uint32_t)i};
	for (i = 0; i < n->works.nr && ok; i++)
		works[i] = (struct native_timed){n->works.at[i].correlation, (uint32_t)i};
	ok = ok && sonde_native__sort(launches, n->launches.nr) &&
	     sonde_native__sort(works, n->works.nr);
	for (i = k = 0; k < n->works.nr && ok; k++)
		n->works.at[works[k].index].launch =
			last_with_key(launches, n->launches.nr, &i, works[k].key);
	sonde_free(launches);
	sonde_free(works);
	return ok;
}

static bool match_launches(struct native *n)
{
	uint32_t least = UINT32_MAX, most = 0;
	size_t i, nr;
	bool ok;

	for (i = 0; i < n->launches.nr; i++) {
		uint32_t id = n->launches.at[i].correlation;

		least = id < least ? id : least;
		most = id > most ? id : most;
	}
	nr = n->launches.nr ? (size_t)most - least + 1 : 0;
	ok = nr / 8 <= n->launches.nr ? match_by_array(n, least, nr) : match_by_sorting(n);
	for (i = 0; i < n->works.nr && ok; i++) {
		struct native_work *w = &n->works.at[i];

		if (!w->correlation)
			w->launch = SONDE_NONE;
		n->counts.no_launch += w->launch == SONDE_NONE;
	}
	return ok;
}

struct names {
	uint32_t function, full;
};

static bool kernel_names(struct native *n, uint32_t mangled, struct names *out)
{
	struct sonde_str full = sonde_records_str(n->r, mangled), function;

	full = sonde_demangle(&n->r->arena, full);
	function = sonde_demangle_function(full);
	out->full = sonde_records__string(n->r, full);
	out->function = sonde_records__string(n->r, function);
	return out->full != SONDE_NONE && out->function != SONDE_NONE;
}

/* The label of a kernel, again: it was checked when the event was first read. */
static uint32_t kernel_label(struct native *n, const struct native_work *w)
{
	const uint8_t *base = (const uint8_t *)n->src->file.data.p, *p = base + w->payload;
	const uint8_t *end = base + n->src->file.data.n;
	uint64_t f[2] = {0};

	if (!(w->type & SONDE_EVENT_INLINE)) {
		sonde_native__numbers(p, end, f, 1);
		return sonde_native__string(n, f[0]);
	}
	p = sonde_native__numbers(p, end, f, 2);
	return sonde_records__string(n->r, sonde_native__text(p, f[1]));
}

/* The names of each kernel met so far, so that each is demangled once. */
struct name_table {
	struct sonde_map known; /* mangled names */
	SONDE_VEC(struct names) names;
	uint32_t last, number; /* the label last asked for, plus one, and what it was */
};

static bool name_kernel(struct native *n, struct name_table *t, struct sonde_record *rec)
{
	const struct native_work w = {.payload = rec->payload, .type = (uint8_t)rec->payload_size};
	uint32_t label = kernel_label(n, &w), number;
	struct names *names;
	bool is_new;

	if (label == SONDE_NONE)
		return false;
	if (label + 1 == t->last) {
		rec->name = t->names.at[t->number].function;
		rec->full_name = t->names.at[t->number].full;
		return true;
	}
	number = sonde_map_add(&t->known, sonde_records_str(n->r, label), &is_new);
	if (number == SONDE_NONE)
		return false;
	t->last = label + 1;
	t->number = number;
	if (is_new) {
		names = sonde_vec_push(&t->names);
		if (!names || !kernel_names(n, label, names))
			return false;
	}
	rec->name = t->names.at[number].function;
	rec->full_name = t->names.at[number].full;
	return true;
}

static bool name_record(struct native *n, struct name_table *t, struct sonde_record *rec)
{
	const uint8_t *base = (const uint8_t *)n->src->file.data.p;
	struct sonde_str text = SONDE_STR("[CUDA memset]");
	uint64_t kind = 0;

	if (rec->kind == SONDE_RESULT_KERNEL)
		return name_kernel(n, t, rec);
	if (rec->kind == SONDE_RESULT_GRAPH)
		text = SONDE_STR("[CUDA graph]");
	if (rec->kind == SONDE_RESULT_MEMCPY) {
		sonde_native__numbers(base + rec->payload, base + n->src->file.data.n, &kind, 1);
		text = sonde_source__copy_name(kind);
	}
	rec->name = rec->full_name = sonde_records__string(n->r, text);
	return rec->name != SONDE_NONE;
}

static uint8_t kind_of(unsigned type)
{
	switch (type & SONDE_EVENT_TYPE) {
	case SONDE_EVENT_MEMCPY:
		return SONDE_RESULT_MEMCPY;
	case SONDE_EVENT_MEMSET:
		return SONDE_RESULT_MEMSET;
	case SONDE_EVENT_GRAPH:
		return SONDE_RESULT_GRAPH;
	default:
		return SONDE_RESULT_KERNEL;
	}
}

static bool add_record(struct native *n, const struct native_work *w)
{
	const struct native_launch *l = w->launch == SONDE_NONE ? NULL : &n->launches.at[w->launch];
	struct sonde_record *rec = sonde_vec_push(&n->r->records);
	struct sonde_record_time *time = rec ? sonde_vec_push(&n->r->record_times) : NULL;

	if (!time)
		return false;
	*rec = (struct sonde_record){.thread = l ? l->tid : 0,
		.stream = w->stream,
		.payload = w->payload,
		.payload_size = w->type,
		.process = n->process,
		.device = w->device,
		.context = w->context,
		.open = l ? l->set : 0,
		.kind = kind_of(w->type)};
	/* CUPTI's way of saying that it has no time for this one; zeros mean that in records too.
	 */
	if (!w->start_ns && !w->end_ns) {
		n->counts.no_time++;
		return true;
	}
	time->start_ns = sonde_native__clock_ns(&n->gpu, w->start_ns);
	/* Lengths are the GPU's own, not scaled to the host's clock. */
	time->end_ns = time->start_ns + (w->end_ns - w->start_ns);
	return true;
}

/* What one launch made, by its start: sorts [first, end), which have the same key. */
static bool order_same(struct native *n, struct native_timed *t, size_t first, size_t end)
{
	size_t i;

	for (i = first; i < end; i++)
		t[i].key = n->works.at[t[i].index].start_ns;
	return sonde_native__sort(&t[first], end - first);
}

/* The order of launch; what has no launch, by its start. */
static struct native_timed *order(struct native *n)
{
	struct native_timed *t = sonde_malloc((n->works.nr + 1) * sizeof(*t));
	size_t i, first;
	bool ok;

	if (!t)
		return NULL;
	for (i = 0; i < n->works.nr; i++) {
		const struct native_work *w = &n->works.at[i];

		t[i] = (struct native_timed){w->launch != SONDE_NONE
						     ? n->launches.at[w->launch].ns
						     : sonde_native__clock_ns(&n->gpu, w->start_ns),
			(uint32_t)i};
	}
	ok = sonde_native__sort(t, n->works.nr);
	for (first = 0; first < n->works.nr && ok; first = i) {
		for (i = first + 1; i < n->works.nr && t[i].key == t[first].key; i++)
			;
		ok = i - first < 2 || order_same(n, t, first, i);
	}
	if (ok)
		return t;
	sonde_free(t);
	return NULL;
}

static int add_records(struct native *n, struct sonde_err *err)
{
	struct name_table names = {0};
	struct native_timed *t;
	size_t i, first = n->r->records.nr;
	bool ok = n->works.nr < SONDE_NONE;

	t = ok ? order(n) : NULL;
	ok = t != NULL;
	for (i = 0; i < n->works.nr && ok; i++)
		ok = add_record(n, &n->works.at[t[i].index]);
	for (i = first; i < n->r->records.nr && ok; i++)
		ok = name_record(n, &names, &n->r->records.at[i]);
	sonde_map_release(&names.known);
	sonde_vec_release(&names.names);
	sonde_free(t);
	return ok ? 0 : sonde_err_nomem(err);
}

int sonde_native__join(struct native *n, struct sonde_err *err)
{
	if (n->edges.nr && !match_edges(n))
		return sonde_err_nomem(err);
	if (add_starts_to_sets(n))
		return sonde_err_nomem(err);
	if (!match_launches(n))
		return sonde_err_nomem(err);
	return add_records(n, err);
}
