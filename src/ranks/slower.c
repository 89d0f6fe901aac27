/*
 * Kernel by kernel: is it slower on this rank than on the others? A rank whose kernels
 * are slower wherever they are has a slow GPU. One whose kernels are slower in one region
 * has more or other data there.
 */
#include "ranks/ranks_int.h"

#include "base/alloc.h"
#include "base/quantile.h"

#include <stdlib.h>

/*
 * Slower than the median of the others by so much, or by half of what all kernels of the rank are slower: a GPU that
 * is 2 % slower has kernels that are 1 to 3 % slower.
 */
#define SLOWER	     0.03
#define LEAST_SLOWER 0.005 /* less is noise */
#define ABOUT	     0.25  /* ranks that differ by more have other work to do, as stages of a pipeline have */

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

/* One kernel of one region on all ranks that have it, sorted. */
static void compare(struct sonde_ranks_build *x, const struct entry *at, size_t nr, bool is_first_pass)
{
	size_t i;

	for (i = 0; i < nr && nr > 1; i++) {
		const struct sonde_cell *cell = &x->c->cells.at[at[i].cell];
		struct sonde_rank_row *row = &x->r->rows.at[x->row_of[cell->scope]];
		double median = median_without(at, nr, i), least = row->excess_ns / row->work_ns / 2;

		if (is_first_pass)
			row->excess_ns += (at[i].mean_ns - median) * (double)cell->launches;
		else if (at[i].mean_ns >= median * (1 + fmax(LEAST_SLOWER, fmin(SLOWER, least))))
			sonde_ranks__add_time(x, x->slower_ns, cell->scope, cell->place, cell->time_ns);
	}
}

/* Of ranks that are added up, no kernels are known: all their work is compared, where all ranks have about as much. */
static bool compare_folded(struct sonde_ranks_build *x)
{
	struct sonde_ranks *r = x->r;
	double *all = sonde_malloc((r->rows.nr + 1) * sizeof(*all)), median, excess;
	size_t i;

	if (!all)
		return false;
	for (i = 0; i < r->rows.nr; i++)
		all[i] = r->rows.at[i].work_ns;
	median = sonde_median(all, r->rows.nr);
	for (i = 0; i < r->rows.nr; i++) {
		excess = r->rows.at[i].work_ns - median;
		if (r->rows.at[i].who != SONDE_NONE && fabs(excess) <= ABOUT * median)
			r->rows.at[i].excess_ns = excess;
	}
	sonde_free(all);
	return true;
}

bool sonde_ranks__find_slower(struct sonde_ranks_build *x)
{
	const struct sonde_cells *c = x->c;
	struct entry *at = sonde_malloc((c->cells.nr + 1) * sizeof(*at));
	size_t i, end, nr = 0;
	int pass;

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
	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < nr; i = end) {
			for (end = i; end < nr && at[end].kernel == at[i].kernel && at[end].home == at[i].home; end++)
				;
			compare(x, &at[i], end - i, pass == 0);
		}
	sonde_free(at);
	return compare_folded(x);
}
