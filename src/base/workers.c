/* Threads are started for one piece of work and joined at its end: no thread waits for more work. */
#include "base/workers.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

struct hand {
	void (*work)(void *worker);
	void *worker;
	pthread_t thread;
	bool has_thread;
};

static void *run_one(void *arg)
{
	const struct hand *h = arg;

	h->work(h->worker);
	return NULL;
}

/* Counts the cores in the affinity mask, not those of the machine: in a container or a job they differ. */
size_t sonde_cores(void)
{
	cpu_set_t set;
	long online;

	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
		return (size_t)CPU_COUNT(&set);
	online = sysconf(_SC_NPROCESSORS_ONLN); /* sched_getaffinity fails on machines with more cores than a cpu_set_t holds */
	return online < 1 ? 1 : (size_t)online;
}

size_t sonde_workers_count(size_t most)
{
	size_t cores = sonde_cores();

	return cores < most ? cores : most;
}

void sonde_workers_run(void *workers, size_t nr, size_t size, void (*work)(void *worker))
{
	struct hand hands[SONDE_MOST_WORKERS];
	size_t i;

	for (i = 0; i < nr; i++) {
		hands[i] = (struct hand){.work = work, .worker = (char *)workers + i * size};
		hands[i].has_thread =
			i > 0 && pthread_create(&hands[i].thread, NULL, run_one, &hands[i]) == 0;
	}
	for (i = 0; i < nr; i++)
		if (!hands[i].has_thread)
			run_one(&hands[i]);
	for (i = 1; i < nr; i++)
		if (hands[i].has_thread)
			pthread_join(hands[i].thread, NULL);
}
