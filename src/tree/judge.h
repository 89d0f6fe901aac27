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
#define SONDE_NR_MEMORY_PARTS 3
extern const enum sonde_metric_role sonde_sm_parts[SONDE_NR_SM_PARTS];
extern const enum sonde_metric_role sonde_memory_parts[SONDE_NR_MEMORY_PARTS];

/*
 * The bound: one word for what a region waits for, the same in every format. The share of the host's
 * time in it in which the GPU was busy with it decides. SONDE_GPU_BOUND and more: the GPU is what is waited for, and the word
 * is the limiter of its kernels, "gpu" where that is not known, "copies" or "comm" where these are most of the GPU's time.
 * SONDE_CPU_BOUND and less: "cpu", or "waiting" when its threads did not run for most of the time. Between: the limiter, or
 * "mixed". Without times of the host it is the limiter; NULL without launches or where nothing is known.
 * The figures are the region's inclusive ones.
 */
#define SONDE_GPU_BOUND 0.8
#define SONDE_CPU_BOUND 0.5
const char *sonde_bound(const struct sonde_tree *t, const struct sonde_figures *f, const struct sonde_node *n);
/* Whether some row may have one. */
bool sonde_report_has_bounds(const struct sonde_tree *t, const struct sonde_report *r);

/* The words that bounds and limiters are made of, with their colours in charts. */
enum sonde_bound_family { SONDE_BOUND_COMPUTE, SONDE_BOUND_MEMORY, SONDE_BOUND_OTHER };
struct sonde_bound_word {
	const char *word;
	const char *colour; /* "#0072b2" */
	bool is_dark;	    /* letters on it are white */
	uint8_t family;	    /* enum sonde_bound_family */
};
#define SONDE_NR_BOUNDS 18
extern const struct sonde_bound_word sonde_bound_words[SONDE_NR_BOUNDS];
/* Its number in the list; SONDE_NR_BOUNDS for NULL. */
size_t sonde_bound_number(const char *word);

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
/* Where the regions of torch.profiler traces come from. */
struct sonde_torch_regions {
	uint64_t modules; /* calls of modules that are ranges */
	uint64_t graphed, regained; /* launches by graphs; those that are in the regions they were captured in */
};
/* False when no input has modules or graphs. */
bool sonde_torch_regions_build(struct sonde_torch_regions *out, const struct sonde_tree *t);
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
