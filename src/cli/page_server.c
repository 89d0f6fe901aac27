#include "cli/page_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/*
 * Browsers open connections that they may never use: with several places, these do not keep the one that asks waiting.
 */
#define MAX_VISITORS  16
#define MAX_REQUEST   8192
#define REQUEST_MS    5000  /* most time from the connection to the end of the request */
#define ANSWER_MS     30000 /* most time in which the visitor takes no byte */

static const char not_found[] = "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n"
				"Connection: close\r\n\r\nnot found\n";

/* A browser that has connected. */
struct visitor {
	int fd; /* -1 = this place is free */
	int64_t until_ms;
	char request[MAX_REQUEST];
	size_t nr_read;
	struct sonde_str head, body; /* what is left to send */
	bool is_answered;	     /* the request is complete, and `head` and `body` are its answer */
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int make_token(struct sonde_page_server *s, struct sonde_err *err)
{
	unsigned char bits[16];
	size_t i;

	if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
		return sonde_err_system(err, errno, "no random numbers for the page's address");
	for (i = 0; i < sizeof(bits); i++)
		snprintf(s->token + 2 * i, 3, "%02x", bits[i]);
	return 0;
}

static int start_listening(struct sonde_page_server *s, unsigned port, struct sonde_err *err)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(at);
	int yes = 1;

	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return sonde_err_system(err, errno, "cannot serve the page");
	setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(s->fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(s->fd, MAX_VISITORS) < 0 ||
		getsockname(s->fd, (struct sockaddr *)&at, &size) < 0)
		return sonde_err_system(err, errno, "cannot serve the page on port %u: choose another with --port", port);
	s->port = ntohs(at.sin_port);
	return 0;
}

int sonde_page_server_open(struct sonde_page_server *s, const char *page, unsigned port, struct sonde_err *err)
{
	int rc;

	*s = (struct sonde_page_server){.fd = -1};
	rc = sonde_mapping_open(&s->page, page, err);
	if (rc == 0)
		rc = make_token(s, err);
	if (rc == 0)
		rc = start_listening(s, port, err);
	snprintf(s->head, sizeof(s->head),
		"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %zu\r\n"
		"Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
		"X-Frame-Options: DENY\r\nConnection: close\r\n\r\n",
		s->page.data.n);
	return rc;
}

void sonde_page_server_close(struct sonde_page_server *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	sonde_mapping_release(&s->page);
}

static void close_visitor(struct visitor *v)
{
	close(v->fd);
	v->fd = -1;
}

static void accept_visitor(const struct sonde_page_server *s, struct visitor *visitors)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	size_t i;

	for (i = 0; fd >= 0 && i < MAX_VISITORS; i++) {
		struct visitor *v = &visitors[i];

		if (v->fd >= 0)
			continue;
		v->fd = fd;
		v->nr_read = 0;
		v->is_answered = false;
		v->until_ms = now_ms() + REQUEST_MS;
		return;
	}
	if (fd >= 0)
		close(fd);
}

/*
 * Whether the request line asks for the page. Every comparison takes the same time, so the token cannot be guessed byte
 * by byte.
 */
static bool asks_for_page(const struct sonde_page_server *s, const struct visitor *v)
{
	char want[64];
	size_t n = (size_t)snprintf(want, sizeof(want), "GET /%s/ HTTP/1.", s->token), i;
	unsigned char differs = 0;

	if (v->nr_read < n)
		return false;
	for (i = 0; i < n; i++)
		differs |= (unsigned char)(v->request[i] ^ want[i]);
	return differs == 0;
}

static void choose_answer(const struct sonde_page_server *s, struct visitor *v)
{
	bool is_page = asks_for_page(s, v);

	v->head = is_page ? sonde_str_from(s->head) : SONDE_STR("");
	v->body = is_page ? s->page.data : sonde_str_from(not_found);
	v->is_answered = true;
	v->until_ms = now_ms() + ANSWER_MS;
}

static void read_request(const struct sonde_page_server *s, struct visitor *v)
{
	ssize_t got = recv(v->fd, v->request + v->nr_read, sizeof(v->request) - v->nr_read, 0);

	if (got <= 0) {
		if (got == 0 || (errno != EAGAIN && errno != EINTR))
			close_visitor(v);
		return;
	}
	v->nr_read += (size_t)got;
	if (memmem(v->request, v->nr_read, "\r\n\r\n", 4))
		choose_answer(s, v);
	else if (v->nr_read == sizeof(v->request))
		close_visitor(v);
}

/*
 * Sends what the connection takes now. After the last byte it waits for the visitor to hang up, so that everything
 * arrives.
 */
static void send_answer(struct visitor *v)
{
	struct sonde_str *part = v->head.n ? &v->head : &v->body;
	ssize_t sent = send(v->fd, part->p, part->n, MSG_NOSIGNAL);

	if (sent < 0) {
		if (errno != EAGAIN && errno != EINTR)
			close_visitor(v);
		return;
	}
	part->p += sent;
	part->n -= (size_t)sent;
	v->until_ms = now_ms() + ANSWER_MS;
	if (!v->head.n && !v->body.n) {
		shutdown(v->fd, SHUT_WR);
		v->until_ms = now_ms() + REQUEST_MS;
	}
}

/* Reads and drops what comes after the request; when that ends, the visit ends. */
static void read_until_hangup(struct visitor *v)
{
	ssize_t got = recv(v->fd, v->request, sizeof(v->request), 0);

	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		close_visitor(v);
}

static bool has_more(const struct visitor *v)
{
	return v->head.n || v->body.n;
}

static void serve_visitor(const struct sonde_page_server *s, struct visitor *v, short events)
{
	if (v->fd < 0)
		return;
	if (now_ms() > v->until_ms)
		close_visitor(v);
	else if (!events)
		return;
	else if (!v->is_answered)
		read_request(s, v);
	else if (has_more(v))
		send_answer(v);
	else
		read_until_hangup(v);
}

static volatile sig_atomic_t is_over;

static void on_end(int signo)
{
	(void)signo;
	is_over = 1;
}

static int wait_and_serve(const struct sonde_page_server *s, struct visitor *visitors, const sigset_t *open_mask)
{
	struct pollfd fds[MAX_VISITORS + 1] = {{s->fd, POLLIN, 0}};
	const struct timespec second = {1, 0};
	size_t i;

	for (i = 0; i < MAX_VISITORS; i++) {
		const struct visitor *v = &visitors[i];

		fds[i + 1] = (struct pollfd){v->fd, v->is_answered && has_more(v) ? POLLOUT : POLLIN, 0};
	}
	if (ppoll(fds, MAX_VISITORS + 1, &second, open_mask) < 0)
		return errno == EINTR ? 0 : errno;
	for (i = 0; i < MAX_VISITORS; i++)
		serve_visitor(s, &visitors[i], fds[i + 1].revents);
	if (fds[0].revents)
		accept_visitor(s, visitors);
	return 0;
}

int sonde_page_server_run(struct sonde_page_server *s, struct sonde_err *err)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct visitor visitors[MAX_VISITORS];
	struct sigaction act = {.sa_handler = on_end}, before[3];
	sigset_t ours, mask;
	size_t i;
	int failed = 0;

	sigemptyset(&ours);
	for (i = 0; i < 3; i++) {
		sigaddset(&ours, ends[i]);
		sigaction(ends[i], &act, &before[i]);
	}
	sigprocmask(SIG_BLOCK, &ours, &mask); /* they arrive while ppoll waits, and at no other time */
	for (i = 0; i < MAX_VISITORS; i++)
		visitors[i] = (struct visitor){.fd = -1};
	for (is_over = 0; !is_over && !failed;)
		failed = wait_and_serve(s, visitors, &mask);
	for (i = 0; i < MAX_VISITORS; i++)
		if (visitors[i].fd >= 0)
			close_visitor(&visitors[i]);
	for (i = 0; i < 3; i++)
		sigaction(ends[i], &before[i], NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return failed ? sonde_err_system(err, failed, "the page is no longer served") : 0;
}
