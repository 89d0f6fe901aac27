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
	const char *name; /* "kernel", "range.level0"; its files are named so */
	const char *mode; /* the replay mode */
	unsigned level;
	SONDE_VEC(const char *) include; /* NVTX expressions in ncu's grammar */
};

struct sonde_plan {
	SONDE_VEC(struct sonde_plan_capture) captures;
	bool is_open_ended; /* the number of captures depends on the program's ranges */
	struct sonde_passes passes; /* passes for the named metrics; nr 0 = not known */
	char chip[32];		    /* chip that the passes are counted for; empty = not counted */
	bool is_chip_assumed;	    /* there is no GPU here and the user named no chip */
	bool has_base_clocks;	    /* ncu locks the clocks; false = they are left alone */
	uint64_t launches;	    /* launches that a look at the program found; 0 = not known */
	struct sonde_notes notes;
	struct sonde_arena arena;
};

/* A range to capture, when the program's own ranges are known. */
struct sonde_plan_range {
	const char *expression; /* NVTX expression that selects exactly this range */
	unsigned level;		/* how many other ranges to capture are around this one */
};

struct sonde_plan_request {
	const char *replay_mode;
	struct sonde_words include;	       /* NVTX expressions in ncu's grammar */
	struct sonde_words words;	       /* the user's own words for them */
	const size_t *word_of;		       /* for each expression, the index of the word it comes from */
	const struct sonde_plan_range *ranges; /* the program's ranges; NULL = not known */
	size_t nr_ranges;
	bool is_found_later; /* the run will look at the program's ranges first */
	struct sonde_words metrics; /* metrics to count the passes of */
	const char *chip;	   /* NULL = the chip here, else an assumed one */
	const char *clock_control; /* ncu's clock_control; NULL = not given */
};

int sonde_plan_build(
	struct sonde_plan *out, const struct sonde_plan_request *q, struct sonde_err *err);
void sonde_plan_release(struct sonde_plan *p);

bool sonde_replay_is_ranges(const char *mode); /* true for range and app-range */

/* Says in words whether ncu locks the card's clocks. */
const char *sonde_plan_clocks(const struct sonde_plan *p);

/* Prints the plan in a few lines, for people. */
void sonde_plan_show(const struct sonde_plan *p, struct sonde_buf *out);

#endif
