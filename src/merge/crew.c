/* Whoever has a hand free takes the next file: files differ in size, so none is shared out before. */
#include "merge/crew.h"

#include "base/workers.h"
#include "merge/merge.h"

#include <pthread.h>
#include <stdatomic.h>

struct crew {
	const struct sonde_task *task;
	struct sonde_taker *taker;
	size_t step;
	atomic_size_t next;
	pthread_mutex_t lock; /* of the taker */
};

static void work(void *arg)
{
	struct crew *crew = arg;
	const struct sonde_task *task = crew->task;
	size_t i;

	while ((i = atomic_fetch_add(&crew->next, crew->step)) < task->nr) {
		struct sonde_parts parts = {0};
		struct sonde_err err = {0};
		int rc = sonde_parts_read(&parts, task->paths[i], task->request, &err);

		pthread_mutex_lock(&crew->lock);
		crew->taker->take(crew->taker, i, &parts, rc, &err);
		pthread_mutex_unlock(&crew->lock);
		sonde_parts_release(&parts);
	}
}

void sonde_crew_fold(
	const struct sonde_task *task, size_t first, size_t step, struct sonde_taker *taker)
{
	struct crew crew = {.task = task, .taker = taker, .step = step};
	size_t files = first < task->nr ? (task->nr - first + step - 1) / step : 1;
	size_t nr = task->request->cores ? task->request->cores
					 : sonde_workers_count(SONDE_MOST_WORKERS);

	atomic_init(&crew.next, first);
	pthread_mutex_init(&crew.lock, NULL);
	nr = nr < SONDE_MOST_WORKERS ? nr : SONDE_MOST_WORKERS;
	sonde_workers_run(&crew, nr < files ? nr : files, 0, work);
	pthread_mutex_destroy(&crew.lock);
}
