#include "base/argv.h"
#include "base/file.h"
#include "capture/child.h"
#include "capture/machine.h"
#include "cli/browser.h"
#include "cli/command.h"
#include "cli/newest_run.h"
#include "cli/run_int.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_facts(const struct sonde_run *r, struct sonde_err *err)
{
	struct sonde_machine machine;
	struct sonde_sink json;
	struct sonde_json w = {.sink = &json};
	int rc;

	sonde_machine_find(&machine);
	sonde_sink_init_string(&json);
	sonde_machine_json(&machine, &w, NULL);
	sonde_sink_putc(&json, '\n');
	rc = sonde_rundir_write(&r->dir, "env.json", sonde_buf_view(&json.buf), err);
	sonde_sink_abort(&json);
	return rc;
}

/*
 * env.json takes a second or two, because other programs are asked. A separate process writes it while the captures
 * run. Returns 0 if that process could not be started.
 */
static pid_t begin_env(const struct sonde_run *r)
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
		sonde_say("env.json, the facts about this machine, could not be written; the captures "
			  "are not affected");
	return pid < 0 ? 0 : pid;
}

static void end_env(pid_t pid)
{
	int status = 0;

	if (pid > 0 && waitpid(pid, &status, 0) == pid && status)
		sonde_say("env.json, the facts about this machine, could not be written; the captures "
			  "are not affected");
}

static int write_yaml(
	struct sonde_run *r, const char *name, enum sonde_run_yaml part, struct sonde_err *err)
{
	struct sonde_buf yaml = {0};
	int rc = sonde_run_config_yaml(r->config, &yaml, part, err);

	if (rc == 0)
		rc = sonde_rundir_write(&r->dir, name, sonde_buf_view(&yaml), err);
	sonde_buf_release(&yaml);
	return rc;
}

/* Writes the files that Hydra leaves beside a run, to hydra.output_subdir (`.hydra` by default). */
static int write_hydra(struct sonde_run *r, struct sonde_err *err)
{
	static const struct {
		const char *name;
		enum sonde_run_yaml part;
	} files[] = {{"config.yaml", SONDE_RUN_JOB_YAML}, {"hydra.yaml", SONDE_RUN_HYDRA_YAML},
		{"overrides.yaml", SONDE_RUN_OVERRIDES_YAML}};
	struct sonde_str subdir = hydra_config_str(r->config, "hydra.output_subdir");
	char name[1024];
	size_t i;
	int rc = 0;

	for (i = 0; subdir.n && i < sizeof(files) / sizeof(*files) && rc == 0; i++) {
		if (snprintf(name, sizeof(name), "%s/%s", subdir.p, files[i].name) >=
			(int)sizeof(name))
			return sonde_err_set(
				err, SONDE_ERR_USAGE, "hydra.output_subdir is too long: name a short folder, or null for none");
		rc = write_yaml(r, name, files[i].part, err);
	}
	return rc;
}

/* Writes the files that make the run repeatable, before anything starts. */
static int write_inputs(struct sonde_run *r, struct sonde_err *err)
{
	struct sonde_buf yaml = {0};
	struct sonde_argv overrides = {0}, env = {0};
	int rc;

	if (!r->dir.is_first)
		return 0;
	rc = write_yaml(r, "config.yaml", SONDE_RUN_RESOLVED_YAML, err);
	sonde_run_config_overrides(r->config, &overrides);
	sonde_argv_yaml(&yaml, "command", r->recorded_words.words.at);
	if (overrides.words.nr)
		sonde_argv_yaml(&yaml, "overrides", overrides.words.at);
	if (r->chosen && r->dir.rank.size)
		sonde_buf_printf(&yaml, "ranks: {profiled: '%s', of: %u}\n", r->chosen,
			r->dir.rank.size);
	if (rc == 0)
		rc = sonde_run_config_env(r, &env, true, err);
	if (env.words.nr)
		sonde_argv_yaml(&yaml, "environment", env.words.at);
	if (rc == 0)
		rc = yaml.failed || overrides.failed ? sonde_err_nomem(err)
						     : sonde_rundir_write(&r->dir, "inputs.yaml",
							       sonde_buf_view(&yaml), err);
	sonde_argv_release(&overrides);
	sonde_argv_release(&env);
	sonde_buf_release(&yaml);
	return rc ? rc : write_hydra(r, err);
}

static int run_stages(struct sonde_run *r, struct sonde_err *err)
{
	int rc = 0;

	if (r->set.native_enable)
		rc = sonde_run_native(r, err);
	if (rc == 0 && r->set.torch_enable && !r->is_stopped)
		rc = sonde_run_torch(r, err);
	if (rc == 0 && r->set.nsys_enable && !r->is_stopped)
		rc = sonde_run_nsys(r, err);
	if (rc == 0 && r->set.ncu_enable && !r->is_stopped)
		rc = sonde_run_ncu(r, err);
	return rc;
}

/* Prints the report of the stage that says most; the reports of the others are in their folders. */
static int report_stages(struct sonde_run *r, struct sonde_err *err)
{
	const struct {
		const char *name;
		size_t nr;
	} stages[] = {{"ncu", r->nr_ncu}, {"native", r->nr_native}, {"nsys", r->nr_nsys},
		{"torch_profiler", r->nr_torch}, {"ncu", !r->nr_ncu && r->baseline}};
	bool is_shown = true, is_printed = !r->request.hides_report;
	size_t i;
	int rc = 0;

	sonde_run_write_notes(r);
	for (i = 0; i < sizeof(stages) / sizeof(*stages) && rc == 0; i++) {
		if (stages[i].nr == 0)
			continue;
		if (is_shown && r->job)
			printf("%s\n", r->job);
		fflush(stdout);
		rc = sonde_run_report(r, stages[i].name, is_shown && is_printed, err);
		is_shown = false;
	}
	if (is_shown && rc == 0)
		sonde_say("nothing was captured, so there is no region report; `sonde regions -- "
			  "COMMAND` shows the program's ranges");
	return rc;
}

/* Runs the stages; the error that stops one is printed here and becomes the status of the run. */
static void do_stages(struct sonde_run *r, struct sonde_err *err)
{
	int rc = run_stages(r, err);

	if (rc == 0)
		return;
	sonde_say("%s", err->msg);
	r->status = rc == SONDE_ERR_NOTFOUND ? SONDE_STATUS_NOT_STARTED
		    : rc == SONDE_ERR_USAGE  ? 2
					     : 1;
	r->is_broken = true;
}

static int open_dir(struct sonde_run *r, struct sonde_err *err)
{
	int rc = r->job ? sonde_rundir_open_job(&r->dir, r->set.run_dir, err)
			: sonde_rundir_open(&r->dir, r->set.run_dir, err);

	if (r->chosen && r->dir.rank.is_parallel)
		r->dir.nr_awaited = sonde_rank_list_count(&r->set.ranks);
	if (rc == 0 && r->set.chdir && !r->set.workload_dir)
		r->set.workload_dir = r->dir.path;
	return rc;
}

/* Runs the program of a rank that has no run directory: the other ranks wait for it in their first collective call. */
static int run_bare(struct sonde_run *r, const struct sonde_err *why)
{
	const struct sonde_child_spec spec = sonde_run_spec(r, r->program);
	struct sonde_err err = {0};

	sonde_say("%s", why->msg);
	sonde_say("rank %u runs without a profile: its part is missing in the report",
		r->dir.rank.rank);
	if (sonde_run_child(r, &spec, &err)) {
		sonde_say("%s", err.msg);
		r->status = SONDE_STATUS_NOT_STARTED;
	}
	return 0;
}

void sonde_run_say_view(const char *dir)
{
	char *words[] = {"sonde", "view", (char *)(uintptr_t)dir, NULL};
	struct sonde_buf line = {0};

	sonde_argv_show(&line, words);
	sonde_say("to look at it: %s", line.failed ? "sonde view" : line.p);
	sonde_buf_release(&line);
}

/* Says where the results are and, last, how to look at them. For one of several runs this is one line. */
static void say_where(const struct sonde_run *r, bool is_last)
{
	if (!is_last && r->dir.is_first)
		sonde_say("the last of the %u %s to end writes the report; `sonde report %s` "
			  "makes one at any time",
			r->dir.nr_awaited ? r->dir.nr_awaited : r->dir.rank.size,
			r->dir.nr_awaited ? "profiled ranks" : "ranks", r->dir.path);
	if (r->status == SONDE_STATUS_NOT_STARTED && r->is_broken)
		return; /* nothing ran */
	sonde_say_where(r->is_stopped ? "stopped; what was captured is in" : "everything is in", r->dir.path);
	if (r->has_page)
		sonde_run_say_view(sonde_str_starts(sonde_str_from(r->dir.path), SONDE_RUNS "/") ? NULL : r->dir.path);
}

/* The status of the run is the program's, so a page that cannot be shown is only reported. */
static void open_page(struct sonde_run *r)
{
	struct sonde_err why = {0};
	struct sonde_page_view look = {.page = sonde_run_path(r, "report.html")};

	if (r->request.is_opened && r->has_page && look.page && sonde_page_view_show(&look, &why))
		sonde_say("%s", why.msg);
}

/* Whether the run has something to report: a capture, or a baseline instead of one. */
static bool has_captured(const struct sonde_run *r)
{
	return r->nr_native || r->nr_torch || r->nr_nsys || r->nr_ncu || r->baseline;
}

int sonde_run_do(struct sonde_run *r, struct sonde_err *err)
{
	bool is_last;
	pid_t env;
	int rc;

	if (r->request.is_dry) {
		snprintf(r->dir.path, sizeof(r->dir.path), "%s", r->set.run_dir);
		rc = sonde_run_hand_on(r, r->set.run_dir, err);
		return rc ? rc : run_stages(r, err);
	}
	if (r->is_bystander)
		return sonde_run_bystander(r, err);
	rc = open_dir(r, err);
	if (rc == 0)
		rc = sonde_run_hand_on(r, r->dir.path, err);
	if (rc == 0)
		rc = write_inputs(r, err);
	if (rc && r->dir.rank.is_parallel)
		return run_bare(r, err);
	if (rc)
		return rc;
	env = begin_env(r);
	do_stages(r, err);
	is_last = sonde_rundir_finish(&r->dir);
	if (is_last && sonde_dir_exists(r->dir.path) &&
		(!r->is_broken || has_captured(r))) {
		unsigned before = sonde_rundir_begin_private();

		rc = report_stages(r, err);
		sonde_rundir_end_private(before);
	}
	end_env(env);
	fflush(stdout);
	if (!r->job && has_captured(r) && sonde_rundir_is_timed(r->set.run_dir))
		sonde_rundir_link_latest(r->dir.path);
	say_where(r, is_last);
	open_page(r);
	return rc;
}

int sonde_run_status(const struct sonde_run *r, int rc, const struct sonde_err *err)
{
	int status = rc < 0 ? sonde_cmd_fail(err) : r->has_failed;

	if (r->status)
		return r->status; /* the program's status, whatever became of its report. Invariant 9. */
	return rc == SONDE_ERR_NOTFOUND ? SONDE_STATUS_NOT_STARTED : status;
}
