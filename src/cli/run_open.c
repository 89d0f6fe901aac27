#include "base/argv.h"
#include "capture/modules_env.h"
#include "capture/child.h"
#include "cli/run_int.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *sonde_run_path(struct sonde_run *r, const char *fmt, ...)
{
	struct sonde_buf b = {0};
	va_list ap;

	sonde_buf_printf(&b, "%s/", r->dir.path);
	va_start(ap, fmt);
	sonde_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	return sonde_arena_take(&r->arena, &b);
}

void sonde_run_take_end(struct sonde_run *r, int status, bool is_interrupted)
{
	if (r->status == 0)
		r->status = status;
	if (is_interrupted)
		r->is_stopped = true;
}

void sonde_run_say_timeout(struct sonde_run *r, const struct sonde_child_end *end)
{
	if (!end->is_timed_out)
		return;
	sonde_say("the program was stopped after %ld s; a larger pipeline.workload.timeout_s "
		  "gives it more time",
		r->set.timeout_s);
	sonde_note(&r->notes,
		"the program was stopped after %ld s (pipeline.workload.timeout_s): this report has what it "
		"did until then",
		r->set.timeout_s);
}

struct sonde_child_spec sonde_run_spec(const struct sonde_run *r, char *const *argv)
{
	return (struct sonde_child_spec){.argv = argv,
		.env = r->env,
		.dir = r->set.workload_dir,
		.timeout_ms = (unsigned)r->set.timeout_s * 1000u,
		.out_fd = -1};
}

int sonde_run_child(struct sonde_run *r, const struct sonde_child_spec *spec, struct sonde_err *err)
{
	struct sonde_child_end end = {0};
	int rc = sonde_child_run(&end, spec, err);

	if (rc)
		return rc;
	sonde_run_say_timeout(r, &end);
	sonde_run_take_end(r, end.status, end.is_interrupted);
	return 0;
}

pid_t sonde_run_fork(void)
{
	sigset_t none;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid != 0)
		return pid;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0); /* Ctrl-C is meant for the program */
	return 0;
}

/* Finds a bundled workload: beside sonde, or installed. */
static bool is_bundled(char *path, size_t size, const char *file)
{
	char built[64], installed[80];
	const char *const places[] = {built, installed};

	if (!*file || strchr(file, '/') || strlen(file) > 40)
		return false;
	snprintf(built, sizeof(built), "workloads/%s", file);
	snprintf(installed, sizeof(installed), "../lib/sonde/workloads/%s", file);
	return sonde_find_beside(path, size, places, 2) && access(path, X_OK) == 0;
}

static int find_bundled(struct sonde_run *r, struct sonde_argv *argv, struct sonde_err *err)
{
	const char *name = r->set.workload_name ? r->set.workload_name : "";
	bool is_resnet = strcmp(name, "dummy_shallow_resnet") == 0;
	bool has_gpu = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/nvidia0", F_OK) == 0 ||
		       access("/proc/driver/nvidia/version", F_OK) == 0;
	char path[2 * PATH_MAX];

	if (r->request.is_bare)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"run: no program: `sonde run -- COMMAND` profiles yours, `sonde run --demo` the bundled "
			"workload; `sonde help run` has the rest");
	if ((is_resnet && has_gpu && is_bundled(path, sizeof(path), "resnet")) ||
		(is_resnet && is_bundled(path, sizeof(path), "resnet_cpu")) ||
		(!is_resnet && is_bundled(path, sizeof(path), name))) {
		sonde_argv_add(argv, path);
		r->is_bundled = true;
		return 0;
	}
	return sonde_err_set(err, SONDE_ERR_NOTFOUND,
		"no command was given and there is no workload '%s' (pipeline.workload.name; `make "
		"workloads` needs the NVTX headers); `sonde run [KEY=VALUE...] -- COMMAND` "
		"profiles a program of yours",
		name);
}

/* The rest of its words is added when the run directory is known (sonde_run_hand_on). */
static void add_module(struct sonde_run *r, struct sonde_argv *argv)
{
	char path[1024];

	sonde_argv_add(argv, sonde_tool_find(path, "python") ? "python" : "python3");
	sonde_argv_pair(argv, "-m", r->set.workload_module);
	r->is_module = true;
}

int sonde_run_hand_on(struct sonde_run *r, const char *run_dir, struct sonde_err *err)
{
	size_t before = r->program_words.words.nr, i;

	if (!r->is_module)
		return 0;
	sonde_run_config_handed_on(r->config, run_dir, &r->program_words);
	for (i = before; i < r->program_words.words.nr; i++)
		sonde_argv_add(&r->recorded_words, r->program_words.words.at[i]);
	r->program = r->program_words.words.at;
	return r->program_words.failed || r->recorded_words.failed ? sonde_err_nomem(err) : 0;
}

/* Chooses the words of the program: given, configured, a module, or a bundled workload. */
static int choose_program(struct sonde_run *r, char *const *given, struct sonde_err *err)
{
	struct sonde_argv *to = &r->program_words;
	size_t i;
	int rc = 0;

	if (*given && r->request.is_demo)
		return sonde_err_set(err, SONDE_ERR_USAGE, "run: --demo runs the bundled workload: leave out %s", *given);
	if (*given)
		sonde_argv_all(to, given);
	else if (r->request.is_demo)
		rc = find_bundled(r, to, err);
	else if (r->set.workload.nr == 0 && r->set.workload_module)
		add_module(r, to);
	else if (r->set.workload.nr == 0)
		rc = find_bundled(r, to, err);
	for (i = 0; !*given && !r->request.is_demo && i < r->set.workload.nr; i++)
		sonde_argv_add(to, r->set.workload.at[i]);
	if (*given || r->request.is_demo || r->set.workload.nr == 0)
		sonde_argv_all(&r->recorded_words, to->words.at ? to->words.at : given);
	else
		sonde_run_config_command(r->config, &r->recorded_words);
	if (rc == 0 && (to->failed || r->recorded_words.failed))
		rc = sonde_err_nomem(err);
	r->program = to->words.at;
	return rc;
}

static int check_program(const struct sonde_run *r, struct sonde_err *err)
{
	const char *name = r->program[0];
	char path[1024];

	/* A path below another directory can only be looked up when the program is started there. */
	if ((r->set.workload_dir && strchr(name, '/')) || sonde_tool_find(path, name))
		return 0;
	return sonde_tool_refuse(name, err);
}

/* Makes a path absolute from the directory that sonde was started in; NULL when out of memory. */
static const char *make_absolute(struct sonde_run *r, const char *path)
{
	char *cwd = *path == '/' ? NULL : getcwd(NULL, 0);
	const char *out = sonde_arena_printf(
		&r->arena, "%s%s%s", cwd ? cwd : "", cwd ? "/" : "", path)
				  .p;

	free(cwd);
	return out;
}

/*
 * Chooses where the program runs: pipeline.workload.cwd, else with hydra.job.chdir the run directory, else here. In
 * another directory the path of the run directory must be absolute. A program that runs in the run directory is still
 * found by its path from here.
 */
static int choose_dir(struct sonde_run *r, struct sonde_err *err)
{
	struct stat st;
	const char *program = NULL;

	if (r->request.attach)
		return 0;
	if (!r->set.workload_dir && !r->set.chdir)
		return check_program(r, err);
	if (r->set.workload_dir && (stat(r->set.workload_dir, &st) < 0 || !S_ISDIR(st.st_mode)))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"pipeline.workload.cwd=%s: no such directory: make it, or name another", r->set.workload_dir);
	r->set.run_dir = make_absolute(r, r->set.run_dir);
	if (!r->set.run_dir)
		return sonde_err_nomem(err);
	if (r->set.workload_dir)
		return check_program(r, err);
	if (check_program(r, err))
		return SONDE_ERR_NOTFOUND;
	if (strchr(r->program[0], '/')) {
		program = make_absolute(r, r->program[0]);
		if (!program)
			return sonde_err_nomem(err);
		r->program_words.words.at[0] = (char *)(uintptr_t)program;
	}
	return 0;
}

/* Warns of settings of Nsight Compute, which count only when it runs. */
static void warn_of_unused(const struct sonde_run *r, const struct sonde_run_request *q)
{
	size_t i;

	for (i = 0; i < q->overrides.nr && !r->set.ncu_enable; i++) {
		struct sonde_str value,
			key = sonde_str_cut(sonde_str_from(q->overrides.at[i]), '=', &value);

		if (!sonde_str_starts(key, "pipeline.ncu.") ||
			sonde_str_is(key, "pipeline.ncu.enable"))
			continue;
		sonde_say("%.*s has no effect, as Nsight Compute does not run: add --ncu "
			  "(pipeline.ncu.enable=true)",
			SONDE_STR_ARG(key));
		return;
	}
}

/* Only Python can get regions of modules. Whatever a launcher starts may be Python, so this is no error. */
static void warn_of_modules(const struct sonde_run *r)
{
	if (r->set.modules && strcmp(r->set.modules, "off") != 0 && !r->request.attach && !sonde_modules_may_work(r->program))
		sonde_say("--modules is for PyTorch: %s is no Python program, and gets no regions of modules unless it starts one",
			r->program[0]);
}

int sonde_run_open(struct sonde_run *r, struct hydra_config *config,
	const struct sonde_run_request *q, struct sonde_err *err)
{
	int rc;

	*r = (struct sonde_run){.config = config, .request = *q};
	rc = sonde_capture_settings_read(&r->set, r->config, err);
	r->set.run_dir = hydra_config_run_dir(config).p;
	if (rc == 0 && r->request.attach)
		rc = sonde_run_attach_check(r, err);
	if (rc == 0)
		rc = choose_program(r, q->program, err);
	if (rc == 0)
		rc = sonde_run_config_env(r, &r->env_words, false, err);
	if (rc == 0)
		rc = sonde_modules_env(&r->env_words, r->set.modules, err);
	if (rc == 0 && r->request.attach)
		sonde_run_attach_env(r, &r->env_words);
	r->env = r->env_words.words.at;
	if (rc == 0)
		rc = choose_dir(r, err);
	if (rc == 0)
		rc = sonde_run_choose_rank(r, err);
	if (rc == 0)
		warn_of_unused(r, q);
	if (rc == 0)
		warn_of_modules(r);
	return rc ? rc : sonde_run_check_report(r, err);
}

void sonde_run_release(struct sonde_run *r)
{
	sonde_capture_settings_release(&r->set);
	sonde_argv_release(&r->program_words);
	sonde_argv_release(&r->env_words);
	sonde_argv_release(&r->recorded_words);
	sonde_notes_release(&r->notes);
	sonde_arena_release(&r->arena);
}

void sonde_run_record(const struct sonde_run *r, struct sonde_buf *out, char *const *words)
{
	size_t nr = 0, nr_program = r->program_words.words.nr, i;
	struct sonde_argv shown = {0};

	while (words[nr])
		nr++;
	for (i = 0; i + nr_program < nr; i++)
		sonde_argv_add(&shown, words[i]);
	sonde_argv_all(&shown, r->recorded_words.words.at);
	if (shown.failed)
		out->failed = true;
	else
		sonde_argv_record(out, shown.words.at);
	sonde_argv_release(&shown);
}

void sonde_run_show_plan(const char *plan, const char *before, char *const *words)
{
	struct sonde_buf line = {0};

	sonde_argv_show(&line, words);
	printf("plan: %s\n  $ %s%s\n", plan, before, line.failed ? "" : line.p);
	sonde_buf_release(&line);
}
