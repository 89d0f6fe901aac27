/*
 * Both sides of ctl.h: the runner answers on its socket; the asker finds the socket of a run from the number of a
 * process.
 */
#include "capture/ctl.h"

#include "capture/proc.h"
#include "format/attach.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ASK_MS	  100 /* how long the runner waits for a question */
#define MAX_DEPTH 64  /* most parents to follow: a longer chain is a loop of recycled process numbers */
#define ANSWER_S  10  /* how long the asker waits for an answer */

/* --- the runner -------------------------------------------------------------------------------- */

/*
 * Names the socket through the descriptor of its directory: the path of a run directory may be too long for a socket.
 */
static void name_socket(struct sockaddr_un *a, const struct sonde_ctl *c)
{
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(a->sun_path, sizeof(a->sun_path), "/proc/self/fd/%d/%s", c->dir_fd, c->name);
}

int sonde_ctl_open(
	struct sonde_ctl *c, const char *dir, struct sonde_inject_orders *orders, struct sonde_err *err)
{
	struct sockaddr_un a;
	mode_t was;
	bool ok;

	*c = (struct sonde_ctl){.fd = -1, .dir = dir, .orders = orders};
	snprintf(c->name, sizeof(c->name), "ctl.%d", (int)getpid());
	c->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	c->fd = c->dir_fd < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return sonde_err_io(err, dir, errno);
	name_socket(&a, c);
	unlinkat(c->dir_fd, c->name, 0); /* left by an earlier process that had our number */
	was = umask(0177);
	ok = bind(c->fd, (struct sockaddr *)&a, sizeof(a)) == 0;
	umask(was);
	if (ok && listen(c->fd, 16) == 0)
		return 0;
	sonde_err_system(err, errno, "%s/%s", dir, c->name);
	sonde_ctl_close(c);
	return SONDE_ERR_IO;
}

void sonde_ctl_close(struct sonde_ctl *c)
{
	if (c->fd >= 0) {
		close(c->fd);
		unlinkat(c->dir_fd, c->name, 0);
	}
	if (c->dir_fd >= 0)
		close(c->dir_fd);
	c->fd = c->dir_fd = -1;
}

static bool is_own_user(int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
	       (who.uid == geteuid() || who.uid == 0);
}

static void answer_question(const struct sonde_ctl *c, struct sonde_str line, struct sonde_buf *to)
{
	struct sonde_str text, word = sonde_str_cut(line, ' ', &text);

	if (sonde_str_is(word, "start") || sonde_str_is(word, "stop")) {
		sonde_inject_orders_capture(c->orders, word.n == 5);
		sonde_buf_printf(to, "ok %s\n", word.n == 5 ? "capturing" : "paused");
	} else if (sonde_str_is(word, "mark")) {
		sonde_inject_orders_mark(c->orders, text.n ? text : SONDE_STR("mark"));
		sonde_buf_puts(to, "ok marked\n");
	} else if (sonde_str_is(word, "where")) {
		sonde_inject_orders_flush(c->orders);
		sonde_buf_printf(to, "ok %s\n", c->dir);
	} else {
		sonde_buf_printf(to, "error this sonde run knows start, stop, mark and where, not '%.*s'\n",
			SONDE_STR_ARG(word));
	}
}

/* Answers one question: a line, which comes whole or not at all. */
static void serve_one(const struct sonde_ctl *c, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct sonde_buf out = {0};
	char line[1024];
	ssize_t n;

	if (!is_own_user(fd)) {
		sonde_buf_puts(&out, "error this run is another user's\n");
	} else {
		n = poll(&p, 1, ASK_MS) == 1 ? recv(fd, line, sizeof(line), MSG_DONTWAIT) : 0;
		if (n <= 0)
			return;
		answer_question(c,
			sonde_str_cut((struct sonde_str){line, (size_t)n}, '\n', &(struct sonde_str){0}),
			&out);
	}
	if (!out.failed)
		send(fd, out.p, out.n, MSG_DONTWAIT | MSG_NOSIGNAL);
	sonde_buf_release(&out);
}

void sonde_ctl_serve(struct sonde_ctl *c)
{
	int fd;

	while (c->fd >= 0 && (fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		serve_one(c, fd);
		close(fd);
	}
}

/* --- the asker --------------------------------------------------------------------------------- */

static pid_t parent_of(pid_t pid)
{
	struct sonde_proc p;

	return sonde_proc_find(&p, pid) ? (pid_t)p.parent : 0;
}

/* Whether `pid` is `above` or one of its descendants. */
static bool is_below(pid_t pid, pid_t above)
{
	int depth;

	for (depth = 0; pid > 1 && depth < MAX_DEPTH; depth++) {
		if (pid == above)
			return true;
		pid = parent_of(pid);
	}
	return false;
}

/* Finds the directory of a process's native capture in its environment; false when it has none. */
static bool find_dir(char dir[PATH_MAX], pid_t pid)
{
	struct sonde_buf config = {0};
	char *slash = NULL;

	if (sonde_proc_variable(&config, pid, "SONDE_INJECT_CONFIG") && config.n) {
		snprintf(dir, PATH_MAX, "%s", config.p);
		slash = strrchr(dir, '/');
	}
	if (slash)
		*slash = '\0';
	sonde_buf_release(&config);
	return slash != NULL;
}

/* Finds the process that carries the library: `pid` itself, else one of its descendants; 0 = none. */
static pid_t find_carrier(char dir[PATH_MAX], pid_t pid)
{
	const struct dirent *e;
	pid_t found = 0;
	DIR *d;

	if (find_dir(dir, pid))
		return pid;
	d = opendir("/proc");
	while (d && !found && (e = readdir(d))) {
		pid_t other = (pid_t)strtol(e->d_name, NULL, 10);

		if (isdigit((unsigned char)e->d_name[0]) && other != pid && is_below(other, pid) &&
			find_dir(dir, other))
			found = other;
	}
	if (d)
		closedir(d);
	return found;
}

/* Connects to the run around `carrier`: its own socket in `dir`, or that of its nearest parent with one. */
static int connect_above(const char *dir, pid_t carrier)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, depth;
	bool is_connected = false;

	fd = dir_fd < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (depth = 0; fd >= 0 && carrier > 1 && depth < MAX_DEPTH && !is_connected; depth++) {
		snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/ctl.%d", dir_fd,
			(int)carrier);
		is_connected = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
		carrier = parent_of(carrier);
	}
	if (dir_fd >= 0)
		close(dir_fd);
	if (fd >= 0 && !is_connected) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int open_run(int *fd, pid_t pid, struct sonde_err *err)
{
	char dir[PATH_MAX];
	pid_t carrier;

	if (kill(pid, 0) < 0 && errno == ESRCH)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, 
			"there is no process %d: give the program's number, or that of its `sonde run`",
			(int)pid);
	if (kill(pid, 0) < 0)
		return sonde_err_set(
			err, SONDE_ERR_NOTFOUND, "process %d is another user's: ask as that user", (int)pid);
	pid = (pid_t)sonde_proc_program(pid);
	carrier = find_carrier(dir, pid);
	if (!carrier)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"process %d was not started by a `sonde run` with a native capture: start it by `sonde run -- COMMAND`",
			(int)pid);
	*fd = connect_above(dir, carrier);
	if (*fd < 0)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"the `sonde run` around process %d has ended or does not listen; its captures "
			"are in %s",
			(int)pid, dir);
	return 0;
}

/* Appends the line to send. A mark that is too long is cut after a whole character; returns true then. */
static bool put_question(struct sonde_buf *to, struct sonde_str question)
{
	static const char more[] = "…";
	const size_t most = strlen("mark ") + SONDE_ATTACH_MARK - 1;
	bool is_cut = sonde_str_starts(question, "mark ") && question.n > most;

	if (is_cut)
		for (question.n = most - strlen(more);
			((unsigned char)question.p[question.n] & 0xc0) == 0x80; question.n--)
			;
	sonde_buf_str(to, question);
	sonde_buf_puts(to, is_cut ? more : "");
	sonde_buf_putc(to, '\n');
	return is_cut;
}

int sonde_ctl_ask(struct sonde_buf *answer, pid_t pid, struct sonde_str question, struct sonde_err *err)
{
	const struct timeval patience = {.tv_sec = ANSWER_S};
	struct sonde_str rest, word, text;
	struct sonde_buf got = {0};
	char piece[4096];
	bool is_cut;
	ssize_t n;
	int fd = -1, rc = open_run(&fd, pid, err);

	if (rc)
		return rc;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	is_cut = put_question(&got, question);
	n = got.failed ? -1 : send(fd, got.p, got.n, MSG_NOSIGNAL);
	sonde_buf_clear(&got);
	while (n > 0 && (n = recv(fd, piece, sizeof(piece), 0)) > 0)
		sonde_buf_add(&got, piece, (size_t)n);
	close(fd);
	word = sonde_str_cut(sonde_str_cut(sonde_buf_view(&got), '\n', &rest), ' ', &text);
	if (sonde_str_is(word, "ok")) {
		sonde_buf_add(answer, text.p, text.n);
		if (is_cut)
			sonde_buf_printf(answer, ": the text is longer than %u bytes and was cut",
				SONDE_ATTACH_MARK - 1);
	} else if (sonde_str_is(word, "error")) {
		rc = sonde_err_set(err, SONDE_ERR_USAGE, "%.*s", SONDE_STR_ARG(text));
	} else {
		rc = sonde_err_set(err, SONDE_ERR_IO,
			"the `sonde run` around process %d did not answer: if it is stopped, `fg` lets it go on",
			(int)pid);
	}
	sonde_buf_release(&got);
	return rc;
}
