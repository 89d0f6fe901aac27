/*
 * Tests the comparison on one side alone: its entries are split at random into two sides that cannot differ. Every
 * difference that is found is a false alarm.
 *
 * With four or more runs, whole runs are dealt to the two sides. With fewer, blocks of neighbouring entries are dealt,
 * long enough to keep what neighbours have in common.
 */
#include "compare/diff_int.h"

#include <math.h>

#define LEAST_VALUES (2 * SONDE_LEAST_ENTRIES) /* enough for both halves */
#define LEAST_RUNS   4

/*
 * Decides at random whether number `i` of `nr` goes to the first half. `*want` says how many of the rest must still go
 * there.
 */
static bool deal(uint64_t seed, size_t i, size_t nr, size_t *want)
{
	bool is_first = sonde_diff__mix(seed, i) % (nr - i) < *want;

	*want -= is_first;
	return is_first;
}

/* Takes the blocks of one run that go to one half. */
static bool take_blocks(
	struct sonde_diff *d, const double *at, size_t nr, uint64_t seed, bool first)
{
	double tau = sonde_stats_correlation_time(at, nr);
	size_t block = tau < 1.5 ? 1 : (size_t)fmin(ceil(3 * tau), fmax((double)nr / 4, 1));
	size_t nr_blocks = (nr + block - 1) / block, want = nr_blocks / 2, i, k;

	for (i = 0; i < nr_blocks; i++) {
		if (deal(seed, i, nr_blocks, &want) != first)
			continue;
		for (k = i * block; k < (i + 1) * block && k < nr; k++)
			if (!sonde_diff__push_value(d, at[k]))
				return false;
	}
	return true;
}

/* Fills one half of a region. `from` has all the region's values as values of the base. */
static bool take_half(struct sonde_diff *to, const struct sonde_diff *from, size_t region,
	uint64_t seed, bool first)
{
	const struct sonde_diff_region *r = &from->regions.at[region];
	const struct sonde_diff_time *whole = &r->times[r->time];
	struct sonde_diff_time *t = &to->regions.at[region].times[r->time];
	const double *at = from->values.at + whole->first_value[0];
	const uint32_t *counts = from->values_of_run.at + whole->first_count;
	struct sonde_diff_half *h =
		first ? &to->regions.at[region].base : &to->regions.at[region].new_half;
	size_t run, nr_runs = from->nr_base_runs, want = nr_runs / 2;

	*h = (struct sonde_diff_half){.is_there = true};
	if (first)
		t->first_count = (uint32_t)to->values_of_run.nr;
	t->first_value[!first] = (uint32_t)to->values.nr;
	for (run = 0; run < nr_runs; at += counts[run], run++) {
		uint32_t *count = sonde_vec_push(&to->values_of_run);
		size_t before = to->values.nr, k;
		bool is_whole = nr_runs >= LEAST_RUNS, is_mine;

		if (!count)
			return false;
		is_mine = is_whole && deal(seed, run, nr_runs, &want) == first;
		for (k = 0; is_mine && k < counts[run]; k++)
			if (!sonde_diff__push_value(to, at[k]))
				return false;
		if (!is_whole && counts[run] &&
			!take_blocks(to, at, counts[run], sonde_diff__mix(seed, sonde_diff__mix(region, run)), first))
			return false;
		to->values_of_run.at[to->values_of_run.nr - 1] = (uint32_t)(to->values.nr - before);
	}
	t->nr_values[!first] = (uint32_t)(to->values.nr - t->first_value[!first]);
	return true;
}

static bool try_once(struct sonde_diff *to, const struct sonde_diff *from, uint64_t seed)
{
	size_t i, k;

	to->values.nr = to->values_of_run.nr = 0;
	for (i = 0; i < from->regions.nr; i++) {
		to->regions.at[i] = from->regions.at[i];
		for (k = 0; k < SONDE_NR_DIFF_TIMES; k++) /* only the time that the region is compared by is split */
			to->regions.at[i].times[k].is_known = k == from->regions.at[i].time;
		if (!take_half(to, from, i, seed, true) || !take_half(to, from, i, seed, false))
			return false;
	}
	return sonde_diff__judge(to);
}

static bool try_many(
	struct sonde_diff_selftest *out, struct sonde_diff *to, const struct sonde_diff *from)
{
	uint32_t round;
	size_t i;

	for (round = 0; round < out->rounds; round++) {
		uint32_t nr = 0;

		if (!try_once(to, from, sonde_diff__mix(0x736f6e6465, round)))
			return false;
		for (i = 0; i < to->regions.nr; i++)
			nr += sonde_diff__is_moved(&to->regions.at[i]);
		out->alarms += nr > 0;
	}
	return true;
}

int sonde_diff_selftest(struct sonde_diff_selftest *out, const struct sonde_diff_side *side,
	const struct sonde_diff_options *o, uint32_t rounds, struct sonde_err *err)
{
	const struct sonde_diff_side none = {NULL, 0};
	struct sonde_diff *from = NULL, to = {.options = *o};
	size_t i;
	int rc = sonde_diff_build(&from, side, &none, o, err);

	*out = (struct sonde_diff_selftest){.rounds = rounds};
	if (rc)
		return rc;
	to.nr_base_runs = to.nr_new_runs = from->nr_base_runs;
	for (i = 0; i < from->regions.nr; i++)
		out->regions += from->regions.at[i].base.nr_values >= LEAST_VALUES;
	if (sonde_vec_reserve(&to.regions, from->regions.nr + 1))
		to.regions.nr = from->regions.nr;
	if (!to.regions.at || !try_many(out, &to, from))
		rc = sonde_err_nomem(err);
	sonde_vec_release(&to.regions);
	sonde_vec_release(&to.values);
	sonde_vec_release(&to.values_of_run);
	sonde_diff_free(from);
	return rc;
}
