#include "base/argv.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/run_int.h"
#include "cli/run_shorthand.h"
#include "cli/split.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the command line said. */
struct request {
	struct sonde_args own; /* operands: overrides */
	struct sonde_run_shorthand shorthand;
	struct sonde_argv overrides; /* of both; an operand counts where both say something */
	struct sonde_word_list dirs;
	const char *name, *chip;
	struct sonde_run_against against;
	bool is_dry, is_quiet, is_multirun;
	char **program;
};

/* The words behind sonde's own. */
static int take_program(struct request *q, int argc, char **argv, int nr_own, struct sonde_err *err)
{
	q->program = argv + nr_own;
	if (nr_own == argc || strcmp(argv[nr_own], "--") != 0)
		return 0;
	q->program++;
	return *q->program ? 0
			   : sonde_err_set(err, SONDE_ERR_USAGE,
				     "no program behind `--`: name one, or leave `--` out to run "
				     "the configured workload");
}

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	{'o', "out", "DIR", "the run directory (hydra.run.dir)", SONDE_OPTION_WORD,
		INTO(shorthand.out)},
	{0, "ncu", NULL, "run Nsight Compute (pipeline.ncu.enable=true)", SONDE_OPTION_FLAG,
		INTO(shorthand.has_ncu)},
	{0, "nsys", NULL, "run Nsight Systems (pipeline.nsys.enable=true)",
		SONDE_OPTION_FLAG, INTO(shorthand.has_nsys)},
	{0, "window", "WHEN",
		"capture only then: step[100:110], after=30s,for=10s, ... (capture.window)",
		SONDE_OPTION_WORD, INTO(shorthand.window)},
	{0, "every", "TIME",
		"print the tree so far this often while the program runs (capture.every)",
		SONDE_OPTION_WORD, INTO(shorthand.every)},
	{0, "nvtx-include", "EXPR",
		"only these regions: profile them with --ncu, else show them",
		SONDE_OPTION_WORDS, INTO(shorthand.nvtx_include)},
	{0, "metrics", "LIST",
		"only these metrics: collect them with --ncu, else show them",
		SONDE_OPTION_LIST, INTO(shorthand.metrics)},
	{0, "config-dir", "DIR", "a folder of config files, searched first",
		SONDE_OPTION_WORDS, INTO(dirs)},
	{0, "config-name", "NAME", "the main config file (config)", SONDE_OPTION_WORD,
		INTO(name)},
	{'n', "dry-run", NULL, "show the plan and the command lines, run nothing",
		SONDE_OPTION_FLAG, INTO(is_dry)},
	{0, "chip", "NAME", "count passes for this chip (GH100, GA102, AD102 ...)",
		SONDE_OPTION_WORD, INTO(chip)},
	{'m', "multirun", NULL,
		"sweep: a=1,2 choice() range() glob() give one run each, in order",
		SONDE_OPTION_FLAG, INTO(is_multirun)},
	{0, "against", "BASE",
		"then compare with this run or report (`sonde diff`); may be repeated",
		SONDE_OPTION_WORDS, INTO(against.base)},
	{0, "base-cmd", "COMMAND",
		"the base is this shell command: it runs in turns with COMMAND",
		SONDE_OPTION_WORD, INTO(against.base_command)},
	{0, "repeat", "N", "with --against or --base-cmd: run N times (1)",
		SONDE_OPTION_NUMBER, INTO(against.repeat)},
	{'q', "quiet", NULL, "no plan and no progress", SONDE_OPTION_FLAG, INTO(is_quiet)},
};

static const struct sonde_usage usage = {
	"sonde run [KEY=VALUE...] [options] [--] [COMMAND [ARG...]]",
	"Runs a program under Nsight Compute, Nsight Systems or sonde's own library, as "
	"the\n"
	"configuration says, and reports by NVTX region. Everything goes to one run\n"
	"directory: tmp/profile-output/TIME, or DIR with -o DIR. Without COMMAND the\n"
	"configured workload runs. Without --ncu and --nsys it is a native capture: "
	"times,\n"
	"and hardware counters where this machine permits it (counters=off|basic|full).\n"
	"Exit status: the program's; 125 when it or a profiler could not be started; 1 "
	"when\n"
	"profiling failed though the program did well.",
	options, sizeof(options) / sizeof(*options),
	{{"counters by region, one capture with kernel replay, into out/",
		 "sonde run -o out --ncu -- ./train --steps 1"},
		{"only what runs inside decode..., and its plan first",
			"sonde run -n --ncu --nvtx-include 'decode*' -- ./serve"}}};

static int parse(struct request *q, int argc, char **argv, struct sonde_err *err)
{
	int nr_own = sonde_split(&usage, argc, argv);
	int rc = sonde_options_read(&q->own, &usage, q, nr_own, argv, err);

	return rc ? rc : take_program(q, argc, argv, nr_own, err);
}

/* Everything that is an override, in the order in which it counts. */
static int gather_overrides(struct request *q, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < q->own.operands.nr; i++)
		q->is_multirun |= strcmp(q->own.operands.at[i], "hydra.mode=MULTIRUN") == 0;
	sonde_run_shorthand_add(&q->overrides, &q->shorthand, q->is_multirun);
	for (i = 0; i < q->own.operands.nr; i++)
		sonde_run_shorthand_override(&q->overrides, q->own.operands.at[i]);
	return q->overrides.failed ? sonde_err_nomem(err) : 0;
}

static struct sonde_run_request request_of(const struct request *q)
{
	return (struct sonde_run_request){
		.overrides = {(const char *const *)q->overrides.words.at, q->overrides.words.nr},
		.dirs = {q->dirs.at, q->dirs.nr},
		.name = q->name,
		.chip = q->chip,
		.is_dry = q->is_dry,
		.is_quiet = q->is_quiet,
		.is_multirun = q->is_multirun,
		.program = q->program};
}

int sonde_run_once(const struct sonde_run_request *q, struct sonde_err *err)
{
	struct sonde_run_config *config = NULL;
	struct sonde_run r;
	int rc = sonde_run_config_open(&config, q, err), status;

	if (rc < 0)
		return sonde_cmd_fail(err);
	rc = sonde_run_open(&r, config, q, err);
	if (rc == 0)
		rc = sonde_run_do(&r, config, err);
	status = sonde_run_status(&r, rc, err);
	sonde_run_release(&r);
	sonde_run_config_free(config);
	return status;
}

static int sweep(const struct sonde_run_request *q, struct sonde_err *err)
{
	struct sonde_run_config *config = NULL;
	int rc = sonde_run_config_open(&config, q, err);
	int status = rc < 0 ? sonde_cmd_fail(err) : sonde_run_sweep(config, q, err);

	sonde_run_config_free(config);
	return status;
}

/* A comparison has many runs below one directory; each gets its own. */
static int take_against(struct request *q, const char **out, struct sonde_err *err)
{
	bool is_wanted = q->against.base.nr || q->against.base_command;

	*out = NULL;
	if (!is_wanted)
		return q->against.repeat ? sonde_err_set(err, SONDE_ERR_USAGE,
						   "run: --repeat is for --against and --base-cmd")
					 : 0;
	if (q->is_multirun)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"run: --against compares one program: leave out --multirun");
	q->against.repeat = q->against.repeat ? q->against.repeat : 1;
	*out = q->shorthand.out;
	q->shorthand.out = NULL;
	return 0;
}

int sonde_cmd_run(int argc, char **argv)
{
	struct request words = {0};
	struct sonde_run_request q;
	struct sonde_err err = {0};
	const char *out = NULL;
	int rc = parse(&words, argc, argv, &err), status = 0;

	if (rc == 0)
		rc = take_against(&words, &out, &err);
	if (rc == 0)
		rc = gather_overrides(&words, &err);
	q = request_of(&words);
	if (rc < 0)
		status = sonde_cmd_fail(&err);
	else if (rc == 0 && words.against.repeat)
		status = sonde_run_against(&q, &words.against, out, &err);
	else if (rc == 0)
		status = q.is_multirun ? sweep(&q, &err) : sonde_run_once(&q, &err);
	sonde_args_release(&words.own);
	sonde_run_shorthand_release(&words.shorthand);
	sonde_argv_release(&words.overrides);
	sonde_vec_release(&words.against.base);
	sonde_vec_release(&words.dirs);
	return status;
}
