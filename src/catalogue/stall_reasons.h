/*
 * Why a warp did not go on: the stall reasons of PC sampling, each with words for people, in one table.
 *
 * The hardware's names are those of CUPTI and ncu: `smsp__pcsamp_warps_issue_stalled_long_scoreboard`. sonde uses the
 * last part as the reason's name. The reason's twin, whose name also has `_not_issued` at its end, counts only the
 * samples in which the scheduler issued no other warp either. A chip may have reasons that are not in the table: these
 * are shown by their name.
 */
#ifndef SONDE_CATALOGUE_STALL_REASONS_H
#define SONDE_CATALOGUE_STALL_REASONS_H

#include "base/str.h"

/* A note of the reader has these words if kept code has a line table in which nothing can be read. */
#define SONDE_HAS_BAD_LINES "have a line table that is damaged or of an unknown kind"

struct sonde_stall_reason {
	const char *name;  /* "long_scoreboard" */
	const char *words; /* "waits for memory (long scoreboard)" */
	const char *more;  /* a sentence: the meaning, and what usually helps */
	bool is_issue;	   /* the warp was chosen and went on: this is no stall */
};

/* NULL: the table does not have the reason. */
const struct sonde_stall_reason *sonde_stall_reason_find(struct sonde_str name);
/* The words for a reason; its name if the table does not have it. */
struct sonde_str sonde_stall_reason_words(struct sonde_str name);
/* Returns the short name, "long_scoreboard". `*is_twin`: the hardware's name ends in `_not_issued`. */
struct sonde_str sonde_stall_reason_short(struct sonde_str hardware_name, bool *is_twin);

#endif
