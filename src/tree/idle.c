#include "tree/idle.h"

#include "base/bisect.h"
#include "tree/findings.h"
#include "tree/tree_int.h"

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

bool sonde_idle_cause_waits(enum sonde_idle_cause c)
{
	return c == SONDE_IDLE_SYNC || c == SONDE_IDLE_COPY || c == SONDE_IDLE_ALLOC;
}

static bool is_inside(const struct sonde_cells *c, uint32_t region, uint32_t around)
{
	while (region != SONDE_NONE && region != around)
		region = c->regions.at[region].parent;
	return region != SONDE_NONE;
}

/* Whether the gap is between two entries of the step: outside of it, before work in it, after its first entry began. */
static bool is_between(const struct sonde_tree *t, const struct sonde_gap *gap)
{
	const struct sonde_findings *f = t->findings;
	const struct sonde_cells *c = t->cells;
	const struct sonde_visit *v;
	uint32_t step;

	if (!f || f->step == SONDE_NONE)
		return false;
	step = f->report->nodes.at[f->step].region;
	if (is_inside(c, gap->region, step) || !is_inside(c, gap->before, step))
		return false;
	v = sonde_cells_visit(c, gap->scope, step);
	return v && v->nr_entries && gap->begin_ns > c->entries.at[v->first_entry].begin_ns;
}

const char *sonde_gap_words(const struct sonde_tree *t, const struct sonde_gap *gap)
{
	if (!sonde_idle_cause_waits(gap->cause) && is_between(t, gap))
		return sonde_causes[SONDE_CAUSE_BETWEEN].why;
	return sonde_idle_cause_words(gap->cause);
}
