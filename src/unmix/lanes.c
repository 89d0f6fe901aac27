/*
 * Several right-hand sides side by side. Counters differ in the columns that are held at zero.
 * So each lane may need a factor of its own; all factors have the same envelope.
 */
#include "unmix/unmix_int.h"

#include <math.h>
#include <string.h>

/* Whether all lanes share one factor, or each has its own. A constant wherever the functions below are inlined. */
enum kind { SHARED = 1, OWN = LANES };

/* Returns a pointer such that load_entry(row_of(…), q, kind) is the entry of row `p` in column q. */
static inline const double *row_of(
	const double *factor, const struct sonde_unmix__envelope *e, uint32_t p, enum kind kind)
{
	return factor + (e->row[p] - e->first[p]) * kind;
}

static inline struct sonde_lanes load_entry(const double *row, size_t q, enum kind kind)
{
	return kind == OWN ? lanes_load(row + q * LANES) : lanes_same(row[q]);
}

/*
 * x - Σ a[q] · b[q], q = from … to-1. Two sums side by side are faster: each addition of one sum waits for the one
 * before.
 */
__attribute__((always_inline)) static inline struct sonde_lanes subtract_products(struct sonde_lanes x, const double *a,
	const double *b, size_t from, size_t to, enum kind kind)
{
	struct sonde_lanes y = lanes_same(0);
	size_t q;

	for (q = from; q + 2 <= to; q += 2) {
		x = lanes_minus(x, lanes_times(lanes_load(a + q * LANES), load_entry(b, q, kind)));
		y = lanes_plus(
			y, lanes_times(lanes_load(a + (q + 1) * LANES), load_entry(b, q + 1, kind)));
	}
	if (q < to)
		x = lanes_minus(x, lanes_times(lanes_load(a + q * LANES), load_entry(b, q, kind)));
	return lanes_minus(x, y);
}

__attribute__((always_inline)) static inline void solve(double *x, const struct sonde_unmix__envelope *e, const double *factor,
	double *scratch, enum kind kind)
{
	uint32_t p;
	size_t q;

	for (p = 0; p < e->nr; p++) {
		const double *row = row_of(factor, e, p, kind);
		struct sonde_lanes y = lanes_load(x + (size_t)e->order[p] * LANES);

		y = subtract_products(y, scratch, row, e->first[p], p, kind);
		lanes_store(scratch + (size_t)p * LANES, lanes_times(y, load_entry(row, p, kind)));
	}
	for (p = e->nr; p-- > 0;) {
		const double *row = row_of(factor, e, p, kind);
		struct sonde_lanes y = lanes_load(scratch + (size_t)p * LANES);

		y = lanes_times(y, load_entry(row, p, kind));
		for (q = e->first[p]; q < p; q++) {
			double *to = scratch + q * LANES;

			lanes_store(to,
				lanes_minus(lanes_load(to), lanes_times(y, load_entry(row, q, kind))));
		}
		lanes_store(x + (size_t)e->order[p] * LANES, y);
	}
}

void sonde_unmix__envelope_solve(
	double *x, const struct sonde_unmix__envelope *e, const double *factor, double *scratch)
{
	solve(x, e, factor, scratch, SHARED);
}

void sonde_unmix__envelope_solve_own(
	double *x, const struct sonde_unmix__envelope *e, const double *factors, double *scratch)
{
	solve(x, e, factors, scratch, OWN);
}

static void load_row(double *row, const struct sonde_unmix__envelope *e,
	const struct sonde_unmix__gram *g, uint32_t p)
{
	uint32_t k = e->order[p], lane;
	size_t j;

	memset(row + (size_t)e->first[p] * LANES, 0,
		(size_t)(p - e->first[p] + 1) * LANES * sizeof(*row));
	for (j = g->row[k]; j < g->row[k + 1]; j++) {
		size_t q = e->place[g->at.at[j].column];

		for (lane = 0; q <= p && lane < LANES; lane++)
			row[q * LANES + lane] = g->at.at[j].value;
	}
}

/* Computes the diagonal of row `p`. A lane leaves the column out if earlier columns explain it, or if it is fixed in
 * this lane. */
static void finish_row(double *factors, const struct sonde_unmix__envelope *e,
	const struct sonde_unmix__gram *g, const uint8_t *fixed, uint32_t p)
{
	double *row = factors + (e->row[p] - e->first[p]) * LANES, *own = row + (size_t)p * LANES;
	uint32_t k = e->order[p], lane;
	size_t q;

	lanes_store(own, subtract_products(lanes_load(own), row, row, e->first[p], p, OWN));
	for (lane = 0; lane < LANES; lane++) {
		if (!(fixed[k] >> lane & 1) && g->scale[k] > 0 && own[lane] > DEPENDENT) {
			own[lane] = 1 / sqrt(own[lane]);
			continue;
		}
		for (q = e->first[p]; q <= p; q++)
			row[q * LANES + lane] = 0;
	}
}

static void eliminate_column(
	double *factors, const struct sonde_unmix__envelope *e, uint32_t p, uint32_t q)
{
	double *row = factors + (e->row[p] - e->first[p]) * LANES, *at = row + (size_t)q * LANES;
	const double *other = row_of(factors, e, q, OWN);
	size_t from = e->first[p] > e->first[q] ? e->first[p] : e->first[q];
	struct sonde_lanes left = subtract_products(lanes_load(at), row, other, from, q, OWN);

	lanes_store(at, lanes_times(left, lanes_load(other + (size_t)q * LANES)));
}

/*
 * The rows of the background meet all others. They are factorised together, column by column, so that
 * each other row is fetched from memory once, and not once for each row of the background.
 */
static void factor_background(double *factors, const struct sonde_unmix__envelope *e,
	const struct sonde_unmix__gram *g, const uint8_t *fixed)
{
	uint32_t begin = e->nr - e->nr_background, p, q;

	for (p = begin; p < e->nr; p++)
		load_row(factors + (e->row[p] - e->first[p]) * LANES, e, g, p);
	for (q = 0; q < e->nr; q++) {
		if (q >= begin)
			finish_row(factors, e, g, fixed, q);
		for (p = q < begin ? begin : q + 1; p < e->nr; p++) {
			if (q >= e->first[p])
				eliminate_column(factors, e, p, q);
		}
	}
}

void sonde_unmix__envelope_factor_lanes(double *factors, const struct sonde_unmix__envelope *e,
	const struct sonde_unmix__gram *g, const uint8_t *fixed)
{
	uint32_t p, q;

	for (p = 0; p < e->nr - e->nr_background; p++) {
		load_row(factors + (e->row[p] - e->first[p]) * LANES, e, g, p);
		for (q = e->first[p]; q < p; q++)
			eliminate_column(factors, e, p, q);
		finish_row(factors, e, g, fixed, p);
	}
	factor_background(factors, e, g, fixed);
}
