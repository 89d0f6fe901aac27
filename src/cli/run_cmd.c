#include "base/argv.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/overrides.h"
#include "cli/run_int.h"

#include <string.h>
#include <unistd.h>

struct request {
	struct sonde_args own; /* operands: overrides */
	struct sonde_argv overrides; /* from operands and options; an operand counts if both set the same key */
	const char *out, *window, *every, *prometheus, *modules;
	struct sonde_word_list nvtx_include, metrics;
	struct sonde_run_against against;
	bool has_ncu, has_nsys, has_lines;
	struct sonde_run_request run; /* the request that all of this makes */
};

/* The program is in the words after sonde's own. */
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
	SONDE_OPT('o', "out", "DIR", WORD, out, "the run directory (hydra.run.dir)"),
	SONDE_OPT(0, "open", NULL, FLAG, run.is_opened,
		"then show the page in a browser, as `sonde view` does; with a base, that of the comparison"),
	SONDE_OPT(0, "demo", NULL, FLAG, run.is_demo, "run the bundled workload"),
	SONDE_OPT_KEY("ncu", NULL, FLAG, has_ncu, "pipeline.ncu.enable=true",
		"run Nsight Compute (pipeline.ncu.enable=true)"),
	SONDE_OPT_KEY("nsys", NULL, FLAG, has_nsys, "pipeline.nsys.enable=true",
		"run Nsight Systems (pipeline.nsys.enable=true)"),
	SONDE_OPT_KEY("window", "WHEN", WORD, window, "capture.window",
		"capture only then: step[100:110], after=30s,for=10s, ... (capture.window)"),
	SONDE_OPT_KEY("every", "TIME", WORD, every, "capture.every",
		"print the tree so far this often while the program runs (capture.every)"),
	SONDE_OPT_KEY("prometheus", "FILE", WORD, prometheus, "capture.prometheus",
		"with --every: write the numbers so far there instead, for Prometheus' textfile collector (capture.prometheus)"),
	SONDE_OPT_KEY("modules", "DEPTH", MAYBE, modules, "pipeline.workload.modules",
		"make a region of each PyTorch module, optimizer step, backward pass and data loading of a Python "
		"program; =2: two deep, =all: leaves too, whatever they cost (pipeline.workload.modules)"),
	SONDE_OPT_KEY("lines", NULL, FLAG, has_lines, "pipeline.native.pc=on",
		"look inside kernels: why their warps wait, and on which line (pipeline.native.pc=on)"),
	SONDE_OPT(0, "nvtx-include", "EXPR", WORDS, nvtx_include,
		"only these regions: profile them with --ncu, else show them"),
	SONDE_OPT(0, "metrics", "LIST", LIST, metrics,
		"only these metrics: collect them with --ncu, else show them"),
	SONDE_OPT_CONFIG_DIR(run.config_dir),
	SONDE_OPT_CONFIG_NAME(run.config_name),
	SONDE_OPT('n', "dry-run", NULL, FLAG, run.is_dry,
		"show the plan and the command lines, run nothing"),
	SONDE_OPT(0, "chip", "NAME", WORD, run.chip,
		"count passes for this chip (GH100, GA102, AD102 ...)"),
	SONDE_OPT('m', "multirun", NULL, FLAG, run.is_multirun,
		"sweep: a=1,2 choice() range() glob() give one run each, in order"),
	SONDE_OPT(0, "against", "BASE", WORDS, against.base,
		"then compare with this run or report (`sonde diff`); may be repeated"),
	SONDE_OPT(0, "base-cmd", "COMMAND", WORD, against.base_command,
		"the base is this shell command: it runs in turns with COMMAND"),
	SONDE_OPT(0, "repeat", "N", NUMBER, against.repeat,
		"with --against or --base-cmd: run N times (1)"),
	SONDE_OPT(0, "fail-above", "[GLOB=]PCT", WORDS, against.limits,
		"with --against or --base-cmd: exit with 3 when the step, or a region whose path matches "
		"GLOB, is slower by more than PCT (`sonde diff --fail-above`); may be repeated"),
	SONDE_OPT(0, "allow-insufficient", NULL, FLAG, against.allows_insufficient,
		"with --fail-above: exit with 0, not 4, when entries are too few or too noisy, or a "
		"region is gone"),
	SONDE_OPT(0, "partial-inputs", NULL, FLAG, against.takes_partial,
		"with --fail-above: also where something of a capture is missing or damaged"),
	SONDE_OPT(0, "single", NULL, FLAG, against.accepts_single,
		"with --fail-above: one capture a side decides (`sonde diff --single`)"),
	SONDE_OPT('q', "quiet", NULL, FLAG, run.is_quiet, "no plan and no progress"),
};

static const struct sonde_usage usage = {
	"sonde run [KEY=VALUE...] [options] [--] [COMMAND [ARG...]]",
	"Runs a program with sonde's own library in it and reports by NVTX region: times, and\n"
	"hardware counters where this machine permits it (counters=off|basic|full). With --ncu\n"
	"it runs under Nsight Compute, with --nsys under Nsight Systems, as the configuration\n"
	"says. Everything goes to one run directory: tmp/profile-output/TIME, or DIR with\n"
	"-o DIR. Without COMMAND the configured workload runs, with --demo the bundled one.\n"
	"`sonde view` shows the newest run, which is also tmp/profile-output/latest.\n"
	"Exit status: the program's; 125 when it or a profiler could not be started; 1 when\n"
	"profiling failed though the program did well; 3 and 4 for a gate, as `sonde diff`.",
	options, sizeof(options) / sizeof(*options),
	{{"times and counters by region, into out/", "sonde run -o out -- python3 train.py"},
		{"the plan for exact counters of what runs inside decode...",
			"sonde run -n --ncu --nvtx-include 'decode*' -- ./serve"}}};

static int read_words(struct request *q, int argc, char **argv, struct sonde_err *err)
{
	int nr_own = sonde_options_split(&usage, argc, argv);
	int rc = sonde_options_read(&q->own, &usage, q, nr_own, argv, err);

	return rc ? rc : take_program(q, argc, argv, nr_own, err);
}

/*
 * Adds an override as typed. A window (capture.window=step[100:110]) is taken as plain text: Hydra's grammar would want
 * quotes around its brackets, commas and equals signs.
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

/* Gathers all overrides, in the order in which they count. */
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

/* A comparison makes many runs below one directory, `*out`; each run gets a directory of its own. */
static int take_against(struct request *q, const char **out, struct sonde_err *err)
{
	struct sonde_run_against *a = &q->against;
	bool is_wanted = a->base.nr || a->base_command;
	size_t i;

	if (!is_wanted && (a->repeat || a->limits.nr || a->allows_insufficient || a->takes_partial || a->accepts_single))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"run: --repeat, --fail-above, --allow-insufficient, --partial-inputs and --single compare "
			"with a base: name one with --against BASE or --base-cmd COMMAND");
	if (!is_wanted)
		return 0;
	if (q->run.is_multirun)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"run: --against compares one program: leave out --multirun");
	for (i = 0; i < a->base.nr; i++)
		if (access(a->base.at[i], F_OK))
			return sonde_err_set(err, SONDE_ERR_NOTFOUND, "run: --against %s: there is no such file: nothing was run", a->base.at[i]);
	a->repeat = a->repeat ? a->repeat : 1;
	*out = q->out;
	q->out = NULL;
	return 0;
}

int sonde_cmd_run(int argc, char **argv)
{
	struct request q = {.run.is_bare = argc == 1};
	struct sonde_err err = {0};
	const char *out = NULL;
	int rc = read_words(&q, argc, argv, &err), status = 0;

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
