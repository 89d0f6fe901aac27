/*
 * Levels: the regions that a selection names, as expressions for Nsight Compute, and
 * how deep each is nested among the others. Range replay opens only the outermost
 * matching range, so each level needs a capture of its own.
 */
#ifndef SONDE_ATTRIBUTE_LEVELS_H
#define SONDE_ATTRIBUTE_LEVELS_H

#include "attribute/launches.h"
#include "base/arena.h"

struct sonde_level {
	uint32_t region;	/* region number in the launches */
	unsigned level;		/* number of other named regions around it */
	const char *expression; /* selects exactly this region */
};

struct sonde_levels {
	SONDE_VEC(struct sonde_level) at;
	struct sonde_arena arena;
};

/*
 * Without an include every region is named. If `l` has any launches, regions without launches are left
 * out. `l` should be built with `stack_only`, because ncu sees the real stack. Other domains and start/end
 * ranges get levels of their own, as they may cross.
 */
int sonde_levels_build(struct sonde_levels *out, const struct sonde_launches *l,
	struct sonde_words include, struct sonde_words exclude, struct sonde_err *err);
void sonde_levels_release(struct sonde_levels *v);
/* Sets `*out` to whether `word` alone names any region, with or without launches. */
int sonde_levels_has(
	bool *out, const struct sonde_launches *l, const char *word, struct sonde_err *err);

/*
 * Writes ncu's expression for one region: `[A/A::A1`, `libA@[op`, `overlap`. Regions 128 or more levels deep have none.
 * `*is_good` is true if the expression takes the region and not its parent. It is false for a region that the
 * grammar cannot name (an empty label). A label with a `;` or a control character becomes `regex:^a.b$/`, which
 * means the same to ncu, in our lists and pasted from a terminal, but matches at any depth.
 */
int sonde_region_expression_checked(struct sonde_buf *out, const struct sonde_launches *l,
	uint32_t region, bool *is_good, struct sonde_err *err);

#endif
