/* Decides whether the slowest rank of a region is slow, and why: its work, its GPU, its host, or something else. */
#include "base/alloc.h"
#include "base/quantile.h"
#include "catalogue/attributes.h"
#include "fold/sampled.h"
#include "ranks/ranks_int.h"

#include <math.h>

#define LEAST_BESIDE 0.002 /* share of all the rank's work: if there is less outside a region, that says nothing */
#define DEVIATIONS	4.0  /* the slowest must be this many standard deviations of the others away … */
#define DEVIATIONS_LEFT 7.0  /* … and this many if other slow ranks were left out, which makes the deviation smaller */
#define LEFT_OUT	0.25 /* at most this share of all ranks can be left out: more are not an exception */
#define STANDARD_ERRORS 4.0  /* the difference of two means must be this many standard errors */

/*
 * Is a rank slow, or just the slowest? GPUs, nodes and hosts differ by 1 to 3 %, and one of them is always last. The
 * others show how much ranks differ. By chance, the slowest of eight is more than four of their standard deviations away
 * in 4 of 100 jobs, and the ranks of one host are more than four standard errors away in 1 of 100.
 */

static double mean_of(const double *at, size_t nr)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += at[i];
	return sum / (double)nr;
}

/* Σ (v - from)² */
static double squares(const double *at, size_t nr, double from)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += (at[i] - from) * (at[i] - from);
	return sum;
}

static double median_of(const double *sorted, size_t nr)
{
	return (sorted[(nr - 1) / 2] + sorted[nr / 2]) / 2;
}

/*
 * Whether `slowest` is far from the others. With a single other rank, any excess is far: there is nothing else to
 * compare with.
 */
static bool is_far(const double *others, size_t nr, double slowest, double deviations)
{
	double median = median_of(others, nr), excess = slowest - median;

	return excess > 0 && (nr < 2 || excess >= deviations * sqrt(squares(others, nr, median) / (double)(nr - 1)));
}

bool sonde_beyond__one(const double *sorted, size_t nr)
{
	double slowest = sorted[nr - 1], half;
	size_t nr_fast = nr - 1;

	if (is_far(sorted, nr - 1, slowest, DEVIATIONS))
		return true;
	/* Some of the others may be slow as well, which makes the deviation large: leave them out and compare again. */
	half = (median_of(sorted, nr - 1) + slowest) / 2;
	while (nr_fast > 0 && sorted[nr_fast - 1] >= half)
		nr_fast--;
	return nr_fast > 1 && nr_fast < nr - 1 && (double)(nr - 1 - nr_fast) <= LEFT_OUT * (double)nr &&
	       is_far(sorted, nr_fast, slowest, DEVIATIONS_LEFT);
}

bool sonde_beyond__group(const double *group, size_t nr, const double *rest, size_t nr_rest)
{
	double mean = mean_of(group, nr), rest_mean = mean_of(rest, nr_rest), deviation;

	if (mean <= rest_mean || nr + nr_rest < 3)
		return false;
	deviation = sqrt((squares(group, nr, mean) + squares(rest, nr_rest, rest_mean)) / (double)(nr + nr_rest - 2));
	return mean - rest_mean >= STANDARD_ERRORS * deviation * sqrt(1 / (double)nr + 1 / (double)nr_rest);
}

static struct sonde_str host_of(const struct sonde_ranks_build *x, uint32_t rank)
{
	return x->r->rows.at[rank].process->host;
}

/* Whether the whole host is slow and not only its slowest rank: the others there are at least half as slow, on average. */
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

/*
 * How many more kernels the slowest rank launches than the median of the others, as a share. Ranks that are added up are
 * left out, because their launches are not known. 0 = not known.
 */
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

	if (row->folded_scope != SONDE_NONE)
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

/* The GPU is slow if most of the rank's kernels are slower, also outside the region. */
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

/* Clock of the SMs in GHz while they worked; NaN = the device was not sampled. */
static double clock_of(const struct sonde_cells *c, const struct sonde_rank_row *row)
{
	const struct sonde_device *d = row->folded_scope == SONDE_NONE ? sonde_cells_device(c, row->scope) : NULL;
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
