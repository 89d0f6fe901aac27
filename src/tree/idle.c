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

/*
 * The entries of the step around a gap: the one in which it begins, or after which, and the next one if the gap reaches
 * it. False: the gap is inside an entry's work, before the first entry, or before other work.
 */
static bool find_around(const struct sonde_entry *around[2], const struct sonde_tree *t, const struct sonde_gap *gap)
{
	const struct sonde_findings *f = t->findings;
	const struct sonde_cells *c = t->cells;
	const struct sonde_entry *entries;
	const struct sonde_visit *v;
	uint32_t step;
	size_t i = 0;

	if (!f || f->step == SONDE_NONE)
		return false;
	step = f->report->nodes.at[f->step].region;
	if (is_inside(c, gap->region, step) || !is_inside(c, gap->before, step))
		return false;
	v = sonde_cells_visit(c, gap->scope, step);
	if (!v || !v->nr_entries)
		return false;
	entries = &c->entries.at[v->first_entry];
	sonde_bisect(i, v->nr_entries, mid, entries[mid].begin_ns < gap->begin_ns);
	if (!i)
		return false;
	around[0] = &entries[i - 1];
	around[1] = i < v->nr_entries && entries[i].begin_ns < gap->begin_ns + gap->ns ? &entries[i] : NULL;
	return true;
}

/* Where most of a gap around two entries is: at the end of the first, between them, or at the begin of the second. */
static enum sonde_cause cause_around(const struct sonde_gap *gap, const struct sonde_entry *const around[2])
{
	uint64_t end = gap->begin_ns + gap->ns, last = around[0]->begin_ns + around[0]->host_ns, next = around[1] ? around[1]->begin_ns : end;
	uint64_t tail = last > gap->begin_ns ? (last < end ? last : end) - gap->begin_ns : 0, head = end - next;
	uint64_t between = gap->ns > tail + head ? gap->ns - tail - head : 0;

	if (between >= tail && between >= head)
		return SONDE_CAUSE_BETWEEN;
	return tail >= head ? SONDE_CAUSE_TAIL : SONDE_CAUSE_HEAD;
}

const char *sonde_gap_words(const struct sonde_tree *t, const struct sonde_gap *gap)
{
	const struct sonde_entry *around[2];

	if (!sonde_idle_cause_waits(gap->cause) && find_around(around, t, gap))
		return sonde_causes[cause_around(gap, around)].why;
	return sonde_idle_cause_words(gap->cause);
}
