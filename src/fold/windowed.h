/*
 * Inside fold/: estimates for captures with a budget, whose GPU work was timed
 * now and then (windowed.c says how).
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
	double scale;	     /* factor from what was timed, or counted where nothing was, to all launches */
	uint32_t last_call;
	uint64_t nr_late; /* launches since counting went on at times only … */
	uint32_t stays;	  /* … and the stays they are estimated by */
	double more;	  /* factor from those to all launches of that time … */
	double unseen;	  /* … and launches assumed although nobody looked */
	double due; /* launches that the cells so far should have, and those they were given */
	uint64_t given;
};

/* Stays of a process in a region, since launches are counted at times only. */
struct sonde_windowed_stays {
	uint64_t nr_early; /* before that, when all launches were counted */
	uint64_t nr;
	double seen, seen_at_most; /* so many of them were looked at */
};

/* The part of a stay in one timing. */
struct sonde_windowed_piece {
	uint32_t timing; /* number plus two: 1 is before the first */
	uint32_t stays;
	double share; /* of the stay */
};

struct sonde_windowed {
	struct sonde_windowed_stays *stays; /* by process, then region, then outside any; NULL = none */
	SONDE_VEC(struct sonde_windowed_piece) pieces;
	struct sonde_map keys; /* scope and place */
	SONDE_VEC(struct sonde_windowed_place) places;
	struct sonde_arena arena;
};

/* Each: false when memory is short. */
/* Launched since launches were counted at times only. */
bool sonde_windowed__is_late(const struct sonde_records *r, const struct sonde_record *rec);
/* Whether all launches of an entry are known. */
bool sonde_windowed__is_whole(const struct sonde_records *r, const struct sonde_range *range);
/* Counts all launches; false when memory is short. */
bool sonde_windowed__count(
	struct sonde_windowed *w, const struct sonde_launches *l, struct sonde_notes *notes);
/* The cells as those of all launches; false when memory is short. */
bool sonde_windowed__scale(
	struct sonde_windowed *w, struct sonde_cells *c, const struct sonde_plans *plans);
/* NULL when memory is short. */
struct sonde_windowed_place *sonde_windowed__place(
	struct sonde_windowed *w, uint32_t scope, uint32_t place);
/* After the visits have their times: which of them are estimates, and how good they are. */
bool sonde_windowed__errors(struct sonde_folding *f, struct sonde_windowed *w);
void sonde_windowed__release(struct sonde_windowed *w);

#endif
