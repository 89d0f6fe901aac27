/*
 * The fit of one counter: non-negative least squares on the normal equations.
 *
 * Most columns come out positive at once. Those that do not are held at zero and
 * the rest is solved again, columns whose gradient says so come back (block
 * principal pivoting); after many exchanges only one at a time, which ends.
 *
 * Some samples lack part of a counter: the record of a unit was lost on the way, and
 * the sample shows much less than its launches do elsewhere, which no neighbour
 * makes up for. Such samples are left out for this counter, by giving them the
 * value the fit expects. A kernel that has little to do now and then looks the same,
 * but does less of everything: a sample is only left out when other counters
 * are complete in it. A survey of all counters comes first to know that.
 */
#include "unmix/unmix_int.h"

#include "base/quantile.h"

#include <math.h>
#include <string.h>

#define EXCHANGES 40   /* of blocks; then one column at a time */
#define ROUNDS	  3    /* of filling in samples that lack something */
#define LOST_SIZE 8.0  /* usual deviations that a loss has at least … */
#define LOST_PART 0.15 /* … and the part of the sample */
#define LOST_MOST 0.05 /* more samples than this are not an accident */
#define COMPLETE  2    /* other counters that must be complete in a sample that lacks one */

static void solve_once(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	const double *factor = r->factor;

	if (f->any_fixed) {
		sonde_unmix__envelope_factor(
			f->own_factor, &r->envelope, &r->gram, f->is_fixed, NULL);
		factor = f->own_factor;
	}
	memcpy(f->scaled, f->rhs, r->gram.nr * sizeof(*f->scaled));
	sonde_unmix__envelope_solve(f->scaled, &r->envelope, factor, f->scratch);
}

static double gradient(
	const struct sonde_unmix__fit *f, const struct sonde_unmix__gram *g, uint32_t k)
{
	double sum = f->rhs[k];
	size_t j;

	for (j = g->row[k]; j < g->row[k + 1]; j++)
		sum -= g->at.at[j].value * f->scaled[g->at.at[j].column];
	return sum;
}

/* Moves columns across the border; returns how many are on the wrong side of it. */
static uint32_t exchange(struct sonde_unmix__fit *f, const struct sonde_unmix__gram *g,
	double tolerance, bool one_only)
{
	uint32_t nr = 0, k;

	for (k = g->nr; k-- > 0;) {
		bool is_wrong;

		if (g->scale[k] == 0)
			continue;
		is_wrong =
			f->is_fixed[k] ? gradient(f, g, k) > tolerance : f->scaled[k] < -tolerance;
		if (!is_wrong || (one_only && nr > 0))
			continue;
		f->is_fixed[k] = !f->is_fixed[k];
		nr++;
	}
	f->any_fixed |= nr > 0;
	return nr;
}

static void solve_nonneg(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	uint32_t limit = EXCHANGES + 3 * r->gram.nr, i, k;
	double most = 0;

	for (k = 0; k < r->gram.nr; k++)
		most = fabs(f->rhs[k]) > most ? fabs(f->rhs[k]) : most;
	for (i = 0; i < limit; i++) {
		solve_once(f, r);
		if (exchange(f, &r->gram, 1e-9 * most, i >= EXCHANGES) == 0)
			break;
	}
	for (k = 0; k < r->gram.nr; k++)
		f->scaled[k] = f->scaled[k] > 0 && !f->is_fixed[k] ? f->scaled[k] : 0;
}

/* Fits `values`, by row, which may be filled in. */
static void fit_values(
	struct sonde_unmix__fit *f, const struct sonde_unmix__round *r, const double *values)
{
	const struct sonde_unmix__gram *g = &r->gram;
	uint32_t k;

	sonde_unmix__matrix_collect(f->rhs, &r->matrix, values);
	for (k = 0; k < g->nr; k++)
		f->rhs[k] = g->scale[k] > 0 ? f->rhs[k] / g->scale[k] : 0;
	solve_nonneg(f, r);
	for (k = 0; k < g->nr; k++)
		f->x[k] = g->scale[k] > 0 ? f->scaled[k] / g->scale[k] : 0;
}

/* Finds residuals, what was expected, and how much of it from launches. */
static void expect(struct sonde_unmix__fit *f, const struct sonde_unmix__matrix *m)
{
	uint32_t first_background = m->nr_columns - m->nr_background;
	size_t i, j;

	for (i = 0; i < m->nr_rows; i++) {
		double all = 0, launches = 0, noise = 0;

		for (j = m->row[i]; j < m->row[i + 1]; j++) {
			double part = m->value[j] * f->x[m->column[j]];

			all += part;
			noise += part * part;
			if (m->column[j] < first_background)
				launches += part;
		}
		f->expected[i] = all;
		f->launches[i] = launches;
		f->noise[i] = noise;
		f->residual[i] = f->values[i] - all;
	}
}

/* Whether launches, not the background, decide what a sample shows. */
static bool is_busy(const struct sonde_unmix__fit *f, size_t i)
{
	return f->launches[i] > 0.5 * f->expected[i];
}

/*
 * The residual, or its sum with that of a neighbour where that is smaller: what lies
 * at the edge of two samples is missing in one and too much in the other.
 */
static double lasting(
	const struct sonde_unmix__fit *f, const struct sonde_unmix__windows *w, size_t i)
{
	double r = f->residual[i], with;

	if (w->follows[i]) {
		with = f->residual[i] + f->residual[i - 1];
		r = fabs(with) < fabs(r) ? with : r;
	}
	if (i + 1 < w->nr && w->follows[i + 1]) {
		with = f->residual[i] + f->residual[i + 1];
		r = fabs(with) < fabs(r) ? with : r;
	}
	return r;
}

/* The usual residual in units of what its launches count: the median of some thousand. */
static double usual_deviation(
	struct sonde_unmix__fit *f, const struct sonde_unmix__windows *w, double *some)
{
	size_t step = w->nr / 10000 + 1, nr = 0, i;

	for (i = 0; i < w->nr; i += step) {
		if (is_busy(f, i) && f->noise[i] > 0)
			some[nr++] = fabs(lasting(f, w, i)) / sqrt(f->noise[i]);
	}
	if (nr == 0)
		return 0;
	sonde_sort_numbers(some, nr);
	return some[nr / 2] / 0.6745;
}

/* Marks samples that lack something. Returns whether that changed. */
static bool mark_lost(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	const struct sonde_unmix__windows *w = r->windows;
	double usual = usual_deviation(f, w, f->filled);
	uint64_t nr_changed = 0;
	size_t i;

	f->nr_lost = 0;
	for (i = 0; i < w->nr; i++) {
		double left = lasting(f, w, i);
		bool was = f->lost[i];

		f->lost[i] = left < -LOST_PART * f->expected[i] && f->nr_complete[i] >= COMPLETE &&
			     is_busy(f, i) && left < -LOST_SIZE * usual * sqrt(f->noise[i]);
		f->nr_lost += f->lost[i];
		nr_changed += was != f->lost[i];
	}
	if ((double)f->nr_lost > LOST_MOST * (double)w->nr) {
		memset(f->lost, 0, w->nr * sizeof(*f->lost));
		f->nr_lost = 0;
		return true;
	}
	return nr_changed > 0;
}

static void judge(struct sonde_unmix__fit *f, size_t nr)
{
	double squares = 0, residuals = 0, sum = 0, background = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (f->lost[i]) {
			f->residual[i] = 0;
			continue;
		}
		squares += f->values[i] * f->values[i];
		residuals += f->residual[i] * f->residual[i];
		sum += f->values[i];
		background += f->expected[i] - f->launches[i];
	}
	f->misfit = squares > 0 ? sqrt(residuals / squares) : 0;
	f->background = sum > 0 ? background / sum : 0;
}

static void begin(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r, uint32_t counter)
{
	size_t i;

	for (i = 0; i < r->windows->nr; i++)
		f->values[i] = r->in->values[r->windows->sample[i] * r->in->nr_counters + counter];
	memset(f->lost, 0, r->windows->nr * sizeof(*f->lost));
	memset(f->is_fixed, 0, r->gram.nr * sizeof(*f->is_fixed));
	f->any_fixed = false;
	f->nr_lost = 0;
}

void sonde_unmix__fit_survey(
	struct sonde_unmix__fit *f, const struct sonde_unmix__round *r, uint32_t counter)
{
	size_t i;

	begin(f, r, counter);
	fit_values(f, r, f->values);
	expect(f, &r->matrix);
	for (i = 0; i < r->windows->nr; i++)
		f->nr_complete[i] += is_busy(f, i) &&
				     lasting(f, r->windows, i) > -0.5 * LOST_PART * f->expected[i];
	memcpy(f->surveyed + (size_t)counter * r->gram.nr, f->x, r->gram.nr * sizeof(*f->x));
}

void sonde_unmix__fit_counter(
	struct sonde_unmix__fit *f, const struct sonde_unmix__round *r, uint32_t counter)
{
	size_t nr = r->windows->nr, i;
	int round;

	begin(f, r, counter);
	memcpy(f->x, f->surveyed + (size_t)counter * r->gram.nr, r->gram.nr * sizeof(*f->x));
	expect(f, &r->matrix);
	for (round = 0; round < ROUNDS; round++) {
		/* Marks may stay while what is filled in still moves. */
		if (!mark_lost(f, r) && f->nr_lost == 0)
			break;
		for (i = 0; i < nr; i++)
			f->filled[i] = f->lost[i] ? f->expected[i] : f->values[i];
		fit_values(f, r, f->filled);
		expect(f, &r->matrix);
	}
	judge(f, nr);
}

int sonde_unmix__fit_start(struct sonde_unmix__fit *f, struct sonde_unmix__round *r)
{
	struct sonde_arena *arena = &r->arena;
	size_t rows = r->windows->nr * sizeof(double), columns = r->gram.nr * sizeof(double);

	f->x = sonde_arena_alloc(arena, columns);
	f->values = sonde_arena_alloc(arena, rows);
	f->expected = sonde_arena_alloc(arena, rows);
	f->launches = sonde_arena_alloc(arena, rows);
	f->residual = sonde_arena_alloc(arena, rows);
	f->noise = sonde_arena_alloc(arena, rows);
	f->filled = sonde_arena_alloc(arena, rows);
	f->lost = sonde_arena_calloc(arena, r->windows->nr, sizeof(*f->lost));
	f->rhs = sonde_arena_alloc(arena, columns);
	f->scaled = sonde_arena_alloc(arena, columns);
	f->scratch = sonde_arena_alloc(arena, columns);
	f->is_fixed = sonde_arena_calloc(arena, r->gram.nr, sizeof(*f->is_fixed));
	f->own_factor = sonde_arena_alloc(arena, r->envelope.nr_values * sizeof(double));
	f->scores = sonde_arena_alloc(arena, SPREAD_WIDTH * columns);
	f->sums = sonde_arena_alloc(arena, RESIDUAL_SUMS * columns);
	f->nr_complete = sonde_arena_calloc(arena, r->windows->nr, sizeof(*f->nr_complete));
	return arena->failed ? SONDE_ERR_NOMEM : 0;
}
