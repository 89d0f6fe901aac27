/*
 * Makes only ranges: THREADS threads with COUNT push/pop pairs each. Prints the
 * nanoseconds of processor time that a pair took on the slowest thread. The benchmarks
 * of the injected library measure this, also with more threads than processors.
 *
 *     pairs [COUNT [THREADS [LABELS]]]
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_THREADS 64
#define MAX_LABELS  4096

static long nr_pairs = 1000000, nr_labels = 8;
static char labels[MAX_LABELS][48];

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *work(void *out)
{
	double start = now_ns();
	long i;

	for (i = 0; i < nr_pairs; i++) {
		nvtxRangePushA(labels[i % nr_labels]);
		nvtxRangePop();
	}
	*(double *)out = (now_ns() - start) / (double)nr_pairs;
	return NULL;
}

int main(int argc, char **argv)
{
	long nr_threads = argc > 2 ? strtol(argv[2], NULL, 10) : 1, i;
	pthread_t threads[MAX_THREADS];
	double ns[MAX_THREADS] = {0}, worst = 0;

	if (argc > 1)
		nr_pairs = strtol(argv[1], NULL, 10);
	if (argc > 3)
		nr_labels = strtol(argv[3], NULL, 10);
	if (nr_threads < 1 || nr_threads > MAX_THREADS || nr_labels < 1 || nr_labels > MAX_LABELS ||
		nr_pairs < 1)
		return 2;
	for (i = 0; i < nr_labels; i++)
		snprintf(labels[i], sizeof(labels[i]), "layer%ld.attention", i);
	nvtxMarkA("start");
	for (i = 1; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, work, &ns[i]);
	work(&ns[0]);
	for (i = 1; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < nr_threads; i++)
		worst = ns[i] > worst ? ns[i] : worst;
	printf("%.2f\n", worst);
	return 0;
}
