/* Kinds of parts that may be added up; parts of one kind in and out; and what they come to. */
#include "merge/rest_int.h"

#include "base/alloc.h"
#include "cellfile/cell_walks.h"

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

/* --- the beginning ------------------------------------------------------------------------------ */

static bool keep_device(struct sonde_cells *c, const struct sonde_device *from)
{
	struct sonde_device *d = from ? sonde_cells_add_device(c, from) : NULL;

	if (d) {
		d->id = d->process = 0;
		d->uuid = SONDE_STR("");
	}
	return d || !from;
}

/* The input stands for all of its kind, and its process comes behind all others. */
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

/* --- in and out --------------------------------------------------------------------------------- */

/* The order of regions is that of the first part by path. */
static bool order_region(struct sonde_rest_moving *m, struct sonde_rest_region *to, uint32_t number)
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

static bool order_regions(struct sonde_rest_moving *m)
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

static void count_input(const struct sonde_rest_moving *m)
{
	const struct sonde_cells *from = m->part->c;
	struct sonde_cells *to = m->r->sum.c;
	struct sonde_input *in = &to->inputs.at[0];
	size_t i;

	sonde_sum__count(&m->m, &m->r->nr_inputs, 1);
	in->is_windowed |= from->inputs.at[0].is_windowed;
	in->is_running |= from->inputs.at[0].is_running;
	sonde_sum__count(&m->m, &in->nr_unrecorded, from->inputs.at[0].nr_unrecorded);
	sonde_sum__count(&m->m, &in->nr_windows, from->inputs.at[0].nr_windows);
	sonde_sum__count(&m->m, &in->captured_ns, from->inputs.at[0].captured_ns);
	sonde_sum__count(&m->m, &in->total_ns, from->inputs.at[0].total_ns);
	for (i = 0; i < to->label_rules.nr && i < from->label_rules.nr; i++)
		sonde_sum__count(&m->m, &to->label_rules.at[i].changed, from->label_rules.at[i].changed);
}

static bool move_part(struct sonde_rest *r, const struct sonde_rest_part *p, int sign)
{
	struct sonde_rest_moving m = {r, p, {.sum = &r->sum, .c = p->c, .sign = sign}};
	bool ok = sonde_sum__enter(&m.m) && order_regions(&m) && sonde_sum__move(&m.m) &&
		  sonde_rest__add_entries(&m) &&
		  (sign < 0 || (sonde_rest__add_times(&m) && sonde_rest__add_ranks(&m)));

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

	sonde_rest__drop_entries(r, p->number);
	sonde_rest__drop_ranks(r, p->number);
	return ok;
}

/* --- the end ------------------------------------------------------------------------------------ */

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

/* The one scope says what it stands for. Its collectives are those of the scopes in it. */
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

struct sonde_cells *sonde_rest__finish(struct sonde_rest *r)
{
	uint32_t *order = sonde_sum__sort(&r->sum.arena, r->regions.nr, by_first, r);
	struct sonde_numbers n = {0};
	struct sonde_cells *c = order ? sonde_sum__finish(&r->sum, order, &n) : NULL;

	if (c && sonde_rest__finish_entries(r, c, order) && sonde_rest__finish_ranks(r, c, &n)) {
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
	sonde_vec_release(&r->times);
	sonde_vec_release(&r->scopes);
	sonde_vec_release(&r->collectives);
	sonde_sum__release(&r->sum);
	sonde_free(r);
}
