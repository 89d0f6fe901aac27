/*
 * The plan: which captures a run needs, before anything runs.
 *
 * Kernel (and application) replay carries the NVTX stack of every launch: one
 * capture serves all regions at all depths. Range and app-range replay open
 * only the outermost matching range: disjoint regions share a capture, each
 * nesting level needs its own. Levels come from the ranges the program really
 * has where those are known, else from the expressions themselves: `A/B` is
 * inside `A`, and so is `A::B`.
 */
#ifndef SONDE_CAPTURE_PLAN_H
#define SONDE_CAPTURE_PLAN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/note.h"
#include "base/vec.h"
#include "capture/ncu_args.h"
#include "capture/passes.h"

struct sonde_plan_capture {
	const char *name; /* "kernel", "range.level0": names its files */
	const char *mode; /* the replay mode */
	unsigned level;
	SONDE_VEC(const char *) include; /* NVTX expressions in ncu's grammar */
};

struct sonde_plan {
	SONDE_VEC(struct sonde_plan_capture) captures;
	bool is_open_ended; /* how many captures there are depends on the program's ranges */
	struct sonde_passes passes; /* nr 0 = not known */
	char chip[32];		    /* they were counted for; empty = not counted */
	bool is_chip_assumed;	    /* no GPU here and none named */
	bool has_base_clocks;	    /* ncu locks the clocks; false = they are left alone */
	uint64_t launches;	    /* known from a look at the program; 0 = not known */
	struct sonde_notes notes;
	struct sonde_arena arena;
};

/* A range to capture, where the program's own ranges are known. */
struct sonde_plan_range {
	const char *expression; /* selects exactly this one */
	unsigned level;		/* how many other ranges to capture are around it */
};

struct sonde_plan_request {
	const char *replay_mode;
	struct sonde_words include;	       /* NVTX expressions in ncu's grammar */
	struct sonde_words words;	       /* what the user wrote for them */
	const size_t *word_of;		       /* per expression, the word it comes from */
	const struct sonde_plan_range *ranges; /* NULL = not known */
	size_t nr_ranges;
	bool is_found_later; /* the run will look at the program's ranges first */
	struct sonde_words metrics; /* for the passes */
	const char *chip;	   /* NULL = the one here, else assumed */
	const char *clock_control; /* what ncu does to the card's clocks; NULL = not said */
};

int sonde_plan_build(
	struct sonde_plan *out, const struct sonde_plan_request *q, struct sonde_err *err);
void sonde_plan_release(struct sonde_plan *p);

bool sonde_replay_is_ranges(const char *mode); /* range and app-range */

/* Says in words whether ncu locks the card's clocks. */
const char *sonde_plan_clocks(const struct sonde_plan *p);

/* The plan in a few lines, for people. */
void sonde_plan_show(const struct sonde_plan *p, struct sonde_buf *out);

#endif
