/* Putting the parts together: which launch made which work, and the records in order of launch. */
#include "base/alloc.h"
#include "read/native_int.h"

#include <string.h>

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
	struct sonde_keyed *launches = sonde_malloc((n->launches.nr + 1) * sizeof(*launches));
	struct sonde_keyed *works = sonde_malloc((n->works.nr + 1) * sizeof(*works));
	bool ok = launches && works && n->launches.nr < SONDE_NONE && n->works.nr < SONDE_NONE;
	size_t i, k;

	for (i = 0; i < n->launches.nr && ok; i++)
		launches[i] = (struct sonde_keyed){n->launches.at[i].correlation, (uint32_t)i};
	for (i = 0; i < n->works.nr && ok; i++)
		works[i] = (struct sonde_keyed){n->works.at[i].correlation, (uint32_t)i};
	ok = ok && sonde_keysort(launches, n->launches.nr) &&
	     sonde_keysort(works, n->works.nr);
	for (i = k = 0; k < n->works.nr && ok; k++)
		n->works.at[works[k].index].launch =
			sonde_native__last_with_key(launches, n->launches.nr, &i, works[k].key);
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
		if (w->launch != SONDE_NONE || w->type == SONDE_EVENT_MEMORY ||
			sonde_native__is_folded(n, w))
			continue;
		n->counts.no_launch += !n->is_windowed;
		n->counts.out_of_windows += n->is_windowed;
	}
	return ok;
}

/* The label of a kernel, again: it was checked when the event was first read. */
static uint32_t kernel_label(struct native *n, uint64_t at)
{
	struct sonde_event e;

	if (!sonde_native__event(n->src, at, &e))
		return SONDE_NONE;
	if (!e.label.text)
		return sonde_native__string(n, e.label.number);
	return sonde_records__string(n->r,
		sonde_native__text((const uint8_t *)e.label.text, e.label.nr_bytes));
}

static bool name_record(
	struct native *n, struct sonde_kernel_names *names, struct sonde_record *rec)
{
	struct sonde_str text = SONDE_STR("[CUDA memset]");
	struct sonde_event e;

	if (rec->kind == SONDE_RESULT_KERNEL && !rec->is_untimed) {
		uint32_t label = kernel_label(n, rec->payload);

		return label != SONDE_NONE && sonde_kernel_names__set(names, n->r, label, rec);
	}
	if (rec->is_untimed)
		text = SONDE_STR(SONDE_NOT_TIMED);
	if (rec->kind == SONDE_RESULT_GRAPH)
		text = SONDE_STR("[CUDA graph]");
	if (rec->kind == SONDE_RESULT_MEMCPY && sonde_native__event(n->src, rec->payload, &e))
		text = sonde_source__copy_name(e.field[SONDE_COPY_KIND]);
	rec->name = rec->full_name = sonde_records__string(n->r, text);
	return rec->name != SONDE_NONE;
}

static uint8_t kind_of(unsigned type)
{
	switch (type) {
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

	if (!rec)
		return false;
	*rec = (struct sonde_record){.thread = l ? l->tid : 0,
		.stream = w->stream,
		.payload = w->at,
		.process = n->process,
		.device = w->device,
		.context = w->context,
		.open = l ? l->set : 0,
		.kind = kind_of(w->type),
		.is_unchosen = l ? l->is_unchosen : n->is_windowed,
		.is_untimed = w->type == SONDE_EVENT_LAUNCH,
		.more = w->is_nothing ? -1 : 0,
		.call = w->launch,
		.call_ns = l ? l->ns : 0};
	if (rec->is_untimed)
		return true;
	n->counts.unchosen += l && rec->is_unchosen;
	/* CUPTI's way of saying that it has no time for this one; zeros mean that in records too.
	 */
	if (!w->start_ns && !w->end_ns) {
		n->counts.no_time++;
		return true;
	}
	rec->time.start_ns = sonde_native__clock_ns(&n->gpu, w->start_ns);
	/* Lengths are the GPU's own, not scaled to the host's clock. */
	rec->time.end_ns = rec->time.start_ns + (w->end_ns - w->start_ns);
	return true;
}

#define PINNED 2u /* CUPTI's number for such memory */

static bool add_memory(struct native *n, const struct native_work *w)
{
	const struct native_launch *l = w->launch == SONDE_NONE ? NULL : &n->launches.at[w->launch];
	struct sonde_memory *m;
	struct sonde_event e;

	if (!sonde_native__event(n->src, w->at, &e))
		return true;
	m = sonde_vec_push(&n->r->memory);
	if (!m)
		return false;
	*m = (struct sonde_memory){.ns = sonde_native__clock_ns(&n->gpu, w->start_ns),
		.thread = l ? l->tid : 0,
		.address = e.field[SONDE_MEMORY_ADDRESS],
		.nr_bytes = e.field[SONDE_MEMORY_BYTES],
		.process = n->process,
		.device = w->device,
		.open = l ? l->set : 0,
		.is_free = e.field[SONDE_MEMORY_OPERATION] == SONDE_MEMORY_FREE,
		.is_host = e.field[SONDE_MEMORY_KIND] == PINNED};
	return true;
}

/* What one launch made, by its start: sorts [first, end), which have the same key. */
static bool order_same(struct native *n, struct sonde_keyed *t, size_t first, size_t end)
{
	size_t i;

	for (i = first; i < end; i++)
		t[i].key = n->works.at[t[i].index].start_ns;
	return sonde_keysort(&t[first], end - first);
}

/* The order of launch; what has no launch, by its start. */
static struct sonde_keyed *order(struct native *n)
{
	struct sonde_keyed *t = sonde_malloc((n->works.nr + 1) * sizeof(*t));
	size_t i, first;
	bool ok;

	if (!t)
		return NULL;
	for (i = 0; i < n->works.nr; i++) {
		const struct native_work *w = &n->works.at[i];

		t[i] = (struct sonde_keyed){w->launch != SONDE_NONE
						     ? n->launches.at[w->launch].ns
						     : sonde_native__clock_ns(&n->gpu, w->start_ns),
			(uint32_t)i};
	}
	ok = sonde_keysort(t, n->works.nr);
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
	struct sonde_kernel_names names = {0};
	struct sonde_keyed *t;
	size_t i, first = n->r->records.nr;
	bool ok = n->works.nr < SONDE_NONE;

	t = ok ? order(n) : NULL;
	ok = t != NULL;
	for (i = 0; i < n->works.nr && ok; i++) {
		const struct native_work *w = &n->works.at[t[i].index];

		if (w->type == SONDE_EVENT_MEMORY)
			ok = add_memory(n, w);
		else if (!sonde_native__is_folded(n, w))
			ok = add_record(n, w);
	}
	for (i = first; i < n->r->records.nr && ok; i++)
		ok = name_record(n, &names, &n->r->records.at[i]);
	sonde_vec_release(&names.of);
	sonde_free(t);
	return ok ? 0 : sonde_err_nomem(err);
}

int sonde_native__join(struct native *n, struct sonde_err *err)
{
	if (!sonde_native__edges(n) || !match_launches(n))
		return sonde_err_nomem(err);
	if (n->budget.budget_ppm && !sonde_native__count_untimed(n))
		return sonde_err_nomem(err);
	return add_records(n, err);
}
