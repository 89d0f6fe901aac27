/*
 * Fitting all counters, side by side where that pays: once the matrix is there, counters
 * have nothing to do with each other. Every worker has its own scratch and takes
 * every n-th counter, so the result does not depend on how many there are.
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
	uint32_t first, step; /* its counters */
	bool is_survey;	      /* the first of two rounds */
	bool has_thread;
};

static void take_fit(const struct worker *w, uint32_t counter)
{
	const struct sonde_unmix__fit *fit = &w->fit;
	struct sonde_unmix_counter_result *c = &w->u->counters[counter];
	uint32_t k, b;

	c->misfit = fit->misfit;
	c->background = fit->background;
	c->nr_lost = fit->nr_lost;
	for (k = 0; k < w->u->nr_unknowns; k++) {
		const struct sonde_unmix__unknown *x = &w->r->plan->unknowns[k];
		double sum = 0;

		for (b = 0; b < x->nr_bins; b++)
			sum += fit->x[x->column + b];
		w->u->x[(size_t)k * w->u->nr_counters + counter] = sum;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	size_t stride = (size_t)w->u->nr_counters * SPREAD_WIDTH;
	uint32_t c;

	for (c = w->first; c < w->u->nr_counters; c += w->step) {
		if (w->u->counters[c].refused != NULL)
			continue;
		if (w->is_survey) {
			sonde_unmix__fit_survey(&w->fit, w->r, c);
			continue;
		}
		sonde_unmix__fit_counter(&w->fit, w->r, c);
		sonde_unmix__spread(
			w->u->deviations + (size_t)c * SPREAD_WIDTH, stride, &w->fit, w->r);
		take_fit(w, c);
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

	if (r->windows->nr * r->in->nr_counters < VALUES_FOR_CREW)
		return 1;
	return nr < r->in->nr_counters ? nr : r->in->nr_counters;
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
	uint32_t nr = count_workers(r), k;

	if (surveyed == NULL)
		return SONDE_ERR_NOMEM;
	for (k = 0; k < nr; k++) {
		workers[k] = (struct worker){.u = u, .r = r, .first = k, .step = nr};
		workers[k].fit.surveyed = surveyed;
		if (sonde_unmix__fit_start(&workers[k].fit, r) < 0)
			return SONDE_ERR_NOMEM;
	}
	run(workers, nr, true);
	merge_surveys(workers, nr);
	run(workers, nr, false);
	return 0;
}
