#include "cli/terminal.h"

#include "base/file.h"
#include "base/nearest.h"
#include "capture/rundir.h"

#include <ctype.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

size_t sonde_terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long n = columns ? strtol(columns, NULL, 10) : 0;

	if (n >= 20 && n < 10000)
		return (size_t)n;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	return 100;
}

bool sonde_terminal_is_coloured(int colour)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (colour != SONDE_COLOUR_AUTO)
		return colour == SONDE_COLOUR_ALWAYS;
	return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
	       !(term && strcmp(term, "dumb") == 0);
}

bool sonde_terminal_is_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

int sonde_output_open(struct sonde_sink *out, const char *path, struct sonde_err *err)
{
	int rc;

	if (!path) {
		sonde_sink_init_fd(out, STDOUT_FILENO);
		return 0;
	}
	rc = sonde_sink_open(out, path, err);
	if (rc == 0 && sonde_output_stem(path).n < strlen(path))
		sonde_sink_pack(out);
	return rc;
}

int sonde_output_refuse_terminal(const char *command, const char *format, struct sonde_err *err)
{
	struct sonde_rank rank;

	sonde_rank_find(&rank);
	if (!isatty(STDOUT_FILENO) || rank.is_parallel || rank.size) /* mpirun gives its processes terminals of their own */
		return 0;
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"%s: -f %s is not for a terminal: name a file with -o FILE, or look at the page with `sonde %s`", command, format,
		strcmp(command, "diff") == 0 ? "diff --open" : "view");
}

struct sonde_str sonde_output_stem(const char *path)
{
	struct sonde_str name = sonde_str_from(path);

	return sonde_str_ends(name, ".gz") && name.n > 3 ? (struct sonde_str){name.p, name.n - 3} : name;
}

/* The ending of a path: its last dot and what follows, if that begins with a letter. `run.2` has no ending. */
static struct sonde_str ending_of(struct sonde_str path)
{
	size_t i = path.n;

	while (i && isalnum((unsigned char)path.p[i - 1]))
		i--;
	if (i < 2 || path.p[i - 1] != '.' || path.p[i - 2] == '/' || !isalpha((unsigned char)path.p[i < path.n ? i : 0]))
		return (struct sonde_str){0};
	return (struct sonde_str){path.p + i - 1, path.n - i + 1};
}

static bool is_no_file(const char *path)
{
	struct stat st;

	return sonde_str_ends(sonde_str_from(path), "/") || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

static bool ends_with(struct sonde_str name, struct sonde_str end)
{
	return name.n > end.n && memcmp(name.p + name.n - end.n, end.p, end.n) == 0;
}

int sonde_output_check(const char *command, const char *path, const char *endings, struct sonde_err *err)
{
	struct sonde_str name = sonde_str_from(path), stem = sonde_output_stem(path), rest = sonde_str_from(endings);
	struct sonde_nearest near = {.word = ending_of(stem), .below = 2};
	struct sonde_buf list = {0};
	int rc = 0;

	if (is_no_file(path) || (!near.word.n && stem.n == name.n))
		return 0;
	while (rest.n) {
		struct sonde_str end = sonde_str_cut(rest, '|', &rest);

		if (end.n && (ends_with(name, end) || ends_with(stem, end)))
			goto out;
		if (end.n)
			sonde_buf_printf(&list, "%s%.*s", list.n ? ", " : "", SONDE_STR_ARG(end));
		sonde_nearest_offer(&near, end);
	}
	rc = sonde_err_set(err, SONDE_ERR_USAGE,
		"%s: %s: no format has the ending %.*s%s%.*s? The endings are %s; .gz behind one of them compresses, "
		"and -f FORMAT writes a file of any name",
		command, path, SONDE_STR_ARG(near.word.n ? near.word : SONDE_STR(".gz")), near.best.n ? ", did you mean " : ", which did you mean",
		SONDE_STR_ARG(near.best), list.failed ? "" : list.p);
out:
	sonde_buf_release(&list);
	return rc;
}
