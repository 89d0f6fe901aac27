/* Putting the parts together: which launch made which work, and the records in order of launch. */
#include "base/alloc.h"
#include "base/bisect.h"
#include "read/native_int.h"

#include <string.h>

/*
 * Which launch has a correlation id. Ids of one run lie close together, so that a plain array tells;
 * where they do not, the launches are sorted by them.
 */
struct launch_ids {
	uint32_t least;
	size_t nr;
	uint32_t *launches;	    /* by id − least; or NULL, and … */
	struct sonde_keyed *sorted; /* … all of them by id */
};

static bool put_in_array(const struct native *n, struct launch_ids *ids)
{
	size_t i;

	ids->launches = sonde_malloc((ids->nr + 1) * sizeof(*ids->launches));
	if (!ids->launches)
		return false;
	memset(ids->launches, 0xff, ids->nr * sizeof(*ids->launches));
	for (i = 0; i < n->launches.nr; i++)
		ids->launches[n->launches.at[i].correlation - ids->least] = (uint32_t)i;
	return true;
}

static bool sort_by_id(const struct native *n, struct launch_ids *ids)
{
	size_t i;

	ids->nr = n->launches.nr;
	ids->sorted = sonde_malloc((ids->nr + 1) * sizeof(*ids->sorted));
	for (i = 0; i < ids->nr && ids->sorted; i++)
		ids->sorted[i] = (struct sonde_keyed){n->launches.at[i].correlation, (uint32_t)i};
	return ids->sorted && sonde_keysort(ids->sorted, ids->nr);
}

static bool find_ids(const struct native *n, struct launch_ids *ids)
{
	uint32_t most = 0;
	size_t i;

	ids->least = UINT32_MAX;
	for (i = 0; i < n->launches.nr; i++) {
		uint32_t id = n->launches.at[i].correlation;

		ids->least = id < ids->least ? id : ids->least;
		most = id > most ? id : most;
	}
	ids->nr = n->launches.nr ? (size_t)most - ids->least + 1 : 0;
	return ids->nr / 8 <= n->launches.nr ? put_in_array(n, ids) : sort_by_id(n, ids);
}

/* The last launch with this id, SONDE_NONE when there is none. */
static uint32_t launch_of(const struct launch_ids *ids, uint32_t id)
{
	size_t low = 0;

	if (!id)
		return SONDE_NONE;
	if (ids->launches)
		return id - ids->least < ids->nr ? ids->launches[id - ids->least] : SONDE_NONE;
	sonde_bisect(low, ids->nr, mid, ids->sorted[mid].key <= id);
	return low && ids->sorted[low - 1].key == id ? ids->sorted[low - 1].index : SONDE_NONE;
}

static bool match_launches(struct native *n)
{
	struct launch_ids ids = {0};
	bool ok = n->launches.nr < SONDE_NONE && find_ids(n, &ids);
	size_t i;

	for (i = n->first_record; i < n->r->records.nr && ok; i++) {
		struct sonde_record *rec = &n->r->records.at[i];

		rec->call = launch_of(&ids, rec->call);
		if (rec->call != SONDE_NONE || sonde_native__is_folded(n, rec))
			continue;
		n->counts.no_launch += !n->is_windowed;
		n->counts.out_of_windows += n->is_windowed;
	}
	for (i = 0; i < n->memory.nr && ok; i++)
		n->memory.at[i].launch = launch_of(&ids, n->memory.at[i].correlation);
	sonde_free(ids.launches);
	sonde_free(ids.sorted);
	return ok;
}

bool *sonde_native__have_work(const struct native *n)
{
	bool *have = sonde_calloc(n->launches.nr + 1, sizeof(*have));
	size_t i;

	for (i = n->first_record; i < n->r->records.nr && have; i++)
		if (n->r->records.at[i].call != SONDE_NONE)
			have[n->r->records.at[i].call] = true;
	for (i = 0; i < n->memory.nr && have; i++)
		if (n->memory.at[i].launch != SONDE_NONE)
			have[n->memory.at[i].launch] = true;
	return have;
}

/* --- the order of launch ------------------------------------------------------------------------ */

/* When it was launched; what has no launch, when it started. */
static uint64_t moment_of(struct native *n, uint32_t launch, uint64_t start_ns)
{
	return launch != SONDE_NONE ? n->launches.at[launch].ns
				    : sonde_native__clock_ns(&n->gpu, start_ns);
}

/* Work in order of launch, and what one launch made by its start: `start` tells that. */
static bool sort_by_moment(struct native *n, struct sonde_keyed *t, size_t nr,
	uint64_t (*start)(const struct native *n, uint32_t index))
{
	bool ok = sonde_keysort(t, nr);
	size_t i, k, first;

	for (first = 0; first < nr && ok; first = i) {
		for (i = first + 1; i < nr && t[i].key == t[first].key; i++)
			;
		if (i - first < 2)
			continue;
		for (k = first; k < i; k++)
			t[k].key = start(n, t[k].index);
		ok = sonde_keysort(&t[first], i - first);
	}
	return ok;
}

static uint64_t record_start(const struct native *n, uint32_t index)
{
	return n->r->records.at[n->first_record + index].time.start_ns;
}

static uint64_t memory_start(const struct native *n, uint32_t index)
{
	return n->memory.at[index].memory.ns;
}

/* Mostly they are: the GPU works in order of launch. */
static bool are_in_order(struct native *n, const struct sonde_record *recs, size_t nr)
{
	uint64_t last = 0, last_start = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		uint64_t start = recs[i].time.start_ns, at = moment_of(n, recs[i].call, start);

		if (at < last || (at == last && start < last_start))
			return false;
		last = at;
		last_start = start;
	}
	return true;
}

/* Puts what `t` has at each place there; says then that everything is where it belongs. */
static void permute(struct sonde_record *recs, struct sonde_keyed *t, size_t nr)
{
	size_t i, at, from;

	for (i = 0; i < nr; i++) {
		struct sonde_record first = recs[i];

		for (at = i; t[at].index != i; at = from) {
			from = t[at].index;
			recs[at] = recs[from];
			t[at].index = (uint32_t)at;
		}
		recs[at] = first;
		t[at].index = (uint32_t)at;
	}
}

static bool order_records(struct native *n)
{
	struct sonde_record *recs = n->r->records.at + n->first_record;
	size_t i, nr = n->r->records.nr - n->first_record;
	struct sonde_keyed *t;
	bool ok;

	if (!nr || are_in_order(n, recs, nr))
		return true;
	t = nr < SONDE_NONE ? sonde_malloc(nr * sizeof(*t)) : NULL;
	for (i = 0; i < nr && t; i++)
		t[i] = (struct sonde_keyed){
			moment_of(n, recs[i].call, recs[i].time.start_ns), (uint32_t)i};
	ok = t && sort_by_moment(n, t, nr, record_start);
	if (ok)
		permute(recs, t, nr);
	sonde_free(t);
	return ok;
}

/* --- completing --------------------------------------------------------------------------------- */

static bool name_record(
	struct native *n, struct sonde_kernel_names *names, struct sonde_record *rec)
{
	struct sonde_str text = SONDE_STR("[CUDA memset]");

	if (rec->kind == SONDE_RESULT_KERNEL && !rec->is_untimed)
		return sonde_kernel_names__set(names, n->r, rec->name, rec);
	if (rec->is_untimed)
		text = SONDE_STR(SONDE_NOT_TIMED);
	if (rec->kind == SONDE_RESULT_GRAPH)
		text = SONDE_STR("[CUDA graph]");
	if (rec->kind == SONDE_RESULT_MEMCPY)
		text = sonde_source__copy_name(rec->name);
	rec->name = rec->full_name = sonde_records__string(n->r, text);
	return rec->name != SONDE_NONE;
}

static void complete_time(struct native *n, struct sonde_record_time *t)
{
	uint64_t nr_ns = t->end_ns - t->start_ns;

	/* CUPTI's way of saying that it has no time for this one; zeros mean that in records too. */
	if (!t->start_ns && !t->end_ns) {
		n->counts.no_time++;
		return;
	}
	t->start_ns = sonde_native__clock_ns(&n->gpu, t->start_ns);
	/* Lengths are the GPU's own, not scaled to the host's clock. */
	t->end_ns = t->start_ns + nr_ns;
}

static void complete_record(
	struct native *n, const struct native_origins *origins, struct sonde_record *rec)
{
	const struct native_launch *l = rec->call == SONDE_NONE ? NULL : &n->launches.at[rec->call];
	uint32_t origin = sonde_native__origin(origins, rec->thread);

	if (origin != SONDE_NONE) {
		rec->origin = origin;
		rec->origin_kind = SONDE_ORIGIN_GRAPH;
	}
	rec->thread = l ? sonde_native__thread(n, l) : 0;
	rec->open = l ? l->set : 0;
	rec->is_unchosen = l ? l->is_unchosen : n->is_windowed;
	rec->call_ns = l ? l->ns : 0;
	if (rec->is_untimed)
		return;
	n->counts.unchosen += l && rec->is_unchosen;
	complete_time(n, &rec->time);
}

static bool complete_records(struct native *n)
{
	struct sonde_kernel_names names = {0};
	struct native_origins origins = {0};
	bool ok = sonde_native__find_origins(n, &origins);
	size_t i, to = n->first_record;

	for (i = to; i < n->r->records.nr && ok; i++) {
		struct sonde_record *rec = &n->r->records.at[to];

		if (sonde_native__is_folded(n, &n->r->records.at[i]))
			continue;
		if (to++ != i)
			*rec = n->r->records.at[i];
		complete_record(n, &origins, rec);
		ok = name_record(n, &names, rec);
	}
	n->r->records.nr = to;
	sonde_vec_release(&names.of);
	sonde_native__release_origins(&origins);
	return ok;
}

static bool complete_memory(struct native *n)
{
	size_t i, nr = n->memory.nr, first = n->r->memory.nr;
	struct sonde_keyed *t = nr < SONDE_NONE ? sonde_malloc((nr + 1) * sizeof(*t)) : NULL;
	bool ok = t && sonde_vec_reserve(&n->r->memory, first + nr);

	for (i = 0; i < nr && ok; i++)
		t[i] = (struct sonde_keyed){
			moment_of(n, n->memory.at[i].launch, n->memory.at[i].memory.ns), (uint32_t)i};
	ok = ok && sort_by_moment(n, t, nr, memory_start);
	for (i = 0; i < nr && ok; i++) {
		const struct native_memory *from = &n->memory.at[t[i].index];
		struct sonde_memory *m = &n->r->memory.at[first + i];

		*m = from->memory;
		m->ns = sonde_native__clock_ns(&n->gpu, m->ns);
		if (from->launch == SONDE_NONE)
			continue;
		m->thread = sonde_native__thread(n, &n->launches.at[from->launch]);
		m->open = n->launches.at[from->launch].set;
	}
	n->r->memory.nr = first + (ok ? nr : 0);
	sonde_free(t);
	return ok;
}

int sonde_native__join(struct native *n, struct sonde_err *err)
{
	bool ok = sonde_native__edges(n) && match_launches(n) &&
		  (!n->budget.budget_ppm || sonde_native__count_untimed(n));

	n->nr_works = n->r->records.nr - n->first_record + n->memory.nr;
	ok = ok && order_records(n) && complete_records(n) && complete_memory(n);
	return ok ? 0 : sonde_err_nomem(err);
}
