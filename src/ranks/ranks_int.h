/*
 * Inside the ranks' room.
 *
 *   ranks.c       the build; kernel time of each rank in each region, and which kernels are slower
 *   alignment.c   which ranks share a clock; one clock against another
 *   groups.c      collectives → communicators
 *   arrivals.c    who arrives last at each collective, and how long the others wait
 *   straggler.c   who is slow, and where, in sentences
 *   slow_causes.c whether that is more than ranks differ anyway, and what it is due to
 */
#ifndef SONDE_RANKS_RANKS_INT_H
#define SONDE_RANKS_RANKS_INT_H

#include "ranks/ranks.h"

#include <math.h>

/* Everything that is needed while building. */
struct sonde_ranks_build {
	struct sonde_ranks *r;
	const struct sonde_cells *c;
	uint32_t *row_of;    /* by scope: its rank, SONDE_NONE = none, or several */
	uint32_t *row_of_who; /* by folded scope */
	size_t *first_visit; /* by scope; one more at the end */
	double *launches;    /* by visit: kernels without communication */
	double *slower_ns;   /* by visit: of work_ns, in kernels that are slower than on others */
	struct sonde_map last_keys; /* {region, rank} that was last at a collective there … */
	SONDE_VEC(uint64_t) last;   /* … so often */
	struct sonde_arena arena;
};

/* The rank a collective is of, SONDE_NONE = of none. */
static inline uint32_t sonde_ranks__row_of(const struct sonde_ranks_build *x, const struct sonde_collective *k)
{
	return k->who == SONDE_NONE ? x->row_of[k->scope] : x->row_of_who[k->who];
}

/*
 * One clock against another by pairs of moments that are the same: `to = from + shift - drift × (from
 * - at)`, robust against pairs that are not.
 */
struct sonde_moment {
	double from, to; /* ns */
};
struct sonde_clock_fit {
	double shift_ns, drift, at_ns;
	double error_ns; /* 95 % of the pairs are within that */
};
/* Moments in order. False: no memory. */
bool sonde_clock__fit(struct sonde_clock_fit *out, const struct sonde_moment *at, size_t nr);
static inline double sonde_clock__map(const struct sonde_clock_fit *f, double from)
{
	return from + f->shift_ns - f->drift * (from - f->at_ns);
}
/* A moment of a rank, since its clock's base: as it was captured, and on the first clock. */
double sonde_ranks__since(const struct sonde_ranks *r, uint32_t row, uint64_t ns);
double sonde_ranks__time(const struct sonde_ranks *r, uint32_t row, uint64_t ns);

/* Ends that are further apart, beyond what clocks can be wrong, are not of one collective. */
#define SONDE_ENDS_NS	 50e3 /* or … */
#define SONDE_ENDS_SHARE 0.1 /* … of the longest, whichever is more */

/* The collectives of one rank in one group, or in one communicator: a run of `at`. */
struct sonde_member {
	uint32_t rank;
	uint32_t group;	    /* string number */
	uint32_t cluster;   /* which communicator */
	size_t first, nr;   /* of the order: by number, then kind */
};
struct sonde_members {
	SONDE_VEC(struct sonde_member) at; /* by cluster, then rank */
	uint32_t *order;		   /* numbers of collectives */
	uint32_t nr_clusters;
};
/* Finds which ranks are in one communicator. False: no memory. */
bool sonde_groups__find(struct sonde_members *out, struct sonde_ranks_build *x);
/* Collectives that two members have in common, spread over the run; at most SONDE_NR_COMMON. */
#define SONDE_NR_COMMON 128
struct sonde_common {
	const struct sonde_collective *a, *b;
};
size_t sonde_members__common(const struct sonde_ranks_build *x, const struct sonde_members *m,
	const struct sonde_member *a, const struct sonde_member *b, struct sonde_common *out);

/* Each false when memory is short. */
bool sonde_clocks__find(struct sonde_ranks_build *x);
bool sonde_clocks__align(struct sonde_ranks_build *x, const struct sonde_members *m);
bool sonde_arrivals__compare(struct sonde_ranks_build *x, const struct sonde_members *m);
bool sonde_stragglers__find(struct sonde_ranks_build *x);

/* Whether the last of two and more sorted values is beyond what the others differ by. */
bool sonde_beyond__one(const double *sorted, size_t nr);
/* Whether a group of values, those of a host, is beyond the rest, more than they differ among themselves. */
bool sonde_beyond__group(const double *group, size_t nr, const double *rest, size_t nr_rest);

#define SONDE_LEAST_COST 0.01  /* of all its work: less is not worth a sentence */
#define SONDE_MOST_OF	 0.8   /* that is "everywhere", or "all of it" */
/* Why the slowest rank of a region is slow: `at` is that region, sorted. */
uint8_t sonde_slow__judge(
	const struct sonde_ranks_build *x, const struct sonde_rank_time *at, size_t nr);
/* How many ranks the host of the slowest one has, if it is the host that is slow; else 0. */
uint32_t sonde_slow__count_node(const struct sonde_ranks_build *x, const struct sonde_rank_time *at,
	size_t nr, double *others_ns);
/* The share of a rank's kernel time in kernels that are slower than elsewhere, without the visit `but` (SIZE_MAX = none). */
double sonde_slow__share_of(const struct sonde_ranks_build *x, uint32_t rank, size_t but);
/* The clock of the straggler's GPU, and of the others'. */
void sonde_slow__add_clocks(const struct sonde_ranks_build *x, struct sonde_straggler *s);

/* Adds to all regions a cell of this scope counts in. */
void sonde_ranks__add_time(
	const struct sonde_ranks_build *x, double *by_visit, uint32_t scope, uint32_t place, double v);

#endif
