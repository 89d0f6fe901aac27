/*
 * The tables around the cells: copied from records and launches, with the strings
 * that are used. Strings keep their order, because sums over kernels are made in that order.
 */
#include "fold/fold_int.h"

#include <string.h>

static void mark_string(bool *used, uint32_t string)
{
	if (string != SONDE_NONE)
		used[string] = true;
}

static void mark_used(const struct sonde_folding *f, bool has_timeline, bool *used)
{
	const struct sonde_launches *l = f->l;
	size_t i, k;

	for (i = 0; i < l->regions.nr; i++)
		mark_string(used, l->regions.at[i].domain);
	for (i = 0; i < l->launches.nr; i++)
		if (has_timeline || l->launches.at[i].state != SONDE_LAUNCH_NOT_SELECTED)
			mark_string(used, sonde_launch_kernel(l, &l->launches.at[i]));
	for (i = 0; has_timeline && i < f->r->ranges.nr; i++)
		mark_string(used, f->r->ranges.at[i].label);
	for (i = 0; has_timeline && i < f->r->marks.nr; i++)
		mark_string(used, f->r->marks.at[i].label);
	for (i = 0; has_timeline && i < f->r->gauges.nr; i++)
		mark_string(used, f->r->gauges.at[i].name);
	for (i = 0; has_timeline && i < f->r->thread_names.nr; i++)
		mark_string(used, f->r->thread_names.at[i].name);
	for (i = 0; i < f->r->sections.nr; i++)
		for (k = 0; k < f->r->sections.at[i].metrics.nr; k++)
			mark_string(used, f->r->sections.at[i].metrics.at[k]);
}

static bool copy_strings(struct sonde_folding *f, bool has_timeline)
{
	const struct sonde_map *strings = &f->r->strings;
	bool *used = sonde_arena_calloc(&f->scratch, strings->nr + 1, sizeof(*used));
	size_t i;

	f->string_of = sonde_arena_alloc(&f->scratch, (strings->nr + 1) * sizeof(*f->string_of));
	if (!used || !f->string_of)
		return false;
	mark_used(f, has_timeline, used);
	for (i = 0; i < strings->nr; i++) {
		f->string_of[i] = used[i] ? sonde_map_keep(&f->c->strings, &f->c->arena,
						    strings->keys[i], NULL)
					  : SONDE_NONE;
		if (used[i] && f->string_of[i] == SONDE_NONE)
			return false;
	}
	return true;
}

/* Labels are added after the other strings, so that a label with a kernel's name does not change the order of kernels. */
static bool copy_labels(struct sonde_folding *f)
{
	const struct sonde_map *labels = &f->l->labels;
	size_t i;

	f->label_of = sonde_arena_alloc(&f->scratch, (labels->nr + 1) * sizeof(*f->label_of));
	if (!f->label_of)
		return false;
	memset(f->label_of, 0xff, (labels->nr + 1) * sizeof(*f->label_of));
	for (i = 0; i < f->l->regions.nr; i++) {
		uint32_t label = f->l->regions.at[i].label;

		f->label_of[label] =
			sonde_map_keep(&f->c->strings, &f->c->arena, labels->keys[label], NULL);
		if (f->label_of[label] == SONDE_NONE)
			return false;
	}
	return true;
}

static bool copy_rules(struct sonde_folding *f)
{
	size_t i;

	if (!sonde_vec_append(&f->c->label_rules, &f->l->label_rules))
		return false;
	for (i = 0; i < f->c->label_rules.nr; i++)
		if (!sonde_cells_keep(f->c, &f->c->label_rules.at[i].text))
			return false;
	return true;
}

static bool copy_inputs(struct sonde_folding *f)
{
	size_t i;

	for (i = 0; i < f->r->inputs.nr; i++)
		if (!sonde_cells_add_input(f->c, &f->r->inputs.at[i]))
			return false;
	for (i = 0; i < f->r->processes.nr; i++)
		if (!sonde_cells_add_process(f->c, &f->r->processes.at[i]))
			return false;
	return true;
}

static bool copy_measured(struct sonde_folding *f)
{
	struct sonde_cells *c = f->c;
	size_t i, k;

	for (i = 0; i < f->r->metric_names.nr; i++)
		if (sonde_map_keep(&c->metric_names, &c->arena, f->r->metric_names.keys[i], NULL) ==
			SONDE_NONE)
			return false;
	for (i = 0; i < f->r->devices.nr; i++)
		if (!sonde_cells_add_device(c, &f->r->devices.at[i]))
			return false;
	for (i = 0; i < f->r->sections.nr; i++) {
		const struct sonde_section *from = &f->r->sections.at[i];
		struct sonde_section *s = sonde_vec_push(&c->sections);

		if (!s || !sonde_vec_reserve(&s->metrics, from->metrics.nr + 1))
			return false;
		s->id = from->id;
		s->name = from->name;
		if (!sonde_cells_keep(c, &s->id) || !sonde_cells_keep(c, &s->name))
			return false;
		for (k = 0; k < from->metrics.nr; k++)
			s->metrics.at[s->metrics.nr++] = f->string_of[from->metrics.at[k]];
	}
	return true;
}

static bool copy_regions(struct sonde_folding *f)
{
	const struct sonde_launches *l = f->l;
	struct sonde_cells *c = f->c;
	size_t i;

	if (!sonde_vec_append(&c->regions, &l->regions) || !sonde_vec_append(&c->scopes, &l->scopes))
		return false;
	for (i = 0; i < c->regions.nr; i++) {
		struct sonde_region *g = &c->regions.at[i];

		g->label = f->label_of[g->label];
		g->domain = sonde_number_in(f->string_of, g->domain);
		if (!sonde_cells_keep(c, &g->id))
			return false;
	}
	for (i = 0; i < c->scopes.nr; i++)
		c->scopes.at[i].name = (struct sonde_str){NULL, 0}; /* scopes get names when cells are united */
	return true;
}

static bool copy_tally(struct sonde_cells *c, const struct sonde_tally *from)
{
	size_t nr = sonde_selection_nr_words(&c->selection), i;

	c->tally = *from;
	c->tally.is_matched = sonde_arena_calloc(&c->arena, nr + 1, sizeof(*c->tally.is_matched));
	if (!c->tally.is_matched)
		return false;
	memcpy(c->tally.is_matched, from->is_matched, nr * sizeof(*from->is_matched));
	for (i = 0; i < c->tally.nr_functions; i++)
		if (!sonde_cells_keep(c, &c->tally.functions[i]))
			return false;
	return true;
}

bool sonde_fold__tables(struct sonde_folding *f, bool has_timeline)
{
	const struct sonde_launches *l = f->l;
	struct sonde_cells *c = f->c;
	size_t i;

	c->has_range_times = f->r->has_range_times;
	c->has_times = f->r->has_range_times || f->r->has_record_times || f->r->series.nr;
	c->nr_unclosed = f->r->nr_unclosed;
	sonde_notes_add(&c->notes, &f->r->notes);
	for (i = 0; i < l->nr_remarks; i++)
		sonde_notes_put(&c->notes, l->notes.texts.keys[i], sonde_notes_is_loss(&l->notes, i));
	return sonde_cells_keep_selection(c, &l->selection) && copy_tally(c, &l->tally) &&
	       copy_strings(f, has_timeline) && copy_labels(f) && copy_rules(f) && copy_inputs(f) &&
	       copy_measured(f) && copy_regions(f) && sonde_vec_append(&c->places, &l->places) &&
	       sonde_vec_append(&c->homes, &l->homes) && sonde_vec_append(&c->strays, &l->strays);
}

/* Kits: the constituents of an input's throughputs, which must be known before its launches are folded. */

#define MAX_LOOKED_AT 1000 /* results of an input that are searched for breakdowns */

/* Counts the metrics of an input that list constituents: `breakdown:X`, for a throughput X. */
static size_t count_breakdowns(const struct sonde_records *r, const struct sonde_input *in)
{
	size_t i, nr = 0;

	for (i = 0; i < r->metrics.nr; i++)
		nr += sonde_input_has(in, (uint32_t)i) &&
		      sonde_str_starts(r->metrics.at[i].name, "breakdown:");
	return nr;
}

/* Takes the constituents that one result lists. False: no memory. */
static bool take_breakdowns(struct sonde_cells *c, const struct sonde_values *v,
	struct sonde_kit *kit, size_t *missing)
{
	size_t i;

	for (i = 0; i < v->texts.nr; i++) {
		struct sonde_str name = c->metric_names.keys[v->texts.at[i].metric];
		uint32_t metric;

		if (!sonde_str_starts(name, "breakdown:"))
			continue;
		name = (struct sonde_str){name.p + 10, name.n - 10};
		metric = sonde_map_find(&c->metric_names, name);
		if (metric == SONDE_NONE || kit->breakdowns[metric].p)
			continue;
		kit->breakdowns[metric] = v->texts.at[i].text;
		if (!sonde_cells_keep(c, &kit->breakdowns[metric]))
			return false;
		--*missing;
	}
	return true;
}

/* Adds a kit. The first result that lists the constituents of a throughput is used for the whole input. */
static bool add_kit(struct sonde_folding *f, struct sonde_values *values, uint32_t input)
{
	const struct sonde_records *r = f->r;
	struct sonde_cells *c = f->c;
	struct sonde_kit *kit = sonde_vec_push(&c->kits);
	uint32_t *kit_of = sonde_vec_push(&c->kit_of);
	size_t missing = count_breakdowns(r, &r->inputs.at[input]), looked = 0, i;

	if (!kit || !kit_of)
		return false;
	*kit_of = kit->input = input;
	kit->breakdowns =
		sonde_arena_calloc(&c->arena, r->metrics.nr + 1, sizeof(*kit->breakdowns));
	if (!kit->breakdowns)
		return false;
	for (i = 0; i < r->records.nr && looked < MAX_LOOKED_AT && missing; i++) {
		uint32_t process = sonde_record_caller(r, &r->records.at[i])->process;

		if (r->processes.at[process].input != input)
			continue;
		looked++;
		if (sonde_records_values(r, (uint32_t)i, values, NULL) == 0 &&
			!take_breakdowns(c, values, kit, &missing))
			return false;
	}
	return true;
}

bool sonde_fold__kits(struct sonde_folding *f, struct sonde_values *values)
{
	uint32_t i;

	for (i = 0; i < f->r->inputs.nr; i++)
		if (!add_kit(f, values, i))
			return false;
	return true;
}
