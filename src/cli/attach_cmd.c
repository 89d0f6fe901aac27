#include "base/argv.h"
#include "base/escape.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/overrides.h"
#include "cli/run_int.h"
#include "cli/terminal.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_NS 10000000000u
#define LEAST_NS   1000000u

struct request {
	struct sonde_args args; /* operands: programs, overrides */
	struct sonde_argv overrides;
	const char *out, *how_long, *window, *counters, *every, *modules;
	struct sonde_word_list nvtx_include, metrics;
	struct sonde_sleepers sleepers;
	struct sonde_run_attach attach;
	struct sonde_run_request run;
};

/* --- the list of sleepers ------------------------------------------------------------------------ */

static void tell_time(char *to, size_t size, uint64_t ns)
{
	time_t s = (time_t)(ns / 1000000000u);
	struct tm tm;

	if (!localtime_r(&s, &tm) || !strftime(to, size, "%F %T", &tm))
		snprintf(to, size, "?");
}

static void print_sleeper(const struct sonde_sleeper *s, struct sonde_sink *out)
{
	const struct passwd *user = getpwuid(s->uid);
	struct sonde_buf name = {0};
	char since[32], number[24], state[64] = "asleep";

	tell_time(since, sizeof(since), s->since_ns);
	snprintf(number, sizeof(number), "%u", (unsigned)s->uid);
	if (s->is_held)
		snprintf(state, sizeof(state), "awake for process %u", s->caller);
	else if (s->phase != SONDE_PHASE_ASLEEP)
		snprintf(state, sizeof(state), "falling asleep");
	sonde_escape_terminal(&name, sonde_str_from(s->name), sonde_terminal_is_utf8());
	sonde_sink_printf(out, "%8d  %-10s  %s  %-24s  %s\n", (int)s->pid, user ? user->pw_name : number, since,
		state, name.p ? name.p : "");
	sonde_buf_release(&name);
}

static int print_list(struct sonde_err *err)
{
	struct sonde_sleepers found = {0};
	struct sonde_sink out;
	int rc = sonde_sleepers_find(&found, err);
	size_t i;

	if (rc == 0 && !found.all.nr)
		rc = sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"none of your programs can be woken: run `eval \"$(sonde env)\"` in the shell that starts a program, to "
			"wake it later (docs/production.md)");
	if (rc == 0) {
		sonde_sink_init_fd(&out, STDOUT_FILENO);
		sonde_sink_printf(&out, "%8s  %-10s  %-19s  %-24s  %s\n", "pid", "user", "since", "state", "program");
		for (i = 0; i < found.all.nr; i++)
			print_sleeper(&found.all.at[i], &out);
		rc = sonde_sink_close(&out, err);
	}
	sonde_sleepers_release(&found);
	return rc;
}

/* --- one capture --------------------------------------------------------------------------------- */

/* Holds all sleepers that the operands mean, so that nobody else can wake them. */
static int hold_all(struct request *q, struct sonde_err *err)
{
	size_t i, nr;
	int rc = 0;

	for (i = 0; i < q->args.operands.nr && rc == 0; i++)
		if (!sonde_is_override(q->args.operands.at[i]))
			rc = sonde_sleepers_choose(&q->sleepers, q->args.operands.at[i], err);
	nr = q->sleepers.all.nr;
	for (i = 0; i < nr && rc == 0; i++)
		rc = sonde_sleeper_hold(&q->sleepers.all.at[i], err);
	if (rc)
		return rc;
	q->attach.sleepers = &q->sleepers;
	q->attach.pids = calloc(nr ? nr : 1, sizeof(*q->attach.pids));
	for (i = 0; i < nr && q->attach.pids; i++)
		q->attach.pids[i] = q->sleepers.all.at[i].pid;
	return q->attach.pids ? 0 : sonde_err_nomem(err);
}

static int take_time(struct request *q, struct sonde_err *err)
{
	if (!q->how_long) {
		q->attach.for_ns = q->window ? 0 : DEFAULT_NS;
		return 0;
	}
	if (!sonde_str_ns(sonde_str_from(q->how_long), &q->attach.for_ns) || q->attach.for_ns < LEAST_NS)
		return sonde_err_set(err, SONDE_ERR_USAGE, "attach: --for %s: a time is written 500ms, 10s or 5min", q->how_long);
	return 0;
}

static int gather_overrides(struct request *q, struct sonde_err *err)
{
	struct sonde_argv *o = &q->overrides;
	size_t i;

	sonde_overrides_word(o, "hydra.run.dir", q->out);
	sonde_overrides_take(o, &q->args);
	sonde_overrides_list(o, "report.nvtx.include", &q->nvtx_include);
	sonde_overrides_list(o, "report.metrics", &q->metrics);
	for (i = 0; i < q->args.operands.nr; i++)
		if (sonde_is_override(q->args.operands.at[i]))
			sonde_argv_add(o, q->args.operands.at[i]);
	if (q->counters)
		sonde_argv_printf(o, "counters=%s", q->counters);
	q->run.overrides = (struct sonde_words){(const char *const *)o->words.at, o->words.nr};
	return o->failed ? sonde_err_nomem(err) : 0;
}

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT('o', "out", "DIR", WORD, out, "the run directory (hydra.run.dir)"),
	SONDE_OPT(0, "for", "TIME", WORD, how_long, "how long to capture: 500ms, 10s, 5min (10s; with --window until the window is over)"),
	SONDE_OPT_KEY("window", "WHEN", WORD, window, "capture.window",
		"capture only then, counted from when the program is awake: step[0:100], for=1s,every=10s, ... (capture.window)"),
	SONDE_OPT(0, "counters", "SET", WORD, counters, "hardware counters, as in `sonde run`: off, basic, full, ... (counters)"),
	SONDE_OPT_KEY("every", "TIME", WORD, every, "capture.every",
		"print the tree so far this often meanwhile (capture.every)"),
	SONDE_OPT_KEY("modules", "DEPTH", MAYBE, modules, "pipeline.workload.modules",
		"refused here: regions of PyTorch modules cannot be added to a running program"),
	SONDE_OPT(0, "nvtx-include", "EXPR", WORDS, nvtx_include, "show only these regions"),
	SONDE_OPT(0, "metrics", "LIST", LIST, metrics, "show only these metrics"),
	SONDE_OPT_CONFIG_DIR(run.config_dir),
	SONDE_OPT_CONFIG_NAME(run.config_name),
	SONDE_OPT('q', "quiet", NULL, FLAG, run.is_quiet, "no progress"),
};

static const struct sonde_usage usage = {
	"sonde attach [PID|NAME...] [KEY=VALUE...] [options]",
	"Wakes a program that was started with `sonde env`, captures it for a while and reports\n"
	"as `sonde run` does; then it sleeps again. NAME is a program or its script: all of that\n"
	"name are woken. A PID that cannot be woken itself means those below it that can.\n"
	"Without a program it lists those that can be woken. Only their user and root may.\n"
	"Exit status: 0 good; 1 nothing was captured, or the program ended meanwhile; 2 wrong\n"
	"usage. Ctrl-C ends the capture, and the report is still made.",
	options, sizeof(options) / sizeof(*options),
	{{"ten seconds of a running server", "sonde attach 4711 --for 10s"},
		{"a hundred steps of it, into out/", "sonde attach serve.py --window 'step[0:100]' -o out"}}};

static int attach(struct request *q, int *status, struct sonde_err *err)
{
	struct sonde_argv words = {0};
	int rc = take_time(q, err);

	if (rc == 0)
		rc = hold_all(q, err);
	if (rc == 0)
		rc = gather_overrides(q, err);
	if (rc == 0 && !sonde_sleeper_words(&q->sleepers.all.at[0], &words))
		rc = sonde_err_set(err, SONDE_ERR_NOTFOUND, "process %d has just ended: `sonde attach` lists those that can be woken",
			(int)q->sleepers.all.at[0].pid);
	if (rc == 0) {
		q->run.program = words.words.at;
		q->run.attach = &q->attach;
		*status = sonde_run_once(&q->run, err);
	}
	sonde_argv_release(&words);
	return rc;
}

int sonde_cmd_attach(int argc, char **argv)
{
	struct request q = {0};
	struct sonde_err err = {0};
	int rc = sonde_options_read(&q.args, &usage, &q, argc, argv, &err), status = 0;
	bool has_program = false;
	size_t i;

	for (i = 0; i < q.args.operands.nr; i++)
		has_program |= !sonde_is_override(q.args.operands.at[i]);
	if (rc == 0)
		rc = has_program ? attach(&q, &status, &err) : print_list(&err);
	sonde_sleepers_release(&q.sleepers);
	free(q.attach.pids);
	sonde_args_release(&q.args);
	sonde_argv_release(&q.overrides);
	return rc < 0 ? sonde_cmd_fail(&err) : status;
}
