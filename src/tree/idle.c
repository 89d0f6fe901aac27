#include "tree/idle.h"

#include "catalogue/advice.h"

#include <math.h>

#define LEAST_SHARE 0.1 /* of a region's time: less is nothing to begin with */
#define OFTEN	    3	/* entries: what happens again and again matters more than a start-up */

static bool covers(const struct sonde_tree *t, const struct sonde_report *r, uint32_t scope)
{
	return r->is_aggregate ? t->cells->scopes.at[scope].measured == r->measured
			       : r->scope == scope;
}

size_t sonde_report_gaps(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_gap *out[SONDE_NR_GAPS])
{
	const struct sonde_cells *c = t->cells;
	size_t i, k, nr = 0;

	for (i = 0; i < c->gaps.nr; i++) {
		if (!covers(t, r, c->gaps.at[i].scope))
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

/* Idle time by cause, without that of the regions inside. */
static double own(const struct sonde_report *r, uint32_t node, double by[SONDE_NR_IDLE_CAUSES])
{
	const struct sonde_node *n = &r->nodes.at[node];
	double sum = 0;
	uint32_t i, c;

	for (c = 0; c < SONDE_NR_IDLE_CAUSES; c++)
		by[c] = n->waits.by[c];
	for (i = node + 1; i < r->nodes.nr && r->nodes.at[i].depth > n->depth; i++)
		for (c = 0; c < SONDE_NR_IDLE_CAUSES; c++)
			if (r->nodes.at[i].parent == node && !isnan(r->nodes.at[i].waits.by[c]))
				by[c] -= r->nodes.at[i].waits.by[c];
	by[SONDE_IDLE_OTHER] = 0;
	for (c = 0; c < SONDE_NR_IDLE_CAUSES; c++) {
		by[c] = by[c] > 0 ? by[c] : 0;
		sum += by[c];
	}
	return sum;
}

/* Of regions entered at least so often. */
static struct sonde_verdict judge(const struct sonde_report *r, uint64_t least_entries)
{
	struct sonde_verdict v = {.node = SONDE_NONE};
	double by[SONDE_NR_IDLE_CAUSES];
	uint32_t i, c;

	for (i = 0; i < r->nodes.nr; i++) {
		const struct sonde_node *n = &r->nodes.at[i];
		double of = n->busy_ns + n->idle_ns, idle;

		if (n->instances < least_entries || isnan(n->idle_ns) || n->idle_ns <= v.idle_ns ||
			n->idle_ns < LEAST_SHARE * of)
			continue;
		idle = own(r, i, by);
		if (idle <= v.idle_ns || idle < LEAST_SHARE * of)
			continue;
		v = (struct sonde_verdict){.node = i, .idle_ns = idle, .of_ns = of};
		for (c = 1; c < SONDE_NR_IDLE_CAUSES; c++)
			v.cause = by[c] > by[v.cause] ? (uint8_t)c : v.cause;
		v.cause_ns = by[v.cause];
		v.advice = sonde_advice_on(SONDE_WHEN_IDLE + v.cause)->next;
	}
	return v;
}

struct sonde_verdict sonde_idle_verdict(const struct sonde_report *r)
{
	struct sonde_verdict v = judge(r, OFTEN * (r->is_aggregate ? r->nr_scopes : 1));

	return v.node == SONDE_NONE ? judge(r, 0) : v;
}

void sonde_idle_say(struct sonde_buf *line, const struct sonde_verdict *v)
{
	sonde_buf_printf(line,
		": the GPU was idle for %.3f of %.3f ms (%.0f%%), most of it (%.3f ms) "
		"%s%s. %s.",
		v->idle_ns / 1e6, v->of_ns / 1e6, 100 * v->idle_ns / v->of_ns, v->cause_ns / 1e6,
		v->cause == SONDE_IDLE_UNKNOWN ? "" : "because ", sonde_idle_cause_words(v->cause),
		v->advice);
}
