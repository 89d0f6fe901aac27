/*
 * Ranks side by side: who is slow, where, and whether it is the rank, its GPU or
 * its node; who arrives last at collectives, and how long the others wait.
 *
 * Scopes are ranks of one job if all say so, or all communicate; their launches were measured one
 * by one. What is compared in
 * a region is the time of its kernels without communication: a kernel of NCCL
 * lasts until the last rank has arrived, so it is long on the fast ranks and short
 * on the slow one. Ranks are compared with the median of the others, so that one of
 * two can be slower than the other.
 *
 * Times of different clocks (two hosts, or two captures that do not name their host) are compared only
 * after the clocks were aligned by the ends of collectives, which are nearly the same
 * moment on all ranks. docs/ranks-internals.md has the rules and their limits.
 *
 * A report of many ranks keeps some as scopes and adds the others up (report.scopes.keep); here all
 * are compared, by the little that is kept of each.
 *
 * Made once from united cells, read-only afterwards. A rank is its number in `rows`; regions,
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
	SONDE_SLOW_IDLE, /* its kernels are no slower: its GPU waits for the host */
	SONDE_SLOW_LATE, /* it arrives late at collectives, and its kernels do not say why */
};
const char *sonde_slow_cause_name(enum sonde_slow_cause c); /* "rank", "work", "gpu", … */

/* One region over the ranks that have kernels in it. */
struct sonde_rank_spread {
	uint32_t region;
	uint32_t nr;		   /* of ranks; the rest means something for two and more */
	uint32_t slowest, fastest; /* ranks */
	double min_ns, median_ns, max_ns; /* kernels without communication */
	double others_ns;		  /* median of all but the slowest */
	bool is_slow;	/* the slowest is slower than its others beyond their own spread … */
	uint8_t cause;	/* … by this: enum sonde_slow_cause */
};

/* A rank, or all ranks of a host, that the others wait for. */
struct sonde_straggler {
	uint32_t rank;	 /* the slowest of them */
	uint32_t region; /* SONDE_NONE: late at collectives, wherever these are */
	uint8_t cause;	 /* enum sonde_slow_cause */
	uint32_t nr_ranks;	  /* slow for this reason: 1, or all of the host */
	double ns, others_ns;	  /* compared in the region; without one: late at collectives in all, 0 */
	uint64_t nr, nr_last;	  /* collectives compared, and where one of them was last */
	double slower_share;	  /* of its kernel time, in kernels that are slower than elsewhere */
	double kernels_share;	  /* without a region: of what it is late, by kernels that take longer */
	double clock_ghz, others_ghz; /* of the SMs while they worked; NaN when not sampled */
	struct sonde_str sentence;    /* all this for people */
};

/* One rank. */
struct sonde_rank_row {
	uint32_t scope; /* itself, or the one that it is added up in … */
	uint32_t who;	/* … as this of the folded scopes, SONDE_NONE = it is itself */
	const struct sonde_process *process; /* its host is empty when not known */
	uint32_t device;		     /* SONDE_NONE: it used none */
	struct sonde_str name;
	uint32_t step;	     /* each collective that is kept counts for so many */
	uint32_t clock;	     /* number in `clocks` */
	uint64_t nr;	     /* collectives compared */
	uint64_t nr_last;    /* of these it arrived last at, by more than clocks can be wrong */
	double wait_ns;	     /* waited for the last one; NaN when nothing was compared */
	double late_ns;	     /* arrived later than the median rank, summed up */
	double work_ns;	     /* all its kernels without communication */
	double excess_ns;    /* how much longer they took than the same kernels in the same regions on the median rank */
	double comm_ns, exposed_ns; /* in regions; NaN = none */
};

/* One region at collectives, over all ranks. */
struct sonde_region_row {
	uint32_t region;
	uint64_t nr;	     /* collectives at which somebody was last by more than clocks can be wrong */
	double wait_ns;	     /* of all ranks, at all collectives compared */
	uint32_t last;	     /* the rank that was last most often, SONDE_NONE = nobody … */
	uint64_t nr_last;    /* … so many times */
};

/* A communicator. */
struct sonde_group_row {
	uint32_t name;	/* string number */
	uint8_t kind;	/* enum sonde_collective_kind */
	uint32_t nr_ranks;
	uint64_t nr, nr_odd;	/* compared; left out as their ends or starts do not fit */
	double wait_ns;		/* of all ranks */
	double transfer_ns;	/* Σ over collectives: from the last arrival to the median end */
	double nr_bytes;	/* Σ that a rank handed in; 0 = not known */
};

#define SONDE_NR_LONG_WAITS 10

/* One collective, as all ranks saw it. */
struct sonde_long_wait {
	uint32_t group;	 /* string number */
	uint8_t kind;	 /* enum sonde_collective_kind */
	uint32_t place;	 /* where the last one was */
	uint32_t last;	 /* rank */
	uint32_t nr_ranks;
	uint64_t number; /* which of the group */
	double wait_ns;	 /* of all ranks */
	double late_ns;	 /* the last one after the median */
};

/* One clock: of all ranks of a host, or of a capture that does not name its host. */
struct sonde_rank_clock {
	struct sonde_str name;
	uint32_t nr_ranks;
	bool is_aligned;  /* with others … */
	uint32_t with;	  /* … which is to say, with this one: the first of them */
	uint64_t nr;	  /* collectives that it was aligned by */
	double ahead_ns;  /* of that clock, in the middle of these … */
	double drift;	  /* … and so much more per nanosecond */
	double error_ns;  /* 95 % of these collectives end within that of each other */
	uint64_t base_ns; /* private: times are counted from here … */
	double shift_ns, at_ns; /* … and moved by shift - drift × (time - at) to the first clock */
};

/* A region's kernels without communication on one rank. */
struct sonde_rank_time {
	uint32_t region, rank;
	size_t visit; /* of the cells; SIZE_MAX: the rank is added up with others */
	double ns;
};
struct sonde_rank_times { /* as a vector: base/vec.h */
	struct sonde_rank_time *at;
	size_t nr, cap;
};
/* By region, then time. */
void sonde_rank_times_sort(struct sonde_rank_times *t);
/* The times of one region among sorted ones, and how many there are. */
const struct sonde_rank_time *sonde_rank_times_of(const struct sonde_rank_times *t, uint32_t region, size_t *nr);
/* The median of times that are sorted; NaN of none. */
static inline double sonde_rank_times_median(const struct sonde_rank_time *at, size_t nr)
{
	return nr ? (at[(nr - 1) / 2].ns + at[nr / 2].ns) / 2 : NAN;
}

struct sonde_ranks {
	const struct sonde_cells *cells;
	uint32_t nr;	   /* ranks */
	uint32_t nr_hosts; /* 0 = not known of all */
	SONDE_VEC(struct sonde_rank_spread) spreads;	/* by region */
	SONDE_VEC(struct sonde_straggler) stragglers;	/* the one that costs most first */
	SONDE_VEC(struct sonde_rank_row) rows;		/* by rank, or process and device */
	struct sonde_rank_times times;			/* by region, then time */
	SONDE_VEC(struct sonde_region_row) regions;	/* by region; those with collectives */
	SONDE_VEC(struct sonde_group_row) groups;
	SONDE_VEC(struct sonde_rank_clock) clocks;
	struct sonde_long_wait waits[SONDE_NR_LONG_WAITS]; /* the longest first */
	size_t nr_waits;
	uint64_t nr_collectives, nr_odd; /* compared; left out as they do not fit */
	double *work_ns;    /* by visit of the cells: kernels without communication */
	double *wait_ns;    /* by visit: waited at collectives for the last rank; NaN = none */
	struct sonde_arena arena;
};

/* `*out` is NULL where there are not two ranks to compare. False: no memory. */
bool sonde_ranks_build(struct sonde_ranks **out, const struct sonde_cells *c);
void sonde_ranks_free(struct sonde_ranks *r);

/* The spread of a region, NULL when it has none. */
const struct sonde_rank_spread *sonde_ranks_spread(const struct sonde_ranks *r, uint32_t region);
/* The name of a rank, for people. */
struct sonde_str sonde_rank_name(const struct sonde_ranks *r, uint32_t rank);
/* A sentence for people: how clocks were aligned, or why not (nothing for one clock). */
void sonde_clocks_say(struct sonde_buf *line, const struct sonde_ranks *r);

#endif
