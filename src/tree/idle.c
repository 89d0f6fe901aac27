/*
 * Where to begin with idle time. Start-up is idle and happens once, so regions that are entered again and again
 * come first, and each counts by what its usual entry has.
 */
#include "tree/idle.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/quantile.h"
#include "tree/entries.h"
#include "tree/tree_int.h"

#include "catalogue/advice.h"

#include <math.h>

#define LEAST_SHARE 0.1 /* of a region's time, and of all GPU time: a smaller share of idle time is not worth a sentence */
#define MOST_OF_IT  0.6 /* of a region's idle time in one inside it: look there */
#define OFTEN	    3	/* entries: what happens again and again matters more than a start-up */


size_t sonde_report_gaps(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_gap *out[SONDE_NR_GAPS])
{
	const struct sonde_cells *c = t->cells;
	size_t i = 0, k, nr = 0;

	if (!r->is_aggregate) {
		sonde_bisect(i, c->gaps.nr, mid, c->gaps.at[mid].scope < r->scope);
	}
	for (; i < c->gaps.nr && (r->is_aggregate || c->gaps.at[i].scope == r->scope); i++) {
		if (c->scopes.at[c->gaps.at[i].scope].measured != r->measured)
			continue;
		for (k = nr; k && out[k - 1]->ns < c->gaps.at[i].ns; k--)
			if (k < SONDE_NR_GAPS)
				out[k] = out[k - 1];
		if (k == SONDE_NR_GAPS)
			continue;
		out[k] = &c->gaps.at[i];
		nr += nr < SONDE_NR_GAPS;
	}
	return nr;
}

/* Idle time of a region, without that in which the device did other work. */
static double idle_of(const struct sonde_node *n)
{
	return n->times.idle_ns - n->times.idle_by[SONDE_IDLE_OTHER];
}

/*
 * The share of a region's idle time that there would be if all entries were as the median: of a
 * first entry that loads libraries and others that do not, little is left. 1 where nobody knows.
 */
static double usual_share(
	const struct sonde_tree *t, const struct sonde_report *r, const struct sonde_node *n)
{
	struct sonde_entry_runs runs;
	double *idle = NULL, sum = 0, share = 1;
	size_t i, k, nr = 0;

	if (!sonde_entry_runs_find(&runs, t, r, n))
		return 1;
	idle = sonde_malloc((runs.nr_entries + 1) * sizeof(*idle));
	for (i = 0; idle && i < runs.at.nr; i++)
		for (k = 0; k < runs.at.at[i].nr; k++, nr++) {
			const struct sonde_entry *e = &runs.at.at[i].at[k];

			idle[nr] = e->span_ns > e->gpu_ns ? (double)(e->span_ns - e->gpu_ns) : 0;
			sum += idle[nr];
		}
	if (nr >= OFTEN && sum > 0)
		share = fmin(1, sonde_median(idle, nr) * (double)nr / sum);
	sonde_free(idle);
	sonde_entry_runs_release(&runs);
	return share;
}

/* The region with most usual idle time among those entered at least so often. */
static uint32_t idlest(
	const struct sonde_tree *t, const struct sonde_report *r, uint64_t least_entries)
{
	double most = r->time_ns > 0 ? LEAST_SHARE * r->time_ns : 0;
	uint32_t i, best = SONDE_NONE;

	for (i = 0; i < r->nodes.nr; i++) {
		const struct sonde_node *n = &r->nodes.at[i];
		double idle = idle_of(n);

		if (n->instances < least_entries || !(idle > most) ||
			idle < LEAST_SHARE * (n->times.busy_ns + n->times.idle_ns))
			continue;
		idle *= usual_share(t, r, n);
		if (idle <= most)
			continue;
		most = idle;
		best = i;
	}
	return best;
}

static bool repeats(const struct sonde_report *r, uint64_t least_entries)
{
	size_t i;

	for (i = 0; i < r->nodes.nr; i++)
		if (r->nodes.at[i].instances >= least_entries)
			return true;
	return false;
}

/* Down to where it is: as long as one region inside has most of it. */
static uint32_t descend(const struct sonde_report *r, uint32_t node)
{
	uint32_t i, from = node;

	for (i = from + 1; i < r->nodes.nr && r->nodes.at[i].depth > r->nodes.at[from].depth; i++)
		if (r->nodes.at[i].parent == node &&
			idle_of(&r->nodes.at[i]) >= MOST_OF_IT * idle_of(&r->nodes.at[node]))
			node = i;
	return node;
}

struct sonde_idle_finding sonde_idle_judge(const struct sonde_tree *t, const struct sonde_report *r)
{
	uint64_t often = OFTEN * (r->is_aggregate ? r->nr_scopes : 1);
	struct sonde_idle_finding v = {.node = idlest(t, r, repeats(r, often) ? often : 0)};
	const struct sonde_node *n;
	uint32_t c;

	if (v.node == SONDE_NONE)
		return v;
	v.node = descend(r, v.node);
	n = &r->nodes.at[v.node];
	v.idle_ns = idle_of(n);
	v.of_ns = n->times.busy_ns + n->times.idle_ns;
	for (c = 1; c < SONDE_NR_IDLE_CAUSES; c++)
		if (c != SONDE_IDLE_OTHER && n->times.idle_by[c] > n->times.idle_by[v.cause])
			v.cause = (uint8_t)c;
	v.cause_ns = n->times.idle_by[v.cause];
	v.advice = sonde_advice_on(v.cause == SONDE_IDLE_UNKNOWN && sonde_tree__is_own(t)
					   ? SONDE_WHEN_IDLE_UNTOLD
					   : SONDE_WHEN_IDLE + v.cause)
			   ->next;
	return v;
}

void sonde_idle_say(struct sonde_buf *line, const struct sonde_idle_finding *v)
{
	sonde_buf_printf(line,
		": the GPU was idle for %.3f of %.3f ms (%.0f%%), most of it (%.3f ms) "
		"%s%s. %s.",
		v->idle_ns / 1e6, v->of_ns / 1e6, 100 * v->idle_ns / v->of_ns, v->cause_ns / 1e6,
		v->cause == SONDE_IDLE_UNKNOWN ? "" : "because ", sonde_idle_cause_words(v->cause),
		v->advice);
}
