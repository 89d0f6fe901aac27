/* The runner's side of ctl.h. */
#include "capture/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ASK_MS 100 /* how long a question may take to come */

/* By its directory's descriptor: the path of a run directory may be longer than a socket's. */
static void address(struct sockaddr_un *a, const struct sonde_ctl *c)
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
	address(&a, c);
	unlinkat(c->dir_fd, c->name, 0); /* of a process that had our number */
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

static void answer(const struct sonde_ctl *c, struct sonde_str line, struct sonde_buf *to)
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

/* One question: a line, whole or not at all. */
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
		answer(c,
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
