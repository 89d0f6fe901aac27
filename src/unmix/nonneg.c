/*
 * Non-negative least squares on the normal equations, for some counters side by side.
 *
 * Most columns are positive in the first solution. The others are held at zero and the
 * rest is solved again; columns with a positive gradient are released (block principal
 * pivoting). After many exchanges only one column at a time is exchanged, so that the loop
 * ends. A trend may have either sign and is never held at zero.
 */
#include "unmix/unmix_int.h"

#include <math.h>
#include <string.h>

#define EXCHANGES 40   /* number of exchanges of blocks; then one column at a time */
#define TOLERANCE 1e-9 /* relative to the largest right-hand side */

static void solve_once(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	uint8_t any_fixed = 0;
	uint32_t k;

	for (k = 0; k < r->gram.nr; k++)
		any_fixed |= f->fixed[k];
	memcpy(f->scaled, f->rhs, (size_t)r->gram.nr * LANES * sizeof(*f->scaled));
	if (any_fixed == 0) {
		sonde_unmix__envelope_solve(f->scaled, &r->envelope, r->factor, f->scratch);
		return;
	}
	if (!f->has_factors || memcmp(f->fixed, f->factored, r->gram.nr) != 0) {
		sonde_unmix__envelope_factor_lanes(f->factors, &r->envelope, &r->gram, f->fixed);
		memcpy(f->factored, f->fixed, r->gram.nr);
		f->has_factors = true;
	}
	sonde_unmix__envelope_solve_own(f->scaled, &r->envelope, f->factors, f->scratch);
}

static void find_gradient(double *gradient, const struct sonde_unmix__fit *f,
	const struct sonde_unmix__gram *g, uint32_t k)
{
	size_t j;

	memcpy(gradient, f->rhs + (size_t)k * LANES, LANES * sizeof(*gradient));
	for (j = g->row[k]; j < g->row[k + 1]; j++)
		lanes_add_scaled(gradient, f->scaled + (size_t)g->at.at[j].column * LANES,
			-g->at.at[j].value);
}

/* Holds or releases columns of `lanes` that are on the wrong side; returns the lanes that had such a column. */
static uint32_t exchange_columns(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r,
	const double *tolerance, uint32_t lanes, bool one_only)
{
	const struct sonde_unmix__gram *g = &r->gram;
	uint32_t moved = 0, k, lane;

	for (k = g->nr; k-- > 0;) {
		const double *x = f->scaled + (size_t)k * LANES;
		double gradient[LANES];

		if (g->scale[k] == 0 || r->matrix.is_trend[k])
			continue;
		if (f->fixed[k] != 0)
			find_gradient(gradient, f, g, k);
		for (lane = 0; lane < LANES; lane++) {
			uint32_t bit = 1u << lane;
			bool is_wrong = f->fixed[k] & bit ? gradient[lane] > tolerance[lane]
							  : x[lane] < -tolerance[lane];

			if (!is_wrong || !(lanes & bit) || (one_only && (moved & bit)))
				continue;
			f->fixed[k] ^= (uint8_t)bit;
			moved |= bit;
		}
	}
	return moved;
}

static void begin_solving(double *tolerance, struct sonde_unmix__fit *f, const struct sonde_unmix__round *r,
	uint32_t lanes, bool has_guess)
{
	const struct sonde_unmix__gram *g = &r->gram;
	uint32_t k, lane;

	memset(tolerance, 0, LANES * sizeof(*tolerance));
	for (k = 0; k < g->nr; k++) {
		f->fixed[k] = 0;
		for (lane = 0; lane < LANES; lane++) {
			size_t at = (size_t)k * LANES + lane;

			tolerance[lane] = fmax(tolerance[lane], TOLERANCE * fabs(f->rhs[at]));
			if (has_guess && !r->matrix.is_trend[k] && (lanes >> lane & 1) &&
				f->set->x[at] == 0)
				f->fixed[k] |= (uint8_t)(1u << lane);
		}
	}
}

void sonde_unmix__solve_nonneg(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r,
	uint32_t lanes, bool has_guess)
{
	const struct sonde_unmix__gram *g = &r->gram;
	uint32_t limit = EXCHANGES + 3 * g->nr, i, k, lane, moved = lanes;
	double tolerance[LANES];

	begin_solving(tolerance, f, r, lanes, has_guess);
	for (i = 0; i < limit && moved != 0; i++) {
		solve_once(f, r);
		moved = exchange_columns(f, r, tolerance, lanes, i >= EXCHANGES);
	}
	for (k = 0; k < g->nr; k++) {
		for (lane = 0; lane < LANES; lane++) {
			size_t at = (size_t)k * LANES + lane;
			bool is_below = f->scaled[at] <= 0 && !r->matrix.is_trend[k];
			bool is_zero = g->scale[k] == 0 || is_below || (f->fixed[k] >> lane & 1);

			if (lanes >> lane & 1)
				f->set->x[at] = is_zero ? 0 : f->scaled[at] / g->scale[k];
		}
	}
}
