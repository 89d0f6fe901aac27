/*
 * The flusher: takes what the threads have committed and appends it to the
 * file, a few times a second and when the buffers get full.
 *
 * It gives itself a descriptor table of its own (close_range with UNSHARE), so
 * a host that closes every descriptor cannot close ours, we cannot hold one of
 * its pipes open, and its file locks are not touched. It blocks every signal:
 * a file size limit is then an error of write(), not the end of the host.
 */
#include "format/check.h"
#include "format/varint.h"
#include "inject/inject_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define OUT_BYTES      (256u << 10)
#define FINISH_MS      5000u
#define CLOCK_EVERY_NS 1000000000u

/* The flusher's own; nobody else looks. */
static struct {
	int fd;		/* -1 = opened for each write: the table is shared with the host */
	bool own_table; /* the descriptor table is ours alone */
	bool failed;
	char path[PATH_MAX];
	uint8_t out[OUT_BYTES];
	size_t nr_out;
	uint32_t seq;	     /* of the next block */
	uint32_t nr_ids;     /* labels up to here are written */
	uint32_t nr_domains; /* likewise */
	uint32_t nr_notes;
	uint64_t clock_ns; /* when the last clock block was written */
	struct sonde_status status;
} f;

void sonde_futex__wait(_Atomic uint32_t *word, uint32_t value, uint32_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
}

void sonde_futex__wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void sonde_flusher__wake(void)
{
	if (!atomic_exchange_explicit(&sonde_inject.wake, 1, memory_order_release))
		sonde_futex__wake(&sonde_inject.wake);
}

void sonde_flusher__note(const char *text)
{
	uint32_t n = atomic_fetch_add(&sonde_inject.nr_notes, 1);

	if (n < MAX_NOTES)
		atomic_store(&sonde_inject.notes[n], text);
}

static void fail(void)
{
	f.failed = true;
	atomic_store(&sonde_inject.on, false);
}

static void drain(void)
{
	size_t done = 0;
	int fd = f.fd;

	if (!f.own_table && f.nr_out)
		fd = open(f.path, O_WRONLY | O_APPEND | O_CLOEXEC);
	while (!f.failed && done < f.nr_out) {
		ssize_t n = write(fd, f.out + done, f.nr_out - done);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			fail();
	}
	if (!f.own_table && f.nr_out && fd >= 0)
		close(fd);
	f.nr_out = 0;
}

/* Appends one block of two parts to what will be written. */
static void block_put(unsigned type, const void *a, size_t nr_a, const void *b, size_t nr_b)
{
	struct sonde_block_head h = {.magic = SONDE_BLOCK_MAGIC, .type = (uint16_t)type};
	uint8_t *at;

	if (f.nr_out + sizeof(h) + nr_a + nr_b > OUT_BYTES)
		drain();
	if (f.failed)
		return;
	h.nr_bytes = (uint32_t)(nr_a + nr_b);
	h.seq = f.seq++;
	at = f.out + f.nr_out + sizeof(h);
	if (nr_a)
		memcpy(at, a, nr_a);
	if (nr_b)
		memcpy(at + nr_a, b, nr_b);
	h.check = sonde_block_check(&h, at);
	memcpy(f.out + f.nr_out, &h, sizeof(h));
	f.nr_out += sizeof(h) + h.nr_bytes;
}

static struct sonde_clock clock_read(void)
{
	struct sonde_clock best = {0}, c;
	uint64_t least = UINT64_MAX, before, after;
	int i;

	for (i = 0; i < 4; i++) {
		before = ticks_now();
		c.mono_ns = clock_ns(CLOCK_MONOTONIC);
		after = ticks_now();
		c.ticks = before + (after - before) / 2;
		c.real_ns = clock_ns(CLOCK_REALTIME);
		if (after - before < least) {
			least = after - before;
			best = c;
		}
	}
	return best;
}

static void clock_put(bool always)
{
	struct sonde_clock c = clock_read();

	if (!always && c.mono_ns - f.clock_ns < CLOCK_EVERY_NS)
		return;
	f.clock_ns = c.mono_ns;
	block_put(SONDE_BLOCK_CLOCK, &c, sizeof(c), NULL, 0);
}

/* --- the parts of a flush ------------------------------------------------------------------ */

static size_t string_put(uint8_t *to, const struct label *e, unsigned domain)
{
	uint8_t *p = sonde_varint_put(to, e->id);

	p = sonde_varint_put(p, e->kind);
	p = sonde_varint_put(p, domain);
	p = sonde_varint_put(p, e->nr_bytes);
	memcpy(p, e->text, e->nr_bytes);
	return (size_t)(p - to) + e->nr_bytes;
}

static void strings_put(void)
{
	struct labels *l = &sonde_inject.labels;
	static uint8_t buf[65536];
	size_t n = 0;
	uint32_t nr = atomic_load(&l->nr_ids), at;

	for (; f.nr_ids < nr && f.nr_ids < MAX_LABELS; f.nr_ids++) {
		at = atomic_load_explicit(&l->by_id[f.nr_ids], memory_order_acquire);
		if (!at)
			break;
		if (at == LABEL_ABANDONED || sonde_label__at(l, at)->kind == SONDE_STRING_DOMAIN)
			continue;
		if (n + SONDE_LABEL_LIMIT + 64 > sizeof(buf)) {
			block_put(SONDE_BLOCK_STRINGS, buf, n, NULL, 0);
			n = 0;
		}
		n += string_put(buf + n, sonde_label__at(l, at), sonde_label__at(l, at)->domain);
	}
	for (; f.nr_domains < MAX_DOMAINS; f.nr_domains++) {
		struct label *d = atomic_load(&l->domains[f.nr_domains]);

		if (f.nr_domains && !d)
			break;
		if (n + SONDE_LABEL_LIMIT + 64 > sizeof(buf)) {
			block_put(SONDE_BLOCK_STRINGS, buf, n, NULL, 0);
			n = 0;
		}
		if (d)
			n += string_put(buf + n, d, f.nr_domains);
	}
	if (n)
		block_put(SONDE_BLOCK_STRINGS, buf, n, NULL, 0);
}

static void thread_put(const struct chunk *c)
{
	char path[64], name[64] = "";
	uint8_t head[2 * SONDE_VARINT_MAX], *p;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%llu/comm", (unsigned long long)c->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, sizeof(name));
		close(fd);
	}
	while (n > 0 && name[n - 1] == '\n')
		n--;
	p = sonde_varint_put(head, c->stream);
	p = sonde_varint_put(p, c->tid);
	block_put(SONDE_BLOCK_THREAD, head, (size_t)(p - head), name, n > 0 ? (size_t)n : 0);
}

static void chunk_put(struct chunk *c, uint32_t number)
{
	uint32_t state = atomic_load_explicit(&c->state, memory_order_acquire), committed;
	struct sonde_events head;

	if (state == CHUNK_FREE)
		return;
	committed = atomic_load_explicit(&c->committed, memory_order_acquire);
	if (committed > c->flushed) {
		if (!c->seq && !c->flushed)
			thread_put(c);
		head = (struct sonde_events){.tid = c->tid,
			.stream = c->stream,
			.chunk = c->seq,
			.offset = c->flushed,
			.nr_bytes = committed - c->flushed};
		block_put(SONDE_BLOCK_EVENTS, &head, sizeof(head),
			sonde_inject.data + (size_t)number * CHUNK_BYTES + c->flushed,
			head.nr_bytes);
		c->flushed = committed;
	}
	if (state == CHUNK_FULL)
		sonde_ring__give(c);
}

static void status_put(void)
{
	struct inject *g = &sonde_inject;
	struct sonde_status s = {.nr_lost = atomic_load(&g->nr_lost),
		.nr_nested = atomic_load(&g->nr_nested),
		.nr_inline = atomic_load(&g->nr_inline),
		.nr_cut = atomic_load(&g->nr_cut),
		.nr_no_slot = atomic_load(&g->nr_no_slot),
		.nr_gpu_dropped = atomic_load(&g->nr_gpu_dropped),
		.nr_too_deep = atomic_load(&g->nr_too_deep)};
	uint32_t i, nr = atomic_load(&g->nr_streams);

	for (i = 0; i < nr && i < MAX_THREADS; i++)
		s.nr_lost += atomic_load_explicit(&g->threads[i].nr_lost, memory_order_relaxed);
	if (!memcmp(&s, &f.status, sizeof(s)))
		return;
	f.status = s;
	block_put(SONDE_BLOCK_STATUS, &s, sizeof(s), NULL, 0);
}

static void notes_put(void)
{
	struct inject *g = &sonde_inject;

	for (; f.nr_notes < MAX_NOTES; f.nr_notes++) {
		const char *text = atomic_load(&g->notes[f.nr_notes]);

		if (!text)
			return;
		block_put(SONDE_BLOCK_NOTE, text, strlen(text), NULL, 0);
	}
}

static void flush(bool last)
{
	uint32_t i;

	strings_put();
	notes_put();
	clock_put(last);
	for (i = 0; i < sonde_inject.nr_chunks; i++)
		chunk_put(&sonde_inject.chunks[i], i);
	strings_put(); /* those the events just written may have added */
	status_put();
	if (last)
		block_put(SONDE_BLOCK_END, NULL, 0, NULL, 0);
	drain();
}

/* --- the file -------------------------------------------------------------------------------- */

static size_t file_text(const char *path, char *to, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, to, cap - 1);
	size_t i, len = n > 0 ? (size_t)n : 0;

	if (fd >= 0)
		close(fd);
	while (len && (to[len - 1] == '\0' || to[len - 1] == '\n'))
		len--;
	for (i = 0; i < len; i++) {
		if (to[i] == '\0' || to[i] == '\n')
			to[i] = ' ';
	}
	to[len] = '\0';
	return len;
}

static void meta_put(void)
{
	static char text[8192], command[4096], exe[PATH_MAX];
	struct utsname u = {0};
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int len;

	exe[n > 0 ? n : 0] = '\0';
	file_text("/proc/self/cmdline", command, sizeof(command));
	uname(&u);
	len = snprintf(text, sizeof(text),
		"tool=sonde %s\nhost=%s\npid=%ld\nppid=%ld\ncommand=%s\nexe=%s\nticks=%s\n"
		"cupti=%s\ngraphs=%s\nflush_ms=%u\n",
		SONDE_VERSION, u.nodename, (long)getpid(), (long)getppid(), command, exe,
		sonde_inject.use_counter ? "counter" : "monotonic",
		sonde_inject.config.use_cupti ? "wanted" : "off",
		sonde_inject.config.whole_graphs ? "whole" : "nodes", sonde_inject.config.flush_ms);
	if (len > 0)
		block_put(SONDE_BLOCK_META, text,
			(size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1, NULL, 0);
}

static bool file_make(void)
{
	int i, fd = -1;

	for (i = 0; i < 1000 && fd < 0; i++) {
		snprintf(f.path, sizeof(f.path), "%s/%ld.%d" SONDE_CAPTURE_SUFFIX,
			sonde_inject.config.output, (long)getpid(), i);
		fd = open(f.path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
		if (fd < 0 && errno != EEXIST)
			return false;
	}
	if (fd < 0)
		return false;
	if (f.own_table) {
		f.fd = fcntl(fd, F_DUPFD_CLOEXEC, 10); /* 0 to 2 stay nobody's */
		close(fd);
		return f.fd >= 0;
	}
	close(fd);
	return true;
}

static bool file_open(void)
{
	struct sonde_capture_head h = {.magic = SONDE_CAPTURE_MAGIC,
		.version = SONDE_CAPTURE_VERSION,
		.nr_bytes = sizeof(h),
		.pid = (uint64_t)getpid(),
		.start_ns = clock_ns(CLOCK_REALTIME),
		.tick_hz = sonde_inject.tick_hz};

	f.fd = -1;
	f.own_table = !syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE);
	f.failed = false;
	f.nr_out = 0;
	f.seq = f.nr_domains = f.nr_notes = 0;
	f.nr_ids = 1;
	f.clock_ns = 0;
	memset(&f.status, 0, sizeof(f.status));
	if (!file_make())
		return false;
	h.check = sonde_capture_check(&h);
	memcpy(f.out, &h, sizeof(h));
	f.nr_out = sizeof(h);
	meta_put();
	clock_put(true);
	drain();
	return !f.failed;
}

static void *body(void *arg)
{
	struct inject *g = &sonde_inject;

	(void)arg;
	prctl(PR_SET_NAME, "sonde-flush");
	if (!file_open())
		fail();
	while (!f.failed && !atomic_load(&g->stop)) {
		sonde_futex__wait(&g->wake, 0, g->config.flush_ms);
		atomic_store(&g->wake, 0);
		flush(false);
	}
	if (!f.failed)
		flush(true);
	atomic_store(&g->done, 1);
	sonde_futex__wake(&g->done);
	return NULL;
}

bool sonde_thread__start(void *(*start)(void *))
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	bool ok;

	if (pthread_attr_init(&attr))
		return false;
	sigfillset(&all);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 1u << 20);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ok = !pthread_create(&thread, &attr, start, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return ok;
}

bool sonde_flusher__start(void)
{
	uint32_t none = 0;

	if (!atomic_compare_exchange_strong(&sonde_inject.flusher_runs, &none, 1))
		return true;
	if (sonde_thread__start(body))
		return true;
	atomic_store(&sonde_inject.on, false);
	return false;
}

void sonde_flusher__finish(void)
{
	struct inject *g = &sonde_inject;
	uint64_t start = clock_ns(CLOCK_MONOTONIC);

	if (!atomic_load(&g->flusher_runs))
		return;
	atomic_store(&g->stop, 1);
	sonde_flusher__wake();
	while (!atomic_load(&g->done) &&
		clock_ns(CLOCK_MONOTONIC) - start < (uint64_t)FINISH_MS * 1000000)
		sonde_futex__wait(&g->done, 0, 100);
}
