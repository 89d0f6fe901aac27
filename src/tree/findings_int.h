/*
 * Inside the tree's room: how findings are found.
 *
 *   findings.c       the step, which regions are looked at, ranking
 *   finding_usual.c  the usual entries: which ones are left out because they are slow, and what the others cost
 *   finding_words.c  names, what to do, costs and gains in sentences
 *   finding_idle.c   idle time: inside regions, before, between and after their work
 *   finding_wait.c   waits that only a replay finds
 *   finding_work.c   busy time: copies, tiny kernels, kernels and their limiters, communication, ranks
 */
#ifndef SONDE_TREE_FINDINGS_INT_H
#define SONDE_TREE_FINDINGS_INT_H

#include "tree/entries.h"
#include "tree/findings.h"

/*
 * By what to multiply a time of all entries of a region, so that it is as if all entries were usual. 1 = they are. More
 * than 1: the entries that are left out have less of it.
 */
struct sonde_usual_shares {
	double wall, gpu, head, tail, idle[SONDE_NR_IDLE_CAUSES];
};

/* State while findings are made. */
struct sonde_finder {
	struct sonde_findings *out;
	const struct sonde_tree *t;
	const struct sonde_report *r;
	struct sonde_figures figures;
	bool is_torch;
	bool is_chosen; /* the user chose the step */
	double nr_sms; /* SMs of the first device; NaN = not known */
	bool failed;	    /* memory is short */
	uint64_t often;	    /* a region with at least this many entries is repeated */
	uint32_t top;	    /* the node being examined: the step, or a region beside it; SONDE_NONE = work outside any region */
	double top_ns;	    /* wall time of `top`; for the step as if all entries were usual, with the time until the next one */
	struct sonde_usual_shares usual; /* of the entries of `top` */
	double around_ns;	    /* how long all entries of `top` were open while nothing ran */
	uint64_t nr_left_out;	    /* entries of `top` that are not usual */
	bool is_startup;	    /* `top` is hardly ever entered and not around the step: a start-up; or the user chose another step */
	double all_between_ns; /* total time between the entries of the step */
	double between_ns;  /* as many times as there are entries: the mean time between usual entries … */
	uint32_t culprit;   /* … and the region without GPU work that has most of it; SONDE_NONE = none is known */
};

/* A region inside that has this share of a region's time is examined instead. */
#define SONDE_MOST_OF_TIME 0.6
/* A smaller cost, as a share of the time of the examined region, is not worth a sentence. */
#define SONDE_LEAST_SHARE 0.02

/* What something costs: in all entries, and `usual`, by what to multiply that so that it is as if all entries were usual. */
struct sonde_finding_cost {
	double ns, usual;
};

/*
 * Adds a finding in the examined region, ready for evidence and sentence. NULL: it costs too little, or memory is short.
 * If only unusual entries of the step have the cost, it is a cost beside the step.
 */
struct sonde_finding *sonde_finder__add(struct sonde_finder *x, enum sonde_cause cause, uint32_t node, struct sonde_finding_cost cost);
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
/* Appends "2.100 of 3.200 ms of each step (65%)" or "2.100 of 42.000 ms in ranges (5%)". */
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
/* Whether most launches outside any range are there because the capture does not have the calls that made them. */
bool sonde_finder__lacks_calls(const struct sonde_finder *x);
/* Whether the program uses PyTorch: its kernels and traces have names of their own. */
bool sonde_finder__is_torch(const struct sonde_cells *c);
/* Whether the GPU worked for a region, with launches that are selected or not. */
bool sonde_finder__has_work(const struct sonde_finder *x, uint32_t node);
/* Whether `inner` is `node` or inside it. */
bool sonde_report__is_inside(const struct sonde_report *r, uint32_t inner, uint32_t node);
/*
 * Wall time of a region: how long its entries were open, or how long the device was busy and idle with its work, if that
 * is longer. Wall time of an entry: until its end, or until its work had ended, if that is later.
 */
double sonde_node__wall_ns(const struct sonde_node *n);
uint64_t sonde_entry__wall_ns(const struct sonde_entry *e);

/* The single entries of a region, and which of them are left out of the costs of the step. */
struct sonde_usual {
	struct sonde_entry_runs runs;
	bool *is_left_out; /* run after run, entry after entry */
	size_t nr_left_out;
};
/* False: memory is short. Release it in any case. */
bool sonde_usual__find(struct sonde_usual *u, const struct sonde_finder *x, uint32_t node);
void sonde_usual__release(struct sonde_usual *u);
/* How long all entries of the region were open while nothing ran: before their first and after their last launch. */
double sonde_usual__around(const struct sonde_usual *u, const struct sonde_node *n);
bool sonde_usual__leaves_out(const struct sonde_usual *u, const struct sonde_gap *gap); /* it begins in or after such an entry */
void sonde_usual__share(struct sonde_usual_shares *s, const struct sonde_usual *u, const struct sonde_finder *x, uint32_t node);

void sonde_finder__idle(struct sonde_finder *x);
double sonde_finder__idle_at_most(const struct sonde_finder *x);
void sonde_finder__work(struct sonde_finder *x);
/* The time between the entries of the step in which no other region has work; sets x->culprit and both x->…between_ns. */
void sonde_finder__measure_between(struct sonde_finder *x, uint32_t step);
void sonde_finder__between(struct sonde_finder *x);

#endif
