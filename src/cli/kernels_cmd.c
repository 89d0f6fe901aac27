#include "attribute/filter.h"
#include "base/file.h"
#include "base/md5.h"
#include "capture/child.h"
#include "capture/kernel_list.h"
#include "capture/ncu_args.h"
#include "capture/progress.h"
#include "capture/rundir.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/run_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- the command line, the preset, the list ---------------------------------------------------- */

struct request {
	const char *kernel_config, *kernel_regex, *ncu_config, *output;
	struct sonde_word_list sections;
	size_t topk, profile;
	const char *skip;
	bool force;
	char **program;
	struct sonde_args args;
};

/* One call of the command. */
struct job {
	const struct request *q;
	struct sonde_tool ncu;
	struct sonde_ncu_request ncu_request;
	struct sonde_word_list sections; /* sections of the preset, then those that the user asked for */
	struct sonde_kernel_list list;
	struct sonde_arena arena;
	char dir[2048];
	int status;
	bool is_stopped;
	struct sonde_err *err;
};

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT(0, "kernel-config", "YAML", WORD, kernel_config,
		"the kernels to profile, as `sonde top` writes them"),
	SONDE_OPT(0, "kernel-regex", "RE", WORD, kernel_regex,
		"or one regular expression over demangled names"),
	SONDE_OPT('k', "topk", "K", LIMIT, topk, "only the first K of the list (all)"),
	SONDE_OPT(0, "extra-sections", "S,...", LIST, sections, "further sections to collect"),
	SONDE_OPT(0, "ncu-config", "YAML", WORD, ncu_config,
		"a profiling/ncu preset: set, sections and metrics come from it"),
	SONDE_OPT(0, "num-kernel-call-skip", "N", WORD, skip,
		"launches of a kernel to let pass first (0)"),
	SONDE_OPT(0, "num-kernel-call-profile", "M", LIMIT, profile,
		"launches to profile then (1)"),
	SONDE_OPT(0, "force-overwrite", NULL, FLAG, force,
		"replace what is in the output directory"),
	SONDE_OPT('o', "output-dir", "DIR", WORD, output,
		"where to write (tmp/kernel-profile/TIME)"),
};

static const struct sonde_usage usage = {"sonde kernels (--kernel-config YAML | --kernel-regex RE) [options] -- COMMAND [ARG...]",
	"Profiles chosen kernels with Nsight Compute, one run of the program per kernel. Each\n"
	"gets a folder kernel_RANK_MD5 with ncu.ncu-rep, ncu.details.csv and\n"
	"ncu.section_S.csv per section. Exit status: the program's; 125 when it or ncu could\n"
	"not be started.",
	options, sizeof(options) / sizeof(*options),
	{{"the three longest kernels",
		 "sonde kernels --kernel-config top.yaml --topk 3 -- ./train"},
		{"one kernel, after 200 launches to warm up",
			"sonde kernels --kernel-regex '^gemm' --num-kernel-call-skip 200 -- ./train"}}};

static int read_words(struct request *q, int argc, char **argv, struct sonde_err *err)
{
	int nr_own = 1;
	int rc;

	while (nr_own < argc && strcmp(argv[nr_own], "--") != 0)
		nr_own++;
	rc = sonde_options_read(&q->args, &usage, q, nr_own, argv, err);
	if (rc)
		return rc;
	q->program = argv + nr_own + (nr_own < argc);
	if (!q->kernel_config == !q->kernel_regex)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"kernels: give either --kernel-config (`sonde top -f yaml` writes one) or "
			"--kernel-regex");
	if (!*q->program)
		return sonde_err_set(err, SONDE_ERR_USAGE, "kernels: name the program to profile behind `--`");
	if (q->args.operands.nr && !q->sections.nr)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"kernels: '%s' is not an option; put `--` before the command",
			q->args.operands.at[0]);
	return 0;
}

/*
 * Joins the sections of the preset and of the command line. Users write `--extra-sections A B C`: operands are further
 * sections.
 */
static int join_sections(struct job *j, const char *const *configured)
{
	const struct sonde_word_list *lists[] = {&j->q->sections, &j->q->args.operands};
	bool ok = true;
	size_t i, k;

	for (; *configured; configured++)
		ok &= sonde_word_list_add(&j->sections, *configured);
	for (k = 0; k < 2; k++)
		for (i = 0; i < lists[k]->nr; i++)
			ok &= sonde_word_list_add(&j->sections, lists[k]->at[i]);
	j->ncu_request.sections = (struct sonde_words){j->sections.at, j->sections.nr};
	return ok ? 0 : sonde_err_nomem(j->err);
}

static int read_preset(struct job *j)
{
	static const char *const keys[] = {"ncu_cli.sections", "ncu_cli.metrics", "ncu_cli.set"};
	static const char *const none[] = {NULL};
	const char *const *lists[] = {none, none, none};
	size_t i, nr = 0;
	int rc = 0;

	for (i = 0; i < 3 && j->q->ncu_config && rc == 0; i++)
		rc = sonde_yaml_strings(&lists[i], j->q->ncu_config, keys[i], &j->arena, j->err);
	if (rc)
		return rc;
	while (lists[1][nr])
		nr++;
	j->ncu_request.metrics = (struct sonde_words){lists[1], nr};
	j->ncu_request.set = lists[2][0];
	return join_sections(j, lists[0]);
}

static int set_skip(struct job *j)
{
	char *end;
	long n = j->q->skip ? strtol(j->q->skip, &end, 10) : 0;

	if (j->q->skip && (*end || end == j->q->skip || n < 0 || n > 1000000000))
		return sonde_err_set(j->err, SONDE_ERR_USAGE,
			"--num-kernel-call-skip: '%s' is not a number from 0 on", j->q->skip);
	j->ncu_request.launch_skip = n;
	j->ncu_request.launch_count = j->q->profile == SIZE_MAX ? -1 : (long)j->q->profile;
	return 0;
}

/* Checks the expression here: ncu would find the mistake only while the program runs. */
static int check_regex(struct job *j, const char *regex)
{
	const char *word = sonde_arena_printf(&j->arena, "regex:%s", regex).p;
	struct sonde_name_filter *filter = NULL;
	int rc = word ? 0 : sonde_err_nomem(j->err);

	if (rc == 0)
		rc = sonde_kernel_filter_build(&filter, (struct sonde_words){&word, 1},
			(struct sonde_words){NULL, 0}, j->err);
	sonde_name_filter_free(filter);
	return rc;
}

static int read_list(struct job *j)
{
	const char *config = j->q->kernel_config, *regex = j->q->kernel_regex;
	size_t i;
	int rc = 0;

	if (config)
		rc = sonde_kernel_list_open(&j->list, config, j->err);
	else if (!sonde_kernel_list_add(&j->list, sonde_str_from(regex), regex, NULL))
		rc = sonde_err_nomem(j->err);
	if (rc == 0 && j->list.kernels.nr == 0)
		rc = sonde_err_set(j->err, SONDE_ERR_USAGE,
			"%s: the list of kernels is empty, so there is nothing to profile; `sonde top -f yaml` writes one", config);
	for (i = 0; i < j->list.kernels.nr && rc == 0; i++)
		rc = check_regex(j, j->list.kernels.at[i].regex);
	return rc;
}

static int open_ncu(struct job *j)
{
	const char *name = getenv("SONDE_NCU");
	struct sonde_err why = {0};
	int rc = sonde_tool_open(&j->ncu, name ? name : "ncu", &why);

	if (rc)
		sonde_advice_err(j->err, rc, SONDE_WHEN_NCU_UNUSABLE, why.msg);
	return rc;
}

/* Checks the request first, then what this machine lacks. */
static int prepare_job(struct job *j)
{
	char path[1024];
	int rc;

	j->ncu_request = (struct sonde_ncu_request){.target_processes = "all",
		.replay_mode = "kernel",
		.clock_control = "none",
		.kernel_name_base = "demangled",
		.force_overwrite = true};
	rc = set_skip(j);
	if (rc == 0)
		rc = read_preset(j);
	if (rc == 0)
		rc = read_list(j);
	if (rc == 0 && !sonde_tool_find(path, j->q->program[0]))
		rc = sonde_tool_refuse(j->q->program[0], j->err);
	return rc ? rc : open_ncu(j);
}

/* Opens the chosen directory, or makes one for this call alone, named by the time. */
static int open_dir(struct job *j)
{
	time_t now = time(NULL);
	struct sonde_rundir dir;
	char wanted[64] = "";
	struct tm tm;
	int rc;

	if (j->q->output) {
		snprintf(j->dir, sizeof(j->dir), "%s", j->q->output);
		return sonde_dir_make(j->dir, j->err);
	}
	if (localtime_r(&now, &tm))
		strftime(wanted, sizeof(wanted), "tmp/kernel-profile/%Y%m%d-%H%M%S", &tm);
	rc = sonde_rundir_open_job(&dir, wanted, j->err);
	snprintf(j->dir, sizeof(j->dir), "%.2000s", dir.path);
	return rc;
}

/* --- profiling --------------------------------------------------------------------------------- */

static void import_page(
	struct job *j, const char *report, const char *section, const char *to)
{
	struct sonde_argv argv = {0};
	struct sonde_buf text = {0};
	struct sonde_err why = {0};
	int rc;

	sonde_ncu_import_args(&argv, &j->ncu, report, "details");
	sonde_argv_add(&argv, "--csv");
	if (section)
		sonde_argv_pair(&argv, "--section", section);
	rc = sonde_tool_text(&text, &argv, &why);
	if (rc == 0)
		rc = sonde_file_write(to, sonde_buf_view(&text), &why);
	if (rc)
		sonde_say("%s was not written: %s", to, why.msg);
	sonde_buf_release(&text);
	sonde_argv_release(&argv);
}

static void import_all(struct job *j, const char *dir, const char *report)
{
	char path[4096];
	size_t i;

	if (access(report, R_OK) < 0)
		return;
	snprintf(path, sizeof(path), "%s/ncu.details.csv", dir);
	import_page(j, report, NULL, path);
	for (i = 0; i < j->ncu_request.sections.nr; i++) {
		const char *s = j->ncu_request.sections.at[i];

		if (strchr(s, '/'))
			continue;
		snprintf(path, sizeof(path), "%s/ncu.section_%s.csv", dir, s);
		import_page(j, report, s, path);
	}
}

static int run_ncu(struct job *j, const char *dir, const char *regex, const char *log)
{
	struct sonde_ncu_request q = j->ncu_request;
	struct sonde_progress progress = {.show = sonde_say_progress};
	struct sonde_child_spec spec = {.tick = sonde_progress_tick, .of = &progress, .out_fd = -1};
	struct sonde_child_end end = {0};
	struct sonde_argv argv = {0};
	const char *word, *report = sonde_arena_printf(&j->arena, "%s/ncu", dir).p;
	int rc = 0;

	word = sonde_arena_printf(&j->arena, "regex:%s", regex).p;
	q.kernel_name = word;
	q.report = report;
	q.log = log;
	sonde_ncu_args_build(&argv, &j->ncu, &q, j->q->program);
	if (argv.failed || !word || !report)
		rc = sonde_err_nomem(j->err);
	if (rc == 0) {
		spec.argv = argv.words.at;
		sonde_progress_begin(&progress, "ncu", log);
		rc = sonde_child_run(&end, &spec, j->err);
		sonde_progress_end(&progress);
		sonde_say_log(&progress.log, log);
		if (q.launch_skip > 0 && sonde_ncu_log_has(&progress.log, SONDE_WHEN_NOTHING))
			sonde_say("  fewer launches than --num-kernel-call-skip %ld? try 0",
				q.launch_skip);
		if (j->status == 0)
			j->status = progress.log.program_status >= 0 ? progress.log.program_status
								     : end.status;
		j->is_stopped = end.is_interrupted;
		sonde_progress_release(&progress);
	}
	sonde_argv_release(&argv);
	return rc;
}

/* Profiles one kernel of the list into a directory of its own. */
static int profile_kernel(
	struct job *j, const struct sonde_kernel_entry *k, size_t rank)
{
	char md5[33], dir[2200], report[2300], log[2300];
	int rc;

	sonde_md5(md5, sonde_str_from(k->name));
	snprintf(dir, sizeof(dir), "%s/kernel_%zu_%s", j->dir, rank, md5);
	snprintf(report, sizeof(report), "%s/ncu.ncu-rep", dir);
	snprintf(log, sizeof(log), "%s/ncu.log", dir);
	if (access(report, F_OK) == 0 && !j->q->force)
		return sonde_err_set(j->err, SONDE_ERR_USAGE,
			"%s is already there; --force-overwrite replaces it, -o DIR writes elsewhere", report);
	rc = sonde_dir_make(dir, j->err);
	if (rc)
		return rc;
	sonde_say("kernel %zu: %s", rank, k->name);
	unlink(log);
	rc = run_ncu(j, dir, k->regex, log);
	if (rc == 0)
		import_all(j, dir, report);
	return rc;
}

/* Writes command.yaml: the command that made the directory. */
static int write_provenance(struct job *j, char **argv)
{
	struct sonde_buf b = {0};
	char path[2200];
	int rc;

	sonde_buf_printf(&b, "sonde: '%s'\nncu: '%s'\n", SONDE_VERSION, j->ncu.version);
	sonde_argv_yaml(&b, "arguments", argv);
	sonde_argv_yaml(&b, "command", j->q->program);
	snprintf(path, sizeof(path), "%s/command.yaml", j->dir);
	rc = b.failed ? sonde_err_nomem(j->err) : sonde_file_write(path, sonde_buf_view(&b), j->err);
	sonde_buf_release(&b);
	return rc;
}

static int run_job(struct job *j, char **argv)
{
	size_t i;
	int rc = open_dir(j);

	if (rc == 0)
		rc = write_provenance(j, argv);
	for (i = 0; i < j->list.kernels.nr && i < j->q->topk && rc == 0 && !j->is_stopped; i++)
		rc = profile_kernel(j, &j->list.kernels.at[i], i + 1);
	if (rc == 0)
		sonde_say_where("everything is in", j->dir);
	return rc;
}

int sonde_cmd_kernels(int argc, char **argv)
{
	struct request q = {.topk = SIZE_MAX, .profile = 1};
	struct sonde_err err = {0};
	struct job j = {.q = &q, .err = &err};
	int rc = read_words(&q, argc, argv, &err), status;
	bool is_help = rc > 0;

	if (rc == 0)
		rc = prepare_job(&j);
	if (rc == 0)
		rc = run_job(&j, argv);
	status = rc < 0 ? sonde_cmd_fail(&err) : j.status;
	if (rc == SONDE_ERR_NOTFOUND)
		status = SONDE_STATUS_NOT_STARTED;
	sonde_kernel_list_release(&j.list);
	sonde_vec_release(&j.sections);
	sonde_arena_release(&j.arena);
	sonde_args_release(&q.args);
	return is_help ? 0 : status;
}
