/*
 * Chooses coarser unknowns where the result with the finest ones has large errors.
 *
 * A region is weak if, for half of the counters, the errors of its classes add up
 * to a large part of their values. Then its entries become the unknown, provided that
 * launches fill the entries. A class outside such regions is weak if its error is large
 * for all counters. It is pooled with other classes of its name.
 */
#include "unmix/unmix_int.h"

#include "base/quantile.h"

#include <math.h>
#include <stdlib.h>

#define WEAK 0.5 /* error ÷ value from which on a figure is weak */
#define DENSE                                                                                      \
	0.8 /* least share of an entry's time that launches fill: with more pauses, pooling by     \
	     * name is better (decode, 100 µs: errors of 2.3 % instead of 4.4 %) */

struct keyed { /* a class with its name or group as key */
	uint32_t key, class;
};

struct keys {
	struct keyed *at;
	uint32_t nr;
};

static int compare_keys(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->class > y->class) - (x->class < y->class);
}

/* Sorts the classes that have launches and a key, by key. */
static int sort_classes(struct keys *keys, struct sonde_arena *arena,
	const struct sonde_unmix_input *in, const struct sonde_unmix__plan *plan, bool by_group)
{
	uint32_t k;

	*keys = (struct keys){sonde_arena_alloc(arena, in->nr_classes * sizeof(*keys->at)), 0};
	if (keys->at == NULL)
		return SONDE_ERR_NOMEM;
	for (k = 0; k < in->nr_classes; k++) {
		uint32_t key = by_group ? in->classes[k].group : in->classes[k].name;

		if (key != SONDE_UNMIX_NONE && (plan->unknown == NULL || plan->unknown[k] != SONDE_UNMIX_NONE))
			keys->at[keys->nr++] = (struct keyed){key, k};
	}
	qsort(keys->at, keys->nr, sizeof(*keys->at), compare_keys);
	return 0;
}

static uint32_t end_of_key(const struct keys *keys, uint32_t from)
{
	uint32_t to = from;

	while (to < keys->nr && keys->at[to].key == keys->at[from].key)
		to++;
	return to;
}

int sonde_unmix__merge_names(
	struct sonde_unmix__plan *plan, struct sonde_arena *arena, const struct sonde_unmix_input *in)
{
	struct keys keys;
	uint32_t i;

	if (sort_classes(&keys, arena, in, plan, false) < 0)
		return SONDE_ERR_NOMEM;
	for (i = 1; i < keys.nr; i++)
		if (keys.at[i].key == keys.at[i - 1].key)
			sonde_unmix__plan_join(plan, keys.at[i - 1].class, keys.at[i].class, SONDE_UNMIX_MERGED);
	plan->without_bins = true;
	return 0;
}

int sonde_unmix__pool_names(uint32_t *nr_joined, struct sonde_unmix__plan *plan,
	struct sonde_arena *arena, const struct sonde_unmix_input *in)
{
	struct keys keys;
	uint32_t i;

	*nr_joined = 0;
	if (sort_classes(&keys, arena, in, plan, false) < 0)
		return SONDE_ERR_NOMEM;
	for (i = 1; i < keys.nr; i++) {
		if (keys.at[i].key == keys.at[i - 1].key)
			*nr_joined += sonde_unmix__plan_join(
				plan, keys.at[i - 1].class, keys.at[i].class, SONDE_UNMIX_POOLED);
	}
	return 0;
}

/* The result to judge, and memory for one ratio per counter. */
struct judge {
	const struct sonde_unmixed *u;
	double *ratios;
};

/* Sum of errors ÷ sum of values of the classes from … to-1, for each counter with values, sorted. Returns how many. */
static uint32_t list_ratios(
	const struct judge *judge, const struct keys *keys, uint32_t from, uint32_t to)
{
	uint32_t nr = 0, c, i;

	for (c = 0; c < judge->u->state.nr_counters; c++) {
		double value = 0, error = 0;

		for (i = from; i < to; i++) {
			struct sonde_unmix_figure f =
				sonde_unmixed_figure(judge->u, keys->at[i].class, c);

			value += isnan(f.value) ? 0 : f.value;
			error += isnan(f.value) ? 0 : f.error;
		}
		if (value > 0)
			judge->ratios[nr++] = error / value;
	}
	sonde_sort_numbers(judge->ratios, nr);
	return nr;
}

/* A launch of a group, for computing how densely launches fill its entries. */
struct piece {
	uint32_t entry;
	int64_t start_ns, end_ns;
};

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The share of the entries' time that launches fill. */
static double density_of(struct piece *pieces, size_t nr)
{
	double busy = 0, span = 0;
	int64_t end = 0;
	size_t i;

	qsort(pieces, nr, sizeof(*pieces), compare_pieces);
	for (i = 0; i < nr; i++) {
		bool is_first = i == 0 || pieces[i].entry != pieces[i - 1].entry;
		int64_t from = is_first || pieces[i].start_ns > end ? pieces[i].start_ns : end;

		span += is_first ? 0 : (double)(from - end);
		if (is_first || pieces[i].end_ns > end) {
			busy += pieces[i].end_ns > from ? (double)(pieces[i].end_ns - from) : 0;
			end = pieces[i].end_ns;
		}
	}
	span += busy;
	return span > 0 ? busy / span : 0;
}

/*
 * Whether the group of class `from` can be solved by entries: the entry of each launch is known, and launches fill
 * the entries.
 */
static bool has_dense_entries(struct sonde_arena *arena, const struct sonde_unmix_input *in,
	const struct keys *keys, uint32_t from)
{
	uint32_t group = keys->at[from].key;
	size_t nr = 0, i;
	struct piece *pieces;

	for (i = 0; i < in->nr_launches; i++)
		nr += in->classes[in->launches[i].class].group == group;
	pieces = sonde_arena_alloc(arena, nr * sizeof(*pieces));
	if (pieces == NULL)
		return false;
	for (i = 0, nr = 0; i < in->nr_launches; i++) {
		const struct sonde_unmix_launch *l = &in->launches[i];

		if (in->classes[l->class].group != group)
			continue;
		if (l->entry == SONDE_UNMIX_NONE)
			return false;
		pieces[nr++] = (struct piece){l->entry, l->start_ns, l->end_ns};
	}
	return density_of(pieces, nr) >= DENSE;
}

static uint32_t join_weak_groups(struct sonde_unmix__plan *plan, struct sonde_arena *arena,
	const struct sonde_unmix_input *in, const struct keys *keys, const struct judge *judge)
{
	uint32_t nr_joined = 0, from, to, i;

	for (from = 0; from < keys->nr; from = to) {
		uint32_t nr;

		to = end_of_key(keys, from);
		nr = list_ratios(judge, keys, from, to);
		if (to - from < 2 || nr == 0 || judge->ratios[nr / 2] <= WEAK ||
			!has_dense_entries(arena, in, keys, from))
			continue;
		for (i = from + 1; i < to; i++)
			nr_joined += sonde_unmix__plan_join(
				plan, keys->at[i - 1].class, keys->at[i].class, SONDE_UNMIX_ENTRY);
	}
	return nr_joined;
}

/* Marks the unknowns that must not be pooled: entries, and those with classes of several names. */
static bool *find_mixed(struct sonde_arena *arena, struct sonde_unmix__plan *plan,
	const struct sonde_unmix_input *in)
{
	bool *is_mixed = sonde_arena_calloc(arena, in->nr_classes, sizeof(*is_mixed));
	uint32_t k;

	for (k = 0; is_mixed != NULL && k < in->nr_classes; k++) {
		uint32_t leader = sonde_unmix__plan_leader(plan, k);

		if (in->classes[k].name != in->classes[leader].name ||
			plan->fate[leader] == SONDE_UNMIX_ENTRY)
			is_mixed[leader] = true;
	}
	return is_mixed;
}

static bool is_weak(const struct judge *judge, const struct keys *keys, uint32_t from, uint32_t to)
{
	uint32_t nr = list_ratios(judge, keys, from, to);

	return nr == 0 || judge->ratios[0] >= WEAK;
}

/*
 * If a name is weak as a whole, all of its classes are pooled: pooling only those with
 * low figures would leave those that are high by chance.
 */
static uint32_t join_weak_names(struct sonde_unmix__plan *plan, const struct keys *keys,
	const struct judge *judge, const bool *is_mixed)
{
	uint32_t nr_joined = 0, from, to, i;

	for (from = 0; from < keys->nr; from = to) {
		uint32_t last = SONDE_UNMIX_NONE;
		bool all;

		to = end_of_key(keys, from);
		all = is_weak(judge, keys, from, to);
		for (i = from; i < to; i++) {
			uint32_t k = keys->at[i].class, leader = sonde_unmix__plan_leader(plan, k);

			if (is_mixed[leader] || !(all || is_weak(judge, keys, i, i + 1)))
				continue;
			if (last != SONDE_UNMIX_NONE) {
				plan->fate[leader] = SONDE_UNMIX_OWN;
				nr_joined +=
					sonde_unmix__plan_join(plan, last, k, SONDE_UNMIX_POOLED);
			}
			last = k;
		}
	}
	return nr_joined;
}

int sonde_unmix__coarsen(uint32_t *nr_joined, struct sonde_unmix__plan *plan,
	struct sonde_arena *arena, const struct sonde_unmix_input *in,
	const struct sonde_unmixed *u)
{
	struct judge judge = {u, sonde_arena_alloc(arena, in->nr_counters * sizeof(double))};
	struct keys groups, names;
	bool *is_mixed;

	*nr_joined = 0;
	if (arena->failed || sort_classes(&groups, arena, in, plan, true) < 0 ||
		sort_classes(&names, arena, in, plan, false) < 0)
		return SONDE_ERR_NOMEM;
	*nr_joined = join_weak_groups(plan, arena, in, &groups, &judge);
	if (arena->failed)
		return SONDE_ERR_NOMEM;
	is_mixed = find_mixed(arena, plan, in);
	if (is_mixed == NULL)
		return SONDE_ERR_NOMEM;
	*nr_joined += join_weak_names(plan, &names, &judge, is_mixed);
	return 0;
}
