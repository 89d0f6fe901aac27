/* A series is recorded by two processes: one runs the kernels, this one samples meanwhile. */
#include "sample/calibration_int.h"

#include "base/clock.h"
#include "sample/sampling.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define INTERVAL_NS 50000u
#define LIMIT_NS    30000000000u /* for all of it; usually two seconds */

struct recorder {
	struct sonde_calibration_data *data;
	pid_t pid; /* of the kernels */
	int fd;	   /* a socket to it */
	bool has_gone;
	struct sonde_buf report;
	uint64_t begin_ns;
	bool is_late, is_short; /* of time, of memory */
};

static int start_kernels(struct recorder *r, unsigned device, struct sonde_err *err)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return sonde_err_system(err, errno, "calibration: no socket for its kernels");
	r->pid = fork();
	if (r->pid == 0) {
		close(fds[0]);
		sonde_calibration__become_kernels(device, fds[1]);
	}
	close(fds[1]);
	r->fd = fds[0];
	if (r->pid > 0)
		return 0;
	close(r->fd);
	return sonde_err_system(err, errno, "calibration: no process for its kernels");
}

static void end_kernels(struct recorder *r)
{
	close(r->fd);
	kill(r->pid, SIGKILL);
	waitpid(r->pid, NULL, 0);
}

/* True once the other process has told everything. */
static bool listen_to(struct recorder *r)
{
	struct pollfd fd = {.fd = r->fd, .events = POLLIN};
	char bytes[65536];
	ssize_t n;

	while (poll(&fd, 1, 0) > 0) {
		n = read(r->fd, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		sonde_buf_add(&r->report, bytes, (size_t)n);
	}
	r->is_late = sonde_now_ns() - r->begin_ns > LIMIT_NS;
	return r->is_late;
}

static void take(void *of, const struct sonde_sample_rows *rows)
{
	struct recorder *r = of;
	struct sonde_calibration_data *d = r->data;
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		struct sonde_calibration_span *s = sonde_vec_push(&d->samples);
		double *v = s ? sonde_vec_push(&d->active) : NULL;

		r->is_short |= !v;
		if (!v)
			return;
		*s = (struct sonde_calibration_span){rows->start_ns[i], rows->end_ns[i]};
		*v = rows->values[i * rows->set->nr];
	}
}

/* Sampling has begun when this is asked for the first time. */
static bool is_over(void *of)
{
	struct recorder *r = of;

	if (!r->has_gone)
		r->has_gone = send(r->fd, "g", 1, MSG_NOSIGNAL) == 1;
	return listen_to(r);
}

static int sample(struct recorder *r, unsigned device, struct sonde_err *err)
{
	static const char *const counters[] = {"sm.active_cycles"};
	const struct sonde_sampling_request q = {.device = device,
		.counters = counters,
		.nr_counters = 1,
		.interval_ns = INTERVAL_NS};
	const struct sonde_sample_taker taker = {.take = take, .is_over = is_over, .of = r};
	struct sonde_sampling *s;
	int rc = sonde_sampling_open(&s, &q, err);

	if (rc == 0)
		rc = sonde_sampling_run(s, &taker, err);
	sonde_sampling_close(s);
	return rc;
}

/* The other process's report → kernels, or its message as an error. */
static int read_report(struct recorder *r, struct sonde_err *err)
{
	const char *text = r->report.p;
	size_t n = r->report.n, i;

	if (r->is_late || n < CALIBRATION_MESSAGE)
		return sonde_err_set(err, SONDE_ERR_IO, "calibration: its kernels did not end%s",
			r->is_late ? " in time; run it again when the GPU is idle" : " well");
	if (text[0])
		return sonde_err_set(err, SONDE_ERR_IO,
			"calibration: its kernels cannot run (%.*s)", CALIBRATION_MESSAGE - 1, text);
	n = (n - CALIBRATION_MESSAGE) / sizeof(struct sonde_calibration_span);
	if (r->report.failed || r->is_short || !sonde_vec_reserve(&r->data->kernels, n + 1))
		return sonde_err_nomem(err);
	for (i = 0; i < n; i++)
		memcpy(&r->data->kernels.at[i],
			text + CALIBRATION_MESSAGE + i * sizeof(*r->data->kernels.at),
			sizeof(*r->data->kernels.at));
	r->data->kernels.nr = n;
	return 0;
}

int sonde_calibration_record(
	struct sonde_calibration_data *out, unsigned device, struct sonde_err *err)
{
	struct recorder r = {.data = out, .begin_ns = sonde_now_ns()};
	int rc = start_kernels(&r, device, err);

	memset(out, 0, sizeof(*out));
	if (rc)
		return rc;
	rc = sample(&r, device, err);
	if (rc == 0)
		rc = read_report(&r, err);
	end_kernels(&r);
	sonde_buf_release(&r.report);
	if (rc)
		sonde_calibration_release(out);
	return rc;
}
