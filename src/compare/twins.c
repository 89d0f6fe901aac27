/*
 * Finds regions that only one side has, and that may be the same under another name. First, a removed and an added
 * sibling are paired if they have the same label (with another kind: work that moved into a CUDA graph), else if they
 * have the same kernels, else, if neither launches anything, if they are the only pair that is entered equally often.
 * Regions inside a pair are paired in the same way. Then regions anywhere with the same label and kernels are paired:
 * they moved. Last come regions that were split or merged.
 */
#include "base/alloc.h"
#include "base/bisect.h"
#include "base/keysort.h"
#include "compare/diff_int.h"

#include <math.h>
#include <stdlib.h>

/* A region that only one side has, and what it looks like. */
struct lone {
	uint32_t region;
	uint32_t group;	    /* only regions of one group are paired: siblings, also children of two twins; or those of one scope */
	uint32_t depth;
	uint64_t look_hash; /* hash of what it looks like */
	bool is_added;
};

/* The ways in which two regions may look alike, the surest first. */
enum look { LOOK_LABEL, LOOK_KERNELS, LOOK_HOST, NR_LOOKS };

static int by_look(const void *a, const void *b)
{
	const struct lone *x = a, *y = b;
	int c = sonde_cmp(x->group, y->group);

	c = c ? c : sonde_cmp(x->look_hash, y->look_hash);
	return c ? c : sonde_cmp(x->region, y->region);
}

static int by_depth(const void *a, const void *b)
{
	const struct lone *x = a, *y = b;

	return x->depth != y->depth ? sonde_cmp(x->depth, y->depth) : sonde_cmp(x->region, y->region);
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

/* Pairs removed with added regions of a group that looks alike, in order. */
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

/* If regions look alike by little, they are paired only if there is no other candidate. */
static bool is_only_pair(const struct lone *at, size_t nr)
{
	return nr == 2 && at[0].is_added != at[1].is_added;
}

static void pair_only(struct sonde_diff *d, const struct lone *at, size_t nr)
{
	if (is_only_pair(at, nr))
		pair_two(d, at[at[0].is_added].region, at[!at[0].is_added].region, SONDE_LIKE_MOVED);
}

/* An equal number of entries is weak evidence: the entries must also take about as long. */
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

/* Calls `pair` for each group of siblings that look alike. */
static void pair_alike(struct sonde_diff *d, struct lone *at, size_t nr,
	void (*pair)(struct sonde_diff *d, const struct lone *at, size_t nr))
{
	size_t i, end;

	if (nr > 1)
		qsort(at, nr, sizeof(*at), by_look);
	for (i = 0; i < nr; i = end) {
		for (end = i + 1;
			end < nr && at[end].group == at[i].group && at[end].look_hash == at[i].look_hash;)
			end++;
		pair(d, &at[i], end - i);
	}
}

static uint32_t common_parent(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	uint32_t twin = r->parent == SONDE_NONE ? SONDE_NONE : d->regions.at[r->parent].twin;

	return twin != SONDE_NONE && twin < r->parent ? twin : sonde_diff__siblings(r);
}

/* A hash of one look of a region; 0 = the region does not have this look. */
static uint64_t hash_look(const struct sonde_diff_region *r, uint64_t kernels, enum look look)
{
	const struct sonde_diff_half *h = r->base.is_there ? &r->base : &r->new_half;

	if (look == LOOK_LABEL)
		return sonde_hash(r->label.p, r->label.n);
	if (look == LOOK_KERNELS)
		return kernels ? sonde_diff__mix(kernels, r->kind) : 0;
	return kernels ? 0 : sonde_diff__mix((uint64_t)llround(h->entries), r->kind);
}

/* Pairs regions of one depth, except those that have a twin already. */
static void pair_depth(struct sonde_diff *d, const uint64_t *kernels, const struct lone *lones,
	size_t nr_lones, enum look look, struct lone *scratch)
{
	size_t i, nr = 0;

	for (i = 0; i < nr_lones; i++) {
		uint32_t region = lones[i].region;
		const struct sonde_diff_region *r = &d->regions.at[region];
		uint64_t hash = hash_look(r, kernels[region], look);

		if (r->twin == SONDE_NONE && hash)
			scratch[nr++] = (struct lone){.region = region,
				.group = common_parent(d, r),
				.look_hash = hash,
				.is_added = r->verdict == SONDE_VERDICT_ADDED};
	}
	pair_alike(d, scratch, nr, look == LOOK_HOST ? pair_host : pair_group);
}

/* --- elsewhere -------------------------------------------------------------------------------- */

/* Pairs the outermost regions that only one side has, by label and kernels, wherever they are. */
static void pair_moved(struct sonde_diff *d, const uint64_t *kernels, const struct lone *lones,
	size_t nr_lones, struct lone *at)
{
	size_t i, nr = 0;

	for (i = 0; i < nr_lones; i++) {
		const struct sonde_diff_region *r = &d->regions.at[lones[i].region];
		bool is_inner =
			r->parent != SONDE_NONE && d->regions.at[r->parent].verdict == r->verdict;

		if (r->twin == SONDE_NONE && kernels[lones[i].region] && !is_inner)
			at[nr++] = (struct lone){.region = lones[i].region,
				.group = r->scope_nr,
				.look_hash = sonde_diff__mix(
					kernels[lones[i].region], sonde_hash(r->label.p, r->label.n)),
				.is_added = r->verdict == SONDE_VERDICT_ADDED};
	}
	pair_alike(d, at, nr, pair_only);
}

/* Pairs regions inside two regions that moved, by label. Outer ones come first. */
static void pair_inside_moved(
	struct sonde_diff *d, const struct lone *lones, size_t nr_lones, struct lone *at)
{
	size_t i, nr = 0;

	for (i = 0; i < nr_lones; i++) {
		struct sonde_diff_region *r = &d->regions.at[lones[i].region], *up;

		up = r->parent == SONDE_NONE ? NULL : &d->regions.at[r->parent];
		if (r->twin != SONDE_NONE || !up || up->likeness != SONDE_LIKE_MOVED)
			continue;
		at[nr++] = (struct lone){.region = lones[i].region,
			.group = common_parent(d, r),
			.look_hash = sonde_hash(r->label.p, r->label.n),
			.is_added = r->verdict == SONDE_VERDICT_ADDED};
	}
	pair_alike(d, at, nr, pair_only);
}

/* Lists all regions that only one side has, sorted by depth. */
static size_t list_lones(const struct sonde_diff *d, struct lone *lones)
{
	size_t i, nr = 0;

	for (i = 0; i < d->regions.nr; i++)
		if (sonde_diff__is_lone(&d->regions.at[i]))
			lones[nr++] = (struct lone){.region = (uint32_t)i, .depth = d->regions.at[i].depth};
	if (nr > 1)
		qsort(lones, nr, sizeof(*lones), by_depth);
	return nr;
}

#define MOST_PARTS 8
#define MOST_INSIDE 8 /* levels inside a moved region that are paired */

bool sonde_diff__pair(struct sonde_diff *d, const uint64_t *kernels)
{
	struct lone *lones = sonde_malloc((2 * d->regions.nr + 1) * sizeof(*lones)), *scratch;
	size_t nr, i, end, look;

	if (!lones)
		return false;
	nr = list_lones(d, lones);
	scratch = lones + nr;
	for (i = 0; i < nr; i = end) { /* outer regions first: their twins decide which regions below are siblings */
		for (end = i + 1; end < nr && lones[end].depth == lones[i].depth;)
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

/*
 * Finds one region that became several, or several that became one: the launches of a region that only one side has are,
 * kernel by kernel, the sum of those of two or more neighbours that only the other side has, below the same parent.
 */

/* Two or more neighbours together. */
struct piece {
	uint32_t parent;
	uint64_t load;	    /* launches per entry of all of them, kernel by kernel, as a sum of hashes */
	uint32_t first, nr; /* slice of `at` */
};

struct side_lones {
	SONDE_VEC(uint32_t) at;		/* region numbers of one side, siblings together, in order */
	SONDE_VEC(struct piece) pieces; /* all groups of two or more neighbours */
};

static int by_load(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	int c = sonde_cmp(x->parent, y->parent);

	c = c ? c : sonde_cmp(x->load, y->load);
	c = c ? c : sonde_cmp(x->first, y->first);
	return c ? c : sonde_cmp(x->nr, y->nr);
}

/* Lists the regions that only one side has, that launch something and have no twin yet, siblings together. */
static bool list_side(
	struct side_lones *l, const struct sonde_diff *d, const uint64_t *loads, enum sonde_verdict side)
{
	SONDE_VEC(struct sonde_keyed) all = {0};
	size_t i;
	bool ok = true;

	for (i = 0; i < d->regions.nr && ok; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];

		if (r->verdict == side && r->twin == SONDE_NONE && loads[i])
			ok = sonde_vec_put(
				&all, (struct sonde_keyed){sonde_diff__siblings(r), (uint32_t)i});
	}
	ok = ok && sonde_keysort(all.at, all.nr);
	for (i = 0; i < all.nr && ok; i++)
		ok = sonde_vec_put(&l->at, all.at[i].index);
	sonde_vec_release(&all);
	return ok;
}

static bool list_pieces(struct side_lones *l, const struct sonde_diff *d, const uint64_t *loads)
{
	size_t i, k;

	for (i = 0; i < l->at.nr; i++) {
		uint32_t parent = sonde_diff__siblings(&d->regions.at[l->at.at[i]]);
		uint64_t load = loads[l->at.at[i]];

		for (k = i + 1; k < l->at.nr && k < i + MOST_PARTS &&
				sonde_diff__siblings(&d->regions.at[l->at.at[k]]) == parent;
			k++) {
			load += loads[l->at.at[k]];
			if (!sonde_vec_put(&l->pieces,
				    (struct piece){parent, load, (uint32_t)i, (uint32_t)(k - i + 1)}))
				return false;
		}
	}
	sonde_vec_sort(&l->pieces, by_load);
	return true;
}

/* The first piece with this parent and load; NULL = there is none. */
static const struct piece *find_piece(const struct side_lones *l, uint32_t parent, uint64_t load)
{
	const struct piece key = {parent, load, 0, 0};
	size_t low = 0;

	sonde_bisect(low, l->pieces.nr, mid, by_load(&l->pieces.at[mid], &key) < 0);
	return low < l->pieces.nr && l->pieces.at[low].parent == parent &&
			       l->pieces.at[low].load == load
		       ? &l->pieces.at[low]
		       : NULL;
}

/* Joins whole regions of one side with pieces of the other. */
static void join_parts(struct sonde_diff *d, const struct side_lones *wholes, const struct side_lones *parts,
	const uint64_t *loads, enum sonde_likeness how)
{
	size_t i, k;

	for (i = 0; i < wholes->at.nr; i++) {
		struct sonde_diff_region *w = &d->regions.at[wholes->at.at[i]];
		const struct piece *p =
			find_piece(parts, sonde_diff__siblings(w), loads[wholes->at.at[i]]);
		bool is_free = p;

		for (k = 0; p && k < p->nr; k++)
			is_free &= d->regions.at[parts->at.at[p->first + k]].twin == SONDE_NONE;
		if (!is_free || w->twin != SONDE_NONE)
			continue;
		w->twin = parts->at.at[p->first];
		w->likeness = (uint8_t)how;
		w->nr_parts = p->nr;
		for (k = 0; k < p->nr; k++) {
			struct sonde_diff_region *part = &d->regions.at[parts->at.at[p->first + k]];

			part->twin = wholes->at.at[i];
			part->likeness = (uint8_t)how;
		}
	}
}

bool sonde_diff__find_parts(struct sonde_diff *d, const uint64_t *loads)
{
	struct side_lones gone = {0}, came = {0};
	bool ok = list_side(&gone, d, loads, SONDE_VERDICT_REMOVED) &&
		  list_side(&came, d, loads, SONDE_VERDICT_ADDED) &&
		  list_pieces(&gone, d, loads) && list_pieces(&came, d, loads);

	if (ok) {
		join_parts(d, &gone, &came, loads, SONDE_LIKE_SPLIT);
		join_parts(d, &came, &gone, loads, SONDE_LIKE_MERGED);
	}
	sonde_vec_release(&gone.at);
	sonde_vec_release(&gone.pieces);
	sonde_vec_release(&came.at);
	sonde_vec_release(&came.pieces);
	return ok;
}
