/*
 * Sampled counters of a part: the values that figures and their errors are computed from. Each row of deviations has its
 * own unit, a power of two, and its values are moved as multiples of this unit.
 */
#include "cellfile/cell_walks.h"
#include "fold/sampled.h"

#include "base/alloc.h"
#include "unmix/unmix.h"

#include <math.h>

#define UNIT_BIAS     200   /* added to the unit's exponent so that it is positive; 0 = all values are zero */
#define MOST_MULTIPLE 65536 /* the largest multiple of a unit: a float holds it exactly */

static void move_doubles(struct sonde_walk *w, double *at, size_t nr)
{
	size_t i;

	for (i = 0; i < nr && sonde_walk_ok(w); i++) {
		MOVE_DOUBLE(w, at[i]);
		sonde_walk_require(w, isfinite(at[i]) && at[i] >= 0);
	}
}

/* The exponent of the lowest bit that is set in a float. */
static int lowest_bit(float v)
{
	int exponent, bits;
	float part = frexpf(v, &exponent);

	bits = (int)ldexpf(fabsf(part), 24);
	return exponent - 24 + __builtin_ctz((unsigned)bits);
}

/* The exponent, plus UNIT_BIAS, of the largest power of two that divides all values; 0 if all are zero. */
static uint64_t find_unit(const float *row)
{
	int exponent = INT32_MAX, i, bit;

	for (i = 0; i < SONDE_UNMIX_DEVIATIONS; i++) {
		bit = row[i] != 0 ? lowest_bit(row[i]) : INT32_MAX;
		exponent = bit < exponent ? bit : exponent;
	}
	return exponent == INT32_MAX ? 0 : (uint64_t)(exponent + UNIT_BIAS);
}

static void move_row(struct sonde_walk *w, float *row)
{
	uint64_t unit = sonde_walk_index(w, w->to ? find_unit(row) : 0, 2 * UNIT_BIAS + 1);
	int exponent = (int)unit - UNIT_BIAS, i;

	for (i = 0; unit && i < SONDE_UNMIX_DEVIATIONS && !w->failed; i++) {
		int64_t multiple = sonde_unzigzag(
			sonde_walk_number(w, sonde_zigzag((int64_t)ldexpf(row[i], -exponent))));

		sonde_walk_require(w, multiple <= MOST_MULTIPLE && multiple >= -MOST_MULTIPLE);
		row[i] = w->failed ? 0 : ldexpf((float)multiple, exponent);
		sonde_walk_require(w, isfinite(row[i]));
	}
}

/* A reader meets the counters of a set before the number of unknowns, so it keeps them here until it can make the set. */
struct counter {
	struct sonde_str role, refused;
	double limit, peak;
};

static void move_counter(struct sonde_walk *w, struct counter *at)
{
	MOVE_TEXT(w, at->role);
	MOVE_TEXT(w, at->refused);
	move_doubles(w, &at->limit, 1);
	move_doubles(w, &at->peak, 1);
}

static struct counter counter_of(
	const struct sonde_sampled_set *set, const struct sonde_unmix_state *s, size_t i)
{
	return (struct counter){set->roles.at[i], sonde_str_from(s->counters[i].refused),
		s->limits[i], set->peaks.at[i]};
}

/* Makes a reader's set once its counters and sizes are known. */
static bool make_set(struct sonde_sampled_set *set, const struct counter *counters,
	const struct sonde_unmix_state *size)
{
	struct sonde_unmix_state s;
	size_t nr = size->nr_counters, i;

	set->unmixed = sonde_unmixed_new(size->nr_classes, size->nr_counters, size->nr_unknowns);
	if (!set->unmixed || !sonde_vec_reserve(&set->roles, nr + 1) ||
		!sonde_vec_reserve(&set->peaks, nr + 1))
		return false;
	s = sonde_unmixed_state(set->unmixed);
	for (i = 0; i < nr; i++) {
		set->roles.at[set->roles.nr++] = counters[i].role;
		set->peaks.at[set->peaks.nr++] = counters[i].peak;
		s.limits[i] = counters[i].limit;
		s.counters[i].refused = counters[i].refused.p;
	}
	return true;
}

/* Moves the counters, then the numbers of unknowns and classes. */
static void move_head(struct sonde_walk *w, struct sonde_sampled_set *set)
{
	struct sonde_unmix_state s = {0};
	struct counter *counters;
	size_t i;

	if (w->to)
		s = sonde_unmixed_state(set->unmixed);
	s.nr_counters = (uint32_t)sonde_walk_count(w, s.nr_counters);
	counters = sonde_calloc((size_t)s.nr_counters + 1, sizeof(*counters));
	w->is_nomem |= !counters;
	for (i = 0; i < s.nr_counters && sonde_walk_ok(w); i++) {
		if (w->to)
			counters[i] = counter_of(set, &s, i);
		move_counter(w, &counters[i]);
	}
	s.nr_unknowns = (uint32_t)sonde_walk_count(w, s.nr_unknowns);
	s.nr_classes = (uint32_t)sonde_walk_count(w, s.nr_classes);
	/* For each counter, an unknown takes at least one byte for the figure and one for the row of deviations. */
	sonde_walk_require(w, !s.nr_counters || s.nr_unknowns <= (size_t)(w->end - w->p) /
									  s.nr_counters / 2);
	if (!w->to && sonde_walk_ok(w))
		w->is_nomem = !make_set(set, counters, &s);
	sonde_free(counters);
}

static void move_classes(struct sonde_walk *w, const struct sonde_unmix_state *s)
{
	size_t i;

	for (i = 0; i < s->nr_classes && sonde_walk_ok(w); i++) {
		MOVE_MAYBE(w, s->classes[i].unknown, s->nr_unknowns);
		if (!w->to)
			s->classes[i].fate = s->classes[i].unknown == SONDE_NONE
						     ? SONDE_UNMIX_UNSEEN
						     : s->fate[s->classes[i].unknown];
	}
	move_doubles(w, s->weight, s->nr_classes);
	move_doubles(w, s->time, s->nr_classes);
}

static void move_set(struct sonde_walk *w, struct sonde_sampled_set *set)
{
	struct sonde_unmix_state s;
	size_t i, cells;

	move_head(w, set);
	if (!sonde_walk_ok(w))
		return;
	s = sonde_unmixed_state(set->unmixed);
	cells = (size_t)s.nr_unknowns * s.nr_counters;
	for (i = 0; i < s.nr_unknowns; i++)
		MOVE_INDEX(w, s.fate[i], SONDE_UNMIX_UNSEEN + 1);
	move_doubles(w, s.unknown_weight, s.nr_unknowns);
	move_classes(w, &s);
	move_doubles(w, s.x, cells);
	for (i = 0; i < cells && sonde_walk_ok(w); i++)
		move_row(w, &s.deviations[i * SONDE_UNMIX_DEVIATIONS]);
}

/* All sets of a device have the same classes. */
static uint32_t count_classes(const struct sonde_sampled *s)
{
	return s->nr_sets ? sonde_unmixed_state(s->sets[0].unmixed).nr_classes : 0;
}

static void move_device(struct sonde_walk *w, struct sonde_sampled *s)
{
	size_t nr, i;
	bool has_elapsed = s->elapsed != NULL;

	MOVE_DOUBLE(w, s->cycles_per_ns);
	MOVE_DOUBLE(w, s->bytes_per_ns);
	nr = sonde_walk_count(w, s->nr_sets);
	if (!w->to)
		s->sets = sonde_calloc(nr + 1, sizeof(*s->sets));
	for (i = 0; sonde_walk_got(w, s->sets) && i < nr && sonde_walk_ok(w); i++) {
		s->nr_sets = w->to ? nr : i + 1; /* sonde_sampled_free frees the sets made so far, even after an error */
		move_set(w, &s->sets[i]);
		sonde_walk_require(w, !sonde_walk_ok(w) ||
				sonde_unmixed_state(s->sets[i].unmixed).nr_classes == count_classes(s));
	}
	MOVE_DOUBLE(w, s->nr_sms);
	MOVE_INDEX(w, has_elapsed, 2);
	if (!has_elapsed || !sonde_walk_ok(w))
		return;
	if (!w->to)
		s->elapsed = sonde_calloc((size_t)count_classes(s) + 1, sizeof(*s->elapsed));
	if (sonde_walk_got(w, s->elapsed))
		move_doubles(w, s->elapsed, count_classes(s));
}

static void move_devices(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_sampled **slot;

	MOVE_ROWS(w, &c->sampled, slot) {
		if (!w->to)
			*slot = sonde_calloc(1, sizeof(**slot));
		if (sonde_walk_got(w, *slot))
			move_device(w, *slot);
		else
			c->sampled.nr--;
	}
	sonde_walk_require(w, c->sampled.nr);
}

static void move_cell(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_cell *cell)
{
	uint32_t classes;

	MOVE_MAYBE(w, cell->sampled, c->sampled.nr);
	if (w->failed || cell->sampled == SONDE_NONE)
		return;
	classes = count_classes(c->sampled.at[cell->sampled]);
	MOVE_INDEX(w, cell->first_class, (uint64_t)classes + 1);
	MOVE_INDEX(w, cell->nr_classes, (uint64_t)classes - cell->first_class + 1);
}

/* A figure or its error; NaN = there is none. */
static void move_load(struct sonde_walk *w, float *v)
{
	MOVE_DOUBLE(w, *v);
	sonde_walk_require(w, !isinf(*v) && !(*v < 0));
}

/* Loads are in the order of their entries. An entry has at most one. */
static void move_loads(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_entry_load *load;
	size_t k;

	MOVE_ROWS(w, &c->loads, load) {
		MOVE_INDEX(w, load->entry, c->entries.nr);
		sonde_walk_require(w, load == c->loads.at || load->entry > load[-1].entry);
		for (k = 0; k < SONDE_NR_LOADS; k++) {
			move_load(w, &load->v[k]);
			move_load(w, &load->error[k]);
		}
	}
}

void sonde_walk_sampled(struct sonde_walk *w, struct sonde_cells *c)
{
	size_t i;

	move_devices(w, c);
	for (i = 0; i < c->cells.nr && sonde_walk_ok(w); i++)
		move_cell(w, c, &c->cells.at[i]);
	move_loads(w, c);
}
