#include "merge/sampled_sum.h"

#include "base/alloc.h"
#include "fold/sampled.h"

#include <math.h>

#define MAX_PARTS 2

/* One device with its counters in all parts. */
struct device {
	struct sonde_cells *to;
	const struct sonde_sum_part *parts;
	size_t nr_parts;
	const struct sonde_sampled *from[MAX_PARTS]; /* by part: NULL = the device was not sampled */
	uint32_t *class_of[MAX_PARTS];	/* by part: class → index in `cells`, SONDE_UNMIX_NONE = none */
	double *cell_ns[MAX_PARTS], *unseen_ns[MAX_PARTS]; /* by part and index in `cells`: time, and time without classes */
	uint32_t *cells, nr_cells;	/* cells of the sum that have classes on this device in some part */
	struct sonde_sampled *s;
	struct sonde_arena arena;
};

/* The device of a part's counters number `sampled`, from a cell that has them; SONDE_NONE = no cell has them. */
static uint32_t device_of(const struct sonde_sum_part *p, uint32_t sampled)
{
	size_t i;

	for (i = 0; i < p->c->cells.nr; i++)
		if (p->c->cells.at[i].sampled == sampled)
			return p->c->scopes.at[p->c->cells.at[i].scope].device;
	return SONDE_NONE;
}

/* Enters the cells in a map: {scope, place, kernel} → cell number. */
static bool key_cells(struct sonde_map *keys, const struct sonde_cells *c, struct sonde_arena *arena)
{
	size_t i;

	for (i = 0; i < c->cells.nr; i++) {
		const uint32_t key[3] = {c->cells.at[i].scope, c->cells.at[i].place, c->cells.at[i].kernel};

		if (sonde_map_keep(keys, arena, SONDE_BYTES(key), NULL) != i)
			return false;
	}
	return true;
}

static uint32_t find_cell(const struct sonde_map *keys, const struct sonde_sum_part *p, const struct sonde_cell *cell)
{
	const uint32_t key[3] = {p->of.scope[cell->scope], p->of.place[cell->place], p->of.string[cell->kernel]};

	return sonde_map_find(keys, SONDE_BYTES(key));
}

/*
 * Finds the cell of each class of each part, and the times of cells. `at` maps cells of the sum to their index in
 * d->cells.
 */
static bool match_classes(struct device *d, const struct sonde_map *keys, const uint32_t *number_of, const uint32_t *at)
{
	size_t p, i;
	uint32_t k;

	for (p = 0; p < d->nr_parts; p++) {
		uint32_t nr = d->from[p] ? sonde_unmixed_state(d->from[p]->sets[0].unmixed).nr_classes : 0;

		d->class_of[p] = sonde_arena_alloc(&d->arena, (nr + 1) * sizeof(uint32_t));
		d->cell_ns[p] = sonde_arena_calloc(&d->arena, d->nr_cells + 1, sizeof(double));
		d->unseen_ns[p] = sonde_arena_calloc(&d->arena, d->nr_cells + 1, sizeof(double));
		if (!d->class_of[p] || !d->cell_ns[p] || !d->unseen_ns[p])
			return false;
		for (k = 0; k < nr; k++)
			d->class_of[p][k] = SONDE_UNMIX_NONE;
		for (i = 0; i < d->parts[p].c->cells.nr; i++) {
			const struct sonde_cell *cell = &d->parts[p].c->cells.at[i];
			uint32_t here = find_cell(keys, &d->parts[p], cell), number = here == SONDE_NONE ? SONDE_NONE : at[here];

			if (number == SONDE_NONE)
				continue;
			d->cell_ns[p][number] += cell->time_ns;
			if (!d->from[p] || cell->sampled != number_of[p])
				d->unseen_ns[p][number] += cell->time_ns;
			else
				for (k = 0; k < cell->nr_classes; k++)
					d->class_of[p][cell->first_class + k] = number;
		}
	}
	return true;
}

/* Lists the cells that have counters in some part, and gives each an index in d->cells. */
static bool match_cells(struct device *d, const struct sonde_map *keys, const uint32_t *number_of)
{
	struct sonde_cells *to = d->to;
	uint32_t *at = sonde_arena_alloc(&d->arena, (to->cells.nr + 1) * sizeof(*at));
	size_t p, i;

	d->cells = sonde_arena_alloc(&d->arena, (to->cells.nr + 1) * sizeof(*d->cells));
	for (i = 0; at && i < to->cells.nr; i++)
		at[i] = SONDE_NONE;
	for (p = 0; at && d->cells && p < d->nr_parts; p++)
		for (i = 0; i < d->parts[p].c->cells.nr; i++) {
			const struct sonde_cell *cell = &d->parts[p].c->cells.at[i];
			uint32_t here = d->from[p] && cell->sampled == number_of[p] ? find_cell(keys, &d->parts[p], cell) : SONDE_NONE;

			if (here != SONDE_NONE && at[here] == SONDE_NONE) {
				at[here] = d->nr_cells;
				d->cells[d->nr_cells++] = here;
			}
		}
	return at && d->cells && match_classes(d, keys, number_of, at);
}

/* The set of a part with the same counters as `like`, NULL = none. */
static const struct sonde_sampled_set *find_set(const struct sonde_sampled *s, const struct sonde_sampled_set *like)
{
	size_t i, k;

	for (i = 0; s && i < s->nr_sets; i++) {
		for (k = 0; k < s->sets[i].roles.nr && k < like->roles.nr; k++)
			if (!sonde_str_eq(s->sets[i].roles.at[k], like->roles.at[k]))
				break;
		if (k == s->sets[i].roles.nr && k == like->roles.nr)
			return &s->sets[i];
	}
	return NULL;
}

static bool add_set(struct device *d, const struct sonde_sampled_set *like)
{
	struct sonde_sampled_set *set = &d->s->sets[d->s->nr_sets];
	const struct sonde_unmixed *from[MAX_PARTS];
	const uint32_t *class_of[MAX_PARTS];
	struct sonde_unmix_state to;
	size_t nr = 0, p, i;

	if (find_set(d->s, like)) /* already added, from another part */
		return true;
	for (p = 0; p < d->nr_parts; p++) {
		const struct sonde_sampled_set *one = find_set(d->from[p], like);

		if (one) {
			class_of[nr] = d->class_of[p];
			from[nr++] = one->unmixed;
		}
	}
	d->s->nr_sets++;
	set->unmixed = sonde_unmixed_join(from, class_of, nr, d->nr_cells);
	for (i = 0; i < like->roles.nr; i++) {
		struct sonde_str role = like->roles.at[i];

		if (!sonde_cells_keep(d->to, &role) || !sonde_vec_put(&set->roles, role) ||
			!sonde_vec_put(&set->peaks, like->peaks.at[i]))
			return false;
	}
	if (!set->unmixed)
		return false;
	to = sonde_unmixed_state(set->unmixed);
	for (p = 0; p < d->nr_parts; p++) {
		const double *ns = find_set(d->from[p], like) ? d->unseen_ns[p] : d->cell_ns[p];

		for (i = 0; i < d->nr_cells; i++)
			to.time[2 * i + 1] += ns[i];
	}
	return true;
}

/* Adds the cycles of all SMs while each cell ran: as sampled, else at the device's mean clock. */
static bool add_elapsed(struct device *d)
{
	size_t p, i;
	bool has = false;

	for (p = 0; p < d->nr_parts; p++)
		has |= d->from[p] && d->from[p]->elapsed;
	d->s->elapsed = has ? sonde_calloc(2 * (size_t)d->nr_cells + 1, sizeof(*d->s->elapsed)) : NULL;
	for (p = 0; d->s->elapsed && p < d->nr_parts; p++) {
		const struct sonde_sampled *from = d->from[p];
		struct sonde_unmix_state s = from ? sonde_unmixed_state(from->sets[0].unmixed) : (struct sonde_unmix_state){0};

		for (i = 0; i < s.nr_classes; i++)
			if (d->class_of[p][i] != SONDE_UNMIX_NONE)
				d->s->elapsed[2 * d->class_of[p][i]] +=
					from->elapsed ? from->elapsed[i] : d->s->cycles_per_ns * s.time[i];
		for (i = 0; i < d->nr_cells; i++)
			if (d->unseen_ns[p][i] > 0)
				d->s->elapsed[2 * i] += d->s->cycles_per_ns * d->unseen_ns[p][i];
	}
	return !has || d->s->elapsed;
}

static bool add_device(struct device *d, const struct sonde_map *keys, const uint32_t *number_of)
{
	size_t nr_sets = 0, p, i;
	struct sonde_sampled *s = d->s = sonde_calloc(1, sizeof(*s));

	if (!s || !sonde_vec_put(&d->to->sampled, s)) {
		sonde_free(s);
		return false;
	}
	for (p = 0; p < d->nr_parts; p++) { /* the device's facts are those in the last part */
		const struct sonde_sampled *from = d->from[p];

		if (!from)
			continue;
		nr_sets += from->nr_sets;
		s->cycles_per_ns = from->cycles_per_ns;
		s->bytes_per_ns = from->bytes_per_ns;
		s->nr_sms = from->nr_sms;
	}
	s->sets = sonde_calloc(nr_sets + 1, sizeof(*s->sets));
	if (!s->sets || !match_cells(d, keys, number_of) || !add_elapsed(d))
		return false;
	for (p = 0; p < d->nr_parts; p++)
		for (i = 0; d->from[p] && i < d->from[p]->nr_sets; i++)
			if (!add_set(d, &d->from[p]->sets[i]))
				return false;
	for (i = 0; i < d->nr_cells; i++) {
		struct sonde_cell *cell = &d->to->cells.at[d->cells[i]];

		cell->sampled = (uint32_t)d->to->sampled.nr - 1;
		cell->first_class = (uint32_t)(2 * i);
		cell->nr_classes = 2;
	}
	return true;
}

bool sonde_sampled_add(struct sonde_cells *to, const struct sonde_sum_part *parts, size_t nr_parts)
{
	struct sonde_map keys = {0};
	struct sonde_arena arena = {0};
	bool ok = key_cells(&keys, to, &arena);
	size_t i, k, p;

	for (i = 0; ok && i < to->devices.nr; i++) {
		struct device d = {.to = to, .parts = parts, .nr_parts = nr_parts};
		uint32_t number_of[MAX_PARTS] = {0};
		bool has = false;

		for (p = 0; p < nr_parts; p++)
			for (k = 0; k < parts[p].c->sampled.nr; k++)
				if (parts[p].c->sampled.at[k]->nr_sets && device_of(&parts[p], (uint32_t)k) == to->devices.at[i].id) {
					d.from[p] = parts[p].c->sampled.at[k];
					number_of[p] = (uint32_t)k;
					has = true;
				}
		ok = !has || add_device(&d, &keys, number_of);
		sonde_arena_release(&d.arena);
	}
	sonde_map_release(&keys);
	sonde_arena_release(&arena);
	return ok;
}
