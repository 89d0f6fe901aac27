/*
 * Hot lines: the lines of source at which the warps of a kernel were found, and the most frequent stall reason at each.
 *
 * A line that was inlined at two places is two lines here, each with its own callers. Samples of code without a line
 * table belong to no line. `samples` counts them too, so that shares are shares of all samples.
 */
#ifndef SONDE_TREE_HOT_LINES_H
#define SONDE_TREE_HOT_LINES_H

#include "tree/tree.h"

struct sonde_hot_line {
	uint32_t line;	 /* number in the cells' `lines`; SONDE_NONE = an instruction without a line */
	uint32_t symbol, pc; /* only for instructions: as in struct sonde_stall */
	uint32_t reason; /* number in `stall_reasons`: the most frequent that is no issue; SONDE_NONE = all samples are issues */
	double samples, reason_samples;
};

struct sonde_hot_lines {
	SONDE_VEC(struct sonde_hot_line) at; /* the most samples first, then by number; no zeros */
	double samples; /* samples of the part, with a line or without */
};

/*
 * Fills in all lines of a part; none if the part has no samples, or no sample has a line. Start with `= {0}`, call this
 * as often as you like, then release. False when memory is short.
 */
bool sonde_hot_lines_make(struct sonde_hot_lines *out, const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index);
/* The same for instructions. These need no line table, but are missing if there were too many to tell apart. */
bool sonde_hot_lines_make_pcs(struct sonde_hot_lines *out, const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index);
void sonde_hot_lines_release(struct sonde_hot_lines *l);

#endif
