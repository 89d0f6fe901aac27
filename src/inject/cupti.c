/*
 * Finds, starts and switches CUPTI, which records what the GPU does, and asks it for its records.
 *
 * CUPTI fills buffers of ours and hands them back in a thread of its own, in the
 * collector, or at exit in a thread of the host. That thread turns the records into
 * events (cupti_records.c).
 */
#include "inject/cupti_int.h"
#include "inject/inject_int.h"
#include "inject/raw_int.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NR_BUFFERS 64u
#define LOOK_MS	   50u /* the collector looks for orders at least this often */
#define PENDING_MS 10u /* the program counts as quiet when it launches nothing for so long */
#define REST_NS	   3000000000u /* how long a sleeper waits for records, and again for the collector to end */
#define SOON_NS	   50000000u /* shortest time between two requests to CUPTI, unless collect_ms is less */

struct sonde_cupti sonde_cupti;

static uint8_t *buffers;
static size_t buffer_bytes; /* size of each buffer */
static _Atomic uint64_t taken; /* a bit for each buffer that CUPTI has */
static _Atomic uint32_t ending; /* the exit handlers run */
static _Atomic uint32_t collector_runs;

/* --- finding libcupti.so ----------------------------------------------------------------------- */

/* Two different CUPTI libraries in one process disturb each other: if one is loaded, we use that one. */

static int is_cupti(struct dl_phdr_info *info, size_t size, void *out)
{
	const char *base = strrchr(info->dlpi_name, '/');

	(void)size;
	if (strncmp(base ? base + 1 : info->dlpi_name, "libcupti.so", 11) != 0)
		return 0;
	*(const char **)out = info->dlpi_name;
	return 1;
}

static void *find_library(const char *path)
{
	static const char *const usual[] = {
		"libcupti.so.13",
		"libcupti.so.12",
		"libcupti.so",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
		"/usr/local/cuda/lib64/libcupti.so",
		"/usr/local/cuda/lib/libcupti.so",
	};
	const char *loaded = NULL;
	void *lib = NULL;
	size_t i;

	dl_iterate_phdr(is_cupti, &loaded);
	if (loaded)
		lib = dlopen(loaded, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib && path)
		return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	for (i = 0; !lib && i < sizeof(usual) / sizeof(usual[0]); i++)
		lib = dlopen(usual[i], RTLD_LAZY | RTLD_LOCAL);
	return lib;
}

/* Finds functions of the CUDA driver. The driver is there, since it has loaded us; a stand-in for CUPTI brings its own. */
static void find_driver(void *lib)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	cuda = cuda ? cuda : lib;
	*(void **)&sonde_cupti.device_attribute = dlsym(cuda, "cuDeviceGetAttribute");
	*(void **)&sonde_cupti.device_name = dlsym(cuda, "cuDeviceGetName");
	*(void **)&sonde_cupti.device_uuid = dlsym(cuda, "cuDeviceGetUuid_v2");
	*(void **)&sonde_cupti.device_memory = dlsym(cuda, "cuDeviceTotalMem_v2");
}

/* Finds a CUPTI library: the one that is loaded, else the configured one, else one in the usual places. */
static bool load_cupti(const char *path)
{
	void *lib = find_library(path);

	if (!lib)
		return false;
#define LOAD(name)                                                                                 \
	*(void **)&sonde_cupti.name = dlsym(lib, #name);                                           \
	if (!sonde_cupti.name)                                                                     \
		return false;
	SONDE_CUPTI_CALLS(LOAD)
#undef LOAD
#ifdef CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN
	*(void **)&sonde_cupti.subscribe_v2 = dlsym(lib, "cuptiSubscribe_v2");
	*(void **)&sonde_cupti.unsubscribe = dlsym(lib, "cuptiUnsubscribe");
#endif
	*(void **)&sonde_cupti.stream_id = dlsym(lib, "cuptiGetStreamIdEx");
	find_driver(lib);
	sonde_cupti.lib = lib;
	return sonde_cupti.cuptiGetVersion(&sonde_cupti.version) == CUPTI_SUCCESS;
}

/* --- buffers --------------------------------------------------------------------------------- */

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint64_t bits = atomic_load(&taken), bit;

	*max_records = 0;
	do {
		if (!~bits) {
			*buffer = NULL; /* CUPTI then drops records, and tells us how many */
			*size = 0;
			return;
		}
		bit = ~bits & (bits + 1);
	} while (!atomic_compare_exchange_weak(&taken, &bits, bits | bit));
	*buffer = buffers + (size_t)__builtin_ctzll(bit) * buffer_bytes;
	*size = buffer_bytes;
}

static void CUPTIAPI take_buffer(
	CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *r = NULL;
	struct thread *t;
	size_t dropped = 0;

	atomic_fetch_add(&sonde_inject.nr_collecting, 1); /* must come first: whoever ends the capture waits for it */
	t = atomic_load(&sonde_inject.traces_gpu) ? hook_enter() : NULL;
	while (valid &&
		sonde_cupti.cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
		count(&sonde_inject.nr_gpu_records);
		if (t)
			sonde_cupti__record(t, r);
		else
			count(&sonde_inject.nr_gpu_dropped);
	}
	if (sonde_cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) ==
		CUPTI_SUCCESS)
		atomic_fetch_add_explicit(
			&sonde_inject.nr_gpu_dropped, dropped, memory_order_relaxed);
	if (t)
		hook_leave(t);
	if (buffer && sonde_inject.config.levers.zeroed)
		memset(buffer, 0, size); /* else CUPTI does it, in a thread that launches */
	if (buffer)
		atomic_fetch_and(&taken, ~(1ull << ((size_t)(buffer - buffers) / buffer_bytes)));
	atomic_fetch_sub(&sonde_inject.nr_collecting, 1);
}

/* --- the collector ---------------------------------------------------------------------------- */

/* Reads our clock and CUPTI's at one moment: reads a few times and takes the quickest reading. */
static bool clock_read(uint64_t *ticks, uint64_t *ns)
{
	uint64_t least = UINT64_MAX, before, after, read;
	int i;

	for (i = 0; i < 4; i++) {
		before = ticks_now();
		if (sonde_cupti.cuptiGetTimestamp(&read) != CUPTI_SUCCESS)
			return false;
		after = ticks_now();
		if (after - before < least) {
			least = after - before;
			*ticks = before + (after - before) / 2;
			*ns = read;
		}
	}
	return true;
}

void sonde_cupti__stamp(void)
{
	struct thread *t = hook_enter();
	struct sonde_event e;

	if (!t)
		return;
	e.type = SONDE_EVENT_GPU_CLOCK;
	if (clock_read(&e.ticks, &e.field[0]))
		sonde_ring__write(t, &e);
	hook_leave(t);
}

/*
 * When we ask CUPTI for records. The regular time is every collect_ms. A program that ends without its exit handlers takes
 * along the records that CUPTI still has, so we ask sooner where that disturbs hardly anybody: when launches have paused for a
 * moment; and while they go on, after an eighth of the time for which they have gone on, so that most of a short program is
 * written. Asking sooner may take a thousandth of the time at most.
 */
static struct {
	uint64_t regular_ns; /* when we last asked at the regular time */
	uint64_t asked_ns;   /* when we last asked at all … */
	uint64_t took_ns;    /* … and how long that took */
	uint64_t asked, seen; /* sonde_launches__sum when we last asked, and at the last look */
	bool is_quiet;	     /* there was no launch between the last two looks */
	uint64_t quiet_ns;   /* when is_quiet was last true */
} when;

static void look_at_launches(uint64_t now)
{
	uint64_t launches = sonde_launches__sum();

	when.is_quiet = launches == when.seen;
	when.seen = launches;
	if (when.is_quiet)
		when.quiet_ns = now;
}

/* Whether CUPTI should be asked before its regular time. */
static bool is_soon(uint64_t now)
{
	uint64_t gap_ns = when.is_quiet ? 0 : (now - when.quiet_ns) / 8;

	gap_ns = gap_ns < SOON_NS ? SOON_NS : gap_ns;
	gap_ns = gap_ns < 1000 * when.took_ns ? 1000 * when.took_ns : gap_ns;
	return when.seen != when.asked && now - when.asked_ns >= gap_ns;
}

/* Notes that we ask CUPTI now. True when the regular time has come. */
static bool note_asking(uint64_t now)
{
	bool is_regular = now - when.regular_ns >= sonde_inject.config.collect_ms * 1000000ull;

	when.asked = when.seen;
	when.asked_ns = now;
	if (is_regular)
		when.regular_ns = now;
	return is_regular;
}

/* Waits until it is time to collect; meanwhile the clock or the runner may open and close windows. */
static void await_collection(void)
{
	uint64_t until = when.regular_ns + sonde_inject.config.collect_ms * 1000000ull;
	uint32_t nr_flushes = atomic_load(&sonde_inject.orders->nr_flushes), look_ms;
	uint64_t now, next_ms, other_ms;

	do {
		next_ms = sonde_window__update(true) / 1000 + 1;
		other_ms = sonde_budget__update(true) / 1000 + 1;
		next_ms = other_ms < next_ms ? other_ms : next_ms;
		other_ms = sonde_presence__update() / 1000 + 1;
		next_ms = other_ms < next_ms ? other_ms : next_ms;
		look_ms = when.seen != when.asked ? PENDING_MS : LOOK_MS;
		now = sonde_now_ns();
		if (now < until && (until - now) / 1000000 < next_ms)
			next_ms = (until - now) / 1000000 + 1;
		sonde_futex__wait(&ending, 0, (uint32_t)(next_ms < look_ms ? next_ms : look_ms));
		now = sonde_now_ns();
		look_at_launches(now);
	} while (!atomic_load(&ending) && now < until && !is_soon(now) &&
		 atomic_load(&sonde_inject.orders->nr_flushes) == nr_flushes);
}

static void *run_collector(void *arg)
{
	bool is_regular = true;

	(void)arg;
	prctl(PR_SET_NAME, "sonde-collect");
	when.regular_ns = when.asked_ns = when.quiet_ns = sonde_now_ns();
	while (!atomic_load(&ending) && atomic_load(&sonde_inject.is_active) && !sonde_host__main_has_ended()) {
		if (is_regular && sonde_presence__hold()) {
			sonde_cupti__stamp();
			sonde_presence__release();
		}
		atomic_fetch_add(&sonde_inject.nr_collected, is_regular);
		await_collection();
		is_regular = note_asking(sonde_now_ns());
		atomic_fetch_add(&sonde_inject.nr_collecting, 1);
		if (!atomic_load(&ending) && sonde_presence__hold()) {
			sonde_cupti.cuptiActivityFlushAll(0);
			sonde_presence__release();
		}
		when.took_ns = sonde_now_ns() - when.asked_ns;
		sonde_devices__describe();
		if (is_regular)
			sonde_rivals__check();
		atomic_fetch_sub(&sonde_inject.nr_collecting, 1);
	}
	atomic_store(&collector_runs, 0);
	return NULL;
}

/* An exit handler: collects the remaining records while CUDA still works. */
static void collect_rest(void)
{
	if (atomic_exchange(&ending, 1) || !atomic_load(&sonde_inject.is_active) ||
		!atomic_load(&sonde_inject.traces_gpu) || !sonde_ring__is_own())
		return; /* done before, off, or a forked child, in which CUPTI does not work */
	sonde_futex__wake(&ending);
	if (sonde_presence__hold()) { /* never released: CUPTI must not leave any more */
		sonde_cupti__stamp();
		sonde_pc__end();
		sonde_cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	}
	sonde_flusher__await_collectors(); /* the collector may still be writing the records that it took */
	sonde_devices__describe();
	atomic_store(&sonde_inject.is_collected, true);
}

static void set_attribute(CUpti_ActivityAttribute which, void *value, size_t size)
{
	CUptiResult rc = sonde_cupti.cuptiActivitySetAttribute(which, &size, value);

	if (rc != CUPTI_SUCCESS)
		sonde_rivals__note_refusal(rc, "CUPTI did not accept a setting of its buffers");
}

static void set_levers(const struct levers *l)
{
	uint8_t zeroed = l->zeroed;
	size_t device_bytes = (size_t)l->device_buffer_kb << 10, nr = l->nr_device_buffers;

	if (zeroed)
		set_attribute(
			CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &zeroed, sizeof(zeroed));
	if (device_bytes)
		set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &device_bytes,
			sizeof(device_bytes));
	if (nr)
		set_attribute(
			CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, &nr, sizeof(nr));
}

static void switch_kind(CUpti_ActivityKind kind, bool is_on, const char *refused)
{
	CUptiResult rc = is_on ? sonde_cupti.cuptiActivityEnable(kind)
			       : sonde_cupti.cuptiActivityDisable(kind);

	if (rc != CUPTI_SUCCESS)
		sonde_rivals__note_refusal(rc, refused);
}

static void set_kinds(bool is_on)
{
	static bool are_on;
	static const CUpti_ActivityKind kinds[] = {
		CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		CUPTI_ACTIVITY_KIND_MEMCPY,
		CUPTI_ACTIVITY_KIND_MEMCPY2,
		CUPTI_ACTIVITY_KIND_MEMSET,
		CUPTI_ACTIVITY_KIND_OVERHEAD, /* must be last: no_overhead leaves it out */
	};
	size_t i, nr = sizeof(kinds) / sizeof(kinds[0]);
	uint64_t off_ns;

	if (are_on == is_on)
		return;
	are_on = is_on;
	atomic_fetch_add(&sonde_inject.records_turn, 1);
	nr -= sonde_inject.config.levers.no_overhead;
	for (i = 0; i < nr; i++)
		switch_kind(kinds[i], is_on, "CUPTI cannot record one kind of GPU activity: that part is missing");
	if (sonde_inject.config.has_memory)
		switch_kind(CUPTI_ACTIVITY_KIND_MEMORY2, is_on,
			"CUPTI cannot record allocations of GPU memory: they are missing");
	if (sonde_inject.config.whole_graphs)
		switch_kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, is_on, "CUPTI cannot record launches of whole CUDA graphs: they are missing");
	atomic_fetch_add(&sonde_inject.records_turn, 1);
	if (!is_on && sonde_cupti.cuptiGetTimestamp(&off_ns) == CUPTI_SUCCESS)
		atomic_store(&sonde_inject.off_ns, off_ns);
}

/* Makes a driver call that must come back as a record. If it does not, another user of CUPTI gets the records by now. */
bool sonde_cupti__is_ours(void)
{
	uint64_t nr = atomic_load(&sonde_inject.nr_gpu_records);
	int value;

	if (!sonde_cupti.device_attribute ||
		sonde_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER) != CUPTI_SUCCESS)
		return false;
	sonde_cupti.device_attribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
	sonde_cupti.cuptiActivityFlushAll(0);
	if (atomic_load(&sonde_inject.nr_gpu_records) == nr)
		return false;
	sonde_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
	return true;
}

void sonde_cupti__end_records(void)
{
	set_kinds(false);
}

/* Also needed after cuptiFinalize, since CUPTI forgets everything then. */
static CUptiResult register_buffers(void)
{
	set_levers(&sonde_inject.config.levers);
	return sonde_cupti.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
}

bool sonde_cupti__begin_again(void)
{
	if (sonde_launches__subscribe() && register_buffers() == CUPTI_SUCCESS)
		return true;
	sonde_rivals__note_subscriber();
	sonde_flusher__note_loss("sonde left CUPTI after a window and could not start it again: later GPU work has no times, ranges "
				 "are still recorded. A capture without budget or window never leaves CUPTI");
	return false;
}

/* Callbacks are switched on before records and off after them: the budget measures in callbacks what records cost. */
void sonde_cupti__switch(bool is_on)
{
	bool was_on;

	if (is_on && !sonde_presence__come()) {
		atomic_store(&sonde_inject.traces_gpu, false); /* another user has CUPTI now */
		return;
	}
	was_on = atomic_exchange(&sonde_inject.windows.gpu_on, is_on);
	if (!was_on != !is_on)
		sonde_pc__drain_now();
	if (is_on && !was_on)
		sonde_launches__switch(true);
	if (is_on || !sonde_presence__lingers())
		set_kinds(is_on);
	if (is_on && !was_on)
		sonde_cupti__stamp();
	/*
	 * Callbacks go off only without a budget: then the program's own thread makes this switch, and it is inside no launch.
	 * With a budget the collector makes it, while other threads may be inside calls.
	 */
	if (!is_on && was_on && sonde_presence__is_kept() && !sonde_inject.config.budget_ppm)
		sonde_launches__switch(false);
	if (!is_on && was_on)
		sonde_presence__go();
}

/* Loads CUPTI and begins to use it; false when we cannot have it. */
static bool begin_cupti(void)
{
	CUptiResult rc;

	if (!load_cupti(sonde_inject.config.cupti)) {
		sonde_flusher__note("CUPTI was not found: host times only, no kernels; set pipeline.native.cupti to the path of "
				    "libcupti.so");
		return false;
	}
	buffer_bytes = (size_t)sonde_inject.config.levers.buffer_kb << 10;
	buffers = buffers ? buffers : sonde_ring__reserve(NR_BUFFERS * buffer_bytes);
	rc = buffers ? register_buffers() : CUPTI_ERROR_OUT_OF_MEMORY;
	if (rc != CUPTI_SUCCESS) {
		sonde_rivals__note_refusal(rc, "CUPTI does not start: host times only, no kernels");
		return false;
	}
	if (!sonde_launches__subscribe())
		sonde_rivals__note_subscriber();
	switch_kind(CUPTI_ACTIVITY_KIND_DEVICE, true, "CUPTI cannot describe the GPU: sonde asks the driver instead");
	sonde_presence__begin();
	return true;
}

void sonde_cupti__start(void)
{
	static bool has_begun;

	if (!sonde_inject.config.use_cupti) {
		sonde_flusher__note("CUPTI is switched off: host times only, no kernels");
		return;
	}
	if (has_begun && sonde_presence__hold()) {
		sonde_launches__choose_again();
		sonde_presence__release();
	}
	if (has_begun)
		sonde_devices__begin_again();
	else if (!begin_cupti())
		return;
	if (!has_begun && !sonde_asleep__is_sleeper()) /* PC sampling must begin when a context is made: too late in a sleeper */
		sonde_pc__start(sonde_cupti.lib);
	atomic_store(&sonde_inject.traces_gpu, true);
	sonde_window__settle();
	if (!has_begun && (atexit(collect_rest) || at_quick_exit(collect_rest)))
		sonde_flusher__note("sonde could not register an exit handler: the last GPU work may be missing");
	has_begun = true;
}

void sonde_cupti__collect(void)
{
	if (!atomic_load(&sonde_inject.traces_gpu))
		return;
	atomic_store(&collector_runs, 1);
	if (sonde_thread__start(run_collector))
		return;
	atomic_store(&collector_runs, 0);
	sonde_flusher__note("sonde could not start a thread to collect GPU activity: it is written when the program exits");
}

bool sonde_cupti__is_ending(void)
{
	return atomic_load(&ending);
}

void sonde_cupti__rest(void)
{
	uint64_t until = sonde_now_ns() + REST_NS;

	if (!atomic_load(&sonde_inject.traces_gpu))
		return;
	while (!sonde_presence__is_settled() && !atomic_load(&ending) && atomic_load(&collector_runs) &&
		sonde_now_ns() < until)
		sonde_futex__wait(&ending, 0, 5);
	if (!atomic_load(&ending) && sonde_presence__hold()) {
		sonde_cupti__stamp();
		sonde_cupti.cuptiActivityFlushAll(0);
		sonde_presence__release();
	}
	sonde_flusher__await_collectors();
	atomic_store(&sonde_inject.traces_gpu, false);
	atomic_store(&sonde_inject.is_active, false);
	while (atomic_load(&collector_runs) && !atomic_load(&ending) && sonde_now_ns() < until + REST_NS)
		sonde_futex__wait(&collector_runs, 1, 5);
}
