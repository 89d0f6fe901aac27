/*
 * How far a fit may be off, as deviations of each unknown whose squares add up to
 * its variance. Deviations of several unknowns can be added before squaring, so
 * that sums have the right error whatever is correlated.
 *
 * A least-squares solution moves by (AᵀA)⁻¹·score for a score Aᵀ·e, and there are
 * three kinds of e. Residuals, summed within clusters in time: signs within a
 * cluster are kept, so edges that cancel do cancel. Launches whose work lies elsewhere than
 * their stamps say, for each unknown by itself (work is uneven, loads come first), and for
 * all together (the clocks' offset). Of the first two kinds there are some thirty sums each. With
 * more sources than sums, sources far from each other share a sum, each with a
 * sign of its own: what is left of the products of two is noise around zero.
 */
#include "unmix/unmix_int.h"

#include <math.h>
#include <string.h>

#define UNEVEN_PART 0.1	  /* of a bin's length, at least; of the interval's … */
#define UNEVEN_NS   500.0 /* … up to this */

static uint64_t hash(uint64_t n) /* splitmix64 */
{
	n += 0x9e3779b97f4a7c15u;
	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
	n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
	return n ^ (n >> 31);
}

/* Which sum a source goes into, and with which sign. */
struct slot {
	uint32_t sum;
	double sign;
};

static struct slot slot_of(uint32_t source, uint32_t nr_sums)
{
	return (struct slot){source % nr_sums, hash(source) >> 63 ? 1 : -1};
}

/* Where a score lies: a block of LANES sums is solved at a time. */
static double *score_of(double *scores, uint32_t sum, size_t columns, uint32_t column)
{
	size_t block = sum / LANES, lane = sum % LANES;

	return &scores[(block * columns + column) * LANES + lane];
}

/*
 * The residual of a sample that decides an unknown nearly alone is small because
 * the unknown follows it. What it hides is about its leverage times the noise
 * seen elsewhere, in proportion to what the sample's launches count.
 */
static double full_residual(
	const struct sonde_unmix__look *look, uint32_t lane, double leverage, double rate)
{
	double e = look->residual[lane];
	double size = sqrt(e * e + leverage * rate * look->noise[lane]);

	return e < 0 ? -size : size;
}

/* Samples ÷ (samples - columns): residuals are that much smaller than the noise, squared. */
static double shrinkage(const struct sonde_unmix__matrix *m)
{
	double rows = (double)m->nr_rows, free = rows - m->nr_columns;

	return rows / fmax(free, 0.1 * rows);
}

/* Sum by sum: the columns of a cluster are neighbours, which keeps this in the cache. */
static void sum_residuals(
	double *sums, const struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r)
{
	const struct sonde_unmix__matrix *m = &r->matrix;
	double factor = sqrt(shrinkage(m));
	struct sonde_unmix__look look;
	uint32_t lane;
	size_t i, j;

	memset(sums, 0, (size_t)RESIDUAL_SUMS * LANES * m->nr_columns * sizeof(*sums));
	for (i = 0; i < m->nr_rows; i++) {
		struct slot slot = slot_of(r->windows->cluster[i], RESIDUAL_SUMS);
		double *to = sums + (size_t)slot.sum * m->nr_columns * LANES;
		double e[LANES] = {0};

		sonde_unmix__fit_look(&look, fit, r, i);
		for (lane = 0; lane < fit->nr; lane++) {
			double rate = factor * factor * fit->noise_rate[lane];

			if (!(fit->lost[i] >> lane & 1))
				e[lane] = factor * slot.sign *
					  full_residual(&look, lane, r->leverage[i], rate);
		}
		for (j = m->row[i]; j < m->row[i + 1]; j++)
			lanes_add_scaled(to + (size_t)m->column[j] * LANES, e, m->value[j]);
	}
}

/* Into the scores, scaled as the gram is. */
static void add_residuals(
	double *scores, const double *sums, uint32_t lane, const struct sonde_unmix__gram *g)
{
	uint32_t sum, k;

	for (sum = 0; sum < RESIDUAL_SUMS; sum++) {
		for (k = 0; k < g->nr; k++) {
			double scale = g->scale[k] > 0 ? 1 / g->scale[k] : 0;

			*score_of(scores, sum, g->nr, k) =
				scale * sums[((size_t)sum * g->nr + k) * LANES + lane];
		}
	}
}

/* How far the middle of the work may lie from the middle of its time. */
static double unevenness(const struct sonde_unmix__unknown *x)
{
	return fmax(fmin(UNEVEN_PART * x->length, UNEVEN_NS), UNEVEN_PART * x->length / x->nr_bins);
}

static void add_timing(double *scores, const struct sonde_unmix__fit *fit, uint32_t lane,
	const struct sonde_unmix__round *r)
{
	const struct sonde_unmix__gram *g = &r->gram;
	uint32_t k;
	size_t j;

	for (k = 0; k < g->nr; k++) {
		for (j = g->row[k]; j < g->row[k + 1]; j++) {
			uint32_t column = g->at.at[j].column, u = r->unknown_of[column];
			double x = fit->x[(size_t)column * LANES + lane], moved;
			struct slot slot;

			if (u == SONDE_UNMIX_NONE || x == 0)
				continue;
			moved = g->at.at[j].slope * x;
			slot = slot_of(u, TIMING_SUMS);
			*score_of(scores, RESIDUAL_SUMS + slot.sum, g->nr, k) +=
				slot.sign * moved * unevenness(&r->plan->unknowns[u]);
			*score_of(scores, CLOCK_SUM, g->nr, k) += moved * r->offset_error_ns;
		}
	}
}

/*
 * Deviations keep so many bits below the largest of their row: far more than an error
 * needs, also where neighbours cancel out, and few enough to be kept in two bytes.
 */
#define KEPT_BITS 15

static void round_row(float *row)
{
	float most = 0, unit;
	int sum, exponent;

	for (sum = 0; sum < SPREAD_WIDTH; sum++) {
		if (!(fabsf(row[sum]) <= MOST_DEVIATION))
			row[sum] = MOST_DEVIATION;
		most = fmaxf(most, fabsf(row[sum]));
	}
	frexpf(most, &exponent);
	unit = ldexpf(1, exponent - KEPT_BITS);
	for (sum = 0; sum < SPREAD_WIDTH; sum++)
		row[sum] = unit > 0 ? rintf(row[sum] / unit) * unit : 0;
}

static void take_deviations(
	float *deviations, size_t stride, double *scores, const struct sonde_unmix__round *r)
{
	uint32_t u, k, sum;

	for (u = 0; u < r->plan->nr_unknowns; u++) {
		const struct sonde_unmix__unknown *x = &r->plan->unknowns[u];

		for (sum = 0; sum < SPREAD_WIDTH; sum++) {
			double moved = 0;

			for (k = x->column; k < x->column + x->nr_bins; k++) {
				if (r->gram.scale[k] > 0)
					moved += *score_of(scores, sum, r->gram.nr, k) /
						 r->gram.scale[k];
			}
			deviations[u * stride + sum] = (float)(moved * r->few_factor[u]);
		}
		round_row(deviations + u * stride);
	}
}

void sonde_unmix__spread(float *deviations, size_t stride, struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r)
{
	size_t columns = r->gram.nr, block;
	uint32_t lane;

	sum_residuals(fit->sums, fit, r);
	for (lane = 0; lane < fit->nr; lane++) {
		memset(fit->scores, 0, SPREAD_WIDTH * columns * sizeof(*fit->scores));
		add_residuals(fit->scores, fit->sums, lane, &r->gram);
		add_timing(fit->scores, fit, lane, r);
		for (block = 0; block < SPREAD_WIDTH / LANES; block++)
			sonde_unmix__envelope_solve(fit->scores + block * columns * LANES,
				&r->envelope, r->factor, fit->scratch);
		take_deviations(deviations + (size_t)fit->counter[lane] * SPREAD_WIDTH, stride,
			fit->scores, r);
	}
}
