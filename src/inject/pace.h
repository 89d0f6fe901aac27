/*
 * The pace of a budget: when GPU work is timed, and for how long. Arithmetic alone, without a clock or
 * CUPTI, so that tests can run hours of it against programs whose loss is known (tests/unit/pace_test.c);
 * budget.c looks and switches.
 *
 *     struct pace p = {.budget = 0.02, .least_record_ns = 2600, .call_ns = 700};
 *     length = sonde_pace__begin(&p, &sight, seed);    GPU work is being timed
 *     length = sonde_pace__turn(&p, &sight);           `length` ns later, again and again:
 *     switch_cupti(p.is_timed);                        … what is to be now …
 *     sonde_pace__settle(&p, &sight);                  … and now it is
 *
 * The cost of a time of timing is launches × cost of one, and what switching took.
 * It is paid back by a pause in which nothing is timed, as long as the budget takes to allow so much.
 */
#ifndef SONDE_INJECT_PACE_H
#define SONDE_INJECT_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* The program as seen at a moment; everything counts from the beginning. */
struct pace_sight {
	uint64_t ns;	      /* the clock */
	uint64_t cpu_ns;      /* of all threads of the program */
	uint64_t nr_launches; /* that were seen */
	uint64_t nr_ranges;   /* that were entered */
	double switch_ns;     /* what the program lost to the last switch; 0 = there was none since */
	double record_ns;     /* how much longer a timed call takes; 0 = not known */
	double range_ns;      /* what a range takes, timed or not */
	bool counts_all;      /* launches are seen all the time */
};

struct pace_span {
	double ns, cpu_ns, launches, ranges;
};

struct pace {
	/* Set by whoever begins. */
	double budget;		/* a share of the program's time */
	double least_record_ns; /* timing costs a launch as much at least … */
	double call_ns;		/* … and its callback as much */
	/* To be read. */
	bool is_timed;
	double rate;	    /* launches a nanosecond, where there are some */
	double per_launch;  /* ns that a timed launch costs, factor and callback included */
	double record_ns;   /* … and without the callback */
	double ranges;	    /* share of time that ranges take, half of the budget at most … */
	double counted;	    /* … and counting launches */
	double spent_ns;    /* by timing, so far */
	double factor;	    /* ranges say that timing costs so many times what launches and switches say */
	/* Its own. */
	uint64_t seed;
	struct pace_sight last;
	double range_rate; /* ranges a nanosecond */
	struct pace_span window, before; /* the last time of timing, and the pause before it */
	double reckoned_ns;		 /* what that one was taken to cost, without the factor */
	double unpaid_ns;		 /* switches since the last payment */
	double owed_ns;			 /* of payments that were too small for a pause */
	uint32_t nr_going_on;		 /* times of timing since the last pause … */
	uint32_t nr_pauses;		 /* … of so many */
	double pair_ns;			 /* both switches of a time of timing, smoothed */
	struct pace_check {
		double ranges, cpu_ns; /* of pauses */
		double nr, lost, lost2, reckoned, reckoned2, both; /* sums, the latest count most */
	} check;
	struct pace_counting {
		uint64_t ns, nr_launches;
		double busy_ns, nr; /* time with launches, and launches */
	} counting;
};

/* GPU work is being timed: nanoseconds that the first time of it lasts. */
uint64_t sonde_pace__begin(struct pace *p, const struct pace_sight *now, uint64_t seed);
/* The present time is over: nanoseconds that the next one lasts; `is_timed` says what it is. */
uint64_t sonde_pace__turn(struct pace *p, const struct pace_sight *now);
void sonde_pace__settle(struct pace *p, const struct pace_sight *now);
/* Whether launches may go on being counted all the time; to be asked now and then. */
bool sonde_pace__may_count(struct pace *p, const struct pace_sight *now);

#endif
