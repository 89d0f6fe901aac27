/*
 * The fit of some counters: what each column counts, and which samples to believe.
 *
 * Some samples lack part of a counter: the record of a unit was lost on the way, and
 * the sample shows much less than its launches do elsewhere, which no neighbour
 * makes up for. Such samples are left out for this counter, by giving them the
 * value the fit expects. A kernel that has little to do now and then looks the same,
 * but does less of everything: a sample is only left out when other counters
 * are complete in it. A survey of all counters comes first to know that.
 *
 * Nothing is kept by sample but those marks: what a fit says about a sample is
 * found anew each time, for all lanes at once, which is quicker than to store it.
 */
#include "unmix/unmix_int.h"

#include "base/quantile.h"

#include <math.h>
#include <string.h>

#define ROUNDS	  3	/* of filling in samples that lack something */
#define LOST_SIZE 8.0	/* usual deviations that a loss has at least … */
#define LOST_PART 0.15	/* … and the part of the sample */
#define LOST_MOST 0.05	/* more samples than this are not an accident */
#define COMPLETE  2	/* other counters that must be complete in a sample that lacks one */
#define SOME	  10000 /* samples that the usual deviation is found from */

/*
 * The values of a sample, by lane. They are fetched for some samples at a time: samples lie far
 * apart in memory, and a processor waits for many places at once as long as for one.
 */
static const double *values_of(
	const struct sonde_unmix__fit *f, const struct sonde_unmix__round *r, size_t row)
{
	struct sonde_unmix__tile *t = f->tile;
	size_t i;
	uint32_t lane;

	if (row >= t->first && row < t->first + FIT_TILE && t->is_loaded)
		return t->values[row - t->first];
	t->first = row;
	t->is_loaded = true;
	for (i = 0; i < FIT_TILE && row + i < r->windows->nr; i++) {
		const double *from =
			r->in->values + r->windows->sample[row + i] * r->in->nr_counters;

		for (lane = 0; lane < f->nr; lane++)
			t->values[i][lane] = from[f->counter[lane]];
	}
	return t->values[0];
}

void sonde_unmix__fit_look(struct sonde_unmix__look *look, const struct sonde_unmix__fit *f,
	const struct sonde_unmix__round *r, size_t row)
{
	const struct sonde_unmix__matrix *m = &r->matrix;
	struct sonde_lanes all = lanes_same(0), launches = all, noise = all;
	uint32_t first_background = m->nr_columns - m->nr_background;
	size_t j;

	for (j = m->row[row]; j < m->row[row + 1]; j++) {
		struct sonde_lanes part = lanes_load(f->x + (size_t)m->column[j] * LANES);

		part = lanes_times(part, lanes_same(m->value[j]));
		all = lanes_plus(all, part);
		noise = lanes_plus(noise, lanes_times(part, part));
		if (m->column[j] < first_background)
			launches = all; /* the background, if there is any, comes last */
	}
	lanes_store(look->expected, all);
	lanes_store(look->launches, launches);
	lanes_store(look->noise, noise);
	lanes_store(look->residual, lanes_minus(lanes_load(values_of(f, r, row)), all));
}

/* A walk along the samples: what is said about one and about its neighbours. */
struct walk {
	struct sonde_unmix__look at[3];
	const struct sonde_unmix__look *here, *before, *behind; /* NULL = there is a gap */
};

static void step(struct walk *w, const struct sonde_unmix__fit *f,
	const struct sonde_unmix__round *r, size_t row)
{
	const struct sonde_unmix__windows *windows = r->windows;

	if (row == 0)
		sonde_unmix__fit_look(&w->at[0], f, r, 0);
	if (row + 1 < windows->nr)
		sonde_unmix__fit_look(&w->at[(row + 1) % 3], f, r, row + 1);
	w->here = &w->at[row % 3];
	w->before = windows->follows[row] ? &w->at[(row + 2) % 3] : NULL;
	w->behind =
		row + 1 < windows->nr && windows->follows[row + 1] ? &w->at[(row + 1) % 3] : NULL;
}

/* Whether launches, not the background, decide what a sample shows. */
static bool is_busy(const struct walk *w, uint32_t lane)
{
	return w->here->launches[lane] > 0.5 * w->here->expected[lane];
}

/*
 * The residual, or its sum with that of a neighbour where that is smaller: what lies
 * at the edge of two samples is missing in one and too much in the other.
 */
static double lasting(const struct walk *w, uint32_t lane)
{
	double own = w->here->residual[lane], left = own, with;

	if (w->before != NULL) {
		with = own + w->before->residual[lane];
		left = fabs(with) < fabs(left) ? with : left;
	}
	if (w->behind != NULL) {
		with = own + w->behind->residual[lane];
		left = fabs(with) < fabs(left) ? with : left;
	}
	return left;
}

/* The right-hand sides, with what is expected where something was lost. */
static void collect(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	const struct sonde_unmix__matrix *m = &r->matrix;
	struct sonde_unmix__look look;
	uint32_t k, lane;
	size_t i, j;

	memset(f->rhs, 0, (size_t)m->nr_columns * LANES * sizeof(*f->rhs));
	for (i = 0; i < m->nr_rows; i++) {
		double values[LANES];

		memcpy(values, values_of(f, r, i), sizeof(values));
		if (f->lost[i] != 0)
			sonde_unmix__fit_look(&look, f, r, i);
		for (lane = 0; f->lost[i] != 0 && lane < f->nr; lane++)
			values[lane] = f->lost[i] >> lane & 1 ? look.expected[lane] : values[lane];
		for (j = m->row[i]; j < m->row[i + 1]; j++)
			lanes_add_scaled(
				f->rhs + (size_t)m->column[j] * LANES, values, m->value[j]);
	}
	for (k = 0; k < m->nr_columns; k++) {
		for (lane = 0; lane < LANES; lane++)
			f->rhs[(size_t)k * LANES + lane] /=
				r->gram.scale[k] > 0 ? r->gram.scale[k] : INFINITY;
	}
}

/* Counts in which counters a sample is complete, and finds their usual deviations. */
static void look_around(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	size_t every = r->windows->nr / SOME + 1, i;
	uint32_t nr_some[LANES] = {0}, lane;
	struct walk w;

	for (i = 0; i < r->windows->nr; i++) {
		step(&w, f, r, i);
		for (lane = 0; lane < f->nr; lane++) {
			double left;

			if (!is_busy(&w, lane))
				continue;
			left = lasting(&w, lane);
			f->nr_complete[i] += left > -0.5 * LOST_PART * w.here->expected[lane];
			if (i % every == 0 && w.here->noise[lane] > 0)
				f->some[lane * SOME + nr_some[lane]++] =
					fabs(left) / sqrt(w.here->noise[lane]);
		}
	}
	for (lane = 0; lane < f->nr; lane++) {
		double *some = f->some + lane * SOME;

		sonde_sort_numbers(some, nr_some[lane]);
		f->usual[f->counter[lane]] =
			nr_some[lane] > 0 ? some[nr_some[lane] / 2] / 0.6745 : 0;
	}
}

void sonde_unmix__fit_survey(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	size_t columns = r->gram.nr, k;
	uint32_t lane;

	f->tile->is_loaded = false;
	memset(f->lost, 0, r->windows->nr * sizeof(*f->lost));
	memset(f->x, 0, columns * LANES * sizeof(*f->x));
	collect(f, r);
	sonde_unmix__solve_nonneg(f, r, (1u << f->nr) - 1, false);
	for (lane = 0; lane < f->nr; lane++) {
		double *x = f->surveyed + f->counter[lane] * columns;

		for (k = 0; k < columns; k++)
			x[k] = f->x[k * LANES + lane];
	}
	look_around(f, r);
}

/* What is summed over the samples that count, by lane. */
struct tally {
	double squares[LANES], residuals[LANES], noise[LANES];
	double sum[LANES], background[LANES];
};

static void add_to(struct tally *t, const struct sonde_unmix__look *look, uint32_t lane)
{
	double value = look->expected[lane] + look->residual[lane];

	t->squares[lane] += value * value;
	t->residuals[lane] += look->residual[lane] * look->residual[lane];
	t->noise[lane] += look->noise[lane];
	t->sum[lane] += value;
	t->background[lane] += look->expected[lane] - look->launches[lane];
}

static void judge(struct sonde_unmix__fit *f, const struct tally *t)
{
	uint32_t lane;

	for (lane = 0; lane < f->nr; lane++) {
		f->misfit[lane] =
			t->squares[lane] > 0 ? sqrt(t->residuals[lane] / t->squares[lane]) : 0;
		f->background[lane] = t->sum[lane] > 0 ? t->background[lane] / t->sum[lane] : 0;
		f->noise_rate[lane] = t->noise[lane] > 0 ? t->residuals[lane] / t->noise[lane] : 0;
	}
}

static bool lacks_something(const struct sonde_unmix__fit *f, const struct walk *w, uint32_t lane)
{
	double left = lasting(w, lane);

	return left < -LOST_PART * w->here->expected[lane] && is_busy(w, lane) &&
	       left < -LOST_SIZE * f->usual[f->counter[lane]] * sqrt(w->here->noise[lane]);
}

/* Judges the fit by the samples it believes. Those of the lanes in `marking` are chosen anew. */
static void walk_through(
	struct sonde_unmix__fit *f, const struct sonde_unmix__round *r, uint32_t marking)
{
	struct tally t = {0};
	struct walk w;
	uint32_t lane;
	size_t i;

	for (lane = 0; lane < f->nr; lane++)
		f->nr_lost[lane] = marking >> lane & 1 ? 0 : f->nr_lost[lane];
	for (i = 0; i < r->windows->nr; i++) {
		step(&w, f, r, i);
		for (lane = 0; lane < f->nr; lane++) {
			uint8_t bit = (uint8_t)(1u << lane);

			if (marking & bit) {
				f->lost[i] &= (uint8_t)~bit;
				if (f->nr_complete[i] >= COMPLETE && lacks_something(f, &w, lane)) {
					f->lost[i] |= bit;
					f->nr_lost[lane]++;
				}
			}
			if (!(f->lost[i] & bit))
				add_to(&t, w.here, lane);
		}
	}
	judge(f, &t);
}

/* So many samples cannot have been lost by accident: this counter is just like that. */
static void believe_all(
	struct sonde_unmix__fit *f, const struct sonde_unmix__round *r, uint32_t lane)
{
	const double *x = f->surveyed + (size_t)f->counter[lane] * r->gram.nr;
	size_t i;

	for (i = 0; i < r->windows->nr; i++)
		f->lost[i] &= (uint8_t) ~(1u << lane);
	for (i = 0; i < r->gram.nr; i++)
		f->x[i * LANES + lane] = x[i];
	f->nr_lost[lane] = 0;
}

/* Fits again what lost something. Returns whether anything is new; `*marking` may become less. */
static bool fill_in(
	struct sonde_unmix__fit *f, const struct sonde_unmix__round *r, uint32_t *marking)
{
	uint32_t lane, again = 0;
	bool is_new = false;

	for (lane = 0; lane < f->nr; lane++) {
		if ((double)f->nr_lost[lane] > LOST_MOST * (double)r->windows->nr) {
			believe_all(f, r, lane);
			*marking &= ~(1u << lane);
			is_new = true;
		} else if (f->nr_lost[lane] > 0) {
			again |= 1u << lane;
		}
	}
	if (again != 0) {
		collect(f, r);
		sonde_unmix__solve_nonneg(f, r, again, true);
	}
	return is_new || again != 0;
}

void sonde_unmix__fit_counters(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	uint32_t marking = (1u << f->nr) - 1, lane, round;
	size_t columns = r->gram.nr, k;

	f->tile->is_loaded = false;
	memset(f->lost, 0, r->windows->nr * sizeof(*f->lost));
	memset(f->x, 0, columns * LANES * sizeof(*f->x));
	for (lane = 0; lane < f->nr; lane++) {
		const double *x = f->surveyed + f->counter[lane] * columns;

		f->nr_lost[lane] = 0;
		for (k = 0; k < columns; k++)
			f->x[k * LANES + lane] = x[k];
	}
	/* Marks may stay while what is filled in still moves. */
	for (round = 0; round < ROUNDS; round++) {
		walk_through(f, r, marking);
		if (!fill_in(f, r, &marking))
			return;
	}
	walk_through(f, r, 0);
}

int sonde_unmix__fit_start(struct sonde_unmix__fit *f, struct sonde_unmix__round *r)
{
	struct sonde_arena *arena = &r->arena;
	size_t columns = r->gram.nr * sizeof(double), rows = r->windows->nr;

	f->x = sonde_arena_alloc(arena, LANES * columns);
	f->rhs = sonde_arena_alloc(arena, LANES * columns);
	f->lost = sonde_arena_alloc(arena, rows * sizeof(*f->lost));
	f->sums = sonde_arena_alloc(arena, RESIDUAL_SUMS * LANES * columns);
	f->scores = sonde_arena_alloc(arena, SPREAD_WIDTH * columns);
	f->scaled = sonde_arena_alloc(arena, LANES * columns);
	f->scratch = sonde_arena_alloc(arena, LANES * columns);
	f->factors = sonde_arena_alloc(arena, LANES * r->envelope.nr_values * sizeof(double));
	f->fixed = sonde_arena_alloc(arena, r->gram.nr * sizeof(*f->fixed));
	f->tile = sonde_arena_calloc(arena, 1, sizeof(*f->tile));
	f->some = sonde_arena_alloc(arena, LANES * SOME * sizeof(*f->some));
	f->nr_complete = sonde_arena_calloc(arena, rows, sizeof(*f->nr_complete));
	return arena->failed ? SONDE_ERR_NOMEM : 0;
}
