/* The asker's side of ctl.h: from the number of a process to the socket of its run. */
#include "capture/ctl.h"

#include "capture/proc.h"
#include "format/attach.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_DEPTH 64	    /* of parents: more are a loop of recycled numbers */
#define ANSWER_S  10	    /* how long to wait for an answer */

static pid_t parent_of(pid_t pid)
{
	struct sonde_proc p;

	return sonde_proc_find(&p, pid) ? (pid_t)p.parent : 0;
}

/* Whether `pid` is `above` or was started by it, or by what it started. */
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

/* The directory of a process's native capture, from its environment; false when it has none. */
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

/* The process itself, or else one below it that carries the library. */
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

/* Connects to the run around `carrier`: the nearest parent with a socket there. */
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
	carrier = find_carrier(dir, pid);
	if (!carrier)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"process %d is not in a native capture: start it by `sonde run -- COMMAND`",
			(int)pid);
	*fd = connect_above(dir, carrier);
	if (*fd < 0)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"the `sonde run` around process %d has ended or does not listen; its captures "
			"are in %s",
			(int)pid, dir);
	return 0;
}

/* The line to send. Of a mark that is too long the beginning, up to a whole character: true. */
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
