/*
 * The sampler: one process for each device, and how sonde starts and ends these processes. This file has three parts: the
 * other programs on the device; the process of one device; the start and end of all processes.
 */
#include "sample/sampler.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "format/capture.h"
#include "sample/gpm.h"
#include "sample/nvml.h"
#include "sample/samples_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READY_NS      5000000000 /* how long setting up the libraries and the device may take; it usually takes a second */
#define END_NS	      5000000000 /* how long writing the last samples may take */
#define LOCK_WAIT_MS  50
#define PRIORITY      (-10)
#define MAX_PROCESSES 128

/*
 * Messages of a process to sonde, a line each. Only the first process sends `devices N`.
 * Then each sends `ready`, `waiting` (another sampler has the device) or `failed`, followed
 * by text for people. The last message is `done` or `failed`.
 */
#define SAMPLER_DEVICES "devices "
#define SAMPLER_READY	"ready "
#define SAMPLER_WAITING "waiting "
#define SAMPLER_FAILED	"failed "
#define SAMPLER_DONE	"done "

/* --- which other programs use the device ------------------------------------------------------- */

/* NVML's struct, declared here since these few functions do not need NVML's header. */
struct process_info {
	unsigned pid;
	unsigned long long used_bytes;
	unsigned gpu_instance, compute_instance;
};

/* How to list the processes on the device; `get` NULL = that is not possible. */
struct processes {
	void *device;
	int (*get)(void *device, unsigned *nr, struct process_info *out);
};

static struct processes open_processes(const char *uuid)
{
	struct processes c = {0};
	struct sonde_nvml nvml;

	if (uuid[0] && sonde_nvml_open(&nvml, sonde_str_from(uuid))) {
		c.device = nvml.device;
		*(void **)&c.get = dlsym(nvml.library, "nvmlDeviceGetComputeRunningProcesses_v3");
	}
	return c;
}

/*
 * True when the process's environment lacks the mark, or when another user's process does not let us read it. A process that
 * is ending has no environment any more, but has the GPU for another moment: it may be one of ours, so the answer is false.
 */
static bool lacks_mark(unsigned pid, const char *mark)
{
	struct sonde_buf text = {0};
	struct sonde_str rest;
	char path[64];
	bool is_so;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	is_so = sonde_file_slurp(&text, path) ? text.n > 0 : errno == EACCES;
	rest = sonde_buf_view(&text);
	while (rest.n && is_so)
		is_so = !sonde_str_is(sonde_str_cut(rest, '\0', &rest), mark);
	sonde_buf_release(&text);
	return is_so;
}

static bool is_stranger(unsigned pid, const struct sonde_sampler_spec *spec)
{
	size_t i;

	for (i = 0; i < spec->nr_pids; i++)
		if (spec->pids[i] == (pid_t)pid)
			return false;
	return pid != (unsigned)getpid() && (spec->nr_pids || lacks_mark(pid, spec->mark));
}

/*
 * How many programs use the device now that are not part of this run. A program of this run has the run's `mark` (NAME=VALUE)
 * in its environment, or is one of `pids`. A process that we cannot see, because it is in another container, is not counted.
 */
static unsigned count_strangers(const struct processes *c, const struct sonde_sampler_spec *spec)
{
	struct process_info all[MAX_PROCESSES];
	unsigned nr = MAX_PROCESSES, i, nr_strangers = 0;

	if (!c->get || c->get(c->device, &nr, all) != 0)
		return 0;
	for (i = 0; i < nr && i < MAX_PROCESSES; i++)
		nr_strangers += is_stranger(all[i].pid, spec);
	return nr_strangers;
}

/* --- the process of one device ----------------------------------------------------------------- */

struct process {
	const struct sonde_sampler_spec *spec;
	unsigned device;
	int stop_fd, report_fd;
	char host[72], uuid[64];
	struct sonde_sampling *sampling;
	struct sonde_samples_file *file;
	struct processes processes;
	time_t looked_s; /* when it last looked for other programs */
	bool is_ready;
	bool has_written; /* everything could be written so far */
};

static void report_to_runner(const struct process *p, const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void report_to_runner(const struct process *p, const char *kind, const char *fmt, ...)
{
	struct sonde_buf line = {0};
	va_list ap;
	ssize_t n = 0;

	sonde_buf_puts(&line, kind);
	va_start(ap, fmt);
	sonde_buf_vprintf(&line, fmt, ap);
	va_end(ap);
	sonde_buf_putc(&line, '\n');
	if (!line.failed)
		n = write(p->report_fd, line.p, line.n);
	(void)n; /* if sonde is gone, nobody needs the message */
	sonde_buf_release(&line);
}

/*
 * Makes the process independent of the terminal: ignores signals, which are meant for the program, and has no standard input
 * and output. Also takes over the program's environment. This process ends when sonde asks it to, or has died.
 */
static void leave_terminal(const struct process *p)
{
	static const int ignored[] = {
		SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGPIPE, SIGXFSZ};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;
	char *const *e;
	size_t i;

	for (i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	for (fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
	prctl(PR_SET_NAME, "sonde-sampler");
	/*
	 * Samples are lost when this process must wait for a core. Without the right to a higher priority, it keeps the
	 * usual one.
	 */
	if (sysconf(_SC_NPROCESSORS_ONLN) > 4)
		setpriority(PRIO_PROCESS, 0, PRIORITY);
	for (e = p->spec->env; e && *e; e++)
		putenv(*e);
	unsetenv("CUDA_INJECTION64_PATH");
	unsetenv("NVTX_INJECTION64_PATH");
}

static bool is_stopped(const struct process *p, int wait_ms)
{
	struct pollfd fd = {.fd = p->stop_fd, .events = POLLIN};

	return poll(&fd, 1, wait_ms) > 0;
}

static void name_host(char *out, size_t size)
{
	struct utsname u = {0};
	char *c;

	uname(&u);
	snprintf(out, size, "%.60s", u.nodename);
	for (c = out; *c; c++)
		if (*c == '/')
			*c = '_';
}

/* Waits until no other rank's sampler has the device, and locks it. False when the run was over before that. */
static bool lock_device(const struct process *p)
{
	char path[4096];
	bool has_told = false;
	int fd;

	snprintf(path, sizeof(path), "%s/.sampler-%s-%s",
		p->spec->lock_dir ? p->spec->lock_dir : p->spec->dir, p->host,
		p->uuid[0] ? p->uuid : "gpu");
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	/* Where files cannot be locked, CUPTI decides: it lets one process sample at a time. */
	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		if (!has_told)
			report_to_runner(p, SAMPLER_WAITING, "another rank samples GPU %u", p->device);
		has_told = true;
		if (is_stopped(p, LOCK_WAIT_MS))
			return false;
	}
	return true; /* the descriptor, and with it the lock, stays open until the process ends */
}

static void note_other_processes(struct process *p)
{
	time_t now = time(NULL);

	if (now == p->looked_s)
		return;
	p->looked_s = now;
	sonde_samples_file_see_others(p->file, count_strangers(&p->processes, p->spec));
}

static void take_rows(void *of, const struct sonde_sample_rows *rows)
{
	struct process *p = of;

	sonde_samples_file_take(p->file, rows);
}

static bool is_over(void *of)
{
	struct process *p = of;

	if (!p->is_ready) /* the first call of this function comes right after sampling has started */
		report_to_runner(p, SAMPLER_READY, "GPU %u", p->device);
	p->is_ready = true;
	note_other_processes(p);
	p->has_written = sonde_samples_file_tick(p->file);
	return !p->has_written || is_stopped(p, 0);
}

static void note_choice(struct process *p)
{
	const struct sonde_sampling_facts *facts = sonde_sampling_facts(p->sampling);
	char text[1024];

	if (facts->by_gpm.n) {
		snprintf(text, sizeof(text),
			"counters come from NVML's GPM, one value every %u ms, so only regions that last longer have figures "
			"(docs/counters.md); the reason: %.700s",
			SONDE_GPM_PERIOD_NS / 1000000u, facts->by_gpm.p);
		sonde_samples_file_note(p->file, text);
	}
	if (facts->nr_sets > 1) {
		snprintf(text, sizeof(text),
			"the GPU cannot count all these counters at once: %zu sets took turns, so each covers a part of the run",
			facts->nr_sets);
		sonde_samples_file_note(p->file, text);
	}
	if (facts->left_out.n) {
		snprintf(text, sizeof(text), "this GPU cannot count: %.900s", facts->left_out.p);
		sonde_samples_file_note(p->file, text);
	}
}

static int open_device(struct process *p, struct sonde_err *err)
{
	struct sonde_sampling_request q = p->spec->sampling;
	char path[4096];
	int rc;

	q.device = p->device;
	rc = sonde_sampling_open(&p->sampling, &q, err);
	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/" SONDE_SAMPLES_PREFIX "%s-gpu%u.%ld" SONDE_CAPTURE_SUFFIX,
		p->spec->dir, p->host, p->device, (long)getpid());
	rc = sonde_samples_file_open(&p->file, path, p->sampling, p->spec->rotation, err);
	if (rc == 0)
		note_choice(p);
	p->processes = open_processes(p->uuid);
	return rc;
}

static void report_end(const struct process *p)
{
	const struct sonde_counter_set *set = sonde_sampling_set(p->sampling, 0);
	const struct sonde_sampling_facts *facts = sonde_sampling_facts(p->sampling);
	const struct sonde_sampler_status *st = &facts->status;
	struct sonde_buf b = {0};
	uint32_t nr = 0;
	size_t i;

	for (i = 0; i < facts->nr_sets; i++)
		nr += sonde_sampling_set(p->sampling, i)->nr;
	sonde_buf_printf(&b, "%u counters of GPU %u (%.*s)%s every %.10g µs, %llu samples", nr,
		p->device, SONDE_STR_ARG(set->product), facts->by_gpm.n ? " by NVML's GPM" : "",
		(double)set->interval_ns / 1e3, (unsigned long long)st->nr_samples);
	if (st->nr_gaps || st->nr_overflows)
		sonde_buf_printf(&b, ", %.1f ms missing in %llu gap%s%s", (double)st->gap_ns / 1e6,
			(unsigned long long)st->nr_gaps, st->nr_gaps == 1 ? "" : "s",
			st->nr_overflows ? ", as the hardware's buffer was full" : "");
	report_to_runner(p, SAMPLER_DONE, "%s", b.failed ? "" : b.p);
	sonde_buf_release(&b);
}

static int sample_device(struct process *p, struct sonde_err *err)
{
	const struct sonde_sample_receiver receiver = {.take = take_rows, .is_over = is_over, .of = p};
	struct sonde_err late = {0};
	char text[1200];
	int rc = open_device(p, err), end;

	if (rc == 0)
		rc = sonde_sampling_run(p->sampling, &receiver, err);
	if (rc && p->file) {
		snprintf(text, sizeof(text), "counters end early: %.1100s", err->msg);
		sonde_samples_file_note(p->file, text);
	}
	end = sonde_samples_file_close(p->file, &late);
	if (rc == 0 && end)
		rc = sonde_err_set(err, end, "%s", late.msg);
	return rc;
}

/*
 * Runs the process of one device until it ends. `stop_fd` becomes readable (end of file) when the run is over. Messages
 * go to `report_fd`.
 */
_Noreturn static void become_sampler(
	const struct sonde_sampler_spec *spec, unsigned device, int stop_fd, int report_fd)
{
	struct process p = {
		.spec = spec, .device = device, .stop_fd = stop_fd, .report_fd = report_fd};
	struct sonde_err err = {0};
	unsigned nr = 0;
	int rc;

	leave_terminal(&p);
	name_host(p.host, sizeof(p.host));
	rc = sonde_sampling_count(&nr, &err);
	if (rc == 0 && device == 0)
		report_to_runner(&p, SAMPLER_DEVICES, "%u", nr);
	if (rc == 0)
		rc = sonde_sampling_identify(p.uuid, sizeof(p.uuid), device, &err);
	if (rc == 0 && !lock_device(&p)) {
		report_to_runner(&p, SAMPLER_DONE, "GPU %u: sampled by another rank", device);
		_exit(0);
	}
	if (rc == 0)
		rc = sample_device(&p, &err);
	if (rc == 0)
		report_end(&p);
	else
		report_to_runner(&p, SAMPLER_FAILED, "%s", err.msg);
	sonde_sampling_close(p.sampling);
	_exit(rc ? 1 : 0);
}

/* --- all of them, seen from sonde -------------------------------------------------------------- */

enum state { STARTING, SAMPLING, DONE, FAILED };

struct worker {
	pid_t pid;
	int fd; /* the pipe with its messages; -1 = closed */
	enum state state;
	struct sonde_buf pending; /* the beginning of a line that is not yet complete */
	char says[1200];	  /* text of its last message */
};

struct sonde_sampler {
	struct sonde_sampler_spec spec;
	struct worker workers[SONDE_SAMPLER_DEVICES];
	unsigned nr, nr_devices;
	int stop_fds[2];
};

bool sonde_sampler_has_gpu(void)
{
	return getenv("SONDE_CUPTI") || access("/dev/nvidiactl", F_OK) == 0 ||
	       access("/dev/dxg", F_OK) == 0;
}

static int add_worker(struct sonde_sampler *s, struct sonde_err *err)
{
	struct worker *w = &s->workers[s->nr];
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return sonde_err_system(err, errno, "cannot make a pipe to a sampler");
	w->pid = fork();
	if (w->pid == 0) {
		close(s->stop_fds[1]);
		close(fds[0]);
		become_sampler(&s->spec, s->nr, s->stop_fds[0], fds[1]);
	}
	close(fds[1]);
	if (w->pid < 0) {
		close(fds[0]);
		return sonde_err_system(err, errno, "cannot start a sampler process");
	}
	w->fd = fds[0];
	s->nr++;
	return 0;
}

static void read_line(struct sonde_sampler *s, struct worker *w, struct sonde_str line)
{
	static const struct {
		const char *kind;
		enum state state;
	} kinds[] = {{SAMPLER_READY, SAMPLING}, {SAMPLER_WAITING, SAMPLING}, {SAMPLER_DONE, DONE},
		{SAMPLER_FAILED, FAILED}};
	size_t i;

	if (sonde_str_starts(line, SAMPLER_DEVICES))
		s->nr_devices = (unsigned)strtoul(line.p + strlen(SAMPLER_DEVICES), NULL, 10);
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t n = strlen(kinds[i].kind);

		if (!sonde_str_starts(line, kinds[i].kind))
			continue;
		w->state = kinds[i].state;
		snprintf(w->says, sizeof(w->says), "%.*s", (int)(line.n - n), line.p + n);
	}
}

/* A worker's process has ended, perhaps without a last message. */
static void end_worker(struct worker *w)
{
	close(w->fd);
	w->fd = -1;
	if (w->state != DONE && w->state != FAILED) {
		w->state = FAILED;
		snprintf(w->says, sizeof(w->says),
			"the sampler was killed; what it had written is kept");
	}
}

static void listen_to_worker(struct sonde_sampler *s, struct worker *w)
{
	char bytes[4096];
	ssize_t n = read(w->fd, bytes, sizeof(bytes));
	struct sonde_str rest, line;

	if (n <= 0) {
		if (n == 0 || errno != EINTR)
			end_worker(w);
		return;
	}
	sonde_buf_add(&w->pending, bytes, (size_t)n);
	rest = sonde_buf_view(&w->pending);
	while (rest.n && sonde_str_find(rest, '\n') < rest.n) {
		line = sonde_str_cut(rest, '\n', &rest);
		read_line(s, w, line);
	}
	line = sonde_str_from(rest.n ? rest.p : "");
	memmove(w->pending.p, line.p, line.n);
	w->pending.n = line.n;
	w->pending.p[line.n] = '\0';
}

/* Waits for a message from any worker, at most until `deadline_ns`; false when none came. */
static bool listen_to_all(struct sonde_sampler *s, uint64_t deadline_ns)
{
	struct pollfd fds[SONDE_SAMPLER_DEVICES];
	int64_t left = (int64_t)(deadline_ns - sonde_now_ns());
	unsigned i;
	int n;

	for (i = 0; i < s->nr; i++)
		fds[i] = (struct pollfd){.fd = s->workers[i].fd, .events = POLLIN};
	n = poll(fds, s->nr, left > 0 ? (int)(left / 1000000) : 0);
	for (i = 0; i < s->nr; i++)
		if (n > 0 && fds[i].revents)
			listen_to_worker(s, &s->workers[i]);
	return n > 0 || (n < 0 && errno == EINTR && left > 0);
}

static unsigned count_workers(const struct sonde_sampler *s, enum state state)
{
	unsigned i, nr = 0;

	for (i = 0; i < s->nr; i++)
		nr += s->workers[i].state == state;
	return nr;
}

static bool are_open(const struct sonde_sampler *s)
{
	unsigned i;

	for (i = 0; i < s->nr; i++)
		if (s->workers[i].fd >= 0)
			return true;
	return false;
}

/* The first worker finds out how many devices there are; the others follow. */
static int start_all(struct sonde_sampler *s, struct sonde_err *err)
{
	uint64_t deadline_ns = sonde_now_ns() + READY_NS;
	int rc = add_worker(s, err);

	while (rc == 0 && count_workers(s, STARTING) && listen_to_all(s, deadline_ns))
		while (rc == 0 && s->nr < s->nr_devices && s->nr < SONDE_SAMPLER_DEVICES)
			rc = add_worker(s, err);
	if (rc == 0 && count_workers(s, FAILED) == s->nr)
		rc = sonde_err_set(err, SONDE_ERR_IO, "%s", s->workers[0].says);
	return rc;
}

static void release_sampler(struct sonde_sampler *s)
{
	unsigned i;

	for (i = 0; i < s->nr; i++) {
		struct worker *w = &s->workers[i];

		if (w->fd >= 0) {
			kill(w->pid, SIGKILL);
			close(w->fd);
		}
		waitpid(w->pid, NULL, 0);
		sonde_buf_release(&w->pending);
	}
	close(s->stop_fds[0]);
	sonde_free(s);
}

int sonde_sampler_start(
	struct sonde_sampler **out, const struct sonde_sampler_spec *spec, struct sonde_err *err)
{
	struct sonde_sampler *s = sonde_calloc(1, sizeof(*s));
	int rc;

	*out = NULL;
	if (!s)
		return sonde_err_nomem(err);
	s->spec = *spec;
	if (pipe2(s->stop_fds, O_CLOEXEC) < 0) {
		sonde_free(s);
		return sonde_err_system(err, errno, "cannot make a pipe to a sampler");
	}
	rc = sonde_dir_make(spec->dir, err);
	if (rc == 0)
		rc = start_all(s, err);
	if (rc == 0) {
		*out = s;
		return 0;
	}
	close(s->stop_fds[1]);
	release_sampler(s);
	return rc;
}

void sonde_sampler_end(struct sonde_sampler *s, struct sonde_sampler_end *out)
{
	uint64_t deadline_ns = sonde_now_ns() + END_NS;
	unsigned i;

	out->nr = 0;
	if (!s)
		return;
	close(s->stop_fds[1]);
	while (are_open(s) && listen_to_all(s, deadline_ns))
		;
	for (i = 0; i < s->nr; i++) {
		const struct worker *w = &s->workers[i];

		out->devices[i].has_failed = w->state != DONE;
		snprintf(out->devices[i].says, sizeof(out->devices[i].says), "%s",
			w->state == DONE || w->state == FAILED
				? w->says
				: "the sampler did not end in time; what it had written is kept");
	}
	out->nr = s->nr;
	release_sampler(s);
}
