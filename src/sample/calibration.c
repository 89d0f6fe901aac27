/*
 * Calibration, in three steps. Two processes record a series of kernels: one runs the kernels (calibration_kernels.c), this
 * one samples meanwhile. A fit finds the offset between kernels and samples. A file in the user's cache directory keeps the
 * offset: one file for each GPU, with a few `key=value` lines.
 */
#include "base/clock.h"
#include "base/file.h"
#include "sample/calibration_int.h"
#include "sample/sampling.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- recording a series ------------------------------------------------------------------------ */

#define INTERVAL_NS 50000u
#define LIMIT_NS    30000000000u /* longest time for the recording, which usually takes two seconds */

void sonde_calibration_release(struct sonde_calibration_data *d)
{
	sonde_vec_release(&d->kernels);
	sonde_vec_release(&d->samples);
	sonde_vec_release(&d->active);
}

struct recorder {
	struct sonde_calibration_data *data;
	pid_t pid; /* the process that runs the kernels */
	int fd;	   /* a socket to that process */
	bool has_gone; /* that process was told to go */
	struct sonde_buf report; /* what that process has written */
	uint64_t begin_ns;
	bool is_late, is_short; /* the recording takes too long; memory is short */
};

static int start_kernels(struct recorder *r, unsigned device, struct sonde_err *err)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return sonde_err_system(err, errno, "calibration: cannot make a socket to the process that runs the test kernels");
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
	return sonde_err_system(err, errno, "calibration: cannot start the process that runs the test kernels");
}

static void end_kernels(struct recorder *r)
{
	close(r->fd);
	kill(r->pid, SIGKILL);
	waitpid(r->pid, NULL, 0);
}

/* Reads what the other process has written so far; true when that is everything, or when the time is up. */
static bool read_socket(struct recorder *r)
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

static void take_samples(void *of, const struct sonde_sample_rows *rows)
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

/* The first call comes when sampling has begun: tells the other process to go. */
static bool recording_is_over(void *of)
{
	struct recorder *r = of;

	if (!r->has_gone)
		r->has_gone = send(r->fd, "g", 1, MSG_NOSIGNAL) == 1;
	return read_socket(r);
}

static int sample_series(struct recorder *r, unsigned device, struct sonde_err *err)
{
	static const char *const counters[] = {"sm.active_cycles"};
	const struct sonde_sampling_request q = {.device = device,
		.counters = counters,
		.nr_counters = 1,
		.interval_ns = INTERVAL_NS};
	const struct sonde_sample_receiver receiver = {.take = take_samples, .is_over = recording_is_over, .of = r};
	struct sonde_sampling *s;
	int rc = sonde_sampling_open(&s, &q, err);

	if (rc == 0)
		rc = sonde_sampling_run(s, &receiver, err);
	sonde_sampling_close(s);
	return rc;
}

/* The other process's report → kernels, or its message as an error. */
static int read_report(struct recorder *r, struct sonde_err *err)
{
	const char *text = r->report.p;
	size_t n = r->report.n, i;

	if (r->is_late || n < CALIBRATION_MESSAGE)
		return sonde_err_set(err, SONDE_ERR_IO, "calibration: %s",
			r->is_late ? "the test kernels did not end in time; run it again when the GPU is idle"
				   : "the process that runs the test kernels failed");
	if (text[0])
		return sonde_err_set(err, SONDE_ERR_IO,
			"calibration: the test kernels cannot run (%.*s)", CALIBRATION_MESSAGE - 1, text);
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
	rc = sample_series(&r, device, err);
	if (rc == 0)
		rc = read_report(&r, err);
	end_kernels(&r);
	sonde_buf_release(&r.report);
	if (rc)
		sonde_calibration_release(out);
	return rc;
}

/* --- the fit ----------------------------------------------------------------------------------- */

/*
 * The fit finds by least squares how far the kernels' starts and ends must be moved. The model: a sample counts the time that
 * kernels overlap with it, times one rate that is the same for all samples. Moving the starts and ends changes the overlaps;
 * we search the best move step by step.
 */

#define REACH_NS     20000 /* the search moves starts and ends by at most this much, in either direction … */
#define GRID_NS	     250   /* … first in steps of this size … */
#define FINEST_NS    1	   /* … and in the end of this size */
#define PARTS	     10	 /* parts of the series that are also fitted one by one, to find the error */
#define MOST_MISFIT  0.1 /* a larger unexplained share means that something else ran on the GPU */
#define LEAST_KERNELS 200
#define LEAST_ERROR_NS 50 /* the offset differs by this much from session to session, as the clocks are set again */

/* A part of the series: samples `from` to `to`. */
struct part {
	const struct sonde_calibration_data *d;
	size_t from, to;
};

/* The share of all counts that is unexplained when starts move by `first` and ends by `last`. */
static double misfit_of(const struct part *p, double first, double last)
{
	const struct sonde_calibration_data *d = p->d;
	double tt = 0, tv = 0, vv = 0;
	size_t i, k = 0, j;

	for (i = p->from; i < p->to; i++) {
		double start = (double)(d->samples.at[i].start_ns - d->samples.at[0].start_ns);
		double end = (double)(d->samples.at[i].end_ns - d->samples.at[0].start_ns), t = 0;

		for (j = k; j < d->kernels.nr; j++) {
			double a = (double)(int64_t)(d->kernels.at[j].start_ns -
						     d->samples.at[0].start_ns) + first;
			double b = (double)(int64_t)(d->kernels.at[j].end_ns -
						     d->samples.at[0].start_ns) + last;

			if (a >= end)
				break;
			if (b <= start) { /* the kernel overlaps with no later sample either */
				k = j + 1;
				continue;
			}
			t += fmax(0, fmin(b, end) - fmax(a, start));
		}
		tt += t * t;
		tv += t * d->active.at[i];
		vv += d->active.at[i] * d->active.at[i];
	}
	return vv > 0 && tt > 0 ? sqrt(fmax(0, vv - tv * tv / tt) / vv) : 1;
}

/* Moves (first, last) downhill, in ever smaller steps, to the least misfit; returns that misfit. */
static double descend_misfit(const struct part *p, double *first, double *last)
{
	double best = misfit_of(p, *first, *last), step;

	for (step = GRID_NS; step >= FINEST_NS; step /= 2) {
		bool has_moved;

		do {
			static const double ways[][2] = {
				{1, 1}, {-1, -1}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, -1}, {-1, 1}};
			size_t i;

			has_moved = false;
			for (i = 0; i < sizeof(ways) / sizeof(*ways) && !has_moved; i++) {
				double a = *first + step * ways[i][0], b = *last + step * ways[i][1];
				double there = misfit_of(p, a, b);

				if (there < best && fabs(a) <= REACH_NS && fabs(b) <= REACH_NS) {
					best = there;
					*first = a;
					*last = b;
					has_moved = true;
				}
			}
		} while (has_moved);
	}
	return best;
}

/* Moves starts and ends together, in coarse steps; returns the best move, from which descend_misfit() begins. */
static double search_grid(const struct part *p)
{
	double best = 2, where = 0, at;

	for (at = -REACH_NS; at <= REACH_NS; at += GRID_NS) {
		double there = misfit_of(p, at, at);

		if (there < best) {
			best = there;
			where = at;
		}
	}
	return where;
}

/* One standard error of the offset: of the mean of the offsets that fit the parts. */
static double error_of(const struct part *all, const struct sonde_calibration *whole)
{
	double sum = 0, squares = 0;
	size_t i;

	for (i = 0; i < PARTS; i++) {
		struct part p = {all->d, all->from + (all->to - all->from) * i / PARTS,
			all->from + (all->to - all->from) * (i + 1) / PARTS};
		double first = whole->first_ns, last = whole->last_ns, offset;

		descend_misfit(&p, &first, &last);
		offset = (first + last) / 2 - whole->offset_ns;
		sum += offset;
		squares += offset * offset;
	}
	return sqrt(fmax(0, squares - sum * sum / PARTS) / (PARTS - 1) / PARTS);
}

/* The samples taken while the series ran. Others may have used the device before and after. */
static struct part find_samples(const struct sonde_calibration_data *d)
{
	struct part p = {d, 0, d->samples.nr};

	while (p.from < p.to && d->samples.at[p.from].start_ns < d->kernels.at[0].start_ns - REACH_NS)
		p.from++;
	while (p.to > p.from &&
		d->samples.at[p.to - 1].end_ns > d->kernels.at[d->kernels.nr - 1].end_ns + REACH_NS)
		p.to--;
	return p;
}

int sonde_calibration_fit(struct sonde_calibration *out, const struct sonde_calibration_data *d,
	struct sonde_err *err)
{
	struct part all = {d, 0, 0};

	memset(out, 0, sizeof(*out));
	if (d->kernels.nr)
		all = find_samples(d);
	if (d->kernels.nr < LEAST_KERNELS || all.to - all.from < LEAST_KERNELS)
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"calibration: only %zu kernels and %zu samples were recorded; run it again "
			"when the GPU is idle",
			d->kernels.nr, all.to - all.from);
	out->nr_kernels = d->kernels.nr;
	out->nr_samples = all.to - all.from;
	out->first_ns = out->last_ns = search_grid(&all);
	out->misfit = descend_misfit(&all, &out->first_ns, &out->last_ns);
	out->offset_ns = (out->first_ns + out->last_ns) / 2;
	if (out->misfit > MOST_MISFIT)
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"calibration: the samples do not fit the test kernels (%.0f %% unexplained): something else may run "
			"on the GPU; run it again when the GPU is idle",
			100 * out->misfit);
	out->error_ns = fmax(error_of(&all, out), LEAST_ERROR_NS);
	return 0;
}

/* --- the file ---------------------------------------------------------------------------------- */

#define MOST_OFFSET_NS 20000 /* a file with a larger offset is damaged */

static bool name_directory(struct sonde_buf *out)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && cache[0] == '/')
		sonde_buf_printf(out, "%s/sonde", cache);
	else if (home && home[0] == '/')
		sonde_buf_printf(out, "%s/.cache/sonde", home);
	return out->n && !out->failed;
}

bool sonde_calibration_path(struct sonde_buf *out, const char *uuid)
{
	if (!uuid[0] || strchr(uuid, '/') || !name_directory(out))
		return false;
	sonde_buf_printf(out, "/clock-%s", uuid);
	return !out->failed;
}

/* The file's first line: `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  …` */
void sonde_calibration_name_driver(char *out, size_t size)
{
	struct sonde_buf text = {0};
	struct sonde_str rest, word;

	out[0] = '\0';
	if (sonde_file_slurp(&text, "/proc/driver/nvidia/version")) {
		rest = sonde_str_cut(sonde_buf_view(&text), '\n', &word);
		while (rest.n && !out[0]) {
			word = sonde_str_cut(rest, ' ', &rest);
			if (word.n > 2 && word.p[0] >= '0' && word.p[0] <= '9' &&
				sonde_str_find(word, '.') < word.n)
				snprintf(out, size, "%.*s", SONDE_STR_ARG(word));
		}
	}
	sonde_buf_release(&text);
}

static int write_file(const char *path, struct sonde_str text, struct sonde_err *err)
{
	struct sonde_buf fresh = {0};
	int fd, rc = 0;

	sonde_buf_printf(&fresh, "%s.%ld", path, (long)getpid());
	fd = fresh.failed ? -1 : open(fresh.p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text.p, text.n) != (ssize_t)text.n || close(fd) < 0 ||
		rename(fresh.p, path) < 0)
		rc = sonde_err_system(err, errno, "%s: cannot write the calibration", path);
	sonde_buf_release(&fresh);
	return rc;
}

int sonde_calibration_keep(const struct sonde_calibration *c, struct sonde_err *err)
{
	struct sonde_buf dir = {0}, path = {0}, text = {0};
	int rc;

	if (!name_directory(&dir) || !sonde_calibration_path(&path, c->uuid))
		rc = sonde_err_set(err, SONDE_ERR_IO,
			"there is no place to keep the calibration: set HOME or XDG_CACHE_HOME");
	else
		rc = sonde_dir_make(dir.p, err);
	sonde_buf_printf(&text, "driver=%s\noffset_ns=%.1f\nerror_ns=%.1f\n", c->driver,
		c->offset_ns, c->error_ns);
	if (rc == 0)
		rc = text.failed ? sonde_err_nomem(err) : write_file(path.p, sonde_buf_view(&text), err);
	sonde_buf_release(&dir);
	sonde_buf_release(&path);
	sonde_buf_release(&text);
	return rc;
}

/* Requires exactly the three lines: a file that was cut off, or is something else, is refused. */
static bool read_lines(struct sonde_calibration *c, struct sonde_str rest)
{
	int nr = 0;

	while (rest.n) {
		struct sonde_str line = sonde_str_cut(rest, '\n', &rest), value;
		struct sonde_str key = sonde_str_cut(line, '=', &value);
		char text[32];

		if (value.n >= sizeof(text))
			return false;
		snprintf(text, sizeof(text), "%.*s", SONDE_STR_ARG(value));
		nr++;
		if (sonde_str_is(key, "driver"))
			memcpy(c->driver, text, sizeof(text));
		else if (sonde_str_is(key, "offset_ns"))
			c->offset_ns = strtod(text, NULL);
		else if (sonde_str_is(key, "error_ns"))
			c->error_ns = strtod(text, NULL);
		else
			nr = 100;
	}
	return nr == 3 && fabs(c->offset_ns) <= MOST_OFFSET_NS && c->error_ns > 0 &&
	       c->error_ns <= MOST_OFFSET_NS;
}

bool sonde_calibration_find(struct sonde_calibration *out, const char *uuid)
{
	struct sonde_buf path = {0}, text = {0};
	char driver[sizeof(out->driver)];
	bool is_good;

	memset(out, 0, sizeof(*out));
	sonde_calibration_name_driver(driver, sizeof(driver));
	is_good = sonde_calibration_path(&path, uuid) && sonde_file_slurp(&text, path.p) &&
		  read_lines(out, sonde_buf_view(&text)) && strcmp(out->driver, driver) == 0;
	snprintf(out->uuid, sizeof(out->uuid), "%s", uuid);
	sonde_buf_release(&path);
	sonde_buf_release(&text);
	return is_good;
}
