/* A rest begins as what its parts have in common, and ends as a part. */
#include "fold/rest_int.h"

#include "base/alloc.h"

/* --- what parts have in common ------------------------------------------------------------------ */

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

	sonde_partial__move_settings(&w, &selection, &read);
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

static bool keep_input(struct sonde_cells *c, const struct sonde_cells *from)
{
	struct sonde_input *in = sonde_vec_push(&c->inputs);
	struct sonde_process *process = sonde_vec_push(&c->processes);
	uint32_t i;

	if (!in || !process || !sonde_vec_reserve(&in->has, from->metric_names.nr + 1))
		return false;
	for (i = 0; i < from->metric_names.nr; i++)
		in->has.at[in->has.nr++] = sonde_input_has(&from->inputs.at[0], i);
	in->path = in->command = SONDE_STR("");
	in->source = from->inputs.at[0].source;
	in->tool = from->inputs.at[0].tool;
	in->replay_mode = from->inputs.at[0].replay_mode;
	process->pid = UINT64_MAX; /* behind all others */
	process->host = process->name = SONDE_STR("");
	return sonde_cells__keep(c, &in->source) && sonde_cells__keep(c, &in->tool) &&
	       sonde_cells__keep(c, &in->replay_mode);
}

static bool keep_device(struct sonde_cells *c, const struct sonde_device *from)
{
	struct sonde_device *d = from ? sonde_cells__add_device(c, from) : NULL;

	if (d) {
		d->id = d->process = 0;
		d->uuid = SONDE_STR("");
	}
	return d || !from;
}

static bool keep_kit(struct sonde_cells *c, const struct sonde_cells *from)
{
	struct sonde_kit *kit = sonde_vec_push(&c->kits);
	uint32_t *kit_of = sonde_vec_push(&c->kit_of);
	size_t nr = from->metric_names.nr, i;

	if (!kit || !kit_of)
		return false;
	kit->nr = from->kits.at[0].nr;
	kit->at = sonde_arena_alloc(&c->arena, (nr + 1) * sizeof(*kit->at));
	kit->breakdowns = sonde_arena_calloc(&c->arena, nr + 1, sizeof(*kit->breakdowns));
	for (i = 0; kit->at && kit->breakdowns && i < nr; i++) {
		kit->at[i] = from->kits.at[0].at[i];
		kit->breakdowns[i] = from->kits.at[0].breakdowns[i];
		if (!sonde_cells__keep(c, &kit->breakdowns[i]) ||
			sonde_map_keep(&c->metric_names, &c->arena, from->metric_names.keys[i], NULL) ==
				SONDE_NONE)
			return false;
	}
	return kit->at && kit->breakdowns;
}

static bool keep_rules(struct sonde_cells *c, const struct sonde_cells *from)
{
	size_t i;

	for (i = 0; i < from->label_rules.nr; i++) {
		struct sonde_label_rule rule = {.text = from->label_rules.at[i].text};

		if (!sonde_cells__keep(c, &rule.text) || !sonde_vec_put(&c->label_rules, rule))
			return false;
	}
	c->read = from->read;
	c->tally.is_met = sonde_arena_calloc(
		&c->arena, sonde_selection_nr_words(&from->selection) + 1, sizeof(bool));
	return c->tally.is_met && sonde_cells__keep_selection(c, &from->selection);
}

struct sonde_rest *sonde_rest__new(const struct sonde_cells *first)
{
	struct sonde_rest *r = sonde_calloc(1, sizeof(*r));
	const struct sonde_device *d = device_of(first, &first->scopes.at[0]);

	if (r)
		r->c = sonde_calloc(1, sizeof(*r->c));
	if (r && r->c && keep_input(r->c, first) && keep_device(r->c, d) &&
		keep_kit(r->c, first) && keep_rules(r->c, first)) {
		r->nr_acc = r->c->kits.at[0].nr;
		r->methods = sonde_kit__find_methods(
			&r->c->kits.at[0], &r->c->metric_names, &r->arena);
	}
	if (r && r->methods)
		return r;
	sonde_rest__free(r);
	return NULL;
}

static void free_cell(const struct sonde_rest *r, struct sonde_rest_cell *cell)
{
	uint32_t i;

	sonde_exact_release(&cell->time_ns);
	sonde_exact_release(&cell->copy_ns);
	sonde_exact_release(&cell->copy_bytes);
	for (i = 0; cell->acc && i < r->nr_acc; i++) {
		sonde_exact_release(&cell->acc[i].a);
		sonde_exact_release(&cell->acc[i].w);
		sonde_exact_release(&cell->acc[i].b);
		sonde_exact_release(&cell->acc[i].t);
		sonde_vec_release(&cell->acc[i].modes);
	}
}

void sonde_rest__free(struct sonde_rest *r)
{
	size_t i, k;

	if (!r)
		return;
	for (i = 0; i < r->cells.nr; i++)
		free_cell(r, &r->cells.at[i]);
	for (i = 0; i < r->regions.nr; i++) {
		for (k = 0; k < SONDE_NR_VISIT_TIMES; k++)
			sonde_exact_release(&r->regions.at[i].times[k]);
		sonde_vec_release(&r->regions.at[i].entries);
	}
	sonde_exact_release(&r->time_ns);
	sonde_vec_release(&r->regions);
	sonde_vec_release(&r->cells);
	sonde_vec_release(&r->places);
	sonde_vec_release(&r->homes);
	sonde_vec_release(&r->times);
	sonde_vec_release(&r->scopes);
	sonde_vec_release(&r->collectives);
	sonde_map_release(&r->region_keys);
	sonde_map_release(&r->place_keys);
	sonde_map_release(&r->cell_keys);
	sonde_map_release(&r->strings);
	sonde_map_release(&r->texts);
	sonde_cells_free(r->c);
	sonde_arena_release(&r->arena);
	sonde_free(r);
}
