/*
 * The fit of some counters: the count of each column, from all samples.
 *
 * Only one byte of marks is stored per sample. The prediction of the fit for a sample is
 * computed anew each time, for all lanes at once, which is faster than storing it. A walk
 * through all samples fetches half a gigabyte in a large run, so there are few walks: one for
 * the right-hand sides, one for the survey, one for the spread.
 */
#include "unmix/unmix_int.h"

#include "base/quantile.h"
#include "base/workers.h"

#include <math.h>
#include <string.h>

#define SOME	  10000 /* number of samples from which the usual deviation is computed, about */
#define LOST_PART 0.15	/* a sample that lacks less than this share of its value has lost nothing */
#define AHEAD	  24	/* number of samples that prefetching is ahead */

static const double *values_of(
	struct sonde_unmix__fit *f, const struct sonde_unmix__round *r, size_t row)
{
	const struct sonde_unmix__windows *w = r->windows;
	const struct sonde_unmix__set *set = f->set;
	const double *from = r->in->values + w->sample[row] * r->in->nr_counters;
	uint32_t lane;

	if (row + AHEAD < w->nr)
		__builtin_prefetch(r->in->values + w->sample[row + AHEAD] * r->in->nr_counters +
				   set->counter[0]);
	if (set->is_row)
		return from + set->counter[0];
	for (lane = 0; lane < set->nr; lane++)
		f->values[lane] = from[set->counter[lane]];
	return f->values;
}

void sonde_unmix__fit_look(struct sonde_unmix__look *look, struct sonde_unmix__fit *f,
	const struct sonde_unmix__round *r, size_t row)
{
	const struct sonde_unmix__matrix *m = &r->matrix;
	struct sonde_lanes all = lanes_same(0), launches = all, noise = all;
	uint32_t first_background = m->nr_columns - m->nr_background;
	size_t j;

	for (j = m->row[row]; j < m->row[row + 1]; j++) {
		struct sonde_lanes part = lanes_load(f->set->x + (size_t)m->column[j] * LANES);

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

static const struct sonde_unmix__look *sample_at(struct sonde_unmix__walk *w,
	struct sonde_unmix__fit *f, const struct sonde_unmix__round *r, size_t row)
{
	if (w->row[row % 3] != row + 1) {
		sonde_unmix__fit_look(&w->at[row % 3], f, r, row);
		w->row[row % 3] = row + 1;
	}
	return &w->at[row % 3];
}

void sonde_unmix__fit_step(struct sonde_unmix__walk *w, struct sonde_unmix__fit *f,
	const struct sonde_unmix__round *r, size_t row)
{
	const struct sonde_unmix__windows *windows = r->windows;
	bool is_followed = row + 1 < windows->nr && windows->follows[row + 1];

	w->previous = windows->follows[row] ? sample_at(w, f, r, row - 1) : NULL;
	w->here = sample_at(w, f, r, row);
	w->next = is_followed ? sample_at(w, f, r, row + 1) : NULL;
}

double sonde_unmix__fit_lasting(const struct sonde_unmix__walk *w, uint32_t lane)
{
	double own = w->here->residual[lane], left = own, with;

	if (w->previous != NULL) {
		with = own + w->previous->residual[lane];
		left = fabs(with) < fabs(left) ? with : left;
	}
	if (w->next != NULL) {
		with = own + w->next->residual[lane];
		left = fabs(with) < fabs(left) ? with : left;
	}
	return left;
}

/* Whether more than half of a sample's expected value is from launches, not from the background. */
static bool is_busy(const struct sonde_unmix__walk *w, uint32_t lane)
{
	return w->here->launches[lane] > 0.5 * w->here->expected[lane];
}

bool sonde_unmix__fit_is_low(const struct sonde_unmix__walk *w, uint32_t lane, double lasting)
{
	return lasting < -LOST_PART * w->here->expected[lane] && is_busy(w, lane);
}

/* Computes the right-hand sides, Aᵀ·values, scaled. */
static void collect_right_sides(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	const struct sonde_unmix__matrix *m = &r->matrix;
	double *rhs = f->set->rhs;
	uint32_t k, lane;
	size_t i, j;

	memset(rhs, 0, (size_t)m->nr_columns * LANES * sizeof(*rhs));
	for (i = 0; i < m->nr_rows; i++) {
		const double *values = values_of(f, r, i);

		for (j = m->row[i]; j < m->row[i + 1]; j++)
			lanes_add_scaled(
				rhs + (size_t)m->column[j] * LANES, values, m->value[j]);
	}
	for (k = 0; k < m->nr_columns; k++) {
		for (lane = 0; lane < LANES; lane++)
			rhs[(size_t)k * LANES + lane] /=
				r->gram.scale[k] > 0 ? r->gram.scale[k] : INFINITY;
	}
}

void sonde_unmix__fit_tally(
	struct sonde_unmix__tally *t, const struct sonde_unmix__look *look, uint8_t lost)
{
	uint32_t lane;

	for (lane = 0; lane < LANES; lane++) {
		double weight = lost >> lane & 1 ? 0 : 1;
		double value = look->expected[lane] + look->residual[lane];

		t->squares[lane] += weight * value * value;
		t->residuals[lane] += weight * look->residual[lane] * look->residual[lane];
		t->noise[lane] += weight * look->noise[lane];
	}
}

void sonde_unmix__fit_judge(struct sonde_unmix__set *set, const struct sonde_unmix__tally *t)
{
	uint32_t lane;

	for (lane = 0; lane < set->nr; lane++) {
		set->misfit[lane] =
			t->squares[lane] > 0 ? sqrt(t->residuals[lane] / t->squares[lane]) : 0;
		set->noise_rate[lane] =
			t->noise[lane] > 0 ? t->residuals[lane] / t->noise[lane] : 0;
	}
}

/* Finds the counters that are complete in a sample, and marks those that may lack something. */
static void look_for_losses(
	struct sonde_unmix__fit *f, const struct sonde_unmix__walk *w, size_t row)
{
	uint32_t lane;

	for (lane = 0; lane < f->set->nr; lane++) {
		double left = sonde_unmix__fit_lasting(w, lane);

		if (!is_busy(w, lane))
			continue;
		f->nr_complete[row] += left > -0.5 * LOST_PART * w->here->expected[lane];
		if (sonde_unmix__fit_is_low(w, lane, left))
			f->set->lost[row] |= (uint8_t)(1u << lane);
	}
}

static void find_usual(struct sonde_unmix__fit *f, const uint32_t *nr_some)
{
	uint32_t lane;

	for (lane = 0; lane < f->set->nr; lane++) {
		double *some = f->some + lane * SOME;

		sonde_sort_numbers(some, nr_some[lane]);
		f->set->usual[lane] = nr_some[lane] > 0 ? some[nr_some[lane] / 2] / 0.6745 : 0;
	}
}

static void look_around(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	size_t every = r->windows->nr / SOME + 1, i;
	uint32_t nr_some[LANES] = {0}, lane;
	struct sonde_unmix__tally t = {0};
	struct sonde_unmix__walk w = {0};

	memset(f->set->lost, 0, r->windows->nr * sizeof(*f->set->lost));
	for (i = 0; i < r->windows->nr; i++) {
		sonde_unmix__fit_step(&w, f, r, i);
		sonde_unmix__fit_tally(&t, w.here, 0);
		look_for_losses(f, &w, i);
		for (lane = 0; i % every == 0 && lane < f->set->nr; lane++) {
			if (is_busy(&w, lane) && w.here->noise[lane] > 0)
				f->some[lane * SOME + nr_some[lane]++] =
					fabs(sonde_unmix__fit_lasting(&w, lane)) /
					sqrt(w.here->noise[lane]);
		}
	}
	sonde_unmix__fit_judge(f->set, &t);
	find_usual(f, nr_some);
}

void sonde_unmix__fit_survey(struct sonde_unmix__fit *f, const struct sonde_unmix__round *r)
{
	memset(f->set->x, 0, (size_t)r->gram.nr * LANES * sizeof(*f->set->x));
	collect_right_sides(f, r);
	memcpy(f->rhs, f->set->rhs, (size_t)r->gram.nr * LANES * sizeof(*f->rhs));
	sonde_unmix__solve_nonneg(f, r, (1u << f->set->nr) - 1, false);
	look_around(f, r);
}

int sonde_unmix__fit_start(struct sonde_unmix__fit *f, struct sonde_unmix__round *r)
{
	struct sonde_arena *arena = &r->arena;
	size_t columns = r->gram.nr, lanes = LANES * columns * sizeof(double);

	f->rhs = sonde_arena_alloc(arena, lanes);
	f->scaled = sonde_arena_alloc(arena, lanes);
	f->scratch = sonde_arena_alloc(arena, lanes);
	f->factors = sonde_arena_alloc(arena, LANES * r->envelope.nr_values * sizeof(double));
	f->fixed = sonde_arena_alloc(arena, columns * sizeof(*f->fixed));
	f->factored = sonde_arena_alloc(arena, columns * sizeof(*f->factored));
	f->sums = sonde_arena_alloc(arena, RESIDUAL_SUMS * lanes);
	f->steps = sonde_arena_alloc(
		arena, 2 * LANES * r->plan->nr_unknowns * sizeof(*f->steps));
	f->has_edges = sonde_arena_calloc(arena, r->plan->nr_unknowns, sizeof(*f->has_edges));
	f->some = sonde_arena_alloc(arena, LANES * SOME * sizeof(*f->some));
	f->nr_complete = sonde_arena_calloc(arena, r->windows->nr, sizeof(*f->nr_complete));
	return arena->failed ? SONDE_ERR_NOMEM : 0;
}

/*
 * Fits all counters, on several threads if that is worth it: once the matrix is there, counters
 * are independent of each other. Every worker has its own scratch memory and takes
 * every n-th set, so the result does not depend on the number of workers.
 */

#define MOST_WORKERS	8
#define VALUES_FOR_CREW 500000 /* samples × counters; fewer are fitted faster than a thread starts */

struct worker {
	struct sonde_unmixed *u;
	const struct sonde_unmix__round *r;
	struct sonde_unmix__fit fit;
	struct sonde_unmix__set *sets; /* the sets of all workers */
	uint32_t nr_sets;
	uint32_t first, step; /* this worker takes the sets first, first + step, … */
	bool is_survey;	      /* the survey comes first, then the fit */
};

static void take_fit(const struct worker *w, uint32_t lane)
{
	const struct sonde_unmix__set *set = w->fit.set;
	uint32_t counter = set->counter[lane], k, b;
	struct sonde_unmix_counter_result *c = &w->u->state.counters[counter];

	c->misfit = set->misfit[lane];
	c->deviation = sqrt(set->noise_rate[lane]);
	c->nr_lost = set->nr_lost[lane];
	for (k = 0; k < w->u->state.nr_unknowns; k++) {
		const struct sonde_unmix__unknown *x = &w->r->plan->unknowns[k];
		double sum = 0;

		for (b = 0; b < x->nr_bins; b++)
			sum += set->x[(size_t)(x->column + b) * LANES + lane];
		w->u->state.x[(size_t)k * w->u->state.nr_counters + counter] = sum;
		if (x->has_trend)
			w->u->trend[(size_t)k * w->u->state.nr_counters + counter] =
				set->x[(size_t)(x->column + x->nr_bins) * LANES + lane];
	}
}

static void fit_share(void *arg)
{
	struct worker *w = arg;
	size_t stride = (size_t)w->u->state.nr_counters * SPREAD_WIDTH;
	uint32_t set, lane;

	for (set = w->first; set < w->nr_sets; set += w->step) {
		w->fit.set = &w->sets[set];
		if (w->fit.set->nr == 0)
			continue;
		if (w->is_survey) {
			sonde_unmix__fit_survey(&w->fit, w->r);
			continue;
		}
		sonde_unmix__fit_counters(&w->fit, w->r);
		sonde_unmix__spread(w->u->state.deviations, stride, &w->fit, w->r);
		for (lane = 0; lane < w->fit.set->nr; lane++)
			take_fit(w, lane);
	}
}

static void run_workers(struct worker *workers, uint32_t nr, bool is_survey)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		workers[i].is_survey = is_survey;
	sonde_workers_run(workers, nr, sizeof(*workers), fit_share);
}

static uint32_t count_workers(const struct sonde_unmix__round *r, uint32_t sets)
{
	uint32_t nr = (uint32_t)sonde_workers_count(MOST_WORKERS);

	if (r->windows->nr * r->in->nr_counters < VALUES_FOR_CREW)
		return 1;
	return nr < sets ? nr : sets;
}

/* Sums the nr_complete of all workers, and gives each worker the sum. */
static void merge_surveys(struct worker *workers, uint32_t nr)
{
	size_t rows = workers[0].r->windows->nr, i;
	uint32_t k;

	for (k = 1; k < nr; k++) {
		for (i = 0; i < rows; i++)
			workers[0].fit.nr_complete[i] += workers[k].fit.nr_complete[i];
	}
	for (k = 1; k < nr; k++)
		memcpy(workers[k].fit.nr_complete, workers[0].fit.nr_complete,
			rows * sizeof(*workers[0].fit.nr_complete));
}

/* Fills set number `number` with its counters, without refused ones. */
static int start_set(struct sonde_unmix__set *set, uint32_t number, const struct sonde_unmixed *u,
	struct sonde_unmix__round *r)
{
	size_t lanes = (size_t)r->gram.nr * LANES * sizeof(double);
	uint32_t c;

	for (c = number * LANES; c < u->state.nr_counters && c < (number + 1) * LANES; c++) {
		if (u->state.counters[c].refused == NULL)
			set->counter[set->nr++] = c;
	}
	set->is_row = set->nr == LANES;
	set->x = sonde_arena_alloc(&r->arena, lanes);
	set->rhs = sonde_arena_alloc(&r->arena, lanes);
	set->lost = sonde_arena_alloc(&r->arena, r->windows->nr * sizeof(*set->lost));
	return r->arena.failed ? SONDE_ERR_NOMEM : 0;
}

int sonde_unmix__fit_all(struct sonde_unmixed *u, struct sonde_unmix__round *r)
{
	struct worker workers[MOST_WORKERS] = {0};
	uint32_t nr_sets = (u->state.nr_counters + LANES - 1) / LANES, nr = count_workers(r, nr_sets), k, i;
	struct sonde_unmix__set *sets = sonde_arena_calloc(&r->arena, nr_sets, sizeof(*sets));

	if (sets == NULL)
		return SONDE_ERR_NOMEM;
	for (k = 0; k < nr_sets; k++) {
		if (start_set(&sets[k], k, u, r) < 0)
			return SONDE_ERR_NOMEM;
	}
	for (k = 0; k < nr; k++) {
		workers[k] = (struct worker){
			.u = u, .r = r, .sets = sets, .nr_sets = nr_sets, .first = k, .step = nr};
		if (sonde_unmix__fit_start(&workers[k].fit, r) < 0)
			return SONDE_ERR_NOMEM;
	}
	run_workers(workers, nr, true);
	merge_surveys(workers, nr);
	run_workers(workers, nr, false);
	r->has_edges = workers[0].fit.has_edges;
	for (k = 1; k < nr; k++) {
		for (i = 0; i < r->plan->nr_unknowns; i++)
			r->has_edges[i] |= workers[k].fit.has_edges[i];
	}
	return 0;
}
