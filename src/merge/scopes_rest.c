#include "merge/scopes_rest.h"

#include "base/alloc.h"
#include "base/known.h"
#include "cellfile/cell_walks.h"
#include "merge/parts_sum.h"

#include <math.h>
#include <stdlib.h>

#define MAX_ENTRIES 2048 /* entries kept for a region: of more, those with the smallest hashes */

struct kept_entry {
	uint64_t hash;
	uint32_t part;
	struct sonde_entry entry;
};

/* The data that a rest keeps for one region, beside the sum. */
struct region {
	struct sonde_str first_path; /* path of the first part (sorted by path) with the region … */
	uint32_t first_number;	     /* … and its number in that part: these give the order of regions */
	uint64_t nr_streams;
	uint64_t nr_entries; /* kept or not */
	SONDE_VEC(struct kept_entry) entries;
};

/* The data that a rest keeps for one scope. The numbers in `times` and `collectives` are those of the sum. */
struct scope {
	uint32_t part;
	uint64_t id; /* identity of its part: gives the order of scopes that are otherwise alike */
	struct sonde_folded_scope it;
	SONDE_VEC(struct sonde_folded_time) times;
	SONDE_VEC(struct sonde_collective) collectives;
};

/* Parts of one kind. */
struct sonde_rest {
	struct sonde_sum sum;
	uint64_t nr_inputs;
	SONDE_VEC(struct region) regions; /* one per region of the sum */
	SONDE_VEC(struct scope) scopes;
};

/* A part that is added or taken out. */
struct moving {
	struct sonde_rest *r;
	const struct sonde_rest_part *part;
	struct sonde_sum_part m;
};

/* --- kinds -------------------------------------------------------------------------------------- */

static const struct sonde_device *device_of(const struct sonde_cells *c, const struct sonde_scope *s)
{
	const struct sonde_device *of_input = NULL;
	size_t i;

	for (i = 0; i < c->devices.nr; i++) {
		const struct sonde_device *d = &c->devices.at[i];

		if (d->id == s->device && d->process == s->process)
			return d;
		if (d->id == s->device && !of_input)
			of_input = d;
	}
	return of_input;
}

static void describe_device(struct sonde_buf *key, const struct sonde_device *d)
{
	struct sonde_walk w = {.to = key};
	size_t i;

	sonde_walk_number(&w, d != NULL);
	if (!d)
		return;
	sonde_walk_bytes(&w, d->name);
	sonde_walk_number(&w, d->cc_major);
	sonde_walk_number(&w, d->cc_minor);
	for (i = 0; i < d->nr_attributes; i++) {
		sonde_walk_bytes(&w, d->attributes[i].name);
		sonde_walk_bytes(&w, d->attributes[i].text);
		sonde_walk_double(&w, d->attributes[i].value);
	}
}

static bool are_alike(const struct sonde_cells *c, size_t a, size_t b)
{
	struct sonde_buf x = {0}, y = {0};
	bool same;

	describe_device(&x, device_of(c, &c->scopes.at[a]));
	describe_device(&y, device_of(c, &c->scopes.at[b]));
	same = !x.failed && !y.failed && sonde_str_eq(sonde_buf_view(&x), sonde_buf_view(&y));
	sonde_buf_release(&x);
	sonde_buf_release(&y);
	return same;
}

bool sonde_rest__may_take(const struct sonde_cells *c)
{
	size_t i;

	if (c->inputs.nr != 1 || c->kits.nr != 1 || !c->scopes.nr || c->sampled.nr || c->nr_damaged)
		return false;
	for (i = 0; i < c->scopes.nr; i++)
		if (c->scopes.at[i].measured != SONDE_MEASURED_KERNEL || !are_alike(c, 0, i))
			return false;
	return true;
}

bool sonde_rest__describe(struct sonde_buf *key, const struct sonde_cells *c)
{
	const struct sonde_input *in = &c->inputs.at[0];
	const struct sonde_kit *kit = &c->kits.at[0];
	struct sonde_selection selection = c->selection;
	struct sonde_read_options read = c->read;
	struct sonde_walk w = {.to = key};
	uint32_t i;

	sonde_walk_settings(&w, &selection, &read);
	sonde_walk_bytes(&w, in->source);
	sonde_walk_bytes(&w, in->tool);
	sonde_walk_bytes(&w, in->replay_mode);
	for (i = 0; i < c->metric_names.nr; i++) {
		sonde_walk_bytes(&w, c->metric_names.keys[i]);
		sonde_walk_number(&w, sonde_input_has(in, i));
		sonde_walk_maybe(&w, kit->at[i], SONDE_NONE);
		sonde_walk_bytes(&w, kit->breakdowns[i]);
	}
	describe_device(key, device_of(c, &c->scopes.at[0]));
	return !key->failed;
}

/* --- creating a rest ---------------------------------------------------------------------------- */

static bool keep_device(struct sonde_cells *c, const struct sonde_device *from)
{
	struct sonde_device *d = from ? sonde_cells_add_device(c, from) : NULL;

	if (d) {
		d->id = d->process = 0;
		d->uuid = SONDE_STR("");
	}
	return d || !from;
}

/* The rest has one input for all of its kind, and a process that sorts after all others. */
struct sonde_rest *sonde_rest__new(const struct sonde_cells *first)
{
	const struct sonde_input *from = &first->inputs.at[0];
	struct sonde_input in = {.path = SONDE_STR(""),
		.source = from->source,
		.tool = from->tool,
		.command = SONDE_STR(""),
		.replay_mode = from->replay_mode,
		.has = from->has};
	const struct sonde_process process = {.pid = UINT64_MAX, .host = SONDE_STR(""), .name = SONDE_STR("")};
	struct sonde_rest *r = sonde_calloc(1, sizeof(*r));

	if (r && sonde_sum__init(&r->sum, first, &in, &process) &&
		keep_device(r->sum.c, device_of(first, &first->scopes.at[0])))
		return r;
	sonde_rest__free(r);
	return NULL;
}

/* --- entries: a sample of them ------------------------------------------------------------------- */

static int by_hash(const void *a, const void *b)
{
	const struct kept_entry *x = a, *y = b;

	return sonde_cmp(x->hash, y->hash);
}

/* Drops all entries of a region but the MAX_ENTRIES with the smallest hashes. */
static void keep_sample(struct region *r)
{
	sonde_vec_sort(&r->entries, by_hash);
	if (r->entries.nr > MAX_ENTRIES)
		r->entries.nr = MAX_ENTRIES;
}

static bool add_entries_of(struct moving *m, const struct sonde_visit *v)
{
	uint32_t region = m->m.of.region[v->region], i;
	struct region *to = &m->r->regions.at[region];
	struct sonde_str id = m->r->sum.regions.at[region].id;

	sonde_sum__count(&m->m, &to->nr_streams, v->nr_streams + v->more_streams);
	sonde_sum__count(&m->m, &to->nr_entries, (uint64_t)v->nr_entries * (v->entry_step ? v->entry_step : 1));
	for (i = 0; m->m.sign > 0 && i < v->nr_entries; i++) {
		struct sonde_entry e = m->part->c->entries.at[v->first_entry + i];
		uint64_t key[4] = {m->part->id, sonde_hash(id.p, id.n), i, v->scope};

		e.label = e.arguments = SONDE_NONE; /* not kept, as they are string numbers of the part */
		if (!sonde_vec_put(&to->entries,
			    (struct kept_entry){sonde_hash(key, sizeof(key)), m->part->number, e}))
			return false;
		if (to->entries.nr == 2 * MAX_ENTRIES)
			keep_sample(to);
	}
	return true;
}

static bool add_entries(struct moving *m)
{
	size_t i;

	for (i = 0; i < m->part->c->visits.nr; i++)
		if (!add_entries_of(m, &m->part->c->visits.at[i]))
			return false;
	return true;
}

static void drop_entries(struct sonde_rest *r, uint32_t part)
{
	size_t i;

	for (i = 0; i < r->regions.nr; i++) {
		struct region *region = &r->regions.at[i];

		keep_sample(region); /* first, as the remaining entries must not depend on the order of the parts */
		sonde_vec_filter(&region->entries, k, region->entries.at[k].part != part);
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct kept_entry *x = a, *y = b;

	return x->entry.begin_ns != y->entry.begin_ns
		       ? sonde_cmp(x->entry.begin_ns, y->entry.begin_ns)
		       : sonde_cmp(x->hash, y->hash);
}

static bool finish_entries(struct sonde_rest *r, struct sonde_cells *c, const uint32_t *order)
{
	size_t i, k;

	for (i = 0; i < c->visits.nr; i++) {
		struct sonde_visit *v = &c->visits.at[i];
		struct region *from = &r->regions.at[order[v->region]];

		v->more_streams = (uint32_t)from->nr_streams;
		keep_sample(from);
		if (!from->entries.nr)
			continue;
		qsort(from->entries.at, from->entries.nr, sizeof(*from->entries.at), by_begin);
		if (!sonde_vec_reserve(&c->entries, c->entries.nr + from->entries.nr + 1))
			return false;
		v->first_entry = (uint32_t)c->entries.nr;
		v->nr_entries = (uint32_t)from->entries.nr;
		v->entry_step = (uint32_t)((from->nr_entries + from->entries.nr / 2) / from->entries.nr);
		v->entry_step += v->entry_step == 0;
		for (k = 0; k < from->entries.nr; k++)
			c->entries.at[c->entries.nr++] = from->entries.at[k].entry;
	}
	return true;
}

/* --- the times of each scope ------------------------------------------------------------------- */

/* The time of one region of a part, in the current scope. */
struct taken {
	double time_ns, work_ns; /* work: without communication */
	uint32_t last;		 /* number of the cell that was added last */
};

/* Adds the time of a cell to its regions, once to each, even if several homes of the cell are inside the region. */
static void add_time_of_cell(struct taken *of, const struct sonde_cells *c, uint32_t number)
{
	const struct sonde_cell *cell = &c->cells.at[number];
	bool is_work = !sonde_kernel_communicates(c->strings.keys[cell->kernel]);
	uint32_t region;

	SONDE_EACH_REGION(c, cell->place, region) {
		if (of[region].last == number)
			break;
		of[region].last = number;
		of[region].time_ns += cell->time_ns;
		of[region].work_ns += is_work ? cell->time_ns : 0;
	}
}

static bool add_times(struct moving *m, struct scope *to, uint32_t scope, struct taken *of)
{
	const struct sonde_cells *c = m->part->c;
	bool is_timed = sonde_input_has(&c->inputs.at[0],
		sonde_map_find(&c->metric_names, SONDE_STR(SONDE_METRIC_TIME)));
	uint32_t i;

	for (i = 0; i < c->regions.nr; i++)
		of[i] = (struct taken){.last = SONDE_NONE};
	for (i = 0; i < c->cells.nr; i++)
		if (c->cells.at[i].scope == scope)
			add_time_of_cell(of, c, i);
	for (i = 0; i < c->visits.nr; i++) {
		uint32_t region = c->visits.at[i].region;

		if (c->visits.at[i].scope == scope && c->regions.at[region].is_shown &&
			!sonde_vec_put(&to->times,
				(struct sonde_folded_time){.region = m->m.of.region[region],
					.time_ns = is_timed ? of[region].time_ns : NAN,
					.work_ns = is_timed ? of[region].work_ns : NAN}))
			return false;
	}
	return true;
}

/* --- the figures of each scope by which ranks are compared --------------------------------------- */

static struct scope *add_scope(struct sonde_rest *r, const struct sonde_rest_part *p, uint32_t scope)
{
	const struct sonde_cells *c = p->c;
	const struct sonde_process *process = &c->processes.at[c->scopes.at[scope].process];
	struct scope *to = sonde_vec_push(&r->scopes);
	struct sonde_folded_scope *it = to ? &to->it : NULL;
	size_t i;

	if (!to)
		return NULL;
	to->part = p->number;
	to->id = p->id;
	*it = (struct sonde_folded_scope){.process = *process,
		.path = sonde_arena_dup(&r->sum.arena, c->inputs.at[process->input].path),
		.device = c->scopes.at[scope].device,
		.sum = c->sums.at[scope],
		.comm_ns = NAN,
		.exposed_ns = NAN};
	it->process.host = sonde_arena_dup(&r->sum.arena, process->host);
	it->process.name = SONDE_STR("");
	it->process.input = 0;
	for (i = 0; i < c->cells.nr; i++)
		if (c->cells.at[i].scope == scope &&
			!sonde_kernel_communicates(c->strings.keys[c->cells.at[i].kernel]))
			it->work_ns += c->cells.at[i].time_ns;
	for (i = 0; i < c->visits.nr; i++)
		if (c->visits.at[i].scope == scope &&
			c->regions.at[c->visits.at[i].region].parent == SONDE_NONE) {
			sonde_add_known(&it->comm_ns, c->visits.at[i].times.comm_ns);
			sonde_add_known(&it->exposed_ns, c->visits.at[i].times.exposed_ns);
		}
	while (it->sum.collective_step &&
		it->sum.collectives / it->sum.collective_step > SONDE_MAX_FOLDED_COLLECTIVES)
		it->sum.collective_step *= 2;
	return it->path.p && it->process.host.p ? to : NULL;
}

static bool add_collectives(struct moving *m, struct scope *to, uint32_t scope)
{
	const struct sonde_cells *c = m->part->c;
	uint32_t step = to->it.sum.collective_step;
	size_t i;

	for (i = 0; step && i < c->collectives.nr; i++) {
		struct sonde_collective k = c->collectives.at[i];

		/* the same choice as in the fold (communication.c), so that all ranks keep the same ones */
		if (k.scope != scope || sonde_hash(&k.number, sizeof(k.number)) % step)
			continue;
		k.place = m->m.of.place[k.place];
		k.group = m->m.of.string[k.group];
		k.scope = 0;
		if (!sonde_vec_put(&to->collectives, k))
			return false;
	}
	return true;
}

static bool add_scopes(struct moving *m)
{
	const struct sonde_cells *c = m->part->c;
	struct taken *of = sonde_arena_alloc(&m->m.arena, (c->regions.nr + 1) * sizeof(*of));
	uint32_t i;

	for (i = 0; of && i < c->scopes.nr; i++) {
		struct scope *to = add_scope(m->r, m->part, i);

		if (!to || !add_times(m, to, i, of) || !add_collectives(m, to, i))
			return false;
	}
	return of != NULL;
}

static void release_scope(struct scope *s)
{
	sonde_vec_release(&s->times);
	sonde_vec_release(&s->collectives);
}

static void drop_scopes(struct sonde_rest *r, uint32_t part)
{
	size_t i;

	for (i = 0; i < r->scopes.nr; i++)
		if (r->scopes.at[i].part == part)
			release_scope(&r->scopes.at[i]);
	sonde_vec_filter(&r->scopes, k, r->scopes.at[k].part != part);
}

/* In the order of sonde_scopes_sort; scopes that are alike are sorted by the identity of their part. */
static int by_rank(const void *pa, const void *pb)
{
	const struct scope *a = pa, *b = pb;
	const struct sonde_process *x = &a->it.process, *y = &b->it.process;
	int c = sonde_cmp(y->has_rank, x->has_rank);

	c = c ? c : sonde_cmp(x->rank, y->rank);
	c = c ? c : sonde_cmp(x->pid, y->pid);
	c = c ? c : sonde_str_cmp(x->host, y->host);
	c = c ? c : sonde_cmp(a->it.device, b->it.device);
	return c ? c : sonde_cmp(a->id, b->id);
}

static int by_who_and_start(const void *pa, const void *pb)
{
	const struct sonde_collective *a = pa, *b = pb;
	int c = sonde_cmp(a->folded_scope, b->folded_scope);

	c = c ? c : sonde_cmp(a->start_ns, b->start_ns);
	return c ? c : sonde_cmp(a->number, b->number);
}

static bool finish_scopes(struct sonde_rest *r, struct sonde_cells *c, const struct sonde_numbers *n)
{
	uint32_t who;
	size_t k;

	sonde_vec_sort(&r->scopes, by_rank);
	for (who = 0; who < r->scopes.nr; who++) {
		const struct scope *from = &r->scopes.at[who];
		struct sonde_folded_scope it = from->it;

		if (!sonde_cells_keep(c, &it.process.host) || !sonde_cells_keep(c, &it.path) ||
			!sonde_vec_put(&c->folded_scopes, it))
			return false;
		for (k = 0; k < from->times.nr; k++) {
			struct sonde_folded_time to = from->times.at[k];

			to.folded_scope = who;
			to.region = n->region[to.region];
			if (!sonde_vec_put(&c->folded_times, to))
				return false;
		}
		for (k = 0; k < from->collectives.nr; k++) {
			struct sonde_collective to = from->collectives.at[k];

			to.folded_scope = who;
			to.place = n->place[to.place];
			to.group = n->string[to.group];
			if (!sonde_vec_put(&c->collectives, to))
				return false;
		}
	}
	sonde_vec_sort(&c->collectives, by_who_and_start);
	return true;
}

/* --- adding parts and taking them out ----------------------------------------------------------- */

/* Updates the place of a region in the order, which is that of the first part (sorted by path) with the region. */
static bool order_region(struct moving *m, struct region *to, uint32_t number)
{
	struct sonde_str path = m->part->c->inputs.at[0].path;
	int c = to->first_path.p ? sonde_str_cmp(path, to->first_path) : -1;

	if (c > 0 || (c == 0 && number >= to->first_number))
		return true;
	to->first_number = number;
	if (c)
		to->first_path = sonde_arena_dup(&m->r->sum.arena, path);
	return to->first_path.p != NULL;
}

static bool order_regions(struct moving *m)
{
	struct sonde_rest *r = m->r;
	uint32_t i;

	while (r->regions.nr < r->sum.regions.nr)
		if (!sonde_vec_push(&r->regions))
			return false;
	for (i = 0; i < m->part->c->regions.nr; i++)
		if (!order_region(m, &r->regions.at[m->m.of.region[i]], i))
			return false;
	return true;
}

static void count_input(const struct moving *m)
{
	const struct sonde_cells *from = m->part->c;
	struct sonde_cells *to = m->r->sum.c;
	struct sonde_input *in = &to->inputs.at[0];
	size_t i;

	sonde_sum__count(&m->m, &m->r->nr_inputs, 1);
	in->is_windowed |= from->inputs.at[0].is_windowed;
	in->is_running |= from->inputs.at[0].is_running;
	sonde_sum__count(&m->m, &in->nr_unrecorded, from->inputs.at[0].nr_unrecorded);
	sonde_sum__count(&m->m, &in->nr_modules, from->inputs.at[0].nr_modules);
	sonde_sum__count(&m->m, &in->nr_graphed, from->inputs.at[0].nr_graphed);
	sonde_sum__count(&m->m, &in->nr_regained, from->inputs.at[0].nr_regained);
	sonde_sum__count(&m->m, &in->nr_windows, from->inputs.at[0].nr_windows);
	sonde_sum__count(&m->m, &in->captured_ns, from->inputs.at[0].captured_ns);
	sonde_sum__count(&m->m, &in->total_ns, from->inputs.at[0].total_ns);
	for (i = 0; i < to->label_rules.nr && i < from->label_rules.nr; i++)
		sonde_sum__count(&m->m, &to->label_rules.at[i].changed, from->label_rules.at[i].changed);
}

static bool move_part(struct sonde_rest *r, const struct sonde_rest_part *p, int sign)
{
	struct moving m = {r, p, {.sum = &r->sum, .c = p->c, .sign = sign}};
	bool ok = sonde_sum__enter(&m.m) && order_regions(&m) && sonde_sum__move(&m.m) &&
		  add_entries(&m) &&
		  (sign < 0 || add_scopes(&m));

	if (ok)
		count_input(&m);
	sonde_arena_release(&m.m.arena);
	return ok;
}

bool sonde_rest__add(struct sonde_rest *r, const struct sonde_rest_part *p)
{
	return move_part(r, p, 1);
}

bool sonde_rest__take_out(struct sonde_rest *r, const struct sonde_rest_part *p)
{
	bool ok = move_part(r, p, -1);

	drop_entries(r, p->number);
	drop_scopes(r, p->number);
	return ok;
}

/* --- making the part of a rest ------------------------------------------------------------------ */

static int by_first(const void *a, const void *b, void *rest)
{
	const struct sonde_rest *r = rest;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct sonde_region *x = &r->sum.regions.at[i], *y = &r->sum.regions.at[k];
	int c = sonde_str_cmp(r->regions.at[i].first_path, r->regions.at[k].first_path);

	c = c ? c : sonde_cmp(r->regions.at[i].first_number, r->regions.at[k].first_number);
	c = c ? c : sonde_cmp(x->depth, y->depth);
	c = c ? c : sonde_str_cmp(x->id, y->id);
	return c ? c : sonde_cmp(x->kind, y->kind);
}

/*
 * Sets the number of scopes in the rest's only scope. Its collectives are listed under the folded scopes, so its own
 * count is 0.
 */
static void finish_scope(const struct sonde_rest *r, struct sonde_cells *c)
{
	c->scopes.at[0].device = c->devices.nr ? 0 : SONDE_NONE;
	c->scopes.at[0].nr_folded = (uint32_t)r->sum.scopes.at[0].nr;
	c->sums.at[0].collectives = 0;
	c->inputs.at[0].nr_folded = (uint32_t)r->nr_inputs;
	c->inputs.at[0].path =
		sonde_arena_printf(&c->arena, "(%llu inputs)", (unsigned long long)r->nr_inputs);
	c->processes.at[0].nr_launches = c->sums.at[0].launches;
}

uint64_t sonde_rest__nr_inputs(const struct sonde_rest *r)
{
	return r->nr_inputs;
}

struct sonde_cells *sonde_rest__finish(struct sonde_rest *r)
{
	uint32_t *order = sonde_sum__sort(&r->sum.arena, r->regions.nr, by_first, r);
	struct sonde_numbers n = {0};
	struct sonde_cells *c = order ? sonde_sum__finish(&r->sum, order, &n) : NULL;

	if (c && finish_entries(r, c, order) && finish_scopes(r, c, &n)) {
		finish_scope(r, c);
		return c;
	}
	sonde_cells_free(c);
	return NULL;
}

void sonde_rest__free(struct sonde_rest *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->regions.nr; i++)
		sonde_vec_release(&r->regions.at[i].entries);
	sonde_vec_release(&r->regions);
	for (i = 0; i < r->scopes.nr; i++)
		release_scope(&r->scopes.at[i]);
	sonde_vec_release(&r->scopes);
	sonde_sum__release(&r->sum);
	sonde_free(r);
}
