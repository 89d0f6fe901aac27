/* Putting the parts together: which launch made which work, and the records in order of launch. */
#include "base/alloc.h"
#include "base/bisect.h"
#include "read/native/native_int.h"

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

static uint64_t id_of(const void *launches, uint32_t i)
{
	return ((const struct native_launch *)launches)[i].correlation;
}

static bool sort_by_id(const struct native *n, struct launch_ids *ids)
{
	static sonde_key_fn *const by_id[] = {id_of};

	ids->nr = n->launches.nr;
	ids->sorted = sonde_order_by(n->launches.at, ids->nr, by_id, 1);
	return ids->sorted;
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

/* --- completing --------------------------------------------------------------------------------- */

struct joining {
	struct native *n;
	struct launch_ids ids;
	struct native_origins origins;
	struct sonde_kernel_names names;
	bool *has_record; /* by launch: work of a kernel or graph is there; NULL = nobody asks */
	uint32_t last_alone; /* id of the last such work whose launch is not there */
	size_t nr_folded, nr_uncalled;
	uint64_t last_ns, last_start_ns; /* of the record before … */
	bool is_out_of_order;		 /* … and whether one came before that */
};

/* Until they are in order, what has no launch counts as called for when it started. */
static void follow_order(struct joining *j, struct sonde_record *rec)
{
	uint64_t start_ns = rec->time.start_ns;

	rec->call_ns = rec->call == SONDE_NONE ? start_ns : rec->call_ns;
	j->is_out_of_order |= rec->call_ns < j->last_ns ||
			      (rec->call_ns == j->last_ns && start_ns < j->last_start_ns);
	j->last_ns = rec->call_ns;
	j->last_start_ns = start_ns;
	j->nr_uncalled += rec->call == SONDE_NONE;
}

static bool name_record(struct joining *j, struct sonde_record *rec)
{
	struct sonde_str text = SONDE_STR("[CUDA memset]");

	uint32_t name;

	if (rec->kind == SONDE_RESULT_KERNEL) {
		rec->function = sonde_kernel_names__function(&j->names, j->n->r, rec->function);
		return rec->function != SONDE_NONE;
	}
	if (rec->kind == SONDE_RESULT_GRAPH)
		text = SONDE_STR("[CUDA graph]");
	if (rec->kind == SONDE_RESULT_MEMCPY)
		text = sonde_source__copy_name(rec->function);
	name = sonde_records__string(j->n->r, text);
	rec->function = sonde_records__function(j->n->r, name, name);
	return rec->function != SONDE_NONE;
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
	if (__builtin_add_overflow(t->start_ns, nr_ns, &t->end_ns))
		t->end_ns = UINT64_MAX;
}

/* What its launch tells, or that it is not there; false when memory is short. */
static bool complete_launch(struct native *n, struct sonde_record *rec)
{
	const struct native_launch *l = rec->call == SONDE_NONE ? NULL : &n->launches.at[rec->call];
	uint32_t caller =
		sonde_records__caller(n->r, n->process, l ? sonde_native__thread(n, l) : 0);

	rec->caller = caller;
	rec->open = l ? l->set : 0;
	rec->is_unchosen = l ? l->is_unchosen : n->is_windowed;
	rec->call_ns = l ? l->ns : 0;
	n->counts.unchosen += l && rec->is_unchosen;
	n->counts.no_launch += !l && !n->is_windowed;
	n->counts.out_of_windows += !l && n->is_windowed;
	return caller != SONDE_NONE;
}

/* False when memory is short. */
static bool complete_record(struct joining *j, struct sonde_record *rec)
{
	uint32_t origin = sonde_native__origin(&j->origins, rec->call_ns);

	if (origin != SONDE_NONE) {
		rec->origin = origin;
		rec->origin_kind = SONDE_ORIGIN_GRAPH;
	}
	if (!complete_launch(j->n, rec))
		return false;
	complete_time(j->n, &rec->time);
	follow_order(j, rec);
	return name_record(j, rec);
}

/* Each launch of a kernel or graph counts once, also one that was not written. `id` is what the record has of it. */
static void count_recorded(struct joining *j, const struct sonde_record *rec, uint32_t id)
{
	bool is_of_graph = rec->call_ns != 0;
	bool *has = rec->call == SONDE_NONE ? NULL : &j->has_record[rec->call];

	if (rec->kind != SONDE_RESULT_KERNEL && rec->kind != SONDE_RESULT_GRAPH && !is_of_graph)
		return;
	j->n->counts.recorded += has ? !*has : !is_of_graph || id != j->last_alone;
	if (has)
		*has = true;
	else
		j->last_alone = id;
}

static bool complete_records(struct joining *j)
{
	struct native *n = j->n;
	struct sonde_record *recs = n->r->records.at;
	size_t i, nr = n->first_record;
	bool ok = true;

	for (i = nr; i < n->r->records.nr && ok; i++) {
		uint32_t id = recs[i].call;

		recs[i].call = launch_of(&j->ids, id);
		if (sonde_native__is_folded(n, &recs[i])) {
			j->nr_folded++;
			continue;
		}
		if (j->has_record)
			count_recorded(j, &recs[i], id);
		if (nr != i)
			recs[nr] = recs[i];
		ok = complete_record(j, &recs[nr++]);
	}
	n->r->records.nr = nr;
	return ok;
}

/* --- the order of launch ------------------------------------------------------------------------ */

/* In order of launch, and what one launch made by its start. */
static bool order_records(struct native *n)
{
	size_t i, first, nr = n->r->records.nr - n->first_record;
	struct sonde_record *recs = nr ? &n->r->records.at[n->first_record] : NULL;
	bool ok = !nr || sonde_keysort_runs(recs, nr, sizeof(*recs)) ||
		  sonde_order_apply(
			  sonde_order_by_field(recs, nr, call_ns), recs, nr, sizeof(*recs));

	for (first = 0; first < nr && ok; first = i) {
		bool is_in_order = true;

		for (i = first + 1; i < nr && recs[i].call_ns == recs[first].call_ns; i++)
			is_in_order &= recs[i - 1].time.start_ns <= recs[i].time.start_ns;
		ok = is_in_order ||
		     sonde_order_apply(
			     sonde_order_by_field(&recs[first], i - first, time.start_ns),
			     &recs[first], i - first, sizeof(*recs));
	}
	return ok;
}

static void forget_moments(struct native *n)
{
	size_t i;

	for (i = n->first_record; i < n->r->records.nr; i++)
		if (n->r->records.at[i].call == SONDE_NONE)
			n->r->records.at[i].call_ns = 0;
}

struct sonde_keyed *sonde_native__order_memory(const struct native *n)
{
	size_t i, nr = n->memory.nr;
	struct sonde_keyed *t = nr < SONDE_NONE ? sonde_malloc((nr + 1) * sizeof(*t)) : NULL;

	for (i = 0; i < nr && t; i++) {
		const struct native_memory *m = &n->memory.at[i];

		t[i] = (struct sonde_keyed){
			m->launch == SONDE_NONE ? m->memory.ns : n->launches.at[m->launch].ns, (uint32_t)i};
	}
	if (t && sonde_keysort(t, nr))
		return t;
	sonde_free(t);
	return NULL;
}

static bool add_memory(struct joining *j)
{
	struct native *n = j->n;
	size_t i, nr = n->memory.nr, first = n->r->memory.nr;
	struct sonde_keyed *t;
	bool ok;

	for (i = 0; i < nr; i++) {
		struct native_memory *m = &n->memory.at[i];

		m->memory.ns = sonde_native__clock_ns(&n->gpu, m->start_ns);
		m->launch = launch_of(&j->ids, m->correlation);
		if (m->launch == SONDE_NONE)
			continue;
		m->memory.thread = sonde_native__thread(n, &n->launches.at[m->launch]);
		m->memory.open = n->launches.at[m->launch].set;
	}
	t = sonde_native__order_memory(n);
	ok = t && sonde_vec_reserve(&n->r->memory, first + nr);
	for (i = 0; i < nr && ok; i++)
		n->r->memory.at[first + i] = n->memory.at[t[i].index].memory;
	n->r->memory.nr = first + (ok ? nr : 0);
	sonde_free(t);
	return ok;
}

int sonde_native__join(struct native *n, struct sonde_err *err)
{
	struct joining j = {.n = n};
	bool ok = n->launches.nr < SONDE_NONE && sonde_native__edges(n) && find_ids(n, &j.ids) &&
		  sonde_native__find_origins(n, &j.origins);

	if (ok && n->status.nr_owed) {
		j.has_record = sonde_calloc(n->launches.nr + 1, sizeof(*j.has_record));
		ok = j.has_record;
	}
	ok = ok && complete_records(&j) && add_memory(&j);

	if (ok && n->budget.budget_ppm) {
		ok = sonde_native__count_untimed(n);
		j.is_out_of_order = true;
	}
	n->nr_works = n->r->records.nr - n->first_record + n->memory.nr + j.nr_folded;
	ok = ok && (!j.is_out_of_order || order_records(n));
	if (j.nr_uncalled)
		forget_moments(n);
	sonde_free(j.has_record);
	sonde_free(j.ids.launches);
	sonde_free(j.ids.sorted);
	sonde_native__release_origins(&j.origins);
	sonde_vec_release(&j.names.of);
	return ok ? 0 : sonde_err_nomem(err);
}
