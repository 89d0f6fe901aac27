#include "cli/messages.h"

#include "cli/command.h"
#include "cli/terminal.h"
#include "base/escape.h"
#include "base/file.h"
#include "capture/progress.h"

#include <stdarg.h>
#include <stdio.h>

/*
 * Any part of a message may come from a file. So nothing in it may move the cursor, and text after a line end is
 * indented: no name can look like a message of its own. Invariant 11. Rooms return errors and notes, which are printed
 * here.
 */
void sonde_say_text(struct sonde_str text)
{
	struct sonde_buf b = {0};
	const char *lead = "sonde: ";

	do {
		struct sonde_str line = sonde_str_cut(text, '\n', &text);

		sonde_buf_puts(&b, lead);
		sonde_escape_terminal(&b, line, sonde_terminal_is_utf8());
		sonde_buf_putc(&b, '\n');
		lead = "  ";
	} while (text.n);
	if (!b.failed)
		fwrite(b.p, 1, b.n, stderr);
	sonde_buf_release(&b);
}

void sonde_say_progress(const char *line, bool is_live)
{
	if (is_live)
		fprintf(stderr, "\r\033[K%s", line);
	else
		sonde_say("%s", line);
	fflush(stderr);
}

void sonde_say_where(const char *what, const char *dir)
{
	if (sonde_dir_exists(dir))
		sonde_say("%s %s", what, dir);
	else
		sonde_say("%s was removed while the program ran, and the captures with it; choose a directory "
			  "that the program leaves alone (-o DIR)",
			dir);
}

void sonde_say_notes(const struct sonde_notes *notes)
{
	size_t i;

	for (i = 0; i < notes->texts.nr; i++)
		sonde_say_text(notes->texts.keys[i]);
}

void sonde_say_advice(enum sonde_situation s, const char *detail)
{
	struct sonde_buf b = {0};

	sonde_advice_say(&b, s, detail);
	sonde_say_text(b.failed ? SONDE_STR("out of memory") : sonde_buf_view(&b));
	sonde_say("  try: %s", sonde_advice_on(s)->next);
	sonde_buf_release(&b);
}

void sonde_say_log(const struct sonde_ncu_log *log, const char *path)
{
	bool has_any = false;
	unsigned s;

	for (s = 0; s < SONDE_NR_LOG_SITUATIONS; s++)
		if (sonde_ncu_log_should_tell(log, s)) {
			sonde_say_advice(s, log->details[s]);
			has_any = true;
		}
	if (has_any)
		sonde_say("  log: %s", path);
}

void sonde_say(const char *fmt, ...)
{
	struct sonde_buf b = {0};
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	sonde_say_text(b.failed ? SONDE_STR("out of memory") : sonde_buf_view(&b));
	sonde_buf_release(&b);
}

int sonde_cmd_fail(const struct sonde_err *err)
{
	sonde_say_text(sonde_str_from(err->msg));
	return err->code == SONDE_ERR_USAGE ? 2 : 1;
}
