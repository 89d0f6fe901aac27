/*
 * The files of this room:
 *
 *   ranks.c       the build; kernel time of each rank in each region, and which kernels are slower
 *   alignment.c   which ranks share a clock; one clock against another
 *   groups.c      collectives → communicators
 *   arrivals.c    who arrives last at each collective, and how long the others wait
 *   straggler.c   who is slow, and where, in sentences
 *   slow_causes.c whether a rank is slower than ranks usually differ, and why
 */
#ifndef SONDE_RANKS_RANKS_INT_H
#define SONDE_RANKS_RANKS_INT_H

#include "ranks/ranks.h"

#include <math.h>

/* Everything that is needed while building. */
struct sonde_ranks_build {
	struct sonde_ranks *r;
	const struct sonde_cells *c;
	uint32_t *row_of;    /* by scope: its rank; SONDE_NONE = the scope is no rank, or several */
	uint32_t *row_of_folded; /* by folded scope: its rank */
	size_t *first_visit; /* by scope: its first visit; one more at the end */
	double *launches;    /* by visit: launches of kernels without communication */
	double *slower_ns;   /* by visit: the part of work_ns in kernels that are slower than on others */
	struct sonde_map last_keys; /* {region, rank} that was last at a collective there … */
	SONDE_VEC(uint64_t) last;   /* … and how often */
	struct sonde_arena arena;
};

/* The rank of a collective; SONDE_NONE = none. */
static inline uint32_t sonde_ranks__row_of(const struct sonde_ranks_build *x, const struct sonde_collective *k)
{
	return k->folded_scope == SONDE_NONE ? x->row_of[k->scope] : x->row_of_folded[k->folded_scope];
}

/*
 * Aligns one clock with another by pairs of moments that should be the same: `to = from + shift - drift × (from - at)`.
 * A few pairs that are not the same do no harm.
 */
struct sonde_moment {
	double from, to; /* ns, on the two clocks */
};
struct sonde_clock_fit {
	double shift_ns, drift, at_ns;
	double error_ns; /* 95 % of the pairs differ by less */
};
/* The moments must be in order. False: no memory. */
bool sonde_clock__fit(struct sonde_clock_fit *out, const struct sonde_moment *at, size_t nr);
static inline double sonde_clock__map(const struct sonde_clock_fit *f, double from)
{
	return from + f->shift_ns - f->drift * (from - f->at_ns);
}
/* A moment of a rank in nanoseconds: on the rank's own clock since the clock's base, and mapped to the first clock. */
double sonde_ranks__since(const struct sonde_ranks *r, uint32_t row, uint64_t ns);
double sonde_ranks__time(const struct sonde_ranks *r, uint32_t row, uint64_t ns);

/* Ends that differ by more than this, and by more than clocks can be wrong, do not belong to the same collective. */
#define SONDE_ENDS_NS	 50e3 /* ns, or … */
#define SONDE_ENDS_SHARE 0.1 /* … this share of the longest of them, whichever is more */

/* The collectives of one rank in one group: a slice of `order`. */
struct sonde_member {
	uint32_t rank;
	uint32_t group;	    /* string number of the group's name */
	uint32_t cluster;   /* number of the communicator */
	size_t first, nr;   /* slice of `order`, sorted by number, then kind */
};
struct sonde_members {
	SONDE_VEC(struct sonde_member) at; /* sorted by communicator, then rank */
	uint32_t *order;		   /* numbers of collectives */
	uint32_t nr_clusters;
};
/* Finds which ranks belong to the same communicator. False: no memory. */
bool sonde_groups__find(struct sonde_members *out, struct sonde_ranks_build *x);
/* Finds collectives that two members have in common, spread over the run; at most SONDE_NR_COMMON. Returns how many. */
#define SONDE_NR_COMMON 128
struct sonde_common {
	const struct sonde_collective *a, *b;
};
size_t sonde_members__common(const struct sonde_ranks_build *x, const struct sonde_members *m,
	const struct sonde_member *a, const struct sonde_member *b, struct sonde_common *out);

/* Each returns false when memory is short. */
bool sonde_clocks__find(struct sonde_ranks_build *x);
bool sonde_clocks__align(struct sonde_ranks_build *x, const struct sonde_members *m);
bool sonde_arrivals__compare(struct sonde_ranks_build *x, const struct sonde_members *m);
bool sonde_stragglers__find(struct sonde_ranks_build *x);

/* Whether the last of two or more sorted values is beyond what the others differ by. */
bool sonde_beyond__one(const double *sorted, size_t nr);
/* Whether the values of a group (a host's ranks) are beyond the rest by more than the values differ within each. */
bool sonde_beyond__group(const double *group, size_t nr, const double *rest, size_t nr_rest);

#define SONDE_LEAST_COST 0.01  /* share of a rank's work: a lower cost is not worth a sentence */
#define SONDE_MOST_OF	 0.8   /* from this share on, it is "everywhere" or "all of it" */
/* Why the slowest rank of a region is slow. `at`: all times of the region, sorted. */
uint8_t sonde_slow__judge(
	const struct sonde_ranks_build *x, const struct sonde_rank_time *at, size_t nr);
/* If the whole host of the slowest rank is slow: the number of its ranks there, and the others' median. Else 0. */
uint32_t sonde_slow__count_node(const struct sonde_ranks_build *x, const struct sonde_rank_time *at,
	size_t nr, double *others_ns);
/*
 * The share of a rank's kernel time in kernels that are slower than elsewhere, not counting the visit `but` (SIZE_MAX =
 * count all). NaN = not known.
 */
double sonde_slow__share_of(const struct sonde_ranks_build *x, uint32_t rank, size_t but);
/* Fills in the clock of the straggler's GPU and the median of the others'. */
void sonde_slow__add_clocks(const struct sonde_ranks_build *x, struct sonde_straggler *s);

/* Adds `v` to the visits of all regions that a place of this scope is in. */
void sonde_ranks__add_time(
	const struct sonde_ranks_build *x, double *by_visit, uint32_t scope, uint32_t place, double v);

#endif
