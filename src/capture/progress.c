#include "capture/progress.h"

#include "base/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

/* Prints a duration as "0:07", "12:30" or "1:02:03". */
static void show_duration(char *out, size_t size, uint64_t ns)
{
	uint64_t s = ns / SECOND;

	if (s >= 3600)
		snprintf(out, size, "%" PRIu64 ":%02u:%02u", s / 3600, (unsigned)(s / 60 % 60),
			(unsigned)(s % 60));
	else
		snprintf(out, size, "%u:%02u", (unsigned)(s / 60), (unsigned)(s % 60));
}

void sonde_progress_begin(struct sonde_progress *p, const char *what, const char *log_path)
{
	p->what = what;
	p->path = log_path;
	p->fd = -1;
	p->log = (struct sonde_ncu_log){.program_status = -1};
	p->is_live = p->show && isatty(STDERR_FILENO);
	p->begin_ns = sonde_now_ns();
	p->interval_ns = p->is_live ? SECOND / 4 : 10 * SECOND;
	p->next_line_ns = p->begin_ns + p->interval_ns;
}

static void read_log(struct sonde_progress *p)
{
	char chunk[8192];
	ssize_t n;

	if (p->fd < 0 && p->path)
		p->fd = open(p->path, O_RDONLY | O_CLOEXEC);
	if (p->fd < 0)
		return;
	while ((n = read(p->fd, chunk, sizeof(chunk))) > 0)
		sonde_ncu_log_feed(&p->log, (struct sonde_str){chunk, (size_t)n});
}

static void describe_progress(const struct sonde_progress *p, struct sonde_buf *out)
{
	const struct sonde_ncu_log *log = &p->log;
	uint64_t elapsed = sonde_now_ns() - p->begin_ns;
	char time[32];

	sonde_buf_printf(out, "%s: %" PRIu64, p->what, log->nr_results);
	if (p->expected)
		sonde_buf_printf(out, " of %" PRIu64, p->expected);
	sonde_buf_puts(out, log->nr_results == 1 && !p->expected ? " result" : " results");
	if (log->app_passes)
		sonde_buf_printf(out, ", pass %" PRIu64, log->app_passes);
	else if (log->nr_passes)
		sonde_buf_printf(out, ", %" PRIu64 " passes", log->nr_passes);
	show_duration(time, sizeof(time), elapsed);
	sonde_buf_printf(out, ", %s", time);
	if (p->expected && log->nr_results && log->nr_results < p->expected) {
		double left = (double)elapsed / (double)log->nr_results *
			      (double)(p->expected - log->nr_results);

		show_duration(time, sizeof(time), (uint64_t)left);
		sonde_buf_printf(out, ", about %s left", time);
	}
}

/* Kernel names come from the program: only plain characters reach the terminal. */
static void add_current(const struct sonde_progress *p, struct sonde_buf *out)
{
	const char *c = p->log.current;
	size_t n;

	if (*c)
		sonde_buf_puts(out, "  ");
	for (n = 0; *c && n < 32; c++, n++)
		sonde_buf_putc(out, *c >= ' ' && *c < 127 ? *c : '?');
}

static void show_line(struct sonde_progress *p)
{
	struct sonde_buf line = {0};

	describe_progress(p, &line);
	if (p->is_live) {
		add_current(p, &line);
		p->has_line = true;
	}
	if (!line.failed)
		p->show(line.p, p->is_live);
	sonde_buf_release(&line);
}

void sonde_progress_tick(void *progress)
{
	struct sonde_progress *p = progress;
	uint64_t now = sonde_now_ns();

	read_log(p);
	if (!p->show || now < p->next_line_ns)
		return;
	show_line(p);
	p->next_line_ns = now + p->interval_ns;
	if (!p->is_live && p->interval_ns < 60 * SECOND)
		p->interval_ns += 10 * SECOND;
}

void sonde_progress_end(struct sonde_progress *p)
{
	read_log(p);
	sonde_ncu_log_finish(&p->log);
	if (p->has_line)
		p->show("", true);
	p->is_live = false;
	if (p->show)
		show_line(p);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

void sonde_progress_release(struct sonde_progress *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	sonde_ncu_log_release(&p->log);
}
