/*
 * Kernel by kernel: is it slower on this rank than on the others? A rank whose kernels
 * are slower wherever they are has a slow GPU. One whose kernels are slower in one region
 * has more or other data there.
 */
#include "tree/ranks_int.h"

#include "base/alloc.h"

#include <stdlib.h>

#define SLOWER 1.03 /* than the median of the others: less is noise */

/* All launches of a kernel in a region on one rank. */
struct entry {
	uint32_t kernel, home, cell;
	double mean_ns;
};

static int by_kernel_and_mean(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	int c = sonde_cmp(a->kernel, b->kernel);

	c = c ? c : sonde_cmp(a->home, b->home);
	c = c ? c : sonde_cmp(a->mean_ns, b->mean_ns);
	return c ? c : sonde_cmp(a->cell, b->cell);
}

/* The median of a sorted run without its element `skip`. */
static double median_without(const struct entry *at, size_t nr, size_t skip)
{
	size_t low = (nr - 2) / 2, high = (nr - 1) / 2;

	return (at[low + (low >= skip)].mean_ns + at[high + (high >= skip)].mean_ns) / 2;
}

bool sonde_ranks__find_slower(struct sonde_ranks_build *x)
{
	const struct sonde_cells *c = x->c;
	struct entry *at = sonde_malloc((c->cells.nr + 1) * sizeof(*at));
	size_t i, k, end, nr = 0;

	if (!at)
		return false;
	for (i = 0; i < c->cells.nr; i++) {
		const struct sonde_cell *cell = &c->cells.at[i];

		if (x->row_of[cell->scope] != SONDE_NONE && cell->launches && cell->time_ns > 0 &&
			!sonde_kernel_communicates(c->strings.keys[cell->kernel]))
			at[nr++] = (struct entry){cell->kernel, sonde_ranks__first_home(c, cell->place),
				(uint32_t)i, cell->time_ns / (double)cell->launches};
	}
	if (nr > 1)
		qsort(at, nr, sizeof(*at), by_kernel_and_mean);
	for (i = 0; i < nr; i = end) {
		for (end = i; end < nr && at[end].kernel == at[i].kernel && at[end].home == at[i].home;
			end++)
			;
		for (k = i; k < end && end - i > 1; k++) {
			const struct sonde_cell *cell = &c->cells.at[at[k].cell];

			if (at[k].mean_ns >= SLOWER * median_without(&at[i], end - i, k - i))
				sonde_ranks__add_time(
					x, x->slower_ns, cell->scope, cell->place, cell->time_ns);
		}
	}
	sonde_free(at);
	return true;
}
