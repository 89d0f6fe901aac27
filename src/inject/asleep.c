/*
 * Asleep: the library in a process that nobody captures, until `sonde attach` calls it (format/asleep.h).
 *
 * While asleep, the library has one page, and hooks that look at one word of it: no thread, no process, no file, no
 * CUPTI. The hook that finds the phase CALLED starts a thread of ours, the keeper, and
 * leaves. The keeper wakes the library, watches whether the caller is still there, and puts the library to sleep
 * again: then everything but CUPTI is as it was before, and CUPTI leaves with the program's next CUDA call
 * (cupti_presence.c).
 *
 * Starting a thread allocates memory, which is not safe in a signal handler. So a program that makes its NVTX calls in
 * signal handlers must ask for a keeper from the beginning (`sonde env --thread`); so must a program without NVTX calls.
 */
#include "format/asleep.h"
#include "inject/inject_int.h"
#include "inject/raw_int.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS	 20u /* how often the keeper looks */
#define HIGH_FD	 768 /* lowest number of our descriptor: programs use low numbers, ours is out of their way */
#define REST_MS	 1000u /* how long the keeper of --thread sleeps at a time, and so keeps a process whose main thread has ended */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

/* Hooks look at this page before there is a real one, and where none could be made. */
static struct sonde_asleep nobody;
struct sonde_asleep *sonde_asleep_page = &nobody;

static struct {
	bool is_sleeper;
	bool wants_thread;
	_Atomic bool has_cuda;
	bool is_forked; /* forked after CUDA began: CUPTI does not work in this process */
	_Atomic bool is_broken; /* a part of the last wake did not end, or a fork came inside a hook: no more wakes */
	int fd;
	dev_t dev;
	ino_t ino;
} a = {.fd = -1};

bool sonde_asleep__is_sleeper(void)
{
	return a.is_sleeper;
}

static enum sonde_phase phase(void)
{
	return atomic_load(&sonde_asleep_page->word) & SONDE_PHASE_MASK;
}

/* --- the page ------------------------------------------------------------------------------------- */

static int make_memfd(void)
{
	int fd = memfd_create(SONDE_ASLEEP_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* an older kernel */
		fd = memfd_create(SONDE_ASLEEP_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -1;
	if (fchmod(fd, 0600) == 0 && ftruncate(fd, SONDE_ASLEEP_BYTES) == 0 &&
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Whether a.fd is still our page: the program may have closed it and opened something else under the same number. */
static bool has_fd(void)
{
	struct stat st;

	return a.fd >= 0 && fstat(a.fd, &st) == 0 && st.st_dev == a.dev && st.st_ino == a.ino;
}

/* Moves the descriptor to the number of the last one, or to a high number. */
static int place_fd(int fd)
{
	int high = has_fd() ? dup3(fd, a.fd, O_CLOEXEC) : fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* Makes the page of this process; in a forked child it replaces the parent's page, at the same address. */
static bool make_page(void)
{
	bool is_first = sonde_asleep_page == &nobody;
	int fd = make_memfd();
	struct sonde_asleep *page = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		page = mmap(is_first ? NULL : sonde_asleep_page, SONDE_ASLEEP_BYTES, PROT_READ | PROT_WRITE,
			MAP_SHARED | (is_first ? 0 : MAP_FIXED), fd, 0);
	if (page == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		sonde_asleep_page = &nobody;
		return false;
	}
	a.fd = place_fd(fd);
	a.dev = st.st_dev;
	a.ino = st.st_ino;
	page->pid = (uint32_t)sonde_inject.pid;
	page->since_ns = sonde_clock_ns(CLOCK_REALTIME);
	page->version = SONDE_ASLEEP_VERSION;
	page->magic = SONDE_ASLEEP_MAGIC;
	sonde_asleep_page = page;
	return true;
}

/* --- awake ---------------------------------------------------------------------------------------- */

static void wait_for_word(uint32_t word, uint32_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	raw_call(SYS_futex, (long)&sonde_asleep_page->word, FUTEX_WAIT, word, (long)&t, 0);
}

/* Builds the path of the configuration from the page's `dir`; false when that is not an absolute path. */
static bool name_config(char path[SONDE_ASLEEP_DIR + 32])
{
	struct raw_text name = {path, 0, SONDE_ASLEEP_DIR + 32};
	char dir[SONDE_ASLEEP_DIR];

	memcpy(dir, sonde_asleep_page->dir, sizeof(dir));
	dir[sizeof(dir) - 1] = '\0';
	sonde_raw__text(&name, dir);
	sonde_raw__text(&name, "/inject.conf");
	return dir[0] == '/';
}

static void begin_cupti(bool *has_begun)
{
	if (*has_begun || !atomic_load(&a.has_cuda))
		return;
	*has_begun = true;
	if (a.is_forked)
		sonde_flusher__note("this process was forked after CUDA began: its kernels are not recorded");
	else
		sonde_cupti__start();
}

/* Whether the caller has ended: then its lock is gone. */
static bool is_abandoned(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return has_fd() && fcntl(a.fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

/* Returns when the caller ends the capture, is gone or silent, when the window is over, or when the capture has failed. */
static void watch_caller(bool has_cupti)
{
	uint64_t now = sonde_now_ns(), heard_ns = now;
	uint32_t beat = atomic_load(&sonde_asleep_page->beat), last = beat, word;

	for (; now - heard_ns < SONDE_ASLEEP_LEASE_MS * 1000000ull; now = sonde_now_ns()) {
		word = atomic_load(&sonde_asleep_page->word);
		if ((word & SONDE_PHASE_MASK) != SONDE_PHASE_AWAKE || !atomic_load(&sonde_inject.is_active) ||
			sonde_window__is_over() || sonde_cupti__is_ending() || sonde_host__main_has_ended())
			return;
		if (!has_cupti && atomic_load(&a.has_cuda)) {
			begin_cupti(&has_cupti);
			sonde_cupti__collect();
		}
		if (is_abandoned())
			break;
		wait_for_word(word, LOOK_MS);
		beat = atomic_load(&sonde_asleep_page->beat);
		if (beat != last)
			heard_ns = sonde_now_ns();
		last = beat;
	}
	sonde_flusher__note("`sonde attach` was stopped or killed: the program went back to sleep by itself");
}

/*
 * Changes the phase from WAKING, AWAKE or RESTING to ASLEEP, by compare-and-swap so that a simultaneous change by the
 * caller is not lost.
 */
static void fall_asleep(void)
{
	uint32_t word = atomic_load(&sonde_asleep_page->word);

	while ((word & SONDE_PHASE_MASK) >= SONDE_PHASE_WAKING &&
		!atomic_compare_exchange_weak(&sonde_asleep_page->word, &word, word & ~SONDE_PHASE_MASK))
		;
	raw_call(SYS_futex, (long)&sonde_asleep_page->word, FUTEX_WAKE, INT32_MAX, 0, 0);
}

/* Runs one wake, from phase WAKING to ASLEEP. */
static void keep_awake(void)
{
	char path[SONDE_ASLEEP_DIR + 32];
	bool has_cupti = false;
	int error = name_config(path) ? sonde_inject__wake(path) : EINVAL;

	atomic_store(&sonde_asleep_page->refusal, (uint32_t)error);
	if (!error && atomic_load(&sonde_inject.is_active)) {
		atomic_fetch_add(&sonde_asleep_page->nr_wakes, 1);
		begin_cupti(&has_cupti);
		sonde_window__init(); /* after CUPTI has begun, so that no GPU work is missing when the window opens */
		sonde_cupti__collect();
		if (sonde_asleep_move(sonde_asleep_page, SONDE_PHASE_WAKING, SONDE_PHASE_AWAKE))
			watch_caller(has_cupti);
	}
	if (sonde_cupti__is_ending())
		return; /* the program exits: the exit handlers do the rest, and CUPTI may be gone */
	if (!sonde_inject__rest())
		atomic_store(&a.is_broken, true);
	fall_asleep();
}

static void *run_keeper(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "sonde-keep");
	keep_awake();
	return NULL;
}

/* The keeper of `sonde env --thread`, which waits for calls. */
static void *run_waiter(void *arg)
{
	uint32_t word;

	(void)arg;
	prctl(PR_SET_NAME, "sonde-keep");
	while (!sonde_host__main_has_ended() && !sonde_cupti__is_ending() && !atomic_load(&a.is_broken)) {
		word = atomic_load(&sonde_asleep_page->word);
		if (sonde_asleep_move(sonde_asleep_page, SONDE_PHASE_CALLED, SONDE_PHASE_WAKING))
			keep_awake();
		else
			wait_for_word(word, REST_MS);
	}
	atomic_store(&sonde_asleep_page->has_thread, 0);
	return NULL;
}

bool sonde_asleep__answer_call(void)
{
	struct sonde_asleep *page = sonde_asleep_page;
	int was = errno;

	/* The library counts as awake once windows have begun, which is after CUPTI has come. */
	if (atomic_load_explicit(&sonde_inject.is_active, memory_order_acquire))
		return atomic_load_explicit(&sonde_inject.windows.has_begun, memory_order_acquire);
	if (phase() != SONDE_PHASE_CALLED || atomic_load(&page->has_thread) || !sonde_ring__is_own())
		return false;
	if (!sonde_asleep_move(page, SONDE_PHASE_CALLED, SONDE_PHASE_WAKING))
		return false;
	if (atomic_load(&a.is_broken) || !sonde_thread__start(run_keeper)) {
		atomic_store(&page->refusal, atomic_load(&a.is_broken) ? EBUSY : EAGAIN);
		fall_asleep();
	}
	errno = was;
	return false;
}

/* --- life ----------------------------------------------------------------------------------------- */

/* The child of a sleeper begins asleep, whatever its parent is doing. */
static void on_fork(void)
{
	struct inject *g = &sonde_inject;
	int was = errno;

	if (!a.is_sleeper)
		return;
	atomic_store(&g->is_active, false);
	g->pid = getpid();
	g->ppid = getppid();
	sonde_ring__own();
	make_page();
	a.is_forked |= atomic_load(&a.has_cuda);
	atomic_store(&sonde_asleep_page->has_cuda, atomic_load(&a.has_cuda));
	atomic_store(&g->traces_gpu, false);
	atomic_store(&g->flusher_runs, 0);
	atomic_store(&g->helper_runs, 0);
	atomic_store(&a.is_broken, false);
	sonde_label__forked(&g->labels);
	sonde_window__reset();
	/* A signal handler forked in the middle of a hook: this hook ends well, but the child can never be woken. */
	if (sonde_self && sonde_self->busy)
		atomic_store(&a.is_broken, true);
	else if (g->threads)
		sonde_ring__forked();
	errno = was;
}

static void start_waiter(void)
{
	if (!a.wants_thread || atomic_exchange(&sonde_asleep_page->has_thread, 1))
		return;
	if (!sonde_thread__start(run_waiter))
		atomic_store(&sonde_asleep_page->has_thread, 0);
}

bool sonde_asleep__begin(void)
{
	const char *how = secure_getenv(SONDE_ASLEEP_VARIABLE);
	struct inject *g = &sonde_inject;
	int was = errno;

	if (!how || !*how || !strcmp(how, "0"))
		return false;
	g->pid = getpid();
	g->ppid = getppid();
	a.is_sleeper = sonde_label__init(&g->labels) && !pthread_atfork(NULL, NULL, on_fork) && make_page();
	if (a.is_sleeper) {
		sonde_ring__own();
		a.wants_thread = !strcmp(how, SONDE_ASLEEP_THREAD);
		start_waiter();
	}
	errno = was;
	return a.is_sleeper;
}

void sonde_asleep__meet_cuda(void)
{
	atomic_store(&a.has_cuda, true);
	atomic_store(&sonde_asleep_page->has_cuda, 1);
	if (sonde_ring__is_own())
		start_waiter();
}
