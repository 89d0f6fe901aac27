/*
 * Inside the tree's room: how findings are found.
 *
 *   findings.c       the step, which regions are looked at, ranking
 *   finding_words.c  names, what to do, costs and gains in sentences
 *   finding_idle.c   idle time: inside regions, before, between and after their work
 *   finding_wait.c   waits that only a replay finds
 *   finding_work.c   busy time: copies, tiny kernels, kernels and their limiters, communication, ranks
 */
#ifndef SONDE_TREE_FINDINGS_INT_H
#define SONDE_TREE_FINDINGS_INT_H

#include "tree/findings.h"

/* State while findings are made. */
struct sonde_finder {
	struct sonde_findings *out;
	const struct sonde_tree *t;
	const struct sonde_report *r;
	struct sonde_figures figures;
	bool is_torch;
	double nr_sms; /* SMs of the first device; NaN = not known */
	bool failed;	    /* memory is short */
	uint64_t often;	    /* a region with at least this many entries is repeated */
	double run_ns;	    /* time of the run: costs outside the step are shares of it */
	uint32_t top;	    /* the node being examined: the step, or a region beside it; SONDE_NONE = work outside any region */
	double top_ns;	    /* wall time of `top`; for the step with the time until the next entry */
	bool is_startup;	    /* `top` is hardly ever entered and not around the step: a start-up */
	double between_ns;  /* total time between the entries of the step … */
	uint32_t culprit;   /* … and the region without GPU work that has most of it; SONDE_NONE = none is known */
};

/* A region inside that has this share of a region's time is examined instead. */
#define SONDE_MOST_OF_TIME 0.6
/* A smaller cost, as a share of the time of the examined region, is not worth a sentence. */
#define SONDE_LEAST_SHARE 0.02

/* Adds a finding in the examined region, ready for evidence and sentence. NULL: it costs too little, or memory is short. */
struct sonde_finding *sonde_finder__add(struct sonde_finder *x, enum sonde_cause cause, uint32_t node, double cost_ns);
/* Adds a figure as evidence, unless it is NaN or there is no room. */
void sonde_finder__prove(struct sonde_finding *to, struct sonde_evidence e);
/* Adds a metric of the finding's kernel or region as evidence, from x->figures; never twice. */
void sonde_finder__prove_metric(struct sonde_finder *x, struct sonde_finding *to, uint32_t column);
/* Adds a time of a region's row as evidence, in ms, under its name in JSON. */
void sonde_finder__prove_ms(struct sonde_finding *to, uint32_t node, const char *figure, double ns, const char *method);
/* Sets what an entry of the step is called: "each step" if its label says so, or if there is none. */
void sonde_finder__name_entry(struct sonde_finder *x);
/* Fills in the texts of the cause's row, with names. Commands get ids, because ids are unambiguous. */
void sonde_finder__fill_texts(struct sonde_finder *x, struct sonde_finding *f);
/* Appends "2.100 of 3.200 ms of each step (65%)" or "2.100 ms of the run (5%)". */
void sonde_finder__say_cost(const struct sonde_finder *x, struct sonde_buf *line, const struct sonde_finding *of);
/* Makes the text in `line` the finding's sentence, and releases the buffer. */
void sonde_finder__keep(struct sonde_finder *x, struct sonde_finding *to, struct sonde_buf *line);

/* The innermost region below `node` that has most of one member of struct sonde_node, the double at offset `at`. */
uint32_t sonde_finder__descend(const struct sonde_finder *x, uint32_t node, size_t at);
static inline double sonde_node__at(const struct sonde_node *n, size_t at)
{
	double v = *(const double *)((const char *)n + at);

	return v > 0 ? v : 0; /* a value that is not known counts as 0 */
}
/* Whether the program uses PyTorch: its kernels and traces have names of their own. */
bool sonde_finder__is_torch(const struct sonde_cells *c);
/* Whether `inner` is `node` or inside it. */
bool sonde_report__is_inside(const struct sonde_report *r, uint32_t inner, uint32_t node);
/*
 * Wall time of a region: how long its entries were open, or how long the device was busy and idle with its work, if that
 * is longer. Wall time of an entry: until its end, or until its work had ended, if that is later.
 */
double sonde_node__wall_ns(const struct sonde_node *n);
uint64_t sonde_entry__wall_ns(const struct sonde_entry *e);

void sonde_finder__idle(struct sonde_finder *x);
double sonde_finder__idle_at_most(const struct sonde_finder *x);
void sonde_finder__work(struct sonde_finder *x);
/* The time between the entries of the step in which no other region has work; sets x->culprit. */
double sonde_finder__measure_between(struct sonde_finder *x, uint32_t step);
void sonde_finder__between(struct sonde_finder *x);

#endif
