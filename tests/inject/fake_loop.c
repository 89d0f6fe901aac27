/*
 * A simulated training loop, for tests of windows: it loads the injected library as
 * the driver would, and reports to the fake CUPTI (cupti/) what its kernels did.
 *
 *     fake_loop FAKE_CUPTI STEPS [LAUNCHES [PAUSE_US [THREADS [END]]]]
 *
 * Each step is a range `step` (in `train`) with LAUNCHES kernels in `layer`, and one kernel
 * after it, which is only in `train`. Steps 3 and 4 are between cudaProfilerStart and Stop, steps 6 and 7 in
 * the range `capture` of the domain `sonde`. THREADS more threads do the same without `train`. END is how
 * it ends: exit, _exit, abort, kill, fork (every 8th step), exec; with `signals`, a handler enters a range a thousand times a
 * second. With $FAKE_LOOP_STOP it runs until that file exists, and then prints the number of steps, `steps N`. The file
 * $FAKE_LOOP_COUNT, of 8 bytes, has the number of steps so far. With $FAKE_LOOP_VARIES the number of launches differs from step
 * to step, in the same way in every run, a few launches are outside any range, every 50th step has an `eval` that waits,
 * and a range `last` comes at the end.
 * With $FAKE_LOOP_NAMED the label of a step has its number, `step 17`.
 * As soon as the file $FAKE_LOOP_GRAPH exists, a graph is made, and launched in each further step, in `replay`.
 * With $FAKE_LOOP_EPOCH a start/end range `epoch` is around the whole loop.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*launch)(const char *, uint64_t);
static void (*profiler)(int);
static void (*node)(uint64_t, uint64_t);
static const char *graph_file; /* $FAKE_LOOP_GRAPH */
static int has_graph;
static long nr_steps, nr_launches = 2, pause_us, nr_threads;
static const char *ending = "exit";
static int varies, is_over; /* varies: $FAKE_LOOP_VARIES */
static int is_named; /* $FAKE_LOOP_NAMED */
static long nr_strays;
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
	*(void **)&node = dlsym(cupti, "fake_node");
	injected = library ? dlopen(library, RTLD_NOW) : NULL;
	if (!injected)
		return;
	*(void **)&initialize = dlsym(injected, "InitializeInjection");
	initialize();
}

static void launch_some(long nr)
{
	long i;

	for (i = 0; i < nr; i++)
		launch("_Z9gemm_tileILi2EEvPKfS1_Pfi", 0);
}

static void replay(void)
{
	if (!has_graph) {
		node(1, 0); /* made … */
		node(2, 1); /* … and instantiated */
		has_graph = 1;
	}
	nvtxRangePushA("replay");
	launch("_Z4slowPf", 2); /* 5 ms */
	nvtxRangePop();
}

static void step(long number)
{
	uint64_t mixed = ((uint64_t)number + 1) * 0x9e3779b97f4a7c15u;
	long more = varies ? (long)((mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u >> 40) % 9 : 0;
	char name[32] = "step";

	if (is_named)
		snprintf(name, sizeof(name), "step %ld", number);
	nvtxRangePushA(name);
	nvtxRangePushA("layer");
	launch_some(nr_launches + more);
	nvtxRangePop();
	nvtxRangePop();
	launch("_Z4fillPfif", 0);
	if (varies && number % 50 == 49) {
		nvtxRangePushA("eval");
		launch_some(20 + more);
		usleep(2000);
		launch_some(20);
		nvtxRangePop();
	}
	if (has_graph || (graph_file && access(graph_file, F_OK) == 0))
		replay();
	if (pause_us)
		usleep((useconds_t)pause_us);
}

/* A thread that launches outside any range all the time. */
static void *stray(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		launch("_Z4fillPfif", 0);
		__atomic_add_fetch(&nr_strays, 1, __ATOMIC_RELAXED);
		usleep(300);
	}
	return NULL;
}

static void *worker(void *arg)
{
	long i;

	(void)arg;
	for (i = 0; i < nr_steps; i++)
		step(i);
	return NULL;
}

static void handle(int number)
{
	(void)number;
	nvtxRangePushA("handler");
	nvtxRangePop();
}

static void send_signals(void)
{
	const struct itimerval each = {{0, 1000}, {0, 1000}};
	const struct sigaction by = {.sa_handler = handle, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &by, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
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

/* Opens the file with the number of steps so far. */
static uint64_t *open_count(void)
{
	static uint64_t nobody;
	const char *path = getenv("FAKE_LOOP_COUNT");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(nobody), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? &nobody : at;
}

int main(int argc, char **argv)
{
	uint64_t *count = open_count();
	const char *stop = getenv("FAKE_LOOP_STOP");
	pthread_t threads[64], outside;
	nvtxRangeId_t epoch;
	long i;

	nr_steps = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
	nr_launches = argc > 3 ? strtol(argv[3], NULL, 10) : 2;
	pause_us = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
	nr_threads = argc > 5 ? strtol(argv[5], NULL, 10) % 64 : 0;
	ending = argc > 6 ? argv[6] : "exit";
	graph_file = getenv("FAKE_LOOP_GRAPH");
	varies = getenv("FAKE_LOOP_VARIES") != NULL;
	is_named = getenv("FAKE_LOOP_NAMED") != NULL;
	load(argc > 1 ? argv[1] : "");
	domain = nvtxDomainCreateA("sonde");
	if (!strcmp(ending, "signals"))
		send_signals();
	for (i = 0; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	if (varies)
		pthread_create(&outside, NULL, stray, NULL);
	epoch = getenv("FAKE_LOOP_EPOCH") ? nvtxRangeStartA("epoch") : 0;
	nvtxRangePushA("train");
	for (i = 0; stop ? access(stop, F_OK) != 0 : i < nr_steps; i++) {
		begin(i);
		step(i);
		end(i);
		__atomic_store_n(count, (uint64_t)i + 1, __ATOMIC_RELAXED);
	}
	nvtxRangePop();
	if (stop)
		printf("steps %ld\n", i);
	if (varies) {
		nvtxRangePushA("last");
		launch_some(5);
		nvtxRangePop();
	}
	if (epoch)
		nvtxRangeEnd(epoch);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	if (varies && pthread_join(outside, NULL) == 0)
		printf("strays %ld\n", nr_strays);
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	fflush(stdout);
	if (!strcmp(ending, "_exit"))
		_exit(3);
	if (!strcmp(ending, "abort"))
		abort();
	if (!strcmp(ending, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(ending, "exec"))
		execlp("true", "true", (char *)NULL);
	return 0;
}
