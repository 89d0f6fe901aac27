#include "cli/shrunk_input.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Everything here runs in a signal handler: it uses system calls and the stack, and nothing else. */

struct lines {
	int fd;
	size_t n, at;
	char chunk[4096];
};

/* Reads the next line: at most `size` - 1 bytes, the rest is dropped. False at the end. */
static bool next_line(struct lines *in, char *to, size_t size)
{
	size_t n = 0;
	ssize_t got;
	char c = '\0';

	while (c != '\n') {
		if (in->at == in->n) {
			got = read(in->fd, in->chunk, sizeof(in->chunk));
			if (got <= 0)
				return false;
			in->n = (size_t)got;
			in->at = 0;
		}
		c = in->chunk[in->at++];
		if (c != '\n' && n + 1 < size)
			to[n++] = c;
	}
	to[n] = '\0';
	return true;
}

static const char *read_hex(const char *p, uintptr_t *out)
{
	for (*out = 0;; p++) {
		if (*p >= '0' && *p <= '9')
			*out = *out << 4 | (uintptr_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*out = *out << 4 | (uintptr_t)(*p - 'a' + 10);
		else
			return p;
	}
}

/* Finds the path of the file mapped at `address`, in a line `from-to … /path` of /proc/self/maps; NULL = none. */
static const char *file_at(uintptr_t address, char *line, size_t size)
{
	struct lines in = {.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
	const char *path = NULL, *p;
	uintptr_t from = 0, to = 0;

	while (in.fd >= 0 && !path && next_line(&in, line, size)) {
		p = read_hex(line, &from);
		p = *p == '-' ? read_hex(p + 1, &to) : p;
		if (*p == ' ' && address >= from && address < to)
			path = strchr(p, '/');
	}
	if (in.fd >= 0)
		close(in.fd);
	return path;
}

/* Control characters in a name must not reach a terminal. */
static void make_inert(char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f)
			*name = '?';
}

static void write_text(const char *text)
{
	size_t n = strlen(text);

	if (write(STDERR_FILENO, text, n) != (ssize_t)n)
		return;
}

static void on_bus_error(int signo, siginfo_t *info, void *context)
{
	char line[4608]; /* PATH_MAX and what comes before the path */
	const char *path = file_at((uintptr_t)info->si_addr, line, sizeof(line));

	(void)context;
	if (!path) { /* not an input: end as without this handler */
		signal(signo, SIG_DFL);
		raise(signo);
		return;
	}
	make_inert(line);
	write_text("sonde: ");
	write_text(path);
	write_text(": became shorter while it was read, or its disk failed; try again when nothing writes "
	    "it\n");
	_exit(1);
}

void sonde_shrunk_input_watch(void)
{
	struct sigaction act = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

	sigemptyset(&act.sa_mask);
	sigaction(SIGBUS, &act, NULL);
}
