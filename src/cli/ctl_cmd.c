#include "base/escape.h"
#include "capture/ctl.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WRITTEN_MS 250 /* most time until what was recorded is on disk */

struct request {
	struct sonde_args args;
	const char *format;
};

static int ask_run(const struct request *q, pid_t pid, struct sonde_err *err)
{
	struct sonde_buf question = {0}, answer = {0}, shown = {0};
	size_t i;
	int rc;

	for (i = 1; i < q->args.operands.nr; i++)
		sonde_buf_printf(&question, "%s%s", i > 1 ? " " : "", q->args.operands.at[i]);
	rc = question.failed || memchr(question.p, '\n', question.n)
		     ? sonde_err_set(err, SONDE_ERR_USAGE, "ctl: the text of a mark must be one line: leave out line ends")
		     : sonde_ctl_ask(&answer, pid, sonde_buf_view(&question), err);
	sonde_escape_terminal(&shown, sonde_buf_view(&answer), sonde_terminal_is_utf8());
	if (rc == 0)
		printf("%s\n", shown.p ? shown.p : "");
	sonde_buf_release(&question);
	sonde_buf_release(&answer);
	sonde_buf_release(&shown);
	return rc;
}

/* Prints the tree of what the programs have written so far. */
static int print_report(const struct request *q, pid_t pid, struct sonde_err *err)
{
	const struct timespec pause = {.tv_nsec = WRITTEN_MS * 1000000L};
	struct sonde_buf dir = {0};
	char *argv[] = {"report", NULL, q->format ? "--format" : NULL, (char *)(uintptr_t)q->format,
		NULL};
	int rc = sonde_ctl_ask(&dir, pid, SONDE_STR("where"), err), status;

	if (rc) {
		sonde_buf_release(&dir);
		return rc;
	}
	nanosleep(&pause, NULL);
	argv[1] = dir.p;
	status = sonde_cmd_report(q->format ? 4 : 2, argv);
	sonde_buf_release(&dir);
	return status ? sonde_err_set(err, SONDE_ERR_STOPPED, "no report") : 0;
}

static int run_ctl(const struct request *q, struct sonde_err *err)
{
	const char *what = q->args.operands.nr > 1 ? q->args.operands.at[1] : "";
	char *end = NULL;
	long pid = q->args.operands.nr ? strtol(q->args.operands.at[0], &end, 10) : 0;

	if (pid <= 0 || pid > INT32_MAX || *end)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"ctl: the number of a process comes first: sonde ctl PID start|stop|mark|report");
	if (strcmp(what, "report") == 0 && q->args.operands.nr == 2)
		return print_report(q, (pid_t)pid, err);
	if (strcmp(what, "mark") == 0 ||
		((strcmp(what, "start") == 0 || strcmp(what, "stop") == 0) &&
			q->args.operands.nr == 2))
		return ask_run(q, (pid_t)pid, err);
	if (!*what)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"ctl: say what to do: sonde ctl %ld start|stop|mark [TEXT]|report", pid);
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"ctl: '%s' is not start, stop, mark [TEXT] or report", what);
}

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT('f', "format", "NAME", WORD, format,
		"format of the report: text, json, ... as in `sonde report`"),
};

static const struct sonde_usage usage = {"sonde ctl PID start|stop|mark [TEXT]|report [options]",
	"Talks to a running `sonde run`. PID is the program, a process it started, or\n"
	"`sonde run` itself. start and stop open and close a capture window (capture.window)\n"
	"within 50 ms, mark puts a mark on the timeline, report prints the region tree of\n"
	"what was captured so far. Only the same user may.\n"
	"Exit status: 0 good, 1 nobody answers, 2 wrong usage.",
	options, sizeof(options) / sizeof(*options),
	{{"capture from now on, of a program started with capture.window=ctl",
		 "sonde ctl 4711 start"},
		{"the tree so far, as JSON", "sonde ctl 4711 report -f json"}}};

int sonde_cmd_ctl(int argc, char **argv)
{
	struct request q = {0};
	struct sonde_err err = {0};
	int rc = sonde_options_read(&q.args, &usage, &q, argc, argv, &err);

	if (rc == 0)
		rc = run_ctl(&q, &err);
	sonde_args_release(&q.args);
	return rc >= 0 ? 0 : rc == SONDE_ERR_STOPPED ? 1 : sonde_cmd_fail(&err);
}
