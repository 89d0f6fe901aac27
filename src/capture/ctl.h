/*
 * Talking to a run: `sonde run` listens on a socket beside the native captures, `sonde ctl` finds it by the number of a
 * process and asks.
 *
 * The socket is the user's alone (mode 0600), and whoever connects must be that user or root, as the kernel says
 * (SO_PEERCRED). A question is one line, so is the answer: `ok …` or `error …`.
 *
 *     start, stop    orders for the programs (inject_orders.h)
 *     mark TEXT      marks this moment in their captures
 *     where          has the library write what it has recorded; answers the directory of the captures
 */
#ifndef SONDE_CAPTURE_CTL_H
#define SONDE_CAPTURE_CTL_H

#include "capture/inject_orders.h"

#include <sys/types.h>

struct sonde_ctl {
	int fd, dir_fd;	    /* -1 = not listening */
	char name[32];	    /* name of the socket in `dir` */
	const char *dir;    /* directory of the captures; borrowed */
	struct sonde_inject_orders *orders;
};

/* The runner's side. A run works without it: a failure is no error of the run, but `err` says why. */
int sonde_ctl_open(
	struct sonde_ctl *c, const char *dir, struct sonde_inject_orders *orders, struct sonde_err *err);
/* Answers everybody who has connected; does not wait long for a question. */
void sonde_ctl_serve(struct sonde_ctl *c);
void sonde_ctl_close(struct sonde_ctl *c);

/*
 * The asker's side: `pid` is the program, a process it started, or the `sonde run` around it. Appends the answer
 * without its `ok`; SONDE_ERR_USAGE when the other side answers `error`.
 */
int sonde_ctl_ask(struct sonde_buf *answer, pid_t pid, struct sonde_str question, struct sonde_err *err);

#endif
