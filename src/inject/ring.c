/*
 * Threads and their chunks.
 *
 * All memory is reserved at the start and touched only when it is needed. A thread
 * owns one chunk at a time. A full chunk goes to the flusher, which gives it back
 * empty. While no chunk is free, events are lost; the BASE event of the next chunk
 * says how many were lost and which ranges are open by then.
 */
#include "inject/inject_int.h"
#include "inject/raw_int.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct thread *sonde_self __attribute__((tls_model("initial-exec")));
static pthread_key_t at_thread_end;
static bool has_key;

/* glibc keeps the values of the first keys in the thread itself; for later keys it allocates, which a hook must not. */
#define NR_KEYS_IN_PLACE 32u
/* A hook that writes nothing during this many nested calls and milliseconds is taken to have been left by a jump. */
#define STUCK_CALLS 1000u
#define STUCK_MS    100u
#define CPU_HZ	    10000u /* most readings of the CPU clock per second and thread */
#define INTERRUPTED 50000u /* a reading that takes longer than 1/50000 of a second was interrupted */

static void list_put(struct freelist *l, _Atomic uint32_t *next, uint32_t n)
{
	uint64_t head = atomic_load_explicit(&l->head, memory_order_relaxed);

	do {
		atomic_store_explicit(next, (uint32_t)head, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&l->head, &head,
		((head >> 32) + 1) << 32 | n, memory_order_acq_rel, memory_order_relaxed));
	atomic_fetch_add_explicit(&l->nr, 1, memory_order_relaxed);
}

static _Atomic uint32_t *chunk_next(uint32_t n)
{
	return &sonde_inject.chunks[n].next;
}

static _Atomic uint32_t *thread_next(uint32_t n)
{
	return &sonde_inject.threads[n].next;
}

/* NONE when the list is empty. */
static uint32_t list_take(struct freelist *l, _Atomic uint32_t *(*next)(uint32_t))
{
	uint64_t head = atomic_load_explicit(&l->head, memory_order_acquire), rest;
	uint32_t n;

	do {
		n = (uint32_t)head;
		if (n == NONE)
			return NONE;
		rest = ((head >> 32) + 1) << 32 |
		       atomic_load_explicit(next(n), memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(
		&l->head, &head, rest, memory_order_acq_rel, memory_order_acquire));
	atomic_fetch_sub_explicit(&l->nr, 1, memory_order_relaxed);
	return n;
}

/* All reserved memory, to give it back if the start fails. */
static struct {
	void *at;
	size_t bytes;
} reserved[16];
static _Atomic unsigned nr_reserved;

void *sonde_ring__reserve(size_t bytes)
{
	const unsigned limit = sizeof(reserved) / sizeof(*reserved);
	unsigned at = atomic_load(&nr_reserved);
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	while (at < limit && !atomic_compare_exchange_weak(&nr_reserved, &at, at + 1))
		; /* CUDA contexts, for which memory is reserved too, may begin in several threads at once */
	if (at < limit) {
		reserved[at].at = p;
		reserved[at].bytes = bytes;
	}
	return p;
}

static _Atomic uint32_t *own; /* points to a page that fork wipes: 1 in the process that set it, 0 in its children */

void sonde_ring__own(void)
{
	if (!own) {
		own = sonde_ring__reserve(4096);
		if (own && madvise((void *)own, 4096, MADV_WIPEONFORK)) {
			munmap((void *)own, 4096);
			own = NULL;
		}
	}
	if (own)
		atomic_store(own, 1);
}

bool sonde_ring__is_own(void)
{
	return own ? atomic_load(own) : getpid() == sonde_inject.pid;
}

void sonde_ring__release(void)
{
	own = NULL;
	while (nr_reserved) {
		nr_reserved--;
		munmap(reserved[nr_reserved].at, reserved[nr_reserved].bytes);
	}
}

void sonde_ring__hand_over(struct thread *t)
{
	if (t->chunk)
		atomic_store_explicit(&t->chunk->state, CHUNK_FULL, memory_order_release);
	t->chunk = NULL;
	t->at = t->data = (uint8_t *)sonde_inject.data + 1;
	t->limit = (uint8_t *)sonde_inject.data;
}

static void give_slot(struct thread *t)
{
	sonde_ring__hand_over(t);
	atomic_fetch_add_explicit(
		&sonde_inject.nr_lost, atomic_exchange(&t->nr_lost, 0), memory_order_relaxed);
	atomic_store(&t->is_live, false);
	list_put(&sonde_inject.free_threads, &t->next, (uint32_t)(t - sonde_inject.threads));
}

static void thread_ends(void *arg)
{
	struct thread *t = arg;

	if (t != sonde_self)
		return;
	sonde_self = NULL;
	give_slot(t);
}

void sonde_ring__reap(void)
{
	struct inject *g = &sonde_inject;
	uint32_t i, nr = atomic_load(&g->nr_used);

	for (i = 0; !has_key && i < nr && i < MAX_THREADS; i++) {
		struct thread *t = &g->threads[i];

		if (atomic_load(&t->is_live) &&
			raw_call(SYS_tgkill, g->pid, (long)t->tid, 0, 0, 0) == -ESRCH)
			give_slot(t);
	}
}

static void fill_lists(void)
{
	struct inject *g = &sonde_inject;
	uint32_t i;

	atomic_store(&g->free_chunks.head, NONE);
	atomic_store(&g->free_chunks.nr, 0);
	for (i = g->nr_chunks; i-- > 0;) {
		struct chunk *c = &g->chunks[i];

		atomic_store_explicit(&c->state, CHUNK_FREE, memory_order_relaxed);
		c->flushed = 0;
		list_put(&g->free_chunks, &c->next, i);
	}
	/* New threads take unused slots in order; the list holds only slots that were given back. */
	atomic_store(&g->free_threads.head, NONE);
	atomic_store(&g->free_threads.nr, 0);
}

static uint32_t thread_take(void)
{
	_Atomic uint32_t *nr_used = &sonde_inject.nr_used;
	uint32_t n = list_take(&sonde_inject.free_threads, thread_next);

	if (n != NONE)
		return n;
	if (atomic_load_explicit(nr_used, memory_order_relaxed) >= MAX_THREADS)
		return NONE;
	n = atomic_fetch_add_explicit(nr_used, 1, memory_order_relaxed);
	return n < MAX_THREADS ? n : NONE;
}

bool sonde_ring__init(void)
{
	struct inject *g = &sonde_inject;

	g->nr_chunks = (uint32_t)(g->config.buffer_bytes / CHUNK_BYTES);
	g->chunks = sonde_ring__reserve(g->nr_chunks * sizeof(*g->chunks));
	g->data = sonde_ring__reserve((size_t)g->nr_chunks * CHUNK_BYTES);
	g->threads = sonde_ring__reserve(MAX_THREADS * sizeof(*g->threads));
	if (!g->chunks || !g->data || !g->threads)
		return false;
	has_key = !pthread_key_create(&at_thread_end, thread_ends);
	if (has_key && at_thread_end >= NR_KEYS_IN_PLACE) {
		pthread_key_delete(at_thread_end);
		has_key = false;
	}
	fill_lists();
	return true;
}

void sonde_ring__forked(void)
{
	struct thread *t = sonde_self;
	uint32_t i;

	fill_lists();
	for (i = 0; i < MAX_THREADS && i < atomic_load(&sonde_inject.nr_used); i++) {
		struct thread *other = &sonde_inject.threads[i];

		atomic_store(&other->nr_lost, 0);
		atomic_store(&other->nr_owed, 0);
		if (other == t)
			continue;
		atomic_store(&other->is_live, false);
		list_put(&sonde_inject.free_threads, &other->next, i);
	}
	if (!t)
		return;
	t->chunk = NULL;
	sonde_ring__hand_over(t);
	t->tid = (uint64_t)syscall(SYS_gettid);
	t->stream = atomic_fetch_add(&sonde_inject.nr_streams, 1);
	t->seq = 0;
}

/* Begins a new stream of the thread, with no range open. */
static void begin_stream(struct thread *t)
{
	if (t->nr_open_too_deep)
		memset(t->open_too_deep, 0, sizeof(t->open_too_deep));
	t->nr_open = t->nr_open_too_deep = t->nr_included = t->nr_excluded = t->nr_starts = 0;
	t->nr_window = t->is_left_out = 0;
	t->seq = 0;
	t->wake_nr = atomic_load_explicit(&sonde_inject.nr_wakes, memory_order_relaxed);
	atomic_store_explicit(&t->launched, 0, memory_order_relaxed);
	t->epoch = atomic_load(&sonde_inject.windows.epoch);
	memset(t->recent, 0, sizeof(t->recent));
	t->base.ticks = 0;
	t->stream = atomic_fetch_add_explicit(&sonde_inject.nr_streams, 1, memory_order_relaxed);
}

void sonde_ring__renew(struct thread *t)
{
	begin_stream(t);
	atomic_store(&t->nr_lost, 0);
	atomic_store(&t->nr_owed, 0);
	sonde_ring__hand_over(t);
}

struct thread *sonde_ring__enroll(void)
{
	uint32_t n = thread_take();
	struct thread *t;

	if (n == NONE) {
		count(&sonde_inject.nr_no_slot);
		return NULL;
	}
	t = &sonde_inject.threads[n];
	t->busy = true; /* must come before anything that might call back into the host, and so into a hook */
	begin_stream(t);
	t->tid = (uint64_t)syscall(SYS_gettid);
	t->chunk = NULL;
	sonde_ring__hand_over(t);
	atomic_store(&t->is_live, true);
	sonde_self = t;
	if (has_key)
		pthread_setspecific(at_thread_end, t);
	t->busy = false;
	return t;
}

/*
 * Marks everything in the chunks as flushed, so that nothing of an earlier wake is written. A thread that still has a chunk
 * hands it over when it writes again.
 */
void sonde_ring__discard(void)
{
	struct inject *g = &sonde_inject;
	uint32_t i;

	for (i = 0; i < g->nr_chunks; i++)
		if (atomic_load_explicit(&g->chunks[i].state, memory_order_acquire) != CHUNK_FREE)
			g->chunks[i].flushed = atomic_load_explicit(&g->chunks[i].committed, memory_order_acquire);
}

void sonde_ring__give_back(void)
{
	struct inject *g = &sonde_inject;

	madvise(g->data, (size_t)g->nr_chunks * CHUNK_BYTES, MADV_DONTNEED);
}

static bool is_in_handler_stack(void)
{
	stack_t now;

	return !sigaltstack(NULL, &now) && now.ss_flags & SS_ONSTACK;
}

bool sonde_ring__revive(struct thread *t, const void *frame)
{
	uint64_t now = ticks_now();

	count(&sonde_inject.nr_nested);
	/* Stacks grow down: a new call below the hook's frame may come from a handler that interrupted the hook. */
	if ((uintptr_t)frame < (uintptr_t)t->frame)
		return false;
	if (t->nested_at != t->at) {
		t->nested_at = t->at;
		t->nested_since = now;
		t->nr_nested = 0;
	}
	if (++t->nr_nested < STUCK_CALLS ||
		now - t->nested_since < STUCK_MS * sonde_inject.tick_hz / 1000 ||
		is_in_handler_stack())
		return false;
	t->nested_at = NULL;
	sonde_ring__hand_over(t); /* what the abandoned hook had not committed is dropped */
	return true;
}

static uint8_t *base_put(struct thread *t, uint8_t *p)
{
	uint32_t epoch = atomic_load(&sonde_inject.windows.epoch);
	uint32_t i, nr = 0, nr_listed = 0;

	if ((epoch & 1 && t->epoch == epoch) || t->lists_open)
		nr_listed = t->nr_open;
	t->lists_open = false;
	for (i = 0; i < nr_listed && t->is_left_out; i++)
		if (OPEN_GATE(t->open[i]) & GATE_WINDOW)
			nr_listed = i; /* leave out this entry and everything inside it */
	for (i = 0; i < nr_listed; i++)
		nr += t->open[i] & OPEN_RECORDED ? 1 : 0;
	p = sonde_base_put(
		p, &t->base, atomic_load_explicit(&t->nr_lost, memory_order_relaxed), nr);
	for (i = 0; i < nr_listed; i++)
		if (t->open[i] & OPEN_RECORDED)
			p = sonde_open_put(p, OPEN_LABEL(t->open[i]), OPEN_DOMAIN(t->open[i]));
	return p;
}

/*
 * Reads the thread's CPU clock, and sets when to read it next so that readings take a thousandth of the time at most. The
 * cost of a reading is measured here: in the middle of a program it is several times the cost in a loop.
 */
static uint64_t read_cpu(struct thread *t, uint64_t now)
{
	uint64_t hz = sonde_inject.tick_hz, before = ticks_now();
	uint64_t ns = sonde_clock_ns(CLOCK_THREAD_CPUTIME_ID), took = ticks_now() - before;

	took = took < hz / INTERRUPTED ? took : hz / INTERRUPTED;
	t->cpu_took = t->cpu_took ? (7 * t->cpu_took + took) / 8 : took;
	t->cpu_due = now + (1000 * t->cpu_took > hz / CPU_HZ ? 1000 * t->cpu_took : hz / CPU_HZ);
	return ns;
}

uint8_t *sonde_ring__next(struct thread *t, uint64_t now)
{
	struct inject *g = &sonde_inject;
	struct chunk *c;
	uint32_t n;

	sonde_ring__hand_over(t);
	if (unlikely(!atomic_load_explicit(&g->flusher_runs, memory_order_relaxed)) &&
		!sonde_flusher__start())
		return NULL;
	if (atomic_load_explicit(&g->free_chunks.nr, memory_order_relaxed) < g->nr_chunks / 2)
		sonde_flusher__wake();
	n = list_take(&g->free_chunks, chunk_next);
	if (n == NONE) {
		count(&t->nr_lost); /* Invariant 8. */
		return NULL;
	}
	if (now < atomic_load_explicit(&g->windows.open_ticks, memory_order_relaxed))
		now = atomic_load_explicit(&g->windows.open_ticks, memory_order_relaxed);
	c = &g->chunks[n];
	c->stream = t->stream;
	c->seq = t->seq++;
	c->tid = t->tid;
	atomic_store_explicit(&c->committed, 0, memory_order_relaxed);
	atomic_store_explicit(&c->state, CHUNK_OWNED, memory_order_release);
	t->chunk = c;
	t->data = g->data + (size_t)n * CHUNK_BYTES;
	t->limit = t->data + CHUNK_BYTES - SONDE_EVENT_LIMIT;
	t->base = (struct sonde_event_base){.ticks = now, .cpu_ns = read_cpu(t, now)};
	t->at = base_put(t, t->data);
	return t->at;
}

__attribute__((noinline)) uint8_t *sonde_ring__cpu(
	struct thread *t, uint8_t *p, unsigned type, uint64_t now)
{
	return sonde_event_put_cpu(p, &t->base, type | SONDE_EVENT_CPU, now, read_cpu(t, now));
}

void sonde_ring__write(struct thread *t, struct sonde_event *e)
{
	bool is_host = sonde_event_has_time(e->type);
	uint8_t *p = t->at;

	if (unlikely(p > t->limit)) /* GPU events have no ticks, but a chunk's BASE event needs some */
		p = sonde_ring__next(t, is_host ? e->ticks : ticks_now());
	if (!p)
		return;
	e->has_cpu = false;
	if (is_host) {
		if (e->ticks < t->base.ticks)
			e->ticks = t->base.ticks;
		e->has_cpu = e->ticks >= t->cpu_due;
	}
	if (e->has_cpu)
		e->cpu_ns = read_cpu(t, e->ticks);
	event_close(t, sonde_event_put(p, &t->base, e));
}

void sonde_ring__give(struct chunk *c)
{
	c->flushed = 0;
	atomic_store_explicit(&c->state, CHUNK_FREE, memory_order_relaxed);
	list_put(&sonde_inject.free_chunks, &c->next, (uint32_t)(c - sonde_inject.chunks));
}
