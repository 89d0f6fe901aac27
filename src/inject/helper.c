/*
 * The helper: a process of ours beside the host, which shares the host's memory
 * and nothing else. The flusher runs in it.
 *
 * Why the helper is no thread. A thread of ours would count as one of the host's: a
 * process whose main thread has ended would live on because of it, a signal could be
 * left pending for it, unshare(CLONE_NEWUSER) would fail, and Python would warn about
 * it at every fork. And it would die with the host, so everything would have to be
 * on disk before an _exit, execve or kill -9. A process that shares the memory has
 * none of these problems, and outlives the host for as long as it takes to write
 * the rest.
 *
 * The price: libc knows no thread for this process, so code that runs in it must not
 * use errno or anything else that is thread-local, nor stdio. raw_int.h has
 * system calls and text without them.
 *
 * Why the helper is no child of the host. The host's wait() would not see such a child, as its
 * exit signal is 0, but waitpid(-1, &status, __WALL) would never end. So a short-lived process, the
 * starter, starts the helper. When the starter ends, the kernel gives the helper to the process that
 * takes orphans: the first process, or a nearer one that asked for them (a subreaper). If the host
 * itself takes orphans, it would get a child that wait() does see; so there we start the helper
 * as a direct child, which only __WALL finds. We also do that in a sleeper, which lives on when the
 * helper has ended: its own thread then asks for the helper's status, so that no zombie is left.
 */
#include "inject/inject_int.h"
#include "inject/raw_int.h"

#include <errno.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define STACK_BYTES   (256u << 10)
#define STARTER_BYTES (16u << 10) /* the part of STACK_BYTES that is the starter's stack */
/* Smallest stack of our threads: libc takes the host's thread-local memory from it. */
#define LEAST_STACK (2u << 20)
#define ALL_SIGNALS (~0ull)
#define KCMP_VM_    1
#define OLD_KERNEL_FDS 65536

#if defined(__SANITIZE_THREAD__)
#define IS_THREAD 1 /* ThreadSanitizer cannot handle such a process: the flusher runs in a thread */
#else
#define IS_THREAD 0
#endif

static uint8_t *stack;
static void (*body)(void);
static int started; /* the helper's process number, written by the kernel; 0 = not started */
static int host_fd; /* in the helper: a pidfd of the host, readable once the host has ended; negative where the kernel has none */

/* The host as the kernel describes it in /proc/PID/stat. */
struct host {
	char state; /* of the main thread; '\0' = not known */
	uint64_t nr_threads, start_time;
	uint64_t stack_at; /* address at which the main thread's stack begins; 0 = the kernel does not say */
};
static struct host at_start;

/* --- functions that code in the helper may use -------------------------------------------------- */

size_t sonde_raw__slurp(const char *path, char *to, size_t cap)
{
	int fd = raw_open(path, O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : raw_read(fd, to, cap - 1);

	if (fd >= 0)
		raw_close(fd);
	to[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

void sonde_raw__text(struct raw_text *t, const char *text)
{
	for (; *text && t->n + 1 < t->cap; text++)
		t->p[t->n++] = *text;
	t->p[t->n] = '\0';
}

void sonde_raw__number(struct raw_text *t, uint64_t number)
{
	char digits[24], *at = digits + sizeof(digits);

	*--at = '\0';
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	sonde_raw__text(t, at);
}

void sonde_futex__wait(_Atomic uint32_t *word, uint32_t value, uint32_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	raw_call(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, value, (long)&t, 0);
}

void sonde_futex__wake(_Atomic uint32_t *word)
{
	raw_call(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0);
}

/* --- whether the host is still there ---------------------------------------------------------- */

/* The fields of /proc/PID/stat, numbered as in proc(5). */
enum { FIELD_STATE = 3, FIELD_THREADS = 20, FIELD_START = 22, FIELD_STACK = 28 };

static struct host look_at_host(void)
{
	char path[64], text[1024], *p;
	struct raw_text name = {path, 0, sizeof(path)};
	uint64_t field[FIELD_STACK + 1] = {0};
	struct host h = {0};
	unsigned i;

	sonde_raw__text(&name, "/proc/");
	sonde_raw__number(&name, (uint64_t)sonde_inject.pid);
	sonde_raw__text(&name, "/stat");
	p = text + sonde_raw__slurp(path, text, sizeof(text));
	while (p > text && *p != ')') /* search from the end: the program's name may contain any character */
		p--;
	if (p == text || !p[1])
		return h;
	h.state = p[2];
	for (i = FIELD_STATE - 1; *p && i <= FIELD_STACK; p++) {
		if (*p == ' ')
			i++;
		else if (*p >= '0' && *p <= '9' && i <= FIELD_STACK)
			field[i] = field[i] * 10 + (uint64_t)(*p - '0');
	}
	h.nr_threads = field[FIELD_THREADS];
	h.start_time = field[FIELD_START];
	h.stack_at = field[FIELD_STACK];
	return h;
}

/* For kernels without pidfd: whether the host is gone, its number belongs to another process, or it is a zombie. */
static bool host_is_gone(const struct host *now)
{
	if (raw_call(SYS_kill, sonde_inject.pid, 0, 0, 0, 0) == -ESRCH)
		return true;
	return now->state && (now->start_time != at_start.start_time ||
				     ((now->state == 'Z' || now->state == 'X') && now->nr_threads <= 1));
}

/*
 * Whether the kernel hides where the host's stack is, because the host is not dumpable. The helper shares the host's memory, so
 * asking whether we are dumpable ourselves answers that.
 */
static bool is_hidden(const struct host *now)
{
	return !now->stack_at && raw_call(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) != 1;
}

/* Whether the host has ended or become another program. */
bool sonde_helper__is_alone(void)
{
	struct pollfd ended = {.fd = host_fd, .events = POLLIN};
	const struct timespec at_once = {0};
	long pid = sonde_inject.pid, same;
	struct host now;

	if (IS_THREAD)
		return false;
	if (host_fd >= 0 && raw_call(SYS_ppoll, (long)&ended, 1, (long)&at_once, 0, 0) == 1)
		return true;
	same = raw_call(SYS_kcmp, pid, raw_call(SYS_getpid, 0, 0, 0, 0, 0), KCMP_VM_, 0, 0);
	if (same == 0)
		return false;
	now = look_at_host();
	if (host_fd < 0 && host_is_gone(&now))
		return true;
	if (now.state == 'Z' || !now.state)
		return false; /* only the main thread has ended: its entry shows no memory any more */
	return same > 0 || (at_start.stack_at && now.stack_at != at_start.stack_at && !is_hidden(&now));
}

/* --- starting it -------------------------------------------------------------------------------- */

/*
 * The helper begins with a copy of the host's descriptor table. It closes all of these descriptors, so that it does not hold
 * the host's pipes open.
 */
static void close_all(void)
{
	int fd;

	if (raw_call(SYS_close_range, 0, UINT_MAX, CLOSE_RANGE_UNSHARE, 0, 0) == 0)
		return;
	for (fd = 0; fd < OLD_KERNEL_FDS; fd++)
		raw_close(fd);
}

static int run_helper(void *arg)
{
	(void)arg;
	close_all();
	host_fd = (int)raw_call(SYS_pidfd_open, sonde_inject.pid, 0, 0, 0, 0);
	body();
	return 0;
}

static void *run_thread(void *arg)
{
	run_helper(arg);
	return NULL;
}

static int clone_helper(size_t stack_bytes)
{
	return clone(run_helper, stack + stack_bytes, CLONE_VM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID, NULL,
		&started, NULL, &sonde_inject.helper_runs);
}

/* Runs in the starter; the host's thread waits until the starter has ended (CLONE_VFORK). */
static int run_starter(void *arg)
{
	(void)arg;
	if (clone_helper(STACK_BYTES - STARTER_BYTES) < 0)
		sonde_inject.fault_errno = errno;
	return 0;
}

static bool host_takes_orphans(void)
{
	int is_reaper = 0;

	raw_call(SYS_prctl, PR_GET_CHILD_SUBREAPER, (long)&is_reaper, 0, 0, 0);
	return is_reaper || sonde_inject.pid == 1;
}

/* Reads the name of one of the host's namespaces; returns the kernel's answer. */
static long ask_namespace(const char *link, char *name, size_t size)
{
	memset(name, 0, size);
	return raw_call(SYS_readlinkat, AT_FDCWD, (long)link, (long)name, (long)size - 1, 0);
}

/*
 * Whether the next process that the host starts will be in another PID namespace than the host. Our helper must not be that
 * process: if it is the first one of the namespace (the link then leads nowhere yet), all others there end with it.
 */
static bool is_between_namespaces(void)
{
	static const char next[] = "/proc/self/ns/pid_for_children";
	int fd = raw_open(next, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	char own_name[64], next_name[64];

	if (fd < 0)
		return false; /* an older kernel, or no /proc */
	raw_close(fd);
	ask_namespace("/proc/self/ns/pid", own_name, sizeof(own_name));
	return ask_namespace(next, next_name, sizeof(next_name)) == -ENOENT ||
	       memcmp(own_name, next_name, sizeof(own_name)) != 0;
}

bool sonde_helper__is_possible(void)
{
	return !raw_is_in_valgrind() && !is_between_namespaces();
}

static int start_helper(void)
{
	int pid;

	if (host_takes_orphans() || sonde_asleep__is_sleeper())
		return clone_helper(STACK_BYTES);
	pid = clone(run_starter, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, NULL);
	if (pid > 0)
		raw_call(SYS_wait4, pid, 0, __WALL, 0, 0);
	return pid;
}

bool sonde_helper__start(void (*what)(void))
{
	uint64_t all = ALL_SIGNALS, old = 0;
	int was = errno;

	body = what;
	if (IS_THREAD)
		return sonde_thread__start(run_thread);
	if (!stack)
		stack = sonde_ring__reserve(STACK_BYTES);
	sonde_inject.fault_errno = stack ? 0 : ENOMEM;
	if (!stack)
		return false;
	at_start = look_at_host();
	started = 0;
	atomic_store(&sonde_inject.helper_runs, 1); /* the kernel clears it when the helper ends, in whatever way */
	raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, sizeof(all), 0);
	if (start_helper() < 0)
		sonde_inject.fault_errno = errno;
	raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, sizeof(old), 0);
	errno = was;
	if (started <= 0)
		atomic_store(&sonde_inject.helper_runs, 0);
	return started > 0;
}

bool sonde_helper__has_ended(void)
{
	return !IS_THREAD && !atomic_load(&sonde_inject.helper_runs);
}

bool sonde_helper__await_end(uint32_t ms)
{
	uint64_t until = sonde_now_ns() + (uint64_t)ms * 1000000;

	if (IS_THREAD)
		return atomic_load(&sonde_inject.done);
	while (!sonde_helper__has_ended() && sonde_now_ns() < until)
		sonde_futex__wait(&sonde_inject.helper_runs, 1, 1);
	if (!sonde_helper__has_ended())
		return false;
	/* The kernel clears helper_runs a moment before the helper can be waited for. */
	while (started > 0 && raw_call(SYS_wait4, started, 0, __WALL | WNOHANG, 0, 0) == 0 && sonde_now_ns() < until)
		sched_yield();
	return true;
}

bool sonde_host__main_has_ended(void)
{
	char path[64], text[512], *p;
	struct raw_text name = {path, 0, sizeof(path)};

	sonde_raw__text(&name, "/proc/self/task/");
	sonde_raw__number(&name, (uint64_t)sonde_inject.pid);
	sonde_raw__text(&name, "/stat");
	p = text + sonde_raw__slurp(path, text, sizeof(text));
	while (p > text && *p != ')')
		p--;
	return p > text && p[1] && p[2] == 'Z';
}

bool sonde_thread__start(void *(*start)(void *))
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	size_t size;
	bool ok;

	if (pthread_attr_init(&attr))
		return false;
	if (!pthread_attr_getstacksize(&attr, &size) && size < LEAST_STACK)
		pthread_attr_setstacksize(&attr, LEAST_STACK);
	sigfillset(&all);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ok = !pthread_create(&thread, &attr, start, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return ok;
}
