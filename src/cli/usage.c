/* Help from option tables: for a terminal, for the manual, for completions. */
#include "cli/option.h"

#include <ctype.h>
#include <string.h>

#define HELP_COLUMN 30
#define HELP_WIDTH  80

static const struct sonde_option help_option = {
	'h', "help", NULL, "this text", SONDE_OPTION_FLAG, 0, NULL};

/* Prints the words of `text` from HELP_COLUMN on; the cursor is at `column`. */
static void print_wrapped(struct sonde_sink *to, const char *text, size_t column)
{
	struct sonde_str rest = sonde_str_from(text);

	if (column >= HELP_COLUMN)
		sonde_sink_printf(to, "\n%*s", HELP_COLUMN, "");
	else
		sonde_sink_printf(to, "%*s", (int)(HELP_COLUMN - column), "");
	column = HELP_COLUMN;
	while (rest.n) {
		struct sonde_str word = sonde_str_cut(rest, ' ', &rest);

		if (column > HELP_COLUMN && column + 1 + word.n > HELP_WIDTH) {
			sonde_sink_printf(to, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (column > HELP_COLUMN) {
			sonde_sink_putc(to, ' ');
			column++;
		}
		sonde_sink_str(to, word);
		column += word.n;
	}
	sonde_sink_putc(to, '\n');
}

static void print_option(struct sonde_sink *to, const struct sonde_option *o)
{
	struct sonde_buf left = {0};

	if (o->letter)
		sonde_buf_printf(&left, "  -%c, --%s", o->letter, o->name);
	else
		sonde_buf_printf(&left, "      --%s", o->name);
	if (o->kind == SONDE_OPTION_MAYBE)
		sonde_buf_printf(&left, "[=%s]", o->arg);
	else if (o->kind != SONDE_OPTION_FLAG)
		sonde_buf_printf(&left, " %s", o->arg);
	sonde_sink_str(to, sonde_buf_view(&left));
	print_wrapped(to, o->help, left.n);
	sonde_buf_release(&left);
}

static void print_text(const struct sonde_usage *u, struct sonde_sink *to)
{
	size_t i;

	sonde_sink_printf(to, "usage: %s\n\n%s\n\noptions:\n", u->synopsis, u->about);
	for (i = 0; i < u->nr_options; i++)
		print_option(to, &u->options[i]);
	print_option(to, &help_option);
	sonde_sink_puts(to, "\nexamples:\n");
	for (i = 0; i < 2; i++)
		sonde_sink_printf(to, "  # %s\n  %s\n", u->examples[i][0], u->examples[i][1]);
}

void sonde_man_text(struct sonde_sink *to, struct sonde_str text)
{
	size_t i;

	for (i = 0; i < text.n; i++) {
		char c = text.p[i];

		if ((i == 0 || text.p[i - 1] == '\n') && (c == '.' || c == '\''))
			sonde_sink_puts(to, "\\&");
		if (c == '\\')
			sonde_sink_puts(to, "\\e");
		else if (c == '-')
			sonde_sink_puts(to, "\\-");
		else
			sonde_sink_putc(to, c);
	}
}

void sonde_man_head(struct sonde_sink *to, const char *name, const char *summary)
{
	const char *p;

	sonde_sink_puts(to, ".\\\" Made by `--help=man` from the tables `--help` is made from.\n.TH ");
	for (p = name; *p; p++)
		sonde_sink_putc(to, (char)toupper((unsigned char)*p));
	sonde_sink_puts(to, " 1 \"\" \"sonde " SONDE_VERSION "\" \"User Commands\"\n.SH NAME\n");
	sonde_man_text(to, sonde_str_from(name));
	sonde_sink_puts(to, " \\- ");
	sonde_man_text(to, sonde_str_from(summary));
	sonde_sink_putc(to, '\n');
}

static void print_man_option(struct sonde_sink *to, const struct sonde_option *o)
{
	sonde_sink_puts(to, ".TP\n\\fB");
	if (o->letter)
		sonde_sink_printf(to, "\\-%c\\fR, \\fB", o->letter);
	sonde_sink_puts(to, "\\-\\-");
	sonde_man_text(to, sonde_str_from(o->name));
	sonde_sink_puts(to, "\\fR");
	if (o->kind != SONDE_OPTION_FLAG) {
		sonde_sink_puts(to, o->kind == SONDE_OPTION_MAYBE ? "[=\\fI" : " \\fI");
		sonde_man_text(to, sonde_str_from(o->arg));
		sonde_sink_puts(to, o->kind == SONDE_OPTION_MAYBE ? "\\fR]" : "\\fR");
	}
	sonde_sink_putc(to, '\n');
	sonde_man_text(to, sonde_str_from(o->help));
	sonde_sink_putc(to, '\n');
}

/* One line for each form, without the blanks that align them in --help. */
static void print_man_synopsis(struct sonde_sink *to, const char *synopsis)
{
	struct sonde_str rest = sonde_str_from(synopsis);

	sonde_sink_puts(to, ".SH SYNOPSIS\n.nf\n");
	while (rest.n) {
		struct sonde_str line = sonde_str_cut(rest, '\n', &rest);

		sonde_man_text(to, sonde_str_trim(line));
		sonde_sink_putc(to, '\n');
	}
	sonde_sink_puts(to, ".fi\n");
}

/* --help explains the exit status at its end; the manual has a section for it. */
static void print_man_about(struct sonde_sink *to, struct sonde_str about)
{
	static const char mark[] = "Exit status: ";
	const char *status = memmem(about.p, about.n, mark, sizeof(mark) - 1);

	sonde_sink_puts(to, ".SH DESCRIPTION\n");
	sonde_man_text(to, status ? (struct sonde_str){about.p, (size_t)(status - about.p)} : about);
	if (status) {
		sonde_sink_puts(to, "\n.SH EXIT STATUS\n");
		sonde_man_text(to, sonde_str_from(status + sizeof(mark) - 1));
	}
}

static void print_man(const struct sonde_usage *u, struct sonde_sink *to)
{
	size_t i;

	print_man_synopsis(to, u->synopsis);
	print_man_about(to, sonde_str_from(u->about));
	sonde_sink_puts(to, "\n.SH OPTIONS\n");
	for (i = 0; i < u->nr_options; i++)
		print_man_option(to, &u->options[i]);
	print_man_option(to, &help_option);
	sonde_sink_puts(to, ".SH EXAMPLES\n");
	for (i = 0; i < 2; i++) {
		sonde_sink_puts(to, ".TP\n");
		sonde_man_text(to, sonde_str_from(u->examples[i][0]));
		sonde_sink_puts(to, "\n.nf\n");
		sonde_man_text(to, sonde_str_from(u->examples[i][1]));
		sonde_sink_puts(to, "\n.fi\n");
	}
	sonde_sink_puts(to, ".SH SEE ALSO\n.BR sonde (1)\n");
}

/* Prints the kind, the letter, the name, the value and the help, with tabs in between. */
static void print_row(struct sonde_sink *to, const struct sonde_option *o)
{
	bool is_choice = o->kind == SONDE_OPTION_CHOICE || o->kind == SONDE_OPTION_ONE_OF;

	sonde_sink_printf(to, "%s\t%c\t%s\t%s\t%s\n",
		o->kind == SONDE_OPTION_FLAG || o->kind == SONDE_OPTION_MAYBE ? "flag"
		: is_choice		     ? "choice"
					     : "value",
		o->letter ? o->letter : '-', o->name, o->arg ? o->arg : "-", o->help);
}

void sonde_usage_print(
	const struct sonde_usage *u, const struct sonde_args *args, struct sonde_sink *to)
{
	size_t i;

	if (args->help_as == SONDE_HELP_TEXT) {
		print_text(u, to);
	} else if (args->help_as == SONDE_HELP_MAN) {
		print_man(u, to);
	} else {
		for (i = 0; i < u->nr_options; i++)
			print_row(to, &u->options[i]);
		print_row(to, &help_option);
	}
}
