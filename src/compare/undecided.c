/* Says in words why a region is undecided, and why a gate is. */
#include "compare/diff_int.h"

#include <math.h>

/* In how many regions this time was tested. */
static size_t count_tests(const struct sonde_diff *d, unsigned time)
{
	size_t i, nr = 0;

	for (i = 0; i < d->regions.nr; i++)
		nr += !isnan(d->regions.at[i].times[time].p);
	return nr;
}

/* Appends why a region is undecided whose interval leaves out 0; nothing if the interval has 0 in it, or is not known. */
static bool put_doubt(struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	size_t nr = count_tests(d, r->time);

	if (!(r->low > 1) && !(r->low > 0 && r->high < 1))
		return false;
	if (fabs(r->ratio - 1) < d->options.min_effect)
		sonde_buf_printf(b, ": that may be less than %g %%, which does not count", 100 * d->options.min_effect);
	else if (nr > 1)
		sonde_buf_printf(b, ": with %zu regions compared, this could be chance (q = %.2g)", nr, r->q);
	else
		sonde_buf_printf(b, ": this could be chance (q = %.2g)", r->q);
	return true;
}

void sonde_diff__put_open(struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	bool is_open = !(r->low > 0);

	sonde_buf_puts(b, put_doubt(b, d, r) && r->needed < 1e9 ? "; " : r->needed < 1e9 ? ": " : "");
	if (!(r->needed < 1e9))
		return;
	sonde_buf_puts(b, is_open ? "at least " : r->needed > 1000 ? "" : "about ");
	sonde_diff_needed_put(b, r);
	sonde_buf_printf(b, " per side %s; there are %u and %u", is_open ? "are needed" : "would decide it",
		r->needs_runs ? r->base.nr_runs : r->base.nr_values, r->needs_runs ? r->new_half.nr_runs : r->new_half.nr_values);
}

void sonde_diff__put_interval(struct sonde_buf *b, const struct sonde_diff_region *r)
{
	if (sonde_diff_interval_matters(r))
		sonde_buf_printf(b, " (95 %%: %+.1f to %+.1f %%)", 100 * (r->low - 1), 100 * (r->high - 1));
}

/* --- the gate --------------------------------------------------------------------------------- */

/* Appends "step", or "the GPU time of step" if the limit is about another time than the verdict. */
static void put_gated(struct sonde_buf *b, const struct sonde_diff_region *r)
{
	static const char *const of[] = {[SONDE_ENTRY_WALL] = "the wall time of ", [SONDE_ENTRY_GPU] = "the GPU time of ",
		[SONDE_ENTRY_HOST] = "the host time of ", [SONDE_DIFF_ITERATION] = "an iteration of "};

	sonde_buf_puts(b, r->limit_time == r->time ? "" : of[r->limit_time]);
	sonde_region_say(b, r->id, r->kind);
}

static void put_undecided(struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	size_t before;

	sonde_buf_puts(b, " is undecided");
	if (!isnan(r->ratio))
		sonde_buf_printf(b, ", %+.1f %%", 100 * (r->ratio - 1));
	sonde_diff__put_interval(b, r);
	before = b->n;
	sonde_diff__put_open(b, d, r);
	if (b->n == before)
		sonde_buf_puts(b, ": its entries are too few or too noisy");
}

void sonde_diff_gate_reason_put(struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const struct sonde_diff_time *t = &r->times[r->limit_time];
	const struct sonde_diff_region timed = sonde_diff_timed(r, r->limit_time);
	bool is_slower = t->verdict == SONDE_VERDICT_SLOWER || t->verdict == SONDE_VERDICT_LIKELY_SLOWER;

	put_gated(b, r);
	if (is_slower && t->ratio - 1 > r->limit)
		sonde_buf_printf(b, " is %s%.1f %% %s; the limit is %g %%", t->verdict == SONDE_VERDICT_SLOWER ? "" : "likely ",
			100 * (t->ratio - 1), r->limit_time == SONDE_DIFF_ITERATION ? "longer" : "slower", 100 * r->limit);
	else if (r->verdict == SONDE_VERDICT_REMOVED)
		sonde_buf_puts(b, " is gone: only the base has it");
	else if (!t->is_known)
		sonde_buf_puts(b, " was not measured on both sides");
	else if (t->verdict == SONDE_VERDICT_INSUFFICIENT)
		put_undecided(b, d, &timed);
	else
		sonde_buf_puts(b, " works on the GPU on one side only, so only host times could be compared");
}
