/*
 * The entries of a region: how long each took, and their distribution.
 *
 * An entry has a host time (how long it was open), a GPU time (the sum of its selected launches), a span (from the start
 * of the first launch to the end of the last) and a wall time (from its begin until it and all that it launched had
 * ended). Spans and wall times are of all launches, selected or not.
 * Sources without timestamps have no entries. If a region has at most SONDE_MAX_ENTRIES in a scope, all are kept and
 * every figure is exact. If it has more, every `step`-th is kept, evenly over time.
 */
#ifndef SONDE_TREE_ENTRIES_H
#define SONDE_TREE_ENTRIES_H

#include "tree/tree.h"

enum sonde_entry_time {
	SONDE_ENTRY_HOST,
	SONDE_ENTRY_GPU,
	SONDE_ENTRY_SPAN,
	SONDE_ENTRY_WALL,
};
#define SONDE_NR_ENTRY_TIMES 4

/* The entries of a region in one scope, borrowed from the tree. */
struct sonde_entry_run {
	uint32_t scope;
	const struct sonde_entry *at; /* sorted by begin */
	size_t nr;
	uint32_t step; /* every `step`-th entry is there; 1 = all */
};

struct sonde_entry_runs {
	SONDE_VEC(struct sonde_entry_run) at; /* sorted by scope */
	size_t nr_entries;		      /* entries in all runs */
	uint64_t nr_entered;		      /* entries of the program, kept or not */
	uint32_t step;			      /* the largest step of the runs; 0 = no entries */
	bool has_gpu;			      /* some entry has GPU time */
};

/* The entries of a node, of all scopes its report covers. False when memory is short. */
bool sonde_entry_runs_find(struct sonde_entry_runs *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_node *n);
void sonde_entry_runs_release(struct sonde_entry_runs *runs);

/* When the first entry of all began: machines get begins of entries relative to this. 0 = no entries. */
uint64_t sonde_entries_first_ns(const struct sonde_tree *t);
/*
 * When the first entry began or the first launch started, whichever was earlier: people get all times relative to this,
 * because time lines begin there. 0 = not known.
 */
uint64_t sonde_tree_first_ns(const struct sonde_tree *t);
uint64_t sonde_entry_ns(const struct sonde_entry *e, enum sonde_entry_time which); /* a wall time may be SONDE_NO_WALL */
double sonde_entry_wall_ms(const struct sonde_entry *e); /* NaN = not known */

struct sonde_distribution {
	size_t nr; /* number of entries in it */
	double min_ns, median_ns, p95_ns, p99_ns, max_ns, mean_ns, sd_ns; /* NaN = no entries */
};
/*
 * GPU times and spans use only entries with launches; wall times use only those that are known. Percentiles interpolate:
 * the median of two is their mean. Runs with smaller steps are thinned to the largest step, so that every entry counts
 * alike. False when memory is short.
 */
bool sonde_distribution_build(struct sonde_distribution *out, const struct sonde_entry_runs *runs,
	enum sonde_entry_time which);

/* Everything about the entries of a node. */
struct sonde_entry_summary {
	struct sonde_entry_runs runs;
	struct sonde_distribution of[SONDE_NR_ENTRY_TIMES]; /* nr 0 = no entry has this time */
};
/* False when memory is short. Release it in any case. */
bool sonde_entry_summary_build(struct sonde_entry_summary *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_node *n);
void sonde_entry_summary_release(struct sonde_entry_summary *s);
/* The time by which entries are judged: GPU time if some entry has it, else host time. */
enum sonde_entry_time sonde_entry_summary_judge(const struct sonde_entry_summary *s);

#endif
