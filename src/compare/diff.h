/*
 * A comparison of two profiles: which regions got slower or faster, by how much, why, and how sure that is.
 *
 * A side is one or several runs of a program, each with a tree of its own. The aggregate reports of the runs are
 * compared, or with per_scope the reports of each scope. Regions are matched by id and kind. The compared time is that
 * of an entry: its wall time if both sides have it, else its GPU time, else its host time. GPU time is compared as well;
 * it does not include overlap and waiting. A source without entries (Nsight Compute) gives one value per run, the mean.
 *
 * Verdicts are careful. `slower` and `faster` need three things: a 95 % interval of the ratio that excludes 1, a false
 * discovery rate below 5 % over all regions, and a change of at least `min_effect`. With one run per side they are only
 * `likely`, because nothing shows how much runs differ. `same` needs an interval within ± min_effect. Everything else is
 * `insufficient`, with the number of entries that would be enough; so is every region with fewer than
 * SONDE_LEAST_ENTRIES entries on a side.
 *
 * Random seeds come from region ids, so the result depends only on the input. Text is borrowed from the trees, which
 * must outlive the comparison.
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

/* A limit of the gate: regions that match may get slower by at most this. */
struct sonde_diff_limit {
	struct sonde_str glob; /* matches region ids; empty = the step */
	double above;	       /* 0.05 = 5 % */
	bool has_time;	       /* the user chose a time: … */
	uint8_t time;	       /* … this one; else the limit is about the time that the region is compared by, and iterations */
};

#define SONDE_MIN_EFFECT    0.02 /* the default of min_effect */
#define SONDE_LEAST_ENTRIES 8	 /* per side: fewer are no evidence, however far apart they are */

struct sonde_diff_options {
	double min_effect;		       /* 0.02 = 2 % */
	struct sonde_str step;		       /* id of the region that is the step; empty = the repeated region with the most time */
	const struct sonde_diff_limit *limits; /* the last one that matches decides; one with a glob goes before one without */
	size_t nr_limits;
	bool per_scope; /* compares each rank or process, not the aggregates */
	bool allows_insufficient; /* a gate that cannot decide passes */
	bool takes_partial;	  /* also compares inputs that are damaged or incomplete */
	bool accepts_single;	  /* a region that is likely slower fails the gate */
};

/*
 * The times that a comparison knows: those of an entry, and of the step the iteration, from the end of an entry to the
 * end of the next one (iterations.c). It has the time between entries, in which nothing of the step runs.
 */
#define SONDE_DIFF_ITERATION SONDE_NR_ENTRY_TIMES
#define SONDE_NR_DIFF_TIMES  (SONDE_NR_ENTRY_TIMES + 1)

enum sonde_verdict {
	SONDE_VERDICT_SAME,
	SONDE_VERDICT_SLOWER,
	SONDE_VERDICT_FASTER,
	SONDE_VERDICT_LIKELY_SLOWER, /* there is only one run per side */
	SONDE_VERDICT_LIKELY_FASTER,
	SONDE_VERDICT_INSUFFICIENT,
	SONDE_VERDICT_ADDED,
	SONDE_VERDICT_REMOVED,
};
#define SONDE_NR_VERDICTS 8
const char *sonde_verdict_name(enum sonde_verdict v);  /* "likely_slower", … */
const char *sonde_diff_time_name(unsigned which); /* "wall", "gpu", "host", "iteration" */
const char *sonde_verdict_words(enum sonde_verdict v); /* "likely slower", …, for people */

/* Why the time of a region changed, as bits. */
enum sonde_cause {
	SONDE_CAUSE_ENTRIES = 1,  /* it is entered more or less often per run */
	SONDE_CAUSE_LAUNCHES = 2, /* more or fewer launches per entry */
	SONDE_CAUSE_DURATION = 4, /* launches take longer or shorter; without launches, entries do */
	SONDE_CAUSE_KERNELS = 8,  /* it launches other kernels than before */
	SONDE_CAUSE_OVERLAP = 16, /* only wall time: more or fewer launches run at the same time */
	SONDE_CAUSE_WAITING = 32, /* only wall time: the GPU waits more or less than before */
};

/* How a region that only one side has may be related to one of the other side. */
enum sonde_likeness {
	SONDE_LIKE_NONE,
	SONDE_LIKE_RENAMED, /* a sibling with the same kernels; without kernels, with as many entries */
	SONDE_LIKE_GRAPH,   /* the same label in or out of a CUDA graph */
	SONDE_LIKE_MOVED,   /* the same label and kernels below another region */
	SONDE_LIKE_SPLIT,   /* one region became several */
	SONDE_LIKE_MERGED,  /* several regions became one */
};
const char *sonde_likeness_name(enum sonde_likeness l); /* "renamed", …; NULL for NONE */

/* The result of the gate for a region or for the comparison. A worse result is greater. */
enum sonde_gate {
	SONDE_GATE_NONE, /* no limit matches, or the region is new */
	SONDE_GATE_PASS,
	SONDE_GATE_INSUFFICIENT, /* undecided: too few entries, or a region is gone */
	SONDE_GATE_NOT_COMPARED, /* comparison only: a run has nothing to compare, or no region has a limit */
	SONDE_GATE_FAIL,
	SONDE_GATE_DAMAGED, /* comparison only: part of an input is missing, so nothing can be known */
};
const char *sonde_gate_name(enum sonde_gate g); /* "pass", …; NULL for NONE */

/* A region on one side. Numbers "per run" are means over the runs that have the region. */
struct sonde_diff_half {
	bool is_there;
	double entries, launches;	 /* per run; launches inclusive */
	double scopes;			 /* per run: ranks or processes that have the region */
	double total_ns;		 /* per run: the compared time; NaN = not known */
	double busy_ns, idle_ns;	 /* per run: GPU busy and idle inside entries; NaN = not known */
	double median_ns;		 /* median time of an entry; NaN = not known */
	uint32_t first_value, nr_values; /* slice of the comparison's `values`: times of entries */
	uint32_t nr_runs;		 /* number of runs that have the region */
};

/* One kernel of a region. */
struct sonde_diff_kernel {
	struct sonde_str name;	      /* short name */
	double base_ns, new_ns;	      /* time per entry of the region; 0 = this side does not have the kernel */
	double base_calls, new_calls; /* calls per entry of the region */
};

/* A metric that tables of some run show. */
struct sonde_diff_column {
	struct sonde_str name, head; /* name and heading: SONDE_METRIC_DRAM, "DRAM %" */
	const char *unit;
};

enum sonde_metric_change {
	SONDE_METRIC_NONE, /* one side does not have the metric */
	SONDE_METRIC_SAME, /* within ± min_effect */
	SONDE_METRIC_INSUFFICIENT,
	SONDE_METRIC_HIGHER,
	SONDE_METRIC_LOWER,
};
const char *sonde_metric_change_name(enum sonde_metric_change c); /* "same", …; NULL for NONE */

/* One metric of one region: the mean over runs. Limits and errors are those of the mean. */
struct sonde_diff_metric {
	struct sonde_figure base, new_figure;
	double p, q; /* NaN = one side does not have the metric */
	uint8_t change;
};

/* The comparison of one time of a region. */
struct sonde_diff_time {
	bool is_known; /* every side that has the region has this time */
	double base_ns, new_ns; /* median time of an entry; NaN = not known */
	double base_total_ns, new_total_ns; /* mean time per run */
	/* Slices of the comparison's `values`, and where their numbers begin in `values_of_run`. */
	uint32_t first_value[2], nr_values[2], first_count;
	double ratio, low, high; /* if not known: NaN, 0 and infinity */
	double p, q;		 /* NaN = not tested */
	double needed;		 /* insufficient: this many per side would be enough; NaN = cannot say */
	double lasting;		 /* the part of the interval's half width, in logarithms, that more entries would not reduce */
	uint8_t verdict;
};

struct sonde_diff_region {
	struct sonde_str id;		/* for people: the path, after the scope if there is one */
	struct sonde_str path;		/* id in the report */
	struct sonde_str scope;		/* "rank 3"; p NULL = the aggregate */
	struct sonde_str label, domain; /* domain p NULL = the default one */
	uint32_t scope_nr;
	uint32_t parent; /* number of the region around it; SONDE_NONE = a root */
	uint32_t depth;
	uint8_t kind; /* enum sonde_region_kind */
	uint8_t verdict, gate;
	uint8_t causes; /* bits of enum sonde_cause */
	uint8_t time;	/* enum sonde_entry_time: which time ratio, verdict and medians are about */
	bool is_half_gpu; /* host time is compared although one side works on the GPU: a gate must not decide by that */
	bool is_step;	/* the region that options.step names, else the repeated region with the most time */
	bool is_minor;	/* never decides a gate: it is entered once per run, or takes less than 1 % of the time */
	double limit;	/* limit of the gate; NaN = none */
	uint8_t limit_time; /* which time the limit is about; of the step, the iteration if that is what decides */
	struct sonde_diff_time times[SONDE_NR_DIFF_TIMES]; /* only the step has iterations */
	struct sonde_diff_half base, new_half;
	double ratio, low, high; /* if not known: NaN, 0 and infinity */
	double p, q;		 /* NaN = not tested */
	double needed;		 /* insufficient: this many per side would be enough; NaN = cannot say */
	bool needs_runs;	 /* … runs, if both sides have several; else entries */
	uint32_t twin; /* removed or added: the region of the other side that it may be; SONDE_NONE = none */
	uint8_t likeness;  /* enum sonde_likeness: how it is related to `twin` */
	uint32_t nr_parts; /* number of parts of a region that was split or merged; `twin` is the first part */
	uint32_t nr_came, nr_gone;	   /* kernels that only the new side has; kernels that only the base has */
	uint32_t first_kernel, nr_kernels; /* the kernels that explain most of the change, largest first */
};

struct sonde_diff {
	SONDE_VEC(struct sonde_diff_region) regions; /* depth-first */
	SONDE_VEC(struct sonde_diff_kernel) kernels;
	SONDE_VEC(struct sonde_diff_column) columns;
	SONDE_VEC(struct sonde_diff_metric) metrics; /* region × column */
	SONDE_VEC(double) values;		     /* ns, of base and new side, of each time of each region */
	SONDE_VEC(uint32_t) values_of_run;	     /* private: the number of values from each run */
	uint32_t nr_by_verdict[SONDE_NR_VERDICTS];
	bool is_comparable;
	struct sonde_notes reasons;   /* why the sides cannot be compared */
	struct sonde_notes warnings;  /* other differences between the sides */
	struct sonde_notes sentences; /* what happened, most important first */
	struct sonde_notes base_notes, new_notes; /* notes of the runs */
	struct sonde_diff_options options;
	uint32_t nr_base_runs, nr_new_runs;
	size_t nr_base_scopes, nr_new_scopes; /* ranks or processes: the most that a run has */
	double base_total_ns, new_total_ns;   /* GPU time in regions per run; NaN = none */
	bool has_empty_run; /* there is a gate, and a run has nothing to compare */
	double ratio; /* geometric mean over the regions of both sides; NaN = none */
	uint8_t gate; /* enum sonde_gate: the worst of all regions, or of the comparison as a whole */
	struct sonde_notes gate_regions; /* the regions that decide how the gate ended, with their reasons: it failed, or is undecided */
	struct sonde_notes gate_reasons; /* reasons, other than regions, why the gate could not compare something */
	struct sonde_arena arena;
};

int sonde_diff_build(struct sonde_diff **out, const struct sonde_diff_side *base,
	const struct sonde_diff_side *new_side, const struct sonde_diff_options *o,
	struct sonde_err *err);
void sonde_diff_free(struct sonde_diff *d);

/*
 * The exit status that the gate asks for: 0; 3 = something is slower than allowed; 4 = the gate cannot decide; 1 = an
 * input is damaged or incomplete.
 */
int sonde_diff_status(const struct sonde_diff *d);
/* The change of the median per entry, in ns. For an added or removed region, the whole time that came or went. */
double sonde_diff_region_delta(const struct sonde_diff_region *r);
/* Whether the region that options.step names is on neither side. */
bool sonde_diff_lacks_step(const struct sonde_diff *d);
/* Whether the iterations of the step decide how its gate ended, and not its entries. */
static inline bool sonde_diff_is_by_iteration(const struct sonde_diff_region *r)
{
	return r->gate > SONDE_GATE_PASS && r->limit_time == SONDE_DIFF_ITERATION;
}
/* A copy of a region whose verdict, medians, ratio and interval are those of another time, such as its iterations. */
struct sonde_diff_region sonde_diff_timed(const struct sonde_diff_region *r, unsigned time);
/* A limit with a glob that matches no region of either side; NULL = there is none. */
const struct sonde_diff_limit *sonde_diff_stray_limit(const struct sonde_diff *d);
/* Appends why a region fails the gate or leaves it undecided: "step is likely 6.1 % slower; the limit is 5 %". */
void sonde_diff_gate_reason_put(struct sonde_buf *to, const struct sonde_diff *d, const struct sonde_diff_region *r);
/* "more launches", "longer kernels", …; NULL = nothing to say. */
const char *sonde_diff_cause_words(const struct sonde_diff_region *r);
/* Appends how many entries or runs per side an undecided region needs: "8 entries", "more than 1,000 runs". */
void sonde_diff_needed_put(struct sonde_buf *to, const struct sonde_diff_region *r);
/* Whether the interval of a region's ratio is worth showing: it is known, and no wider than a factor of ten. */
bool sonde_diff_interval_matters(const struct sonde_diff_region *r);
/* "count", "duration", "count and duration" or NULL, for machines. */
const char *sonde_diff_cause_name(const struct sonde_diff_region *r);

/*
 * Shows how often a comparison of a side with itself finds a difference: the entries of each region are split at random
 * into two sides, `rounds` times.
 */
struct sonde_diff_selftest {
	uint32_t rounds, alarms; /* alarms: number of rounds in which some region was found slower or faster */
	uint32_t regions;	 /* number of regions with enough entries to be split */
};
int sonde_diff_selftest(struct sonde_diff_selftest *out, const struct sonde_diff_side *side,
	const struct sonde_diff_options *o, uint32_t rounds, struct sonde_err *err);

#endif
