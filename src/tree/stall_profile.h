/*
 * Stall profiles: why the warps of a region, of a kernel or of a whole report did not go on, from PC samples.
 *
 * Shares are shares of warp samples, so they can be compared only within one kernel: a kernel with more warps has more
 * samples in the same time. The profile of several kernels is therefore the mean of their profiles, weighted by the time
 * that each took; the profile of one kernel is just its shares of samples. Kernels without samples have no weight, and
 * `sampled_ns` says how much time the profile covers.
 *
 * For single instructions and lines, walk the cells of a part (sonde_tree_cells) and their slices of `cells->stalls`;
 * `cells->symbols` and `cells->lines` say where these are in the code.
 */
#ifndef SONDE_TREE_STALL_PROFILE_H
#define SONDE_TREE_STALL_PROFILE_H

#include "tree/tree.h"

/* One reason. */
struct sonde_stall_share {
	uint32_t reason;   /* number in the cells' `stall_reasons` */
	struct sonde_str name; /* "long_scoreboard" */
	double samples, not_issued; /* as struct sonde_stall has them */
	double share;	   /* 0 … 1; all shares of a profile add up to 1 */
};

struct sonde_stall_profile {
	SONDE_VEC(struct sonde_stall_share) at; /* the largest share first, then by name; no zeros */
	double samples; /* samples of all reasons, issues included */
	double exact;	/* the part of `samples` that was not split over places */
	double sampled_ns; /* time of the launches whose kernels have samples */
};

/* Whether no sample was split over places: the region of a split sample is known only by time. */
static inline bool sonde_stall_profile_is_exact(const struct sonde_stall_profile *p)
{
	return p->exact >= p->samples;
}

/* Whether any input has PC samples. */
static inline bool sonde_tree_has_stalls(const struct sonde_tree *t)
{
	return t->cells && t->cells->stalls.nr > 0;
}

/*
 * Fills in the profile of a part; it is empty if the part has no samples. Start with `= {0}`, call this as often as you
 * like, then release. False when memory is short.
 */
bool sonde_stall_profile_make(struct sonde_stall_profile *out, const struct sonde_tree *t,
	const struct sonde_report *r, enum sonde_part part, uint32_t index);
void sonde_stall_profile_release(struct sonde_stall_profile *p);

#endif
