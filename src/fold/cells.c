#include "fold/cell_tables.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/quantile.h"
#include "fold/sampled.h"

#include <math.h>
#include <string.h>

bool sonde_cells_keep(struct sonde_cells *c, struct sonde_str *text)
{
	if (!text->p)
		return true;
	*text = sonde_arena_dup(&c->arena, *text);
	return text->p != NULL;
}

uint32_t *sonde_map_enter(struct sonde_map *to, struct sonde_arena *keep,
	const struct sonde_map *from, struct sonde_arena *scratch)
{
	uint32_t *of = sonde_arena_alloc(scratch, (from->nr + 1) * sizeof(*of));
	size_t i;

	for (i = 0; of && i < from->nr; i++) {
		of[i] = keep ? sonde_map_keep(to, keep, from->keys[i], NULL)
			     : sonde_map_add(to, from->keys[i], NULL);
		if (of[i] == SONDE_NONE)
			return NULL;
	}
	return of;
}

bool sonde_numbers_init(struct sonde_numbers *of, const struct sonde_cells *from, struct sonde_map *strings,
	struct sonde_map *texts, struct sonde_arena *keep, struct sonde_arena *scratch)
{
	of->string = sonde_map_enter(strings, keep, &from->strings, scratch);
	of->text = sonde_map_enter(texts, keep, &from->texts, scratch);
	of->region = sonde_arena_alloc(scratch, (from->regions.nr + 1) * sizeof(uint32_t));
	of->place = sonde_arena_calloc(scratch, from->places.nr + 1, sizeof(uint32_t));
	of->scope = sonde_arena_alloc(scratch, (from->scopes.nr + 1) * sizeof(uint32_t));
	return of->string && of->text && of->region && of->place && of->scope;
}

struct sonde_region sonde_region_in(struct sonde_region r, const struct sonde_numbers *of)
{
	r.parent = sonde_number_in(of->region, r.parent);
	r.label = of->string[r.label];
	r.domain = sonde_number_in(of->string, r.domain);
	return r;
}

uint32_t sonde_region_find_or_add(struct sonde_map *keys, struct sonde_arena *keep,
	const struct sonde_region *r, bool *is_new)
{
	const uint32_t key[4] = {r->parent, r->label, r->domain, r->kind};

	return sonde_map_keep(keys, keep, SONDE_BYTES(key), is_new);
}

bool sonde_cells_add_input(struct sonde_cells *c, const struct sonde_input *from)
{
	struct sonde_input *in = sonde_vec_push(&c->inputs);

	if (!in)
		return false;
	*in = *from;
	in->has.at = NULL;
	in->has.nr = in->has.cap = 0;
	return sonde_vec_append(&in->has, &from->has) && sonde_cells_keep(c, &in->path) &&
	       sonde_cells_keep(c, &in->source) && sonde_cells_keep(c, &in->tool) &&
	       sonde_cells_keep(c, &in->command) && sonde_cells_keep(c, &in->replay_mode);
}

bool sonde_cells_add_process(struct sonde_cells *c, const struct sonde_process *from)
{
	struct sonde_process *p = sonde_vec_push(&c->processes);

	if (!p)
		return false;
	*p = *from;
	return sonde_cells_keep(c, &p->host) && sonde_cells_keep(c, &p->name);
}

struct sonde_device *sonde_cells_add_device(struct sonde_cells *c, const struct sonde_device *from)
{
	struct sonde_device *d = sonde_vec_push(&c->devices);
	struct sonde_attribute *at =
		sonde_arena_calloc(&c->arena, from->nr_attributes + 1, sizeof(*at));
	bool ok = d && at;
	size_t i;

	if (ok) {
		*d = *from;
		d->attributes = at;
		ok = sonde_cells_keep(c, &d->name) && sonde_cells_keep(c, &d->uuid);
	}
	for (i = 0; ok && i < from->nr_attributes; i++) {
		at[i] = from->attributes[i];
		ok = sonde_cells_keep(c, &at[i].name) && sonde_cells_keep(c, &at[i].text);
	}
	return ok ? d : NULL;
}

struct sonde_visit *sonde_cells_add_visit(struct sonde_cells *c, uint32_t scope, uint32_t region)
{
	struct sonde_visit *v = sonde_vec_push(&c->visits);

	if (!v)
		return NULL;
	v->scope = scope;
	v->region = region;
	sonde_times_forget(&v->times);
	return v;
}

void sonde_cells_add_counts(struct sonde_cells *to, const struct sonde_cells *from, int sign)
{
	struct sonde_tally *t = &to->tally;
	const struct sonde_tally *f = &from->tally;
	size_t i;

	sonde_count_add(&t->nr_launches, f->nr_launches, sign);
	sonde_count_add(&t->nr_taken, f->nr_taken, sign);
	sonde_count_add(&t->nr_outside, f->nr_outside, sign);
	sonde_count_add(&t->nr_not_selected, f->nr_not_selected, sign);
	sonde_count_add(&t->nr_adopted, f->nr_adopted, sign);
	for (i = 0; i < SONDE_NR_OUTSIDE; i++)
		sonde_count_add(&t->nr_outside_by[i], f->nr_outside_by[i], sign);
	t->takes_range |= f->takes_range;
	t->has_torch |= f->has_torch;
	for (i = 0; i < sonde_selection_nr_words(&to->selection); i++)
		t->is_matched[i] |= f->is_matched[i];
	to->has_range_times |= from->has_range_times;
	to->has_times |= from->has_times;
	sonde_count_add(&to->nr_unclosed, from->nr_unclosed, sign);
	sonde_count_add(&to->nr_untimed, from->nr_untimed, sign);
}

/* The larger of two values; `a` counts only if it is there. */
static double larger_of(bool is_there, double a, double b)
{
	return is_there && a >= b ? a : b;
}

void sonde_acc_add(struct sonde_acc *to, const struct sonde_acc *from, uint8_t method, double factor)
{
	bool is_there = to->nr > 0;

	if (method >= SONDE_METHOD_SAME) {
		to->a = -larger_of(is_there, -to->a, -from->a);
		to->b = larger_of(is_there, to->b, from->b);
	} else if (method == SONDE_METHOD_MAX) {
		to->a = larger_of(is_there, to->a, from->a);
	} else {
		to->a += factor * from->a;
		if (method == SONDE_METHOD_MEAN || method == SONDE_METHOD_PEAK) {
			to->w += factor * from->w;
			to->b += factor * from->b;
			to->t += factor * from->t;
			to->top = larger_of(is_there, to->top, from->top);
			to->nr_weighed += from->nr_weighed;
		} else {
			to->b = larger_of(is_there, to->b, from->b);
		}
	}
	to->nr += from->nr;
}

struct sonde_mode *sonde_modes_add(
	struct sonde_modes *m, double v, bool is_text, struct sonde_arena *arena)
{
	struct sonde_mode *at;
	uint32_t cap = !m->cap ? 1 : m->cap * 4 < SONDE_MAX_MODES ? m->cap * 4 : SONDE_MAX_MODES;

	if (m->nr == m->cap) {
		at = m->cap < SONDE_MAX_MODES ? sonde_arena_calloc(arena, cap, sizeof(*at)) : NULL;
		if (!at)
			return NULL;
		if (m->nr)
			memcpy(at, m->at, m->nr * sizeof(*at));
		m->at = at;
		m->cap = cap;
	}
	m->at[m->nr] = (struct sonde_mode){.v = v, .is_text = is_text};
	return &m->at[m->nr++];
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

bool sonde_cells_keep_selection(struct sonde_cells *c, const struct sonde_selection *s)
{
	c->selection = *s;
	return keep_words(c, &c->selection.nvtx_include) &&
	       keep_words(c, &c->selection.nvtx_exclude) &&
	       keep_words(c, &c->selection.kernel_include) &&
	       keep_words(c, &c->selection.kernel_exclude) && keep_words(c, &c->selection.labels);
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

static int by_scope_and_region(const void *a, const void *b)
{
	const struct sonde_visit *x = a, *y = b;
	int c = sonde_cmp(x->scope, y->scope);

	return c ? c : sonde_cmp(x->region, y->region);
}

void sonde_cells_sort_visits(struct sonde_cells *c)
{
	sonde_vec_sort(&c->visits, by_scope_and_region);
}

uint8_t *sonde_kit_find_methods(
	const struct sonde_kit *kit, const struct sonde_map *metrics, struct sonde_arena *arena)
{
	uint8_t *methods = sonde_arena_calloc(arena, kit->nr + 1, sizeof(*methods));
	size_t i;

	for (i = 0; methods && i < metrics->nr; i++)
		if (kit->at[i] != SONDE_NONE)
			methods[kit->at[i]] = sonde_rule_for(metrics->keys[i])->method;
	return methods;
}

/*
 * Notes if ranks of a job are missing in the inputs: perhaps only some ranks were profiled, or
 * inputs were lost.
 */

#define MAX_SPANS 8 /* spans of ranks that a note lists; further ones become "…" */

/* Sorts ranks, removes duplicates and returns how many are left. */
static size_t drop_doubles(uint32_t *ranks, size_t nr)
{
	size_t i, kept = 0;

	sonde_sort_u32(ranks, nr);
	for (i = 0; i < nr; i++)
		if (!kept || ranks[kept - 1] != ranks[i])
			ranks[kept++] = ranks[i];
	return kept;
}

/* `0-7, 64` */
static void print_spans(struct sonde_buf *out, const uint32_t *ranks, size_t nr)
{
	size_t i, first;
	unsigned nr_spans;

	for (i = 0, nr_spans = 0; i < nr; i++, nr_spans++) {
		if (nr_spans == MAX_SPANS) {
			sonde_buf_puts(out, " …");
			return;
		}
		for (first = i; i + 1 < nr && ranks[i + 1] == ranks[i] + 1; i++)
			;
		sonde_buf_printf(out, "%s%u", nr_spans ? ", " : "", ranks[first]);
		if (i > first)
			sonde_buf_printf(out, "-%u", ranks[i]);
	}
}

/* Replaces the ranks that are there by those that are missing. The caller makes sure that fewer are missing than there. */
static size_t list_missing(uint32_t *ranks, size_t nr, uint32_t size)
{
	uint32_t *missing = sonde_calloc(size - nr + 1, sizeof(*missing)), rank;
	size_t i = 0, k = 0;

	for (rank = 0; rank < size && missing; rank++) {
		if (i < nr && ranks[i] == rank)
			i++;
		else
			missing[k++] = rank;
	}
	for (i = 0; i < k; i++)
		ranks[i] = missing[i];
	sonde_free(missing);
	return k;
}

static void note_missing(struct sonde_notes *notes, uint32_t *ranks, size_t nr, uint32_t size)
{
	bool is_missing = nr > size / 2;
	struct sonde_buf words = {0};

	print_spans(&words, ranks, is_missing ? list_missing(ranks, nr, size) : nr);
	if (words.n && !words.failed)
		sonde_note(notes, "%zu of the job's %u ranks %s here: %s%s", nr, size,
			nr == 1 ? "is" : "are", is_missing ? "all but " : "", words.p);
	sonde_buf_release(&words);
}

static void explain_ranks(const struct sonde_cells *c, struct sonde_notes *notes)
{
	size_t i, nr = 0, all = sonde_cells_nr_processes(c);
	uint32_t size = 0, *ranks = sonde_calloc(all + 1, sizeof(*ranks));

	for (i = 0; i < all && ranks; i++) {
		const struct sonde_process *p = sonde_cells_process(c, i);

		if (!p->has_rank)
			continue;
		if (!p->world_size || p->rank >= p->world_size || (size && p->world_size != size))
			break; /* the size of the job is not known, or there are several jobs */
		size = p->world_size;
		ranks[nr++] = p->rank;
	}
	if (ranks && i == all) {
		nr = drop_doubles(ranks, nr);
		if (nr && nr < size)
			note_missing(notes, ranks, nr, size);
	}
	sonde_free(ranks);
}

void sonde_cells_explain(const struct sonde_cells *c, struct sonde_notes *notes)
{
	const struct sonde_emptiness e = {.selection = &c->selection,
		.tally = &c->tally,
		.regions = c->regions.at,
		.nr_regions = c->regions.nr,
		.scopes = c->scopes.at,
		.nr_scopes = c->scopes.nr,
		.labels = &c->strings};

	sonde_emptiness_explain(&e, notes);
	explain_ranks(c, notes);
}

void sonde_cells_free_tables(struct sonde_cells *c)
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
	sonde_vec_release(&c->stalls);
	sonde_vec_release(&c->symbols);
	sonde_vec_release(&c->stall_reasons);
	sonde_vec_release(&c->lines);
	sonde_vec_release(&c->stall_sources);
	sonde_notes_release(&c->notes);
	sonde_timeline_free(c->timeline);
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
	sonde_vec_release(&c->sampled_others);
	sonde_cells_free_tables(c);
	sonde_arena_release(&c->arena);
	for (i = 0; i < c->parts.nr; i++)
		sonde_cells_free(c->parts.at[i]);
	sonde_vec_release(&c->parts);
	sonde_free(c);
}

bool sonde_folded_scope_name(
	struct sonde_str *out, const struct sonde_folded_scope *f, struct sonde_arena *arena)
{
	struct sonde_scope s = {.device = f->device};
	bool ok = sonde_scopes_name(&s, 1, &f->process, arena);

	*out = s.name;
	return ok;
}
