/*
 * Measures what a launch of an empty kernel costs the host. It uses the driver's API only:
 * no Python, no compiler, no noise but that of the machine. Prints nanoseconds
 * per launch: the minimum and the median over rounds of many launches.
 *
 *     launch_cost [ROUNDS [LAUNCHES [KILOBYTES]]]
 *
 * Before each launch it touches KILOBYTES of memory, to replace the contents of the caches as the code between the
 * launches of a real program does. Every 8 launches are in a range.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
			  ".visible .entry nothing()\n{\n\tret;\n}\n";

#define CALLS(X)                                                                                   \
	X(cuInit)                                                                                  \
	X(cuCtxSynchronize)                                                                        \
	X(cuDevicePrimaryCtxRetain)                                                                \
	X(cuCtxSetCurrent)                                                                         \
	X(cuModuleLoadData)                                                                        \
	X(cuModuleGetFunction)                                                                     \
	X(cuLaunchKernel)

static struct {
#define MEMBER(name) __typeof__(&name) name;
	CALLS(MEMBER)
} cu;

static CUfunction start(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext context;
	CUmodule module;
	CUfunction f;

	if (!lib)
		exit(77);
#define FIND(name) *(void **)&cu.name = dlsym(lib, #name);
	CALLS(FIND)
	if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&context, 0) ||
		cu.cuCtxSetCurrent(context) || cu.cuModuleLoadData(&module, ptx) ||
		cu.cuModuleGetFunction(&f, module, "nothing"))
		exit(77);
	return f;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static unsigned char memory[4u << 20];

/* Touches another part of the memory each time. */
static void touch(size_t bytes)
{
	static size_t at;
	size_t i;

	for (i = 0; i < bytes; i += 64)
		memory[(at + i) % sizeof(memory)]++;
	at = (at + bytes) % sizeof(memory);
}

static double run(CUfunction f, long launches, size_t bytes)
{
	double begin = now_ns(), took;
	long i;

	for (i = 0; i < launches; i++) {
		if (i % 8 == 0)
			nvtxRangePushA("eight");
		touch(bytes);
		cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		if (i % 8 == 7)
			nvtxRangePop();
	}
	took = (now_ns() - begin) / (double)launches;
	cu.cuCtxSynchronize();
	return took;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 200, i;
	long launches = argc > 2 ? strtol(argv[2], NULL, 10) / 8 * 8 : 512;
	size_t bytes = argc > 3 ? strtoul(argv[3], NULL, 10) << 10 : 32u << 10;
	double *took = calloc((size_t)rounds + 1, sizeof(*took));
	CUfunction f = start();

	if (!took || rounds < 1 || launches < 8)
		return 2;
	for (i = 0; i < 20; i++)
		run(f, launches, bytes);
	for (i = 0; i < rounds; i++)
		took[i] = run(f, launches, bytes);
	qsort(took, (size_t)rounds, sizeof(*took), by_size);
	printf("%.0f %.0f\n", took[0], took[rounds / 2]);
	free(took);
	return 0;
}
