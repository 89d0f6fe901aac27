/*
 * Findings: what to change first, what it costs, and how that is known.
 *
 * A finding is a cause (catalogue/causes.h) at a place: a region, a kernel in it, or the time between the entries of a
 * region. It rests on figures that rows of the report show too (`evidence`): `sonde validate` compares the two.
 *
 * Costs are times of the *step*: the region that is entered again and again and has the most wall time, with the time
 * until its next entry. They are means over its usual entries: slow first ones, and a few others, are left out. Work
 * beside the step, such as a start-up, and what only entries that are left out do, costs time in ranges.
 *
 * Findings are ranked by their gain if a replay has computed it, else by what is at stake: all of an idle time; of a
 * kernel's time, the part that its limiter leaves unused. A gain counts up to what is at stake. A kernel whose limiter
 * is not known comes last, however long it takes, and behind it only what gains nothing. Where several findings have one
 * cause, the largest takes the place of the first, because it is shown for all of them.
 */
#ifndef SONDE_TREE_FINDINGS_H
#define SONDE_TREE_FINDINGS_H

#include "catalogue/causes.h"
#include "tree/tree.h"

#define SONDE_MAX_EVIDENCE 6
#define SONDE_MAX_FINDINGS 64

/* A figure that a finding rests on. */
struct sonde_evidence {
	uint32_t node;		 /* the node whose row has it; SONDE_NONE = no row has it */
	uint32_t kernel;	 /* string number: it is in the row of this kernel in the node; SONDE_NONE = in the node's own row */
	struct sonde_str figure; /* its key in that row, as in JSON: "idle.launch_ms", or a metric */
	double value, error;	 /* error: ± at 95 %; NaN = the value is exact */
	const char *unit, *method;
};

/* Time saved per entry of the step, its 95 % interval, and the time of the entry without the change. NaN = not known. */
struct sonde_gain {
	double ns, low_ns, high_ns; /* per step, with its 95 % interval; NaN = not known */
	double of_ns; /* the time of a step without the change, and without the profiler; NaN = the gain is not known */
	bool is_most; /* the gain is an upper bound: it is not known how much a fix would leave */
	struct sonde_str why; /* how the gain is known, or why it is not, or what would show it */
};

struct sonde_finding {
	uint8_t cause;	 /* enum sonde_cause */
	uint32_t node;	 /* SONDE_NONE: outside any region */
	uint32_t kernel; /* string number, SONDE_NONE = none */
	uint64_t entries;
	bool is_in_step; /* it costs time of the step, and step_ns and share say how much; else time in ranges */
	double run_ns;	 /* cost over the whole run, all scopes of the report */
	double step_ns;	 /* cost of a usual entry of the step; NaN = not in the step */
	double share;	 /* cost as a share of the step with the time until the next; else as a share of run_ns of the findings */
	struct sonde_gain gain; /* not known until a replay has computed it */
	struct sonde_str where;	    /* the region's labels, as the program wrote them */
	struct sonde_str says;	    /* the sentence about it */
	struct sonde_str action;    /* what to do */
	struct sonde_str next;	    /* the command to run next */
	struct sonde_str change;    /* argument of `sonde whatif`; empty = whatif has no such change */
	struct sonde_evidence evidence[SONDE_MAX_EVIDENCE];
	size_t nr_evidence;
	double savable_ns; /* private: it is ranked by this until a gain is known */
	bool is_first;	 /* private: it comes before all others */
	bool is_startup;	 /* private: its region is beside the step, and hardly ever entered or not what the user asked about */
};

struct sonde_findings {
	const struct sonde_report *report; /* the report that they are about: the aggregate if there is one */
	uint32_t step;			   /* node number; SONDE_NONE = no region is repeated */
	uint64_t nr_entries;		   /* entries of the step, all scopes together */
	uint64_t nr_left_out; /* those that took far longer than usual and are not in these means */
	double step_ns;			   /* mean wall time of an entry … */
	double between_ns;		   /* … and mean time from its end to the next one, without work of other regions */
	/*
	 * What costs outside the step are shares of: the time in ranges, from the begin of the first range to the end of
	 * the last one, summed over scopes. Without times of ranges it is the GPU's time (`is_gpu_time`), which is
	 * that of the selected kernels if the selection has words about kernels (`is_selected_time`).
	 */
	double run_ns;
	bool is_gpu_time, is_selected_time;
	struct sonde_str each; /* an entry of it in words: "each step", or "each entry of decode" */
	SONDE_VEC(struct sonde_finding) at;
	struct sonde_arena arena;
};

/*
 * `step` is the id of the region that the user chose as the step; empty = the one with the most time. SONDE_ERR_USAGE:
 * there is no such region. `*out` is NULL if nothing can be said: the report has no times.
 */
int sonde_findings_build(struct sonde_findings **out, const struct sonde_tree *t, struct sonde_str step,
	struct sonde_err *err);
void sonde_findings_free(struct sonde_findings *f);

/*
 * Sets the gain; `from` says how it is known, or why it is not. If the change only resembles the advice and gains far
 * less than what is at stake, the gain of the advice is still not known. Rank the findings after that.
 */
void sonde_finding_set_gain(struct sonde_findings *f, struct sonde_finding *to, const struct sonde_gain *gain);
void sonde_findings_rank(struct sonde_findings *f);
/* What a finding is ranked by: nanoseconds of the whole run that its fix saves, or may save. */
double sonde_finding_counts(const struct sonde_findings *f, const struct sonde_finding *of);
/* Whether it is idle time of the step in which the host did not wait: launch, host, head, between, tail. */
bool sonde_finding_is_of_host(const struct sonde_finding *of);
/*
 * A wait of the host that a replay has found, although the GPU was hardly idle in it. `find` returns the node of the
 * region; SONDE_NONE: a finding names the wait already. `add` adds a finding without a gain, which may move all others in
 * memory; `step_ns` is the time of the calls per step, and `*out` is NULL if that is too little. Returns false when memory
 * is short.
 */
uint32_t sonde_findings_find_wait(const struct sonde_findings *f, const struct sonde_tree *t, struct sonde_str region);
bool sonde_findings_add_wait(struct sonde_finding **out, struct sonde_findings *f, const struct sonde_tree *t, uint32_t node, double step_ns);
/* Whether a replay has shown that the change saves nothing. */
bool sonde_finding_gains_nothing(const struct sonde_finding *of);
/*
 * Whether the gain is a share of more than costs are. A replay counts from the begin of one entry of the step to the begin of
 * the next, and other regions may work between them.
 */
bool sonde_finding_gains_between(const struct sonde_findings *f, const struct sonde_finding *of);
/*
 * Appends the gain in words: "saves 4.600 of 7.100 ms of each step, 65% (4.300 to 4.900): …", or
 * that this is an upper bound, that the change saves nothing, or that the gain is not known and what would show it.
 * `names_change`: with the change that was replayed, as a word of a command.
 */
void sonde_finding_say_gain(struct sonde_buf *out, const struct sonde_findings *f, const struct sonde_finding *of, bool names_change);

/*
 * Appends the labels of a region as the program wrote them, after its domain and before the mark of its kind:
 * "LLM@decode/step".
 */
void sonde_node_say(struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_node *n);

#endif
