/*
 * A comparison of two profiles: which regions got slower or faster, by how much,
 * why, and how sure that is.
 *
 * A side is one or several runs of a program, each a tree of its own; their
 * aggregate reports are compared, or those of each scope with per_scope. Regions are matched by id
 * and kind. What is compared is the time of an entry: its wall time where both sides have that, else on the GPU,
 * else on the host. GPU time is compared besides, which knows nothing of overlap and waiting.
 * A source without entries (Nsight Compute) gives one value per run, the mean.
 *
 * Verdicts are careful. `slower` and `faster` need three things: a 95 %
 * interval of the ratio that excludes 1, a false discovery rate below 5 %
 * over all regions, and a change of at least `min_effect`. With one run a side
 * they are `likely`, because nothing shows how far runs differ. `same` needs an
 * interval within ± min_effect. Everything else is `insufficient`, with the
 * number of entries that would do; so is a region with fewer than
 * SONDE_LEAST_ENTRIES entries on a side.
 *
 * Seeds come from region ids, so the result depends on nothing but the input.
 * Text is borrowed from the trees, which must outlive the comparison.
 */
#ifndef SONDE_COMPARE_DIFF_H
#define SONDE_COMPARE_DIFF_H

#include "tree/entries.h"
#include "tree/tree.h"

/* The runs of one side. Borrowed. */
struct sonde_diff_side {
	const struct sonde_tree *const *runs;
	size_t nr;
};

/* A bar for the gate: regions that match may get slower by this, and no more. */
struct sonde_diff_limit {
	struct sonde_str glob; /* of region ids; empty = the step */
	double above;	       /* 0.05 = 5 % */
	bool has_time;	       /* a time was asked for … */
	uint8_t time;	       /* … enum sonde_entry_time; else the one that the region is compared by */
};

#define SONDE_MIN_EFFECT    0.02 /* unless told otherwise */
#define SONDE_LEAST_ENTRIES 8	 /* a side: fewer are no evidence, however far apart they are */

struct sonde_diff_options {
	double min_effect;		       /* 0.02 = 2 % */
	const struct sonde_diff_limit *limits; /* the last that matches; globs before all */
	size_t nr_limits;
	bool per_scope; /* ranks or processes one by one, else their aggregates */
	bool allows_insufficient; /* an undecided gate lets it pass */
	bool takes_partial;	  /* … and is also asked where an input is damaged or not whole */
	bool accepts_single;	  /* a region that is likely slower fails the gate */
};

enum sonde_verdict {
	SONDE_VERDICT_SAME,
	SONDE_VERDICT_SLOWER,
	SONDE_VERDICT_FASTER,
	SONDE_VERDICT_LIKELY_SLOWER, /* by one run a side */
	SONDE_VERDICT_LIKELY_FASTER,
	SONDE_VERDICT_INSUFFICIENT,
	SONDE_VERDICT_ADDED,
	SONDE_VERDICT_REMOVED,
};
#define SONDE_NR_VERDICTS 8
const char *sonde_verdict_name(enum sonde_verdict v);  /* "likely_slower", … */
const char *sonde_diff_time_name(enum sonde_entry_time which); /* "wall", "gpu", "host" */
const char *sonde_verdict_words(enum sonde_verdict v); /* "likely slower", …, for people */

/* Why the time of a region changed. Bits. */
enum sonde_cause {
	SONDE_CAUSE_ENTRIES = 1,  /* entered more or less often in a run */
	SONDE_CAUSE_LAUNCHES = 2, /* more or fewer launches per entry */
	SONDE_CAUSE_DURATION = 4, /* launches, or entries without any, take longer or shorter */
	SONDE_CAUSE_KERNELS = 8,  /* other kernels than before */
	SONDE_CAUSE_OVERLAP = 16, /* of wall time: launches run at once more or less than before */
	SONDE_CAUSE_WAITING = 32, /* of wall time: the GPU waits more or less than before */
};

/* How a region that one side alone has may be related to one of the other side. */
enum sonde_likeness {
	SONDE_LIKE_NONE,
	SONDE_LIKE_RENAMED, /* a sibling with the same kernels, or as many entries without any */
	SONDE_LIKE_GRAPH,   /* the same label in or out of a CUDA graph */
	SONDE_LIKE_MOVED,   /* the same label and kernels below another region */
	SONDE_LIKE_SPLIT,   /* one region that became several */
	SONDE_LIKE_MERGED,  /* several that became one */
};
const char *sonde_likeness_name(enum sonde_likeness l); /* "renamed", …; NULL of NONE */

/* How a region, or all of them, ended; a worse one is greater. */
enum sonde_gate {
	SONDE_GATE_NONE, /* no limit matches, or the region is new */
	SONDE_GATE_PASS,
	SONDE_GATE_INSUFFICIENT, /* undecided: too few entries, or a region is gone */
	SONDE_GATE_NOT_COMPARED, /* of all: a run has nothing to compare, or no region has a limit */
	SONDE_GATE_FAIL,
	SONDE_GATE_DAMAGED, /* of all: something of an input is missing, so that nothing is known */
};
const char *sonde_gate_name(enum sonde_gate g); /* "pass", …; NULL of NONE */

/* A region on one side. Means over the runs that have it. */
struct sonde_diff_half {
	bool is_there;
	double entries, launches;	 /* of a run; launches inclusive … */
	double scopes;			 /* of a run: ranks or processes that have it */
	double total_ns;		 /* of a run, of the time compared; NaN = not known */
	double busy_ns, idle_ns;	 /* of a run: of the GPU inside entries; NaN = not known */
	double median_ns;		 /* of an entry; NaN = not known */
	uint32_t first_value, nr_values; /* slice of the comparison's values: entry times */
	uint32_t nr_runs;		 /* that have it */
};

/* One kernel of a region. */
struct sonde_diff_kernel {
	struct sonde_str name;	      /* short */
	double base_ns, new_ns;	      /* per entry of the region; 0 = it is not there */
	double base_calls, new_calls; /* likewise */
};

/* A metric that tables of some run show. */
struct sonde_diff_column {
	struct sonde_str name, head; /* SONDE_METRIC_DRAM, "DRAM %" */
	const char *unit;
};

enum sonde_metric_change {
	SONDE_METRIC_NONE, /* a side does not have it */
	SONDE_METRIC_SAME, /* within ± min_effect */
	SONDE_METRIC_INSUFFICIENT,
	SONDE_METRIC_HIGHER,
	SONDE_METRIC_LOWER,
};
const char *sonde_metric_change_name(enum sonde_metric_change c); /* "same", …; NULL of NONE */

/* One metric of one region. Means over runs; limits and errors are those of the mean. */
struct sonde_diff_metric {
	struct sonde_figure base, new_figure;
	double p, q; /* NaN = a side does not have it */
	uint8_t change;
};

/* One time of a region, compared. */
struct sonde_diff_time {
	bool is_known; /* on every side that has the region */
	double base_ns, new_ns; /* median of an entry; NaN = not known */
	double base_total_ns, new_total_ns; /* of a run, the mean of the runs */
	uint32_t first_value[2], nr_values[2], first_count; /* slices of the comparison's values and of their numbers */
	double ratio, low, high; /* NaN, 0, infinity = not known */
	double p, q;		 /* NaN = not tested */
	double needed;		 /* insufficient: so many a side would do; NaN = cannot say */
	double lasting;		 /* part of the interval's half width that more entries do not take away, in logarithms */
	uint8_t verdict;
};

struct sonde_diff_region {
	struct sonde_str id;		/* for people: the path, behind the scope if there is one */
	struct sonde_str path;		/* as in the report */
	struct sonde_str scope;		/* "rank 3"; p NULL = the aggregate */
	struct sonde_str label, domain; /* domain p NULL = the default one */
	uint32_t scope_nr;
	uint32_t parent; /* region number, SONDE_NONE = a root */
	uint32_t depth;
	uint8_t kind; /* enum sonde_region_kind */
	uint8_t verdict, gate;
	uint8_t causes; /* enum sonde_cause, of slower and faster */
	uint8_t time;	/* enum sonde_entry_time: what ratio, verdict and medians are of */
	bool is_half_gpu; /* host time, as one side alone works on the GPU: that is not what a gate is about */
	bool is_step;	/* the repeated region with the most time */
	bool is_minor;	/* it never decides a gate: entered once a run, or below 1 % of the time */
	double limit;	/* the gate's, NaN = none */
	uint8_t limit_time; /* enum sonde_entry_time: what it is about */
	struct sonde_diff_time times[SONDE_NR_ENTRY_TIMES];
	struct sonde_diff_half base, new_half;
	double ratio, low, high; /* NaN, 0, infinity = not known */
	double p, q;		 /* NaN = not tested */
	double needed;		 /* insufficient: so many a side would do; NaN = cannot say */
	bool needs_runs;	 /* … runs, where both sides have several, else entries */
	uint32_t twin; /* removed and added: what it may be on the other side, SONDE_NONE = none */
	uint8_t likeness;  /* enum sonde_likeness: how that is */
	uint32_t nr_parts; /* of a region that was split or merged: how many; `twin` is the first */
	uint32_t nr_came, nr_gone;	   /* kernels the other side does not have */
	uint32_t first_kernel, nr_kernels; /* those that carry the change, largest first */
};

struct sonde_diff {
	SONDE_VEC(struct sonde_diff_region) regions; /* depth-first */
	SONDE_VEC(struct sonde_diff_kernel) kernels;
	SONDE_VEC(struct sonde_diff_column) columns;
	SONDE_VEC(struct sonde_diff_metric) metrics; /* region × column */
	SONDE_VEC(double) values;		     /* ns: base and new of each time of each region */
	SONDE_VEC(uint32_t) values_of_run;	     /* private: how many of these each run gave */
	uint32_t nr_by_verdict[SONDE_NR_VERDICTS];
	bool is_comparable;
	struct sonde_notes reasons;   /* why it is not */
	struct sonde_notes warnings;  /* other differences between the sides */
	struct sonde_notes sentences; /* what happened, most important first */
	struct sonde_notes base_notes, new_notes; /* what the runs say of themselves */
	struct sonde_diff_options options;
	uint32_t nr_base_runs, nr_new_runs;
	size_t nr_base_scopes, nr_new_scopes; /* the most of a run: ranks or processes */
	double base_total_ns, new_total_ns;   /* GPU time in regions of a run; NaN = none */
	bool has_empty_run; /* there is a gate, and a run has nothing to compare */
	double ratio; /* geometric mean over regions on both sides, NaN = none */
	uint8_t gate; /* enum sonde_gate: the worst of all regions, or of the comparison as a whole */
	struct sonde_notes gate_reasons; /* what a gate was to compare and could not, besides regions */
	struct sonde_arena arena;
};

int sonde_diff_build(struct sonde_diff **out, const struct sonde_diff_side *base,
	const struct sonde_diff_side *new_side, const struct sonde_diff_options *o,
	struct sonde_err *err);
void sonde_diff_free(struct sonde_diff *d);

/*
 * The exit status the gate asks for: 0, 3 = something is slower than allowed, 4 = it cannot tell,
 * 1 = an input is damaged or not whole.
 */
int sonde_diff_status(const struct sonde_diff *d);
/* The median's change per entry, in ns; of added and removed regions what came or went. */
double sonde_diff_region_delta(const struct sonde_diff_region *r);
/* A bound by name that no region of either side has; NULL = there is none. */
const struct sonde_diff_limit *sonde_diff_stray_limit(const struct sonde_diff *d);
/* "more launches", "longer kernels", …; NULL = nothing to say. */
const char *sonde_diff_cause_words(const struct sonde_diff_region *r);
/* How many entries or runs a side an undecided region needs, for people: "8 entries", "more than 1,000 runs". */
void sonde_diff_needed_put(struct sonde_buf *to, const struct sonde_diff_region *r);
/* Whether the interval of its ratio says something to people: it is known, and no wider than a factor of ten. */
bool sonde_diff_interval_tells(const struct sonde_diff_region *r);
/* "count", "duration", "count and duration" or NULL, for machines. */
const char *sonde_diff_cause_name(const struct sonde_diff_region *r);

/*
 * How often a comparison of a side with itself names something: the entries
 * of each region are split at random into two sides, `rounds` times.
 */
struct sonde_diff_selftest {
	uint32_t rounds, alarms; /* alarms: rounds in which some region was called different */
	uint32_t regions;	 /* that have enough entries to be split */
};
int sonde_diff_selftest(struct sonde_diff_selftest *out, const struct sonde_diff_side *side,
	const struct sonde_diff_options *o, uint32_t rounds, struct sonde_err *err);

#endif
