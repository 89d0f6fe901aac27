/*
 * Iterations of the step: how long it takes from the end of an entry to the end of the next one.
 *
 * The wall time of an entry does not show a data loader that runs between the entries. An iteration does: it is the
 * entry and the time before it. An entry ends when all work of it and of earlier entries has ended. So iterations add up
 * to the run even if the host launches ahead of the GPU.
 */
#include "compare/diff_int.h"

#include "tree/entries.h"

#include <math.h>

#define CLOCK_NS 1000 /* two ranges that overlap by less than this only look so: clocks tick, files round */

/* When an entry ended; 0 = not known. */
static uint64_t end_of(const struct sonde_entry *e)
{
	if (e->wall_ns != SONDE_NO_WALL)
		return e->begin_ns + e->wall_ns;
	return e->gpu_ns ? 0 : e->begin_ns + e->host_ns;
}

/* Whether all entries of a scope follow each other, as those of one thread do, and it is known when they ended. */
static bool follow_each_other(const struct sonde_entry_run *run)
{
	size_t i;

	for (i = 0; i < run->nr; i++) {
		const struct sonde_entry *e = &run->at[i];

		if (!end_of(e) || (i && e->begin_ns + CLOCK_NS < e[-1].begin_ns + e[-1].host_ns))
			return false;
	}
	return run->nr < 2 || run->at[run->nr - 1].begin_ns > run->at[0].begin_ns; /* old reports have no begins */
}

/* The end of a scope's latest entry so far, which `*end` is for the entries before number `i`, and the iteration. */
static double next_iteration(const struct sonde_entry_run *run, size_t i, uint64_t *end)
{
	uint64_t now = end_of(&run->at[i]), before = *end;

	*end = now > before ? now : before;
	return (double)(*end - before) / (run->step ? run->step : 1);
}

static bool push_scope(struct sonde_diff *d, const struct sonde_entry_run *run)
{
	uint64_t end = end_of(&run->at[0]);
	size_t i;

	for (i = 1; i < run->nr; i++)
		if (!sonde_diff__push_value(d, next_iteration(run, i, &end)))
			return false;
	return true;
}

/* Ranks enter the step together: the n-th value is the mean of all ranks' n-th iterations. `ends` has room for all ranks. */
static bool push_together(struct sonde_diff *d, const struct sonde_entry_runs *runs, uint64_t *ends)
{
	size_t i, k;

	for (i = 0; i < runs->at.nr; i++)
		ends[i] = end_of(&runs->at.at[i].at[0]);
	for (k = 1; k < runs->at.at[0].nr; k++) {
		double sum = 0;

		for (i = 0; i < runs->at.nr; i++)
			sum += next_iteration(&runs->at.at[i], k, &ends[i]);
		if (!sonde_diff__push_value(d, sum / (double)runs->at.nr))
			return false;
	}
	return true;
}

bool sonde_diff__push_iterations(struct sonde_diff *d, const struct sonde_entry_runs *runs, struct sonde_arena *arena)
{
	uint64_t *ends = sonde_arena_alloc(arena, (runs->at.nr + 1) * sizeof(*ends));
	bool is_even = true, ok = ends;
	size_t i;

	for (i = 0; i < runs->at.nr; i++) {
		is_even = is_even && runs->at.at[i].nr == runs->at.at[0].nr;
		if (!follow_each_other(&runs->at.at[i]))
			return ok;
	}
	if (is_even && runs->at.nr)
		return ok && push_together(d, runs, ends);
	for (i = 0; i < runs->at.nr && ok; i++)
		ok = push_scope(d, &runs->at.at[i]);
	return ok;
}
