/* The tables of a part among those of the whole: names are entered, rows appended. */
#include "merge/unite_int.h"

#include <string.h>

static bool move_inputs(struct sonde_uniting *u, struct sonde_moving_part *p)
{
	struct sonde_cells *from = p->m.from, *to = u->c;
	size_t i, k;

	p->input = (uint32_t)to->inputs.nr;
	p->m.process = (uint32_t)to->processes.nr;
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
	for (i = p->m.process; i < to->processes.nr; i++)
		to->processes.at[i].input += p->input;
	for (i = to->devices.nr - from->devices.nr; i < to->devices.nr; i++)
		to->devices.at[i].process += p->m.process;
	return true;
}

/* The metrics of a section are those of all inputs that have it; its name is the last one's. */
static bool move_section(struct sonde_uniting *u, struct sonde_moving_part *p, const struct sonde_section *from)
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
		uint32_t metric = p->m.of.string[from->metrics.at[i]];

		for (k = 0; k < s->metrics.nr && s->metrics.at[k] != metric; k++)
			;
		if (k == s->metrics.nr && !sonde_vec_put(&s->metrics, metric))
			return false;
	}
	return true;
}

static bool move_region(struct sonde_uniting *u, struct sonde_moving_part *p, size_t number)
{
	const struct sonde_region region = sonde_region_in(p->m.from->regions.at[number], &p->m.of);
	bool is_new;
	uint32_t at = sonde_region_meet(&u->region_keys, &u->arena, &region, &is_new);

	p->m.of.region[number] = at;
	if (at == SONDE_NONE || is_new)
		return at != SONDE_NONE && sonde_vec_put(&u->c->regions, region);
	u->c->regions.at[at].is_shown |= region.is_shown;
	return true;
}

static bool move_places(struct sonde_uniting *u, struct sonde_moving_part *p)
{
	struct sonde_cells *from = p->m.from, *to = u->c;
	size_t i, k;

	if (!sonde_vec_reserve(&to->homes, to->homes.nr + from->homes.nr + 1))
		return false;
	for (i = to->places.nr ? 1 : 0; i < from->places.nr; i++) { /* 0 is the same for all */
		const struct sonde_place *old = &from->places.at[i];

		if (!sonde_vec_put(&to->places,
			    (struct sonde_place){(uint32_t)to->homes.nr, old->nr}))
			return false;
		p->m.of.place[i] = (uint32_t)to->places.nr - 1;
		for (k = 0; k < old->nr; k++)
			to->homes.at[to->homes.nr++] =
				p->m.of.region[from->homes.at[old->first + k]];
	}
	return true;
}

static bool move_scopes(struct sonde_uniting *u, struct sonde_moving_part *p)
{
	struct sonde_cells *from = p->m.from, *to = u->c;
	size_t i;

	if (!sonde_vec_append(&to->scopes, &from->scopes) ||
		!sonde_vec_append(&to->strays, &from->strays))
		return false;
	for (i = to->scopes.nr - from->scopes.nr; i < to->scopes.nr; i++)
		to->scopes.at[i].process += p->m.process;
	for (i = to->strays.nr - from->strays.nr; i < to->strays.nr; i++)
		to->strays.at[i].process += p->m.process;
	return true;
}

/* Rules of one selection are the same for all parts, tried in the same order. */
static bool move_rules(struct sonde_uniting *u, const struct sonde_cells *from)
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

/* Kits are the same when they have and keep the same metrics, with the same constituents. */
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

static bool add_kit(struct sonde_uniting *u, struct sonde_moving_part *p, const struct sonde_kit *from)
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
	for (i = 0; i < p->m.from->metric_names.nr; i++) {
		kit->breakdowns[p->metric_of[i]] = from->breakdowns[i];
		kit->at[p->metric_of[i]] = from->at[i];
	}
	return true;
}

static bool move_kits(struct sonde_uniting *u, struct sonde_moving_part *p)
{
	const struct sonde_cells *from = p->m.from;
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

void sonde_unite__tally(struct sonde_cells *to, const struct sonde_cells *from)
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

bool sonde_unite__tables(struct sonde_uniting *u, struct sonde_moving_part *p)
{
	struct sonde_cells *from = p->m.from;
	size_t i;

	/* Keys are borrowed: the part's memory stays. */
	if (!sonde_numbers_init(&p->m.of, from, &u->c->strings, &u->c->texts, NULL, &u->arena) ||
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
