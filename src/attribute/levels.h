/*
 * Levels: the regions a selection names, as Nsight Compute's expressions, and
 * how deep each is nested among the others. Range replay opens only the outermost
 * matching range, so regions of different levels need captures of their own.
 */
#ifndef SONDE_ATTRIBUTE_LEVELS_H
#define SONDE_ATTRIBUTE_LEVELS_H

#include "attribute/launches.h"
#include "base/arena.h"

struct sonde_level {
	uint32_t region;	/* number in the launches */
	unsigned level;		/* how many other named regions are around it */
	const char *expression; /* selects exactly this region */
};

struct sonde_levels {
	SONDE_VEC(struct sonde_level) at;
	struct sonde_arena arena;
};

/*
 * No include names every region. Where launches are known, regions without any are left out. `l`
 * should be built with `stack_only`: ncu sees the real stack. Other domains and start/end ranges
 * get levels of their own, as they may cross.
 */
int sonde_levels_build(struct sonde_levels *out, const struct sonde_launches *l,
	struct sonde_words include, struct sonde_words exclude, struct sonde_err *err);
void sonde_levels_release(struct sonde_levels *v);
/* Whether `word` alone names any region, be it one without launches. */
int sonde_levels_has(
	bool *out, const struct sonde_launches *l, const char *word, struct sonde_err *err);

/*
 * ncu's expression for one region: `[A/A::A1`, `libA@[op`, `overlap`; none below 128 levels.
 * `*is_good` when the filter takes the region by it and not the region around. False for what the
 * grammar cannot say (an empty label). A `;` or control character in a label makes it
 * `regex:^a.b$/`, which means the same to ncu, in our lists and pasted from a terminal, but at any
 * depth.
 */
int sonde_region_expression_checked(struct sonde_buf *out, const struct sonde_launches *l,
	uint32_t region, bool *is_good, struct sonde_err *err);

#endif
