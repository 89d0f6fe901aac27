/*
 * Regions that one side alone has, and may be the same under another name: a
 * removed and an added sibling with the same label (another kind: work that moved into a CUDA
 * graph), or else with the same kernels. What lies inside two such is looked at the same way.
 */
#include "compare/diff_int.h"

#include "base/alloc.h"

#include <stdlib.h>

/* A region on one side only, and what it looks like. */
struct lone {
	uint32_t region;
	uint32_t parent; /* of twins the first: their children are siblings */
	uint64_t looks;	 /* hash */
	bool is_added;
};

static bool is_lone(const struct sonde_diff_region *r)
{
	return r->verdict == SONDE_VERDICT_ADDED || r->verdict == SONDE_VERDICT_REMOVED;
}

static int by_looks(const void *a, const void *b)
{
	const struct lone *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->looks != y->looks)
		return x->looks < y->looks ? -1 : 1;
	return x->region < y->region ? -1 : x->region > y->region;
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
		d->regions.at[at[gone].region].twin = at[came].region;
		d->regions.at[at[came].region].twin = at[gone].region;
	}
}

static void pair_alike(struct sonde_diff *d, struct lone *at, size_t nr)
{
	size_t i, end;

	qsort(at, nr, sizeof(*at), by_looks);
	for (i = 0; i < nr; i = end) {
		for (end = i + 1;
			end < nr && at[end].parent == at[i].parent && at[end].looks == at[i].looks;)
			end++;
		pair_group(d, &at[i], end - i);
	}
}

static uint32_t common_parent(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	uint32_t twin = r->parent == SONDE_NONE ? SONDE_NONE : d->regions.at[r->parent].twin;

	return twin != SONDE_NONE && twin < r->parent ? twin : r->parent;
}

/* Regions of one depth, by label or by kernels; those that have a twin already stay out. */
static void pair_depth(struct sonde_diff *d, const uint64_t *kernels, const struct lone *lones,
	size_t nr_lones, bool by_label, struct lone *scratch)
{
	size_t i, nr = 0;

	for (i = 0; i < nr_lones; i++) {
		uint32_t region = lones[i].region;
		const struct sonde_diff_region *r = &d->regions.at[region];
		uint64_t looks[2] = {kernels[region], r->kind};

		if (r->twin != SONDE_NONE || (!by_label && !kernels[region]))
			continue;
		scratch[nr++] = (struct lone){region, common_parent(d, r),
			by_label ? sonde_hash(r->label.p, r->label.n)
				 : sonde_hash(looks, sizeof(looks)),
			r->verdict == SONDE_VERDICT_ADDED};
	}
	if (nr > 1)
		pair_alike(d, scratch, nr);
}

/* All of them, by depth: `looks` is that for now. */
static size_t list_lones(const struct sonde_diff *d, struct lone *lones)
{
	size_t i, nr = 0;

	for (i = 0; i < d->regions.nr; i++)
		if (is_lone(&d->regions.at[i]))
			lones[nr++] = (struct lone){
				.region = (uint32_t)i, .looks = d->regions.at[i].depth};
	if (nr > 1)
		qsort(lones, nr, sizeof(*lones), by_looks);
	return nr;
}

bool sonde_diff__pair(struct sonde_diff *d, const uint64_t *kernels)
{
	struct lone *lones = sonde_malloc((2 * d->regions.nr + 1) * sizeof(*lones)), *scratch;
	size_t nr, i, end;

	if (!lones)
		return false;
	nr = list_lones(d, lones);
	scratch = lones + nr;
	for (i = 0; i < nr; i = end) { /* outer ones first: who is a twin decides below it */
		for (end = i + 1; end < nr && lones[end].looks == lones[i].looks;)
			end++;
		pair_depth(d, kernels, lones + i, end - i, true, scratch);
		pair_depth(d, kernels, lones + i, end - i, false, scratch);
	}
	sonde_free(lones);
	return true;
}
