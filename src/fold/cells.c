#include "fold/fold_int.h"
#include "fold/sampled.h"

#include "base/alloc.h"
#include "base/bisect.h"

#include <string.h>

bool sonde_cells__keep(struct sonde_cells *c, struct sonde_str *text)
{
	if (!text->p)
		return true;
	*text = sonde_arena_dup(&c->arena, *text);
	return text->p != NULL;
}

uint32_t sonde_cells__intern(
	struct sonde_cells *c, struct sonde_map *map, struct sonde_str key, bool *is_new)
{
	return sonde_map_keep(map, &c->arena, key, is_new);
}

static bool keep_words(struct sonde_cells *c, struct sonde_words *words)
{
	const char **at = sonde_arena_calloc(&c->arena, words->nr + 1, sizeof(*at));
	size_t i;

	for (i = 0; at && i < words->nr; i++) {
		at[i] = sonde_arena_z(&c->arena, sonde_str_from(words->at[i]));
		if (!at[i])
			return false;
	}
	words->at = at;
	return at != NULL;
}

bool sonde_cells__keep_selection(struct sonde_cells *c, const struct sonde_selection *s)
{
	c->selection = *s;
	return keep_words(c, &c->selection.nvtx_include) &&
	       keep_words(c, &c->selection.nvtx_exclude) &&
	       keep_words(c, &c->selection.kernel_include) &&
	       keep_words(c, &c->selection.kernel_exclude) && keep_words(c, &c->selection.labels);
}

static bool are_same(struct sonde_words a, struct sonde_words b)
{
	size_t i;

	for (i = 0; a.nr == b.nr && i < a.nr; i++)
		if (strcmp(a.at[i], b.at[i]) != 0)
			return false;
	return a.nr == b.nr;
}

bool sonde_selection__is_same(const struct sonde_selection *a, const struct sonde_selection *b)
{
	return a->stack_only == b->stack_only && a->own_threads == b->own_threads &&
	       a->no_origins == b->no_origins && are_same(a->labels, b->labels) &&
	       are_same(a->nvtx_include, b->nvtx_include) &&
	       are_same(a->nvtx_exclude, b->nvtx_exclude) &&
	       are_same(a->kernel_include, b->kernel_include) &&
	       are_same(a->kernel_exclude, b->kernel_exclude);
}

struct sonde_str sonde_cells_str(const struct sonde_cells *c, uint32_t string)
{
	return string == SONDE_NONE ? (struct sonde_str){NULL, 0} : c->strings.keys[string];
}

const struct sonde_kit *sonde_cells_kit(const struct sonde_cells *c, uint32_t scope)
{
	uint32_t process = c->scopes.at[scope].process;

	return &c->kits.at[c->kit_of.at[c->processes.at[process].input]];
}

const struct sonde_device *sonde_cells_device(const struct sonde_cells *c, uint32_t scope)
{
	uint32_t device = c->device_of.at[scope];

	return device == SONDE_NONE ? NULL : &c->devices.at[device];
}

const struct sonde_visit *sonde_cells_visit(
	const struct sonde_cells *c, uint32_t scope, uint32_t region)
{
	const struct sonde_visit *at = c->visits.at;
	size_t low = 0;

	sonde_bisect(low, c->visits.nr, mid,
		at[mid].scope < scope || (at[mid].scope == scope && at[mid].region < region));
	return low < c->visits.nr && at[low].scope == scope && at[low].region == region ? &at[low]
											: NULL;
}

uint8_t *sonde_kit__find_methods(
	const struct sonde_kit *kit, const struct sonde_map *metrics, struct sonde_arena *arena)
{
	uint8_t *methods = sonde_arena_calloc(arena, kit->nr + 1, sizeof(*methods));
	size_t i;

	for (i = 0; methods && i < metrics->nr; i++)
		if (kit->at[i] != SONDE_NONE)
			methods[kit->at[i]] = sonde_rule_for(metrics->keys[i])->method;
	return methods;
}

void sonde_cells_explain(const struct sonde_cells *c, struct sonde_notes *notes)
{
	const struct sonde_outcome outcome = {.selection = &c->selection,
		.tally = &c->tally,
		.regions = c->regions.at,
		.nr_regions = c->regions.nr,
		.labels = &c->strings};

	sonde_outcome_explain(&outcome, notes);
	sonde_cells__explain_ranks(c, notes);
}

void sonde_cells__shed(struct sonde_cells *c)
{
	size_t i;

	for (i = 0; i < c->inputs.nr; i++)
		sonde_vec_release(&c->inputs.at[i].has);
	for (i = 0; i < c->sections.nr; i++)
		sonde_vec_release(&c->sections.at[i].metrics);
	sonde_vec_release(&c->inputs);
	sonde_vec_release(&c->processes);
	sonde_vec_release(&c->devices);
	sonde_vec_release(&c->sections);
	sonde_map_release(&c->strings);
	sonde_map_release(&c->metric_names);
	sonde_map_release(&c->texts);
	sonde_vec_release(&c->regions);
	sonde_vec_release(&c->scopes);
	sonde_vec_release(&c->sums);
	sonde_vec_release(&c->device_of);
	sonde_vec_release(&c->places);
	sonde_vec_release(&c->homes);
	sonde_vec_release(&c->visits);
	sonde_vec_release(&c->streams);
	sonde_vec_release(&c->entries);
	sonde_vec_release(&c->loads);
	sonde_vec_release(&c->gaps);
	sonde_vec_release(&c->collectives);
	sonde_vec_release(&c->folded_times);
	sonde_vec_release(&c->folded_scopes);
	sonde_vec_release(&c->strays);
	sonde_vec_release(&c->label_rules);
	sonde_vec_release(&c->kits);
	sonde_vec_release(&c->kit_of);
	sonde_vec_release(&c->cells);
	sonde_notes_release(&c->notes);
	sonde_timeline__free(c->timeline);
	c->timeline = NULL;
	c->notes = (struct sonde_notes){0};
}

void sonde_cells_free(struct sonde_cells *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; i < c->sampled.nr; i++)
		sonde_sampled_free(c->sampled.at[i]);
	sonde_vec_release(&c->sampled);
	sonde_cells__shed(c);
	sonde_arena_release(&c->arena);
	for (i = 0; i < c->parts.nr; i++)
		sonde_cells_free(c->parts.at[i]);
	sonde_vec_release(&c->parts);
	sonde_free(c);
}
