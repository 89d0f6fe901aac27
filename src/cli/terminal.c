#include "cli/terminal.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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
	if (path)
		return sonde_sink_open(out, path, err);
	sonde_sink_init_fd(out, STDOUT_FILENO);
	return 0;
}
