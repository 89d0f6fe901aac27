/* What the slowest rank of a region is slow by: its work, its GPU, its host, or something else. */
#include "ranks/ranks_int.h"

#include "base/alloc.h"
#include "base/quantile.h"
#include "catalogue/attributes.h"
#include "fold/sampled.h"

#include <math.h>

#define LEAST_BESIDE 0.002 /* of all its work: less beside a region says nothing */

static struct sonde_str host_of(const struct sonde_ranks_build *x, uint32_t rank)
{
	return x->r->rows.at[rank].host;
}

/* The other ranks of the host are half as slow as the slowest on average: it is not that one alone. */
static bool is_shared(const double *same, size_t nr, double slowest, double median)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += same[i];
	return (sum - slowest) / (double)(nr - 1) - median >= (slowest - median) / 2;
}

uint32_t sonde_slow__count_node(const struct sonde_ranks_build *x, const struct sonde_rank_time *at,
	size_t nr, double *others_ns)
{
	struct sonde_str host = host_of(x, at[nr - 1].rank);
	double *rest = x->r->nr_hosts > 1 ? sonde_malloc(2 * (nr + 1) * sizeof(*rest)) : NULL, *same = rest ? rest + nr : NULL;
	size_t i, nr_rest = 0, nr_same = 0;
	bool is_node = false;

	for (i = 0; rest && i < nr; i++) {
		if (sonde_str_eq(host_of(x, at[i].rank), host))
			same[nr_same++] = at[i].ns;
		else
			rest[nr_rest++] = at[i].ns;
	}
	if (nr_rest && nr_same > 1) {
		double median = sonde_median(rest, nr_rest);

		is_node = is_shared(same, nr_same, at[nr - 1].ns, median) &&
			  sonde_beyond__group(same, nr_same, rest, nr_rest);
		if (is_node)
			*others_ns = median;
	}
	sonde_free(rest);
	return is_node ? (uint32_t)nr_same : 0;
}

/* By how much more the slowest launches than the median of those that are no others' sum. */
static double launches_excess(const struct sonde_ranks_build *x, const struct sonde_rank_time *at, size_t nr)
{
	double *others = sonde_malloc(nr * sizeof(*others)), median, own;
	size_t i, nr_others = 0;

	for (i = 0; others && i + 1 < nr; i++)
		if (at[i].visit != SIZE_MAX)
			others[nr_others++] = x->launches[at[i].visit];
	median = others ? sonde_median(others, nr_others) : NAN;
	own = at[nr - 1].visit == SIZE_MAX ? NAN : x->launches[at[nr - 1].visit];
	sonde_free(others);
	return median > 0 && own > 0 ? own / median - 1 : 0;
}

double sonde_slow__share_of(const struct sonde_ranks_build *x, uint32_t rank, size_t but)
{
	const struct sonde_cells *c = x->c;
	const struct sonde_rank_row *row = &x->r->rows.at[rank];
	double slower = 0, work = 0;
	size_t i;

	if (row->who != SONDE_NONE)
		return NAN;
	for (i = x->first_visit[row->scope]; i < x->first_visit[row->scope + 1]; i++)
		if (c->regions.at[c->visits.at[i].region].parent == SONDE_NONE) {
			slower += x->slower_ns[i];
			work += x->r->work_ns[i];
		}
	if (but != SIZE_MAX) {
		slower -= x->slower_ns[but];
		work -= x->r->work_ns[but];
	}
	return work > LEAST_BESIDE * row->work_ns ? slower / work : NAN;
}

/* Everything is slower: what there is beside the region as well. */
static bool is_gpu(const struct sonde_ranks_build *x, const struct sonde_rank_time *slowest)
{
	double beside = sonde_slow__share_of(x, slowest->rank, slowest->visit);

	return sonde_slow__share_of(x, slowest->rank, SIZE_MAX) >= SONDE_MOST_OF &&
	       (isnan(beside) || beside >= SONDE_MOST_OF / 2);
}

uint8_t sonde_slow__judge(const struct sonde_ranks_build *x, const struct sonde_rank_time *at, size_t nr)
{
	double others = sonde_rank_times_median(at, nr - 1), excess = at[nr - 1].ns / others - 1;

	if (sonde_slow__count_node(x, at, nr, &others))
		return SONDE_SLOW_NODE;
	if (is_gpu(x, &at[nr - 1]))
		return SONDE_SLOW_GPU;
	return launches_excess(x, at, nr) >= excess / 2 ? SONDE_SLOW_WORK : SONDE_SLOW_RANK;
}

/* GHz of the SMs while they worked, where the device was sampled. */
static double clock_of(const struct sonde_cells *c, const struct sonde_rank_row *row)
{
	const struct sonde_device *d = row->who == SONDE_NONE ? sonde_cells_device(c, row->scope) : NULL;
	size_t i;

	for (i = 0; d && i < c->cells.nr; i++)
		if (c->cells.at[i].scope == row->scope && c->cells.at[i].sampled != SONDE_NONE)
			return c->sampled.at[c->cells.at[i].sampled]->cycles_per_ns /
			       sonde_device_attribute(d, SONDE_ATTR_SMS);
	return NAN;
}

void sonde_slow__add_clocks(const struct sonde_ranks_build *x, struct sonde_straggler *s)
{
	const struct sonde_ranks *r = x->r;
	double *others = sonde_malloc((r->rows.nr + 1) * sizeof(*others)), v;
	size_t i, nr = 0;

	s->clock_ghz = clock_of(x->c, &r->rows.at[s->rank]);
	for (i = 0; others && i < r->rows.nr && x->c->sampled.nr; i++) {
		v = i == s->rank ? NAN : clock_of(x->c, &r->rows.at[i]);
		if (!isnan(v))
			others[nr++] = v;
	}
	s->others_ghz = others ? sonde_median(others, nr) : NAN;
	sonde_free(others);
}
