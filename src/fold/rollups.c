/*
 * Kits that weigh a metric in the same way share a slot, as figures are merged slot by slot. If kits weigh a metric
 * differently, its slots form a chain, in the order of the kits.
 */
#include "fold/rollups.h"

#include <string.h>

#define MAX_CONSTITUENTS 512

/* Allocates an array with the slot of each metric, SONDE_NONE at first. NULL: no memory. */
static uint32_t *make_slots(struct sonde_rollups *p)
{
	size_t size = (p->cells->metric_names.nr + 1) * sizeof(uint32_t);
	uint32_t *slots = sonde_arena_alloc(&p->arena, size);

	return slots ? memset(slots, 0xff, size) : NULL;
}

bool sonde_rollups_init(struct sonde_rollups *p, const struct sonde_cells *c)
{
	size_t i;

	*p = (struct sonde_rollups){.cells = c};
	p->slot_of = make_slots(p);
	p->kits = sonde_arena_calloc(&p->arena, c->kits.nr + 1, sizeof(*p->kits));
	for (i = 0; p->kits && i < c->kits.nr; i++)
		p->kits[i].slots = make_slots(p);
	return !p->arena.failed;
}

void sonde_rollups_release(struct sonde_rollups *p)
{
	size_t i;

	for (i = 0; i < p->list.nr; i++)
		sonde_vec_release(&p->list.at[i].constituents);
	for (i = 0; p->kits && i < p->cells->kits.nr; i++)
		sonde_vec_release(&p->kits[i].list);
	sonde_vec_release(&p->list);
	sonde_arena_release(&p->arena);
	*p = (struct sonde_rollups){0};
}

static struct sonde_capture capture_of(const struct sonde_rollups *p, size_t kit)
{
	const struct sonde_cells *c = p->cells;

	return (struct sonde_capture){&c->metric_names, &c->inputs.at[c->kits.at[kit].input]};
}

/* `breakdown:X` lists the constituents of throughput X, separated by commas. */
static bool list_constituents(
	struct sonde_rollup *p, const struct sonde_capture *c, struct sonde_str list)
{
	uint32_t metric;

	while (list.n) {
		metric = sonde_map_find(
			c->names, sonde_str_trim(sonde_str_cut(list, ',', &list)));
		if (metric == p->metric)
			continue;
		if (!sonde_input_has(c->input, metric) ||
			p->constituents.nr == MAX_CONSTITUENTS) {
			p->constituents.nr = 0; /* the maximum over only some constituents would be too small */
			return true;
		}
		if (!sonde_vec_put(&p->constituents, metric))
			return false;
	}
	if (p->constituents.nr)
		p->says[0] = "max over its constituents of their weighted means";
	return true;
}

static bool is_same(const struct sonde_rollup *a, const struct sonde_rollup *b)
{
	return a->weight[0] == b->weight[0] && a->weight[1] == b->weight[1] &&
	       a->per_instance == b->per_instance && a->quality == b->quality &&
	       sonde_rollup_same_constituents(a, b);
}

/* The slot for a roll-up: the slot of an equal one, or a new one at the end of the metric's chain. SONDE_NONE: no memory. */
static uint32_t find_slot(struct sonde_rollups *s, struct sonde_rollup *rollup)
{
	uint32_t *link = &s->slot_of[rollup->metric], slot = (uint32_t)s->list.nr;

	while (*link != SONDE_NONE && !is_same(&s->list.at[*link], rollup))
		link = &s->list.at[*link].next;
	if (*link != SONDE_NONE) {
		sonde_vec_release(&rollup->constituents);
		return *link;
	}
	*link = slot; /* before sonde_vec_put, which may move the element that `link` points to */
	if (sonde_vec_put(&s->list, *rollup))
		return slot;
	sonde_vec_release(&rollup->constituents);
	return SONDE_NONE;
}

static bool add_to_kit(struct sonde_rollups *p, size_t number, uint32_t metric)
{
	const struct sonde_kit *kit = &p->cells->kits.at[number];
	const struct sonde_capture capture = capture_of(p, number);
	struct sonde_rollup rollup = sonde_rollup_for(&capture, metric, &p->arena);
	struct sonde_kit_slot *item = sonde_vec_push(&p->kits[number].list);

	if (!item || (rollup.method == SONDE_METHOD_PEAK &&
			     !list_constituents(&rollup, &capture, kit->breakdowns[metric]))) {
		sonde_vec_release(&rollup.constituents);
		return false;
	}
	item->slot = p->kits[number].slots[metric] = find_slot(p, &rollup);
	item->at = kit->at ? kit->at[metric] : SONDE_NONE;
	return item->slot != SONDE_NONE;
}

bool sonde_rollups_add(struct sonde_rollups *p, uint32_t metric)
{
	const struct sonde_cells *c = p->cells;
	size_t i;

	if (p->slot_of[metric] != SONDE_NONE)
		return true;
	for (i = 0; i < c->kits.nr; i++) {
		const struct sonde_kit *kit = &c->kits.at[i];

		if ((kit->at ? kit->at[metric] != SONDE_NONE
			     : sonde_input_has(&c->inputs.at[kit->input], metric)) &&
			!add_to_kit(p, i, metric))
			return false;
	}
	return true;
}

/*
 * Sets the quality of a throughput: the weakest quality among its constituents, as each of them is weighted by the cycles
 * of its own unit. Called when all metrics are planned, as a constituent may be planned after the throughput.
 */
static void limit_peak_quality(const struct sonde_rollups *s, struct sonde_rollup *p)
{
	uint8_t quality = SONDE_QUALITY_EXACT;
	size_t i;

	for (i = 0; i < p->constituents.nr; i++) {
		uint32_t slot = s->slot_of[p->constituents.at[i]];

		if (slot != SONDE_NONE && s->list.at[slot].quality > quality)
			quality = s->list.at[slot].quality;
	}
	if (p->constituents.nr)
		p->quality = quality;
}

bool sonde_rollups_complete(struct sonde_rollups *s)
{
	size_t i, k;

	for (i = 0; i < s->list.nr; i++) { /* list.nr grows in this loop */
		if (s->list.at[i].sibling != SONDE_NONE &&
			!sonde_rollups_add(s, s->list.at[i].sibling))
			return false;
		for (k = 0; k < s->list.at[i].constituents.nr; k++)
			if (!sonde_rollups_add(s, s->list.at[i].constituents.at[k]))
				return false;
	}
	for (i = 0; i < s->list.nr; i++)
		limit_peak_quality(s, &s->list.at[i]);
	return true;
}

bool sonde_rollups_lay_out(struct sonde_rollups *p, struct sonde_cells *c)
{
	size_t nr = c->metric_names.nr, i, k;

	for (i = 0; i < c->kits.nr; i++) {
		struct sonde_kit_slots *planned = &p->kits[i];
		struct sonde_kit *kit = &c->kits.at[i];

		kit->at = sonde_arena_alloc(&c->arena, (nr + 1) * sizeof(*kit->at));
		if (!kit->at)
			return false;
		for (k = 0; k < nr; k++)
			kit->at[k] = planned->slots[k] == SONDE_NONE ? SONDE_NONE : kit->nr++;
		for (k = 0; k < planned->list.nr; k++) {
			struct sonde_kit_slot *item = &planned->list.at[k];

			item->at = kit->at[p->list.at[item->slot].metric];
		}
	}
	return true;
}
