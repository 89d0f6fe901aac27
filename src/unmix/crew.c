/*
 * Fitting all counters, side by side where that pays: once the matrix is there, counters
 * have nothing to do with each other. Every worker has its own scratch and takes
 * every n-th set of them, so the result does not depend on how many there are.
 */
#include "unmix/unmix_int.h"

#include "base/cores.h"

#include <pthread.h>
#include <string.h>

#define MOST_WORKERS	8
#define VALUES_FOR_CREW 5000000 /* samples × counters; less is done before a thread has started */

struct worker {
	struct sonde_unmixed *u;
	const struct sonde_unmix__round *r;
	struct sonde_unmix__fit fit;
	pthread_t thread;
	uint32_t first, step; /* its sets of counters */
	bool is_survey;	      /* the first of two rounds */
	bool has_thread;
};

static void take_fit(const struct worker *w, uint32_t lane)
{
	const struct sonde_unmix__fit *fit = &w->fit;
	uint32_t counter = fit->counter[lane], k, b;
	struct sonde_unmix_counter_result *c = &w->u->counters[counter];

	c->misfit = fit->misfit[lane];
	c->background = fit->background[lane];
	c->nr_lost = fit->nr_lost[lane];
	for (k = 0; k < w->u->nr_unknowns; k++) {
		const struct sonde_unmix__unknown *x = &w->r->plan->unknowns[k];
		double sum = 0;

		for (b = 0; b < x->nr_bins; b++)
			sum += fit->x[(size_t)(x->column + b) * LANES + lane];
		w->u->x[(size_t)k * w->u->nr_counters + counter] = sum;
	}
}

/* The counters of a set that are not refused. */
static void choose_counters(struct worker *w, uint32_t set)
{
	uint32_t c;

	w->fit.nr = 0;
	for (c = set * LANES; c < w->u->nr_counters && c < (set + 1) * LANES; c++) {
		if (w->u->counters[c].refused == NULL)
			w->fit.counter[w->fit.nr++] = c;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	size_t stride = (size_t)w->u->nr_counters * SPREAD_WIDTH;
	uint32_t set, lane;

	for (set = w->first; set * LANES < w->u->nr_counters; set += w->step) {
		choose_counters(w, set);
		if (w->fit.nr == 0)
			continue;
		if (w->is_survey) {
			sonde_unmix__fit_survey(&w->fit, w->r);
			continue;
		}
		sonde_unmix__fit_counters(&w->fit, w->r);
		sonde_unmix__spread(w->u->deviations, stride, &w->fit, w->r);
		for (lane = 0; lane < w->fit.nr; lane++)
			take_fit(w, lane);
	}
	return NULL;
}

static void run(struct worker *workers, uint32_t nr, bool is_survey)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct worker *w = &workers[i];

		w->is_survey = is_survey;
		w->has_thread = i > 0 && pthread_create(&w->thread, NULL, work, w) == 0;
	}
	for (i = 0; i < nr; i++) {
		if (!workers[i].has_thread)
			work(&workers[i]);
	}
	for (i = 0; i < nr; i++) {
		if (workers[i].has_thread)
			pthread_join(workers[i].thread, NULL);
	}
}

static uint32_t count_workers(const struct sonde_unmix__round *r)
{
	size_t cores = sonde_cores();
	uint32_t nr = cores > MOST_WORKERS ? MOST_WORKERS : (uint32_t)cores;
	uint32_t sets = (r->in->nr_counters + LANES - 1) / LANES;

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

int sonde_unmix__fit_all(struct sonde_unmixed *u, struct sonde_unmix__round *r)
{
	size_t columns = r->gram.nr;
	struct worker workers[MOST_WORKERS] = {0};
	double *surveyed = sonde_arena_calloc(&r->arena, u->nr_counters, columns * sizeof(double));
	double *usual = sonde_arena_calloc(&r->arena, u->nr_counters, sizeof(double));
	uint32_t nr = count_workers(r), k;

	if (surveyed == NULL || usual == NULL)
		return SONDE_ERR_NOMEM;
	for (k = 0; k < nr; k++) {
		workers[k] = (struct worker){.u = u, .r = r, .first = k, .step = nr};
		workers[k].fit.surveyed = surveyed;
		workers[k].fit.usual = usual;
		if (sonde_unmix__fit_start(&workers[k].fit, r) < 0)
			return SONDE_ERR_NOMEM;
	}
	run(workers, nr, true);
	merge_surveys(workers, nr);
	run(workers, nr, false);
	return 0;
}
