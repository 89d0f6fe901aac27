#include "cli/command.h"

#include "base/nearest.h"
#include "cli/option.h"
#include "cli/messages.h"
#include "cli/shrunk_input.h"

#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Lists and arenas of this size go back to the system when they are freed: the next stage allocates its own. */
#define GIVE_BACK_BYTES (512 * 1024)

static const struct sonde_command commands[] = {
	{"run", "profile a program: times and counters of each region, from one run", sonde_cmd_run,
		true},
	{"report", "region tree and reports from existing captures", sonde_cmd_report, false},
	{"view", "the page of a run in a browser, here or by ssh", sonde_cmd_view, false},
	{"diff", "two profiles compared: what got slower, why, and how sure that is",
		sonde_cmd_diff, false},
	{"whatif", "a run replayed with changes: what each would gain, and how sure that is",
		sonde_cmd_whatif, false},
	{"regions", "the NVTX ranges a program really has, and how to select each",
		sonde_cmd_regions, true},
	{"top", "the longest kernels of a capture: a table, or a list for `kernels`", sonde_cmd_top,
		false},
	{"kernels", "profile chosen kernels one by one, with Nsight Compute", sonde_cmd_kernels,
		true},
	{"sample", "what a GPU does right now: its hardware counters, sampled", sonde_cmd_sample,
		false},
	{"ctl", "talk to a running `sonde run`: start, stop, mark, report", sonde_cmd_ctl, false},
	{"attach", "wake a running program, profile it for a while, let it sleep again", sonde_cmd_attach, false},
	{"env", "the variables that let programs sleep until `sonde attach` wakes them", sonde_cmd_env, false},
	{"doctor", "can this machine profile, and if not, what to change", sonde_cmd_doctor, false},
	{"config", "the configuration that would be used, and where it comes from",
		sonde_cmd_config, false},
	{"validate", "check a report.json against its schema and its arithmetic",
		sonde_cmd_validate, false},
};

#define NR_COMMANDS (sizeof(commands) / sizeof(*commands))

static void print_help(struct sonde_sink *out)
{
	size_t i;

	sonde_sink_puts(out, "sonde " SONDE_VERSION ": GPU profiling by NVTX region.\n\n"
			     "usage: sonde COMMAND [options]\n       sonde FILE [options]\n\ncommands:\n");
	for (i = 0; i < NR_COMMANDS; i++)
		sonde_sink_printf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	sonde_sink_puts(out, "\n`sonde help COMMAND` explains one of them; `sonde FILE` is short for `sonde report FILE`.\n\nexamples:\n"
			     "  sonde run -- python3 train.py\n"
			     "  sonde report kernels.ncu-rep --nvtx-include 'decode*' -o out\n");
}

static void print_man_page(struct sonde_sink *out)
{
	size_t i;

	sonde_man_head(out, "sonde", "GPU profiling by NVTX region");
	sonde_sink_puts(out, ".SH SYNOPSIS\n.B sonde\n.I COMMAND\n.RI [ options ]\n.SH "
			     "DESCRIPTION\nProfiles a program, or reads a capture of one, and "
			     "shows what each of its NVTX regions cost.\nCaptures are read "
			     "without a GPU and without NVIDIA software.\n.SH COMMANDS\n");
	for (i = 0; i < NR_COMMANDS; i++) {
		sonde_sink_printf(out, ".TP\n.BR sonde\\-%s (1)\n", commands[i].name);
		sonde_man_text(out, sonde_str_from(commands[i].summary));
		sonde_sink_putc(out, '\n');
	}
	sonde_sink_puts(out, ".SH EXIT STATUS\n0 on success, 1 on failure, 2 on wrong usage. "
			     "Commands that run a program return its status.\n");
}

/* Prints a line per command, for scripts/completions. */
static void print_table(struct sonde_sink *out)
{
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++)
		sonde_sink_printf(out, "%s\t%s\n", commands[i].name, commands[i].summary);
}

static void print_version(struct sonde_sink *out)
{
	sonde_sink_puts(out, "sonde " SONDE_VERSION "\n");
}

/* Words that are not commands and are answered at once. */
static const struct {
	const char *word;
	void (*print)(struct sonde_sink *out);
} answers[] = {{"--version", print_version}, {"-V", print_version}, {"--help", print_help},
	{"-h", print_help}, {"help", print_help}, {"--help=man", print_man_page},
	{"--help=table", print_table}};

static int print_answer(void (*print)(struct sonde_sink *out), int fd)
{
	struct sonde_err err = {0};
	struct sonde_sink out;

	sonde_sink_init_fd(&out, fd);
	print(&out);
	return sonde_sink_close(&out, &err) ? sonde_cmd_fail(&err) : 0;
}

static const struct sonde_command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int refuse_unknown(const char *word)
{
	struct sonde_nearest near = {.word = sonde_str_from(word), .below = 4};
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++)
		sonde_nearest_offer(&near, sonde_str_from(commands[i].name));
	sonde_nearest_offer(&near, SONDE_STR("help"));
	if (word[0] == '-')
		sonde_say("unknown option '%s': a command comes first; `sonde --help` lists them", word);
	else if (strpbrk(word, "/."))
		sonde_say("%s: no such file, and no command; `sonde FILE` reports on a file, `sonde --help` lists the "
			  "commands", word);
	else if (near.best.n)
		sonde_say("unknown command '%s', did you mean '%s'?", word, near.best.p);
	else
		sonde_say("unknown command '%s'; `sonde --help` lists them", word);
	return 2;
}

static void print_head(const struct sonde_command *c)
{
	struct sonde_sink out;
	char name[32];

	snprintf(name, sizeof(name), "sonde-%s", c->name);
	sonde_sink_init_fd(&out, STDOUT_FILENO);
	sonde_man_head(&out, name, c->summary);
	sonde_sink_close(&out, NULL);
}

static void prepare(void)
{
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, GIVE_BACK_BYTES);
#endif
	sonde_shrunk_input_watch();
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is then an error, like a full disk */
	signal(SIGPIPE, SIG_DFL); /* a reader that leaves ends sonde, like any filter */
	setlocale(LC_CTYPE, "");
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	bool is_help = argc > 2 && strcmp(word, "help") == 0 && strcmp(argv[2], "help") != 0;
	char *help_argv[] = {is_help ? argv[2] : NULL, "--help", NULL};
	const struct sonde_command *c;
	size_t i;

	prepare();
	if (!word)
		return print_answer(print_help, STDERR_FILENO) ? 1 : 2;
	for (i = 0; i < sizeof(answers) / sizeof(*answers) && !is_help; i++)
		if (strcmp(word, answers[i].word) == 0)
			return print_answer(answers[i].print, STDOUT_FILENO);
	word = is_help ? argv[2] : word;
	c = find_command(word);
	if (!c && !is_help && access(word, F_OK) == 0)
		return sonde_cmd_report(argc, argv); /* `sonde FILE` */
	if (!c)
		return refuse_unknown(word);
	if (is_help)
		return c->run(2, help_argv);
	if (c->runs_programs)
		signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && strcmp(argv[2], "--help=man") == 0)
		print_head(c);
	return c->run(argc - 1, argv + 1);
}
