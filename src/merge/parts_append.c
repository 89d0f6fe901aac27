/*
 * Parts → the cells of a report ("the whole"): tables are put side by side, and the numbers of a part
 * are translated to numbers of the whole. Names are entered in the order of the sorted parts, so the
 * whole does not depend on the order in which parts came. Only counts are added up here.
 */
#include "merge/merging.h"

#include "base/alloc.h"
#include "cellfile/cell_walks.h"
#include "fold/timeline.h"
#include "merge/parts_append.h"

#include <string.h>

/* One part while it is moved to the whole. */
struct moving_part {
	struct sonde_cells *from;
	struct sonde_numbers of;
	uint32_t input;	     /* number of its first input in the whole */
	uint32_t *metric_of; /* metric number of the part → of the whole */
};

struct uniting {
	struct sonde_cells *c;
	struct moving_part *parts; /* one per c->parts */
	struct sonde_map region_keys, kit_keys, section_ids, device_keys;
	struct sonde_stall_keys stall_keys;
	struct sonde_arena arena;
};

/* --- tables: names are entered, rows appended ---------------------------------------------------- */

static bool move_inputs(struct uniting *u, struct moving_part *p)
{
	struct sonde_cells *from = p->from, *to = u->c;
	size_t i, k;

	p->input = (uint32_t)to->inputs.nr;
	p->of.process = (uint32_t)to->processes.nr;
	for (i = 0; i < from->inputs.nr; i++) {
		const struct sonde_input *old = &from->inputs.at[i];
		struct sonde_input *in = sonde_vec_push(&to->inputs);

		if (!in)
			return false;
		*in = *old;
		in->has.at = NULL;
		in->has.nr = in->has.cap = 0;
		if (!sonde_vec_reserve(&in->has, to->metric_names.nr + 1))
			return false;
		in->has.nr = to->metric_names.nr;
		memset(in->has.at, 0, in->has.nr * sizeof(*in->has.at));
		for (k = 0; k < old->has.nr; k++)
			in->has.at[p->metric_of[k]] = old->has.at[k];
	}
	if (!sonde_vec_append(&to->processes, &from->processes) ||
		!sonde_vec_append(&to->devices, &from->devices))
		return false;
	for (i = p->of.process; i < to->processes.nr; i++)
		to->processes.at[i].input += p->input;
	for (i = to->devices.nr - from->devices.nr; i < to->devices.nr; i++)
		to->devices.at[i].process += p->of.process;
	return true;
}

/* A section gets the metrics of all inputs that have it, and the name in the last one. */
static bool move_section(struct uniting *u, struct moving_part *p, const struct sonde_section *from)
{
	bool is_new;
	uint32_t number = sonde_map_add(&u->section_ids, from->id, &is_new);
	struct sonde_section *s;
	size_t i, k;

	s = number == SONDE_NONE ? NULL
	    : is_new		 ? sonde_vec_push(&u->c->sections)
				 : &u->c->sections.at[number];
	if (!s)
		return false;
	s->id = from->id;
	s->name = from->name.p ? from->name : s->name;
	for (i = 0; i < from->metrics.nr; i++) {
		uint32_t metric = p->of.string[from->metrics.at[i]];

		for (k = 0; k < s->metrics.nr && s->metrics.at[k] != metric; k++)
			;
		if (k == s->metrics.nr && !sonde_vec_put(&s->metrics, metric))
			return false;
	}
	return true;
}

static bool move_region(struct uniting *u, struct moving_part *p, size_t number)
{
	const struct sonde_region region = sonde_region_in(p->from->regions.at[number], &p->of);
	bool is_new;
	uint32_t at = sonde_region_find_or_add(&u->region_keys, &u->arena, &region, &is_new);

	p->of.region[number] = at;
	if (at == SONDE_NONE || is_new)
		return at != SONDE_NONE && sonde_vec_put(&u->c->regions, region);
	u->c->regions.at[at].is_shown |= region.is_shown;
	return true;
}

static bool move_places(struct uniting *u, struct moving_part *p)
{
	struct sonde_cells *from = p->from, *to = u->c;
	size_t i, k;

	if (!sonde_vec_reserve(&to->homes, to->homes.nr + from->homes.nr + 1))
		return false;
	for (i = to->places.nr ? 1 : 0; i < from->places.nr; i++) { /* place 0 is the same for all parts */
		const struct sonde_place *old = &from->places.at[i];

		if (!sonde_vec_put(&to->places,
			    (struct sonde_place){(uint32_t)to->homes.nr, old->nr}))
			return false;
		p->of.place[i] = (uint32_t)to->places.nr - 1;
		for (k = 0; k < old->nr; k++)
			to->homes.at[to->homes.nr++] =
				p->of.region[from->homes.at[old->first + k]];
	}
	return true;
}

static bool move_scopes(struct uniting *u, struct moving_part *p)
{
	struct sonde_cells *from = p->from, *to = u->c;
	size_t i;

	if (!sonde_vec_append(&to->scopes, &from->scopes) ||
		!sonde_vec_append(&to->strays, &from->strays))
		return false;
	for (i = to->scopes.nr - from->scopes.nr; i < to->scopes.nr; i++)
		to->scopes.at[i].process += p->of.process;
	for (i = to->strays.nr - from->strays.nr; i < to->strays.nr; i++)
		to->strays.at[i].process += p->of.process;
	return true;
}

/* All parts have the same selection, so they have the same label rules in the same order. */
static bool move_rules(struct uniting *u, const struct sonde_cells *from)
{
	struct sonde_cells *to = u->c;
	size_t i;

	for (i = 0; i < from->label_rules.nr; i++) {
		const struct sonde_label_rule *old = &from->label_rules.at[i];
		struct sonde_label_rule *rule = i < to->label_rules.nr
							? &to->label_rules.at[i]
							: sonde_vec_push(&to->label_rules);

		if (!rule)
			return false;
		rule->text = old->text;
		rule->changed += old->changed;
	}
	return true;
}

/* Writes the key of a kit. Kits are the same if they have and keep the same metrics, with the same constituents. */
static bool describe_kit(struct sonde_buf *key, const struct sonde_cells *c, const struct sonde_kit *kit)
{
	const struct sonde_input *in = &c->inputs.at[kit->input];
	uint32_t i;

	for (i = 0; i < c->metric_names.nr; i++) {
		if (!sonde_input_has(in, i))
			continue;
		sonde_buf_putc(key, kit->at[i] == SONDE_NONE ? '-' : '+');
		sonde_buf_str(key, c->metric_names.keys[i]);
		sonde_buf_putc(key, '\0');
		sonde_buf_str(key, kit->breakdowns[i]);
		sonde_buf_putc(key, '\0');
	}
	return !key->failed;
}

static bool add_kit(struct uniting *u, struct moving_part *p, const struct sonde_kit *from)
{
	struct sonde_kit *kit = sonde_vec_push(&u->c->kits);
	size_t nr = u->c->metric_names.nr, i;

	if (!kit)
		return false;
	kit->input = from->input + p->input;
	kit->nr = from->nr;
	kit->breakdowns = sonde_arena_calloc(&u->c->arena, nr + 1, sizeof(*kit->breakdowns));
	kit->at = sonde_arena_alloc(&u->c->arena, (nr + 1) * sizeof(*kit->at));
	if (!kit->breakdowns || !kit->at)
		return false;
	memset(kit->at, 0xff, (nr + 1) * sizeof(*kit->at));
	for (i = 0; i < p->from->metric_names.nr; i++) {
		kit->breakdowns[p->metric_of[i]] = from->breakdowns[i];
		kit->at[p->metric_of[i]] = from->at[i];
	}
	return true;
}

static bool move_kits(struct uniting *u, struct moving_part *p)
{
	const struct sonde_cells *from = p->from;
	struct sonde_buf key = {0};
	bool ok = true, is_new;
	size_t i;

	for (i = 0; i < from->inputs.nr && ok; i++) {
		const struct sonde_kit *kit = &from->kits.at[from->kit_of.at[i]];
		uint32_t *kit_of = sonde_vec_push(&u->c->kit_of), number;

		sonde_buf_clear(&key);
		number = kit_of && describe_kit(&key, from, kit)
				 ? sonde_map_keep(&u->kit_keys, &u->arena, sonde_buf_view(&key), &is_new)
				 : SONDE_NONE;
		ok = number != SONDE_NONE && (!is_new || add_kit(u, p, kit));
		if (ok)
			*kit_of = number;
	}
	sonde_buf_release(&key);
	return ok;
}

static void add_tally(struct sonde_cells *to, const struct sonde_cells *from)
{
	size_t i;

	sonde_cells_add_counts(to, from, 1);
	for (i = 0; i < from->tally.nr_functions; i++)
		sonde_tally_add_function(&to->tally, from->tally.functions[i]);
	if (!to->nr_damaged)
		to->damage = from->damage;
	to->nr_damaged += from->nr_damaged;
	sonde_notes_add(&to->notes, &from->notes);
}

static bool move_tables(struct uniting *u, struct moving_part *p)
{
	struct sonde_cells *from = p->from;
	size_t i;

	/* Keys are borrowed: the part's memory lives as long as the whole. */
	if (!sonde_numbers_init(&p->of, from, &u->c->strings, &u->c->texts, NULL, &u->arena) ||
		!move_inputs(u, p))
		return false;
	for (i = 0; i < from->sections.nr; i++)
		if (!move_section(u, p, &from->sections.at[i]))
			return false;
	for (i = 0; i < from->regions.nr; i++)
		if (!move_region(u, p, i))
			return false;
	return move_places(u, p) && move_scopes(u, p) && move_rules(u, from) && move_kits(u, p);
}

/* --- rows, and uniting parts --------------------------------------------------------------------- */

static uint32_t device_key(struct uniting *u, uint32_t kind, uint32_t owner, uint32_t id, bool *is_new)
{
	const uint32_t key[3] = {kind, owner, id};
	struct sonde_str bytes = {(const char *)key, sizeof(key)};

	return is_new ? sonde_map_keep(&u->device_keys, &u->arena, bytes, is_new)
		      : sonde_map_find(&u->device_keys, bytes);
}

/* Finds the device of each scope: among the devices of its process, else among those of other processes of its input. */
static bool find_devices(struct uniting *u)
{
	struct sonde_cells *c = u->c;
	uint32_t *of = sonde_arena_alloc(&u->arena, (2 * c->devices.nr + 1) * sizeof(*of)), n;
	bool is_new;
	size_t i, k;

	if (!of || !sonde_vec_reserve(&c->device_of, c->scopes.nr + 1))
		return false;
	for (i = 0; i < c->devices.nr; i++)
		for (k = 0; k < 2; k++) {
			const struct sonde_device *d = &c->devices.at[i];

			n = device_key(u, (uint32_t)k,
				k ? c->processes.at[d->process].input : d->process, d->id, &is_new);
			if (n == SONDE_NONE)
				return false;
			if (is_new)
				of[n] = (uint32_t)i;
		}
	for (i = 0; i < c->scopes.nr; i++) {
		const struct sonde_scope *s = &c->scopes.at[i];

		n = device_key(u, 0, s->process, s->device, NULL);
		if (n == SONDE_NONE)
			n = device_key(u, 1, c->processes.at[s->process].input, s->device, NULL);
		c->device_of.at[c->device_of.nr++] = n == SONDE_NONE ? SONDE_NONE : of[n];
	}
	return true;
}

/* Sorts the scopes of all parts, and sets their new numbers in `of`. Scopes of one part stay in their order. */
static bool sort_scopes(struct uniting *u)
{
	struct sonde_cells *c = u->c;
	uint32_t *part_of = sonde_arena_alloc(&u->arena, (c->processes.nr + 1) * sizeof(*part_of));
	size_t *nr_met = sonde_arena_calloc(&u->arena, c->parts.nr + 1, sizeof(*nr_met));
	size_t i, k;

	if (!part_of || !nr_met || !sonde_vec_reserve(&c->sums, c->scopes.nr + 1))
		return false;
	for (i = 0; i < c->parts.nr; i++)
		for (k = 0; k < c->parts.at[i]->processes.nr; k++)
			part_of[u->parts[i].of.process + k] = (uint32_t)i;
	sonde_scopes_sort(c->scopes.at, c->scopes.nr, c->processes.at);
	for (i = 0; i < c->scopes.nr; i++) {
		uint32_t part = part_of[c->scopes.at[i].process];
		size_t number = nr_met[part]++;

		u->parts[part].of.scope[number] = (uint32_t)i;
		c->sums.at[c->sums.nr++] = c->parts.at[part]->sums.at[number];
	}
	return sonde_scopes_name(c->scopes.at, c->scopes.nr, c->processes.at, &c->arena);
}

static bool is_translated(const uint32_t *of, size_t nr)
{
	size_t i;

	for (i = 0; i < nr && of[i] == i; i++)
		;
	return i < nr;
}

/* Loops over the rows that were appended last to a list of the whole, from the list of a part. */
#define EACH_MOVED(row, to, from) for ((row) = &(to).at[(to).nr - (from).nr]; (row) < &(to).at[(to).nr]; (row)++)

/* The walks below translate the numbers in the rows of a part; then the rows are appended to those of other parts. */

static bool move_cells(struct uniting *u, struct moving_part *p)
{
	struct sonde_cells *from = p->from, *to = u->c;
	uint32_t first = (uint32_t)to->sampled.nr;
	struct sonde_numbers of = p->of;
	struct sonde_walk w = {.of = &of};
	struct sonde_cell *cell;

	if (!is_translated(of.text, from->texts.nr))
		of.text = NULL;
	sonde_walk_cells(&w, from);
	if (w.is_nomem || !sonde_vec_append(&to->cells, &from->cells) ||
		!sonde_vec_append(&to->sampled, &from->sampled))
		return false;
	from->sampled.nr = 0; /* now owned by `to` */
	EACH_MOVED(cell, to->cells, from->cells)
		cell->sampled += cell->sampled == SONDE_NONE ? 0 : first;
	return true;
}

/* Moves PC samples. Symbols, reasons and lines that several parts have become one row. */
static bool move_stalls(struct uniting *u, struct moving_part *p)
{
	struct sonde_cells *from = p->from, *to = u->c;
	size_t first_cell = to->cells.nr - from->cells.nr, first = to->stalls.nr, i;
	struct sonde_stall_numbers of = {.in = &u->arena};
	struct sonde_stall_source *source;
	struct sonde_stall *s;

	if (!from->stall_sources.nr)
		return true;
	if (first + from->stalls.nr >= SONDE_NONE || !sonde_stall_tables_enter(&of, to, &u->stall_keys, from, p->of.string) ||
		!sonde_vec_append(&to->stalls, &from->stalls) ||
		!sonde_vec_append(&to->stall_sources, &from->stall_sources))
		return false;
	for (i = first_cell; i < to->cells.nr; i++)
		to->cells.at[i].first_stall += (uint32_t)first;
	EACH_MOVED(s, to->stalls, from->stalls) {
		s->symbol = of.symbol[s->symbol];
		s->reason = of.reason[s->reason];
		s->line = sonde_number_in(of.line, s->line);
	}
	EACH_MOVED(source, to->stall_sources, from->stall_sources)
		source->process += p->of.process;
	return true;
}

/* By scope, then longest first, as the gaps of each scope are sorted already. */
static int by_scope_and_length(const void *a, const void *b)
{
	const struct sonde_gap *x = a, *y = b;
	int c = sonde_cmp(x->scope, y->scope);

	c = c ? c : sonde_cmp(y->ns, x->ns);
	return c ? c : sonde_cmp(x->begin_ns, y->begin_ns);
}

/* Moves folded scopes and their times, and collectives, whose `who` is the number of a folded scope. */
static bool move_folded(struct uniting *u, const struct moving_part *p)
{
	const struct sonde_cells *from = p->from;
	struct sonde_cells *to = u->c;
	uint32_t first = (uint32_t)to->folded_scopes.nr;
	struct sonde_folded_scope *scope;
	struct sonde_folded_time *time;
	struct sonde_collective *k;

	if (!sonde_vec_append(&to->folded_scopes, &from->folded_scopes) ||
		!sonde_vec_append(&to->folded_times, &from->folded_times) ||
		!sonde_vec_append(&to->collectives, &from->collectives))
		return false;
	EACH_MOVED(scope, to->folded_scopes, from->folded_scopes)
		scope->scope = p->of.scope[scope->scope];
	EACH_MOVED(time, to->folded_times, from->folded_times) {
		time->scope = p->of.scope[time->scope];
		time->region = p->of.region[time->region];
		time->folded_scope += first;
	}
	EACH_MOVED(k, to->collectives, from->collectives)
		k->folded_scope += k->folded_scope == SONDE_NONE ? 0 : first;
	return true;
}

/* Moves visits with their streams, entries, loads, gaps and collectives. */
static bool move_visits(struct uniting *u, const struct moving_part *p)
{
	struct sonde_cells *from = p->from, *to = u->c;
	uint32_t first_stream = (uint32_t)to->streams.nr, first_entry = (uint32_t)to->entries.nr;
	struct sonde_walk w = {.of = &p->of};
	struct sonde_entry_load *load;
	struct sonde_visit *v;

	sonde_walk_visits(&w, from);
	if (!sonde_vec_append(&to->visits, &from->visits) || !sonde_vec_append(&to->gaps, &from->gaps) ||
		!sonde_vec_append(&to->streams, &from->streams) ||
		!sonde_vec_append(&to->entries, &from->entries) ||
		!sonde_vec_append(&to->loads, &from->loads))
		return false;
	EACH_MOVED(load, to->loads, from->loads)
		load->entry += first_entry;
	EACH_MOVED(v, to->visits, from->visits) {
		v->first_stream += first_stream;
		v->first_entry += first_entry;
	}
	return move_folded(u, p);
}

bool sonde_timeline__move(struct sonde_cells *to, struct sonde_cells *from, const struct sonde_numbers *of)
{
	struct sonde_timeline *t = to->timeline, *more = from->timeline;
	struct sonde_walk w = {.of = of};
	bool ok;
	size_t i;

	if (!more)
		return true;
	sonde_walk_timeline(&w, from);
	from->timeline = NULL;
	if (!t) { /* the first timeline is taken over without copying, as it may have millions of launches */
		to->timeline = more;
		return true;
	}
	for (i = 0; i < more->curves.nr; i++) {
		more->curves.at[i].first += t->points.nr;
		more->curves.at[i].first_scope += t->curve_scopes.nr;
	}
	ok = sonde_vec_append(&t->launches, &more->launches) && sonde_vec_append(&t->entries, &more->entries) &&
	     sonde_vec_append(&t->gaps, &more->gaps) &&
	     sonde_vec_append(&t->marks, &more->marks) && sonde_vec_append(&t->gauges, &more->gauges) && sonde_vec_append(&t->threads, &more->threads) &&
	     sonde_vec_append(&t->curves, &more->curves) && sonde_vec_append(&t->points, &more->points) &&
	     sonde_vec_append(&t->curve_scopes, &more->curve_scopes);
	sonde_timeline_free(more);
	return ok;
}

static bool move_all(struct uniting *u)
{
	struct sonde_cells *c = u->c;
	size_t i;

	for (i = 0; i < c->parts.nr; i++) { /* metrics of all parts come first, as the arrays of a kit have one element for each */
		u->parts[i].from = c->parts.at[i];
		u->parts[i].metric_of =
			sonde_map_enter(&c->metric_names, NULL, &c->parts.at[i]->metric_names, &u->arena);
		if (!u->parts[i].metric_of)
			return false;
	}
	for (i = 0; i < c->parts.nr; i++)
		add_tally(c, c->parts.at[i]);
	for (i = 0; i < c->parts.nr; i++)
		if (!move_tables(u, &u->parts[i]))
			return false;
	if (!sort_scopes(u) || !find_devices(u))
		return false;
	for (i = 0; i < c->parts.nr; i++)
		if (!move_cells(u, &u->parts[i]) || !move_stalls(u, &u->parts[i]) || !move_visits(u, &u->parts[i]) ||
			!sonde_timeline__move(c, u->parts[i].from, &u->parts[i].of))
			return false;
	if (c->parts.nr > 1)
		sonde_cells_sort_visits(c);
	sonde_vec_sort(&c->gaps, by_scope_and_length);
	return true;
}

static bool begin_uniting(struct uniting *u)
{
	struct sonde_cells *c = u->c;

	u->parts = sonde_arena_calloc(&u->arena, c->parts.nr + 1, sizeof(*u->parts));
	if (c->parts.nr) {
		c->selection = c->parts.at[0]->selection;
		c->read = c->parts.at[0]->read;
	}
	c->tally.is_matched = sonde_arena_calloc(
		&c->arena, sonde_selection_nr_words(&c->selection) + 1, sizeof(bool));
	return u->parts && c->tally.is_matched;
}

static int unite_parts(struct sonde_cells *c, struct sonde_err *err)
{
	struct uniting u = {.c = c};
	struct sonde_notes doubled = {0}; /* these notes come after the notes of the inputs */
	size_t i;
	int rc = sonde_parts_check(c->parts.at, c->parts.nr, err);

	if (rc)
		return rc;
	sonde_parts_sort(c->parts.at, &c->parts.nr, &doubled);
	if (!begin_uniting(&u) || !move_all(&u))
		rc = sonde_err_nomem(err);
	for (i = 0; i < c->parts.nr; i++)
		sonde_cells_free_tables(c->parts.at[i]);
	sonde_notes_add(&c->notes, &doubled);
	sonde_inputs_note_running(&c->notes, c->inputs.at, c->inputs.nr);
	sonde_inputs_note_unclosed(&c->notes, c->nr_unclosed);
	sonde_inputs_note_doubled(&c->notes, c->inputs.at, c->processes.at, c->processes.nr);
	sonde_notes_release(&doubled);
	sonde_map_release(&u.region_keys);
	sonde_map_release(&u.kit_keys);
	sonde_map_release(&u.section_ids);
	sonde_map_release(&u.device_keys);
	sonde_stall_keys_release(&u.stall_keys);
	sonde_arena_release(&u.arena);
	return rc;
}

int sonde_cells_unite(struct sonde_cells **out, struct sonde_cells **parts, size_t nr_parts,
	struct sonde_err *err)
{
	struct sonde_cells *c = sonde_calloc(1, sizeof(*c));
	size_t i;
	int rc;

	*out = NULL;
	if (!c || !sonde_vec_reserve(&c->parts, nr_parts + 1)) {
		for (i = 0; i < nr_parts; i++)
			sonde_cells_free(parts[i]);
		sonde_free(c);
		return sonde_err_nomem(err);
	}
	for (i = 0; i < nr_parts; i++)
		c->parts.at[c->parts.nr++] = parts[i];
	rc = unite_parts(c, err);
	if (rc == 0 && !sonde_sampled_list_others(c))
		rc = sonde_err_nomem(err);
	if (rc)
		sonde_cells_free(c);
	else
		*out = c;
	return rc;
}
