/* Joins the parts: finds the launch of each piece of GPU work, and puts the records in order of launch. */
#include "base/alloc.h"
#include "base/bisect.h"
#include "read/launch.h"
#include "read/native/native_int.h"
#include "read/start_end.h"

#include <string.h>

/* --- start/end ranges: which stop ends which start, and which were open at each launch ------------- */

/*
 * The last element of `t` with `key`, SONDE_NONE when there is none. Call it with ever larger keys, and with `*i` 0
 * at first. Matching by sorting is fast whatever numbers the file contains.
 */
static uint32_t last_with_key(const struct sonde_keyed *t, size_t nr, size_t *i, uint64_t key)
{
	while (*i < nr && t[*i].key <= key)
		++*i;
	return *i && t[*i - 1].key == key ? t[*i - 1].index : SONDE_NONE;
}

static void match_stop(struct native *n, struct native_edge *stop, uint32_t start)
{
	struct sonde_range *range = start == SONDE_NONE ? NULL : &n->r->ranges.at[n->edges.at[start].range];

	if (!range || range->time.end_ns) {
		n->counts.orphan_stops += stop->when == SONDE_NOW;
		return;
	}
	range->time.end_ns = stop->ns > range->time.begin_ns ? stop->ns : range->time.begin_ns + 1;
	range->ended = stop->when;
	stop->start = start;
}

/* A range that was never ended. If it began in a window, it lasts to the end of the window. */
static void leave_open(struct native *n, const struct native_edge *start)
{
	uint64_t end_ns = sonde_native__window_end_ns(n, start->window);
	struct sonde_range *range = &n->r->ranges.at[start->range];

	n->counts.unstopped += !end_ns && !n->r->options.looks_ahead;
	if (!end_ns)
		return;
	range->ended = n->windows.at[start->window].ended;
	range->time.end_ns = end_ns > start->ns ? end_ns : start->ns + 1;
	n->counts.cut_by_windows += range->ended == SONDE_NOW;
}

static void match_edges(struct native *n)
{
	struct sonde_arena *work = &n->src->work;
	SONDE_VEC(struct sonde_keyed) starts = {0}, stops = {0};
	size_t i, k;

	work->failed |= n->edges.nr >= SONDE_NONE;
	for (i = 0; i < n->edges.nr; i++) {
		struct sonde_keyed t = {n->edges.at[i].key, (uint32_t)i};

		if (n->edges.at[i].is_stop)
			sonde_put(work, &stops, t);
		else
			sonde_put(work, &starts, t);
	}
	work->failed |= !sonde_keysort(starts.at, starts.nr) || !sonde_keysort(stops.at, stops.nr);
	for (k = i = 0; k < stops.nr; k++)
		match_stop(n, &n->edges.at[stops.at[k].index],
			last_with_key(starts.at, starts.nr, &i, stops.at[k].key));
	for (i = 0; i < n->edges.nr; i++)
		if (!n->edges.at[i].is_stop && !n->r->ranges.at[n->edges.at[i].range].time.end_ns)
			leave_open(n, &n->edges.at[i]);
	sonde_vec_release(&starts);
	sonde_vec_release(&stops);
}

/*
 * Whether the launches consist of few runs in order of time, as one per thread: restarting the sweep for each costs
 * less than sorting.
 */
static bool are_few_runs(const struct native *n)
{
	size_t i, nr = 1;

	for (i = 1; i < n->launches.nr; i++)
		nr += n->launches.at[i].ns < n->launches.at[i - 1].ns;
	return nr <= n->launches.nr / n->edges.nr;
}

static void add_starts(struct native *n)
{
	bool as_is = are_few_runs(n);
	struct sonde_starts *s = sonde_starts__build(n->r, n->first_range);
	struct sonde_keyed *t =
		as_is ? NULL : sonde_order_by_field(n->launches.at, n->launches.nr, ns);
	size_t i;

	n->src->work.failed |= !as_is && !t;
	for (i = 0; i < n->launches.nr && !sonde_native__failed(n); i++) {
		struct native_launch *l = &n->launches.at[as_is ? i : t[i].index];

		l->set = sonde_starts__open_at(s, n->process, l->ns, l->set);
	}
	n->counts.sets_cut += sonde_starts__free(s);
	sonde_free(t);
}

/* --- where the nodes of CUDA graphs were captured -------------------------------------------------- */

/*
 * The work of a graph belongs to the range that was open when its node was added to the graph. Copies of a graph keep
 * the origins of their nodes. Start with `= {0}`; memory is work of the source.
 */
struct native_origins {
	struct sonde_map ids; /* ids (8 bytes) of nodes that have an origin */
	SONDE_VEC(uint32_t) ranges; /* by number in `ids`: the range */
};

static void add_node(struct native *n, struct native_origins *s, const struct native_node *node)
{
	uint32_t number = sonde_map_find(&s->ids, SONDE_BYTES(node->original)), range = node->range;

	if (node->original)
		range = number < s->ranges.nr ? s->ranges.at[number] : SONDE_NONE;
	if (range == SONDE_NONE)
		return;
	number = sonde_intern_copy(&n->src->work, &s->ids, SONDE_BYTES(node->id), NULL);
	*(uint32_t *)sonde_slot(&n->src->work, &s->ranges, number) = range;
}

/*
 * Goes through the nodes in order of time, over all threads: a copy takes the origin of its original, which existed
 * earlier but may be in a thread that is read later.
 */
static void find_origins(struct native *n, struct native_origins *out)
{
	struct sonde_keyed *t = sonde_order_by_field(n->nodes.at, n->nodes.nr, ns);
	size_t i;

	n->src->work.failed |= !t;
	for (i = 0; i < n->nodes.nr && t; i++)
		add_node(n, out, &n->nodes.at[t[i].index]);
	sonde_free(t);
}

/* The range that node `id` was captured in, SONDE_NONE when that is not known. */
static uint32_t origin_of(const struct native_origins *o, uint64_t id)
{
	uint32_t number = id && o->ids.nr ? sonde_map_find(&o->ids, SONDE_BYTES(id)) : SONDE_NONE;

	return number == SONDE_NONE ? SONDE_NONE : o->ranges.at[number];
}

/* --- launches by correlation id -------------------------------------------------------------------- */

/*
 * Finds the launch with a correlation id. Ids of one run are mostly close together, so a plain array maps them; if they
 * are far apart, the launches are sorted by id.
 */
struct launch_ids {
	uint32_t least;
	size_t nr;
	uint32_t *launches;	    /* by id − least; or NULL, and then … */
	struct sonde_keyed *sorted; /* … all launches, sorted by id */
};

static uint64_t id_of(const void *launches, uint32_t i)
{
	return ((const struct native_launch *)launches)[i].correlation;
}

static void find_ids(const struct native *n, struct launch_ids *ids)
{
	static sonde_key_fn *const by_id[] = {id_of};
	uint32_t most = 0;
	size_t i;

	ids->least = UINT32_MAX;
	for (i = 0; i < n->launches.nr; i++) {
		uint32_t id = n->launches.at[i].correlation;

		ids->least = id < ids->least ? id : ids->least;
		most = id > most ? id : most;
	}
	ids->nr = n->launches.nr ? (size_t)most - ids->least + 1 : 0;
	if (ids->nr / 8 > n->launches.nr) {
		ids->nr = n->launches.nr;
		ids->sorted = sonde_order_by(n->launches.at, ids->nr, by_id, 1);
		n->src->work.failed |= !ids->sorted;
		return;
	}
	ids->launches = sonde_arena_alloc(&n->src->work, ids->nr * sizeof(*ids->launches));
	if (!ids->launches)
		return;
	memset(ids->launches, 0xff, ids->nr * sizeof(*ids->launches));
	for (i = 0; i < n->launches.nr; i++)
		ids->launches[n->launches.at[i].correlation - ids->least] = (uint32_t)i;
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
	bool *has_record; /* by launch: it has a record of a kernel or a graph; NULL = nobody asks */
	uint32_t last_alone; /* correlation id of the last such record whose launch is missing */
	size_t nr_folded, nr_uncalled;
	uint64_t last_ns, last_start_ns; /* times of the previous record … */
	bool is_out_of_order;		 /* … and whether some record came before the one it follows */
};

/* Until the records are in order, the call time of a record without a launch is its start. */
static void check_order(struct joining *j, struct sonde_record *rec)
{
	uint64_t start_ns = rec->time.start_ns;

	rec->call_ns = rec->call == SONDE_NONE ? start_ns : rec->call_ns;
	j->is_out_of_order |= rec->call_ns < j->last_ns ||
			      (rec->call_ns == j->last_ns && start_ns < j->last_start_ns);
	j->last_ns = rec->call_ns;
	j->last_start_ns = start_ns;
	j->nr_uncalled += rec->call == SONDE_NONE;
}

static void name_record(struct joining *j, struct sonde_record *rec)
{
	struct sonde_str text = SONDE_STR("[CUDA memset]");
	uint32_t name;

	if (rec->kind == SONDE_RESULT_KERNEL) {
		rec->function = sonde_kernel_names__function(&j->names, j->n->r, rec->function);
		return;
	}
	if (rec->kind == SONDE_RESULT_GRAPH)
		text = SONDE_STR("[CUDA graph]");
	if (rec->kind == SONDE_RESULT_MEMCPY)
		text = sonde_launch__copy_name(rec->function);
	name = sonde_records__string(j->n->r, text);
	rec->function = sonde_records__function(j->n->r, name, name);
}

static void complete_time(struct native *n, struct sonde_record_time *t)
{
	uint64_t nr_ns = t->end_ns - t->start_ns;

	/* When CUPTI has no times for a piece of work it writes zeros, which mean the same in records. */
	if (!t->start_ns && !t->end_ns) {
		n->current_counts->no_time++;
		return;
	}
	t->start_ns = sonde_clock_map__ns(&n->gpu, t->start_ns);
	/* The length is the GPU's own, not scaled to the host's clock. */
	if (__builtin_add_overflow(t->start_ns, nr_ns, &t->end_ns))
		t->end_ns = UINT64_MAX;
}

/* Fills in what is known from a record's launch, or counts that the launch is missing. */
static void complete_launch(struct native *n, struct sonde_record *rec)
{
	const struct native_launch *l = rec->call == SONDE_NONE ? NULL : &n->launches.at[rec->call];

	rec->caller = sonde_records__caller(n->r, n->process, l ? sonde_native__thread(n, l) : 0);
	rec->open = l ? l->set : 0;
	rec->is_unchosen = l && l->is_unchosen;
	rec->is_between_windows = !l && n->is_windowed;
	rec->call_ns = l ? l->ns : 0;
	n->current_counts->unchosen += rec->is_unchosen;
	n->current_counts->no_launch += !l && !n->is_windowed;
	n->current_counts->between_windows += rec->is_between_windows;
}

static void complete_record(struct joining *j, struct sonde_record *rec)
{
	uint32_t origin = origin_of(&j->origins, rec->call_ns);

	if (origin != SONDE_NONE) {
		rec->origin = origin;
		rec->origin_kind = SONDE_ORIGIN_GRAPH;
	}
	complete_launch(j->n, rec);
	complete_time(j->n, &rec->time);
	check_order(j, rec);
	name_record(j, rec);
}

/*
 * Counts each launch of a kernel or graph once, even if the launch itself was not written. `id` is the record's
 * correlation id.
 */
static void count_recorded(struct joining *j, const struct sonde_record *rec, uint32_t id)
{
	bool is_of_graph = rec->call_ns != 0;
	bool *has = rec->call == SONDE_NONE ? NULL : &j->has_record[rec->call];

	if (rec->kind != SONDE_RESULT_KERNEL && rec->kind != SONDE_RESULT_GRAPH && !is_of_graph)
		return;
	j->n->current_counts->recorded += has ? !*has : !is_of_graph || id != j->last_alone;
	if (has)
		*has = true;
	else
		j->last_alone = id;
}

/*
 * When work is counted: with the file that contains its launch, if that is the file of its record or one next to it, else
 * with the file of its record. So most late records count where their work was launched. All three files are read whenever
 * one of them is counted, so the decision is always the same, whichever older launches are still known.
 */
static enum sonde_when when_of_work(const struct native *n, uint64_t offset, uint32_t launch)
{
	size_t file, called;

	if (launch == SONDE_NONE || (!n->from && n->ahead == SIZE_MAX))
		return sonde_native__when(n, offset);
	file = sonde_native__file_at(n, offset);
	called = sonde_native__file_at(n, sonde_native__offset(n, &n->pieces.at[n->launches.at[launch].piece]));
	if (file == called + 1)
		return sonde_native__when(n, n->files.at[file - 1] - 1);
	return sonde_native__when(n, called == file + 1 ? n->files.at[file] : offset);
}

static void complete_records(struct joining *j)
{
	struct native *n = j->n;
	struct sonde_record *recs = n->r->records.at;
	size_t i, nr = n->first_record;

	for (i = nr; i < n->r->records.nr; i++) {
		uint32_t id = recs[i].call;

		recs[i].call = launch_of(&j->ids, id);
		recs[i].when = when_of_work(n, recs[i].payload, recs[i].call);
		n->current_counts = recs[i].when == SONDE_NOW ? &n->counts : &n->uncounted;
		if (recs[i].call == SONDE_NONE && n->rolled.next && recs[i].payload < n->head_bytes) {
			j->nr_folded++; /* it was counted before, and its launch was not kept */
			continue;
		}
		if (j->has_record)
			count_recorded(j, &recs[i], id);
		if (nr != i)
			recs[nr] = recs[i];
		complete_record(j, &recs[nr++]);
	}
	n->r->records.nr = nr;
	n->current_counts = &n->counts;
}

/* --- the order of launch ------------------------------------------------------------------------ */

/* Sorts records by launch, and the work of one launch by its start. */
static void order_records(struct native *n)
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
	n->src->work.failed |= !ok;
}

static void forget_assumed_calls(struct native *n)
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

static void add_memory(struct joining *j)
{
	struct native *n = j->n;
	size_t i, nr = n->memory.nr;
	struct sonde_keyed *t;

	for (i = 0; i < nr; i++) {
		struct native_memory *m = &n->memory.at[i];

		m->memory.ns = sonde_clock_map__ns(&n->gpu, m->start_ns);
		m->launch = launch_of(&j->ids, m->correlation);
		m->memory.when = (uint8_t)when_of_work(n, m->at, m->launch);
		if (m->launch == SONDE_NONE)
			continue;
		m->memory.thread = sonde_native__thread(n, &n->launches.at[m->launch]);
		m->memory.open = n->launches.at[m->launch].set;
	}
	t = sonde_native__order_memory(n);
	n->src->work.failed |= !t;
	for (i = 0; i < nr && t; i++)
		sonde_put(&n->r->arena, &n->r->memory, n->memory.at[t[i].index].memory);
	sonde_free(t);
}

/* Names the functions of PC samples like kernels, and adds how the process was sampled. */
static void add_samples(struct joining *j)
{
	struct native *n = j->n;
	struct sonde_records *r = n->r;
	struct sonde_pc_source source = {.process = n->process};
	size_t i;

	if (!r->options.nr_files) { /* they are running totals: when files are folded, only the last file counts them */
		source.dropped = n->status.nr_pc_dropped;
		source.full_drains = n->status.nr_pc_full;
	}

	for (i = n->first_batch; i < r->pc_batches.nr && !sonde_native__failed(n); i++) {
		uint32_t function = sonde_kernel_names__function(&j->names, r, r->pc_batches.at[i].symbol);

		if (function != SONDE_NONE)
			r->pc_batches.at[i].name = ((const struct sonde_function *)(const void *)r->functions.keys[function].p)->full_name;
	}
	sonde_str_u64(sonde_native__meta(n, "pc_period"), &source.period);
	if (n->first_batch == r->pc_batches.nr && !source.dropped && !source.full_drains)
		return; /* PC sampling was off, or found nothing */
	sonde_put(&r->arena, &r->pc_sources, source);
}

/* Adds for each record when its call returned. */
static void add_returns(struct native *n)
{
	size_t i;

	for (i = n->r->returned_ns.nr; i < n->r->records.nr; i++) {
		uint32_t call = n->r->records.at[i].call;

		sonde_put(&n->r->arena, &n->r->returned_ns,
			i >= n->first_record && call != SONDE_NONE ? n->returned_ns.at[call] : 0);
	}
}

int sonde_native__join(struct native *n, struct sonde_err *err)
{
	struct joining j = {.n = n};

	n->src->work.failed |= n->launches.nr >= SONDE_NONE;
	if (n->edges.nr) {
		match_edges(n);
		add_starts(n);
	}
	find_ids(n, &j.ids);
	find_origins(n, &j.origins);
	if (n->status.nr_owed || n->r->options.looks_ahead)
		j.has_record = sonde_arena_calloc(&n->src->work, n->launches.nr, sizeof(*j.has_record));
	if (!sonde_native__failed(n)) {
		complete_records(&j);
		add_memory(&j);
		add_samples(&j);
	}
	n->nr_works = n->r->records.nr - n->first_record + n->memory.nr + j.nr_folded;
	if (j.is_out_of_order)
		order_records(n);
	if (n->r->options.for_replay && !sonde_native__failed(n))
		add_returns(n);
	if (j.nr_uncalled)
		forget_assumed_calls(n);
	sonde_free(j.ids.sorted);
	sonde_vec_release(&j.names.of);
	return sonde_source__status(n->src, n->r, err);
}
