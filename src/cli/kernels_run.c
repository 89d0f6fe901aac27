#include "base/file.h"
#include "base/md5.h"
#include "capture/child.h"
#include "capture/progress.h"
#include "cli/kernels_int.h"
#include "cli/run_int.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void import_page(
	struct sonde_kernels_job *j, const char *report, const char *section, const char *to)
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

static void import_all(struct sonde_kernels_job *j, const char *dir, const char *report)
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

static int run_ncu(struct sonde_kernels_job *j, const char *dir, const char *regex, const char *log)
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
		if (sonde_ncu_log_has(&progress.log, SONDE_WHEN_NOTHING))
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

int sonde_kernels__profile(
	struct sonde_kernels_job *j, const struct sonde_kernel_entry *k, size_t rank)
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

int sonde_kernels__provenance(struct sonde_kernels_job *j, char **argv)
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
