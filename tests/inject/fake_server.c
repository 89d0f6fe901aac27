/*
 * A server with a known profile, for `sonde attach`: the work of a request is fixed, and so are the shares of its regions.
 *
 *     fake_server FAKE_CUPTI [SILENT]
 *
 * Each `request` has `prefill` (2 kernels), `decode` (5), in the domain `serve` a `sample` (1), whose label is a registered string, and
 * 2 kernels outside of these. All are below a range `serve forever` that begins before the library can be woken, with a
 * start/end range beside it. The server prints `ready` and runs until SIGTERM. Then it prints how many requests
 * it has served (`served N`), and, to show that everything is as without sonde, how many `threads`, `children` and
 * `descriptors` it has. SILENT=silent: it launches, but makes no NVTX call. SILENT=fork: each 20th request
 * forks a child that serves one request and exits. SILENT=pair: a child serves too, `child PID`. The file $FAKE_SERVER_COUNT has the
 * number of requests so far. SILENT=moment: a signal handler forks in the middle of NVTX calls; the child completes the call and exits,
 * and `crashed N` counts children that crashed. SILENT=undumpable: only root may inspect the process.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*launch)(const char *, uint64_t);
static volatile sig_atomic_t is_over;
static nvtxDomainHandle_t domain;
static nvtxStringHandle_t sample_name;

static void on_term(int number)
{
	(void)number;
	is_over = 1;
}

static void load(const char *path)
{
	const char *library = getenv("CUDA_INJECTION64_PATH");
	void *cupti = dlopen(path, RTLD_NOW), *injected = library ? dlopen(library, RTLD_NOW) : NULL;
	int (*initialize)(void);

	if (!cupti)
		exit(2);
	*(void **)&launch = dlsym(cupti, "fake_launch");
	if (!injected)
		return;
	*(void **)&initialize = dlsym(injected, "InitializeInjection");
	initialize();
}

static void launch_some(int nr)
{
	for (; nr > 0; nr--)
		launch("_Z9gemm_tileILi2EEvPKfS1_Pfi", 0);
}

static void serve_one(void)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_REGISTERED,
		.message.registered = sample_name};

	nvtxRangePushA("request");
	nvtxRangePushA("prefill");
	launch_some(2);
	nvtxRangePop();
	nvtxRangePushA("decode");
	launch_some(5);
	nvtxRangePop();
	nvtxDomainRangePushEx(domain, &a);
	launch_some(1);
	nvtxDomainRangePop(domain);
	launch_some(2);
	nvtxRangePop();
}

static int count_entries(const char *path)
{
	DIR *d = opendir(path);
	int nr = 0;

	while (d && readdir(d))
		nr++;
	if (d)
		closedir(d);
	return nr - 2;
}

static uint64_t *open_count(void)
{
	static uint64_t nobody;
	const char *path = getenv("FAKE_SERVER_COUNT");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(nobody), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	return at == MAP_FAILED ? &nobody : at;
}

static volatile sig_atomic_t is_child, nr_crashed;

static void fork_here(int number)
{
	pid_t child = is_child ? -1 : fork();
	int status = 0;

	(void)number;
	if (child == 0)
		is_child = 1;
	else if (child > 0 && waitpid(child, &status, 0) == child && status)
		nr_crashed++;
}

/* Signals are only delivered here, because a fork is not safe at any other place. */
static void serve_under_signals(void)
{
	sigset_t alarm;
	int i;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	for (i = 0; i < 2000 && !is_child; i++) {
		nvtxRangePushA("prefill");
		nvtxRangePop();
	}
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	if (is_child)
		_exit(0);
}

static void begin_signals(void)
{
	const struct sigaction by = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
	const struct itimerval often = {{0, 2000}, {0, 2000}};
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	sigaction(SIGALRM, &by, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static void fork_one(void)
{
	pid_t child = fork();

	if (child == 0) {
		serve_one();
		exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	uint64_t *count = open_count(), nr = 0;
	nvtxRangeId_t outer = 0;
	pid_t child = -1;
	static uint64_t its_own;

	signal(SIGTERM, on_term);
	load(argc > 1 ? argv[1] : "");
	if (strcmp(how, "silent")) {
		domain = nvtxDomainCreateA("serve");
		sample_name = nvtxDomainRegisterStringA(domain, "sample");
		outer = nvtxRangeStartA("epoch");
		nvtxRangePushA("serve forever");
	}
	if (!strcmp(how, "pair")) {
		child = fork();
		if (child)
			printf("child %d\n", (int)child);
		else
			count = &its_own;
	}
	if (!strcmp(how, "undumpable"))
		prctl(PR_SET_DUMPABLE, 0);
	if (!strcmp(how, "moment"))
		begin_signals();
	puts("ready");
	fflush(stdout);
	for (; !is_over; nr++) {
		if (!strcmp(how, "silent"))
			launch_some(10);
		else
			serve_one();
		if (!strcmp(how, "fork") && nr % 20 == 19)
			fork_one();
		if (!strcmp(how, "moment"))
			serve_under_signals();
		__atomic_store_n(count, nr + 1, __ATOMIC_RELAXED);
		usleep(1000);
	}
	if (strcmp(how, "silent")) {
		nvtxRangePop();
		nvtxRangeEnd(outer);
	}
	if (child == 0)
		return 0;
	if (child > 0 && kill(child, SIGTERM) == 0)
		waitpid(child, NULL, 0);
	if (nr_crashed)
		printf("crashed %d\n", (int)nr_crashed);
	printf("served %s\n", nr == *count || !getenv("FAKE_SERVER_COUNT") ? "all" : "not all");
	printf("threads %d, descriptors %d, children %s\n", count_entries("/proc/self/task"),
		count_entries("/proc/self/fd") - 1, waitpid(-1, NULL, WNOHANG | __WALL) < 0 ? "none" : "some");
	return 0;
}
