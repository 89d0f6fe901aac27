/*
 * A child: a program or profiler started and watched, without any shell.
 *
 * It runs in a process group of its own with sonde's stdin, stdout and stderr.
 * On a terminal it gets the foreground whenever sonde has it, so that Ctrl-C,
 * Ctrl-Z, bg, fg and its own reading work as ever; with sonde's stdout in a pipe,
 * whose other end may be a pager, only once it wants to read. SIGINT, SIGTERM,
 * SIGHUP and SIGQUIT that reach sonde are passed to the whole group, and a third
 * one ends it for good; SIGUSR1 and SIGUSR2 go to the program alone. Signals sonde
 * itself ignores or blocks are as usual in the child.
 */
#ifndef SONDE_CAPTURE_CHILD_H
#define SONDE_CAPTURE_CHILD_H

#include "base/err.h"
#include "base/str.h"

struct sonde_child_spec {
	char *const *argv;	/* argv[0] is looked up in PATH unless it has a slash */
	char *const *env;	/* NAME=VALUE set in addition; NULL = none */
	const char *dir;	/* where it runs; NULL = here */
	bool is_helper;		/* stdin from /dev/null, no terminal, stderr into `out_fd` */
	int out_fd;		/* where a helper's output goes; -1 = /dev/null */
	unsigned timeout_ms;	/* SIGTERM after this long, SIGKILL 5 s later; 0 = never */
	unsigned tick_ms;	/* call `tick` this often; 0 = 250 */
	void (*tick)(void *of); /* may be NULL */
	int own_signal;		/* not passed on: `on_signal` is called instead; 0 = none */
	void (*on_signal)(void *of);
	void *of;
};

struct sonde_child_end {
	int status;	     /* its exit status, or 128 + the signal that ended it */
	int signal;	     /* 0 = it ended by itself */
	bool is_interrupted; /* sonde passed a signal to end it on, or it died of SIGINT */
	bool is_timed_out;
};

/*
 * Runs it to its end. SONDE_ERR_NOTFOUND when the program is not there or
 * cannot be executed (`err` says which and why), SONDE_ERR_IO when it could not
 * be started for another reason; any end of a started child is 0.
 */
int sonde_child_run(
	struct sonde_child_end *out, const struct sonde_child_spec *spec, struct sonde_err *err);

/*
 * Becomes the program: this process is it from here on. Returns only when that fails, with the
 * errors of sonde_child_run. Of `spec` only `argv`, `env` and `dir` count.
 */
int sonde_child_become(const struct sonde_child_spec *spec, struct sonde_err *err);

#endif
