/*
 * Judgements: what figures and times of a region mean, said once for every format.
 */
#ifndef SONDE_TREE_JUDGE_H
#define SONDE_TREE_JUDGE_H

#include "tree/tree.h"

/* The figure of a role: of its best metric that has one; NaN when none has. */
double sonde_figure_of(
	const struct sonde_tree *t, const struct sonde_figures *f, enum sonde_metric_role role);

/*
 * The limiter, which holds the work back: the part of the SMs or the level of the memory that is
 * busiest, where SM or memory throughput is at least SONDE_LOW_PCT; "latency" when both are below. "compute"
 * or "memory" where it is not known which part. No word when one of the two throughputs is unknown: nothing is guessed.
 */
#define SONDE_LOW_PCT 40.0
struct sonde_limiter {
	const char *word; /* "dram", "l2", "l1", "shared", "tensor", "fma", …, "latency"; NULL = not known */
	bool is_memory;
	double pct;	 /* how busy that is, % of its peak; of latency the busier throughput */
	uint32_t column; /* the metric that says so */
};
struct sonde_limiter sonde_limiter_find(const struct sonde_tree *t, const struct sonde_figures *f);
const char *sonde_limiter(const struct sonde_tree *t, const struct sonde_figures *f);
/* Where parts were sampled and no throughput: the SMs, and the memory beside its role, are as busy as the busiest part. */
#define SONDE_NR_SM_PARTS 5
#define SONDE_NR_MEMORY_PARTS 2
extern const enum sonde_metric_role sonde_sm_parts[SONDE_NR_SM_PARTS];
extern const enum sonde_metric_role sonde_memory_parts[SONDE_NR_MEMORY_PARTS];

/*
 * CPU or GPU: which of the two the region waited for, by what share of the host's
 * time in it the GPU was busy with it. SONDE_GPU_BOUND and more: "gpu", or
 * "copies" when most of the GPU's time is copies. SONDE_CPU_BOUND and less: "cpu", or
 * "waiting" when its threads did not run for most of the time. Else "mixed".
 * NULL without launches or without either time.
 */
#define SONDE_GPU_BOUND 0.8
#define SONDE_CPU_BOUND 0.5
const char *sonde_bound(const struct sonde_node *n);

/* The word of the last column: the limiter where counters show it, else the bound. */
const char *sonde_hint(
	const struct sonde_tree *t, const struct sonde_figures *f, const struct sonde_node *n);
/* Its head; NULL when no row can have one. */
const char *sonde_hint_head(const struct sonde_tree *t, const struct sonde_report *r);

enum sonde_report_times { SONDE_TIMES_NONE, SONDE_TIMES_HOST, SONDE_TIMES_GPU };
/* Which timestamps a report's regions have. */
enum sonde_report_times sonde_report_times(const struct sonde_report *r);

/* How much of the capture is in regions. */
struct sonde_coverage {
	bool is_ranges;
	uint64_t total, attributed, outside, not_selected;
	double total_ns, attributed_ns, outside_ns; /* NaN without times */
};
/* Launches of whose work there is no record: they are in no figure. */
uint64_t sonde_tree_unrecorded(const struct sonde_tree *t);
/* When the inputs were captured that have windows (capture.window, a budget); false when none has. */
struct sonde_windows {
	uint64_t nr;
	double captured_ns, total_ns; /* of the windows; of the inputs from their beginning to end */
	double budget_pct, cost_pct; /* of the program's time, allowed and taken: the largest of the inputs; 0 = no budget */
};
bool sonde_windows_build(struct sonde_windows *out, const struct sonde_tree *t);

/* Over the scopes of one kind; false when there is none. */
bool sonde_coverage_build(struct sonde_coverage *out, const struct sonde_tree *t, bool is_ranges);

#endif
