/*
 * Private to comparisons. Their steps, in order:
 *
 *   report_in.c      report.json → tree, where a side is a finished report
 *   comparable.c     may the sides be compared; their clocks, ranks and notes
 *   match.c          which reports and regions belong together
 *   walls.c          the wall time that each entry adds to its run
 *   run_values.c     times of every region in every run
 *   stats.c          statistics, which know no regions
 *   sides.c          … of two sides
 *   verdict.c        … of every region
 *   metric_changes.c what the hardware did
 *   cause.c          why a region changed
 *   twins.c          regions under another name, moved, split or merged
 *   diff_gate.c      limits, and how the gate ends
 *   sentences.c      all this for people
 *   selftest.c       a side against itself
 */
#ifndef SONDE_COMPARE_DIFF_INT_H
#define SONDE_COMPARE_DIFF_INT_H

#include "base/number.h"
#include "compare/diff.h"
#include "compare/stats.h"

/* Which node of each run is a region; SONDE_NONE where it is not. Runs of the base come first. */
struct sonde_diff__match {
	const struct sonde_tree *const *trees;
	const struct sonde_report **aggregates; /* by run */
	const struct sonde_report **reports;	/* scope × run: what is compared; NULL = none */
	struct sonde_str *scopes;		/* their names; p NULL = the aggregate */
	size_t nr_base, nr_runs, nr_scopes;
	uint32_t *nodes;    /* region × run */
	uint32_t *scope_of; /* by region */
	double **walls;	    /* by run: the wall time that each entry of its cells adds to it; NaN = not known */
	struct sonde_arena arena; /* of all of it */
};

static inline const struct sonde_report *sonde_diff__report(
	const struct sonde_diff__match *m, size_t region, size_t run)
{
	return m->reports[m->scope_of[region] * m->nr_runs + run];
}

static inline const struct sonde_node *sonde_diff__node(
	const struct sonde_diff__match *m, size_t region, size_t run)
{
	uint32_t n = m->nodes[region * m->nr_runs + run];

	return n == SONDE_NONE ? NULL : &sonde_diff__report(m, region, run)->nodes.at[n];
}

/* The same number for all siblings; roots of one scope are siblings. */
static inline uint32_t sonde_diff__siblings(const struct sonde_diff_region *r)
{
	return r->parent == SONDE_NONE ? SONDE_NONE - 1 - r->scope_nr : r->parent;
}

/* Which reports are compared (match.c). */
int sonde_diff__take_reports(
	struct sonde_diff *d, struct sonde_diff__match *m, struct sonde_err *err);

/* Where nothing else is said, false is: no memory. */
/* Fills in regions and `m->nodes`, depth-first (match.c). */
bool sonde_diff__match(struct sonde_diff *d, struct sonde_diff__match *m);

/* By entry: the wall time it adds to its run; NaN = not known. NULL when memory is short (walls.c). */
double *sonde_diff__walls(const struct sonde_cells *c, struct sonde_arena *arena);
/* Entry times and sums of every region (run_values.c). */
int sonde_diff__sample(
	struct sonde_diff *d, const struct sonde_diff__match *m, struct sonde_err *err);
/* The next of the comparison's values. */
bool sonde_diff__push_value(struct sonde_diff *d, double ns);
/* Metrics of every region (metric_changes.c). */
bool sonde_diff__measure(struct sonde_diff *d, const struct sonde_diff__match *m);
/* Ratio, interval, p, q and verdict of every region (verdict.c). */
bool sonde_diff__judge(struct sonde_diff *d);
/* Limits of regions, and how the gate ends (diff_gate.c). */
void sonde_diff__gate(struct sonde_diff *d, const struct sonde_diff__match *m);
/* Kernels and causes, then other names (cause.c). */
bool sonde_diff__explain(struct sonde_diff *d, const struct sonde_diff__match *m);
/* Other names and places of regions, given a hash of each one's kernels, 0 = none (twins.c). */
bool sonde_diff__pair(struct sonde_diff *d, const uint64_t *kernels);
/* Regions split or merged, given what each launches per entry as a sum of hashes (twins.c). */
bool sonde_diff__find_parts(struct sonde_diff *d, const uint64_t *loads);

/* A hash of two hashes. */
static inline uint64_t sonde_diff__mix(uint64_t a, uint64_t b)
{
	uint64_t both[2] = {a, b};

	return sonde_hash(both, sizeof(both));
}

static inline bool sonde_diff__is_lone(const struct sonde_diff_region *r)
{
	return r->verdict == SONDE_VERDICT_ADDED || r->verdict == SONDE_VERDICT_REMOVED;
}
static inline bool sonde_diff__is_moved(const struct sonde_diff_region *r)
{
	return r->verdict >= SONDE_VERDICT_SLOWER && r->verdict <= SONDE_VERDICT_LIKELY_FASTER;
}
/* GPU time, where another time is the headline: "GPU time second". */
static inline bool sonde_diff__is_gpu_moved(const struct sonde_diff_region *r)
{
	const struct sonde_diff_time *t = &r->times[SONDE_ENTRY_GPU];

	return r->time == SONDE_ENTRY_WALL && t->is_known && t->verdict >= SONDE_VERDICT_SLOWER &&
	       t->verdict <= SONDE_VERDICT_LIKELY_FASTER;
}
/* The change that kernels can explain: that of GPU time per entry. */
static inline double sonde_diff__gpu_delta(const struct sonde_diff_region *r)
{
	const struct sonde_diff_time *t = &r->times[SONDE_ENTRY_GPU];

	return r->base.is_there && r->new_half.is_there && t->is_known ? t->new_ns - t->base_ns : sonde_diff_region_delta(r);
}
/* One run a side: nothing shows how far runs differ. */
static inline bool sonde_diff__is_single(const struct sonde_diff_region *r)
{
	return r->base.nr_runs < 2 && r->new_half.nr_runs < 2;
}
/* Reasons and warnings (comparable.c). */
bool sonde_diff__check_sides(struct sonde_diff *d, const struct sonde_diff__match *m);
void sonde_diff__say(struct sonde_diff *d); /* sentences.c */
/* Notes of the runs, and which ranks some of them lack (comparable.c). */
bool sonde_diff__take_notes(struct sonde_diff *d, const struct sonde_diff__match *m);

#endif
