/*
 * Judgements: what figures and times of a region mean, said once for every format.
 */
#ifndef SONDE_TREE_JUDGE_H
#define SONDE_TREE_JUDGE_H

#include "tree/tree.h"

/* The figure of a role, from its best metric that has one; NaN = none has. */
double sonde_figure_of(
	const struct sonde_tree *t, const struct sonde_figures *f, enum sonde_metric_role role);

/*
 * The limiter is what holds the work back. If SM or memory throughput is at least SONDE_LOW_PCT, the limiter is the
 * busiest part of the SMs or level of the memory; "compute" or "memory" if it is not known which. If both are below, it
 * is "latency". If one of the two throughputs is unknown, there is no word: nothing is guessed.
 */
#define SONDE_LOW_PCT 40.0
struct sonde_limiter {
	const char *word; /* "dram", "l2", "l1", "shared", "tensor", "fma", …, "latency"; NULL = not known */
	bool is_memory;
	double pct;	 /* how busy the limiter is, % of its peak; "latency": the busier of the two throughputs */
	uint32_t column; /* column of the metric that shows it */
	bool lacks_caches; /* of the memory only DRAM was counted: a cache may be busier than the part that is named */
};
struct sonde_limiter sonde_limiter_find(const struct sonde_tree *t, const struct sonde_figures *f);
const char *sonde_limiter(const struct sonde_tree *t, const struct sonde_figures *f);
/*
 * The parts that replace a throughput that was not captured: the SMs are as busy as their busiest part; the memory too,
 * with SONDE_ROLE_MEMORY as one more part.
 */
#define SONDE_NR_SM_PARTS 5
#define SONDE_NR_MEMORY_PARTS 3
extern const enum sonde_metric_role sonde_sm_parts[SONDE_NR_SM_PARTS];
extern const enum sonde_metric_role sonde_memory_parts[SONDE_NR_MEMORY_PARTS];

/*
 * The bound: one word for what a region waits for, the same in every format. It follows from the share of the host's
 * time in the region in which the GPU was busy with it:
 *
 *   - at least SONDE_GPU_BOUND: the region waits for the GPU. The word is "copies" or "comm" if these are most of the
 *     GPU's time, else the limiter of its kernels, "gpu" if that is not known.
 *   - at most SONDE_CPU_BOUND: "cpu", or "waiting" if its threads did not run for most of the time.
 *   - between: the same as for the GPU, but "mixed" if the limiter is not known.
 *
 * Without times of the host it is the limiter. NULL: there are no launches, or nothing is known. `f` has the region's
 * inclusive figures.
 */
#define SONDE_GPU_BOUND 0.8
#define SONDE_CPU_BOUND 0.5
const char *sonde_bound(const struct sonde_tree *t, const struct sonde_figures *f, const struct sonde_node *n);
/* Whether some row of the report may have a bound. */
bool sonde_report_has_bounds(const struct sonde_tree *t, const struct sonde_report *r);

/* The words for bounds and limiters, with their colours in charts. */
enum sonde_bound_family { SONDE_BOUND_COMPUTE, SONDE_BOUND_MEMORY, SONDE_BOUND_OTHER };
struct sonde_bound_word {
	const char *word;
	const char *colour; /* "#0072b2" */
	bool is_dark;	    /* text on this colour is white */
	uint8_t family;	    /* enum sonde_bound_family */
};
#define SONDE_NR_BOUNDS 18
extern const struct sonde_bound_word sonde_bound_words[SONDE_NR_BOUNDS];
/* The position of a word in the list; SONDE_NR_BOUNDS for NULL. */
size_t sonde_bound_number(const char *word);

enum sonde_report_times { SONDE_TIMES_NONE, SONDE_TIMES_HOST, SONDE_TIMES_GPU };
/* Which timestamps the regions of a report have. */
enum sonde_report_times sonde_report_times(const struct sonde_report *r);

/* How much of the captured work is in regions. */
struct sonde_coverage {
	bool is_ranges;
	uint64_t total, attributed, outside, not_selected;
	double total_ns, attributed_ns, outside_ns; /* NaN without times */
};
/* Number of launches whose work has no record: no figure counts them. */
uint64_t sonde_tree_unrecorded(const struct sonde_tree *t);
/* How many regions of PyTorch programs come from modules, and how many launches from graphs. */
struct sonde_torch_regions {
	uint64_t modules; /* calls of modules that became ranges */
	uint64_t graphed, regained; /* launches by graphs; those of them that are in the regions in which they were captured */
};
/* False when no input has modules or graphs. */
bool sonde_torch_regions_build(struct sonde_torch_regions *out, const struct sonde_tree *t);
/* How much was captured, of inputs with windows (capture.window, a budget). */
struct sonde_windows {
	uint64_t nr;
	double captured_ns, total_ns; /* time in windows; time of these inputs from beginning to end */
	double budget_pct, cost_pct; /* cost allowed and taken, % of the program's time: the largest of the inputs; 0 = no budget */
};
bool sonde_windows_build(struct sonde_windows *out, const struct sonde_tree *t);

/* Sums over the scopes with replayed ranges, or over the others. False when there is no such scope. */
bool sonde_coverage_build(struct sonde_coverage *out, const struct sonde_tree *t, bool is_ranges);

#endif
