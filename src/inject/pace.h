/*
 * The pace of a budget: when windows open, and for how long. Arithmetic only, without a clock or
 * CUPTI, so that tests can run hours of it against programs whose loss is known (tests/unit/pace_test.c);
 * budget.c looks at the program and switches.
 *
 *     struct pace p = {.budget = 0.02, .least_record_ns = 2600, .call_ns = 700};
 *     length = sonde_pace__begin(&p, &sight, seed);    a window is open
 *     length = sonde_pace__turn(&p, &sight);           `length` ns later, again and again
 *     switch_window(p.is_open);                        the caller opens or closes the window …
 *     sonde_pace__switched(&p, &sight);                  … and says when that is done
 *
 * The cost of a window is launches × cost of one, ranges × cost of one, and the time lost to switching.
 * A pause pays the cost back: it lasts until the budget has allowed that much.
 */
#ifndef SONDE_INJECT_PACE_H
#define SONDE_INJECT_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* The program as seen at one moment. Members up to nr_ranges count from the beginning. */
struct pace_sight {
	uint64_t ns;	      /* the clock */
	uint64_t cpu_ns;      /* processor time of all threads of the program; 0 = not known */
	uint64_t nr_launches; /* launches in windows */
	uint64_t nr_ranges;   /* ranges entered, in windows or not */
	double switch_ns;     /* time the program lost to switching since the last turn */
	double borne_ns;      /* time the program lost between windows since the last turn, because CUPTI was there */
	double record_ns;     /* how much longer a recorded launch takes; 0 = not known */
	double range_ns;      /* cost of a range in a window */
	double passed_ns;     /* cost of a range outside windows */
};

/* The difference between two sights. */
struct pace_span {
	double ns, cpu_ns, launches, ranges;
};

struct pace {
	/* Set by the caller before it begins. */
	double budget;		/* share of the program's time that may be lost */
	double least_record_ns; /* recording is taken to cost a launch at least this much … */
	double call_ns;		/* … and CUPTI's callback this much */
	/* Results, for the caller to read. */
	bool is_open;	    /* a window should be open now */
	double rate;	    /* launches per nanosecond in windows, over times with launches */
	double per_launch;  /* ns that a launch costs in a window, factor and callback included */
	double per_range;   /* ns that a range costs in a window, factor included */
	double record_ns;   /* ns that recording costs a launch, factor included, without the callback */
	double spent_ns;    /* cost of all windows so far */
	double base_ns;	    /* cost outside windows so far */
	double factor;	    /* real cost of a window, by the speed of ranges ÷ its cost by launches, ranges and switches */
	/* Internal. */
	uint64_t seed, begin_ns;
	struct pace_sight last;
	double range_rate; /* ranges per nanosecond in windows */
	double base; /* share of time that is lost outside windows; cut at half of the budget */
	struct pace_span window, before; /* the last window, and the pause before it */
	double computed_ns;		 /* computed cost of that window, without the factor */
	double unpaid_ns;		 /* cost of switches since the last payment */
	double owed_ns;			 /* debt that was too small for a pause */
	uint32_t nr_going_on;		 /* turns since the last pause that left the window open */
	uint32_t nr_pauses;		 /* pauses so far */
	double switches_ns;			 /* cost of a window's two switches, smoothed */
	/* Compares the measured cost of windows with the computed one. Old values fade. */
	struct pace_check {
		double ranges, cpu_ns; /* in pauses */
		double nr, lost, lost2, computed, computed2, both; /* sums over windows: 1, loss, loss², cost, cost², loss × cost */
	} check;
};

/* Begins with an open window; returns its length in nanoseconds. */
uint64_t sonde_pace__begin(struct pace *p, const struct pace_sight *now, uint64_t seed);
/* Ends the present window or pause; returns the length of the next one in nanoseconds. `is_open` says which of the two it is. */
uint64_t sonde_pace__turn(struct pace *p, const struct pace_sight *now);
/* The caller has made the switch that the last turn asked for. */
void sonde_pace__switched(struct pace *p, const struct pace_sight *now);
/* A window is allowed, but nobody wants one yet: the time until `now` does not count as part of it. */
void sonde_pace__wait(struct pace *p, const struct pace_sight *now);

#endif
