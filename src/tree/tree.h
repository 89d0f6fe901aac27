/*
 * The region tree: everything known about a run, arranged by NVTX region.
 *
 * A tree holds several reports: first one per scope (process and device), then the aggregate over all scopes. If the
 * inputs were measured in several ways, there is an aggregate for each way. A report is a list of nodes, depth-first,
 * with children in order of first entry. A tree is built once from cells and is read-only afterwards. A node is valid
 * exactly as long as its tree, and the tree borrows from the cells.
 *
 * Numbers are made on request: `sonde_tree_values` fills a `struct sonde_figures` with one figure per reported metric,
 * for a node (inclusive or exclusive), one of its kernels, the totals, or what is outside all regions. Each figure says
 * how it was made (method, quality).
 */
#ifndef SONDE_TREE_TREE_H
#define SONDE_TREE_TREE_H

#include "fold/cells.h"
#include "catalogue/metrics.h"
#include "fold/choice.h"
#include "fold/timeline.h"
#include "ranks/ranks.h"

#define SONDE_MAX_METHODS 24

/* A reported metric. */
struct sonde_column {
	uint32_t metric;  /* number of the metric; SONDE_NONE = it was only sampled */
	uint32_t sampled; /* number of the sampled metric; SONDE_NONE = it was not sampled */
	struct sonde_str name;
	const char *unit; /* "ns", "byte", "%", "" */
	/*
	 * How figures are made: [0] as the rule says; [1] when the right weight is missing; then as for other inputs,
	 * which captured other weights. NULL after the last.
	 */
	const char *methods[SONDE_MAX_METHODS + 1];
	uint8_t quality;	/* enum sonde_quality of methods[0] */
	uint8_t sampled_method; /* index of the method of sampled figures */
	bool is_default;	/* belongs to the default choice, whatever was chosen */
	bool is_text;		/* its values are words (figures[i].text) */
	bool is_chart; /* data for ncu's charts that nobody asked for: as a single figure it means nothing */
};

/* One figure of one metric. */
struct sonde_figure {
	double v;	       /* NaN = missing: print null, never 0 */
	double low, high;      /* bounds, smallest and largest value, or 95 % interval; NaN = none */
	double error;	       /* ± of that interval, of a sampled figure; else NaN */
	struct sonde_str text; /* p NULL unless the column is text */
	uint8_t quality;       /* enum sonde_quality */
	uint8_t method;	       /* index into the column's methods */
};

struct sonde_figures {
	struct sonde_figure *at; /* one per column */
	size_t nr;
	bool has_tensor;	    /* tensor cores worked; known only if operations are counted */
	struct sonde_cell *scratch; /* private */
};

/* One row of a region's kernel table. */
struct sonde_kernel {
	uint32_t name; /* string number */
	uint64_t calls;
	double time_ns;		       /* NaN when the capture has no times */
	uint32_t first_cell, nr_cells; /* private */
};

struct sonde_node {
	uint32_t region; /* number in the cells */
	uint32_t parent; /* number of the parent node in the same report; SONDE_NONE = a root */
	uint32_t depth;
	uint64_t instances;
	uint64_t launches, own_launches;   /* inclusive, exclusive */
	double time_ns, own_time_ns;	   /* NaN when the capture has no times */
	uint32_t first_kernel, nr_kernels; /* slice of the report's kernels, sorted by time, then name */
	/* In an aggregate, over the scopes that have the region: time in ns, and max ÷ mean. */
	uint32_t nr_scopes;
	double scope_min_ns, scope_median_ns, scope_max_ns, imbalance;
	struct sonde_times times; /* cpu_ns is not known if is_open */
	uint64_t nr_queued; /* number of launches that times.queue_ns adds up */
	/*
	 * Number of streams that had a launch of the region. They are a slice of the report's streams, busiest first. An
	 * aggregate of several scopes has only the number.
	 */
	uint64_t streams;
	uint32_t first_stream;
	/* Copies among the launches, if the capture tells them apart. */
	uint64_t copies;
	uint64_t adopted; /* launches by threads without ranges, counted in the ranges of the only other thread */
	double copy_ns, copy_bytes;
	bool is_open; /* an entry was never closed: host_ns is a lower bound */
	double comm_wait_ns; /* the part of its communication that waited for the last rank; NaN = not known */
	uint32_t first_cell, nr_cells, own_first_cell, own_nr_cells; /* private */
};

struct sonde_report {
	struct sonde_str name; /* "process:4519/device:0", "aggregate", "aggregate/ranges" … */
	bool is_aggregate;
	uint8_t measured;   /* enum sonde_measured */
	bool is_shared;	    /* private: the aggregate of a single scope, which shares the scope's lists */
	bool has_ranks;	    /* an aggregate over ranks of one job, which can be compared */
	bool is_ranges;	    /* figures belong to replayed ranges and are not sums over kernels */
	uint32_t scope;	    /* scope number; SONDE_NONE = an aggregate */
	uint32_t nr_scopes; /* number of scopes it covers */
	uint64_t launches;  /* selected launches inside regions, each counted once */
	double time_ns;
	uint64_t outside_launches; /* selected launches outside all regions */
	double outside_time_ns;
	uint64_t all_launches; /* all launches of the capture, before selection */
	double all_time_ns;
	SONDE_VEC(struct sonde_node) nodes;
	SONDE_VEC(struct sonde_kernel) kernels;
	SONDE_VEC(struct sonde_stream_work) streams;
	uint32_t outside_first_kernel, nr_outside_kernels;
	uint32_t flat_first_kernel, nr_flat_kernels; /* all kernels, in regions or not; each launch counts once */
	SONDE_VEC(uint32_t) cells; /* private: cell numbers, sliced by nodes and kernels */
	/* Private: inclusive figures, node × column, of a report that was read back from a file; else empty. */
	SONDE_VEC(struct sonde_figure) given;
	uint32_t total_first_cell, total_nr_cells, outside_first_cell,
		outside_nr_cells, flat_first_cell; /* private */
};

struct sonde_chosen_section {
	struct sonde_str id, name;
	SONDE_VEC(uint32_t) columns; /* column numbers, in the section's order */
};

struct sonde_tree {
	const struct sonde_cells *cells;
	SONDE_VEC(struct sonde_column) columns; /* sorted by name */
	uint32_t headline[8];			/* columns for narrow tables, `nr_headline` of them */
	size_t nr_headline;
	SONDE_VEC(struct sonde_chosen_section) sections;
	SONDE_VEC(struct sonde_report) reports; /* scopes in order, then aggregates */
	struct sonde_choice choice; /* the choice that it was built with; borrows the words */
	size_t nr_left_out;	   /* number of the capture's metrics that were not chosen */
	struct sonde_ranks *ranks; /* comparison of the ranks; NULL = there are no two to compare */
	struct sonde_findings *findings; /* see findings.h; NULL = nothing can be said */
	uint64_t fingerprint;	   /* hash of the selection and the choice: of everything that changes numbers */
	struct sonde_notes notes;  /* notes of all stages so far */
	struct sonde_rollups *rollups; /* private: how figures are made */
	double *capacity;	   /* private: by scope, the weight of its device in aggregates */
	bool is_mixed;		   /* private: there are devices of different kinds, whose capacities differ */
	double tensor_ops;	   /* private: operations of an SM's tensor cores in a clock; NaN = devices differ */
	struct sonde_str *short_names; /* private: by string number; p NULL = the string names no kernel */
	struct sonde_arena names;      /* private: text of short_names */
	SONDE_VEC(uint32_t) tensor_metrics; /* private: metrics that show whether tensor cores worked */
};

/* The number of the first aggregate in `reports`; `reports.nr` if there is none. */
static inline size_t sonde_tree_first_aggregate(const struct sonde_tree *t)
{
	size_t i = t->reports.nr;

	while (i && t->reports.at[i - 1].is_aggregate)
		i--;
	return i;
}

/* In the normal distribution, 95 % is within this many standard errors. */
#define SONDE_WITHIN_95 1.959963984540054

int sonde_tree_build(struct sonde_tree **out, const struct sonde_cells *cells,
	const struct sonde_choice *choice, struct sonde_err *err);
void sonde_tree_free(struct sonde_tree *t);

int sonde_figures_init(struct sonde_figures *f, const struct sonde_tree *t, struct sonde_err *err);
void sonde_figures_release(struct sonde_figures *f);

enum sonde_part {
	SONDE_PART_INCLUSIVE, /* index: node number */
	SONDE_PART_EXCLUSIVE, /* index: node number */
	SONDE_PART_KERNEL,    /* index: kernel number in the report's kernels */
	SONDE_PART_TOTAL,     /* no index */
	SONDE_PART_OUTSIDE,   /* no index */
};
/* Never fails: a figure that is not known is NaN. */
void sonde_tree_values(const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index, struct sonde_figures *out);

/* The numbers of the cells that a part consists of, borrowed; `*nr` of them. NULL = none. */
const uint32_t *sonde_tree_cells(const struct sonde_report *r, enum sonde_part part, uint32_t index, uint32_t *nr);

/* Shorthands for exporters. */
const struct sonde_region *sonde_node_region(
	const struct sonde_tree *t, const struct sonde_node *n);
struct sonde_str sonde_node_label(const struct sonde_tree *t, const struct sonde_node *n);
/* Whether a row of the kernel tables is a copy or fill; false if the capture does not tell them apart. */
bool sonde_kernel_is_copy(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_kernel *k);
struct sonde_str sonde_tree_str(const struct sonde_tree *t, uint32_t string); /* SONDE_NONE: "" */
/* The short name of a kernel, for people (cxx_name.h). No two kernels of a tree have the same. */
struct sonde_str sonde_tree_short_name(const struct sonde_tree *t, uint32_t string);
uint32_t sonde_tree_column(const struct sonde_tree *t, struct sonde_str name); /* SONDE_NONE = there is none */
/* Sorts the columns by name. Whoever makes a tree calls this before anybody looks for a column. */
void sonde_tree_sort_columns(struct sonde_tree *t);
/* The column of the best metric for a role that the tree has; SONDE_NONE = it has none. */
uint32_t sonde_tree_role(const struct sonde_tree *t, enum sonde_metric_role role);

#endif
