/*
 * Findings: what to change first, what it costs, and how that is known.
 *
 * A finding is a cause (catalogue/causes.h) at a place: a region, a kernel in it, or what
 * lies between the entries of a region. It rests on figures that rows of the
 * report have too (`evidence`): `sonde validate` compares them.
 *
 * Costs are times of the *step*: the region that is entered again and again and has
 * the most wall time, with what happens until its next entry. Work beside the step, such
 * as a start-up, costs time of the run only.
 *
 * Findings are ranked by their gain where a replay has told it, else by what is at stake: all of
 * an idle time, of a kernel's time what its limiter leaves. A kernel whose limiter is not known
 * comes last, however long it takes.
 */
#ifndef SONDE_TREE_FINDINGS_H
#define SONDE_TREE_FINDINGS_H

#include "catalogue/causes.h"
#include "tree/tree.h"

#define SONDE_MAX_EVIDENCE 6
#define SONDE_MAX_FINDINGS 64

/* A figure that a finding rests on. */
struct sonde_evidence {
	uint32_t node;		 /* whose row has it; SONDE_NONE = no row has it */
	uint32_t kernel;	 /* string number: of this kernel's row there; SONDE_NONE = the region's */
	struct sonde_str figure; /* its key there, as in JSON: "idle.launch_ms"; a metric */
	double value, error;	 /* ± at 95 %, NaN = it is exact */
	const char *unit, *method;
};

struct sonde_finding {
	uint8_t cause;	 /* enum sonde_cause */
	uint32_t node;	 /* SONDE_NONE: outside any region */
	uint32_t kernel; /* string number, SONDE_NONE = none */
	uint64_t entries;
	bool is_in_step; /* step_ns and share are known; else it costs time of the run */
	double run_ns;	 /* over the whole run, all scopes of the report */
	double step_ns;	 /* per entry of the step; NaN beside it */
	double share;	 /* of the step with what follows it, else of the run */
	/* Saved per entry of the step, and its 95 % interval. NaN until a replay has told. */
	double gain_ns, gain_low_ns, gain_high_ns;
	bool is_most;		    /* the gain is an upper bound: what a fix would leave is not known */
	struct sonde_str gain_from; /* how the gain is known, or which measurement would tell */
	struct sonde_str where;	    /* the region's labels, as the program wrote them */
	struct sonde_str says;	    /* the sentence behind it */
	struct sonde_str action;    /* what to do */
	struct sonde_str next;	    /* the next command */
	struct sonde_str change;    /* for `sonde whatif`; empty = it can replay no such change */
	struct sonde_evidence evidence[SONDE_MAX_EVIDENCE];
	size_t nr_evidence;
	double stake_ns; /* private: what it is ranked by while no gain is known */
	bool is_first;	 /* private: before all others */
	bool is_once;	 /* private: in a region that is hardly entered, beside a step */
};

struct sonde_findings {
	const struct sonde_report *report; /* what they are about: the aggregate where there is one */
	uint32_t step;			   /* node, SONDE_NONE = no region is repeated */
	uint64_t nr_entries;		   /* of the step, all scopes together */
	double step_ns;			   /* wall time of an entry, on average … */
	double between_ns;		   /* … and from its end to the next, without work of others */
	SONDE_VEC(struct sonde_finding) at;
	struct sonde_arena arena;
};

/*
 * `step` is the id of the region that the user chose, empty = the one with the most time; SONDE_ERR_USAGE
 * when there is no such region. `*out` is NULL where nothing can be said: a report without times.
 */
int sonde_findings_build(struct sonde_findings **out, const struct sonde_tree *t, struct sonde_str step,
	struct sonde_err *err);
void sonde_findings_free(struct sonde_findings *f);

/* Fills in a gain per entry of the step, with its 95 % interval, or the most that it is; `from` says how it is known. Rank them after that. */
void sonde_finding_set_gain(
	struct sonde_findings *f, struct sonde_finding *to, const double gain_ns[3], bool is_most, struct sonde_str from);
void sonde_findings_rank(struct sonde_findings *f);
/* A gain in words: "saves 4.600 ms (4.300 to 4.900) of a step, 65%: …", that it is at most so much, that the change gains nothing, or that it is not known, and what would tell. */
void sonde_finding_say_gain(struct sonde_buf *out, const struct sonde_findings *f, const struct sonde_finding *of);

/* The labels of a region as the program wrote them, with its domain before and its kind behind: "LLM@decode/step". */
void sonde_node_say(struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_node *n);

#endif
