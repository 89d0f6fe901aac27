/*
 * How a metric rolls up over the launches of a region.
 *
 * `unit__quantity.rollup.submetric`: the roll-up inside a name (sum, avg, …)
 * is over the hardware instances within one result. How results of several
 * launches are combined is decided by the one table in rule.c. Applied to a
 * capture, a rule becomes a plan (struct sonde_rollup): only then is it known
 * which of the possible weights the capture has.
 */
#ifndef SONDE_FOLD_RULE_H
#define SONDE_FOLD_RULE_H

#include "base/arena.h"
#include "catalogue/metrics.h"
#include "read/inputs.h"

/* Partial reports hold accumulators made by these rules: increase this with any change of a weight or a method. */
#define SONDE_RULES_VERSION 2

enum sonde_quality {
	SONDE_QUALITY_EXACT,
	SONDE_QUALITY_APPROX, /* ≈ weighted by a similar metric, as the right weight is missing */
	SONDE_QUALITY_BOUND,  /* ≤ or ≥: the true value cannot be recovered */
	SONDE_QUALITY_CONST,  /* the same in every launch */
	SONDE_QUALITY_STAT,   /* most frequent value, with the smallest and largest */
	SONDE_QUALITY_SAMPLED, /* ~ from samples of the device, with an error */
};
const char *sonde_quality_name(enum sonde_quality q); /* "exact", "approx", … */

enum sonde_method {
	SONDE_METHOD_SUM,   /* Σ v */
	SONDE_METHOD_MEAN,  /* Σ w·v / Σ w */
	SONDE_METHOD_MAX,   /* max v */
	SONDE_METHOD_UPPER, /* Σ max: an upper bound of the region's max */
	SONDE_METHOD_LOWER, /* Σ min: a lower bound of the region's min */
	SONDE_METHOD_PEAK,  /* throughput: the largest of its constituents' means */
	SONDE_METHOD_SAME,  /* the value that all launches have in common, else missing */
	SONDE_METHOD_MODE,  /* most frequent value, with smallest and largest */
};

enum sonde_weight {
	SONDE_WEIGHT_NONE,
	SONDE_WEIGHT_TIME,
	SONDE_WEIGHT_ELAPSED,	  /* the unit's cycles_elapsed */
	SONDE_WEIGHT_ACTIVE,	  /* the unit's cycles_active */
	SONDE_WEIGHT_DENOMINATOR, /* the counter that the ratio divides by */
};

struct sonde_rule {
	const char *pattern; /* glob over the metric name; the first match decides */
	uint8_t method;	     /* enum sonde_method */
	uint8_t weight;	     /* enum sonde_weight */
	uint8_t quality;     /* enum sonde_quality, if the capture has the weight */
	bool on_request;     /* reported only if named, for example device facts: not part of "all metrics" */
};

/* Never NULL: the last row of the table matches every name. */
const struct sonde_rule *sonde_rule_for(struct sonde_str metric);

/* One input: the names of all metrics of all inputs, and the input, which says which of them it has. */
struct sonde_capture {
	const struct sonde_map *names;
	const struct sonde_input *input;
};

/* A rule applied to one metric of one capture. */
struct sonde_rollup {
	uint32_t metric;    /* metric number */
	uint8_t method;	    /* enum sonde_method */
	uint8_t quality;    /* enum sonde_quality of the rule as planned */
	bool is_lower;	    /* MEAN of the smallest instances: if the figure is a bound, it is a lower one */
	bool per_instance;  /* the weight is per hardware instance: scale it by capacity across devices */
	uint32_t weight[2]; /* metrics whose product is the weight; SONDE_NONE = not used */
	uint32_t sibling;   /* UPPER, LOWER: metric number of the `.avg`, or SONDE_NONE */
	const char *says[2]; /* the method in words: [0] as planned, [1] if a launch lacks the weight */
	SONDE_VEC(uint32_t)
	constituents;	/* PEAK: metric numbers, from the capture's `breakdown:` */
	uint32_t next;	/* slot of the same metric with other weights, SONDE_NONE = none */
	uint8_t saying; /* index of says[0] among the methods of the metric's column */
};

/* Applies the rule of a metric. Texts are allocated in `arena`; without memory they are less precise. */
struct sonde_rollup sonde_rollup_for(
	const struct sonde_capture *c, uint32_t metric, struct sonde_arena *arena);

/* Whether two roll-ups of a throughput take the maximum over the same constituents. */
bool sonde_rollup_same_constituents(const struct sonde_rollup *a, const struct sonde_rollup *b);

#endif
