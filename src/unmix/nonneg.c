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

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXCHANGES 40   /* of blocks; then one column at a time */
#define ROUNDS	  4    /* of looking for samples that lack something */
#define LOST_SIZE 8.0  /* usual deviations that a loss has at least … */
#define LOST_PART 0.1  /* … and the part of the sample */
#define LOST_MOST 0.05 /* more samples than this are not an accident */
#define COMPLETE  2    /* other counters that must be complete in a sample that lacks one */

/* Scratch of one fit; columns where not said otherwise. */
struct solver {
	const struct sonde_unmix__round *r;
	const double *factor; /* for `fixed` */
	double *own_factor;
	double *rhs, *x, *scratch;
	bool *fixed;
	bool any_fixed;
};

static void solve_once(struct solver *s)
{
	const struct sonde_unmix__round *r = s->r;

	s->factor = r->factor;
	if (s->any_fixed) {
		sonde_unmix__envelope_factor(s->own_factor, &r->envelope, &r->gram, s->fixed, NULL);
		s->factor = s->own_factor;
	}
	memcpy(s->x, s->rhs, r->gram.nr * sizeof(*s->x));
	sonde_unmix__envelope_solve(s->x, &r->envelope, s->factor, s->scratch);
}

static double gradient(const struct solver *s, uint32_t k)
{
	const struct sonde_unmix__gram *g = &s->r->gram;
	double sum = s->rhs[k];
	size_t j;

	for (j = g->row[k]; j < g->row[k + 1]; j++)
		sum -= g->at.at[j].value * s->x[g->at.at[j].column];
	return sum;
}

/* Moves columns across the border; returns how many are on the wrong side of it. */
static uint32_t exchange(struct solver *s, double tolerance, bool one_only)
{
	uint32_t nr = 0, k;

	for (k = s->r->gram.nr; k-- > 0;) {
		bool is_wrong;

		if (s->r->gram.scale[k] == 0)
			continue;
		is_wrong = s->fixed[k] ? gradient(s, k) > tolerance : s->x[k] < -tolerance;
		if (!is_wrong || (one_only && nr > 0))
			continue;
		s->fixed[k] = !s->fixed[k];
		nr++;
	}
	s->any_fixed |= nr > 0;
	return nr;
}

static void solve_nonneg(struct solver *s)
{
	uint32_t limit = EXCHANGES + 3 * s->r->gram.nr, i, k;
	double most = 0;

	for (k = 0; k < s->r->gram.nr; k++)
		most = fabs(s->rhs[k]) > most ? fabs(s->rhs[k]) : most;
	for (i = 0; i < limit; i++) {
		solve_once(s);
		if (exchange(s, 1e-9 * most, i >= EXCHANGES) == 0)
			break;
	}
	for (k = 0; k < s->r->gram.nr; k++)
		s->x[k] = s->x[k] > 0 && !s->fixed[k] ? s->x[k] : 0;
}

/* Values of one counter, by row. */
static void gather(double *v, const struct sonde_unmix__round *r, uint32_t counter)
{
	size_t i;

	for (i = 0; i < r->windows->nr; i++)
		v[i] = r->in->values[r->windows->sample[i] * r->in->nr_counters + counter];
}

static void fit_values(struct sonde_unmix__fit *fit, struct solver *s, const double *v)
{
	const struct sonde_unmix__gram *g = &s->r->gram;
	uint32_t k;

	sonde_unmix__matrix_collect(s->rhs, &s->r->matrix, v);
	for (k = 0; k < g->nr; k++)
		s->rhs[k] = g->scale[k] > 0 ? s->rhs[k] / g->scale[k] : 0;
	solve_nonneg(s);
	for (k = 0; k < g->nr; k++)
		fit->x[k] = g->scale[k] > 0 ? s->x[k] / g->scale[k] : 0;
}

/* By row: what is expected, how much of it from launches, and the square of what each counts. */
struct expected {
	double *all, *launches;
};

static void expect(
	struct expected *e, struct sonde_unmix__fit *fit, const struct sonde_unmix__matrix *m)
{
	uint32_t first_background = m->nr_columns - m->nr_background;
	size_t i, j;

	for (i = 0; i < m->nr_rows; i++) {
		double all = 0, launches = 0, noise = 0;

		for (j = m->row[i]; j < m->row[i + 1]; j++) {
			double part = m->value[j] * fit->x[m->column[j]];

			all += part;
			noise += part * part;
			if (m->column[j] < first_background)
				launches += part;
		}
		e->all[i] = all;
		e->launches[i] = launches;
		fit->noise[i] = noise;
	}
}

/*
 * The residual, or its sum with that of a neighbour where that is smaller: what lies
 * at the edge of two samples is missing in one and too much in the other.
 */
static double lasting(const struct sonde_unmix__windows *w, const double *residual, size_t i)
{
	double r = residual[i], with;

	if (w->follows[i]) {
		with = residual[i] + residual[i - 1];
		r = fabs(with) < fabs(r) ? with : r;
	}
	if (i + 1 < w->nr && w->follows[i + 1]) {
		with = residual[i] + residual[i + 1];
		r = fabs(with) < fabs(r) ? with : r;
	}
	return r;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The usual residual in units of what its launches count: the median of some thousand. */
static double usual_deviation(const struct sonde_unmix__fit *fit, const struct expected *e,
	const struct sonde_unmix__windows *w, double *some)
{
	size_t step = w->nr / 10000 + 1, nr = 0, i;

	for (i = 0; i < w->nr; i += step) {
		if (e->launches[i] > 0.5 * e->all[i] && fit->noise[i] > 0)
			some[nr++] = fabs(lasting(w, fit->residual, i)) / sqrt(fit->noise[i]);
	}
	if (nr == 0)
		return 0;
	qsort(some, nr, sizeof(*some), compare_doubles);
	return some[nr / 2] / 0.6745;
}

static bool is_low(const struct sonde_unmix__fit *fit, const struct expected *e, size_t i,
	double lasting_residual, double usual)
{
	return lasting_residual < -LOST_PART * e->all[i] &&
	       lasting_residual < -LOST_SIZE * usual * sqrt(fit->noise[i]);
}

/* Marks samples that lack something. Returns whether that changed. */
static bool mark_lost(
	struct sonde_unmix__fit *fit, const struct expected *e, struct solver *s, double *some)
{
	const struct sonde_unmix__windows *w = s->r->windows;
	double usual = usual_deviation(fit, e, w, some);
	uint64_t nr_changed = 0;
	size_t i;

	fit->nr_lost = 0;
	for (i = 0; i < w->nr; i++) {
		bool was = fit->lost[i];

		fit->lost[i] = s->r->nr_complete[i] >= COMPLETE &&
			       e->launches[i] > 0.5 * e->all[i] &&
			       is_low(fit, e, i, lasting(w, fit->residual, i), usual);
		fit->nr_lost += fit->lost[i];
		nr_changed += was != fit->lost[i];
	}
	if ((double)fit->nr_lost > LOST_MOST * (double)w->nr) {
		memset(fit->lost, 0, w->nr * sizeof(*fit->lost));
		fit->nr_lost = 0;
		return true;
	}
	return nr_changed > 0;
}

/* Counts, for each sample, the counters that launches decide and that are all there. */
static void survey(struct sonde_unmix__fit *fit, const struct expected *e, struct solver *s,
	uint16_t *nr_complete)
{
	const struct sonde_unmix__windows *w = s->r->windows;
	size_t i;

	for (i = 0; i < w->nr; i++)
		nr_complete[i] += e->launches[i] > 0.5 * e->all[i] &&
				  lasting(w, fit->residual, i) > -0.5 * LOST_PART * e->all[i];
}

static void judge(
	struct sonde_unmix__fit *fit, const struct expected *e, const double *v, size_t nr)
{
	double squares = 0, residuals = 0, sum = 0, background = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		fit->residual[i] = fit->lost[i] ? 0 : v[i] - e->all[i];
		if (fit->lost[i])
			continue;
		squares += v[i] * v[i];
		residuals += fit->residual[i] * fit->residual[i];
		sum += v[i];
		background += e->all[i] - e->launches[i];
	}
	fit->misfit = squares > 0 ? sqrt(residuals / squares) : 0;
	fit->background = sum > 0 ? background / sum : 0;
}

static void fit_once(struct sonde_unmix__fit *fit, struct solver *s, struct expected *e,
	const double *v, const double *filled)
{
	size_t i;

	fit_values(fit, s, filled);
	expect(e, fit, &s->r->matrix);
	for (i = 0; i < s->r->windows->nr; i++)
		fit->residual[i] = v[i] - e->all[i];
}

static void fit_rounds(struct sonde_unmix__fit *fit, struct solver *s, struct expected *e,
	const double *v, double *filled)
{
	size_t nr = s->r->windows->nr, i;
	int round;

	memcpy(filled, v, nr * sizeof(*v));
	for (round = 0; round < ROUNDS; round++) {
		bool has_changed;

		fit_once(fit, s, e, v, filled);
		has_changed = round + 1 < ROUNDS && mark_lost(fit, e, s, filled);
		for (i = 0; i < nr; i++)
			filled[i] = fit->lost[i] ? e->all[i] : v[i];
		if (!has_changed && fit->nr_lost == 0)
			break;
	}
	judge(fit, e, v, nr);
}

int sonde_unmix__fit_counter(struct sonde_unmix__fit *fit, struct sonde_unmix__round *r,
	uint32_t counter, bool is_survey)
{
	size_t rows = r->windows->nr, columns = r->gram.nr;
	struct sonde_arena arena = {0};
	struct solver s = {.r = r};
	struct expected e = {0};
	double *v = sonde_arena_alloc(&arena, rows * sizeof(*v));
	double *filled = sonde_arena_alloc(&arena, rows * sizeof(*filled));
	bool has_failed;

	e.all = sonde_arena_alloc(&arena, rows * sizeof(*e.all));
	e.launches = sonde_arena_alloc(&arena, rows * sizeof(*e.launches));
	s.own_factor = sonde_arena_alloc(&arena, r->envelope.nr_values * sizeof(*s.own_factor));
	s.rhs = sonde_arena_alloc(&arena, columns * sizeof(*s.rhs));
	s.x = sonde_arena_alloc(&arena, columns * sizeof(*s.x));
	s.scratch = sonde_arena_alloc(&arena, columns * sizeof(*s.scratch));
	s.fixed = sonde_arena_calloc(&arena, columns, sizeof(*s.fixed));
	memset(fit->lost, 0, rows * sizeof(*fit->lost));
	fit->nr_lost = 0;
	has_failed = arena.failed;
	if (!has_failed)
		gather(v, r, counter);
	if (!has_failed && is_survey) {
		fit_once(fit, &s, &e, v, v);
		survey(fit, &e, &s, r->nr_complete);
	} else if (!has_failed) {
		fit_rounds(fit, &s, &e, v, filled);
	}
	sonde_arena_release(&arena);
	return has_failed ? SONDE_ERR_NOMEM : 0;
}
