/*
 * A process of ours beside the host's, which shares its memory and nothing
 * else: that is where the flusher runs.
 *
 * Why no thread. A thread of ours would count as one of the host's: a process
 * whose main thread has ended would live on for it, a signal could be left
 * pending for it, unshare(CLONE_NEWUSER) would fail, Python would warn about
 * it at every fork, and it would die with the host, so that whatever _exit,
 * execve or kill -9 ends had to be on disk before. A process that shares the
 * memory has none of these, and outlives the host by as long as it takes to
 * write the rest down.
 *
 * The price: it has no thread of libc's own, so nothing that runs in it may
 * use errno or anything else that is thread-local (raw_int.h), nor stdio.
 * Its exit signal is 0, so the host's wait() does not see it.
 */
#include "inject/inject_int.h"
#include "inject/raw_int.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#define STACK_BYTES (256u << 10)
/* The host's thread-local memory is taken from a thread's stack. */
#define LEAST_STACK (2u << 20)
#define ALL_SIGNALS (~0ull)
#define KCMP_VM_    1

#if defined(__SANITIZE_THREAD__)
#define IS_THREAD 1 /* the sanitizer knows threads only */
#else
#define IS_THREAD 0
#endif

static uint8_t *stack;
static void (*body)(void);
static uint64_t start_stack; /* of the host's program, 0 = unknown */

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

/* The state of the host's main thread, and where its program's stack begins (0 = not said). */
static char host_state(uint64_t *stack_at)
{
	char path[64], text[1024], *p, state;
	struct raw_text name = {path, 0, sizeof(path)};
	unsigned field;

	*stack_at = 0;
	sonde_raw__text(&name, "/proc/");
	sonde_raw__number(&name, (uint64_t)sonde_inject.pid);
	sonde_raw__text(&name, "/stat");
	p = text + sonde_raw__slurp(path, text, sizeof(text));
	while (p > text && *p != ')') /* the program's name may hold anything */
		p--;
	if (p == text || !p[1])
		return '\0';
	state = p[2];
	for (field = 2; *p && field < 28; p++)
		field += *p == ' ';
	for (; *p >= '0' && *p <= '9'; p++)
		*stack_at = *stack_at * 10 + (uint64_t)(*p - '0');
	return state;
}

/*
 * Whether the host has ended or become another program. A main thread that has ended alone has no
 * memory any more either; the process is there as long as it is our parent.
 */
bool sonde_helper__is_alone(void)
{
	uint64_t stack_at;
	long pid = sonde_inject.pid, same;
	char state;

	if (IS_THREAD)
		return false;
	if (raw_call(SYS_getppid, 0, 0, 0, 0, 0) != pid)
		return true;
	same = raw_call(SYS_kcmp, pid, raw_call(SYS_getpid, 0, 0, 0, 0, 0), KCMP_VM_, 0, 0);
	if (same == 0)
		return false;
	state = host_state(&stack_at);
	if (state == 'Z' || !state)
		return false;
	return same > 0 || (start_stack && stack_at != start_stack);
}

/* --- starting it -------------------------------------------------------------------------------- */

static int run(void *arg)
{
	(void)arg;
	body();
	return 0;
}

static void *run_thread(void *arg)
{
	run(arg);
	return NULL;
}

bool sonde_helper__start(void (*what)(void))
{
	uint64_t all = ALL_SIGNALS, old = 0;
	int pid, was = errno;

	body = what;
	if (IS_THREAD)
		return sonde_thread__start(run_thread);
	if (!stack)
		stack = sonde_ring__reserve(STACK_BYTES);
	if (!stack)
		return false;
	host_state(&start_stack);
	raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, sizeof(all), 0);
	pid = clone(run, stack + STACK_BYTES, CLONE_VM, NULL);
	raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, sizeof(old), 0);
	sonde_inject.helper = pid;
	sonde_inject.fault_errno = pid < 0 ? errno : 0;
	errno = was;
	return pid > 0;
}

bool sonde_helper__has_ended(void)
{
	int pid = sonde_inject.helper;

	return !IS_THREAD && pid > 0 &&
	       raw_call(SYS_wait4, pid, 0, WNOHANG | __WCLONE, 0, 0) != 0;
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
