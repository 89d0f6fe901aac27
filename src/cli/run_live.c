#include "cli/run_live.h"

#include "base/clock.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS 50

/* The signal of capture.window=signal: opens the window, then closes it, and so on. */
static void toggle(void *of)
{
	struct sonde_run_live *l = of;

	sonde_inject_orders_capture(&l->orders, !sonde_inject_orders_is_on(&l->orders));
}

/* In a process of its own: a large report takes a while, and the program is to be watched. */
static void start_report(struct sonde_run_live *l)
{
	struct sonde_err err = {0};

	sonde_inject_orders_flush(&l->orders);
	l->reporter = sonde_run_fork();
	if (l->reporter != 0)
		return;
	usleep(250000); /* until what was recorded is written */
	dup2(STDERR_FILENO, STDOUT_FILENO); /* that one is the program's */
	if (sonde_run_show(l->run, l->dir, &err))
		sonde_say("no tree so far: %s", err.msg);
	_exit(0);
}

static void tick(void *of)
{
	struct sonde_run_live *l = of;

	sonde_ctl_serve(&l->ctl);
	sonde_run_keep_look(&l->keep);
	if (l->reporter > 0 && waitpid(l->reporter, NULL, WNOHANG) == l->reporter)
		l->reporter = 0;
	if (!l->every_ns || l->reporter > 0 || sonde_now_ns() < l->next_ns)
		return;
	l->next_ns = sonde_now_ns() + l->every_ns;
	if (sonde_native_is_there(l->dir))
		start_report(l);
}

int sonde_run_live_open(struct sonde_run_live *l, struct sonde_run *r, const char *dir,
	struct sonde_child_spec *spec, struct sonde_err *err)
{
	struct sonde_err why = {0};
	int rc;

	/* The tree is that of all ranks: one of them prints it. */
	*l = (struct sonde_run_live){.run = r, .dir = dir, .every_ns = r->dir.is_first ? r->set.every_ns : 0, .ctl = {.fd = -1, .dir_fd = -1},
		.keep = {.run = r, .dir = dir}};
	rc = sonde_native_attach_make(dir, NULL, err);
	if (rc == 0)
		rc = sonde_inject_orders_open(&l->orders, dir, err);
	if (rc)
		return rc;
	if (sonde_ctl_open(&l->ctl, dir, &l->orders, &why))
		sonde_say("`sonde ctl` cannot reach this run: %s", why.msg);
	l->next_ns = sonde_now_ns() + l->every_ns;
	spec->tick = tick;
	spec->tick_ms = TICK_MS;
	spec->own_signal = r->set.window.signal;
	spec->on_signal = toggle;
	spec->of = l;
	return 0;
}

void sonde_run_live_close(struct sonde_run_live *l)
{
	if (l->reporter > 0) {
		kill(l->reporter, SIGTERM); /* the whole report comes now */
		waitpid(l->reporter, NULL, 0);
	}
	sonde_run_keep_end(&l->keep);
	sonde_ctl_close(&l->ctl);
	sonde_inject_orders_release(&l->orders);
}
