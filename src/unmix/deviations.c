/*
 * How far a fit may be off, as deviations of each unknown whose squares add up to
 * its variance. Deviations of several unknowns can be added before squaring, so
 * that sums have the right error whatever is correlated.
 *
 * A least-squares solution moves by (AᵀA)⁻¹·score for a score Aᵀ·e, and there are
 * three kinds of e. Residuals, summed within clusters in time: signs within a
 * cluster are kept, so edges that cancel do cancel. Launches whose work lies elsewhere than
 * their stamps say, for each unknown by itself (work is uneven, loads come first), and for
 * all together (the clocks' offset). There are SPREAD_SUMS sums of the first two kinds. With
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

static struct slot slot_of(uint32_t source)
{
	return (struct slot){source % SPREAD_SUMS, hash(source) >> 63 ? 1 : -1};
}

/*
 * The residual of a sample that decides an unknown nearly alone is small because
 * the unknown follows it. What it hides is about its leverage times the noise
 * seen elsewhere, in proportion to what the sample's launches count.
 */
static double full_residual(const struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r,
	size_t i, double rate)
{
	double e = fit->residual[i];
	double size = sqrt(e * e + r->leverage[i] * rate * fit->noise[i]);

	return e < 0 ? -size : size;
}

/* Samples ÷ (samples - columns): residuals are that much smaller than the noise, squared. */
static double shrinkage(const struct sonde_unmix__matrix *m)
{
	double rows = (double)m->nr_rows, free = rows - m->nr_columns;

	return rows / fmax(free, 0.1 * rows);
}

static double noise_rate(const struct sonde_unmix__fit *fit, size_t nr)
{
	double residuals = 0, noise = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		residuals += fit->residual[i] * fit->residual[i];
		noise += fit->lost[i] ? 0 : fit->noise[i];
	}
	return noise > 0 ? residuals / noise : 0;
}

/* Scores are kept sum by sum: scores[sum · columns + column], scaled as the gram is. */
static void add_residuals(
	double *scores, const struct sonde_unmix__fit *fit, const struct sonde_unmix__round *r)
{
	const struct sonde_unmix__matrix *m = &r->matrix;
	double factor = sqrt(shrinkage(m)), rate = factor * factor * noise_rate(fit, m->nr_rows);
	size_t i, j;

	for (i = 0; i < m->nr_rows; i++) {
		struct slot slot = slot_of(r->windows->cluster[i]);
		double *to = scores + (size_t)slot.sum * m->nr_columns;
		double e;

		if (fit->lost[i])
			continue;
		e = factor * slot.sign * full_residual(fit, r, i, rate);
		for (j = m->row[i]; j < m->row[i + 1]; j++)
			to[m->column[j]] += m->value[j] * e;
	}
	for (i = 0; i < (size_t)SPREAD_SUMS * m->nr_columns; i++) {
		double scale = r->gram.scale[i % m->nr_columns];

		scores[i] = scale > 0 ? scores[i] / scale : 0;
	}
}

/* How far the middle of the work may lie from the middle of its time. */
static double unevenness(const struct sonde_unmix__unknown *x)
{
	return fmax(fmin(UNEVEN_PART * x->length, UNEVEN_NS), UNEVEN_PART * x->length / x->nr_bins);
}

/* Which unknown a column belongs to is in `unknown_of`, SONDE_UNMIX_NONE for the background. */
static void add_timing(double *scores, const struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r, const uint32_t *unknown_of)
{
	const struct sonde_unmix__gram *g = &r->gram;
	double *own = scores + (size_t)SPREAD_SUMS * g->nr,
	       *clock = own + (size_t)SPREAD_SUMS * g->nr;
	uint32_t k;
	size_t j;

	for (k = 0; k < g->nr; k++) {
		for (j = g->row[k]; j < g->row[k + 1]; j++) {
			uint32_t column = g->at.at[j].column, u = unknown_of[column];
			double moved, part;
			struct slot slot;

			if (u == SONDE_UNMIX_NONE || fit->x[column] == 0)
				continue;
			moved = g->at.at[j].slope * fit->x[column];
			part = unevenness(&r->plan->unknowns[u]);
			slot = slot_of(u);
			own[(size_t)slot.sum * g->nr + k] += slot.sign * moved * part;
			clock[k] += moved * r->offset_error_ns;
		}
	}
}

/* 97.5 % of Student's t with so many degrees of freedom, over 1.96: few clusters say little. */
static double few_factor(uint32_t nr_clusters)
{
	double n = nr_clusters > 2 ? nr_clusters - 1 : 1;

	return 1 + 1.25 / n + 2.3 / (n * n);
}

static int count_clusters(
	uint32_t *nr, struct sonde_arena *arena, const struct sonde_unmix__round *r)
{
	const struct sonde_unmix__matrix *m = &r->matrix;
	uint32_t *last = sonde_arena_calloc(arena, m->nr_columns, sizeof(*last));
	size_t i, j;

	if (last == NULL)
		return SONDE_ERR_NOMEM;
	for (i = 0; i < m->nr_rows; i++) {
		uint32_t cluster = r->windows->cluster[i] + 1;

		for (j = m->row[i]; j < m->row[i + 1]; j++) {
			nr[m->column[j]] += last[m->column[j]] != cluster;
			last[m->column[j]] = cluster;
		}
	}
	return 0;
}

static void take_deviations(float *deviations, size_t stride, const double *score, uint32_t sum,
	const struct sonde_unmix__round *r, const uint32_t *nr_clusters)
{
	uint32_t u, k;

	for (u = 0; u < r->plan->nr_unknowns; u++) {
		const struct sonde_unmix__unknown *x = &r->plan->unknowns[u];
		double moved = 0;

		for (k = x->column; k < x->column + x->nr_bins; k++)
			moved += r->gram.scale[k] > 0 ? score[k] / r->gram.scale[k] : 0;
		deviations[u * stride + sum] = (float)(moved * few_factor(nr_clusters[x->column]));
	}
}

int sonde_unmix__spread(float *deviations, size_t stride, const struct sonde_unmix__fit *fit,
	const struct sonde_unmix__round *r)
{
	size_t columns = r->gram.nr;
	struct sonde_arena arena = {0};
	double *scores = sonde_arena_calloc(&arena, SPREAD_WIDTH * columns, sizeof(*scores));
	double *scratch = sonde_arena_alloc(&arena, columns * sizeof(*scratch));
	uint32_t *unknown_of = sonde_arena_alloc(&arena, columns * sizeof(*unknown_of));
	uint32_t *nr_clusters = sonde_arena_calloc(&arena, columns, sizeof(*nr_clusters));
	uint32_t u, k, sum;
	int rc = SONDE_ERR_NOMEM;

	if (arena.failed || count_clusters(nr_clusters, &arena, r) < 0)
		goto out;
	for (k = 0; k < columns; k++)
		unknown_of[k] = SONDE_UNMIX_NONE;
	for (u = 0; u < r->plan->nr_unknowns; u++) {
		for (k = 0; k < r->plan->unknowns[u].nr_bins; k++)
			unknown_of[r->plan->unknowns[u].column + k] = u;
	}
	add_residuals(scores, fit, r);
	add_timing(scores, fit, r, unknown_of);
	for (sum = 0; sum < SPREAD_WIDTH; sum++) {
		double *score = scores + sum * columns;

		sonde_unmix__envelope_solve(score, &r->envelope, r->factor, scratch);
		take_deviations(deviations, stride, score, sum, r, nr_clusters);
	}
	rc = 0;
out:
	sonde_arena_release(&arena);
	return rc;
}
