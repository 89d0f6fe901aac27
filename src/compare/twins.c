/*
 * Regions that one side alone has, and may be the same under another name: a
 * removed and an added sibling with the same label (another kind: work that moved into a CUDA
 * graph), or else with the same kernels, or, where neither launches anything, the one pair that is
 * entered as often. What lies inside two such is looked at the same way. Then those of the same
 * label and kernels anywhere: they moved.
 */
#include "compare/diff_int.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

/* A region on one side only, and what it looks like. */
struct lone {
	uint32_t region;
	uint32_t parent; /* of twins the first: their children are siblings */
	uint64_t looks;	 /* hash */
	bool is_added;
};

/* What makes two of them alike, the surest first. */
enum look { LOOK_LABEL, LOOK_KERNELS, LOOK_HOST, NR_LOOKS };

static int by_looks(const void *a, const void *b)
{
	const struct lone *x = a, *y = b;
	int c = sonde_cmp(x->parent, y->parent);

	c = c ? c : sonde_cmp(x->looks, y->looks);
	return c ? c : sonde_cmp(x->region, y->region);
}

static void pair_two(struct sonde_diff *d, uint32_t gone, uint32_t came, enum sonde_likeness how)
{
	struct sonde_diff_region *a = &d->regions.at[gone], *b = &d->regions.at[came];

	a->twin = came;
	b->twin = gone;
	if (how == SONDE_LIKE_RENAMED && sonde_str_eq(a->label, b->label) &&
		(a->kind == SONDE_REGION_GRAPH) != (b->kind == SONDE_REGION_GRAPH))
		how = SONDE_LIKE_GRAPH;
	a->likeness = b->likeness = (uint8_t)how;
}

/* Pairs the removed with the added ones of a group that looks alike, in order. */
static void pair_group(struct sonde_diff *d, const struct lone *at, size_t nr)
{
	size_t gone = 0, came = 0;

	for (;; gone++, came++) {
		while (gone < nr && at[gone].is_added)
			gone++;
		while (came < nr && !at[came].is_added)
			came++;
		if (gone >= nr || came >= nr)
			return;
		pair_two(d, at[gone].region, at[came].region, SONDE_LIKE_RENAMED);
	}
}

/* Where nothing but a count makes them alike: only if there is no other. */
static bool is_only_pair(const struct lone *at, size_t nr)
{
	return nr == 2 && at[0].is_added != at[1].is_added;
}

static void pair_only(struct sonde_diff *d, const struct lone *at, size_t nr)
{
	if (is_only_pair(at, nr))
		pair_two(d, at[at[0].is_added].region, at[!at[0].is_added].region, SONDE_LIKE_MOVED);
}

/* As many entries are little to go by: they have to take about as long, too. */
static void pair_host(struct sonde_diff *d, const struct lone *at, size_t nr)
{
	double gone, came;

	if (!is_only_pair(at, nr))
		return;
	gone = d->regions.at[at[at[0].is_added].region].base.median_ns;
	came = d->regions.at[at[!at[0].is_added].region].new_half.median_ns;
	if (came < 2 * gone && gone < 2 * came)
		pair_group(d, at, nr);
}

/* Each group that looks alike, below one parent. */
static void pair_alike(struct sonde_diff *d, struct lone *at, size_t nr,
	void (*pair)(struct sonde_diff *d, const struct lone *at, size_t nr))
{
	size_t i, end;

	if (nr > 1)
		qsort(at, nr, sizeof(*at), by_looks);
	for (i = 0; i < nr; i = end) {
		for (end = i + 1;
			end < nr && at[end].parent == at[i].parent && at[end].looks == at[i].looks;)
			end++;
		pair(d, &at[i], end - i);
	}
}

static uint32_t common_parent(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	uint32_t twin = r->parent == SONDE_NONE ? SONDE_NONE : d->regions.at[r->parent].twin;

	return twin != SONDE_NONE && twin < r->parent ? twin : sonde_diff__siblings(r);
}

/* 0 = it has no such look. */
static uint64_t look_of(const struct sonde_diff_region *r, uint64_t kernels, enum look look)
{
	const struct sonde_diff_half *h = r->base.is_there ? &r->base : &r->new_half;

	if (look == LOOK_LABEL)
		return sonde_hash(r->label.p, r->label.n);
	if (look == LOOK_KERNELS)
		return kernels ? sonde_diff__mix(kernels, r->kind) : 0;
	return kernels ? 0 : sonde_diff__mix((uint64_t)llround(h->entries), r->kind);
}

/* Regions of one depth; those that have a twin already stay out. */
static void pair_depth(struct sonde_diff *d, const uint64_t *kernels, const struct lone *lones,
	size_t nr_lones, enum look look, struct lone *scratch)
{
	size_t i, nr = 0;

	for (i = 0; i < nr_lones; i++) {
		uint32_t region = lones[i].region;
		const struct sonde_diff_region *r = &d->regions.at[region];
		uint64_t looks = look_of(r, kernels[region], look);

		if (r->twin == SONDE_NONE && looks)
			scratch[nr++] = (struct lone){region, common_parent(d, r), looks,
				r->verdict == SONDE_VERDICT_ADDED};
	}
	pair_alike(d, scratch, nr, look == LOOK_HOST ? pair_host : pair_group);
}

/* --- elsewhere -------------------------------------------------------------------------------- */

/* The outermost ones of a side, by label and kernels wherever they are. */
static void pair_moved(struct sonde_diff *d, const uint64_t *kernels, const struct lone *lones,
	size_t nr_lones, struct lone *at)
{
	size_t i, nr = 0;

	for (i = 0; i < nr_lones; i++) {
		const struct sonde_diff_region *r = &d->regions.at[lones[i].region];
		bool is_inner =
			r->parent != SONDE_NONE && d->regions.at[r->parent].verdict == r->verdict;

		if (r->twin == SONDE_NONE && kernels[lones[i].region] && !is_inner)
			at[nr++] = (struct lone){lones[i].region, r->scope_nr,
				sonde_diff__mix(kernels[lones[i].region],
					sonde_hash(r->label.p, r->label.n)),
				r->verdict == SONDE_VERDICT_ADDED};
	}
	pair_alike(d, at, nr, pair_only);
}

/* What is inside two that moved goes with them, by label; outer ones come first. */
static void pair_inside_moved(
	struct sonde_diff *d, const struct lone *lones, size_t nr_lones, struct lone *at)
{
	size_t i, nr = 0;

	for (i = 0; i < nr_lones; i++) {
		struct sonde_diff_region *r = &d->regions.at[lones[i].region], *up;

		up = r->parent == SONDE_NONE ? NULL : &d->regions.at[r->parent];
		if (r->twin != SONDE_NONE || !up || up->likeness != SONDE_LIKE_MOVED)
			continue;
		at[nr++] = (struct lone){lones[i].region, common_parent(d, r),
			sonde_hash(r->label.p, r->label.n), r->verdict == SONDE_VERDICT_ADDED};
	}
	pair_alike(d, at, nr, pair_only);
}

/* All of them, by depth: `looks` is that for now. */
static size_t list_lones(const struct sonde_diff *d, struct lone *lones)
{
	size_t i, nr = 0;

	for (i = 0; i < d->regions.nr; i++)
		if (sonde_diff__is_lone(&d->regions.at[i]))
			lones[nr++] = (struct lone){
				.region = (uint32_t)i, .looks = d->regions.at[i].depth};
	if (nr > 1)
		qsort(lones, nr, sizeof(*lones), by_looks);
	return nr;
}

#define MOST_INSIDE 8 /* levels inside a region that moved */

bool sonde_diff__pair(struct sonde_diff *d, const uint64_t *kernels)
{
	struct lone *lones = sonde_malloc((2 * d->regions.nr + 1) * sizeof(*lones)), *scratch;
	size_t nr, i, end, look;

	if (!lones)
		return false;
	nr = list_lones(d, lones);
	scratch = lones + nr;
	for (i = 0; i < nr; i = end) { /* outer ones first: who is a twin decides below it */
		for (end = i + 1; end < nr && lones[end].looks == lones[i].looks;)
			end++;
		for (look = 0; look < NR_LOOKS; look++)
			pair_depth(d, kernels, lones + i, end - i, look, scratch);
	}
	pair_moved(d, kernels, lones, nr, scratch);
	for (i = 0; i < MOST_INSIDE; i++)
		pair_inside_moved(d, lones, nr, scratch);
	sonde_free(lones);
	return true;
}
