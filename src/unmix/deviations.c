/*
 * The error of a fit, as deviations of each unknown: their squares add up to its
 * variance. The deviations of several unknowns can be added before squaring, so
 * that sums have the right error whatever correlations there are.
 *
 * An error e of the samples moves the least-squares solution by (AᵀA)⁻¹·score, with the
 * score Aᵀ·e. There are three kinds of e. The first is residuals, summed within clusters in
 * time: signs within a cluster are kept, so residuals that cancel at the edge of two samples
 * do cancel. The second is the timing of each unknown by itself: its work is not done exactly
 * between its timestamps (work is uneven, loads come first). The third is the timing of
 * all launches together (the clocks' offset). The first two kinds have some thirty sums each.
 * If there are more sources than sums, sources far from each other share a sum, each with a
 * random sign: the products of two of them average out to noise around zero.
 */
#include "unmix/unmix_int.h"

#include <math.h>
#include <string.h>

#define UNEVEN_PART 0.1	  /* uncertainty of timing: this share of an interval's length … */
#define UNEVEN_NS   500.0 /* … but at most this, and at least UNEVEN_PART of a bin's length */
#define OFFSET_NS   400.0 /* uncertainty of the clocks' offset, for any counter */
#define NOTABLE	    3.0	  /* standard errors from which on a step is notable, that is hardly by chance */

uint64_t sonde_unmix__hash(uint64_t n)
{
	n += 0x9e3779b97f4a7c15u;
	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
	n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
	return n ^ (n >> 31);
}

/* The sum that a source is added to, and its sign there. */
struct slot {
	uint32_t sum;
	double sign;
};

static struct slot slot_of(uint32_t source, uint32_t nr_sums)
{
	return (struct slot){source % nr_sums, sonde_unmix__hash(source) >> 63 ? 1 : -1};
}

/*
 * If a sample determines an unknown nearly alone, its residual is small because the
 * unknown follows it. The hidden part is about its leverage times the noise seen in
 * other samples, in proportion to the counts of the sample's launches.
 */
static double full_residual(
	const struct sonde_unmix__look *look, uint32_t lane, double leverage, double rate)
{
	double e = look->residual[lane];

	return copysign(sqrt(e * e + leverage * rate * look->noise[lane]), e);
}

/* Samples ÷ (samples - columns): the factor by which squared residuals are smaller than squared noise. */
static double shrinkage(const struct sonde_unmix__matrix *m)
{
	double rows = (double)m->nr_rows, free = rows - m->nr_columns;

	return rows / fmax(free, 0.1 * rows);
}

static void sum_residuals(struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r)
{
	const struct sonde_unmix__matrix *m = &r->matrix;
	double factor = sqrt(shrinkage(m));
	struct sonde_unmix__look look;
	uint32_t lane;
	size_t i, j;

	for (i = 0; i < m->nr_rows; i++) {
		struct slot slot = slot_of(r->windows->cluster[i], RESIDUAL_SUMS);
		double *to = fit->sums + (size_t)slot.sum * m->nr_columns * LANES, e[LANES];

		sonde_unmix__fit_look(&look, fit, r, i);
		for (lane = 0; lane < LANES; lane++) {
			double rate = factor * factor * fit->set->noise_rate[lane];

			e[lane] = fit->set->lost[i] >> lane & 1
					  ? 0
					  : factor * slot.sign *
						    full_residual(&look, lane, r->leverage[i], rate);
		}
		for (j = m->row[i]; j < m->row[i + 1]; j++)
			lanes_add_scaled(to + (size_t)m->column[j] * LANES, e,
				m->value[j] / r->gram.scale[m->column[j]]);
	}
}

/* How far the middle of the work may be from the middle of its interval, in ns. */
static double unevenness(const struct sonde_unmix__unknown *x)
{
	return fmax(fmin(UNEVEN_PART * x->length, UNEVEN_NS), UNEVEN_PART * x->length / x->nr_bins);
}

/*
 * The source of a column's timing error: columns with the same source are early or late together. These are all bins
 * of an unknown, except that each bin of an entry is a source of its own, because it holds other kernels.
 */
static uint32_t source_of(const struct sonde_unmix__unknown *x, uint32_t column)
{
	return x->fate == SONDE_UNMIX_ENTRY ? column : x->column;
}

/* Sums the timing errors: of each unknown by itself, and in the last sum of all unknowns together. */
static void sum_timing(struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r)
{
	const struct sonde_unmix__gram *g = &r->gram;
	uint32_t k;
	size_t j;

	for (k = 0; k < g->nr; k++) {
		double *to = fit->sums + (size_t)k * LANES;

		for (j = g->row[k]; j < g->row[k + 1]; j++) {
			uint32_t column = g->at.at[j].column, u = r->unknown_of[column];
			const double *x = fit->set->x + (size_t)column * LANES;
			struct slot slot;

			if (u == SONDE_UNMIX_NONE)
				continue;
			slot = slot_of(source_of(&r->plan->unknowns[u], column), TIMING_SUMS);
			lanes_add_scaled(to + (size_t)slot.sum * g->nr * LANES, x,
				slot.sign * g->at.at[j].slope * unevenness(&r->plan->unknowns[u]));
			lanes_add_scaled(to + (size_t)TIMING_SUMS * g->nr * LANES, x,
				g->at.at[j].slope * OFFSET_NS);
		}
	}
}

/*
 * The number of bits kept for the largest deviation of a row; all others are rounded to the same unit. This is far more
 * than an error needs, even if neighbours cancel out, and few enough to be kept in two bytes.
 */
#define KEPT_BITS 15

void sonde_unmix__round_row(float *row)
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

/*
 * The step at one edge of an unknown that has short bins: the rate of the bin minus the rate of the bin
 * beside it. If no counter has a notable step, the short bins add nothing. The error of a step comes from
 * residuals only and not from timing, because these bins are there to find when a kernel does its work.
 */
struct step {
	uint32_t column, beside;
	double by, by_beside; /* 1 ÷ length of each of the two bins */
};

static struct step step_of(const struct sonde_unmix__unknown *x, bool is_last)
{
	uint32_t bin = is_last ? x->nr_bins - 1 : 0, beside = is_last ? bin - 1 : 1;

	return (struct step){x->column + bin, x->column + beside,
		1 / sonde_unmix__bin_length(x, bin), 1 / sonde_unmix__bin_length(x, beside)};
}

static void add_step_variances(struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r,
	uint32_t u, const double *scores)
{
	const double *scale = r->gram.scale;
	uint32_t edge, lane;

	for (edge = 0; edge < 2; edge++) {
		struct step s = step_of(&r->plan->unknowns[u], edge == 1);
		double *to = fit->steps + ((size_t)u * 2 + edge) * LANES, moved[LANES] = {0};

		if (!(scale[s.column] > 0 && scale[s.beside] > 0))
			continue;
		lanes_add_scaled(moved, scores + (size_t)s.column * LANES, s.by / scale[s.column]);
		lanes_add_scaled(
			moved, scores + (size_t)s.beside * LANES, -s.by_beside / scale[s.beside]);
		for (lane = 0; lane < LANES; lane++)
			to[lane] += moved[lane] * moved[lane];
	}
}

static void find_edges(struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r)
{
	const double *x = fit->set->x;
	uint32_t u, edge, lane;

	for (u = 0; u < r->plan->nr_unknowns; u++) {
		if (r->plan->unknowns[u].nr_bins != LONG_BINS)
			continue;
		for (edge = 0; edge < 2; edge++) {
			struct step s = step_of(&r->plan->unknowns[u], edge == 1);
			const double *variance = fit->steps + ((size_t)u * 2 + edge) * LANES;

			for (lane = 0; lane < fit->set->nr; lane++) {
				double step = x[(size_t)s.column * LANES + lane] * s.by -
					      x[(size_t)s.beside * LANES + lane] * s.by_beside;

				fit->has_edges[u] |=
					fabs(step) > NOTABLE * r->error_growth[u] * sqrt(variance[lane]);
			}
		}
	}
}

/* Stores the solved sums as deviations, from number `first` on. */
static void take_deviations(float *deviations, size_t stride, struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r, uint32_t first)
{
	uint32_t u, k, sum, lane;

	for (u = 0; u < r->plan->nr_unknowns; u++) {
		const struct sonde_unmix__unknown *x = &r->plan->unknowns[u];

		for (sum = 0; sum < RESIDUAL_SUMS; sum++) {
			const double *scores = fit->sums + (size_t)sum * r->gram.nr * LANES;
			double moved[LANES] = {0};

			if (x->nr_bins == LONG_BINS && first == 0)
				add_step_variances(fit, r, u, scores);

			for (k = x->column; k < x->column + x->nr_bins; k++) {
				if (r->gram.scale[k] > 0)
					lanes_add_scaled(moved, scores + (size_t)k * LANES,
						r->error_growth[u] / r->gram.scale[k]);
			}
			for (lane = 0; lane < fit->set->nr; lane++)
				deviations[u * stride + fit->set->counter[lane] * SPREAD_WIDTH +
					   first + sum] = (float)moved[lane];
		}
	}
}

/* Computes half of the deviations, for all counters of a set side by side: those of residuals or those of timing. */
static void spread_half(float *deviations, size_t stride, struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r, bool is_timing)
{
	size_t values = (size_t)r->gram.nr * LANES, sum;

	memset(fit->sums, 0, RESIDUAL_SUMS * values * sizeof(*fit->sums));
	if (is_timing)
		sum_timing(fit, r);
	else
		sum_residuals(fit, r);
	for (sum = 0; sum < RESIDUAL_SUMS; sum++)
		sonde_unmix__envelope_solve(
			fit->sums + sum * values, &r->envelope, r->factor, fit->scratch);
	take_deviations(deviations, stride, fit, r, is_timing ? RESIDUAL_SUMS : 0);
}

void sonde_unmix__spread(float *deviations, size_t stride, struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r)
{
	uint32_t u, lane;

	memset(fit->steps, 0, 2 * LANES * r->plan->nr_unknowns * sizeof(*fit->steps));
	spread_half(deviations, stride, fit, r, false);
	spread_half(deviations, stride, fit, r, true);
	find_edges(fit, r);
	for (u = 0; u < r->plan->nr_unknowns; u++) {
		for (lane = 0; lane < fit->set->nr; lane++)
			sonde_unmix__round_row(deviations + u * stride +
				  fit->set->counter[lane] * SPREAD_WIDTH);
	}
}
