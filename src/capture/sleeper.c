#include "capture/sleeper.h"

#include "base/argv.h"
#include "base/clock.h"
#include "base/file.h"
#include "capture/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEPTH 64 /* most parents to follow: a longer chain is a loop of recycled process numbers */

/* --- the page of a process ----------------------------------------------------------------------- */

static bool slurp(struct sonde_buf *out, pid_t pid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return sonde_file_slurp(out, path);
}

/* Reads the numbers in one line of /proc/PID/status, `wanted`; returns how many, at most `max`. */
static size_t read_status(uint64_t *out, size_t max, pid_t pid, const char *wanted)
{
	struct sonde_buf text = {0};
	struct sonde_str rest, line, key, numbers;
	size_t nr = 0;

	slurp(&text, pid, "status");
	for (rest = sonde_buf_view(&text); rest.n;) {
		line = sonde_str_cut(rest, '\n', &rest);
		key = sonde_str_cut(line, ':', &numbers);
		numbers = sonde_str_trim(numbers);
		while (sonde_str_is(key, wanted) && numbers.n && nr < max &&
			sonde_str_u64(sonde_str_trim(sonde_str_cut(numbers, '\t', &numbers)), &out[nr]))
			nr++;
	}
	sonde_buf_release(&text);
	return nr;
}

/* The number that the process has for itself, in the innermost PID namespace it is in. */
static uint32_t number_inside(pid_t pid)
{
	uint64_t numbers[MAX_DEPTH];
	size_t nr = read_status(numbers, MAX_DEPTH, pid, "NSpid");

	return (uint32_t)(nr ? numbers[nr - 1] : (uint64_t)pid);
}

/*
 * Finds the user whose files the process makes. The owner of /proc/PID is no help: that is root for a process that may
 * not be looked at.
 */
static bool find_user(struct sonde_sleeper *s)
{
	uint64_t uids[4], gids[4]; /* real, effective, saved, and for files */

	if (read_status(uids, 4, s->pid, "Uid") != 4 || read_status(gids, 4, s->pid, "Gid") != 4)
		return false;
	s->uid = (uid_t)uids[3];
	s->gid = (gid_t)gids[3];
	return true;
}

/* Whether a descriptor is a page that the library in process `pid` made and that nobody can shorten. */
static bool is_page(int fd, pid_t pid, uid_t uid)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct sonde_asleep head;
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == SONDE_ASLEEP_BYTES &&
	       (st.st_uid == uid || st.st_uid == 0) && !(st.st_mode & (S_IRWXG | S_IRWXO)) &&
	       (fcntl(fd, F_GET_SEALS) & seals) == seals && pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	       head.magic == SONDE_ASLEEP_MAGIC && head.version == SONDE_ASLEEP_VERSION && head.pid == number_inside(pid);
}

/* Opens the page of a process. -1 with errno: EACCES = it is another user's; ENOENT = it has none, or is gone. */
static int open_page(pid_t pid, uid_t uid)
{
	static const char name[] = "/memfd:" SONDE_ASLEEP_NAME;
	char path[64], link[64], target[sizeof(name)];
	const struct dirent *e;
	int fd = -1;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (!d)
		return -1;
	while (fd < 0 && (e = readdir(d))) {
		if (readlinkat(dirfd(d), e->d_name, target, sizeof(target)) != (ssize_t)sizeof(target) ||
			memcmp(target, name, sizeof(name) - 1) != 0)
			continue;
		snprintf(link, sizeof(link), "/proc/%d/fd/%.20s", (int)pid, e->d_name);
		fd = open(link, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* by now it may be anything */
		if (fd >= 0 && !is_page(fd, pid, uid)) {
			close(fd);
			fd = -1;
		}
	}
	closedir(d);
	if (fd < 0)
		errno = ENOENT;
	return fd;
}

/* --- who sleeps ---------------------------------------------------------------------------------- */

bool sonde_sleeper_words(const struct sonde_sleeper *s, struct sonde_argv *out)
{
	struct sonde_buf text = {0};
	struct sonde_str rest;

	slurp(&text, s->pid, "cmdline");
	for (rest = sonde_buf_view(&text); rest.n;) {
		struct sonde_str word = sonde_str_cut(rest, '\0', &rest);

		sonde_argv_printf(out, "%.*s", SONDE_STR_ARG(word));
	}
	sonde_buf_release(&text);
	return out->words.nr > 0 && !out->failed;
}

bool sonde_sleeper_variable(const struct sonde_sleeper *s, const char *name, struct sonde_buf *out)
{
	return sonde_proc_variable(out, s->pid, name);
}

static struct sonde_str base_of(const char *path)
{
	return sonde_str_base(sonde_str_from(path));
}

/*
 * Names a sleeper by its program and the script it runs, as in `python3 train.py`. The script is the second word,
 * unless that is an option.
 */
static void name_sleeper(struct sonde_sleeper *s)
{
	struct sonde_argv words = {0};
	const char *second;

	if (!sonde_sleeper_words(s, &words)) {
		snprintf(s->name, sizeof(s->name), "?");
	} else {
		second = words.words.nr > 1 && words.words.at[1][0] != '-' ? words.words.at[1] : "";
		snprintf(s->name, sizeof(s->name), "%.*s%s%.*s", SONDE_STR_ARG(base_of(words.words.at[0])), *second ? " " : "",
			SONDE_STR_ARG(base_of(second)));
	}
	sonde_argv_release(&words);
}

/* Whether process `pid` sleeps; fills in what can be known without holding it. errno as from open_page. */
static bool look_at_process(struct sonde_sleeper *s, pid_t pid)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct sonde_asleep head = {0};
	int fd;

	*s = (struct sonde_sleeper){.pid = pid, .fd = -1, .dir_fd = -1, .pid_fd = -1};
	if (!find_user(s))
		return false;
	fd = open_page(pid, s->uid);
	if (fd < 0)
		return false;
	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
		head = (struct sonde_asleep){0};
	s->since_ns = head.since_ns;
	s->phase = head.word & SONDE_PHASE_MASK;
	s->nr_wakes = head.nr_wakes;
	s->caller = head.caller;
	s->called_ns = head.called_ns;
	s->is_held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	close(fd);
	name_sleeper(s);
	return true;
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = ((const struct sonde_sleeper *)a)->pid, y = ((const struct sonde_sleeper *)b)->pid;

	return (x > y) - (x < y);
}

int sonde_sleepers_find(struct sonde_sleepers *out, struct sonde_err *err)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	struct sonde_sleeper s;
	bool ok = true;

	if (!d)
		return sonde_err_io(err, "/proc", errno);
	while (ok && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]) && look_at_process(&s, (pid_t)strtol(e->d_name, NULL, 10)))
			ok = sonde_vec_put(&out->all, s);
	closedir(d);
	if (!ok)
		return sonde_err_nomem(err);
	if (out->all.nr)
		qsort(out->all.at, out->all.nr, sizeof(*out->all.at), by_pid);
	return 0;
}

/* --- the sleepers that a word means -------------------------------------------------------------- */

static bool is_below(pid_t pid, pid_t above)
{
	struct sonde_proc p;
	int depth;

	for (depth = 0; pid > 1 && depth < MAX_DEPTH && sonde_proc_find(&p, pid); depth++) {
		pid = (pid_t)p.parent;
		if (pid == above)
			return true;
	}
	return false;
}

static bool has_name(const struct sonde_sleeper *s, const char *name)
{
	struct sonde_buf comm = {0};
	struct sonde_argv words = {0};
	bool has_it;
	size_t i;

	slurp(&comm, s->pid, "comm");
	has_it = sonde_str_is(sonde_str_trim(sonde_buf_view(&comm)), name);
	sonde_sleeper_words(s, &words);
	for (i = 0; i < 2 && i < words.words.nr; i++)
		has_it |= sonde_str_is(base_of(words.words.at[i]), name);
	sonde_buf_release(&comm);
	sonde_argv_release(&words);
	return has_it;
}

static bool has_variable(pid_t pid, const char *name)
{
	struct sonde_buf value = {0};
	bool has_it = sonde_proc_variable(&value, pid, name) && value.n;

	sonde_buf_release(&value);
	return has_it;
}

/* Says why a process cannot be woken, and what to do. */
static int explain_refusal(pid_t pid, struct sonde_err *err)
{
	char path[64];
	DIR *d;

	if (kill(pid, 0) < 0 && errno == ESRCH)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"there is no process %d: `sonde attach` lists those that can be woken", (int)pid);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (!d)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"you may not look at process %d (%s): attach as its user or as root; in a container with the "
			"capability SYS_PTRACE",
			(int)pid, strerror(errno));
	closedir(d);
	if (has_variable(pid, "SONDE_INJECT_CONFIG"))
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"process %d is in a `sonde run` already: `sonde ctl %d report` has its tree so far", (int)pid,
			(int)pid);
	if (has_variable(pid, SONDE_ASLEEP_VARIABLE))
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"process %d was started with `sonde env` but cannot be woken: it has used neither NVTX nor CUDA "
			"yet (attach when it has), or it has closed the file descriptor by which sonde finds it",
			(int)pid);
	return sonde_err_set(err, SONDE_ERR_NOTFOUND,
		"process %d was started without sonde, which cannot enter a running program: run `eval \"$(sonde env)\"` "
		"in the shell that starts it (docs/production.md)",
		(int)pid);
}

static bool has_pid(const struct sonde_sleepers *all, pid_t pid)
{
	size_t i;

	for (i = 0; i < all->all.nr; i++)
		if (all->all.at[i].pid == pid)
			return true;
	return false;
}

int sonde_sleepers_choose(struct sonde_sleepers *out, const char *word, struct sonde_err *err)
{
	struct sonde_sleepers found = {0};
	uint64_t number = 0;
	bool is_number = sonde_str_u64(sonde_str_from(word), &number) && number && number <= INT_MAX;
	bool is_there = false, is_meant = false, ok = true;
	int rc = sonde_sleepers_find(&found, err);
	size_t i;

	if (is_number)
		number = (uint64_t)sonde_proc_program((long)number);
	for (i = 0; rc == 0 && is_number && i < found.all.nr; i++)
		is_there |= found.all.at[i].pid == (pid_t)number;
	for (i = 0; rc == 0 && ok && i < found.all.nr; i++) {
		const struct sonde_sleeper *s = &found.all.at[i];

		if (!(is_there	  ? s->pid == (pid_t)number
			    : is_number ? is_below(s->pid, (pid_t)number)
					: has_name(s, word)))
			continue;
		is_meant = true;
		ok = has_pid(out, s->pid) || sonde_vec_put(&out->all, *s);
	}
	if (!ok)
		rc = sonde_err_nomem(err);
	sonde_vec_release(&found.all);
	if (rc || is_meant)
		return rc;
	if (is_number)
		return explain_refusal((pid_t)number, err);
	return sonde_err_set(err, SONDE_ERR_NOTFOUND,
		"no program called '%s' can be woken: `sonde attach` lists those that can; run `eval \"$(sonde env)\"` in "
		"the shell that starts a program, to wake it later (docs/production.md)",
		word);
}

void sonde_sleepers_release(struct sonde_sleepers *s)
{
	size_t i;

	for (i = 0; i < s->all.nr; i++)
		sonde_sleeper_release(&s->all.at[i]);
	sonde_vec_release(&s->all);
}

/* --- holding one --------------------------------------------------------------------------------- */

/* Prints a moment as the time of day. */
static void tell_time(char *to, size_t size, uint64_t ns)
{
	time_t s = (time_t)(ns / 1000000000u);
	struct tm tm;

	if (!localtime_r(&s, &tm) || !strftime(to, size, "%H:%M:%S", &tm))
		snprintf(to, size, "a while ago");
}

/* In strict mode a process may make almost no system calls: it would be killed when it wakes. */
static bool is_sandboxed(pid_t pid)
{
	uint64_t mode;

	return read_status(&mode, 1, pid, "Seccomp") && mode == 1;
}

/*
 * Our children that go on by themselves must not keep a page: its lock would last as long as they do. A mapping keeps
 * the file open, too.
 */
static SONDE_VEC(int) held;

static void let_go(void)
{
	size_t i;

	for (i = 0; i < held.nr; i++)
		close(held.at[i]);
}

static bool keep_from_children(const struct sonde_sleeper *s)
{
	static bool is_known;

	if (!is_known && pthread_atfork(NULL, NULL, let_go))
		return false;
	is_known = true;
	return madvise(s->page, SONDE_ASLEEP_BYTES, MADV_DONTFORK) == 0 && sonde_vec_put(&held, s->fd);
}

static void forget_held(int fd)
{
	size_t i;

	for (i = 0; i < held.nr; i++)
		if (held.at[i] == fd)
			held.at[i--] = held.at[--held.nr];
	if (!held.nr)
		sonde_vec_release(&held);
}

static int refuse_held(const struct sonde_sleeper *s, struct sonde_err *err)
{
	char when[32];

	tell_time(when, sizeof(when), s->called_ns);
	return sonde_err_set(err, SONDE_ERR_IO,
		"process %d (%s) is being captured by another `sonde attach`: process %u, since %s; try again when that "
		"has ended",
		(int)s->pid, s->name, s->caller, when);
}

int sonde_sleeper_hold(struct sonde_sleeper *s, struct sonde_err *err)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	void *page;

	if (is_sandboxed(s->pid))
		return sonde_err_set(err, SONDE_ERR_IO,
			"process %d is in a strict sandbox (seccomp), which would kill it if it woke: sonde leaves it asleep",
			(int)s->pid);
	s->pid_fd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	s->fd = find_user(s) ? open_page(s->pid, s->uid) : -1;
	/* if it still runs, the page belongs to this process and not to a later one of its number */
	if (s->fd < 0 || sonde_sleeper_is_gone(s))
		return explain_refusal(s->pid, err);
	if (fcntl(s->fd, F_OFD_SETLK, &lock) < 0) { /* a lock of the open file: the library asks whether it exists */
		sonde_sleeper_release(s);
		look_at_process(s, s->pid); /* the holder may have changed */
		return refuse_held(s, err);
	}
	page = mmap(NULL, SONDE_ASLEEP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (page == MAP_FAILED)
		return sonde_err_system(err, errno, "cannot map the page of process %d", (int)s->pid);
	s->page = page;
	if (!keep_from_children(s))
		return sonde_err_nomem(err);
	s->page->caller = (uint32_t)getpid();
	s->page->called_ns = sonde_clock_ns(CLOCK_REALTIME);
	return 0;
}

bool sonde_sleeper_call(struct sonde_sleeper *s)
{
	if ((atomic_load(&s->page->word) & SONDE_PHASE_MASK) != SONDE_PHASE_ASLEEP)
		return false;
	memset(s->page->dir, 0, sizeof(s->page->dir));
	memcpy(s->page->dir, s->there, strnlen(s->there, sizeof(s->page->dir) - 1));
	atomic_fetch_add(&s->page->beat, 1);
	if (!sonde_asleep_move(s->page, SONDE_PHASE_ASLEEP, SONDE_PHASE_CALLED))
		return false;
	s->number = atomic_load(&s->page->word) & ~SONDE_PHASE_MASK;
	syscall(SYS_futex, &s->page->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return true;
}

enum sonde_phase sonde_sleeper_beat(struct sonde_sleeper *s)
{
	uint32_t word = atomic_load(&s->page->word);

	atomic_fetch_add(&s->page->beat, 1);
	if ((word & ~SONDE_PHASE_MASK) != s->number || (word & SONDE_PHASE_MASK) > SONDE_PHASE_RESTING)
		return SONDE_PHASE_ASLEEP;
	return word & SONDE_PHASE_MASK;
}

void sonde_sleeper_rest(struct sonde_sleeper *s)
{
	if (!s->page || !s->number)
		return;
	if (!sonde_asleep_move(s->page, SONDE_PHASE_CALLED, SONDE_PHASE_ASLEEP) &&
		!sonde_asleep_move(s->page, SONDE_PHASE_WAKING, SONDE_PHASE_RESTING))
		sonde_asleep_move(s->page, SONDE_PHASE_AWAKE, SONDE_PHASE_RESTING);
	syscall(SYS_futex, &s->page->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool sonde_sleeper_is_gone(const struct sonde_sleeper *s)
{
	struct pollfd ended = {.fd = s->pid_fd, .events = POLLIN};
	struct sonde_proc p;

	if (s->pid_fd >= 0)
		return poll(&ended, 1, 0) == 1;
	return !sonde_proc_find(&p, s->pid) || p.state == 'Z' || p.state == 'X';
}

void sonde_sleeper_release(struct sonde_sleeper *s)
{
	if (s->page)
		munmap(s->page, SONDE_ASLEEP_BYTES);
	if (s->fd >= 0) {
		forget_held(s->fd);
		close(s->fd);
	}
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	if (s->pid_fd >= 0)
		close(s->pid_fd);
	s->page = NULL;
	s->fd = s->dir_fd = s->pid_fd = -1;
}
