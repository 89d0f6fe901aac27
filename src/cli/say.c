#include "cli/say.h"

#include "cli/terminal.h"
#include "base/escape.h"

#include <stdarg.h>
#include <stdio.h>

void sonde_say(const char *fmt, ...)
{
	va_list ap;

	fputs("sonde: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void sonde_say_text(struct sonde_str text)
{
	struct sonde_buf b = {0};

	sonde_escape_terminal(&b, text, sonde_terminal_is_utf8());
	if (!b.failed)
		sonde_say("%.*s", SONDE_STR_ARG(sonde_buf_view(&b)));
	sonde_buf_release(&b);
}
