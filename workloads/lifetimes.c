/*
 * Programs that fork, change or end in ways that a profiler may get wrong, one per
 * word: each must run, print and end as it does without the profiler.
 *
 *     lifetimes mainexit|term|newuser|newpid|moment|killed|exec|setuid|daemon|service|limit|inside|sandbox|
 *               waits|reaper|nothing [N [old]]
 *
 * old: runs as on an old kernel, without the newer system calls that the library uses.
 */
#include <nvtx3/nvToolsExt.h>
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long count;
static char *self_path;

static void ranges(const char *label, long nr)
{
	long i;

	for (i = 0; i < nr; i++) {
		nvtxRangePushA(label);
		nvtxRangePop();
	}
}

static void *work_on(void *arg)
{
	usleep(100000);
	ranges(arg, count);
	return NULL;
}

/* The main thread ends alone; the process ends with its last thread. */
static int do_mainexit(void)
{
	pthread_t t;

	ranges("main", 1);
	pthread_create(&t, NULL, work_on, "worker");
	pthread_detach(t);
	pthread_exit(NULL);
}

static void *end_by_signal(void *arg)
{
	(void)arg;
	usleep(50000);
	kill(getpid(), SIGTERM);
	sleep(20);
	return NULL;
}

static int do_term(void)
{
	pthread_t t;

	ranges("main", count);
	pthread_create(&t, NULL, end_by_signal, NULL);
	pthread_exit(NULL);
}

static int do_newuser(void)
{
	ranges("before", count);
	printf("unshare: %s\n", unshare(CLONE_NEWUSER) ? strerror(errno) : "ok");
	ranges("after", count);
	return 0;
}

/* Its next child is the first process of a new namespace, which ends with that process. */
static int do_newpid(void)
{
	pid_t child;
	int status = 0;

	if (unshare(CLONE_NEWPID))
		return 77;
	ranges("before", count);
	child = fork();
	if (child == 0) {
		printf("first: %ld\n", (long)getpid());
		_exit(3);
	}
	waitpid(child, &status, 0);
	printf("fork: %s, ended with %d\n", child < 0 ? "none" : "ok", WEXITSTATUS(status));
	return 0;
}

/* Children that end at once, as in a pool of processes. */
static int do_moment(void)
{
	long i;

	ranges("parent", 1);
	for (i = 0; i < count; i++) {
		if (fork())
			continue;
		ranges("child", 10);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

static int do_killed(void)
{
	ranges("work", count);
	kill(getpid(), SIGKILL);
	return 0;
}

static int do_exec(void)
{
	ranges("before", count);
	execl(self_path, self_path, "inside", "1", (char *)NULL);
	return 1;
}

/* The child becomes a user who cannot write to the directory of the capture. */
static int do_setuid(void)
{
	pid_t child;

	ranges("parent", count);
	child = fork();
	if (child == 0) {
		int failed = setgroups(0, NULL) || setgid(65534) || setuid(65534);

		ranges("child", count);
		_exit(failed ? 2 : 0);
	}
	waitpid(child, NULL, 0);
	ranges("parent", count);
	return 0;
}

static int do_daemon(void)
{
	ranges("before", count);
	if (daemon(0, 0))
		return 1;
	ranges("daemon", count);
	return 0;
}

/* A daemon that closes its output and runs until it is killed, by the test that reads its number. */
static int do_service(void)
{
	int fds[2];
	char is_there;

	ranges("before", count);
	if (pipe(fds) < 0)
		return 1;
	if (fork() == 0) {
		printf("service %ld\n", (long)getpid());
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			return 1;
		setsid();
		ranges("service", count);
		close(fds[0]);
		close(fds[1]); /* the parent returns now: the daemon has a capture */
		sleep(600);
		return 0;
	}
	close(fds[1]);
	return read(fds[0], &is_there, 1) != 0;
}

/* There is too little address space for a profiler: it must give back whatever it got. */
static int do_limit(void)
{
	struct rlimit limit = {.rlim_cur = 48u << 20, .rlim_max = 48u << 20};
	void *p;

	setrlimit(RLIMIT_AS, &limit);
	ranges("work", count);
	p = mmap(NULL, 32u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("memory: %s\n", p == MAP_FAILED ? "none" : "ok");
	return 0;
}

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##nr, 0, 1),                                       \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Forbids itself nearly all system calls, in all its threads: it may only write to its output. Others kill the process. */
static int do_sandbox(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(futex),
		ALLOW(clock_gettime),
		ALLOW(clock_nanosleep),
		ALLOW(exit_group),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	ranges("before", count);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		return 77;
	ranges("inside", count);
	usleep(200000);
	puts("done");
	return 0;
}

/* Forks inside a range: the child is inside the range, but did not enter it. */
static int do_inside(void)
{
	long i;

	nvtxRangePushA("step");
	for (i = 0; i < count; i++) {
		if (fork() == 0) {
			ranges("child", 1);
			exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	nvtxRangePop();
	return 0;
}

static volatile sig_atomic_t nr_signals;

static void count_signal(int sig)
{
	(void)sig;
	nr_signals++;
}

static void say_wait(const char *how, int options)
{
	int status;
	pid_t pid = waitpid(-1, &status, options);

	printf("%s: %s\n", how, pid < 0 ? strerror(errno) : pid ? "a child" : "a child that runs");
}

/* Waits for children in every possible way. Only its own child may be found, not a process of the profiler. */
static int do_waits(void)
{
	struct sigaction a = {.sa_handler = count_signal};
	siginfo_t info;
	int status;

	sigaction(SIGCHLD, &a, NULL);
	alarm(120); /* so that it does not wait for ever */
	ranges("before", count);
	say_wait("at once", WNOHANG);
	say_wait("at once, all", WNOHANG | __WALL);
	say_wait("usual", 0);
	say_wait("all", __WALL);
	say_wait("clones", __WCLONE);
	printf("waitid: %s\n", waitid(P_ALL, 0, &info, WEXITED | __WALL) ? strerror(errno) : "a child");
	if (fork() == 0)
		_exit(3);
	while (waitpid(-1, &status, __WALL) > 0 || errno == EINTR)
		printf("child: %d\n", WEXITSTATUS(status));
	ranges("after", count);
	printf("signals: %d\n", (int)nr_signals);
	return 0;
}

/* A subreaper also gets orphans that it did not start. It must not get a process of the profiler. */
static int do_reaper(void)
{
	struct sigaction a = {.sa_handler = count_signal};

	sigaction(SIGCHLD, &a, NULL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		return 77;
	ranges("before", count);
	say_wait("at once", WNOHANG);
	say_wait("usual", 0);
	ranges("after", count);
	printf("signals: %d\n", (int)nr_signals);
	return 0;
}

static int do_nothing(void)
{
	return 0;
}

static const struct {
	const char *word;
	int (*run)(void);
} programs[] = {{"mainexit", do_mainexit}, {"term", do_term}, {"newuser", do_newuser}, {"newpid", do_newpid},
	{"moment", do_moment}, {"killed", do_killed}, {"exec", do_exec}, {"setuid", do_setuid},
	{"daemon", do_daemon}, {"service", do_service}, {"limit", do_limit}, {"inside", do_inside}, {"sandbox", do_sandbox},
	{"waits", do_waits}, {"reaper", do_reaper}, {"nothing", do_nothing}};

#define MISSING(nr)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##nr, 0, 1),                                       \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)

static bool become_old(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		MISSING(pidfd_open),
		MISSING(kcmp),
		MISSING(close_range),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int main(int argc, char **argv)
{
	size_t i;

	self_path = argv[0];
	setvbuf(stdout, NULL, _IONBF, 0);
	count = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
	if (argc > 3 && !become_old())
		return 77;
	for (i = 0; argc > 1 && i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strcmp(argv[1], programs[i].word))
			return programs[i].run();
	return 2;
}
