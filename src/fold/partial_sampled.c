/*
 * Sampled counters in a partial report: what figures and their errors are made of.
 * Each row of deviations has a unit of its own, a power of two, and is written as multiples.
 */
#include "fold/partial_int.h"
#include "fold/sampled.h"

#include "base/alloc.h"
#include "unmix/unmix.h"

#include <math.h>

#define UNIT_BIAS     200   /* added to the exponent of a unit; 0 = nothing but zeros follows */
#define MOST_MULTIPLE 65536 /* of a unit: exact as a float */

/* --- writing ---------------------------------------------------------------------------------- */

static void put_doubles(struct sonde_buf *b, const double *at, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		sonde_put_f64(b, at[i]);
}

/* The exponent of the lowest bit that is set. */
static int lowest_bit(float v)
{
	int exponent, bits;
	float part = frexpf(v, &exponent);

	bits = (int)ldexpf(fabsf(part), 24);
	return exponent - 24 + __builtin_ctz((unsigned)bits);
}

static void put_row(struct sonde_buf *b, const float *row)
{
	int exponent = INT32_MAX, i, bit;

	for (i = 0; i < SONDE_UNMIX_DEVIATIONS; i++) {
		bit = row[i] != 0 ? lowest_bit(row[i]) : INT32_MAX;
		exponent = bit < exponent ? bit : exponent;
	}
	sonde_put_u(b, exponent == INT32_MAX ? 0 : (uint64_t)(exponent + UNIT_BIAS));
	for (i = 0; exponent != INT32_MAX && i < SONDE_UNMIX_DEVIATIONS; i++)
		sonde_put_u(b, sonde_zigzag((int64_t)ldexpf(row[i], -exponent)));
}

static void put_set(struct sonde_buf *b, const struct sonde_sampled_set *set)
{
	struct sonde_unmix_state s = sonde_unmixed_state(set->unmixed);
	size_t i, cells = (size_t)s.nr_unknowns * s.nr_counters;

	sonde_put_u(b, s.nr_counters);
	for (i = 0; i < s.nr_counters; i++) {
		sonde_put_str(b, set->roles.at[i]);
		sonde_put_str(b, s.counters[i].refused ? sonde_str_from(s.counters[i].refused)
						       : (struct sonde_str){NULL, 0});
		sonde_put_f64(b, s.limits[i]);
		sonde_put_f64(b, set->peaks.at[i]);
	}
	sonde_put_u(b, s.nr_unknowns);
	sonde_put_u(b, s.nr_classes);
	for (i = 0; i < s.nr_unknowns; i++)
		sonde_put_u(b, s.fate[i]);
	put_doubles(b, s.unknown_weight, s.nr_unknowns);
	for (i = 0; i < s.nr_classes; i++)
		sonde_put_maybe(b, s.classes[i].unknown);
	put_doubles(b, s.weight, s.nr_classes);
	put_doubles(b, s.time, s.nr_classes);
	put_doubles(b, s.x, cells);
	for (i = 0; i < cells; i++)
		put_row(b, &s.deviations[i * SONDE_UNMIX_DEVIATIONS]);
}

void sonde_partial__put_sampled(struct sonde_buf *b, const struct sonde_cells *c)
{
	size_t i, k;

	sonde_put_u(b, c->sampled.nr);
	for (i = 0; i < c->sampled.nr; i++) {
		const struct sonde_sampled *s = c->sampled.at[i];

		sonde_put_f64(b, s->cycles_per_ns);
		sonde_put_f64(b, s->bytes_per_ns);
		sonde_put_u(b, s->nr_sets);
		for (k = 0; k < s->nr_sets; k++)
			put_set(b, &s->sets[k]);
		sonde_put_f64(b, s->nr_sms);
		sonde_put_u(b, s->elapsed != NULL);
		if (s->elapsed && s->nr_sets)
			put_doubles(b, s->elapsed,
				sonde_unmixed_state(s->sets[0].unmixed).nr_classes);
	}
	for (i = 0; i < c->cells.nr; i++) {
		const struct sonde_cell *cell = &c->cells.at[i];

		sonde_put_maybe(b, cell->sampled);
		if (cell->sampled == SONDE_NONE)
			continue;
		sonde_put_u(b, cell->first_class);
		sonde_put_u(b, cell->nr_classes);
	}
	sonde_put_u(b, c->loads.nr);
	for (i = 0; i < c->loads.nr; i++) {
		sonde_put_u(b, c->loads.at[i].entry);
		for (k = 0; k < SONDE_NR_LOADS; k++) {
			sonde_put_f64(b, c->loads.at[i].v[k]);
			sonde_put_f64(b, c->loads.at[i].error[k]);
		}
	}
}

/* --- reading ---------------------------------------------------------------------------------- */

static void get_doubles(struct sonde_cursor *in, double *at, size_t nr)
{
	size_t i;

	for (i = 0; i < nr && !in->failed; i++) {
		at[i] = sonde_get_f64(in);
		in->failed |= !isfinite(at[i]) || at[i] < 0;
	}
}

static void get_row(struct sonde_cursor *in, float *row)
{
	uint64_t unit = sonde_get_u(in);
	int i;

	in->failed |= unit > 2 * UNIT_BIAS;
	for (i = 0; unit && i < SONDE_UNMIX_DEVIATIONS && !in->failed; i++) {
		int64_t multiple = sonde_unzigzag(sonde_get_u(in));

		in->failed |= multiple > MOST_MULTIPLE || multiple < -MOST_MULTIPLE;
		row[i] = in->failed ? 0 : ldexpf((float)multiple, (int)unit - UNIT_BIAS);
		in->failed |= !isfinite(row[i]);
	}
}

/* Counters as they are read, before it is known how many unknowns there are. */
struct counter {
	struct sonde_str role, refused;
	double limit, peak;
};

static struct counter *get_counters(struct sonde_cursor *in, size_t *nr, bool *is_nomem)
{
	struct counter *at;
	size_t i;

	*nr = sonde_get_count(in);
	at = sonde_calloc(*nr + 1, sizeof(*at));
	*is_nomem |= !at;
	for (i = 0; at && i < *nr && !in->failed; i++) {
		at[i].role = sonde_get_str(in);
		at[i].refused = sonde_get_str(in);
		get_doubles(in, &at[i].limit, 1);
		get_doubles(in, &at[i].peak, 1);
	}
	return at;
}

static bool keep_counters(struct sonde_cells *c, struct sonde_sampled_set *set,
	const struct counter *at, size_t nr)
{
	struct sonde_unmix_state s = sonde_unmixed_state(set->unmixed);
	size_t i;

	if (!sonde_vec_reserve(&set->roles, nr + 1) || !sonde_vec_reserve(&set->peaks, nr + 1))
		return false;
	for (i = 0; i < nr; i++) {
		struct sonde_str role = at[i].role;

		if (!sonde_cells__keep(c, &role))
			return false;
		set->roles.at[set->roles.nr++] = role;
		set->peaks.at[set->peaks.nr++] = at[i].peak;
		s.limits[i] = at[i].limit;
		s.counters[i].refused =
			at[i].refused.p ? sonde_arena_z(&c->arena, at[i].refused) : NULL;
		if (at[i].refused.p && !s.counters[i].refused)
			return false;
	}
	return true;
}

static void get_classes(struct sonde_cursor *in, const struct sonde_unmix_state *s)
{
	size_t i;

	for (i = 0; i < s->nr_classes && !in->failed; i++) {
		uint32_t unknown = sonde_get_maybe(in, s->nr_unknowns);

		s->classes[i].unknown = unknown;
		s->classes[i].fate =
			unknown == SONDE_NONE ? SONDE_UNMIX_UNSEEN : s->fate[unknown];
	}
	get_doubles(in, s->weight, s->nr_classes);
	get_doubles(in, s->time, s->nr_classes);
}

static void get_set(struct sonde_cursor *in, struct sonde_cells *c,
	struct sonde_sampled_set *set, bool *is_nomem)
{
	size_t nr, unknowns, classes, i;
	struct counter *counters = get_counters(in, &nr, is_nomem);
	struct sonde_unmix_state s;

	unknowns = sonde_get_count(in);
	classes = sonde_get_count(in);
	/* Each unknown has a byte at least for a counter's figure, and one for its row. */
	in->failed |= nr && unknowns > (size_t)(in->end - in->p) / nr / 2;
	if (!in->failed && !*is_nomem) {
		set->unmixed = sonde_unmixed_new((uint32_t)classes, (uint32_t)nr, (uint32_t)unknowns);
		*is_nomem |= !set->unmixed || !keep_counters(c, set, counters, nr);
	}
	sonde_free(counters);
	if (in->failed || *is_nomem)
		return;
	s = sonde_unmixed_state(set->unmixed);
	for (i = 0; i < unknowns; i++)
		s.fate[i] = (enum sonde_unmix_fate)sonde_get_index(in, SONDE_UNMIX_UNSEEN + 1);
	get_doubles(in, s.unknown_weight, unknowns);
	get_classes(in, &s);
	get_doubles(in, s.x, unknowns * nr);
	for (i = 0; i < unknowns * nr && !in->failed; i++)
		get_row(in, &s.deviations[i * SONDE_UNMIX_DEVIATIONS]);
}

/* All sets of a device have the same classes. Returns how many. */
static uint32_t get_device(
	struct sonde_cursor *in, struct sonde_cells *c, struct sonde_sampled *s, bool *is_nomem)
{
	size_t nr;
	uint32_t classes = 0, own;

	s->cycles_per_ns = sonde_get_f64(in);
	s->bytes_per_ns = sonde_get_f64(in);
	nr = sonde_get_count(in);
	s->sets = sonde_calloc(nr + 1, sizeof(*s->sets));
	*is_nomem |= !s->sets;
	while (s->nr_sets < nr && !in->failed && !*is_nomem) {
		get_set(in, c, &s->sets[s->nr_sets++], is_nomem);
		if (in->failed || *is_nomem)
			break;
		own = sonde_unmixed_state(s->sets[s->nr_sets - 1].unmixed).nr_classes;
		in->failed |= s->nr_sets > 1 && own != classes;
		classes = own;
	}
	s->nr_sms = sonde_get_f64(in);
	if (sonde_get_index(in, 2) && !*is_nomem && !in->failed) {
		s->elapsed = sonde_calloc((size_t)classes + 1, sizeof(*s->elapsed));
		*is_nomem |= !s->elapsed;
		if (s->elapsed)
			get_doubles(in, s->elapsed, classes);
	}
	return classes;
}

static void get_cell(struct sonde_cursor *in, struct sonde_cells *c, struct sonde_cell *cell,
	const uint32_t *classes)
{
	cell->sampled = sonde_get_maybe(in, c->sampled.nr);
	if (in->failed || cell->sampled == SONDE_NONE)
		return;
	cell->first_class = sonde_get_index(in, (size_t)classes[cell->sampled] + 1);
	cell->nr_classes =
		sonde_get_index(in, (size_t)classes[cell->sampled] - cell->first_class + 1);
}

/* In order of their entries, each once. */
static void get_loads(struct sonde_cursor *in, struct sonde_cells *c, bool *is_nomem)
{
	size_t nr = sonde_get_count(in), i, k;

	for (i = 0; i < nr && !in->failed && !*is_nomem; i++) {
		struct sonde_entry_load *load = sonde_vec_push(&c->loads);

		*is_nomem |= !load;
		if (!load)
			return;
		load->entry = sonde_get_index(in, c->entries.nr);
		in->failed |= i && load->entry <= load[-1].entry;
		for (k = 0; k < SONDE_NR_LOADS; k++) {
			load->v[k] = (float)sonde_get_f64(in);
			load->error[k] = (float)sonde_get_f64(in);
			in->failed |= isinf(load->v[k]) || isinf(load->error[k]) ||
				      load->v[k] < 0 || load->error[k] < 0;
		}
	}
}

bool sonde_partial__sampled(struct sonde_cursor *in, struct sonde_cells *c, bool *is_nomem)
{
	size_t nr = sonde_get_count(in), i;
	uint32_t *classes = sonde_calloc(nr + 1, sizeof(*classes));

	*is_nomem |= !classes;
	in->failed |= !nr;
	for (i = 0; i < nr && !in->failed && !*is_nomem; i++) {
		struct sonde_sampled *s = sonde_calloc(1, sizeof(*s));
		struct sonde_sampled **slot = s ? sonde_vec_push(&c->sampled) : NULL;

		*is_nomem |= !slot;
		if (!slot) {
			sonde_free(s);
			break;
		}
		*slot = s;
		classes[i] = get_device(in, c, s, is_nomem);
	}
	for (i = 0; i < c->cells.nr && !in->failed && !*is_nomem; i++)
		get_cell(in, c, &c->cells.at[i], classes);
	sonde_free(classes);
	if (!in->failed && !*is_nomem)
		get_loads(in, c, is_nomem);
	return !in->failed && !*is_nomem && in->p == in->end;
}
