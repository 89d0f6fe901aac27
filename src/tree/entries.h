/*
 * The entries of a region: how long each took, and their distribution.
 *
 * An entry has a time on the host (how long it was open), a GPU time (the sum of its
 * launches), a span (first start to last end) and a wall time (from its begin until it and all
 * that it launched had ended). Sources without timestamps have none. Up to SONDE_MAX_ENTRIES of a region in one scope all are kept and every
 * figure is exact; of more, every so many-th, evenly over time: `step` says so.
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

/* One scope's entries of a region, borrowed from the tree. */
struct sonde_entry_run {
	uint32_t scope;
	const struct sonde_entry *at; /* by begin */
	size_t nr;
	uint32_t step; /* every so many-th; 1 = all */
};

struct sonde_entry_runs {
	SONDE_VEC(struct sonde_entry_run) at; /* by scope */
	size_t nr_entries;		      /* of all runs */
	uint64_t nr_entered;		      /* kept or not */
	uint32_t step;			      /* the largest of theirs; 0 without entries */
	bool has_gpu;			      /* one of them has GPU time */
};

/* The entries of a node, of all scopes its report covers. False when memory is short. */
bool sonde_entry_runs_find(struct sonde_entry_runs *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_node *n);
void sonde_entry_runs_release(struct sonde_entry_runs *runs);

/* When the first range of all was entered; begins of entries are counted from there. 0 without entries. */
uint64_t sonde_entries_first_ns(const struct sonde_tree *t);
uint64_t sonde_entry_ns(const struct sonde_entry *e, enum sonde_entry_time which); /* or SONDE_NO_WALL */
double sonde_entry_wall_ms(const struct sonde_entry *e); /* NaN = not known */

struct sonde_distribution {
	size_t nr; /* entries it is made of */
	double min_ns, median_ns, p95_ns, p99_ns, max_ns, mean_ns, sd_ns; /* NaN without any */
};
/*
 * GPU times and spans are those of entries with launches, wall times those that are known. Percentiles interpolate: the median of two is
 * their mean. Runs of a smaller step are thinned to the largest, so that every entry counts alike. False when
 * memory is short.
 */
bool sonde_distribution_build(struct sonde_distribution *out, const struct sonde_entry_runs *runs,
	enum sonde_entry_time which);

/* Everything about the entries of a node. */
struct sonde_entry_summary {
	struct sonde_entry_runs runs;
	struct sonde_distribution of[SONDE_NR_ENTRY_TIMES]; /* nr 0 = no entry has such a time */
};
/* False when memory is short. Release it in any case. */
bool sonde_entry_summary_build(struct sonde_entry_summary *out, const struct sonde_tree *t,
	const struct sonde_report *r, const struct sonde_node *n);
void sonde_entry_summary_release(struct sonde_entry_summary *s);
/* The time by which entries are judged: GPU time where there is any, host time otherwise. */
enum sonde_entry_time sonde_entry_summary_judge(const struct sonde_entry_summary *s);

#endif
