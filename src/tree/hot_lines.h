/*
 * Hot lines: the lines of source at which the warps of a kernel were found, with what they mostly waited for there.
 *
 * A line that was inlined at two places is two lines here, each with its callers. Samples of code without a line table
 * are in no line: `samples` has them too, so that shares are of everything.
 */
#ifndef SONDE_TREE_HOT_LINES_H
#define SONDE_TREE_HOT_LINES_H

#include "tree/tree.h"

struct sonde_hot_line {
	uint32_t line;	 /* number in the cells' `lines`; of an instruction SONDE_NONE where it has none */
	uint32_t symbol, pc; /* of an instruction: as struct sonde_stall has them */
	uint32_t reason; /* the most frequent one that is no issue, a number in `stall_reasons`; SONDE_NONE = all were issued */
	double samples, reason_samples;
};

struct sonde_hot_lines {
	SONDE_VEC(struct sonde_hot_line) at; /* the most samples first, then by number; no zeros */
	double samples; /* of the part: with a line or without */
};

/*
 * Fills in the lines of a part, all of them; none where it has no samples, or none has a line. Start with `= {0}`,
 * ask as often as you like, then release. False when memory is short.
 */
bool sonde_hot_lines_make(struct sonde_hot_lines *out, const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index);
/* The same of instructions, which are there without line tables too; but not where there were too many to tell apart. */
bool sonde_hot_lines_make_pcs(struct sonde_hot_lines *out, const struct sonde_tree *t, const struct sonde_report *r,
	enum sonde_part part, uint32_t index);
void sonde_hot_lines_release(struct sonde_hot_lines *l);

#endif
