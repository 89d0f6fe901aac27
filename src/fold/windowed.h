/*
 * Inside the folding room: estimates of captures with a budget, whose GPU work
 * was timed now and then (windowed.c says how).
 */
#ifndef SONDE_FOLD_WINDOWED_H
#define SONDE_FOLD_WINDOWED_H

#include "fold/fold_int.h"
#include "fold/plans.h"

/* All launches of one place in one scope, whatever the selection. */
struct sonde_windowed_place {
	uint64_t nr_works;   /* timed … */
	uint64_t nr_calls;   /* … of so many launches: a graph is many works … */
	uint64_t nr_untimed; /* … and launches that were not */
	double time_ns;	     /* of the works */
	double scale;	     /* what was timed stands for this many times as much; NaN: nothing was */
	uint32_t last_call;
	double due; /* of the cells so far: launches they stand for, and given to them */
	uint64_t given;
};

struct sonde_windowed {
	struct sonde_map keys; /* scope and place */
	SONDE_VEC(struct sonde_windowed_place) places;
	struct sonde_arena arena;
};

/* Counts all launches; false when memory is short. */
bool sonde_windowed__count(struct sonde_windowed *w, const struct sonde_launches *l);
/* The cells as those of all launches; false when memory is short. */
bool sonde_windowed__scale(
	struct sonde_windowed *w, struct sonde_cells *c, const struct sonde_plans *plans);
/* NULL when memory is short. */
struct sonde_windowed_place *sonde_windowed__place(
	struct sonde_windowed *w, uint32_t scope, uint32_t place);
/* After the visits have their times: which of them are estimates, and how good they are. */
int sonde_windowed__errors(
	struct sonde_folding *f, struct sonde_windowed *w, struct sonde_err *err);
void sonde_windowed__release(struct sonde_windowed *w);

#endif
