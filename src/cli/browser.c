#include "cli/browser.h"

#include "base/argv.h"
#include "capture/machine.h"
#include "cli/messages.h"
#include "cli/page_server.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_MS 1000 /* a browser that cannot start has failed after this time */

int sonde_page_view_place(char path[SONDE_PAGE_PATH], struct sonde_err *err)
{
	const char *tmp = getenv("TMPDIR");
	char dir[SONDE_PAGE_PATH - 16];

	if (snprintf(dir, sizeof(dir), "%s/sonde-XXXXXX", tmp && *tmp ? tmp : "/tmp") >= (int)sizeof(dir))
		return sonde_err_set(err, SONDE_ERR_USAGE, "TMPDIR is too long: choose another place for pages");
	if (!mkdtemp(dir))
		return sonde_err_system(err, errno, "%s: cannot make a directory for the page; set TMPDIR to another", dir);
	snprintf(path, SONDE_PAGE_PATH, "%s/report.html", dir);
	return 0;
}

void sonde_page_view_forget(const struct sonde_page_view *l)
{
	char copy[SONDE_PAGE_PATH];

	if (!l->is_made)
		return;
	unlink(l->page);
	snprintf(copy, sizeof(copy), "%s", l->page);
	rmdir(dirname(copy));
}

static bool has_display(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return (x && *x) || (wayland && *wayland);
}

/* Adds one program of $BROWSER with its words. `%s` is replaced by the page; without `%s` the page comes last. */
static void add_words(struct sonde_argv *to, struct sonde_str program, const char *page)
{
	bool has_page = false;

	while (program.n) {
		struct sonde_str word = sonde_str_cut(program, ' ', &program);
		const char *sign = word.n > 1 ? memmem(word.p, word.n, "%s", 2) : NULL;

		if (sign)
			sonde_argv_printf(to, "%.*s%s%.*s", (int)(sign - word.p), word.p, page,
				(int)(word.p + word.n - sign - 2), sign + 2);
		else if (word.n)
			sonde_argv_printf(to, "%.*s", SONDE_STR_ARG(word));
		has_page |= sign != NULL;
	}
	if (!has_page)
		sonde_argv_add(to, page);
}

/*
 * Builds the command line that shows the page: the first program of $BROWSER that exists, else xdg-open; false = none.
 */
static bool choose_browser(struct sonde_argv *to, const char *page)
{
	const char *browser = getenv("BROWSER");
	struct sonde_str rest = sonde_str_from(browser ? browser : "");
	char path[1024];

	while (rest.n && !to->failed) {
		struct sonde_str program = sonde_str_trim(sonde_str_cut(rest, ':', &rest));

		if (!program.n)
			continue;
		add_words(to, program, page);
		if (!to->failed && sonde_tool_find(path, to->words.at[0]))
			return true;
		sonde_argv_release(to);
		*to = (struct sonde_argv){0};
	}
	if (!has_display() || !sonde_tool_find(path, "xdg-open"))
		return false;
	sonde_argv_pair(to, "xdg-open", page);
	return !to->failed;
}

/* Becomes the browser. With a display the browser goes on by itself, even when the terminal is closed. */
static void become_browser(char *const *argv, bool is_apart)
{
	int null = is_apart ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;

	if (is_apart)
		setsid();
	if (null >= 0 && (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0))
		_exit(127);
	execvp(argv[0], argv);
	_exit(127);
}

/* Whether the browser started well. Without a display it needs the terminal, so we wait for its end. */
static bool run_browser(char *const *argv)
{
	const struct timespec pause = {0, 20 * 1000000L};
	bool is_apart = has_display();
	int status = 0, waited_ms;
	pid_t pid = fork(), ended = 0;

	if (pid < 0)
		return false;
	if (pid == 0)
		become_browser(argv, is_apart);
	if (!is_apart)
		return waitpid(pid, &status, 0) == pid && status == 0;
	for (waited_ms = 0; waited_ms < START_MS && ended == 0; waited_ms += 20) {
		ended = waitpid(pid, &status, WNOHANG);
		if (ended == 0)
			nanosleep(&pause, NULL);
	}
	return ended == 0 || (ended == pid && status == 0);
}

static bool open_browser(const char *page)
{
	struct sonde_argv argv = {0};
	char *whole = realpath(page, NULL);
	bool is_open = false;

	if (whole && choose_browser(&argv, whole)) {
		is_open = run_browser(argv.words.at);
		if (!is_open)
			sonde_say("%s could not open the page, so it is served", argv.words.at[0]);
	}
	sonde_argv_release(&argv);
	free(whole);
	return is_open;
}

static void say_how(const struct sonde_page_server *s)
{
	char host[256] = "HOST";
	const char *user = getenv("USER");

	if (gethostname(host, sizeof(host) - 1) != 0)
		snprintf(host, sizeof(host), "HOST");
	printf("http://127.0.0.1:%u/%s/\n", s->port, s->token);
	fflush(stdout);
	sonde_say("open that address in a browser on this machine; on another, first run there:");
	sonde_say("  ssh -N -L %u:127.0.0.1:%u %s%s%s", s->port, s->port, user ? user : "", user ? "@" : "", host);
	sonde_say("Ctrl-C ends it");
}

static int serve(const struct sonde_page_view *l, struct sonde_err *err)
{
	struct sonde_page_server s;
	int rc = sonde_page_server_open(&s, l->page, (unsigned)l->port, err);

	if (rc == 0) {
		say_how(&s);
		rc = sonde_page_server_run(&s, err);
	}
	sonde_page_server_close(&s);
	sonde_page_view_forget(l);
	return rc;
}

int sonde_page_view_show(const struct sonde_page_view *l, struct sonde_err *err)
{
	if (l->port > 65535)
		return sonde_err_set(err, SONDE_ERR_USAGE, "--port: %zu is not a port: choose one from 1024 to 65535", l->port);
	if (l->is_served || !open_browser(l->page))
		return serve(l, err);
	sonde_say("opened %s", l->page);
	return 0;
}
