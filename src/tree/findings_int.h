/*
 * Inside the tree's room: how findings are found.
 *
 *   findings.c       the step, which regions are looked at, ranking, names
 *   finding_idle.c   idle time: inside regions, before, between and after their work
 *   finding_work.c   busy time: copies, tiny kernels, kernels and their limiters, communication, ranks
 */
#ifndef SONDE_TREE_FINDINGS_INT_H
#define SONDE_TREE_FINDINGS_INT_H

#include "tree/findings.h"

/* While findings are made. */
struct sonde_finder {
	struct sonde_findings *out;
	const struct sonde_tree *t;
	const struct sonde_report *r;
	struct sonde_figures figures;
	bool is_torch;
	double nr_sms; /* of the first device; NaN = not known */
	bool failed;	    /* memory is short */
	uint64_t often;	    /* entries from which on a region is repeated */
	double run_ns;	    /* what shares beside the step are of */
	uint32_t top;	    /* the region that is looked at: the step, or one beside it */
	double top_ns;	    /* its wall time, of the step with what follows */
	bool is_once;	    /* it is hardly entered, and not around the step: a start-up */
	double between_ns;  /* the time between all its entries; 0 but for the step … */
	uint32_t culprit;   /* … and the region without GPU work that has most of it; SONDE_NONE = none is known */
};

/* Most of a region's time in one inside it: look there. */
#define SONDE_MOST_OF_TIME 0.6
/* A share of the time of the region looked at: less is not worth a sentence. */
#define SONDE_LEAST_SHARE 0.02

/* A new finding in the region looked at, ready for evidence and sentence; NULL where it costs too little. */
struct sonde_finding *sonde_finder__add(struct sonde_finder *x, enum sonde_cause cause, uint32_t node, double cost_ns);
/* A figure of a region's row (kernel SONDE_NONE), or of a kernel's. */
void sonde_finder__prove(struct sonde_finding *to, struct sonde_evidence e);
/* A metric of the kernel or region of a finding, from x->figures; once. */
void sonde_finder__prove_metric(struct sonde_finder *x, struct sonde_finding *to, uint32_t column);
/* A time in ms of a region's row, as JSON names it. */
void sonde_finder__prove_ms(struct sonde_finding *to, uint32_t node, const char *figure, double ns, const char *method);
/* "2.100 ms of each step (65%)", "2.100 ms of the run (5%)". */
void sonde_finder__say_cost(const struct sonde_finder *x, struct sonde_buf *line, const struct sonde_finding *of);
/* Keeps the sentence and releases the buffer. */
void sonde_finder__keep(struct sonde_finder *x, struct sonde_finding *to, struct sonde_buf *line);

/* The innermost region below `node` that has most of a member of its struct sonde_node; `at` is its offset. */
uint32_t sonde_finder__descend(const struct sonde_finder *x, uint32_t node, size_t at);
static inline double sonde_node__at(const struct sonde_node *n, size_t at)
{
	double v = *(const double *)((const char *)n + at);

	return v > 0 ? v : 0; /* not known counts as none */
}
/* Whether `inner` is `node` or inside it. */
bool sonde_report__is_inside(const struct sonde_report *r, uint32_t inner, uint32_t node);
/* Wall time of a region: while an entry was open, or its work ran. An entry: from its begin to its end, or to that of its work. */
double sonde_node__wall_ns(const struct sonde_node *n);
uint64_t sonde_entry__wall_ns(const struct sonde_entry *e);

void sonde_finder__idle(struct sonde_finder *x);
double sonde_finder__idle_at_most(const struct sonde_finder *x);
void sonde_finder__work(struct sonde_finder *x);
/* The time between the entries of the step in which no other region has work; sets x->culprit. */
double sonde_finder__measure_between(struct sonde_finder *x, uint32_t step);
void sonde_finder__between(struct sonde_finder *x);

#endif
