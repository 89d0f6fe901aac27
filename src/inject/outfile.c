/*
 * The capture file: blocks are gathered in memory and appended in one write.
 *
 * It is opened in a descriptor table of the flusher's own (close_range with
 * UNSHARE), so a host that closes every descriptor cannot close ours, we cannot
 * hold one of its pipes open, and its file locks are not touched. On kernels
 * without that the file is opened anew for each write.
 */
#include "format/check.h"
#include "inject/outfile_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define OUT_BYTES (256u << 10)
/* Often at first, for programs that are killed soon; twice as long between any two. */
#define CLOCK_FIRST_NS 10000000u
#define CLOCK_EVERY_NS 1000000000u

static struct {
	int fd;		/* -1 = opened for each write: the table is shared with the host */
	bool own_table; /* the descriptor table is ours alone */
	bool failed;
	char path[PATH_MAX];
	uint8_t out[OUT_BYTES];
	size_t nr_out;
	uint32_t seq;	   /* of the next block */
	uint64_t clock_ns; /* when the last clock block was written … */
	uint64_t gap_ns;   /* … and how long until the next */
} f;

static void fail(void)
{
	f.failed = true;
	atomic_store(&sonde_inject.on, false);
}

void sonde_outfile__drain(void)
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
void sonde_outfile__block(unsigned type, const void *a, size_t nr_a, const void *b, size_t nr_b)
{
	struct sonde_block_head h = {.magic = SONDE_BLOCK_MAGIC, .type = (uint16_t)type};
	uint8_t *at;

	if (f.nr_out + sizeof(h) + nr_a + nr_b > OUT_BYTES)
		sonde_outfile__drain();
	if (f.failed || sizeof(h) + nr_a + nr_b > OUT_BYTES) /* no chunk is so long */
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

void sonde_outfile__clock(bool always)
{
	struct sonde_clock c = clock_read();

	if (!always && c.mono_ns - f.clock_ns < f.gap_ns)
		return;
	f.clock_ns = c.mono_ns;
	f.gap_ns = f.gap_ns * 2 < CLOCK_EVERY_NS ? f.gap_ns * 2 : CLOCK_EVERY_NS;
	sonde_outfile__block(SONDE_BLOCK_CLOCK, &c, sizeof(c), NULL, 0);
}

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
		sonde_outfile__block(SONDE_BLOCK_META, text,
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

bool sonde_outfile__open(void)
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
	f.seq = 0;
	f.clock_ns = 0;
	f.gap_ns = CLOCK_FIRST_NS / 2; /* doubled by the first one */
	if (!file_make()) {
		fail();
		return false;
	}
	h.check = sonde_capture_check(&h);
	memcpy(f.out, &h, sizeof(h));
	f.nr_out = sizeof(h);
	meta_put();
	sonde_outfile__clock(true);
	sonde_outfile__drain();
	return !f.failed;
}

bool sonde_outfile__failed(void)
{
	return f.failed;
}
