/*
 * Talking to a run: `sonde run` listens on a socket beside the native captures,
 * `sonde ctl` finds it by the number of a process and asks.
 *
 * The socket is the user's alone (mode 0600), and whoever connects must be that
 * user, as the kernel says (SO_PEERCRED). A question is one line, so is the
 * answer: `ok …` or `error …`.
 *
 *     start, stop    orders for the programs (inject_orders.h)
 *     mark TEXT      marks this moment in their captures
 *     where          has what is recorded written, and says the directory it is in
 */
#ifndef SONDE_CAPTURE_CTL_H
#define SONDE_CAPTURE_CTL_H

#include "capture/inject_orders.h"

#include <sys/types.h>

struct sonde_ctl {
	int fd, dir_fd;	    /* -1 = nobody listens */
	char name[32];	    /* of the socket, in its directory */
	const char *dir;    /* of the captures, borrowed */
	struct sonde_inject_orders *orders;
};

/* The runner's side. Nobody needs it: that it fails is no error of a run, but `err` says why. */
int sonde_ctl_open(
	struct sonde_ctl *c, const char *dir, struct sonde_inject_orders *orders, struct sonde_err *err);
/* Answers everybody who has connected and asked; does not wait long for a question. */
void sonde_ctl_serve(struct sonde_ctl *c);
void sonde_ctl_close(struct sonde_ctl *c);

/*
 * The asker's side: `pid` is the program, a process it started, or the `sonde run` around it.
 * The answer without its `ok`; an `error` of the other side is SONDE_ERR_USAGE.
 */
int sonde_ctl_ask(struct sonde_buf *answer, pid_t pid, struct sonde_str question, struct sonde_err *err);

#endif
