/*
 * A simulated CUDA program: it loads the injected library as the driver would,
 * and reports to the fake CUPTI (cupti/) what its kernels did.
 *
 *     fake_cuda FAKE_CUPTI [COUNT|fork|quick|late|streams]
 */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*launch)(const char *, uint64_t);
static void (*copy)(uint64_t);
static void (*node)(uint64_t, uint64_t);
static void (*capture)(uint64_t);
static void (*device)(void);
static void (*synchronize)(unsigned);
static void (*memory)(uint64_t, uint64_t, int);
static long count = 3;

static void *find(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	if (!p) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return p;
}

static void *worker(void *arg)
{
	long i;

	nvtxRangePushA(arg);
	for (i = 0; i < count; i++)
		launch("_Z4axpyPfif", 0);
	nvtxRangePop();
	return NULL;
}

static void graph(void)
{
	nvtxRangePushA("capture");
	capture(500);
	nvtxRangePop();
	node(900, 500);
	nvtxRangePushA("replay");
	launch("_Z10reduce_sumPKfPfi", 900);
	nvtxRangePop();
}

/* For captures of several files: ranges that began before stay open, until the file $FAKE_LOOP_STOP exists. */
static void go_round(long i)
{
	nvtxRangeId_t inner = i % 7 == 0 ? nvtxRangeStartA("some") : 0;

	nvtxRangePushA("replay");
	launch("_Z10reduce_sumPKfPfi", 700);
	copy(64);
	memory(0xa000 + (uint64_t)i, 128, 0);
	nvtxRangePop();
	usleep(500);
	memory(0xa000 + (uint64_t)i, 128, 1);
	if (inner)
		nvtxRangeEnd(inner);
}

static void go_on_until(const char *stop)
{
	nvtxRangeId_t outer = nvtxRangeStartA("long");
	long i;

	nvtxRangePushA("capture");
	node(700, 0);
	nvtxRangePop();
	memory(0x9000, 65536, 0);
	for (i = 0; i < 200 || access(stop, F_OK) != 0; i++)
		go_round(i);
	memory(0x9000, 65536, 1);
	nvtxRangeEnd(outer);
}

/* Records an event in the default stream; stream 13 waits for it, and then the host does. */
static void order_streams(void *cupti)
{
	void (*order)(unsigned, uint64_t, uint64_t);

	*(void **)&order = find(cupti, "fake_order");
	order(11, 0xe0, 0);
	order(12, 13, 0xe0);
	order(13, 0xe0, 0);
	order(6, 13, 0);
}

static void at_the_very_end(void)
{
	nvtxRangePushA("late");
	launch("_Z4fillPfif", 0);
	nvtxRangePop();
}

int main(int argc, char **argv)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *cupti = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *injected;
	int (*initialize)(void);
	nvtxRangeId_t id;
	pthread_t thread;

	if (!cupti)
		return 2;
	if (argc > 2 && argv[2][0] >= '0' && argv[2][0] <= '9')
		count = strtol(argv[2], NULL, 10);
	*(void **)&launch = find(cupti, "fake_launch");
	*(void **)&copy = find(cupti, "fake_copy");
	*(void **)&node = find(cupti, "fake_node");
	*(void **)&capture = find(cupti, "fake_capture");
	*(void **)&device = find(cupti, "fake_device");
	*(void **)&synchronize = find(cupti, "fake_sync");
	*(void **)&memory = find(cupti, "fake_memory");
	if (argc > 2 && !strcmp(argv[2], "late"))
		atexit(at_the_very_end); /* registered before CUDA's handler, so it runs after that */
	injected = path ? dlopen(path, RTLD_NOW) : NULL;
	if (injected) {
		*(void **)&initialize = find(injected, "InitializeInjection");
		initialize();
		device();
	}
	nvtxNameOsThreadA((uint32_t)getpid(), "conductor");
	launch("_Z4fillPfif", 0);
	if (argc > 2 && !strcmp(argv[2], "fork")) {
		if (fork() == 0)
			exit(0); /* runs the exit handlers that it inherited */
		wait(NULL);
		return 0;
	}
	if (argc > 2 && !strcmp(argv[2], "streams"))
		order_streams(cupti);
	nvtxRangePushA("A");
	launch("_Z9gemm_tileILi2EEvPKfS1_Pfi", 0);
	id = nvtxRangeStartA("s");
	nvtxRangePushA("B");
	launch("_Z9gemm_tileILi2EEvPKfS1_Pfi", 0);
	nvtxRangePop();
	nvtxRangePop();
	pthread_create(&thread, NULL, worker, "worker");
	pthread_join(thread, NULL);
	nvtxRangeEnd(id);
	if (getenv("FAKE_LOOP_STOP"))
		go_on_until(getenv("FAKE_LOOP_STOP"));
	nvtxRangePushA("move");
	memory(0x7000, 4096, 0);
	copy(4096);
	synchronize(2000);
	nvtxRangePop();
	memory(0x7000, 4096, 1);
	nvtxMarkA("moved");
	graph();
	puts("done");
	fflush(stdout);
	if (argc > 2 && !strcmp(argv[2], "quick"))
		quick_exit(0);
	return 0;
}
