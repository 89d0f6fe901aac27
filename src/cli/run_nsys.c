#include "capture/child.h"
#include "cli/run_int.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct stage {
	struct sonde_run *run;
	struct sonde_tool nsys;
	const char *base, *report, *sqlite;
	struct sonde_err *err;
};

static int open_nsys(struct stage *s)
{
	struct sonde_run *r = s->run;
	struct sonde_err why = {0};
	int rc = sonde_tool_open(&s->nsys, r->set.nsys_program, &why);

	if (rc && r->request.is_dry)
		snprintf(s->nsys.path, sizeof(s->nsys.path), "nsys");
	else if (rc)
		return sonde_advice_err(s->err, rc, SONDE_WHEN_NSYS_UNUSABLE, why.msg);
	s->base = sonde_run_path(r, "nsys/trace%s", r->dir.suffix);
	s->report = sonde_run_path(r, "nsys/trace%s.nsys-rep", r->dir.suffix);
	s->sqlite = sonde_run_path(r, "nsys/trace%s.sqlite", r->dir.suffix);
	return s->base && s->report && s->sqlite ? 0 : sonde_err_nomem(s->err);
}

static int build_command(struct stage *s, struct sonde_argv *argv)
{
	struct sonde_nsys_request q = s->run->set.nsys;

	bool is_nvtx = q.capture_range && strcmp(q.capture_range, "nvtx") == 0;

	if (is_nvtx && !s->run->set.nsys_gating)
		q.capture_range = "none";
	else if (is_nvtx && (!q.nvtx_capture || !*q.nvtx_capture))
		return sonde_err_set(s->err, SONDE_ERR_USAGE,
			"pipeline.nsys.capture_range=nvtx needs "
			"pipeline.nsys.nvtx_capture=RANGE[@DOMAIN] "
			"(one range; `*` as the domain means any)");
	q.report = s->base;
	sonde_nsys_args_build(argv, &s->nsys, &q, s->run->program);
	return argv->failed ? sonde_err_nomem(s->err) : 0;
}

static int write_command(struct stage *s, const struct sonde_argv *argv)
{
	struct sonde_buf line = {0};
	char name[64];
	int rc;

	sonde_run_record(s->run, &line, argv->words.at);
	sonde_buf_putc(&line, '\n');
	snprintf(name, sizeof(name), "nsys/cmd%s.txt", s->run->dir.suffix);
	rc = line.failed ? sonde_err_nomem(s->err)
			 : sonde_rundir_write(&s->run->dir, name, sonde_buf_view(&line), s->err);
	sonde_buf_release(&line);
	return rc;
}

/* Runs a further command of nsys, whose words are in `argv`; its output goes to `log`. */
static bool run_helper(struct stage *s, struct sonde_argv *argv, const char *log)
{
	struct sonde_buf text = {0};
	struct sonde_err why = {0};
	int status = 0;
	int rc = argv->failed ? sonde_err_nomem(&why)
			      : sonde_tool_output(&text, &status, argv->words.at, 600000, &why);

	if (rc == 0 && text.n)
		rc = sonde_rundir_write(&s->run->dir, log, sonde_buf_view(&text), &why);
	if (rc || status)
		sonde_say("%s: %s (see %s)", argv->words.at[1], rc ? why.msg : "nsys failed", log);
	sonde_buf_release(&text);
	sonde_argv_release(argv);
	return rc == 0 && status == 0;
}

static void export_all(struct stage *s)
{
	static const char *const tables[] = {"cuda_gpu_kern_sum", "nvtx_pushpop_sum"};
	struct sonde_argv argv = {0};
	const char *prefix = sonde_run_path(s->run, "nsys/stats%s", s->run->dir.suffix);
	size_t i;

	if (s->run->set.nsys_sqlite) {
		sonde_nsys_export_args(&argv, &s->nsys, s->report, s->sqlite);
		if (run_helper(s, &argv, "nsys/export.log") && access(s->sqlite, R_OK) == 0)
			s->run->nr_nsys++;
	}
	for (i = 0; i < 2 && s->run->set.nsys_stats && prefix; i++) {
		sonde_nsys_stats_args(&argv, &s->nsys, tables[i], s->report, prefix);
		run_helper(s, &argv, "nsys/stats.log");
	}
}

static int run_nsys(struct stage *s, const struct sonde_argv *argv)
{
	struct sonde_run *r = s->run;
	const struct sonde_child_spec spec = sonde_run_spec(r, argv->words.at);
	int rc = sonde_run_child(r, &spec, s->err);

	if (rc)
		return rc;
	if (access(s->report, R_OK) == 0) {
		export_all(s);
		return 0;
	}
	r->has_failed = true;
	sonde_say_advice(SONDE_WHEN_NSYS_NO_REPORT, r->set.nsys.nvtx_capture);
	return 0;
}

int sonde_run_nsys(struct sonde_run *r, struct sonde_err *err)
{
	struct stage s = {.run = r, .err = err};
	struct sonde_argv argv = {0};
	int rc = open_nsys(&s);

	if (rc == 0)
		rc = build_command(&s, &argv);
	if (rc == 0 && r->request.is_dry)
		sonde_run_show_plan("one nsys capture, one run of the program", "", argv.words.at);
	else if (rc == 0)
		rc = write_command(&s, &argv);
	if (rc == 0 && !r->request.is_dry)
		rc = run_nsys(&s, &argv);
	sonde_argv_release(&argv);
	return rc;
}
