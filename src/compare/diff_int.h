/*
 * Private to comparisons. The steps of a comparison, in order:
 *
 *   report_in.c      report.json → tree, if a side is a finished report
 *   comparable.c     whether the sides may be compared; their clocks, ranks and notes
 *   match.c          which reports and regions belong together
 *   walls.c          the wall time that each entry adds to its run
 *   run_values.c     times of every region in every run
 *   step.c           the step, and regions too small to decide
 *   iterations.c     from one entry of the step to the next
 *   stats.c          statistics, which know no regions
 *   sides.c          statistics of two sides
 *   verdict.c        verdicts of every region
 *   metric_changes.c what the hardware did
 *   cause.c          why a region changed
 *   twins.c          regions under another name, moved, split or merged
 *   diff_gate.c      limits, and the result of the gate
 *   undecided.c      why nothing was decided, in words
 *   sentences.c      all of this in words
 *   selftest.c       a side compared with itself
 */
#ifndef SONDE_COMPARE_DIFF_INT_H
#define SONDE_COMPARE_DIFF_INT_H

#include "base/number.h"
#include "compare/diff.h"
#include "compare/stats.h"

/* The node of each region in each run; SONDE_NONE if the run does not have it. Runs of the base come first. */
struct sonde_diff__match {
	const struct sonde_tree *const *trees;
	const struct sonde_report **aggregates; /* by run */
	const struct sonde_report **reports;	/* scope × run: the reports that are compared; NULL = none */
	struct sonde_str *scopes;		/* names of the scopes; p NULL = the aggregate */
	size_t nr_base, nr_runs, nr_scopes;
	uint32_t *nodes;    /* region × run: node numbers */
	uint32_t *scope_of; /* by region: its scope */
	double **walls;	    /* by run: for each entry of its cells, the wall time that the entry adds to the run; NaN = not known */
	struct sonde_arena arena; /* memory of all of this */
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

/* Gives all siblings the same number; the roots of one scope are siblings. */
static inline uint32_t sonde_diff__siblings(const struct sonde_diff_region *r)
{
	return r->parent == SONDE_NONE ? SONDE_NONE - 1 - r->scope_nr : r->parent;
}

/* Chooses the reports that are compared (match.c). */
int sonde_diff__take_reports(
	struct sonde_diff *d, struct sonde_diff__match *m, struct sonde_err *err);

/* Functions below that return bool return false when memory is short, if nothing else is said. */
/* Fills in regions and `m->nodes`, depth-first (match.c). */
bool sonde_diff__match(struct sonde_diff *d, struct sonde_diff__match *m);

/* For each entry, the wall time that it adds to its run; NaN = not known. NULL when memory is short (walls.c). */
double *sonde_diff__walls(const struct sonde_cells *c, struct sonde_arena *arena);
/* Fills in the entry times and sums of every region (run_values.c). */
int sonde_diff__sample(
	struct sonde_diff *d, struct sonde_diff__match *m, struct sonde_err *err);
/* Finds the step of each scope, and the regions that never decide (step.c). */
void sonde_diff__find_steps(struct sonde_diff *d);
/* Fills in the iterations of the steps (run_values.c). */
bool sonde_diff__sample_iterations(struct sonde_diff *d, struct sonde_diff__match *m);
/* Appends the iterations of one run; none if its entries overlap, or it is not known when they ended (iterations.c). */
bool sonde_diff__push_iterations(struct sonde_diff *d, const struct sonde_entry_runs *runs, struct sonde_arena *arena);
/* Appends to the comparison's values. */
bool sonde_diff__push_value(struct sonde_diff *d, double ns);
/* Compares the metrics of every region (metric_changes.c). */
bool sonde_diff__measure(struct sonde_diff *d, const struct sonde_diff__match *m);
/* Fills in ratio, interval, p, q and verdict of every region (verdict.c). */
bool sonde_diff__judge(struct sonde_diff *d);
/* Fills in the limits of regions and the result of the gate (diff_gate.c). */
void sonde_diff__gate(struct sonde_diff *d, const struct sonde_diff__match *m);
/* Finds kernels and causes, then related regions (cause.c). */
bool sonde_diff__explain(struct sonde_diff *d, const struct sonde_diff__match *m);
/* Finds regions under other names and at other places. `kernels`: by region, a hash of its kernels, 0 = none (twins.c). */
bool sonde_diff__pair(struct sonde_diff *d, const uint64_t *kernels);
/* Finds regions that were split or merged. `loads`: by region, what it launches per entry as a sum of hashes (twins.c). */
bool sonde_diff__find_parts(struct sonde_diff *d, const uint64_t *loads);

/* A hash of two hashes. */
static inline uint64_t sonde_diff__mix(uint64_t a, uint64_t b)
{
	uint64_t both[2] = {a, b};

	return sonde_hash(both, sizeof(both));
}

static inline bool sonde_diff__is_on_both(const struct sonde_diff_region *r)
{
	return r->base.is_there && r->new_half.is_there;
}
static inline bool sonde_diff__is_lone(const struct sonde_diff_region *r)
{
	return r->verdict == SONDE_VERDICT_ADDED || r->verdict == SONDE_VERDICT_REMOVED;
}
static inline bool sonde_diff__is_verdict_moved(uint8_t verdict)
{
	return verdict >= SONDE_VERDICT_SLOWER && verdict <= SONDE_VERDICT_LIKELY_FASTER;
}
static inline bool sonde_diff__is_moved(const struct sonde_diff_region *r)
{
	return sonde_diff__is_verdict_moved(r->verdict);
}
/* The time between two entries of the step, as the medians have it. */
static inline double sonde_diff__between(const struct sonde_diff_region *r, bool is_new)
{
	const struct sonde_diff_time *t = &r->times[SONDE_DIFF_ITERATION];
	double between = is_new ? t->new_ns - r->new_half.median_ns : t->base_ns - r->base.median_ns;

	return between > 0 ? between : 0;
}
/* Whether GPU time changed while another time is the headline. */
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
/* There is one run per side, so nothing shows how much runs differ. */
static inline bool sonde_diff__is_single(const struct sonde_diff_region *r)
{
	return r->base.nr_runs < 2 && r->new_half.nr_runs < 2;
}
/* Finds out whether the sides can be compared: fills in reasons and warnings (comparable.c). */
bool sonde_diff__check_sides(struct sonde_diff *d, const struct sonde_diff__match *m);
void sonde_diff__write_sentences(struct sonde_diff *d); /* sentences.c */
/* Appends why a region is undecided, and what would decide it: ": about 8 entries per side would decide it; there are 3 and 4". */
void sonde_diff__put_open(struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r);
/* Appends " (95 %: -1.0 to +3.2 %)"; nothing if the interval is not worth it. */
void sonde_diff__put_interval(struct sonde_buf *b, const struct sonde_diff_region *r);
/* Adds the notes of the runs, and which ranks some of them lack (comparable.c). */
bool sonde_diff__take_notes(struct sonde_diff *d, const struct sonde_diff__match *m);

#endif
