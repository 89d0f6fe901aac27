/* After a native capture: waiting for its last bytes, and what the library has to say. */
#include "base/err.h"
#include "base/file.h"
#include "capture/native_env.h"
#include "capture/proc.h"
#include "format/attach.h"
#include "format/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_MS 1000u
#define STEP_MS	  5u

/* A page of zeros under a name of its own, which is filled in; false with errno. */
static bool write_zeros(char *name)
{
	static const char zeros[SONDE_ATTACH_BYTES];
	int fd = mkostemp(name, O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, zeros, sizeof(zeros)) == (ssize_t)sizeof(zeros);

	return (fd < 0 || close(fd) == 0) && ok;
}

static void name_page(char path[4096], const char *dir, const char *runner)
{
	if (runner)
		snprintf(path, 4096, "%s/" SONDE_ATTACH_OWN_NAME, dir, runner);
	else
		snprintf(path, 4096, "%s/" SONDE_ATTACH_NAME, dir);
}

/*
 * Ranks share the directory, and the first one's page is everybody's. It appears with all its
 * bytes: whoever finds it maps it at once.
 */
int sonde_native_attach_make(const char *dir, const char *runner, struct sonde_err *err)
{
	char path[4096], own[4096 + 8];
	int error = 0;

	name_page(path, dir, runner);
	snprintf(own, sizeof(own), "%s.XXXXXX", path);
	if (!write_zeros(own) || (link(own, path) < 0 && errno != EEXIST))
		error = errno;
	unlink(own);
	return error ? sonde_err_io(err, path, error) : 0;
}

void sonde_native_attach_remove(const char *dir, const char *runner)
{
	char path[4096];

	name_page(path, dir, runner);
	unlink(path);
}

static bool read_attach(struct sonde_attach *out, const char *dir, const char *runner)
{
	char path[4096];
	int fd;
	bool ok;

	name_page(path, dir, runner);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ok = fd >= 0 && read(fd, out, sizeof(*out)) == (ssize_t)sizeof(*out);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* A capture of a process, or a further file of one: PID.N.sonde, PID.N.sonde.3. */
static bool is_capture(const char *name)
{
	const char *dot = name[0] >= '0' && name[0] <= '9' ? strstr(name, SONDE_CAPTURE_SUFFIX) : NULL;

	dot = dot ? dot + strlen(SONDE_CAPTURE_SUFFIX) : NULL;
	return dot && (!*dot || (*dot == '.' && dot[1] && !dot[1 + strspn(dot + 1, "0123456789")]));
}

/* Whether the capture is of a program of ours, as its first block says. */
static bool is_of(int fd, const char *runner)
{
	char line[SONDE_RUNNER_LIMIT + 16], text[4096];
	int nr_line = snprintf(line, sizeof(line), "\nrunner=%s\n", runner ? runner : "");
	ssize_t n = runner ? pread(fd, text, sizeof(text), 0) : 0;

	return !runner || (n > 0 && memmem(text, (size_t)n, line, (size_t)nr_line));
}

/* Whether this file is a capture of ours that a flusher still writes. */
static bool is_being_written(int dir, const char *name, const char *runner)
{
	bool is_locked;
	int fd;

	if (!is_capture(name))
		return false;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	is_locked = fd >= 0 && sonde_fd_is_locked(fd) && is_of(fd, runner);
	if (fd >= 0)
		close(fd);
	return is_locked;
}

/* The process a capture is named after. In a container one that has ended may stay for long. */
static bool is_running(const char *name)
{
	struct sonde_proc p;
	long pid = strtol(name, NULL, 10);

	return (kill((pid_t)pid, 0) == 0 || errno != ESRCH) &&
	       !(sonde_proc_find(&p, pid) && (p.state == 'Z' || p.state == 'X'));
}

/* Who is at the captures of a directory. */
struct attendance {
	unsigned nr_there; /* processes that captures are named after, be it before they have locked theirs … */
	unsigned nr_writing; /* … captures that go on with theirs … */
	unsigned nr_ending;  /* … and those of processes that have ended, whose last bytes are being written */
};

static struct attendance attend(const char *dir, const char *runner)
{
	struct attendance a = {0};
	DIR *d = opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		bool is_written = is_being_written(dirfd(d), e->d_name, runner);
		bool runs = is_running(e->d_name);

		a.nr_there += runs && e->d_name[0] >= '0' && e->d_name[0] <= '9';
		a.nr_writing += runs && is_written;
		a.nr_ending += !runs && is_written;
	}
	if (d)
		closedir(d);
	return a;
}

static bool is_settled(const char *dir, const char *runner)
{
	struct sonde_attach a;

	return (!read_attach(&a, dir, runner) ||
		       a.nr_attached <= a.nr_begun + a.faults[SONDE_FAULT_MEMORY].nr +
						a.faults[SONDE_FAULT_HELPER].nr +
						a.faults[SONDE_FAULT_FILE].nr +
						a.faults[SONDE_FAULT_SHARING].nr) &&
	       !attend(dir, runner).nr_ending;
}

bool sonde_native_settle(const char *dir, const char *runner)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	unsigned ms;

	for (ms = 0; ms < SETTLE_MS && !is_settled(dir, runner); ms += STEP_MS)
		nanosleep(&step, NULL);
	return ms < SETTLE_MS && !attend(dir, runner).nr_there;
}

bool sonde_native_fault(char *text, size_t size, const char *dir, const char *runner)
{
	static const struct {
		const char *says, *next;
	} what[SONDE_NR_FAULTS] = {
		[SONDE_FAULT_MEMORY] = {"no memory for the buffers of the native capture",
			"a smaller pipeline.native.buffer_mb needs less"},
		[SONDE_FAULT_HELPER] = {"no process to write the native capture",
			"end other programs, or raise the limit (ulimit -u)"},
		[SONDE_FAULT_FILE] = {"the native capture could not be made",
			"choose a run directory that the program may write to (-o DIR)"},
		[SONDE_FAULT_WRITE] = {"the native capture could not be written to its end",
			"free some space, or choose another run directory (-o DIR)"},
		[SONDE_FAULT_SHARING] = {"no process beside the program can share its memory (it runs "
					 "under valgrind or an emulator, or has entered a PID namespace)",
			"it ran as without sonde; to profile it, run it by itself"},
	};
	struct sonde_attach a;
	size_t i;

	if (!read_attach(&a, dir, runner))
		return false;
	for (i = 0; i < SONDE_NR_FAULTS; i++) {
		unsigned nr = a.faults[i].nr;
		int error = (int)a.faults[i].error;

		if (!nr)
			continue;
		snprintf(text, size, "%s%s%s%s, in %u %s: %s", what[i].says, error ? " (" : "",
			error ? strerror(error) : "", error ? ")" : "", nr,
			nr == 1 ? "process" : "processes", what[i].next);
		return true;
	}
	if (a.nr_attached > a.nr_begun) {
		snprintf(text, size,
			"%u of %u processes that use NVTX or CUDA were killed before they left a "
			"capture",
			a.nr_attached - a.nr_begun, a.nr_attached);
		return true;
	}
	i = attend(dir, runner).nr_writing;
	if (i)
		snprintf(text, size,
			"%zu %s of the run %s on; what %s from now on is not in the report", i,
			i == 1 ? "process" : "processes", i == 1 ? "goes" : "go",
			i == 1 ? "it does" : "they do");
	return i > 0;
}
