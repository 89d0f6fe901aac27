/*
 * Putting the parts together: which launch made which work, which start/end
 * ranges were open at it, and the records in order of launch.
 */
#include "base/alloc.h"
#include "read/native_int.h"

#include <string.h>

/* --- a table from numbers to numbers ------------------------------------------------------------
 */

struct slot {
	uint64_t key;
	uint32_t value; /* SONDE_NONE = free */
};

struct table {
	struct slot *slots;
	size_t mask;
};

static bool table_init(struct table *t, size_t nr)
{
	size_t cap = 64;

	while (cap < nr * 2)
		cap *= 2;
	t->slots = sonde_malloc(cap * sizeof(*t->slots));
	t->mask = cap - 1;
	if (t->slots)
		memset(t->slots, 0xff, cap * sizeof(*t->slots));
	return t->slots != NULL;
}

/* Neighbouring keys share a group of eight slots: ids mostly come in order. */
static struct slot *table_slot(const struct table *t, uint64_t key)
{
	uint64_t group = (key >> 3) * 0x9e3779b97f4a7c15u >> 24;
	size_t i = (size_t)(group << 3 | (key & 7)) & t->mask;

	while (t->slots[i].value != SONDE_NONE && t->slots[i].key != key)
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

/* The last value given to a key stays. */
static void table_set(struct table *t, uint64_t key, uint32_t value)
{
	struct slot *s = table_slot(t, key);

	s->key = key;
	s->value = value;
}

/* --- sorting by time
 * ------------------------------------------------------------------------------ */

struct timed {
	uint64_t key;
	uint32_t index;
};

/* Stable, linear: eight passes of eight bits, those without effect left out. */
static bool sort_timed(struct timed *a, size_t nr)
{
	struct timed *from = a, *to, *swap, *other;
	size_t count[256], i, sum, n;
	unsigned shift;

	for (i = 1; i < nr && a[i - 1].key <= a[i].key; i++)
		;
	if (i >= nr)
		return true;
	other = to = sonde_malloc(nr * sizeof(*to));
	if (!to)
		return false;
	for (shift = 0; shift < 64; shift += 8) {
		memset(count, 0, sizeof(count));
		for (i = 0; i < nr; i++)
			count[from[i].key >> shift & 255]++;
		if (count[from[0].key >> shift & 255] == nr)
			continue;
		for (i = sum = 0; i < 256; i++) {
			n = count[i];
			count[i] = sum;
			sum += n;
		}
		for (i = 0; i < nr; i++)
			to[count[from[i].key >> shift & 255]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	if (from != a)
		memcpy(a, from, nr * sizeof(*a));
	sonde_free(other);
	return true;
}

/* --- start/end ranges
 * ------------------------------------------------------------------------------ */

static bool match_edges(struct native *n)
{
	struct sonde_range_time *times = n->r->range_times.at;
	struct table starts = {0};
	size_t i;

	if (!table_init(&starts, n->edges.nr))
		return false;
	for (i = 0; i < n->edges.nr; i++) {
		if (!n->edges.at[i].is_stop)
			table_set(&starts, n->edges.at[i].key, n->edges.at[i].range);
	}
	for (i = 0; i < n->edges.nr; i++) {
		struct native_edge *e = &n->edges.at[i];

		if (!e->is_stop)
			continue;
		e->range = table_slot(&starts, e->key)->value;
		if (e->range == SONDE_NONE || times[e->range].end_ns) {
			n->counts.orphan_stops++;
			e->range = SONDE_NONE;
		} else {
			times[e->range].end_ns = e->ns > times[e->range].begin_ns
							 ? e->ns
							 : times[e->range].begin_ns + 1;
		}
	}
	for (i = 0; i < n->edges.nr; i++)
		n->counts.unstopped +=
			!n->edges.at[i].is_stop && !times[n->edges.at[i].range].end_ns;
	sonde_free(starts.slots);
	return true;
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

/* Edges and launches in order of time. An index beyond the edges is a launch. */
static struct timed *edges_and_launches(struct native *n)
{
	size_t i, nr_edges = n->edges.nr, nr = nr_edges + n->launches.nr;
	struct timed *t = sonde_malloc(nr * sizeof(*t));

	if (!t)
		return NULL;
	for (i = 0; i < nr_edges; i++)
		t[i] = (struct timed){n->edges.at[i].ns, (uint32_t)i};
	for (i = 0; i < n->launches.nr; i++)
		t[nr_edges + i] = (struct timed){n->launches.at[i].ns, (uint32_t)(nr_edges + i)};
	if (!sort_timed(t, nr)) {
		sonde_free(t);
		return NULL;
	}
	return t;
}

static int add_starts_to_sets(struct native *n)
{
	struct sweep s = {.n = n, .plain = SONDE_NONE};
	size_t i, nr_edges = n->edges.nr, nr = nr_edges + n->launches.nr;
	struct timed *t;
	bool ok = true;

	if (!nr_edges || !n->launches.nr)
		return 0;
	t = nr < SONDE_NONE ? edges_and_launches(n) : NULL;
	if (!t)
		return SONDE_ERR_NOMEM;
	for (i = 0; i < nr && ok; i++) {
		if (t[i].index < nr_edges) {
			ok = sweep_edge(&s, &n->edges.at[t[i].index]);
		} else {
			struct native_launch *l = &n->launches.at[t[i].index - nr_edges];

			l->set = sweep_set(&s, l->set);
			ok = l->set != SONDE_NONE;
		}
	}
	sonde_vec_release(&s.open);
	sonde_vec_release(&s.members);
	sonde_free(t);
	return ok ? 0 : SONDE_ERR_NOMEM;
}

/* --- records
 * ---------------------------------------------------------------------------------------- */

static bool match_launches(struct native *n)
{
	struct table launches = {0};
	size_t i;

	if (!table_init(&launches, n->launches.nr))
		return false;
	for (i = 0; i < n->launches.nr; i++)
		table_set(&launches, n->launches.at[i].correlation, (uint32_t)i);
	for (i = 0; i < n->works.nr; i++) {
		struct native_work *w = &n->works.at[i];

		if (w->correlation)
			w->launch = table_slot(&launches, w->correlation)->value;
		n->counts.no_launch += w->launch == SONDE_NONE;
	}
	sonde_free(launches.slots);
	return true;
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
	return sonde_records__string(n->r, (struct sonde_str){(const char *)p, f[1]});
}

/* The names of each kernel met so far, so that each is demangled once. */
struct name_table {
	struct sonde_map known; /* mangled names */
	SONDE_VEC(struct names) names;
};

static bool name_kernel(struct native *n, struct name_table *t, struct sonde_record *rec)
{
	const struct native_work w = {.payload = rec->payload, .type = (uint8_t)rec->payload_size};
	uint32_t label = kernel_label(n, &w), number;
	struct names *names;
	bool is_new;

	if (label == SONDE_NONE)
		return false;
	number = sonde_map_add(&t->known, sonde_records_str(n->r, label), &is_new);
	if (number == SONDE_NONE)
		return false;
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
	time->start_ns = sonde_native__clock_ns(&n->gpu, w->start_ns);
	/* Lengths are the GPU's own, not scaled to the host's clock. */
	time->end_ns = time->start_ns + (w->end_ns - w->start_ns);
	return true;
}

/* The order of launch; what one launch made, and what has no launch, by its start. */
static struct timed *order(struct native *n)
{
	struct timed *t = sonde_malloc((n->works.nr + 1) * sizeof(*t));
	size_t i;

	if (!t)
		return NULL;
	for (i = 0; i < n->works.nr; i++)
		t[i] = (struct timed){n->works.at[i].start_ns, (uint32_t)i};
	if (!sort_timed(t, n->works.nr))
		goto fail;
	for (i = 0; i < n->works.nr; i++) {
		const struct native_work *w = &n->works.at[t[i].index];

		t[i].key = w->launch != SONDE_NONE ? n->launches.at[w->launch].ns
						   : sonde_native__clock_ns(&n->gpu, w->start_ns);
	}
	if (sort_timed(t, n->works.nr))
		return t;
fail:
	sonde_free(t);
	return NULL;
}

static int add_records(struct native *n, struct sonde_err *err)
{
	struct name_table names = {0};
	struct timed *t;
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
