/*
 * A server for one page, for browsers on another machine that come by ssh.
 *
 * It listens on 127.0.0.1 only and answers one request, `GET /TOKEN/`, with the page; the token is random, so that
 * other users of the machine cannot guess the address. Everything else is 404. Size and time of a request are limited,
 * and few are served at once: a visitor that exceeds a limit is hung up on. The page is read once, when the server is
 * opened.
 */
#ifndef SONDE_CLI_PAGE_SERVER_H
#define SONDE_CLI_PAGE_SERVER_H

#include "base/file.h"

struct sonde_page_server {
	int fd;
	unsigned port;
	char token[33]; /* 128 random bits in hexadecimal */
	struct sonde_mapping page;
	char head[512]; /* HTTP head of the answer that has the page */
};

/* `port` 0 = any free port. Close `s` even if this fails. */
int sonde_page_server_open(struct sonde_page_server *s, const char *page, unsigned port, struct sonde_err *err);
/* Serves until SIGINT, SIGTERM or SIGHUP. These are a normal end: 0. */
int sonde_page_server_run(struct sonde_page_server *s, struct sonde_err *err);
void sonde_page_server_close(struct sonde_page_server *s);

#endif
