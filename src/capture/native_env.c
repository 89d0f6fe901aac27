#include "capture/native_env.h"

#include "base/err.h"
#include "base/file.h"
#include "base/sink.h"
#include "capture/proc.h"
#include "format/attach.h"
#include "format/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_MS 1000u
#define STEP_MS	  5u
#define CONFIG_NAME "inject.conf"

static const char zeros[SONDE_ATTACH_BYTES]; /* an empty page */

/* --- the run ----------------------------------------------------------------------------------- */

bool sonde_native_find(char *path, size_t size)
{
	static const char *const places[] = {"libsonde_inject.so", "../lib/sonde/libsonde_inject.so",
		"../lib/libsonde_inject.so"};
	const char *own = getenv("SONDE_INJECT_LIB");

	if (!own)
		return sonde_find_beside(path, size, places, sizeof(places) / sizeof(*places));
	snprintf(path, size, "%s", own);
	return access(path, R_OK) == 0;
}

static void add_lines(struct sonde_sink *to, const char *key, struct sonde_words values)
{
	size_t i;

	for (i = 0; i < values.nr; i++)
		sonde_sink_printf(to, "%s%s%s\n", key, *key ? "=" : "", values.at[i]);
}

/* The library reads one pattern per line, and a limited number of each kind. */
static int check_patterns(const char *key, struct sonde_words values, struct sonde_err *err)
{
	size_t i;

	if (values.nr > SONDE_PATTERN_LIMIT)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"pipeline.native.%s: %zu patterns are too many (at most %d)", key,
			values.nr, SONDE_PATTERN_LIMIT);
	for (i = 0; i < values.nr; i++)
		if (strchr(values.at[i], '\n'))
			return sonde_err_set(err, SONDE_ERR_USAGE,
				
				"pipeline.native.%s: a pattern contains a line end: remove it", key);
	return 0;
}

/* Composes the library's configuration; `to` becomes a string sink. */
static int compose_config(struct sonde_sink *to, const char *dir, const struct sonde_native_request *q, struct sonde_err *err)
{
	int rc = check_patterns("nvtx.include", q->nvtx_include, err);

	sonde_sink_init_string(to);
	if (rc == 0)
		rc = check_patterns("nvtx.exclude", q->nvtx_exclude, err);
	if (rc == 0 && strchr(dir, '\n'))
		rc = sonde_err_set(err, SONDE_ERR_USAGE,
			"the path of the run directory contains a line end, which a native capture does not "
			"allow: choose another (hydra.run.dir=DIR)");
	sonde_sink_printf(to, "output=%s\n", dir);
	add_lines(to, "nvtx.include", q->nvtx_include);
	add_lines(to, "nvtx.exclude", q->nvtx_exclude);
	add_lines(to, "", q->options);
	return rc == 0 && to->buf.failed ? sonde_err_nomem(err) : rc;
}

int sonde_native_prepare(const char *dir, const struct sonde_native_request *q, struct sonde_err *err)
{
	char path[PATH_MAX + 16];
	struct sonde_sink config;
	int rc = compose_config(&config, dir, q, err);

	snprintf(path, sizeof(path), "%s/" CONFIG_NAME, dir);
	if (rc == 0)
		rc = sonde_native_attach_make(dir, NULL, err);
	if (rc == 0 && q->runner)
		rc = sonde_native_attach_make(dir, q->runner, err);
	if (rc == 0)
		rc = sonde_file_write(path, sonde_buf_view(&config.buf), err);
	sonde_sink_abort(&config);
	return rc;
}

/* Writes a file that must not exist yet; does not follow a link of that name. */
static int write_new(int dir, const char *name, struct sonde_str text, struct sonde_err *err)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), error = fd < 0 ? errno : 0;
	struct sonde_sink sink;

	if (error)
		return sonde_err_io(err, name, error);
	sonde_sink_init_fd(&sink, fd);
	sonde_sink_str(&sink, text);
	error = sonde_sink_close(&sink, err);
	close(fd);
	return error;
}

int sonde_native_prepare_at(int dir, const char *seen_as, const struct sonde_native_request *q, struct sonde_err *err)
{
	struct sonde_sink config;
	int rc = compose_config(&config, seen_as, q, err);

	if (rc == 0)
		rc = write_new(dir, SONDE_ATTACH_NAME, (struct sonde_str){zeros, sizeof(zeros)}, err);
	if (rc == 0)
		rc = write_new(dir, CONFIG_NAME, sonde_buf_view(&config.buf), err);
	sonde_sink_abort(&config);
	return rc;
}

int sonde_native_find_library(char *library, size_t size, struct sonde_err *err)
{
	char found[PATH_MAX], whole[PATH_MAX];

	/* An absolute path: the program may run in another directory, or change to one. */
	if (!sonde_native_find(found, sizeof(found)) || !realpath(found, whole))
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"libsonde_inject.so was not found: it must be beside sonde, in ../lib/sonde, or where "
			"SONDE_INJECT_LIB says");
	snprintf(library, size, "%s", whole);
	return 0;
}

/* Makes the directory with the library's configuration in it, and the environment variables that lead to it. */
static int build_env(
	struct sonde_argv *env, const struct sonde_native_request *q, struct sonde_err *err)
{
	char library[PATH_MAX], dir[PATH_MAX];
	int rc = sonde_native_find_library(library, sizeof(library), err);

	if (rc == 0)
		rc = sonde_dir_make(q->dir, err);
	if (rc)
		return rc;
	if (!realpath(q->dir, dir))
		return sonde_err_io(err, q->dir, errno);
	rc = sonde_native_prepare(dir, q, err);
	sonde_argv_printf(env, "SONDE_INJECT_CONFIG=%s/" CONFIG_NAME, dir);
	/* Set even when it is empty: sonde itself may run inside another run, whose variable would be inherited. */
	sonde_argv_printf(env, SONDE_RUNNER_VARIABLE "=%s", q->runner ? q->runner : "");
	if (q->mark)
		sonde_argv_add(env, q->mark);
	sonde_argv_printf(env, "CUDA_INJECTION64_PATH=%s", library);
	sonde_argv_printf(env, "NVTX_INJECTION64_PATH=%s", library);
	return rc ? rc : env->failed ? sonde_err_nomem(err) : 0;
}

bool sonde_native_is_there(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool is_there = false;

	while (d && !is_there && (e = readdir(d))) {
		struct sonde_str name = sonde_str_from(e->d_name);

		is_there = (sonde_str_ends(name, SONDE_CAPTURE_SUFFIX) ||
				   sonde_str_ends(name, SONDE_CAPTURE_SUFFIX ".tar")) &&
			   strncmp(e->d_name, SONDE_SAMPLES_PREFIX,
				   strlen(SONDE_SAMPLES_PREFIX)) != 0;
	}
	if (d)
		closedir(d);
	return is_there;
}

int sonde_native_run(struct sonde_child_end *out, const struct sonde_child_spec *spec,
	const struct sonde_native_request *q, struct sonde_err *err)
{
	struct sonde_child_spec with = *spec;
	struct sonde_argv env = {0};
	int rc;

	if (spec->env)
		sonde_argv_all(&env, spec->env);
	rc = build_env(&env, q, err);
	with.env = env.words.at;
	if (rc == 0)
		rc = sonde_child_run(out, &with, err);
	if (rc == 0)
		sonde_native_settle(q->dir, q->runner);
	sonde_argv_release(&env);
	return rc;
}

/* --- the library's page; after the run, the last bytes and the faults --------------------------- */

/* Makes a page of zeros under a temporary name, which it fills in; false with errno. */
static bool write_zeros(char *name)
{
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
 * Ranks share the directory, and the page that the first rank makes serves all of them. The page appears with all its
 * bytes, by link(): a process that finds it maps it at once.
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
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ok = fd >= 0 && read(fd, out, sizeof(*out)) == (ssize_t)sizeof(*out);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Whether the name is that of a capture or of a further file of one: PID.N.sonde, PID.N.sonde.3. */
static bool is_capture(const char *name)
{
	const char *dot = name[0] >= '0' && name[0] <= '9' ? strstr(name, SONDE_CAPTURE_SUFFIX) : NULL;

	dot = dot ? dot + strlen(SONDE_CAPTURE_SUFFIX) : NULL;
	return dot && (!*dot || (*dot == '.' && dot[1] && !dot[1 + strspn(dot + 1, "0123456789")]));
}

/*
 * Whether the first block of the capture says that `runner` started the program. Without a runner every capture counts.
 */
static bool is_from_runner(int fd, const char *runner)
{
	char line[SONDE_RUNNER_LIMIT + 16], text[4096];
	int nr_line = snprintf(line, sizeof(line), "\nrunner=%s\n", runner ? runner : "");
	ssize_t n = runner ? pread(fd, text, sizeof(text), 0) : 0;

	return !runner || (n > 0 && memmem(text, (size_t)n, line, (size_t)nr_line));
}

/* Whether the file is a capture from `runner` that a flusher still writes. */
static bool is_being_written(int dir, const char *name, const char *runner)
{
	bool is_locked;
	int fd;

	if (!is_capture(name))
		return false;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	is_locked = fd >= 0 && sonde_fd_is_locked(fd) && is_from_runner(fd, runner);
	if (fd >= 0)
		close(fd);
	return is_locked;
}

/* Whether the process that a capture is named after runs. In a container, an ended one may stay a zombie for long. */
static bool is_running(const char *name)
{
	struct sonde_proc p;
	long pid = strtol(name, NULL, 10);

	return (kill((pid_t)pid, 0) == 0 || errno != ESRCH) &&
	       !(sonde_proc_find(&p, pid) && (p.state == 'Z' || p.state == 'X'));
}

/* How many files in a directory belong to processes that still run or write. */
struct live_files {
	unsigned nr_there; /* files named after running processes, even if these have not locked them yet … */
	unsigned nr_writing; /* … captures that running processes still write … */
	unsigned nr_ending;  /* … and captures of ended processes, whose last bytes are being written */
};

static struct live_files count_live_files(const char *dir, const char *runner)
{
	struct live_files a = {0};
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
	       !count_live_files(dir, runner).nr_ending;
}

bool sonde_native_settle(const char *dir, const char *runner)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	unsigned ms;

	for (ms = 0; ms < SETTLE_MS && !is_settled(dir, runner); ms += STEP_MS)
		nanosleep(&step, NULL);
	return ms < SETTLE_MS && !count_live_files(dir, runner).nr_there;
}

bool sonde_native_fault(char *text, size_t size, const char *dir, const char *runner)
{
	static const struct {
		const char *says, *next;
	} fault_texts[SONDE_NR_FAULTS] = {
		[SONDE_FAULT_MEMORY] = {"there was no memory for the buffers of the native capture",
			"a smaller pipeline.native.buffer_mb needs less"},
		[SONDE_FAULT_HELPER] = {"the process that writes the native capture could not be started",
			"end other programs, or raise the limit (ulimit -u)"},
		[SONDE_FAULT_FILE] = {"the native capture could not be made",
			"choose a run directory that the program may write to (-o DIR)"},
		[SONDE_FAULT_WRITE] = {"the native capture could not be written to its end",
			"free some space, or choose another run directory (-o DIR)"},
		[SONDE_FAULT_SHARING] = {"sonde cannot share the program's memory (it runs under valgrind or an emulator, or "
					 "has entered a PID namespace)",
			"it ran as without sonde; to profile it, run it without these"},
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
		snprintf(text, size, "%s%s%s%s, in %u %s: %s", fault_texts[i].says, error ? " (" : "",
			error ? strerror(error) : "", error ? ")" : "", nr,
			nr == 1 ? "process" : "processes", fault_texts[i].next);
		return true;
	}
	if (a.nr_attached > a.nr_begun) {
		snprintf(text, size,
			"%u of %u processes that use NVTX or CUDA were killed before they left a "
			"capture",
			a.nr_attached - a.nr_begun, a.nr_attached);
		return true;
	}
	i = count_live_files(dir, runner).nr_writing;
	if (i)
		snprintf(text, size,
			"%zu %s of the run %s on; what %s from now on is not in the report", i,
			i == 1 ? "process" : "processes", i == 1 ? "goes" : "go",
			i == 1 ? "it does" : "they do");
	return i > 0;
}
