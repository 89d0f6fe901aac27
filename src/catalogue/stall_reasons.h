/*
 * Why a warp did not go on: the stall reasons of PC sampling, each with words for people. One table.
 *
 * The hardware's names are CUPTI's and ncu's: `smsp__pcsamp_warps_issue_stalled_long_scoreboard`. Everywhere in
 * sonde a reason is called by the last part. Its twin with `_not_issued` behind counts the samples in which
 * the scheduler issued no other warp either. A chip may have reasons that are not here: they are shown by their name.
 */
#ifndef SONDE_CATALOGUE_STALL_REASONS_H
#define SONDE_CATALOGUE_STALL_REASONS_H

#include "base/str.h"

struct sonde_stall_reason {
	const char *name;  /* "long_scoreboard" */
	const char *words; /* "waits for memory (long scoreboard)" */
	const char *more;  /* what that is, and what usually helps; a sentence */
	bool is_issue;	   /* the warp was chosen and went on: no stall */
};

/* NULL: it is not in the table. */
const struct sonde_stall_reason *sonde_stall_reason_find(struct sonde_str name);
/* The words for a reason, or its name. */
struct sonde_str sonde_stall_reason_words(struct sonde_str name);
/* "long_scoreboard" of the hardware's name; `*is_twin`: it has `_not_issued` behind. */
struct sonde_str sonde_stall_reason_short(struct sonde_str hardware_name, bool *is_twin);

#endif
