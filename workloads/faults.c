/*
 * Programs that end or behave badly, one per word. The injected library must
 * survive them, and must not change what they print or return.
 *
 *     faults exit|_exit|quick|abort|segv|kill|forever|fork|exec|closeall|fsize|deep|
 *            orphan|wide|hostile|domains|starts|cross|threads|atexit|labels|signals|plugin|closeout|
 *            none [N]
 */
#include <nvtx3/nvToolsExt.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static long count;
static char *self_path;

static void ranges(const char *label, long nr)
{
	long i;

	for (i = 0; i < nr; i++) {
		nvtxRangePushA(label);
		nvtxRangePushA("inner");
		nvtxRangePop();
		nvtxRangePop();
	}
}

static void linger(void)
{
	usleep(200000); /* longer than the time between flushes */
}

static int do_none(void)
{
	return 0;
}

static int do_exit(void)
{
	ranges("work", count);
	exit(3);
}

static int do__exit(void)
{
	ranges("work", count);
	linger();
	fflush(stdout);
	_exit(4);
}

static int do_quick(void)
{
	ranges("work", count);
	fflush(stdout);
	quick_exit(5);
}

static int do_abort(void)
{
	ranges("work", count);
	linger();
	fflush(stdout);
	abort();
}

static int do_segv(void)
{
	ranges("work", count);
	linger();
	fflush(stdout);
	raise(SIGSEGV);
	return 0;
}

static int do_kill(void)
{
	ranges("work", count);
	linger();
	fflush(stdout);
	kill(getpid(), SIGKILL);
	return 0;
}

/* Runs until it is killed, or for a minute. */
static int do_forever(void)
{
	time_t end = time(NULL) + 60;

	puts("ready");
	fflush(stdout);
	while (time(NULL) < end)
		ranges("work", 100);
	return 0;
}

/* Closes its output long before it ends: a reader must see that at once. */
static int do_closeout(void)
{
	ranges("work", count);
	linger();
	fclose(stdout);
	fclose(stderr);
	sleep(1000); /* the test kills the program before */
	return 0;
}

static int do_fork(void)
{
	pid_t child;
	int status = 0;

	nvtxRangePushA("parent");
	fflush(stdout);
	child = fork();
	if (child == 0) {
		ranges("child", count);
		printf("child\n");
		fflush(stdout);
		exit(0);
	}
	ranges("after", count);
	waitpid(child, &status, 0);
	nvtxRangePop();
	return WEXITSTATUS(status);
}

static int do_exec(void)
{
	ranges("before", count);
	linger();
	fflush(stdout);
	execl(self_path, self_path, "orphan", "1", (char *)NULL);
	return 1;
}

/* Closes all descriptors, as daemons do. The file that it opens then gets one of the numbers that became free. */
static int do_closeall(void)
{
	char text[64] = "";
	int fd, i;

	ranges("before", count);
	fflush(stdout);
	for (i = 3; i < 256; i++)
		close(i);
	fd = open(self_path[0] == '/' ? "/proc/self/comm" : "/dev/null", O_RDONLY);
	ranges("after", count);
	linger();
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		text[strcspn(text, "\n")] = '\0';
	printf("descriptor %d\n", fd);
	return 0;
}

static int do_fsize(void)
{
	struct rlimit limit = {.rlim_cur = 20000, .rlim_max = 20000};
	int i;

	setrlimit(RLIMIT_FSIZE, &limit);
	for (i = 0; i < 5; i++) {
		ranges("work", count * 100);
		linger();
	}
	return 0;
}

static int do_deep(void)
{
	long i;

	for (i = 0; i < 600; i++)
		nvtxRangePushA("down");
	for (i = 0; i < 600; i++)
		nvtxRangePop();
	ranges("after", 1);
	return 0;
}

static int do_orphan(void)
{
	nvtxRangePop();
	nvtxRangePushA("open");
	nvtxRangePop();
	nvtxRangePop();
	nvtxRangeEnd(12345);
	nvtxRangePushA("unclosed");
	return 0;
}

static int do_wide(void)
{
	nvtxRangePushW(L"wide \u6ce8\u610f\u529b \U0001f680");
	nvtxRangePushA("");
	nvtxRangePushA(NULL);
	nvtxRangePop();
	nvtxRangePop();
	nvtxRangePop();
	nvtxMarkW(L"mark");
	return 0;
}

/* Labels with characters that are special to a terminal, in Nsight's expressions, or in our lists. */
static int do_hostile(void)
{
	static const char *const labels[] = {"\x1b[2Jcleared", "two\nlines", "a/b", "[x]", "all*",
		"p+q", "D@x", "one,two", "semi;colon", "back\\slash", " blank ", "what?",
		"regex:a.c", "\xff\xfe"};
	size_t i, nr = sizeof(labels) / sizeof(*labels);

	for (i = 0; i < nr; i++) {
		nvtxRangePushA(labels[i]);
		nvtxRangePushA("inner");
		nvtxRangePop();
		nvtxRangePop();
		nvtxRangeEnd(nvtxRangeStartA(labels[i]));
	}
	return 0;
}

static int do_domains(void)
{
	nvtxDomainHandle_t a = nvtxDomainCreateA("libA"), b = nvtxDomainCreateW(L"libB");
	nvtxStringHandle_t op = nvtxDomainRegisterStringA(a, "registered op");
	nvtxEventAttributes_t e = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
	nvtxEventAttributes_t f = e;
	long i;

	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = op;
	f.messageType = NVTX_MESSAGE_TYPE_ASCII;
	f.message.ascii = "comm";
	f.category = 3;
	f.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
	f.payload.dValue = 2.5;
	nvtxDomainNameCategoryA(b, 3, "network");
	for (i = 0; i < count; i++) {
		nvtxRangePushA("train");
		nvtxDomainRangePushEx(a, &e);
		nvtxDomainRangePushEx(b, &f);
		nvtxRangePushA("opt"); /* the domains pop in another order than they pushed: ranges overlap */
		nvtxDomainRangePop(a);
		nvtxDomainRangePop(b);
		nvtxRangePop();
		nvtxRangePop();
		nvtxDomainMarkEx(b, &f);
	}
	nvtxDomainDestroy(a);
	return 0;
}

static int do_starts(void)
{
	nvtxRangeId_t outer = nvtxRangeStartA("outer"), inner = nvtxRangeStartW(L"inner");

	nvtxRangeEnd(outer);
	nvtxRangeEnd(inner);
	nvtxRangeEnd(inner);
	nvtxRangeStartA("never ended");
	return 0;
}

static void *ender(void *id)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

static int do_cross(void)
{
	nvtxRangeId_t id = nvtxRangeStartA("across threads");
	pthread_t t;

	if (pthread_create(&t, NULL, ender, &id))
		return 1;
	pthread_join(t, NULL);
	return 0;
}

static void *many(void *arg)
{
	ranges(arg, count);
	return NULL;
}

/* Starts many threads, but only sixteen at a time. */
static int do_threads(void)
{
	pthread_t t[16];
	int i, round;

	nvtxMarkA("threads"); /* NVTX must not be initialised by two threads at once */
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 16; i++)
			pthread_create(&t[i], NULL, many, "thread");
		for (i = 0; i < 16; i++)
			pthread_join(t[i], NULL);
	}
	return 0;
}

/*
 * Inside a range, loads another library that has its own instance of NVTX. With $SECOND_INJECTOR, another tool is
 * injected into that instance.
 */
static int do_plugin(void)
{
	char path[4096];
	const char *second = getenv("SECOND_INJECTOR"), *slash = strrchr(self_path, '/');
	void (*work)(int);
	void *lib;

	nvtxRangePushA("host");
	if (second)
		setenv("NVTX_INJECTION64_PATH", second, 1);
	snprintf(path, sizeof(path), "%.*s/plugin.so", slash ? (int)(slash - self_path) : 1,
		slash ? self_path : ".");
	lib = dlopen(path, RTLD_NOW);
	*(void **)&work = lib ? dlsym(lib, "plugin_work") : NULL;
	if (!work)
		return 1;
	work((int)count);
	nvtxRangePop();
	return 0;
}

static void last_words(void)
{
	ranges("at exit", 1);
}

static int do_atexit(void)
{
	atexit(last_words);
	ranges("work", count);
	return 0;
}

/* Every range has a new label, so that there are more labels than the table can hold. */
static int do_labels(void)
{
	char label[64];
	long i;

	for (i = 0; i < count; i++) {
		snprintf(label, sizeof(label), "request %ld", i);
		nvtxRangePushA(label);
		nvtxRangePop();
	}
	return 0;
}

static void on_alarm(int sig)
{
	(void)sig;
	nvtxRangePushA("in handler");
	nvtxRangePop();
}

static int do_signals(void)
{
	struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval every = {.it_interval = {0, 500}, .it_value = {0, 500}};
	struct itimerval off = {{0, 0}, {0, 0}};

	ranges("first", 1); /* initialises NVTX: if a signal interrupted that, the handler's call would
			       wait for ever */
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	ranges("work", count);
	setitimer(ITIMER_REAL, &off, NULL);
	return 0;
}

static const struct {
	const char *word;
	int (*run)(void);
} programs[] = {{"none", do_none}, {"exit", do_exit}, {"_exit", do__exit}, {"quick", do_quick},
	{"abort", do_abort}, {"segv", do_segv}, {"kill", do_kill}, {"forever", do_forever},
	{"fork", do_fork}, {"exec", do_exec}, {"closeall", do_closeall}, {"fsize", do_fsize},
	{"deep", do_deep}, {"orphan", do_orphan}, {"wide", do_wide}, {"hostile", do_hostile},
	{"domains", do_domains}, {"starts", do_starts}, {"cross", do_cross},
	{"threads", do_threads}, {"atexit", do_atexit}, {"labels", do_labels},
	{"signals", do_signals}, {"plugin", do_plugin}, {"closeout", do_closeout}};

int main(int argc, char **argv)
{
	size_t i;

	self_path = argv[0];
	count = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
	for (i = 0; argc > 1 && i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (!strcmp(argv[1], programs[i].word)) {
			printf("running %s\n", argv[1]);
			return programs[i].run();
		}
	}
	return 2;
}
