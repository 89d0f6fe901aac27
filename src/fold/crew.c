#include "fold/crew.h"

#include "base/cores.h"
#include "fold/fold_int.h"

#include <pthread.h>
#include <stdatomic.h>

#define MAX_THREADS 64

struct crew {
	const struct sonde_task *task;
	struct sonde_taker *taker;
	size_t step;
	atomic_size_t next;
	pthread_mutex_t lock; /* of the taker */
};

static void *work(void *arg)
{
	struct crew *crew = arg;
	const struct sonde_task *task = crew->task;
	size_t i;

	while ((i = atomic_fetch_add(&crew->next, crew->step)) < task->nr) {
		struct sonde_parts parts = {0};
		struct sonde_err err = {0};
		int rc = sonde_parts__read(&parts, task->paths[i], task->request, &err);

		pthread_mutex_lock(&crew->lock);
		crew->taker->take(crew->taker, i, &parts, rc, &err);
		pthread_mutex_unlock(&crew->lock);
		sonde_parts_release(&parts);
	}
	return NULL;
}

/* A thread that cannot be had is work for the others. */
void sonde_crew_fold(
	const struct sonde_task *task, size_t first, size_t step, struct sonde_taker *taker)
{
	struct crew crew = {.task = task, .taker = taker, .step = step};
	size_t nr = 0, cores = task->request->cores ? task->request->cores : sonde_cores();
	size_t most = cores > MAX_THREADS ? MAX_THREADS : cores;
	pthread_t threads[MAX_THREADS];

	atomic_init(&crew.next, first);
	pthread_mutex_init(&crew.lock, NULL);
	while (nr + 1 < most && first + (nr + 1) * step < task->nr &&
		pthread_create(&threads[nr], NULL, work, &crew) == 0)
		nr++;
	work(&crew);
	while (nr)
		pthread_join(threads[--nr], NULL);
	pthread_mutex_destroy(&crew.lock);
}
