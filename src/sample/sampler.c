#include "sample/sampler.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "sample/sampler_int.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_NS 5000000000 /* for the libraries and the device to be set up: usually one second */
#define END_NS	 5000000000 /* for the last samples to be written */

enum state { STARTING, SAMPLING, DONE, FAILED };

struct worker {
	pid_t pid;
	int fd; /* what it reports; -1 = closed */
	enum state state;
	struct sonde_buf pending; /* a line not yet whole */
	char says[1200];	  /* its last words */
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
		return sonde_err_system(err, errno, "no pipe for a sampler");
	w->pid = fork();
	if (w->pid == 0) {
		close(s->stop_fds[1]);
		close(fds[0]);
		sonde_sampler__become(&s->spec, s->nr, s->stop_fds[0], fds[1]);
	}
	close(fds[1]);
	if (w->pid < 0) {
		close(fds[0]);
		return sonde_err_system(err, errno, "no process for a sampler");
	}
	w->fd = fds[0];
	s->nr++;
	return 0;
}

static void take_line(struct sonde_sampler *s, struct worker *w, struct sonde_str line)
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

/* Its process is at an end, with or without a last word. */
static void lose(struct worker *w)
{
	close(w->fd);
	w->fd = -1;
	if (w->state != DONE && w->state != FAILED) {
		w->state = FAILED;
		snprintf(w->says, sizeof(w->says),
			"the sampler was killed; what it had written is kept");
	}
}

static void listen_to(struct sonde_sampler *s, struct worker *w)
{
	char bytes[4096];
	ssize_t n = read(w->fd, bytes, sizeof(bytes));
	struct sonde_str rest, line;

	if (n <= 0) {
		if (n == 0 || errno != EINTR)
			lose(w);
		return;
	}
	sonde_buf_add(&w->pending, bytes, (size_t)n);
	rest = sonde_buf_view(&w->pending);
	while (rest.n && sonde_str_find(rest, '\n') < rest.n) {
		line = sonde_str_cut(rest, '\n', &rest);
		take_line(s, w, line);
	}
	line = sonde_str_from(rest.n ? rest.p : "");
	memmove(w->pending.p, line.p, line.n);
	w->pending.n = line.n;
	w->pending.p[line.n] = '\0';
}

/* Waits for the next words of any, at most until `deadline_ns`; false when there are none. */
static bool listen(struct sonde_sampler *s, uint64_t deadline_ns)
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
			listen_to(s, &s->workers[i]);
	return n > 0 || (n < 0 && errno == EINTR && left > 0);
}

static unsigned count(const struct sonde_sampler *s, enum state state)
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

/* The first finds out how many devices there are; the others follow. */
static int start_all(struct sonde_sampler *s, struct sonde_err *err)
{
	uint64_t deadline_ns = sonde_now_ns() + READY_NS;
	int rc = add_worker(s, err);

	while (rc == 0 && count(s, STARTING) && listen(s, deadline_ns))
		while (rc == 0 && s->nr < s->nr_devices && s->nr < SONDE_SAMPLER_DEVICES)
			rc = add_worker(s, err);
	if (rc == 0 && count(s, FAILED) == s->nr)
		rc = sonde_err_set(err, SONDE_ERR_IO, "%s", s->workers[0].says);
	return rc;
}

static void release(struct sonde_sampler *s)
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
		return sonde_err_system(err, errno, "no pipe for a sampler");
	}
	rc = sonde_dir_make(spec->dir, err);
	if (rc == 0)
		rc = start_all(s, err);
	if (rc == 0) {
		*out = s;
		return 0;
	}
	close(s->stop_fds[1]);
	release(s);
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
	while (are_open(s) && listen(s, deadline_ns))
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
	release(s);
}
