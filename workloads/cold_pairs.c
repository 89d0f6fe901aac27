/*
 * Measures ranges among other work, as in real programs: before each push and each pop it touches so much code and
 * data that caches contain little of the profiler's. Prints the nanoseconds that the two calls of a pair take,
 * without the work between them: the mean of all pairs but the slowest hundredth, during which the machine did
 * something else.
 *
 *     cold_pairs [COUNT [BETWEEN]]       BETWEEN functions are called before each call
 */
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NR_FUNCTIONS 4096u
#define NR_BYTES     (1u << 20)

static volatile uint8_t data[NR_BYTES];
static volatile uint64_t sum;

/* Each function has a branch that cannot be predicted, and reads two places in memory; no two functions share them. */
#define PLACE(n, by) data[((n)*by) % NR_BYTES]
#define F1(n)                                                                                      \
	static __attribute__((noinline)) void f##n(uint64_t x)                                     \
	{                                                                                          \
		if ((x ^ PLACE(1##n##u, 2654435761u)) & 16)                                        \
			sum += x * (1##n##u | 1);                                                  \
		else                                                                               \
			sum ^= x >> (1##n##u % 31 + 1);                                            \
		sum += PLACE(1##n##u, 40503u * 977u);                                              \
	}
#define EACH4(X, n)    X(n##0) X(n##1) X(n##2) X(n##3)
#define EACH16(X, n)   EACH4(X, n##0) EACH4(X, n##1) EACH4(X, n##2) EACH4(X, n##3)
#define EACH64(X, n)   EACH16(X, n##0) EACH16(X, n##1) EACH16(X, n##2) EACH16(X, n##3)
#define EACH256(X, n)  EACH64(X, n##0) EACH64(X, n##1) EACH64(X, n##2) EACH64(X, n##3)
#define EACH1024(X, n) EACH256(X, n##0) EACH256(X, n##1) EACH256(X, n##2) EACH256(X, n##3)
#define EACH(X)	       EACH1024(X, 0) EACH1024(X, 1) EACH1024(X, 2) EACH1024(X, 3)
EACH(F1)
#define NAME(n) f##n,
static void (*const functions[NR_FUNCTIONS])(uint64_t) = {EACH(NAME)};

static void do_other_work(long nr)
{
	static uint32_t seed = 1;

	while (nr-- > 0) {
		seed = seed * 1664525u + 1013904223u;
		functions[(seed >> 8) % NR_FUNCTIONS](seed);
	}
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	static const char *const labels[] = {"decode", "layer0", "attn", "mlp", "layer1", "logits"};
	long nr = argc > 1 ? strtol(argv[1], NULL, 10) : 10000, i;
	long between = argc > 2 ? strtol(argv[2], NULL, 10) : 5000;
	double *took = nr > 0 ? calloc((size_t)nr, sizeof(*took)) : NULL, start, all = 0;

	if (!took)
		return 2;
	for (i = 0; i < NR_BYTES; i++)
		data[i] = (uint8_t)(i * 31);
	for (i = 0; i < nr; i++) {
		do_other_work(between);
		start = now_ns();
		nvtxRangePushA(labels[i % 6]);
		took[i] = now_ns() - start;
		do_other_work(between);
		start = now_ns();
		nvtxRangePop();
		took[i] += now_ns() - start;
	}
	qsort(took, (size_t)nr, sizeof(*took), compare);
	for (i = 0; i < nr - nr / 100; i++)
		all += took[i];
	printf("%.1f\n", all / (double)(nr - nr / 100));
	free(took);
	return 0;
}
