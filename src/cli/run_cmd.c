#include "base/argv.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/overrides.h"
#include "cli/run_int.h"

#include <string.h>

struct request {
	struct sonde_args own; /* operands: overrides */
	struct sonde_argv overrides; /* of both; an operand counts where both say something */
	const char *out, *window, *every;
	struct sonde_word_list nvtx_include, metrics;
	struct sonde_run_against against;
	bool has_ncu, has_nsys;
	struct sonde_run_request run; /* what it comes to */
};

/* The words behind sonde's own. */
static int take_program(struct request *q, int argc, char **argv, int nr_own, struct sonde_err *err)
{
	q->run.program = argv + nr_own;
	if (nr_own == argc || strcmp(argv[nr_own], "--") != 0)
		return 0;
	q->run.program++;
	return *q->run.program ? 0
			   : sonde_err_set(err, SONDE_ERR_USAGE,
				     "no program behind `--`: name one, or leave `--` out to run "
				     "the configured workload");
}

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	{'o', "out", "DIR", "the run directory (hydra.run.dir)", SONDE_OPTION_WORD, INTO(out), NULL},
	{0, "ncu", NULL, "run Nsight Compute (pipeline.ncu.enable=true)", SONDE_OPTION_FLAG,
		INTO(has_ncu), "pipeline.ncu.enable=true"},
	{0, "nsys", NULL, "run Nsight Systems (pipeline.nsys.enable=true)", SONDE_OPTION_FLAG,
		INTO(has_nsys), "pipeline.nsys.enable=true"},
	{0, "window", "WHEN",
		"capture only then: step[100:110], after=30s,for=10s, ... (capture.window)",
		SONDE_OPTION_WORD, INTO(window), "capture.window"},
	{0, "every", "TIME",
		"print the tree so far this often while the program runs (capture.every)",
		SONDE_OPTION_WORD, INTO(every), "capture.every"},
	{0, "nvtx-include", "EXPR", "only these regions: profile them with --ncu, else show them",
		SONDE_OPTION_WORDS, INTO(nvtx_include), NULL},
	{0, "metrics", "LIST", "only these metrics: collect them with --ncu, else show them",
		SONDE_OPTION_LIST, INTO(metrics), NULL},
	SONDE_OPTION_CONFIG_DIR_AT(INTO(run.config_dir)),
	SONDE_OPTION_CONFIG_NAME_AT(INTO(run.config_name)),
	{'n', "dry-run", NULL, "show the plan and the command lines, run nothing",
		SONDE_OPTION_FLAG, INTO(run.is_dry), NULL},
	{0, "chip", "NAME", "count passes for this chip (GH100, GA102, AD102 ...)",
		SONDE_OPTION_WORD, INTO(run.chip), NULL},
	{'m', "multirun", NULL, "sweep: a=1,2 choice() range() glob() give one run each, in order",
		SONDE_OPTION_FLAG, INTO(run.is_multirun), NULL},
	{0, "against", "BASE", "then compare with this run or report (`sonde diff`); may be repeated",
		SONDE_OPTION_WORDS, INTO(against.base), NULL},
	{0, "base-cmd", "COMMAND", "the base is this shell command: it runs in turns with COMMAND",
		SONDE_OPTION_WORD, INTO(against.base_command), NULL},
	{0, "repeat", "N", "with --against or --base-cmd: run N times (1)", SONDE_OPTION_NUMBER,
		INTO(against.repeat), NULL},
	{0, "fail-above", "[GLOB=]PCT",
		"with --against or --base-cmd: exit with 3 when a region is slower by more than PCT "
		"(`sonde diff --fail-above`); may be repeated",
		SONDE_OPTION_WORDS, INTO(against.limits), NULL},
	{0, "allow-insufficient", NULL,
		"with --fail-above: exit with 0, not 4, when entries are too few or too noisy",
		SONDE_OPTION_FLAG, INTO(against.allows_insufficient), NULL},
	{'q', "quiet", NULL, "no plan and no progress", SONDE_OPTION_FLAG, INTO(run.is_quiet), NULL},
};

static const struct sonde_usage usage = {
	"sonde run [KEY=VALUE...] [options] [--] [COMMAND [ARG...]]",
	"Runs a program with sonde's own library in it and reports by NVTX region: times, and\n"
	"hardware counters where this machine permits it (counters=off|basic|full). With --ncu\n"
	"it runs under Nsight Compute, with --nsys under Nsight Systems, as the configuration\n"
	"says. Everything goes to one run directory: tmp/profile-output/TIME, or DIR with\n"
	"-o DIR. Without COMMAND the configured workload runs.\n"
	"Exit status: the program's; 125 when it or a profiler could not be started; 1 when\n"
	"profiling failed though the program did well; 3 and 4 for a gate, as `sonde diff`.",
	options, sizeof(options) / sizeof(*options),
	{{"times and counters by region, into out/", "sonde run -o out -- python3 train.py"},
		{"the plan for exact counters of what runs inside decode...",
			"sonde run -n --ncu --nvtx-include 'decode*' -- ./serve"}}};

static int parse(struct request *q, int argc, char **argv, struct sonde_err *err)
{
	int nr_own = sonde_options_split(&usage, argc, argv);
	int rc = sonde_options_read(&q->own, &usage, q, nr_own, argv, err);

	return rc ? rc : take_program(q, argc, argv, nr_own, err);
}

/*
 * An override as typed. A window (capture.window=step[100:110]) is text, though Hydra's grammar
 * would want its brackets, commas and equals signs in quotes.
 */
static void add_operand(struct sonde_argv *o, const char *operand)
{
	static const char window[] = "capture.window=";
	const char *value = operand + sizeof(window) - 1;

	if (strncmp(operand, window, sizeof(window) - 1) != 0 || *value == '\'' || *value == '"' ||
		strncmp(value, "null", 5) == 0)
		sonde_argv_add(o, operand);
	else
		sonde_overrides_word(o, "capture.window", value);
}

/* Everything that is an override, in the order in which it counts. */
static int gather_overrides(struct request *q, struct sonde_err *err)
{
	struct sonde_argv *o = &q->overrides;
	size_t i;

	for (i = 0; i < q->own.operands.nr; i++)
		q->run.is_multirun |= strcmp(q->own.operands.at[i], "hydra.mode=MULTIRUN") == 0;
	sonde_overrides_word(o, q->run.is_multirun ? "hydra.sweep.dir" : "hydra.run.dir", q->out);
	sonde_overrides_take(o, &q->own);
	sonde_overrides_list(o,
		q->has_ncu ? "pipeline.ncu.ncu_cli.nvtx.include" : "report.nvtx.include",
		&q->nvtx_include);
	sonde_overrides_list(
		o, q->has_ncu ? "pipeline.ncu.ncu_cli.metrics" : "report.metrics", &q->metrics);
	for (i = 0; i < q->own.operands.nr; i++)
		add_operand(o, q->own.operands.at[i]);
	q->run.overrides = (struct sonde_words){(const char *const *)o->words.at, o->words.nr};
	return o->failed ? sonde_err_nomem(err) : 0;
}

int sonde_run_once(const struct sonde_run_request *q, struct sonde_err *err)
{
	struct hydra_config *config = NULL;
	struct sonde_run r;
	int rc = sonde_run_config_open(&config, q, err), status;

	if (rc < 0)
		return sonde_cmd_fail(err);
	rc = sonde_run_open(&r, config, q, err);
	if (rc == 0)
		rc = sonde_run_do(&r, err);
	status = sonde_run_status(&r, rc, err);
	sonde_run_release(&r);
	hydra_config_free(config);
	return status;
}

static int run_sweep(const struct sonde_run_request *q, struct sonde_err *err)
{
	struct hydra_config *config = NULL;
	int rc = sonde_run_config_open(&config, q, err);
	int status = rc < 0 ? sonde_cmd_fail(err) : sonde_run_sweep(config, q, err);

	hydra_config_free(config);
	return status;
}

/* A comparison has many runs below one directory; each gets its own. */
static int take_against(struct request *q, const char **out, struct sonde_err *err)
{
	struct sonde_run_against *a = &q->against;
	bool is_wanted = a->base.nr || a->base_command;

	if (!is_wanted && (a->repeat || a->limits.nr || a->allows_insufficient))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"run: --repeat, --fail-above and --allow-insufficient compare with a base: name "
			"one with --against BASE or --base-cmd COMMAND");
	if (!is_wanted)
		return 0;
	if (q->run.is_multirun)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"run: --against compares one program: leave out --multirun");
	a->repeat = a->repeat ? a->repeat : 1;
	*out = q->out;
	q->out = NULL;
	return 0;
}

int sonde_cmd_run(int argc, char **argv)
{
	struct request q = {0};
	struct sonde_err err = {0};
	const char *out = NULL;
	int rc = parse(&q, argc, argv, &err), status = 0;

	if (rc == 0)
		rc = take_against(&q, &out, &err);
	if (rc == 0)
		rc = gather_overrides(&q, &err);
	if (rc < 0)
		status = sonde_cmd_fail(&err);
	else if (rc == 0 && q.against.repeat)
		status = sonde_run_against(&q.run, &q.against, out, &err);
	else if (rc == 0)
		status = q.run.is_multirun ? run_sweep(&q.run, &err) : sonde_run_once(&q.run, &err);
	sonde_args_release(&q.own);
	sonde_argv_release(&q.overrides);
	return status;
}
