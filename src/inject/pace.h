/*
 * The pace of a budget: when windows open, and for how long. Arithmetic alone, without a clock or
 * CUPTI, so that tests can run hours of it against programs whose loss is known (tests/unit/pace_test.c);
 * budget.c looks and switches.
 *
 *     struct pace p = {.budget = 0.02, .least_record_ns = 2600, .call_ns = 700};
 *     length = sonde_pace__begin(&p, &sight, seed);    a window is open
 *     length = sonde_pace__turn(&p, &sight);           `length` ns later, again and again:
 *     switch_window(p.is_open);                        … what is to be now …
 *     sonde_pace__settle(&p, &sight);                  … and now it is
 *
 * The cost of a window is launches × cost of one, ranges × cost of one, and what switching took.
 * It is paid back by a pause, as long as the budget takes to allow so much.
 */
#ifndef SONDE_INJECT_PACE_H
#define SONDE_INJECT_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* The program as seen at a moment; times and numbers count from the beginning. */
struct pace_sight {
	uint64_t ns;	      /* the clock */
	uint64_t cpu_ns;      /* of all threads of the program; 0 = not known */
	uint64_t nr_launches; /* in windows */
	uint64_t nr_ranges;   /* that were entered, in windows or not */
	double switch_ns;     /* what the program lost to switching since the last turn … */
	double borne_ns;      /* … and between windows, because CUPTI was there */
	double record_ns;     /* how much longer a recorded launch takes; 0 = not known */
	double range_ns;      /* what a range takes in a window … */
	double passed_ns;     /* … and outside */
};

struct pace_span {
	double ns, cpu_ns, launches, ranges;
};

struct pace {
	/* Set by whoever begins. */
	double budget;		/* a share of the program's time */
	double least_record_ns; /* recording costs a launch as much at least … */
	double call_ns;		/* … and its callback as much */
	/* To be read. */
	bool is_open;
	double rate;	    /* launches a nanosecond, where there are some */
	double per_launch;  /* ns that a launch costs in a window, factor and callback included … */
	double per_range;   /* … and a range */
	double record_ns;   /* of a launch, without the callback */
	double spent_ns;    /* by windows, so far … */
	double base_ns;	    /* … and outside */
	double factor;	    /* ranges say that a window costs so many times what launches, ranges and switches say */
	/* Its own. */
	uint64_t seed, begin_ns;
	struct pace_sight last;
	double range_rate; /* ranges a nanosecond, in windows */
	double base; /* share of time that is lost outside windows; half of the budget at most */
	struct pace_span window, before; /* the last window, and the pause before it */
	double reckoned_ns;		 /* what that one was taken to cost, without the factor */
	double unpaid_ns;		 /* switches since the last payment */
	double owed_ns;			 /* of payments that were too small for a pause */
	uint32_t nr_going_on;		 /* turns that left the window open since the last pause … */
	uint32_t nr_pauses;		 /* … of so many */
	double pair_ns;			 /* both switches of a window, smoothed */
	struct pace_check {
		double ranges, cpu_ns; /* of pauses */
		double nr, lost, lost2, reckoned, reckoned2, both; /* sums, the latest count most */
	} check;
};

/* A window is open: nanoseconds that it lasts. */
uint64_t sonde_pace__begin(struct pace *p, const struct pace_sight *now, uint64_t seed);
/* The present window or pause is over: nanoseconds that the next one lasts; `is_open` says what it is. */
uint64_t sonde_pace__turn(struct pace *p, const struct pace_sight *now);
void sonde_pace__settle(struct pace *p, const struct pace_sight *now);
/* There could be a window, and nobody wants one: it has not begun. */
void sonde_pace__wait(struct pace *p, const struct pace_sight *now);

#endif
