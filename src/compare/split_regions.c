/*
 * One region that became several, or several that became one: a region on one side only whose
 * launches, kernel by kernel, are those of two and more neighbours on the other side only, below
 * the same parent.
 */
#include "compare/diff_int.h"

#include "base/bisect.h"
#include "base/keysort.h"

#define MOST_PARTS 8

/* Neighbours together, or one region. */
struct piece {
	uint32_t parent;
	uint64_t load;	    /* of all of them: the launches of an entry, kernel by kernel */
	uint32_t first, nr; /* slice of the lones; 1 = a whole */
};

struct lones {
	SONDE_VEC(uint32_t) at;		/* region numbers on one side, by parent, in order */
	SONDE_VEC(struct piece) pieces; /* neighbours of two and more */
};

static int by_load(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	int c = sonde_cmp(x->parent, y->parent);

	c = c ? c : sonde_cmp(x->load, y->load);
	c = c ? c : sonde_cmp(x->first, y->first);
	return c ? c : sonde_cmp(x->nr, y->nr);
}

/* Those of a side that nothing is known about yet and that launch something, by parent. */
static bool list_lones(
	struct lones *l, const struct sonde_diff *d, const uint64_t *loads, enum sonde_verdict side)
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

static bool list_pieces(struct lones *l, const struct sonde_diff *d, const uint64_t *loads)
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

/* The first with that parent and load, or NULL. */
static const struct piece *find_piece(const struct lones *l, uint32_t parent, uint64_t load)
{
	const struct piece key = {parent, load, 0, 0};
	size_t low = 0;

	sonde_bisect(low, l->pieces.nr, mid, by_load(&l->pieces.at[mid], &key) < 0);
	return low < l->pieces.nr && l->pieces.at[low].parent == parent &&
			       l->pieces.at[low].load == load
		       ? &l->pieces.at[low]
		       : NULL;
}

/* Wholes of one side against the pieces of the other. */
static void join(struct sonde_diff *d, const struct lones *wholes, const struct lones *parts,
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
	struct lones gone = {0}, came = {0};
	bool ok = list_lones(&gone, d, loads, SONDE_VERDICT_REMOVED) &&
		  list_lones(&came, d, loads, SONDE_VERDICT_ADDED) &&
		  list_pieces(&gone, d, loads) && list_pieces(&came, d, loads);

	if (ok) {
		join(d, &gone, &came, loads, SONDE_LIKE_SPLIT);
		join(d, &came, &gone, loads, SONDE_LIKE_MERGED);
	}
	sonde_vec_release(&gone.at);
	sonde_vec_release(&gone.pieces);
	sonde_vec_release(&came.at);
	sonde_vec_release(&came.pieces);
	return ok;
}
