/*
 * A server of one page, for browsers on another machine that come by ssh.
 *
 * It listens on 127.0.0.1 alone and answers one request, `GET /TOKEN/`, with the page; the token
 * is random, so that other users of the machine cannot guess the address. Everything else is 404.
 * A request has a size and a time it must keep to, and few are served at once: who keeps to
 * neither is hung up on. The page is read once, when the server is opened.
 */
#ifndef SONDE_CLI_PAGE_SERVER_H
#define SONDE_CLI_PAGE_SERVER_H

#include "base/file.h"

struct sonde_page_server {
	int fd;
	unsigned port;
	char token[33]; /* 128 random bits in hexadecimal */
	struct sonde_mapping page;
	char head[512]; /* of the answer that has the page */
};

/* `port` 0 = any that is free. To be closed also when it fails. */
int sonde_page_server_open(struct sonde_page_server *s, const char *page, unsigned port, struct sonde_err *err);
/* Serves until SIGINT, SIGTERM or SIGHUP, which are a good end: 0. */
int sonde_page_server_run(struct sonde_page_server *s, struct sonde_err *err);
void sonde_page_server_close(struct sonde_page_server *s);

#endif
