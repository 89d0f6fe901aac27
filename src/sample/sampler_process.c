/* What the process of one device does, from its first to its last moment. */
#include "format/capture.h"
#include "sample/company_int.h"
#include "sample/sampler_int.h"
#include "sample/samples_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 50
#define PRIORITY     (-10)

struct process {
	const struct sonde_sampler_spec *spec;
	unsigned device;
	int stop_fd, report_fd;
	char host[72], uuid[64];
	struct sonde_sampling *sampling;
	struct sonde_samples_file *file;
	struct sonde_company *company;
	time_t looked_s; /* when it last looked for other programs */
	bool is_ready;
	bool has_written; /* nothing failed to be */
};

static void report(const struct process *p, const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void report(const struct process *p, const char *kind, const char *fmt, ...)
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
	(void)n; /* sonde is gone: nobody wants to know */
	sonde_buf_release(&line);
}

/* Signals are for the program; this process ends when sonde says so or is gone. */
static void detach(const struct process *p)
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
	/* Samples are lost when it has to wait for a core. Who may not ask for more has the usual priority. */
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

/* False when all was over before it was this process's turn. */
static bool lock_device(const struct process *p)
{
	char path[4096];
	bool has_told = false;
	int fd;

	snprintf(path, sizeof(path), "%s/.sampler-%s-%s",
		p->spec->lock_dir ? p->spec->lock_dir : p->spec->dir, p->host,
		p->uuid[0] ? p->uuid : "gpu");
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	/* Where files cannot be locked CUPTI decides: it lets one sample at a time. */
	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		if (!has_told)
			report(p, SAMPLER_WAITING, "another rank samples GPU %u", p->device);
		has_told = true;
		if (is_stopped(p, LOCK_WAIT_MS))
			return false;
	}
	return true; /* the descriptor stays open as long as the process lives */
}

static void look_around(struct process *p)
{
	time_t now = time(NULL);

	if (now == p->looked_s)
		return;
	p->looked_s = now;
	sonde_samples_file_see_others(p->file, sonde_company__count(p->company, p->spec->mark));
}

static void take(void *of, const struct sonde_sample_rows *rows)
{
	struct process *p = of;

	sonde_samples_file_take(p->file, rows);
}

static bool is_over(void *of)
{
	struct process *p = of;

	if (!p->is_ready) /* asked for the first time once sampling has started */
		report(p, SAMPLER_READY, "GPU %u", p->device);
	p->is_ready = true;
	look_around(p);
	p->has_written = sonde_samples_file_tick(p->file);
	return !p->has_written || is_stopped(p, 0);
}

static void note_choice(struct process *p)
{
	const struct sonde_sampling_facts *facts = sonde_sampling_facts(p->sampling);
	char text[1024];

	if (facts->nr_sets > 1) {
		snprintf(text, sizeof(text),
			"the counters do not fit into one pass of the hardware: %zu sets took "
			"turns, each saw a part of the run",
			facts->nr_sets);
		sonde_samples_file_note(p->file, text);
	}
	if (facts->left_out.n) {
		snprintf(text, sizeof(text), "this GPU cannot count: %.900s", facts->left_out.p);
		sonde_samples_file_note(p->file, text);
	}
}

static int open_all(struct process *p, struct sonde_err *err)
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
	rc = sonde_samples_file_open(&p->file, path, p->sampling, err);
	if (rc == 0)
		note_choice(p);
	p->company = sonde_company__open(sonde_str_from(p->uuid));
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
	sonde_buf_printf(&b, "%u counters of GPU %u (%.*s) every %.10g µs, %llu samples", nr,
		p->device, SONDE_STR_ARG(set->product),
		(double)set->interval_ns / 1e3, (unsigned long long)st->nr_samples);
	if (st->nr_gaps || st->nr_overflows)
		sonde_buf_printf(&b, ", %.1f ms missing in %llu gap%s%s", (double)st->gap_ns / 1e6,
			(unsigned long long)st->nr_gaps, st->nr_gaps == 1 ? "" : "s",
			st->nr_overflows ? ", as the hardware's buffer was full" : "");
	report(p, SAMPLER_DONE, "%s", b.failed ? "" : b.p);
	sonde_buf_release(&b);
}

static int sample(struct process *p, struct sonde_err *err)
{
	const struct sonde_sample_taker taker = {.take = take, .is_over = is_over, .of = p};
	struct sonde_err late = {0};
	char text[1200];
	int rc = open_all(p, err), end;

	if (rc == 0)
		rc = sonde_sampling_run(p->sampling, &taker, err);
	if (rc && p->file) {
		snprintf(text, sizeof(text), "counters end early: %.1100s", err->msg);
		sonde_samples_file_note(p->file, text);
	}
	end = sonde_samples_file_close(p->file, &late);
	if (rc == 0 && end)
		rc = sonde_err_set(err, end, "%s", late.msg);
	return rc;
}

_Noreturn void sonde_sampler__become(
	const struct sonde_sampler_spec *spec, unsigned device, int stop_fd, int report_fd)
{
	struct process p = {
		.spec = spec, .device = device, .stop_fd = stop_fd, .report_fd = report_fd};
	struct sonde_err err = {0};
	unsigned nr = 0;
	int rc;

	detach(&p);
	name_host(p.host, sizeof(p.host));
	rc = sonde_sampling_count(&nr, &err);
	if (rc == 0 && device == 0)
		report(&p, SAMPLER_DEVICES, "%u", nr);
	if (rc == 0)
		rc = sonde_sampling_identify(p.uuid, sizeof(p.uuid), device, &err);
	if (rc == 0 && !lock_device(&p)) {
		report(&p, SAMPLER_DONE, "GPU %u: sampled by another rank", device);
		_exit(0);
	}
	if (rc == 0)
		rc = sample(&p, &err);
	if (rc == 0)
		report_end(&p);
	else
		report(&p, SAMPLER_FAILED, "%s", err.msg);
	sonde_sampling_close(p.sampling);
	_exit(rc ? 1 : 0);
}
