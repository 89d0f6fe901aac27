/*
 * Inside the aggregation room: the steps of building a tree.
 *
 *   rule.c, unit.c    how a metric rolls up, and its unit
 *   choice.c          which metrics and sections are reported
 *   kit.c             what is accumulated, with the weights each input has
 *   store.c           launches → cells of accumulators
 *   figure.c          merging cells, reading figures
 *   scratch.c         what that needs beside, made once
 *   report.c          cells → nodes and kernel tables of one scope or aggregate
 *   times.c           busy time, span and host time, where the capture has timestamps
 *   idle.c            … idle time inside entries
 *   streams.c         … what each stream did for a region
 *   inventory.c       launches → the list of a program's ranges
 *   spread.c          an aggregate's regions over its scopes
 *   tree.c            the build itself
 */
#ifndef SONDE_AGGREGATE_TREE_INT_H
#define SONDE_AGGREGATE_TREE_INT_H

#include "aggregate/store.h"

/* Fills t->columns, t->sections and t->headline, and asks the store for what they need. */
int sonde_tree__choose(
	struct sonde_tree *t, const struct sonde_choice *choice, struct sonde_err *err);

/* Has the store keep what tells whether tensor cores worked, where operations are reported. */
int sonde_tree__watch_tensor(struct sonde_tree *t, struct sonde_err *err);
bool sonde_tree__has_tensor(const struct sonde_tree *t, const struct sonde_cell *cell);

/* Which scopes a report covers. */
struct sonde_cover {
	uint32_t scope;	  /* SONDE_NONE: all with this `measured` */
	uint8_t measured; /* enum sonde_measured */
	const struct sonde_nested *nested;
};
bool sonde_cover_has(const struct sonde_launches *l, const struct sonde_cover *c, uint32_t scope);

/*
 * Scratch for building reports: a report costs what it holds, however many
 * regions, cells and scopes there are beside.
 */
struct sonde_scratch {
	uint64_t *instances;	      /* by region */
	bool *present;		      /* by region */
	uint32_t *node_of;	      /* by region, SONDE_NONE = not in this report */
	uint32_t *first_child, *next; /* by region: children in order */
	uint32_t *list;		      /* the regions present … */
	size_t nr;		      /* … so many: all others are as after `init` */
	uint32_t *cells;	      /* all cells, by scope */
	uint32_t *first_of;	      /* by scope: where its cells begin; one more at the end */
};
int sonde_scratch__init(struct sonde_scratch *x, const struct sonde_tree *t, struct sonde_err *err);
void sonde_scratch__clear(struct sonde_scratch *x);
void sonde_scratch__release(struct sonde_scratch *x);

/*
 * Which results of replayed ranges lie inside those of another capture
 * (nested.c). All zero: none do, which is right for a single scope.
 */
struct sonde_nested {
	bool *is_measured;    /* by region: some capture has results of its own */
	bool *is_inner;	      /* by scope: all its results lie inside another's */
	bool has_levels;      /* some do */
	struct sonde_map own; /* {scope, region}: has results of its own there */
	struct sonde_arena arena;
};
int sonde_nested__init(struct sonde_nested *n, const struct sonde_tree *t, uint8_t measured,
	struct sonde_err *err);
void sonde_nested__release(struct sonde_nested *n);
/* Whether `region` was measured, though not in `scope`: results there are not added to it. */
bool sonde_nested__covers(const struct sonde_nested *n, uint32_t region, uint32_t scope);
/* Whether a region above `place` covers the results of `scope` there. */
bool sonde_nested__is_inside(
	const struct sonde_nested *n, const struct sonde_tree *t, uint32_t place, uint32_t scope);
/* Whether the entries into `region` seen in `scope` count. */
bool sonde_nested__counts_entries(const struct sonde_nested *n, uint32_t region, uint32_t scope);

/* Appends the report of the scopes in `cover` to t->reports. */
int sonde_tree__report(struct sonde_tree *t, struct sonde_scratch *x,
	const struct sonde_cover *cover, struct sonde_err *err);
/* Fills in the spread over scopes of an aggregate from the scopes' own reports. */
int sonde_tree__spread(struct sonde_tree *t, struct sonde_report *aggregate,
	const struct sonde_nested *nested, struct sonde_err *err);

/* A capture without times has none, not zero. */
void sonde_tree__forget_times(struct sonde_report *r);
/* Fills in busy, span, host and CPU time of every node, scopes first, aggregates from them. */
int sonde_tree__times(struct sonde_tree *t, struct sonde_err *err);

#endif
