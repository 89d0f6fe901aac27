/*
 * A training loop without CUDA, for windows: the injected library is loaded as
 * the driver would, and fake_cupti.c is told what the kernels did.
 *
 *     fake_loop FAKE_CUPTI STEPS [LAUNCHES [PAUSE_US [THREADS [END]]]]
 *
 * Each step is `step` (in `train`) with LAUNCHES kernels in `layer`, and one kernel
 * after it, in `train` alone. Steps 3 and 4 lie between cudaProfilerStart and Stop, steps 6 and 7 in
 * the range `capture` of the domain `sonde`. THREADS others do the same without `train`. END says how
 * it ends: exit, _exit, kill, fork (every 8th step), exec. With $FAKE_LOOP_STOP there are as many steps
 * as it takes until that file exists; it says how many, `steps N`.
 */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*launch)(const char *, uint64_t);
static void (*profiler)(int);
static long nr_steps, nr_launches = 2, pause_us, nr_threads;
static const char *ending = "exit";
static nvtxDomainHandle_t domain;

static void load(const char *path)
{
	void *cupti = dlopen(path, RTLD_NOW), *injected;
	const char *library = getenv("CUDA_INJECTION64_PATH");
	int (*initialize)(void);

	if (!cupti)
		exit(2);
	*(void **)&launch = dlsym(cupti, "fake_launch");
	*(void **)&profiler = dlsym(cupti, "fake_profiler");
	injected = library ? dlopen(library, RTLD_NOW) : NULL;
	if (!injected)
		return;
	*(void **)&initialize = dlsym(injected, "InitializeInjection");
	initialize();
}

static void step(void)
{
	long i;

	nvtxRangePushA("step");
	nvtxRangePushA("layer");
	for (i = 0; i < nr_launches; i++)
		launch("_Z9gemm_tileILi2EEvPKfS1_Pfi", 0);
	nvtxRangePop();
	nvtxRangePop();
	launch("_Z4fillPfif", 0);
	if (pause_us)
		usleep((useconds_t)pause_us);
}

static void *worker(void *arg)
{
	long i;

	(void)arg;
	for (i = 0; i < nr_steps; i++)
		step();
	return NULL;
}

static void fork_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		nvtxRangePushA("child");
		nvtxRangePop();
		exit(0);
	}
	waitpid(child, NULL, 0);
}

static void begin(long i)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_ASCII,
		.message.ascii = "capture"};

	if (i == 3)
		profiler(1);
	if (i == 6)
		nvtxDomainRangePushEx(domain, &a);
	if (!strcmp(ending, "fork") && i % 8 == 7)
		fork_child();
}

static void end(long i)
{
	if (i == 4)
		profiler(0);
	if (i == 7)
		nvtxDomainRangePop(domain);
}

int main(int argc, char **argv)
{
	const char *stop = getenv("FAKE_LOOP_STOP");
	pthread_t threads[64];
	long i;

	nr_steps = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
	nr_launches = argc > 3 ? strtol(argv[3], NULL, 10) : 2;
	pause_us = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
	nr_threads = argc > 5 ? strtol(argv[5], NULL, 10) % 64 : 0;
	ending = argc > 6 ? argv[6] : "exit";
	load(argc > 1 ? argv[1] : "");
	domain = nvtxDomainCreateA("sonde");
	for (i = 0; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	nvtxRangePushA("train");
	for (i = 0; stop ? access(stop, F_OK) != 0 : i < nr_steps; i++) {
		begin(i);
		step();
		end(i);
	}
	nvtxRangePop();
	if (stop)
		printf("steps %ld\n", i);
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	fflush(stdout);
	if (!strcmp(ending, "_exit"))
		_exit(3);
	if (!strcmp(ending, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(ending, "exec"))
		execlp("true", "true", (char *)NULL);
	return 0;
}
