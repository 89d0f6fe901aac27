/*
 * Programs that use threads, signals, forks and NVTX in unusual ways, one per word:
 * the injected library must not harm them, and its counts must be right.
 *
 *     corners handlerfork|rawfork|jump|longhandler|keys|deepdomain|crowd|late|
 *             domains|strings|twice|gates|forkid|workers [N]
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long count;

static void ranges(const char *label, long nr)
{
	long i;

	for (i = 0; i < nr; i++) {
		nvtxRangePushA(label);
		nvtxRangePop();
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void alarms(void (*handler)(int), long us)
{
	struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval every = {.it_interval = {0, us}, .it_value = {0, us}};

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

/* --- a signal handler that forks, at any place of the program --------------------------------- */

static volatile sig_atomic_t nr_children, nr_dead, is_child;

static void fork_here(int sig)
{
	pid_t child = nr_children < count ? fork() : -1;
	int status;

	(void)sig;
	if (child == 0) {
		is_child = 1;
		return; /* the child goes on in the hook that the signal interrupted */
	}
	if (child < 0)
		return;
	nr_children++;
	if (waitpid(child, &status, 0) == child && WIFSIGNALED(status))
		nr_dead++;
}

static int do_handlerfork(void)
{
	ranges("first", 1);
	alarms(fork_here, 700);
	while (nr_children < count) {
		ranges("work", 1000);
		if (is_child)
			_exit(0);
	}
	alarms(SIG_IGN, 0);
	printf("%d of the children died of a signal\n", (int)nr_dead);
	return 0;
}

/* --- a fork that calls no handlers of pthread_atfork ------------------------------------------ */

static int do_rawfork(void)
{
	double start;
	long child;

	ranges("parent", 10);
	start = seconds();
	child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0)
		exit(0);
	waitpid((pid_t)child, NULL, 0);
	printf("the child ended %s\n", seconds() - start < 2 ? "at once" : "late");
	return 0;
}

/* --- a signal handler that leaves by siglongjmp -------------------------------------------------
 */

static sigjmp_buf back;
static volatile sig_atomic_t nr_jumps, may_jump;

static void jump(int sig)
{
	(void)sig;
	if (!may_jump)
		return;
	nr_jumps++;
	siglongjmp(back, 1);
}

static int do_jump(void)
{
	double start;

	ranges("first", 1);
	alarms(jump, 1000);
	sigsetjmp(back, 1);
	while (nr_jumps < count) {
		may_jump = 1;
		ranges("work", 1000);
		may_jump = 0;
	}
	may_jump = 0;
	alarms(SIG_IGN, 0);
	for (start = seconds(); seconds() - start < 0.5;)
		ranges("after", 100);
	return 0;
}

/* --- a signal handler that runs for long, with ranges of its own ---------------------------------
 */

static volatile sig_atomic_t nr_handled;

static void take_long(int sig)
{
	double start = seconds();

	(void)sig;
	while (seconds() - start < 0.15)
		ranges("handler", 20);
	nr_handled++;
}

static int do_longhandler(void)
{
	struct sigaction a = {.sa_handler = take_long, .sa_flags = SA_RESTART};
	long i;

	ranges("first", 1);
	sigaction(SIGALRM, &a, NULL);
	for (i = 0; i < count; i++) {
		struct itimerval once = {.it_value = {0, 3000 + i * 37}};
		int was = nr_handled;

		setitimer(ITIMER_REAL, &once, NULL);
		while (nr_handled == was)
			ranges("work", 1);
	}
	printf("handled %d\n", (int)nr_handled);
	return 0;
}

/* --- many keys of thread-specific data, and an allocator that counts calls from inside hooks -----
 */

static _Thread_local int is_inside;
static volatile int nr_inside;

void *__libc_calloc(size_t nr, size_t size);
void *calloc(size_t nr, size_t size)
{
	nr_inside += is_inside;
	return __libc_calloc(nr, size);
}

static void *one_range(void *arg)
{
	is_inside = 1;
	ranges(arg, 1);
	is_inside = 0;
	return NULL;
}

static int do_keys(void)
{
	pthread_key_t key;
	pthread_t thread;
	long i;

	for (i = 0; i < 40; i++)
		pthread_key_create(&key, NULL);
	ranges("main", 1);
	for (i = 0; i < count; i++) {
		pthread_create(&thread, NULL, one_range, "thread");
		pthread_join(thread, NULL);
	}
	printf("%d allocations inside hooks\n", nr_inside);
	return 0;
}

/* --- the limits
 * ------------------------------------------------------------------------------------ */

static nvtxEventAttributes_t labelled(const char *label)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_ASCII};

	a.message.ascii = label;
	return a;
}

/* One domain nests deeper than the library follows. The range of the other domain must still end at the right place. */
static int do_deepdomain(void)
{
	nvtxDomainHandle_t lib = nvtxDomainCreateA("lib");
	nvtxEventAttributes_t op = labelled("op");
	int i;

	nvtxDomainRangePushEx(lib, &op);
	for (i = 0; i < 600; i++)
		nvtxRangePushA("down");
	nvtxDomainRangePop(lib);
	for (i = 0; i < 600; i++)
		nvtxRangePop();
	ranges("next", 1);
	return 0;
}

static pthread_barrier_t all_here;

static void *wait_for_all(void *arg)
{
	ranges(arg, 1);
	pthread_barrier_wait(&all_here);
	return NULL;
}

static int do_crowd(void)
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t attr;
	long i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_barrier_init(&all_here, NULL, (unsigned)count);
	for (i = 0; threads && i < count; i++)
		if (pthread_create(&threads[i], &attr, wait_for_all, "once"))
			return 1;
	for (i = 0; threads && i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}

/* Makes a domain and a registered string when the table of labels is full. */
static int do_late(void)
{
	nvtxEventAttributes_t a = labelled(NULL);
	nvtxDomainHandle_t late;
	char label[64];
	long i;

	for (i = 0; i < 140000; i++) {
		snprintf(label, sizeof(label), "request %ld", i);
		ranges(label, 1);
	}
	late = nvtxDomainCreateA("late");
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(late, "forward");
	nvtxDomainRangePushEx(late, &a);
	nvtxDomainRangePop(late);
	return 0;
}

static int do_domains(void)
{
	nvtxEventAttributes_t a = labelled("op");
	char name[32];
	long i;

	for (i = 0; i < count; i++) {
		nvtxDomainHandle_t d;

		snprintf(name, sizeof(name), "domain %ld", i);
		d = nvtxDomainCreateA(name);
		nvtxDomainRangePushEx(d, &a);
		nvtxDomainRangePop(d);
	}
	return 0;
}

static int do_strings(void)
{
	nvtxDomainHandle_t d = nvtxDomainCreateA("lib");
	char text[32];
	long i;

	for (i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "string %ld", i);
		nvtxDomainRegisterStringA(d, text);
	}
	return 0;
}

/* Ends a start/end range twice. */
static int do_twice(void)
{
	nvtxRangeId_t id = nvtxRangeStartA("keep");

	ranges("inside", 1);
	nvtxRangeEnd(id);
	nvtxRangeEnd(id);
	ranges("after", 1);
	return 0;
}

/* Two ranges of the same label open the gate of nvtx.include. Ending one of them twice must not end the other. */
static int do_gates(void)
{
	nvtxRangeId_t a = nvtxRangeStartA("keep"), b = nvtxRangeStartA("keep"), noise;

	nvtxRangeEnd(a);
	nvtxRangeEnd(a);
	ranges("inside", 1);
	noise = nvtxRangeStartA("noise");
	ranges("hidden", 1);
	nvtxRangeEnd(noise);
	nvtxRangeEnd(noise);
	ranges("again", 1);
	nvtxRangeEnd(b);
	ranges("after", 1);
	return 0;
}

/* A child ends the range that its parent started. The thread that forks is not the one that started the range. */
static void *fork_and_end(void *arg)
{
	if (fork() == 0) {
		nvtxRangeId_t mine = nvtxRangeStartA("child");

		nvtxRangeEnd(*(nvtxRangeId_t *)arg);
		usleep(20000);
		nvtxRangeEnd(mine);
		exit(0);
	}
	wait(NULL);
	return NULL;
}

static int do_forkid(void)
{
	nvtxRangeId_t id = nvtxRangeStartA("parent");
	pthread_t thread;

	pthread_create(&thread, NULL, fork_and_end, &id);
	pthread_join(thread, NULL);
	nvtxRangeEnd(id);
	return 0;
}

/* Short-lived children that end with _exit, as those of Python's multiprocessing do. */
static int do_workers(void)
{
	long i, k;

	ranges("parent", 1);
	for (i = 0; i < count; i++) {
		if (fork())
			continue;
		for (k = 0; k < 10; k++) {
			nvtxRangePushA("worker");
			usleep(2000);
			nvtxRangePop();
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

static const struct {
	const char *word;
	int (*run)(void);
} programs[] = {{"handlerfork", do_handlerfork}, {"rawfork", do_rawfork}, {"jump", do_jump},
	{"keys", do_keys}, {"deepdomain", do_deepdomain}, {"crowd", do_crowd}, {"late", do_late},
	{"longhandler", do_longhandler}, {"domains", do_domains}, {"strings", do_strings},
	{"twice", do_twice}, {"gates", do_gates}, {"forkid", do_forkid}, {"workers", do_workers}};

int main(int argc, char **argv)
{
	size_t i;

	count = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
	for (i = 0; argc > 1 && i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strcmp(argv[1], programs[i].word))
			return programs[i].run();
	return 2;
}
