/* Inside windowed_*.c: how far the launches that were timed scatter, on the way to ±. */
#ifndef SONDE_FOLD_WINDOWED_INT_H
#define SONDE_FOLD_WINDOWED_INT_H

#include "fold/windowed.h"

#define FEW_ENTRIES 8 /* fewer say nothing about their scatter */

/* What is known of a visit's scatter, of its time and of its number of launches. */
struct scatter {
	double by_entry; /* Σ of squares … */
	uint64_t nr_entries;
	struct sonde_scatter_sums {
		double squares;		/* … of the moves of all times … */
		double weight, weight2; /* … and Σ of the launches that each stands for, and of their squares */
		double move, open;	/* move and launches of the time at hand … */
	} by_time, nr_by_time;
	uint32_t timing; /* … which is this one, as timing_of; 0 = none yet */
	double bias, nr_bias; /* how far off it may be though nothing scatters */
	double timed, known, all; /* launches */
	bool is_rare; /* too few entries of its own */
	bool is_unseen; /* nobody looked: how far off it is cannot be told */
};

struct errors {
	struct sonde_folding *f;
	struct sonde_windowed *w;
	struct scatter *at;  /* by visit */
	double *of_sets, *of_ranges;
	bool *is_touched; /* by range */
	bool *is_taken;	  /* by place */
	/* Where launches were counted at times only: which places go by which stays. */
	uint32_t *first_place; /* by stays: number in the windowed places, plus one; 0 = none … */
	uint32_t *next_place;  /* … and by that number the next */
};

/* Adds up all launches and all parts of stays, by the time they were timed in; false: no memory. */
bool sonde_scatter__add_all(struct errors *e);
/* Adds up timed launches by entry of their regions, in those entered rarely by the innermost entries. */
void sonde_scatter__add_entries(struct errors *e);
/* A time of timing is over. */
void sonde_scatter__close_time(struct scatter *s);

#endif
