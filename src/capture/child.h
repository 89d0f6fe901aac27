/*
 * A child: a program or profiler started and watched, without any shell.
 *
 * It runs in a process group of its own with sonde's stdin, stdout and stderr. On a terminal it gets the foreground
 * whenever sonde has it, so that Ctrl-C, Ctrl-Z, bg, fg and its own reading work as usual. If sonde's stdout is a pipe,
 * whose other end may be a pager, the child gets the foreground only once it wants to read. SIGINT, SIGTERM, SIGHUP and
 * SIGQUIT that reach sonde are passed on to the whole group, the third one as SIGKILL; SIGUSR1 and SIGUSR2 are passed
 * on to the program alone. Signals that sonde itself ignores or blocks have their usual effect in the child.
 */
#ifndef SONDE_CAPTURE_CHILD_H
#define SONDE_CAPTURE_CHILD_H

#include "base/err.h"
#include "base/str.h"

struct sonde_child_spec {
	char *const *argv;	/* argv[0] is looked up in PATH unless it has a slash */
	char *const *env;	/* NAME=VALUE, added to the environment; NULL = none */
	const char *dir;	/* directory to run in; NULL = the current one */
	bool is_helper;		/* stdin is /dev/null, no terminal, stderr also goes to `out_fd` */
	int out_fd;		/* where a helper's output goes; -1 = /dev/null */
	unsigned timeout_ms;	/* SIGTERM after this long, SIGKILL 5 s later; 0 = never */
	unsigned tick_ms;	/* call `tick` this often; 0 = 250 */
	void (*tick)(void *of); /* may be NULL */
	int own_signal;		/* signal that is not passed on: `on_signal` is called instead; 0 = none */
	void (*on_signal)(void *of);
	void *of;
};

struct sonde_child_end {
	int status;	     /* its exit status, or 128 + the signal that ended it */
	int signal;	     /* the signal that ended it; 0 = it exited by itself */
	bool is_interrupted; /* sonde passed on a signal that ends it, or it died of SIGINT */
	bool is_timed_out;
};

/*
 * Runs the program to its end. SONDE_ERR_NOTFOUND when the program does not exist or cannot be executed (`err` says
 * which and why), SONDE_ERR_IO when it could not be started for another reason. Once the child has started, returns 0,
 * however it ends.
 */
int sonde_child_run(
	struct sonde_child_end *out, const struct sonde_child_spec *spec, struct sonde_err *err);

/*
 * Replaces this process by the program. Returns only on failure, with the errors of sonde_child_run. Uses only `argv`,
 * `env` and `dir` of `spec`.
 */
int sonde_child_become(const struct sonde_child_spec *spec, struct sonde_err *err);

#endif
