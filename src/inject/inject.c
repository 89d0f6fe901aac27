/*
 * The exported functions, and the life of the library: the first call starts it, a
 * fork resets it in the child, the end of the process finishes it. The library reports
 * to the runner in a page that both map (format/attach.h).
 */
#include "format/launcher.h"
#include "inject/inject_int.h"
#include "inject/nvtx_int.h"
#include "inject/raw_int.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define EXPORT __attribute__((visibility("default")))

#define REST_MS 2000u /* how long the flusher's process may take to end */

int InitializeInjection(void);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtxExtension(struct nvtxExtModuleInfo_t *module);

struct inject sonde_inject;

enum life { UNBORN, STARTING, RUNNING, REFUSED };
static _Atomic uint32_t life;

/* --- the page that the runner reads ------------------------------------------------------------ */

static struct sonde_attach nobody_reads; /* stands in for a page where the runner made none */

static struct sonde_attach *map_page(const char *output, const char *file)
{
	char path[PATH_MAX], last;
	struct raw_text name = {path, 0, sizeof(path)};
	void *page = MAP_FAILED;
	int fd;

	sonde_raw__text(&name, output);
	sonde_raw__text(&name, "/");
	sonde_raw__text(&name, file);
	fd = raw_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return &nobody_reads;
	/* The last byte must be there: writing to the mapping of a shorter file would kill the host with SIGBUS. */
	if (raw_call(SYS_pread64, fd, (long)&last, 1, SONDE_ATTACH_BYTES - 1, 0) == 1)
		page = mmap(NULL, SONDE_ATTACH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	raw_close(fd);
	return page == MAP_FAILED ? &nobody_reads : page;
}

/*
 * Takes the runner's name from the environment. It becomes part of a file's name and of a line in META, so other
 * characters are refused.
 */
static void find_runner(void)
{
	const char *name = secure_getenv(SONDE_RUNNER_VARIABLE);

	if (name && strlen(name) < SONDE_RUNNER_LIMIT &&
		!name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789")])
		memcpy(sonde_inject.runner, name, strlen(name) + 1);
}

static void unmap_page(struct sonde_attach *page)
{
	if (page && page != &nobody_reads)
		munmap(page, SONDE_ATTACH_BYTES);
}

/*
 * Maps the page for our reports and the one with the runner's orders; a page that the runner did not make is replaced by
 * `nobody_reads`. The pages of an earlier capture are unmapped: nobody has used them for a while.
 */
static void open_pages(const char *output)
{
	char own[sizeof(SONDE_ATTACH_OWN_NAME) + SONDE_RUNNER_LIMIT];

	if (sonde_inject.attach != sonde_inject.orders)
		unmap_page(sonde_inject.attach);
	unmap_page(sonde_inject.orders);
	find_runner();
	sonde_inject.orders = sonde_inject.attach = map_page(output, SONDE_ATTACH_NAME);
	if (!*sonde_inject.runner)
		return;
	snprintf(own, sizeof(own), SONDE_ATTACH_OWN_NAME, sonde_inject.runner);
	sonde_inject.attach = map_page(output, own);
}

void sonde_attach__fault(enum sonde_attach_fault fault, int error)
{
	atomic_store(&sonde_inject.is_active, false);
	atomic_store(&sonde_inject.attach->faults[fault].error, (uint32_t)error);
	atomic_fetch_add(&sonde_inject.attach->faults[fault].nr, 1);
}

/* --- starting ---------------------------------------------------------------------------------- */

/* Whether the processor's counter can be used as a clock: it has a constant rate and is the same on all cores. */
static bool counter_is_clock(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d = 0;
	char name[32] = "tsc";
	int fd;

	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8))
		return false;
	fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, name, sizeof(name) - 1) < 0)
			name[0] = '\0';
		close(fd);
	}
	/* A kernel that distrusts the counter uses another source. */
	return !strncmp(name, "tsc", 3) || !strncmp(name, "kvm-clock", 9) ||
	       !strncmp(name, "hyperv", 6);
#elif defined(__aarch64__)
	return true;
#else
	return false;
#endif
}

static void clock_init(struct inject *g)
{
	uint64_t ns, start_ns, start;

	g->use_counter = counter_is_clock();
	g->tick_hz = 1000000000u;
	if (g->use_counter) {
		start_ns = sonde_now_ns();
		start = counter_read();
		while ((ns = sonde_now_ns() - start_ns) < 50000)
			;
		g->tick_hz = (counter_read() - start) * 1000000000u / ns;
	}
}

/* Finds which rank of a job this process is, for the capture's META. We look now, since the helper cannot read the environment. */
static void find_rank(struct inject *g)
{
	const char *rank = NULL, *size;
	unsigned i;

	for (i = 0; i < SONDE_NR_LAUNCHERS && !rank; i++) {
		const struct sonde_launcher *l = &sonde_launchers[i];

		rank = l->mark && !getenv(l->mark) ? NULL : getenv(l->rank);
		size = l->step_size ? getenv(l->step_size) : NULL;
		size = size ? size : getenv(l->size);
		if (!rank || strlen(rank) >= sizeof(g->rank))
			continue;
		memcpy(g->rank, rank, strlen(rank) + 1);
		if (size && strlen(size) < sizeof(g->nr_ranks))
			memcpy(g->nr_ranks, size, strlen(size) + 1);
	}
}

/* Whether this rank is to be captured: `ranks=0-7,64` chooses some ranks of those that a launcher starts. */
static bool is_chosen(const struct inject *g)
{
	const char *at = g->config.ranks;
	unsigned long rank, first, last;
	char *end;

	if (!at)
		return true;
	rank = strtoul(g->rank, &end, 10);
	if (end == g->rank || *end)
		return false;
	for (; *at; at = *end == ',' ? end + 1 : end) {
		first = last = strtoul(at, &end, 10);
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (rank >= first && rank <= last)
			return true;
		if (end == at)
			break;
	}
	return false;
}

/* Resets all counts for a new capture: in a forked child, and at each wake of a sleeper. */
static void clear_counts(struct inject *g)
{
	uint32_t i;

	atomic_store(&g->flusher_runs, 0);
	atomic_store(&g->flush_wanted, 0);
	atomic_store(&g->stop, 0);
	atomic_store(&g->done, 0);
	/* nr_streams is not reset: stream numbers are part of the ids of ranges that were started before. */
	atomic_store(&g->nr_collecting, 0); /* the threads counted there are the parent's, or have ended */
	atomic_store(&g->nr_lost, 0);
	atomic_store(&g->nr_nested, 0);
	atomic_store(&g->nr_inline, 0);
	atomic_store(&g->nr_cut, 0);
	atomic_store(&g->nr_no_slot, 0);
	atomic_store(&g->nr_gpu_dropped, 0);
	atomic_store(&g->nr_too_deep, 0);
	atomic_store(&g->nr_pc_dropped, 0);
	atomic_store(&g->nr_pc_full, 0);
	atomic_store(&g->nr_notes, 0);
	atomic_store(&g->losses, 0);
	for (i = 0; i < MAX_NOTES; i++)
		atomic_store(&g->notes[i], NULL);
}

static void on_fork(void)
{
	struct inject *g = &sonde_inject;

	if (atomic_load(&life) != RUNNING || !atomic_load(&g->is_active))
		return;
	g->pid = getpid();
	g->ppid = getppid();
	sonde_ring__own();
	/* A signal handler forked in the middle of a hook: this hook ends well, but the child records nothing more. */
	if (sonde_self && sonde_self->busy) {
		atomic_store(&g->is_active, false);
		return;
	}
	clear_counts(g);
	if (g->traces_gpu)
		sonde_flusher__note("this process was forked after CUDA began: its kernels are not recorded");
	g->traces_gpu = false;
	sonde_label__forked(&g->labels);
	sonde_budget__reset();
	sonde_window__forked();
	sonde_ring__forked();
}

/* A destructor runs after the host's own exit code, so that ranges in the host's destructors are recorded too. */
__attribute__((destructor)) static void finish(void)
{
	bool was_on = atomic_exchange(&sonde_inject.is_active, false);

	if (was_on && sonde_ring__is_own()) /* a child whose fork we did not see has no flusher */
		sonde_flusher__finish();
}

/*
 * Prepares a capture, once the configuration is read. Memory is reserved for the first capture of the process; later
 * ones use it again.
 */
static bool reserve_memory(struct inject *g)
{
	static bool is_done;

	atomic_store(&g->has_patterns, g->config.include.nr || g->config.exclude.nr || g->config.window.label.nr);
	g->gated = g->has_patterns || g->config.has_windows;
	g->pid = getpid();
	g->ppid = getppid();
	open_pages(g->config.output);
	if (!sonde_helper__is_possible()) {
		atomic_fetch_add(&g->attach->nr_attached, 1);
		sonde_attach__fault(SONDE_FAULT_SHARING, 0);
		return false;
	}
	if (is_done)
		return true;
	clock_init(g);
	is_done = (g->labels.text || sonde_label__init(&g->labels)) && sonde_ring__init();
	if (!is_done) {
		atomic_fetch_add(&g->attach->nr_attached, 1);
		sonde_attach__fault(SONDE_FAULT_MEMORY, ENOMEM);
	}
	return is_done;
}

static bool start_library(void)
{
	struct inject *g = &sonde_inject;

	find_rank(g);
	if (!sonde_setup__read(&g->config, secure_getenv("SONDE_INJECT_CONFIG"), false))
		return sonde_asleep__begin() && !at_quick_exit(finish);
	if (!is_chosen(g) || pthread_atfork(NULL, NULL, on_fork) || at_quick_exit(finish))
		return false;
	if (!reserve_memory(g)) {
		sonde_ring__release();
		return false;
	}
	sonde_ring__own();
	sonde_window__init();
	atomic_store(&g->is_active, true);
	return sonde_flusher__start();
}

/* --- one wake of a sleeper ---------------------------------------------------------------------- */

/*
 * Copies the new configuration over the old one, but writes changed bytes only: where CUPTI stays in a sleeper, its callbacks
 * may read the configuration at the same time. Only the names of files usually differ between two wakes.
 */
static void take_changes(void *to, const void *from, size_t nr_bytes)
{
	unsigned char *old = to;
	const unsigned char *new = from;
	size_t i;

	for (i = 0; i < nr_bytes; i++)
		if (old[i] != new[i])
			old[i] = new[i];
}

int sonde_inject__wake(const char *path)
{
	static __typeof__(sonde_inject.config) config; /* too large for a stack; one thread wakes at a time */
	struct inject *g = &sonde_inject;

	errno = 0;
	memset(&config, 0, sizeof(config));
	if (!sonde_setup__read(&config, path, true))
		return errno ? errno : EINVAL;
	config.has_windows = true; /* a wake is like a window: we do not know which ranges were open before */
	take_changes(&g->config, &config, sizeof(config));
	clear_counts(g);
	if (!reserve_memory(g))
		return 0;
	sonde_ring__discard();
	sonde_label__regate();
	sonde_gate__clear();
	sonde_budget__reset();
	sonde_window__reset();
	g->first_stream = atomic_load(&g->nr_streams);
	atomic_fetch_add(&g->nr_wakes, 1);
	sonde_flusher__note("`sonde attach` woke the program: ranges that were already open are not known, so work inside them is "
			    "shown without them");
	atomic_store(&g->is_active, true);
	if (!sonde_flusher__start()) {
		atomic_store(&g->is_active, false);
		atomic_store(&g->flusher_runs, 0);
	}
	return 0;
}

bool sonde_inject__rest(void)
{
	if (!atomic_load(&sonde_inject.flusher_runs))
		return true;
	sonde_window__set(false);
	sonde_cupti__rest();
	atomic_store(&sonde_inject.is_active, false);
	sonde_flusher__finish();
	/*
	 * While asleep, programs still register strings, but the patterns' text is overwritten by the next wake: they
	 * must not be matched.
	 */
	atomic_store(&sonde_inject.has_patterns, false);
	if (!sonde_helper__await_end(REST_MS))
		return false;
	sonde_ring__give_back();
	return true;
}

/* Starts the library at the first call; true when it runs. */
static bool start_once(void)
{
	static _Atomic int starter;
	uint32_t was = UNBORN;

	if (atomic_compare_exchange_strong(&life, &was, STARTING)) {
		bool ok;

		atomic_store(&starter, getpid());
		ok = start_library();
		if (!ok)
			atomic_store(&sonde_inject.is_active, false);
		atomic_store(&life, ok ? RUNNING : REFUSED);
		return ok;
	}
	while (atomic_load(&life) == STARTING) {
		if (atomic_load(&starter) && atomic_load(&starter) != getpid())
			return false; /* forked while another thread of the parent was starting the library */
		sched_yield();
	}
	return atomic_load(&life) == RUNNING;
}

/* NVTX calls this once for each NVTX instance in the process, at the first use of that instance. */
EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
	return start_once() && (sonde_asleep__is_sleeper() ? sonde_asleep__attach(get_table) : sonde_nvtx__attach(get_table));
}

/*
 * NVTX calls this once for each extension that the program uses (payloads, counters), at its first use. Sleepers do not
 * support them.
 */
EXPORT int InitializeInjectionNvtxExtension(struct nvtxExtModuleInfo_t *module)
{
	return start_once() && !sonde_asleep__is_sleeper() && sonde_nvtx__extend(module);
}

/* The CUDA driver calls this when it is initialised. */
EXPORT int InitializeInjection(void)
{
	if (start_once() && sonde_asleep__is_sleeper()) {
		sonde_asleep__meet_cuda();
	} else if (start_once()) {
		sonde_cupti__start();
		sonde_cupti__collect();
	}
	return 1;
}
