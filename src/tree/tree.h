/*
 * The region tree: everything known about a run, arranged by NVTX region.
 *
 * A tree holds several reports: one per scope (process and device), then the
 * aggregate over all of them, or one per way of measuring when results of
 * several ways were given. A report is a list of nodes, depth-first,
 * children in order of first entry. Built once from cells, read-only
 * afterwards; a node is valid exactly as long as its tree, and the tree borrows
 * from the cells.
 *
 * Numbers are made on request: `sonde_tree_values` fills a `struct sonde_figures`
 * with one figure per reported metric for a node (inclusive or exclusive), one
 * of its kernels, the totals or what is outside all regions. How each figure
 * was made (method, quality) comes with it.
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
	uint32_t metric;  /* its number, SONDE_NONE = it was sampled only */
	uint32_t sampled; /* number of the sampled metric, SONDE_NONE = there is none */
	struct sonde_str name;
	const char *unit; /* "ns", "byte", "%", "" */
	/*
	 * How figures are made: as a rule; when the right weight is missing; then as other inputs
	 * do, which captured other weights. NULL after the last.
	 */
	const char *methods[SONDE_MAX_METHODS + 1];
	uint8_t quality;	/* enum sonde_quality of methods[0] */
	uint8_t sampled_method; /* index of the method of sampled figures */
	bool is_default;	/* of the default choice, whatever was chosen */
	bool is_text;		/* its values are words (figures[i].text) */
	bool is_chart; /* values for ncu's charts, and not asked for: no figure for people */
};

/* One figure of one metric. */
struct sonde_figure {
	double v;	       /* NaN = missing: print null, never 0 */
	double low, high;      /* bounds, smallest/largest value, 95 % interval; NaN = none */
	double error;	       /* ± of that interval, of a sampled figure; else NaN */
	struct sonde_str text; /* p NULL unless the column is text */
	uint8_t quality;       /* enum sonde_quality */
	uint8_t method;	       /* index into the column's methods */
};

struct sonde_figures {
	struct sonde_figure *at; /* one per column */
	size_t nr;
	bool has_tensor;	    /* tensor cores worked; known where operations are counted */
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
	uint32_t parent; /* node number in the same report, SONDE_NONE = a root */
	uint32_t depth;
	uint64_t instances;
	uint64_t launches, own_launches;   /* inclusive, exclusive */
	double time_ns, own_time_ns;	   /* NaN when the capture has no times */
	uint32_t first_kernel, nr_kernels; /* slice of the report's kernels; by time, then name */
	/* Aggregate only, over the scopes that have the region: time in ns, and max ÷ mean. */
	uint32_t nr_scopes;
	double scope_min_ns, scope_median_ns, scope_max_ns, imbalance;
	struct sonde_times times; /* cpu_ns is not known where is_open */
	uint64_t nr_queued; /* launches that times.queue_ns is of */
	/*
	 * Streams that had a launch of it. Which ones, busiest first, is a slice of the report's
	 * streams; not in an aggregate of several scopes, which has the number only.
	 */
	uint64_t streams;
	uint32_t first_stream;
	/* Copies among the launches, where the capture has them as such. */
	uint64_t copies;
	uint64_t adopted; /* launches by threads without ranges, in those of the one other thread */
	double copy_ns, copy_bytes;
	bool is_open; /* an entry was never closed: host_ns is at least that */
	double comm_wait_ns; /* of communication: waited for the last rank; NaN = not known */
	uint32_t first_cell, nr_cells, own_first_cell, own_nr_cells; /* private */
};

struct sonde_report {
	struct sonde_str name; /* "process:4519/device:0", "aggregate", "aggregate/ranges" … */
	bool is_aggregate;
	uint8_t measured;   /* enum sonde_measured */
	bool is_shared;	    /* private: the aggregate of one scope, whose lists are that scope's */
	bool is_ranges;	    /* figures are of replayed ranges, not sums over kernels */
	uint32_t scope;	    /* scope number, SONDE_NONE for an aggregate */
	uint32_t nr_scopes; /* scopes it covers */
	uint64_t launches;  /* each selected launch inside a region once */
	double time_ns;
	uint64_t outside_launches; /* selected launches outside all regions */
	double outside_time_ns;
	uint64_t all_launches; /* of the capture, before selection */
	double all_time_ns;
	SONDE_VEC(struct sonde_node) nodes;
	SONDE_VEC(struct sonde_kernel) kernels;
	SONDE_VEC(struct sonde_stream_work) streams;
	uint32_t outside_first_kernel, nr_outside_kernels;
	uint32_t flat_first_kernel, nr_flat_kernels; /* all, in regions or not, each launch once */
	SONDE_VEC(uint32_t) cells; /* private: cell numbers, sliced by nodes and kernels */
	/* Private: inclusive figures of a report that was read back, node × column; else empty. */
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
	SONDE_VEC(struct sonde_column) columns; /* by name */
	uint32_t headline[8];			/* columns for narrow tables, at most nr_headline */
	size_t nr_headline;
	SONDE_VEC(struct sonde_chosen_section) sections;
	SONDE_VEC(struct sonde_report) reports; /* scopes in order, then aggregates */
	struct sonde_choice choice; /* what it was built with; borrows the words */
	size_t nr_left_out;	   /* metrics of the capture that were not chosen */
	struct sonde_ranks *ranks; /* side by side; NULL where there are not two */
	struct sonde_findings *findings; /* findings.h; NULL where nothing can be said */
	uint64_t fingerprint;	   /* of the selection and choice: what changes numbers */
	struct sonde_notes notes;  /* of every stage so far */
	struct sonde_plans *plans; /* private: how figures are made */
	double *capacity;	   /* private: by scope, the weight of its device in aggregates */
	bool is_mixed;		   /* private: devices of different kinds, capacities differ */
	double tensor_ops;	   /* private: of an SM's tensor cores in a clock; NaN where devices differ */
	struct sonde_str *short_names; /* private: by string number, p NULL = names no kernel */
	struct sonde_arena names;      /* private: their text */
	SONDE_VEC(uint32_t) tensor_metrics; /* private: they show whether tensor cores worked */
};

/* The number of the first aggregate among the reports; their number where there is none. */
static inline size_t sonde_tree_first_aggregate(const struct sonde_tree *t)
{
	size_t i = t->reports.nr;

	while (i && t->reports.at[i - 1].is_aggregate)
		i--;
	return i;
}

/* The normal distribution's: 95 % is within so many standard errors. */
#define SONDE_WITHIN_95 1.959963984540054

int sonde_tree_build(struct sonde_tree **out, const struct sonde_cells *cells,
	const struct sonde_choice *choice, struct sonde_err *err);
void sonde_tree_free(struct sonde_tree *t);

int sonde_figures_init(struct sonde_figures *f, const struct sonde_tree *t, struct sonde_err *err);
void sonde_figures_release(struct sonde_figures *f);

enum sonde_part {
	SONDE_PART_INCLUSIVE, /* node number in `index` */
	SONDE_PART_EXCLUSIVE, /* node number */
	SONDE_PART_KERNEL,    /* kernel number, in the report's kernels */
	SONDE_PART_TOTAL,     /* no index */
	SONDE_PART_OUTSIDE,   /* no index */
};
/* Never fails: a figure that is not known is NaN. */
void sonde_tree_values(const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index, struct sonde_figures *out);

/* The numbers of the cells that a part is made of, borrowed; how many in `*nr`. NULL where there are none. */
const uint32_t *sonde_tree_cells(const struct sonde_report *r, enum sonde_part part, uint32_t index, uint32_t *nr);

/* Shorthands for exporters. */
const struct sonde_region *sonde_node_region(
	const struct sonde_tree *t, const struct sonde_node *n);
struct sonde_str sonde_node_label(const struct sonde_tree *t, const struct sonde_node *n);
/* Whether a row of the kernel tables is a copy or fill, where the capture has them as such. */
bool sonde_kernel_is_copy(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_kernel *k);
struct sonde_str sonde_tree_str(const struct sonde_tree *t, uint32_t string); /* SONDE_NONE: "" */
/* The name of a kernel as people say it (cxx_name.h), distinct in the tree. */
struct sonde_str sonde_tree_short_name(const struct sonde_tree *t, uint32_t string);
uint32_t sonde_tree_column(const struct sonde_tree *t, const char *name); /* or SONDE_NONE */
uint32_t sonde_tree_find_column(const struct sonde_tree *t, struct sonde_str name); /* the same */
/* Puts columns in their order: whoever makes a tree does so before any is looked for. */
void sonde_tree_sort_columns(struct sonde_tree *t);
/* The column of the best metric there is for a role, or SONDE_NONE. */
uint32_t sonde_tree_role(const struct sonde_tree *t, enum sonde_metric_role role);

#endif
