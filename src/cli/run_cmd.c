#include "capture/argv.h"
#include "capture/facts.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/run_int.h"
#include "cli/split.h"

#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the command line said. */
struct request {
	struct sonde_args own; /* operands: the overrides */
	struct sonde_word_list dirs;
	const char *name, *chip;
	bool is_dry, is_quiet;
	char **program;
};

const char *sonde_run_path(struct sonde_run *r, const char *fmt, ...)
{
	struct sonde_buf b = {0};
	const char *path;
	va_list ap;

	sonde_buf_printf(&b, "%s/", r->dir.path);
	va_start(ap, fmt);
	sonde_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	path = b.failed ? NULL : sonde_arena_z(&r->arena, sonde_buf_view(&b));
	sonde_buf_release(&b);
	return path;
}

void sonde_run_take_end(struct sonde_run *r, int status, bool is_interrupted)
{
	if (r->status == 0)
		r->status = status;
	if (is_interrupted)
		r->is_stopped = true;
}

static int parse(struct request *q, int argc, char **argv, struct sonde_err *err)
{
	const struct sonde_option options[] = {
		{0, "config-dir", "DIR", "a folder of config files, searched first",
			SONDE_OPTION_WORDS, &q->dirs},
		{0, "config-name", "NAME", "the main config file (config)", SONDE_OPTION_WORD,
			&q->name},
		{'n', "dry-run", NULL, "show the plan and the command lines, run nothing",
			SONDE_OPTION_FLAG, &q->is_dry},
		{0, "chip", "NAME", "count passes for this chip (GH100, GA102, AD102 ...)",
			SONDE_OPTION_WORD, &q->chip},
		{'q', "quiet", NULL, "no plan and no progress", SONDE_OPTION_FLAG, &q->is_quiet},
	};
	const struct sonde_usage usage = {
		"sonde run [KEY=VALUE...] [options] [--] [COMMAND [ARG...]]",
		"Runs a program under Nsight Compute, Nsight Systems or sonde's own library, as "
		"the\n"
		"configuration says, and reports by NVTX region. Everything goes to one run\n"
		"directory (tmp/profile-output/TIME). Without COMMAND the configured workload "
		"runs.\n"
		"Exit status: the program's; 125 when it or a profiler could not be started; 1 "
		"when\n"
		"profiling failed though the program did well.",
		options, sizeof(options) / sizeof(*options),
		{{"counters by region, kernel replay, one capture",
			 "sonde run pipeline.ncu.enable=true -- ./train --steps 1"},
			{"only what runs inside decode..., and its plan first",
				"sonde run -n pipeline.ncu.enable=true "
				"\"pipeline.ncu.ncu_cli.nvtx.include=['decode*']\" -- ./serve"}}};
	int nr_own = sonde_split(&usage, argc, argv);
	int rc = sonde_options_parse(&q->own, &usage, nr_own, argv, err);
	struct sonde_sink out;

	if (rc)
		return rc;
	if (q->own.wants_help) {
		sonde_sink_init_fd(&out, STDOUT_FILENO);
		sonde_usage_print(&usage, &out);
		rc = sonde_sink_close(&out, err);
		return rc ? rc : 1;
	}
	q->program = argv + nr_own;
	if (nr_own < argc && strcmp(argv[nr_own], "--") == 0)
		q->program++;
	return 0;
}

/* A workload of our own: beside the program, or installed. */
static bool is_bundled(char *path, size_t size, const char *file)
{
	static const char *const places[] = {"/workloads/", "/../lib/sonde/workloads/"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *dir;
	size_t i;

	if (n <= 0 || !*file || strchr(file, '/'))
		return false;
	self[n] = '\0';
	dir = dirname(self);
	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, size, "%s%s%s", dir, places[i], file);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static int find_bundled(struct sonde_run *r, struct sonde_argv *argv, struct sonde_err *err)
{
	const char *name = r->set.workload_name ? r->set.workload_name : "";
	bool is_resnet = strcmp(name, "dummy_shallow_resnet") == 0;
	bool has_gpu = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/nvidia0", F_OK) == 0 ||
		       access("/proc/driver/nvidia/version", F_OK) == 0;
	char path[2 * PATH_MAX];

	if ((is_resnet && has_gpu && is_bundled(path, sizeof(path), "resnet")) ||
		(is_resnet && is_bundled(path, sizeof(path), "resnet_cpu")) ||
		(!is_resnet && is_bundled(path, sizeof(path), name))) {
		sonde_argv_add(argv, path);
		return 0;
	}
	return sonde_err_set(err, SONDE_ERR_NOTFOUND,
		"no command was given and the workload '%s' is not built (`make workloads` needs "
		"nvcc); "
		"`sonde run [KEY=VALUE...] -- COMMAND` profiles a program of yours",
		name);
}

static int find_program(struct sonde_run *r, struct sonde_argv *argv, struct sonde_err *err)
{
	char path[1024];
	size_t i;
	int rc = 0;

	if (!*r->program) {
		for (i = 0; i < r->set.workload.nr; i++)
			sonde_argv_add(argv, r->set.workload.at[i]);
		if (r->set.workload.nr == 0)
			rc = find_bundled(r, argv, err);
		if (rc)
			return rc;
		if (argv->failed)
			return sonde_err_nomem(err);
		r->program = argv->words.at;
	}
	if (!r->is_dry && !r->set.workload_dir && !sonde_tool_find(path, r->program[0]))
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "%s: no such program%s",
			r->program[0],
			strchr(r->program[0], '/') ? ", or not executable" : " in PATH");
	return 0;
}

static int write_facts(const struct sonde_run *r, struct sonde_err *err)
{
	struct sonde_facts facts;
	struct sonde_sink json;
	int rc;

	sonde_facts_find(&facts);
	sonde_sink_init_string(&json);
	sonde_facts_json(&facts, &json);
	rc = sonde_rundir_write(&r->dir, "env.json", sonde_buf_view(&json.buf), err);
	sonde_sink_abort(&json);
	return rc;
}

/*
 * env.json takes a second or two of asking other programs: a process of its own
 * does that while the captures run. 0 when it was done here instead.
 */
static pid_t begin_facts(const struct sonde_run *r)
{
	pid_t pid;

	if (!r->dir.is_first)
		return 0;
	pid = fork();
	if (pid == 0) {
		signal(SIGINT, SIG_IGN);
		_exit(write_facts(r, NULL) ? 1 : 0);
	}
	if (pid < 0 && write_facts(r, NULL))
		sonde_say("env.json could not be written");
	return pid < 0 ? 0 : pid;
}

static void end_facts(pid_t pid)
{
	int status = 0;

	if (pid > 0 && waitpid(pid, &status, 0) == pid && status)
		sonde_say("env.json could not be written");
}

/* What makes the run repeatable: written before anything starts. */
static int write_inputs(struct sonde_run *r, struct sonde_run_config *config,
	const struct request *q, struct sonde_err *err)
{
	struct sonde_buf yaml = {0};
	struct sonde_argv overrides = {0};
	size_t i;
	int rc;

	if (!r->dir.is_first)
		return 0;
	rc = sonde_run_config_yaml(config, &yaml, err);
	if (rc == 0)
		rc = sonde_rundir_write(&r->dir, "config.yaml", sonde_buf_view(&yaml), err);
	sonde_buf_clear(&yaml);
	for (i = 0; i < q->own.operands.nr; i++)
		sonde_argv_add(&overrides, q->own.operands.at[i]);
	sonde_argv_yaml(&yaml, "command", r->program);
	if (overrides.words.nr)
		sonde_argv_yaml(&yaml, "overrides", overrides.words.at);
	if (r->env)
		sonde_argv_yaml(&yaml, "environment", r->env);
	if (rc == 0)
		rc = yaml.failed || overrides.failed ? sonde_err_nomem(err)
						     : sonde_rundir_write(&r->dir, "inputs.yaml",
							       sonde_buf_view(&yaml), err);
	sonde_argv_release(&overrides);
	sonde_buf_release(&yaml);
	return rc;
}

static int run_stages(struct sonde_run *r, struct sonde_err *err)
{
	int rc = 0;

	if (r->set.native_enable)
		rc = sonde_run_native(r, err);
	if (rc == 0 && r->set.nsys_enable && !r->is_stopped)
		rc = sonde_run_nsys(r, err);
	if (rc == 0 && r->set.ncu_enable && !r->is_stopped)
		rc = sonde_run_ncu(r, err);
	return rc;
}

/* The most telling stage is printed, the others lie in their folders. */
static int report_stages(struct sonde_run *r, struct sonde_err *err)
{
	const struct {
		const char *name;
		size_t nr;
	} stages[] = {{"ncu", r->nr_ncu}, {"native", r->nr_native}, {"nsys", r->nr_nsys}};
	const char *look = r->dir.suffix[0] ? "" : "discover";
	bool is_shown = true;
	size_t i;
	int rc = 0;

	for (i = 0; i < sizeof(stages) / sizeof(*stages) && rc == 0; i++) {
		if (stages[i].nr == 0)
			continue;
		rc = sonde_run_report(r, stages[i].name, is_shown, err);
		is_shown = false;
	}
	if (is_shown && rc == 0 && r->nr_looks && *look) {
		sonde_say("nothing region-specific was profiled; the baseline is the look at the "
			  "program");
		return sonde_run_report(r, look, true, err);
	}
	if (is_shown && rc == 0)
		sonde_say("nothing was captured: there is no region report");
	return rc;
}

static int do_run(struct sonde_run *r, struct sonde_run_config *config, const struct request *q,
	struct sonde_err *err)
{
	bool is_first_stage;
	pid_t facts;
	int rc;

	if (r->is_dry) {
		snprintf(r->dir.path, sizeof(r->dir.path), "%s", r->set.run_dir);
		return run_stages(r, err);
	}
	rc = sonde_rundir_open(&r->dir, r->set.run_dir, err);
	if (rc == 0)
		rc = write_inputs(r, config, q, err);
	if (rc)
		return rc;
	facts = begin_facts(r);
	rc = run_stages(r, err);
	is_first_stage = rc && !r->nr_native && !r->nr_nsys && !r->nr_ncu;
	if (rc) {
		sonde_say("%s", err->msg);
		r->status = rc == SONDE_ERR_NOTFOUND ? SONDE_STATUS_NOT_STARTED : 1;
		if (rc == SONDE_ERR_USAGE)
			r->status = 2;
	}
	rc = 0;
	if (sonde_rundir_finish(&r->dir) && !is_first_stage)
		rc = report_stages(r, err);
	end_facts(facts);
	fflush(stdout);
	sonde_say("%s%s", r->is_stopped ? "stopped; what was captured is in " : "everything is in ",
		r->dir.path);
	return rc;
}

static int prepare(struct sonde_run *r, struct sonde_run_config **config, const struct request *q,
	struct sonde_argv *env, struct sonde_err *err)
{
	const struct sonde_words overrides = {q->own.operands.at, q->own.operands.nr};
	const struct sonde_words dirs = {q->dirs.at, q->dirs.nr};
	struct sonde_setting_source source;
	int rc = sonde_run_config_open(config, overrides, dirs, q->name, err);

	if (rc)
		return rc;
	source = sonde_run_config_source(*config);
	rc = sonde_capture_settings_read(&r->set, &source, err);
	if (rc == 0)
		rc = sonde_run_config_env(*config, env, err);
	r->env = env->words.at;
	return rc;
}

int sonde_cmd_run(int argc, char **argv)
{
	struct request q = {0};
	struct sonde_run r = {0};
	struct sonde_run_config *config = NULL;
	struct sonde_argv program = {0}, env = {0};
	struct sonde_err err = {0};
	int rc = parse(&q, argc, argv, &err), status;
	bool is_help = rc > 0;

	r.program = q.program;
	r.chip = q.chip;
	r.is_dry = q.is_dry;
	r.is_quiet = q.is_quiet;
	if (rc == 0)
		rc = prepare(&r, &config, &q, &env, &err);
	if (rc == 0)
		rc = find_program(&r, &program, &err);
	if (rc == 0)
		rc = do_run(&r, config, &q, &err);
	status = rc < 0 ? sonde_cmd_fail(&err) : r.status ? r.status : r.has_failed;
	if (rc == SONDE_ERR_NOTFOUND)
		status = SONDE_STATUS_NOT_STARTED;
	sonde_run_config_free(config);
	sonde_capture_settings_release(&r.set);
	sonde_argv_release(&program);
	sonde_argv_release(&env);
	sonde_notes_release(&r.notes);
	sonde_arena_release(&r.arena);
	sonde_args_release(&q.own);
	sonde_vec_release(&q.dirs);
	return is_help ? 0 : status;
}
