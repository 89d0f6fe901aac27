/*
 * Inside the tree's room: the steps of building a tree.
 *
 *   choice.c      which metrics and sections are reported; words of the choice that name none
 *   report.c      cells → nodes and kernel tables of one scope or aggregate
 *   node_times.c  times of nodes: scopes from their visits, aggregates from scopes, and how these differ
 *   nested.c      replayed ranges inside others
 *   figure.c      figures of a region, a kernel or a whole report: cells merged
 *   entries.c     entries of regions and their distribution
 *   stall_profile.c  why warps did not go on, by region and kernel
 *   hot_lines.c   lines and instructions at which warps were found
 *   roofline.c    work per byte, work per second
 *   judge.c       limiter, bound, coverage
 *   idle.c        the longest gaps, and why there are any
 *   findings.c    what to change first (findings_int.h has a map)
 *   tree.c        the build itself, its notes, short names of kernels
 */
#ifndef SONDE_TREE_TREE_INT_H
#define SONDE_TREE_TREE_INT_H

#include "fold/rollups.h"
#include "tree/tree.h"

/* Fills t->columns, t->sections and t->headline, and plans what they need. */
int sonde_tree__choose(
	struct sonde_tree *t, const struct sonde_choice *choice, struct sonde_err *err);

/* Plans the metrics that show whether tensor cores worked, if operations are reported. False: no memory. */
bool sonde_tree__watch_tensor(struct sonde_tree *t);
bool sonde_tree__has_tensor(const struct sonde_tree *t, const struct sonde_cell *cell);
/* Operations of an SM's tensor cores in a clock, on the devices that the capture used; NaN = these differ. */
double sonde_tree__agreed_tensor_ops(const struct sonde_tree *t);

/* The scopes that a report covers. */
struct sonde_cover {
	uint32_t scope;	  /* SONDE_NONE: all scopes with this `measured` */
	uint8_t measured; /* enum sonde_measured */
	const struct sonde_nested *nested;
};

/*
 * Scratch memory for building reports. It makes the cost of a report depend on what the report holds, not on how many
 * regions, cells and scopes there are in all.
 */
struct sonde_scratch {
	uint64_t *instances;	      /* by region */
	bool *present;		      /* by region */
	uint32_t *node_of;	      /* by region: its node; only for regions that are present */
	uint32_t *order, *place_of;   /* all regions depth-first; by region, its place in `order` */
	uint32_t *list;		      /* places of the regions that are present … */
	size_t nr;		      /* … and how many; all other regions are as after `init` */
	uint32_t *cells;	      /* numbers of all cells, sorted by scope */
	uint32_t *first_of;	      /* by scope: where its cells begin; one more at the end */
	struct sonde_arena arena;
};
/* False: no memory. Release its arena in any case. */
bool sonde_scratch__init(struct sonde_scratch *x, const struct sonde_tree *t);

/*
 * Which results of replayed ranges are inside ranges of another capture (nested.c). All zero: none are, which is right
 * for a single scope.
 */
struct sonde_nested {
	bool *is_measured;    /* by region: some capture has its own results for it */
	bool *is_inner;	      /* by scope: all its results are inside another scope's */
	bool has_levels;      /* some results are inside others */
	struct sonde_map own; /* keys {scope, region}: the scope has its own results for the region */
	struct sonde_arena arena;
};
/* False: no memory; to be released in any case. */
bool sonde_nested__init(struct sonde_nested *n, const struct sonde_tree *t, uint8_t measured);
void sonde_nested__release(struct sonde_nested *n);
/* Whether `region` was measured by others but not in `scope`: then results of `scope` are not added to it. */
bool sonde_nested__covers(const struct sonde_nested *n, uint32_t region, uint32_t scope);
/* Whether a region above `place` covers the results that `scope` has there. */
bool sonde_nested__is_inside(
	const struct sonde_nested *n, const struct sonde_tree *t, uint32_t place, uint32_t scope);
/* Whether the entries of `region` that `scope` saw count. */
bool sonde_nested__counts_entries(const struct sonde_nested *n, uint32_t region, uint32_t scope);

/* Appends the report of the scopes in `cover` to t->reports. */
int sonde_tree__report(struct sonde_tree *t, struct sonde_scratch *x,
	const struct sonde_cover *cover, struct sonde_err *err);
/* Fills in how an aggregate's regions are spread over the scopes, from the scopes' own reports. False: no memory. */
bool sonde_tree__spread(
	struct sonde_tree *t, struct sonde_report *aggregate, const struct sonde_nested *nested);

/* Sets times to NaN: a capture without times does not have zero times. */
void sonde_tree__forget_times(struct sonde_report *r);
/* Where only some launches have times: sets sums that are 0 although there were launches to NaN. */
void sonde_tree__forget_zeros(struct sonde_report *r);
/* Fills in the `times` of every node: first of scopes, then of aggregates from these. False: no memory. */
bool sonde_tree__times(struct sonde_tree *t);

/* The figure of `metric`, from the accumulators of a cell that others were merged into. */
void sonde_cell__figure(const struct sonde_tree *t, const struct sonde_cell *cell, uint32_t metric,
	struct sonde_figure *out);

#endif
