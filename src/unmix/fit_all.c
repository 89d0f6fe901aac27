/*
 * Fitting all counters, side by side where that pays: once the matrix is there, counters
 * have nothing to do with each other. Every worker has its own scratch and takes
 * every n-th set of them, so the result does not depend on how many there are.
 */
#include "unmix/unmix_int.h"

#include "base/workers.h"

#include <math.h>
#include <string.h>

#define MOST_WORKERS	8
#define VALUES_FOR_CREW 500000 /* samples × counters; less is done before a thread has started */

struct worker {
	struct sonde_unmixed *u;
	const struct sonde_unmix__round *r;
	struct sonde_unmix__fit fit;
	struct sonde_unmix__set *sets; /* of all counters */
	uint32_t nr_sets;
	uint32_t first, step; /* its sets */
	bool is_survey;	      /* the first of two rounds */
};

static void take_fit(const struct worker *w, uint32_t lane)
{
	const struct sonde_unmix__set *set = w->fit.set;
	uint32_t counter = set->counter[lane], k, b;
	struct sonde_unmix_counter_result *c = &w->u->counters[counter];

	c->misfit = set->misfit[lane];
	c->deviation = sqrt(set->noise_rate[lane]);
	c->nr_lost = set->nr_lost[lane];
	for (k = 0; k < w->u->nr_unknowns; k++) {
		const struct sonde_unmix__unknown *x = &w->r->plan->unknowns[k];
		double sum = 0;

		for (b = 0; b < x->nr_bins; b++)
			sum += set->x[(size_t)(x->column + b) * LANES + lane];
		w->u->x[(size_t)k * w->u->nr_counters + counter] = sum;
		if (x->has_trend)
			w->u->trend[(size_t)k * w->u->nr_counters + counter] =
				set->x[(size_t)(x->column + x->nr_bins) * LANES + lane];
	}
}

static void work(void *arg)
{
	struct worker *w = arg;
	size_t stride = (size_t)w->u->nr_counters * SPREAD_WIDTH;
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
		sonde_unmix__spread(w->u->deviations, stride, &w->fit, w->r);
		for (lane = 0; lane < w->fit.set->nr; lane++)
			take_fit(w, lane);
	}
}

static void run(struct worker *workers, uint32_t nr, bool is_survey)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		workers[i].is_survey = is_survey;
	sonde_workers_run(workers, nr, sizeof(*workers), work);
}

static uint32_t count_workers(const struct sonde_unmix__round *r, uint32_t sets)
{
	uint32_t nr = (uint32_t)sonde_workers_count(MOST_WORKERS);

	if (r->windows->nr * r->in->nr_counters < VALUES_FOR_CREW)
		return 1;
	return nr < sets ? nr : sets;
}

/* What the others counted is added to what the first one did, which all then look at. */
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

/* Set number `number`: its counters that are not refused. */
static int start_set(struct sonde_unmix__set *set, uint32_t number, const struct sonde_unmixed *u,
	struct sonde_unmix__round *r)
{
	size_t lanes = (size_t)r->gram.nr * LANES * sizeof(double);
	uint32_t c;

	for (c = number * LANES; c < u->nr_counters && c < (number + 1) * LANES; c++) {
		if (u->counters[c].refused == NULL)
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
	uint32_t nr_sets = (u->nr_counters + LANES - 1) / LANES, nr = count_workers(r, nr_sets), k, i;
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
	run(workers, nr, true);
	merge_surveys(workers, nr);
	run(workers, nr, false);
	r->has_edges = workers[0].fit.has_edges;
	for (k = 1; k < nr; k++) {
		for (i = 0; i < r->plan->nr_unknowns; i++)
			r->has_edges[i] |= workers[k].fit.has_edges[i];
	}
	return 0;
}
