/*
 * The capture file: blocks are gathered in memory and appended in one write.
 *
 * With `rotate_bytes` or `rotate_ms` the capture goes on in further files, PATH.1, PATH.2, …. The
 * present file is closed only once the next one has its beginning on disk. So a full disk leaves no
 * file without a header, and whoever waits for the lock always finds one file that is locked.
 *
 * The flusher has a descriptor table of its own, without any of the host's descriptors. So a
 * host that closes every descriptor cannot close ours, we cannot hold one of
 * its pipes open, and we do not touch its file locks.
 */
#include "base/secret.h"
#include "format/checksum.h"
#include "inject/inject_int.h"
#include "inject/raw_int.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>

#define OUT_BYTES (256u << 10)
/* Time between CLOCK blocks: short at first, for programs that are killed soon, then doubled each time up to CLOCK_EVERY_NS. */
#define CLOCK_FIRST_NS 10000000u
#define CLOCK_EVERY_NS 1000000000u
#define LOCK_TRIES     50u /* tries to lock a new file, a millisecond apart */
#define MAX_SECRETS    32  /* most secrets in one word; with more, everything behind the last one is masked as well */

static struct {
	_Atomic uint32_t never_woken; /* a futex that nobody wakes: waiting for it sleeps */
	int fd;
	bool failed;
	char path[PATH_MAX]; /* name of the first file */
	uint32_t part;	     /* number of the present file: 0, 1, … */
	uint64_t begun_ns;   /* when the present file was made, by CLOCK_MONOTONIC … */
	uint32_t collected;  /* … and how often CUPTI had been asked for records by then */
	uint64_t start_ns;   /* when the first file was made, by CLOCK_REALTIME */
	uint8_t out[OUT_BYTES]; /* blocks that are not yet written */
	size_t nr_out;
	uint32_t seq; /* number of the next block */
	/*
	 * Size of the file on disk, now and before the last write. When writing fails, the last write is cut off to
	 * make room for a note.
	 */
	struct mark {
		uint64_t bytes;
		uint32_t seq;
	} now, before;
	uint64_t clock_ns; /* when the last CLOCK block was written … */
	uint64_t gap_ns;   /* … and how long until the next one */
} f;

/* Writes all of `out`; 0, or an errno when that failed. */
static int write_out(void)
{
	size_t done = 0;
	long n;

	while (done < f.nr_out) {
		n = raw_write(f.fd, f.out + done, f.nr_out - done);
		if (n > 0)
			done += (size_t)n;
		else if (n != -EINTR)
			return n ? (int)-n : ENOSPC;
	}
	return 0;
}

static const char *describe_error(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return "the disk was full: what the program did after that is missing";
	case EFBIG:
		return "the capture reached the limit of file sizes (ulimit -f): what the program "
		       "did after that is missing";
	default:
		return "the capture could not be written any further: what the program did after "
		       "that is missing";
	}
}

/*
 * Nothing more can be written. We cut the end of the file off to make room for a note that says so: without the note, the
 * reader would think that the program was killed.
 */
static void give_up(int error)
{
	const uint8_t how = SONDE_END_FULL;
	const char *text = describe_error(error);

	sonde_attach__fault(SONDE_FAULT_WRITE, error);
	f.nr_out = 0;
	f.seq = f.before.seq;
	if (raw_call(SYS_ftruncate, f.fd, (long)f.before.bytes, 0, 0, 0) == 0) {
		sonde_outfile__put_block(SONDE_BLOCK_LOSS, text, strlen(text), NULL, 0);
		sonde_outfile__put_block(SONDE_BLOCK_END, &how, sizeof(how), NULL, 0);
		write_out();
	}
	f.nr_out = 0;
	f.failed = true;
}

void sonde_outfile__drain(void)
{
	int error;

	if (f.failed || !f.nr_out)
		return;
	error = write_out();
	if (error) {
		give_up(error);
		return;
	}
	/* `before` never goes back to an empty file: the first write, with the header, must stay. */
	f.before = f.now.bytes ? f.now : (struct mark){f.nr_out, f.seq};
	f.now = (struct mark){f.now.bytes + f.nr_out, f.seq};
	f.nr_out = 0;
}

void sonde_outfile__put_block(unsigned type, const void *a, size_t nr_a, const void *b, size_t nr_b)
{
	struct sonde_block_head h = {.magic = SONDE_BLOCK_MAGIC, .type = (uint16_t)type};
	uint8_t *at;

	if (f.nr_out + sizeof(h) + nr_a + nr_b > OUT_BYTES)
		sonde_outfile__drain();
	if (f.failed || sizeof(h) + nr_a + nr_b > OUT_BYTES) /* no block is really so long */
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
		c.mono_ns = sonde_now_ns();
		after = ticks_now();
		c.ticks = before + (after - before) / 2;
		c.real_ns = sonde_clock_ns(CLOCK_REALTIME);
		if (after - before < least) {
			least = after - before;
			best = c;
		}
	}
	return best;
}

void sonde_outfile__put_clock(bool always)
{
	struct sonde_clock c = clock_read();

	if (!always && c.mono_ns - f.clock_ns < f.gap_ns)
		return;
	f.clock_ns = c.mono_ns;
	f.gap_ns = f.gap_ns * 2 < CLOCK_EVERY_NS ? f.gap_ns * 2 : CLOCK_EVERY_NS;
	sonde_outfile__put_block(SONDE_BLOCK_CLOCK, &c, sizeof(c), NULL, 0);
}

/* --- the process that the file is about -------------------------------------------------------- */

/*
 * META says where the process ran, which program it was, and how it was captured, in lines of KEY=VALUE. Secrets on
 * the command line are masked before they reach the disk.
 */

/*
 * Copies the word at offset `at` to offset `to` <= `at`, with its secrets masked. Returns the word's new length. All
 * secrets are found first: finding them needs the bytes around them, which the copy overwrites.
 */
static size_t mask_word(char *text, size_t to, size_t at, size_t n, struct sonde_secret *s)
{
	size_t from[MAX_SECRETS + 1], end[MAX_SECRETS] = {0}, nr = 0, i, out = to, done = 0;

	sonde_secret_word(s, text + at, n);
	while (sonde_secret_next(s, &from[nr < MAX_SECRETS ? nr : MAX_SECRETS], &i))
		if (nr < MAX_SECRETS)
			end[nr++] = i;
		else
			end[nr - 1] = n;
	for (i = 0; i < nr; i++) {
		size_t len = end[i] - from[i], mask = sizeof(SONDE_SECRET_MASK) - 1;

		memmove(text + out, text + at + done, from[i] - done);
		out += from[i] - done;
		len = len < mask ? len : mask;
		memcpy(text + out, SONDE_SECRET_MASK, len);
		out += len;
		done = end[i];
	}
	memmove(text + out, text + at + done, n - done);
	return out + n - done - to;
}

/* Masks what looks like a secret in a list of words that each end with a NUL. Returns the new length of the list. */
static size_t mask_words(char *text, size_t len)
{
	struct sonde_secret s = {0};
	size_t at = 0, out = 0, n;

	for (; at < len; at += n + 1) {
		n = strnlen(text + at, len - at);
		out += mask_word(text, out, at, n, &s);
		text[out++] = '\0';
	}
	return out;
}

/* Names a file of the host in /proc. /proc/self would be the flusher's own process. */
static void name_of_host(char *to, size_t cap, const char *file)
{
	struct raw_text name = {to, 0, cap};

	sonde_raw__text(&name, "/proc/");
	sonde_raw__number(&name, (uint64_t)sonde_inject.pid);
	sonde_raw__text(&name, file);
}

/* The host's command line, with blanks between its words. */
static const char *host_command(char *to, size_t cap)
{
	char path[64];
	size_t i, n;

	name_of_host(path, sizeof(path), "/cmdline");
	n = mask_words(to, sonde_raw__slurp(path, to, cap));
	while (n && (to[n - 1] == '\0' || to[n - 1] == '\n'))
		n--;
	for (i = 0; i < n; i++) {
		if (to[i] == '\0' || to[i] == '\n')
			to[i] = ' ';
	}
	to[n] = '\0';
	return to;
}

static const char *host_exe(char *to, size_t cap)
{
	char path[64];
	long n;

	name_of_host(path, sizeof(path), "/exe");
	n = raw_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)to, (long)cap - 1, 0);
	to[n > 0 ? n : 0] = '\0';
	return to;
}

static void put_line(struct raw_text *t, const char *key, const char *value)
{
	sonde_raw__text(t, key);
	sonde_raw__text(t, value);
	sonde_raw__text(t, "\n");
}

static void put_number(struct raw_text *t, const char *key, uint64_t value)
{
	sonde_raw__text(t, key);
	sonde_raw__number(t, value);
	sonde_raw__text(t, "\n");
}

/* Adds the META block; `part` is the number of the present file. */
static void put_meta(uint32_t part)
{
	static char text[8192 + PATH_MAX], command[4096], exe[PATH_MAX];
	static struct utsname u;
	const struct config *c = &sonde_inject.config;
	struct raw_text t = {text, 0, sizeof(text)};

	raw_call(SYS_uname, (long)&u, 0, 0, 0, 0);
	put_line(&t, "tool=sonde ", SONDE_VERSION);
	put_line(&t, "host=", u.nodename);
	put_number(&t, "pid=", (uint64_t)sonde_inject.pid);
	put_number(&t, "ppid=", (uint64_t)sonde_inject.ppid);
	if (*sonde_inject.runner)
		put_line(&t, "runner=", sonde_inject.runner);
	put_line(&t, "rank=", sonde_inject.rank);
	put_line(&t, "ranks=", sonde_inject.nr_ranks);
	put_line(&t, "command=", host_command(command, sizeof(command)));
	put_line(&t, "exe=", host_exe(exe, sizeof(exe)));
	put_line(&t, "ticks=", sonde_inject.use_counter ? "counter" : "monotonic");
	put_line(&t, "cupti=", c->use_cupti ? "wanted" : "off");
	put_line(&t, "graphs=", c->whole_graphs ? "whole" : "nodes");
	put_number(&t, "flush_ms=", c->flush_ms);
	if (c->pc_exponent)
		put_number(&t, "pc_period=", 1ull << c->pc_exponent);
	if (c->window.text)
		put_line(&t, "window=", c->window.text);
	if (part)
		put_number(&t, "part=", part);
	sonde_outfile__put_block(SONDE_BLOCK_META, text, t.n, NULL, 0);
}

/* --- files ------------------------------------------------------------------------------------- */

/* Makes a new file and locks it, until we end or go on in another file. Returns a negative errno when it cannot be made. */
static int file_make(const char *path)
{
	int fd = raw_open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	unsigned i;

	/*
	 * A reader that wants the whole file waits for our lock. A reader that only looks holds the lock for a moment:
	 * wait until it lets go.
	 */
	for (i = 0; i < LOCK_TRIES && fd >= 0; i++) {
		if (raw_call(SYS_flock, fd, LOCK_EX | LOCK_NB, 0, 0, 0) != -EWOULDBLOCK)
			break;
		sonde_futex__wait(&f.never_woken, 0, 1);
	}
	return fd;
}

/* Makes the first file, under a name that is not yet taken. Returns an errno when it cannot be made. */
static int file_make_first(void)
{
	struct raw_text path = {f.path, 0, sizeof(f.path)};
	int fd = -EEXIST;
	unsigned i;

	for (i = 0; i < 1000 && fd == -EEXIST; i++) {
		path.n = 0;
		sonde_raw__text(&path, sonde_inject.config.output);
		sonde_raw__text(&path, "/");
		sonde_raw__number(&path, (uint64_t)sonde_inject.pid);
		sonde_raw__text(&path, ".");
		sonde_raw__number(&path, i);
		sonde_raw__text(&path, SONDE_CAPTURE_SUFFIX);
		fd = file_make(f.path);
	}
	f.fd = fd;
	return fd < 0 ? -fd : 0;
}

/* Adds the beginning of every file: header, META and a CLOCK block. */
static void head_put(void)
{
	struct sonde_capture_head h = {.magic = SONDE_CAPTURE_MAGIC,
		.version = SONDE_CAPTURE_VERSION,
		.nr_bytes = sizeof(h),
		.pid = (uint64_t)sonde_inject.pid,
		.start_ns = f.start_ns,
		.tick_hz = sonde_inject.tick_hz};

	h.check = sonde_capture_check(&h);
	memcpy(f.out, &h, sizeof(h));
	f.nr_out = sizeof(h);
	f.seq = 0;
	f.now = f.before = (struct mark){0, 0};
	put_meta(f.part);
	sonde_outfile__put_clock(true);
	f.begun_ns = f.clock_ns;
	f.collected = atomic_load(&sonde_inject.nr_collected);
}

bool sonde_outfile__open(void)
{
	int error;

	f.failed = false;
	f.part = 0;
	f.start_ns = sonde_clock_ns(CLOCK_REALTIME);
	f.clock_ns = 0;
	f.gap_ns = CLOCK_FIRST_NS / 2; /* the first CLOCK block doubles it */
	error = file_make_first();
	if (error) {
		sonde_attach__fault(SONDE_FAULT_FILE, error);
		f.failed = true;
		return false;
	}
	head_put();
	sonde_outfile__drain();
	atomic_fetch_add(&sonde_inject.attach->nr_begun, 1);
	return !f.failed;
}

/*
 * The next file must wait until CUPTI was asked for records three times and its clock was read. So GPU work is in the file of its
 * launch or in the next one, with the clock readings that its times need. A collector that has ended no longer asks: after 100
 * times collect_ms we do not wait for it any longer.
 */
bool sonde_outfile__is_due(void)
{
	const struct config *c = &sonde_inject.config;
	bool is_asked = !atomic_load(&sonde_inject.traces_gpu) ||
			atomic_load(&sonde_inject.nr_collected) - f.collected >= 3;
	uint64_t ms;

	if (f.failed || (!c->rotate_bytes && !c->rotate_ms))
		return false;
	ms = (sonde_now_ns() - f.begun_ns) / 1000000;
	return ms >= (is_asked ? 2 : 100) * (uint64_t)c->collect_ms &&
	       ((c->rotate_bytes && f.now.bytes >= c->rotate_bytes) ||
		       (c->rotate_ms && ms >= c->rotate_ms));
}

bool sonde_outfile__next(void)
{
	static char path[PATH_MAX];
	struct raw_text name = {path, 0, sizeof(path)};
	const struct mark now = f.now, before = f.before;
	const uint32_t seq = f.seq;
	int fd, old = f.fd;

	sonde_raw__text(&name, f.path);
	sonde_raw__text(&name, ".");
	sonde_raw__number(&name, f.part + 1);
	fd = file_make(path);
	if (fd < 0)
		return false; /* the present file goes on; if it cannot be written either, it says so */
	f.fd = fd;
	f.part++;
	head_put();
	if (write_out() == 0) {
		f.now = f.before = (struct mark){f.nr_out, f.seq};
		f.nr_out = 0;
		raw_close(old);
		return true;
	}
	raw_call(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0);
	raw_close(fd);
	f.fd = old;
	f.part--;
	f.seq = seq;
	f.now = now;
	f.before = before;
	f.nr_out = 0;
	return false;
}

bool sonde_outfile__failed(void)
{
	return f.failed;
}
