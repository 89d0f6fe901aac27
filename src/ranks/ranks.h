/*
 * Compares ranks: who is slow, where, and whether the rank, its GPU or its node is the reason; who arrives last at
 * collectives, and how long the others wait.
 *
 * Scopes are ranks of one job if all have a rank number, or if all have collectives. They are compared only if their
 * launches were measured one by one. In a region, the compared time is that of the kernels without communication: an
 * NCCL kernel lasts until the last rank has arrived, so it is long on the fast ranks and short on the slow one. A rank
 * is compared with the median of the others, so that one of two ranks can be slower than the other.
 *
 * Times of different clocks (two hosts, or two captures that do not name their host) are compared only after the clocks
 * were aligned by the ends of collectives, which are nearly the same moment on all ranks. docs/ranks-internals.md has
 * the rules and their limits.
 *
 * A report of many ranks keeps some as scopes and adds the others up (report.scopes.keep). All ranks are compared here,
 * those that are added up by the little that is kept of each.
 *
 * The comparison is made once from united cells and is read-only afterwards. A rank is its number in `rows`; regions,
 * scopes and strings are numbers of the cells.
 */
#ifndef SONDE_RANKS_RANKS_H
#define SONDE_RANKS_RANKS_H

#include "fold/cells.h"

#include <math.h>

/* Why a rank is slow. */
enum sonde_slow_cause {
	SONDE_SLOW_RANK, /* the same kernels take longer, in this region only */
	SONDE_SLOW_WORK, /* it launches more kernels */
	SONDE_SLOW_GPU,	 /* its kernels are slower everywhere */
	SONDE_SLOW_NODE, /* all ranks of its host are slow */
	SONDE_SLOW_IDLE, /* its kernels are not slower, but its GPU waits for the host */
	SONDE_SLOW_LATE, /* it arrives late at collectives, and its kernels do not explain that */
};
const char *sonde_slow_cause_name(enum sonde_slow_cause c); /* "rank", "work", "gpu", … */

/* One region, compared over the ranks that have kernels in it. */
struct sonde_rank_spread {
	uint32_t region;
	uint32_t nr;		   /* number of ranks; with one, the other members mean nothing */
	uint32_t slowest, fastest; /* numbers of ranks */
	double min_ns, median_ns, max_ns; /* time of kernels without communication */
	double others_ns;		  /* median of all ranks but the slowest */
	bool is_slow;	/* the slowest is slower than the others differ among themselves … */
	uint8_t cause;	/* … and why: enum sonde_slow_cause */
};

/* A rank that the others wait for, or all ranks of such a host. */
struct sonde_straggler {
	uint32_t rank;	 /* its number; of a host, the slowest rank */
	uint32_t region; /* SONDE_NONE: late at collectives, in any region */
	uint8_t cause;	 /* enum sonde_slow_cause */
	uint32_t nr_ranks;	  /* number of ranks that are slow for this reason: 1, or all of the host */
	double ns, others_ns;	  /* time in the region, and the others' median; without a region: total lateness, and 0 */
	uint64_t nr, nr_last;	  /* number of collectives compared, and of those where one of its ranks was last */
	double slower_share;	  /* share of its kernel time in kernels that are slower than elsewhere; NaN = not known */
	double kernels_share;	  /* without a region: share of `ns` that slower kernels explain */
	double clock_ghz, others_ghz; /* clock of the SMs while they worked; NaN = not sampled */
	struct sonde_str sentence;    /* all of this in words */
};

/* One rank. */
struct sonde_rank_row {
	uint32_t scope; /* the rank's scope, or the scope that it is added up in … */
	uint32_t folded_scope; /* … and then its number among the folded scopes; SONDE_NONE = the scope is the rank's own */
	const struct sonde_process *process; /* its host is empty if that is not known */
	uint32_t device;		     /* SONDE_NONE: the rank used no device */
	struct sonde_str name;
	uint32_t weight;     /* each collective that was kept counts for this many */
	uint32_t clock;	     /* number in `clocks` */
	uint64_t nr;	     /* number of collectives compared */
	uint64_t nr_last;    /* number of these at which it was last by more than clocks can be wrong */
	double wait_ns;	     /* time waited for the last rank; NaN = nothing was compared */
	double late_ns;	     /* Σ of how much later than the median rank it arrived */
	double work_ns;	     /* time of all its kernels without communication */
	double excess_ns;    /* how much longer these took than on the median rank, kernel by kernel and region by region */
	double comm_ns, exposed_ns; /* communication in regions; NaN = none */
};

/* The collectives of one region, over all ranks. */
struct sonde_region_row {
	uint32_t region;
	uint64_t nr;	     /* number of collectives at which some rank was last by more than clocks can be wrong */
	double wait_ns;	     /* time that all ranks together waited, at all collectives compared */
	uint32_t last;	     /* the rank that was last most often; SONDE_NONE = no rank was … */
	uint64_t nr_last;    /* … and how often */
};

/* One kind of collectives of a communicator. */
struct sonde_group_row {
	uint32_t name;	/* string number of the group's name */
	uint8_t kind;	/* enum sonde_collective_kind */
	uint32_t nr_ranks;
	uint64_t nr, nr_mismatched;	/* collectives compared; collectives left out, because their starts or ends do not fit */
	double wait_ns;		/* time that all ranks together waited */
	double transfer_ns;	/* Σ over collectives: from the last arrival to the median end */
	double nr_bytes;	/* Σ of the bytes that a rank handed in; 0 = not known */
};

#define SONDE_NR_LONG_WAITS 10

/* One collective, as all ranks saw it. */
struct sonde_long_wait {
	uint32_t group;	 /* string number of the group's name */
	uint8_t kind;	 /* enum sonde_collective_kind */
	uint32_t place;	 /* where the last rank was */
	uint32_t last;	 /* the last rank */
	uint32_t nr_ranks;
	uint64_t number; /* number within the group */
	double wait_ns;	 /* time that all ranks together waited */
	double late_ns;	 /* from the median rank's arrival to the last one's */
};

/* One clock: of all ranks of a host, or of a capture that does not name its host. */
struct sonde_rank_clock {
	struct sonde_str name;
	uint32_t nr_ranks;
	bool is_aligned;  /* it is aligned with others … */
	uint32_t with;	  /* … namely with this clock, the first of its set */
	uint64_t nr;	  /* number of collectives that it was aligned by */
	double ahead_ns;  /* how far it is ahead of `with`, in the middle of these … */
	double drift;	  /* … and how much that grows per nanosecond */
	double error_ns;  /* 95 % of these collectives end within this time of each other */
	uint64_t base_ns; /* private: times of this clock are counted from here … */
	double shift_ns, at_ns; /* … and shift_ns - drift × (time - at_ns) is added to get times of the first clock */
};

/* Time of a region's kernels without communication, on one rank. */
struct sonde_rank_time {
	uint32_t region, rank;
	size_t visit; /* number of the visit in the cells; SIZE_MAX = the rank is added up with others */
	double ns;
};
struct sonde_rank_times { /* as a vector: base/vec.h */
	struct sonde_rank_time *at;
	size_t nr, cap;
};
/* Sorts by region, then time. */
void sonde_rank_times_sort(struct sonde_rank_times *t);
/* The times of one region, in sorted times; their number in `*nr`. */
const struct sonde_rank_time *sonde_rank_times_of(const struct sonde_rank_times *t, uint32_t region, size_t *nr);
/* The median of sorted times; NaN if there are none. */
static inline double sonde_rank_times_median(const struct sonde_rank_time *at, size_t nr)
{
	return nr ? (at[(nr - 1) / 2].ns + at[nr / 2].ns) / 2 : NAN;
}

struct sonde_ranks {
	const struct sonde_cells *cells;
	uint32_t nr;	   /* number of ranks */
	uint32_t nr_hosts; /* 0 = the host of some rank is not known */
	SONDE_VEC(struct sonde_rank_spread) spreads;	/* by region */
	SONDE_VEC(struct sonde_straggler) stragglers;	/* the costliest first */
	SONDE_VEC(struct sonde_rank_row) rows;		/* by rank number, or process and device */
	struct sonde_rank_times times;			/* by region, then time */
	SONDE_VEC(struct sonde_region_row) regions;	/* by region; only those with collectives */
	SONDE_VEC(struct sonde_group_row) groups;
	SONDE_VEC(struct sonde_rank_clock) clocks;
	struct sonde_long_wait waits[SONDE_NR_LONG_WAITS]; /* the longest first */
	size_t nr_waits;
	uint64_t nr_collectives, nr_mismatched; /* collectives compared; collectives left out because they do not fit */
	double *work_ns;    /* by visit of the cells: time of kernels without communication */
	double *wait_ns;    /* by visit: time waited for the last rank at collectives; NaN = none */
	struct sonde_arena arena;
};

/* Sets `*out` to NULL if there are no two ranks to compare. False: no memory. */
bool sonde_ranks_build(struct sonde_ranks **out, const struct sonde_cells *c);
void sonde_ranks_free(struct sonde_ranks *r);

/* The spread of a region; NULL = it has none, or `r` is NULL. */
const struct sonde_rank_spread *sonde_ranks_spread(const struct sonde_ranks *r, uint32_t region);
/* The name of a rank, for people. */
struct sonde_str sonde_rank_name(const struct sonde_ranks *r, uint32_t rank);
/* Appends a sentence: how clocks were aligned, or why they were not. Appends nothing for a single clock. */
void sonde_clocks_say(struct sonde_buf *line, const struct sonde_ranks *r);

#endif
